//! The load generator against the bare server, both as the processes that the suite starts.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

const ROOMS: usize = 3;
const MEMBERS: usize = 4;
const PAYLOAD_BYTES: u64 = 300;

/// A child of the bench binary; both kinds end when their standard input does.
struct Process {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Process {
    fn start(args: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_folkmoot-bench"))
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the bench binary starts");
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        Self { child, stdin, stdout }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("a line");
        line.trim().to_owned()
    }

    fn ask(&mut self, command: &Value) -> Value {
        let stdin = self.stdin.as_mut().expect("a pipe");
        writeln!(stdin, "{command}").expect("a command is written");
        serde_json::from_str(&self.line()).expect("an answer in JSON")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.stdin.take());
        self.child.wait().expect("the process ends with its standard input");
    }
}

fn open_load(coalesce: &str) -> (Process, Process) {
    let mut bare = Process::start(&["bare", &PAYLOAD_BYTES.to_string(), coalesce]);
    let line = bare.line();
    let port = line.strip_prefix("listening ").expect("a port");
    let pid = bare.child.id().to_string();
    let mut load = Process::start(&["load", "bare", &format!("127.0.0.1:{port}"), &pid]);
    let seats: Vec<Value> = (0..ROOMS * MEMBERS).map(|n| json!({ "token": 0, "room": n % ROOMS })).collect();
    let rooms: Vec<String> = (0..ROOMS).map(|room| room.to_string()).collect();
    let report = load.ask(&json!({
        "do": "open", "tokens": [], "rooms": rooms, "connections": seats, "content_bytes": 100, "at_once": 5,
    }));
    assert_eq!(report["error"], Value::Null);
    (bare, load)
}

#[test]
fn every_message_flat_out_is_delivered_to_its_room_and_no_other() {
    for coalesce in ["false", "true"] {
        let (_bare, mut load) = open_load(coalesce);
        let report = load.ask(&json!({
            "do": "drive", "pace": { "in_flight": 8 }, "seconds": 30.0, "messages": 500, "rooms": null,
        }));
        assert_eq!(report["error"], Value::Null);
        assert_eq!(report["sent"], 500);
        assert_eq!(report["delivered"], 500 * MEMBERS, "coalesce: {coalesce}");
        assert_eq!(report["expected"], report["delivered"]);
        assert_eq!(report["delivery_bytes"], PAYLOAD_BYTES as f64);
    }
}

#[test]
fn paced_messages_take_the_time_they_are_given() {
    let (_bare, mut load) = open_load("false");
    let report = load.ask(&json!({
        "do": "drive", "pace": { "per_second": 100.0 }, "seconds": 0.3, "messages": null, "rooms": null,
    }));
    assert_eq!(report["sent"], 30);
    assert_eq!(report["delivered"], 30 * MEMBERS);
    assert!(report["seconds"].as_f64().is_some_and(|seconds| seconds >= 0.3));
}

#[test]
fn command_it_does_not_know_is_an_error_and_the_connections_stay() {
    let (_bare, mut load) = open_load("false");
    let report = load.ask(&json!({ "do": "dance" }));
    assert!(report["error"].as_str().is_some_and(|error| error.contains("dance")));
    let report = load.ask(&json!({
        "do": "drive", "pace": { "in_flight": 1 }, "seconds": 30.0, "messages": 3, "rooms": 1,
    }));
    assert_eq!(report["delivered"], 3 * MEMBERS);
}
