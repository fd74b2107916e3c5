//! Which values make sense, beyond being of the right kind.

use std::fmt::Display;

use folkmoot_bot::settings::Limits;
use folkmoot_runs::process::environment;
use reqwest::Url;

use super::{Bot, Config, Engine, Network, Problem, keys, nearest, parse_listen};

const A_YEAR: f64 = 365.0 * 86_400.0;

/// Every value that cannot work, with its key.
pub fn problems(config: &Config) -> Vec<(String, Problem)> {
    let mut check = Check::default();
    server(&mut check, config);
    places(&mut check, config);
    doors(&mut check, config);
    bot(&mut check, &config.bot);
    engines(&mut check, config);
    projects(&mut check, config);
    agents(&mut check, config);
    check.problems
}

fn server(check: &mut Check, config: &Config) {
    let server = &config.server;
    check.address("server.listen", &server.listen);
    check.url("server.public_url", &server.public_url, &["http", "https"]);
    let length = server.jwt_secret.expose().len();
    if length > 0 && length < 32 {
        let sentence = format!("`server.jwt_secret` is only {length} bytes long; it must have at least 32");
        check.add(
            "server.jwt_secret",
            Problem::new(sentence).hint("leave it empty, and the hub makes and keeps a good one"),
        );
    }
    if let Err(error) = tracing_subscriber::EnvFilter::try_new(&server.log) {
        let problem = Problem::new(format!("`server.log` is not a log filter: {error}"));
        check.add("server.log", problem.hint("use error, warn, info, debug or trace"));
    }
    check.seconds("server.header_timeout_s", server.header_timeout_s, 0.1);
    check.seconds("server.write_timeout_s", server.write_timeout_s, 0.1);
    for origin in &server.allowed_origins {
        if !is_origin(origin) {
            let problem = Problem::new(format!("`server.allowed_origins` has `{origin}`, which is not an origin"));
            check.add(
                "server.allowed_origins",
                problem.hint("an origin is scheme://host or scheme://host:port, without a path"),
            );
        }
    }
    for proxy in &server.trusted_proxies {
        if Network::parse(proxy).is_none() {
            let problem =
                Problem::new(format!("`server.trusted_proxies` has `{proxy}`, which is no address and no network"));
            check.add(
                "server.trusted_proxies",
                problem.hint("write an address like 127.0.0.1 or a network like 10.0.0.0/8"),
            );
        }
    }
}

fn places(check: &mut Check, config: &Config) {
    let store = config.store.url.expose();
    if !["postgres://", "postgresql://"].iter().any(|scheme| store.starts_with(scheme)) {
        check.only("store.url", store, "sqlite");
    }
    check.only("bus.url", config.bus.url.expose(), "local");
    check.url("llm.base_url", &config.llm.base_url, &["http", "https"]);
    check.url("stt.base_url", &config.stt.base_url, &["http", "https"]);
    check.url("telegram.api_base", &config.telegram.api_base, &["http", "https"]);
    check.url("agentd.server", &config.agentd.server, &["ws", "wss"]);
}

fn doors(check: &mut Check, config: &Config) {
    check.loopback("smarthole.listen", &config.smarthole.listen);
    if !config.chopsticks.listen.is_empty() {
        check.address("chopsticks.listen", &config.chopsticks.listen);
    }
    check.seconds("smarthole.response_timeout_s", config.smarthole.response_timeout_s, 0.1);
    check.seconds("smarthole.choice_timeout_s", config.smarthole.choice_timeout_s, 0.1);
    check.seconds("chopsticks.request_timeout_s", config.chopsticks.request_timeout_s, 0.1);
    check.seconds("chopsticks.handshake_s", config.chopsticks.handshake_s, 1.0);
    check.seconds("chopsticks.stale_s", config.chopsticks.stale_s, 1.0);
    check.seconds("chopsticks.reconnect_grace_s", config.chopsticks.reconnect_grace_s, 0.0);
    check.seconds("chopsticks.probe_s", config.chopsticks.probe_s, 0.1);
    check.seconds_up_to("wakes.expire_s", config.wakes.expire_s, 0.1, A_YEAR);
    check.seconds("wakes.nearby_s", config.wakes.nearby_s, 0.0);
    if config.chopsticks.idle_release_s != 0.0 {
        check.seconds("chopsticks.idle_release_s", config.chopsticks.idle_release_s, 1.0);
    }
    check.seconds("telegram.edit_interval_s", config.telegram.edit_interval_s, 0.0);
    telegram(check, config);
}

