//! Runs: handed to the run queue, and what they do told to the hub.

use folkmoot_clients::lark::CallError;

use folkmoot_engines::engines;
use folkmoot_engines::event::{ActionEvent, Phase, ResumeToken};
use folkmoot_runs::progress::markdown;
use folkmoot_runs::run_queue::{News, Task, View};
use folkmoot_wire::lark::{
    ActionPhase, Carried, MAX_CONTENT_CHARS, RunActionReport, RunChanges, RunEnd, RunProgress, RunSession, WakeFail,
};
use serde_json::value::to_raw_value;
use serde_json::{Value, json};

use super::recent::Recent;
use super::{Begun, Daemon, Hosted, Live, RunPlace, Ticket};
use crate::journal::KeptRun;
use crate::wake::Wake;
use crate::{policy, prompt};

/// The longest detail of an action; the hub keeps no more.
const MAX_DETAIL_BYTES: usize = 16 << 10;
const MAX_TITLE_CHARS: usize = 500;

impl Hosted {
    /// A request for this agent.
    pub(super) fn carried<R>(&self, request: R) -> Carried<R> {
        Carried { agent_id: (&self.id).into(), request }
    }
}

impl Live {
    pub(super) fn new(agent: Hosted, wake: Wake, engine: String, model: Option<String>) -> Self {
        let folder = agent.spec.folder.clone();
        Self {
            wake,
            agent,
            engine,
            model,
            run: None,
            submitted: false,
            cancelled: false,
            folder,
            branch: None,
            shown: String::new(),
            behind: Vec::new(),
            steering: 0,
            ending: None,
            joined: Vec::new(),
            asks: Default::default(),
            recent: Default::default(),
        }
    }

    pub(super) fn run_id(&self) -> &str {
        self.run.as_ref().map_or("", |run| run.id.as_str())
    }
}

impl Daemon {
    pub(super) async fn started(&mut self, ticket: Ticket, begun: Result<Box<Begun>, CallError>) {
        let begun = match begun {
            Ok(begun) => *begun,
            Err(error) => return self.not_started(ticket, &error).await,
        };
        let Some(live) = self.live.get_mut(&ticket) else { return };
        let run = RunPlace {
            id: begun.run.id.to_string(),
            channel: said(&begun.run.channel_id).unwrap_or_else(|| live.wake.channel.clone()),
            thread: said(&begun.run.thread_id).or_else(|| live.wake.root().map(str::to_owned)),
        };
        live.run = Some(run);
        live.branch = begun.branch.clone();
        if begun.run.stop_requested {
            live.cancelled = true;
        }
        if live.cancelled {
            return self.over(ticket, RunEnd::Cancelled, None).await;
        }
        let folder = match begun.folder.clone() {
            Ok(folder) => folder,
            Err(why) => return self.over(ticket, RunEnd::Failed, Some(why)).await,
        };
        live.folder = folder;
        if live.branch.is_some() {
            let request = RunChanges { run_id: live.run_id().into(), changes: Vec::new(), branch: live.branch.clone() };
            self.link.send(&live.agent.carried(request));
        }
        self.submit(ticket, &begun).await;
    }

    async fn submit(&mut self, ticket: Ticket, begun: &Begun) {
        let Some(live) = self.live.get_mut(&ticket) else { return };
        let Some(engine) = engines::find(&live.engine) else {
            let why = format!("there is no engine `{}`", live.engine);
            return self.over(ticket, RunEnd::Failed, Some(why)).await;
        };
        let (spec, asks) = (&live.agent.spec, self.modes.asks(&engine.id(), begun.mode));
        if let Some(why) = policy::unheld(&live.engine, asks, spec.policy, &spec.deny)
            && self.modes.is_installed(&engine.id())
        {
            return self.over(ticket, RunEnd::Failed, Some(why.whole())).await;
        }
        let kept = begun.kept.as_ref().filter(|kept| kept.engine == live.engine).map(|kept| kept.resume.clone());
        let of_run = begun.run.resume.clone().filter(|resume| begun.resumed && !resume.is_empty()).or(kept);
        let session = &live.wake.session;
        let fits = session.engine.as_ref().is_none_or(|engine| *engine == live.engine);
        let resume = of_run.clone().or_else(|| session.resume.clone().filter(|_| fits));
        let words = prompt::of_run(&live.wake, &live.agent.spec.system_prompt, resume.is_none());
        let task = Task {
            engine,
            prompt: prompt::of_interrupted(&words, of_run.is_some()),
            resume: resume.map(|value| ResumeToken::new(live.engine.as_str(), value)),
            folder: live.folder.clone(),
            mode: begun.mode,
            model: live.model.clone(),
            reasoning: None,
        };
        live.submitted = true;
        self.run_queue.submit(ticket, task);
        // Words that came while the run was being prepared.
        for wake in std::mem::take(&mut live.behind) {
            self.taken.remove(&wake.delivery);
            let agent = self.live.get(&ticket).map(|live| live.agent.clone());
            if let Some(agent) = agent {
                self.want(agent, wake);
            }
        }
    }

