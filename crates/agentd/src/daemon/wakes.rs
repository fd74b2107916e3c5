//! Wakes: taken up once, as a command, a new run, more words for a run that goes on, or behind it.

use folkmoot_clients::lark::CallError;
use folkmoot_engines::{engines, words};
use folkmoot_wire::lark::{
    AgentWake, ContentType, RunStart, RunStarted, SessionForget, SessionPut, StopAsked, ThreadReply, WakeJoin,
    WakePass, WokenBy,
};

use super::{Begun, Daemon, DaemonEvent, Hosted, Live, Taken, Ticket};
use crate::command::{self, Command};
use crate::prompt;
use crate::wake::Wake;

impl Daemon {
    pub(super) async fn woken(&mut self, told: AgentWake<'static, WokenBy>) {
        let Some(wake) = Wake::read(told.clone()) else {
            tracing::debug!("a wake without a delivery");
            return;
        };
        let Some(agent) = self.agents.get(&wake.agent.to_lowercase()).cloned() else {
            if self.registering {
                // The hub knows the agent a moment before we know that it does.
                self.early.push(told);
                return;
            }
            let is_ours = self.identity.as_ref().is_some_and(|own| wake.agent_id.as_deref() == Some(&*own.member_id));
            if is_ours {
                let why = "the daemon only carries agents; write to one of them".to_owned();
                self.link.send(&WakePass { delivery_id: wake.delivery.into(), why: Some(why) });
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
        let (run_queue, events, words) = (self.run_queue.clone(), self.events.clone(), prompt::words(&wake));
        tokio::spawn(async move {
            let taken = run_queue.steer(ticket, words).await.is_ok();
            let _ = events.send(DaemonEvent::Steered(ticket, Box::new(wake), taken));
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
            let join = WakeJoin { delivery_id: (&wake.delivery).into(), run_id: run.id.into() };
            let join = live.agent.carried(join);
            self.enqueue(join, None).await;
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
        let (run_queue, words) = (self.run_queue.clone(), prompt::words(&fresh));
        tokio::spawn(async move {
            if run_queue.steer(ticket, words).await.is_err() {
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
        let start = agent.carried(RunStart {
            delivery_id: (&wake.delivery).into(),
            engine: engine.clone(),
            model: model.clone(),
            project: agent.spec.project.clone(),
            branch: None,
            machine: Some(self.settings.machine.clone()),
            text: Some(format!("starting · {engine}")),
        });
        let (journal, link, modes) = (self.journal.clone(), self.link.clone(), self.modes.clone());
        let (events, spec, delivery, engine_id) =
            (self.events.clone(), agent.spec.clone(), wake.delivery.clone(), engine.clone().into());
        let name = agent.name.clone();
        tokio::spawn(async move {
            let begun = async {
                let RunStarted { run, resumed } = link.call(&start).await?;
                let kept = if resumed { journal.run_of(delivery).await.ok().flatten() } else { None };
                let thread = if run.thread_id.is_empty() { &run.trigger_id } else { &run.thread_id };
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
            let _ = events.send(DaemonEvent::Started(ticket, begun));
        });
        self.live.insert(ticket, Live::new(agent, wake, engine, model));
    }

    /// `run.stop`: somebody wants a run to end.
    pub(super) fn stop_run(&mut self, stop: &StopAsked) {
        let is_it = |live: &Live| live.run.as_ref().is_some_and(|place| stop.run_id == *place.id);
        let found = self.live.iter().find(|(_, live)| is_it(live));
        if let Some(ticket) = found.map(|(ticket, _)| *ticket) {
            self.cancel(ticket);
        }
    }

    pub(super) fn cancel(&mut self, ticket: Ticket) {
        if let Some(live) = self.live.get_mut(&ticket) {
            live.cancelled = true;
            if live.submitted {
                self.run_queue.cancel(ticket);
            }
        }
    }

    async fn command(&mut self, agent: &Hosted, wake: Wake, command: Command) {
        let running = self.run_in(&agent.id, &wake);
        let root = wake.root().map(str::to_owned);
        let (channel_id, thread_id) = ((&wake.channel).into(), root.as_deref().unwrap_or_default().into());
        let place = SessionPut { channel_id, thread_id, ..SessionPut::default() };
        let forget = SessionForget { channel_id: place.channel_id.clone(), thread_id: place.thread_id.clone() };
        // If the hub is away just now, its answer to the command is too.
        let forget = || self.link.send(&agent.carried(forget));
        let put = |put: SessionPut| self.link.send(&agent.carried(put));
        let said = match command {
            Command::Cancel => self.cancel_all(running),
            Command::New => {
                forget();
                "The next message here begins a new session.".to_owned()
            }
            Command::Model(None) => format!("The model here is {}.", self.model_of(agent, &wake)),
            Command::Engine(None) => format!("The engine here is {}.", self.engine_here(agent, &wake)),
            Command::Model(Some(model)) => match words::model(&model) {
                Ok(()) => {
                    put(SessionPut { model: Some(model.clone()), ..place });
                    format!("From now on `{model}` is asked here.")
                }
                Err(error) => error.whole(),
            },
            Command::Engine(Some(engine)) if engines::find(&engine).is_some() => {
                forget();
                put(SessionPut { engine: Some(engine.clone()), ..place });
                format!("From now on `{engine}` works here, in a new session.")
            }
            Command::Engine(Some(engine)) => {
                let known: Vec<String> = engines::ALL.iter().map(|engine| engine.id().to_string()).collect();
                format!("There is no engine `{engine}`; there are {}.", known.join(", "))
            }
            Command::Status => self.status_here(agent, &wake, running),
        };
        let Some(parent) = root else { return };
        let reply = ThreadReply {
            channel_id: wake.channel.into(),
            parent_id: parent.into(),
            content: said,
            content_type: Some(ContentType::Markdown),
            delivery_id: Some((&wake.delivery).into()),
            ..ThreadReply::default()
        };
        self.enqueue(agent.carried(reply), Some(&wake.delivery)).await;
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
