//! The whole story with agents that the hub hosts: woken by a mention, at work in a thread, asking people, answering, going on.

use serde_json::json;

use crate::support::agents::{hosted, hub_with_fake, replies, running, runs};
use crate::support::{eventually, items, text};

#[tokio::test]
async fn a_mention_becomes_a_run_whose_answer_stands_in_the_thread_and_a_reply_goes_on_with_the_session() {
    let (mut hub, alice, fake) = hub_with_fake().await;
    let general = alice.add_channel("general", &[]).await;
    hosted(&alice, "claude", json!({"system_prompt": "You are careful."})).await;
    let asked = alice.post(&general, "@claude the login test fails").await;
    let run = runs(&alice, &general, "completed", 1).await.remove(0);
    assert_eq!((&run["thread_id"], &run["agent_name"]), (&asked["id"], &json!("claude")));
    assert_eq!((&run["cost_usd"], &run["usage"]["input_tokens"]), (&json!(0.25), &json!(3)));
    let detail = alice.rest.get(&format!("/v1/runs/{}", text(&run, "id"))).await.ok();
    assert!(items(&detail["actions"]).iter().any(|action| action["kind"] == "command" && action["title"] == "ls"));
    let said = replies(&alice, text(&asked, "id")).await;
    assert_eq!(said.len(), 1, "the progress message became the answer: {said:?}");
    assert!(said[0].starts_with("echo: You are careful.") && said[0].contains("the login test fails"), "{said:?}");
    let session = text(&run, "resume").to_owned();
    assert!(said[0].ends_with(&format!("`claude --resume {session}`")), "{said:?}");

    // Also after a restart of everything.
    hub.kill();
    hub.restart().await;
    running(&alice, "claude").await;
    let reply = json!({"content": "and now?", "thread_id": asked["id"]});
    alice.rest.post(&format!("/v1/channels/{general}/messages"), reply).await.created();
    let second = runs(&alice, &general, "completed", 2).await.remove(1);
    assert_eq!((text(&second, "resume"), &second["thread_id"]), (session.as_str(), &asked["id"]));
    assert!(fake.note("starts").lines().last().unwrap().contains(&format!("--resume {session}")));
    assert_eq!(fake.note("prompts").lines().last(), Some("and now?"), "the session knows the rest");
}

