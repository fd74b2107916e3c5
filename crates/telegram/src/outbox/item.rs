//! One message on its way: what is wanted, what is there, and what has to be done about the difference.

use std::borrow::Cow;
use std::time::Duration;

use super::pace::{Moment, Weight};
use super::scheduler::{Action, Call};
use crate::api::{ChatId, Keyboard, MessageId};
use crate::journal::{Content, Outgoing, OutgoingKind, OutgoingState};
use crate::text::{self, GAP, Rendered};

/// What is given up to get a message through that Telegram does not like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Nothing.
    Full,
    /// The looks.
    Plain,
    /// The looks, the buttons, the reply, and all but the beginning and the footer.
    Short,
}

/// What is left of a text in the last resort, in characters.
const SHORT: usize = 1000;
/// What a message says that should be away but cannot be removed.
const OVER: &str = "over";
/// How many numbers are looked under for a message that may have arrived. In a private chat the messages of all others are
/// in between; in a group each look counts as a call, of which there are few.
const LOOKS: (i64, i64) = (48, 12);

impl Stage {
    fn next(self) -> Option<Self> {
        match self {
            Self::Full => Some(Self::Plain),
            Self::Plain => Some(Self::Short),
            Self::Short => None,
        }
    }

    /// The content as it is sent.
    pub fn dress(self, content: &Content) -> Cow<'_, Content> {
        // White space at the beginning may be the indentation of code.
        let text = content.rendered.text.trim_end();
        // An empty message is refused.
        let text = if text.is_empty() { "…" } else { text };
        match self {
            Self::Full if text.len() == content.rendered.text.len() => Cow::Borrowed(content),
            Self::Full | Self::Plain => {
                let rendered = Rendered { text: text.to_owned(), entities: Vec::new() };
                Cow::Owned(Content { rendered, keyboard: content.keyboard.clone() })
            }
            Self::Short => Cow::Owned(Content { rendered: text::plain(&shortened(text)), keyboard: Keyboard::none() }),
        }
    }
}

/// The beginning of a text, and its last paragraph: there the footer is, with the line that goes on with the thread.
fn shortened(text: &str) -> String {
    if text.chars().count() <= SHORT {
        return text.to_owned();
    }
    let footer = text.rsplit_once(GAP).map_or("", |(_, last)| last);
    let footer = if footer.chars().count() <= SHORT / 2 { footer } else { "" };
    let beginning: String = text.chars().take(SHORT - footer.chars().count()).collect();
    format!("{}…{GAP}{footer}", beginning.trim_end())
}

#[derive(Clone, Debug)]
pub struct Item {
    /// As it is wanted.
    outgoing: Outgoing,
    /// What stands there, as far as is known.
    said: Option<Content>,
    stage: Stage,
    /// Under how many numbers it was looked for in vain.
    looked: i64,
    /// Progress that has to wait until what is pending was said.
    next: Option<Content>,
    /// It is about to be replaced, or people took it away: no more progress.
    closed: bool,
    /// Another message is to take its place, so it need not be sent.
    replaced: bool,
    /// Telegram does not remove it any more, so it is made to say nothing of interest.
    irremovable: bool,
    /// Since when something is due.
    since: Moment,
    /// When it was last sent or edited.
    touched: Option<Moment>,
}

impl Item {
    pub fn new(outgoing: Outgoing, now: Moment) -> Self {
        Self {
            outgoing,
            said: None,
            stage: Stage::Full,
            looked: 0,
            next: None,
            closed: false,
            replaced: false,
            irremovable: false,
            since: now,
            touched: None,
        }
    }

    pub fn outgoing(&self) -> &Outgoing {
        &self.outgoing
    }

