//! What agents in channels ask is decided from Telegram, by people whose account is linked to a member.

use serde_json::{Value, json};

use crate::support::agents::{WAIT_TIMEOUT, hosted, replies};
use crate::support::telegram::fake_api::World;
use crate::support::telegram::{ANN, EVE, FakeApi, Message, hub_with_bot, hub_with_bot_and_fake, link};
use crate::support::{Lark, Member, eventually_within, moot, text};

/// The newest card of a person that is open.
async fn card(api: &FakeApi, user: i64) -> Message {
    let open = |message: &Message| message.buttons().iter().any(|data| data.starts_with("agent:"));
    api.wait("an open card", |world| world.shown(user).into_iter().rfind(open)).await
}

/// Presses the button whose data ends so; what the person is told.
async fn press(api: &FakeApi, user: i64, card: &Message, which: &str) -> String {
    let data = card.buttons().into_iter().find(|data| data.ends_with(which)).expect("such a button");
    press_data(api, user, user, card.id, &data).await
}

async fn press_data(api: &FakeApi, chat: i64, user: i64, message: i64, data: &str) -> String {
    let query = api.press(chat, message, user, data);
    let answer = api.wait("an answer to the button", |world| world.callbacks[&query].clone()).await;
    answer.as_str().unwrap_or_default().to_owned()
}

/// Waits until a card says how it ended and has no buttons.
async fn closed(api: &FakeApi, user: i64, card: &Message, how: &str) {
    let over = |message: &Message| message.id == card.id && message.text.contains(how) && message.buttons().is_empty();
    api.wait_shown(user, how, over).await;
}

/// Makes an agent ask in a channel; the approval's id.
async fn ask(agent: &mut Lark, channel: &str, action: &str) -> String {
    let request = json!({"channel_id": channel, "action": action, "payload": "{\"version\":\"v2\"}"});
    let reply = agent.asks("approval.request", request, "approval.request").await;
    text(&reply, "id").to_owned()
}

async fn approval(member: &Member, id: &str) -> Value {
    member.rest.get(&format!("/v1/approvals/{id}")).await.ok()
}

#[tokio::test]
async fn an_engines_question_is_a_card_and_every_decision_reaches_it_with_its_note() {
    let (_hub, alice, api, _fake) = hub_with_bot_and_fake().await;
    let closed_channel = alice.add_private("closed", &[]).await;
    hosted(&alice, "claude", json!({"channel_ids": [closed_channel]})).await;
    let ways = [
        ("deny", Some("not today"), "declined not today", "denied by alice: not today", ("denied", "once")),
        ("once", Some("mind it"), "accepted", "allowed once by alice: mind it", ("approved", "once")),
        ("run", None, "accepted", "allowed for this run by alice", ("approved", "run")),
    ];
    for (button, note, said, outcome, stored) in ways {
        let asked = alice.post(&closed_channel, "@claude please ask").await;
        let card = card(&api, ANN).await;
        for part in ["claude asks · #closed", "rm x", "open until", "UTC"] {
            assert!(card.text.contains(part), "{part}: {}", card.text);
        }
        if let Some(note) = note {
            let reply = api.reply(ANN, ANN, note, card.id);
            api.wait_shown(ANN, "noted", |message| message.reply_to == Some(reply)).await;
        }
        let told = press(&api, ANN, &card, button).await;
        assert_eq!(told, outcome);
        closed(&api, ANN, &card, outcome).await;
        let root = text(&asked, "id").to_owned();
        eventually_within(WAIT_TIMEOUT, said, || async {
            replies(&alice, &root).await.iter().any(|text| text.starts_with(said)).then_some(())
        })
        .await;
        let newest = alice.rest.get(&alice.path("approvals?limit=1")).await.ok();
        assert_eq!((text(&newest[0], "status"), text(&newest[0], "scope")), stored);
        assert_eq!(newest[0]["review_note"].as_str(), note);
    }
}

#[tokio::test]
async fn everybody_who_may_decide_has_a_card_and_a_decision_made_elsewhere_closes_them_all() {
    let (_hub, alice, api) = hub_with_bot(&[]).await;
    let bob = alice.add_human("bob").await;
    alice.rest.patch(&alice.path(&format!("members/{}", bob.id)), json!({"role": "admin"})).await.ok();
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[&bob, &codebot]).await;
    let mut agent = codebot.lark_agent().await;
    // Asked before anybody was linked: whoever links now sees it too.
    let id = ask(&mut agent, &general, "deploy_to_production").await;
    link(&api, &alice, ANN).await;
    link(&api, &bob, EVE).await;
    let cards = [(ANN, card(&api, ANN).await), (EVE, card(&api, EVE).await)];
    for (_, card) in &cards {
        assert!(card.text.contains("deploy_to_production") && card.text.contains("version: v2"), "{card:?}");
    }
    bob.rest.patch(&format!("/v1/approvals/{id}"), json!({"approved": true, "note": "go"})).await.ok();
    for (user, card) in &cards {
        closed(&api, *user, card, "allowed once by bob: go").await;
        let late = press(&api, *user, card, "deny").await;
        assert_eq!(late, "already reviewed: approved by bob");
    }
    assert_eq!(approval(&alice, &id).await["status"], "approved");
}

