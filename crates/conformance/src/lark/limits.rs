//! How large a frame may be, and how long a connection may be quiet.

use std::sync::Arc;

use serde_json::json;

use super::Stage;
use super::member::{envelope, is};
use crate::case::{Verdict, ensure};

const MAX_FRAME: usize = 65_536;

/// A `channel.join` that is padded to exactly so many bytes.
fn padded(channel: &str, bytes: usize) -> String {
    let bare = envelope("channel.join", json!({ "channel_id": channel, "padding": "" })).to_string();
    let padding = "x".repeat(bytes - bare.len());
    bare.replace("\"padding\":\"\"", &format!("\"padding\":\"{padding}\""))
}

pub async fn largest_frame(stage: Arc<Stage>) -> Verdict {
    let mut person = stage.person().await?;
    person.link.send_text(padded(stage.channel()?, MAX_FRAME)).await?;
    person.link.find("the answer to a frame of 65,536 bytes", |frame| is(frame, "channel.join")).await.map(drop)
}

pub async fn too_large_frame(stage: Arc<Stage>) -> Verdict {
    let mut person = stage.person().await?;
    person.link.send_text(padded(stage.channel()?, MAX_FRAME + 1)).await?;
    person.link.end().await?;
    ensure!(!person.link.has_kept(|frame| is(frame, "channel.join")), "the frame was read all the same");
    Ok(())
}

pub async fn ping(stage: Arc<Stage>) -> Verdict {
    stage.person().await?.link.pinged().await
}

pub async fn no_pong(stage: Arc<Stage>) -> Verdict {
    stage.person().await?.link.play_dead().await
}
