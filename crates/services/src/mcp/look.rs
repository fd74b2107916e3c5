//! Tools that only look: the same reads, with the same permissions, as `/v1`.

use folkmoot_core::ids::*;
use folkmoot_core::model::*;
use folkmoot_core::record::Filter;
use folkmoot_core::state::{Room, fold_name};
use folkmoot_core::{State, access, refusal};
use folkmoot_hub::Page;
use folkmoot_hub::request::{Caller, query};

use serde::Deserialize;

use super::call::{Failure, Told};
use super::{Mcp, text, wait};

const MAX_LISTED: usize = 200;

pub fn is_agent(mcp: &Mcp, caller: &Caller) -> bool {
    mcp.hub.with_state(|state| state.is_agent(caller.id()))
}

/// A channel by its id or name; one the caller is in goes before one it could only read.
pub fn channel_named(caller: &Caller, named: &str) -> Result<ChannelId, Failure> {
    let (name, id) = (named.trim().trim_start_matches('#'), ChannelId::parse(named.trim()));
    let found = caller.query(|state, actor| {
        let member = access::member(state, actor)?;
        if !id.is_none() {
            return access::room_to_read(state, actor, id).map(|room| Some(room.channel.id));
        }
        let called = |room: &&Room| !room.channel.kind.is_direct() && fold_name(&room.channel.name) == fold_name(name);
        let inside = state.channels_of(member.id).find(called);
        let open =
            || state.channels_in(member.workspace).filter(|room| access::may_read(state, member, room)).find(called);
        Ok(inside.or_else(open).map(|room| room.channel.id))
    })?;
    found.ok_or_else(|| {
        Failure::new(format!("there is no channel `{}` that you can read; see `channels`", text::line(name, 80)))
    })
}

pub fn member_named(caller: &Caller, named: &str) -> Result<MemberId, Failure> {
    let (name, id) = (named.trim().trim_start_matches('@'), MemberId::parse(named.trim()));
    let found = caller.query(|state, actor| {
        let workspace = access::member(state, actor)?.workspace;
        let by_id = || state.member(id).filter(|member| member.workspace == workspace);
        Ok(state.member_named(workspace, name).or_else(by_id).map(|member| member.id))
    })?;
    found.ok_or_else(|| Failure::new(format!("there is nobody called `{}`; see `members`", text::line(name, 80))))
}

pub async fn whoami(caller: &Caller) -> Told {
    let waiting = wait::items(caller, None).await?.len();
    Ok(caller.query(|state, actor| {
        let member = access::member(state, actor)?;
        let workspace = state.workspace(member.workspace).map_or("", |workspace| &workspace.name);
        let rooms: Vec<String> =
            state.channels_of(member.id).take(MAX_LISTED).map(|room| text::channel(state, room, member.id)).collect();
        Ok(format!(
            "You are {} ({}, {}) in the workspace {}.\nChannels: {}\nWaiting for you: {waiting}\n",
            text::line(member.display_name(), 80),
            text::kind(member),
            member.id,
            text::line(workspace, 80),
            rooms.join(" "),
        ))
    })?)
}

pub fn channels(caller: &Caller) -> Told {
    Ok(caller.query(|state, actor| {
        let member = access::member(state, actor)?;
        let readable = state.channels_in(member.workspace).filter(|room| access::may_read(state, member, room));
        let (text, left) = text::joined(readable.map(|room| channel_line(state, room, member)));
        Ok(if left > 0 { format!("{text}({left} more)\n") } else { text })
    })?)
}

