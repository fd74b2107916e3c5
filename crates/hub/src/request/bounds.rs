//! What stands in a query, as types with their bounds: how many, from where, since when, of whom.
//!
//! A value that does not fit is refused where it is read, under the name of its parameter; and the description of the
//! surface says the same bounds, because both ask the type. A parameter that is left out is its type's default, and one
//! that is empty is left out.

use std::borrow::Cow;
use std::marker::PhantomData;

use folkmoot_core::Millis;
use folkmoot_core::ids::*;
use serde::de::{Deserialize, Deserializer, Error};
use utoipa::openapi::RefOr;
use utoipa::openapi::extensions::Extensions;
use utoipa::openapi::schema::{KnownFormat, Object, ObjectBuilder, Schema, SchemaFormat, Type};
use utoipa::{PartialSchema, ToSchema};

/// The largest whole number that every client can hold exactly.
pub const MAX_SAFE: u64 = (1 << 53) - 1;
/// Under this name a limit's schema says how long a list gets; the description moves it to the list itself.
pub const MAX_ITEMS: &str = "x-most";

/// How many items a list may have: `DEFAULT` when left out, and never more than `MAX`, whatever is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit<const DEFAULT: u32, const MAX: u32>(u32);

impl<const DEFAULT: u32, const MAX: u32> Limit<DEFAULT, MAX> {
    pub fn get(self) -> usize {
        self.0.min(MAX) as usize
    }
}

impl<const DEFAULT: u32, const MAX: u32> Default for Limit<DEFAULT, MAX> {
    fn default() -> Self {
        Self(DEFAULT)
    }
}

impl<'de, const DEFAULT: u32, const MAX: u32> Deserialize<'de> for Limit<DEFAULT, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wrong = "must be a whole number from 1 up; every list has a most of its own";
        whole(deserializer, 1, u64::from(u32::MAX), wrong).map(|number| Self(number as u32))
    }
}

impl<const DEFAULT: u32, const MAX: u32> PartialSchema for Limit<DEFAULT, MAX> {
    fn schema() -> RefOr<Schema> {
        let most = Extensions::builder().add(self::MAX_ITEMS, MAX).build();
        number(1, u64::from(u32::MAX)).default(Some(DEFAULT.into())).extensions(Some(most)).into()
    }
}

impl<const DEFAULT: u32, const MAX: u32> ToSchema for Limit<DEFAULT, MAX> {
    fn name() -> Cow<'static, str> {
        format!("Limit{DEFAULT}Of{MAX}").into()
    }
}

/// How many of a list to pass over, or the number of an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Skip(u32);

impl Skip {
    pub fn get(self) -> usize {
        self.0 as usize
    }

    pub fn number(self) -> u32 {
        self.0
    }
}

impl<'de> Deserialize<'de> for Skip {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wrong = "must be a whole number from 0 to 4294967295";
        whole(deserializer, 0, u64::from(u32::MAX), wrong).map(|number| Self(number as u32))
    }
}

impl PartialSchema for Skip {
    fn schema() -> RefOr<Schema> {
        number(0, u64::from(u32::MAX)).into()
    }
}

impl ToSchema for Skip {}

/// A moment, in milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment(Millis);

impl Moment {
    pub fn get(self) -> Millis {
        self.0
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wrong = "must be a moment in milliseconds since 1970";
        whole(deserializer, 0, MAX_SAFE, wrong).map(|number| Self(number.cast_signed()))
    }
}

impl PartialSchema for Moment {
    fn schema() -> RefOr<Schema> {
        number(0, MAX_SAFE).into()
    }
}

impl ToSchema for Moment {}

/// An id that narrows a list down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Given<T>(Option<T>);

impl<T> Given<T> {
    pub fn get(self) -> Option<T> {
        self.0
    }
}

impl<T> Default for Given<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<'de, T: NamedId> Deserialize<'de> for Given<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <Cow<'de, str>>::deserialize(deserializer)?;
        match (&*text, T::read(&text)) {
            ("", _) => Ok(Self(None)),
            (_, Some(id)) => Ok(Self(Some(id))),
            _ => Err(Error::custom(format_args!("must be an id that begins with `{}`", T::PREFIX))),
        }
    }
}

impl<T: NamedId> PartialSchema for Given<T> {
    fn schema() -> RefOr<Schema> {
        text(&format!("^({})?$", T::pattern())).into()
    }
}

impl<T: NamedId> ToSchema for Given<T> {}

// The description takes no generic type for a parameter.
pub type GivenChannel = Given<ChannelId>;
pub type GivenFile = Given<FileId>;
pub type GivenMember = Given<MemberId>;
pub type GivenMessage = Given<MessageId>;
pub type GivenNotification = Given<NotificationId>;
pub type GivenRoute = Given<RouteId>;
pub type GivenRun = Given<RunId>;
pub type GivenTask = Given<TaskId>;

/// A place in a channel: the `seq` of a message, or its id, as older clients send it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Position {
    #[default]
    Anywhere,
    Seq(u64),
    Message(MessageId),
}

impl<'de> Deserialize<'de> for Position {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <Cow<'de, str>>::deserialize(deserializer)?;
        if text.is_empty() {
            return Ok(Self::Anywhere);
        }
        // Some say "from the end" with the largest number they know.
        let seq = digits(&text).map(|seq| Self::Seq(seq.min(MAX_SAFE)));
        let message = || MessageId::read(&text).map(Self::Message);
        seq.or_else(message).ok_or_else(|| Error::custom("must be the `seq` or the id of a message"))
    }
}

