//! `/topic`: a forum topic for a branch of a project, with its worktree.

use std::sync::Arc;

use super::context::unknown_project;
use super::{Call, CommandAnswer, later, said};
use crate::api::ForumTopic;
use crate::bridge::Bridge;
use crate::context::Context;
use crate::journal::{Preference, Scope};
use crate::shared::Shared;
use crate::spot::Spot;
use crate::worktree::{self, Missing};

const USAGE: &str = "use `/topic PROJECT @BRANCH`, or `/topic @BRANCH` in a project's chat";

pub fn topic(bridge: &Bridge, call: Call) -> CommandAnswer {
    let shared = bridge.shared();
    if !call.message.chat.is_forum && call.place.topic.is_none() {
        return said(
            "this chat has no topics\n\nhint: turn them on in the settings of the group, and make the bot an \
                     admin who may manage topics",
        );
    }
    let own = shared.settings.projects.of_chat(call.place.chat);
    let (project, branch) = match (call.arguments()[..].to_vec().as_slice(), own) {
        ([project, branch], _) if branch.starts_with('@') => ((*project).to_owned(), branch[1..].to_owned()),
        ([branch], Some(own)) if branch.starts_with('@') => (own.to_owned(), branch[1..].to_owned()),
        _ => return said(USAGE),
    };
    let Some((alias, _)) = shared.settings.projects.find(&project) else {
        return said(unknown_project(shared, &project));
    };
    let context = Context::new(alias, Some(&branch));
    let (shared, spot) = (Arc::clone(shared), call.spot);
    later(bridge, spot, async move {
        if let Err(error) = worktree::folder(&shared.settings.projects, &context, Missing::Create).await {
            return Some(error.to_string());
        }
        Some(open(&shared, spot, &context).await.unwrap_or_else(|words| words))
    })
}

/// Opens the topic and binds it; one that is there already is used again.
async fn open(shared: &Shared, spot: Spot, context: &Context) -> Result<String, String> {
    let value = serde_json::to_string(context).map_err(|error| error.to_string())?;
    let (chat, wanted) = (spot.chat, value.clone());
    let known = shared.journal.transact(move |rows| rows.topics_with(chat, &Preference::Context)).await;
    let known = known.map_err(|error| error.to_string())?;
    if let Some((topic, _)) = known.into_iter().find(|(_, bound)| *bound == wanted) {
        // Renaming it to what it is called shows whether it still exists.
        let there = shared.bot.edit_forum_topic(chat, topic, &context.name()).await;
        if there.map_or_else(|error| error.is_not_modified() || !error.is_topic_gone(), |()| true) {
            return Ok(format!("the topic **{}** is there already", context.name()));
        }
    }
    let made = shared.bot.create_forum_topic(chat, &context.name()).await;
    let ForumTopic { message_thread_id: topic, .. } = made.map_err(|error| {
        format!("the topic could not be made: {error}\n\nhint: make the bot an admin who may manage topics")
    })?;
    let (scope, title) = (Scope::topic(chat, topic), context.name());
    let bound = format!("bound to {}", context.line());
    let store = move |rows: &mut crate::journal::Rows<'_>| {
        rows.prefer(scope, &Preference::Context, Some(&value))?;
        rows.prefer(scope, &Preference::Title, Some(&title))?;
        crate::spot::post(rows, Spot { chat, topic: Some(topic), reply_to: None }, &bound)
    };
    shared.journal.transact(store).await.map_err(|error| error.to_string())?;
    Ok(format!("made the topic **{}**", context.name()))
}
