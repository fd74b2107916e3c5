//! Snek, sections 2 and 4: connecting and logging in.

use serde_json::json;

use crate::support::member::PASSWORD;
use crate::support::{Setup, Snek, register, start, text};

#[tokio::test]
async fn a_person_logs_in_with_name_and_password_and_gets_the_own_user() {
    let (hub, alice) = start().await;
    let mut snek = Snek::connect(hub.address).await;
    let user = snek.login("alice", PASSWORD).await;
    assert_eq!((text(&user, "uid"), text(&user, "username"), text(&user, "nick")), (&*alice.id, "alice", "alice"));
    assert!(!user.to_string().contains("password"), "{user}");
}

#[tokio::test]
async fn an_agent_logs_in_with_name_and_api_key() {
    let (hub, alice) = start().await;
    let bot = alice.add_agent("bot").await;
    let mut snek = Snek::connect(hub.address).await;
    assert_eq!(snek.login("BOT", &bot.token).await["uid"], bot.id.as_str());
}

#[tokio::test]
async fn wrong_credentials_are_refused_and_the_socket_stays_open() {
    let (hub, alice) = start().await;
    let bot = alice.add_agent("bot").await;
    let mut snek = Snek::connect(hub.address).await;
    for (name, secret) in
        [("alice", "wrong"), ("nobody", PASSWORD), ("alice", &*bot.token), ("bot", PASSWORD), ("bot", "lr_00")]
    {
        assert_eq!(snek.refused("login", json!([name, secret])).await, "invalid credentials", "{name}");
    }
    snek.login("bot", &bot.token).await;
}

#[tokio::test]
async fn keyword_arguments_log_in_too() {
    let (hub, _alice) = start().await;
    let mut snek = Snek::connect(hub.address).await;
    let call = json!({ "method": "login", "kwargs": { "username": "alice", "password": PASSWORD }, "callId": 1 });
    snek.send_text(call.to_string()).await;
    assert_eq!(snek.answer_to(&json!(1), "login").await["success"], true);
}

#[tokio::test]
async fn a_name_that_several_workspaces_have_takes_its_slug() {
    let (hub, alice) = start().await;
    let other = register(&hub, "zoe").await;
    alice
        .rest
        .post(&alice.path("members"), json!({ "name": "twin", "type": "human", "password": PASSWORD }))
        .await
        .created();
    let twin = other
        .rest
        .post(&other.path("members"), json!({ "name": "twin", "type": "human", "password": PASSWORD }))
        .await
        .created();
    let slug = other.rest.get(&format!("/v1/workspaces/{}", other.workspace)).await.ok();
    let mut snek = Snek::connect(hub.address).await;
    assert_eq!(snek.refused("login", json!(["twin", PASSWORD])).await, "invalid credentials");
    let user = snek.login(&format!("twin@{}", text(&slug, "slug")), PASSWORD).await;
    assert_eq!(user["uid"], twin["id"]);
}

#[tokio::test]
async fn failed_logins_are_limited_per_account_together_with_rest() {
    let (hub, alice) = start().await;
    let mut snek = Snek::connect(hub.address).await;
    for _ in 0..3 {
        snek.refused("login", json!(["alice", "wrong"])).await;
    }
    for _ in 0..2 {
        let body = json!({ "name": "alice", "password": "wrong" });
        alice.rest.anonymous().post("/v1/auth/login", body).await.refused(401, "AUTH_INVALID_CREDENTIALS");
    }
    let answer = snek.answer("login", json!(["alice", PASSWORD])).await;
    assert_eq!((&answer["success"], &answer["data"]["code"]), (&json!(false), &json!("RATE_LIMITED")), "{answer}");
    let body = json!({ "name": "alice", "password": PASSWORD });
    alice.rest.anonymous().post("/v1/auth/login", body).await.refused(429, "RATE_LIMITED");
}

#[tokio::test]
async fn every_method_but_login_needs_a_login() {
    let (hub, alice) = start().await;
    let channel = alice.add_channel("general", &[]).await;
    let mut snek = Snek::connect(hub.address).await;
    for (method, args) in [
        ("get_user", json!([null])),
        ("get_channels", json!([])),
        ("send_message", json!([channel, "hi", true])),
        ("set_typing", json!([channel, "#FF0000"])),
        ("ping", json!([])),
        ("echo", json!([1])),
        ("get_messages", json!([channel])),
        ("send_message", json!([])),
    ] {
        assert_eq!(snek.refused(method, args).await, "not authenticated", "{method}");
    }
    snek.login("alice", PASSWORD).await;
    assert!(alice.texts(&channel).await.is_empty());
}

#[tokio::test]
async fn what_is_sent_behind_the_login_is_read_as_the_members() {
    let (hub, _alice) = start().await;
    let mut snek = Snek::connect(hub.address).await;
    snek.send_as(&json!("l"), "login", json!(["alice", PASSWORD])).await;
    snek.send_as(&json!("u"), "get_user", json!([null])).await;
    // Calls run at the same time, so either answer may come first.
    let mut answers = [snek.next().await, snek.next().await];
    answers.sort_by_key(|answer| answer["callId"].to_string());
    assert_eq!([&answers[0]["callId"], &answers[1]["callId"]], ["l", "u"]);
    assert_eq!(answers[1]["data"]["username"], "alice", "{}", answers[1]);
}

#[tokio::test]
async fn a_second_login_on_one_connection_is_refused() {
    let (_hub, alice) = start().await;
    let mut snek = alice.snek().await;
    let said = snek.refused("login", json!(["alice", PASSWORD])).await;
    assert!(said.contains("already logged in"), "{said}");
}

#[tokio::test]
async fn web_pages_of_other_origins_may_not_connect() {
    let (hub, _alice) = start().await;
    let dialled = crate::support::socket::Socket::dial(hub.address, "/rpc.ws", Some("http://evil.example")).await;
    assert!(dialled.is_err());
}

#[tokio::test]
async fn secrets_stay_out_of_the_log() {
    let hub = Setup::default().env("MOOT_LOG", "debug").start().await;
    let alice = register(&hub, "alice").await;
    let bot = alice.add_agent("bot").await;
    let mut snek = Snek::connect(hub.address).await;
    snek.refused("login", json!(["alice", "a wrong secret"])).await;
    snek.login("bot", &bot.token).await;
    let log = hub.log();
    assert!(!log.contains(&bot.token) && !log.contains("a wrong secret") && !log.contains(PASSWORD), "{log}");
}
