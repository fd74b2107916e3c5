//! Hub and daemon killed at any point: no prompt is lost, and a wake has at most one answer.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::agents::{Daemon, Fake, WAIT_TIMEOUT, replies, runs};
use crate::support::{Hub, Member, eventually, eventually_within, items, start, text};

struct Scene {
    hub: Hub,
    alice: Member,
    general: String,
    daemon: Daemon,
    fake: Fake,
}

/// A hub, and a daemon of its own beside it that works as `claude`.
async fn scene(more: &str) -> Scene {
    let (hub, alice) = start().await;
    let (key, claude) = (alice.machine_key().await, alice.add_agent("claude").await);
    let general = alice.add_channel("general", &[&claude]).await;
    let home = hub.folder().path().join("laptop");
    std::fs::create_dir_all(&home).unwrap();
    let fake = Fake::new(&home);
    let config = format!(
        "[agentd]\nserver = \"ws://{}/ws\"\napi_key = \"{}\"\nsocket = \"{}\"\n[engines.claude]\ncommand = \"{}\"\n\
         [agents.claude]\nengine = \"claude\"\n{more}",
        hub.address,
        key,
        home.join("s").display(),
        fake.program.display()
    );
    let daemon = Daemon::start(&home, &config, &[]);
    Scene { hub, alice, general, daemon, fake }
}

impl Scene {
    async fn open_deliveries(&self) -> usize {
        let all = self.alice.rest.get(&format!("/v1/channels/{}/deliveries?limit=200", self.general)).await.ok();
        let open = ["queued", "leased", "admitted"];
        items(&all).iter().filter(|one| open.contains(&text(one, "state"))).count()
    }

    async fn all_settled(&self, patience: Duration) {
        let settled = || async { (self.open_deliveries().await == 0).then_some(()) };
        eventually_within(patience, "every wake is settled", settled).await;
    }

    /// Before the wake is committed, when it was sent, or when an engine has begun since there were `starts`.
    async fn reach_a_moment(&self, which: u64, message: &str, starts: usize) {
        let path = format!("/v1/channels/{}/deliveries?limit=200", self.general);
        let is_sent = || async {
            let all = self.alice.rest.get(&path).await.ok();
            let about = |one: &Value| items(&one["message_ids"]).iter().any(|id| id == message);
            items(&all).iter().any(|one| about(one) && text(one, "state") != "queued").then_some(())
        };
        let is_begun = || async { (self.fake.note("starts").lines().count() > starts).then_some(()) };
        match which {
            0 => {}
            1 => eventually_within(WAIT_TIMEOUT, "the wake is sent", is_sent).await,
            _ => eventually_within(WAIT_TIMEOUT, "an engine begins", is_begun).await,
        }
    }
}

/// A small generator, so that a seed tells the whole story.
fn roll(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    *seed >> 33
}

async fn killed_at_random(seed: u64) {
    let mut scene = scene("").await;
    let mut dice = seed;
    let mut asked = Vec::new();
    for number in 0..5 {
        let words = if roll(&mut dice).is_multiple_of(2) { "slow" } else { "quick" };
        let starts = scene.fake.note("starts").lines().count();
        let message = scene.alice.post(&scene.general, &format!("@claude {words} number {number}.")).await;
        scene.reach_a_moment(roll(&mut dice) % 3, text(&message, "id"), starts).await;
        asked.push(message);
        match roll(&mut dice) % 3 {
            0 => {
                scene.hub.kill();
                scene.hub.restart().await;
            }
            1 => {
                scene.daemon.kill();
                scene.daemon.restart();
            }
            _ => {
                scene.hub.kill();
                scene.daemon.kill();
                scene.hub.restart().await;
                scene.daemon.restart();
            }
        }
        if roll(&mut dice).is_multiple_of(2) {
            scene.fake.let_go();
        }
    }
    scene.fake.let_go();
    scene.all_settled(Duration::from_secs(60)).await;
    // Prompts that waited together have one answer together.
    let mut said = Vec::new();
    for message in &asked {
        said.extend(replies(&scene.alice, text(message, "id")).await);
    }
    let answers: Vec<&str> = said.iter().map(|said| said.rsplit("asks you:").next().unwrap_or_default()).collect();
    for number in 0..asked.len() {
        let found = answers.iter().filter(|answer| answer.contains(&format!("number {number}."))).count();
        assert_eq!(found, 1, "seed {seed}, prompt {number}: {said:#?}");
    }
    let all = scene.alice.rest.get(&format!("/v1/channels/{}/deliveries?limit=200", scene.general)).await.ok();
    let answered = items(&all).iter().filter(|one| text(one, "state") == "answered").count();
    assert_eq!(said.len(), answered, "seed {seed}: one answer per wake: {said:#?}");
}

