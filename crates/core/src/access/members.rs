//! Who may do what with a member: change it, give it a role or a key, remove it.

use crate::model::*;
use crate::refusal::{self, Refusal};

/// Somebody changes themselves and the agents they answer for, an admin those below, the owner everybody.
pub fn may_change_member(by: &Member, target: &Member) -> Result<(), Refusal> {
    if target.id == by.id || manages(by, target) { Ok(()) } else { Err(refusal::ADMINS_ONLY) }
}

/// The owner makes admins; a workspace has one owner.
pub fn may_give_role(by: &Member, role: Role) -> Result<(), Refusal> {
    if role >= Role::Admin && by.role != Role::Owner || role == Role::Owner {
        return Err(Refusal::new(refusal::Code::Forbidden, "only the owner may give this role"));
    }
    Ok(())
}

/// Roles change by the owner's word; the owner's own stays, and nobody else gets it.
pub fn may_change_role(by: &Member, target: &Member, to: Role) -> Result<(), Refusal> {
    if by.role == Role::Owner && target.role != Role::Owner && to != Role::Owner {
        return Ok(());
    }
    Err(Refusal::new(refusal::Code::Forbidden, "only the owner may change roles, and a workspace keeps its owner"))
}

/// Somebody removes the agents they answer for, an admin those below, the owner everybody else.
pub fn may_remove_member(by: &Member, target: &Member) -> Result<(), Refusal> {
    if target.role == Role::Owner {
        return Err(Refusal::new(refusal::Code::Forbidden, "the owner cannot be removed"));
    }
    if target.is_daemon() {
        return Err(Refusal::new(refusal::Code::Forbidden, "this is the hub's own daemon, which carries its agents"));
    }
    if manages(by, target) { Ok(()) } else { Err(refusal::ADMINS_ONLY) }
}

/// One's own key, and as a person that of an agent one answers for or oversees: whoever has an agent's key is that agent, so
/// no agent gets another's.
pub fn may_replace_key(by: &Member, target: &Member) -> Result<(), Refusal> {
    let by_person_for_agent = target.is_agent() && !by.is_agent();
    let concerned = target.created_by == Some(by.id) || by.role >= Role::Admin;
    if target.id == by.id || by_person_for_agent && concerned {
        return Ok(());
    }
    Err(if target.is_agent() { refusal::ADMINS_ONLY } else { refusal::KEY_OF_A_PERSON })
}

fn manages(by: &Member, target: &Member) -> bool {
    let answers_for = target.is_agent() && target.created_by == Some(by.id);
    answers_for || by.role >= Role::Admin && (target.role < by.role || by.role == Role::Owner)
}