fn telegram(check: &mut Check, config: &Config) {
    check.seconds("telegram.join_window_s", config.telegram.join_window_s, 0.0);
    let uploads = std::path::Path::new(&config.telegram.uploads_dir);
    let inside = |part: std::path::Component<'_>| matches!(part, std::path::Component::Normal(_));
    if config.telegram.uploads_dir.is_empty() || !uploads.components().all(inside) {
        let sentence =
            format!("`telegram.uploads_dir` is `{}`; it must be a folder below the project", uploads.display());
        check.add("telegram.uploads_dir", Problem::new(sentence).hint("leave it out for `incoming`"));
    }
    for id in &config.telegram.allowed_user_ids {
        if *id <= 0 {
            let sentence = format!("`telegram.allowed_user_ids` has {id}; the id of a user is positive");
            check.add("telegram.allowed_user_ids", Problem::new(sentence));
        }
    }
}

fn bot(check: &mut Check, bot: &Bot) {
    check.url("bot.url", &bot.url, &["ws", "wss"]);
    check.url("bot.search_api_base", &bot.limits.search_api_base, &["http", "https"]);
    if !bot.status_listen.is_empty() {
        check.loopback("bot.status_listen", &bot.status_listen);
    }
    for trigger in &bot.triggers {
        if let Err(error) = regex::Regex::new(trigger) {
            let why = error.to_string().lines().last().unwrap_or_default().to_owned();
            let problem = Problem::new(format!("`bot.triggers` has `{trigger}`, which is no regular expression"));
            check.add("bot.triggers", problem.hint(why));
        }
    }
    bot_limits(check, &bot.limits);
}

fn bot_limits(check: &mut Check, limits: &Limits) {
    for (key, value, least) in [
        ("bot.ws_heartbeat_s", limits.ws_heartbeat_s, 0.1),
        ("bot.request_timeout_s", limits.request_timeout_s, 0.1),
        ("bot.http_connect_timeout_s", limits.http_connect_timeout_s, 0.1),
        ("bot.reconnect_initial_delay_s", limits.reconnect_initial_delay_s, 0.0),
        ("bot.ws_receive_retry_delay_s", limits.ws_receive_retry_delay_s, 0.0),
        ("bot.executor_timeout_s", limits.executor_timeout_s, 0.1),
        ("bot.streaming_update_interval_s", limits.streaming_update_interval_s, 0.0),
        ("bot.circuit_recovery_timeout_s", limits.circuit_recovery_timeout_s, 0.0),
        ("bot.task_check_interval_s", limits.task_check_interval_s, 0.01),
        ("bot.thinking_task_interval_s", limits.thinking_task_interval_s, 0.05),
        ("bot.service_cleanup_interval_s", limits.service_cleanup_interval_s, 1.0),
        ("bot.shutdown_timeout_s", limits.shutdown_timeout_s, 0.0),
        ("bot.min_counter_update_interval_s", limits.min_counter_update_interval_s, 1.0),
        ("bot.media_hunt_dedup_ttl_s", limits.media_hunt_dedup_ttl_s, 0.0),
        ("bot.media_hunt_head_timeout_s", limits.media_hunt_head_timeout_s, 0.1),
        ("bot.media_hunt_fetch_timeout_s", limits.media_hunt_fetch_timeout_s, 0.1),
    ] {
        check.seconds(key, value, least);
    }
    check.range("bot.color_hue", limits.color_hue_min, limits.color_hue_max);
    check.range("bot.color_saturation", limits.color_saturation_min, limits.color_saturation_max);
    check.range("bot.color_lightness", limits.color_lightness_min, limits.color_lightness_max);
    if !(1.0..=100.0).contains(&limits.reconnect_backoff_factor) {
        let sentence = format!(
            "`bot.reconnect_backoff_factor` is {}; it must be between 1 and 100",
            limits.reconnect_backoff_factor
        );
        check.add("bot.reconnect_backoff_factor", Problem::new(sentence));
    }
}

