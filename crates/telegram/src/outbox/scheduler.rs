//! What to call next, and what an answer means: the rules of delivery, with time as an argument.
//!
//! Per chat at most one call is under way, so that what is said keeps its order. Sends come before deletes, deletes before
//! edits; edits of one message overwrite each other while they wait. A failure holds up its own chat only.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use folkmoot_clients::backoff::Backoff;

use super::item::{Item, Stage};
use super::pace::{Moment, Overall, Pace, Weight};
use crate::api::{ApiError, ChatId, MessageId, TopicId};
use crate::ids::OutgoingId;
use crate::journal::{Content, Order, Outgoing};

/// Somewhat longer than asked for, so that two clocks agree that the time is over.
const PAUSE_MARGIN: Duration = Duration::from_millis(100);

/// How many messages of a chat are kept at hand although nothing is to be done about them.
const MAX_SIGNS: usize = 64;

/// One call to make.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    pub outgoing: OutgoingId,
    pub chat: ChatId,
    pub weight: Weight,
    pub action: Action,
    /// What it says, as it is wanted; [`Stage::dress`] makes of it what is sent.
    pub content: Content,
    pub revision: i64,
    pub stage: Stage,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    Send {
        topic: Option<TopicId>,
        reply_to: Option<MessageId>,
        silent: bool,
        /// The highest message number that is known before.
        floor: MessageId,
    },
    /// Looks whether an earlier attempt to send has arrived under a number.
    Find(MessageId),
    Edit(MessageId),
    Delete(MessageId),
}

/// What a call brought.
#[derive(Clone, Debug, PartialEq)]
pub enum CallAnswer {
    Sent(MessageId),
    /// It is there, only the server does not say under which number.
    SentUnnumbered,
    Done,
    /// What was looked for is not under that number.
    NotThere,
}

/// What has to be stored, and told.
#[derive(Clone, Debug, PartialEq)]
pub enum Report {
    Arrived {
        outgoing: OutgoingId,
        chat: ChatId,
        message: MessageId,
        revision: i64,
    },
    /// It is there for good: without its number it can be neither changed nor removed.
    ArrivedUnnumbered {
        outgoing: OutgoingId,
        revision: i64,
    },
    /// The last words are there.
    Edited {
        outgoing: OutgoingId,
        revision: i64,
    },
    /// An attempt to send certainly had no effect.
    NotThere(OutgoingId),
    /// It is not there any more and has to be sent anew.
    Vanished(OutgoingId),
    Gone(OutgoingId),
    Failed {
        outgoing: OutgoingId,
        chat: ChatId,
        reason: String,
    },
    Moved {
        from: ChatId,
        to: ChatId,
    },
}

/// All that is to be delivered.
#[derive(Debug)]
pub struct Scheduler {
    lanes: BTreeMap<ChatId, Lane>,
    /// Where an outgoing message is; chats can move.
    chats: HashMap<OutgoingId, ChatId>,
    highest: HashMap<ChatId, MessageId>,
    overall: Overall,
    /// The least time between two edits of one message.
    edit_interval: Duration,
    hurries: bool,
}

/// One chat.
#[derive(Debug)]
struct Lane {
    items: BTreeMap<OutgoingId, Item>,
    pace: Pace,
    not_before: Moment,
    backoff: Backoff,
    /// The message that a call is under way for.
    busy: Option<OutgoingId>,
}

impl Lane {
    fn new(chat: ChatId) -> Self {
        Self {
            items: BTreeMap::new(),
            pace: Pace::new(chat.is_group()),
            not_before: Moment::ZERO,
            backoff: Backoff::for_reconnecting(),
            busy: None,
        }
    }
}

/// The best thing to do in a chat, or when there will be one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Choice {
    rank: u8,
    since: Moment,
    outgoing: OutgoingId,
    weight: Weight,
}

impl Scheduler {
    pub fn new(edit_interval: Duration) -> Self {
        Self {
            lanes: BTreeMap::new(),
            chats: HashMap::new(),
            highest: HashMap::new(),
            overall: Overall::default(),
            edit_interval,
            hurries: false,
        }
    }

    /// Notes a message number of a chat, so that later ones can be told from it.
    pub fn seen(&mut self, chat: ChatId, message: MessageId) {
        let highest = self.highest.entry(chat).or_insert(message);
        *highest = (*highest).max(message);
    }

    /// Takes up what an earlier life left behind.
    pub fn take_up(&mut self, outgoing: Outgoing, now: Moment) -> Vec<Report> {
        let id = outgoing.id;
        self.post(outgoing, now);
        self.settle(id)
    }

