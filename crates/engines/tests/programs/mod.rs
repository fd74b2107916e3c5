//! The real programs: where `make real-engines` has put them, and how each is pointed at the model on loopback.
//!
//! They are installed by `install.sh` beside this file, which also names their versions.

#![allow(dead_code)] // Each test binary uses a part.

pub mod cases;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::models::{KEY, MODEL};

/// One program that was installed.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its folder below `target/real-engines`, such as `pi-mariozechner`.
    pub label: String,
    pub engine: &'static str,
    pub package: String,
    pub version: String,
    pub command: PathBuf,
    /// A Node.js of its own, where the machine's is too old for it.
    pub node: Option<PathBuf>,
}

/// The labels of `install.sh`, with the engine that each is.
pub const LABELS: [(&str, &str); 5] =
    [("claude", "claude"), ("codex", "codex"), ("opencode", "opencode"), ("pi", "pi"), ("pi-mariozechner", "pi")];

pub fn folder() -> PathBuf {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the repository");
    let folder = repository.join("target/real-engines");
    // As the programs name it, who compare paths of files with the one they work in.
    folder.canonicalize().unwrap_or(folder)
}

/// A project below `home`, with a file to edit. It is a repository of its own: the one around it is none of its business.
pub fn project(home: &Path) -> PathBuf {
    let project = home.join("project");
    std::fs::create_dir_all(&project).expect("a project");
    let made = std::process::Command::new("git").arg("init").arg("-q").current_dir(&project).status();
    assert!(made.expect("git is there").success(), "a repository");
    project
}

/// What is installed, and what is not, in words.
pub fn installed() -> (Vec<Program>, Vec<String>) {
    let (mut programs, mut missing) = (Vec::new(), Vec::new());
    for (label, engine) in LABELS {
        match program(label, engine) {
            Some(program) => programs.push(program),
            None => missing.push(format!("{label} is not installed: {}", note(label, "missing").trim())),
        }
    }
    (programs, missing)
}

fn program(label: &str, engine: &'static str) -> Option<Program> {
    let installed = note(label, "installed");
    let (package, version) = installed.trim().rsplit_once('@')?;
    let command = folder().join(label).join("node_modules/.bin").join(engine);
    let node = Some(folder().join("node/node_modules/.bin")).filter(|bin| bin.join("node").exists());
    let (package, version) = (package.to_owned(), version.to_owned());
    Some(Program { label: label.to_owned(), engine, package, version, command, node })
}

fn note(label: &str, name: &str) -> String {
    std::fs::read_to_string(folder().join(label).join(name)).unwrap_or_default()
}

/// How a program is told about its model: files in its own folder, variables, and keys of `[engines.NAME]`.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    pub env: BTreeMap<String, String>,
    pub own: Map<String, Value>,
    pub model: String,
}

impl Program {
    /// `PATH` with the program's own Node.js first.
    pub fn path(&self) -> String {
        let path = std::env::var("PATH").unwrap_or_default();
        self.node.as_ref().map_or(path.clone(), |node| format!("{}:{path}", node.display()))
    }

    /// Writes its configuration below `home`. In the plain mode nobody can be asked, so it may do what the plays want.
    pub fn settings(&self, models: &str, home: &Path, warm: bool) -> Settings {
        let place = home.join(format!(".{}", self.label));
        std::fs::create_dir_all(&place).expect("a folder");
        let mut settings = match self.engine {
            "claude" => claude(models, &place, warm),
            "codex" => codex(models, &place, warm),
            "opencode" => opencode(models, &place, warm),
            _ => pi(models, &place),
        };
        settings.own.insert("mode".to_owned(), json!(if warm { "warm" } else { "plain" }));
        settings
    }
}

fn env<const N: usize>(variables: [(&str, &str); N]) -> BTreeMap<String, String> {
    variables.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn own(value: Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path that is text")
}

fn claude(models: &str, place: &Path, warm: bool) -> Settings {
    let env = env([
        ("ANTHROPIC_BASE_URL", models),
        ("ANTHROPIC_API_KEY", KEY),
        ("CLAUDE_CONFIG_DIR", text(place)),
        // Ten attempts take minutes; two are seen as well.
        ("CLAUDE_CODE_MAX_RETRIES", "2"),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ("DISABLE_AUTOUPDATER", "1"),
        ("IS_SANDBOX", "1"),
    ]);
    let plain =
        json!({"permission_mode": "acceptEdits", "allowed_tools": ["Bash(echo *)", "Bash(sleep *)", "Bash(tail *)"]});
    let own = if warm { own(json!({"allowed_tools": ["Bash(sleep *)", "Bash(tail *)"]})) } else { own(plain) };
    Settings { env, own, model: MODEL.to_owned() }
}

/// codex offers its tool for patches to models that it knows.
const CODEX_MODEL: &str = "gpt-5.5";

fn codex(models: &str, place: &Path, warm: bool) -> Settings {
    // Its own five attempts over half a minute are cut to two: they are seen as well.
    let config = format!(
        "model_provider = \"fake\"\n\n[model_providers.fake]\nname = \"fake\"\nbase_url = \"{models}/v1\"\n\
         wire_api = \"responses\"\nenv_key = \"FAKE_KEY\"\nrequest_max_retries = 1\nstream_max_retries = 2\n"
    );
    std::fs::write(place.join("config.toml"), config).expect("a configuration");
    let own = if warm { Map::new() } else { own(json!({"sandbox": "workspace-write"})) };
    Settings { env: env([("CODEX_HOME", text(place)), ("FAKE_KEY", KEY)]), own, model: CODEX_MODEL.to_owned() }
}

fn opencode(models: &str, place: &Path, warm: bool) -> Settings {
    let file = place.join("opencode.json");
    let options = json!({"baseURL": format!("{models}/v1"), "apiKey": KEY});
    let mut entry = Map::new();
    entry.insert(MODEL.to_owned(), json!({"reasoning": true, "tool_call": true}));
    let provider = json!({"npm": "@ai-sdk/openai-compatible", "options": options, "models": entry});
    let model = format!("fake/{MODEL}");
    let mut config = json!({"model": model, "small_model": model, "provider": {"fake": provider}});
    if !warm {
        config["permission"] = json!({"edit": "allow", "bash": "allow"});
    }
    std::fs::write(&file, config.to_string()).expect("a configuration");
    let env = env([
        ("OPENCODE_CONFIG", text(&file)),
        ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
        ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
    ]);
    Settings { env, own: Map::new(), model }
}

fn pi(models: &str, place: &Path) -> Settings {
    let cost = json!({"input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0});
    let model = json!({"id": MODEL, "name": MODEL, "reasoning": true, "input": ["text"], "contextWindow": 200_000,
                       "maxTokens": 8000, "cost": cost});
    let provider =
        json!({"baseUrl": format!("{models}/v1"), "apiKey": KEY, "api": "openai-completions", "models": [model]});
    std::fs::write(place.join("models.json"), json!({"providers": {"fake": provider}}).to_string()).expect("a file");
    let env = env([("PI_CODING_AGENT_DIR", text(place)), ("PI_OFFLINE", "1"), ("PI_SKIP_VERSION_CHECK", "1")]);
    Settings { env, own: own(json!({"provider": "fake"})), model: MODEL.to_owned() }
}
