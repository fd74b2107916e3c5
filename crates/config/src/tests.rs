//! One test per rule of the configuration.

use std::path::PathBuf;

use super::*;

mod setting;

/// Loads a file with this text under these variables and flags.
struct Given {
    text: &'static str,
    environment: Environment,
    overrides: Vec<Override>,
}

fn given(text: &'static str) -> Given {
    Given { text, environment: Environment::from_pairs([("HOME", "/home/ann")]), overrides: Vec::new() }
}

impl Given {
    fn with_environment<const N: usize>(mut self, pairs: [(&str, &str); N]) -> Self {
        self.environment = Environment::from_pairs(pairs);
        self
    }

    fn with_flag(mut self, flag: &'static str, key: &'static str, value: &str) -> Self {
        self.overrides.push(Override { flag, key, value: value.into() });
        self
    }

    fn load(&self) -> Result<Loaded, ConfigError> {
        let sources = Sources { file: None, environment: self.environment.clone(), overrides: self.overrides.clone() };
        load::load_text(&sources, PathBuf::from("moot.toml"), self.text.into())
    }

    fn config(&self) -> Config {
        self.load().expect("a good configuration").config
    }

    /// The only problem, as `place: sentence | hint`.
    fn problem(&self) -> String {
        let error = self.load().expect_err("a problem");
        assert_eq!(error.problems.len(), 1, "{error}");
        let problem = &error.problems[0];
        match &problem.hint {
            Some(hint) => format!("{problem} | {hint}"),
            None => problem.to_string(),
        }
    }
}

#[test]
fn an_empty_file_gives_the_promised_defaults() {
    let config = given("").config();
    assert_eq!(config.server.listen, "127.0.0.1:8484");
    assert_eq!(config.server.public_url, "http://127.0.0.1:8484");
    assert_eq!(config.server.registration, Registration::First);
    assert_eq!(config.store.url.expose(), "sqlite");
    assert_eq!(config.bus.url.expose(), "local");
    assert_eq!(config.smarthole.listen, "127.0.0.1:9473");
    assert!(config.smarthole.enabled);
    assert_eq!(config.engines.default, "codex");
    assert_eq!(config.engines.named.keys().collect::<Vec<_>>(), ["claude", "codex", "opencode", "pi"]);
    assert_eq!(config.data_dir(), PathBuf::from("/home/ann/.local/share/folkmoot"));
    assert!(config.projects.is_empty());
}

#[test]
fn the_catalogue_and_the_fields_name_the_same_keys() {
    let table = toml::Table::try_from(Config::default()).unwrap();
    let mut fields: Vec<String> = values::leaves(&table).into_iter().map(|(path, _)| path).collect();
    fields.retain(|path| !path.starts_with("engines.") || path == "engines.default" || path == "engines.walls");
    let mut known: Vec<String> = keys::KEYS.iter().map(|key| key.path.to_owned()).collect();
    known.retain(|path| !path.contains('*'));
    fields.sort();
    known.sort();
    assert_eq!(fields, known);
    let engine = toml::Table::try_from(Engine::default()).unwrap();
    assert!(engine.keys().all(|name| keys::find(&format!("engines.x.{name}")).is_some()));
    let project = toml::Table::try_from(Project::default()).unwrap();
    assert!(project.keys().all(|name| keys::find(&format!("projects.x.{name}")).is_some()));
    let agent = toml::Table::try_from(Agent::default()).unwrap();
    let below = |name: &String| keys::is_section(&format!("agents.x.{name}"));
    assert!(agent.keys().all(|name| keys::find(&format!("agents.x.{name}")).is_some() || below(name)));
}

#[test]
fn flags_beat_the_environment_which_beats_the_file_which_beats_the_default() {
    let file = "[server]\nlisten = \"127.0.0.1:1\"\nregistration = \"open\"\nlog = \"warn\"\n";
    let environment = [("MOOT_SERVER__LISTEN", "127.0.0.1:2"), ("MOOT_SERVER__REGISTRATION", "closed")];
    let loaded =
        given(file).with_environment(environment).with_flag("--listen", "server.listen", "127.0.0.1:3").load().unwrap();
    assert_eq!(loaded.config.server.listen, "127.0.0.1:3");
    assert_eq!(loaded.config.server.registration, Registration::Closed);
    assert_eq!(loaded.config.server.log, "warn");
    assert_eq!(loaded.origin("server.listen"), Origin::Flag("--listen"));
    assert_eq!(loaded.origin("server.registration"), Origin::Environment("MOOT_SERVER__REGISTRATION".into()));
    assert_eq!(loaded.origin("server.log"), Origin::File("moot.toml:4".into()));
    assert_eq!(loaded.origin("server.log_format"), Origin::Default);
}

