//! An agent's key is that agent; a machine's key carries its owner's agents, and can do nothing else.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::agents::{Daemon, Fake, WAIT_TIMEOUT};
use crate::support::{Hub, Lark, Member, Rest, Snek, column, eventually, eventually_within, items, start, text};

fn agents(members: &[&Member]) -> Value {
    let list: Vec<Value> = members.iter().map(|member| json!({"name": member.name, "agent_id": member.id})).collect();
    json!({ "agents": list })
}

async fn log_in_for(hub: &Hub, key: &str, agent: &Member) -> Value {
    let mut lark = Lark::connect(hub.address).await;
    lark.ask("auth.login", json!({"token": key, "agent_id": agent.id})).await
}

async fn make_admin(owner: &Member, member: &Member) {
    owner.rest.patch(&owner.path(&format!("members/{}", member.id)), json!({"role": "admin"})).await.ok();
}

#[tokio::test]
async fn an_agents_key_neither_becomes_another_agent_nor_carries_one() {
    let (hub, alice) = start().await;
    let (victim, sibling) = (alice.add_agent("victim").await, alice.add_agent("sibling").await);
    let promoted = alice.add_agent("promoted").await;
    make_admin(&alice, &promoted).await;
    let secret = alice.add_private("secret", &[&victim]).await;
    for thief in [&sibling, &promoted] {
        let answer = log_in_for(&hub, &thief.token, &victim).await;
        assert_eq!(answer["type"], "auth.fail", "{} became another: {answer}", thief.name);

        let mut lark = thief.lark().await;
        let registered = lark.asks("daemon.register", agents(&[&victim, thief]), "daemon.registered").await;
        assert_eq!(column(&registered["agents"], "agent_id"), [thief.id.as_str()], "{registered}");
        assert_eq!(column(&registered["refused"], "agent_id"), [victim.id.as_str()]);
        let as_victim = json!({"channel_id": secret, "content": "it was me", "agent_id": victim.id});
        assert_eq!(lark.refused("message.send", as_victim).await, "not authorized");
        alice.post(&secret, &format!("@victim not for {}", thief.name)).await;
        lark.say(&alice.add_channel(&thief.name, &[thief]).await, "fence").await;
        assert!(lark.kept("agent.wake").is_empty() && lark.kept("message.new").iter().all(|m| m["content"] == "fence"));

        let key = thief.path(&format!("members/{}/key", victim.id));
        assert_eq!(thief.rest.post(&key, json!({})).await.status, 403, "{} got another's key", thief.name);
        assert_eq!(thief.rest.post(&thief.path("machines"), json!({"name": "x"})).await.status, 403);
    }
    assert_eq!(log_in_for(&hub, &victim.token, &victim).await["type"], "auth.success");
    assert_eq!(log_in_for(&hub, &alice.token, &victim).await["type"], "auth.success");
}

struct Machine {
    id: String,
    key: String,
    rest: Rest,
}

async fn machine_of(owner: &Member, name: &str) -> Machine {
    let made = owner.rest.post(&owner.path("machines"), json!({ "name": name })).await.created();
    assert_eq!(text(&made, "owner_id"), owner.id);
    let key = text(&made, "key").to_owned();
    assert!(key.starts_with("lm_") && key.len() == 3 + 64, "{key}");
    Machine { id: text(&made, "id").to_owned(), rest: owner.rest.with(&format!("Bearer {key}")), key }
}

/// A daemon that logs in with a machine's key.
async fn daemon(hub: &Hub, machine: &Machine, carried: &[&Member]) -> Lark {
    let mut lark = Lark::connect(hub.address).await;
    lark.login(&machine.key).await;
    lark.asks("daemon.register", agents(carried), "daemon.registered").await;
    lark
}

