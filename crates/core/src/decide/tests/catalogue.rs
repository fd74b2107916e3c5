//! Every refusal of the catalogue is either tested here or not the rules' to give.

/// Given by doors, the log-in and REST, and tested there.
const GIVEN_ELSEWHERE: &[&str] = &[
    "MUST_AUTHENTICATE_BEFORE_HELLO",
    "MEMBER_GONE",
    "PARENT_AND_CONTENT",
    "CALL_ID_REQUIRED",
    "SUBSCRIPTION_LIMIT",
    "AGENT_NOT_FOUND",
    "FOREIGN_PAGE",
];

const TESTS: &[&str] = &[
    include_str!("agents.rs"),
    include_str!("approvals.rs"),
    include_str!("calls.rs"),
    include_str!("channels.rs"),
    include_str!("credentials.rs"),
    include_str!("daemons.rs"),
    include_str!("direct.rs"),
    include_str!("drafts.rs"),
    include_str!("files.rs"),
    include_str!("guests.rs"),
    include_str!("hosting.rs"),
    include_str!("inbox.rs"),
    include_str!("invites.rs"),
    include_str!("machines.rs"),
    include_str!("members.rs"),
    include_str!("messages.rs"),
    include_str!("pools.rs"),
    include_str!("registration.rs"),
    include_str!("streams.rs"),
    include_str!("routes.rs"),
    include_str!("runs.rs"),
    include_str!("tasks.rs"),
    include_str!("telegram.rs"),
    include_str!("threads.rs"),
    include_str!("webhooks.rs"),
    include_str!("../wakes/tests/debounce.rs"),
    include_str!("../wakes/tests/loop_guard.rs"),
    include_str!("../wakes/tests/send.rs"),
    include_str!("../wakes/tests/settle.rs"),
];

fn catalogue() -> impl Iterator<Item = &'static str> {
    let source = include_str!("../../refusal.rs");
    let (_, list) = source.split_once("catalogue! {").expect("the catalogue");
    list.lines().filter_map(|line| line.split_whitespace().next()).filter(|name| name.len() > 1)
}

#[test]
fn every_refusal_has_a_test() {
    assert!(catalogue().count() > 40);
    for name in catalogue() {
        let tested = TESTS.iter().any(|test| test.contains(&format!("refusal::{name}")));
        let elsewhere = GIVEN_ELSEWHERE.contains(&name);
        assert!(tested != elsewhere, "{name} is tested: {tested}; it is given elsewhere: {elsewhere}");
    }
}
