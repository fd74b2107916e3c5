//! What the journal keeps, also through a crash.

use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::api::{ChatId, MessageId, TopicId, UserId};
use crate::plan::Plan;
use crate::text;

const CHAT: ChatId = ChatId(7);

fn open() -> (TempDir, Journal, Orders) {
    let folder = tempfile::tempdir().expect("a folder");
    let (journal, orders) = Journal::open(folder.path()).expect("a journal");
    (folder, journal, orders)
}

fn says(text: &str) -> Content {
    Content::new(text::plain(text))
}

fn prompt(text: &str) -> NewPrompt {
    NewPrompt {
        chat: CHAT,
        topic: Some(TopicId(3)),
        sender: Some(UserId(9)),
        message: MessageId(40),
        state: PromptState::Gathering,
        thread: None,
        text: text.into(),
        plan: Plan { engine: Some("codex".into()), ..Plan::default() },
    }
}

fn draft(text: &str) -> Draft {
    Draft::new(CHAT, OutgoingKind::Answer, says(text))
}

async fn state(journal: &Journal, outgoing: OutgoingId) -> (OutgoingState, Option<MessageId>) {
    let outgoing = journal.transact(move |rows| rows.outgoing(outgoing)).await.unwrap().unwrap();
    (outgoing.state, outgoing.message)
}

#[tokio::test]
async fn an_update_counts_once_and_fetching_goes_on_behind_the_last() {
    let (folder, journal, _orders) = open();
    assert_eq!(journal.transact(|rows| rows.next_update()).await, Ok(None));
    assert_eq!(journal.transact(|rows| rows.take_update(UpdateId(500))).await, Ok(true));
    assert_eq!(journal.transact(|rows| rows.take_update(UpdateId(500))).await, Ok(false));
    // After a week of silence Telegram begins anew with any number.
    assert_eq!(journal.transact(|rows| rows.take_update(UpdateId(30))).await, Ok(true));
    drop(journal);
    let (journal, _orders) = Journal::open(folder.path()).unwrap();
    assert_eq!(journal.transact(|rows| rows.take_update(UpdateId(500))).await, Ok(false));
    assert_eq!(journal.transact(|rows| rows.next_update()).await, Ok(Some(UpdateId(31))));
}

#[tokio::test]
async fn only_so_many_updates_are_remembered() {
    let (_folder, journal, _orders) = open();
    let many = journal.transact(|rows| (0..5000).try_for_each(|id| rows.take_update(UpdateId(id)).map(drop))).await;
    assert_eq!(many, Ok(()));
    assert_eq!(journal.transact(|rows| rows.take_update(UpdateId(1000))).await, Ok(false));
    assert_eq!(journal.transact(|rows| rows.take_update(UpdateId(800))).await, Ok(true));
}

#[tokio::test]
async fn what_fails_half_way_did_not_happen() {
    let (_folder, journal, mut orders) = open();
    let failed = journal
        .transact(|rows| {
            rows.take_update(UpdateId(1))?;
            rows.add_prompt(&prompt("x"))?;
            rows.post(&draft("x"))?;
            Err::<(), _>(JournalError::Unreadable("no".into()))
        })
        .await;
    assert_eq!(failed, Err(JournalError::Unreadable("no".into())));
    assert_eq!(journal.transact(|rows| rows.take_update(UpdateId(1))).await, Ok(true));
    assert_eq!(journal.transact(|rows| rows.open_prompts()).await, Ok(Vec::new()));
    assert!(orders.try_recv().is_err(), "the outbox hears nothing of it");
}

#[tokio::test]
async fn the_outbox_has_heard_of_a_message_before_its_author_goes_on() {
    let (_folder, journal, mut orders) = open();
    let outgoing = journal.transact(|rows| rows.post(&draft("a"))).await.unwrap();
    journal.show(outgoing, says("b"));
    assert!(matches!(orders.try_recv(), Ok(Order::Post(posted)) if posted.id == outgoing));
    assert_eq!(orders.try_recv(), Ok(Order::Show { outgoing, content: says("b") }));
}

#[tokio::test]
async fn prompts_stay_until_they_are_done_and_are_done_once() {
    let (folder, journal, _orders) = open();
    let id = journal.transact(|rows| rows.add_prompt(&prompt("fix it"))).await.unwrap();
    let mut stored = journal.transact(move |rows| rows.prompt(id)).await.unwrap().unwrap();
    assert_eq!((stored.topic, stored.sender, stored.message), (Some(TopicId(3)), Some(UserId(9)), MessageId(40)));
    stored.state = PromptState::Queued;
    stored.thread = Some("codex:1".into());
    stored.text = "fix it, please".into();
    let changed = stored.clone();
    journal.transact(move |rows| rows.update_prompt(&changed)).await.unwrap();
    journal.transact(move |rows| rows.set_prompt_state(id, PromptState::Running)).await.unwrap();
    drop(journal);
    let (journal, _orders) = Journal::open(folder.path()).unwrap();
    let left = journal.transact(|rows| rows.open_prompts()).await.unwrap();
    assert_eq!((left.len(), left[0].state, left[0].text.as_str()), (1, PromptState::Running, "fix it, please"));
    assert_eq!(left[0].plan.engine, Some("codex".into()));
    assert_eq!(journal.transact(move |rows| rows.finish_prompt(id)).await, Ok(true));
    assert_eq!(journal.transact(move |rows| rows.finish_prompt(id)).await, Ok(false));
    assert_eq!(journal.transact(|rows| rows.open_prompts()).await, Ok(Vec::new()));
    let done = journal.transact(move |rows| rows.prompt(id)).await.unwrap().unwrap();
    assert_eq!(done.text, "", "what was asked is not kept longer than needed");
}