#[test]
fn an_unknown_key_of_the_file_is_named_with_its_line_and_the_nearest_known_one() {
    let problem = given("[server]\nregistration = \"open\"\nlisen = \"127.0.0.1:1\"\n").problem();
    assert_eq!(problem, "moot.toml:3: unknown key `server.lisen` | the nearest known one is `server.listen`");
    let problem = given("listen = \"127.0.0.1:1\"\n").problem();
    assert_eq!(problem, "moot.toml:1: unknown key `listen` | the nearest known one is `server.listen`");
    let problem = given("\n[sever]\nlisten = \"127.0.0.1:1\"\n").problem();
    assert_eq!(problem, "moot.toml:2: unknown section `sever` | the nearest known one is `server`");
    let problem = given("server.dat_dir = \"/x\"\n").problem();
    assert_eq!(problem, "moot.toml:1: unknown key `server.dat_dir` | the nearest known one is `server.data_dir`");
    let problem = given("[projects.site]\npath = \"~/site\"\ndefault_engin = \"pi\"\n").problem();
    assert_eq!(
        problem,
        "moot.toml:3: unknown key `projects.site.default_engin` | the nearest known one is `projects.site.default_engine`"
    );
    let problem = given("[engines.codex]\ncomand = \"x\"\n").problem();
    assert!(
        problem.ends_with("`engines.codex.comand` | the nearest known one is `engines.codex.command`"),
        "{problem}"
    );
}

#[test]
fn an_unknown_key_of_the_environment_is_named_with_the_nearest_known_one() {
    let problem = given("").with_environment([("MOOT_SERVER__LISEN", "x")]).problem();
    assert_eq!(
        problem,
        "unknown environment variable `MOOT_SERVER__LISEN` | the nearest known one is `MOOT_SERVER__LISTEN`"
    );
    let problem = given("").with_environment([("MOOT_NOWHERE__AT_ALL", "x")]).problem();
    assert!(
        problem.starts_with("unknown environment variable `MOOT_NOWHERE__AT_ALL` | the nearest known one is `MOOT_")
    );
}

#[test]
fn one_underscore_instead_of_two_is_a_mistake() {
    let problem = given("").with_environment([("MOOT_SERVER_LISTEN", "127.0.0.1:1")]).problem();
    assert!(problem.ends_with("the nearest known one is `MOOT_SERVER__LISTEN`"), "{problem}");
    let problem = given("").with_environment([("MOOT_CONFG", "/x.toml")]).problem();
    assert!(problem.ends_with("the nearest known one is `MOOT_CONFIG`"), "{problem}");
}

#[test]
fn a_foreign_variable_that_begins_with_moot_is_only_noted() {
    let loaded =
        given("").with_environment([("MOOT_BIN", "/usr/bin/moot"), ("MOOT_CONFIG", "moot.toml")]).load().unwrap();
    assert_eq!(loaded.notes.len(), 1);
    assert!(loaded.notes[0].sentence.contains("MOOT_BIN"));
}

#[test]
fn a_wrong_type_names_the_key_what_is_expected_and_what_came() {
    let cases = [
        ("[server]\nlisten = 8484\n", "moot.toml:2: `server.listen` must be text, got the number 8484"),
        (
            "[smarthole]\nenabled = \"yes\"\n",
            "moot.toml:2: `smarthole.enabled` must be true or false, got the text \"yes\"",
        ),
        ("[telegram]\nchat_id = \"7\"\n", "moot.toml:2: `telegram.chat_id` must be a whole number, got the text \"7\""),
        (
            "[server]\nallowed_origins = \"x\"\n",
            "moot.toml:2: `server.allowed_origins` must be a list of texts, got the text \"x\"",
        ),
        ("[bot]\ntriggers = [1]\n", "moot.toml:2: `bot.triggers` must be a list of texts, got a list with a number"),
        ("server = 3\n", "moot.toml:1: `server` must be a table, got the number 3"),
        ("engines.codex = \"x\"\n", "moot.toml:1: `engines.codex` must be a table, got the text \"x\""),
        ("[server.listen]\nport = 1\n", "moot.toml:1: `server.listen` must be text, got a table"),
    ];
    for (text, expected) in cases {
        assert_eq!(given(text).problem(), expected);
    }
}

