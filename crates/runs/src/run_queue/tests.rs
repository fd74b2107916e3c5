//! The run queue with the script engine, real runs and fake time.

use std::collections::BTreeMap;
use std::path::Path;

use tempfile::TempDir;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::*;
use crate::locks::Locks;
use folkmoot_engines::engine::EngineSettings;
use folkmoot_engines::engines;

struct Board(UnboundedSender<(u64, News)>);

impl Surface for Board {
    type Ticket = u64;

    fn tell(&self, ticket: u64, news: News) {
        let _ = self.0.send((ticket, news));
    }
}

struct Room {
    run_queue: RunQueue<Board>,
    heard: UnboundedReceiver<(u64, News)>,
    folder: TempDir,
}

impl Room {
    fn new(interval: Duration) -> Self {
        let (told, heard) = unbounded_channel();
        let settings = BTreeMap::from([("script".to_owned(), EngineSettings::default())]);
        let runner = Runner::new(settings, Locks::default(), engines::codecs());
        Self { run_queue: RunQueue::new(Board(told), runner, 8, interval), heard, folder: TempDir::new().unwrap() }
    }

    /// A task that plays these lines.
    fn task(&self, name: &str, lines: &str, resume: Option<&str>) -> Task {
        let prompt = format!("{name}.jsonl");
        std::fs::write(self.folder.path().join(&prompt), lines).unwrap();
        Task {
            engine: engines::find("script").unwrap(),
            resume: resume.map(|value| ResumeToken::new("script", value)),
            prompt,
            folder: Path::new(self.folder.path()).to_owned(),
            mode: Mode::Plain,
            model: None,
            reasoning: None,
        }
    }

    async fn next(&mut self) -> (u64, News) {
        tokio::time::timeout(Duration::from_secs(600), self.heard.recv()).await.expect("news").expect("a run queue")
    }

    async fn until_finished(&mut self, ticket: u64) -> View {
        loop {
            if let (of, News::Finished(view)) = self.next().await
                && of == ticket
            {
                return view;
            }
        }
    }

    async fn until_thread(&mut self, ticket: u64) -> ResumeToken {
        loop {
            if let (of, News::Thread(token)) = self.next().await
                && of == ticket
            {
                return token;
            }
        }
    }
}

const STARTED: &str = r#"{"type":"started"}"#;
const DONE: &str = r#"{"type":"completed","ok":true,"answer":"fine"}"#;

fn action(id: u32) -> String {
    format!(
        r#"{{"type":"action","phase":"completed","ok":true,"action":{{"id":"{id}","kind":"note","title":"n{id}"}}}}"#
    )
}

#[tokio::test(start_paused = true)]
async fn a_prompt_is_run_and_its_last_view_has_answer_and_thread() {
    let mut room = Room::new(Duration::from_secs(1));
    assert!(!room.run_queue.submit(1, room.task("a", &format!("{STARTED}\n{DONE}"), None)), "nothing to wait for");
    let token = room.until_thread(1).await;
    let view = room.until_finished(1).await;
    assert_eq!(view.progress.label(), Label::Done);
    assert_eq!(view.progress.resume(), Some(&token));
    assert_eq!(view.progress.completed().unwrap().answer, "fine");
}