fn channel_line(state: &State, room: &Room, member: &Member) -> String {
    let mut line = format!("{} {}", text::channel(state, room, member.id), room.channel.id);
    match state.membership(room.channel.id, member.id) {
        Some(_) => line.push_str(&format!(", {} unread", state.unread(room.channel.id, member.id))),
        None => line.push_str(", you are not in it"),
    }
    if room.channel.archived {
        line.push_str(", archived");
    }
    line.push('\n');
    line.push_str(&text::quoted(&text::line(&room.channel.topic, 200)));
    line
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Read {
    channel: Option<String>,
    thread: Option<String>,
    before: Option<u64>,
    after: Option<u64>,
    limit: Option<usize>,
}

pub async fn read(caller: &Caller, read: Read) -> Told {
    let limit = read.limit.unwrap_or(20).clamp(1, 100);
    let mut messages = match (&read.thread, &read.channel) {
        (Some(thread), _) => thread_of(caller, MessageId::parse(thread.trim()), read.before, limit).await?,
        (None, Some(channel)) => {
            let channel = channel_named(caller, channel)?;
            let page = Page { before: read.before, after: read.after, limit, ..Page::default() };
            let mut newest_first = caller.read(move |reader| reader.messages(channel, page)).await?;
            newest_first.reverse();
            newest_first
        }
        (None, None) => return Err(Failure::new("say which `channel` or `thread`")),
    };
    messages.retain(|message| !message.deleted || message.reply_count > 0);
    listed(caller, &messages, "nothing was said there yet")
}

async fn thread_of(caller: &Caller, id: MessageId, before: Option<u64>, limit: usize) -> Result<Vec<Message>, Failure> {
    let message = query::message_even_if_deleted(caller, id).await?;
    if message.deleted && message.reply_count == 0 {
        return Err(refusal::MESSAGE_NOT_FOUND.into());
    }
    let root = message.thread.unwrap_or(id);
    Ok(caller.read(move |reader| reader.thread(root, before, limit)).await?)
}

fn listed(caller: &Caller, messages: &[Message], otherwise: &str) -> Told {
    if messages.is_empty() {
        return Ok(otherwise.to_owned());
    }
    let (text, left) =
        caller.query(|state, _| Ok(text::joined(messages.iter().map(|message| text::message(state, message)))))?;
    let more = if left > 0 { format!("({left} more; ask for fewer at a time)\n") } else { String::new() };
    Ok(format!("{}\n{text}{more}", text::QUOTED))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Search {
    words: String,
    channel: Option<String>,
    limit: Option<usize>,
}

pub async fn search(caller: &Caller, search: Search) -> Told {
    let words = search.words.trim().to_owned();
    if words.is_empty() || words.chars().count() > 1000 {
        return Err(Failure::new("`words` must have between 1 and 1000 characters"));
    }
    let only = search.channel.as_deref().map(|channel| channel_named(caller, channel)).transpose()?;
    let channels: Vec<ChannelId> = caller.query(|state, actor| match only {
        Some(channel) => access::room_inside(state, actor, channel).map(|room| vec![room.channel.id]),
        None => Ok(state.channels_of(actor.member).map(|room| room.channel.id).collect()),
    })?;
    // Without room the index stays as it is; what it knows can be found all the same.
    let _ = caller.hub.search_is_current().await;
    let limit = search.limit.unwrap_or(20).clamp(1, 50);
    let found = caller.read(move |reader| reader.search(&words, &channels, limit)).await?;
    listed(caller, &found, "nothing was found")
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Members {
    channel: Option<String>,
}

pub fn members(caller: &Caller, members: Members) -> Told {
    let only = members.channel.as_deref().map(|channel| channel_named(caller, channel)).transpose()?;
    Ok(caller.query(|state, actor| {
        let own = access::member(state, actor)?;
        let here =
            |member: &&std::sync::Arc<Member>| only.is_none_or(|room| state.membership(room, member.id).is_some());
        let shown =
            state.members_of(own.workspace).filter(|member| !member.removed && !member.is_daemon()).filter(here);
        let (text, left) = text::joined(shown.map(|member| member_line(state, member)));
        Ok(if left > 0 { format!("{text}({left} more)\n") } else { text })
    })?)
}

fn member_line(state: &State, member: &Member) -> String {
    let presence = match state.presence_of(member.id) {
        Presence::Offline => "away",
        Presence::Sleeping => "asleep",
        _ => "here",
    };
    let can = member.role_card.as_ref().map(|card| card.capabilities.join(", ")).filter(|can| !can.is_empty());
    let can = can.map_or(String::new(), |can| format!(": {}", text::line(&can, 120)));
    format!("@{} ({}, {presence}) {}{can}\n", text::line(member.display_name(), 80), text::kind(member), member.id)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tasks {
    status: Option<TaskStatus>,
    channel: Option<String>,
    #[serde(default)]
    mine: bool,
    limit: Option<usize>,
}

pub async fn tasks(caller: &Caller, tasks: Tasks) -> Told {
    let channel = tasks.channel.as_deref().map(|channel| channel_named(caller, channel)).transpose()?;
    let own = caller.id();
    let filter = Filter {
        scope: channel.map(|channel| channel.0),
        owner: tasks.mine.then_some(own.0),
        ..Filter::workspace(caller.workspace()?)
    };
    let wanted = |state: &State, member: &Member, task: &Task| {
        tasks.status.is_none_or(|status| task.status == status)
            && access::may_see_within(state, member, task.workspace, task.channel)
    };
    let found = query::visible(caller, filter, tasks.limit.unwrap_or(20).clamp(1, 100), wanted).await?;
    if found.is_empty() {
        return Ok("there are no such tasks".to_owned());
    }
    let (text, left) = caller.query(|state, _| Ok(text::joined(found.iter().map(|task| task_line(state, task)))))?;
    let more = if left > 0 { format!("({left} more)\n") } else { String::new() };
    Ok(format!("{}\n{text}{more}", text::QUOTED))
}

pub fn task_line(state: &State, task: &Task) -> String {
    let status = serde_json::to_value(task.status).ok();
    let status = status.as_ref().and_then(|status| status.as_str()).unwrap_or_default();
    let whose = task
        .assigned_to
        .map_or("nobody's".to_owned(), |member| format!("@{}'s", text::line(state.name_of(member), 80)));
    format!("{} {status}, {whose}\n{}{}", task.id, text::quoted(&task.title), text::quoted(&task.description))
}