    /// What has to be done next, as far as this message is concerned.
    pub fn due(&self) -> Option<Weight> {
        match (self.outgoing.state, self.outgoing.message) {
            (OutgoingState::Waiting | OutgoingState::Leaving, None) if self.sought().is_some() => Some(Weight::Find),
            (OutgoingState::Waiting, None) if self.replaced => None,
            (OutgoingState::Waiting, None) if self.outgoing.kind == OutgoingKind::Sign => Some(Weight::Sign),
            (OutgoingState::Waiting, None) => Some(Weight::Send),
            (OutgoingState::Leaving, Some(_)) if self.irremovable => Some(Weight::LastWords),
            (OutgoingState::Leaving, Some(_)) => Some(Weight::Delete),
            (OutgoingState::Changed, Some(_)) => Some(Weight::LastWords),
            (OutgoingState::Settled, Some(_)) if self.said.as_ref() != Some(&self.outgoing.content) => {
                Some(Weight::Edit)
            }
            _ => None,
        }
    }

    /// From when on its own rules allow that.
    pub fn ready_at(&self, weight: Weight, edit_interval: Duration) -> Moment {
        match (weight, self.touched) {
            (Weight::Edit, Some(touched)) => touched + edit_interval,
            _ => Moment::ZERO,
        }
    }

    pub fn since(&self) -> Moment {
        self.since
    }

    /// Where it may be. (Where no number was known there is nowhere to look.)
    fn sought(&self) -> Option<MessageId> {
        let floor = self.outgoing.doubt.filter(|floor| floor.0 > 0)?;
        let most = if self.outgoing.chat.is_group() { LOOKS.1 } else { LOOKS.0 };
        (self.looked < most).then_some(MessageId(floor.0 + self.looked + 1))
    }

    pub fn call(&self, weight: Weight, floor: MessageId) -> Option<Call> {
        let action = match weight {
            Weight::Sign | Weight::Send => Action::Send {
                topic: self.outgoing.topic,
                reply_to: self.outgoing.reply_to.filter(|_| self.stage != Stage::Short),
                silent: self.outgoing.silent,
                floor,
            },
            Weight::Find => Action::Find(self.sought()?),
            Weight::LastWords | Weight::Edit => Action::Edit(self.outgoing.message?),
            Weight::Delete => Action::Delete(self.outgoing.message?),
        };
        Some(Call {
            outgoing: self.outgoing.id,
            chat: self.outgoing.chat,
            weight,
            action,
            content: self.outgoing.content.clone(),
            revision: self.outgoing.revision,
            stage: self.stage,
        })
    }

    /// Something is pending: it has to be sent, changed for good or removed.
    pub fn is_pending(&self) -> bool {
        match self.outgoing.state {
            OutgoingState::Waiting => !self.replaced,
            OutgoingState::Changed | OutgoingState::Leaving => true,
            OutgoingState::Settled | OutgoingState::Gone | OutgoingState::Failed => false,
        }
    }

    /// It was to be removed before it was sent.
    pub fn is_never_to_be_sent(&self) -> bool {
        self.outgoing.state == OutgoingState::Leaving && self.outgoing.message.is_none() && self.sought().is_none()
    }

    /// It is as it should be; a sign may still show progress.
    pub fn is_settled(&self) -> bool {
        self.outgoing.state == OutgoingState::Settled && self.due().is_none()
    }

    pub fn is_sign(&self) -> bool {
        self.outgoing.kind == OutgoingKind::Sign
    }

    pub fn show(&mut self, content: Content, now: Moment) {
        let pending = self.outgoing.state == OutgoingState::Changed
            || self.outgoing.revision > 0 && self.outgoing.message.is_none();
        if self.closed {
            return;
        }
        if pending {
            self.next = Some(content);
            return;
        }
        if self.due().is_none() {
            self.since = now;
        }
        self.outgoing.content = content;
    }

    /// What is pending was said: now progress may go on.
    fn go_on(&mut self) {
        if let Some(content) = self.next.take() {
            self.outgoing.content = content;
        }
    }

