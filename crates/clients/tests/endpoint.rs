//! The client against a fake endpoint on loopback, each thing that can happen once.

#[path = "support/mod.rs"]
mod support;

use std::time::Duration;

use folkmoot_clients::llm::{Message, Request, Tool};
use folkmoot_clients::{Endpoint, PeerError};
use serde_json::json;
use support::{End, FakeOpenAi, Reply, calls, piece, says};

const KEY: &str = "sk-do-not-tell";

fn endpoint(fake: &FakeOpenAi) -> Endpoint {
    Endpoint::new(&fake.base_url(), KEY, "small", Duration::from_secs(20)).unwrap()
}

fn question() -> Request {
    Request { messages: vec![Message::system("be brief"), Message::user("hello")], ..Request::default() }
}

#[tokio::test]
async fn a_question_is_asked_in_the_chat_completions_format_and_answered() {
    let fake = FakeOpenAi::start().await;
    fake.will(says("hi"));
    let mut request = question();
    request.tools.push(Tool { name: "add".into(), description: "adds".into(), parameters: json!({"type": "object"}) });
    request.extra.insert("temperature".into(), json!(0));
    let completion = endpoint(&fake).complete(&request).await.unwrap();
    assert_eq!(completion.content.as_deref(), Some("hi"));
    let asked = fake.asked().remove(0);
    assert_eq!(asked.path, "/v1/chat/completions");
    assert_eq!(asked.authorization.as_deref(), Some("Bearer sk-do-not-tell"));
    let expected = json!({
        "model": "small", "stream": false, "temperature": 0,
        "messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "hello"}],
        "tools": [{"type": "function", "function": {"name": "add", "description": "adds", "parameters": {"type": "object"}}}],
    });
    assert_eq!(asked.json(), expected);
}

#[tokio::test]
async fn a_tool_call_comes_back_with_the_models_own_arguments() {
    let fake = FakeOpenAi::start().await;
    fake.will(calls("add", "{not json"));
    let completion = endpoint(&fake).complete(&question()).await.unwrap();
    assert_eq!(completion.content, None);
    assert_eq!(completion.tool_calls[0].function.name, "add");
    assert_eq!(completion.tool_calls[0].function.arguments, "{not json");
}

#[tokio::test]
async fn a_streamed_answer_grows_piece_by_piece_and_its_tool_calls_gather() {
    let fake = FakeOpenAi::start().await;
    let call = |index: usize, id: Option<&str>, name: Option<&str>, arguments: &str| {
        let function = json!({"name": name, "arguments": arguments});
        piece(json!({"tool_calls": [{"index": index, "id": id, "function": function}]}), None)
    };
    let events = vec![
        piece(json!({"role": "assistant", "content": ""}), None),
        piece(json!({"content": "Hel"}), None),
        piece(json!({"content": "lo"}), None),
        call(0, Some("a"), Some("add"), ""),
        call(0, None, None, "{\"x\""),
        call(1, Some("b"), Some("sub"), "{}"),
        call(0, None, None, ":1}"),
        piece(json!({}), Some("tool_calls")),
    ];
    fake.will(Reply::Events(events, End::Done));
    let mut stream = endpoint(&fake).stream(&question()).await.unwrap();
    let mut pieces = Vec::new();
    while let Some(text) = stream.next().await.unwrap() {
        pieces.push(text);
    }
    assert_eq!(pieces, ["Hel", "lo"]);
    let completion = stream.into_completion();
    assert_eq!(completion.content.as_deref(), Some("Hello"));
    let calls: Vec<_> = completion.tool_calls.iter().map(|call| (&*call.id, &*call.function.arguments)).collect();
    assert_eq!(calls, [("a", "{\"x\":1}"), ("b", "{}")]);
}

