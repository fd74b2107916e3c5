//! Where there is too much of something: channels and members in an hour, reactions on a message, bytes that are kept.
//!
//! What agents make counts for the person who answers for them, or whoever runs out would only need another agent.

use super::Context;
use crate::ids::*;
use crate::model::{File, Message};
use crate::quota::too_often;
use crate::record::Filter;
use crate::refusal::{Code, Refusal};

pub fn one_more_channel(context: &Context<'_>, by: MemberId) -> Result<(), Refusal> {
    let (state, rules) = (context.state, context.state.quota_rules());
    let checked = state.made().channels.check(&state.answers_for(by), rules.channels, context.now);
    checked.map_err(|wait| too_often("too many new channels", wait))
}

pub fn one_more_member(context: &Context<'_>, workspace: WorkspaceId) -> Result<(), Refusal> {
    let (state, rules) = (context.state, context.state.quota_rules());
    let checked = state.made().members.check(&workspace, rules.members, context.now);
    checked.map_err(|wait| too_often("too many new members", wait))
}

/// A reaction that was not there before, or one more member's.
pub fn one_more_reaction(context: &Context<'_>, message: &Message) -> Result<(), Refusal> {
    let limit = context.state.quota_rules().reactions_per_message as usize;
    let count: usize = message.reactions.iter().map(|reaction| reaction.members.len()).sum();
    if limit > 0 && count >= limit {
        return Err(Refusal::with_text(Code::Quota, format!("a message has at most {limit} reactions")));
    }
    Ok(())
}

pub fn more_bytes(context: &Context<'_>, file: &File) -> Result<(), Refusal> {
    let rules = context.state.quota_rules();
    for (whose, filter, limit) in [
        ("your", Filter::owner(file.uploaded_by), rules.member_bytes),
        ("the workspace's", Filter::workspace(file.workspace), rules.workspace_bytes),
    ] {
        if limit > 0 && context.history.stored_bytes(&filter)?.saturating_add(file.size) > limit {
            let text = format!("{whose} files may hold {limit} bytes in all; remove some first");
            return Err(Refusal::with_text(Code::Quota, text));
        }
    }
    Ok(())
}