#[tokio::test]
async fn a_message_goes_through_its_states() {
    let (_folder, journal, _orders) = open();
    let outgoing = journal.transact(|rows| rows.post(&draft("a"))).await.unwrap();
    assert_eq!(state(&journal, outgoing).await, (OutgoingState::Waiting, None));
    journal.transact(move |rows| rows.mark_arrived(outgoing, Some(MessageId(50)), 0)).await.unwrap();
    assert_eq!(state(&journal, outgoing).await, (OutgoingState::Settled, Some(MessageId(50))));
    let stored = journal.transact(move |rows| rows.outgoing_at(CHAT, MessageId(50))).await.unwrap().unwrap();
    assert_eq!((stored.id, stored.content.rendered.text.as_str()), (outgoing, ""), "what was said is not kept");
    journal.transact(move |rows| rows.revise(outgoing, &says("b"))).await.unwrap();
    assert_eq!(state(&journal, outgoing).await.0, OutgoingState::Changed);
    journal.transact(move |rows| rows.revise(outgoing, &says("c"))).await.unwrap();
    journal.transact(move |rows| rows.mark_edited(outgoing, 1)).await.unwrap();
    assert_eq!(state(&journal, outgoing).await.0, OutgoingState::Changed, "newer words are still pending");
    journal.transact(move |rows| rows.mark_edited(outgoing, 2)).await.unwrap();
    assert_eq!(state(&journal, outgoing).await.0, OutgoingState::Settled);
    journal.transact(move |rows| rows.remove(outgoing)).await.unwrap();
    assert_eq!(state(&journal, outgoing).await.0, OutgoingState::Leaving);
    journal.transact(move |rows| rows.mark_gone(outgoing)).await.unwrap();
    journal.transact(move |rows| rows.revise(outgoing, &says("d"))).await.unwrap();
    assert_eq!(state(&journal, outgoing).await.0, OutgoingState::Gone, "nothing happens to what is gone");
}

#[tokio::test]
async fn words_that_changed_on_the_way_are_owed_after_the_arrival() {
    let (_folder, journal, _orders) = open();
    let outgoing = journal.transact(|rows| rows.post(&draft("a"))).await.unwrap();
    journal.transact(move |rows| rows.revise(outgoing, &says("b"))).await.unwrap();
    journal.transact(move |rows| rows.mark_arrived(outgoing, Some(MessageId(50)), 0)).await.unwrap();
    assert_eq!(state(&journal, outgoing).await.0, OutgoingState::Changed);
}

#[tokio::test]
async fn a_final_message_that_arrived_takes_the_progress_message_away_in_the_same_commit() {
    let (_folder, journal, mut orders) = open();
    let progress = journal.transact(|rows| rows.post(&draft("working"))).await.unwrap();
    journal.transact(move |rows| rows.mark_arrived(progress, Some(MessageId(50)), 0)).await.unwrap();
    let last = Draft { replaces: Some(progress), ..draft("done") };
    let last = journal.transact(move |rows| rows.post(&last)).await.unwrap();
    assert_eq!(state(&journal, progress).await.0, OutgoingState::Settled);
    journal.transact(move |rows| rows.mark_arrived(last, Some(MessageId(51)), 0)).await.unwrap();
    assert_eq!(state(&journal, progress).await.0, OutgoingState::Leaving);
    let told: Vec<Order> = std::iter::from_fn(|| orders.try_recv().ok()).collect();
    assert!(matches!(told.last(), Some(Order::Remove(outgoing)) if outgoing.id == progress));
}

#[tokio::test]
async fn messages_of_a_prompt_are_found_again() {
    let (_folder, journal, _orders) = open();
    let id = journal.transact(|rows| rows.add_prompt(&prompt("x"))).await.unwrap();
    let outgoing = Draft { prompt: Some(id), ..draft("working") };
    let outgoing = journal.transact(move |rows| rows.post(&outgoing)).await.unwrap();
    let found = journal.transact(move |rows| rows.outgoing_of(id)).await.unwrap();
    assert_eq!(found.iter().map(|outgoing| outgoing.id).collect::<Vec<_>>(), [outgoing]);
}

