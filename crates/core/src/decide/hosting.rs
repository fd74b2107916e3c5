//! Agents that the hub hosts itself: made and dismissed by whoever runs the hub.

use super::{Context, Decision, Outcome, channels, members, quotas, short_text};
use crate::command::{HostAgent, Reply};
use crate::event::Event;
use crate::hosting::Hosted;
use crate::ids::*;
use crate::model::*;
use crate::refusal::{self, Refusal};
use crate::{Actor, access};

const MAX_ENGINE_CHARS: usize = 64;
const MAX_PATH_CHARS: usize = 1024;
const MAX_PATTERNS: usize = 100;
const MAX_PROMPT_CHARS: usize = 20_000;

pub fn host(context: &mut Context<'_>, actor: Actor, host: HostAgent) -> Outcome {
    let by = access::host(context.state, actor)?;
    let (workspace, created_by) = (by.workspace, by.id);
    quotas::one_more_member(context, workspace)?;
    let name = members::free_name(context, workspace, &host.name, None)?;
    if name.contains(char::is_whitespace) {
        return Err(Refusal::bad_request("the name of an agent is one word, so that it can be mentioned"));
    }
    if host.role_card.system_prompt.chars().count() > MAX_PROMPT_CHARS {
        return Err(Refusal::bad_request(format!("system_prompt is too long (max {MAX_PROMPT_CHARS} characters)")));
    }
    let rooms = rooms(context, actor, workspace, host.channels)?;
    let (engine, model) = (short_text(&host.engine, "engine", MAX_ENGINE_CHARS)?, filled(host.model, "model")?);
    let runtime = Runtime { kind: Some("cli".to_owned()), provider: Some(engine.clone()), model: model.clone() };
    let member = Member {
        role_card: Some(host.role_card),
        runtime: Some(runtime),
        ..members::new_member(context, workspace, MemberKind::Agent, name, Some(created_by))
    };
    let hosted = Hosted {
        id: HostedId(context.new_id()),
        workspace,
        agent: member.id,
        engine,
        model,
        project: filled(host.project, "project")?,
        policy: host.policy,
        deny: patterns(host.deny)?,
        worktrees: host.worktrees,
        created_by,
        created_at: context.now,
    };
    let mut events = vec![Event::Saved(member.clone().into())];
    for room in rooms {
        events.push(Event::Joined(channels::new_membership(context, &room, member.id)));
    }
    if host.is_kept {
        events.push(Event::Saved(hosted.clone().into()));
    }
    Ok(Decision::new(Reply::Hosted(hosted), events))
}

fn patterns(deny: Vec<String>) -> Result<Vec<String>, Refusal> {
    if deny.len() > MAX_PATTERNS {
        return Err(Refusal::bad_request(format!("deny has too many entries (max {MAX_PATTERNS})")));
    }
    deny.iter().map(|pattern| short_text(pattern, "an entry of deny", MAX_PATH_CHARS)).collect()
}

fn filled(text: Option<String>, what: &str) -> Result<Option<String>, Refusal> {
    let text = text.filter(|text| !text.trim().is_empty());
    text.map(|text| short_text(&text, what, MAX_PATH_CHARS)).transpose()
}

/// The channels it begins in: those named, which the operator must be able to read, or all that are open.
fn rooms(
    context: &Context<'_>,
    actor: Actor,
    workspace: WorkspaceId,
    named: Option<Vec<ChannelId>>,
) -> Result<Vec<Channel>, Refusal> {
    let Some(named) = named else {
        let open = context.state.channels_in(workspace).map(|room| &room.channel);
        let mut open: Vec<Channel> = open.filter(|room| room.kind.is_open() && !room.archived).cloned().collect();
        open.sort_by_key(|channel| channel.id);
        return Ok(open);
    };
    let mut rooms: Vec<Channel> = Vec::new();
    for id in named {
        let channel = &access::room_to_read(context.state, actor, id)?.channel;
        if channel.kind.is_direct() {
            return Err(refusal::CHANNEL_NOT_FOUND);
        }
        if !rooms.iter().any(|known| known.id == id) {
            rooms.push(channel.clone());
        }
    }
    Ok(rooms)
}

pub fn dismiss(context: &mut Context<'_>, actor: Actor, agent: MemberId) -> Outcome {
    access::host(context.state, actor)?;
    let hosted = context.state.hosted().find(|hosted| hosted.agent == agent).cloned();
    let hosted = hosted.ok_or(refusal::NOT_HOSTED)?;
    let mut events = vec![Event::Removed(hosted.clone().into())];
    if context.state.member(agent).is_some() {
        events.extend(members::remove(context, actor, agent)?.events);
    }
    Ok(Decision::new(Reply::Hosted(hosted), events))
}
