//! WebRTC signalling: the hub relays, and only between the two.

use serde_json::{Value, json};

use crate::support::{Lark, Member, items, register, start, text};

const SDP: &str = "v=0\r\no=- 46117 2 IN IP4 127.0.0.1\r\n";

struct Ringing {
    caller: Lark,
    callee: Lark,
    call: String,
}

async fn ring(alice: &Member, bob: &Member) -> Ringing {
    let mut caller = alice.lark().await;
    let callee = bob.lark().await;
    let data = json!({ "callee_id": bob.id, "type": "video", "sdp": SDP });
    let answer = caller.ask("call.offer", data).await;
    let call = text(&answer["data"], "call_id").to_owned();
    Ringing { caller, callee, call }
}

async fn status_of(member: &Member, call: &str) -> Value {
    let path = format!("/v1/calls/{call}");
    member.rest.get(&path).await.ok()["status"].clone()
}

#[tokio::test]
async fn an_offer_rings_the_callee_and_tells_the_caller_the_call_id() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let mut caller = alice.lark().await;
    let mut callee = bob.lark().await;
    let data = json!({ "callee_id": bob.id, "type": "video", "sdp": SDP });
    let reply = caller.asks("call.offer", data, "call.offer").await;
    assert_eq!(reply["status"], "ringing");
    let call = text(&reply, "call_id");
    let mut kinds = Vec::new();
    while kinds.len() < 2 {
        let frame = callee.next().await;
        let kind = text(&frame, "type").to_owned();
        if !kind.starts_with("call.") {
            continue;
        }
        let data = &frame["data"];
        assert_eq!(data["call_id"], call);
        assert_eq!(data["caller_id"], alice.id.as_str());
        assert_eq!(data["type"], "video");
        if kind == "call.ring" {
            assert_eq!(data["caller_name"], "alice");
        } else {
            assert_eq!(data["sdp"], SDP);
        }
        kinds.push(kind);
    }
    assert_eq!(kinds, ["call.ring", "call.offer"]);
    assert_eq!(status_of(&alice, call).await, "ringing");
}

#[tokio::test]
async fn an_answer_goes_to_the_caller() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let mut ringing = ring(&alice, &bob).await;
    let data = json!({ "call_id": ringing.call, "sdp": "v=0 answer" });
    ringing.callee.send("call.answer", data).await;
    let answer = ringing.caller.expect("call.answer").await;
    assert_eq!(answer["call_id"], ringing.call.as_str());
    assert_eq!(answer["sdp"], "v=0 answer");
    assert_eq!(status_of(&bob, &ringing.call).await, "answered");
}

#[tokio::test]
async fn ice_candidates_go_to_the_target_in_both_directions() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let mut ringing = ring(&alice, &bob).await;
    let candidate = "candidate:842163049 1 udp 1677729535 192.0.2.1 3478 typ srflx";
    let to_bob = json!({ "call_id": ringing.call, "target_id": bob.id, "candidate": candidate });
    ringing.caller.send("call.ice", to_bob).await;
    let ice = ringing.callee.expect("call.ice").await;
    assert_eq!(ice["call_id"], ringing.call.as_str());
    assert_eq!(ice["from_id"], alice.id.as_str());
    assert_eq!(ice["candidate"], candidate);
    let to_alice = json!({ "call_id": ringing.call, "target_id": alice.id, "candidate": candidate });
    ringing.callee.send("call.ice", to_alice).await;
    let ice = ringing.caller.expect("call.ice").await;
    assert_eq!(ice["from_id"], bob.id.as_str());
}

#[tokio::test]
async fn an_end_is_told_to_the_other_side() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    for caller_ends in [true, false] {
        let mut ringing = ring(&alice, &bob).await;
        let (one, other) = if caller_ends {
            (&mut ringing.caller, &mut ringing.callee)
        } else {
            (&mut ringing.callee, &mut ringing.caller)
        };
        one.send("call.end", json!({ "call_id": ringing.call })).await;
        let end = other.expect("call.end").await;
        assert_eq!(end["call_id"], ringing.call.as_str());
        assert_eq!(end["reason"], "ended");
        assert_eq!(status_of(&alice, &ringing.call).await, "ended");
    }
}

#[tokio::test]
async fn only_the_callee_answers() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let carol = alice.add_human("carol").await;
    let mut ringing = ring(&alice, &bob).await;
    let data = json!({ "call_id": ringing.call, "sdp": SDP });
    let error = ringing.caller.refused("call.answer", data.clone()).await;
    assert_eq!(error, "not the callee");
    carol.lark().await.refused("call.answer", data).await;
    assert_eq!(status_of(&alice, &ringing.call).await, "ringing");
}

#[tokio::test]
async fn third_parties_get_errors_and_change_nothing() {
    let (hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let carol = alice.add_human("carol").await;
    let mallory = register(&hub, "mallory").await;
    let ringing = ring(&alice, &bob).await;
    for intruder in [&carol, &mallory] {
        let mut lark = intruder.lark().await;
        let ice = json!({ "call_id": ringing.call, "target_id": bob.id, "candidate": "x" });
        lark.refused("call.ice", ice).await;
        lark.refused("call.end", json!({ "call_id": ringing.call })).await;
        let path = format!("/v1/calls/{}", ringing.call);
        intruder.rest.get(&path).await.hidden();
        let list = intruder.rest.get("/v1/calls").await.ok();
        assert_eq!(items(&list).len(), 0);
    }
    assert_eq!(status_of(&alice, &ringing.call).await, "ringing");
}

#[tokio::test]
async fn ice_goes_only_to_the_two_of_the_call() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let carol = alice.add_human("carol").await;
    let mut ringing = ring(&alice, &bob).await;
    let mut outside = carol.lark().await;
    let data = json!({ "call_id": ringing.call, "target_id": carol.id, "candidate": "x" });
    ringing.caller.refused("call.ice", data).await;
    let general = alice.add_channel("general", &[&carol]).await;
    let join = json!({ "channel_id": general });
    outside.asks("channel.join", join, "channel.join").await;
    assert!(outside.kept("call.ice").is_empty());
}

#[tokio::test]
async fn a_wrong_call_gets_the_errors_of_the_protocol() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let mut lark = alice.lark().await;
    let error = lark.refused("call.offer", json!({ "callee_id": bob.id })).await;
    assert_eq!(error, "callee_id and sdp required");
    let error = lark.refused("call.offer", json!({ "sdp": SDP })).await;
    assert_eq!(error, "callee_id and sdp required");
    assert_eq!(lark.refused("call.end", json!({})).await, "call_id required");
    let unknown = json!({ "call_id": "call_unknown", "sdp": SDP });
    assert_eq!(lark.refused("call.answer", unknown.clone()).await, "call not found");
    assert_eq!(lark.refused("call.end", unknown).await, "call not found");
}

#[tokio::test]
async fn a_member_of_another_workspace_cannot_be_called() {
    let (hub, alice) = start().await;
    let mallory = register(&hub, "mallory").await;
    let mut lark = mallory.lark().await;
    let data = json!({ "callee_id": alice.id, "sdp": SDP });
    lark.refused("call.offer", data).await;
    assert_eq!(items(&alice.rest.get("/v1/calls").await.ok()).len(), 0);
}

#[tokio::test]
async fn the_type_of_a_call_is_audio_by_default() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let mut callee = bob.lark().await;
    let mut caller = alice.lark().await;
    let data = json!({ "callee_id": bob.id, "sdp": SDP });
    caller.asks("call.offer", data, "call.offer").await;
    assert_eq!(callee.expect("call.ring").await["type"], "audio");
}