#[tokio::test]
async fn a_stream_that_breaks_off_is_an_error_and_one_that_only_forgets_the_marker_is_not() {
    let fake = FakeOpenAi::start().await;
    let half = || vec![piece(json!({"content": "half"}), None)];
    fake.will(Reply::Events(half(), End::Cut));
    let mut stream = endpoint(&fake).stream(&question()).await.unwrap();
    assert_eq!(stream.next().await, Ok(Some("half".to_owned())));
    assert_eq!(stream.next().await, Err(PeerError::Cut));
    fake.will(Reply::Events(half(), End::Quiet));
    let mut stream = endpoint(&fake).stream(&question()).await.unwrap();
    assert_eq!(stream.next().await, Ok(Some("half".to_owned())));
    assert_eq!(stream.next().await, Err(PeerError::Cut), "no piece said it was the last");
    fake.will(Reply::Events(vec![piece(json!({"content": "whole"}), Some("stop"))], End::Quiet));
    let mut stream = endpoint(&fake).stream(&question()).await.unwrap();
    assert_eq!(stream.next().await, Ok(Some("whole".to_owned())));
    assert_eq!(stream.next().await, Ok(None));
}

#[tokio::test]
async fn every_failure_says_whether_to_try_again_and_never_the_key() {
    let fake = FakeOpenAi::start().await;
    let error = |status| Reply::Json(status, json!({"error": {"message": "so it is"}}));
    let reason = || "so it is".to_owned();
    let cases = [
        (Reply::SlowDown(7), PeerError::RateLimited { retry_after: Some(Duration::from_secs(7)) }, true),
        (error(401), PeerError::Unauthorized(reason()), false),
        (error(400), PeerError::Refused { status: 400, reason: reason() }, false),
        (error(503), PeerError::Failed { status: 503, reason: reason() }, true),
        (Reply::Json(200, json!({"choices": []})), PeerError::Malformed("it has no choice".to_owned()), false),
    ];
    for (reply, expected, again) in cases {
        fake.will(reply);
        let error = endpoint(&fake).complete(&question()).await.unwrap_err();
        assert_eq!(error.is_transient(), again);
        assert!(!format!("{error} {error:?}").contains(KEY));
        assert_eq!(error, expected);
    }
}

#[tokio::test]
async fn an_endpoint_that_never_answers_or_is_not_there_is_given_up() {
    let fake = FakeOpenAi::start().await;
    fake.will(Reply::Never);
    let patience = Duration::from_millis(50);
    let endpoint = Endpoint::new(&fake.base_url(), "", "small", patience).unwrap();
    assert_eq!(endpoint.complete(&question()).await, Err(PeerError::TimedOut(patience)));
    let nobody = Endpoint::new("http://127.0.0.1:1/v1", KEY, "small", Duration::from_secs(20)).unwrap();
    let error = nobody.complete(&question()).await.unwrap_err();
    assert!(matches!(error, PeerError::Unreachable(_)), "{error:?}");
}

#[tokio::test]
async fn a_recording_is_sent_as_a_file_and_comes_back_as_text() {
    let fake = FakeOpenAi::start().await;
    fake.will(Reply::Json(200, json!({"text": " buy milk \n", "logprobs": [{"token": "buy", "logprob": 0.0}]})));
    let transcript = endpoint(&fake).transcribe("note.ogg", "sound".into()).await.unwrap();
    assert_eq!((transcript.text.as_str(), transcript.confidence), ("buy milk", Some(1.0)));
    let asked = fake.asked().remove(0);
    assert_eq!(asked.path, "/v1/audio/transcriptions");
    let body = String::from_utf8_lossy(&asked.body).into_owned();
    for expected in ["filename=\"note.ogg\"", "name=\"model\"", "small", "sound", "response_format"] {
        assert!(body.contains(expected), "{expected} in {body}");
    }
}

#[tokio::test]
async fn an_endpoint_that_answers_whole_although_it_was_asked_to_stream_is_understood() {
    let fake = FakeOpenAi::start().await;
    fake.will(says("all at once"));
    let mut stream = endpoint(&fake).stream(&question()).await.unwrap();
    assert_eq!(stream.next().await.unwrap().as_deref(), Some("all at once"));
    assert_eq!(stream.next().await.unwrap(), None);
    assert_eq!(stream.into_completion().content.as_deref(), Some("all at once"));
}
