//! Wakes: taken up once, as a command, a new run, more words for a run that goes on, or behind it.

use folkmoot_engines::{engines, words};
use serde_json::{Value, json};

use super::{Begun, Daemon, Event, Hosted, Live, Taken, Ticket};
use crate::command::{self, Command};
use crate::link::{CallError, Link};
use crate::prompt;
use crate::wake::Wake;
use crate::wire::{Frame, text};

impl Daemon {
    pub(super) async fn woken(&mut self, data: &Value) {
        let Some(wake) = Wake::read(data) else {
            tracing::debug!("a wake without a delivery");
            return;
        };
        let Some(agent) = self.agents.get(&wake.agent.to_lowercase()).cloned() else {
            if self.registering {
                // The hub knows the agent a moment before we know that it does.
                self.early.push(Frame { kind: "agent.wake".to_owned(), reply_to: None, data: data.clone() });
                return;
            }
            let is_ours = self.identity.as_ref().is_some_and(|own| wake.agent_id.as_ref() == Some(&own.member_id));
            if is_ours {
                let why = "the daemon only carries agents; write to one of them";
                self.link.send("wake.pass", &json!({"delivery_id": wake.delivery, "why": why}));
            }
            return;
        };
        if self.finished.contains(&wake.delivery) {
            return self.repeat(&wake.delivery.clone()).await;
        }
        match self.taken.get(&wake.delivery).copied() {
            Some(Taken::Behind(ticket)) => return self.renew(ticket, wake),
            Some(Taken::Run(ticket)) => return self.more_of(ticket, wake),
            None => {}
        }
        match command::parse(&prompt::words(&wake)) {
            Some(command) => self.command(&agent, wake, command).await,
            None => self.want(agent, wake),
        }
    }

    /// A run of its own, unless one goes on in this thread.
    pub(super) fn want(&mut self, agent: Hosted, wake: Wake) {
        match self.run_in(&agent.id, &wake) {
            None => self.begin(agent, wake),
            Some(ticket) => self.add_to(ticket, wake),
        }
    }

    /// The run of this agent that goes on in the wake's thread.
    pub(super) fn run_in(&self, agent: &str, wake: &Wake) -> Option<Ticket> {
        let root = wake.root()?;
        let same = |live: &Live| {
            let place = live.run.as_ref().and_then(|run| run.thread.as_deref());
            live.agent.id == agent && (place == Some(root) || live.wake.root() == Some(root))
        };
        self.live.iter().find(|(_, live)| same(live)).map(|(ticket, _)| *ticket)
    }

    /// Steers the words into the run where the engine can, else they wait for its end.
    fn add_to(&mut self, ticket: Ticket, wake: Wake) {
        self.taken.insert(wake.delivery.clone(), Taken::Behind(ticket));
        let Some(live) = self.live.get_mut(&ticket) else { return };
        live.behind.push(wake.clone());
        if !live.submitted || live.run.is_none() {
            return;
        }
        live.steering += 1;
        let (desk, events, words) = (self.desk.clone(), self.events.clone(), prompt::words(&wake));
        tokio::spawn(async move {
            let taken = desk.steer(ticket, words).await.is_ok();
            let _ = events.send(Event::Steered(ticket, Box::new(wake), taken));
        });
    }

    pub(super) async fn steered(&mut self, ticket: Ticket, wake: Wake, taken: bool) {
        let Some(live) = self.live.get_mut(&ticket) else { return };
        live.steering -= 1;
        let ending = live.ending.take_if(|_| live.steering == 0);
        if let Some(run) = live.run.clone().filter(|_| taken) {
            live.behind.retain(|behind| behind.delivery != wake.delivery);
            live.joined.push(wake.delivery.clone());
            self.taken.insert(wake.delivery.clone(), Taken::Run(ticket));
            let join = json!({"agent_id": live.agent.id, "delivery_id": wake.delivery, "run_id": run.id});
            self.owe("wake.join", join, None).await;
        }
        if let Some(ending) = ending {
            self.ended(ticket, *ending).await;
        }
    }

    /// The hub sent a wake again that waits here; it may hold more now.
    fn renew(&mut self, ticket: Ticket, wake: Wake) {
        let Some(live) = self.live.get_mut(&ticket) else { return };
        if let Some(behind) = live.behind.iter_mut().find(|behind| behind.delivery == wake.delivery) {
            *behind = wake;
        }
    }

    /// The hub sent the wake of a run again; what is new in it goes to the run.
    fn more_of(&mut self, ticket: Ticket, wake: Wake) {
        let Some(live) = self.live.get_mut(&ticket) else { return };
        if live.wake.delivery != wake.delivery {
            return;
        }
        let known = std::mem::replace(&mut live.wake.message_ids, wake.message_ids.clone());
        let mut fresh = wake;
        fresh.messages.retain(|said| !known.contains(&said.id));
        if fresh.messages.is_empty() {
            return;
        }
        let (desk, words) = (self.desk.clone(), prompt::words(&fresh));
        tokio::spawn(async move {
            if desk.steer(ticket, words).await.is_err() {
                tracing::warn!("words that came late could not be given to the run");
            }
        });
    }

