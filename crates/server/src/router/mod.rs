//! The router: takes sentences, finds out who should have them, and sees to it that none ends silently.
//!
//! The rules are the core's (`decide::routes`); this part brings them choices, time and absence. [`clients`] is the book of
//! the local programs that are connected, [`choose`] finds out who should have a sentence, [`listener`] is the door's own port,
//! [`agents`] hands sentences to agents of the hub, [`channels`] is `@router`, [`desktop`] shows what came of it.

pub mod agents;
mod book;
pub mod channels;
pub mod choose;
pub mod clients;
pub mod desktop;
pub mod listener;
mod model;
pub mod notices;

use std::sync::Arc;
use std::time::Duration;

use folkmoot_core::command::{AttemptEnd, Say};
use folkmoot_core::ids::{MemberId, MessageId, RouteId};
use folkmoot_core::lookup::LookupExt;
use folkmoot_core::model::{Door, Presence};
use folkmoot_core::record::{Filter, OPEN};
use folkmoot_core::route::{Choice, InputMethod, Route, RouteState};
use folkmoot_core::{Actor, Command, Millis, Refusal, Reply, State, refusal};
use folkmoot_peers::Endpoint;
use parking_lot::Mutex;
use tokio::sync::{Notify, Semaphore};

use crate::app::App;
use crate::config::Config;
use book::Book;
use listener::Listening;

/// How often a choice that came too late is made anew, before the speaker is asked.
const MAX_CHOICES: usize = 3;
const OPEN_PAGE: usize = 500;

pub struct Router {
    book: Mutex<Book>,
    choosing: choose::Chooser,
    speech: Option<Endpoint>,
    patience: Millis,
    /// The next deadline changed.
    deadlines: Notify,
    places: Arc<Semaphore>,
    listening: Mutex<Listening>,
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

impl Router {
    pub fn new(config: &Config) -> Self {
        Self {
            book: Mutex::default(),
            choosing: choose::Chooser::new(config),
            speech: speech(config),
            patience: (config.smarthole.response_timeout_s * 1000.0) as Millis,
            deadlines: Notify::new(),
            places: Arc::new(Semaphore::new(folkmoot_doors::smarthole::wire::MAX_CONNECTIONS)),
            listening: Mutex::new(Listening::Off),
        }
    }