#[test]
fn a_choice_lists_its_words() {
    let problem = given("[server]\nregistration = \"all\"\n").problem();
    assert_eq!(
        problem,
        "moot.toml:2: `server.registration` must be one of `first`, `open`, `closed`, got the text \"all\""
    );
    let problem = given("").with_environment([("MOOT_SERVER__LOG_FORMAT", "xml")]).problem();
    assert_eq!(
        problem,
        "environment variable MOOT_SERVER__LOG_FORMAT: `server.log_format` must be one of `text`, `json`, got `xml`"
    );
}

#[test]
fn a_syntax_error_names_file_and_line() {
    let problem = given("[server]\nlisten = \n").problem();
    assert!(problem.starts_with("moot.toml:2: "), "{problem}");
}

#[test]
fn all_problems_are_reported_at_once() {
    let error = given("[server]\nlisen = 1\nlisten = 2\nregistration = \"x\"\n").load().unwrap_err();
    assert_eq!(error.problems.len(), 3, "{error}");
}

#[test]
fn values_of_the_environment_are_read_by_the_kind_of_their_key() {
    let config = given("")
        .with_environment([
            ("MOOT_SMARTHOLE__ENABLED", "false"),
            ("MOOT_SMARTHOLE__RESPONSE_TIMEOUT_S", "2.5"),
            ("MOOT_TELEGRAM__CHAT_ID", "-100123"),
            ("MOOT_TELEGRAM__ALLOWED_USER_IDS", "1, 2"),
            ("MOOT_SERVER__ALLOWED_ORIGINS", "[\"https://a.example\", \"https://b.example\"]"),
            ("MOOT_ENGINES__CODEX__MODEL", "o9"),
            ("MOOT_ENGINES__CODEX__ENV__HTTP_PROXY", "http://p"),
            ("MOOT_ENGINES__CLAUDE__USE_API_BILLING", "true"),
        ])
        .config();
    assert!(!config.smarthole.enabled);
    assert_eq!(config.smarthole.response_timeout_s, 2.5);
    assert_eq!(config.telegram.chat_id, -100_123);
    assert_eq!(config.telegram.allowed_user_ids, [1, 2]);
    assert_eq!(config.server.allowed_origins, ["https://a.example", "https://b.example"]);
    assert_eq!(config.engines.named["codex"].model, "o9");
    assert_eq!(config.engines.named["codex"].command, "codex");
    assert_eq!(config.engines.named["codex"].env["HTTP_PROXY"].expose(), "http://p");
    assert_eq!(config.engines.named["claude"].own["use_api_billing"], toml::Value::Boolean(true));
}

#[test]
fn a_file_suffix_reads_the_value_from_a_file_without_its_last_line_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");
    std::fs::write(&path, "s3cret\n").unwrap();
    let path = path.to_str().unwrap();
    let config = given("").with_environment([("MOOT_LLM__API_KEY_FILE", path)]).config();
    assert_eq!(config.llm.api_key.expose(), "s3cret");
    let problem = given("").with_environment([("MOOT_LLM__API_KEY_FILE", "/nowhere/key")]).problem();
    assert!(problem.starts_with("environment variable MOOT_LLM__API_KEY_FILE: the file `/nowhere/key` cannot be read"));
    let twice = [("MOOT_LLM__API_KEY_FILE", path), ("MOOT_LLM__API_KEY", "x")];
    assert!(given("").with_environment(twice).problem().contains("given twice"));
}

#[test]
fn a_listen_value_must_be_an_address_with_a_port() {
    let problem = given("[server]\nlisten = \"8484\"\n").problem();
    assert!(
        problem.starts_with("moot.toml:2: `server.listen` cannot be listened on: `8484` is not an address"),
        "{problem}"
    );
    let problem = given("").with_flag("--listen", "server.listen", "nonsense").problem();
    assert!(problem.starts_with("flag --listen: `server.listen`"), "{problem}");
    assert!(given("[chopsticks]\nlisten = \"x\"\n").problem().contains("`chopsticks.listen`"));
}

