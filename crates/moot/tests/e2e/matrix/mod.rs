//! The permission matrix: every request of every door, asked by everybody, and nothing told to whom it is not meant for.
//!
//! `rest.txt`, `lark.txt` and `snek.txt` have a row for each route of `docs/openapi.json`, each Lark type and each Snek
//! method. A row is what is asked, what each of the nine columns gets, and after ` | ` the body:
//!
//! ```text
//! PATCH /v1/tasks/{task}    401 404 404 ok ok ok ok 404 ok | {"title": "zq-inside"}
//! ```
//!
//! The columns are, in this order: **anonymous**; **other** (owner of another workspace); **outside** (in the workspace,
//! not in the private channel); **peer** (in the channel, made nothing); **member** (in the channel, made the things, answers
//! for the agent); **agent** (in the channel, the things of agents are its own); **foreign** (somebody else's agent, in the
//! channel); **admin** (not in the channel); **owner** (in the channel). A cell is `ok`, the status of the refusal
//! (401 nobody, 403 not theirs to do, 404 not theirs to know of, 400, 409), on Lark also `quiet` for what is done without an
//! answer, or `?` for "say what it is".
//!
//! To add a row: run `cargo test -p folkmoot-moot --test e2e matrix`; it prints the rows that are missing, with question
//! marks. Put them into the file, run it again, **look whether what it prints is what should be**, and write that down.
//! `{task}` in an address is a thing of that name, `{message:direct_message}` another thing for the same parameter; `$thing` is
//! the same in a body; things are made in `World::make`. `$self`, `$who`, `$mark` (a text that only the caller may read) and
//! `$n` (a number) are the caller's. A body is JSON, `form name=value …` (`file=@png` is a picture) or `text …`. What somebody
//! was let do something to is made anew for the next column. Texts that are written carry a marker of who may read them
//! (`people.rs`); at the end everything that everybody was told, in answers and on open sockets, is searched for them.

mod ear;
mod people;
mod table;
mod world;

use std::collections::BTreeMap;
use std::time::Duration;

use reqwest::Method;
use reqwest::multipart::{Form, Part};
use serde_json::{Value, json};

use self::people::{ALL, IN_CHANNEL, IN_DIRECT, IN_WORKSPACE, Watch, Who};
use self::table::{Row, Table};
use self::world::{World, picture};
use crate::support::{Answer, DEADLINE, Rest};

/// What anybody may fetch without being described as a route.
const PAGES: [&str; 9] =
    ["/", "/docs", "/docs/style.css", "/openapi.json", "/asyncapi.json", "/metrics", "/healthz", "/readyz", "/health"];

type Seen = BTreeMap<usize, Vec<String>>;

#[test]
fn every_route_has_a_row_that_says_who_may_ask() {
    Table::read("rest.txt").covers(&routes());
}

#[test]
fn every_lark_type_has_a_row_that_says_who_may_ask() {
    let types: Vec<String> = folkmoot_doors::lark::mapping::request_types().map(str::to_owned).collect();
    Table::read("lark.txt").covers(&types);
}

