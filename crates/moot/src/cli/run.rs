//! `moot run`: one prompt to one engine, followed in the terminal.

use std::io::{IsTerminal, Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use folkmoot_engines::engine::{Engine, EngineError, Mode};
use folkmoot_engines::engines;
use folkmoot_engines::event::{Ask, AskAnswer, Completed, EngineEvent, ResumeToken};
use folkmoot_engines::programs::{self, Program};
use folkmoot_engines::words;
use folkmoot_runs::availability;
use folkmoot_runs::keyboard::{self, Keyboard, Word};
use folkmoot_runs::process::Host;
use folkmoot_runs::progress::Progress;
use folkmoot_runs::run::{Request, Run, RunHandle};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::engines::find;
use super::output::{self, Paint};
use super::{Fault, Settings};
use crate::{agentd, runner};

mod screen;

use screen::Screen;

#[derive(Debug, clap::Args)]
#[command(after_help = after_help())]
pub struct Args {
    /// codex, claude, opencode, pi or script; `moot engines` says which can be used.
    engine: String,
    /// What to do; `-`, or nothing when something is piped in, reads standard input.
    #[arg(value_name = "PROMPT", trailing_var_arg = true)]
    prompt: Vec<String>,
    /// Continue this session: its token, or a whole resume line.
    #[arg(long, value_name = "TOKEN")]
    resume: Option<String>,
    /// Another model than the configured one, in the engine's own words.
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// How long it thinks; each engine has its own words for it, see below.
    #[arg(long, value_name = "LEVEL")]
    effort: Option<String>,
    /// Work in this folder instead of the current one.
    #[arg(long, value_name = "FOLDER")]
    cwd: Option<PathBuf>,
    /// Print the events as JSON lines, and nothing else, on standard output.
    #[arg(long)]
    json: bool,
    /// Use the mode in which the engine can be steered and asks for permission.
    #[arg(long, conflicts_with = "plain")]
    warm: bool,
    /// Use the mode of one prompt and one answer.
    #[arg(long)]
    plain: bool,
}

fn after_help() -> String {
    let levels = |program: &Program| match program.levels {
        [] => format!("  {:10}what the model has, such as high or max", program.engine),
        levels => format!("  {:10}{}", program.engine, levels.join(", ")),
    };
    let levels: Vec<String> = programs::ALL.iter().map(levels).collect();
    format!("{}\n\nLevels for `--effort`:\n{}", AFTER_HELP, levels.join("\n"))
}

const AFTER_HELP: &str = "\
The answer and the resume line go to standard output, the progress to standard error.
Ctrl-C cancels the run and prints the resume line (exit code 130). Where the input ends, nobody is
there to answer any more, and the answer to every question is no.

Examples:
  moot run script \"hello\"                       a demonstration without any engine
  moot run codex \"fix the failing test\"
  moot run claude --resume 1b2c3d \"and now the docs\"
  moot run claude --model opus --effort high \"why is this slow?\"
  git diff | moot run claude
  moot run opencode --json \"what is this?\" | jq .type";

pub fn run(settings: &Settings, args: Args) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let code = runtime.block_on(follow(settings, args));
    // A thread that waits for the keyboard must not keep us here.
    runtime.shutdown_background();
    code
}

async fn follow(settings: &Settings, args: Args) -> anyhow::Result<ExitCode> {
    let engine = find(&args.engine)?;
    let config = settings.load()?.config;
    let runner = runner::runner(&config);
    let own = runner.settings(&engine.id());
    folkmoot_engines::engine::settings::check_settings(engine, &own).map_err(usage)?;
    check_words(engine, &args)?;
    let (prompt, from_input) = prompt(&args)?;
    let resume = args.resume.as_deref().map(|text| token(engine, text)).transpose()?;
    let folder = folder(args.cwd.as_ref())?;
    let attended = !from_input && std::io::stdin().is_terminal() && std::io::stderr().is_terminal() && !args.json;
    let mode = mode(engine, &own, &runner.host(), &args, attended).await?;
    let place = folder.to_string_lossy().into_owned();
    let (model, reasoning) = (args.model.clone(), args.effort.clone());
    let run = runner.run(engine, Request { prompt, resume, folder, mode, model, reasoning });
    let listens = mode == Mode::Warm && !from_input && (attended || args.json);
    Session::new(engine, run, place, args.json, listens, attended)?.follow().await
}

fn usage(error: EngineError) -> Fault {
    Fault { sentence: error.sentence, hint: error.hint, usage: true }
}