#[tokio::test]
async fn a_question_is_put_to_people_and_the_decision_reaches_the_engine_with_its_note() {
    let (_hub, alice, _fake) = hub_with_fake().await;
    let closed = alice.add_private("closed", &[]).await;
    hosted(&alice, "claude", json!({"channel_ids": [closed]})).await;
    for (approved, note, expected) in [(true, "go on", "accepted"), (false, "not today", "declined not today")] {
        let asked = alice.post(&closed, "@claude please ask").await;
        let approval = eventually("a question", || async {
            let open = alice.rest.get(&alice.path("approvals?status=pending")).await.ok();
            items(&open).first().cloned()
        })
        .await;
        assert!(text(&approval, "action").contains("rm x"), "{approval:#}");
        let waiting = runs(&alice, &closed, "waiting", 1).await;
        assert_eq!(approval["run_id"], waiting[0]["id"]);
        let path = format!("/v1/approvals/{}", text(&approval, "id"));
        alice.rest.patch(&path, json!({"approved": approved, "note": note})).await.ok();
        let root = text(&asked, "id").to_owned();
        eventually("the answer", || async {
            replies(&alice, &root).await.iter().any(|said| said.starts_with(expected)).then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn words_while_it_works_are_steered_into_the_run_and_end_with_it() {
    let (_hub, alice, fake) = hub_with_fake().await;
    let general = alice.add_channel("general", &[]).await;
    hosted(&alice, "claude", json!({})).await;
    let asked = alice.post(&general, "@claude wait").await;
    eventually("the engine works", || async { fake.note("prompts").contains("wait").then_some(()) }).await;
    let more = json!({"content": "and mind the tests", "thread_id": asked["id"]});
    alice.rest.post(&format!("/v1/channels/{general}/messages"), more).await.created();
    let run = runs(&alice, &general, "completed", 1).await.remove(0);
    assert!(
        replies(&alice, text(&asked, "id")).await.iter().any(|said| said.starts_with("steered: and mind the tests"))
    );
    let deliveries = eventually("both are answered", || async {
        let all = alice.rest.get(&format!("/v1/channels/{general}/deliveries")).await.ok();
        let done = items(&all).iter().filter(|one| text(one, "state") == "answered").count();
        (done == 2).then_some(all)
    })
    .await;
    assert!(items(&deliveries).iter().all(|one| one["run_id"] == run["id"]));
}

#[tokio::test]
async fn cancel_status_and_model_are_words_for_the_daemon() {
    let (_hub, alice, fake) = hub_with_fake().await;
    let general = alice.add_channel("general", &[]).await;
    hosted(&alice, "claude", json!({})).await;
    let asked = alice.post(&general, "@claude slow").await;
    let root = text(&asked, "id").to_owned();
    eventually("the engine works", || async { fake.note("prompts").contains("slow").then_some(()) }).await;
    let say = async |words: &str| {
        let body = json!({"content": words, "thread_id": root});
        alice.rest.post(&format!("/v1/channels/{general}/messages"), body).await.created();
    };
    let said = async |what: &str| {
        eventually(what, || async {
            replies(&alice, &root).await.iter().any(|said| said.contains(what)).then_some(())
        })
        .await;
    };
    say("/status").await;
    said("works").await;
    say("/model sonnet").await;
    said("`sonnet`").await;
    say("/cancel").await;
    said("Cancelled.").await;
    runs(&alice, &general, "cancelled", 1).await;
    fake.let_go();
    say("and again").await;
    runs(&alice, &general, "completed", 1).await;
    assert!(fake.note("starts").lines().last().unwrap().contains("--model sonnet"), "{}", fake.note("starts"));
}

#[tokio::test]
async fn new_engine_model_and_status_are_words_of_a_thread() {
    let (_hub, alice, fake) = hub_with_fake().await;
    let general = alice.add_channel("general", &[]).await;
    hosted(&alice, "claude", json!({})).await;
    let asked = alice.post(&general, "@claude hello").await;
    let root = text(&asked, "id").to_owned();
    let first = runs(&alice, &general, "completed", 1).await.remove(0);
    let say = async |words: &str, answer: &str| {
        let body = json!({"content": words, "thread_id": root});
        alice.rest.post(&format!("/v1/channels/{general}/messages"), body).await.created();
        eventually(words, || async {
            replies(&alice, &root).await.iter().any(|said| said.contains(answer)).then_some(())
        })
        .await;
    };
    say("/status", "idle · engine `claude` · model the engine's own choice · session goes on").await;
    say("/engine", "The engine here is `claude`.").await;
    say("/model", "The model here is the engine's own choice.").await;
    say("/engine clod", "There is no engine `clod`; there are").await;
    // The same session goes on until somebody says otherwise.
    say("more", "echo: more").await;
    let resumed = format!("--resume {}", text(&first, "resume"));
    assert!(fake.note("starts").lines().last().unwrap().contains(&resumed), "{}", fake.note("starts"));
    say("/new", "begins a new session").await;
    say("fresh", "fresh").await;
    let runs_so_far = runs(&alice, &general, "completed", 3).await;
    assert!(!fake.note("starts").lines().last().unwrap().contains("--resume"), "{}", fake.note("starts"));
    assert_ne!(runs_so_far[2]["resume"], first["resume"]);
    say("/engine script", "From now on `script` works here, in a new session.").await;
    say("/status", "engine `script`").await;
    say("/engine claude", "From now on `claude` works here, in a new session.").await;
    say("/model opus", "From now on `opus` is asked here.").await;
    say("last words", "last words").await;
    runs(&alice, &general, "completed", 4).await;
    let started = fake.note("starts").lines().last().unwrap().to_owned();
    assert!(started.contains("--model opus") && !started.contains("--resume"), "{started}");
}

#[tokio::test]
async fn a_deny_list_and_work_trees_are_kept_and_shown_for_agents_made_over_rest() {
    let (mut hub, alice, _fake) = hub_with_fake().await;
    let general = alice.add_channel("general", &[]).await;
    let bad = json!({"name": "claude", "engine": "claude", "deny": [""]});
    alice.rest.post("/v1/hosting", bad).await.refused(400, "BAD_REQUEST");
    let plain = alice.rest.post("/v1/hosting", json!({"name": "other", "engine": "script"})).await.created();
    assert_eq!((&plain["deny"], &plain["worktrees"]), (&json!([]), &json!(false)));
    hosted(&alice, "claude", json!({"deny": ["rm *"], "worktrees": true})).await;
    hub.kill();
    hub.restart().await;
    running(&alice, "claude").await;
    let listed = alice.rest.get("/v1/hosting").await.ok();
    let claude = items(&listed).iter().find(|one| one["name"] == "claude").unwrap();
    assert_eq!((&claude["deny"], &claude["worktrees"]), (&json!(["rm *"]), &json!(true)), "{listed:#}");
    alice.rest.delete("/v1/hosting/claude").await.ok();
    hosted(&alice, "careful", json!({"deny": ["rm *"]})).await;
    // Nobody is asked: the engine is told no at once.
    let asked = alice.post(&general, "@careful please ask").await;
    let root = text(&asked, "id").to_owned();
    eventually("the answer", || async {
        replies(&alice, &root).await.iter().any(|said| said.starts_with("declined")).then_some(())
    })
    .await;
    let all = alice.rest.get(&alice.path("approvals")).await.ok();
    assert!(items(&all).is_empty(), "{all:#}");
}

#[tokio::test]
async fn people_stop_a_run_and_a_stopped_hub_leaves_no_engine_behind() {
    let (mut hub, alice, fake) = hub_with_fake().await;
    let general = alice.add_channel("general", &[]).await;
    hosted(&alice, "claude", json!({})).await;
    alice.post(&general, "@claude slow").await;
    let run = runs(&alice, &general, "running", 1).await.remove(0);
    alice.rest.post(&format!("/v1/runs/{}/stop", text(&run, "id")), json!({})).await.ok();
    runs(&alice, &general, "cancelled", 1).await;
    alice.post(&general, "@claude slow again").await;
    eventually("the engine works", || async { fake.note("prompts").contains("again").then_some(()) }).await;
    assert_eq!(hub.stop().await.code(), Some(0));
    let gone = || async {
        let alive = |line: &str| {
            let pid = line.split(' ').next().unwrap_or_default();
            std::path::Path::new(&format!("/proc/{pid}")).exists()
        };
        (!fake.note("starts").lines().any(alive)).then_some(())
    };
    eventually("no engine is left", gone).await;
}

#[tokio::test]
async fn an_engine_that_is_not_there_is_a_failed_run_that_says_so() {
    let (_hub, alice, _fake) = hub_with_fake().await;
    let general = alice.add_channel("general", &[]).await;
    alice.rest.post("/v1/hosting", json!({"name": "codex", "engine": "codex"})).await.created();
    let listed = alice.rest.get("/v1/hosting").await.ok();
    assert_eq!(items(&listed)[0]["state"], "failed", "{listed:#}");
    eventually("it is carried", || async {
        let preview = json!({"content": "@codex hello"});
        let wakes = alice.rest.post(&format!("/v1/channels/{general}/wake-preview"), preview).await.ok();
        (wakes["wakes"][0]["reachable"] == true).then_some(())
    })
    .await;
    alice.post(&general, "@codex hello").await;
    let run = runs(&alice, &general, "failed", 1).await.remove(0);
    assert!(text(&run, "error").contains("not installed"), "{run:#}");
}

#[tokio::test]
async fn an_engine_that_cannot_ask_is_no_agent_whose_policy_asks() {
    let (_hub, alice, fake) = hub_with_fake().await;
    let general = alice.add_channel("general", &[]).await;
    let said = alice.rest.post("/v1/hosting", json!({"name": "pi", "engine": "pi"})).await.refused(400, "BAD_REQUEST");
    assert!(said.to_string().contains("pi never asks before it acts"), "{said:#}");
    let denies = json!({"name": "pi", "engine": "pi", "policy": "dangerously-allow-all", "deny": ["git push"]});
    alice.rest.post("/v1/hosting", denies).await.refused(400, "BAD_REQUEST");
    let trusted = json!({"name": "pi", "engine": "pi", "policy": "dangerously-allow-all"});
    alice.rest.post("/v1/hosting", trusted).await.created();
    let engines = alice.rest.get("/v1/engines").await.ok();
    let asks = |id: &str| items(&engines).iter().find(|engine| engine["id"] == id).unwrap()["asks"].clone();
    assert_eq!((asks("pi"), asks("claude")), (json!(false), json!(true)), "{engines:#}");
    // A program that turns out not to know how to ask: nothing is done in the plain way instead.
    let text_of = std::fs::read_to_string(&fake.program).unwrap();
    std::fs::write(&fake.program, text_of.replace("--input-format", "--nothing")).unwrap();
    hosted(&alice, "claude", json!({})).await;
    alice.post(&general, "@claude hello").await;
    let run = runs(&alice, &general, "failed", 1).await.remove(0);
    assert!(text(&run, "error").contains("does not ask before it acts"), "{run:#}");
    assert_eq!(fake.note("starts"), "", "it was not started");
}

#[tokio::test]
async fn only_the_operator_hosts_and_bad_input_is_refused() {
    let (_hub, alice, _fake) = hub_with_fake().await;
    let bob = alice.add_human("bob").await;
    bob.rest.post("/v1/hosting", json!({"name": "claude", "engine": "claude"})).await.refused(403, "FORBIDDEN");
    bob.rest.post("/v1/engines/script/test", json!({})).await.refused(403, "FORBIDDEN");
    alice.rest.post("/v1/hosting", json!({"name": "claude", "engine": "clod"})).await.refused(400, "BAD_REQUEST");
    let nowhere = json!({"name": "claude", "engine": "claude", "project": "/no/such/folder"});
    alice.rest.post("/v1/hosting", nowhere).await.refused(400, "BAD_REQUEST");
    hosted(&alice, "claude", json!({})).await;
    alice.rest.delete("/v1/hosting/CLAUDE").await.ok();
    alice.rest.delete("/v1/hosting/claude").await.refused(404, "NOT_FOUND");
    let tested = alice.rest.post("/v1/engines/script/test", json!({})).await.ok();
    assert_eq!(tested["ok"], true);
}
