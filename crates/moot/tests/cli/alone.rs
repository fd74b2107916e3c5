//! What the command line does without a hub.

use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use crate::support::{Home, Ran};

/// Nothing listens on port 1 of the loopback.
const NOWHERE: &str = "http://127.0.0.1:1";

#[test]
fn help_groups_the_commands_and_shows_how_to_start() {
    let help = Home::new().run(&["--help"]).good();
    for part in ["Run a hub:", "Use a hub:", "moot serve", "moot login --register"] {
        assert!(help.contains(part), "{help}");
    }
}

#[test]
fn wrong_usage_ends_with_code_2_on_standard_error() {
    let home = Home::new();
    for arguments in [&["sendd"][..], &["send"], &["serve", "--nope"], &["completions", "klingon"], &[]] {
        assert!(!home.run(arguments).bad(2).is_empty());
    }
}

#[test]
fn a_wrong_configuration_ends_with_code_2_and_names_file_line_and_nearest_key() {
    let home = Home::new();
    let file = home.write("moot.toml", "[server]\nlisen = \"127.0.0.1:1\"\n");
    for command in [&["config", "check"][..], &["serve"], &["config", "list"], &["backup", "x"]] {
        let arguments: Vec<&str> = command.iter().copied().chain(["--config", &file]).collect();
        let err = home.run(&arguments).bad(2);
        assert_eq!(
            err,
            format!("error: {file}:2: unknown key `server.lisen`\nhint: the nearest known one is `server.listen`\n")
        );
    }
}

#[test]
fn the_configuration_file_is_found_by_flag_variable_and_folder() {
    let home = Home::new();
    home.write(".config/folkmoot/config.toml", "[server]\nlog = \"warn\"\n");
    assert_eq!(home.run(&["config", "get", "server.log"]).good(), "warn\n");
    let other = home.write("other.toml", "[server]\nlog = \"debug\"\n");
    let ran = Ran::of(home.command(&["config", "get", "server.log"]).env("MOOT_CONFIG", &other).output().unwrap());
    assert_eq!(ran.good(), "debug\n");
    assert_eq!(home.run(&["config", "path", "--config", &other]).good(), format!("{other}\n"));
    home.run(&["config", "check", "--config", "/nowhere.toml"]).bad(2);
}

#[test]
fn the_environment_overrides_the_file_and_its_mistakes_are_named() {
    let home = Home::new();
    let get = |name: &str, value: &str| {
        Ran::of(home.command(&["config", "get", "server.registration"]).env(name, value).output().unwrap())
    };
    assert_eq!(get("MOOT_SERVER__REGISTRATION", "open").good(), "open\n");
    let err = get("MOOT_SERVER__REGISTRATON", "open").bad(2);
    assert!(err.contains("`MOOT_SERVER__REGISTRATON`") && err.contains("`MOOT_SERVER__REGISTRATION`"), "{err}");
    assert!(get("MOOT_SERVER__REGISTRATION", "maybe").bad(2).contains("one of `first`, `open`, `closed`"));
}

#[test]
fn set_changes_the_file_and_get_and_list_see_it() {
    let home = Home::new();
    home.run(&["config", "set", "server.listen", "127.0.0.1:9"]).good();
    assert_eq!(home.run(&["config", "get", "server.listen"]).good(), "127.0.0.1:9\n");
    let list = home.run(&["config", "list", "--json"]).json();
    let row = list.as_array().unwrap().iter().find(|row| row["key"] == "server.listen").unwrap();
    assert_eq!(row["value"], "127.0.0.1:9");
    assert!(row["origin"].as_str().unwrap().ends_with("config.toml:2"), "{row}");
    assert_eq!(home.run(&["config", "set", "telegram.chat_id", "-100"]).code, 0);
    assert!(home.run(&["config", "set", "server.listen", "nonsense"]).bad(2).contains("cannot be listened on"));
    assert_eq!(home.run(&["config", "get", "server.listen"]).good(), "127.0.0.1:9\n");
}

#[test]
fn a_secret_can_be_set_from_standard_input_and_is_never_printed() {
    let home = Home::new();
    home.run_with_input(&["config", "set", "llm.api_key", "-"], "sk-very-secret\n").good();
    let file = home.path().join(".config/folkmoot/config.toml");
    assert!(std::fs::read_to_string(&file).unwrap().contains("sk-very-secret"));
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    for arguments in
        [&["config", "get", "llm.api_key"][..], &["config", "list"], &["config", "list", "--json"], &["doctor"]]
    {
        let ran = home.run(arguments);
        assert!(!format!("{ran:?}").contains("sk-very-secret"), "{ran:?}");
    }
    assert_eq!(home.run(&["config", "get", "llm.api_key"]).good(), "***\n");
}

#[test]
fn commands_of_a_client_say_how_to_log_in() {
    let home = Home::new();
    for arguments in [&["channel", "list"][..], &["member", "list"], &["send", "general", "hi"], &["tail", "general"]] {
        let err = home.run(arguments).bad(1);
        assert!(
            err.starts_with("error: you are not logged in to http://127.0.0.1:8484\nhint: log in with `moot login"),
            "{err}"
        );
    }
}

