//! No command of somebody from outside changes or reveals anything inside.
//!
//! Everything that is said inside carries the mark `hush`. Whatever a stranger gets back, and whatever happens because of
//! what it asked, must neither contain that mark, nor an id from inside that it did not name itself, nor reach anybody there.

use std::collections::BTreeSet;

use crate::domain::event::Audience;
use crate::domain::ids::*;
use crate::domain::lookup::Lookup;
use crate::domain::model::{ChannelKind, MemberKind, Role};
use crate::domain::record::Record;
use crate::domain::{Actor, Command, Decision, Event, Refusal};
use crate::support::World;
use crate::support::commands::{Dice, ROLLS};
use crate::support::pool::Pool;
use crate::support::runs::new_run;
use crate::{cases, draws, lively_world};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

const MARK: &str = "hush";

/// What strangers must not learn of or touch.
struct Inside {
    /// Ids as they would show.
    ids: BTreeSet<String>,
    channels: BTreeSet<ChannelId>,
    /// Nobody in these may hear from a stranger.
    workspace: Option<WorkspaceId>,
    members: BTreeSet<MemberId>,
}

impl Inside {
    fn of_workspace(world: &World, workspace: WorkspaceId) -> Self {
        let channels = world.state.channels_in(workspace).map(|room| room.channel.id).collect();
        let members = world.ledger.all_records().filter_map(|record| match record {
            Record::Member(member) if member.workspace == workspace => Some(member.id),
            _ => None,
        });
        let mut inside =
            Self { ids: BTreeSet::new(), channels, workspace: Some(workspace), members: members.collect() };
        inside.ids.insert(workspace.to_string());
        inside.ids.extend(inside.members.iter().map(ToString::to_string));
        inside.learn_channels(world);
        inside
    }

    fn of_channel(world: &World, channel: ChannelId) -> Self {
        let channels = BTreeSet::from([channel]);
        let mut inside = Self { ids: BTreeSet::new(), channels, workspace: None, members: BTreeSet::new() };
        inside.learn_channels(world);
        inside
    }

    fn learn_channels(&mut self, world: &World) {
        self.ids.extend(self.channels.iter().map(ToString::to_string));
        let messages = world.ledger.all_messages().filter(|message| self.channels.contains(&message.channel));
        let messages: Vec<_> = messages.map(|message| message.id.to_string()).collect();
        self.ids.extend(messages);
        // What names one of these belongs to it.
        let own: Vec<_> =
            world.ledger.all_records().filter(|record| self.is_named_in(&format!("{record:?}"))).map(id_of).collect();
        self.ids.extend(own);
    }

    fn is_named_in(&self, text: &str) -> bool {
        self.ids.iter().any(|id| text.contains(id.as_str()))
    }

    /// Everything stored that belongs to it, to be compared before and after.
    fn stored(&self, world: &World) -> String {
        let records = world.ledger.all_records().filter(|record| self.ids.contains(&id_of(record)));
        let messages = world.ledger.all_messages().filter(|message| self.channels.contains(&message.channel));
        let changes = world.ledger.all_changes().filter(|change| self.channels.contains(&change.channel));
        let heads = self.channels.iter().map(|channel| world.state.channel(*channel).map(|room| room.head));
        format!(
            "{:?} {:?} {:?} {:?}",
            records.collect::<Vec<_>>(),
            messages.collect::<Vec<_>>(),
            changes.collect::<Vec<_>>(),
            heads.collect::<Vec<_>>()
        )
    }

    fn hears(&self, audience: Audience) -> bool {
        match audience {
            Audience::Channel(channel) => self.channels.contains(&channel),
            Audience::Workspace(workspace) => self.workspace == Some(workspace),
            Audience::Member(member) => self.members.contains(&member),
            Audience::Connection(_) | Audience::Nobody => false,
        }
    }
}

