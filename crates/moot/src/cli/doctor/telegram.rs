//! What the Telegram bridge needs: a token, a chat, rights in it, engines, folders to work in, and perhaps ears.

use std::time::Duration;

use folkmoot_engines::engine::Engine;
use folkmoot_engines::engines;
use folkmoot_runs::availability::{self, Login};
use folkmoot_telegram::api::{Bot, ChatId, Me, UserId};
use folkmoot_telegram::permission::Permission;
use futures_util::future::join_all;

use super::Finding;
use crate::config::{Config, Project, Stt};
use crate::runner;

const TELEGRAM: &str = "telegram";
const ENGINE: &str = "engine";
const PROJECT: &str = "project";
const SPEECH: &str = "speech";
/// How long the speech endpoint may take to say that it is there.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

pub async fn check(config: &Config) -> Vec<Finding> {
    if config.telegram.bot_token.is_empty() {
        return vec![Finding::ok(TELEGRAM, "no bot token, so no bridge; `moot telegram setup` makes one")];
    }
    let mut findings = bot(config).await;
    findings.extend(all_engines(config).await);
    findings.extend(projects(config));
    findings.push(speech(config).await);
    findings
}

async fn bot(config: &Config) -> Vec<Finding> {
    let telegram = &config.telegram;
    let bot = match Bot::new(&telegram.api_base, telegram.bot_token.expose()) {
        Ok(bot) => bot,
        Err(error) => return vec![Finding::fail(TELEGRAM, error.to_string(), "set `telegram.bot_token` again")],
    };
    let me = match bot.get_me().await {
        Ok(me) => me,
        Err(error) if error.is_unauthorized() => {
            let remedy = "ask @BotFather for the token, and set `telegram.bot_token`";
            return vec![Finding::fail(TELEGRAM, "Telegram does not know the bot token", remedy)];
        }
        Err(error) => {
            return vec![Finding::warn(TELEGRAM, error.to_string(), "check the network and `telegram.api_base`")];
        }
    };
    let mut findings = vec![Finding::ok(TELEGRAM, format!("the token is that of @{}", me.username))];
    let permission = crate::telegram::permission(config);
    if permission.chats.is_empty() && permission.users.is_empty() {
        let remedy = "run `moot telegram setup`, or set `telegram.chat_id` or `telegram.allowed_user_ids`";
        findings.push(Finding::fail(TELEGRAM, "no chat and no user is configured, so nobody is served", remedy));
    }
    for chat in &permission.chats {
        findings.push(chat_check(&bot, &me, *chat, &permission).await);
    }
    findings
}

async fn chat_check(bot: &Bot, me: &Me, id: ChatId, permission: &Permission) -> Finding {
    let chat = match bot.get_chat(id).await {
        Ok(chat) => chat,
        Err(error) if error.is_chat_gone() => {
            let remedy = "write to the bot in that chat once, or correct the id";
            return Finding::fail(TELEGRAM, format!("the bot does not see the chat {id}"), remedy);
        }
        Err(error) => return Finding::warn(TELEGRAM, format!("chat {id}: {error}"), "try again later"),
    };
    let name = chat.title.clone().or(chat.username.clone()).or(chat.first_name.clone()).unwrap_or_default();
    if chat.is_private() && !permission.serves_in_private(UserId(id.0)) {
        let remedy = format!("add {id} to `telegram.allowed_user_ids`");
        return Finding::fail(TELEGRAM, format!("nobody is served in the private chat {id} ({name})"), remedy);
    }
    if chat.is_private() {
        return Finding::ok(TELEGRAM, format!("chat {id} ({name}) can be reached"));
    }
    if permission.users.is_empty() {
        let remedy = "set `telegram.allowed_user_ids` to the ids of those who may";
        return Finding::fail(TELEGRAM, format!("nobody may give orders in the group {id} ({name})"), remedy);
    }
    let admin = bot.get_chat_member(id, me.id).await;
    match admin {
        Ok(member) if !member.is_there() => {
            let remedy = "add the bot to the group again, or correct the id";
            Finding::fail(TELEGRAM, format!("the bot is not in the group {id} ({name})"), remedy)
        }
        Ok(member) if !member.may_write() => {
            let remedy = "let it send messages, in the permissions of the group, or make it an admin";
            Finding::fail(TELEGRAM, format!("the bot may not write in the group {id} ({name})"), remedy)
        }
        Ok(member) if chat.is_forum && !(member.is_admin() && member.can_manage_topics) => {
            let remedy = "make the bot an admin who may manage topics, for /topic";
            Finding::warn(TELEGRAM, format!("the bot cannot make topics in {id} ({name})"), remedy)
        }
        Ok(member) if !member.is_admin() && !me.can_read_all_group_messages => {
            let remedy = "make it an admin, or turn privacy off with @BotFather's /setprivacy";
            Finding::warn(TELEGRAM, format!("in {id} ({name}) the bot sees only commands and replies"), remedy)
        }
        Ok(_) => Finding::ok(TELEGRAM, format!("group {id} ({name}) can be reached")),
        Err(error) => Finding::warn(TELEGRAM, format!("group {id} ({name}): {error}"), "check that the bot is in it"),
    }
}

