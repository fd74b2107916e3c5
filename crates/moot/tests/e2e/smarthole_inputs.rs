//! The other ways in: a recording, and a line to `@router` in a channel; an agent of the hub that takes it, and a model
//! that never answers.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::bot::openai::{FakeOpenAi, Reply};
use crate::support::smarthole::{SmartHole, client};
use crate::support::{Hub, Member, Setup, eventually, items, moot, register, start, text};

const RECORDING: &[u8] = b"RIFF....WAVE of somebody who speaks";

/// A hub with a speech endpoint that understands `said` in every recording, and is rather sure of it.
async fn with_speech(said: &[&str]) -> (FakeOpenAi, Hub, Member) {
    let speech = FakeOpenAi::start().await;
    for words in said {
        let segment = json!({ "id": 0, "text": words, "avg_logprob": 0.8_f64.ln() });
        speech.will(Reply::Json(200, json!({ "text": words, "segments": [segment] })));
    }
    let hub = Setup::default()
        .env("MOOT_STT__BASE_URL", &speech.base_url())
        .env("MOOT_STT__MODEL", "whisper-1")
        .start()
        .await;
    let alice = register(&hub, "alice").await;
    (speech, hub, alice)
}

/// The next message came by voice, with these words and the recogniser's confidence.
async fn heard(client: &mut SmartHole, words: &str) -> String {
    let message = client.message().await;
    assert_eq!((&message["text"], &message["metadata"]["inputMethod"]), (&json!(words), &json!("voice")));
    assert_confidence(&message["metadata"]);
    text(&message, "id").to_owned()
}

#[track_caller]
fn assert_confidence(value: &Value) {
    let confidence = value["confidence"].as_f64().unwrap_or_else(|| panic!("no confidence in {value}"));
    assert!((confidence - 0.8).abs() < 1e-6, "{value}");
}

#[tokio::test]
async fn a_recording_is_transcribed_and_its_text_and_confidence_reach_the_client() {
    let (speech, hub, alice) = with_speech(&["notebook, buy milk"]).await;
    let mut notebook = client(&hub, "notebook", "I keep notes.").await;
    let answer = alice.rest.upload("/v1/route/voice", "note.wav", "audio/wav", RECORDING.to_vec()).await.ok();
    assert_eq!((&answer["text"], &answer["outcome"]), (&json!("notebook, buy milk"), &json!("routed")));
    assert_confidence(&answer);
    assert_eq!(heard(&mut notebook, "buy milk").await, text(&answer, "message_id"));
    let asked = speech.asked();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].path, "/v1/audio/transcriptions");
    assert!(asked[0].body.windows(RECORDING.len()).any(|part| part == RECORDING), "the recording goes as it is");
}

#[tokio::test]
async fn a_recording_that_nobody_understands_is_refused_and_routed_to_nobody() {
    let (_speech, hub, alice) = with_speech(&[" "]).await;
    let mut notebook = client(&hub, "notebook", "I keep notes.").await;
    let upload = || alice.rest.upload("/v1/route/voice", "note.wav", "audio/wav", RECORDING.to_vec());
    upload().await.refused(400, "BAD_REQUEST");
    // Nothing more was prepared: the endpoint fails.
    upload().await.refused(503, "INTERNAL_ERROR");
    notebook.heard_nothing().await;
    assert_eq!(alice.rest.get("/v1/route").await.ok(), json!([]));
}

#[tokio::test]
async fn without_a_speech_endpoint_a_recording_is_refused_with_the_key_to_set() {
    let (_hub, alice) = start().await;
    let answer = alice.rest.upload("/v1/route/voice", "note.wav", "audio/wav", RECORDING.to_vec()).await;
    let refused = answer.refused(503, "INTERNAL_ERROR");
    assert!(refused.to_string().contains("stt.base_url"), "{refused}");
}

#[tokio::test]
async fn say_with_a_recording_shows_what_was_understood_and_who_took_it() {
    let (_speech, hub, alice) = with_speech(&["notebook: buy milk"]).await;
    let mut notebook = client(&hub, "notebook", "I keep notes.").await;
    let home = tempfile::TempDir::new().expect("a folder");
    let file = home.path().join("note.wav");
    std::fs::write(&file, RECORDING).expect("a recording");
    let taking = tokio::spawn(async move {
        let id = heard(&mut notebook, "buy milk").await;
        notebook.ack(&id).await;
        notebook
    });
    let (server, file) = (hub.url(""), file.display().to_string());
    let said = ["say", "--no-wait", "--voice", &file, "--server", &server, "--token", &alice.token];
    let done = moot(home.path(), &said, &[]).await;
    assert_eq!(
        (done.code, done.stdout.as_str()),
        (Some(0), "“notebook: buy milk”\nnotebook took it\n"),
        "{}",
        done.stderr
    );
    drop(taking.await.expect("a client"));
}

