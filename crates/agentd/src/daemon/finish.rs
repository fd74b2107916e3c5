//! The end of a run: its changes, its answer in as many messages as it takes, and whoever waited behind it.

use folkmoot_engines::engines;
use folkmoot_runs::progress::{Label, markdown};
use folkmoot_runs::run_queue::View;
use folkmoot_runs::worktree::{self, Changes};
use folkmoot_wire::lark::{
    ContentType, FileChange, FileChangeKind, MAX_CONTENT_CHARS, RunChanges, RunComplete, RunEnd, RunProgress, RunRef,
    ThreadReply,
};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::{Daemon, DaemonEvent, Hosted, Ticket};

/// How a run ended.
pub(crate) struct Ending {
    state: RunEnd,
    answer: String,
    error: Option<String>,
    resume: Option<(String, Option<String>)>,
    usage: Option<Box<RawValue>>,
    cost: Option<f64>,
    changes: Option<Changes>,
}

impl Ending {
    fn new(state: RunEnd, error: Option<String>) -> Self {
        Self { state, answer: String::new(), error, resume: None, usage: None, cost: None, changes: None }
    }

    fn of(view: &View) -> Self {
        let progress = &view.progress;
        let state = match progress.label() {
            Label::Done => RunEnd::Completed,
            Label::Cancelled | Label::Stopped => RunEnd::Cancelled,
            _ => RunEnd::Failed,
        };
        let Some(completed) = progress.completed() else { return Self::new(state, None) };
        let token = completed.resume.as_ref().or(progress.resume());
        let line = |token| engines::find(completed.engine.as_str())?.codec().command(token).ok();
        let usage = &completed.usage;
        Self {
            answer: with_its_end(completed.answer.trim_end(), state, completed.error.as_deref()),
            error: completed.error.clone().filter(|_| state == RunEnd::Failed),
            resume: token.map(|token| (token.value.clone(), line(token))),
            cost: usage.get("total_cost_usd").and_then(Value::as_f64),
            usage: (!usage.is_empty()).then(|| to_raw_value(usage).ok()).flatten(),
            ..Self::new(state, None)
        }
    }
}

impl Daemon {
    /// The last word of the run queue. A run that ends because we do is not over: it goes on when we are back.
    pub(super) fn finished(&mut self, ticket: Ticket, view: View) {
        let Some(live) = self.live.get_mut(&ticket) else { return };
        live.asks.clear();
        if self.stopping && !live.cancelled && view.progress.label() == Label::Stopped {
            let text = "stopped · goes on when its machine is back".to_owned();
            self.link.send(&live.agent.carried(RunProgress { run_id: live.run_id().into(), text }));
            self.live.remove(&ticket);
            return;
        }
        let mut ending = Ending::of(&view);
        let (events, folder, has_tree) = (self.events.clone(), live.folder.clone(), live.branch.is_some());
        tokio::spawn(async move {
            if has_tree {
                ending.changes = worktree::changes(&folder).await.ok();
            }
            let _ = events.send(DaemonEvent::Changed(ticket, Box::new(ending)));
        });
    }

    /// A run that never began its engine.
    pub(super) async fn over(&mut self, ticket: Ticket, state: RunEnd, error: Option<String>) {
        self.ended(ticket, Ending::new(state, error)).await;
    }

    pub(super) async fn ended(&mut self, ticket: Ticket, ending: Ending) {
        if let Some(live) = self.live.get_mut(&ticket).filter(|live| live.steering > 0) {
            live.ending = Some(Box::new(ending));
            return;
        }
        let Some(mut live) = self.live.remove(&ticket) else { return };
        let Some(run) = live.run.clone() else { return };
        if let Some(changes) = &ending.changes {
            self.report_changes(&live.agent, &run.id, live.branch.as_deref(), changes).await;
        }
        let line = ending.resume.as_ref().and_then(|(_, line)| line.clone());
        let mut pages = pages(&ending.answer, line.as_deref());
        let rest = pages.split_off(1.min(pages.len()));
        let complete = live.agent.carried(RunComplete {
            run_id: (&run.id).into(),
            state: ending.state,
            answer: pages.pop().filter(|page| !page.is_empty()),
            error: ending.error.clone(),
            resume: ending.resume.as_ref().map(|(value, _)| value.clone()),
            resume_line: line,
            usage: ending.usage.clone(),
            cost_usd: ending.cost,
            model: live.model.clone(),
        });
        for delivery in live.joined.drain(..) {
            self.taken.remove(&delivery);
            self.finished.insert(delivery);
        }
        let delivery = live.wake.delivery.clone();
        let outgoing = self.enqueue(complete, Some(&delivery)).await;
        // When the hub has the end, it has all that was sent before it.
        self.sent_before.insert(outgoing, std::mem::take(&mut live.recent));
        for page in rest {
            let reply = ThreadReply {
                channel_id: (&run.channel).into(),
                parent_id: run.thread.as_deref().unwrap_or_default().into(),
                content: page,
                content_type: Some(ContentType::Markdown),
                more: Some(true),
                metadata: to_raw_value(&RunRef { run_id: (&run.id).into() }).ok(),
                ..ThreadReply::default()
            };
            self.enqueue(live.agent.carried(reply), None).await;
        }
        self.taken.remove(&delivery);
        let waiting = std::mem::take(&mut live.behind);
        for wake in waiting {
            self.taken.remove(&wake.delivery);
            self.want(live.agent.clone(), with_session(wake, &live.engine, &ending));
        }
    }