/// A model and a level that the engine would not understand are refused here: most engines go on without a word.
fn check_words(engine: &'static dyn Engine, args: &Args) -> Result<(), Fault> {
    let id = engine.id();
    let program = programs::of(id.as_str());
    if let Some(model) = &args.model {
        words::model(model).map_err(usage)?;
        program.ok_or_else(|| Fault::usage(format!("{id} has no models")).hint("leave out `--model`"))?;
    }
    if let Some(level) = &args.effort {
        words::level(level).map_err(usage)?;
        let known = program.ok_or_else(|| Fault::usage(format!("{id} does not think")).hint("leave out `--effort`"))?;
        if !known.levels.is_empty() && !known.levels.contains(&level.as_str()) {
            let fault = Fault::usage(format!("`{level}` is no level of thinking that {id} knows"));
            return Err(fault.hint(format!("it knows {}", known.levels.join(", "))));
        }
    }
    Ok(())
}

fn prompt(args: &Args) -> anyhow::Result<(String, bool)> {
    let words = args.prompt.join(" ");
    let reads = words == "-" || (words.is_empty() && !std::io::stdin().is_terminal());
    let text = if reads {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text)?;
        text
    } else {
        words
    };
    if text.trim().is_empty() && args.resume.is_none() {
        return Err(Fault::usage("there is no prompt").hint("moot run ENGINE \"what to do\"").into());
    }
    Ok((text, reads))
}

/// A token, or the resume line that somebody copied.
fn token(engine: &'static dyn Engine, text: &str) -> anyhow::Result<ResumeToken> {
    if let Some(token) = engine.codec().extract_resume(text) {
        return Ok(token);
    }
    if let Some(other) = engines::codecs().extract_resume(text) {
        let fault = Fault::usage(format!("this is a session of {}, not of {}", other.engine, engine.id()));
        return Err(fault.hint(format!("moot run {} --resume {}", other.engine, other.value)).into());
    }
    if !engine.codec().accepts(text.trim()) {
        return Err(Fault::usage(format!("`{text}` is not a session of {}", engine.id())).into());
    }
    Ok(ResumeToken::new(engine.id(), text.trim()))
}

fn folder(cwd: Option<&PathBuf>) -> anyhow::Result<PathBuf> {
    let Some(cwd) = cwd else { return Ok(std::env::current_dir()?) };
    cwd.canonicalize().ok().filter(|path| path.is_dir()).ok_or_else(|| {
        Fault::usage(format!("the folder `{}` does not exist", cwd.display()))
            .hint("name another one with `--cwd`")
            .into()
    })
}

/// Warm when somebody is there to answer and the program knows it; what was asked for goes first.
async fn mode(
    engine: &'static dyn Engine,
    own: &folkmoot_engines::engine::EngineSettings,
    host: &Host,
    args: &Args,
    attended: bool,
) -> anyhow::Result<Mode> {
    let wish = match own.own_text("mode") {
        _ if args.warm => "warm",
        _ if args.plain => "plain",
        None => "auto",
        Some(word @ ("auto" | "plain" | "warm")) => word,
        Some(other) => {
            let sentence = format!("`engines.{}.mode` is `{other}`; it must be `auto`, `plain` or `warm`", engine.id());
            return Err(Fault::usage(sentence).into());
        }
    };
    let may = wish == "warm" || (wish == "auto" && attended);
    Ok(if may && availability::has_warm(engine, own, host).await { Mode::Warm } else { Mode::Plain })
}

struct Session {
    engine: &'static dyn Engine,
    folder: String,
    run: Run,
    handle: RunHandle,
    progress: Progress,
    screen: Screen,
    keyboard: Keyboard,
    attended: bool,
    json: bool,
    begun: Instant,
    interrupts: Signal,
    ends: Signal,
    stopped_by: Option<u8>,
}

/// What a session waits for.
enum Next {
    Event(Option<EngineEvent>),
    Word(Word),
    Stop(u8),
    Tick,
}

impl Session {
    fn new(
        engine: &'static dyn Engine,
        run: Run,
        folder: String,
        json: bool,
        listens: bool,
        attended: bool,
    ) -> anyhow::Result<Self> {
        Ok(Self {
            engine,
            folder,
            handle: run.handle(),
            run,
            progress: Progress::new(engine.id()),
            screen: Screen::new(json),
            keyboard: Keyboard::new(listens, json),
            attended: attended || (json && listens),
            json,
            begun: Instant::now(),
            interrupts: signal(SignalKind::interrupt())?,
            ends: signal(SignalKind::terminate())?,
            stopped_by: None,
        })
    }

    async fn follow(mut self) -> anyhow::Result<ExitCode> {
        let mut tick = tokio::time::interval(Duration::from_secs(1));
        loop {
            let next = tokio::select! {
                event = self.run.next() => Next::Event(event),
                word = self.keyboard.word() => Next::Word(word),
                _ = self.interrupts.recv() => Next::Stop(130),
                _ = self.ends.recv() => Next::Stop(143),
                _ = tick.tick() => Next::Tick,
            };
            match next {
                Next::Event(Some(event)) => self.event(&event).await?,
                Next::Event(None) => break,
                Next::Word(word) => self.word(word).await,
                Next::Stop(code) => {
                    if self.stopped_by.replace(code).is_some() {
                        // Asked twice: the supervisor ends the engine without us.
                        return Ok(ExitCode::from(code));
                    }
                    self.handle.cancel();
                }
                Next::Tick => self.screen.draw(&self.progress, self.begun.elapsed()),
            }
        }
        self.finish().await
    }