    pub fn knows(&self, outgoing: OutgoingId) -> bool {
        self.chats.contains_key(&outgoing)
    }

    /// Takes up what is wanted.
    pub fn order(&mut self, order: Order, now: Moment) -> Vec<Report> {
        match order {
            Order::Post(outgoing) => self.post(outgoing, now),
            Order::Revise(outgoing) => self.revise(outgoing, now),
            Order::Show { outgoing, content } => {
                if let Some(item) = self.item(outgoing) {
                    item.show(content, now);
                }
            }
            Order::Remove(outgoing) => return self.remove(outgoing, now),
        }
        Vec::new()
    }

    /// The next call that may be made now; the chat is busy until it is [`done`](Self::done).
    pub fn next(&mut self, now: Moment) -> Option<Call> {
        let ready = |(chat, lane): (&ChatId, &Lane)| Some((self.look(lane, now).ok()??, *chat));
        let (choice, chat) = self.lanes.iter().filter_map(ready).min()?;
        let floor = self.floor(chat);
        let lane = self.lanes.get_mut(&chat)?;
        let call = lane.items.get(&choice.outgoing)?.call(choice.weight, floor)?;
        lane.busy = Some(choice.outgoing);
        lane.pace.note(choice.weight, now);
        self.overall.note(now);
        Some(call)
    }

    /// When to ask again if nothing else happens before; now, where something can be done already.
    pub fn wake(&self, now: Moment) -> Option<Moment> {
        let moment = |lane: &Lane| match self.look(lane, now) {
            Ok(choice) => choice.map(|_| now),
            Err(later) => Some(later),
        };
        self.lanes.values().filter_map(moment).min()
    }

    /// There is no later: last words to people do not wait for the pace of their chats. (Groups are stricter.)
    pub fn hurry(&mut self) {
        self.hurries = true;
    }

    /// Whether anything is under way or pending; progress that was not shown yet is not pending.
    pub fn is_idle(&self) -> bool {
        self.lanes.values().all(|lane| lane.busy.is_none() && lane.items.values().all(|item| !item.is_pending()))
    }

    /// How many messages are kept in memory.
    #[cfg(test)]
    pub fn remembered(&self) -> usize {
        self.lanes.values().map(|lane| lane.items.len()).sum()
    }

    /// What became of a call; `chance` is a random number from 0 to 1.
    pub fn done(&mut self, call: &Call, answer: Result<CallAnswer, ApiError>, now: Moment, chance: f64) -> Vec<Report> {
        let Some(lane) = self.lanes.get_mut(&call.chat) else { return Vec::new() };
        lane.busy = None;
        let mut reports = match answer {
            Ok(answer) => {
                lane.backoff.reset();
                self.succeeded(call, answer, now)
            }
            Err(ApiError::RateLimited { retry_after }) => {
                lane.not_before = now + retry_after + PAUSE_MARGIN;
                self.not_sent(call)
            }
            Err(ApiError::Rejected { moved_to: Some(to), .. }) => self.moved(call.chat, to, now),
            // A token that is refused is mended by people, not by dropping what they wait for.
            Err(error @ ApiError::Rejected { .. }) if !error.is_unauthorized() => {
                lane.backoff.reset();
                self.refused(call, &error, now)
            }
            Err(error) => {
                lane.not_before = now + lane.backoff.next(chance);
                match error {
                    ApiError::Unreachable { perhaps_done: true, .. } => self.doubted(call),
                    _ => self.not_sent(call),
                }
            }
        };
        reports.extend(self.settle(call.outgoing));
        reports
    }

    /// What can be done now in a chat, or else when.
    fn look(&self, lane: &Lane, now: Moment) -> Result<Option<Choice>, Moment> {
        if lane.busy.is_some() {
            return Ok(None);
        }
        let mut best: Option<Choice> = None;
        let mut later: Option<Moment> = None;
        for (id, item) in &lane.items {
            let Some(weight) = item.due() else { continue };
            let hurries = self.hurries && weight == Weight::LastWords && !item.outgoing().chat.is_group();
            let own = if hurries { Moment::ZERO } else { lane.pace.ready_at(weight) };
            let paced = own.max(self.overall.ready_at(weight));
            let at = paced.max(lane.not_before).max(item.ready_at(weight, self.edit_interval));
            if at <= now {
                let choice = Choice { rank: rank(weight), since: item.since(), outgoing: *id, weight };
                best = Some(best.map_or(choice, |best| best.min(choice)));
            } else {
                later = Some(later.map_or(at, |later| later.min(at)));
            }
        }
        match (best, later) {
            (None, Some(later)) => Err(later),
            (best, _) => Ok(best),
        }
    }

