//! Upgrade, envelope and authentication.

use serde_json::json;

use crate::support::{Lark, REQUESTS, Rest, Setup, number, register, start, text, token};

#[tokio::test]
async fn every_server_envelope_has_v_id_type_ts_and_data() {
    let (_hub, alice) = start().await;
    let mut lark = alice.dial().await;
    lark.send("auth.login", json!({ "token": alice.token })).await;
    let frame = lark.next().await;
    assert_eq!(frame["v"], 1, "{frame}");
    let id = text(&frame, "id");
    assert!(uuid::Uuid::parse_str(id).is_ok(), "{frame}");
    assert_eq!(frame["type"], "auth.success");
    let age = token::now() * 1000 - number(&frame, "ts");
    assert!(age.abs() < 60_000, "`ts` is not now in milliseconds: {frame}");
    assert!(frame["data"].is_object(), "{frame}");
}

#[tokio::test]
async fn a_reply_carries_the_request_id_as_reply_to_and_an_id_of_its_own() {
    let (_hub, alice) = start().await;
    let channel = alice.add_channel("general", &[]).await;
    let mut lark = alice.lark().await;
    let data = json!({ "channel_id": channel });
    let id = lark.send("channel.join", data).await;
    let frame = lark.reply_to(&id, "channel.join").await;
    assert_eq!(frame["type"], "channel.join");
    assert_ne!(frame["id"], id.as_str(), "the reply has an id of its own");
}

#[tokio::test]
async fn a_request_needs_neither_v_nor_id_nor_ts() {
    let (_hub, alice) = start().await;
    let channel = alice.add_channel("general", &[]).await;
    let mut lark = alice.dial().await;
    let login = json!({ "type": "auth.login", "data": { "token": alice.token } });
    lark.send_text(login.to_string()).await;
    assert_eq!(lark.next().await["type"], "auth.success");
    let send = json!({ "type": "message.send", "data": { "channel_id": channel, "content": "bare" } });
    lark.send_text(send.to_string()).await;
    let ack = lark.expect("message.ack").await;
    assert!(!text(&ack, "message_id").is_empty());
    assert_eq!(alice.texts(&channel).await, ["bare"]);
}

#[tokio::test]
async fn v_and_ts_of_a_request_are_not_checked() {
    let (_hub, alice) = start().await;
    let channel = alice.add_channel("general", &[]).await;
    let mut lark = alice.lark().await;
    let join = json!({ "v": 7, "ts": 0, "type": "channel.join", "data": { "channel_id": channel } });
    lark.send_text(join.to_string()).await;
    let joined = lark.expect("channel.join").await;
    assert_eq!(joined["channel_id"], channel.as_str());
}

#[tokio::test]
async fn a_human_logs_in_with_a_jwt_and_learns_who_it_is() {
    let (_hub, alice) = start().await;
    let mut lark = alice.dial().await;
    let data = lark.login(&alice.token).await;
    assert_eq!(data["member_id"], alice.id.as_str());
    assert_eq!(data["workspace_id"], alice.workspace.as_str());
    assert_eq!(data["name"], "alice");
    assert_eq!(data["type"], "human");
}

#[tokio::test]
async fn an_agent_logs_in_with_its_api_key() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    assert!(codebot.token.starts_with("lr_"));
    let mut lark = codebot.dial().await;
    let data = lark.login(&codebot.token).await;
    assert_eq!(data["member_id"], codebot.id.as_str());
    assert_eq!(data["workspace_id"], alice.workspace.as_str());
    assert_eq!(data["name"], "codebot");
    assert_eq!(data["type"], "agent");
}

#[tokio::test]
async fn auth_success_comes_before_everything_that_waits_in_the_channels() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let channel = alice.add_channel("general", &[&codebot]).await;
    let mut busy = alice.lark().await;
    for round in 0..10 {
        let login = json!({ "token": codebot.token });
        let mut lark = codebot.dial().await;
        lark.send("auth.login", login).await;
        let data = json!({ "channel_id": channel, "content": format!("@codebot {round}") });
        busy.send("message.send", data).await;
        assert_eq!(lark.next().await["type"], "auth.success");
    }
}