fn id_of(record: &Record) -> String {
    match record {
        Record::Workspace(it) => it.id.to_string(),
        Record::Member(it) => it.id.to_string(),
        Record::Channel(it) => it.id.to_string(),
        Record::Membership(it) => it.id.to_string(),
        Record::Notification(it) => it.id.to_string(),
        Record::Draft(it) => it.id.to_string(),
        Record::Review(it) => it.id.to_string(),
        Record::Task(it) => it.id.to_string(),
        Record::Approval(it) => it.id.to_string(),
        Record::Call(it) => it.id.to_string(),
        Record::Webhook(it) => it.id.to_string(),
        Record::File(it) => it.id.to_string(),
        Record::Pin(it) => it.id.to_string(),
        Record::Edit(it) => it.id.to_string(),
        Record::Item(it) => it.id.to_string(),
        Record::Memory(it) => it.id.to_string(),
        Record::Token(it) => it.id.to_string(),
        Record::Lease(it) => it.id.to_string(),
        Record::Fence(it) => it.id.to_string(),
        Record::PoolLink(it) => it.id.to_string(),
        Record::Route(it) => it.id.to_string(),
        Record::Delivery(it) => it.id.to_string(),
        Record::Cause(it) => it.id.to_string(),
        Record::Invite(it) => it.id.to_string(),
        Record::Run(it) => it.id.to_string(),
        Record::RunAction(it) => it.id.to_string(),
        Record::Session(it) => it.id.to_string(),
        Record::Hosted(it) => it.id.to_string(),
        Record::TelegramLink(it) => it.id.to_string(),
        Record::Machine(it) => it.id.to_string(),
    }
}

fn keeps_out(world: &mut World, inside: &Inside, actor: Actor, command: &Command) -> Result<(), TestCaseError> {
    let outcome = world.decide(actor, command.clone()).map(|decision| without_housekeeping(decision, world.now));
    let (asked, shown) = (format!("{command:?}"), format!("{outcome:?}"));
    prop_assert!(!shown.contains(MARK), "{asked} reveals what was said: {shown}");
    for id in inside.ids.iter().filter(|id| shown.contains(id.as_str())) {
        prop_assert!(asked.contains(id.as_str()), "{asked} reveals {id}: {shown}");
    }
    let Ok(decision) = outcome else { return Ok(()) };
    for event in &decision.events {
        let audience = event.audience(&world.state);
        prop_assert!(!inside.hears(audience), "{asked} is heard inside: {event:?}");
    }
    let mut after = world.clone();
    after.follow(&decision);
    prop_assert!(inside.stored(world) == inside.stored(&after), "{asked} changes something inside");
    Ok(())
}

/// Signing out also sweeps away tokens that have expired, whosever they were.
fn without_housekeeping(mut decision: Decision, now: i64) -> Decision {
    let is_sweep = |event: &Event| matches!(event, Event::Removed(Record::Token(token)) if token.expires_at <= now);
    decision.events.retain(|event| !is_sweep(event));
    decision
}

/// Lets the people inside do random things, whoever may do each first.
fn live(world: &mut World, draws: &[[u16; ROLLS]], may: impl Fn(&World, &Pool, &Command) -> bool) {
    for rolls in draws {
        let pool = Pool::of(world, MARK);
        let command = pool.command(&mut Dice::new(*rolls));
        if !may(world, &pool, &command) {
            continue;
        }
        let members = pool.members.clone();
        members.into_iter().find(|member| world.act(*member, command.clone()).is_ok());
    }
}

/// The same pool, but of a stranger: it knows every id, and none of the words.
fn stranger_pool(world: &mut World) -> Pool {
    let pool = Pool::of(world, "loud");
    Pool { names: vec!["loud".to_owned()], ..pool }
}

proptest! {
    #![proptest_config(cases(96))]

    #[test]
    fn no_command_of_a_non_member_changes_or_reveals_anything(
        past in draws(0..60),
        attempts in draws(1..120),
    ) {
        let mut world = lively_world(MARK);
        let home = world.workspace;
        let gone = world.human("gone");
        world.done(world.alice, Command::RemoveMember { member: gone });
        live(&mut world, &past, |_, _, command| !matches!(command, Command::DeleteWorkspace { .. } | Command::Register(_)));
        let (_, mallory) = world.register("mallory");
        let agent = world.add(mallory, MemberKind::Agent, "spy", None);
        world.connect(mallory);
        let inside = Inside::of_workspace(&world, home);
        let pool = stranger_pool(&mut world);
        for rolls in attempts {
            let mut dice = Dice::new(rolls);
            let command = pool.command(&mut dice);
            // Whoever knows a secret may use it.
            if matches!(command, Command::PostToWebhook { .. } | Command::RegisterAgent(_) | Command::Join(_)) {
                continue;
            }
            for who in [mallory, agent, gone, MemberId::NONE] {
                let connection = world.state.connections_of(who).last().copied();
                let actor = Actor { connection, ..Actor::new(who, crate::domain::model::Door::Lark) };
                keeps_out(&mut world, &inside, actor, &command)?;
                let actor = Actor { on_behalf: Some(dice.pick(&pool.members)), ..actor };
                keeps_out(&mut world, &inside, actor, &command)?;
            }
        }
    }

    #[test]
    fn no_command_of_somebody_outside_a_private_channel_changes_or_reveals_anything_in_it(
        past in draws(0..60),
        attempts in draws(1..120),
    ) {
        let mut world = World::new();
        let (bob, bot) = (world.human("bob"), world.agent("bot"));
        let (outsider, spy, chief) = (world.human("outsider"), world.agent("spy"), world.admin("chief"));
        let room = world.private("hush-room", &[bob, bot]);
        world.channel("lobby", &[world.alice, bob, bot, outsider, spy, chief]);
        for member in [bob, bot, outsider, spy, chief] {
            world.connect(member);
        }
        world.say(bob, room, "hush @bot first");
        world.store(new_run(RunId(1 << 100), world.workspace, room, bot));
        live(&mut world, &past, |world, _, command| happens_within(world, room, command));
        let inside = Inside::of_channel(&world, room);
        let pool = stranger_pool(&mut world);
        for rolls in attempts {
            let command = pool.command(&mut Dice::new(rolls));
            if is_about_the_whole_workspace(&command) {
                continue;
            }
            for who in [outsider, spy, chief] {
                let connection = world.state.connections_of(who).last().copied();
                let actor = Actor { connection, ..Actor::new(who, crate::domain::model::Door::Lark) };
                keeps_out(&mut world, &inside, actor, &command)?;
            }
        }
    }
}

