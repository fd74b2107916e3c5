//! The SmartHole suite: a server that takes clients and gives them sentences.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::case::{Errand, Fault, Verdict, cases, ensure};
use crate::link::{Link, short, text, word};

/// What the suite is given.
pub struct Stage {
    pub url: String,
    /// Says a sentence to the router.
    pub say: Option<Errand>,
    /// How long to listen for what must not come.
    pub quiet: Duration,
}

cases! { Stage:
    "1.1" "Connection" "the address takes WebSocket upgrades, and answers are JSON in text frames" => upgrade;
    "1.2" "Connection" "a frame of nearly 1 MB is read" => large_frame;
    "1.3" "Connection" "a frame of more than 1 MB ends the connection" => too_large_frame;
    "2.1" "Messages" "what the server sends has `type` and `payload`" => shape;
    "3.1" "Registration" "name and description are enough" => shortest;
    "3.2" "Registration" "version and capabilities may be told" => longest;
    "3.3" "Registration" "a name begins with a letter" => first_letter;
    "3.4" "Registration" "a name has only letters, digits, hyphens and underscores" => letters;
    "3.5" "Registration" "a name has at most 64 characters" => name_length;
    "3.6" "Registration" "a name is free again when its client is gone" => name_is_freed;
    "3.7" "Registration" "a description is not empty" => no_description;
    "3.8" "Registration" "a description has at most 1024 characters" => description_length;
    "4.1" "Registration Response" "success comes with a client id of its own and a message" => success;
    "4.2" "Registration Response" "failure comes with one of the five codes and a message" => failure;
    "4.3" "Registration Response" "a name that is taken gets `DUPLICATE_NAME`" => duplicate;
    "4.4" "Registration Response" "a second registration on a connection gets `ALREADY_REGISTERED`" => twice;
    "5.1" "Routed Message" "has id, text, a time in ISO 8601, how it was put in and whether it was addressed" => routed;
    "5.2" "Routed Message" "a typed sentence has the input method `text` and no confidence" => typed;
    "5.3" "Routed Message" "every sentence has an id of its own" => ids;
    "6.1" "Response" "ack, reject with and without a reason, and notification are taken" => responses;
    "6.2" "Response" "a message may be answered several times" => several;
    "7.1" "Heartbeat" "the server pings (every 30 seconds)" => ping, takes 30;
    "7.2" "Heartbeat" "a client that does not answer pings is cut off (10 seconds later)" => no_pong, takes 45;
    "8.1" "Direct Routing" "`name: text` goes to that client, without the prefix, as addressed and without a reason" => direct;
    "8.2" "Direct Routing" "a comma serves as well as a colon" => comma;
    "8.3" "Direct Routing" "the name's case does not matter" => any_case;
}

const CODES: [&str; 5] =
    ["INVALID_NAME", "INVALID_DESCRIPTION", "DUPLICATE_NAME", "ALREADY_REGISTERED", "VALIDATION_ERROR"];
/// 1 MB as the document may mean it at least and at most, with room for the frame around it.
const SURELY_FITS: usize = 1_000_000 - 500;
const SURELY_TOO_LARGE: usize = (1 << 20) + 1024;

async fn connect(stage: &Stage) -> Verdict<Link> {
    Link::dial(&stage.url).await
}

/// Registers and returns the payload of the answer.
async fn register(link: &mut Link, payload: Value) -> Verdict<Value> {
    link.send(json!({ "type": "registration", "payload": payload })).await?;
    let answer = link.find("`registration_response`", |frame| frame["type"] == "registration_response").await?;
    Ok(answer["payload"].clone())
}

async fn try_name(stage: &Stage, name: &str) -> Verdict<Value> {
    let mut link = connect(stage).await?;
    register(&mut link, json!({ "name": name, "description": "I check the protocol." })).await
}

async fn try_description(stage: &Stage, description: &str) -> Verdict<Value> {
    register(&mut connect(stage).await?, json!({ "name": word(), "description": description })).await
}

