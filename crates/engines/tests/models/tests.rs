//! The model by itself: what it decides, how each API puts it, and the socket around it.

use std::time::Duration;

use serde_json::{Value, json};

use super::script::{GREETING, Step, TITLE, Turn, decide};
use super::{Api, BAD_KEY, Beat, KEY, MODEL, Models};

fn turn(said: &str, results: &[&str], tools: &[&str]) -> Turn {
    let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    Turn { people: vec![said.to_owned()], results: owned(results), tools: owned(tools), anthropic: false }
}

fn said(steps: &[Step]) -> String {
    steps.iter().filter_map(|step| if let Step::Say(text) = step { Some(text.as_str()) } else { None }).collect()
}

#[test]
fn the_last_directive_of_the_last_words_decides_and_other_brackets_are_text() {
    let steps = |text: &str| decide(&turn(text, &[], &["bash"]), |_| 1);
    assert_eq!(said(&steps("hello [world] [x:y]")), GREETING);
    assert_eq!(said(&steps("[error:500] no, [think]")), "Hello after thinking.");
    assert_eq!(steps("[error]"), [Step::Refuse(500)]);
    assert_eq!(said(&steps("ann said [error:500]. bob asks you: hello")), GREETING);
    let call = Step::Call("bash".into(), json!({"command": "echo a:b", "description": "run it"}));
    assert_eq!(steps("[tool:echo a:b]")[1], call);
}

#[test]
fn a_tools_result_is_the_second_step_and_a_missing_tool_is_said() {
    let steps = decide(&turn("[tool:ls]", &["a.txt"], &["Bash"]), |_| 1);
    assert_eq!(said(&steps), "Done. The tool said: a.txt");
    let steps = decide(&turn("[ask]", &[], &["Bash"]), |_| 1);
    assert_eq!(said(&steps), "There is no tool to ask with among Bash.");
    let edit = |results: &[&str]| decide(&turn("[edit:/a]", results, &["read", "edit", "todowrite"]), |_| 1);
    assert_eq!(edit(&[])[1], Step::Call("read".into(), json!({"filePath": "/a"})));
    let changed = json!({"filePath": "/a", "oldString": "before", "newString": "after"});
    assert_eq!(edit(&["before"])[1], Step::Call("edit".into(), changed));
    assert_eq!(said(&edit(&["before", "ok"])), "Edited: it worked");
}

#[test]
fn a_helper_that_is_only_started_is_waited_for() {
    let sub = |results: &[&str]| decide(&turn("[sub]", results, &["multi_agent_v1"]), |_| 1);
    assert_eq!(
        sub(&[])[1],
        Step::Call("multi_agent_v1/spawn_agent".into(), json!({"message": "say hello to the parent"}))
    );
    let wait = json!({"targets": ["a1"], "timeout_ms": 30_000});
    assert_eq!(sub(&[r#"{"agent_id":"a1"}"#]), [Step::Call("multi_agent_v1/wait_agent".into(), wait)]);
    assert_eq!(said(&sub(&["", "hello"])), "The helper said: hello");
}

#[test]
fn what_has_no_tools_wants_a_title_and_a_task_that_ended_is_told() {
    assert_eq!(said(&decide(&turn("[tool:ls]", &[], &[]), |_| 1)), TITLE);
    let news = "<task-notification><summary>done</summary><result>woke\nup</result></task-notification>";
    assert_eq!(said(&decide(&turn(news, &[], &["Bash"]), |_| 1)), "The task has ended: woke up");
}

#[test]
fn flaky_fails_once_and_recall_says_what_people_said_without_directives() {
    let flaky = |attempt: u32| decide(&turn("[flaky:x]", &[], &["bash"]), |_| attempt);
    assert_eq!(flaky(1), [Step::Refuse(500)]);
    assert_eq!(said(&flaky(2)), "It worked the second time.");
    let mut turn = turn("my word is [heron] @ann", &[], &["bash"]);
    turn.person("[recall]".to_owned());
    assert_eq!(said(&decide(&turn, |_| 1)), "You said so far: my word is (heron) ~ann | (recall)");
}

#[test]
fn each_api_reads_people_results_and_tools_and_leaves_out_what_the_program_says_itself() {
    let messages = json!({"tools": [{"name": "Bash"}], "messages": [
        {"role": "user", "content": [{"type": "text", "text": "<system-reminder>x"}, {"type": "text", "text": "hi"}]},
        {"role": "assistant", "content": []},
        {"role": "user", "content": [{"type": "tool_result", "is_error": true, "content": [{"type": "text", "text": "no"}]}]}]});
    let responses = json!({"tools": [{"type": "function", "name": "Bash"}], "input": [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "<environment_context>x"}]},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]},
        {"type": "function_call_output", "output": "ERROR no"}]});
    let chat = json!({"tools": [{"type": "function", "function": {"name": "Bash"}}], "messages": [
        {"role": "system", "content": "x"}, {"role": "user", "content": [{"type": "text", "text": "hi"}]},
        {"role": "tool", "content": "ERROR no"}]});
    for (api, body) in [(Api::Messages, messages), (Api::Responses, responses), (Api::Chat, chat)] {
        let read = api.read(&body);
        let expected = Turn { anthropic: api == Api::Messages, ..turn("hi", &["ERROR no"], &["Bash"]) };
        assert_eq!(read, expected, "{api:?}");
    }
}