impl PartialSchema for Position {
    fn schema() -> RefOr<Schema> {
        text(&format!("^([0-9]{{1,19}}|{})?$", MessageId::pattern())).into()
    }
}

impl ToSchema for Position {}

/// A text of so many characters that says something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words<const MAX: usize>(String, PhantomData<()>);

impl<const MAX: usize> Words<MAX> {
    pub fn into_text(self) -> String {
        self.0
    }
}

impl<'de, const MAX: usize> Deserialize<'de> for Words<MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let fits = !text.trim().is_empty() && text.chars().count() <= MAX;
        if fits {
            return Ok(Self(text.trim().to_owned(), PhantomData));
        }
        Err(Error::custom(format_args!("must have 1 to {MAX} characters")))
    }
}

impl<const MAX: usize> PartialSchema for Words<MAX> {
    fn schema() -> RefOr<Schema> {
        let words = ObjectBuilder::new().schema_type(Type::String).pattern(Some(r"\S"));
        words.min_length(Some(1)).max_length(Some(MAX)).into()
    }
}

impl<const MAX: usize> ToSchema for Words<MAX> {}

/// A text of at most so many characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Short<const MAX: usize>(String);

// The description takes no generic type that may be left out.
pub type ShortName = Short<200>;
pub type ShortText = Short<1000>;

impl<const MAX: usize> Short<MAX> {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'de, const MAX: usize> Deserialize<'de> for Short<MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text.chars().count() <= MAX {
            return Ok(Self(text));
        }
        Err(Error::custom(format_args!("must have at most {MAX} characters")))
    }
}

impl<const MAX: usize> PartialSchema for Short<MAX> {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new().schema_type(Type::String).max_length(Some(MAX)).into()
    }
}

impl<const MAX: usize> ToSchema for Short<MAX> {}

fn whole<'de, D: Deserializer<'de>>(deserializer: D, least: u64, most: u64, wrong: &str) -> Result<u64, D::Error> {
    let text = <Cow<'de, str>>::deserialize(deserializer)?;
    digits(&text).filter(|number| (least..=most).contains(number)).ok_or_else(|| Error::custom(wrong))
}

/// A number as it is written in an address: digits and nothing else.
fn digits(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

fn number(least: u64, most: u64) -> ObjectBuilder {
    let format = SchemaFormat::KnownFormat(KnownFormat::Int64);
    let number = ObjectBuilder::new().schema_type(Type::Integer).format(Some(format));
    number.minimum(Some(least)).maximum(Some(most))
}

fn text(pattern: &str) -> Object {
    ObjectBuilder::new().schema_type(Type::String).pattern(Some(pattern)).build()
}

#[cfg(test)]
mod tests {
    use serde::de::IntoDeserializer;
    use serde::de::value::Error as ValueError;

    use super::*;

    fn read<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, String> {
        let deserializer: serde::de::value::BorrowedStrDeserializer<'a, ValueError> =
            serde::de::value::BorrowedStrDeserializer::new(text);
        T::deserialize(deserializer.into_deserializer()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_limit_is_a_whole_number_from_one_up_and_never_more_than_its_most() {
        for (text, length) in [("1", 1), ("007", 7), ("200", 200), ("201", 200), ("4294967295", 200)] {
            assert_eq!(read::<Limit<50, 200>>(text).map(Limit::get), Ok(length), "{text}");
        }
        assert_eq!(Limit::<50, 200>::default().get(), 50);
        for wrong in ["", "0", "-1", "+1", "1.5", "abc", " 1", "4294967296", "99999999999999999999"] {
            assert!(read::<Limit<50, 200>>(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_moment_and_a_number_to_skip_are_not_negative_and_can_be_held_exactly() {
        assert_eq!(read::<Moment>("9007199254740991").map(Moment::get), Ok(9_007_199_254_740_991));
        assert_eq!(read::<Skip>("0").map(Skip::get), Ok(0));
        for wrong in ["-1", "9007199254740992", "1e3", "now"] {
            assert!(read::<Moment>(wrong).is_err() && read::<Skip>(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_id_in_a_query_is_of_its_kind_or_refused() {
        let id = FileId(7).to_string();
        assert_eq!(read::<Given<FileId>>(&id).map(Given::get), Ok(Some(FileId(7))));
        assert_eq!(read::<Given<FileId>>("").map(Given::get), Ok(None));
        for wrong in ["garbage", "file_", "task_0000000000000000000000000A"] {
            assert_eq!(read::<Given<FileId>>(wrong), Err("must be an id that begins with `file_`".to_owned()));
        }
    }

    #[test]
    fn a_place_in_a_channel_is_a_number_or_the_id_of_a_message() {
        let id = MessageId(9).to_string();
        assert_eq!(read::<Position>("12"), Ok(Position::Seq(12)));
        assert_eq!(read::<Position>(&id), Ok(Position::Message(MessageId(9))));
        assert_eq!(read::<Position>(""), Ok(Position::Anywhere));
        assert!(read::<Position>("x").is_err() && read::<Position>("-3").is_err());
    }

    #[test]
    fn words_say_something_and_are_not_too_long() {
        assert_eq!(read::<Words<5>>(" owls").map(Words::into_text), Ok("owls".to_owned()));
        for wrong in ["", "   ", "toolong"] {
            assert!(read::<Words<5>>(wrong).is_err(), "{wrong}");
        }
        assert!(read::<Short<5>>("").is_ok() && read::<Short<5>>("toolong").is_err());
    }
}