    /// What turns recordings into text, where one is set up.
    pub fn speech(&self) -> Option<&Endpoint> {
        self.speech.as_ref()
    }
}

fn speech(config: &Config) -> Option<Endpoint> {
    const PATIENCE: Duration = Duration::from_secs(30);
    let stt = &config.stt;
    let set_up = !stt.api_key.is_empty() || stt.base_url != crate::config::Stt::default().base_url;
    set_up.then(|| Endpoint::new(&stt.base_url, stt.api_key.expose(), &stt.model, PATIENCE).ok()).flatten()
}

/// Starts what runs beside the requests: deadlines, what was open at the last stop, `@router`, the desktop.
pub fn start(app: &App) {
    tokio::spawn(keep_time(app.clone()));
    tokio::spawn(channels::follow(app.clone()));
    tokio::spawn(desktop::follow(app.clone()));
    let app = app.clone();
    tokio::spawn(async move {
        if let Err(refusal) = take_up_open(&app).await {
            tracing::error!(cause = %refusal, "the sentences that were open could not be read");
        }
    });
}

/// Takes a sentence: on return it is stored, and given to whoever was found at once or by the model.
pub async fn say(app: &App, actor: Actor, sentence: Sentence) -> Result<Arc<Route>, Refusal> {
    // A caller that hangs up must not leave the sentence half-way.
    let (app, task) = (app.clone(), sentence);
    let said = tokio::spawn(async move { say_to_the_end(&app, actor, task).await });
    said.await.unwrap_or_else(|_| Err(Refusal::unavailable("the router was interrupted")))
}

async fn say_to_the_end(app: &App, actor: Actor, sentence: Sentence) -> Result<Arc<Route>, Refusal> {
    let router = app.router();
    let mut outcome = Err(refusal::NOT_A_CANDIDATE);
    for attempt in 0..=MAX_CHOICES {
        let choice = match attempt {
            // They come and go so fast that the sentence is kept first.
            MAX_CHOICES => Choice::Later,
            _ => router.choosing.at_once(app, actor.member, &sentence.text),
        };
        let Sentence { text, input, confidence, source } = sentence.clone();
        let command = Command::Say(Say { text, input, confidence, source, choice, patience: router.patience });
        outcome = route_of(app.execute(actor, command).await);
        if !matches!(&outcome, Err(refusal) if *refusal == refusal::NOT_A_CANDIDATE) {
            break;
        }
    }
    let route = outcome?;
    if route.state == RouteState::Choosing {
        return Ok(choose_on(app, route).await);
    }
    follow(app, &route);
    Ok(route)
}

/// Finds somebody for a sentence that nobody has.
async fn choose_on(app: &App, route: Arc<Route>) -> Arc<Route> {
    let router = app.router();
    for attempt in 0..=MAX_CHOICES {
        let choice = match attempt {
            MAX_CHOICES => Choice::Unsure(Vec::new()),
            _ => router.choosing.with_time(app, &route).await,
        };
        let command = Command::Hand { route: route.id, choice, patience: router.patience };
        match route_of(app.execute(Actor::hub(Door::SmartHole), command).await) {
            Ok(handed) => {
                follow(app, &handed);
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
fn follow(app: &App, route: &Arc<Route>) {
    let given = app.router().book.lock().follow(route);
    app.router().deadlines.notify_one();
    for client in given {
        match app
            .with_state(|state| state.member(client).map(|member| (member.guest.is_some(), is_there(state, client))))
        {
            Some((_, false)) | None => end_later(app, route.id, client, AttemptEnd::Disconnected),
            Some((true, true)) => {}
            Some((false, true)) => agents::hand_over(app, route, client),
        }
    }
    channels::relay(app, route);
    if route.state == RouteState::Choosing {
        let (app, route) = (app.clone(), Arc::clone(route));
        tokio::spawn(async move { choose_on(&app, route).await });
    }
}

fn is_there(state: &State, client: MemberId) -> bool {
    state.presence_of(client) != Presence::Offline
}

fn end_later(app: &App, route: RouteId, client: MemberId, end: AttemptEnd) {
    let app = app.clone();
    tokio::spawn(async move { end_attempt(&app, route, client, end).await });
}

async fn end_attempt(app: &App, route: RouteId, client: MemberId, end: AttemptEnd) {
    let command = Command::EndAttempt { route, client, end };
    match route_of(app.execute(Actor::hub(Door::SmartHole), command).await) {
        Ok(route) => follow(app, &route),
        // Answered meanwhile, which is better.
        Err(_) => app.router().book.lock().forget(route, client),
    }
}

/// Ends the attempts whose time is over.
async fn keep_time(app: App) {
    loop {
        let now = app.now();
        let (due, next) = app.router().book.lock().due(now);
        for (route, client) in due {
            end_later(&app, route, client, AttemptEnd::Timeout);
        }
        let changed = app.router().deadlines.notified();
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
async fn take_up_open(app: &App) -> Result<(), Refusal> {
    let mut before = None;
    loop {
        let filter = Filter::default().states(&[OPEN]).limit(OPEN_PAGE).before(before);
        let page = app.read(move |reader| reader.list::<Route>(&filter)).await?;
        before = page.last().map(|route| route.id.0);
        let is_last = page.len() < OPEN_PAGE;
        for route in page {
            let until = app.now() + app.router().patience;
            let route = Arc::new(route);
            app.router().book.lock().take_up(&route, until);
            agents::take_up(app, &route);
            if route.state == RouteState::Choosing {
                follow(app, &route);
            }
        }
        app.router().deadlines.notify_one();
        if is_last {
            return channels::relay_again(app).await;
        }
    }
}

fn route_of(answer: crate::hub::Answer) -> Result<Arc<Route>, Refusal> {
    match answer? {
        Reply::Route(route) => Ok(route),
        _ => Err(Refusal::unavailable("the router got an answer of another kind")),
    }
}
