//! The task that delivers, against a fake Bot API on loopback, with what can go wrong there.

use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::api::{Address, Bot, Button, ChatId, Entity, EntityKind, Keyboard, MessageId, MessageText};
use crate::fake_api::{FakeApi, Fault, Reply, TOKEN};
use crate::ids::OutgoingId;
use crate::journal::{Content, Draft, Journal, Outgoing, OutgoingKind, OutgoingState};
use crate::outbox::{Outbox, Outcome, Outcomes};
use crate::text::{self, Rendered};

const PERSON: i64 = 7;
const GROUP: i64 = -1_000_000_000_500;

/// A bot with its journal and outbox, and the server it talks to.
struct Rig {
    api: FakeApi,
    folder: TempDir,
    journal: Journal,
    outbox: Outbox,
    outcomes: Outcomes,
}

impl Rig {
    async fn start() -> Self {
        let api = FakeApi::start().await;
        api.with(|world| {
            world.add_private(PERSON);
            world.add_group(GROUP);
        });
        Self::start_on(api, tempfile::tempdir().expect("a folder")).await
    }

    async fn start_on(api: FakeApi, folder: TempDir) -> Self {
        let bot = Bot::new(&api.base(), TOKEN).expect("a bot");
        let (journal, orders) = Journal::open(folder.path()).expect("a journal");
        let interval = Duration::from_millis(50);
        let (outbox, outcomes) = Outbox::start(bot, journal.clone(), orders, interval).await.expect("an outbox");
        Self { api, folder, journal, outbox, outcomes }
    }

    /// As a kill does: nothing is finished, only what is on disk remains.
    async fn restart(self) -> Self {
        let Self { api, folder, journal, outbox, .. } = self;
        drop((outbox, journal));
        Self::start_on(api, folder).await
    }

    async fn post(&self, draft: Draft) -> OutgoingId {
        self.journal.transact(move |rows| rows.post(&draft)).await.expect("posted")
    }

    async fn revise(&self, outgoing: OutgoingId, text: &str) {
        let content = says(text);
        self.journal.transact(move |rows| rows.revise(outgoing, &content)).await.expect("revised");
    }

    async fn outgoing(&self, id: OutgoingId) -> Outgoing {
        self.journal.transact(move |rows| rows.outgoing(id)).await.expect("read").expect("an outgoing message")
    }

    /// Waits until an outgoing message has come to an end.
    async fn outcome(&mut self) -> Outcome {
        let next = tokio::time::timeout(Duration::from_secs(20), self.outcomes.recv());
        next.await.expect("an outcome in time").expect("an outcome")
    }

    async fn drained(&self) {
        assert!(self.outbox.drain(Duration::from_secs(20)).await, "something is still pending");
    }

    fn texts(&self, chat: i64) -> Vec<String> {
        self.api.shown(chat).into_iter().map(|message| message.text).collect()
    }
}

fn says(text: &str) -> Content {
    Content::new(text::plain(text))
}

fn answer(text: &str) -> Draft {
    Draft::new(ChatId(PERSON), OutgoingKind::Answer, says(text))
}

fn sign(chat: i64) -> Draft {
    let cancel = Keyboard::row([Button::new("cancel", "cancel")]);
    Draft::new(ChatId(chat), OutgoingKind::Sign, Content::with_keyboard(text::plain("starting"), cancel))
}

#[tokio::test]
async fn a_message_arrives_and_its_number_is_known() {
    let mut rig = Rig::start().await;
    let asked = rig.api.say(PERSON, PERSON, "fix it");
    let draft = Draft { reply_to: Some(MessageId(asked)), silent: true, ..sign(PERSON) };
    let outgoing = rig.post(draft).await;
    let Outcome::Arrived { outgoing: arrived, message, .. } = rig.outcome().await else { panic!("not arrived") };
    assert_eq!(arrived, outgoing);
    let shown = rig.api.shown(PERSON).remove(0);
    assert_eq!((shown.id, shown.reply_to, shown.silent), (message.0, Some(asked), true));
    assert_eq!(shown.buttons(), ["cancel"]);
    let found = rig.journal.transact(move |rows| rows.outgoing_at(ChatId(PERSON), message)).await.unwrap();
    assert_eq!(found.map(|outgoing| outgoing.id), Some(outgoing));
}