    /// Asks the hub for a run; the outcome comes as an event.
    pub(super) fn begin(&mut self, agent: Hosted, wake: Wake) {
        let ticket = Ticket(self.next);
        self.next += 1;
        let named = wake.session.engine.clone().filter(|name| engines::find(name).is_some());
        let engine = named.unwrap_or_else(|| agent.spec.engine.clone());
        let same = engine == agent.spec.engine;
        let model = wake.session.model.clone().or_else(|| agent.spec.model.clone().filter(|_| same));
        self.taken.insert(wake.delivery.clone(), Taken::Run(ticket));
        let start = json!({
            "agent_id": agent.id,
            "delivery_id": wake.delivery,
            "engine": engine,
            "model": model,
            "project": agent.spec.project,
            "machine": self.settings.machine,
            "text": format!("starting · {engine}"),
        });
        let (journal, link, modes) = (self.journal.clone(), self.link.clone(), self.modes.clone());
        let (events, spec, delivery, engine_id) =
            (self.events.clone(), agent.spec.clone(), wake.delivery.clone(), engine.clone().into());
        let name = agent.name.clone();
        tokio::spawn(async move {
            let begun = async {
                let said = link.call("run.start", &start).await?;
                let run = said["run"].clone();
                let resumed = said["resumed"].as_bool().unwrap_or(false);
                let kept = if resumed { journal.run_of(delivery).await.ok().flatten() } else { None };
                let thread = text(&run, "thread_id").or_else(|| text(&run, "trigger_id")).unwrap_or_default();
                let (folder, branch) = super::threads::place(&spec, &name, thread).await;
                Ok::<_, CallError>(Box::new(Begun {
                    mode: modes.of(&engine_id).await,
                    run,
                    resumed,
                    kept,
                    folder,
                    branch,
                }))
            };
            let begun = begun.await;
            let _ = events.send(Event::Started(ticket, begun));
        });
        self.live.insert(ticket, Live::new(agent, wake, engine, model));
    }

    /// `run.stop`: somebody wants a run to end.
    pub(super) fn stop_run(&mut self, data: &Value) {
        let Some(run) = text(data, "run_id") else { return };
        let found = self.live.iter().find(|(_, live)| live.run.as_ref().is_some_and(|place| place.id == run));
        if let Some(ticket) = found.map(|(ticket, _)| *ticket) {
            self.cancel(ticket);
        }
    }

    pub(super) fn cancel(&mut self, ticket: Ticket) {
        if let Some(live) = self.live.get_mut(&ticket) {
            live.cancelled = true;
            if live.submitted {
                self.desk.cancel(ticket);
            }
        }
    }

    async fn command(&mut self, agent: &Hosted, wake: Wake, command: Command) {
        let running = self.run_in(&agent.id, &wake);
        let root = wake.root().map(str::to_owned);
        let place = json!({"agent_id": agent.id, "channel_id": wake.channel, "thread_id": root});
        let with = |key: &str, value: &str| {
            let mut place = place.clone();
            place[key] = Value::from(value);
            place
        };
        let said = match command {
            Command::Cancel => self.cancel_all(running),
            Command::New => {
                tell(&self.link, "session.forget", &place);
                "The next message here begins a new session.".to_owned()
            }
            Command::Model(None) => format!("The model here is {}.", self.model_of(agent, &wake)),
            Command::Engine(None) => format!("The engine here is {}.", self.engine_here(agent, &wake)),
            Command::Model(Some(model)) => match words::model(&model) {
                Ok(()) => {
                    tell(&self.link, "session.put", &with("model", &model));
                    format!("From now on `{model}` is asked here.")
                }
                Err(error) => error.whole(),
            },
            Command::Engine(Some(engine)) if engines::find(&engine).is_some() => {
                tell(&self.link, "session.forget", &place);
                tell(&self.link, "session.put", &with("engine", &engine));
                format!("From now on `{engine}` works here, in a new session.")
            }
            Command::Engine(Some(engine)) => {
                let known: Vec<String> = engines::ALL.iter().map(|engine| engine.id().to_string()).collect();
                format!("There is no engine `{engine}`; there are {}.", known.join(", "))
            }
            Command::Status => self.status_here(agent, &wake, running),
        };
        let Some(parent) = root else { return };
        let reply = json!({"agent_id": agent.id, "channel_id": wake.channel, "parent_id": parent,
            "content": said, "content_type": "markdown", "delivery_id": wake.delivery});
        self.owe("thread.reply", reply, Some(&wake.delivery)).await;
    }

    fn cancel_all(&mut self, running: Option<Ticket>) -> String {
        match running {
            Some(ticket) => {
                self.cancel(ticket);
                "Cancelled.".to_owned()
            }
            None => "Nothing runs here.".to_owned(),
        }
    }

    fn engine_here(&self, agent: &Hosted, wake: &Wake) -> String {
        format!("`{}`", wake.session.engine.as_ref().unwrap_or(&agent.spec.engine))
    }

    fn model_of(&self, agent: &Hosted, wake: &Wake) -> String {
        let named = wake.session.model.as_ref().or(agent.spec.model.as_ref());
        named.map_or_else(|| "the engine's own choice".to_owned(), |model| format!("`{model}`"))
    }

    fn status_here(&self, agent: &Hosted, wake: &Wake, running: Option<Ticket>) -> String {
        let state = match running.and_then(|ticket| self.live.get(&ticket)) {
            Some(live) if live.submitted => format!("works, {} waiting behind", live.behind.len()),
            Some(_) => "starts".to_owned(),
            None => "idle".to_owned(),
        };
        let folder = agent.spec.project.clone().unwrap_or_else(|| agent.spec.folder.display().to_string());
        let session = if wake.session.resume.is_some() { "goes on" } else { "new" };
        format!(
            "{state} · engine {} · model {} · session {session} · project `{folder}` · machine `{}`",
            self.engine_here(agent, wake),
            self.model_of(agent, wake),
            self.settings.machine
        )
    }
}

/// For changes of a session: if the hub is away just now, its answer to the command is too.
fn tell(link: &Link, kind: &str, data: &Value) {
    link.send(kind, data);
}
