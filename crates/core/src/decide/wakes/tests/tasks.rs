//! Tasks that wake, and what their way says of the wake.

use super::support::world::{deliveries, wakes};
use super::{Decision, Room, now, only, room, task};
use crate::command::{Command, Reply, UpdateTask};
use crate::delivery::DeliveryState;
use crate::ids::*;
use crate::model::*;

fn task_of(decision: &Decision) -> TaskId {
    let Reply::Task(task) = &decision.reply else { panic!("{:?}", decision.reply) };
    task.id
}

#[test]
fn a_task_wakes_at_once_and_its_way_is_the_wakes_way() {
    let Room { mut world, alice, codebot, general, .. } = room();
    let command = Command::CreateTask(task(&world, Some(codebot), Some(general)));
    let assigned = world.done(alice, command);
    assert_eq!(wakes(&assigned).len(), 1);
    let delivery = only(&assigned);
    assert_eq!((delivery.state, delivery.task), (DeliveryState::Leased, Some(task_of(&assigned))));
    world.done(codebot, Command::ClaimTask { task: task_of(&assigned) });
    assert_eq!(now(&world, delivery.id).state, DeliveryState::Admitted);
    let done = UpdateTask { task: task_of(&assigned), status: Some(TaskStatus::Done), ..UpdateTask::default() };
    world.done(codebot, Command::UpdateTask(done));
    assert_eq!(now(&world, delivery.id).state, DeliveryState::Answered);
}

#[test]
fn a_task_that_is_taken_away_takes_its_wake_with_it() {
    let Room { mut world, alice, codebot, pi, .. } = room();
    let command = Command::CreateTask(task(&world, Some(codebot), None));
    let assigned = world.done(alice, command);
    let first = only(&assigned);
    let to_pi = UpdateTask { task: task_of(&assigned), assigned_to: Some(Some(pi)), ..UpdateTask::default() };
    let moved = world.done(alice, Command::UpdateTask(to_pi));
    assert_eq!(now(&world, first.id).state, DeliveryState::Cancelled);
    let second = deliveries(&moved).into_iter().find(|delivery| delivery.agent == pi).unwrap().id;
    world.done(alice, Command::DeleteTask { task: task_of(&assigned) });
    assert_eq!(now(&world, second).state, DeliveryState::Cancelled);
}