#[tokio::test]
async fn a_machine_carries_its_owners_agents_and_speaks_for_them() {
    let (hub, alice) = start().await;
    let joe = alice.add_human("joe").await;
    make_admin(&alice, &joe).await;
    let (own, foreign) = (joe.add_agent("own").await, alice.add_agent("foreign").await);
    alice.rest.patch(&alice.path(&format!("members/{}", joe.id)), json!({"role": "member"})).await.ok();
    let general = alice.add_channel("general", &[&own, &foreign]).await;
    let machine = machine_of(&joe, "laptop").await;
    let mut lark = Lark::connect(hub.address).await;
    let identity = lark.login(&machine.key).await;
    assert_eq!((text(&identity, "name"), text(&identity, "workspace_id")), ("laptop", joe.workspace.as_str()));
    let registered = lark.asks("daemon.register", agents(&[&own, &foreign]), "daemon.registered").await;
    assert_eq!(column(&registered["agents"], "agent_id"), [own.id.as_str()]);
    assert_eq!(column(&registered["refused"], "agent_id"), [foreign.id.as_str()]);
    alice.post(&general, "@own hello").await;
    let wake = lark.expect("agent.wake").await;
    assert_eq!(wake["agent_name"], "own");
    lark.asks("message.send", json!({"channel_id": general, "content": "hi", "agent_id": own.id}), "message.ack").await;
    let said = alice.history(&general).await;
    assert_eq!(items(&said)[0]["sender_id"], own.id.as_str());
    // A program of the machine has a connection of its own.
    assert_eq!(log_in_for(&hub, &machine.key, &own).await["type"], "auth.success");
    for other in [&foreign, &joe, &alice] {
        assert_eq!(log_in_for(&hub, &machine.key, other).await["type"], "auth.fail");
    }
    let members = machine.rest.get(&joe.path("members")).await.ok();
    assert_eq!(column(&members, "name"), ["own"], "a machine finds whom it may carry");
    let daemons = joe.rest.get(&joe.path("daemons")).await.ok();
    assert_eq!(column(&daemons, "name"), ["laptop"]);
    assert_eq!(column(&daemons, "member_id"), [joe.id.as_str()]);
}

#[tokio::test]
async fn a_machine_neither_reads_speaks_nor_decides_as_its_owner_and_makes_no_keys() {
    let (hub, alice) = start().await;
    let (bob, agent) = (alice.add_human("bob").await, alice.add_agent("codebot").await);
    let (general, direct) = (alice.add_channel("general", &[&agent, &bob]).await, alice.direct(&[&bob]).await);
    let machine = machine_of(&alice, "laptop").await;
    let mut lark = daemon(&hub, &machine, &[&agent]).await;
    bob.post(&direct, "marker: for your eyes").await;
    let ask = json!({"channel_id": general, "action": "rm -rf", "payload": {}});
    let approval = agent.rest.post(&agent.path("approvals"), ask).await;
    let approval = text(&approval.json(), "id").to_owned();
    for (kind, data) in [
        ("message.send", json!({"channel_id": general, "content": "as my owner"})),
        ("message.send", json!({"channel_id": direct, "content": "psst"})),
        ("channel.join", json!({"channel_id": direct})),
        ("channel.join", json!({"channel_id": general})),
        ("sync.resume", json!({"channels": {direct.as_str(): 0}})),
        ("approval.decide", json!({"approval_id": approval, "approved": true})),
        ("inbox.poll", json!({})),
        ("presence.update", json!({"status": "dnd"})),
    ] {
        let answer = lark.ask(kind, data).await;
        assert_eq!(answer["type"], "error", "{kind} → {answer}");
    }
    refused_everywhere(&machine, &alice).await;
    let still = alice.rest.get(&format!("/v1/approvals/{approval}")).await.ok();
    assert_eq!(text(&still, "status"), "pending");
    assert!(lark.kept("message.new").is_empty() && lark.kept("notification.new").is_empty(), "nothing of the owner's");
    let mut snek = Snek::connect(hub.address).await;
    for name in ["laptop", "alice"] {
        snek.refused("login", json!([name, machine.key])).await;
    }
}

/// Every address of the surface that needs a login, but the two that a daemon uses.
async fn refused_everywhere(machine: &Machine, owner: &Member) {
    let surface = owner.rest.get("/openapi.json").await.ok();
    let mut asked = 0;
    for (path, methods) in surface["paths"].as_object().expect("paths") {
        for (method, operation) in methods.as_object().expect("methods") {
            let is_public = operation["security"].as_array().is_some_and(|all| all.iter().any(|one| one == &json!({})));
            let is_for_daemons = [("get", "/v1/workspaces/{workspace}/members"), ("put", "/v1/runs/{run}/diff")]
                .contains(&(method.as_str(), path.as_str()));
            if is_public || is_for_daemons {
                continue;
            }
            let named = path.replace("{workspace}", &owner.workspace).replace("{member}", "me");
            let parts = named.split('/').map(|part| if part.starts_with('{') { "x" } else { part });
            let address = parts.collect::<Vec<_>>().join("/");
            let verb = Method::from_bytes(method.to_uppercase().as_bytes()).expect("a method");
            let answer = machine.rest.request(verb, &address).json(&json!({})).send().await.expect("an answer");
            assert_eq!(answer.status().as_u16(), 403, "{method} {path}");
            asked += 1;
        }
    }
    assert!(asked > 80, "only {asked} were asked");
}

