//! What an engine sees of the machine it runs on: a chosen environment, and none of the hub's own files.

use std::path::Path;

use folkmoot_runs::locks::Locks;
use folkmoot_runs::process::walls::{Hold, Walls, possible};

use crate::support::*;

fn walls(closed: &[&Path]) -> Walls {
    let closed = closed.iter().map(|path| (*path).to_owned()).collect();
    Walls { hold: Hold::Required, closed, ..Walls::default() }
}

/// Says so when the kernel cannot hold walls: then there is nothing to try here.
fn is_possible() -> bool {
    let possible = possible(Some(Path::new(env!("CARGO_BIN_EXE_fake-engine"))));
    if let Err(why) = &possible {
        eprintln!("NOT TRIED: {why}");
    }
    possible.is_ok()
}

#[tokio::test]
async fn an_engine_sees_its_own_variables_and_nothing_else_of_ours() {
    for engine in PROGRAMS {
        let stage = stage(engine, "well");
        stage.play("hi", None).await;
        let seen = stage.note("env").unwrap();
        let names: Vec<&str> = seen.lines().filter_map(|line| line.split('=').next()).collect();
        assert!(names.contains(&"PATH") && names.contains(&"FAKE_DIR"), "{engine}: {names:?}");
        assert!(seen.contains(&format!("PWD={}", stage.folder.path().display())), "{engine}: {seen}");
        // Whoever runs the tests has these: cargo sets them.
        assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
        let strange = names.iter().filter(|name| name.starts_with("CARGO_") && **name != "CARGO_HOME");
        assert_eq!(strange.count(), 0, "{engine}: {names:?}");
        assert!(!names.contains(&"MALLOC_CONF"), "what keeps the supervisor small is not for {engine}: {names:?}");
    }
}

#[tokio::test]
async fn a_heap_that_the_configuration_asks_for_is_the_engines() {
    let stage = stage_with("codex", "well", &[("MALLOC_CONF", "narenas:3")], Locks::default());
    stage.play("hi", None).await;
    assert!(stage.note("env").unwrap().lines().any(|line| line == "MALLOC_CONF=narenas:3"));
}

/// Lets an engine try everything it can on a secret that is closed, and on us.
async fn thief_behind(engine: &str, no_curtain: bool) {
    let data = tempfile::tempdir().unwrap();
    let secret = data.path().join("deep/secret");
    std::fs::create_dir_all(secret.parent().unwrap()).unwrap();
    std::fs::write(&secret, "s3cret").unwrap();
    let single = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(single.path(), "s3cret").unwrap();
    let ours = format!("/proc/{}", std::process::id());
    let wanted = [
        secret.display().to_string(),
        format!("{ours}/environ"),
        format!("{ours}/root{}", secret.display()),
        format!("{ours}/cwd/Cargo.toml"),
    ];
    let walls = Walls { no_curtain, ..walls(&[data.path(), single.path()]) };
    let env = [("FAKE_STEAL", wanted.join(":")), ("FAKE_EMPTY", single.path().display().to_string())];
    let env = [("FAKE_STEAL", env[0].1.as_str()), ("FAKE_EMPTY", env[1].1.as_str())];
    let stage = stage_within(engine, "thief", &env, Locks::default(), walls);
    let events = stage.play("hi", None).await;
    assert!(completed(&events).ok, "{engine}: {:?}", completed(&events).error);
    let stolen = stage.note("stolen").unwrap();
    assert!(!stolen.contains("done") && !stolen.contains("s3cret"), "{engine}: {stolen}");
    assert_eq!(std::fs::read_to_string(&secret).unwrap(), "s3cret");
    assert_eq!(std::fs::read_to_string(single.path()).unwrap(), "s3cret");
}

#[tokio::test]
async fn behind_walls_nothing_that_is_closed_is_opened_written_linked_or_moved() {
    if is_possible() {
        for engine in PROGRAMS {
            thief_behind(engine, false).await;
        }
    }
}

#[tokio::test]
async fn the_same_holds_where_only_landlock_can_be_had() {
    if is_possible() {
        thief_behind("codex", true).await;
    }
}

/// In a user name space that may have one more inside of it, and not the two that a curtain needs.
#[tokio::test]
async fn where_a_curtain_falls_half_way_landlock_holds() {
    let mut helper = tokio::process::Command::new("unshare");
    helper.args([
        "--user",
        "--map-root-user",
        "sh",
        "-c",
        "echo 1 > /proc/sys/user/max_user_namespaces && exec \"$0\" \"$@\"",
    ]);
    helper.arg(std::env::current_exe().unwrap());
    helper.args(["--exact", "walls::helper_that_may_have_one_name_space", "--ignored", "--nocapture"]);
    let Ok(output) = helper.kill_on_drop(true).output().await else { return eprintln!("NOT TRIED: no `unshare`") };
    let said = String::from_utf8_lossy(&output.stdout);
    if !said.contains("running 1 test") {
        return eprintln!("NOT TRIED: {}", String::from_utf8_lossy(&output.stderr));
    }
    assert!(said.contains("1 passed"), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
}

#[tokio::test]
#[ignore = "run by the test above, where name spaces are few"]
async fn helper_that_may_have_one_name_space() {
    if is_possible() {
        thief_behind("codex", false).await;
    }
}

#[tokio::test]
async fn without_walls_the_same_engine_opens_the_same_file() {
    let data = tempfile::tempdir().unwrap();
    let secret = data.path().join("secret");
    std::fs::write(&secret, "s3cret").unwrap();
    let wanted = secret.display().to_string();
    let stage = stage_with("codex", "thief", &[("FAKE_STEAL", &wanted)], Locks::default());
    stage.play("hi", None).await;
    assert!(stage.note("stolen").unwrap().contains(&format!("read {wanted}: done")));
}

#[tokio::test]
async fn an_agent_whose_folder_lies_in_the_closed_one_works_there_and_nowhere_else_in_it() {
    if !is_possible() {
        return;
    }
    let data = tempfile::tempdir().unwrap();
    let (own, other) = (data.path().join("agents/one"), data.path().join("agents/two/note"));
    for folder in [&own, &other.parent().unwrap().to_owned()] {
        std::fs::create_dir_all(folder).unwrap();
    }
    std::fs::write(own.join("mine"), "").unwrap();
    std::fs::write(&other, "").unwrap();
    let wanted = format!("{}:{}", own.join("mine").display(), other.display());
    let closed = Walls { rooms: vec![data.path().join("agents")], ..walls(&[data.path()]) };
    let mut stage = stage_within("codex", "thief", &[("FAKE_STEAL", &wanted)], Locks::default(), closed);
    let request = folkmoot_runs::run::Request { prompt: "hi".into(), folder: own.clone(), ..Default::default() };
    let mut run = stage.runner.run(stage.engine, request);
    collect(&mut run).await;
    within(run.gone()).await;
    let stolen = stage.note("stolen").unwrap();
    assert!(stolen.contains(&format!("read {}: done", own.join("mine").display())), "{stolen}");
    assert!(!stolen.contains(&format!("read {}: done", other.display())), "{stolen}");
    stage.folder = data;
}
