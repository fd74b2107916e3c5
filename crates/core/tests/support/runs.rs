//! Random commands about runs.

use super::commands::{Dice, raw};
use super::domain::command::Command;
use super::domain::ids::*;
use super::domain::run::*;
use super::pool::Pool;
use super::world::new_file;

/// How many kinds of them there are.
pub const RUN_KINDS: u16 = 10;

impl Pool {
    /// The one of this number, counted from zero.
    pub fn run(&self, kind: u16, dice: &mut Dice) -> Command {
        let run = dice.pick(&self.runs);
        let (channel, thread) = (dice.pick(&self.channels), dice.pick(&self.messages));
        Command::Run(match kind {
            0 => RunCommand::Start(StartRun {
                delivery: dice.pick(&self.deliveries),
                engine: self.name(dice),
                text: Some(self.text(dice)),
                ..StartRun::default()
            }),
            1 => RunCommand::Action(ReportAction {
                run,
                action: self.name(dice),
                kind: "command".to_owned(),
                title: self.text(dice),
                phase: dice.pick(&[ActionPhase::Started, ActionPhase::Updated, ActionPhase::Completed]),
                ok: dice.pick(&[None, Some(true), Some(false)]),
                detail: raw(dice.pick(&["{}", "null", "[]", r#"{"a":1}"#])),
            }),
            2 => RunCommand::Progress { run, text: self.text(dice) },
            3 => RunCommand::Resume { run, resume: self.name(dice), resume_line: None, model: None },
            4 => RunCommand::Changes { run, changes: vec![self.change(dice)], branch: None },
            5 => RunCommand::Diff { run, file: new_file(dice.pick(&self.files), dice.pick(&self.workspaces), None) },
            6 => RunCommand::Complete(CompleteRun {
                run,
                end: dice.pick(&[RunEnd::Completed, RunEnd::Failed, RunEnd::Cancelled]),
                answer: Some(self.text(dice)),
                error: None,
                resume: Some(self.name(dice)),
                resume_line: None,
                usage: raw("{}"),
                cost_usd: Some(0.5),
                model: None,
            }),
            7 => RunCommand::Stop { run },
            8 => RunCommand::PutSession(PutSession {
                channel,
                thread,
                engine: Some(self.name(dice)),
                ..PutSession::default()
            }),
            _ => RunCommand::ForgetSession { channel, thread },
        })
    }

    fn change(&self, dice: &mut Dice) -> FileChange {
        FileChange { path: self.text(dice), kind: FileChangeKind::Modified, added: 1, removed: 2 }
    }
}

/// A run that has begun in a thread of its own.
pub fn new_run(id: RunId, workspace: WorkspaceId, channel: ChannelId, agent: MemberId) -> Run {
    let message = MessageId(id.0);
    Run {
        id,
        workspace,
        channel,
        thread: message,
        message,
        trigger: message,
        delivery: DeliveryId::NONE,
        agent,
        asker: None,
        engine: "script".to_owned(),
        model: None,
        project: None,
        branch: None,
        machine: None,
        state: RunState::Running,
        error: None,
        resume: None,
        resume_line: None,
        started_at: 0,
        ended_at: None,
        usage: None,
        cost_usd: None,
        action_count: 0,
        changes: Vec::new(),
        diff: None,
        stop_requested: false,
        answer: None,
        news: RunNews::Started,
    }
}

/// A run ends with an answer and nothing else.
pub fn complete(run: RunId, end: RunEnd, answer: &str) -> Command {
    Command::Run(RunCommand::Complete(CompleteRun {
        run,
        end,
        answer: Some(answer.to_owned()),
        error: None,
        resume: None,
        resume_line: None,
        usage: None,
        cost_usd: None,
        model: None,
    }))
}

pub fn run_number(command: &RunCommand) -> u16 {
    match command {
        RunCommand::Start(_) => 0,
        RunCommand::Action(_) => 1,
        RunCommand::Progress { .. } => 2,
        RunCommand::Resume { .. } => 3,
        RunCommand::Changes { .. } => 4,
        RunCommand::Diff { .. } => 5,
        RunCommand::Complete(_) => 6,
        RunCommand::Stop { .. } => 7,
        RunCommand::PutSession(_) => 8,
        RunCommand::ForgetSession { .. } => 9,
    }
}