    /// What is sent into a chat now gets a higher number than this.
    fn floor(&self, chat: ChatId) -> MessageId {
        let counted_with = |other: ChatId| match chat.counts_for_itself() {
            true => other == chat,
            false => !other.counts_for_itself(),
        };
        let known = self.highest.iter().filter(|(other, _)| counted_with(**other));
        known.map(|(_, highest)| *highest).max().unwrap_or(MessageId(0))
    }

    fn item(&mut self, outgoing: OutgoingId) -> Option<&mut Item> {
        let chat = self.chats.get(&outgoing)?;
        self.lanes.get_mut(chat)?.items.get_mut(&outgoing)
    }

    fn post(&mut self, outgoing: Outgoing, now: Moment) {
        if let Some(target) = outgoing.reply_to {
            self.seen(outgoing.chat, target);
        }
        if let Some(replaced) = outgoing.replaces.and_then(|replaced| self.item(replaced)) {
            replaced.replace();
        }
        self.put(Item::new(outgoing, now));
    }

    fn put(&mut self, item: Item) {
        let (id, chat) = (item.outgoing().id, item.outgoing().chat);
        self.chats.insert(id, chat);
        self.lanes.entry(chat).or_insert_with(|| Lane::new(chat)).items.insert(id, item);
        self.forget_old_signs(chat);
    }

    /// Nobody says that a sign will show no more progress, so only the newest are kept at hand.
    fn forget_old_signs(&mut self, chat: ChatId) {
        let Some(lane) = self.lanes.get(&chat).filter(|lane| lane.items.len() > MAX_SIGNS) else { return };
        let idle = lane.items.iter().filter(|(id, item)| item.is_settled() && lane.busy != Some(**id));
        let idle: Vec<OutgoingId> = idle.map(|(id, _)| *id).collect();
        let surplus = idle.len().saturating_sub(MAX_SIGNS);
        idle.into_iter().take(surplus).for_each(|id| drop(self.forget(id)));
    }

    fn revise(&mut self, outgoing: Outgoing, now: Moment) {
        match self.item(outgoing.id) {
            Some(item) if item.outgoing().revision == outgoing.revision => {}
            Some(item) => item.revise(outgoing.content, outgoing.revision, now),
            None => self.put(Item::new(outgoing, now)),
        }
    }

    fn remove(&mut self, outgoing: Outgoing, now: Moment) -> Vec<Report> {
        let id = outgoing.id;
        match self.item(id) {
            Some(item) => item.remove(now),
            None => self.put(Item::new(outgoing, now)),
        }
        self.settle(id)
    }

    /// Forgets a message that needs nothing more.
    fn settle(&mut self, id: OutgoingId) -> Vec<Report> {
        let Some(lane) = self.chats.get(&id).and_then(|chat| self.lanes.get(chat)) else { return Vec::new() };
        // What is on its way has to arrive before anything can be said about it.
        let Some(item) = lane.items.get(&id).filter(|_| lane.busy != Some(id)) else { return Vec::new() };
        if item.is_never_to_be_sent() {
            self.forget(id);
            return vec![Report::Gone(id)];
        }
        if item.is_settled() && !item.is_sign() {
            self.forget(id);
        }
        Vec::new()
    }

    fn forget(&mut self, id: OutgoingId) -> Option<Item> {
        let chat = self.chats.remove(&id)?;
        self.lanes.get_mut(&chat)?.items.remove(&id)
    }

    fn succeeded(&mut self, call: &Call, answer: CallAnswer, now: Moment) -> Vec<Report> {
        let Call { outgoing, chat, revision, .. } = *call;
        match (answer, call.action.clone()) {
            (CallAnswer::Sent(message), _) | (CallAnswer::Done, Action::Find(message)) => {
                self.seen(chat, message);
                if let Some(item) = self.item(outgoing) {
                    item.arrived(Some(message), call, now);
                }
                vec![Report::Arrived { outgoing, chat, message, revision }]
            }
            (CallAnswer::SentUnnumbered, _) => {
                if let Some(item) = self.item(outgoing) {
                    item.arrived(None, call, now);
                }
                vec![Report::ArrivedUnnumbered { outgoing, revision }]
            }
            (CallAnswer::NotThere, _) => {
                let over = self.item(outgoing).is_some_and(Item::look_further);
                over.then_some(Report::NotThere(outgoing)).into_iter().collect()
            }
            (CallAnswer::Done, Action::Delete(_)) => self.gone(outgoing),
            (CallAnswer::Done, _) if self.stays(outgoing) => self.gone(outgoing),
            (CallAnswer::Done, _) => {
                if let Some(item) = self.item(outgoing) {
                    item.edited(call, now);
                }
                let pending = call.weight == Weight::LastWords;
                pending.then_some(Report::Edited { outgoing, revision }).into_iter().collect()
            }
        }
    }