    async fn report_changes(&mut self, agent: &Hosted, run: &str, branch: Option<&str>, changes: &Changes) {
        let files = changes.files.iter().map(file_change).collect();
        let request = RunChanges { run_id: run.into(), changes: files, branch: branch.map(str::to_owned) };
        self.enqueue(agent.carried(request), None).await;
        if changes.diff.is_empty() {
            return;
        }
        self.enqueue_diff(run, &changes.diff).await;
    }
}

fn file_change(file: &worktree::ChangedFile) -> FileChange {
    let kind = match file.kind {
        "added" => FileChangeKind::Added,
        "deleted" => FileChangeKind::Deleted,
        "renamed" => FileChangeKind::Renamed,
        _ => FileChangeKind::Modified,
    };
    FileChange { path: file.path.clone(), kind, added: file.added, removed: file.removed }
}

/// Whoever waited in the same thread goes on with the session of the run before it.
fn with_session(mut wake: crate::wake::Wake, engine: &str, ending: &Ending) -> crate::wake::Wake {
    if let Some((value, _)) = &ending.resume {
        wake.session.engine = Some(engine.to_owned());
        wake.session.resume = Some(value.clone());
    }
    wake
}

/// An answer, and how it ended where that is not the end of the work: half of one must not look like a whole one.
fn with_its_end(answer: &str, state: RunEnd, error: Option<&str>) -> String {
    let error = error.unwrap_or_default();
    match state {
        _ if answer.is_empty() => String::new(),
        RunEnd::Completed => answer.to_owned(),
        RunEnd::Cancelled => format!("{}\n\ncancelled", markdown::closed(answer)),
        RunEnd::Failed if answer.contains(error) => answer.to_owned(),
        RunEnd::Failed => format!("{}\n\nfailed: {error}", markdown::closed(answer)),
    }
}

/// An answer in pages that fit a message; the resume line stands at the end of the last one.
fn pages(answer: &str, resume_line: Option<&str>) -> Vec<String> {
    let footer = resume_line.map(|line| format!("`{line}`")).unwrap_or_default();
    let mut pages = Vec::new();
    let mut rest: Vec<char> = answer.chars().collect();
    while rest.len() > MAX_CONTENT_CHARS {
        let window = &rest[..MAX_CONTENT_CHARS];
        // At a line end if there is one in the second half.
        let line_end = window.iter().rposition(|c| *c == '\n').filter(|at| *at > MAX_CONTENT_CHARS / 2);
        let at = line_end.map_or(MAX_CONTENT_CHARS, |at| at + 1);
        let tail = rest.split_off(at);
        pages.push(rest.into_iter().collect::<String>().trim_end().to_owned());
        rest = tail;
    }
    let last: String = rest.into_iter().collect();
    let joined =
        [last.trim_end(), &footer].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n");
    match joined.chars().count() <= MAX_CONTENT_CHARS {
        true => pages.push(joined),
        false => pages.extend([last.trim_end().to_owned(), footer]),
    }
    pages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_an_answer_says_that_it_is_one() {
        let (cancelled, failed) = (RunEnd::Cancelled, RunEnd::Failed);
        assert_eq!(with_its_end("```\nhalf", cancelled, Some("cancelled")), "```\nhalf\n```\n\ncancelled");
        assert_eq!(with_its_end("half", failed, Some("it broke")), "half\n\nfailed: it broke");
        assert_eq!(with_its_end("", failed, Some("it broke")), "", "then the hub says what happened");
        assert_eq!(with_its_end("whole", RunEnd::Completed, None), "whole");
    }

    #[test]
    fn a_short_answer_is_one_page_with_the_resume_line() {
        assert_eq!(pages("Done.", Some("codex resume t1")), ["Done.\n\n`codex resume t1`"]);
        assert_eq!(pages("Done.", None), ["Done."]);
        assert_eq!(pages("", Some("codex resume t1")), ["`codex resume t1`"]);
    }

    #[test]
    fn a_long_answer_loses_nothing_and_every_page_fits() {
        for text in [format!("{}\n", "x".repeat(99)).repeat(350), "ü".repeat(25_001), "y".repeat(MAX_CONTENT_CHARS)] {
            let pages = pages(&text, Some("codex resume t1"));
            assert!(pages.len() > 1 && pages.iter().all(|page| page.chars().count() <= MAX_CONTENT_CHARS));
            let plain = |text: &str| text.replace(['\n', '`'], "");
            assert_eq!(plain(&pages.concat()), plain(&format!("{text}codex resume t1")));
        }
    }
}
