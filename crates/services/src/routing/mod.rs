//! The router: takes sentences, finds out who should have them, and sees to it that none ends silently.
//!
//! The rules are the core's (`decide::routes`); this part brings them choices, time and absence. [`clients`] lets
//! local programs come and go, [`choose`] finds out who should have a sentence, [`listener`] is the door's own port,
//! [`agents`] hands sentences to agents of the hub, [`channels`] is `@router`, [`rest`] its part of `/v1`, [`notices`]
//! what a desktop shows of it and when, [`words`] what a terminal says.

mod agents;
mod channels;
pub mod choose;
mod clients;
pub mod listener;
pub mod notices;
mod registry;
mod rest;
pub mod words;

use std::any::Any;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::FromRef;
use bytes::Bytes;
use folkmoot_core::command::{AttemptEnd, Say};
use folkmoot_core::ids::{MemberId, MessageId, RouteId};
use folkmoot_core::lookup::LookupExt;
use folkmoot_core::model::{Door, Presence};
use folkmoot_core::record::{Filter, OPEN};
use folkmoot_core::route::{Choice, InputMethod, Route, RouteState};
use folkmoot_core::{Actor, Command, Millis, Refusal, Reply, State, refusal};
use folkmoot_doors::Ticket;
use folkmoot_doors::smarthole::HostRequest;
use folkmoot_hub::connection::Connection;
use folkmoot_hub::doors::{Boxed, HostAnswer};
use folkmoot_hub::request::Surface;
use folkmoot_hub::{DoorHost, DoorStatus, Hub, surface};
use parking_lot::Mutex;
use tokio::sync::{Notify, Semaphore};

use crate::settings::Smarthole;
use choose::Advisor;
use registry::ClientRegistry;

/// How often a choice that came too late is made anew, before the speaker is asked.
const MAX_CHOICES: usize = 3;
const OPEN_PAGE: usize = 500;

/// The router; clones share it.
#[derive(Clone)]
pub struct Routing(Arc<Shared>);

pub struct Shared {
    hub: Hub,
    settings: Smarthole,
    registry: Mutex<ClientRegistry>,
    choosing: choose::Chooser,
    recogniser: Option<Box<dyn Recogniser>>,
    /// How long a client has for its answer.
    response_time: Millis,
    /// The next deadline changed.
    deadlines: Notify,
    places: Arc<Semaphore>,
    status: Mutex<DoorStatus>,
}

impl Deref for Routing {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

impl FromRef<Routing> for Hub {
    fn from_ref(routing: &Routing) -> Self {
        routing.hub.clone()
    }
}

/// What helps the router where an operator has set it up.
#[derive(Default)]
pub struct Helpers {
    pub advisor: Option<Box<dyn Advisor>>,
    pub recogniser: Option<Box<dyn Recogniser>>,
}

/// Turns recordings into text.
pub trait Recogniser: Send + Sync {
    fn transcribe<'a>(&'a self, name: &'a str, recording: Bytes) -> Boxed<'a, Result<Spoken, String>>;
}

/// What was understood, and how surely, where that is known.
#[derive(Clone, Debug)]
pub struct Spoken {
    pub text: String,
    pub confidence: Option<f64>,
}

/// A sentence as it comes in.
#[derive(Clone, Debug)]
pub struct Sentence {
    pub text: String,
    pub input: InputMethod,
    pub confidence: Option<f64>,
    /// The line in a channel that it is.
    pub source: Option<MessageId>,
}

impl Routing {
    pub fn new(hub: &Hub, settings: &Smarthole, helpers: Helpers) -> Self {
        let Helpers { advisor, recogniser } = helpers;
        Self(Arc::new(Shared {
            hub: hub.clone(),
            settings: settings.clone(),
            registry: Mutex::default(),
            choosing: choose::Chooser::new(advisor, Duration::from_secs_f64(settings.choice_timeout_s)),
            recogniser,
            response_time: (settings.response_timeout_s * 1000.0) as Millis,
            deadlines: Notify::new(),
            places: Arc::new(Semaphore::new(folkmoot_doors::smarthole::wire::MAX_CONNECTIONS)),
            status: Mutex::new(DoorStatus::Off),
        }))
    }

    /// Its part of `/v1`.
    pub fn surface(&self) -> Surface {
        Surface { routes: routes().with_state(self.clone()), described }
    }
}

/// What local programs say goes here.
impl DoorHost for Routing {
    fn status(&self) -> DoorStatus {
        self.status.lock().clone()
    }

    fn asked<'a>(
        &'a self,
        connection: &'a Arc<Connection>,
        what: Box<dyn Any + Send>,
        ticket: Ticket,
    ) -> HostAnswer<'a> {
        match what.downcast::<HostRequest>().map(|request| *request) {
            Ok(HostRequest::Enlist(enlistment)) => {
                HostAnswer::LogIn(Box::pin(clients::enlist(self, connection, enlistment, ticket)))
            }
            Ok(HostRequest::Answer { route, said }) => {
                clients::answer(self, connection, route, said);
                HostAnswer::Taken
            }
            Err(_) => HostAnswer::Taken,
        }
    }
}

surface! {
    Routing;
    rest::say, rest::history;
    rest::say_aloud;
    rest::clients;
    rest::get;
}

/// Starts what runs beside the requests: deadlines, what was open at the last stop, `@router`.
pub fn start(routing: &Routing) {
    tokio::spawn(keep_time(routing.clone()));
    tokio::spawn(channels::follow(routing.clone()));
    let routing = routing.clone();
    tokio::spawn(async move {
        if let Err(refusal) = take_up_open(&routing).await {
            tracing::error!(cause = %refusal, "the sentences that were open could not be read");
        }
    });
}

