//! What the command line does with a hub: the way of a newcomer, and the care of an operator.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Home, Hub};

const PASSWORD: &str = "correct horse battery";

/// A fresh hub whose first account, ann, is logged in from this home.
fn with_ann() -> (Home, Hub) {
    let home = Home::new();
    let hub = Hub::start(&home);
    let arguments = ["login", "--server", &hub.url(), "--register", "--name", "ann", "--email", "ann@example.org"];
    let ran = home.run_with_input(&[&arguments[..], &["--password-stdin"]].concat(), &format!("{PASSWORD}\n"));
    assert_eq!(ran.good(), format!("logged in to {} as ann\n", hub.url()));
    (home, hub)
}

fn texts(list: &Value, field: &str) -> Vec<String> {
    list.as_array().unwrap().iter().map(|item| item[field].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn the_first_account_is_made_by_login_and_kept_for_its_owner_only() {
    let (home, hub) = with_ann();
    let profile = home.path().join(".config/folkmoot/profile.json");
    assert_eq!(std::fs::metadata(profile).unwrap().permissions().mode() & 0o777, 0o600);
    let arguments = ["login", "--register", "--name", "bob", "--email", "bob@example.org", "--password", PASSWORD];
    assert!(home.run(&arguments).bad(1).starts_with("error: the hub refused: "));
    let again = ["login", "--email", "ann@example.org", "--password", PASSWORD, "--json"];
    let who = home.run(&again).json();
    assert_eq!((&who["name"], &who["server"]), (&"ann".into(), &hub.url().into()));
    assert!(who.get("token").is_none(), "{who}");
    let err = home.run(&["login", "--email", "ann@example.org", "--password", "wrong password"]).bad(1);
    assert!(err.starts_with("error: the hub refused: "), "{err}");
    assert_eq!(home.run(&["channel", "list"]).code, 0, "a failed login must leave the profile alone");
}

#[test]
fn who_has_no_account_on_a_hub_without_any_is_told_to_make_the_first() {
    let home = Home::new();
    let hub = Hub::start(&home);
    let err = home.run(&["channel", "list", "--server", &hub.url()]).bad(1);
    assert!(err.contains("hint: nobody has an account there yet") && err.contains("--register --name YOU"), "{err}");
}

#[test]
fn the_account_shows_its_sessions_and_keys_and_a_new_password_ends_those_that_are_not_kept() {
    let (home, hub) = with_ann();
    let listed = home.run(&["account", "list", "--json"]).json();
    let session = listed["sessions"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(listed["sessions"][0]["current"], true, "{listed}");
    home.run(&["member", "key", "ann"]).good();
    let key = home.run(&["account", "list", "--json"]).json()["keys"][0]["id"].as_str().unwrap().to_owned();
    home.run(&["account", "end", &key]).good();
    home.run(&["account", "end", &key]).bad(1);
    let passwords = format!("{PASSWORD}\nanother good password\n");
    let changed = home.run_with_input(&["account", "password", "--password-stdin", "--json"], &passwords).json();
    assert_eq!(changed["ended"], json!([session]));
    // The profile goes on with the new session, and its device is known at the next log-in.
    home.run(&["member", "list"]).good();
    let server = hub.url();
    let login = ["login", "--server", &server, "--email", "ann@example.org", "--password-stdin"];
    home.run_with_input(&login, "another good password\n").good();
    home.run_with_input(&login, &format!("{PASSWORD}\n")).bad(1);
    let table = home.run(&["account", "list"]).good();
    assert!(table.lines().count() == 2 && table.contains("this one"), "{table}");
}

#[test]
fn members_are_removed_under_either_word() {
    let (home, _hub) = with_ann();
    home.run(&["channel", "create", "general"]).good();
    for (from_channel, from_hub) in [("remove", "rm"), ("rm", "remove")] {
        home.run(&["member", "add", "codebot", "--agent"]).good();
        home.run(&["channel", "add", "general", "codebot"]).good();
        home.run(&["channel", from_channel, "general", "codebot"]).good();
        home.run(&["member", from_hub, "codebot", "--yes"]).good();
    }
}

#[test]
fn an_invitation_is_a_link_on_standard_output_and_into_a_channel_that_is_there() {
    let (home, _hub) = with_ann();
    home.run(&["channel", "create", "general"]).good();
    let link = home.run(&["member", "invite"]).good();
    let code = link.trim().rsplit_once("/join/").expect("a link").1;
    assert_eq!(code.len(), 32, "{link}");
    let made = home.run(&["member", "invite", "--admin", "--channel", "general", "--json"]).json();
    assert_eq!((&made["role"], made["channel_ids"].as_array().map(Vec::len)), (&"admin".into(), Some(1)));
    assert!(home.run(&["member", "invite", "--channel", "nowhere"]).bad(1).contains("nowhere"));
}

#[test]
fn members_are_added_listed_and_removed() {
    let (home, hub) = with_ann();
    home.run(&["member", "add", "bob", "--email", "bob@example.org", "--password", PASSWORD]).good();
    let key = home.run(&["member", "add", "codebot", "--agent"]).good();
    assert!(key.starts_with("lr_") && key.trim_end().len() == 67, "{key}");
    let members = home.run(&["member", "list", "--json"]).json();
    assert_eq!(texts(&members, "name"), ["ann", "bob", "codebot"]);
    assert!(!members.to_string().contains(key.trim_end()));

    let other = Home::new();
    let login = ["login", "--server", &hub.url(), "--token", key.trim_end()];
    assert_eq!(other.run(&login).good(), format!("logged in to {} as codebot\n", hub.url()));
    let fresh = home.run(&["member", "key", "codebot"]).good();
    assert_ne!(fresh, key);
    assert!(other.run(&["channel", "list"]).bad(1).contains("hint: the login may have expired"));

    home.run(&["member", "rm", "BOB"]).good();
    let members = home.run(&["member", "list", "--json"]).json();
    assert_eq!(texts(&members, "name"), ["ann", "codebot"]);
    let err = home.run(&["member", "rm", "codebt"]).bad(1);
    assert!(err.contains("there is no member `codebt`") && err.contains("the nearest name is `codebot`"), "{err}");
}

#[test]
fn channels_are_used_by_name() {
    let (home, hub) = with_ann();
    home.run(&["channel", "create", "general"]).good();
    home.run(&["channel", "create", "#plans", "--private"]).good();
    let key = home.run(&["member", "add", "codebot", "--agent"]).good();
    home.run(&["channel", "add", "plans", "codebot"]).good();
    let agent = |arguments: &[&str]| {
        let url = hub.url();
        home.run(&[arguments, &["--server", &url, "--token", key.trim_end()]].concat())
    };
    agent(&["send", "#plans", "I", "am", "in"]).good();
    home.run(&["channel", "remove", "#plans", "@codebot"]).good();
    agent(&["send", "plans", "still?"]).bad(1);
    let history = home.run(&["channel", "history", "plans"]).good();
    assert!(history.ends_with("  codebot  I am in\n"), "{history}");
    let channels = home.run(&["channel", "list", "--json"]).json();
    assert!(texts(&channels, "name").contains(&"general".to_owned()), "{channels}");
}

#[test]
fn send_prints_the_id_and_takes_names_standard_input_threads_and_members() {
    let (home, _hub) = with_ann();
    home.run(&["channel", "create", "general"]).good();
    home.run(&["member", "add", "bob", "--email", "bob@example.org", "--password", PASSWORD]).good();
    let root = home.run(&["send", "General", "hello", "world"]).good();
    let root = root.trim_end();
    assert!(root.starts_with("msg_"), "{root}");
    home.run_with_input(&["send", "general"], "from a\npipe\n").good();
    let reply = home.run(&["send", "general", "--thread", root, "--json", "me too"]).json();
    assert_eq!(reply["thread_id"], root);
    let direct = home.run(&["send", "@bob", "--json", "only for you"]).json();
    let again = home.run(&["send", "@bob", "--json", "again"]).json();
    assert_eq!(direct["channel_id"], again["channel_id"]);
    let history = home.run(&["channel", "history", "general", "--json"]).json();
    assert_eq!(texts(&history, "content"), ["from a\npipe", "hello world"]);
    let direct = home.run(&["channel", "history", "@bob", "--json"]).json();
    assert_eq!(texts(&direct, "content"), ["again", "only for you"]);
    let err = home.run(&["send", "genral", "hi"]).bad(1);
    assert!(err.contains("the nearest name is `general`"), "{err}");
}

/// A `moot tail` that runs beside the test.
struct Tail {
    process: Child,
    lines: Receiver<String>,
}

impl Tail {
    fn start(home: &Home, arguments: &[&str]) -> Self {
        let mut process = home.command(arguments).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (sender, lines) = mpsc::channel();
        let output = BufReader::new(process.stdout.take().unwrap());
        std::thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Self { process, lines }
    }

    fn next(&self) -> String {
        self.lines.recv_timeout(Duration::from_secs(60)).expect("a line of `moot tail`")
    }

    fn next_content(&self) -> String {
        let message: Value = serde_json::from_str(&self.next()).unwrap();
        message["content"].as_str().unwrap().to_owned()
    }
}

impl Drop for Tail {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn tail_shows_every_message_once_and_in_order_also_across_a_restart_of_the_hub() {
    let (home, hub) = with_ann();
    home.run(&["channel", "create", "general"]).good();
    let root = home.run(&["send", "general", "1"]).good();
    home.run(&["send", "general", "--thread", root.trim_end(), "2"]).good();
    let tail = Tail::start(&home, &["tail", "general", "--json", "--since", "0"]);
    assert_eq!([tail.next_content(), tail.next_content()], ["1", "2"]);
    home.run(&["send", "general", "3"]).good();
    assert_eq!(tail.next_content(), "3");
    let (address, data_dir) = (hub.address.clone(), hub.data_dir.clone());
    hub.stop();
    let _hub = Hub::start_on(&home, &address, &data_dir);
    for text in ["4", "5", "6"] {
        home.run(&["send", "general", text]).good();
    }
    assert_eq!([tail.next_content(), tail.next_content(), tail.next_content()], ["4", "5", "6"]);
    home.run(&["send", "general", "7"]).good();
    assert_eq!(tail.next_content(), "7");
}

/// More events than the hub replays over a socket, each third one a reply to the very first message.
fn fill(home: &Home, hub: &Hub, channel: &str, count: usize) -> Vec<String> {
    let profile = std::fs::read_to_string(home.path().join(".config/folkmoot/profile.json")).unwrap();
    let profile: Value = serde_json::from_str(&profile).unwrap();
    let token = profile["token"].as_str().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        let url = format!("{}/v1/channels/{channel}/messages", hub.url());
        let mut root = Value::Null;
        for number in 0..count {
            let thread = if number % 3 == 2 { root.clone() } else { Value::Null };
            let body = serde_json::json!({"content": number.to_string(), "thread_id": thread});
            let answer = http.post(&url).bearer_auth(token).json(&body).send().await.unwrap();
            assert_eq!(answer.status(), 201);
            if number == 0 {
                root = answer.json::<Value>().await.unwrap()["id"].clone();
            }
        }
    });
    (0..count).map(|number| number.to_string()).collect()
}

#[test]
fn tail_of_more_than_the_hub_replays_shows_every_message_and_reply() {
    let (home, hub) = with_ann();
    home.run(&["channel", "create", "general"]).good();
    let channels = home.run(&["channel", "list", "--json"]).json();
    let channel = channels.as_array().unwrap().iter().find(|channel| channel["name"] == "general").unwrap();
    let sent = fill(&home, &hub, channel["id"].as_str().unwrap(), 1100);
    for since in [0, 10] {
        let tail = Tail::start(&home, &["tail", "general", "--json", "--since", &since.to_string()]);
        let shown: Vec<String> = sent.iter().skip(since).map(|_| tail.next_content()).collect();
        assert_eq!(shown, sent[since..]);
    }
}

#[test]
fn tail_prints_time_sender_and_text_and_indents_replies() {
    let (home, _hub) = with_ann();
    home.run(&["channel", "create", "general"]).good();
    let root = home.run(&["send", "general", "first"]).good();
    let tail = Tail::start(&home, &["tail", "general"]);
    assert!(tail.next().contains("(UTC)"));
    let line = tail.next();
    assert!(line.ends_with("  ann  first") && line.as_bytes()[2] == b':', "{line}");
    home.run(&["send", "general", "--thread", root.trim_end(), "a reply"]).good();
    assert!(tail.next().ends_with("      ↳ ann  a reply"));
}

#[test]
fn tail_of_a_channel_one_is_not_in_says_so() {
    let (home, hub) = with_ann();
    home.run(&["channel", "create", "plans", "--private"]).good();
    let channels = home.run(&["channel", "list", "--json"]).json();
    let plans = channels.as_array().unwrap().iter().find(|channel| channel["name"] == "plans").unwrap();
    let key = home.run(&["member", "add", "codebot", "--agent"]).good();
    let id = plans["id"].as_str().unwrap();
    let err = home.run(&["tail", id, "--server", &hub.url(), "--token", key.trim_end()]).bad(1);
    assert!(err.contains("error: the hub refused: "), "{err}");
}

#[test]
fn doctor_finds_the_running_hub_and_the_profile() {
    let (home, hub) = with_ann();
    let data_dir = hub.data_dir.to_str().unwrap();
    let findings = home.run(&["doctor", "--json", "--listen", &hub.address, "--data-dir", data_dir]).json();
    let sentence = |name: &str| {
        let found = findings.as_array().unwrap().iter().find(|finding| finding["check"] == name).unwrap();
        assert_eq!(found["verdict"], "ok", "{found}");
        found["sentence"].as_str().unwrap().to_owned()
    };
    let expected = format!("version {} answers on {}", env!("CARGO_PKG_VERSION"), hub.address);
    assert_eq!(sentence("hub"), expected);
    assert_eq!(sentence("profile"), format!("ann at {}", hub.url()));
    assert!(sentence("database").starts_with("version 5, sound"));
}

#[test]
fn doctor_fails_on_a_database_of_a_newer_version_and_on_a_damaged_one() {
    let (home, hub) = with_ann();
    let data_dir = hub.data_dir.clone();
    hub.stop();
    let database = data_dir.join("hub.db");
    let sound = std::fs::read(&database).unwrap();
    let look = || home.run(&["doctor", "--listen", "127.0.0.1:0", "--data-dir", data_dir.to_str().unwrap()]);
    let mut newer = sound.clone();
    newer[60..64].copy_from_slice(&99_u32.to_be_bytes());
    std::fs::write(&database, newer).unwrap();
    let ran = look();
    assert!(ran.code == 1 && ran.out.contains("written by a newer Folkmoot"), "{ran:?}");
    let mut damaged = sound;
    let end = damaged.len();
    damaged[4096..end].fill(0x55);
    std::fs::write(&database, damaged).unwrap();
    let ran = look();
    assert!(ran.code == 1 && ran.out.contains("moot restore FILE --force"), "{ran:?}");
}

#[test]
fn doctor_looks_into_the_databases_of_every_part() {
    const PART: folkmoot_database::Schema =
        folkmoot_database::Schema { mark: *b"Agd", migrations: &["CREATE TABLE t (a)"], pragmas: &[], statements: 1 };
    let (home, hub) = with_ann();
    let database = hub.data_dir.join("hosting/agentd.db");
    drop(PART.open(&database).unwrap());
    let look = || {
        let data_dir = hub.data_dir.to_str().unwrap();
        home.run(&["doctor", "--listen", &hub.address, "--data-dir", data_dir])
    };
    let ran = look();
    assert!(ran.code == 0 && ran.out.contains("hosting/agentd.db is sound"), "{ran:?}");
    let mut damaged = std::fs::read(&database).unwrap();
    damaged[100..].fill(0x55);
    std::fs::write(&database, damaged).unwrap();
    let ran = look();
    assert!(
        ran.code == 1 && ran.out.contains("agentd.db` is damaged") && ran.out.contains("moot restore FILE"),
        "{ran:?}"
    );
}

#[test]
fn a_backup_of_a_running_hub_can_be_restored_elsewhere() {
    let (home, hub) = with_ann();
    home.run(&["channel", "create", "general"]).good();
    for number in 0..20 {
        home.run(&["send", "general", &number.to_string()]).good();
    }
    let file = home.path().join("hub.backup");
    let file = file.to_str().unwrap();
    let said = home.run(&["backup", file, "--data-dir", hub.data_dir.to_str().unwrap()]).good();
    assert!(said.starts_with(&format!("wrote {file} (")), "{said}");
    home.run(&["send", "general", "after the backup"]).good();

    let restore = |folder: &str, more: &[&str]| home.run(&[&["restore", file, "--data-dir", folder], more].concat());
    let running = hub.data_dir.to_str().unwrap();
    assert!(restore(running, &["--force"]).bad(1).contains("hint: stop the hub"));
    let other = home.path().join("other");
    restore(other.to_str().unwrap(), &[]).good();
    assert!(restore(other.to_str().unwrap(), &[]).bad(1).contains("--force"));
    restore(other.to_str().unwrap(), &["--force"]).good();

    let address = hub.address.clone();
    hub.stop();
    let _restored = Hub::start_on(&home, &address, &other);
    let history = home.run(&["channel", "history", "general", "--json"]).json();
    let expected: Vec<String> = (0..20).rev().map(|number| number.to_string()).collect();
    assert_eq!(texts(&history, "content"), expected);
}

#[test]
fn a_second_hub_on_the_same_port_or_folder_fails_with_a_remedy() {
    let (home, hub) = with_ann();
    let elsewhere = home.path().join("elsewhere");
    let err = home.run(&["serve", "--listen", &hub.address, "--data-dir", elsewhere.to_str().unwrap()]).err;
    assert!(err.contains("error: ") && err.contains(&hub.address) && err.contains("hint: "), "{err}");
    let ran = home.run(&["serve", "--listen", "127.0.0.1:0", "--data-dir", hub.data_dir.to_str().unwrap()]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.err.contains("error: another hub is using the data folder"), "{ran:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_hub_takes_as_many_open_files_as_it_may() {
    let home = Home::new();
    let hub = Hub::start(&home);
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", hub.pid())).unwrap();
    let line = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    let numbers: Vec<&str> = line.split_whitespace().skip(3).take(2).collect();
    assert_eq!(numbers[0], numbers[1], "{line}");
}
