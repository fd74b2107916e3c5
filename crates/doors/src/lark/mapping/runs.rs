//! Runs on the wire: what an agent at work reports, and how everybody else sees it.

use folkmoot_core::Refusal;
use folkmoot_core::command::Command;
use folkmoot_core::ids::*;
use folkmoot_core::model::Message;
use folkmoot_core::run::*;
use folkmoot_wire::Id;
use serde_json::{Value, json};

use super::super::objects::{ActionObject, MessageObject, RunObject, SessionObject};
use super::super::wire;
use super::requests::{Data, Request};
use super::{Shape, frame};
use crate::door::View;

// What is asked.

pub fn start(data: Data<'_>) -> Result<Request, Refusal> {
    let start: wire::RunStart = data.read()?;
    data.command(Command::Run(RunCommand::Start(StartRun {
        delivery: DeliveryId::parse(&start.delivery_id),
        engine: start.engine,
        model: start.model,
        project: start.project,
        branch: start.branch,
        machine: start.machine,
        text: start.text,
    })))
}

pub fn action(data: Data<'_>) -> Result<Request, Refusal> {
    let report: wire::RunActionReport = data.read()?;
    data.command(Command::Run(RunCommand::Action(ReportAction {
        run: RunId::parse(&report.run_id),
        action: report.id,
        kind: report.kind,
        title: report.title,
        phase: phase(report.phase),
        ok: report.ok,
        detail: report.detail,
    })))
}

fn phase(phase: wire::ActionPhase) -> ActionPhase {
    match phase {
        wire::ActionPhase::Started => ActionPhase::Started,
        wire::ActionPhase::Updated => ActionPhase::Updated,
        wire::ActionPhase::Completed => ActionPhase::Completed,
    }
}

pub fn progress(data: Data<'_>) -> Result<Request, Refusal> {
    let progress: wire::RunProgress = data.read()?;
    data.command(Command::Run(RunCommand::Progress { run: RunId::parse(&progress.run_id), text: progress.text }))
}

pub fn resume(data: Data<'_>) -> Result<Request, Refusal> {
    let wire::RunSession { run_id, resume, resume_line, model } = data.read()?;
    data.command(Command::Run(RunCommand::Resume { run: RunId::parse(&run_id), resume, resume_line, model }))
}

pub fn changes(data: Data<'_>) -> Result<Request, Refusal> {
    let wire::RunChanges { run_id, changes, branch } = data.read()?;
    let changes = changes.into_iter().map(file_change).collect();
    data.command(Command::Run(RunCommand::Changes { run: RunId::parse(&run_id), changes, branch }))
}

fn file_change(change: wire::FileChange) -> FileChange {
    let kind = match change.kind {
        wire::FileChangeKind::Added => FileChangeKind::Added,
        wire::FileChangeKind::Modified => FileChangeKind::Modified,
        wire::FileChangeKind::Deleted => FileChangeKind::Deleted,
        wire::FileChangeKind::Renamed => FileChangeKind::Renamed,
    };
    FileChange { path: change.path, kind, added: change.added, removed: change.removed }
}

pub fn complete(data: Data<'_>) -> Result<Request, Refusal> {
    let complete: wire::RunComplete = data.read()?;
    data.command(Command::Run(RunCommand::Complete(CompleteRun {
        run: RunId::parse(&complete.run_id),
        end: match complete.state {
            wire::RunEnd::Completed => RunEnd::Completed,
            wire::RunEnd::Failed => RunEnd::Failed,
            wire::RunEnd::Cancelled => RunEnd::Cancelled,
        },
        answer: complete.answer,
        error: complete.error,
        resume: complete.resume,
        resume_line: complete.resume_line,
        usage: complete.usage,
        cost_usd: complete.cost_usd,
        model: complete.model,
    })))
}

pub fn stop(data: Data<'_>) -> Result<Request, Refusal> {
    let stop: wire::RunStop = data.read()?;
    data.command(Command::Run(RunCommand::Stop { run: RunId::parse(&stop.run_id) }))
}

pub fn put_session(data: Data<'_>) -> Result<Request, Refusal> {
    let put: wire::SessionPut = data.read()?;
    data.command(Command::Run(RunCommand::PutSession(PutSession {
        channel: ChannelId::parse(&put.channel_id),
        thread: MessageId::parse(&put.thread_id),
        engine: put.engine,
        model: put.model,
        resume: put.resume,
    })))
}

pub fn forget_session(data: Data<'_>) -> Result<Request, Refusal> {
    let forget: wire::SessionForget = data.read()?;
    data.command(Command::Run(RunCommand::ForgetSession {
        channel: ChannelId::parse(&forget.channel_id),
        thread: MessageId::parse(&forget.thread_id),
    }))
}

// What is told.

pub fn changed(run: &Run, view: View<'_>) -> String {
    let kind = match run.news {
        RunNews::Started => "run.started",
        RunNews::Updated => "run.updated",
        RunNews::Ended => "run.completed",
    };
    frame(kind, wire::RunCompleted { run: RunObject::new(run, view.state) }, view)
}

pub fn acted(action: &RunAction, view: View<'_>) -> String {
    let data = wire::RunActed {
        run_id: Id::of(action.run),
        channel_id: Id::of(action.channel),
        thread_id: Id::of(action.thread),
        action: ActionObject::from(action),
    };
    frame("run.action", data, view)
}

/// What a wake hands out of the thread it is about.
pub fn session_context(session: &ThreadSession) -> wire::WakeSession<'_> {
    let word = |word: &'_ Option<String>| word.as_deref().map(|word| word.to_owned().into());
    wire::WakeSession { engine: word(&session.engine), model: word(&session.model), resume: word(&session.resume) }
}

/// An edit that has no position: it is not told again to those who were away, only what came of it is.
pub fn progressed(message: &Message, shape: Shape, view: View<'_>) -> String {
    let object = MessageObject::new(message, view.state);
    let data = match shape {
        Shape::Double => {
            let message_id = Id::of(message.id);
            serde_json::to_value(wire::DoubleMessage { message_id, fields: object.clone(), message: object })
        }
        Shape::Plain => serde_json::to_value(wire::PlainMessage { fields: object, message_seq: Some(message.seq) }),
    };
    let mut data = data.unwrap_or_default();
    if let Some(fields) = data.as_object_mut() {
        fields.remove("seq");
        fields.insert("progress".to_owned(), json!(true));
    }
    frame("message.edit", data, view)
}

/// The answer to the one who asked; none where the event says it all.
pub fn answer(request: &'static str, run: &Run, known: bool, view: View<'_>) -> Option<(&'static str, Value)> {
    let object = RunObject::new(run, view.state);
    Some(match request {
        "run.start" => ("run.started", json!(wire::RunStarted { run: object, resumed: known })),
        "run.complete" => ("run.completed", json!(wire::RunCompleted { run: object })),
        "run.stop" => ("run.stop", json!(wire::RunCompleted { run: object })),
        "run.session" | "run.changes" => (request, json!(wire::RunRef { run_id: Id::of(run.id) })),
        _ => return None,
    })
}

pub fn session(request: &'static str, session: &ThreadSession) -> (&'static str, Value) {
    match request {
        "session.forget" => {
            let thread = wire::ThreadRef { channel_id: Id::of(session.channel), thread_id: Id::of(session.thread) };
            ("session.forget", json!(thread))
        }
        _ => ("session.put", json!(wire::SessionAnswer { session: SessionObject::from(session) })),
    }
}
