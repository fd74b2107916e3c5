//! Which handler a message goes to, and whether the bot may speak there (section 9).

use regex::Regex;

/// Who the bot is on its server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Me {
    /// The unique name.
    pub username: String,
    /// The name that is displayed.
    pub nick: String,
}

/// A message as a channel shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub channel_uid: String,
    pub username: String,
    pub user_nick: String,
    pub text: String,
    /// The thread it was said in, where the server has threads.
    pub thread_id: Option<String>,
}

/// What a message asks of the bot, in the document's order of priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route<'a> {
    /// The bot's own words.
    Own,
    /// The text after `ping`.
    Ping(&'a str),
    Join,
    Leave,
    Mention,
    /// Everything else; [`may_answer`] decides.
    Message,
}

/// The first rule that fits.
pub fn route<'a>(me: &Me, message: &'a Message) -> Route<'a> {
    if message.username == me.username {
        return Route::Own;
    }
    if let Some(rest) = message.text.strip_prefix("ping") {
        return Route::Ping(rest);
    }
    let text = message.text.to_lowercase();
    let called = |word: &str| {
        [&me.nick, &me.username].iter().any(|name| {
            let call = format!("@{}{word}", name.to_lowercase());
            !name.is_empty() && contains_word(&text, &call)
        })
    };
    match () {
        () if called(" join") => Route::Join,
        () if called(" leave") => Route::Leave,
        () if called("") => Route::Mention,
        () => Route::Message,
    }
}

/// Where a message was said, as far as the permission to answer depends on it.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The channel's tag is `dm`.
    pub is_direct: bool,
    /// The bot was asked to join the channel.
    pub is_joined: bool,
}

/// The channel permission rules for a message that nobody addressed to the bot.
pub fn may_answer(me: &Me, text: &str, place: Place, triggers: &[Regex]) -> bool {
    place.is_direct
        || place.is_joined
        || triggers.iter().any(|trigger| trigger.is_match(text))
        || contains_word(&text.to_lowercase(), &me.username.to_lowercase())
}

/// Whether `word` stands in `text` and is not only the beginning or end of a longer word there.
fn contains_word(text: &str, word: &str) -> bool {
    let is_part = |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
    !word.is_empty()
        && text.match_indices(word).any(|(at, found)| {
            let before = text[..at].chars().next_back();
            let after = text[at + found.len()..].chars().next();
            !is_part(after) && !is_part(before)
        })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn me() -> Me {
        Me { username: "mybot".into(), nick: "MyNick".into() }
    }

    fn from(username: &str, text: &str) -> Message {
        Message {
            channel_uid: "ch1".into(),
            username: username.into(),
            user_nick: "Alice".into(),
            text: text.to_owned(),
            thread_id: None,
        }
    }

    fn routed(text: &str) -> String {
        format!("{:?}", route(&me(), &from("alice", text)))
    }

    #[test]
    fn rule_1_the_bots_own_message_whatever_it_says() {
        for text in ["ping", "@mybot join", "hello"] {
            assert_eq!(route(&me(), &from("mybot", text)), Route::Own);
        }
    }

    #[test]
    fn rule_2_a_message_that_starts_with_ping() {
        assert_eq!(routed("ping"), "Ping(\"\")");
        assert_eq!(routed("ping hello"), "Ping(\" hello\")");
        assert_eq!(routed("a ping"), "Message");
    }

    #[test]
    fn rule_2_comes_before_mentions() {
        assert_eq!(routed("ping @mybot join"), "Ping(\" @mybot join\")");
    }

    #[test]
    fn rule_3_a_message_that_contains_nick_or_username_and_join() {
        assert_eq!(routed("hey @mybot join"), "Join");
        assert_eq!(routed("@MyNick join please"), "Join");
        assert_eq!(routed("@mynick JOIN!"), "Join");
        assert_eq!(routed("@mybot joined us yesterday"), "Mention");
    }

    #[test]
    fn rule_4_a_message_that_contains_nick_or_username_and_leave() {
        assert_eq!(routed("@mybot leave"), "Leave");
        assert_eq!(routed("now @MyNick leave."), "Leave");
        assert_eq!(routed("@mybot leave, no, @mybot join"), "Join", "rule 3 goes before rule 4");
    }

    #[test]
    fn rule_5_a_message_that_contains_nick_or_username() {
        assert_eq!(routed("hello @MyNick"), "Mention");
        assert_eq!(routed("@mybot, what time is it?"), "Mention");
        assert_eq!(routed("@mybottle is somebody else"), "Message");
        assert_eq!(routed("mail me at x@mybot"), "Message");
    }

    #[test]
    fn rule_6_everything_else() {
        assert_eq!(routed("hello"), "Message");
        assert_eq!(routed("mybot without the sign"), "Message");
    }

    #[test]
    fn a_bot_without_a_nick_is_not_called_by_every_at_sign() {
        let me = Me { username: "mybot".into(), nick: String::new() };
        assert_eq!(route(&me, &from("alice", "@ join")), Route::Message);
    }

    const PUBLIC: Place = Place { is_direct: false, is_joined: false };

    #[test]
    fn in_a_direct_channel_it_always_answers() {
        assert!(may_answer(&me(), "hello", Place { is_direct: true, ..PUBLIC }, &[]));
    }

    #[test]
    fn in_a_public_channel_it_answers_when_it_was_joined() {
        assert!(may_answer(&me(), "hello", Place { is_joined: true, ..PUBLIC }, &[]));
        assert!(!may_answer(&me(), "hello", PUBLIC, &[]));
    }

    #[test]
    fn in_a_public_channel_it_answers_a_trigger() {
        let triggers = [Regex::new("(?i)^help\\b").unwrap()];
        assert!(may_answer(&me(), "Help me", PUBLIC, &triggers));
        assert!(!may_answer(&me(), "no help", PUBLIC, &triggers));
    }

    #[test]
    fn in_a_public_channel_it_answers_when_its_username_appears() {
        assert!(may_answer(&me(), "what does Mybot think?", PUBLIC, &[]));
        assert!(!may_answer(&me(), "mybottle", PUBLIC, &[]));
    }

    proptest! {
        /// No text makes the router fail, and no text of the bot itself makes it answer itself.
        #[test]
        fn any_text_has_one_route(text in "\\PC{0,60}") {
            let _ = route(&me(), &from("alice", &text));
            let own = from("mybot", &text);
            prop_assert_eq!(route(&me(), &own), Route::Own);
        }
    }
}
