//! Tasks: made, assigned, claimed by the first who takes them, moved along.

use super::support::World;
use super::support::world::notifications;
use crate::Refusal;
use crate::command::{Command, CreateTask, Reply, UpdateTask};
use crate::event::Event;
use crate::ids::*;
use crate::model::*;
use crate::refusal::{self, Code};

fn create(world: &World, title: &str, channel: Option<ChannelId>, assigned_to: Option<MemberId>) -> Command {
    Command::CreateTask(CreateTask {
        workspace: world.workspace,
        channel,
        message: None,
        title: title.to_owned(),
        description: String::new(),
        priority: Priority::Medium,
        assigned_to,
    })
}

fn assign(task: TaskId, to: Option<MemberId>) -> Command {
    Command::UpdateTask(UpdateTask { task, assigned_to: Some(to), ..UpdateTask::default() })
}

fn claim(task: TaskId) -> Command {
    Command::ClaimTask { task }
}

struct Board {
    world: World,
    alice: MemberId,
    bob: MemberId,
    carol: MemberId,
    stranger: MemberId,
}

fn board() -> Board {
    let mut world = World::new();
    let alice = world.alice;
    let (bob, carol) = (world.human("bob"), world.human("carol"));
    let (_, stranger) = world.register("stranger");
    Board { world, alice, bob, carol, stranger }
}

impl Board {
    #[track_caller]
    fn task(&mut self, channel: Option<ChannelId>, assigned_to: Option<MemberId>) -> Task {
        let command = create(&self.world, "Mend the build", channel, assigned_to);
        let Reply::Task(task) = self.world.done(self.bob, command).reply else { panic!() };
        task
    }
}

#[test]
fn a_task_has_a_title_and_begins_as_todo() {
    let mut board = board();
    let task = board.task(None, None);
    assert_eq!((task.status, task.priority, task.created_by), (TaskStatus::Todo, Priority::Medium, board.bob));
    for wrong in ["", " ", &"t".repeat(301)] {
        let command = create(&board.world, wrong, None, None);
        assert_eq!(board.world.refused(board.bob, command).code, Code::BadRequest);
    }
    let long =
        |length: usize| UpdateTask { task: task.id, description: Some("d".repeat(length)), ..Default::default() };
    board.world.done(board.bob, Command::UpdateTask(long(10_000)));
    let refusal = board.world.refused(board.bob, Command::UpdateTask(long(10_001)));
    assert_eq!(refusal, Refusal::bad_request("description is too long (max 10000 characters)"));
}

#[test]
fn a_task_belongs_to_the_workspace_or_to_a_channel_its_maker_sees() {
    let mut board = board();
    let closed = board.world.private("closed", &[board.carol]);
    let within = create(&board.world, "Mend", Some(closed), None);
    assert_eq!(board.world.refused(board.bob, within.clone()), refusal::CHANNEL_NOT_FOUND);
    assert_eq!(
        board.world.refused(board.stranger, create(&board.world, "x", None, None)),
        refusal::WORKSPACE_NOT_FOUND
    );
    board.world.done(board.carol, within);
}

#[test]
fn who_does_not_see_a_task_can_do_nothing_with_it() {
    let mut board = board();
    let closed = board.world.private("closed", &[board.bob]);
    let task = board.task(Some(closed), None).id;
    for command in [claim(task), assign(task, None), Command::DeleteTask { task }] {
        for who in [board.carol, board.stranger] {
            assert_eq!(board.world.refused(who, command.clone()), refusal::TASK_NOT_FOUND);
        }
        assert_eq!(board.world.refused(board.bob, claim(TaskId::NONE)), refusal::TASK_NOT_FOUND);
        board.world.done(board.bob, command);
    }
}

#[test]
fn exactly_one_claim_finds_the_task_free() {
    let mut board = board();
    let task = board.task(None, None).id;
    let Reply::Task(claimed) = board.world.done(board.carol, claim(task)).reply else { panic!() };
    assert_eq!((claimed.assigned_to, claimed.status), (Some(board.carol), TaskStatus::InProgress));
    assert_eq!(board.world.refused(board.alice, claim(task)), refusal::TASK_TAKEN);
    assert_eq!(board.world.refused(board.alice, assign(task, Some(board.alice))), refusal::TASK_TAKEN);
    board.world.done(board.carol, claim(task));
    board.world.done(board.carol, assign(task, None));
    board.world.done(board.alice, claim(task));
}