#[tokio::test]
async fn no_prompt_is_lost_and_a_wake_has_one_answer_whoever_is_killed_seed_1() {
    killed_at_random(1).await;
}

#[tokio::test]
async fn no_prompt_is_lost_and_a_wake_has_one_answer_whoever_is_killed_seed_2() {
    killed_at_random(2).await;
}

#[tokio::test]
async fn no_prompt_is_lost_and_a_wake_has_one_answer_whoever_is_killed_seed_3() {
    killed_at_random(3).await;
}

#[tokio::test]
async fn a_run_that_was_cut_off_goes_on_with_its_session() {
    let mut scene = scene("").await;
    let asked = scene.alice.post(&scene.general, "@claude slow").await;
    let session = eventually("the session is known", || async {
        let all = scene.alice.rest.get(&format!("/v1/channels/{}/runs", scene.general)).await.ok();
        items(&all).first().and_then(|run| run["resume"].as_str().map(str::to_owned))
    })
    .await;
    scene.daemon.kill();
    scene.fake.let_go();
    scene.daemon.restart();
    let run = runs(&scene.alice, &scene.general, "completed", 1).await.remove(0);
    assert_eq!(text(&run, "resume"), session);
    let starts = scene.fake.note("starts");
    assert!(starts.lines().last().unwrap().contains(&format!("--resume {session}")), "{starts}");
    assert_eq!(replies(&scene.alice, text(&asked, "id")).await.len(), 1);
}

#[tokio::test]
async fn a_decision_made_while_the_engine_is_gone_is_kept_for_the_same_question_and_used_once() {
    let mut scene = scene("").await;
    let asked = scene.alice.post(&scene.general, "@claude please ask").await;
    let pending = || async {
        let open = scene.alice.rest.get(&scene.alice.path("approvals?status=pending")).await.ok();
        items(&open).first().cloned()
    };
    let approval = eventually_within(WAIT_TIMEOUT, "a question", pending).await;
    scene.daemon.kill();
    scene.hub.kill();
    scene.hub.restart().await;
    let path = format!("/v1/approvals/{}", text(&approval, "id"));
    scene.alice.rest.patch(&path, json!({"approved": true})).await.ok();
    scene.daemon.restart();
    scene.all_settled(Duration::from_secs(30)).await;
    let said = replies(&scene.alice, text(&asked, "id")).await;
    assert!(said.len() == 1 && said[0].starts_with("accepted"), "{said:?}");
    assert_eq!(scene.fake.note("done").lines().count(), 1, "one yes is one action");
    let all = scene.alice.rest.get(&scene.alice.path("approvals")).await.ok();
    assert_eq!(items(&all).len(), 1, "it stayed one question: {all:#}");
}

