//! What the model says: the last directive in brackets in the last thing that a person said decides.
//!
//! Without one it greets. A directive that needs a tool which the engine does not offer says so in its answer, so that a play
//! fails with words. What a tool gave back since then tells the first step of a directive from the next.

use std::time::Duration;

use serde_json::{Value, json};

/// What a request says: what people said, what tools gave back since the last of it, and which tools there are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Turn {
    pub people: Vec<String>,
    pub results: Vec<String>,
    pub tools: Vec<String>,
    /// Names of arguments as Anthropic's own tools have them.
    pub anthropic: bool,
}

impl Turn {
    pub fn person(&mut self, text: String) {
        self.people.push(text);
        self.results.clear();
    }

    /// The name of the first of these tools that there is, as the engine writes it.
    fn tool(&self, names: &[&str]) -> Option<&str> {
        let known = |name: &&str| self.tools.iter().find(|tool| tool.eq_ignore_ascii_case(name));
        names.iter().find_map(known).map(String::as_str)
    }

    /// Whether helpers are started and waited for, as codex does it.
    fn spawns(&self) -> bool {
        self.tool(&["multi_agent_v1", "tool_search"]).is_some()
    }

    fn result(&self) -> String {
        shortened(self.results.last().map_or("", String::as_str), 300)
    }
}

/// One thing that the model does.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    Say(String),
    Think(String),
    /// A tool with its arguments; `SPACE/NAME` where the API has name spaces.
    Call(String, Value),
    /// A tool whose argument is a text of its own form.
    Custom(String, String),
    Wait(Duration),
    /// Instead of an answer, this status.
    Refuse(u16),
    /// The connection breaks.
    Cut,
}

pub const GREETING: &str = "Hello from the fake model.";
pub const TITLE: &str = "A fake title";

/// Directives that are known; anything else in brackets is text.
const DIRECTIVES: [&str; 23] = [
    "ask",
    "background",
    "cut",
    "edit",
    "empty",
    "error",
    "flaky",
    "long",
    "patch",
    "permit",
    "plan",
    "recall",
    "slow",
    "steps",
    "sub",
    "subtool",
    "think",
    "thinktool",
    "todo",
    "tool",
    "tools",
    "write",
    "call",
];

const SHELLS: [&str; 5] = ["Bash", "exec_command", "shell_command", "shell", "local_shell"];

/// What is said. `attempt` counts how often something flaky was tried.
pub fn decide(turn: &Turn, attempt: impl FnOnce(&str) -> u32) -> Vec<Step> {
    let said = turn.people.last().map_or("", String::as_str);
    // In a channel the prompt says before it who was there and what was said.
    let said = said.rsplit("asks you:").next().unwrap_or(said);
    let (name, argument) = directive(said).unwrap_or_default();
    if name == "error" {
        return vec![Step::Refuse(argument.parse().unwrap_or(500))];
    }
    if turn.tools.is_empty() {
        return vec![say(TITLE)];
    }
    match name {
        "flaky" if attempt(argument) == 1 => vec![Step::Refuse(500)],
        "flaky" => vec![say("It worked the second time.")],
        "slow" => slow(argument),
        "long" => vec![say(&long(argument.parse().unwrap_or(100_000)))],
        "think" => vec![think("Let me think about it. The person wants a greeting."), say("Hello after thinking.")],
        "recall" => vec![say(&recall(turn))],
        "cut" => vec![say("This will be cut "), Step::Cut],
        "empty" => vec![say("")],
        "" if said.contains("<task-notification>") => vec![say(&format!("The task has ended: {}", notice(said)))],
        "" => vec![say(GREETING)],
        _ => with_tools(turn, name, argument),
    }
}

/// The last directive of a text, with its argument.
fn directive(text: &str) -> Option<(&str, &str)> {
    let brackets = text.split('[').skip(1).filter_map(|rest| rest.split(']').next());
    let parts = brackets.map(|inner| inner.split_once(':').unwrap_or((inner, "")));
    parts.filter(|(name, _)| DIRECTIVES.contains(name)).last()
}