#[tokio::test]
async fn a_final_answer_replaces_its_progress_message() {
    let rig = Rig::start().await;
    let progress = rig.post(sign(PERSON)).await;
    rig.drained().await;
    rig.post(Draft { replaces: Some(progress), ..answer("done") }).await;
    rig.journal.show(progress, says("late progress"));
    rig.drained().await;
    assert_eq!(rig.texts(PERSON), ["done"]);
    assert!(rig.api.calls("editMessageText").is_empty(), "nobody edits what is being replaced");
    assert_eq!(rig.outgoing(progress).await.state, OutgoingState::Gone);
}

#[tokio::test]
async fn a_server_that_answers_null_has_taken_the_message_and_it_is_not_sent_twice() {
    let rig = Rig::start().await;
    rig.api.fail_next("sendMessage", Fault::Reply(Reply::ok(Value::Null)), 3);
    let progress = rig.post(sign(PERSON)).await;
    rig.drained().await;
    assert_eq!(rig.outgoing(progress).await.state, OutgoingState::Settled);
    rig.journal.show(progress, says("working"));
    let second = rig.post(answer("an answer")).await;
    rig.drained().await;
    let sent = |rig: &Rig| rig.api.calls("sendMessage").len();
    assert_eq!((sent(&rig), rig.api.calls("editMessageText").len()), (2, 0), "nobody knows what to edit");
    // Last words need a message of their own; then there is nothing that could be removed.
    rig.journal.transact(move |rows| rows.revise(second, &says("last words"))).await.unwrap();
    rig.drained().await;
    assert_eq!(sent(&rig), 3);
    rig.post(Draft { replaces: Some(progress), ..answer("done") }).await;
    rig.drained().await;
    assert_eq!((sent(&rig), rig.api.calls("deleteMessage").len()), (4, 0));
    assert_eq!(rig.outgoing(progress).await.state, OutgoingState::Gone);
    assert_eq!(rig.texts(PERSON), ["done"]);
}

#[tokio::test]
async fn a_502_on_the_final_send_does_not_lose_the_answer() {
    let rig = Rig::start().await;
    rig.api.fail_next("sendMessage", Fault::Status(502), 2);
    rig.post(answer("the answer")).await;
    rig.drained().await;
    assert_eq!(rig.texts(PERSON), ["the answer"]);
    assert_eq!(rig.api.calls("sendMessage").len(), 3);
}

#[tokio::test]
async fn a_429_holds_up_its_own_chat_only() {
    let rig = Rig::start().await;
    rig.api.fail_next("sendMessage", Fault::too_many(5), 1);
    rig.post(Draft::new(ChatId(GROUP), OutgoingKind::Answer, says("held"))).await;
    rig.api.wait("the 429", |world| world.calls.iter().any(|call| call.status == 429).then_some(())).await;
    rig.post(answer("free")).await;
    rig.api.wait_shown(PERSON, "the other chat's message", |message| message.text == "free").await;
    assert_eq!(rig.texts(GROUP), [""; 0], "still held");
    rig.drained().await;
    assert_eq!(rig.texts(GROUP), ["held"]);
    assert_eq!(rig.api.with(|world| world.pace.violations), 0, "nobody calls during the pause");
}

#[tokio::test]
async fn entities_that_are_refused_give_way_to_plain_text() {
    let rig = Rig::start().await;
    let entity = Entity { kind: EntityKind::Bold, offset: 0, length: 99, url: None, language: None };
    let rendered = Rendered { text: "the answer".into(), entities: vec![entity] };
    rig.post(Draft { content: Content::new(rendered), ..answer("") }).await;
    rig.drained().await;
    assert_eq!(rig.texts(PERSON), ["the answer"]);
}

#[tokio::test]
async fn what_is_refused_whole_arrives_at_least_in_part() {
    let rig = Rig::start().await;
    let rendered = Rendered { text: "x".repeat(5000), entities: Vec::new() };
    rig.post(Draft { content: Content::new(rendered), ..answer("") }).await;
    rig.drained().await;
    assert_eq!(rig.texts(PERSON), [format!("{}…", "x".repeat(1000))]);
}

#[tokio::test]
async fn the_resume_line_is_kept_in_the_last_resort() {
    let rig = Rig::start().await;
    rig.api.fail_next("sendMessage", Fault::refused("Bad Request: message text is strange"), 2);
    rig.post(answer(&format!("done · codex · 5s\n\n{}\n\nctx: web\ncodex resume 019a-77", "word ".repeat(600)))).await;
    rig.drained().await;
    let texts = rig.texts(PERSON);
    assert!(texts[0].starts_with("done · codex · 5s\n\nword word"), "{texts:?}");
    assert!(texts[0].ends_with("…\n\nctx: web\ncodex resume 019a-77"), "{texts:?}");
    assert!(texts[0].chars().count() < 1100, "{texts:?}");
}