#[tokio::test]
async fn wrong_credentials_get_auth_fail_and_another_try() {
    let (_hub, alice) = start().await;
    let mut lark = alice.dial().await;
    for wrong in ["", "nonsense", "lr_0000", "a.b.c"] {
        lark.send("auth.login", json!({ "token": wrong })).await;
        let frame = lark.next().await;
        assert_eq!(frame["type"], "auth.fail", "{wrong:?} → {frame}");
        assert_eq!(frame["data"]["error"], "invalid credentials", "{wrong:?}");
    }
    lark.login(&alice.token).await;
}

#[tokio::test]
async fn a_login_without_a_usable_token_is_answered_and_may_be_repeated() {
    let (_hub, alice) = start().await;
    let mut lark = alice.dial().await;
    for data in [json!({}), json!(null), json!({ "token": 7 }), json!("token")] {
        lark.send("auth.login", data.clone()).await;
        let frame = lark.next().await;
        let kind = text(&frame, "type").to_owned();
        assert!(["error", "auth.fail"].contains(&kind.as_str()), "{data} → {frame}");
        assert!(text(&frame["data"], "error").contains("invalid"), "{data} → {frame}");
    }
    lark.login(&alice.token).await;
}

#[tokio::test]
async fn before_login_every_request_is_answered_not_authenticated() {
    let (_hub, alice) = start().await;
    let channel = alice.add_channel("general", &[]).await;
    let mut lark = alice.dial().await;
    for kind in REQUESTS {
        let data = json!({ "channel_id": channel, "content": "early" });
        let error = lark.refused(kind, data).await;
        assert_eq!(error, "not authenticated", "{kind}");
    }
    lark.login(&alice.token).await;
    assert!(alice.texts(&channel).await.is_empty());
}

#[tokio::test]
async fn a_foreign_origin_is_refused_with_403() {
    let (hub, alice) = start().await;
    let refusal = Lark::dial(hub.address, Some("https://evil.example")).await;
    match refusal.err().expect("the upgrade is refused") {
        tungstenite::Error::Http(response) => assert_eq!(response.status(), 403),
        other => panic!("expected 403, got {other}"),
    }
    alice.lark().await;
}

#[tokio::test]
async fn the_hubs_own_origin_and_no_origin_may_connect() {
    let (hub, alice) = start().await;
    let own = format!("http://{}", hub.address);
    let mut browser = Lark::dial(hub.address, Some(&own)).await.expect("own origin");
    browser.login(&alice.token).await;
    let mut program = Lark::dial(hub.address, None).await.expect("no origin");
    program.login(&alice.token).await;
}

#[tokio::test]
async fn a_name_that_somebody_let_point_to_this_machine_is_a_foreign_origin() {
    let (hub, _alice) = start().await;
    // What a browser sends from a page at http://evil.example:PORT after the name was made to mean 127.0.0.1.
    let host = format!("evil.example:{}", hub.address.port());
    let upgrade = reqwest::Client::builder().no_proxy().build().unwrap().get(hub.url("/ws"));
    let upgrade = upgrade.header("host", &host).header("origin", format!("http://{host}"));
    let upgrade = upgrade.header("connection", "upgrade").header("upgrade", "websocket");
    let upgrade = upgrade.header("sec-websocket-version", "13").header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
    assert_eq!(upgrade.send().await.expect("an answer").status(), 403);
}

#[tokio::test]
async fn the_origin_of_the_public_url_may_connect() {
    let setup = Setup::default().env("MOOT_SERVER__PUBLIC_URL", "https://moot.example");
    let hub = setup.start().await;
    let alice = register(&hub, "alice").await;
    let browser = Lark::dial(hub.address, Some("https://moot.example")).await;
    browser.expect("the hub's own origin").login(&alice.token).await;
    let other = Lark::dial(hub.address, Some("https://moot.example.evil.example")).await;
    assert!(other.is_err(), "a longer name is another origin");
}

#[tokio::test]
async fn a_plain_get_of_ws_is_a_client_error() {
    let (hub, _alice) = start().await;
    let answer = Rest::new(hub.url(""), None).get("/ws").await;
    assert!((400..500).contains(&answer.status), "{answer:?}");
}