    /// The hub did not begin the run. A lost connection brings the wake again; a refusal is final.
    async fn not_started(&mut self, ticket: Ticket, error: &CallError) {
        let Some(live) = self.live.remove(&ticket) else { return };
        self.taken.remove(&live.wake.delivery);
        if let CallError::Refused { code, text } = error {
            tracing::warn!(agent = live.agent.name, code, text, "the hub did not begin a run");
            if !error.is("conflict") && !error.is("not_found") {
                let request = WakeFail { delivery_id: (&live.wake.delivery).into(), why: text.clone() };
                self.enqueue(live.agent.carried(request), Some(&live.wake.delivery)).await;
            }
        }
        for wake in live.behind {
            self.taken.remove(&wake.delivery);
            if matches!(error, CallError::Refused { .. }) {
                self.want(live.agent.clone(), wake);
            }
        }
    }

    pub(super) async fn news(&mut self, ticket: Ticket, news: News) {
        match news {
            News::Began => {}
            News::Thread(token) => self.thread(ticket, &token).await,
            News::Action(action) => self.action(ticket, &action),
            News::View(view) => self.view(ticket, &view),
            News::Asked(ask) => self.asked(ticket, ask).await,
            News::Withdrawn(ask) => self.withdrawn(ticket, &ask),
            News::Finished(view) => self.finished(ticket, view),
            News::Dropped => self.over(ticket, RunEnd::Cancelled, None).await,
        }
    }

    /// The thread has a name: from now on it can be continued, also after a crash of ours.
    async fn thread(&mut self, ticket: Ticket, token: &ResumeToken) {
        let Some(live) = self.live.get(&ticket) else { return };
        let line = engines::find(token.engine.as_str()).and_then(|engine| engine.codec().command(token).ok());
        let request = RunSession {
            run_id: live.run_id().into(),
            resume: token.value.clone(),
            resume_line: line,
            model: live.model.clone(),
        };
        self.link.send(&live.agent.carried(request));
        let kept =
            KeptRun { run: live.run_id().to_owned(), engine: token.engine.to_string(), resume: token.value.clone() };
        let (journal, delivery) = (self.journal.clone(), live.wake.delivery.clone());
        tokio::spawn(async move {
            if let Err(error) = journal.keep_run(delivery, kept).await {
                tracing::error!(%error, "the thread of a run cannot be written down");
            }
        });
    }

    fn action(&mut self, ticket: Ticket, event: &ActionEvent) {
        let Some(live) = self.live.get_mut(&ticket) else { return };
        let phase = match event.phase {
            Phase::Started => ActionPhase::Started,
            Phase::Updated => ActionPhase::Updated,
            Phase::Completed => ActionPhase::Completed,
        };
        let mut detail = event.action.detail.clone();
        if let Some(message) = &event.message {
            detail.entry("message").or_insert_with(|| Value::from(message.as_str()));
        }
        let request = live.agent.carried(RunActionReport {
            run_id: live.run_id().into(),
            id: event.action.id.clone(),
            kind: event.action.kind.as_str().to_owned(),
            title: event.action.title.chars().take(MAX_TITLE_CHARS).collect(),
            phase,
            ok: event.ok,
            detail: to_raw_value(&fitting(Value::Object(detail))).ok(),
        });
        self.link.send(&request);
        live.recent.keep(&event.action.id, request);
    }

    /// After a reconnect: what may have been on its way when the hub died. The hub knows an action by its id, so that twice is
    /// once.
    pub(super) fn act_again(&self) {
        let running = self.live.values().map(|live| &live.recent);
        let actions = running.chain(self.sent_before.values()).flat_map(Recent::actions);
        actions.for_each(|request| {
            self.link.send(request);
        });
    }

    /// The progress message, if it would say something else; not while the hub is away, because it would be old news.
    fn view(&mut self, ticket: Ticket, view: &View) {
        let ready = self.link.is_ready();
        let Some(live) = self.live.get_mut(&ticket).filter(|_| ready) else { return };
        let message = markdown::Message { footer: None, ..markdown::message(&view.progress, view.elapsed) };
        let text: String = message.to_markdown().chars().take(MAX_CONTENT_CHARS).collect();
        if text != live.shown {
            live.shown.clone_from(&text);
            self.link.send(&live.agent.carried(RunProgress { run_id: live.run_id().into(), text }));
        }
    }
}

/// An id that is there.
fn said(id: &str) -> Option<String> {
    Some(id.to_owned()).filter(|id| !id.is_empty())
}

/// Long texts in a detail are cut until it fits.
fn fitting(detail: Value) -> Value {
    let mut most = 4000;
    let mut cut = detail;
    while cut.to_string().len() > MAX_DETAIL_BYTES {
        if most < 20 {
            return json!({"cut": true});
        }
        cut = shortened(cut, most);
        most /= 2;
    }
    cut
}

fn shortened(value: Value, most: usize) -> Value {
    match value {
        Value::String(text) if text.chars().count() > most => {
            Value::String(text.chars().take(most).chain(['…']).collect())
        }
        Value::Array(items) => items.into_iter().take(most).map(|item| shortened(item, most)).collect(),
        Value::Object(fields) => {
            fields.into_iter().take(most).map(|(name, value)| (name, shortened(value, most))).collect()
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_detail_is_cut_until_it_fits_and_keeps_its_shape() {
        let long = json!({"output": "x".repeat(100_000), "code": 1, "lines": vec!["y".repeat(50); 2000]});
        let cut = fitting(long);
        assert!(cut.to_string().len() <= MAX_DETAIL_BYTES);
        assert_eq!(cut["code"], 1);
        assert!(cut["output"].as_str().unwrap().ends_with('…'));
        let small = json!({"command": "ls"});
        assert_eq!(fitting(small.clone()), small);
    }
}
