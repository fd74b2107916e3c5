//! `daemon.register` and wakes through the daemon's socket.

use serde_json::{Value, json};

use crate::support::{Lark, Member, column, items, register, start, text};

fn agents(members: &[&Member]) -> Value {
    let list: Vec<Value> = members.iter().map(|member| json!({ "name": member.name, "agent_id": member.id })).collect();
    json!({ "agents": list })
}

/// A daemon: a human's connection that hosts agents.
async fn daemon(owner: &Member, hosted: &[&Member]) -> Lark {
    let mut lark = owner.lark().await;
    lark.asks("daemon.register", agents(hosted), "daemon.registered").await;
    lark
}

#[tokio::test]
async fn register_is_answered_with_a_daemon_id_and_the_agents() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let reviewbot = alice.add_agent("reviewbot").await;
    let mut lark = alice.lark().await;
    let request = agents(&[&codebot, &reviewbot]);
    let data = lark.asks("daemon.register", request.clone(), "daemon.registered").await;
    assert!(text(&data, "daemon_id").starts_with("daemon_"), "{data}");
    assert_eq!(data["agents"], request["agents"]);
}

#[tokio::test]
async fn a_wake_goes_over_the_daemons_socket_and_names_its_agent() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let reviewbot = alice.add_agent("reviewbot").await;
    let general = alice.add_channel("general", &[&codebot, &reviewbot]).await;
    let mut lark = daemon(&alice, &[&codebot, &reviewbot]).await;
    let bob = alice.add_human("bob").await;
    alice.admit(&general, &bob).await;
    for name in ["reviewbot", "codebot"] {
        let message = bob.post(&general, &format!("@{name} wake up")).await;
        let wake = lark.expect("agent.wake").await;
        assert_eq!(wake["agent_name"], name);
        assert_eq!(wake["reason"], "mention");
        assert_eq!(wake["context"]["channel"]["id"], general.as_str());
        let recent = &wake["context"]["recent_messages"];
        assert_eq!(items(recent).last().expect("messages")["id"], message["id"]);
    }
}

#[tokio::test]
async fn the_other_triggers_go_through_the_daemon_as_well() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let bob = alice.add_human("bob").await;
    let mut lark = daemon(&alice, &[&codebot]).await;
    let direct = bob.direct(&[&codebot]).await;
    bob.post(&direct, "psst").await;
    let wake = lark.expect("agent.wake").await;
    assert_eq!((&wake["reason"], &wake["agent_name"]), (&json!("dm"), &json!("codebot")));
    let body = json!({ "title": "Fix it", "assigned_to": codebot.id });
    alice.rest.post(&alice.path("tasks"), body).await.created();
    let wake = lark.expect("agent.wake").await;
    assert_eq!(wake["reason"], "task_assigned");
    assert_eq!(wake["agent_name"], "codebot");
}

#[tokio::test]
async fn a_hosted_agent_is_woken_by_the_daemons_own_member() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[&codebot]).await;
    let mut lark = daemon(&alice, &[&codebot]).await;
    lark.say(&general, "@codebot hello from your host").await;
    assert_eq!(lark.expect("agent.wake").await["agent_name"], "codebot");
}

#[tokio::test]
async fn an_empty_list_is_refused() {
    let (_hub, alice) = start().await;
    let mut lark = alice.lark().await;
    let error = lark.refused("daemon.register", json!({ "agents": [] })).await;
    assert_eq!(error, "no agents provided");
}

#[tokio::test]
async fn registering_another_workspaces_agent_diverts_nothing() {
    let (hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[&codebot]).await;
    let mut agent = codebot.lark_agent().await;
    let mallory = register(&hub, "mallory").await;
    let own = mallory.add_agent("ownbot").await;
    let own_channel = mallory.add_channel("general", &[&own]).await;
    let mut thief = mallory.lark().await;
    let answer = thief.ask("daemon.register", agents(&[&codebot, &own])).await;
    let registered = answer["data"]["agents"].to_string();
    assert!(!registered.contains(&codebot.id), "{answer}");
    thief.ask("daemon.register", agents(&[&own])).await;
    let message = alice.post(&general, "@codebot a secret").await;
    let wake = agent.expect("agent.wake").await;
    assert_eq!(wake["context"]["recent_messages"][0]["id"], message["id"]);
    // The thief's next wake is the one that belongs to it.
    mallory.post(&own_channel, "@ownbot hello").await;
    let wake = thief.expect("agent.wake").await;
    assert_eq!(wake["agent_name"], "ownbot", "{wake}");
}