#[test]
fn smarthole_listens_on_loopback_only() {
    let problem = given("[smarthole]\nlisten = \"0.0.0.0:9473\"\n").problem();
    assert!(problem.contains("this door opens on loopback only"), "{problem}");
    assert_eq!(given("[smarthole]\nlisten = \"[::1]:9473\"\n").config().smarthole.listen_addr().unwrap().port(), 9473);
    assert_eq!(given("[smarthole]\nlisten = \"localhost:1\"\n").config().smarthole.listen_addr().unwrap().port(), 1);
}

#[test]
fn addresses_must_be_urls_of_the_right_scheme() {
    for (text, key) in [
        ("[server]\npublic_url = \"hub.example\"\n", "server.public_url"),
        ("[llm]\nbase_url = \"ftp://x\"\n", "llm.base_url"),
        ("[bot]\nurl = \"https://x\"\n", "bot.url"),
        ("[agentd]\nserver = \"127.0.0.1\"\n", "agentd.server"),
        ("[store]\nurl = \"mysql://x\"\n", "store.url"),
        ("[bus]\nurl = \"redis://x\"\n", "bus.url"),
        ("[server]\nallowed_origins = [\"https://x/path\"]\n", "server.allowed_origins"),
        ("[server]\ntrusted_proxies = [\"proxy\"]\n", "server.trusted_proxies"),
    ] {
        let problem = given(text).problem();
        assert!(problem.starts_with("moot.toml:2: ") && problem.contains(key), "{problem}");
    }
    given("[server]\nallowed_origins = [\"app://obsidian.md\", \"https://x:8443\"]\n").config();
}

#[test]
fn a_store_or_a_bus_that_this_version_does_not_have_is_refused_with_its_key_and_the_remedy() {
    for (section, good, others) in [
        ("store", "sqlite", ["mysql://x", "postgres:u:pw@db/x", "SQLite", ""]),
        ("bus", "local", ["redis://x", "nats://u:pw@bus", "postgres", ""]),
    ] {
        let key = format!("MOOT_{}__URL", section.to_uppercase());
        given("").with_environment([(key.as_str(), good)]).config();
        for other in others {
            let problem = given("").with_environment([(key.as_str(), other)]).problem();
            assert!(problem.contains(&format!("`{section}.url`")), "{problem}");
            assert!(problem.ends_with(&format!(" | set it to `{good}`, or leave it out")), "{problem}");
            assert!(!problem.contains("pw"), "{problem}");
        }
    }
}

#[test]
fn a_store_may_be_a_database_on_a_server() {
    for url in ["postgres://u:pw@db/x", "postgresql://u@db:5433/x?sslmode=verify-full"] {
        let config = given("").with_environment([("MOOT_STORE__URL", url)]).config();
        assert_eq!(config.store.url.expose(), url);
    }
}

#[test]
fn the_other_values_are_checked_too() {
    for (text, part) in [
        ("[server]\nlog = \"info,=\"\n", "`server.log` is not a log filter"),
        ("[server]\njwt_secret = \"short\"\n", "at least 32"),
        ("[smarthole]\nresponse_timeout_s = 0\n", "between 0.1 and 86400"),
        ("[telegram]\nallowed_user_ids = [-5]\n", "positive"),
        ("[engines]\ndefault = \"codx\"\n", "the nearest known one is `codex`"),
        ("[projects.site]\ndefault_engine = \"pi\"\n", "has no `path`"),
        ("[projects.site]\npath = \"/x\"\ndefault_engine = \"pie\"\n", "the nearest known one is `pi`"),
    ] {
        let problem = given(text).problem();
        assert!(problem.contains(part), "{problem}");
    }
}

#[test]
fn the_public_address_follows_the_listener_unless_it_is_set() {
    assert_eq!(given("[server]\nlisten = \"127.0.0.1:9\"\n").config().server.public_url, "http://127.0.0.1:9");
    assert_eq!(given("[server]\nlisten = \"0.0.0.0:9\"\n").config().server.public_url, "http://127.0.0.1:9");
    assert_eq!(given("[server]\nlisten = \"[::]:9\"\n").config().server.public_url, "http://[::1]:9");
    let both = "[server]\nlisten = \"127.0.0.1:9\"\npublic_url = \"https://hub.example\"\n";
    assert_eq!(given(both).config().server.public_url, "https://hub.example");
}