#[tokio::test]
async fn a_message_that_is_not_modified_is_done() {
    let rig = Rig::start().await;
    let outgoing = rig.post(sign(PERSON)).await;
    rig.drained().await;
    let same = sign(PERSON).content;
    rig.journal.transact(move |rows| rows.revise(outgoing, &same)).await.unwrap();
    rig.drained().await;
    assert_eq!(rig.outgoing(outgoing).await.state, OutgoingState::Settled);
    assert_eq!(rig.api.calls("editMessageText").last().unwrap().status, 400);
}

#[tokio::test]
async fn last_words_of_a_message_that_was_deleted_are_sent_anew() {
    let rig = Rig::start().await;
    let outgoing = rig.post(sign(PERSON)).await;
    rig.drained().await;
    rig.api.with(|world| world.chat(PERSON).messages.values_mut().for_each(|message| message.deleted = true));
    rig.revise(outgoing, "cancelled").await;
    rig.drained().await;
    assert_eq!(rig.texts(PERSON), ["cancelled"]);
}

#[tokio::test]
async fn a_message_that_cannot_be_removed_loses_its_words_and_its_buttons() {
    let rig = Rig::start().await;
    let outgoing = rig.post(sign(PERSON)).await;
    rig.drained().await;
    rig.api.fail_next("deleteMessage", Fault::refused("Bad Request: message can't be deleted for everyone"), 1);
    rig.journal.transact(move |rows| rows.remove(outgoing)).await.unwrap();
    rig.drained().await;
    let left = rig.api.shown(PERSON).remove(0);
    assert_eq!(left.text, "over");
    assert!(left.buttons().is_empty());
    assert_eq!(rig.outgoing(outgoing).await.state, OutgoingState::Gone);
}

#[tokio::test]
async fn a_chat_that_is_gone_fails_visibly_and_holds_up_nobody() {
    let mut rig = Rig::start().await;
    rig.api.with(|world| world.chat(GROUP).closed = Some("Forbidden: bot was kicked from the supergroup chat"));
    let outgoing = rig.post(Draft::new(ChatId(GROUP), OutgoingKind::Answer, says("lost"))).await;
    let Outcome::Failed { outgoing: failed, reason, .. } = rig.outcome().await else { panic!("not failed") };
    assert_eq!(failed, outgoing);
    assert!(reason.contains("kicked"), "{reason}");
    let stored = rig.journal.transact(|rows| rows.failed_outgoing()).await.unwrap();
    assert_eq!(stored.len(), 1);
    assert_eq!(stored[0].content, says("lost"), "what it would have said can still be read");
    rig.post(answer("here")).await;
    rig.drained().await;
    assert_eq!(rig.texts(PERSON), ["here"]);
}

#[tokio::test]
async fn a_topic_that_is_gone_does_not_swallow_the_answer() {
    let rig = Rig::start().await;
    rig.api.with(|world| world.add_forum(-1_000_000_000_900).id);
    let draft = Draft::new(ChatId(-1_000_000_000_900), OutgoingKind::Answer, says("still here"));
    rig.post(Draft { topic: Some(crate::api::TopicId(77)), ..draft }).await;
    rig.drained().await;
    assert_eq!(rig.texts(-1_000_000_000_900), ["still here"]);
}

#[tokio::test]
async fn a_group_that_became_a_supergroup_gets_what_is_owed() {
    let mut rig = Rig::start().await;
    rig.api.with(|world| world.add_group(-77).moved_to = Some(GROUP));
    let outgoing = rig.post(Draft::new(ChatId(-77), OutgoingKind::Answer, says("moved"))).await;
    assert_eq!(rig.outcome().await, Outcome::Moved { from: ChatId(-77), to: ChatId(GROUP) });
    rig.drained().await;
    assert_eq!(rig.texts(GROUP), ["moved"]);
    assert_eq!(rig.outgoing(outgoing).await.chat, ChatId(GROUP));
}

#[tokio::test]
async fn what_was_stored_is_delivered_after_a_crash() {
    let rig = Rig::start().await;
    rig.api.fail_next("sendMessage", Fault::Hang, 1);
    rig.post(answer("one")).await;
    rig.post(answer("two")).await;
    rig.api.wait("the first attempt", |world| (!world.calls.is_empty()).then_some(())).await;
    let rig = rig.restart().await;
    rig.drained().await;
    assert_eq!(rig.texts(PERSON), ["one", "two"]);
}