/// A client that has registered, and its name.
async fn client(stage: &Stage) -> Verdict<(Link, String)> {
    let (mut link, name) = (connect(stage).await?, word());
    let answer = register(&mut link, json!({ "name": name, "description": "I check the protocol." })).await?;
    ensure!(answer["success"] == true, "the registration was refused: {}", short(&answer));
    Ok((link, name))
}

/// The code of a refusal, or what came instead.
fn refused(answer: &Value, codes: &[&str]) -> Verdict {
    ensure!(answer["success"] == false, "it was not refused: {}", short(answer));
    ensure!(codes.iter().any(|code| answer["code"] == *code), "the code is not {codes:?}: {}", short(answer));
    Ok(())
}

fn taken(answer: &Value) -> Verdict {
    ensure!(answer["success"] == true, "it was refused: {}", short(answer));
    Ok(())
}

async fn upgrade(stage: Arc<Stage>) -> Verdict {
    let mut link = connect(&stage).await?;
    link.is_alive().await?;
    register(&mut link, json!({ "name": word(), "description": "I check the protocol." })).await.map(drop)
}

fn padded(bytes: usize) -> String {
    let payload = json!({ "messageId": "none", "type": "notification", "payload": { "body": "x".repeat(bytes) } });
    json!({ "type": "response", "payload": payload }).to_string()
}

async fn large_frame(stage: Arc<Stage>) -> Verdict {
    let (mut link, _) = client(&stage).await?;
    link.send_text(padded(SURELY_FITS - padded(0).len())).await?;
    let answer = register(&mut link, json!({ "name": word(), "description": "Again." })).await?;
    refused(&answer, &["ALREADY_REGISTERED"])
}

async fn too_large_frame(stage: Arc<Stage>) -> Verdict {
    let (mut link, _) = client(&stage).await?;
    // The server may end the connection before it has read all.
    let _ = link.send_text(padded(SURELY_TOO_LARGE)).await;
    link.end().await.map(drop)
}

async fn shape(stage: Arc<Stage>) -> Verdict {
    let mut link = connect(&stage).await?;
    for payload in [json!({ "name": word(), "description": "Good." }), json!({ "name": "", "description": "" })] {
        link.send(json!({ "type": "registration", "payload": payload })).await?;
        let frame = link.next("the answer to a registration").await?;
        ensure!(
            frame["type"].is_string() && frame["payload"].is_object(),
            "no `type` or no `payload`: {}",
            short(&frame)
        );
    }
    Ok(())
}

async fn shortest(stage: Arc<Stage>) -> Verdict {
    taken(&try_name(&stage, &word()).await?)
}

async fn longest(stage: Arc<Stage>) -> Verdict {
    let payload = json!({ "name": word(), "description": "All.", "version": "1.0.0", "capabilities": ["a", "b"] });
    taken(&register(&mut connect(&stage).await?, payload).await?)
}

async fn first_letter(stage: Arc<Stage>) -> Verdict {
    for first in ["1", "-", "_"] {
        refused(&try_name(&stage, &format!("{first}{}", word())).await?, &["INVALID_NAME"])?;
    }
    taken(&try_name(&stage, &format!("Z{}", word())).await?)
}

async fn letters(stage: Arc<Stage>) -> Verdict {
    for wrong in [" ", ".", "é", ":", "/"] {
        refused(&try_name(&stage, &format!("{}{wrong}x", word())).await?, &["INVALID_NAME"])?;
    }
    taken(&try_name(&stage, &format!("{}-A_9", word())).await?)
}

async fn name_length(stage: Arc<Stage>) -> Verdict {
    let longest = format!("{:x<64}", word());
    taken(&try_name(&stage, &longest).await?)?;
    refused(&try_name(&stage, &format!("{:y<65}", word())).await?, &["INVALID_NAME"])
}