/// Directives that call a tool first and speak of its result then.
fn with_tools(turn: &Turn, name: &str, argument: &str) -> Vec<Step> {
    let n = turn.results.len();
    match (name, n) {
        ("tool", 0) => vec![say("I will run it."), shell(turn, argument, false)],
        ("thinktool", 0) => vec![think("I should run a command."), shell(turn, argument, false)],
        ("thinktool", _) => vec![think("It ran."), said_of_tool(turn)],
        ("background", 0) => vec![say("I will leave it running."), shell(turn, argument, true)],
        ("background", _) => vec![say("It is running.")],
        ("permit", 0) => vec![say("I will ask for it."), escalated(shell(turn, argument, false))],
        ("tool" | "permit", _) => vec![said_of_tool(turn)],
        ("tools" | "steps", _) => steps(turn, argument.parse().unwrap_or(3)),
        ("write", 0) => write(turn, argument),
        ("write", _) => vec![say(&format!("Written: {}", outcome(turn)))],
        ("edit", _) => edit(turn, argument),
        ("patch", 0) => vec![say("Patching."), patch(&format!("*** Add File: {argument}\n+written by the fake model"))],
        ("patch", _) => vec![say(&format!("Patched: {}", outcome(turn)))],
        ("ask", 0) => ask(turn),
        ("ask", _) => vec![say(&format!("The answer was: {}", turn.result()))],
        ("plan", 0) => plan(turn),
        ("plan", _) => vec![say(&format!("Plan: {}", turn.result()))],
        ("sub", 0) => helper(turn, "say hello to the parent"),
        ("subtool", 0) => helper(turn, "please [tool:touch made-by-helper.txt]"),
        ("sub" | "subtool", 1) if turn.spawns() => wait_for_helper(turn),
        ("sub" | "subtool", _) => vec![say(&format!("The helper said: {}", shortened(&turn.result(), 160)))],
        ("todo", 0) => todo(turn),
        ("todo", _) => vec![say(&format!("Noted: {}", turn.result()))],
        ("call", 0) => call(argument),
        _ => vec![say(&format!("Called: {}", turn.result()))],
    }
}

fn say(text: &str) -> Step {
    Step::Say(text.to_owned())
}

fn think(text: &str) -> Step {
    Step::Think(text.to_owned())
}

fn no_tool(turn: &Turn, what: &str) -> Step {
    say(&format!("There is no tool to {what} with among {}.", turn.tools.join(", ")))
}

fn said_of_tool(turn: &Turn) -> Step {
    say(&format!("Done. The tool said: {}", turn.result()))
}

fn slow(argument: &str) -> Vec<Step> {
    let pause = Duration::from_secs_f64(argument.parse().unwrap_or(30.0));
    vec![say("Beginning slowly. "), Step::Wait(pause), say("Now done slowly.")]
}

fn long(length: usize) -> String {
    let mut text = "lorem ipsum dolor sit amet ".repeat(length / 27 + 1);
    text.truncate(length);
    text + " END"
}

/// What people said so far, without anything that could be taken for a directive or a mention.
fn recall(turn: &Turn) -> String {
    let last = |text: &String| {
        let text = text.trim().replace('@', "~").replace('[', "(").replace(']', ")");
        let skipped = text.chars().count().saturating_sub(70);
        text.chars().skip(skipped).collect::<String>()
    };
    format!("You said so far: {}", turn.people.iter().map(last).collect::<Vec<_>>().join(" | "))
}

fn shell(turn: &Turn, line: &str, background: bool) -> Step {
    let arguments = match turn.tool(&SHELLS) {
        Some("shell") => json!({"command": ["bash", "-lc", line]}),
        Some("exec_command") => json!({"cmd": line}),
        Some("shell_command") => json!({"command": line}),
        Some(_) if background => json!({"command": line, "description": "leave it", "run_in_background": true}),
        Some(_) => json!({"command": line, "description": "run it"}),
        None => return no_tool(turn, "run a command"),
    };
    Step::Call(turn.tool(&SHELLS).unwrap_or_default().to_owned(), arguments)
}

/// Where the engine lets its model ask for a command to be run outside of its sandbox, it does.
fn escalated(step: Step) -> Step {
    match step {
        Step::Call(tool, mut arguments) if tool == "exec_command" => {
            arguments["sandbox_permissions"] = json!("require_escalated");
            arguments["justification"] = json!("it writes a file");
            Step::Call(tool, arguments)
        }
        other => other,
    }
}

fn steps(turn: &Turn, count: usize) -> Vec<Step> {
    let number = turn.results.len() + 1;
    if number > count {
        return vec![say(&format!("All {count} steps are done."))];
    }
    vec![say(&format!("Step {number}.")), shell(turn, &format!("echo step{number}"), false)]
}

/// What an engine's tools call the path of a file.
fn path_key(turn: &Turn) -> &'static str {
    if turn.anthropic {
        "file_path"
    } else if turn.tool(&["todowrite", "webfetch"]).is_some() {
        "filePath"
    } else {
        "path"
    }
}

fn write(turn: &Turn, path: &str) -> Vec<Step> {
    match turn.tool(&["write"]) {
        Some(tool) => {
            let arguments = json!({path_key(turn): path, "content": "written by the fake model\n"});
            vec![say("Writing."), Step::Call(tool.to_owned(), arguments)]
        }
        None if turn.tool(&["apply_patch"]).is_some() => {
            vec![say("Writing."), patch(&format!("*** Add File: {path}\n+written by the fake model"))]
        }
        None => vec![say("Writing."), shell(turn, &format!("echo written > {path}"), false)],
    }
}

