//! A fake engine: a real process that speaks the recorded formats of all engines and misbehaves on request.
//!
//! `FAKE_ENGINE` says which engine it is and `FAKE_MODE` what it does; `FAKE_DIR` is where it leaves notes for the test
//! and waits for it. It is a supervisor too, because the test binary itself cannot be one.

use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

mod warm;

fn main() -> ExitCode {
    if let Some(code) = folkmoot_runs::process::supervisor::hook() {
        return code;
    }
    let fake = Fake::of_process();
    match fake.mode.as_str() {
        "sleep" => fake.sleep(),
        "warm" => warm::serve(&fake),
        _ => fake.run(),
    }
}

pub struct Fake {
    pub engine: String,
    pub mode: String,
    pub args: Vec<String>,
    folder: Option<PathBuf>,
}

impl Fake {
    fn of_process() -> Self {
        let variable = |name: &str| std::env::var(name).unwrap_or_default();
        let args = std::env::args().skip(1).collect();
        let folder = std::env::var_os("FAKE_DIR").map(PathBuf::from);
        Self { engine: variable("FAKE_ENGINE"), mode: variable("FAKE_MODE"), args, folder }
    }

    /// The session that was asked for, else a new one.
    pub fn session(&self) -> String {
        let after = |name: &str| {
            let at = self.args.iter().position(|argument| argument == name)?;
            self.args.get(at + 1).cloned()
        };
        let asked = match self.engine.as_str() {
            "codex" => after("resume"),
            "claude" => after("--resume"),
            "opencode" => after("--session"),
            // pi is always told a session; a path is one that does not exist yet.
            _ => after("--session").filter(|session| !session.contains('/')),
        };
        asked.or_else(|| std::env::var("FAKE_SESSION").ok()).unwrap_or_else(|| match self.engine.as_str() {
            "opencode" => format!("ses_{}", std::process::id()),
            _ => format!("s{:07}", std::process::id()),
        })
    }

    fn run(&self) -> ExitCode {
        if self.args.iter().any(|argument| argument == "--version") {
            println!("fake-{} 9.8.7", self.engine);
            return ExitCode::SUCCESS;
        }
        let mut prompt = String::new();
        let _ = std::io::stdin().read_to_string(&mut prompt);
        self.note("argv", &self.args.join("\u{1f}"));
        self.note("stdin", &prompt);
        self.note("key", &format!("{:?}", std::env::var("ANTHROPIC_API_KEY").ok()));
        let names: Vec<String> = std::env::vars().map(|(name, value)| format!("{name}={value}")).collect();
        self.note("env", &names.join("\n"));
        let lines = self.lines();
        match self.mode.as_str() {
            "failure" => {
                say(&lines[0]);
                eprintln!("first\nboom: no credit left");
                return ExitCode::from(3);
            }
            "no-session" => {
                eprintln!("not logged in");
                return ExitCode::from(1);
            }
            "silent" => {}
            "thief" => {
                self.note("stolen", &self.steal());
                lines.iter().for_each(|line| say(line));
            }
            "garbage" => garbage(&lines),
            "lingering" => {
                lines.iter().for_each(|line| say(line));
                self.pids(&[std::process::id()]);
                forever();
            }
            "stubborn" => return self.without_sigterm(),
            "grandchildren" => {
                let (near, far) = (self.child("near"), self.child("far"));
                lines.iter().for_each(|line| say(line));
                self.pids(&[std::process::id(), near, far]);
                self.wait_for("pids-far");
                forever();
            }
            "echo" => {
                let lines = self.answering(&format!("echo: {}", prompt.trim()));
                say(&lines[0]);
                self.wait_for("go");
                lines[1..].iter().for_each(|line| say(line));
            }
            "at-work" => {
                say(&lines[0]);
                let (near, far) = (self.child("near"), self.child("far"));
                self.wait_for("pids-far");
                self.pids(&[std::process::id(), near, far]);
                forever();
            }
            "breeding" => {
                say(&lines[0]);
                self.child("next");
                forever();
            }
            "orphans" => {
                // Leaves its children behind and ends at once.
                self.child("near");
                self.child("far");
                self.wait_for("pids-far");
                lines.iter().for_each(|line| say(line));
            }
            "huge" => {
                say(&lines[0]);
                println!("{{\"type\":\"future\",\"text\":\"{}\"}}", "x".repeat(9_000_000));
                println!("{{\"type\":\"future\",\"text\":\"{}\"}}", "x".repeat(11_000_000));
                lines[1..].iter().for_each(|line| say(line));
            }
            "mid-line" => {
                say(&lines[0]);
                print!("{}", &lines[1][..lines[1].len() / 2]);
                let _ = std::io::stdout().flush();
                let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
            }
            "no-newline" => {
                lines[..lines.len() - 1].iter().for_each(|line| say(line));
                print!("{}", lines[lines.len() - 1]);
                let _ = std::io::stdout().flush();
            }
            "held" => {
                self.log("begin");
                say(&lines[0]);
                self.wait_for("go");
                lines[1..].iter().for_each(|line| say(line));
                self.log("end");
            }
            "closed-output" => {
                say(&lines[0]);
                self.pids(&[std::process::id()]);
                let null = OpenOptions::new().write(true).open("/dev/null").unwrap();
                let _ = rustix::stdio::dup2_stdout(&null);
                forever();
            }
            _ => lines.iter().for_each(|line| say(line)),
        }
        ExitCode::SUCCESS
    }