/// Waits until this was said in the channel, or in a thread of it, and returns who said it.
async fn said_in(member: &Member, channel: &str, content: &str) -> String {
    eventually(content, || async {
        let history = member.history(channel).await;
        let message = items(&history).iter().find(|message| message["content"] == content);
        message.map(|message| text(message, "sender_id").to_owned())
    })
    .await
}

async fn name_of(member: &Member, id: &str) -> String {
    let members = member.rest.get(&member.path("members")).await.ok();
    let found = items(&members).iter().find(|member| member["id"] == id);
    text(found.unwrap_or_else(|| panic!("{id} is not in {members}")), "name").to_owned()
}

#[tokio::test]
async fn a_line_to_the_router_in_a_channel_is_delivered_and_the_answer_is_said_there() {
    let (hub, alice) = start().await;
    let mut notebook = client(&hub, "notebook", "I keep notes.").await;
    let channel = alice.add_channel("kitchen", &[]).await;
    alice.post(&channel, "Hello all\n@router notebook: buy milk").await;
    let message = notebook.message().await;
    assert_eq!((&message["text"], &message["metadata"]["directRouted"]), (&json!("buy milk"), &json!(true)));
    let id = text(&message, "id");
    notebook.ack(id).await;
    notebook.respond(id, "notification", json!({ "title": "Noted", "body": "milk" })).await;
    let router = said_in(&alice, &channel, "notebook took it.").await;
    assert_eq!(name_of(&alice, &router).await, "router");
    let answering = said_in(&alice, &channel, "Noted: milk").await;
    assert_eq!(name_of(&alice, &answering).await, "notebook");
    notebook.heard_nothing().await;
}

#[tokio::test]
async fn when_nobody_takes_a_line_to_the_router_that_is_said_in_the_channel() {
    let (hub, alice) = start().await;
    let channel = alice.add_channel("kitchen", &[]).await;
    alice.post(&channel, "@router buy milk").await;
    said_in(&alice, &channel, "No clients are connected.").await;
    let mut notebook = client(&hub, "notebook", "I keep notes.").await;
    alice.post(&channel, "@router notebook: buy milk").await;
    let id = text(&notebook.message().await, "id").to_owned();
    notebook.reject(&id, "no paper").await;
    said_in(&alice, &channel, "Nobody took it.\n- notebook: no paper").await;
}

#[tokio::test]
async fn an_agent_of_the_hub_takes_a_line_from_a_channel_and_its_answer_is_said_there() {
    let (hub, alice) = start().await;
    let _weather = client(&hub, "weather", "I know the weather forecast.").await;
    let codebot = alice.add_agent("codebot").await;
    let mut agent = codebot.lark_agent().await;
    let channel = alice.add_channel("kitchen", &[]).await;
    alice.post(&channel, "@router please do a code review").await;
    let wake = agent.expect("agent.wake").await;
    assert_eq!(wake["reason"], "dm", "{wake}");
    let direct = text(&wake["context"]["channel"], "id").to_owned();
    assert_eq!(alice.texts(&direct).await, ["please do a code review"]);
    agent.say(&direct, "looks fine").await;
    said_in(&alice, &channel, "codebot took it.").await;
    said_in(&alice, &channel, "codebot: looks fine").await;
    let history = alice.rest.get("/v1/route").await.ok();
    let (route, attempt) = (&history[0], &history[0]["attempts"][0]);
    assert_eq!((&route["state"], &attempt["client"]), (&json!("taken"), &json!("codebot")), "{route}");
    assert_eq!(attempt["status"], "acked", "{route}");
}

#[tokio::test]
async fn a_model_that_never_answers_leaves_it_to_the_words_when_its_time_is_over() {
    let model = FakeOpenAi::start().await;
    model.will(Reply::Never);
    let hub = Setup::default()
        .env("MOOT_LLM__BASE_URL", &model.base_url())
        .env("MOOT_SMARTHOLE__CHOICE_TIMEOUT_S", "1")
        .start()
        .await;
    let alice = register(&hub, "alice").await;
    let mut weather = client(&hub, "weather", "I know the weather forecast.").await;
    let mut mail = client(&hub, "mail", "I read and send mail.").await;
    let begin = Instant::now();
    let answer = alice.rest.post("/v1/route", json!({ "text": "will it rain" })).await.ok();
    let took = begin.elapsed();
    assert_eq!(answer["deliveries"][0]["client"], "weather", "{answer}");
    assert_eq!(weather.message().await["id"], answer["message_id"]);
    mail.heard_nothing().await;
    assert_eq!(model.asked().len(), 1, "the model was asked");
    assert!(took >= Duration::from_secs(1) && took < Duration::from_secs(6), "{took:?}");
}