async fn name_is_freed(stage: Arc<Stage>) -> Verdict {
    let (link, name) = client(&stage).await?;
    link.close().await;
    // Between the close frames and the list of names a server may take a moment.
    loop {
        let answer = try_name(&stage, &name).await?;
        if answer["success"] == true {
            return Ok(());
        }
        refused(&answer, &["DUPLICATE_NAME"])?;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn no_description(stage: Arc<Stage>) -> Verdict {
    refused(&try_description(&stage, "").await?, &["INVALID_DESCRIPTION"])
}

async fn description_length(stage: Arc<Stage>) -> Verdict {
    taken(&try_description(&stage, &"x".repeat(1024)).await?)?;
    refused(&try_description(&stage, &"x".repeat(1025)).await?, &["INVALID_DESCRIPTION"])
}

async fn success(stage: Arc<Stage>) -> Verdict {
    let (one, other) = (try_name(&stage, &word()).await?, try_name(&stage, &word()).await?);
    for answer in [&one, &other] {
        taken(answer)?;
        ensure!(!text(answer, "clientId")?.is_empty(), "`clientId` is empty");
        text(answer, "message")?;
    }
    ensure!(one["clientId"] != other["clientId"], "two clients have the id {}", one["clientId"]);
    Ok(())
}

async fn failure(stage: Arc<Stage>) -> Verdict {
    for payload in [json!({ "name": "1", "description": "x" }), json!({}), json!({ "name": 7, "description": true })] {
        let answer = register(&mut connect(&stage).await?, payload).await?;
        refused(&answer, &CODES)?;
        text(&answer, "message")?;
    }
    Ok(())
}

async fn duplicate(stage: Arc<Stage>) -> Verdict {
    let (_link, name) = client(&stage).await?;
    refused(&try_name(&stage, &name).await?, &["DUPLICATE_NAME"])
}

async fn twice(stage: Arc<Stage>) -> Verdict {
    let (mut link, _) = client(&stage).await?;
    let answer = register(&mut link, json!({ "name": word(), "description": "Another." })).await?;
    refused(&answer, &["ALREADY_REGISTERED"])
}

/// Says a sentence to the router and returns the payload with which the client gets it. Nobody waits for what comes of it: the
/// client may still have to answer.
async fn given(stage: &Stage, link: &mut Link, sentence: String) -> Verdict<Value> {
    let say = stage.say.clone().ok_or_else(|| Fault::needs("--say"))?;
    let mut saying = tokio::spawn(say(vec![sentence]));
    let message = tokio::select! {
        biased;
        message = link.find("a routed `message`", |frame| frame["type"] == "message") => message?,
        said = failed(&mut saying) => return Err(said),
    };
    // What says the sentence may wait for the answer that the case is still to give.
    Ok(message["payload"].clone())
}

/// Resolves only when the sentence could not be said.
async fn failed(saying: &mut tokio::task::JoinHandle<Result<String, String>>) -> Fault {
    match saying.await {
        Ok(Err(error)) => Fault::broken(format!("the sentence could not be said: {error}")),
        _ => std::future::pending().await,
    }
}

async fn respond(link: &mut Link, message: &Value, kind: &str, payload: Value) -> Verdict {
    let response = json!({ "messageId": message["id"], "type": kind, "payload": payload });
    link.send(json!({ "type": "response", "payload": response })).await
}

/// A client gets a sentence that was addressed to it with this between name and sentence, and takes it.
async fn addressed(stage: &Stage, address: impl Fn(&str) -> String) -> Verdict<(Value, String)> {
    let (mut link, name) = client(stage).await?;
    let said = format!("remember {}", word());
    let message = given(stage, &mut link, format!("{} {said}", address(&name))).await?;
    respond(&mut link, &message, "ack", json!({})).await?;
    link.is_alive().await?;
    Ok((message, said))
}

async fn routed(stage: Arc<Stage>) -> Verdict {
    let (message, _) = addressed(&stage, |name| format!("{name}:")).await?;
    ensure!(!text(&message, "id")?.is_empty(), "`id` is empty");
    text(&message, "text")?;
    let at = text(&message, "timestamp")?;
    let is_iso = at.len() >= 20 && at.as_bytes()[10] == b'T' && at.as_bytes()[4] == b'-';
    ensure!(is_iso, "`timestamp` is not ISO 8601: {at:?}");
    let metadata = &message["metadata"];
    let method = &metadata["inputMethod"];
    ensure!(*method == "text" || *method == "voice", "`inputMethod`: {}", short(metadata));
    ensure!(metadata["directRouted"].is_boolean(), "`directRouted`: {}", short(metadata));
    Ok(())
}

async fn typed(stage: Arc<Stage>) -> Verdict {
    let (message, _) = addressed(&stage, |name| format!("{name}:")).await?;
    let metadata = &message["metadata"];
    ensure!(metadata["inputMethod"] == "text", "`inputMethod`: {}", short(metadata));
    ensure!(metadata["confidence"].is_null(), "a typed sentence has a confidence: {}", short(metadata));
    Ok(())
}

async fn ids(stage: Arc<Stage>) -> Verdict {
    let (one, _) = addressed(&stage, |name| format!("{name}:")).await?;
    let (other, _) = addressed(&stage, |name| format!("{name}:")).await?;
    ensure!(one["id"] != other["id"], "two sentences have the id {}", one["id"]);
    Ok(())
}

async fn responses(stage: Arc<Stage>) -> Verdict {
    let (mut link, name) = client(&stage).await?;
    let notification = json!({ "title": "Saved", "body": "It is saved.", "priority": "normal" });
    for (kind, payload) in [
        ("ack", json!({})),
        ("reject", json!({ "reason": "not mine" })),
        ("reject", json!({})),
        ("notification", notification),
        ("notification", json!({})),
    ] {
        let message = given(&stage, &mut link, format!("{name}: {}", word())).await?;
        respond(&mut link, &message, kind, payload).await?;
        link.is_alive().await?;
    }
    Ok(())
}

async fn several(stage: Arc<Stage>) -> Verdict {
    let (mut link, name) = client(&stage).await?;
    let message = given(&stage, &mut link, format!("{name}: {}", word())).await?;
    respond(&mut link, &message, "ack", json!({})).await?;
    respond(&mut link, &message, "notification", json!({ "body": "Done." })).await?;
    respond(&mut link, &message, "notification", json!({ "body": "Really.", "priority": "low" })).await?;
    let next = given(&stage, &mut link, format!("{name}: {}", word())).await?;
    respond(&mut link, &next, "ack", json!({})).await?;
    link.is_alive().await
}

async fn ping(stage: Arc<Stage>) -> Verdict {
    client(&stage).await?.0.pinged().await
}

async fn no_pong(stage: Arc<Stage>) -> Verdict {
    client(&stage).await?.0.play_dead().await
}

async fn direct(stage: Arc<Stage>) -> Verdict {
    let (message, said) = addressed(&stage, |name| format!("{name}:")).await?;
    check_direct(&message, &said)
}

async fn comma(stage: Arc<Stage>) -> Verdict {
    let (message, said) = addressed(&stage, |name| format!("{name},")).await?;
    check_direct(&message, &said)
}

async fn any_case(stage: Arc<Stage>) -> Verdict {
    let (message, said) = addressed(&stage, |name| format!("{}:", name.to_uppercase())).await?;
    check_direct(&message, &said)
}

fn check_direct(message: &Value, said: &str) -> Verdict {
    ensure!(message["text"] == said, "the text is not {said:?}: {}", short(message));
    ensure!(message["metadata"]["directRouted"] == true, "`directRouted`: {}", short(message));
    ensure!(message["metadata"]["routingReason"].is_null(), "there is a reason: {}", short(message));
    Ok(())
}
