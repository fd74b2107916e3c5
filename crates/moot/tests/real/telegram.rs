//! A case from Telegram: a message is the prompt, cards ask, the last message is the answer.

use std::time::Duration;

use super::cases::{Case, Event};
use super::judge::{Seen, judge};
use super::run::apart;
use super::stage::{HubStage, WAIT_TIMEOUT};
use super::support::telegram::{ANN, Message};
use super::table::Outcome;

/// How the last message of a run begins.
const LAST: [&str; 4] = ["done", "error", "cancelled", "stopped"];

pub async fn play(stage: &HubStage, case: &Case) -> Outcome {
    if case.event == Event::TwoThreads {
        return two_threads(stage, case).await;
    }
    let waits = stage.stage.models.waits();
    let prompt = stage.api.say(ANN, ANN, &stage.stage.prompt(case.prompts[0]));
    match case.event {
        Event::Kill => return kill(stage).await,
        Event::Words(words) => meanwhile(stage, waits, prompt, &format!("/steer {words}")).await,
        Event::Cancel => meanwhile(stage, waits, prompt, "/cancel").await,
        _ => {}
    }
    let (mut last, mut seen) = ended(stage, prompt, case.event).await;
    for prompt in &case.prompts[1..] {
        let reply = stage.api.reply(ANN, ANN, prompt, last.id);
        (last, seen) = ended(stage, reply, case.event).await;
    }
    judge(&stage.stage, case, &seen)
}

/// Says something in reply to the progress message, once the model works and what it has said so far can be read there.
async fn meanwhile(stage: &HubStage, waits: u64, prompt: i64, words: &str) {
    stage.stage.waits_more_than(waits).await;
    let said = stage.stage.begun().unwrap_or_default();
    let is_it = |message: &Message| message.reply_to == Some(prompt) && message.text.contains(said);
    let progress = stage.api.wait_shown(ANN, "progress", is_it).await;
    stage.api.reply(ANN, ANN, words, progress.id);
}

/// Waits for the last message about a prompt, and decides what is asked meanwhile.
async fn ended(stage: &HubStage, prompt: i64, event: Event) -> (Message, Seen) {
    let mut asks = Vec::new();
    let mut pressed = Vec::new();
    let give_up = tokio::time::Instant::now() + WAIT_TIMEOUT;
    let last = loop {
        let shown = stage.api.shown(ANN);
        for card in &shown {
            if let Some(data) = button(card, event).filter(|_| !pressed.contains(&card.id)) {
                pressed.push(card.id);
                asks.push(card.text.clone());
                stage.api.press(ANN, card.id, ANN, &data);
            }
        }
        let of_prompt = || shown.iter().filter(|message| message.reply_to == Some(prompt));
        if let Some(last) = of_prompt().find(|message| LAST.iter().any(|word| message.text.starts_with(word))) {
            break last.clone();
        }
        assert!(tokio::time::Instant::now() < give_up, "no last message within {WAIT_TIMEOUT:?}: {shown:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    let ok = last.text.starts_with("done");
    // Without a text of its own, everything that a failed run says is its error.
    let error = if ok { String::new() } else { last.text.clone() };
    let answer = if ok || event == Event::Cancel { last.text.clone() } else { String::new() };
    (last, Seen { ok, answer, error, asks, actions: None })
}

/// What the button says that this case wants pressed; `None`: it is no open card.
fn button(message: &Message, event: Event) -> Option<String> {
    let label = match event {
        Event::Deny => "Deny",
        Event::Reply(words) => words,
        _ => "Allow once",
    };
    let buttons = message.keyboard.as_array()?.iter().filter_map(|row| row.as_array()).flatten();
    let found = buttons.into_iter().find(|button| button["text"] == label)?;
    found["callback_data"].as_str().map(str::to_owned)
}

async fn kill(stage: &HubStage) -> Outcome {
    let mut pressed = Vec::new();
    let give_up = tokio::time::Instant::now() + WAIT_TIMEOUT;
    while !stage.stage.is_endless() {
        for card in stage.api.shown(ANN) {
            if let Some(data) = button(&card, Event::Nothing).filter(|_| !pressed.contains(&card.id)) {
                pressed.push(card.id);
                stage.api.press(ANN, card.id, ANN, &data);
            }
        }
        assert!(tokio::time::Instant::now() < give_up, "the command does not run");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    stage.kill();
    Ok(())
}

async fn two_threads(stage: &HubStage, case: &Case) -> Outcome {
    // Messages within a moment of each other would be one prompt.
    let begin = async |prompt: &str| {
        let waits = stage.stage.models.waits();
        let said = stage.api.say(ANN, ANN, prompt);
        stage.stage.waits_more_than(waits).await;
        said
    };
    let first = begin(case.prompts[0]).await;
    let second = begin(case.prompts[1]).await;
    let ((first, _), (second, _)) =
        tokio::join!(ended(stage, first, Event::Nothing), ended(stage, second, Event::Nothing));
    let recall = async |last: Message| {
        let said = stage.api.reply(ANN, ANN, "[recall]", last.id);
        ended(stage, said, Event::Nothing).await.1.answer
    };
    let (first, second) = tokio::join!(recall(first), recall(second));
    apart(&first, &second)
}