async fn all_engines(config: &Config) -> Vec<Finding> {
    let default = &config.engines.default;
    let configured = crate::telegram::configured_engines(config, default);
    let known = configured.iter().filter_map(|id| engines::find(id.as_str()));
    let mut findings = join_all(known.map(|engine| one_engine(config, engine))).await;
    if engines::find(default).is_none() {
        findings.push(Finding::fail(ENGINE, format!("there is no engine `{default}`"), "set `engines.default`"));
    }
    findings
}

async fn one_engine(config: &Config, engine: &'static dyn Engine) -> Finding {
    let name = engine.id();
    let runner = runner::runner(config);
    let found = availability::look(engine, &runner.settings(&name), &runner.host()).await;
    if let Login::Out(problem) = &found.login {
        return Finding::warn(ENGINE, problem.sentence.clone(), problem.hint.clone().unwrap_or_default());
    }
    let Some(problem) = found.problem else {
        return Finding::ok(ENGINE, format!("{name} {}", found.version.unwrap_or_default()));
    };
    let remedy = problem.hint.unwrap_or_else(|| "see `moot engines`".to_owned());
    if name.as_str() == config.engines.default {
        return Finding::fail(ENGINE, format!("the default engine cannot be used: {}", problem.sentence), remedy);
    }
    let sentence = format!("{name} cannot be used: {}", problem.sentence);
    let project = config.projects.iter().find(|(_, project)| project.default_engine == name.as_str());
    match project {
        Some((alias, _)) => Finding::fail(ENGINE, format!("{sentence}; the project `{alias}` needs it"), remedy),
        None => Finding::warn(ENGINE, sentence, remedy),
    }
}

fn projects(config: &Config) -> Vec<Finding> {
    let look = |(alias, project): (&String, &Project)| {
        let folder = project.folder();
        let shown = folder.display();
        match folder.is_dir() {
            true => Finding::ok(PROJECT, format!("{alias} works in {shown}")),
            false => {
                let sentence = format!("the folder {shown} of `{alias}` is not there");
                Finding::fail(PROJECT, sentence, format!("make it, or set `projects.{alias}.path`"))
            }
        }
    };
    config.projects.iter().map(look).collect()
}

async fn speech(config: &Config) -> Finding {
    let stt = &config.stt;
    if stt.api_key.is_empty() && stt.base_url == Stt::default().base_url {
        return Finding::ok(SPEECH, "not set up; voice notes need `stt.api_key`");
    }
    let remedy = "check `stt.base_url` and `stt.api_key`";
    let client = match reqwest::Client::builder().timeout(ANSWER_TIMEOUT).build() {
        Ok(client) => client,
        Err(error) => return Finding::warn(SPEECH, error.to_string(), remedy),
    };
    let url = format!("{}/models", stt.base_url.trim_end_matches('/'));
    match client.get(url).bearer_auth(stt.api_key.expose()).send().await {
        Ok(answer) if answer.status() == reqwest::StatusCode::UNAUTHORIZED => {
            Finding::fail(SPEECH, format!("{} does not accept the key", stt.base_url), remedy)
        }
        Ok(answer) if !answer.status().is_success() => {
            Finding::warn(SPEECH, format!("{} answers {}", stt.base_url, answer.status()), remedy)
        }
        Ok(_) => Finding::ok(SPEECH, format!("{} answers", stt.base_url)),
        Err(error) => {
            Finding::warn(SPEECH, format!("{} cannot be reached: {}", stt.base_url, error.without_url()), remedy)
        }
    }
}