#[tokio::test]
async fn a_machine_whose_key_is_taken_back_is_cut_off_at_once_and_so_is_that_of_a_removed_owner() {
    let (hub, alice) = start().await;
    let joe = alice.add_human("joe").await;
    make_admin(&alice, &joe).await;
    let (one, two) = (joe.add_agent("one").await, joe.add_agent("two").await);
    let machine = machine_of(&joe, "laptop").await;
    let mut carrying = daemon(&hub, &machine, &[&one]).await;
    let mut program = Lark::connect(hub.address).await;
    program.asks("auth.login", json!({"token": machine.key, "agent_id": two.id}), "auth.success").await;
    let bob = alice.add_human("bob").await;
    assert_eq!(bob.rest.delete(&bob.path(&format!("machines/{}", machine.id))).await.status, 404);
    joe.rest.delete(&joe.path(&format!("machines/{}", machine.id))).await.ok();
    assert_eq!(carrying.closed().await, Some(1008), "taken back");
    assert_eq!(program.closed().await, Some(1008), "taken back, for a program");
    let mut again = Lark::connect(hub.address).await;
    assert_eq!(again.ask("auth.login", json!({"token": machine.key})).await["type"], "auth.fail");
    assert_eq!(machine.rest.get(&joe.path("members")).await.status, 401);

    let second = machine_of(&joe, "server").await;
    let mut carrying = daemon(&hub, &second, &[&one]).await;
    alice.rest.delete(&alice.path(&format!("members/{}", joe.id))).await.ok();
    assert_eq!(carrying.closed().await, Some(1008), "its owner was removed");
    let mut again = Lark::connect(hub.address).await;
    assert_eq!(again.ask("auth.login", json!({"token": second.key})).await["type"], "auth.fail");
}

#[tokio::test]
async fn machines_are_listed_for_their_owner_and_for_admins_with_what_they_carry_and_without_their_keys() {
    let (mut hub, alice) = start().await;
    let joe = alice.add_human("joe").await;
    let agent = alice.add_agent("codebot").await;
    let (hers, his) = (machine_of(&alice, "server").await, machine_of(&joe, "laptop").await);
    let lark = daemon(&hub, &hers, &[&agent]).await;
    let own = joe.rest.get(&joe.path("machines")).await.ok();
    assert_eq!(column(&own, "id"), [his.id.as_str()]);
    assert_eq!(
        (&own[0]["online"], &own[0]["last_seen_at"], &own[0]["agents"]),
        (&json!(false), &Value::Null, &json!([]))
    );
    let all = alice.rest.get(&alice.path("machines")).await;
    assert!(!all.text().contains(&hers.key), "the key is shown once");
    let all = all.ok();
    assert_eq!(column(&all, "name"), ["server", "laptop"]);
    assert_eq!((&all[0]["online"], text(&all[0], "owner_id")), (&json!(true), alice.id.as_str()));
    assert_eq!(all[0]["agents"], json!([{"id": agent.id, "name": "codebot"}]));
    assert!(all[0]["last_seen_at"].is_i64());
    assert!(
        !std::fs::read(hub.folder().path().join("data/hub.db"))
            .unwrap_or_default()
            .windows(hers.key.len())
            .any(|part| part == hers.key.as_bytes()),
        "stored hashed"
    );
    lark.close().await;
    hub.kill();
    hub.restart().await;
    let kept = alice.rest.get(&alice.path("machines")).await.ok();
    assert_eq!((&kept[0]["online"], column(&kept[0]["agents"], "name")), (&json!(false), vec!["codebot"]));
    daemon(&hub, &hers, &[&agent]).await;
}

// `moot agentd` and its key.

struct Laptop {
    home: PathBuf,
    fake: Fake,
}

fn laptop(hub: &Hub) -> Laptop {
    let home = hub.folder().path().join("laptop");
    std::fs::create_dir_all(&home).unwrap();
    Laptop { fake: Fake::new(&home), home }
}

impl Laptop {
    fn config(&self, hub: &Hub, key: &str) -> String {
        let agent = |name: &str| format!("[agents.{name}]\nengine = \"claude\"\n");
        format!(
            "[agentd]\nserver = \"ws://{}/ws\"\napi_key = \"{key}\"\nsocket = \"{}\"\n[engines.claude]\ncommand = \"{}\"\n{}{}",
            hub.address,
            self.home.join("s").display(),
            self.fake.program.display(),
            agent("one"),
            agent("two")
        )
    }

