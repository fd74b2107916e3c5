//! Members to act with: the owner of a fresh hub, and everybody the owner invites.

use std::net::SocketAddr;

use serde_json::{Value, json};

use super::{Hub, Lark, Rest, Snek, items, text};

pub const PASSWORD: &str = "correct horse battery staple";

/// A member that can call REST and open Lark connections.
#[derive(Clone)]
pub struct Member {
    pub id: String,
    pub name: String,
    pub token: String,
    pub workspace: String,
    pub rest: Rest,
    address: SocketAddr,
}

/// A fresh hub and `alice`, who owns its first workspace.
pub async fn start() -> (Hub, Member) {
    let hub = Hub::start().await;
    let alice = register(&hub, "alice").await;
    (hub, alice)
}

/// Registers an account with a workspace of its own.
pub async fn register(hub: &Hub, name: &str) -> Member {
    let rest = Rest::new(hub.url(""), None);
    let body = json!({ "email": email(name), "password": PASSWORD, "name": name });
    let account = rest.post("/v1/auth/register", body).await.created();
    Member::of(&account, hub.address, &rest)
}

pub fn email(name: &str) -> String {
    format!("{name}@example.org")
}

impl Member {
    fn of(account: &Value, address: SocketAddr, rest: &Rest) -> Member {
        let token = text(account, "token");
        Member {
            id: text(account, "member_id").to_owned(),
            name: text(account, "name").to_owned(),
            token: token.to_owned(),
            workspace: text(account, "workspace_id").to_owned(),
            rest: rest.with(&format!("Bearer {token}")),
            address,
        }
    }

    /// A path under this member's workspace.
    pub fn path(&self, rest: &str) -> String {
        format!("/v1/workspaces/{}/{rest}", self.workspace)
    }

    /// Invites a human, who then logs in.
    pub async fn add_human(&self, name: &str) -> Member {
        let body = json!({ "name": name, "type": "human", "email": email(name), "password": PASSWORD });
        self.rest.post(&self.path("members"), body).await.created();
        self.log_in(name).await
    }

    /// A new token for the human called `name`.
    pub async fn log_in(&self, name: &str) -> Member {
        let body = json!({ "email": email(name), "password": PASSWORD });
        let rest = self.rest.anonymous();
        let account = rest.post("/v1/auth/login", body).await.ok();
        Member::of(&account, self.address, &rest)
    }

    pub async fn add_agent(&self, name: &str) -> Member {
        let body = json!({ "name": name, "type": "agent" });
        let made = self.rest.post(&self.path("members"), body).await.created();
        let key = text(&made, "api_key");
        Member {
            id: text(&made, "id").to_owned(),
            name: name.to_owned(),
            token: key.to_owned(),
            workspace: self.workspace.clone(),
            rest: self.rest.with(&format!("Bearer {key}")),
            address: self.address,
        }
    }

    /// A key with which a daemon carries this person's agents.
    pub async fn machine_key(&self) -> String {
        let made = self.rest.post(&self.path("machines"), json!({ "name": "laptop" })).await.created();
        text(&made, "key").to_owned()
    }

    /// Makes a channel with these members and returns its id.
    pub async fn add_channel(&self, name: &str, members: &[&Member]) -> String {
        self.add_channel_of("channel", name, members).await
    }

    pub async fn add_private(&self, name: &str, members: &[&Member]) -> String {
        self.add_channel_of("private", name, members).await
    }

    async fn add_channel_of(&self, kind: &str, name: &str, members: &[&Member]) -> String {
        let body = json!({ "name": name, "type": kind });
        let made = self.rest.post(&self.path("channels"), body).await.created();
        let channel = text(&made, "id").to_owned();
        for member in members {
            self.admit(&channel, member).await;
        }
        channel
    }

    pub async fn admit(&self, channel: &str, member: &Member) {
        let path = self.path(&format!("channels/{channel}/members"));
        let body = json!({ "member_id": member.id });
        self.rest.post(&path, body).await.done();
    }

    /// The direct channel with these members and the caller.
    pub async fn direct(&self, others: &[&Member]) -> String {
        let mut ids = vec![self.id.as_str()];
        ids.extend(others.iter().map(|member| member.id.as_str()));
        let body = json!({ "member_ids": ids });
        let made = self.rest.post(&self.path("dm"), body).await.done();
        text(&made, "id").to_owned()
    }

    /// A logged-in Lark connection.
    pub async fn lark(&self) -> Lark {
        let mut lark = self.dial().await;
        let identity = lark.login(&self.token).await;
        assert_eq!(identity["member_id"], self.id.as_str(), "{identity}");
        lark
    }

    /// A Lark connection that has not logged in.
    pub async fn dial(&self) -> Lark {
        Lark::connect(self.address).await
    }

    /// A logged-in agent that has introduced itself.
    pub async fn lark_agent(&self) -> Lark {
        let mut lark = self.lark().await;
        let hello = hello(&self.name, "You are a test.");
        lark.asks("agent.hello", hello, "agent.welcome").await;
        lark
    }

    /// A logged-in Snek connection: people have their password, agents their key.
    pub async fn snek(&self) -> Snek {
        let mut snek = Snek::connect(self.address).await;
        let secret = if self.token.starts_with("lr_") { &self.token } else { PASSWORD };
        let user = snek.login(&self.name, secret).await;
        assert_eq!(user["uid"], self.id.as_str(), "{user}");
        snek
    }

    /// Posts a message over REST.
    pub async fn post(&self, channel: &str, content: &str) -> Value {
        let path = format!("/v1/channels/{channel}/messages");
        let body = json!({ "content": content });
        self.rest.post(&path, body).await.created()
    }

    /// The newest messages of a channel as REST gives them: newest first.
    pub async fn history(&self, channel: &str) -> Value {
        let path = format!("/v1/channels/{channel}/messages?limit=200");
        self.rest.get(&path).await.ok()
    }

    /// The texts of a channel, oldest first.
    pub async fn texts(&self, channel: &str) -> Vec<String> {
        let history = self.history(channel).await;
        let newest_first = items(&history).iter().rev();
        newest_first.map(|message| text(message, "content").to_owned()).collect()
    }
}

/// The data of an `agent.hello`.
pub fn hello(name: &str, system_prompt: &str) -> Value {
    json!({
        "name": name,
        "role_card": { "system_prompt": system_prompt, "capabilities": ["code_review"] },
        "runtime": { "type": "llm", "provider": "anthropic", "model": "claude-sonnet-4-20250514" },
    })
}
