//! Who spoke last in a channel: what an agent's next message is taken to answer, and how long agents have talked alone.
//!
//! Not stored: a restart begins anew, and what follows then is taken for a beginning.

use crate::Millis;
use crate::ids::*;
use crate::model::Message;

/// More voices than this are a crowd, not a loop: many agents that report into one channel must not stop each other.
const MAX_VOICES: usize = 3;
/// Threads of a channel whose rows are remembered.
const MAX_ROWS: usize = 16;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Talk {
    newest: Option<Heard>,
    /// The newest of somebody other than whoever said the newest.
    other: Option<Heard>,
    rows: Vec<Row>,
}

/// What an answer needs to know of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heard {
    pub sender: MemberId,
    pub root: MessageId,
    pub depth: u32,
    pub at: Millis,
}

/// Agents that take turns without a person between them.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    thread: Option<MessageId>,
    voices: Vec<MemberId>,
    last: MemberId,
    turns: u32,
}

impl Talk {
    /// The newest message that this member may be answering.
    pub fn heard_by(&self, member: MemberId) -> Option<Heard> {
        self.newest.filter(|heard| heard.sender != member).or(self.other.filter(|heard| heard.sender != member))
    }

    /// How many turns of agents there would be in a row with one more of this agent. Several messages of one agent are one
    /// turn: an answer in ten lines is no loop.
    pub fn turns_with(&self, thread: Option<MessageId>, agent: MemberId) -> u32 {
        match self.rows.iter().find(|row| row.thread == thread) {
            Some(row) if row.last == agent => row.turns,
            Some(row) if row.voices.contains(&agent) || row.voices.len() < MAX_VOICES => row.turns + 1,
            _ => 1,
        }
    }

    /// Follows a message. One that an agent said of its own accord is nothing to answer: it began no conversation.
    pub fn follow(&mut self, message: &Message, by_agent: bool) {
        let root = message.root_id();
        if !by_agent {
            self.rows.retain(|row| row.thread != message.thread);
        } else if message.root.is_some() {
            self.count(message.thread, message.sender);
        } else {
            return;
        }
        let heard = Heard { sender: message.sender, root, depth: message.depth, at: message.created_at };
        if self.newest.is_some_and(|newest| newest.sender != heard.sender) {
            self.other = self.newest;
        }
        self.newest = Some(heard);
    }

    fn count(&mut self, thread: Option<MessageId>, agent: MemberId) {
        let turns = self.turns_with(thread, agent);
        let mut row = match self.rows.iter().position(|row| row.thread == thread) {
            Some(at) => self.rows.remove(at),
            None => Row { thread, voices: Vec::new(), last: agent, turns: 0 },
        };
        if turns == 1 {
            row.voices.clear();
        }
        if !row.voices.contains(&agent) {
            row.voices.push(agent);
        }
        row.last = agent;
        row.turns = turns;
        self.rows.push(row);
        if self.rows.len() > MAX_ROWS {
            self.rows.remove(0);
        }
    }
}