#[tokio::test]
async fn an_answer_whose_receipt_was_lost_is_not_sent_twice() {
    for lost_in_a_crash in [false, true] {
        let mut rig = Rig::start().await;
        let asked = rig.api.say(PERSON, PERSON, "a question");
        rig.api.say(PERSON, PERSON, "a message in between");
        rig.api.fail_next("sendMessage", Fault::BeforeAnswer, 1);
        let outgoing = rig.post(Draft { reply_to: Some(MessageId(asked)), ..answer("the answer") }).await;
        rig.api.wait_shown(PERSON, "the answer", |message| message.text == "the answer").await;
        if lost_in_a_crash {
            rig = rig.restart().await;
        }
        rig.drained().await;
        assert_eq!(rig.texts(PERSON), ["the answer"]);
        assert_eq!(rig.outgoing(outgoing).await.state, OutgoingState::Settled);
    }
}

#[tokio::test]
async fn progress_is_shown_but_only_the_newest() {
    let rig = Rig::start().await;
    let outgoing = rig.post(sign(PERSON)).await;
    rig.drained().await;
    (0..50).for_each(|n| rig.journal.show(outgoing, says(&format!("step {n}"))));
    let shown = rig.api.wait_shown(PERSON, "the last step", |message| message.text == "step 49").await;
    assert_eq!(shown.history, ["starting"]);
    rig.journal.show(outgoing, says("step 49"));
    rig.revise(outgoing, "cancelled").await;
    rig.drained().await;
    assert_eq!(rig.texts(PERSON), ["cancelled"]);
}

#[tokio::test]
async fn signs_do_not_wait_for_the_pace_of_answers() {
    let rig = Rig::start().await;
    for number in 0..4 {
        rig.post(answer(&number.to_string())).await;
    }
    rig.post(sign(PERSON)).await;
    rig.api.wait_shown(PERSON, "the sign", |message| message.text == "starting").await;
    assert!(rig.texts(PERSON).len() < 5, "answers before it still wait");
}

#[tokio::test]
async fn a_message_removed_before_it_was_sent_never_appears() {
    let rig = Rig::start().await;
    rig.api.fail_next("sendMessage", Fault::too_many(1), 1);
    let outgoing = rig.post(answer("never")).await;
    rig.journal.transact(move |rows| rows.remove(outgoing)).await.unwrap();
    rig.drained().await;
    assert_eq!(rig.texts(PERSON), Vec::<String>::new());
    assert_eq!(rig.outgoing(outgoing).await.state, OutgoingState::Gone);
}

#[tokio::test]
async fn many_chats_at_once_all_get_their_message() {
    let rig = Rig::start().await;
    for chat in 1000..1070 {
        rig.api.with(|world| world.add_private(chat).id);
        rig.post(Draft::new(ChatId(chat), OutgoingKind::Answer, says("x"))).await;
    }
    rig.drained().await;
    // How fast is a matter of the rules, which are tested with a clock that no busy machine can disturb.
    assert!((1000..1070).all(|chat| rig.texts(chat) == ["x"]));
}

#[tokio::test]
async fn orders_that_are_older_than_what_is_known_change_nothing() {
    let api = FakeApi::start().await;
    api.with(|world| world.add_private(PERSON).id);
    let folder = tempfile::tempdir().expect("a folder");
    let bot = Bot::new(&api.base(), TOKEN).expect("a bot");
    let (journal, orders) = Journal::open(folder.path()).expect("a journal");
    // One that waits, and one that has arrived since its orders were given; both orders are still in the queue.
    journal.transact(|rows| rows.post(&answer("once"))).await.unwrap();
    let to = Address { chat: ChatId(PERSON), topic: None, reply_to: None, silent: false };
    let first = MessageText { text: "first words", entities: &[], keyboard: &Keyboard::none() };
    let sent = bot.send_message(to, first).await.unwrap().map(|sent| sent.message_id);
    let outgoing = journal.transact(|rows| rows.post(&answer("first words"))).await.unwrap();
    journal.transact(move |rows| rows.revise(outgoing, &says("last words"))).await.unwrap();
    journal.transact(move |rows| rows.mark_arrived(outgoing, sent, 0)).await.unwrap();
    let (outbox, outcomes) = Outbox::start(bot, journal.clone(), orders, Duration::ZERO).await.expect("an outbox");
    let rig = Rig { api, folder, journal, outbox, outcomes };
    rig.post(answer("afterwards")).await;
    rig.api.wait_shown(PERSON, "the last one", |message| message.text == "afterwards").await;
    rig.drained().await;
    assert_eq!(rig.texts(PERSON), ["last words", "once", "afterwards"]);
}