    pub fn revise(&mut self, content: Content, revision: i64, now: Moment) {
        self.outgoing.content = content;
        self.outgoing.revision = revision;
        self.stage = Stage::Full;
        self.next = None;
        if self.outgoing.state == OutgoingState::Settled {
            self.outgoing.state = self.once_changed();
            self.since = now;
        }
    }

    /// New words are put into the message, or into a new one where its number is not known.
    fn once_changed(&self) -> OutgoingState {
        if self.outgoing.message.is_some() { OutgoingState::Changed } else { OutgoingState::Waiting }
    }

    pub fn remove(&mut self, now: Moment) {
        self.outgoing.state = OutgoingState::Leaving;
        self.since = now;
    }

    /// It is to go, but it cannot: only its words and its buttons can.
    pub fn stay(&mut self) {
        self.stop_progress();
        self.irremovable = true;
        self.stage = Stage::Full;
        self.outgoing.content = Content::new(text::plain(OVER));
    }

    pub fn stays(&self) -> bool {
        self.irremovable
    }

    /// Another message is to take its place.
    pub fn replace(&mut self) {
        self.replaced = true;
        self.stop_progress();
    }

    /// Shows no more progress: what stands there stays until the last words.
    pub fn stop_progress(&mut self) {
        self.closed = true;
        self.next = None;
        if let (OutgoingState::Settled, Some(said)) = (self.outgoing.state, &self.said) {
            self.outgoing.content = said.clone();
        }
    }

    pub fn arrived(&mut self, message: Option<MessageId>, call: &Call, now: Moment) {
        self.outgoing.message = message;
        self.outgoing.doubt = None;
        self.said = Some(call.content.clone());
        self.touched = Some(now);
        if self.outgoing.state == OutgoingState::Waiting {
            let newest = self.outgoing.revision == call.revision;
            self.outgoing.state = if newest { OutgoingState::Settled } else { self.once_changed() };
            self.since = now;
            if newest {
                self.go_on();
            }
        }
        if self.replaced {
            self.stop_progress();
        }
    }

    pub fn edited(&mut self, call: &Call, now: Moment) {
        self.said = Some(call.content.clone());
        self.touched = Some(now);
        self.since = now;
        if self.outgoing.state == OutgoingState::Changed && self.outgoing.revision == call.revision {
            self.outgoing.state = OutgoingState::Settled;
            self.go_on();
        }
    }

    /// It may have been sent, under a number above this.
    pub fn doubt(&mut self, floor: MessageId) {
        self.outgoing.doubt = Some(floor);
        self.looked = 0;
    }

    /// It is not where it was sought; `true` when there is nowhere else, so that it was not sent.
    pub fn look_further(&mut self) -> bool {
        self.looked += 1;
        let over = self.sought().is_none();
        if over {
            self.outgoing.doubt = None;
        }
        over
    }

    /// It is not there any more, but what it has to say is pending.
    pub fn vanished(&mut self, now: Moment) {
        self.outgoing.message = None;
        self.outgoing.state = OutgoingState::Waiting;
        self.said = None;
        self.stage = Stage::Full;
        self.since = now;
    }

    /// Tries again with less; `false` when nothing is left to give up.
    pub fn give_up_something(&mut self) -> bool {
        let next = self.stage.next();
        self.stage = next.unwrap_or(self.stage);
        next.is_some()
    }

    /// Forgets the topic; `false` when there is none.
    pub fn leave_topic(&mut self) -> bool {
        self.outgoing.topic.take().is_some()
    }

    /// The same, in the chat that took the place of its own; `None` when nothing is pending there.
    pub fn moved_to(mut self, chat: ChatId, now: Moment) -> Option<Self> {
        if !self.is_pending() || self.outgoing.state == OutgoingState::Leaving {
            return None;
        }
        self.outgoing.chat = chat;
        self.outgoing.reply_to = None;
        self.outgoing.doubt = None;
        self.vanished(now);
        Some(self)
    }
}
