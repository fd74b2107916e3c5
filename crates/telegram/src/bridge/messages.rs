//! Messages: who wrote, whether it is for us, and whether it is a command, a note to a card, or a piece of a prompt.

use std::time::Duration;

use tokio::time::Instant;

use super::Bridge;
use super::commands::{self, Call};
use crate::api::{ChatId, Content as UpdateContent, Message, Update, UpdateId, UserId};
use crate::ids::PromptId;
use crate::joining::Sender;
use crate::journal::{Card, JournalError, NewPrompt, Preference, Prompt, PromptState, Rows, Scope};
use crate::permission::{NOBODY_ALLOWED, Verdict};
use crate::piece::{self, Piece};
use crate::plan::Plan;
use crate::prepare;
use crate::press::Press;
use crate::spot::{self, Spot};
use crate::{directives, menu};

/// How often a group is told that nobody may give orders in it.
const EXPLAIN_AGAIN: Duration = Duration::from_secs(3600);
/// What is said about stickers and the like.
const UNREADABLE: &str = "this cannot be given to an engine; send text, voice notes, photos or files";
/// How long something forwarded waits for words about it.
const HOLD: Duration = Duration::from_secs(600);

/// A message from somebody who may.
pub(super) struct Incoming {
    pub update: UpdateId,
    pub message: Message,
    pub sender: UserId,
}

impl Incoming {
    fn key(&self) -> Sender {
        Sender { chat: self.message.chat.id, topic: self.message.topic(), user: self.sender }
    }

    pub fn place(&self) -> Scope {
        Scope { chat: self.message.chat.id, topic: self.message.topic(), sender: None }
    }
}

/// What a message replies to, where that is ours.
#[derive(Default)]
pub(super) struct Target {
    pub prompt: Option<PromptId>,
    pub card: Option<Card>,
}

impl Bridge {
    pub(super) async fn updates(&mut self, updates: Vec<Update>) -> Result<(), JournalError> {
        for update in updates {
            match update.content {
                UpdateContent::Message(message) => self.message(update.update_id, *message).await?,
                UpdateContent::CallbackQuery(query) => self.button(update.update_id, *query).await?,
                UpdateContent::Other => drop(self.take(update.update_id).await?),
            }
        }
        Ok(())
    }

    /// Notes an update as seen; `false` when it was before.
    pub(super) async fn take(&self, update: UpdateId) -> Result<bool, JournalError> {
        self.shared.journal.transact(move |rows| rows.take_update(update)).await
    }

    async fn message(&mut self, update: UpdateId, mut message: Message) -> Result<(), JournalError> {
        if let Some(to) = message.migrate_to_chat_id {
            // Told first and taken then, so that a journal that fails does not lose it.
            self.moved(message.chat.id, to).await?;
            return self.take(update).await.map(drop);
        }
        message.spell_out_links();
        if self.is_for_hub(update, &message).await? {
            return Ok(());
        }
        match (self.shared.settings.permission.of_message(&message), &message.from) {
            (Verdict::Serve, Some(user)) => {
                let sender = user.id;
                self.served(Incoming { update, message, sender }).await
            }
            (Verdict::NobodyAllowed, _) => self.explain(update, &message).await,
            _ => self.take(update).await.map(drop),
        }
    }

    /// Says in a group what is missing, but not all the time.
    async fn explain(&mut self, update: UpdateId, message: &Message) -> Result<(), JournalError> {
        if !self.take(update).await? || !self.may_explain(message.chat.id) {
            return Ok(());
        }
        tracing::warn!(chat = %message.chat.id, "a group is refused: `telegram.allowed_user_ids` is empty");
        self.shared.say(Spot::at(message), NOBODY_ALLOWED).await
    }

    /// Whether nothing was explained in this chat for a while; from now on something was.
    fn may_explain(&mut self, chat: ChatId) -> bool {
        let now = Instant::now();
        let recently = self.explained.get(&chat).is_some_and(|at| now - *at < EXPLAIN_AGAIN);
        if !recently {
            self.explained.insert(chat, now);
        }
        !recently
    }

    /// Something that no engine can be given: whoever sent it hears what can be sent, but not every time.
    async fn unreadable(&mut self, incoming: &Incoming) -> Result<(), JournalError> {
        let message = &incoming.message;
        let taken = self.take(incoming.update).await?;
        if !taken || !message.chat.is_private() || !message.is_unreadable() || !self.may_explain(message.chat.id) {
            return Ok(());
        }
        self.shared.say(Spot::at(message), UNREADABLE).await
    }

