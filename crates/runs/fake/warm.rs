//! The warm modes: one conversation that asks, listens and stops, in the words of each engine.
//!
//! The prompt `ask` makes it ask for permission, `wait` makes it wait to be steered or interrupted, `break` makes a server
//! end its stream of events; everything else is answered with `echo: PROMPT`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};

use serde_json::{Value, json};

use crate::{Fake, say};

pub fn serve(fake: &Fake) -> ExitCode {
    if fake.args.iter().any(|argument| argument == "--help") {
        println!("app-server --input-format rpc --hostname");
        return ExitCode::SUCCESS;
    }
    fake.note("argv", &fake.args.join("\u{1f}"));
    match fake.engine.as_str() {
        "codex" => lines(fake, codex),
        "claude" => lines(fake, claude),
        "pi" => lines(fake, pi),
        _ => opencode(fake),
    }
    ExitCode::SUCCESS
}

fn lines(fake: &Fake, answer: fn(&str, &Value)) {
    let session = fake.session();
    for line in std::io::stdin().lines() {
        let Ok(line) = line else { return };
        answer(&session, &serde_json::from_str(&line).expect("we are told JSON"));
    }
}

fn tell(line: &Value) {
    say(&line.to_string());
}

fn codex(session: &str, told: &Value) {
    let turn = |status: &str| json!({"method": "turn/completed", "params": {"threadId": session, "turn": {"id": "u1", "items": [], "status": status}}});
    let answer = |text: &str| {
        let item = json!({"id": "m1", "type": "agentMessage", "text": text});
        tell(&json!({"method": "item/completed", "params": {"threadId": session, "turnId": "u1", "item": item}}));
        tell(&turn("completed"));
    };
    let reply = |result: Value| tell(&json!({"id": told["id"], "result": result}));
    match told["method"].as_str().unwrap_or_default() {
        "initialize" => reply(json!({"userAgent": "fake"})),
        "thread/start" | "thread/resume" => reply(json!({"thread": {"id": session}, "model": "m"})),
        "turn/start" => {
            reply(json!({"turn": {"id": "u1", "items": [], "status": "inProgress"}}));
            tell(&json!({"method": "turn/started", "params": {"threadId": session, "turn": {"id": "u1"}}}));
            match told["params"]["input"][0]["text"].as_str().unwrap_or_default() {
                "ask" => tell(&json!({"id": 77, "method": "item/commandExecution/requestApproval",
                    "params": {"threadId": session, "turnId": "u1", "itemId": "i1", "command": "rm x", "startedAtMs": 1}})),
                "wait" => {}
                prompt => answer(&format!("echo: {prompt}")),
            }
        }
        "turn/steer" => {
            reply(json!({"turnId": "u1"}));
            answer(&format!("steered: {}", told["params"]["input"][0]["text"].as_str().unwrap_or_default()));
        }
        "turn/interrupt" => {
            reply(json!({}));
            tell(&turn("interrupted"));
        }
        _ if told["id"] == 77 => {
            let decision = told["result"]["decision"].as_str().unwrap_or_default();
            tell(&json!({"method": "serverRequest/resolved", "params": {"threadId": session, "requestId": 77}}));
            let done = json!({"id": "i1", "type": "commandExecution", "command": "rm x", "status": if decision == "accept" { "completed" } else { "declined" }});
            tell(&json!({"method": "item/completed", "params": {"threadId": session, "turnId": "u1", "item": done}}));
            answer(decision);
        }
        _ => {}
    }
}

fn claude(session: &str, told: &Value) {
    let result = |text: &str, is_error: bool| {
        tell(
            &json!({"type": "result", "subtype": "success", "is_error": is_error, "session_id": session, "result": text}),
        );
    };
    match told["type"].as_str().unwrap_or_default() {
        "control_request" if told["request"]["subtype"] == "interrupt" => result("interrupted", true),
        "control_request" => {
            let response = json!({"subtype": "success", "request_id": told["request_id"], "response": {}});
            tell(&json!({"type": "control_response", "response": response}));
        }
        "user" => {
            static WAITING: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);
            tell(&json!({"type": "user", "isReplay": true, "uuid": told["uuid"], "message": told["message"]}));
            let prompt = told["message"]["content"].as_str().unwrap_or_default();
            if WAITING.swap(prompt == "wait", std::sync::atomic::Ordering::SeqCst) {
                return result(&format!("steered: {prompt}"), false);
            }
            tell(&json!({"type": "system", "subtype": "init", "session_id": session, "model": "m"}));
            match prompt {
                "ask" => {
                    let request = json!({"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "rm x"}});
                    tell(&json!({"type": "control_request", "request_id": "77", "request": request}));
                }
                "wait" => {}
                prompt => result(&format!("echo: {prompt}"), false),
            }
        }
        "control_response" => {
            let answer = &told["response"]["response"];
            let allowed = answer["behavior"] == "allow" && answer["updatedInput"]["command"] == "rm x";
            let said = if allowed {
                "accept".to_owned()
            } else {
                format!("decline: {}", answer["message"].as_str().unwrap_or_default())
            };
            result(&said, false);
        }
        _ => {}
    }
}

fn pi(session: &str, told: &Value) {
    let end = |text: &str, reason: &str| {
        let message = json!({"role": "assistant", "content": [{"type": "text", "text": text}], "stopReason": reason});
        tell(&json!({"type": "agent_end", "messages": [message]}));
    };
    let kind = told["type"].as_str().unwrap_or_default();
    let message = told["message"].as_str().unwrap_or_default();
    if kind != "extension_ui_response" {
        let data = if kind == "get_state" { json!({"sessionId": session}) } else { Value::Null };
        tell(&json!({"type": "response", "command": kind, "success": true, "data": data}));
    }
    match (kind, message) {
        ("prompt", text) if told["streamingBehavior"] == "steer" => {
            tell(&json!({"type": "message_end", "message": {"role": "user", "content": text}}));
            end(&format!("steered: {text}"), "stop");
        }
        ("prompt", "ask") => tell(
            &json!({"type": "extension_ui_request", "id": "77", "method": "confirm", "title": "Run?", "message": "rm x"}),
        ),
        ("prompt", "wait") => {
            tell(&json!({"type": "agent_start"}));
            tell(&json!({"type": "message_end", "message": {"role": "user", "content": "wait"}}));
        }
        ("prompt", prompt) => end(&format!("echo: {prompt}"), "stop"),
        ("abort", _) => end("", "aborted"),
        ("extension_ui_response", _) => end(if told["confirmed"] == true { "accept" } else { "decline" }, "stop"),
        _ => {}
    }
}

/// A server of just what is needed; every connection has its thread.
fn opencode(fake: &Fake) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    println!("opencode server listening on http://{}", listener.local_addr().unwrap());
    let session = fake.session();
    let hearers: Arc<Mutex<Vec<mpsc::Sender<Value>>>> = Arc::default();
    for stream in listener.incoming() {
        let (session, hearers) = (session.clone(), Arc::clone(&hearers));
        std::thread::spawn(move || connection(&mut stream.unwrap(), &session, &hearers));
    }
}