/// Changes the word `before` of a file to `after`; engines with a tool for reading want the file read first.
fn edit(turn: &Turn, path: &str) -> Vec<Step> {
    let key = path_key(turn);
    let changed = |tool: &str| match key {
        "file_path" => json!({key: path, "old_string": "before", "new_string": "after"}),
        "filePath" => json!({key: path, "oldString": "before", "newString": "after"}),
        _ if tool == "edit" => json!({key: path, "edits": [{"oldText": "before", "newText": "after"}]}),
        _ => json!({key: path}),
    };
    match (turn.tool(&["edit"]), turn.tool(&["read"]), turn.results.len()) {
        (Some(_), Some(read), 0) => vec![say("Reading."), Step::Call(read.to_owned(), json!({key: path}))],
        (Some(tool), Some(_), 1) => vec![say("Editing."), Step::Call(tool.to_owned(), changed(tool))],
        (None, _, 0) if turn.tool(&["apply_patch"]).is_some() => {
            vec![say("Editing."), patch(&format!("*** Update File: {path}\n@@\n-before\n+after"))]
        }
        (None, _, 0) => vec![no_tool(turn, "edit")],
        _ => vec![say(&format!("Edited: {}", outcome(turn)))],
    }
}

/// Whether a tool worked, without the paths that it names: recordings are to be the same on every machine.
fn outcome(turn: &Turn) -> String {
    let result = turn.result();
    if result.to_lowercase().contains("error") { result } else { "it worked".to_owned() }
}

fn patch(body: &str) -> Step {
    Step::Custom("apply_patch".to_owned(), format!("*** Begin Patch\n{body}\n*** End Patch\n"))
}

fn ask(turn: &Turn) -> Vec<Step> {
    let Some(tool) = turn.tool(&["AskUserQuestion", "question", "request_user_input"]) else {
        return vec![no_tool(turn, "ask")];
    };
    let options = json!([{"label": "Red", "description": "red"}, {"label": "Blue", "description": "blue"}]);
    let mut question = json!({"question": "Which colour?", "header": "Colour", "options": options});
    match tool {
        "AskUserQuestion" => question["multiSelect"] = json!(false),
        "request_user_input" => question["id"] = json!("colour"),
        _ => {}
    }
    vec![Step::Call(tool.to_owned(), json!({"questions": [question]}))]
}

fn plan(turn: &Turn) -> Vec<Step> {
    match turn.tool(&["ExitPlanMode", "update_plan"]) {
        Some("update_plan") => vec![Step::Call("update_plan".to_owned(), json!({"plan": plan_steps()}))],
        Some(tool) => vec![Step::Call(tool.to_owned(), json!({"plan": "1. Do this\n2. Do that"}))],
        None => vec![no_tool(turn, "plan")],
    }
}

fn plan_steps() -> Value {
    json!([{"step": "one", "status": "completed"}, {"step": "two", "status": "in_progress"}])
}

fn todo(turn: &Turn) -> Vec<Step> {
    let item = |content: &str, status: &str| json!({"content": content, "status": status, "activeForm": content, "priority": "high", "id": content});
    let Some(tool) = turn.tool(&["TodoWrite", "update_plan", "TaskCreate"]) else {
        return vec![no_tool(turn, "note what is to do")];
    };
    let arguments = match tool {
        "update_plan" => json!({"plan": plan_steps()}),
        "TaskCreate" => json!({"subject": "one", "description": "do one", "activeForm": "doing one"}),
        _ => json!({"todos": [item("one", "completed"), item("two", "in_progress")]}),
    };
    vec![Step::Call(tool.to_owned(), arguments)]
}

fn helper(turn: &Turn, prompt: &str) -> Vec<Step> {
    let kind = if turn.anthropic { "general-purpose" } else { "general" };
    let (tool, arguments) = match turn.tool(&["Task", "Agent"]) {
        Some(tool) => (tool, json!({"description": "help a little", "prompt": prompt, "subagent_type": kind})),
        None if turn.spawns() => ("multi_agent_v1/spawn_agent", json!({"message": prompt})),
        None => return vec![no_tool(turn, "ask a helper")],
    };
    vec![say("Asking a helper."), Step::Call(tool.to_owned(), arguments)]
}

/// A helper that was only started answers later.
fn wait_for_helper(turn: &Turn) -> Vec<Step> {
    let started: Value = serde_json::from_str(turn.results.last().map_or("", String::as_str)).unwrap_or_default();
    let arguments = json!({"targets": [started["agent_id"]], "timeout_ms": 30_000});
    vec![Step::Call("multi_agent_v1/wait_agent".to_owned(), arguments)]
}

/// `call:NAME={"json":(…)}` calls any tool; round brackets stand for square ones.
fn call(argument: &str) -> Vec<Step> {
    let (name, arguments) = argument.split_once('=').unwrap_or((argument, "{}"));
    let arguments = arguments.replace('(', "[").replace(')', "]");
    match serde_json::from_str(&arguments) {
        Ok(arguments) => vec![Step::Call(name.to_owned(), arguments)],
        Err(error) => vec![say(&format!("These are no arguments: {error}"))],
    }
}

/// What the engine itself says of a task that has ended, in one line.
fn notice(said: &str) -> String {
    let inner = said.split("<result>").nth(1).and_then(|rest| rest.split("</result>").next());
    let inner = inner.or_else(|| said.split("<summary>").nth(1).and_then(|rest| rest.split("</summary>").next()));
    shortened(inner.unwrap_or(said), 200).replace('\n', " ")
}

fn shortened(text: &str, length: usize) -> String {
    text.chars().take(length).collect()
}