#[test]
fn every_snek_method_has_a_row_that_says_who_may_ask() {
    let methods: Vec<String> = folkmoot_doors::snek::mapping::methods().map(str::to_owned).collect();
    Table::read("snek.txt").covers(&methods);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everybody_gets_what_the_tables_say_and_reads_only_what_is_meant_for_them() {
    let mut world = World::new().await;
    let (lark, snek, rest) = (Table::read("lark.txt"), Table::read("snek.txt"), Table::read("rest.txt"));
    let mut differences = lark.differences(&asked_on_lark(&mut world, &lark).await);
    differences.extend(snek.differences(&asked_on_snek(&mut world, &snek).await));
    differences.extend(rest.differences(&asked_on_rest(&mut world, &rest).await));
    for page in PAGES {
        let answer = world.rest(Who::Anonymous).get(page).await;
        world.watch.told(Some(Who::Anonymous), page, &answer.text());
    }
    let leaks = world.watch.leaks();
    assert!(leaks.is_empty(), "somebody read what is not theirs:\n{}\n\n{}", leaks.join("\n"), differences.join("\n"));
    assert!(differences.is_empty(), "not what the tables say:\n{}", differences.join("\n"));
    the_watch_was_awake(&world);
}

/// Those who may read a marker have read it, and everybody was told something: otherwise finding nothing proves nothing.
fn the_watch_was_awake(world: &World) {
    for (who, marker) in [
        (Who::Peer, IN_CHANNEL),
        (Who::Foreign, IN_CHANNEL),
        (Who::Peer, IN_DIRECT),
        (Who::Outside, IN_WORKSPACE),
        (Who::Admin, IN_WORKSPACE),
        (Who::Agent, "zq-only-agent"),
        (Who::Member, "zq-only-member"),
        (Who::Other, "zq-only-other"),
    ] {
        assert!(world.watch.was_read(who, marker), "{who:?} never read {marker}");
    }
    for listener in ALL.into_iter().map(Some).chain([None]) {
        assert!(world.watch.seen(listener) > 1, "{listener:?} was told hardly anything");
    }
}

#[test]
fn the_watch_finds_what_somebody_should_not_have_read() {
    let watch = Watch::new();
    watch.told(Some(Who::Peer), "a frame", "{\"content\":\"zq-inside hello\"}");
    assert!(watch.leaks().is_empty(), "{:?}", watch.leaks());
    watch.told(Some(Who::Admin), "a frame", "{\"content\":\"zq-inside hello\"}");
    watch.told(None, "a frame", "zq-workspace");
    let leaks = watch.leaks();
    assert_eq!(leaks.len(), 2, "{leaks:?}");
    assert!(leaks.iter().any(|leak| leak.starts_with("admin read `zq-inside` (a frame)")), "{leaks:?}");
}

/// `METHOD /path` of every operation in the description.
fn routes() -> Vec<String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");
    let described: Value = serde_json::from_str(&std::fs::read_to_string(path).expect("openapi.json")).expect("JSON");
    let paths = described["paths"].as_object().expect("paths");
    let of_path = |(path, methods): (&String, &Value)| -> Vec<String> {
        let methods = methods.as_object().expect("methods").keys();
        methods.map(|method| format!("{} {path}", method.to_uppercase())).collect()
    };
    paths.iter().flat_map(of_path).collect()
}

async fn asked_on_rest(world: &mut World, table: &Table) -> Seen {
    let mut seen = Seen::new();
    let mut is_quiet = false;
    for row in &table.rows {
        if row.is_last && !is_quiet {
            world.settle().await;
            is_quiet = true;
        }
        for who in ALL {
            let cell = rest_cell(world, row, who).await;
            seen.entry(row.line).or_default().push(cell);
        }
    }
    seen
}

async fn rest_cell(world: &mut World, row: &Row, who: Who) -> String {
    let (asked, mut used) = world.filled(&row.asked, who).await;
    let (body, more) = world.filled(&row.body, who).await;
    used.extend(more);
    let (method, path) = asked.split_once(' ').expect("a method and a path");
    let method: Method = method.parse().expect("a method");
    let rest = if row.is_last { world.fresh_session(who).await } else { world.rest(who) };
    let answer = requested(&rest, method.clone(), path, &body).await;
    world.watch.told(Some(who), &row.asked, &answer.text());
    let is_ok = (200..300).contains(&answer.status);
    if is_ok && method != Method::GET {
        world.used_up(&used);
    }
    if is_ok { "ok".to_owned() } else { answer.status.to_string() }
}

async fn requested(rest: &Rest, method: Method, path: &str, body: &str) -> Answer {
    let shown = format!("{method} {path} {body}");
    let request = rest.request(method, path);
    let request = match body.split_once(' ') {
        Some(("form", fields)) => request.multipart(form(fields)),
        Some(("text", text)) => request.body(text.to_owned()),
        _ if body.is_empty() => request,
        _ => request.json(&serde_json::from_str::<Value>(body).unwrap_or_else(|error| panic!("{shown}: {error}"))),
    };
    Answer::of(shown, request).await
}

