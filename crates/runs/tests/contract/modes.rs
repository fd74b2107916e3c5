//! How a program is to be driven: asked once, kept, and nobody waits for long.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use folkmoot_engines::engine::{EngineSettings, Mode};
use folkmoot_engines::engines;
use folkmoot_engines::event::EngineId;
use folkmoot_runs::locks::Locks;
use folkmoot_runs::modes::Modes;
use folkmoot_runs::process::Host;
use folkmoot_runs::run::Runner;

use crate::support::*;

const ENGINE: EngineId = EngineId::new("claude");

/// A claude that notes that it was asked, and then does this.
fn modes(folder: &tempfile::TempDir, then: &str) -> Modes {
    let (program, asked) = (folder.path().join("claude"), folder.path().join("asked"));
    let script = format!("#!/bin/sh\necho asked >> {}\ncd {}\n{then}\n", asked.display(), folder.path().display());
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    let settings = EngineSettings { command: program.to_string_lossy().into_owned(), ..EngineSettings::default() };
    let supervisor = Some(PathBuf::from(env!("CARGO_BIN_EXE_fake-engine")));
    let settings = BTreeMap::from([(ENGINE.to_string(), settings)]);
    let runner = Runner::new(settings, Locks::default(), engines::codecs());
    Modes::look(&[engines::find("claude").unwrap()], &runner.on(Host { supervisor, ..Host::default() }))
}

fn times_asked(folder: &tempfile::TempDir) -> usize {
    std::fs::read_to_string(folder.path().join("asked")).unwrap_or_default().lines().count()
}

#[tokio::test]
async fn a_program_is_asked_once_and_however_long_it_takes_no_prompt_waits_for_long() {
    let folder = tempfile::tempdir().unwrap();
    let modes = modes(&folder, "until [ -e go ]; do sleep 0.01; done; echo old");
    until(|| (times_asked(&folder) == 1).then_some(())).await;
    for _ in 0..3 {
        // Time stands still but for those who wait for it, so this is how long a prompt waits.
        tokio::time::pause();
        let begun = tokio::time::Instant::now();
        assert_eq!(modes.of(&ENGINE).await, Mode::Warm, "it is taken for one like those that were tried");
        assert!(begun.elapsed().as_secs() <= 2, "{:?}", begun.elapsed());
        tokio::time::resume();
    }
    std::fs::write(folder.path().join("go"), "").unwrap();
    within(async {
        while modes.of(&ENGINE).await != Mode::Plain {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(modes.of(&ENGINE).await, Mode::Plain, "it has said that it does not know the warm mode");
    assert_eq!(times_asked(&folder), 1);
}

#[tokio::test]
async fn a_program_that_cannot_answer_is_not_asked_again_at_every_prompt() {
    let folder = tempfile::tempdir().unwrap();
    let modes = modes(&folder, "exit 3");
    for _ in 0..3 {
        assert_eq!(within(modes.of(&ENGINE)).await, Mode::Plain);
    }
    assert_eq!(times_asked(&folder), 1);
}

#[tokio::test]
async fn another_program_in_its_place_is_asked_anew() {
    let folder = tempfile::tempdir().unwrap();
    let modes = modes(&folder, "echo old");
    assert_eq!(within(modes.of(&ENGINE)).await, Mode::Plain);
    let program = folder.path().join("claude");
    let newer = std::fs::read_to_string(&program).unwrap().replace("echo old", "echo --input-format stream-json");
    std::fs::write(&program, newer).unwrap();
    assert_eq!(within(modes.of(&ENGINE)).await, Mode::Warm);
}