fn events(beats: &[Beat]) -> Vec<Value> {
    beats.iter().filter_map(|beat| if let Beat::Event(_, data) = beat { Some(data.clone()) } else { None }).collect()
}

#[test]
fn each_api_streams_text_in_pieces_then_the_call_then_why_it_ended() {
    let steps = [Step::Say("I will run it now, at once.".into()), Step::Call("Bash".into(), json!({"command": "ls"}))];
    let at = |api: Api| {
        let mut next = 0;
        let mut ids = || {
            next += 1;
            next
        };
        events(&api.stream(MODEL, &steps, &mut ids))
    };
    let joined = |events: &[Value], place: &str| -> String {
        events.iter().filter_map(|event| event.pointer(place)?.as_str()).collect()
    };
    let messages = at(Api::Messages);
    assert_eq!(joined(&messages, "/delta/text"), "I will run it now, at once.");
    assert_eq!(joined(&messages, "/delta/partial_json"), r#"{"command":"ls"}"#);
    assert_eq!(joined(&messages, "/delta/stop_reason"), "tool_use");
    let responses = at(Api::Responses);
    assert_eq!(joined(&responses, "/delta"), "I will run it now, at once.");
    let output = &responses.last().unwrap()["response"]["output"];
    assert_eq!((&output[0]["type"], &output[1]["name"]), (&json!("message"), &json!("Bash")));
    let chat = at(Api::Chat);
    assert_eq!(joined(&chat, "/choices/0/delta/content"), "I will run it now, at once.");
    assert_eq!(joined(&chat, "/choices/0/delta/tool_calls/0/function/arguments"), r#"{"command":"ls"}"#);
    assert_eq!(joined(&chat, "/choices/0/finish_reason"), "tool_calls");
    assert!(messages.len() > 8 && responses.len() > 6 && chat.len() > 6, "in pieces");
}

#[test]
fn a_cut_stream_has_no_end_and_a_slow_one_waits_between_its_words() {
    for api in [Api::Messages, Api::Responses, Api::Chat] {
        let stream = |said: &str| api.stream(MODEL, &decide(&turn(said, &[], &["bash"]), |_| 1), &mut || 1);
        assert_eq!(stream("[cut]").last(), Some(&Beat::Cut), "{api:?}");
        let slow = stream("[slow:7]");
        let wait = slow.iter().position(|beat| *beat == Beat::Wait(Duration::from_secs(7))).expect("a wait");
        assert!(wait > 1 && wait + 2 < slow.len(), "{api:?}");
    }
}

async fn post(models: &Models, path: &str, key: &str, body: &Value) -> (u16, Option<String>, String) {
    let client = reqwest::Client::builder().no_proxy().tls_certs_only([]).build().unwrap();
    let request = client.post(models.url(path)).header("x-api-key", key).json(body);
    let response = request.send().await.unwrap();
    let wait = response.headers().get("retry-after").map(|value| value.to_str().unwrap().to_owned());
    (response.status().as_u16(), wait, response.text().await.unwrap_or_else(|error| format!("broken: {error}")))
}

fn asks(said: &str) -> Value {
    json!({"model": MODEL, "stream": true, "tools": [{"name": "Bash"}], "messages": [{"role": "user", "content": said}]})
}

#[tokio::test]
async fn over_the_socket_it_streams_refuses_and_breaks_off() {
    let models = Models::start().await;
    let (status, _, text) = post(&models, "/v1/messages?beta=true", KEY, &asks("hello")).await;
    assert_eq!(status, 200);
    assert!(text.starts_with("event: message_start\ndata: {") && text.contains("event: message_stop"), "{text}");
    let (status, wait, text) = post(&models, "/v1/messages", KEY, &asks("[error:429]")).await;
    assert_eq!((status, wait.as_deref()), (429, Some("1")));
    assert!(text.contains("rate_limit_error"), "{text}");
    let (status, _, text) = post(&models, "/v1/messages", BAD_KEY, &asks("hello")).await;
    assert!(status == 401 && text.contains("authentication_error"), "{text}");
    let (_, _, text) = post(&models, "/v1/messages", KEY, &asks("[cut]")).await;
    assert!(text.starts_with("broken"), "{text}");
    let (_, _, text) = post(&models, "/v1/chat/completions", KEY, &json!({"messages": [], "stream": true})).await;
    assert!(text.ends_with("data: [DONE]\n\n"), "{text}");
    assert_eq!(post(&models, "/v1/nothing", KEY, &json!({})).await.0, 404);
    assert_eq!(models.asked().len(), 4, "those without the right key asked nothing");
}

#[test]
fn a_command_that_needs_permission_is_asked_for_where_the_model_can() {
    let permit = |tool: &str| decide(&turn("[permit:touch a]", &[], &[tool]), |_| 1).remove(1);
    let asked =
        json!({"cmd": "touch a", "sandbox_permissions": "require_escalated", "justification": "it writes a file"});
    assert_eq!(permit("exec_command"), Step::Call("exec_command".into(), asked));
    assert_eq!(permit("bash"), Step::Call("bash".into(), json!({"command": "touch a", "description": "run it"})));
}
