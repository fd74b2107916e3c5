//! What a client may ask for without changing anything. What is in memory is answered here; history is the store's.

use std::sync::Arc;

use folkmoot_core::ids::*;
use folkmoot_core::model::{Member, Message, Presence};
use folkmoot_core::{Actor, Millis, Refusal, State, access, refusal};

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Query {
    /// A colleague by id or name; none is oneself.
    Member(Option<String>),
    /// The channels one is in.
    Channels,
    /// The people of a channel, or those of them who are there now.
    People {
        channel: ChannelId,
        online: bool,
    },
    /// Colleagues whose name or nick contains this.
    Search(String),
    History(History),
}

/// A page of a channel: the newest messages before a moment, some of them skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct History {
    pub channel: ChannelId,
    pub before: Option<Millis>,
    pub offset: usize,
    pub limit: usize,
}

/// What was there.
#[derive(Debug)]
pub enum QueryResult {
    Member(Arc<Member>),
    Members(Vec<Arc<Member>>),
    Channels(Vec<ChannelId>),
    /// Oldest first.
    Messages(Vec<Message>),
}

/// Either it is answered already, or it needs history, which this reader may see.
#[derive(Debug)]
pub enum QueryOutcome {
    Result(QueryResult),
    History(History),
}

const MAX_FOUND: usize = 100;

impl Query {
    /// Answers it from the state, as this member; every right is the core's to give.
    pub fn answer(self, state: &State, actor: Actor) -> Result<QueryOutcome, Refusal> {
        let result = match self {
            Self::Member(who) => QueryResult::Member(colleague(state, actor, who.as_deref())?),
            Self::Channels => {
                let member = access::member(state, actor)?.id;
                QueryResult::Channels(state.channels_of(member).map(|room| room.channel.id).collect())
            }
            Self::People { channel, online } => QueryResult::Members(people(state, actor, channel, online)?),
            Self::Search(words) => QueryResult::Members(search(state, actor, &words)?),
            Self::History(history) => {
                access::room_to_read(state, actor, history.channel)?;
                return Ok(QueryOutcome::History(history));
            }
        };
        Ok(QueryOutcome::Result(result))
    }
}

fn colleague(state: &State, actor: Actor, who: Option<&str>) -> Result<Arc<Member>, Refusal> {
    let own = access::member(state, actor)?;
    let Some(who) = who else { return Ok(Arc::clone(own)) };
    match access::colleague(state, actor, MemberId::parse(who)) {
        Ok(member) => Ok(Arc::clone(member)),
        Err(_) => state.member_named(own.workspace, who).cloned().ok_or(refusal::MEMBER_NOT_FOUND),
    }
}

fn people(state: &State, actor: Actor, channel: ChannelId, online: bool) -> Result<Vec<Arc<Member>>, Refusal> {
    let room = access::room_to_read(state, actor, channel)?;
    let there = |member: &&Arc<Member>| !online || state.presence_of(member.id) != Presence::Offline;
    Ok(by_name(room.members.keys().filter_map(|id| state.member(*id)).filter(there)))
}

fn search(state: &State, actor: Actor, words: &str) -> Result<Vec<Arc<Member>>, Refusal> {
    let workspace = access::member(state, actor)?.workspace;
    let wanted = words.trim().to_lowercase();
    let fits = |member: &&Arc<Member>| {
        let mut names = [Some(&member.name), member.nick.as_ref()].into_iter().flatten();
        names.any(|name| name.to_lowercase().contains(&wanted))
    };
    let mut found = by_name(state.members_of(workspace).filter(fits));
    found.truncate(MAX_FOUND);
    Ok(found)
}

fn by_name<'a>(members: impl Iterator<Item = &'a Arc<Member>>) -> Vec<Arc<Member>> {
    let mut members: Vec<_> = members.cloned().collect();
    members.sort_by_cached_key(|member| member.name.to_lowercase());
    members
}
