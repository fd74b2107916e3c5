//! A case from `moot run --json`.

use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::cases::{Case, Event};
use super::judge::{Seen, judge};
use super::stage::{Stage, WAIT_TIMEOUT};
use super::support::eventually_within;
use super::support::hub::{BINARY, clean_command};
use super::table::Outcome;

/// Ctrl-C ends a run within this.
const CANCELLED: Duration = Duration::from_secs(2);

pub async fn play(stage: &Stage, case: &Case) -> Outcome {
    match case.event {
        Event::TwoThreads => return two_threads(stage, case).await,
        Event::Kill => return kill(stage, case).await,
        _ => {}
    }
    let mut resume = None;
    let mut seen = Seen::default();
    for prompt in case.prompts {
        let run = Run::start(stage, prompt, resume.as_deref());
        let followed = run.follow(stage, case.event).await?;
        resume = followed.resume;
        seen = followed.seen;
    }
    judge(stage, case, &seen)
}

/// What a run said, and which thread it was in.
struct Followed {
    seen: Seen,
    resume: Option<String>,
}

struct Run {
    child: Child,
    input: Option<ChildStdin>,
    lines: Lines<BufReader<ChildStdout>>,
    waits_before: u64,
}

impl Run {
    fn start(stage: &Stage, prompt: &str, resume: Option<&str>) -> Self {
        let mut command = clean_command(BINARY, stage.folder.path());
        command.env("PATH", stage.program.path()).args(["run", stage.program.engine, "--json"]);
        command.arg(if stage.warm { "--warm" } else { "--plain" }).arg("--cwd").arg(stage.project());
        if let Some(resume) = resume {
            command.args(["--resume", resume]);
        }
        command.arg(stage.prompt(prompt)).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let waits_before = stage.models.waits();
        let mut child = Command::from(command).kill_on_drop(true).spawn().expect("the binary starts");
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        Self { input: child.stdin.take(), child, lines, waits_before }
    }

    fn signal(&self, signal: Signal) {
        let id = self.child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        kill_process(id.expect("it runs"), signal).expect("it runs");
    }

    async fn tell(&mut self, order: Value) {
        if let Some(input) = &mut self.input {
            input.write_all(format!("{order}\n").as_bytes()).await.expect("it listens");
        }
    }

    async fn follow(mut self, stage: &Stage, event: Event) -> Result<Followed, String> {
        let (mut seen, mut resume, mut ends) = (Seen::default(), None, 0);
        let waits_before = self.waits_before;
        let works = stage.waits_more_than(waits_before);
        tokio::pin!(works);
        // They speak in the middle of an answer: when the model works, and what it has said so far was read.
        let is_spoken = matches!(event, Event::Words(_) | Event::Cancel);
        let (mut waits, mut unread) = (is_spoken, stage.begun().filter(|_| is_spoken));
        let mut cancelled = None;
        loop {
            let line = tokio::select! {
                line = self.lines.next_line() => line.map_err(|error| error.to_string())?,
                () = &mut works, if waits && unread.is_none() => {
                    waits = false;
                    match event {
                        Event::Words(words) => self.tell(json!({"steer": words})).await,
                        _ => {
                            self.signal(Signal::INT);
                            cancelled = Some(Instant::now());
                        }
                    }
                    continue;
                }
            };
            let Some(line) = line else { break };
            let said: Value = serde_json::from_str(&line).map_err(|_| format!("this is no event: {line}"))?;
            match said["type"].as_str().unwrap_or_default() {
                "started" => resume = said["resume"]["value"].as_str().map(str::to_owned),
                "action" => {
                    let title = said["action"]["title"].as_str().unwrap_or_default().to_owned();
                    unread = unread.filter(|words| !title.contains(words));
                    seen.actions.get_or_insert_default().push(title);
                }
                "asked" if said["ask"]["withdrawn"] != true => {
                    seen.asks.push(said["ask"]["subject"].to_string() + &said["ask"]["title"].to_string());
                    self.answer(&said["ask"], event).await;
                }
                "completed" => {
                    ends += 1;
                    seen.ok = said["ok"] == true;
                    seen.answer = said["answer"].as_str().unwrap_or_default().to_owned();
                    seen.error = said["error"].as_str().unwrap_or_default().to_owned();
                }
                _ => {}
            }
        }
        let status = self.child.wait().await.map_err(|error| error.to_string())?;
        if ends != 1 {
            return Err(format!("completed {ends} times, exit {status}, {seen:?}"));
        }
        match cancelled {
            Some(at) if at.elapsed() > CANCELLED => Err(format!("Ctrl-C took {:?}", at.elapsed())),
            Some(_) if status.code() != Some(130) => Err(format!("Ctrl-C gave {status}")),
            _ => Ok(Followed { seen, resume }),
        }
    }

    async fn answer(&mut self, ask: &Value, event: Event) {
        let mut order = match event {
            Event::Deny => json!({"verdict": "deny", "note": "not today"}),
            Event::Reply(words) => json!({"verdict": "reply", "answers": [words]}),
            _ => json!({"verdict": "allow"}),
        };
        order["ask"] = ask["id"].clone();
        self.tell(order).await;
    }
}

/// SIGKILL to `moot` while a command of the engine runs; whether anybody is left is looked at afterwards.
async fn kill(stage: &Stage, case: &Case) -> Outcome {
    let mut run = Run::start(stage, case.prompts[0], None);
    let listens = async {
        while let Ok(Some(line)) = run.lines.next_line().await {
            let said: Value = serde_json::from_str(&line).unwrap_or_default();
            if said["type"] == "asked" {
                let order = json!({"ask": said["ask"]["id"], "verdict": "allow"});
                if let Some(input) = &mut run.input {
                    input.write_all(format!("{order}\n").as_bytes()).await.expect("it listens");
                }
            }
        }
    };
    tokio::select! {
        () = listens => return Err("the run ended before its command".to_owned()),
        () = eventually_within(WAIT_TIMEOUT, "the command runs", || async { stage.is_endless().then_some(()) }) => {}
    }
    run.child.start_kill().map_err(|error| error.to_string())?;
    run.child.wait().await.map_err(|error| error.to_string())?;
    Ok(())
}

/// Two threads at the same time, each of which knows its own words and nobody else's.
async fn two_threads(stage: &Stage, case: &Case) -> Outcome {
    let begin = async |prompt: &str| Run::start(stage, prompt, None).follow(stage, Event::Nothing).await;
    // codex and opencode by themselves cannot be started twice at once on a home that nobody has used yet.
    begin("say hello").await?;
    let (first, second) = tokio::join!(begin(case.prompts[0]), begin(case.prompts[1]));
    let (first, second) = (first?, second?);
    if !first.seen.ok || !second.seen.ok || first.resume == second.resume {
        return Err(format!("two runs at once: {:?} and {:?}", first.seen, second.seen));
    }
    let (first, second) = (first.resume, second.resume);
    let recall = async |thread: &Option<String>| {
        Run::start(stage, "[recall]", thread.as_deref()).follow(stage, Event::Nothing).await
    };
    let (first, second) = tokio::join!(recall(&first), recall(&second));
    apart(&first?.seen.answer, &second?.seen.answer)
}

/// Each answer has its own word only.
pub fn apart(first: &str, second: &str) -> Outcome {
    let own = |answer: &str, word: &str, other: &str| answer.contains(word) && !answer.contains(other);
    if own(first, "adder", "badger") && own(second, "badger", "adder") {
        return Ok(());
    }
    Err(format!("the threads are mixed: {first:?} and {second:?}"))
}
