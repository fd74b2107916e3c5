//! One session with the server, for callers that wait: made when it is needed, made anew when it was lost.
//!
//! The session's own task runs on a runtime of this link, and only while somebody waits here: between two questions nothing of it
//! costs anything. A question that is not answered in time takes the session with it, because nobody knows what it is doing.

use std::collections::HashMap;
use std::error::Error as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error, Row, Statement};

use super::place::Place;
use crate::StoreError;

/// How long any one answer may take.
pub const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// After a vain attempt to connect, the next one is not made before this.
const RETRY_PAUSE: Duration = Duration::from_millis(250);

pub struct Link {
    /// None only while it is dropped.
    runtime: Option<Runtime>,
    place: Arc<Place>,
    name: String,
    session: Mutex<Option<Session>>,
    failed: Mutex<Option<(Instant, StoreError)>>,
}

pub struct Session {
    client: Client,
    statements: Mutex<HashMap<String, Statement>>,
}

/// What went wrong between a question and its answer.
pub enum Failure {
    /// The server answered, and says no.
    Refused(Error),
    /// No answer came, and the session is gone.
    Lost(String),
    /// There was no session to ask in.
    NoSession(StoreError),
}

impl Link {
    /// Connects at the first question.
    pub fn new(place: Arc<Place>, name: impl Into<String>) -> Result<Self, StoreError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| StoreError::Other(format!("no thread can wait for answers: {error}")))?;
        let (session, failed) = (Mutex::new(None), Mutex::new(None));
        Ok(Self { runtime: Some(runtime), place, name: name.into(), session, failed })
    }

    pub fn place(&self) -> &Arc<Place> {
        &self.place
    }

    pub fn is_connected(&self) -> bool {
        lock(&self.session).as_ref().is_some_and(|session| !session.client.is_closed())
    }

    /// The same after a look at what the server has said since the last question: that it is going down, or nothing any more.
    pub fn is_still_connected(&self) -> bool {
        // Once for what came over the network, once for the task that reads it, once to be sure.
        const TURNS: usize = 3;
        self.wait(async {
            for _ in 0..TURNS {
                tokio::task::yield_now().await;
            }
        });
        self.is_connected()
    }

    /// Ends the session, whatever it is doing.
    pub fn hang_up(&self) {
        *lock(&self.session) = None;
    }

    /// The session gets another name, and with it a new one at the next question.
    pub fn rename(&mut self, name: String) {
        self.name = name;
        self.hang_up();
    }

    /// Asks in the session, connecting first if need be.
    pub fn ask<T>(&self, question: impl AsyncFnOnce(&Session) -> Result<T, Error>) -> Result<T, Failure> {
        self.ask_within(ANSWER_TIMEOUT, question)
    }

    /// The same, with more or less patience.
    pub fn ask_within<T>(
        &self,
        timeout: Duration,
        question: impl AsyncFnOnce(&Session) -> Result<T, Error>,
    ) -> Result<T, Failure> {
        if !self.is_connected() {
            self.hang_up();
            let session = self.connect().map_err(Failure::NoSession)?;
            *lock(&self.session) = Some(session);
        }
        self.ask_here(timeout, question)
    }

    /// Asks in the session that there is, or not at all: what began in one must not go on in another.
    pub fn ask_here<T>(
        &self,
        timeout: Duration,
        question: impl AsyncFnOnce(&Session) -> Result<T, Error>,
    ) -> Result<T, Failure> {
        let mut held = lock(&self.session);
        let Some(session) = held.as_ref().filter(|session| !session.client.is_closed()) else {
            return Err(Failure::Lost("the session ended".to_owned()));
        };
        let answer = self.wait(async { tokio::time::timeout(timeout, question(session)).await });
        let failure = match answer {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(error)) if is_refusal(&error) => return Err(Failure::Refused(error)),
            Ok(Err(error)) => Failure::Lost(words(&error)),
            Err(_) => Failure::Lost(format!("it did not answer within {} s", timeout.as_secs())),
        };
        *held = None;
        Err(failure)
    }

    /// A question that changes nothing: asked once more where the session turns out to have been lost.
    pub fn ask_twice<T>(&self, question: impl AsyncFn(&Session) -> Result<T, Error>) -> Result<T, StoreError> {
        let had_session = self.is_connected();
        match self.ask(&question) {
            Err(Failure::Lost(_)) if had_session => self.ask(&question).map_err(|failure| self.explain(failure)),
            other => other.map_err(|failure| self.explain(failure)),
        }
    }

    /// The words for whoever reads the log or the terminal.
    pub fn explain(&self, failure: Failure) -> StoreError {
        match failure {
            Failure::Refused(error) => store_error(&error),
            Failure::Lost(cause) => StoreError::Unreachable { place: self.place.shown().to_owned(), cause },
            Failure::NoSession(error) => error,
        }
    }

    /// After a failure the answer is the same for a moment: who asks often must not wait for each vain attempt.
    fn connect(&self) -> Result<Session, StoreError> {
        let mut failed = lock(&self.failed);
        if let Some((_, error)) = failed.as_ref().filter(|(at, _)| at.elapsed() < RETRY_PAUSE) {
            return Err(error.clone());
        }
        let connected = self.connect_now();
        *failed = connected.as_ref().err().map(|error| (Instant::now(), error.clone()));
        connected
    }

    fn connect_now(&self) -> Result<Session, StoreError> {
        let config = self.place.config(&self.name);
        let client = self.wait(async {
            let (client, connection) = config.connect(self.place.tls.clone()).await?;
            tokio::spawn(connection);
            client.batch_execute(SESSION).await?;
            Ok(client)
        });
        let client = client.map_err(|error| super::refusals::connecting(&self.place, &error))?;
        Ok(Session { client, statements: Mutex::default() })
    }

    fn wait<T>(&self, work: impl Future<Output = T>) -> T {
        match &self.runtime {
            Some(runtime) => runtime.block_on(work),
            None => unreachable!("a link has its runtime until it is dropped"),
        }
    }
}

