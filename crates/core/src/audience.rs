//! Who is told of an event.

use crate::event::{Audience, Event};
use crate::ids::*;
use crate::record::Record;
use crate::state::State;

impl Event {
    /// The daemon that carries the agent whose question this is: it waits for the decision, also of a channel it is not in.
    pub fn carrier(&self, state: &State) -> Option<ConnectionId> {
        match self {
            Self::Saved(Record::Approval(approval)) => state.carrier_of(approval.agent),
            _ => None,
        }
    }

    pub fn audience(&self, state: &State) -> Audience {
        match self {
            Self::MessageSent(message) | Self::Progressed(message) => Audience::Channel(message.channel),
            Self::MessageEdited { change, .. }
            | Self::MessageDeleted { change, .. }
            | Self::Reacted { change, .. }
            | Self::Pinned { change, .. }
            | Self::Unpinned { change, .. } => Audience::Channel(change.channel),
            Self::Joined(membership) | Self::Left(membership) => Audience::Channel(membership.channel),
            Self::Saved(record) | Self::Removed(record) => record_audience(record, state),
            Self::PresenceChanged { workspace, .. } => Audience::Workspace(*workspace),
            Self::Typing { channel, .. } => Audience::Channel(*channel),
            Self::Streamed(stream) | Self::StreamEnded { stream, .. } => Audience::Channel(stream.channel),
            Self::Woken(wake) => wake.through.map_or(Audience::Member(wake.agent), Audience::Connection),
            Self::StopAsked { agent, through, .. } => through.map_or(Audience::Member(*agent), Audience::Connection),
            Self::CallSignal { to, only, .. } => only.map_or(Audience::Member(*to), Audience::Connection),
            Self::TaskAssigned { to, .. } | Self::Handed { to, .. } => Audience::Member(*to),
            Self::ConnectionReplaced(_)
            | Self::Connected { .. }
            | Self::Disconnected { .. }
            | Self::DaemonRegistered { .. } => Audience::Nobody,
        }
    }
}

fn record_audience(record: &Record, state: &State) -> Audience {
    match record {
        Record::Workspace(workspace) => Audience::Workspace(workspace.id),
        Record::Member(member) => Audience::Workspace(member.workspace),
        Record::Channel(channel) => within(Some(channel.id), channel.workspace, channel.kind.is_open()),
        // How far somebody has read and what they want to hear is their own business.
        Record::Membership(membership) => Audience::Member(membership.member),
        Record::Notification(notification) => Audience::Member(notification.member),
        Record::Review(review) if review.decided_at.is_none() => Audience::Member(review.reviewer),
        Record::Review(review) => Audience::Member(review.requester),
        Record::Task(task) => within(task.channel, task.workspace, is_open(task.channel, state)),
        Record::Approval(approval) => within(approval.channel, approval.workspace, is_open(approval.channel, state)),
        Record::Item(item) => Audience::Member(item.agent),
        Record::Route(route) => Audience::Member(route.speaker),
        Record::Delivery(delivery) => delivery.channel.map_or(Audience::Member(delivery.sender), Audience::Channel),
        Record::Run(run) => Audience::Channel(run.channel),
        Record::RunAction(action) => Audience::Channel(action.channel),
        Record::Draft(_)
        | Record::Call(_)
        | Record::Webhook(_)
        | Record::File(_)
        | Record::Pin(_)
        | Record::Edit(_)
        | Record::Memory(_)
        | Record::Token(_)
        | Record::Invite(_)
        | Record::Lease(_)
        | Record::Fence(_)
        | Record::PoolLink(_)
        | Record::Cause(_)
        | Record::Session(_)
        | Record::Hosted(_)
        | Record::TelegramLink(_)
        | Record::Machine(_) => Audience::Nobody,
    }
}

/// What belongs to a closed channel is told there only; the rest is told in the workspace.
fn within(channel: Option<ChannelId>, workspace: WorkspaceId, open: bool) -> Audience {
    match channel {
        Some(channel) if !open => Audience::Channel(channel),
        _ => Audience::Workspace(workspace),
    }
}

fn is_open(channel: Option<ChannelId>, state: &State) -> bool {
    channel.and_then(|id| state.channel(id)).is_none_or(|room| room.channel.kind.is_open())
}