/// Takes a sentence: on return it is stored, and given to whoever was found at once or by the model.
pub async fn say(routing: &Routing, actor: Actor, sentence: Sentence) -> Result<Arc<Route>, Refusal> {
    // A caller that hangs up must not leave the sentence half-way.
    let (routing, task) = (routing.clone(), sentence);
    let said = tokio::spawn(async move { say_to_the_end(&routing, actor, task).await });
    said.await.unwrap_or_else(|_| Err(Refusal::unavailable("the router was interrupted")))
}

async fn say_to_the_end(routing: &Routing, actor: Actor, sentence: Sentence) -> Result<Arc<Route>, Refusal> {
    let mut outcome = Err(refusal::NOT_A_CANDIDATE);
    for attempt in 0..=MAX_CHOICES {
        let choice = match attempt {
            // They come and go so fast that the sentence is kept first.
            MAX_CHOICES => Choice::Later,
            _ => routing.choosing.at_once(routing, actor.member, &sentence.text),
        };
        let Sentence { text, input, confidence, source } = sentence.clone();
        let command = Command::Say(Say { text, input, confidence, source, choice, timeout: routing.response_time });
        outcome = route_of(routing.hub.execute(actor, command).await);
        if !matches!(&outcome, Err(refusal) if *refusal == refusal::NOT_A_CANDIDATE) {
            break;
        }
    }
    let route = outcome?;
    if route.state == RouteState::Choosing {
        return Ok(choose_on(routing, route).await);
    }
    follow(routing, &route);
    Ok(route)
}

/// Finds somebody for a sentence that nobody has.
async fn choose_on(routing: &Routing, route: Arc<Route>) -> Arc<Route> {
    for attempt in 0..=MAX_CHOICES {
        let choice = match attempt {
            MAX_CHOICES => Choice::Unsure(Vec::new()),
            _ => routing.choosing.with_time(routing, &route).await,
        };
        let command = Command::Hand { route: route.id, choice, timeout: routing.response_time };
        match route_of(routing.hub.execute(Actor::hub(Door::SmartHole), command).await) {
            Ok(handed) => {
                follow(routing, &handed);
                return handed;
            }
            Err(refusal) if refusal == refusal::NOT_A_CANDIDATE => {}
            Err(refusal) => {
                tracing::warn!(route = %route.id, cause = %refusal, "a sentence could not be handed on");
                return route;
            }
        }
    }
    route
}

/// Does what follows from where a sentence stands now.
fn follow(routing: &Routing, route: &Arc<Route>) {
    let given = routing.registry.lock().follow(route);
    routing.deadlines.notify_one();
    for client in given {
        match routing
            .hub
            .with_state(|state| state.member(client).map(|member| (member.guest.is_some(), is_there(state, client))))
        {
            Some((_, false)) | None => end_later(routing, route.id, client, AttemptEnd::Disconnected),
            Some((true, true)) => {}
            Some((false, true)) => agents::hand_over(routing, route, client),
        }
    }
    channels::relay(routing, route);
    if route.state == RouteState::Choosing {
        let (routing, route) = (routing.clone(), Arc::clone(route));
        tokio::spawn(async move { choose_on(&routing, route).await });
    }
}

fn is_there(state: &State, client: MemberId) -> bool {
    state.presence_of(client) != Presence::Offline
}

fn end_later(routing: &Routing, route: RouteId, client: MemberId, end: AttemptEnd) {
    let routing = routing.clone();
    tokio::spawn(async move { end_attempt(&routing, route, client, end).await });
}

async fn end_attempt(routing: &Routing, route: RouteId, client: MemberId, end: AttemptEnd) {
    let command = Command::EndAttempt { route, client, end };
    match route_of(routing.hub.execute(Actor::hub(Door::SmartHole), command).await) {
        Ok(route) => follow(routing, &route),
        // Answered meanwhile, which is better.
        Err(_) => routing.registry.lock().forget(route, client),
    }
}

/// Ends the attempts whose time is over.
async fn keep_time(routing: Routing) {
    loop {
        let now = routing.hub.now();
        let (due, next) = routing.registry.lock().due(now);
        for (route, client) in due {
            end_later(&routing, route, client, AttemptEnd::Timeout);
        }
        let changed = routing.deadlines.notified();
        match next {
            Some(at) => {
                let pause = Duration::from_millis(at.saturating_sub(now).max(1).unsigned_abs());
                let _ = tokio::time::timeout(pause, changed).await;
            }
            None => changed.await,
        }
    }
}

/// What was open when the hub stopped: clients get the whole time again to come back and answer.
async fn take_up_open(routing: &Routing) -> Result<(), Refusal> {
    let mut before = None;
    loop {
        let filter = Filter::default().states(&[OPEN]).limit(OPEN_PAGE).before(before);
        let page = routing.hub.read(move |reader| reader.list::<Route>(&filter)).await?;
        before = page.last().map(|route| route.id.0);
        let is_last = page.len() < OPEN_PAGE;
        for route in page {
            let until = routing.hub.now() + routing.response_time;
            let route = Arc::new(route);
            routing.registry.lock().take_up(&route, until);
            agents::take_up(routing, &route);
            if route.state == RouteState::Choosing {
                follow(routing, &route);
            }
        }
        routing.deadlines.notify_one();
        if is_last {
            return channels::relay_again(routing).await;
        }
    }
}

fn route_of(answer: folkmoot_hub::CommandOutcome) -> Result<Arc<Route>, Refusal> {
    match answer? {
        Reply::Route(route) => Ok(route),
        _ => Err(Refusal::unavailable("the router got an answer of another kind")),
    }
}
