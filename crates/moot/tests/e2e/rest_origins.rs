//! Pages of other origins in a browser: those the operator named may use `/v1`, and no others.

use reqwest::Method;
use serde_json::json;

use crate::support::rest::Rest;
use crate::support::{Answer, Hub, Member, Setup, register};

const CHAT: &str = "https://chat.example";
const EVIL: &str = "https://evil.example";

async fn with_named_origin() -> (Hub, Member) {
    let hub = Setup::default().env("MOOT_SERVER__ALLOWED_ORIGINS", CHAT).start().await;
    let alice = register(&hub, "alice").await;
    (hub, alice)
}

async fn preflight(member: &Member, origin: &str, path: &str) -> Answer {
    let request = member.rest.anonymous().request(Method::OPTIONS, path).header("origin", origin);
    let request = request.header("access-control-request-method", "PATCH");
    let request = request.header("access-control-request-headers", "authorization,content-type,idempotency-key");
    Answer::of(format!("OPTIONS {path} from {origin}"), request).await
}

async fn asked(rest: &Rest, method: Method, origin: &str, path: &str) -> Answer {
    let request = rest.request(method.clone(), path).header("origin", origin);
    Answer::of(format!("{method} {path} from {origin}"), request).await
}

fn words(answer: &Answer, header: &str) -> Vec<String> {
    let values = answer.headers.get_all(header).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(|word| word.trim().to_lowercase()).collect()
}

fn varies_by_origin(answer: &Answer) -> bool {
    words(answer, "vary").contains(&"origin".to_owned())
}

#[tokio::test]
async fn a_preflight_of_a_named_origin_is_answered_with_what_it_asked_for() {
    let (_hub, alice) = with_named_origin().await;
    for path in ["/v1/members/me", "/v1/pools/agents", "/v1/route", "/v1/auth/login", "/v1/nothing"] {
        let answer = preflight(&alice, CHAT, path).await;
        assert_eq!(answer.status, 204, "{path}");
        assert_eq!(answer.header("access-control-allow-origin"), CHAT);
        assert!(words(&answer, "access-control-allow-methods").contains(&"patch".to_owned()), "{path}");
        let headers = words(&answer, "access-control-allow-headers");
        assert_eq!(headers, ["authorization", "content-type", "idempotency-key"], "{path}");
        assert!(varies_by_origin(&answer) && !answer.headers.contains_key("access-control-allow-credentials"));
    }
}

#[tokio::test]
async fn a_named_origin_reads_every_answer_of_v1_refusals_too() {
    let (_hub, alice) = with_named_origin().await;
    let (known, stranger) = (alice.rest.clone(), alice.rest.anonymous());
    let cases = [(&known, "/v1/members/me", 200), (&stranger, "/v1/members/me", 401), (&known, "/v1/nothing", 404)];
    for (rest, path, status) in cases {
        let answer = asked(rest, Method::GET, CHAT, path).await;
        assert_eq!(answer.status, status, "{path}");
        assert_eq!(answer.header("access-control-allow-origin"), CHAT, "{path}");
        assert!(words(&answer, "access-control-expose-headers").contains(&"retry-after".to_owned()));
        assert!(varies_by_origin(&answer) && !answer.headers.contains_key("access-control-allow-credentials"));
    }
    let general = alice.add_channel("general", &[]).await;
    let path = format!("/v1/channels/{general}/messages");
    let write = alice.rest.request(Method::POST, &path).header("origin", CHAT).json(&json!({ "content": "hello" }));
    let answer = Answer::of(format!("POST {path}"), write).await;
    assert_eq!((answer.status, answer.header("access-control-allow-origin")), (201, CHAT));
}

#[tokio::test]
async fn another_origin_is_allowed_nothing_and_no_cache_mixes_them_up() {
    let (_hub, alice) = with_named_origin().await;
    for origin in [EVIL, "null", "https://chat.example.evil.example", "http://chat.example", "http://localhost:1"] {
        let read = asked(&alice.rest, Method::GET, origin, "/v1/members/me").await;
        for answer in [preflight(&alice, origin, "/v1/members/me").await, read] {
            let allowed = answer.headers.keys().find(|name| name.as_str().starts_with("access-control"));
            assert_eq!(allowed, None, "{origin}");
            assert!(varies_by_origin(&answer), "{origin}");
        }
    }
    let write = asked(&alice.rest, Method::POST, EVIL, "/v1/route").await;
    assert!(varies_by_origin(&write));
    write.refused(403, "FORBIDDEN");
    assert!(varies_by_origin(&alice.rest.get("/v1/members/me").await), "also without an origin");
}

#[tokio::test]
async fn beside_v1_nothing_is_shared() {
    let (_hub, alice) = with_named_origin().await;
    for path in ["/openapi.json", "/metrics", "/health", "/", "/docs", "/v12", "/drive.bin/x"] {
        for answer in [asked(&alice.rest, Method::GET, CHAT, path).await, preflight(&alice, CHAT, path).await] {
            let allowed = answer.headers.keys().find(|name| name.as_str().starts_with("access-control"));
            assert_eq!(allowed, None, "{path}");
        }
    }
}

#[tokio::test]
async fn a_door_names_its_version_of_websocket_and_upgrades_only_by_get() {
    let (hub, alice) = with_named_origin().await;
    for path in ["/ws", "/rpc.ws", "/agents"] {
        let plain = alice.rest.get(path).await;
        assert_eq!((plain.status, plain.header("sec-websocket-version")), (426, "13"), "{path}");
        assert_eq!(plain.header("upgrade"), "websocket");
        let upgrade = |method: Method, version: &str| {
            let request =
                reqwest::Client::builder().no_proxy().build().expect("a client").request(method, hub.url(path));
            let request = request.header("connection", "upgrade").header("upgrade", "websocket");
            request.header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==").header("sec-websocket-version", version)
        };
        let other = Answer::of(format!("{path}, version 8"), upgrade(Method::GET, "8")).await;
        assert_eq!((other.status, other.header("sec-websocket-version")), (426, "13"), "{path}");
        for method in [Method::POST, Method::PUT, Method::HEAD] {
            let answer = Answer::of(format!("{method} {path}"), upgrade(method.clone(), "13")).await;
            assert_eq!((answer.status, answer.header("allow")), (405, "GET"), "{method} {path}");
        }
    }
}
