//! Tasks that wake, and what their way says of the wake.

use super::support::runs::complete;
use super::support::world::{deliveries, wakes};
use super::{Decision, Room, now, only, room, task};
use crate::command::{Command, Reply, UpdateTask};
use crate::delivery::DeliveryState;
use crate::ids::*;
use crate::model::*;
use crate::run::{RunCommand, RunEnd, StartRun};

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

/// A task that was given to the agent, and the run that it began for it.
fn at_work(room: &mut Room) -> (TaskId, RunId) {
    let command = Command::CreateTask(task(&room.world, Some(room.codebot), Some(room.general)));
    let assigned = room.world.done(room.alice, command);
    let start = StartRun { delivery: only(&assigned).id, engine: "script".to_owned(), ..StartRun::default() };
    let started = room.world.done(room.codebot, Command::Run(RunCommand::Start(start)));
    let Reply::Run { run, .. } = &started.reply else { panic!("{:?}", started.reply) };
    (task_of(&assigned), run.id)
}

fn status(room: &Room, id: TaskId) -> TaskStatus {
    room.world.task(id).status
}

#[test]
fn a_task_goes_with_the_run_that_was_begun_for_it() {
    for (end, left) in [
        (RunEnd::Completed, TaskStatus::Review),
        (RunEnd::Failed, TaskStatus::Todo),
        (RunEnd::Cancelled, TaskStatus::Todo),
    ] {
        let mut room = room();
        let (task, run) = at_work(&mut room);
        assert_eq!(status(&room, task), TaskStatus::InProgress);
        room.world.done(room.codebot, complete(run, end, "done"));
        assert_eq!(status(&room, task), left, "{end:?}");
    }
}

#[test]
fn a_task_that_somebody_moved_stays_where_it_was_put() {
    let mut room = room();
    let (task, run) = at_work(&mut room);
    let done = UpdateTask { task, status: Some(TaskStatus::Done), ..UpdateTask::default() };
    room.world.done(room.alice, Command::UpdateTask(done));
    room.world.done(room.codebot, complete(run, RunEnd::Completed, "done"));
    assert_eq!(status(&room, task), TaskStatus::Done);
}