#[test]
fn a_backup_into_a_folder_that_is_not_there_names_it() {
    let home = Home::new();
    let folder = home.path().join("nowhere");
    let file = folder.join("b.backup");
    let err = home.run(&["backup", file.to_str().unwrap()]).bad(1);
    let expected = format!("error: there is no folder `{}`\nhint: make it first", folder.display());
    assert!(err.starts_with(&expected), "{err}");
}

#[test]
fn a_damaged_database_is_refused_with_the_way_back() {
    let home = Home::new();
    let folder = home.path().join("data");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("hub.db"), "This is not a database. ".repeat(100)).unwrap();
    let arguments = ["serve", "--data-dir", folder.to_str().unwrap(), "--listen", "127.0.0.1:0"];
    let err = home.run(&arguments).bad(1);
    assert!(err.contains("hint: ") && err.contains("moot restore FILE --force"), "{err}");
}

#[test]
fn a_hub_that_is_not_there_is_named_with_the_remedy() {
    let home = Home::new();
    for arguments in [&["channel", "list"][..], &["send", "general", "hi"], &["tail", "general"]] {
        let arguments: Vec<&str> = arguments.iter().copied().chain(["--server", NOWHERE, "--token", "t"]).collect();
        let err = home.run(&arguments).bad(1);
        assert!(err.starts_with(&format!("error: the hub at {NOWHERE} cannot be reached: ")), "{err}");
        assert!(err.contains("hint: start it with `moot serve`"), "{err}");
    }
    home.run_with_input(&["login", "--server", NOWHERE, "--email", "a@b.c", "--password-stdin"], "secret\n").bad(1);
    assert!(!home.path().join(".config/folkmoot/profile.json").exists());
}

#[test]
fn wrong_arguments_of_a_client_are_wrong_usage() {
    let home = Home::new();
    home.run(&["send", "general", " ", "--server", NOWHERE, "--token", "t"]).bad(2);
    home.run(&["channel", "list", "--server", "ftp://x", "--token", "t"]).bad(2);
    home.run(&["login", "--token", "t", "--email", "a@b.c"]).bad(2);
    home.run(&["login", "--server", NOWHERE]).bad(2);
    let err = home.run(&["login", "--server", NOWHERE, "--email", "a@b.c"]).bad(2);
    assert!(err.contains("--password-stdin"), "{err}");
}

#[test]
fn doctor_passes_on_a_fresh_machine_and_fails_with_a_wrong_configuration() {
    let home = Home::new();
    let arguments = ["doctor", "--json", "--listen", "127.0.0.1:0"];
    let mut command = home.command(&arguments);
    let findings = Ran::of(command.env("MOOT_SMARTHOLE__ENABLED", "false").output().unwrap()).json();
    let verdict = |name: &str| {
        let found = findings.as_array().unwrap().iter().find(|finding| finding["check"] == name);
        found.unwrap_or_else(|| panic!("no {name} in {findings}"))["verdict"].clone()
    };
    for name in ["configuration", "data folder", "database", "hub", "smarthole", "profile"] {
        assert_eq!(verdict(name), "ok", "{findings}");
    }
    let file = home.write("moot.toml", "[server]\nlisten = 3\n");
    let ran = home.run(&["doctor", "--config", &file]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.out.starts_with("fail  configuration") && ran.out.contains("hint:"), "{ran:?}");
}

#[test]
fn doctor_sees_a_port_that_something_else_uses() {
    let home = Home::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    // Whoever connects is turned away at once: it is no hub.
    let closer = std::thread::spawn(move || listener.incoming().take(2).for_each(drop));
    let ran = home.run(&["doctor", "--listen", &address]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.out.contains(&format!("something that is not a hub answers on {address}")), "{ran:?}");
    closer.join().unwrap();
}

#[test]
fn completions_are_made_for_every_shell() {
    let home = Home::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(home.run(&["completions", shell]).good().contains("moot"), "{shell}");
    }
}

#[test]
fn a_reader_that_stops_reading_is_no_failure() {
    let home = Home::new();
    let mut child = home.command(&["config", "list"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn colours_are_for_terminals_only() {
    let home = Home::new();
    let ran = home.run(&["config", "get", "nothing.here"]);
    assert!(!ran.err.contains('\u{1b}'), "{ran:?}");
}

#[test]
fn backup_refuses_to_replace_a_file_and_restore_wants_one() {
    let home = Home::new();
    let file = home.write("hub.backup", "mine");
    let err = home.run(&["backup", &file]).bad(1);
    assert!(err.contains("is already there") && err.contains("--force"), "{err}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
    assert!(home.run(&["restore", "/nowhere.backup"]).bad(1).contains("there is no backup `/nowhere.backup`"));
}

#[test]
fn promised_keys_that_this_version_does_not_serve_are_refused_in_words() {
    let home = Home::new();
    let serve = |name: &str, value: &str| Ran::of(home.command(&["serve"]).env(name, value).output().unwrap());
    assert!(serve("MOOT_STORE__URL", "mysql://u:pw@db/x").bad(2).contains("`store.url`"));
    assert!(serve("MOOT_BUS__URL", "nats://bus").bad(2).contains("`bus.url`"));
}
