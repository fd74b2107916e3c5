//! Whether somebody is logged in to an engine: asked of the program itself, in the environment of a run and off the network.

use std::path::PathBuf;

use serde_json::Value;

use super::{Heard, heard};
use crate::process::Host;
use folkmoot_engines::engine::{EngineError, EngineSettings, Launch};
use folkmoot_engines::programs::Program;

/// What a program says about its login.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Login {
    /// It does not say.
    #[default]
    Unknown,
    In,
    /// Nobody is, but some models need no login.
    Free,
    Out(EngineError),
}

impl Login {
    pub fn is_out(&self) -> bool {
        matches!(self, Self::Out(_))
    }

    /// One word for programs that read lists.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::In => "in",
            Self::Free => "free",
            Self::Out(_) => "out",
        }
    }
}

pub(super) async fn look(program: &Program, launch: Launch, settings: &EngineSettings, host: &Host) -> Login {
    let mut asking = launch.clone();
    for (name, value) in program.status_env {
        asking.default_env(name, value);
    }
    let Ok(said) = heard(asking, program.status, host).await else { return Login::Unknown };
    match read(program.engine, &said) {
        Login::Out(_) if program.engine == "codex" && has_own_provider(&launch, settings) => Login::In,
        Login::Out(_) => Login::Out(problem(program.engine, &launch)),
        other => other,
    }
}

/// What the program said, in words that were recorded from the versions in [`folkmoot_engines::programs`].
fn read(engine: &str, said: &Heard) -> Login {
    let out = || Login::Out(EngineError { sentence: String::new(), hint: None });
    match engine {
        "claude" => {
            match serde_json::from_str::<Value>(&said.output).ok().and_then(|status| status["loggedIn"].as_bool()) {
                Some(true) => Login::In,
                Some(false) => out(),
                None => Login::Unknown,
            }
        }
        "codex" if said.exit.is_success() => Login::In,
        "codex" if said.all().contains("Not logged in") => out(),
        "opencode" if said.exit.is_success() => {
            models(&said.output).map_or_else(out, |free| if free { Login::Free } else { Login::In })
        }
        "pi" if said.all().contains("No models available") => out(),
        "pi" if said.exit.is_success() && said.output.starts_with("provider") => Login::In,
        _ => Login::Unknown,
    }
}

/// Whether there are models, and whether all of them are those that need no login.
fn models(output: &str) -> Option<bool> {
    let is_model = |line: &&str| line.contains('/') && !line.contains(char::is_whitespace);
    let models: Vec<&str> = output.lines().map(str::trim).filter(is_model).collect();
    (!models.is_empty()).then(|| models.iter().all(|model| model.starts_with("opencode/")))
}

fn problem(engine: &str, launch: &Launch) -> EngineError {
    let login = format!("`moot engines login {engine}`");
    let key = "ANTHROPIC_API_KEY";
    let is_kept_back = engine == "claude"
        && std::env::var_os(key).is_some()
        && launch.env.iter().any(|(name, value)| name == key && value.is_none());
    let hint = match engine {
        _ if is_kept_back => {
            format!(
                "{login}; or, to pay by {key}, which runs do not get, `moot config set engines.claude.use_api_billing true`"
            )
        }
        "codex" => format!("{login}, or set CODEX_API_KEY in `engines.codex.env`; codex does not read OPENAI_API_KEY"),
        _ => login,
    };
    EngineError::new(format!("{engine} is installed, but nobody is logged in to it"), hint)
}

/// codex asks only about accounts of its maker; who has a provider in the configuration or a key of its own needs none.
fn has_own_provider(launch: &Launch, settings: &EngineSettings) -> bool {
    let own = |name: &str| launch.env.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
    let variable = |name: &str| own(name).unwrap_or_else(|| std::env::var(name).ok()).filter(|text| !text.is_empty());
    let in_args = settings.extra_args.iter().any(|argument| argument.contains("model_provider") || argument == "--oss");
    let folder = variable("CODEX_HOME").map(PathBuf::from);
    let folder = folder.or_else(|| Some(PathBuf::from(variable("HOME")?).join(".codex")));
    let file = folder.and_then(|folder| std::fs::read_to_string(folder.join("config.toml")).ok()).unwrap_or_default();
    in_args || variable("CODEX_API_KEY").is_some() || file.lines().any(names_provider)
}

