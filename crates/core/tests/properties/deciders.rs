//! Whatever is asked and done, nobody decides whom an agent chose: at most who answers for it, who caused the work, and admins.

use crate::domain::access;
use crate::domain::delivery::Delivery;
use crate::domain::ids::MemberId;
use crate::domain::model::{Approval, ApprovalKind, Member, Role};
use crate::domain::record::Record;
use crate::support::World;
use crate::support::commands::Dice;
use crate::support::pool::Pool;
use crate::{cases, draws, lively_world};
use proptest::prelude::*;

fn approvals(world: &World) -> Vec<Approval> {
    let of = |record: &Record| if let Record::Approval(approval) = record { Some(approval.clone()) } else { None };
    world.ledger.all_records().filter_map(of).collect()
}

/// Whether this person ever woke this agent, or an agent that did, wake by wake.
fn woke(deliveries: &[&Delivery], person: MemberId, agent: MemberId, hops: usize) -> bool {
    let own = deliveries.iter().filter(|delivery| delivery.agent == agent);
    own.clone().any(|delivery| delivery.sender == person)
        || (hops > 0 && own.clone().any(|delivery| woke(deliveries, person, delivery.sender, hops - 1)))
}

fn may(world: &World, member: &Member, approval: &Approval) -> bool {
    access::may_decide(&world.state, member, approval).is_ok()
}

proptest! {
    #![proptest_config(cases(128))]

    #[test]
    fn deciders_are_people_that_the_asker_did_not_choose(rolls in draws(40..80)) {
        let mut world = lively_world("m");
        for roll in rolls {
            let mut dice = Dice::new(roll);
            let pool = Pool::of(&mut world, "m");
            let (who, command) = (dice.pick(&pool.members), pool.command(&mut dice));
            let _ = world.act(who, command);
        }
        let records: Vec<Record> = world.ledger.all_records().cloned().collect();
        let of = |record: &'_ Record| if let Record::Delivery(delivery) = record { Some(delivery.clone()) } else { None };
        let deliveries: Vec<Delivery> = records.iter().filter_map(of).collect();
        let deliveries: Vec<&Delivery> = deliveries.iter().collect();
        for approval in approvals(&world) {
            if let Some(asker) = approval.asker.filter(|_| approval.kind != ApprovalKind::LoopGuard && approval.run.is_none()) {
                prop_assert!(woke(&deliveries, asker, approval.agent, 4), "{asker} woke nobody: {approval:?}");
            }
            for member in world.state.members_of(approval.workspace).filter(|member| may(&world, member, &approval)) {
                prop_assert!(!member.is_agent() && !world.state.is_made_by_agent(member), "{member:?}");
                let owner = world.state.member(approval.agent).and_then(|agent| agent.created_by);
                let known = owner == Some(member.id) || approval.asker == Some(member.id) || member.role >= Role::Admin;
                prop_assert!(known || approval.kind == ApprovalKind::LoopGuard, "{member:?} decides {approval:?}");
            }
        }
    }
}