    /// Tries to open, replace and move what is not the engine's; one line for each, with how it went.
    fn steal(&self) -> String {
        let wanted = std::env::var("FAKE_STEAL").unwrap_or_default();
        let how =
            |result: std::io::Result<()>| result.map_or_else(|error| error.kind().to_string(), |()| "done".into());
        let mut lines = Vec::new();
        for path in wanted.split(':') {
            lines.push(format!("read {path}: {}", how(std::fs::read(path).map(drop))));
            let append = OpenOptions::new().append(true).open(path);
            lines.push(format!("write {path}: {}", how(append.map(drop))));
            let taken = format!("{}/taken", self.folder.as_ref().unwrap().display());
            lines.push(format!("link {path}: {}", how(std::fs::hard_link(path, &taken))));
            lines.push(format!("move {path}: {}", how(std::fs::rename(path, &taken))));
            // What a child does is the engine's doing.
            let cat = Command::new("cat").arg(path).stdout(Stdio::null()).stderr(Stdio::null()).status();
            lines.push(format!(
                "cat {path}: {}",
                if cat.is_ok_and(|status| status.success()) { "done" } else { "failed" }
            ));
        }
        // A single file may look empty instead of closed.
        lines.extend(std::env::var("FAKE_EMPTY").ok().and_then(|path| std::fs::read_to_string(path).ok()));
        lines.join("\n")
    }

    fn lines(&self) -> Vec<String> {
        self.answering("All done.")
    }

    fn answering(&self, answer: &str) -> Vec<String> {
        let fixture = match self.engine.as_str() {
            "codex" => include_str!("../../engines/tests/fixtures/codex.jsonl"),
            "claude" => include_str!("../../engines/tests/fixtures/claude.jsonl"),
            "opencode" => include_str!("../../engines/tests/fixtures/opencode.jsonl"),
            _ => include_str!("../../engines/tests/fixtures/pi.jsonl"),
        };
        let session = self.session();
        fixture.lines().map(|line| line.replace("SESSION", &session).replace("ANSWER", answer)).collect()
    }

    /// Ignored signals stay ignored in the program that a shell turns into.
    fn without_sigterm(&self) -> ExitCode {
        let me = std::env::current_exe().unwrap();
        let mut shell = Command::new("sh");
        shell.arg("-c").arg("trap '' TERM; exec \"$0\" \"$@\"").arg(me).args(&self.args);
        let error = std::os::unix::process::CommandExt::exec(shell.env("FAKE_MODE", "lingering"));
        panic!("{error}");
    }

    /// A child that sleeps: `near` stays in our group, `far` leaves it and has left its parent too.
    fn child(&self, kind: &str) -> u32 {
        let me = std::env::current_exe().unwrap();
        let mut command = Command::new(if std::env::var_os("FAKE_STUBBORN").is_some() { "sh".as_ref() } else { &*me });
        if std::env::var_os("FAKE_STUBBORN").is_some() {
            command.arg("-c").arg("trap '' TERM INT HUP; exec \"$0\"").arg(&me);
        }
        command.env("FAKE_MODE", "sleep").env("FAKE_KIND", kind).stdin(Stdio::null());
        command.spawn().unwrap().id()
    }

    fn sleep(&self) -> ExitCode {
        match std::env::var("FAKE_KIND").unwrap_or_default().as_str() {
            "far" => {
                let _ = rustix::process::setsid();
                let child = self.child("farther");
                self.note("pids-far", &child.to_string());
                ExitCode::SUCCESS
            }
            "next" => {
                let _ = rustix::process::setsid();
                self.note("generation", &std::process::id().to_string());
                self.child("next");
                ExitCode::SUCCESS
            }
            _ => {
                forever();
            }
        }
    }

    pub fn note(&self, name: &str, text: &str) {
        let Some(folder) = &self.folder else { return };
        // Whoever waits for the file must not see half of it.
        let part = folder.join(format!("{name}.{}.part", std::process::id()));
        std::fs::write(&part, text).unwrap();
        std::fs::rename(part, folder.join(name)).unwrap();
    }

    fn log(&self, word: &str) {
        let Some(folder) = &self.folder else { return };
        let mut file = OpenOptions::new().create(true).append(true).open(folder.join("log")).unwrap();
        writeln!(file, "{word}").unwrap();
    }

    fn pids(&self, pids: &[u32]) {
        let text: Vec<String> = pids.iter().map(u32::to_string).collect();
        self.note("pids", &text.join(" "));
    }

    fn wait_for(&self, name: &str) {
        let path = self.folder.as_ref().unwrap().join(name);
        while !path.exists() {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

fn garbage(lines: &[String]) {
    println!("not json at all");
    println!("[1, 2]");
    println!("\n   ");
    let _ = std::io::stdout().write_all(b"\xff\xfe broken text\n");
    println!("{{\"type\":\"some_future_event\",\"payload\":{{\"deep\":[1,null]}}}}");
    println!("{{\"type\":7}}");
    lines.iter().for_each(|line| say(line));
    println!("{{\"after\":\"the end\"");
}

pub fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    // The reader may be gone, which is part of some tests.
    let _ = writeln!(out, "{line}");
    let _ = out.flush();
}

fn forever() -> ! {
    loop {
        std::thread::park();
    }
}