    fn gone(&mut self, outgoing: OutgoingId) -> Vec<Report> {
        self.forget(outgoing);
        vec![Report::Gone(outgoing)]
    }

    /// Whether it is a message that cannot be removed, so that an edit is the last that is done about it.
    fn stays(&mut self, outgoing: OutgoingId) -> bool {
        self.item(outgoing).is_some_and(|item| item.stays())
    }

    /// The answer was lost: what was sent may be there.
    fn doubted(&mut self, call: &Call) -> Vec<Report> {
        if let (Action::Send { floor, .. }, Some(item)) = (&call.action, self.item(call.outgoing)) {
            item.doubt(*floor);
        }
        Vec::new()
    }

    /// A call certainly had no effect. (A search goes on where it was.)
    fn not_sent(&mut self, call: &Call) -> Vec<Report> {
        match call.action {
            Action::Send { .. } => vec![Report::NotThere(call.outgoing)],
            Action::Find(_) | Action::Edit(_) | Action::Delete(_) => Vec::new(),
        }
    }

    fn refused(&mut self, call: &Call, error: &ApiError, now: Moment) -> Vec<Report> {
        match call.action {
            Action::Send { .. } => self.send_refused(call, error),
            Action::Find(_) | Action::Edit(_) if error.is_not_modified() => self.succeeded(call, CallAnswer::Done, now),
            // Somebody else's, or none.
            Action::Find(_) => self.succeeded(call, CallAnswer::NotThere, now),
            Action::Edit(_) if self.stays(call.outgoing) => self.succeeded(call, CallAnswer::Done, now),
            Action::Edit(_) => self.edit_refused(call, error, now),
            Action::Delete(_) if error.is_irremovable() => {
                if let Some(item) = self.item(call.outgoing) {
                    item.stay();
                }
                Vec::new()
            }
            // It is away.
            Action::Delete(_) => self.succeeded(call, CallAnswer::Done, now),
        }
    }

    fn send_refused(&mut self, call: &Call, error: &ApiError) -> Vec<Report> {
        let Some(item) = self.item(call.outgoing) else { return Vec::new() };
        let again = error.is_topic_gone() && item.leave_topic();
        if again || !error.is_chat_gone() && item.give_up_something() {
            return vec![Report::NotThere(call.outgoing)];
        }
        self.failed(call, error)
    }

    fn edit_refused(&mut self, call: &Call, error: &ApiError, now: Moment) -> Vec<Report> {
        let Some(item) = self.item(call.outgoing) else { return Vec::new() };
        let hopeless = error.is_chat_gone();
        if !hopeless && !error.is_message_gone() && item.give_up_something() {
            return Vec::new();
        }
        match call.weight {
            Weight::LastWords if hopeless => self.failed(call, error),
            Weight::LastWords => {
                item.vanished(now);
                vec![Report::Vanished(call.outgoing)]
            }
            _ => {
                item.stop_progress();
                Vec::new()
            }
        }
    }

    fn failed(&mut self, call: &Call, error: &ApiError) -> Vec<Report> {
        let replaced = self.forget(call.outgoing).and_then(|item| item.outgoing().replaces);
        if let Some(replaced) = replaced
            && self.item(replaced).is_some_and(|item| item.outgoing().message.is_none())
        {
            self.forget(replaced);
        }
        vec![Report::Failed { outgoing: call.outgoing, chat: call.chat, reason: error.to_string() }]
    }

    /// A group became a supergroup: what is pending goes there.
    fn moved(&mut self, from: ChatId, to: ChatId, now: Moment) -> Vec<Report> {
        let lane = self.lanes.remove(&from).unwrap_or_else(|| Lane::new(from));
        for (id, item) in lane.items {
            self.chats.remove(&id);
            if let Some(item) = item.moved_to(to, now) {
                self.put(item);
            }
        }
        vec![Report::Moved { from, to }]
    }
}

/// Sends before deletes before edits.
fn rank(weight: Weight) -> u8 {
    match weight {
        Weight::Find | Weight::Sign | Weight::Send => 0,
        Weight::Delete => 1,
        Weight::LastWords => 2,
        Weight::Edit => 3,
    }
}
