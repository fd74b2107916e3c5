//! Sections 2, 3 and 13, Appendices A and C: connecting, calling, losing the connection, stopping.

use folkmoot_bot::BotError;
use folkmoot_bot::life::State;
use serde_json::{Value, json};

use crate::support::snek::OnSend;
use crate::support::{Setup, Stage, streams};

#[tokio::test]
async fn appendix_a_login_get_user_get_channels_then_a_mention_is_answered() {
    let stage = Stage::new().await;
    stage.openai.will(streams(&["hey, what's up?"]));
    stage.snek.says("ch1", "alice", "hello @MyNick");
    assert_eq!(stage.snek.answer(1).await, "hey, what's up?");
    let calls = stage.snek.calls();
    let call = |method: &str, args: Value| json!({"method": method, "args": args});
    assert_eq!(calls[0], call("login", json!(["mybot", "mypassword"])));
    assert_eq!(calls[1], call("get_user", json!([null])));
    assert_eq!(calls[2], call("get_channels", json!([])));
    assert_eq!(calls.last().unwrap(), &call("send_message", json!(["ch1", "hey, what's up?", true])));
}

#[tokio::test]
async fn the_states_of_appendix_c_are_visible_and_a_stop_ends_well() {
    let setup = Setup::new().await;
    setup.snek.refuse_upgrades(1);
    let mut stage = setup.start();
    stage.until(State::Connecting).await;
    let running = stage.until_status(|snapshot| snapshot.state == State::Running).await;
    assert_eq!((running.username.as_str(), running.nick.as_str(), running.channels), ("mybot", "MyNick", 3));
    let status = stage.status.clone();
    assert_eq!(stage.stop().await, Ok(()));
    assert_eq!(status.borrow().state, State::Shutdown);
}

#[tokio::test]
async fn the_connection_is_pinged_at_the_heartbeat() {
    let stage = Setup::new().await.limits(|limits| limits.ws_heartbeat_s = 0.2).running().await;
    stage.snek.until_pinged(3).await;
    assert_eq!(stage.snek.opened(), 1, "a server that answers pings keeps its connection");
}

#[tokio::test]
async fn a_server_that_falls_silent_is_left_and_joined_anew() {
    let stage = Setup::new().await.limits(|limits| limits.ws_heartbeat_s = 0.2).running().await;
    stage.snek.be_deaf(true);
    // Frames wake the fake, so that it notices that it is deaf now.
    stage.snek.tell("{}");
    stage.snek.until("second connection", |snek| (snek.opened() >= 2).then_some(())).await;
}

#[tokio::test]
async fn after_a_disconnect_it_reconnects_with_a_full_login() {
    let mut stage = Stage::new().await;
    stage.snek.close_all();
    stage.until_status(|snapshot| snapshot.counters.connections == 2 && snapshot.state == State::Running).await;
    let methods: Vec<_> = stage.snek.calls().iter().map(|call| call["method"].clone()).collect();
    assert_eq!(methods, ["login", "get_user", "get_channels", "login", "get_user", "get_channels"]);
    stage.snek.says("ch1", "alice", "ping");
    assert_eq!(stage.snek.answer(1).await, "pong");
}

#[tokio::test]
async fn when_the_retries_are_exhausted_it_begins_anew_and_does_not_give_up() {
    let setup = Setup::new().await;
    setup.snek.refuse_upgrades(7);
    let mut stage = setup.limits(|limits| limits.reconnect_initial_delay_s = 0.001).start();
    stage.until(State::Running).await;
}

#[tokio::test]
async fn a_login_that_is_refused_is_an_authentication_error_and_the_end() {
    let setup = Setup::new().await;
    setup.snek.refuse_login();
    let mut stage = setup.start();
    let ended = stage.ended().await;
    assert_eq!(ended, Err(BotError::Authentication("Invalid username or password".into())));
    assert_eq!(stage.status.borrow().state, State::Error);
    assert_eq!(stage.snek.called("login").len(), 1, "a wrong password is not tried again");
}

#[tokio::test]
async fn attempt_2_of_a_send_comes_after_a_reconnect_with_login() {
    let stage = Stage::new().await;
    stage.snek.on_send([OnSend::Drop]);
    stage.snek.says("ch1", "alice", "ping one");
    stage.snek.until_called("send_message", 2).await;
    let methods: Vec<_> = stage.snek.calls().iter().map(|call| call["method"].as_str().unwrap().to_owned()).collect();
    let expected =
        ["login", "get_user", "get_channels", "send_message", "login", "get_user", "get_channels", "send_message"];
    assert_eq!(methods, expected);
    assert_eq!(stage.snek.answer(2).await, "pong one");
}

