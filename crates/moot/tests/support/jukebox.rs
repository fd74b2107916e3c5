//! `moot pool agent` as a process, with music that the test makes, and a channel that commands it.

use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::hub::{BINARY, clean_command, collect, wait_for_end};
use super::{Hub, Member, eventually, items, text, wav};

pub const GUILD: &str = "main";
pub const VOICE: &str = "lobby";

pub struct Jukebox {
    child: Child,
    log: Arc<Mutex<String>>,
    pub music: Arc<TempDir>,
}

/// A folder with two tracks of a minute and one of three seconds.
pub fn music() -> Arc<TempDir> {
    let folder = TempDir::new().expect("a temporary folder");
    for (name, seconds, tags) in [
        ("1.wav", 60.0, ("So What", "Miles Davis", "Kind of Blue")),
        ("2.wav", 60.0, ("Blue in Green", "Miles Davis", "Kind of Blue")),
        ("3.wav", 3.0, ("Blip", "Somebody", "Short Ones")),
    ] {
        std::fs::write(folder.path().join(name), wav::tone(seconds, Some(tags))).expect("a file");
    }
    Arc::new(folder)
}

impl Jukebox {
    /// Starts the agent; it may take a moment until the hub knows it.
    pub fn start(hub: &Hub, music: &Arc<TempDir>) -> Jukebox {
        let mut child = command(hub.folder().path(), music.path(), &hub.url(""))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let log = Arc::new(Mutex::new(String::new()));
        collect(child.stdout.take().expect("piped"), log.clone());
        collect(child.stderr.take().expect("piped"), log.clone());
        Jukebox { child, log, music: Arc::clone(music) }
    }

    pub fn log(&self) -> String {
        self.log.lock().expect("log").clone()
    }

    /// Asks it to stop, and waits for its end.
    pub async fn stop(&mut self) -> ExitStatus {
        kill_process(Pid::from_child(&self.child), Signal::TERM).expect("the agent is running");
        wait_for_end(&mut self.child, super::DEADLINE).await.expect("the agent ends in time")
    }

    /// No chance to say goodbye.
    pub fn kill(&mut self) {
        self.child.kill().expect("the agent is running");
        self.child.wait().expect("the agent has ended");
    }
}

fn command(home: &Path, music: &Path, server: &str) -> std::process::Command {
    let mut command = clean_command(BINARY, home);
    command.args(["pool", "agent", "--id", "jukebox-1", "--guild", GUILD, "--server", server, "--music"]).arg(music);
    command
}

impl Drop for Jukebox {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("--- output of the agent ---\n{}", self.log());
        }
    }
}

/// Everything for a concert: an agent that the hub knows, and a channel of `owner` that commands its voice channel.
pub async fn stage(hub: &Hub, owner: &Member, members: &[&Member]) -> (Jukebox, String) {
    let jukebox = Jukebox::start(hub, &music());
    let channel = owner.add_private("music", members).await;
    let link = json!({ "guild_id": GUILD, "voice_channel_id": VOICE });
    owner.rest.put(&format!("/v1/channels/{channel}/pool"), link).await.done();
    until_known(owner).await;
    (jukebox, channel)
}

/// Waits until the hub can use the agent.
pub async fn until_known(member: &Member) {
    eventually("the agent is known", || async {
        let agents = member.rest.get("/v1/pools/agents").await.ok();
        items(&agents).iter().any(|agent| agent["agent_id"] == "jukebox-1" && agent["ready"] == true).then_some(())
    })
    .await;
}

/// An operation for whoever serves the voice channel, over REST.
pub async fn dispatch(member: &Member, op: &str, data: Value) -> Value {
    let body = json!({ "guild_id": GUILD, "voice_channel_id": VOICE, "kind": "music", "op": op, "data": data });
    member.rest.post("/v1/pools/dispatch", body).await.ok()
}

/// Says something in the channel and returns the answer that appears there.
pub async fn order(member: &Member, channel: &str, command: &str) -> String {
    let before = member.texts(channel).await.len();
    member.post(channel, command).await;
    eventually(&format!("an answer to {command}"), || async {
        let texts = member.texts(channel).await;
        texts.get(before + 1).cloned()
    })
    .await
}

/// A link to listen, as REST gives it.
pub async fn listen_link(member: &Member) -> (String, String) {
    let body = json!({ "guild_id": GUILD, "voice_channel_id": VOICE });
    let link = member.rest.post("/v1/pools/listen", body).await.ok();
    (text(&link, "url").to_owned(), text(&link, "key").to_owned())
}