#[tokio::test]
async fn nobody_decides_who_is_not_linked_or_may_not() {
    let (_hub, alice, api) = hub_with_bot(&[]).await;
    let carol = alice.add_human("carol").await;
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[&carol, &codebot]).await;
    let mut agent = codebot.lark_agent().await;
    link(&api, &alice, ANN).await;
    let id = ask(&mut agent, &general, "deploy").await;
    let card = card(&api, ANN).await;
    let data = card.buttons()[0].clone();
    // A stranger, in a chat of theirs or where the card is, with data that they cannot have.
    for chat in [EVE, ANN] {
        assert_eq!(press_data(&api, chat, EVE, card.id, &data).await, "this question was put to somebody else");
    }
    assert_eq!(press_data(&api, EVE, EVE, card.id, "agent:999:once").await, "this question is not known any more");
    // A member who may not decide has no card, and no words either.
    link(&api, &carol, EVE).await;
    assert_eq!(press_data(&api, EVE, EVE, card.id, &data).await, "this question was put to somebody else");
    assert!(api.shown(EVE).iter().all(|message| message.buttons().is_empty()), "{:?}", api.shown(EVE));
    // Who is no longer linked decides nothing, with an old card either.
    api.say(ANN, ANN, "/unlink");
    api.wait_shown(ANN, "unlinked", |message| message.text.starts_with("no longer linked")).await;
    closed(&api, ANN, &card, "no longer yours to decide").await;
    assert_eq!(press_data(&api, ANN, ANN, card.id, &data).await, "no Telegram account is linked");
    assert_eq!(approval(&alice, &id).await["status"], "pending");
    // And linked again there is a new card, which counts.
    link(&api, &alice, ANN).await;
    let again = self::card(&api, ANN).await;
    assert_ne!(again.id, card.id);
    assert_eq!(press(&api, ANN, &again, "deny").await, "denied by alice");
    assert_eq!(approval(&alice, &id).await["status"], "denied");
}

#[tokio::test]
async fn an_open_card_survives_a_kill_is_not_sent_twice_and_counts_once() {
    let (mut hub, alice, api) = hub_with_bot(&[]).await;
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[&codebot]).await;
    let mut agent = codebot.lark_agent().await;
    link(&api, &alice, ANN).await;
    let id = ask(&mut agent, &general, "deploy").await;
    let card = card(&api, ANN).await;
    let reply = api.reply(ANN, ANN, "only to staging", card.id);
    api.wait_shown(ANN, "noted", |message| message.reply_to == Some(reply)).await;
    hub.kill();
    // Pressed while nobody listens.
    let data = card.buttons()[0].clone();
    api.press(ANN, card.id, ANN, &data);
    hub.restart().await;
    closed(&api, ANN, &card, "allowed once by alice: only to staging").await;
    assert_eq!(press_data(&api, ANN, ANN, card.id, &data).await, "already reviewed: approved by alice");
    let record = approval(&alice, &id).await;
    assert_eq!((&record["status"], &record["review_note"]), (&json!("approved"), &json!("only to staging")));
    let cards = api.shown(ANN).into_iter().filter(|message| message.text.contains("codebot asks")).count();
    assert_eq!(cards, 1, "{:?}", api.shown(ANN));
    // The link is still there, and so is the next card.
    let mut agent = codebot.lark_agent().await;
    ask(&mut agent, &general, "again").await;
    let next = self::card(&api, ANN).await;
    assert!(next.text.contains("again"), "{}", next.text);
}

#[tokio::test]
async fn a_held_text_of_agents_is_continued_or_stopped_from_a_card() {
    let (_hub, alice, api) = hub_with_bot(&[("MOOT_WAKES__MAX_PAIR", "1")]).await;
    let ping = alice.add_agent("ping").await;
    let pong = alice.add_agent("pong").await;
    let general = alice.add_channel("general", &[&ping, &pong]).await;
    link(&api, &alice, ANN).await;
    let mut ping = ping.lark_agent().await;
    for (button, outcome, posted) in [("deny", "stopped by alice", false), ("run", "continued by alice", true)] {
        alice.post(&general, "@ping begin").await;
        ping.expect("agent.wake").await;
        let say = |words: &str| json!({"channel_id": general, "content": format!("@pong {words} {button}")});
        assert_eq!(ping.ask("message.send", say("first")).await["type"], "message.ack");
        let held = ping.ask("message.send", say("second")).await;
        assert_eq!(held["data"]["code"], "held", "{held}");
        let card = card(&api, ANN).await;
        assert!(card.text.contains("ping wants to go on") && card.text.contains("@pong second"), "{}", card.text);
        assert_eq!(press(&api, ANN, &card, button).await, outcome);
        closed(&api, ANN, &card, outcome).await;
        let texts = alice.texts(&general).await;
        assert_eq!(texts.contains(&format!("@pong second {button}")), posted, "{texts:?}");
    }
}