#[tokio::test]
async fn the_third_attempt_of_a_send_is_the_last_and_the_bot_goes_on() {
    let mut stage = Stage::new().await;
    stage.snek.on_send([OnSend::Drop, OnSend::Drop, OnSend::Drop]);
    stage.snek.says("ch1", "alice", "ping one");
    stage.until_status(|snapshot| snapshot.counters.failures == 1).await;
    assert_eq!(stage.snek.called("send_message").len(), 3);
    stage.until_status(|snapshot| snapshot.counters.connections == 4 && snapshot.state == State::Running).await;
    stage.snek.says("ch1", "alice", "ping two");
    assert_eq!(stage.snek.answer(4).await, "pong two");
}

#[tokio::test]
async fn a_send_that_the_server_refuses_is_not_repeated() {
    let mut stage = Stage::new().await;
    stage.snek.on_send([OnSend::Refuse]);
    stage.snek.says("ch1", "alice", "ping one");
    stage.until_status(|snapshot| snapshot.counters.failures == 1).await;
    assert_eq!((stage.snek.called("send_message").len(), stage.snek.opened()), (1, 1));
}

#[tokio::test]
async fn a_call_without_an_answer_fails_after_the_request_timeout() {
    let stage = Setup::new().await.limits(|limits| limits.request_timeout_s = 0.5).running().await;
    stage.snek.on_send([OnSend::Ignore]);
    stage.snek.says("ch1", "alice", "ping one");
    assert_eq!(stage.snek.answer(2).await, "pong one");
    assert_eq!(stage.snek.opened(), 2);
}

#[tokio::test]
async fn no_more_calls_than_allowed_are_under_way() {
    let stage = Setup::new().await.limits(|limits| limits.max_concurrent_operations = 2).running().await;
    stage.snek.on_send([OnSend::Ignore; 5]);
    for channel in ["a", "b", "c", "d", "e"] {
        stage.snek.says(channel, "alice", "ping");
    }
    stage.snek.until_called("send_message", 2).await;
    for _ in 0..3 {
        stage.snek.says("ch3", "alice", "@mybot join");
    }
    stage.snek.until_called("set_typing", 3).await;
    assert_eq!(stage.snek.most_unanswered(), 2);
}

#[tokio::test]
async fn invalid_json_and_unknown_events_are_skipped() {
    let stage = Stage::new().await;
    for frame in ["{oops", "[]", "null", r#"{"event":"starfield","data":{}}"#, r#"{"callId":"0","data":1}"#] {
        stage.snek.tell(frame);
    }
    stage.snek.says("ch1", "alice", "ping");
    assert_eq!(stage.snek.answer(1).await, "pong");
    assert_eq!(stage.snek.opened(), 1);
}

#[tokio::test]
async fn a_stop_lets_an_answer_come_to_its_end() {
    let stage = Stage::new().await;
    stage.openai.will(streams(&["short"]));
    stage.snek.says("ch2", "alice", "hello");
    stage.snek.until_called("set_typing", 1).await;
    let snek = stage.snek.clone();
    assert_eq!(stage.stop().await, Ok(()));
    assert_eq!(snek.finals(), [("ch2".to_owned(), "short".to_owned())]);
}

#[tokio::test]
async fn a_stop_does_not_wait_for_ever() {
    let stage = Setup::new().await.limits(|limits| limits.shutdown_timeout_s = 0.1).running().await;
    stage.openai.will(crate::support::openai::Reply::Never);
    stage.snek.says("ch2", "alice", "hello");
    stage.snek.until_called("set_typing", 1).await;
    assert_eq!(stage.stop().await, Ok(()));
}

#[tokio::test]
async fn counters_and_joined_channels_are_kept_over_a_restart() {
    let mut stage = Stage::new().await;
    stage.snek.says("ch1", "alice", "@mybot join");
    stage.snek.says("ch1", "alice", "ping");
    stage.until_status(|snapshot| snapshot.joined == 1 && snapshot.counters.answers == 1).await;
    let file = stage.folder.path().join("bot.db");
    let kept = tempfile::tempdir().unwrap();
    let copy = kept.path().join("bot.db");
    stage.stop_and_copy(&file, &copy).await;
    let database = rusqlite::Connection::open(&copy).unwrap();
    let answers: i64 =
        database.query_row("SELECT value FROM counters WHERE name = 'answers'", (), |row| row.get(0)).unwrap();
    assert_eq!(answers, 1);
    drop(database);
    let mut setup = Setup::new().await;
    setup.settings.database = copy;
    let stage = setup.running().await;
    stage.openai.will(streams(&["still here"]));
    stage.snek.says("ch1", "alice", "anything");
    assert_eq!(stage.snek.answer(1).await, "still here");
}
