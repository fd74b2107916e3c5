//! What the bridge does when its journal cannot be written.

use std::collections::BTreeMap;

use folkmoot_engines::engines;
use folkmoot_engines::locks::Locks;
use rusqlite::Connection;

use super::*;
use crate::api::MessageId;
use crate::fake_api::{FakeApi, TOKEN};
use crate::journal::{FILE, NewPrompt, PromptState};
use crate::permission::Permission;
use crate::settings::Sessions;
use crate::text::Overflow;
use crate::turns::Line;

const CHAT: ChatId = ChatId(1001);

fn settings(folder: &std::path::Path, api_base: String) -> Settings {
    Settings {
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
fn bridge(folder: &std::path::Path, api_base: String) -> (Bridge, mpsc::UnboundedReceiver<Event>) {
    let settings = settings(folder, api_base);
    let runner = Runner::new(BTreeMap::new(), Locks::default(), engines::codecs());
    let bot = Bot::new(&settings.api_base, &settings.token).unwrap();
    let (journal, _orders) = Journal::open(folder).unwrap();
    let (events, receiver) = mpsc::unbounded_channel();
    let modes = Modes::look(&[], &runner);
    let desk = Desk::new(Board(events.clone()), runner, MOST_RUNS, settings.edit_interval);
    let joining = Joining::new(settings.join_window);
    let shared = Arc::new(Shared::new(settings, bot, journal, modes, None));
    let (live, coming, held, explained) = (HashMap::new(), HashMap::new(), HashSet::new(), HashMap::new());
    (Bridge { shared, desk, joining, live, coming, held, explained, events }, receiver)
}

#[tokio::test]
async fn what_cannot_be_stored_stays_on_its_way_and_is_tried_again() {
    let folder = tempfile::tempdir().unwrap();
    let api = FakeApi::start().await;
    let (mut bridge, mut events) = bridge(folder.path(), api.base());
    let new = NewPrompt {
        chat: CHAT,
        topic: None,
        sender: None,
        message: MessageId(5),
        state: PromptState::Gathering,
        thread: None,
        text: String::new(),
        plan: Plan::default().to_value(),
    };
    let add = move |rows: &mut crate::journal::Rows<'_>| {
        let id = rows.add_prompt(&new)?;
        rows.prompt(id)
    };
    let prompt = bridge.shared.journal.transact(add).await.unwrap().unwrap();
    // Somebody who is never served, so that nothing comes from there.
    let _first = bridge.shared.turns.queue(Line::Place(crate::plan::place_of(&prompt)));
    bridge.take_up(prompt.clone());
    let full = Connection::open(folder.path().join(FILE)).unwrap();
    full.execute_batch("CREATE TRIGGER full BEFORE INSERT ON slips BEGIN SELECT RAISE(FAIL, 'full'); END").unwrap();
    let turn = bridge.shared.turns.queue(Line::After(prompt.id));
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