#[tokio::test]
async fn a_code_is_good_once_and_guessing_ends_in_silence() {
    let (_hub, alice, api) = hub_with_bot(&[]).await;
    let bob = alice.add_human("bob").await;
    let fresh = async |member: &Member| {
        let made = member.rest.post("/v1/telegram/link", json!({})).await.created();
        text(&made, "command").to_owned()
    };
    let command = fresh(&alice).await;
    // In any case and without its dash it is the same code.
    api.say(ANN, ANN, &command.to_uppercase().replace('-', "").replace("LINK", "link"));
    api.wait_shown(ANN, "linked", |message| message.text.starts_with("linked: here you decide as alice")).await;
    let right = fresh(&bob).await;
    // The right one comes after five wrong ones, and is not looked at any more.
    let guesses = [command.as_str(), "/link 00000-00000", "/link x", "/link 1 2", "/link ''", right.as_str()];
    for guess in guesses {
        api.say(EVE, EVE, guess);
    }
    let answers = |world: &mut World| (world.shown(EVE).len() == guesses.len() - 1).then(|| world.shown(EVE));
    let answers = api.wait("five answers", answers).await;
    assert!(answers.iter().all(|message| message.text.starts_with("this code was used")), "{answers:?}");
    // Whoever did not guess is let in with it.
    api.say(ANN, ANN, &right);
    api.wait_shown(ANN, "linked", |message| message.text.starts_with("linked: here you decide as bob")).await;
    assert_eq!(api.shown(EVE).len(), guesses.len() - 1, "silence: {:?}", api.shown(EVE));
    assert_eq!(alice.rest.get("/v1/telegram/link").await.ok()["linked"], false, "the account is bob's now");
}

#[tokio::test]
async fn strangers_without_a_code_get_silence_and_orders_need_the_list() {
    let (hub, alice, api) = hub_with_bot(&[("MOOT_TELEGRAM__CHAT_ID", "1001")]).await;
    for words in ["/link", "/unlink", "hello"] {
        api.say(EVE, EVE, words);
    }
    api.say(ANN, ANN, "/link");
    api.wait_shown(ANN, "how to", |message| message.text.contains("moot telegram link")).await;
    api.say(ANN, ANN, "/unlink");
    api.wait_shown(ANN, "not linked", |message| message.text.contains("is not linked")).await;
    assert!(api.shown(EVE).is_empty(), "{:?}", api.shown(EVE));
    // A linked account may decide; it may not drive engines.
    link(&api, &alice, EVE).await;
    let before = api.shown(EVE).len();
    api.say(EVE, EVE, "run something");
    api.wait("it was taken", |world| world.is_all_taken().then_some(())).await;
    api.say(EVE, EVE, "/unlink");
    api.wait_shown(EVE, "unlinked", |message| message.text.starts_with("no longer linked")).await;
    assert_eq!(api.shown(EVE).len(), before + 1);
    assert!(!hub.log().contains("run something"));
}

#[tokio::test]
async fn links_are_shown_and_ended_over_rest_and_in_the_terminal() {
    let (hub, alice, api) = hub_with_bot(&[]).await;
    let codebot = alice.add_agent("codebot").await;
    codebot.rest.post("/v1/telegram/link", json!({})).await.refused(403, "FORBIDDEN");
    alice.rest.anonymous().post("/v1/telegram/link", json!({})).await.refused(401, "AUTH_REQUIRED");
    alice.rest.delete("/v1/telegram/link").await.refused(404, "NOT_FOUND");
    link(&api, &alice, ANN).await;
    let shown = alice.rest.get("/v1/telegram/link").await.ok();
    assert_eq!((&shown["linked"], &shown["user_id"]), (&json!(true), &json!(ANN)));
    alice.rest.delete("/v1/telegram/link").await.ok();
    let folder = hub.folder();
    let url = hub.url("");
    let words = |words: &[&'static str]| {
        let all: Vec<String> = words.iter().map(ToString::to_string).collect();
        all.into_iter()
            .chain(["--server".into(), url.clone(), "--token".into(), alice.token.clone()])
            .collect::<Vec<_>>()
    };
    let run = async |given: &[&'static str]| {
        let given = words(given);
        let given: Vec<&str> = given.iter().map(String::as_str).collect();
        moot(folder.path(), &given, &[]).await
    };
    let made = run(&["telegram", "link"]).await;
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    api.say(EVE, EVE, made.stdout.trim());
    api.wait_shown(EVE, "linked", |message| message.text.starts_with("linked")).await;
    assert!(run(&["telegram", "link", "--show"]).await.stdout.contains(&EVE.to_string()));
    assert_eq!(run(&["telegram", "unlink"]).await.code, Some(0));
    let again = run(&["telegram", "unlink"]).await;
    assert!(again.code != Some(0) && again.stderr.contains("no Telegram account is linked"), "{}", again.stderr);
}

#[tokio::test]
async fn a_hub_without_a_bot_gives_no_codes() {
    let (_hub, alice) = crate::support::start().await;
    alice.rest.post("/v1/telegram/link", json!({})).await.refused(409, "CONFLICT");
}
