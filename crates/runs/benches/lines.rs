//! What an event line costs: parse, translate, hold to the contract, render; beside plain parsing of the same lines.
//!
//! `cargo bench -p folkmoot-engines --bench lines` prints one row per engine and one for all, and fails when a bar is
//! broken: 20 µs per line on average, at most 4 times the cost of plain parsing, flat memory.

use std::hint::black_box;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use folkmoot_engines::contract::{Contract, Step};
use folkmoot_engines::engine::{Engine, EngineSettings, Mode, Order, Output};
use folkmoot_engines::engines;
use folkmoot_runs::progress::{Progress, markdown};
use serde_json::{Value, json};

const LINES: usize = 100_000;
const MAX_PER_LINE: Duration = Duration::from_micros(20);
const MAX_RATIO: f64 = 4.0;
/// What an allocator may keep without anything growing.
const MAX_GROWTH_KB: i64 = 4096;

fn main() -> ExitCode {
    // `cargo test --benches` only asks whether it starts.
    let lines = if std::env::args().any(|argument| argument == "--bench") { LINES } else { 1000 };
    let mut good = true;
    let (mut all_plain, mut all_whole) = (Duration::ZERO, Duration::ZERO);
    println!(
        "{:9} {:>8} {:>12} {:>12} {:>7} {:>10}",
        "engine", "lines", "parse/line", "whole/line", "ratio", "growth kB"
    );
    for engine in engines::ALL.into_iter().filter(|engine| engine.needs_program()) {
        let stream = stream(engine.id().as_str(), lines);
        let plain = best(|| parse(&stream));
        let before = resident_kb();
        let whole = best(|| follow(engine, &stream));
        let growth = resident_kb() - before;
        row(engine.id().as_str(), stream.len(), plain, whole, growth);
        good &= growth < MAX_GROWTH_KB;
        all_plain += plain;
        all_whole += whole;
    }
    let count = 4 * lines;
    row("all", count, all_plain, all_whole, 0);
    let per_line = all_whole / u32::try_from(count).unwrap_or(u32::MAX);
    good &= per_line <= MAX_PER_LINE && all_whole.as_secs_f64() <= MAX_RATIO * all_plain.as_secs_f64();
    println!("{}", if good { "within the bars" } else { "A BAR IS BROKEN" });
    // Unoptimised or short runs say nothing about cost.
    if good || lines < LINES { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn row(name: &str, lines: usize, plain: Duration, whole: Duration, growth: i64) {
    let micros = |total: Duration| total.as_secs_f64() * 1e6 / lines as f64;
    let ratio = whole.as_secs_f64() / plain.as_secs_f64();
    println!("{name:9} {lines:8} {:9.2} µs {:9.2} µs {ratio:7.2} {growth:10}", micros(plain), micros(whole));
}

/// The best of three, because other work on the machine only ever adds.
fn best(work: impl Fn()) -> Duration {
    let once = || {
        let begun = Instant::now();
        work();
        begun.elapsed()
    };
    (0..3).map(|_| once()).min().unwrap_or_default()
}

fn parse(lines: &[String]) {
    for line in lines {
        black_box(serde_json::from_slice::<Value>(line.as_bytes()).ok());
    }
}

/// All that happens to a line on its way to people, rendering included.
fn follow(engine: &'static dyn Engine, lines: &[String]) {
    let settings = EngineSettings::default();
    let order =
        Order { settings: &settings, prompt: "", resume: None, folder: Path::new("/r"), mode: Mode::Plain, now: 0 };
    let mut dialog = engine.plan(&order).expect("the default settings are good").dialog;
    let mut contract = Contract::new(engine.id(), None);
    let mut progress = Progress::new(engine.id());
    for (at, line) in lines.iter().enumerate() {
        let Ok(value) = serde_json::from_slice::<Value>(line.as_bytes()) else { continue };
        let mut out = Output::default();
        dialog.line(&value, &mut out);
        let steps = out.events.into_iter().flat_map(|event| contract.admit(event));
        for step in steps {
            if let Step::Emit(event) = step
                && progress.take(&event, |token| engine.codec().format_resume(token).ok())
            {
                let elapsed = Duration::from_millis(at as u64);
                black_box(markdown::message(&progress, elapsed).to_markdown());
            }
        }
    }
}

/// A long run of the engine, in the shapes that it really writes.
fn stream(engine: &str, lines: usize) -> Vec<String> {
    let output = "test result: ok. 12 passed; 0 failed\n".repeat(8);
    let prose = "I will look at how the tests are set up, then change the smallest thing that can work. ".repeat(3);
    (0..lines)
        .map(|at| {
            let id = at / 2;
            let value = match (engine, at % 4) {
                ("codex", _) if at == 0 => json!({"type": "thread.started", "thread_id": "019a-77"}),
                ("codex", 0) => json!({"type": "item.started", "item": {"id": format!("item_{id}"), "type": "command_execution", "command": format!("bash -lc 'cargo test -p crate_{id}'"), "aggregated_output": "", "exit_code": null, "status": "in_progress"}}),
                ("codex", 1) => json!({"type": "item.completed", "item": {"id": format!("item_{id}"), "type": "command_execution", "command": format!("bash -lc 'cargo test -p crate_{id}'"), "aggregated_output": output, "exit_code": 0, "status": "completed"}}),
                ("codex", 2) => json!({"type": "item.completed", "item": {"id": format!("r_{id}"), "type": "reasoning", "text": prose}}),
                ("codex", _) => json!({"type": "item.completed", "item": {"id": format!("f_{id}"), "type": "file_change", "changes": [{"path": format!("/r/src/m{id}.rs"), "kind": "update"}], "status": "completed"}}),
                ("claude", _) if at == 0 => json!({"type": "system", "subtype": "init", "session_id": "s-1", "model": "sonnet", "cwd": "/r", "tools": ["Bash", "Edit"]}),
                ("claude", 0) => json!({"type": "assistant", "session_id": "s-1", "message": {"role": "assistant", "model": "sonnet", "content": [{"type": "text", "text": prose}], "usage": {"input_tokens": 5, "output_tokens": 9}}}),
                ("claude", 1) => json!({"type": "stream_event", "session_id": "s-1", "event": {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "word "}}}),
                ("claude", 2) => json!({"type": "assistant", "session_id": "s-1", "message": {"role": "assistant", "model": "sonnet", "content": [{"type": "tool_use", "id": format!("tu{id}"), "name": "Bash", "input": {"command": format!("rg fn_{id} /r/src"), "description": "search"}}]}}),
                ("claude", _) => json!({"type": "user", "session_id": "s-1", "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": format!("tu{id}"), "content": output, "is_error": false}]}}),
                ("opencode", 0) => json!({"type": "step_start", "timestamp": at, "sessionID": "ses_A1", "part": {"id": format!("prt_{at}"), "type": "step-start"}}),
                ("opencode", 1 | 2) => json!({"type": "tool_use", "timestamp": at, "sessionID": "ses_A1", "part": {"id": format!("prt_{at}"), "callID": format!("c{at}"), "tool": "bash", "state": {"status": "completed", "input": {"command": format!("ls dir_{id}")}, "output": output, "title": "List", "metadata": {"exit": 0}}}}),
                ("opencode", _) => json!({"type": "step_finish", "timestamp": at, "sessionID": "ses_A1", "part": {"type": "step-finish", "reason": "tool-calls", "cost": 0.001, "tokens": {"input": 9, "output": 2, "cache": {"read": 1, "write": 0}}}}),
                (_, _) if at == 0 => json!({"type": "session", "id": "ccd569e0-4e1b", "version": 3, "cwd": "/r"}),
                (_, 0) => json!({"type": "tool_execution_start", "toolCallId": format!("t{id}"), "toolName": "bash", "args": {"command": format!("ls dir_{id}")}}),
                (_, 1) => json!({"type": "tool_execution_end", "toolCallId": format!("t{id}"), "toolName": "bash", "result": {"content": [{"type": "text", "text": output}]}, "isError": false}),
                (_, 2) => json!({"type": "message_update", "message": {"role": "assistant", "content": [{"type": "text", "text": prose}]}}),
                (_, _) => json!({"type": "message_end", "message": {"role": "assistant", "content": [{"type": "text", "text": prose}], "stopReason": "toolUse", "usage": {"input": 1, "output": 2, "totalTokens": 3}}}),
            };
            value.to_string()
        })
        .collect()
}

fn resident_kb() -> i64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).unwrap_or(0)
}