#[test]
fn claiming_a_task_that_is_further_along_does_not_set_it_back() {
    let mut board = board();
    let task = board.task(None, None).id;
    let review = UpdateTask { task, status: Some(TaskStatus::Review), ..UpdateTask::default() };
    board.world.done(board.bob, Command::UpdateTask(review));
    let Reply::Task(claimed) = board.world.done(board.carol, claim(task)).reply else { panic!() };
    assert_eq!(claimed.status, TaskStatus::Review);
}

#[test]
fn an_assignee_is_told_unless_it_is_the_one_who_assigns() {
    let mut board = board();
    let command = create(&board.world, "Mend the build", None, Some(board.carol));
    let decision = board.world.done(board.bob, command);
    let [notification] = notifications(&decision)[..] else { panic!("{decision:?}") };
    assert_eq!((notification.member, notification.kind.as_str()), (board.carol, "task_assigned"));
    assert_eq!(
        (notification.title.as_str(), notification.body.as_str()),
        ("A task was assigned to you", "Mend the build")
    );
    assert!(decision.events.iter().any(|event| matches!(event, Event::TaskAssigned { to, .. } if *to == board.carol)));
    let own = create(&board.world, "Mend", None, Some(board.bob));
    assert!(notifications(&board.world.done(board.bob, own)).is_empty());
}

#[test]
fn an_assignee_is_a_colleague_who_sees_the_task() {
    let mut board = board();
    let closed = board.world.private("closed", &[board.bob]);
    let task = board.task(Some(closed), None).id;
    assert_eq!(board.world.refused(board.bob, assign(task, Some(board.stranger))), refusal::MEMBER_NOT_FOUND);
    let outside = Refusal::bad_request("the assignee is not in the task's channel");
    assert_eq!(board.world.refused(board.bob, assign(task, Some(board.carol))), outside);
    board.world.done(board.bob, Command::AddToChannel { channel: closed, member: board.carol });
    board.world.done(board.bob, assign(task, Some(board.carol)));
}

#[test]
fn a_task_is_deleted_by_its_maker_or_an_admin() {
    let mut board = board();
    for (who, may) in [(board.carol, false), (board.bob, true), (board.alice, true)] {
        let task = board.task(None, None).id;
        let delete = Command::DeleteTask { task };
        if may {
            board.world.done(who, delete);
            assert_eq!(board.world.refused(who, claim(task)), refusal::TASK_NOT_FOUND);
        } else {
            assert_eq!(board.world.refused(who, delete), refusal::ADMINS_ONLY);
        }
    }
}

#[test]
fn a_task_of_a_message_belongs_to_its_channel_and_to_those_who_can_read_it() {
    let Board { mut world, alice, bob, carol, .. } = board();
    let bot = world.agent("bot");
    let private = world.private("private", &[bob, bot]);
    let open = world.channel("open", &[alice, bob, carol]);
    let said = world.say(bob, private, "mend the build").id;
    let of_message = |world: &World, channel, assigned_to| match create(world, "Mend it", channel, assigned_to) {
        Command::CreateTask(create) => Command::CreateTask(CreateTask { message: Some(said), ..create }),
        _ => unreachable!(),
    };
    let from_outside = of_message(&world, None, Some(bot));
    assert_eq!(world.refused(carol, from_outside), refusal::MESSAGE_NOT_FOUND);
    let elsewhere = of_message(&world, Some(open), None);
    assert_eq!(world.refused(bob, elsewhere), refusal::MESSAGE_NOT_FOUND);
    let command = of_message(&world, None, Some(bot));
    let Reply::Task(task) = world.done(bob, command).reply else { panic!() };
    assert_eq!((task.channel, task.message), (Some(private), Some(said)));
}