#[test]
fn engines_and_projects_are_open_tables() {
    let text = "[engines.mine]\nextra_args = [\"-x\"]\nflavour = 3\n[projects.site]\npath = \"~/site\"\ndefault_engine = \"mine\"\n";
    let config = given(text).config();
    let engine = &config.engines.named["mine"];
    assert_eq!(engine.command, "mine");
    assert_eq!(engine.extra_args, ["-x"]);
    assert_eq!(engine.own["flavour"], toml::Value::Integer(3));
    assert_eq!(config.projects["site"].default_engine, "mine");
}

#[test]
fn folders_follow_the_xdg_variables_and_ignore_relative_ones() {
    let set = Environment::from_pairs([("HOME", "/h"), ("XDG_DATA_HOME", "/d"), ("XDG_CONFIG_HOME", "c")]);
    assert_eq!(paths::data_dir(&set), Some(PathBuf::from("/d/folkmoot")));
    assert_eq!(paths::config_dir(&set), Some(PathBuf::from("/h/.config/folkmoot")));
    assert_eq!(paths::runtime_dir(&set), None);
    assert_eq!(paths::data_dir(&Environment::default()), None);
    assert_eq!(paths::expand_home("~/x", &set), PathBuf::from("/h/x"));
    assert_eq!(paths::expand_home("~bob/x", &set), PathBuf::from("~bob/x"));
}

#[test]
fn the_file_is_found_by_flag_then_variable_then_folder() {
    let environment = Environment::from_pairs([("HOME", "/h"), ("MOOT_CONFIG", "/m.toml")]);
    let mut sources = Sources { file: Some("/f.toml".into()), environment, overrides: Vec::new() };
    assert_eq!(load::file_path(&sources).unwrap(), (PathBuf::from("/f.toml"), true));
    sources.file = None;
    assert_eq!(load::file_path(&sources).unwrap(), (PathBuf::from("/m.toml"), true));
    sources.environment = Environment::from_pairs([("HOME", "/h")]);
    assert_eq!(load::file_path(&sources).unwrap(), (PathBuf::from("/h/.config/folkmoot/config.toml"), false));
}

#[test]
fn a_named_file_must_exist_and_the_usual_one_need_not() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().to_str().unwrap();
    let mut sources = Sources { environment: Environment::from_pairs([("HOME", home)]), ..Sources::default() };
    assert!(!load(&sources).unwrap().file_exists);
    sources.file = Some(folder.path().join("none.toml"));
    assert!(load(&sources).unwrap_err().problems[0].sentence.contains("cannot be read"));
}

#[test]
fn secrets_are_never_shown() {
    let text = "[llm]\napi_key = \"sk-123\"\n[engines.mine]\nenv = { TOKEN = \"t0p\" }\nmy_token = \"t1p\"\n";
    let loaded = given(text).load().unwrap();
    let address = toml::Value::from("postgres://u:pw@db/x");
    let mut leaves = values::leaves(&loaded.table);
    leaves.push(("store.url".to_owned(), &address));
    let shown: Vec<String> =
        leaves.iter().map(|(path, value)| format!("{path}={}", values::shown(path, value))).collect();
    let shown = shown.join("\n");
    for secret in ["sk-123", "pw@", "t0p", "t1p"] {
        assert!(!shown.contains(secret), "{shown}");
    }
    assert!(shown.contains("llm.api_key=\"***\"") && shown.contains("postgres://u:***@db/x"), "{shown}");
    let store = Store { url: Secret::new("postgres://u:pw@db/x") };
    let debug = format!("{:?} {store:?}", loaded.config);
    assert!(!debug.contains("sk-123") && !debug.contains("pw@") && !debug.contains("t0p"), "{debug}");
    assert!(Config::is_secret("server.jwt_secret") && !Config::is_secret("server.listen"));
    let wrong = given("[llm]\napi_key = [\"sk-123\"]\n").problem();
    assert!(!wrong.contains("sk-123"), "{wrong}");
}
