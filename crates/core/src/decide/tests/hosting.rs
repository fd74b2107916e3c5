//! Agents that the hub hosts itself.

use super::support::World;
use crate::command::{Command, HostAgent, Reply};
use crate::hosting::{Hosted, Policy};
use crate::ids::*;
use crate::model::*;
use crate::refusal::{self, Code};
use crate::{Actor, access};

fn host(name: &str, channels: Option<Vec<ChannelId>>) -> HostAgent {
    HostAgent {
        name: name.to_owned(),
        engine: "script".to_owned(),
        model: None,
        project: Some("web".to_owned()),
        role_card: RoleCard { system_prompt: "You help.".to_owned(), capabilities: Vec::new() },
        policy: Policy::AskCommands,
        deny: vec!["git push".to_owned()],
        worktrees: true,
        channels,
        is_kept: true,
    }
}

fn hired(world: &mut World, by: MemberId, host: HostAgent) -> Hosted {
    match world.done(Actor::new(by, Door::Rest), Command::HostAgent(host)).reply {
        Reply::Hosted(hosted) => hosted,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_hosted_agent_is_a_member_in_every_open_channel_and_its_maker_answers_for_it() {
    let mut world = World::new();
    let alice = world.alice;
    let general = world.channel("general", &[alice]);
    let closed = world.private("closed", &[alice]);
    let hosted = hired(&mut world, alice, host("claude", None));
    let member = world.state.member(hosted.agent).unwrap();
    assert_eq!((member.kind, member.created_by), (MemberKind::Agent, Some(alice)));
    assert_eq!(member.role_card.as_ref().unwrap().system_prompt, "You help.");
    assert!(world.state.membership(general, hosted.agent).is_some());
    assert!(world.state.membership(closed, hosted.agent).is_none());
    let named = hired(&mut world, alice, host("codex", Some(vec![closed, closed]))).agent;
    assert!(world.state.membership(closed, named).is_some() && world.state.membership(general, named).is_none());
}

#[test]
fn hosting_survives_a_restart_and_ends_with_the_member() {
    let mut world = World::new();
    let alice = world.alice;
    let hosted = hired(&mut world, alice, host("claude", None));
    world.state = world.ledger.load();
    assert_eq!(world.state.hosted().collect::<Vec<_>>(), [&hosted]);
    world.done(Actor::new(alice, Door::Rest), Command::DismissHosted { agent: hosted.agent });
    assert_eq!(world.state.hosted().count(), 0);
    assert!(world.state.member(hosted.agent).is_none());
    let again = Command::DismissHosted { agent: hosted.agent };
    assert_eq!(world.refused(Actor::new(alice, Door::Rest), again), refusal::NOT_HOSTED);
}

#[test]
fn an_agent_of_the_configuration_is_a_member_and_not_stored_as_hosted() {
    let mut world = World::new();
    let alice = world.alice;
    let hosted = hired(&mut world, alice, HostAgent { is_kept: false, ..host("claude", None) });
    assert!(world.state.member(hosted.agent).is_some());
    assert_eq!(world.state.hosted().count(), 0);
}

#[test]
fn only_the_operator_hosts_and_dismisses() {
    let mut world = World::new();
    let (alice, bob, agent) = (world.alice, world.human("bob"), world.agent("bot"));
    let (_, mallory) = world.register("mallory");
    let hosted = hired(&mut world, alice, host("claude", None));
    for (who, why) in [(bob, refusal::ADMINS_ONLY), (agent, refusal::ADMINS_ONLY), (mallory, refusal::NOT_THE_OPERATOR)]
    {
        let actor = Actor::new(who, Door::Rest);
        assert_eq!(world.refused(actor, Command::HostAgent(host("codex", None))), why);
        assert_eq!(world.refused(actor, Command::DismissHosted { agent: hosted.agent }), why);
    }
    // What works on the hub's machine is made by people: an agent that could would make itself one with fewer questions.
    let chief = Actor::new(world.add(alice, MemberKind::Agent, "chief", Some(Role::Admin)), Door::Rest);
    assert_eq!(world.refused(chief, Command::HostAgent(host("codex", None))), refusal::PEOPLE_ONLY);
    assert_eq!(world.refused(chief, Command::DismissHosted { agent: hosted.agent }), refusal::PEOPLE_ONLY);
}

#[test]
fn a_name_must_be_one_free_word_and_a_channel_one_that_can_be_read() {
    let mut world = World::new();
    let (alice, bob) = (world.alice, world.human("bob"));
    let direct = world.direct(&[alice, bob]);
    let actor = Actor::new(alice, Door::Rest);
    assert_eq!(world.refused(actor, Command::HostAgent(host("Bob", None))), refusal::NAME_TAKEN);
    let spaced = world.refused(actor, Command::HostAgent(host("my agent", None)));
    assert_eq!(spaced.code, Code::BadRequest);
    for channel in [direct, ChannelId::NONE] {
        let refused = world.refused(actor, Command::HostAgent(host("claude", Some(vec![channel]))));
        assert_eq!(refused, refusal::CHANNEL_NOT_FOUND);
    }
    let long = HostAgent {
        role_card: RoleCard { system_prompt: "x".repeat(20_001), ..RoleCard::default() },
        ..host("c", None)
    };
    assert_eq!(world.refused(actor, Command::HostAgent(long)).code, Code::BadRequest);
    for deny in [vec![" ".to_owned()], vec!["x".repeat(1025)], vec!["x".to_owned(); 101]] {
        let refused = world.refused(actor, Command::HostAgent(HostAgent { deny, ..host("c", None) }));
        assert_eq!(refused.code, Code::BadRequest);
    }
}

#[test]
fn a_daemon_logs_in_for_the_agents_it_may_carry_and_for_nobody_else() {
    let mut world = World::new();
    let (alice, bob) = (world.alice, world.human("bob"));
    let (daemon, agent) = (world.agent("daemon"), world.agent("bot"));
    let foreign = world.add(alice, MemberKind::Agent, "foreign", None);
    let (_, mallory) = world.register("mallory");
    assert_eq!(access::speaks_for(&world.state, agent, agent), Ok(agent));
    assert_eq!(access::speaks_for(&world.state, alice, foreign), Ok(foreign));
    for (carrier, wanted) in
        [(daemon, agent), (bob, agent), (mallory, agent), (daemon, bob), (daemon, alice), (daemon, MemberId::NONE)]
    {
        assert_eq!(access::speaks_for(&world.state, carrier, wanted), Err(refusal::NOT_AUTHORIZED));
    }
    assert_eq!(access::speaks_for(&world.state, MemberId::NONE, agent), Err(refusal::NOT_AUTHENTICATED));
    world.done(Actor::new(alice, Door::Rest), Command::RemoveMember { member: agent });
    assert_eq!(access::speaks_for(&world.state, alice, agent), Err(refusal::NOT_AUTHORIZED));
}

#[test]
fn the_hubs_own_daemon_carries_every_agent_of_its_workspace() {
    let mut world = World::new();
    let admin = world.admin("carol");
    let hosted = hired(&mut world, admin, host("claude", None));
    let Guest { door, key } = Guest::daemon();
    let welcome = crate::command::WelcomeGuest { door, key, name: "agentd".to_owned(), role_card: RoleCard::default() };
    let Reply::Member(daemon) = world.done(Actor::hub(Door::Lark), Command::WelcomeGuest(welcome)).reply else {
        panic!()
    };
    assert!(!daemon.is_able(), "nobody hands it sentences");
    let connection = world.daemon(daemon.id, &[hosted.agent]);
    assert_eq!(world.state.carrier_of(hosted.agent), Some(connection));
}

#[test]
fn the_hubs_own_daemon_is_removed_by_nobody_and_does_no_tasks() {
    let mut world = World::new();
    let alice = world.alice;
    let Guest { door, key } = Guest::daemon();
    let welcome = crate::command::WelcomeGuest { door, key, name: "agentd".to_owned(), role_card: RoleCard::default() };
    let Reply::Member(daemon) = world.done(Actor::hub(Door::Lark), Command::WelcomeGuest(welcome)).reply else {
        panic!()
    };
    assert!(daemon.is_daemon());
    let removed = world.decide(alice, Command::RemoveMember { member: daemon.id });
    assert_eq!(removed.unwrap_err().code, refusal::Code::Forbidden);
    let task = crate::command::CreateTask {
        workspace: world.workspace,
        channel: None,
        message: None,
        title: "Carry on".to_owned(),
        description: String::new(),
        priority: Priority::Medium,
        assigned_to: Some(daemon.id),
    };
    assert_eq!(world.decide(alice, Command::CreateTask(task)).unwrap_err().code, refusal::Code::BadRequest);
}

#[test]
fn a_further_page_of_an_answer_answers_no_wake() {
    let mut world = World::new();
    let (alice, agent) = (world.alice, world.agent("bot"));
    let general = world.channel("general", &[alice, agent]);
    world.connect(agent);
    let asked = world.say(alice, general, "@bot hello");
    world.later(10_000);
    let more = crate::command::Send {
        channel: general,
        content: "and so on".to_owned(),
        thread: Some(asked.id),
        is_more: true,
        ..crate::command::Send::default()
    };
    world.done(agent, Command::Send(more));
    let open = world.state.deliveries().of_agent(agent).count();
    assert_eq!(open, 1, "the wake still waits for its answer");
}