fn engines(check: &mut Check, config: &Config) {
    check.engine("engines.default", &config.engines.default, config);
    for (name, engine) in &config.engines.named {
        check.name("engines", name);
        check.own_keys(name, engine);
        check.passed(name, engine);
    }
}

fn projects(check: &mut Check, config: &Config) {
    for (name, project) in &config.projects {
        check.name("projects", name);
        if project.path.is_empty() {
            let path = format!("projects.{name}.path");
            check.add(&path, Problem::new(format!("the project `{name}` has no `path`")));
        }
        let taken = folkmoot_engines::engines::find(name).is_some() || folkmoot_telegram::menu::is_reserved(name);
        if taken {
            let sentence = format!("the project `{name}` has the name of an engine or of a chat command");
            check.add(&format!("projects.{name}"), Problem::new(sentence).hint("give it another name"));
        }
        let same_chat = |other: &&String| config.projects[*other].chat_id == project.chat_id && *other < name;
        if project.chat_id != 0
            && let Some(other) = config.projects.keys().find(same_chat)
        {
            let path = format!("projects.{name}.chat_id");
            check.add(&path, Problem::new(format!("the projects `{other}` and `{name}` have the same `chat_id`")));
        }
        if !project.default_engine.is_empty() {
            check.engine(&format!("projects.{name}.default_engine"), &project.default_engine, config);
        }
    }
}

fn agents(check: &mut Check, config: &Config) {
    for (name, agent) in &config.agents {
        check.name("agents", name);
        let key = format!("agents.{name}.engine");
        match (agent.engine.is_empty(), agent.is_program()) {
            (true, false) => {
                let problem = Problem::new(format!("the agent `{name}` has neither `engine` nor `command`"));
                check.add(&key, problem.hint("name an engine, such as `claude`, or the command of a program"));
            }
            (false, true) => {
                check.add(&key, Problem::new(format!("the agent `{name}` has both `engine` and `command`")));
            }
            (false, false) if folkmoot_engines::engines::find(&agent.engine).is_none() => {
                check.engine(&key, &agent.engine, config);
            }
            _ => {}
        }
    }
}

fn is_origin(text: &str) -> bool {
    // `app://obsidian.md` has no origin in the sense of the URL rules, yet browsers of that kind send it.
    let Some((scheme, rest)) = text.split_once("://") else {
        return false;
    };
    let plain = !scheme.is_empty() && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    plain && !rest.is_empty() && !rest.contains(['/', '?', '#', '@', ' ']) && Url::parse(text).is_ok()
}

#[derive(Default)]
struct Check {
    problems: Vec<(String, Problem)>,
}

impl Check {
    fn add(&mut self, path: &str, problem: Problem) {
        self.problems.push((path.to_owned(), problem));
    }

    fn address(&mut self, path: &str, text: &str) {
        if let Err(error) = parse_listen(text) {
            let problem = Problem::new(format!("`{path}` cannot be listened on: {error}"));
            self.add(path, problem.hint("write an address and a port, like `127.0.0.1:8484` or `[::1]:8484`"));
        }
    }

    /// An address that only this machine can reach.
    fn loopback(&mut self, path: &str, text: &str) {
        self.address(path, text);
        if parse_listen(text).is_ok_and(|address| !address.ip().is_loopback()) {
            let problem = Problem::new(format!("`{path}` is `{text}`, but this door opens on loopback only"));
            let port = text.rsplit(':').next().unwrap_or_default();
            self.add(path, problem.hint(format!("use 127.0.0.1 with a port, like `127.0.0.1:{port}`")));
        }
    }

    /// A range within 0 and 1, from `_min` to `_max`.
    fn range(&mut self, path: &str, low: f64, high: f64) {
        if !(0.0..=1.0).contains(&low) || !(low..=1.0).contains(&high) {
            let sentence = format!("`{path}_min` is {low} and `{path}_max` is {high}; they must rise from 0 to 1");
            self.add(&format!("{path}_min"), Problem::new(sentence));
        }
    }