#[tokio::test]
async fn actions_that_were_on_their_way_when_the_hub_died_are_there_afterwards() {
    let mut scene = scene("").await;
    scene.alice.post(&scene.general, "@claude many").await;
    let run = runs(&scene.alice, &scene.general, "running", 1).await.remove(0);
    let path = format!("/v1/runs/{}?limit=1000", text(&run, "id"));
    let count = async |alice: &Member| items(&alice.rest.get(&path).await.ok()["actions"]).len();
    eventually_within(WAIT_TIMEOUT, "the first actions", || async { (count(&scene.alice).await >= 100).then_some(()) })
        .await;
    // From here on it reads nothing, but the daemon does not know that.
    scene.hub.signal(rustix::process::Signal::STOP);
    scene.fake.let_go();
    eventually_within(WAIT_TIMEOUT, "all actions", || async { (!scene.fake.note("emitted").is_empty()).then_some(()) })
        .await;
    scene.hub.kill();
    scene.hub.restart().await;
    scene.fake.touch("end");
    runs(&scene.alice, &scene.general, "completed", 1).await;
    let shown = scene.alice.rest.get(&path).await.ok();
    let ids: std::collections::BTreeSet<&str> = items(&shown["actions"]).iter().map(|one| text(one, "id")).collect();
    let missing: Vec<String> = (1..=300).map(|n| format!("a{n}")).filter(|id| !ids.contains(id.as_str())).collect();
    assert!(missing.is_empty(), "{missing:?} of {}", ids.len());
}

#[tokio::test]
async fn the_diff_of_a_run_that_ended_while_the_hub_was_away_is_there_afterwards() {
    let folder = project();
    let mut scene = scene(&format!("project = \"{}\"\nworktrees = true\n", folder.path().display())).await;
    scene.alice.post(&scene.general, "@claude late").await;
    runs(&scene.alice, &scene.general, "running", 1).await;
    eventually_within(WAIT_TIMEOUT, "the engine works", || async {
        scene.fake.note("prompts").contains("late").then_some(())
    })
    .await;
    scene.hub.kill();
    scene.fake.let_go();
    eventually_within(WAIT_TIMEOUT, "the change", || async { (!scene.fake.note("emitted").is_empty()).then_some(()) })
        .await;
    scene.hub.restart().await;
    let run = runs(&scene.alice, &scene.general, "completed", 1).await.remove(0);
    eventually_within(WAIT_TIMEOUT, "the diff", || async {
        let answer = scene.alice.rest.get(&format!("/v1/runs/{}/diff", text(&run, "id"))).await;
        answer.text().contains("+changed").then_some(())
    })
    .await;
}

/// A repository with one commit.
fn project() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let git = |arguments: &[&str]| {
        let done = std::process::Command::new("git").arg("-C").arg(folder.path()).args(arguments).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    };
    git(&["init", "--quiet", "--initial-branch=main"]);
    git(&["-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "--quiet", "--allow-empty", "-m", "x"]);
    folder
}

#[tokio::test]
async fn a_work_tree_per_thread_shows_its_changes_and_keeps_what_is_not_committed() {
    let folder = project();
    let scene = scene(&format!("project = \"{}\"\nworktrees = true\n", folder.path().display())).await;
    let one = scene.alice.post(&scene.general, "@claude edit this").await;
    runs(&scene.alice, &scene.general, "completed", 1).await;
    let two = scene.alice.post(&scene.general, "@claude quick").await;
    let done = runs(&scene.alice, &scene.general, "completed", 2).await;
    let of = |root: &serde_json::Value| done.iter().find(|run| run["thread_id"] == root["id"]).unwrap();
    let edited = of(&one);
    let (branch, other) = (text(edited, "branch").to_owned(), text(of(&two), "branch").to_owned());
    assert!(branch.starts_with("moot/claude/") && other.starts_with("moot/claude/") && branch != other);
    assert_eq!(edited["changes"], json!([{"path": "work.txt", "kind": "added", "added": 1, "removed": 0}]));
    let diff = eventually("the diff", || async {
        let answer = scene.alice.rest.get(&format!("/v1/runs/{}/diff", text(edited, "id"))).await;
        Some(answer.text()).filter(|diff| diff.contains("+changed"))
    })
    .await;
    assert!(diff.contains("work.txt"));
    let tree = folder.path().join(".worktrees").join(&branch);
    assert_eq!(std::fs::read_to_string(tree.join("work.txt")).unwrap(), "changed\n", "nothing is thrown away");
    assert!(!folder.path().join("work.txt").exists());
}