fn form(fields: &str) -> Form {
    fields.split_whitespace().filter_map(|field| field.split_once('=')).fold(Form::new(), |form, field| match field {
        ("file", "@png") => form.part("file", picture()),
        ("file", content) => form.part("file", Part::text(content.to_owned()).file_name(format!("{content}.txt"))),
        (name, value) => form.text(name.to_owned(), value.to_owned()),
    })
}

async fn asked_on_lark(world: &mut World, table: &Table) -> Seen {
    let mut seen = Seen::new();
    for row in &table.rows {
        for who in ALL {
            if who == Who::Anonymous {
                // Whoever does not log in is shut out after half a minute.
                let stranger = world.lark(who).await;
                world.larks.insert(who, stranger);
            }
            let cell = lark_cell(world, row, who).await;
            seen.entry(row.line).or_default().push(cell);
        }
    }
    world.larks.remove(&Who::Anonymous);
    seen
}

async fn lark_cell(world: &mut World, row: &Row, who: Who) -> String {
    let (body, used) = world.filled(&row.body, who).await;
    let data: Value = serde_json::from_str(&body).unwrap_or_else(|error| panic!("{body}: {error}"));
    let ear = world.larks.get_mut(&who).expect("a connection");
    ear.forget();
    ear.say(&json!({ "v": 1, "id": "asked", "type": row.asked, "data": data })).await;
    // Answered in order behind it, so that silence has an end.
    ear.say(&json!({ "v": 1, "id": "behind", "type": "channel.join", "data": { "channel_id": "ch_0" } })).await;
    let is_answer = |frame: &Value| frame["reply_to"] == "asked";
    let answer = match row.cell(who) {
        "quiet" => {
            let first = |frame: &Value| is_answer(frame) || frame["reply_to"] == "behind";
            Some(ear.answer(&row.asked, first).await).filter(is_answer)
        }
        "?" => ear.answer_within(Duration::from_millis(300), is_answer).await,
        _ => ear.answer_within(DEADLINE, is_answer).await,
    };
    ear.answer("the one behind", |frame| frame["reply_to"] == "behind").await;
    let class = answer.as_ref().map_or("quiet", |answer| class_of(answer));
    if matches!(class, "ok" | "quiet") {
        world.used_up(&used);
    }
    class.to_owned()
}

fn class_of(answer: &Value) -> &'static str {
    match answer["type"].as_str() {
        Some("auth.fail") => "401",
        Some("error") => status_of(&answer["data"]),
        // A daemon is told whom it may not carry.
        _ if answer["data"]["refused"].as_array().is_some_and(|refused| !refused.is_empty()) => "403",
        _ => "ok",
    }
}

async fn asked_on_snek(world: &mut World, table: &Table) -> Seen {
    let mut seen = Seen::new();
    for row in &table.rows {
        for who in ALL {
            let (args, used) = world.filled(&row.body, who).await;
            let args: Value = serde_json::from_str(&args).unwrap_or_else(|error| panic!("{args}: {error}"));
            let ear = world.sneks.get_mut(&who).expect("a connection");
            ear.forget();
            ear.say(&json!({ "method": row.asked, "args": args, "kwargs": {}, "callId": "asked" })).await;
            let answer = ear.answer(&row.asked, |frame| frame["callId"] == "asked").await;
            let class = if answer["success"] == true { "ok" } else { status_of(&answer["data"]) };
            if class == "ok" {
                world.used_up(&used);
            }
            seen.entry(row.line).or_default().push(class.to_owned());
        }
    }
    seen
}

/// The status that REST would give for the same refusal.
fn status_of(data: &Value) -> &'static str {
    match data["code"].as_str().unwrap_or_default() {
        "AUTH_REQUIRED" | "AUTH_INVALID_TOKEN" | "AUTH_INVALID_CREDENTIALS" => "401",
        "FORBIDDEN" => "403",
        "NOT_FOUND" => "404",
        "BAD_REQUEST" | "PAYLOAD_TOO_LARGE" => "400",
        "CONFLICT" | "held" | "already_answered" => "409",
        "RATE_LIMITED" => "429",
        _ => "other",
    }
}