fn names_provider(line: &str) -> bool {
    let Some(value) = line.trim_start().strip_prefix("model_provider") else { return false };
    let Some(value) = value.trim_start().strip_prefix('=') else { return false };
    !value.trim_start().starts_with("\"openai\"")
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_engines::engine::Exit;

    fn said(code: i32, output: &str, stderr: &str) -> Heard {
        let exit = Exit { code: Some(code), signal: None, stderr: String::new() };
        Heard { output: output.to_owned(), errors: stderr.to_owned(), exit }
    }

    /// Recorded: claude 2.1.197 `auth status`, codex 0.166.0 `login status`, opencode 1.18.33 `models`, pi 0.74.2
    /// `--list-models`, each with an empty home folder, and again with a key.
    #[test]
    fn what_each_program_says_about_its_login_is_understood() {
        let claude = |text: &str, code| read("claude", &said(code, text, "")).word();
        assert_eq!(
            claude("{\n  \"loggedIn\": false,\n  \"authMethod\": \"none\",\n  \"apiProvider\": \"firstParty\"\n}\n", 1),
            "out"
        );
        assert_eq!(claude("{\n  \"loggedIn\": true,\n  \"authMethod\": \"oauth_token\"\n}\n", 0), "in");
        let warning = "WARNING: proceeding, even though we could not create PATH aliases\n";
        assert_eq!(read("codex", &said(1, "", &format!("{warning}Not logged in\n"))).word(), "out");
        assert_eq!(read("codex", &said(0, "", &format!("{warning}API key configured - ***\n"))).word(), "in");
        assert_eq!(read("opencode", &said(0, "", "")).word(), "out");
        assert_eq!(read("opencode", &said(0, "opencode/big-pickle\nopencode/space-bunny-free\n", "")).word(), "free");
        assert_eq!(read("opencode", &said(0, "opencode/big-pickle\nfake/m\n", "")).word(), "in");
        assert_eq!(read("pi", &said(0, "", "No models available. Use /login to log into a provider\n")).word(), "out");
        assert_eq!(read("pi", &said(0, "provider  model   context\nopenai    gpt-4   8.2K\n", "")).word(), "in");
    }

    #[test]
    fn a_program_that_says_something_else_is_not_said_to_be_logged_out() {
        for engine in ["claude", "codex", "pi", "script"] {
            for heard in [said(0, "hello\n", ""), said(2, "", "error: unrecognized subcommand\n"), said(1, "", "")] {
                assert_ne!(read(engine, &heard).word(), "out", "{engine} {heard:?}");
            }
        }
        assert_eq!(read("opencode", &said(1, "", "trouble")).word(), "unknown");
    }

    #[test]
    fn a_provider_or_a_key_of_its_own_needs_no_account() {
        assert!(names_provider("model_provider = \"fake\"") && names_provider("  model_provider=\"azure\""));
        assert!(!names_provider("[model_providers.fake]") && !names_provider("model_provider = \"openai\""));
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().to_string_lossy().into_owned();
        let of = |more: &[(&str, &str)]| {
            let env = more.iter().copied().chain([("CODEX_HOME", home.as_str())]);
            let env = env.map(|(name, value)| (name.to_owned(), Some(value.to_owned()))).collect();
            has_own_provider(&Launch { env, ..Launch::default() }, &EngineSettings::default())
        };
        assert!(!of(&[]) && of(&[("CODEX_API_KEY", "k")]));
        std::fs::write(folder.path().join("config.toml"), "model = \"m\"\nmodel_provider = \"fake\"\n").unwrap();
        assert!(of(&[]));
    }
}