fn connection(stream: &mut TcpStream, session: &str, hearers: &Mutex<Vec<mpsc::Sender<Value>>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    while let Some((path, body, authorized)) = request(&mut reader) {
        if !authorized {
            return respond(stream, "401 Unauthorized", &json!({}));
        }
        if path == "/event" {
            let (to, events) = mpsc::channel();
            hearers.lock().unwrap().push(to);
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n").unwrap();
            for event in events {
                write!(stream, "data: {event}\n\n").unwrap();
            }
            return;
        }
        let tell = |kind: &str, mut properties: Value| {
            properties["sessionID"] = json!(session);
            for hearer in &*hearers.lock().unwrap() {
                let _ = hearer.send(json!({"type": kind, "properties": properties}));
            }
        };
        respond(stream, "200 OK", &json!({"id": session}));
        static ASKED: AtomicUsize = AtomicUsize::new(0);
        // Both signs of the end, as the real one gives them.
        let idle = || {
            tell("session.status", json!({"status": {"type": "idle"}}));
            tell("session.idle", json!({}));
        };
        let answer = |text: &str| {
            let number = ASKED.load(Ordering::SeqCst);
            let message = format!("a{number}");
            let part = json!({"id": format!("p{message}"), "messageID": message, "sessionID": session, "type": "text", "text": text});
            tell("message.part.updated", json!({"part": part}));
            let info = json!({"id": message, "role": "assistant", "parentID": format!("u{number}"), "sessionID": session,
                              "time": {"completed": 1}});
            tell("message.updated", json!({"info": info}));
            idle();
        };
        if path.ends_with("/prompt_async") {
            let message = format!("u{}", ASKED.fetch_add(1, Ordering::SeqCst) + 1);
            tell("message.updated", json!({"info": {"id": message, "role": "user", "sessionID": session}}));
            let prompt = body["parts"][0]["text"].as_str().unwrap_or_default();
            let part = json!({"id": format!("p{message}"), "messageID": message, "sessionID": session, "type": "text", "text": prompt});
            tell("message.part.updated", json!({"part": part}));
            tell("session.status", json!({"status": {"type": "busy"}}));
            static WAITING: AtomicBool = AtomicBool::new(false);
            let steered = WAITING.swap(prompt == "wait", Ordering::SeqCst);
            match prompt {
                "break" => hearers.lock().unwrap().clear(),
                "ask" => tell("permission.asked", json!({"id": "77", "permission": "bash", "patterns": ["rm x"]})),
                "wait" => {}
                prompt if steered => answer(&format!("steered: {prompt}")),
                prompt => answer(&format!("echo: {prompt}")),
            }
        } else if path.ends_with("/abort") {
            idle();
        } else if path == "/permission/77/reply" {
            tell("permission.replied", json!({"requestID": "77", "reply": body["reply"]}));
            let said = if body["reply"] == "once" {
                "accept".to_owned()
            } else {
                format!("decline: {}", body["message"].as_str().unwrap_or_default())
            };
            answer(&said);
        }
    }
}

fn request(reader: &mut BufReader<TcpStream>) -> Option<(String, Value, bool)> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|length| *length > 0)?;
    let path = line.split_whitespace().nth(1)?.to_owned();
    let (mut length, mut authorized) = (0, false);
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let header = header.trim().to_ascii_lowercase();
        if header.is_empty() {
            break;
        }
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        authorized |= header.starts_with("authorization: basic ");
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((path, serde_json::from_slice(&body).unwrap_or(Value::Null), authorized))
}

fn respond(stream: &mut TcpStream, status: &str, body: &Value) {
    let body = body.to_string();
    let head = format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", body.len());
    let _ = stream.write_all(format!("{head}{body}").as_bytes());
}