#[tokio::test(start_paused = true)]
async fn views_come_no_more_often_than_the_interval_and_the_clock_moves_without_events() {
    let mut room = Room::new(Duration::from_secs(3));
    let mut lines = vec![STARTED.to_owned()];
    for id in 0..20 {
        lines.push(r#"{"type":"delay","ms":250}"#.to_owned());
        lines.push(action(id));
    }
    lines.push(r#"{"type":"delay","ms":20000}"#.to_owned());
    lines.push(DONE.to_owned());
    room.run_queue.submit(1, room.task("a", &lines.join("\n"), None));
    let mut at = Vec::new();
    let last = loop {
        match room.next().await.1 {
            News::View(view) => at.push(view.elapsed),
            News::Finished(view) => break view,
            _ => {}
        }
    };
    assert!(at.windows(2).all(|pair| pair[1] - pair[0] >= Duration::from_secs(3)), "{at:?}");
    assert!(at[0] >= Duration::from_secs(3));
    assert!(at.iter().filter(|at| **at > Duration::from_secs(6)).count() >= 3, "the clock moves: {at:?}");
    assert_eq!(last.progress.steps(), 20);
}

#[tokio::test(start_paused = true)]
async fn fifo_per_thread_and_the_second_job_does_not_start_until_the_first_completes() {
    let mut room = Room::new(Duration::from_secs(1));
    let slow = format!("{STARTED}\n{{\"type\":\"delay\",\"ms\":5000}}\n{DONE}");
    assert!(!room.run_queue.submit(1, room.task("a", &slow, Some("t"))));
    assert!(room.run_queue.submit(2, room.task("b", &slow, Some("t"))), "it has to wait");
    assert!(room.run_queue.submit(3, room.task("c", &slow, Some("t"))));
    let mut order = Vec::new();
    while order.len() < 6 {
        match room.next().await {
            (ticket, News::Thread(_)) => order.push((ticket, "begins")),
            (ticket, News::Finished(_)) => order.push((ticket, "ends")),
            _ => {}
        }
    }
    let turns = |ticket| [(ticket, "begins"), (ticket, "ends")];
    assert_eq!(order, [turns(1), turns(2), turns(3)].concat());
}

#[tokio::test(start_paused = true)]
async fn a_prompt_for_a_thread_without_a_name_waits_until_it_has_one() {
    let mut room = Room::new(Duration::from_secs(1));
    let late = format!("{{\"type\":\"delay\",\"ms\":3000}}\n{STARTED}\n{{\"type\":\"delay\",\"ms\":3000}}\n{DONE}");
    room.run_queue.submit(1, room.task("a", &late, None));
    let quick = format!("{STARTED}\n{DONE}");
    assert!(room.run_queue.submit_after(2, room.task("b", &quick, None), 1));
    assert!(room.run_queue.submit_after(3, room.task("c", &quick, None), 2), "one can follow a follower");
    let first = room.until_thread(1).await;
    room.until_finished(1).await;
    assert_eq!(room.until_thread(2).await, first);
    assert_eq!(room.until_thread(3).await, first);
}

#[tokio::test(start_paused = true)]
async fn whoever_follows_a_run_that_never_got_a_thread_begins_one() {
    let mut room = Room::new(Duration::from_secs(1));
    room.run_queue.submit(1, room.task("a", r#"{"type":"fail","code":3,"message":"no credit"}"#, None));
    room.run_queue.submit_after(2, room.task("b", &format!("{STARTED}\n{DONE}"), None), 1);
    assert_eq!(room.until_finished(1).await.progress.label(), Label::Error);
    assert_eq!(room.until_finished(2).await.progress.label(), Label::Done);
}

#[tokio::test(start_paused = true)]
async fn cancel_terminates_the_run_and_drops_what_waits() {
    let mut room = Room::new(Duration::from_secs(1));
    let slow = format!("{STARTED}\n{{\"type\":\"linger\"}}");
    room.run_queue.submit(1, room.task("a", &slow, Some("t")));
    room.until_thread(1).await;
    room.run_queue.submit(2, room.task("b", &slow, Some("t")));
    assert_eq!(room.run_queue.cancel(2), Cancelled::Queued);
    assert!(matches!(room.next().await, (2, News::Dropped)));
    assert_eq!(room.run_queue.cancel(1), Cancelled::Running);
    let view = room.until_finished(1).await;
    assert_eq!(view.progress.label(), Label::Cancelled);
    assert!(view.progress.resume_line().is_some(), "the resume line is known");
    assert_eq!(room.run_queue.cancel(1), Cancelled::Unknown);
    assert!(room.run_queue.tickets().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_follower_can_be_cancelled_before_its_leader_has_a_thread() {
    let mut room = Room::new(Duration::from_secs(1));
    room.run_queue.submit(1, room.task("a", r#"{"type":"linger"}"#, None));
    assert!(matches!(room.next().await, (1, News::Began)));
    room.run_queue.submit_after(2, room.task("b", DONE, None), 1);
    assert_eq!(room.run_queue.cancel(2), Cancelled::Queued);
    assert!(matches!(room.next().await, (2, News::Dropped)));
    assert_eq!(room.run_queue.cancel(1), Cancelled::Running);
    room.until_finished(1).await;
}

#[tokio::test(start_paused = true)]
async fn a_stop_ends_runs_as_stopped_and_begins_nothing_new() {
    let mut room = Room::new(Duration::from_secs(1));
    let slow = format!("{STARTED}\n{{\"type\":\"linger\"}}");
    room.run_queue.submit(1, room.task("a", &slow, Some("t")));
    room.until_thread(1).await;
    room.run_queue.submit(2, room.task("b", &slow, Some("t")));
    room.run_queue.stop().await;
    assert_eq!(room.until_finished(1).await.progress.label(), Label::Stopped);
    assert!(room.heard.try_recv().is_err(), "the second prompt was neither begun nor told of");
}

#[tokio::test(start_paused = true)]
async fn questions_reach_the_surface_and_answers_the_engine() {
    let mut room = Room::new(Duration::from_secs(1));
    let asked = r#"{"type":"asked","ask":{"id":"q1","kind":"permission","title":"Bash: ls"}}"#;
    let lines = format!("{STARTED}\n{asked}\n{{\"type\":\"wait\",\"for\":\"answer\"}}\n{DONE}");
    room.run_queue.submit(1, room.task("a", &lines, None));
    let ask = loop {
        if let (1, News::Asked(ask)) = room.next().await {
            break ask;
        }
    };
    assert!(room.run_queue.answer(7, ask.id.clone(), AskAnswer::AllowAlways).await.is_err(), "nobody asked there");
    room.run_queue.answer(1, ask.id, AskAnswer::Allow { input: None }).await.unwrap();
    assert_eq!(room.until_finished(1).await.progress.label(), Label::Done);
}
