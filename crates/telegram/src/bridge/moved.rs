//! A group that became a supergroup has another id: the bridge serves what is configured, so it says what to change.

use super::Bridge;
use crate::api::ChatId;
use crate::journal::{JournalError, Rows};
use crate::settings::BridgeSettings;
use crate::spot::{self, Spot};

impl Bridge {
    /// Says once, in the group under its new id, which key to set to it.
    pub(super) async fn moved(&self, from: ChatId, to: ChatId) -> Result<(), JournalError> {
        let keys = keys_of(&self.shared.settings, from);
        tracing::warn!(%from, %to, keys = keys.join(", "), "a group has a new id; the configuration has to follow");
        if keys.is_empty() {
            return Ok(());
        }
        let words = format!(
            "this group has become a supergroup and has a new id, so it is not served any more\n\n\
             hint: set {} to {to}, and start the bridge again",
            keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(" and ")
        );
        let tell = move |rows: &mut Rows<'_>| {
            let (name, now) = (format!("moved:{from}"), to.to_string());
            if rows.value(&name)?.is_some_and(|told| told == now) {
                return Ok(());
            }
            rows.set_value(&name, &now)?;
            spot::post(rows, Spot { chat: to, topic: None, reply_to: None }, &words)
        };
        self.shared.journal.transact(tell).await
    }
}

/// The keys of the configuration that name a chat.
fn keys_of(settings: &BridgeSettings, chat: ChatId) -> Vec<String> {
    let main = (settings.main_chat == Some(chat)).then(|| "telegram.chat_id".to_owned());
    let of_project = |alias: &str| {
        let (alias, project) = settings.projects.find(alias)?;
        (project.chat == Some(chat)).then(|| format!("projects.{alias}.chat_id"))
    };
    main.into_iter().chain(settings.projects.aliases().filter_map(of_project)).collect()
}