#[tokio::test]
async fn a_human_cannot_be_registered_as_a_hosted_agent() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let mut lark = alice.lark().await;
    let answer = lark.ask("daemon.register", agents(&[&bob])).await;
    assert!(!answer["data"]["agents"].to_string().contains(&bob.id), "{answer}");
}

#[tokio::test]
async fn after_the_daemon_is_gone_the_agent_is_woken_directly_again() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[&codebot]).await;
    let lark = daemon(&alice, &[&codebot]).await;
    let mut agent = codebot.lark_agent().await;
    lark.close().await;
    let gone = crate::support::eventually("the daemon is gone", || async {
        let path = alice.path("daemons");
        let daemons = alice.rest.get(&path).await.ok();
        let online = items(&daemons).iter().any(|daemon| daemon["status"] == "online");
        (!online).then_some(())
    });
    gone.await;
    let message = alice.post(&general, "@codebot directly").await;
    let wake = agent
        .expect_where("agent.wake", |wake| {
            let recent = &wake["context"]["recent_messages"];
            items(recent).last().is_some_and(|last| last["id"] == message["id"])
        })
        .await;
    assert_eq!(wake["reason"], "mention");
}

#[tokio::test]
async fn the_old_daemons_clean_up_does_not_unregister_the_new_one() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[&codebot]).await;
    let old = daemon(&alice, &[&codebot]).await;
    let mut new = daemon(&alice, &[&codebot]).await;
    old.close().await;
    let mut watcher = alice.lark().await;
    watcher.say(&general, "fence").await;
    alice.post(&general, "@codebot who hosts you?").await;
    assert_eq!(new.expect("agent.wake").await["agent_name"], "codebot");
}

#[tokio::test]
async fn running_daemons_are_listed_with_their_agents() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let mut lark = alice.lark().await;
    let data = lark.asks("daemon.register", agents(&[&codebot]), "daemon.registered").await;
    let daemons = alice.rest.get(&alice.path("daemons")).await.ok();
    assert_eq!(column(&daemons, "id"), [text(&data, "daemon_id")]);
    let listed = &items(&daemons)[0];
    for key in ["name", "status", "agent_count", "started_at"] {
        assert!(!listed[key].is_null(), "`{key}` in {listed}");
    }
    assert_eq!(listed["agent_count"], 1);
    // The terminal client reads this as a string, and nothing else.
    let started = text(listed, "started_at");
    assert!(started.contains('T') && started.ends_with('Z'), "{started}");
    let agent = &listed["agents"][0];
    assert_eq!(agent["name"], "codebot");
    assert_eq!(agent["agent_id"], codebot.id.as_str());
    let path = format!("/v1/daemons/{}", text(&data, "daemon_id"));
    let one = alice.rest.get(&path).await.ok();
    assert_eq!(one["id"], data["daemon_id"]);
}

#[tokio::test]
async fn the_terminal_client_wakes_a_hosted_agent() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let mut lark = alice.lark().await;
    let data = lark.asks("daemon.register", agents(&[&codebot]), "daemon.registered").await;
    let path = format!("/v1/daemons/{}/agents/codebot/wake", text(&data, "daemon_id"));
    alice.rest.post(&path, json!({})).await.done();
    assert_eq!(lark.expect("agent.wake").await["agent_name"], "codebot");
}

#[tokio::test]
async fn the_terminal_client_wakes_a_hosted_agent_about_a_message() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[&codebot]).await;
    let mut lark = alice.lark().await;
    let data = lark.asks("daemon.register", agents(&[&codebot]), "daemon.registered").await;
    let path = format!("/v1/daemons/{}/agents/codebot/wake", text(&data, "daemon_id"));
    let said = alice.post(&general, "the build is red").await;
    alice.post(&general, "lunch is at twelve").await;
    // The id of a message, words that are said then, and what the client sends without its options.
    let about = json!({ "channel_id": general, "message": said["id"] });
    alice.rest.post(&path, about).await.ok();
    let wake = lark.expect("agent.wake").await;
    assert_eq!((&wake["reason"], &wake["agent_name"]), (&json!("manual"), &json!("codebot")));
    assert_eq!(wake["context"]["delivery"]["message_ids"], json!([said["id"]]));
    assert_eq!(items(&wake["context"]["recent_messages"]).last().unwrap()["id"], said["id"]);
    alice.rest.post(&path, json!({ "channel_id": general, "message": "look at the build" })).await.ok();
    let wake = lark.expect("agent.wake").await;
    let last = items(&wake["context"]["recent_messages"]).last().cloned().unwrap();
    assert_eq!((&last["content"], &last["sender_id"]), (&json!("look at the build"), &json!(alice.id)));
    assert_eq!(alice.texts(&general).await.last().map(String::as_str), Some("look at the build"));
    alice.rest.post(&path, json!({ "channel_id": "", "message": "" })).await.ok();
    assert!(lark.expect("agent.wake").await["context"]["channel"].is_null());
    alice.rest.post(&path, json!({ "channel_id": general, "message": "" })).await.ok();
    assert_eq!(lark.expect("agent.wake").await["context"]["channel"]["id"], general.as_str());
    alice.rest.post(&path, json!({ "message": "where?" })).await.refused(400, "BAD_REQUEST");
}