    fn url(&mut self, path: &str, text: &str, schemes: &[&str]) {
        if let Some(what) = url_fault(text, schemes) {
            self.add(path, Problem::new(format!("`{path}` is `{text}`, {what}")));
        }
    }

    /// A key that will take addresses one day: what this version cannot do is not accepted. The value may hold a password.
    fn only(&mut self, path: &str, text: &str, word: &str) {
        if text != word {
            let problem =
                Problem::new(format!("`{path}` asks for something that this version of the hub does not have"));
            self.add(path, problem.hint(format!("set it to `{word}`, or leave it out")));
        }
    }

    fn seconds(&mut self, path: &str, value: f64, least: f64) {
        self.seconds_up_to(path, value, least, 86_400.0);
    }

    fn seconds_up_to(&mut self, path: &str, value: f64, least: f64, most: f64) {
        if !(least..=most).contains(&value) {
            let sentence = format!("`{path}` is {value}; it must be between {least} and {most} seconds");
            self.add(path, Problem::new(sentence));
        }
    }

    fn name(&mut self, section: &str, name: &str) {
        let good = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
        if !good {
            let sentence = format!("`{section}.{name}` is not a good name; use letters, digits, `_` and `-`");
            self.add(&format!("{section}.{name}"), Problem::new(sentence));
        }
    }

    /// An engine of ours knows its own keys; a table of another name may hold what it likes.
    fn own_keys(&mut self, name: &str, engine: &Engine) {
        let Some(known) = folkmoot_engines::engines::find(name) else { return };
        let known =
            || known.own_keys().iter().map(|(key, _)| *key).chain(folkmoot_engines::engine::settings::COMMON_KEYS);
        for key in engine.own.keys().filter(|key| !known().any(|known| known == *key)) {
            let path = format!("engines.{name}.{key}");
            let problem = Problem::new(format!("unknown key `{path}`"));
            let problem = match nearest(key, known().chain(keys::of_engines())) {
                Some(near) => problem.hint(format!("the nearest known one is `engines.{name}.{near}`")),
                None => problem.hint(format!("it knows {}", known().collect::<Vec<_>>().join(", "))),
            };
            self.add(&path, problem);
        }
    }

    /// The hub's own variables hold its secrets.
    fn passed(&mut self, name: &str, engine: &Engine) {
        for wrong in engine.pass_env.iter().filter(|name| !environment::is_passable(name)) {
            let path = format!("engines.{name}.pass_env");
            let problem = Problem::new(format!("`{path}` may not hold `{wrong}`"));
            self.add(&path, problem.hint("names of variables, or their beginning and `*`; never `MOOT_…`"));
        }
    }

    fn engine(&mut self, path: &str, name: &str, config: &Config) {
        let known = &config.engines.named;
        if known.contains_key(name) || folkmoot_engines::engines::find(name).is_some() {
            return;
        }
        let problem = Problem::new(format!("`{path}` is `{name}`, and there is no engine of that name"));
        let near = nearest(name, known.keys().map(String::as_str)).unwrap_or("codex");
        self.add(
            path,
            problem.hint(format!("the nearest known one is `{near}`; a new one needs a table `[engines.{name}]`")),
        );
    }
}

fn url_fault(text: &str, schemes: &[&str]) -> Option<String> {
    match Url::parse(text) {
        Err(error) => Some(format!("which is not a URL ({})", lowercase(&error))),
        Ok(url) if !schemes.contains(&url.scheme()) => Some(format!("which must begin with {}", begin(schemes))),
        Ok(url) if !url.has_host() => Some("which names no host".to_owned()),
        Ok(_) => None,
    }
}

fn begin(schemes: &[&str]) -> String {
    schemes.iter().map(|scheme| format!("{scheme}://")).collect::<Vec<_>>().join(" or ")
}

fn lowercase(error: &impl Display) -> String {
    error.to_string().to_lowercase()
}