    async fn event(&mut self, event: &EngineEvent) -> anyhow::Result<()> {
        let codecs = self.engine.codec();
        self.progress.take(event, |token| codecs.format_resume(token).ok());
        if self.json {
            let mut out = std::io::stdout().lock();
            writeln!(out, "{}", event.to_line())?;
            out.flush()?;
        }
        self.screen.event(event, &self.progress, self.begun.elapsed());
        match event {
            EngineEvent::Asked(asked) if !asked.ask.withdrawn => self.asked(&asked.ask).await,
            EngineEvent::Completed(completed) => self.outcome(completed)?,
            _ => {}
        }
        Ok(())
    }

    async fn asked(&mut self, ask: &Ask) {
        if self.attended {
            let shown = ask.shown(Some(&self.folder), Some(&agentd::machine()));
            self.screen.ask(ask, &shown);
            return;
        }
        self.deny(&ask.id).await;
    }

    /// No, because nobody is there. That an engine no longer waits for it is no trouble.
    async fn deny(&mut self, ask: &str) {
        let note = "nobody is here to answer".to_owned();
        self.progress.answered(ask);
        let _ = self.handle.answer(ask, AskAnswer::Deny { note, stop: false }).await;
    }

    /// The input has ended: what is asked, now or later, is answered with no.
    async fn left_alone(&mut self) {
        self.attended = false;
        self.screen.remark("The input has ended: what is asked from now on is answered with no.");
        for ask in self.progress.asks().to_vec() {
            self.deny(&ask.id).await;
        }
    }

    async fn word(&mut self, word: Word) {
        let done = match word {
            Word::Answer(ask, _) if !self.progress.asks().iter().any(|open| open.id == ask) => {
                output::note(&format!("no question `{}` is open", output::printable(&ask)));
                Ok(())
            }
            Word::Answer(ask, answer) => {
                self.progress.answered(&ask);
                self.handle.answer(ask, answer).await
            }
            Word::Line(line) => match self.progress.asks().first().cloned() {
                Some(ask) => {
                    self.progress.answered(&ask.id);
                    self.handle.answer(&ask.id, keyboard::answer(&ask, &line)).await
                }
                None => self.handle.steer(line).await,
            },
            Word::Steer(text) => self.handle.steer(text).await,
            Word::Interrupt => self.handle.interrupt().await,
            Word::Nonsense(line) => {
                output::note(&format!("not understood: {}", output::printable(&line)));
                Ok(())
            }
            Word::End => {
                self.left_alone().await;
                Ok(())
            }
        };
        match done {
            Err(error) if self.json => output::note(&error.to_string()),
            Err(error) => self.screen.remark(&error.to_string()),
            Ok(()) => {}
        }
    }

    /// The answer, at the result: the process may still linger.
    fn outcome(&mut self, completed: &Completed) -> anyhow::Result<()> {
        self.screen.close(&self.progress, self.begun.elapsed(), self.stopped_by.is_some());
        let paint = Paint::of_stderr();
        if let Some(error) = completed.error.as_deref().filter(|error| *error != "cancelled") {
            let (sentence, hint) = error.split_once("\nhint: ").map_or((error, None), |(one, two)| (one, Some(two)));
            output::note(&format!("{} {}", paint.red("error:"), output::printable(sentence)));
            if let Some(hint) = hint {
                output::note(&format!("{} {hint}", paint.cyan("hint:")));
            }
        }
        if self.json {
            return Ok(());
        }
        if !completed.answer.trim().is_empty() {
            output::text(&output::printable(&completed.answer))?;
        }
        if let Some(line) = self.progress.resume_line() {
            output::line(&format!("\n{}", line.trim_matches('`')))?;
        }
        std::io::stdout().flush()?;
        Ok(())
    }

    async fn finish(mut self) -> anyhow::Result<ExitCode> {
        let gone = self.run.gone();
        tokio::pin!(gone);
        loop {
            tokio::select! {
                () = &mut gone => break,
                // The answer is out, so this only hastens the end of the process.
                _ = self.interrupts.recv() => self.handle.cancel(),
                _ = self.ends.recv() => self.handle.cancel(),
            }
        }
        let ok = self.progress.completed().is_some_and(|completed| completed.ok);
        Ok(match (ok, self.stopped_by) {
            (true, _) => ExitCode::SUCCESS,
            (false, Some(code)) => ExitCode::from(code),
            (false, None) => ExitCode::FAILURE,
        })
    }
}
