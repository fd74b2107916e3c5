//! Who may use pools, and who hears what their agents play.

use std::sync::Arc;

use super::{Actor, member, oldest_workspace, room_to_read};
use crate::ids::*;
use crate::model::Member;
use crate::refusal::{self, Refusal};
use crate::state::State;

/// Who may use pools: the members of the workspace that the pools' agents are guests of.
pub fn pool_user(state: &State, actor: Actor) -> Result<&Arc<Member>, Refusal> {
    let member = member(state, actor)?;
    if oldest_workspace(state) == Some(member.workspace) { Ok(member) } else { Err(refusal::POOLS_ELSEWHERE) }
}

/// A channel through which the actor may hear a voice channel: one that is linked to it and that the actor may read.
pub fn room_to_hear(state: &State, actor: Actor, guild: &str, voice_channel: &str) -> Result<ChannelId, Refusal> {
    let linked = state.pools().linked_to(guild, voice_channel).map(|link| link.channel);
    let readable = |channel: &ChannelId| room_to_read(state, actor, *channel).is_ok();
    member(state, actor)?;
    linked.into_iter().find(readable).ok_or(refusal::POOL_LINK_NOT_FOUND)
}

/// Whether a channel, and with it everybody who reads it, is still linked to a voice channel.
pub fn is_heard_in(state: &State, channel: ChannelId, guild: &str, voice_channel: &str) -> bool {
    let linked = state.pools().link(channel);
    linked.is_some_and(|link| link.guild == guild && link.voice_channel == voice_channel)
}

/// Whether somebody who was let in through this channel then still may: a changed password ends it like a login.
pub fn still_hears(state: &State, actor: Actor, generation: u64, channel: ChannelId) -> bool {
    let unchanged = |member: &Arc<Member>| member.secrets.generation == generation;
    member(state, actor).is_ok_and(unchanged) && room_to_read(state, actor, channel).is_ok()
}
