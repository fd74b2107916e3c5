//! A run as others hold it: its events, and what can be wanted of it meanwhile.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot, watch};

use folkmoot_engines::engine::{Control, Unsupported};
use folkmoot_engines::event::{AskAnswer, EngineEvent};

/// A run as its consumer sees it.
pub struct Run {
    pub(super) events: mpsc::Receiver<EngineEvent>,
    pub(super) handle: RunHandle,
    pub(super) done: Option<oneshot::Receiver<()>>,
}

impl Run {
    /// The next event; `None` after `completed`.
    pub async fn next(&mut self) -> Option<EngineEvent> {
        self.events.recv().await
    }

    pub fn handle(&self) -> RunHandle {
        self.handle.clone()
    }

    /// Waits until the last process of the run is gone and its thread is free.
    pub async fn gone(&mut self) {
        // A run that is waited for is still consumed.
        while self.events.recv().await.is_some() {}
        if let Some(done) = self.done.take() {
            let _ = done.await;
        }
    }
}

/// Steers a run from elsewhere.
#[derive(Clone)]
pub struct RunHandle {
    pub(super) controls: mpsc::Sender<(Control, oneshot::Sender<Result<(), Unsupported>>)>,
    pub(super) cancel: Arc<watch::Sender<bool>>,
}

impl RunHandle {
    /// Ends the run with SIGTERM; it says `completed` with the error `cancelled`.
    pub fn cancel(&self) {
        self.cancel.send_replace(true);
    }

    /// Gives the engine something to take into account now.
    pub async fn steer(&self, text: impl Into<String>) -> Result<(), Unsupported> {
        self.control(Control::Steer(text.into())).await
    }

    /// Stops what the engine does; it keeps its thread and says how far it got.
    pub async fn interrupt(&self) -> Result<(), Unsupported> {
        self.control(Control::Interrupt).await
    }

    /// Answers a question of the engine.
    pub async fn answer(&self, ask: impl Into<String>, answer: AskAnswer) -> Result<(), Unsupported> {
        self.control(Control::Answer { ask: ask.into(), answer }).await
    }

    async fn control(&self, control: Control) -> Result<(), Unsupported> {
        let (reply, answer) = oneshot::channel();
        self.controls.send((control, reply)).await.map_err(|_| Unsupported)?;
        answer.await.unwrap_or(Err(Unsupported))
    }
}