/// Acknowledged means on disk, whatever the server's default; and a session whose hub lost its power ends soon.
const SESSION: &str = "SET client_min_messages = warning; \
    SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'; \
    SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 3";

impl Drop for Link {
    fn drop(&mut self) {
        self.hang_up();
        // Also where a thread may not wait.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

type Parameters<'a> = &'a [&'a (dyn ToSql + Sync)];

impl Session {
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The statement, prepared once per session.
    pub async fn prepared(&self, sql: &str) -> Result<Statement, Error> {
        let known = lock(&self.statements).get(sql).cloned();
        if let Some(statement) = known {
            return Ok(statement);
        }
        let statement = self.client.prepare(sql).await?;
        lock(&self.statements).insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    pub async fn query(&self, sql: &str, parameters: Parameters<'_>) -> Result<Vec<Row>, Error> {
        self.client.query(&self.prepared(sql).await?, parameters).await
    }

    pub async fn row(&self, sql: &str, parameters: Parameters<'_>) -> Result<Option<Row>, Error> {
        self.client.query_opt(&self.prepared(sql).await?, parameters).await
    }

    pub async fn execute(&self, sql: &str, parameters: Parameters<'_>) -> Result<u64, Error> {
        self.client.execute(&self.prepared(sql).await?, parameters).await
    }
}

/// The raised error of a fence, see the schema.
pub const FENCED: &str = "MF001";

fn store_error(error: &Error) -> StoreError {
    match error.code() {
        Some(code) if code.code() == FENCED => StoreError::Fenced,
        Some(code) if *code == SqlState::DISK_FULL => StoreError::Full,
        _ => StoreError::Other(format!("the database failed: {}", words(error))),
    }
}

/// Whether the session lives on after this error.
fn is_refusal(error: &Error) -> bool {
    // 57P01 and its neighbours: the server ends the session.
    error.as_db_error().is_some_and(|refused| !refused.code().code().starts_with("57P"))
        || (error.as_db_error().is_none() && !error.is_closed() && !is_of_the_network(error))
}

fn is_of_the_network(error: &Error) -> bool {
    error.source().is_some_and(|source| source.is::<std::io::Error>())
}

/// What the server or the network said; the error itself says no more than `db error`.
pub fn words(error: &Error) -> String {
    if let Some(refused) = error.as_db_error() {
        let detail = refused.detail().map(|detail| format!(" ({detail})")).unwrap_or_default();
        return format!("{}{detail}", refused.message());
    }
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does something that waits, also where a thread of an asynchronous runtime must not.
pub fn anywhere<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    if tokio::runtime::Handle::try_current().is_err() {
        return work();
    }
    std::thread::scope(|scope| match scope.spawn(work).join() {
        Ok(done) => done,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}