    async fn served(&mut self, incoming: Incoming) -> Result<(), JournalError> {
        let text = incoming.message.words().unwrap_or_default().to_owned();
        let names = self.shared.names();
        // What somebody else wrote orders nothing.
        let orders = if incoming.message.is_forwarded() { "" } else { names.addressed(&text) };
        if names.is_for_another_bot(orders) || !self.is_meant(&incoming, &text, orders).await? {
            return self.take(incoming.update).await.map(drop);
        }
        let target = self.target(&incoming).await?;
        let command = orders.split_whitespace().next().and_then(|word| names.command(word));
        let command = command.map(|name| name.to_lowercase());
        match command {
            Some(name) if name == "new" && !after_command(orders).is_empty() => {
                self.begin_anew(incoming, after_command(orders)).await
            }
            Some(name) if menu::is_reserved(&name) || name == "start" => {
                self.command(incoming, target, name, orders).await
            }
            _ => match (target.card, Piece::of(&incoming.message)) {
                (Some(card), Some(piece)) => self.note(incoming, card, piece).await,
                _ => self.piece(incoming, orders, false).await,
            },
        }
    }

    /// In a group that wants it so, only what addresses the bot is for it.
    async fn is_meant(&self, incoming: &Incoming, text: &str, orders: &str) -> Result<bool, JournalError> {
        let place = incoming.place();
        if incoming.message.chat.is_private() {
            return Ok(true);
        }
        let read = move |rows: &mut Rows<'_>| prepare::nearest(rows, place, &Preference::Trigger);
        if self.shared.journal.transact(read).await?.as_deref() != Some("mentions") {
            return Ok(true);
        }
        let me = self.shared.me();
        let name = me.as_ref().map(|me| format!("@{}", me.username.to_lowercase()));
        let mentioned = name.is_some_and(|name| name.len() > 1 && text.to_lowercase().contains(&name));
        let from = incoming.message.replied_to().and_then(|target| target.from.as_ref());
        let replies = from.is_some_and(|from| me.is_some_and(|me| me.id == from.id));
        let first = orders.split_whitespace().next().unwrap_or_default();
        let names = self.shared.names();
        let known = names.command(first).is_some_and(|name| {
            menu::is_reserved(&name)
                || names.engines.iter().any(|engine| engine.as_str().eq_ignore_ascii_case(&name))
                || names.projects.iter().any(|project| project.eq_ignore_ascii_case(&name))
        });
        let continues =
            || Piece::of(&incoming.message).is_some_and(|piece| self.joining.continues(incoming.key(), &piece));
        Ok(mentioned || replies || known || continues())
    }