#[tokio::test]
async fn preferences_belong_to_their_scope() {
    let (_folder, journal, _orders) = open();
    let scopes = [Scope::chat(CHAT), Scope::topic(CHAT, TopicId(3)), Scope::chat(CHAT).of(UserId(9))];
    for (number, scope) in scopes.into_iter().enumerate() {
        let value = number.to_string();
        journal.transact(move |rows| rows.prefer(scope, &Preference::Engine, Some(&value))).await.unwrap();
    }
    for (number, scope) in scopes.into_iter().enumerate() {
        let found = journal.transact(move |rows| rows.preference(scope, &Preference::Engine)).await.unwrap();
        assert_eq!(found, Some(number.to_string()));
    }
    journal.transact(move |rows| rows.prefer(scopes[0], &Preference::Engine, None)).await.unwrap();
    assert_eq!(journal.transact(move |rows| rows.preference(scopes[0], &Preference::Engine)).await, Ok(None));
    let topics = journal.transact(|rows| rows.topics_with(CHAT, &Preference::Engine)).await.unwrap();
    assert_eq!(topics, [(TopicId(3), "1".to_owned())]);
}

#[tokio::test]
async fn forgetting_sessions_leaves_the_preferences() {
    let (_folder, journal, _orders) = open();
    let scope = Scope::chat(CHAT);
    let forgotten = journal.transact(move |rows| {
        rows.prefer(scope, &Preference::session(&"codex".into(), None), Some("abc"))?;
        rows.prefer(scope, &Preference::session(&"pi".into(), None), Some("def"))?;
        rows.prefer(scope, &Preference::Model("codex".into()), Some("o9"))?;
        rows.forget_sessions(scope)
    });
    assert_eq!(forgotten.await, Ok(2));
    let model = journal.transact(move |rows| rows.preference(scope, &Preference::Model("codex".into()))).await;
    assert_eq!(model, Ok(Some("o9".into())));
}

#[tokio::test]
async fn a_decision_counts_once() {
    let (_folder, journal, _orders) = open();
    let card = NewCard { prompt: None, ask: "q1".into(), body: json!({ "title": "rm" }) };
    let id = journal.transact(move |rows| rows.add_card(&card)).await.unwrap();
    let outgoing = journal.transact(|rows| rows.post(&draft("may I?"))).await.unwrap();
    journal.transact(move |rows| rows.place_card(id, outgoing, outgoing)).await.unwrap();
    assert_eq!(journal.transact(move |rows| rows.decide_card(id, "allow", UserId(9))).await, Ok(true));
    assert_eq!(journal.transact(move |rows| rows.decide_card(id, "deny", UserId(8))).await, Ok(false));
    assert_eq!(journal.transact(move |rows| rows.withdraw_card(id)).await, Ok(false));
    let card = journal.transact(move |rows| rows.card_of(outgoing)).await.unwrap().unwrap();
    assert_eq!(
        (card.state, card.decision.as_deref(), card.decided_by),
        (CardState::Decided, Some("allow"), Some(UserId(9)))
    );
    assert_eq!(journal.transact(|rows| rows.open_cards()).await, Ok(Vec::new()));
}

#[tokio::test]
async fn only_what_is_settled_is_forgotten() {
    let (_folder, journal, _orders) = open();
    let (open, done, outgoing) = journal
        .transact(|rows| {
            let (open, done) = (rows.add_prompt(&prompt("open"))?, rows.add_prompt(&prompt("done"))?);
            rows.finish_prompt(done)?;
            Ok((open, done, rows.post(&draft("owed"))?))
        })
        .await
        .unwrap();
    journal.transact(|rows| rows.forget_before(i64::MAX)).await.unwrap();
    assert!(journal.transact(move |rows| rows.prompt(open)).await.unwrap().is_some());
    assert_eq!(journal.transact(move |rows| rows.prompt(done)).await, Ok(None));
    assert!(journal.transact(move |rows| rows.outgoing(outgoing)).await.unwrap().is_some());
}

#[tokio::test]
async fn many_at_once_share_commits_and_all_are_stored() {
    let (_folder, journal, mut orders) = open();
    let all = (0..200).map(|n| {
        let journal = journal.clone();
        tokio::spawn(async move { journal.transact(move |rows| rows.post(&draft(&n.to_string()))).await })
    });
    for one in all.collect::<Vec<_>>() {
        one.await.unwrap().unwrap();
    }
    assert_eq!(journal.transact(|rows| Ok(rows.due_outgoing()?.len())).await, Ok(200));
    assert_eq!(std::iter::from_fn(|| orders.try_recv().ok()).count(), 200);
}

#[test]
fn the_file_is_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let (folder, _journal, _orders) = open();
    let mode = std::fs::metadata(folder.path().join(FILE)).unwrap().permissions().mode();
    assert_eq!(mode & 0o077, 0);
}

#[test]
fn a_file_of_a_newer_version_is_refused_and_left_alone() {
    let (folder, journal, _orders) = open();
    drop(journal);
    let path = folder.path().join(FILE);
    rusqlite::Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let refused = Journal::open(folder.path()).expect_err("refused");
    assert!(matches!(refused, JournalError::Database(DatabaseError::Newer { found: 99, .. })), "{refused}");
}

#[test]
fn what_is_no_database_is_named() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(FILE), "not a database at all, but long enough to be looked at").unwrap();
    let refused = Journal::open(folder.path()).expect_err("refused").to_string();
    assert!(refused.contains(FILE), "{refused}");
}
