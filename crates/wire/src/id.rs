//! Ids as they travel: short texts that are kept in place, so that a frame with six of them needs no memory of its own.

use std::borrow::Cow;
use std::fmt::{self, Write};
use std::hash::{Hash, Hasher};
use std::ops::Deref;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The ids of a hub have 29 to 40 characters.
const ROOM: usize = 46;

/// The text form of an id, whatever it names. Longer ones than a hub makes are read as well.
#[derive(Clone)]
pub struct Id(Text);

#[derive(Clone)]
enum Text {
    Short { length: u8, bytes: [u8; ROOM] },
    Long(Box<str>),
}

impl Id {
    /// The id that something is shown as.
    pub fn of(shown: impl fmt::Display) -> Self {
        let mut text = Self::default();
        // Writing to memory does not fail, and an id has no reason to.
        let _ = write!(text, "{shown}");
        text
    }

    pub fn as_str(&self) -> &str {
        match &self.0 {
            // Only whole texts are ever put in.
            Text::Short { length, bytes } => std::str::from_utf8(&bytes[..usize::from(*length)]).unwrap_or_default(),
            Text::Long(text) => text,
        }
    }
}

impl Default for Id {
    fn default() -> Self {
        Self(Text::Short { length: 0, bytes: [0; ROOM] })
    }
}

impl Write for Id {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        let written = self.as_str().len();
        let whole = written + more.len();
        match &mut self.0 {
            Text::Short { length, bytes } if whole <= ROOM => {
                bytes[written..whole].copy_from_slice(more.as_bytes());
                // At most `ROOM`, which fits.
                *length = whole as u8;
            }
            _ => self.0 = Text::Long(format!("{}{more}", self.as_str()).into()),
        }
        Ok(())
    }
}

impl From<&str> for Id {
    fn from(text: &str) -> Self {
        let mut id = Self::default();
        let _ = id.write_str(text);
        id
    }
}

impl From<&String> for Id {
    fn from(text: &String) -> Self {
        text.as_str().into()
    }
}

impl From<String> for Id {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

impl From<&Id> for Id {
    fn from(id: &Id) -> Self {
        id.clone()
    }
}

impl From<Id> for String {
    fn from(id: Id) -> Self {
        id.as_str().to_owned()
    }
}

impl Deref for Id {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl fmt::Display for Id {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self)
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), formatter)
    }
}

impl PartialEq for Id {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Id {}

impl PartialEq<str> for Id {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for Id {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl PartialOrd for Id {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Id {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.as_str().cmp(other.as_str())
    }
}

impl Hash for Id {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl Serialize for Id {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self)
    }
}

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <Cow<'de, str>>::deserialize(deserializer)?;
        Ok(text.as_ref().into())
    }
}

#[cfg(feature = "schema")]
impl utoipa::PartialSchema for Id {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        utoipa::openapi::schema::ObjectBuilder::new().schema_type(utoipa::openapi::schema::Type::String).into()
    }
}

#[cfg(feature = "schema")]
impl utoipa::ToSchema for Id {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn an_id_is_the_text_that_was_put_in_and_travels_as_it(parts in prop::collection::vec(".{0,20}", 0..6)) {
            let whole = parts.concat();
            let mut id = Id::default();
            parts.iter().for_each(|part| id.write_str(part).unwrap());
            prop_assert_eq!(id.as_str(), &whole);
            prop_assert_eq!(&id, &Id::from(&whole));
            let json = serde_json::to_string(&id).unwrap();
            prop_assert_eq!(&json, &serde_json::to_string(&whole).unwrap());
            prop_assert_eq!(serde_json::from_str::<Id>(&json).unwrap(), id);
        }
    }

    #[test]
    fn an_id_of_a_hub_is_kept_in_place() {
        assert!(matches!(Id::from("msg-550e8400-e29b-41d4-a716-446655440000").0, Text::Short { .. }));
        assert_eq!(size_of::<Id>(), 48);
    }
}
