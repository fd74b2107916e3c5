//! What the bridge does when its journal cannot be written.

use std::collections::BTreeMap;

use folkmoot_engines::engines;
use folkmoot_runs::locks::Locks;
use rusqlite::Connection;

use super::*;
use crate::api::MessageId;
use crate::fake_api::{FakeApi, TOKEN};
use crate::journal::{FILE, NewPrompt, PromptState};
use crate::permission::Permission;
use crate::plan::Plan;
use crate::settings::Sessions;
use crate::text::Overflow;
use crate::turns::TurnLine;

const CHAT: ChatId = ChatId(1001);

fn settings(folder: &std::path::Path, api_base: String) -> BridgeSettings {
    BridgeSettings {
        token: TOKEN.to_owned(),
        api_base,
        permission: Permission::default(),
        main_chat: None,
        projects: crate::context::Projects::default(),
        default_engine: "codex".into(),
        engines: vec!["codex".into()],
        edit_interval: Duration::from_secs(1),
        join_window: Duration::from_millis(1),
        overflow: Overflow::Split,
        sessions: Sessions::Stateless,
        uploads: "incoming".into(),
        start_folder: folder.to_owned(),
        data_dir: folder.to_owned(),
        lock: folder.join("config.lock"),
        speech: None,
    }
}

/// A bridge that nobody drives, and what it is told.
fn bridge(folder: &std::path::Path, api_base: String) -> (Bridge, mpsc::UnboundedReceiver<BridgeEvent>) {
    let settings = settings(folder, api_base);
    let runner = Runner::new(BTreeMap::new(), Locks::default(), engines::codecs());
    let bot = Bot::new(&settings.api_base, &settings.token).unwrap();
    let (journal, _orders) = Journal::open(folder).unwrap();
    let (events, receiver) = mpsc::unbounded_channel();
    let modes = Modes::look(&[], &runner);
    let desk = RunQueue::new(Board(events.clone()), runner, MAX_RUNS, settings.edit_interval);
    let joining = Joining::new(settings.join_window);
    let shared = Arc::new(Shared::new(settings, bot, journal, modes, None));
    let (live, coming, after_end) = (HashMap::new(), HashMap::new(), HashMap::new());
    let (held, explained) = (HashSet::new(), HashMap::new());
    (Bridge { shared, desk, joining, live, coming, after_end, held, explained, events }, receiver)
}

async fn add_prompt(bridge: &Bridge) -> Prompt {
    let new = NewPrompt {
        chat: CHAT,
        topic: None,
        sender: None,
        message: MessageId(5),
        state: PromptState::Gathering,
        thread: None,
        text: String::new(),
        plan: Plan::default(),
    };
    let add = move |rows: &mut crate::journal::Rows<'_>| {
        let id = rows.add_prompt(&new)?;
        rows.prompt(id)
    };
    bridge.shared.journal.transact(add).await.unwrap().unwrap()
}

/// What the bot has to say in the chat, oldest first.
async fn said(bridge: &Bridge) -> Vec<String> {
    let due = bridge.shared.journal.transact(|rows| rows.due_outgoing()).await.unwrap();
    due.into_iter().map(|outgoing| outgoing.content.rendered.text).collect()
}

#[tokio::test]
async fn what_cannot_be_stored_stays_on_its_way_and_is_tried_again() {
    let folder = tempfile::tempdir().unwrap();
    let api = FakeApi::start().await;
    let (mut bridge, mut events) = bridge(folder.path(), api.base());
    let prompt = add_prompt(&bridge).await;
    // Somebody who is never served, so that nothing comes from there.
    let _first = bridge.shared.turns.queue(TurnLine::Place(prompt.place()));
    bridge.take_up(prompt.clone());
    let full = Connection::open(folder.path().join(FILE)).unwrap();
    full.execute_batch("CREATE TRIGGER full BEFORE INSERT ON slips BEGIN SELECT RAISE(FAIL, 'full'); END").unwrap();
    let turn = bridge.shared.turns.queue(TurnLine::After(prompt.id));
    let refused = Prepared::Say("no".to_owned());
    assert!(bridge.prepared(prompt.clone(), refused, turn).await.is_err());
    assert!(bridge.coming.contains_key(&prompt.id), "it can be called back");
    full.execute_batch("DROP TRIGGER full").unwrap();
    let again = events.recv().await.unwrap();
    bridge.handle(again).await;
    assert!(bridge.coming.is_empty());
    let open = bridge.shared.journal.transact(|rows| rows.open_prompts()).await.unwrap();
    assert_eq!(open, [], "it was answered");
}

#[tokio::test]
async fn a_stored_prompt_that_cannot_be_read_fails_where_everybody_sees_it() {
    let folder = tempfile::tempdir().unwrap();
    let (mut bridge, _events) = bridge(folder.path(), FakeApi::start().await.base());
    let (broken, sound) = (add_prompt(&bridge).await, add_prompt(&bridge).await);
    let file = Connection::open(folder.path().join(FILE)).unwrap();
    file.execute("UPDATE prompts SET plan = '{\"pieces\": 3}' WHERE id = ?", [broken.id.0]).unwrap();
    let read = bridge.shared.journal.transact(move |rows| rows.prompt(broken.id)).await;
    assert!(matches!(&read, Err(JournalError::Unreadable(why)) if why.contains("prompt 1")), "{read:?}");
    bridge.recover().await.unwrap();
    let said = said(&bridge).await;
    assert!(said.len() == 1 && said[0].contains("send it again"), "{said:?}");
    let open = bridge.shared.journal.transact(|rows| rows.open_prompts()).await.unwrap();
    assert_eq!(open.iter().map(|prompt| prompt.id).collect::<Vec<_>>(), [sound.id], "the others go on");
}

#[tokio::test]
async fn a_prompt_that_follows_another_comes_after_the_last_news_of_that() {
    let folder = tempfile::tempdir().unwrap();
    let (mut bridge, mut events) = bridge(folder.path(), FakeApi::start().await.base());
    let (leader, follower) = (add_prompt(&bridge).await, add_prompt(&bridge).await);
    // Its run is over, and how it ended is still on its way to the bridge.
    let shown = Content::default();
    let live = Live { prompt: leader.clone(), shown, begun: Instant::now(), runs: true };
    bridge.live.insert(leader.id, live);
    let _first = bridge.shared.turns.queue(TurnLine::Place(follower.place()));
    bridge.take_up(follower.clone());
    let ready = crate::prepare::Ready {
        text: "go on".to_owned(),
        engine: engines::find("codex").unwrap(),
        resume: None,
        after: Some(leader.id),
        context: None,
        folder: folder.path().to_owned(),
        mode: folkmoot_engines::engine::Mode::Plain,
        model: None,
        reasoning: None,
        missing: Vec::new(),
    };
    let turn = bridge.shared.turns.queue(TurnLine::After(leader.id));
    bridge.prepared(follower.clone(), Prepared::Run(Box::new(ready)), turn).await.unwrap();
    assert!(!bridge.live.contains_key(&follower.id) && events.try_recv().is_err(), "it waits, and nobody asks again");
    bridge.handle(BridgeEvent::News(leader.id, Box::new(News::Dropped))).await;
    let next = events.try_recv().expect("it comes right after the end of the other");
    assert!(matches!(&next, BridgeEvent::Prepared(prompt, ..) if prompt.id == follower.id));
}
