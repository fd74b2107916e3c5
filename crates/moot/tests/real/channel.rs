//! A case from a channel: a mention wakes the agent, people decide over REST, the answer stands in the thread.

use serde_json::{Value, json};

use super::cases::{Case, Event};
use super::judge::{Seen, judge};
use super::run::apart;
use super::stage::{HubStage, WAIT_TIMEOUT};
use super::support::agents::replies;
use super::support::{eventually_within, items, text};
use super::table::Outcome;

/// How a message begins that tells of a run that goes on.
const UNDER_WAY: [&str; 3] = ["queued", "starting", "working"];

pub async fn play(stage: &HubStage, case: &Case) -> Outcome {
    let waits = stage.stage.models.waits();
    if case.event == Event::TwoThreads {
        return two_threads(stage, case).await;
    }
    let root = stage.post(&format!("@player {}", stage.stage.prompt(case.prompts[0])), None).await;
    match case.event {
        Event::Kill => return kill(stage).await,
        Event::Words(words) => {
            middle(stage, waits, &root).await;
            stage.post(words, Some(&root)).await;
        }
        Event::Cancel => {
            middle(stage, waits, &root).await;
            let run = runs(stage, &root).await.pop().ok_or("there is no run")?;
            stage.alice.rest.post(&format!("/v1/runs/{}/stop", text(&run, "id")), json!({})).await.ok();
        }
        _ => {}
    }
    let mut seen = ended(stage, &root, 1, case.event).await;
    for (number, prompt) in case.prompts.iter().enumerate().skip(1) {
        stage.post(prompt, Some(&root)).await;
        seen = ended(stage, &root, number + 1, case.event).await;
    }
    judge(&stage.stage, case, &seen)
}

/// Waits for the middle of an answer: the model works, and what it has said so far is in the run.
async fn middle(stage: &HubStage, waits: u64, root: &str) {
    stage.stage.waits_more_than(waits).await;
    let Some(words) = stage.stage.begun() else { return };
    let read = || async {
        let run = runs(stage, root).await.pop()?;
        let detail = stage.get(&format!("/v1/runs/{}", text(&run, "id"))).await;
        items(&detail["actions"]).iter().any(|action| text(action, "title").contains(words)).then_some(())
    };
    eventually_within(WAIT_TIMEOUT, "what it says is shown", read).await;
}

/// The runs of a thread, oldest first.
async fn runs(stage: &HubStage, root: &str) -> Vec<Value> {
    let all = stage.get(&format!("/v1/channels/{}/runs", stage.channel)).await;
    let mut found: Vec<Value> = items(&all).iter().filter(|run| run["thread_id"] == root).cloned().collect();
    found.reverse();
    found
}

/// Waits for the end of the thread's run of that number, and decides what is asked meanwhile.
async fn ended(stage: &HubStage, root: &str, number: usize, event: Event) -> Seen {
    let asks = parking_lot::Mutex::new(Vec::new());
    let over = || async {
        decide(stage, event, &asks).await;
        let run = runs(stage, root).await.into_iter().nth(number - 1)?;
        let said = replies(&stage.alice, root).await;
        // The progress message becomes the answer a moment after the run has ended.
        let told = said.last().is_some_and(|last| !UNDER_WAY.iter().any(|word| last.starts_with(word)));
        (!run["ended_at"].is_null() && said.len() >= number && told).then_some((run, said))
    };
    let (run, said) = eventually_within(WAIT_TIMEOUT, "the run ends", over).await;
    let detail = stage.get(&format!("/v1/runs/{}", text(&run, "id"))).await;
    let actions = items(&detail["actions"]).iter().map(|action| text(action, "title").to_owned()).collect();
    let ok = run["state"] == "completed";
    let mut error = run["error"].as_str().unwrap_or_default().to_owned();
    if run["state"] == "cancelled" {
        error.push_str("cancelled");
    }
    // What failed says why in the thread too; an answer is what is there beside it.
    let last = said.last().cloned().unwrap_or_default();
    let answer = if ok || event == Event::Cancel { last } else { String::new() };
    Seen { ok, answer, error, asks: asks.into_inner(), actions: Some(actions) }
}

async fn decide(stage: &HubStage, event: Event, asks: &parking_lot::Mutex<Vec<String>>) {
    let open = stage.get(&stage.alice.path("approvals?status=pending")).await;
    for approval in items(&open) {
        asks.lock().push(format!("{} {}", text(approval, "action"), approval["payload"]));
        let body = match event {
            Event::Deny => json!({"approved": false, "note": "not today"}),
            Event::Reply(words) => json!({"approved": true, "note": words}),
            _ => json!({"approved": true}),
        };
        stage.alice.rest.patch(&format!("/v1/approvals/{}", text(approval, "id")), body).await.ok();
    }
}

async fn kill(stage: &HubStage) -> Outcome {
    let asks = parking_lot::Mutex::new(Vec::new());
    let runs = || async {
        decide(stage, Event::Nothing, &asks).await;
        stage.stage.is_endless().then_some(())
    };
    eventually_within(WAIT_TIMEOUT, "the command runs", runs).await;
    stage.kill();
    Ok(())
}

async fn two_threads(stage: &HubStage, case: &Case) -> Outcome {
    // Mentions within a moment of each other would be one wake.
    let begin = async |prompt: &str| {
        let waits = stage.stage.models.waits();
        let root = stage.post(&format!("@player {prompt}"), None).await;
        stage.stage.waits_more_than(waits).await;
        root
    };
    let first = begin(case.prompts[0]).await;
    let second = begin(case.prompts[1]).await;
    tokio::join!(ended(stage, &first, 1, Event::Nothing), ended(stage, &second, 1, Event::Nothing));
    let recall = async |root: &str| {
        stage.post("[recall]", Some(root)).await;
        ended(stage, root, 2, Event::Nothing).await.answer
    };
    let (first, second) = tokio::join!(recall(&first), recall(&second));
    apart(&first, &second)
}
