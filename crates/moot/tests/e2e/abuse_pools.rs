//! Agents without an account: who may come in, as whom, under which name, and how many.

use serde_json::{Value, json};
use tokio_tungstenite::connect_async;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::{HeaderName, HeaderValue, StatusCode};
use tokio_tungstenite::tungstenite::{self, Error};

use crate::support::chopsticks::{Next, Worker, hello, known, shown};
use crate::support::smarthole::address as door_address;
use crate::support::{Member, Setup, column, eventually, register, start};

/// The answer to an upgrade with these headers.
async fn upgrade(url: &str, headers: &[(&'static str, &str)]) -> Result<(), StatusCode> {
    let mut request = url.into_client_request().expect("a request");
    for (name, value) in headers {
        request.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_str(value).expect("a value"));
    }
    match connect_async(request).await {
        Ok(_) => Ok(()),
        Err(Error::Http(answer)) => Err(answer.status()),
        Err(tungstenite::Error::Io(error)) => panic!("{error}"),
        Err(other) => panic!("{other}"),
    }
}

const PROXIED: [(&str, &str); 4] = [
    ("x-forwarded-for", "203.0.113.9"),
    ("forwarded", "for=203.0.113.9"),
    ("x-real-ip", "203.0.113.9"),
    ("via", "1.1 proxy"),
];

#[tokio::test]
async fn without_a_secret_only_programs_of_this_machine_are_agents_and_none_through_a_proxy() {
    let hub = Setup::default().start().await;
    let url = format!("ws://{}/agents", hub.address);
    assert_eq!(upgrade(&url, &[]).await, Ok(()));
    for header in PROXIED {
        assert_eq!(upgrade(&url, &[header]).await, Err(StatusCode::FORBIDDEN), "{header:?}");
    }
    let behind = Setup::default().env("MOOT_SERVER__TRUSTED_PROXIES", "127.0.0.1").start().await;
    let url = format!("ws://{}/agents", behind.address);
    assert_eq!(upgrade(&url, &[]).await, Err(StatusCode::FORBIDDEN), "the peer is the proxy");
    let with_secret = Setup::default().env("MOOT_CHOPSTICKS__RUNNER_SECRET", "hunter2").start().await;
    let url = format!("ws://{}/agents", with_secret.address);
    assert_eq!(upgrade(&url, &[PROXIED[0]]).await, Ok(()), "known by the secret");
}

#[tokio::test]
async fn the_smarthole_door_is_closed_to_proxies_too() {
    let (hub, _alice) = start().await;
    let url = format!("ws://{}/", door_address(&hub).await);
    assert_eq!(upgrade(&url, &[]).await, Ok(()));
    for header in PROXIED {
        assert_eq!(upgrade(&url, &[header]).await, Err(StatusCode::FORBIDDEN), "{header:?}");
    }
}

#[tokio::test]
async fn nobody_takes_the_place_of_an_agent_that_is_alive() {
    let (hub, alice) = start().await;
    let first = Worker::join(&alice, hub.address, "a1", &["g1"]).await.obey(|_| Ok(json!({"is": "the first"})));
    let mut thief = Worker::dial(hub.address).await;
    thief.send(hello("a1", &["g2"])).await;
    assert_eq!(
        thief.next().await,
        Next::Frame(json!({"type": "error", "error": "This agentId is connected already."}))
    );
    assert_eq!(thief.next().await, Next::Close(1008, "agent-in-use".to_owned()));
    let asked = alice.rest.post("/v1/pools/agents/a1/requests", json!({"op": "status"})).await.ok();
    assert!(asked.to_string().contains("the first"), "{asked}");
    assert_eq!(known(&alice, "a1").await["guild_ids"], json!(["g1"]));
    first.abort();
    // Once it is gone, its name is free again.
    crate::support::chopsticks::gone(&alice, "a1").await;
    Worker::join(&alice, hub.address, "a1", &["g2"]).await;
}

#[tokio::test]
async fn what_an_agent_says_while_its_dead_connection_is_looked_at_is_not_lost() {
    let hub = Setup::default().env("MOOT_CHOPSTICKS__PROBE_S", "0.5").start().await;
    let alice = register(&hub, "alice").await;
    let _half_dead = Worker::join(&alice, hub.address, "a1", &["g1"]).await;
    let mut back = Worker::dial(hub.address).await;
    back.send(hello("a1", &["g1"])).await;
    back.send(json!({"type": "guilds", "guildIds": ["g7"]})).await;
    eventually("its guilds are known", || async {
        let agent = shown(&alice, "a1").await?;
        (agent["guild_ids"] == json!(["g7"])).then_some(())
    })
    .await;
}

async fn names(alice: &Member) -> Vec<String> {
    let members = alice.rest.get(&alice.path("members")).await.ok();
    column(&members, "name").into_iter().map(str::to_owned).collect()
}

fn tagged(agent: &str, tag: &str) -> Value {
    let mut frame = hello(agent, &["g1"]);
    frame["tag"] = json!(tag);
    frame
}

#[tokio::test]
async fn an_agent_of_a_pool_is_not_called_like_somebody_it_could_be_taken_for() {
    let (hub, alice) = start().await;
    let mut workers = Vec::new();
    for (agent, tag) in [("a1", "\u{430}lice"), ("a2", "ALICE"), ("a3", "al\u{200b}ice"), ("a4", "\u{202e}ecila")] {
        let mut worker = Worker::dial(hub.address).await;
        worker.send(tagged(agent, tag)).await;
        workers.push(worker);
        eventually("it is a member", || async { shown(&alice, agent).await?["member_id"].as_str().map(drop) }).await;
    }
    let mut all = names(&alice).await;
    all.sort();
    assert_eq!(all, ["ALICE-3", "agent-a3", "agent-a4", "alice", "\u{430}lice-2"]);
}

#[tokio::test]
async fn names_of_members_and_channels_cannot_be_taken_by_their_looks_nor_hold_what_cannot_be_seen() {
    let (_hub, alice) = start().await;
    alice.add_human("bob").await;
    alice.add_channel("general", &[]).await;
    let member = |name: &str| json!({"name": name, "type": "agent"});
    for name in ["b\u{43e}b", "B0B", "alіce"] {
        alice.rest.post(&alice.path("members"), member(name)).await.refused(409, "CONFLICT");
    }
    for name in ["bo\u{200b}b", "\u{202e}bob", "bob\u{3164}"] {
        alice.rest.post(&alice.path("members"), member(name)).await.refused(400, "BAD_REQUEST");
    }
    let channel = |name: &str| json!({"name": name, "type": "channel"});
    alice.rest.post(&alice.path("channels"), channel("gener\u{430}l")).await.refused(409, "CONFLICT");
    alice.rest.post(&alice.path("channels"), channel("gen\u{2060}eral")).await.refused(400, "BAD_REQUEST");
    let eve = alice.add_human("eve").await;
    let me = eve.path(&format!("members/{}", eve.id));
    eve.rest.patch(&me, json!({"name": "аlice"})).await.refused(409, "CONFLICT");
    eve.rest.patch(&me, json!({"nick": "Alice"})).await.refused(409, "CONFLICT");
    eve.rest.patch(&me, json!({"name": "Eve", "nick": "Evie"})).await.ok();
}
