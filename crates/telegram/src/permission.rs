//! Who may: the one place that says whose messages and buttons count.

use std::collections::BTreeSet;

use crate::api::{CallbackQuery, Chat, ChatId, Message, User, UserId};

/// What is configured about people and chats.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Permission {
    /// `telegram.chat_id` and the chats of projects.
    pub chats: BTreeSet<ChatId>,
    /// `telegram.allowed_user_ids`.
    pub users: BTreeSet<UserId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Serve,
    /// Not for us; say nothing.
    Ignore,
    /// A group that we serve, but nobody is allowed to give orders: say how to change that.
    NobodyAllowed,
}

/// What is said in a group where nobody is allowed.
pub const NOBODY_ALLOWED: &str = "nobody may give orders in this group yet\n\
    hint: set `telegram.allowed_user_ids` to the ids of the people who may, and start the bridge again";

/// The person who wrote a message. Whoever writes as a chat (an anonymous admin, a channel) could be anybody.
pub fn author(message: &Message) -> Option<&User> {
    message.from.as_ref().filter(|user| !user.is_bot && message.sender_chat.is_none())
}

impl Permission {
    pub fn of_message(&self, message: &Message) -> Verdict {
        author(message).map_or(Verdict::Ignore, |user| self.judge(&message.chat, user))
    }

    pub fn of_button(&self, query: &CallbackQuery) -> Verdict {
        match &query.message {
            Some(message) => self.judge(&message.chat, &query.from),
            None => Verdict::Ignore,
        }
    }

    /// Whether this person may give orders in a private chat.
    pub fn serves_in_private(&self, user: UserId) -> bool {
        match self.users.is_empty() {
            true => self.chats.contains(&ChatId(user.0)),
            false => self.users.contains(&user),
        }
    }

    fn judge(&self, chat: &Chat, user: &User) -> Verdict {
        let listed = self.users.contains(&user.id);
        let private = chat.is_private();
        let served = self.chats.contains(&chat.id) || (private && listed);
        match (served, self.users.is_empty()) {
            (false, _) => Verdict::Ignore,
            (true, false) if listed => Verdict::Serve,
            (true, false) => Verdict::Ignore,
            // In a private chat there is nobody but the one it belongs to.
            (true, true) if private => Verdict::Serve,
            (true, true) => Verdict::NobodyAllowed,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const OWNER: i64 = 7;
    const STRANGER: i64 = 8;
    const GROUP: i64 = -100;

    fn message(chat: i64, user: i64) -> Message {
        let kind = if chat < 0 { "supergroup" } else { "private" };
        serde_json::from_value(json!({"message_id": 1, "chat": {"id": chat, "type": kind}, "from": {"id": user}}))
            .unwrap()
    }

    fn button(chat: i64, user: i64) -> CallbackQuery {
        let message = json!({"message_id": 1, "chat": {"id": chat}});
        serde_json::from_value(json!({"id": "1", "from": {"id": user}, "message": message})).unwrap()
    }

    fn permission(chats: &[i64], users: &[i64]) -> Permission {
        let (chats, users) = (chats.iter().copied().map(ChatId), users.iter().copied().map(UserId));
        Permission { chats: chats.collect(), users: users.collect() }
    }

    #[track_caller]
    fn check(permission: &Permission, chat: i64, user: i64, verdict: Verdict) {
        assert_eq!(permission.of_message(&message(chat, user)), verdict, "message of {user} in {chat}");
        assert_eq!(permission.of_button(&button(chat, user)), verdict, "button of {user} in {chat}");
    }

    #[test]
    fn the_configured_private_chat_is_served_and_no_other() {
        let permission = permission(&[OWNER], &[]);
        check(&permission, OWNER, OWNER, Verdict::Serve);
        check(&permission, STRANGER, STRANGER, Verdict::Ignore);
        check(&permission, GROUP, OWNER, Verdict::Ignore);
    }

    #[test]
    fn a_group_serves_allowed_users_and_is_silent_to_others() {
        let permission = permission(&[GROUP], &[OWNER]);
        check(&permission, GROUP, OWNER, Verdict::Serve);
        check(&permission, GROUP, STRANGER, Verdict::Ignore);
        check(&permission, -200, OWNER, Verdict::Ignore);
    }

    #[test]
    fn allowed_users_are_served_in_their_private_chats() {
        let permission = permission(&[GROUP], &[OWNER]);
        check(&permission, OWNER, OWNER, Verdict::Serve);
        check(&permission, STRANGER, STRANGER, Verdict::Ignore);
    }

    #[test]
    fn an_empty_allow_list_in_a_group_means_refuse_and_say_how_to_fix_it() {
        check(&permission(&[GROUP], &[]), GROUP, OWNER, Verdict::NobodyAllowed);
        assert!(NOBODY_ALLOWED.contains("telegram.allowed_user_ids"));
    }

    #[test]
    fn bots_and_people_without_a_name_of_their_own_are_nobody() {
        let permission = permission(&[GROUP], &[OWNER]);
        let mut bot = message(GROUP, OWNER);
        bot.from.as_mut().unwrap().is_bot = true;
        let mut anonymous = message(GROUP, OWNER);
        anonymous.sender_chat = Some(anonymous.chat.clone());
        let mut nobody = message(GROUP, OWNER);
        nobody.from = None;
        for message in [bot, anonymous, nobody] {
            assert_eq!(permission.of_message(&message), Verdict::Ignore);
        }
        let mut old = button(GROUP, OWNER);
        old.message = None;
        assert_eq!(permission.of_button(&old), Verdict::Ignore, "a button whose chat is not known");
    }
}
