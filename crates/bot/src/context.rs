//! What the bot remembers of a channel, and how much of it the model gets to read (section 14, "Message Handling").

use std::collections::VecDeque;

use folkmoot_clients::llm::{Content, Message, Part};

use crate::tokens;

/// What every message costs besides its text.
const MESSAGE_TOKENS: usize = 4;

/// Something that was said in a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// Counts up; later is larger.
    pub number: u64,
    pub is_own: bool,
    pub nick: String,
    pub text: String,
}

/// The recent messages of one channel.
#[derive(Debug, Default)]
pub struct History {
    said: VecDeque<Said>,
    next: u64,
}

impl History {
    /// Remembers a message, forgets the oldest beyond `most`, and returns its number.
    pub fn push(&mut self, most: usize, is_own: bool, nick: &str, text: &str) -> u64 {
        let number = self.next;
        self.next += 1;
        self.said.push_back(Said { number, is_own, nick: nick.to_owned(), text: text.to_owned() });
        while self.said.len() > most.max(1) {
            self.said.pop_front();
        }
        number
    }

    /// The bot's own message comes back from the server; it may be known already.
    pub fn push_own(&mut self, most: usize, nick: &str, text: &str) {
        let known = self.said.iter().rev().take(10).any(|said| said.is_own && said.text == text);
        if !known {
            self.push(most, true, nick, text);
        }
    }

    /// What leads up to a question: everything before it, what the bot answered since, and the question last.
    pub fn up_to(&self, number: u64) -> Vec<Said> {
        let before = self.said.iter().filter(|said| said.number < number || (said.is_own && said.number > number));
        let question = self.said.iter().filter(|said| said.number == number);
        before.chain(question).cloned().collect()
    }
}

/// How much the model gets.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    pub messages: usize,
    pub tokens: usize,
}

/// The newest part of a conversation that fits the budget. The first message (who the bot is) and the last question
/// always stay, shortened if need be; a call of a tool and its results stay or go together.
pub fn fit(messages: Vec<Message>, budget: Budget, count: impl Fn(&str) -> usize) -> Vec<Message> {
    let at_most: usize = messages.iter().map(|message| cost(message, &tokens::at_most)).sum();
    if messages.len() <= budget.messages && at_most <= budget.tokens {
        return messages;
    }
    let mut groups = groups(messages);
    let needed = |index: usize, groups: &[Vec<Message>]| index == 0 || index == question(groups);
    let mut left = Budget { messages: budget.messages, tokens: budget.tokens };
    for index in 0..groups.len() {
        if needed(index, &groups) {
            left.take(&groups[index], &count);
        }
    }
    let mut keep = vec![false; groups.len()];
    for index in (0..groups.len()).rev() {
        keep[index] = needed(index, &groups) || left.take_if_it_fits(&groups[index], &count);
        if !keep[index] {
            // A hole in the middle of a conversation misleads more than an early end.
            left.messages = 0;
        }
    }
    let mut kept = keep.into_iter();
    groups.retain(|_| kept.next().unwrap_or(false));
    let mut fitting: Vec<Message> = groups.into_iter().flatten().collect();
    shorten(&mut fitting, budget.tokens, &count);
    fitting
}

impl Budget {
    fn take(&mut self, group: &[Message], count: &impl Fn(&str) -> usize) {
        self.messages = self.messages.saturating_sub(group.len());
        self.tokens = self.tokens.saturating_sub(group.iter().map(|message| cost(message, count)).sum());
    }

    fn take_if_it_fits(&mut self, group: &[Message], count: &impl Fn(&str) -> usize) -> bool {
        if group.len() > self.messages {
            return false;
        }
        let tokens: usize = group.iter().map(|message| cost(message, count)).sum();
        let fits = tokens <= self.tokens;
        if fits {
            self.messages -= group.len();
            self.tokens -= tokens;
        }
        fits
    }
}

/// Messages that belong together: an assistant's calls and the results that follow.
fn groups(messages: Vec<Message>) -> Vec<Vec<Message>> {
    let mut groups: Vec<Vec<Message>> = Vec::new();
    for message in messages {
        match (&message, groups.last_mut()) {
            (Message::Tool { .. }, Some(group)) => group.push(message),
            _ => groups.push(vec![message]),
        }
    }
    groups
}

/// The group of the last thing that a user said.
fn question(groups: &[Vec<Message>]) -> usize {
    groups.iter().rposition(|group| matches!(group[0], Message::User { .. })).unwrap_or(0)
}

fn cost(message: &Message, count: &impl Fn(&str) -> usize) -> usize {
    let text = match message {
        Message::System { content } | Message::Tool { content, .. } => count(content),
        Message::User { content: Content::Text(text), .. } => count(text),
        Message::User { content: Content::Parts(parts), .. } => parts.iter().map(|part| part_cost(part, count)).sum(),
        Message::Assistant { content, tool_calls } => {
            let calls = tool_calls.iter().map(|call| count(&call.function.name) + count(&call.function.arguments));
            content.as_deref().map_or(0, count) + calls.sum::<usize>()
        }
    };
    text + MESSAGE_TOKENS
}

fn part_cost(part: &Part, count: &impl Fn(&str) -> usize) -> usize {
    match part {
        Part::Text { text } => count(text),
        Part::ImageUrl { .. } => tokens::IMAGE_TOKENS,
    }
}

/// Halves the longest text until all fits.
fn shorten(messages: &mut [Message], budget: usize, count: &impl Fn(&str) -> usize) {
    while messages.iter().map(|message| cost(message, count)).sum::<usize>() > budget {
        let longest = messages.iter_mut().filter_map(text_of).max_by_key(|text| text.len());
        match longest {
            Some(text) if text.len() > 64 => halve(text),
            _ => return,
        }
    }
}

fn text_of(message: &mut Message) -> Option<&mut String> {
    match message {
        Message::System { content } | Message::Tool { content, .. } => Some(content),
        Message::User { content: Content::Text(text), .. } => Some(text),
        Message::User { content: Content::Parts(parts), .. } => parts.iter_mut().find_map(|part| match part {
            Part::Text { text } => Some(text),
            Part::ImageUrl { .. } => None,
        }),
        Message::Assistant { content, .. } => content.as_mut(),
    }
}

fn halve(text: &mut String) {
    text.truncate(text.floor_char_boundary(text.len() / 2 - '…'.len_utf8()));
    text.push('…');
}

#[cfg(test)]
#[path = "context_tests.rs"]
mod tests;