/// Makes somebody an admin, or no longer one.
async fn set_role(owner: &Member, member: &Member, role: &str) {
    owner.rest.patch(&owner.path(&format!("members/{}", member.id)), json!({ "role": role })).await.ok();
}

/// A connection that somebody made for an agent.
async fn lark_for(carrier: &Member, token: &str, agent: &Member) -> Lark {
    let mut lark = carrier.dial().await;
    lark.asks("auth.login", json!({ "token": token, "agent_id": agent.id }), "auth.success").await;
    lark
}

#[tokio::test]
async fn a_connection_made_for_an_agent_ends_with_what_its_carrier_logged_in_with() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let joe = alice.add_human("joe").await;
    set_role(&alice, &joe, "admin").await;
    let mut signed_out = lark_for(&joe, &joe.token, &codebot).await;
    joe.rest.post("/v1/auth/logout", json!({})).await.ok();
    assert_eq!(signed_out.closed().await, Some(1008), "signed out");

    let joe = alice.log_in("joe").await;
    let mut demoted = lark_for(&joe, &joe.token, &codebot).await;
    set_role(&alice, &joe, "member").await;
    assert_eq!(demoted.closed().await, Some(1008), "no longer an admin");

    let key = |made: &Value| text(made, "api_key").to_owned();
    let own = joe.rest.post(&joe.path("members/me/key"), json!({})).await.ok();
    set_role(&alice, &joe, "admin").await;
    let mut rekeyed = lark_for(&joe, &key(&own), &codebot).await;
    let fresh = joe.rest.post(&joe.path("members/me/key"), json!({})).await.ok();
    assert_eq!(rekeyed.closed().await, Some(1008), "another key");

    let mut removed = lark_for(&joe, &key(&fresh), &codebot).await;
    alice.rest.delete(&alice.path(&format!("members/{}", joe.id))).await.ok();
    assert_eq!(removed.closed().await, Some(1008), "removed");
}

#[tokio::test]
async fn a_daemon_whose_member_may_no_longer_carry_its_agents_is_cut_off() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let joe = alice.add_human("joe").await;
    set_role(&alice, &joe, "admin").await;
    let mut lark = daemon(&joe, &[&codebot]).await;
    set_role(&alice, &joe, "member").await;
    assert_eq!(lark.closed().await, Some(1008));
    let mut again = joe.lark().await;
    let data = again.asks("daemon.register", agents(&[&codebot]), "daemon.registered").await;
    assert_eq!(data["agents"], json!([]));
}

#[tokio::test]
async fn a_daemon_hears_a_channel_only_as_long_as_an_agent_it_carries_is_in_it() {
    let (_hub, alice) = start().await;
    let (codebot, spybot) = (alice.add_agent("codebot").await, alice.add_agent("spybot").await);
    let open = alice.add_channel("open", &[&codebot, &spybot]).await;
    let secret = alice.add_private("secret", &[&codebot]).await;
    let other = alice.add_private("other", &[&codebot]).await;
    let mut lark = spybot.dial().await;
    lark.login(&alice.machine_key().await).await;
    lark.asks("daemon.register", agents(&[&codebot, &spybot]), "daemon.registered").await;
    lark.ask("channel.join", json!({ "channel_id": open, "agent_id": spybot.id })).await;
    for channel in [&secret, &other] {
        lark.ask("channel.join", json!({ "channel_id": channel, "agent_id": codebot.id })).await;
    }
    alice.post(&secret, "heard").await;
    lark.expect_where("message.new", |data| data["content"] == "heard").await;
    alice.rest.delete(&alice.path(&format!("channels/{secret}/members/{}", codebot.id))).await.ok();
    alice.post(&secret, "not heard after the agent left").await;
    alice.post(&other, "still heard").await;
    let next = lark.expect("message.new").await;
    assert_eq!(next["content"], "still heard");
    lark.asks("daemon.register", agents(&[&spybot]), "daemon.registered").await;
    alice.post(&other, "not heard without the agent").await;
    alice.post(&open, "its own channel").await;
    let next = lark.expect("message.new").await;
    assert_eq!(next["content"], "its own channel");
}
