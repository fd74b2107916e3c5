//! Calls between two people.

use std::sync::Arc;

use serde_json::{Value, json};

use super::Stage;
use super::member::{Member, is};
use crate::case::{Fault, Verdict, ensure};
use crate::link::{short, word};

struct Call {
    caller: Member,
    callee: Member,
    id: String,
    sdp: String,
}

async fn ring(stage: &Stage) -> Verdict<Call> {
    let (mut caller, callee) = (stage.person().await?, stage.other().await?);
    let sdp = format!("v=0\r\ns={}\r\n", word());
    let request = json!({ "callee_id": callee.id, "type": "video", "sdp": sdp });
    let data = caller.ask("call.offer", request, "call.offer").await?;
    let id = ["call_id", "id"].iter().find_map(|key| data[*key].as_str()).map(str::to_owned);
    let id = id.ok_or_else(|| Fault::broken(format!("no id of the call in {}", short(&data))))?;
    Ok(Call { caller, callee, id, sdp })
}

impl Call {
    /// Hangs up, so that nothing rings in the next case.
    async fn over(mut self) -> Verdict {
        self.caller.send("call.end", json!({ "call_id": self.id })).await?;
        self.caller.link.close().await;
        Ok(())
    }
}

fn is_of(frame: &Value, kind: &str, call: &str) -> bool {
    is(frame, kind) && (frame["data"]["call_id"] == call || frame["data"]["id"] == call)
}

pub async fn offer(stage: Arc<Stage>) -> Verdict {
    let mut call = ring(&stage).await?;
    call.callee.link.find("`call.ring`", |frame| is_of(frame, "call.ring", &call.id)).await?;
    let offer = call.callee.link.find("`call.offer`", |frame| is_of(frame, "call.offer", &call.id)).await?;
    ensure!(offer["data"]["sdp"] == call.sdp.as_str(), "the SDP is another: {}", short(&offer));
    call.over().await
}

pub async fn answer(stage: Arc<Stage>) -> Verdict {
    let mut call = ring(&stage).await?;
    let sdp = format!("v=0\r\ns={}\r\n", word());
    call.callee.send("call.answer", json!({ "call_id": call.id, "sdp": sdp })).await?;
    let answer = call.caller.link.find("`call.answer`", |frame| is_of(frame, "call.answer", &call.id)).await?;
    ensure!(answer["data"]["sdp"] == sdp.as_str(), "the SDP is another: {}", short(&answer));
    call.over().await
}

pub async fn ice(stage: Arc<Stage>) -> Verdict {
    let mut call = ring(&stage).await?;
    let candidate = format!("candidate:{} 1 udp 1677729535 192.0.2.1 3478 typ srflx", word());
    let data = json!({ "call_id": call.id, "target_id": call.callee.id, "candidate": candidate });
    call.caller.send("call.ice", data).await?;
    let ice = call.callee.link.find("`call.ice`", |frame| is_of(frame, "call.ice", &call.id)).await?;
    ensure!(ice["data"]["candidate"] == candidate.as_str(), "the candidate is another: {}", short(&ice));
    call.over().await
}

pub async fn end(stage: Arc<Stage>) -> Verdict {
    let mut call = ring(&stage).await?;
    call.callee.send("call.end", json!({ "call_id": call.id })).await?;
    call.caller.link.find("`call.end`", |frame| is_of(frame, "call.end", &call.id)).await.map(drop)
}