    /// What `moot login` leaves.
    fn log_in(&self, hub: &Hub, member: &Member) {
        let folder = self.home.join("config/folkmoot");
        std::fs::create_dir_all(&folder).unwrap();
        let profile = json!({"server": hub.url(""), "token": member.token, "name": member.name,
            "member_id": member.id, "workspace_id": member.workspace});
        std::fs::write(folder.join("profile.json"), profile.to_string()).unwrap();
    }
}

async fn is_online(alice: &Member, agent: &Member) -> bool {
    let shown = alice.rest.get(&alice.path(&format!("members/{}", agent.id))).await.ok();
    shown["online"] == true
}

async fn both_online(alice: &Member, agents: [&Member; 2]) {
    eventually_within(WAIT_TIMEOUT, "both agents are carried", || async {
        (is_online(alice, agents[0]).await && is_online(alice, agents[1]).await).then_some(())
    })
    .await;
}

fn mode_of(path: &Path) -> u32 {
    std::fs::metadata(path).expect("the file").permissions().mode() & 0o777
}

#[tokio::test]
async fn a_daemon_that_had_an_agents_key_makes_one_for_its_machine_when_its_owner_is_logged_in() {
    let (hub, alice) = start().await;
    let (one, two) = (alice.add_agent("one").await, alice.add_agent("two").await);
    let carrier = alice.add_agent("agentd-laptop").await;
    let laptop = laptop(&hub);
    laptop.log_in(&hub, &alice);
    let mut daemon = Daemon::start(&laptop.home, &laptop.config(&hub, &carrier.token), &[]);
    both_online(&alice, [&one, &two]).await;
    let log = daemon.log();
    let said = log.lines().find(|line| line.contains("agentd-laptop")).expect("a line");
    assert!(said.contains("made a key for this machine") && said.contains("machine.json"), "{said}");
    assert_eq!(mode_of(&daemon.data().join("machine.json")), 0o600);
    let machines = alice.rest.get(&alice.path("machines")).await.ok();
    let mut carried = column(&machines[0]["agents"], "name");
    carried.sort_unstable();
    assert_eq!((items(&machines).len(), carried), (1, vec!["one", "two"]));
    daemon.stop().await;
    daemon.restart();
    both_online(&alice, [&one, &two]).await;
    let machines = alice.rest.get(&alice.path("machines")).await.ok();
    assert_eq!(items(&machines).len(), 1, "the key is kept");
}

#[tokio::test]
async fn without_a_login_a_daemon_with_an_agents_key_carries_that_agent_alone_and_says_what_to_do() {
    let (hub, alice) = start().await;
    let (one, two) = (alice.add_agent("one").await, alice.add_agent("two").await);
    let laptop = laptop(&hub);
    let daemon = Daemon::start(&laptop.home, &laptop.config(&hub, &one.token), &[]);
    eventually_within(WAIT_TIMEOUT, "the one is carried", || async { is_online(&alice, &one).await.then_some(()) })
        .await;
    assert!(!is_online(&alice, &two).await);
    let log = daemon.log();
    let said = log.lines().find(|line| line.contains("only one is carried")).expect("a line");
    assert!(
        said.contains(&format!("moot login --server {}", hub.url(""))) && said.contains("moot machine add"),
        "{said}"
    );
}

#[tokio::test]
async fn a_daemon_without_a_key_makes_one_with_the_login_and_refuses_to_start_without() {
    let (hub, alice) = start().await;
    let (one, two) = (alice.add_agent("one").await, alice.add_agent("two").await);
    let laptop = laptop(&hub);
    let daemon = Daemon::start(&laptop.home, &laptop.config(&hub, ""), &[]);
    let hint = eventually("the daemon says what to do", || async {
        let log = daemon.log();
        log.contains("hint:").then_some(log)
    });
    let log = hint.await;
    assert!(log.contains("nobody is logged in") && log.contains("moot machine add NAME"), "{log}");
    drop(daemon);
    laptop.log_in(&hub, &alice);
    let daemon = Daemon::start(&laptop.home, &laptop.config(&hub, ""), &[]);
    both_online(&alice, [&one, &two]).await;
    let machines = alice.rest.get(&alice.path("machines")).await.ok();
    let id = text(&machines[0], "id").to_owned();
    alice.rest.delete(&alice.path(&format!("machines/{id}"))).await.ok();
    eventually_within(WAIT_TIMEOUT, "nobody is carried", || async {
        let gone = !is_online(&alice, &one).await && !is_online(&alice, &two).await;
        gone.then_some(())
    })
    .await;
    let left = alice.rest.get(&alice.path("machines")).await.ok();
    assert!(items(&left).is_empty(), "it does not make another by itself: {left}");
    drop(daemon);
}