/// Who may run the workspace may take people out of it, and so out of every channel; and a webhook's secret opens it.
fn is_about_the_whole_workspace(command: &Command) -> bool {
    matches!(command, Command::RemoveMember { .. } | Command::DeleteWorkspace { .. } | Command::PostToWebhook { .. })
}

/// Commands that leave their traces in this channel only, and let nobody else in.
fn happens_within(world: &World, room: ChannelId, command: &Command) -> bool {
    let of_message = |id| world.ledger.message(id).ok().flatten().is_some_and(|message| message.channel == room);
    let inside = |member| world.state.membership(room, member).is_some();
    match command {
        Command::Send(send) => send.channel == room && send.file.is_none(),
        Command::EditMessage { message, .. }
        | Command::DeleteMessage { message }
        | Command::React { message, .. }
        | Command::Pin { message, .. } => of_message(*message),
        Command::Unpin { .. } | Command::ValidateDraft { .. } | Command::SendDraft { .. } => true,
        // Whoever opens the room lets everybody in.
        Command::UpdateChannel { channel, is_private, .. } => *channel == room && *is_private != Some(false),
        Command::CreateDraft { channel, .. }
        | Command::ArchiveChannel { channel, .. }
        | Command::MarkRead { channel, .. }
        | Command::SetNotifyPreference { channel, .. }
        | Command::CreateWebhook { channel, .. } => *channel == room,
        Command::CreateTask(create) => create.channel == Some(room),
        Command::UpdateTask(_) | Command::ClaimTask { .. } | Command::AckInbox { .. } => true,
        Command::RequestApproval(request) => request.channel == Some(room),
        Command::RequestReview { reviewer, channel, .. } => *channel == Some(room) && inside(*reviewer),
        Command::AddFile(file) => file.channel == Some(room),
        _ => false,
    }
}

#[test]
fn the_stranger_tests_would_notice_a_leak() {
    let mut world = lively_world(MARK);
    let inside = Inside::of_workspace(&world, world.workspace);
    let alice = world.alice;
    let room = world.state.channels_of(alice).find(|room| room.channel.kind == ChannelKind::Channel).unwrap();
    let channel = room.channel.id;
    let send = crate::support::world::say(channel, "loud");
    let actor = Actor::new(alice, crate::domain::model::Door::Lark);
    assert!(keeps_out(&mut world, &inside, actor, &send).is_err(), "a message inside is a change");
    let look = Command::UpdateMember(crate::domain::command::UpdateMember { member: alice, ..Default::default() });
    assert!(keeps_out(&mut world, &inside, actor, &look).is_err(), "a member's name is no stranger's business");
    let typing = Command::Typing { channel, on: true, color: None };
    assert!(keeps_out(&mut world, &inside, actor, &typing).is_err(), "somebody inside hears it");
    let refused = Command::CreateChannel {
        workspace: Some(WorkspaceId(1)),
        name: "loud".to_owned(),
        kind: ChannelKind::Channel,
        topic: String::new(),
    };
    assert!(keeps_out(&mut world, &inside, actor, &refused).is_ok(), "a refusal reveals nothing");
    let _: Refusal = world.refused(actor, refused);
    assert!(world.state.member(alice).is_some_and(|member| member.role == Role::Owner));
}