    async fn target(&self, incoming: &Incoming) -> Result<Target, JournalError> {
        let Some(replied) = incoming.message.replied_to() else { return Ok(Target::default()) };
        // The buttons name their card or prompt also when the receipt for the message is still on its way.
        let press = replied.button_data().and_then(Press::of);
        let (named, cancels) = (press.and_then(Press::card), press.and_then(Press::cancelled));
        let (chat, message) = (incoming.message.chat.id, replied.message_id);
        let read = move |rows: &mut Rows<'_>| {
            let told = rows.outgoing_at(chat, message)?.and_then(|outgoing| outgoing.prompt).or(cancels);
            let prompt = match told {
                Some(prompt) => Some(prompt),
                None => rows.prompt_at(chat, message)?.map(|prompt| prompt.id),
            };
            let card = match named {
                Some(card) => rows.card_in(chat, card)?,
                None => rows.card_at(chat, message)?,
            };
            Ok(Target { prompt, card })
        };
        self.shared.journal.transact(read).await
    }

    async fn command(
        &mut self,
        incoming: Incoming,
        target: Target,
        name: String,
        text: &str,
    ) -> Result<(), JournalError> {
        if !self.take(incoming.update).await? {
            return Ok(());
        }
        if name != "cancel" && !self.joining.is_held(incoming.key()) {
            // What was written before the command is meant before it; what has no words yet goes on waiting for them.
            self.close_window(incoming.key()).await;
        }
        let rest = after_command(text);
        let spot = Spot::at(&incoming.message);
        let call = Call {
            name,
            words: rest.to_owned(),
            spot,
            place: incoming.place(),
            sender: incoming.sender,
            prompt: target.prompt,
            message: incoming.message,
        };
        match commands::run(self, call).await? {
            Some(answer) => self.shared.say(spot, answer).await,
            None => Ok(()),
        }
    }

    /// `/new` with words: they are the first prompt of the new thread.
    async fn begin_anew(&mut self, mut incoming: Incoming, words: &str) -> Result<(), JournalError> {
        if !self.joining.is_held(incoming.key()) {
            self.close_window(incoming.key()).await;
        }
        incoming.message.replace_words(words);
        self.piece(incoming, words, true).await
    }

    /// Puts a message into the prompt it belongs to, and stores both at once; `anew` forgets the thread that would go on.
    async fn piece(&mut self, incoming: Incoming, orders: &str, anew: bool) -> Result<(), JournalError> {
        let Some(piece) = Piece::of(&incoming.message) else {
            return self.unreadable(&incoming).await;
        };
        let names = self.shared.names();
        let directed = directives::parse(orders, &names, false)
            .map_or(true, |found| found.engine.is_some() || found.project.is_some());
        let key = incoming.key();
        let joins = self.joining.prompt_for(key, &piece, directed);
        if joins.is_none() {
            self.close_window(key).await;
        }
        let (update, session) = (incoming.update, incoming.place().session(incoming.sender));
        let new = NewPrompt {
            chat: key.chat,
            topic: key.topic,
            sender: Some(key.user),
            message: piece.message,
            state: PromptState::Gathering,
            thread: None,
            text: String::new(),
            plan: Plan { pieces: vec![piece.clone()], ..Plan::default() },
        };
        let added = piece.clone();
        let store = move |rows: &mut Rows<'_>| {
            if !rows.take_update(update)? {
                return Ok(None);
            }
            if anew {
                rows.forget_sessions(session)?;
            }
            let open = joins.map(|id| rows.prompt(id)).transpose()?.flatten();
            let Some(mut open) = open.filter(|open| open.state == PromptState::Gathering) else {
                return rows.add_prompt(&new).map(Some);
            };
            open.plan.pieces.push(added);
            rows.update_prompt(&open)?;
            Ok(Some(open.id))
        };
        if let Some(prompt) = self.shared.journal.transact(store).await? {
            self.joining.joined(key, prompt, &piece, Instant::now());
        }
        Ok(())
    }

    async fn close_window(&mut self, key: Sender) {
        if let Some((sender, prompt)) = self.joining.close(key) {
            self.window_ended(sender, prompt).await;
        }
    }

    pub(super) async fn windows_ended(&mut self) {
        for (sender, prompt) in self.joining.due(Instant::now()) {
            self.window_ended(sender, prompt).await;
        }
    }

    async fn window_ended(&mut self, sender: Sender, id: PromptId) {
        let read = self.shared.journal.transact(move |rows| rows.prompt(id)).await;
        let done = match read {
            Ok(Some(prompt)) => self.complete(sender, prompt).await,
            Ok(None) => Ok(()),
            Err(error) => Err(error),
        };
        if let Err(error) = done {
            tracing::error!(%error, "a prompt waits because the journal failed");
            self.joining.hold(sender, id, Instant::now(), super::RETRY);
        }
    }

    /// A prompt has all its pieces: off it goes, unless nobody said yet what to do.
    pub(super) async fn complete(&mut self, sender: Sender, prompt: Prompt) -> Result<(), JournalError> {
        let pieces = &prompt.plan.pieces;
        let own = pieces.iter().any(|piece| !piece.forwarded);
        if own || piece::says_something(pieces) {
            self.held.remove(&prompt.id);
            return self.receive(prompt).await;
        }
        let spot = Spot::of(&prompt);
        if !self.held.contains(&prompt.id) {
            self.ask_about(prompt.clone()).await?;
            self.held.insert(prompt.id);
            self.joining.hold(sender, prompt.id, Instant::now(), HOLD);
            return Ok(());
        }
        self.held.remove(&prompt.id);
        let give_up = move |rows: &mut Rows<'_>| {
            rows.finish_prompt(prompt.id)?;
            spot::post(rows, spot, "forgotten: nobody said what to do with it")
        };
        self.shared.journal.transact(give_up).await
    }

    /// Asks what to do with something that came without words: once, also when the bridge starts again meanwhile.
    async fn ask_about(&self, mut prompt: Prompt) -> Result<(), JournalError> {
        if prompt.plan.held {
            return Ok(());
        }
        prompt.plan.held = true;
        let ask = move |rows: &mut Rows<'_>| {
            rows.update_prompt(&prompt)?;
            spot::post(rows, Spot::of(&prompt), "kept for your next message: what should be done with it?")
        };
        self.shared.journal.transact(ask).await
    }

    /// Shows a sign where files have to be fetched first, and finds out where the prompt goes.
    async fn receive(&mut self, mut prompt: Prompt) -> Result<(), JournalError> {
        if piece::files(&prompt.plan.pieces).next().is_some() && prompt.plan.outgoing.is_none() {
            prompt = self.show_receiving(prompt).await?;
        }
        self.take_up(prompt);
        Ok(())
    }
}

/// What follows the first word.
fn after_command(text: &str) -> &str {
    text.trim_start().split_once(char::is_whitespace).map_or("", |(_, rest)| rest.trim())
}
