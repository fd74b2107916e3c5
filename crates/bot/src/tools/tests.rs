//! The toolbox: definitions, arguments, results, breakers.

use std::sync::atomic::{AtomicU32, Ordering};

use serde::Deserialize;

use super::desk::{Herald, Means};
use super::*;
use crate::model::Model;
use crate::store::Store;
use crate::web::Web;
use crate::workers::Workers;

struct Nobody;

impl Herald for Nobody {
    fn say<'a>(&'a self, _: &'a str, _: &'a str, _: &'a str) -> BoxFuture<'a, Result<String, BotError>> {
        std::future::ready(Ok(String::new())).boxed()
    }
}

/// A desk whose means lead nowhere; the folder must outlive it.
fn desk(folder: &tempfile::TempDir) -> Desk {
    let limits = Limits::default();
    let workers = Workers::new(&limits);
    let web = Web::new(&limits, "http://127.0.0.1:1", "").unwrap();
    let endpoint = folkmoot_clients::Endpoint::new("http://127.0.0.1:1", "", "none", Duration::from_secs(1)).unwrap();
    let means = Means {
        store: Store::open(&folder.path().join("bot.db"), workers.clone()).unwrap(),
        model: Model::new(endpoint, web.clone(), &limits),
        web,
        workers,
        scratchpads: Scratchpads::new(50),
        herald: std::sync::Arc::new(Nobody),
        now: || jiff::Timestamp::UNIX_EPOCH,
        limits,
    };
    Desk { means: means.into(), channel_uid: "ch1".into() }
}

/// Divides.
#[derive(Deserialize, JsonSchema)]
struct Divide {
    a: i64,
    #[serde(default = "one")]
    b: i64,
}

fn one() -> i64 {
    1
}

async fn divide(_: Desk, args: Divide) -> Result<i64, BotError> {
    args.a.checked_div(args.b).ok_or_else(|| BotError::Tool("it cannot be divided".to_owned()))
}

async fn hidden(_: Desk, _: Divide) -> Result<i64, BotError> {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    Ok(CALLS.fetch_add(1, Ordering::Relaxed).into())
}

fn toolbox(limits: &Limits) -> Toolbox {
    Toolbox::new(limits).with("divide", divide).with("_hidden", hidden).with("serialize", hidden).with("handle", hidden)
}

#[tokio::test]
async fn a_call_has_its_arguments_with_their_defaults() {
    let folder = tempfile::tempdir().unwrap();
    let toolbox = toolbox(&Limits::default());
    assert_eq!(toolbox.call(desk(&folder), "divide", r#"{"a": 6, "b": 3}"#).await, Ok("2".into()));
    assert_eq!(toolbox.call(desk(&folder), "divide", r#"{"a": 6}"#).await, Ok("6".into()));
}

#[tokio::test]
async fn excluded_names_are_neither_offered_nor_called() {
    let folder = tempfile::tempdir().unwrap();
    let toolbox = toolbox(&Limits::default());
    let names: Vec<_> = toolbox.serialize().into_iter().map(|tool| tool.name).collect();
    assert_eq!(names, ["divide"]);
    for name in ["_hidden", "serialize", "handle", "nothing"] {
        let called = toolbox.call(desk(&folder), name, r#"{"a": 1}"#).await;
        assert_eq!(called, Err(BotError::Validation(format!("there is no tool `{name}`"))));
    }
}

#[tokio::test]
async fn five_failures_open_the_breaker_and_wrong_arguments_do_not() {
    let folder = tempfile::tempdir().unwrap();
    let toolbox = toolbox(&Limits::default());
    for _ in 0..10 {
        let called = toolbox.call(desk(&folder), "divide", "{}").await;
        assert!(matches!(called, Err(BotError::Validation(_))), "{called:?}");
    }
    for _ in 0..5 {
        let called = toolbox.call(desk(&folder), "divide", r#"{"a": 1, "b": 0}"#).await;
        assert!(matches!(called, Err(BotError::Tool(_))), "{called:?}");
    }
    let called = toolbox.call(desk(&folder), "divide", r#"{"a": 1}"#).await;
    assert!(matches!(called, Err(BotError::CircuitBreakerOpen { .. })), "{called:?}");
}

async fn stuck(_: Desk, _: Divide) -> Result<i64, BotError> {
    std::future::pending().await
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_never_ends_is_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let toolbox = Toolbox::new(&Limits::default()).with("stuck", stuck);
    let called = toolbox.call(desk(&folder), "stuck", r#"{"a": 1}"#).await;
    assert_eq!(called, Err(BotError::Tool("`stuck` took longer than 190 s".into())));
}

#[test]
fn a_long_result_is_cut() {
    let text = as_text(&"ß".repeat(30_000)).unwrap();
    assert_eq!(text.chars().count(), MAX_RESULT_CHARS + "\n[… cut]".chars().count());
}
