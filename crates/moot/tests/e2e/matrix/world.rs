//! One hub with everybody in it, and the things that requests are about: made when a row names them, and made anew once
//! somebody was let do something to them.

use std::collections::BTreeMap;

use reqwest::multipart::{Form, Part};
use serde_json::{Value, json};

use super::ear::Ear;
use super::people::{ALL, IN_CHANNEL, IN_DIRECT, IN_WORKSPACE, INSIDE, People, WORKSPACE, Watch, Who};
use crate::support::chopsticks::Worker;
use crate::support::member::PASSWORD;
use crate::support::{Answer, DEADLINE, Hub, Member, Rest, Setup, eventually, items, register, smarthole, text};

pub struct World {
    pub hub: Hub,
    pub people: People,
    pub watch: Watch,
    pub larks: BTreeMap<Who, Ear>,
    pub sneks: BTreeMap<Who, Ear>,
    /// What stays: channels, members, words.
    fixed: BTreeMap<&'static str, String>,
    /// What was made and nobody has touched yet; things made together have one number.
    made: BTreeMap<&'static str, (u32, String)>,
    count: u32,
    /// The wake and the run that the agent has open: it takes one at a time.
    wake: Option<String>,
    run: Option<String>,
    call: Option<String>,
    session: Option<String>,
    _ears: Vec<Ear>,
}

impl World {
    pub async fn new() -> World {
        let hub = Setup::default().env("MOOT_WAKES__QUIET_MS", "0").start().await;
        let watch = Watch::new();
        let people = everybody(&hub).await;
        let mut world = World {
            hub,
            people,
            watch,
            larks: BTreeMap::new(),
            sneks: BTreeMap::new(),
            fixed: BTreeMap::new(),
            made: BTreeMap::new(),
            count: 0,
            wake: None,
            run: None,
            call: None,
            session: None,
            _ears: Vec::new(),
        };
        world.furnish().await;
        world.listen().await;
        let daemon = world.daemon().await;
        world.fixed.insert("daemon", daemon);
        world
    }

    pub fn member(&self) -> &Member {
        self.people.get(Who::Member)
    }

    /// The client of one of the columns.
    pub fn rest(&self, who: Who) -> Rest {
        match self.people.0.get(&who) {
            Some(member) => member.rest.clone(),
            None => Rest::new(self.hub.url(""), None),
        }
    }

    /// A new session of somebody, for what ends sessions. An agent has its key.
    pub async fn fresh_session(&self, who: Who) -> Rest {
        match self.people.0.get(&who) {
            Some(member) if !who.is_agent() => member.log_in(&member.name).await.rest,
            _ => self.rest(who),
        }
    }

    /// The channels, the words and the names that rows may use.
    async fn furnish(&mut self) {
        let member = self.member().clone();
        let inside: Vec<&Member> =
            INSIDE.iter().filter(|who| **who != Who::Member).map(|who| self.people.get(*who)).collect();
        let channel = member.add_private(&format!("{IN_CHANNEL}-home"), &inside).await;
        let hooked = member.add_private(&format!("{IN_CHANNEL}-hooked"), &inside).await;
        let open = member.add_channel(&format!("{IN_WORKSPACE}-open"), &inside).await;
        let direct = member.direct(&[self.people.get(Who::Peer)]).await;
        for (id, readers) in [(&channel, INSIDE), (&direct, &[Who::Member, Who::Peer][..])] {
            self.watch.plant(id, readers);
        }
        member.post(&open, &format!("{IN_WORKSPACE} message")).await;
        member.post(&direct, &format!("{IN_DIRECT} message")).await;
        let topic = json!({ "topic": format!("{IN_CHANNEL} topic") });
        member.rest.patch(&member.path(&format!("channels/{channel}")), topic).await.ok();
        let member_ids: Vec<(&'static str, String)> =
            self.people.0.iter().map(|(who, member)| (who.name(), member.id.clone())).collect();
        self.fixed.extend(member_ids);
        self.fixed.extend([
            ("workspace", member.workspace.clone()),
            ("channel", channel),
            ("hooked", hooked),
            ("open", open),
            ("direct", direct),
            ("emoji", "%F0%9F%91%8D".to_owned()),
            ("namespace", "default".to_owned()),
            ("engine", "nosuch".to_owned()),
            ("guild", "guild-1".to_owned()),
            ("pool_agent", "worker-1".to_owned()),
            ("password", PASSWORD.to_owned()),
            ("wrong", "wrong".to_owned()),
        ]);
        let robots = [("carried", "carried"), ("carriable", "carriable")];
        for (name, called) in robots {
            // Only an admin makes agents; this one is the member's all the same.
            let robot = as_admin(self.people.get(Who::Owner), &member, called).await;
            self.fixed.insert(name, robot.id);
        }
    }

    /// Connects everybody through both doors, and a program at each of the small ones.
    async fn listen(&mut self) {
        for who in ALL.into_iter().filter(|who| *who != Who::Anonymous) {
            let (lark, snek) = (self.lark(who).await, self.snek(who).await);
            self.larks.insert(who, lark);
            self.sneks.insert(who, snek);
        }
        let snek = self.snek(Who::Anonymous).await;
        self.sneks.insert(Who::Anonymous, snek);
        let address = smarthole::address(&self.hub).await;
        let mut program = Ear::dial(&format!("ws://{address}/"), None, "SmartHole", &self.watch).await;
        let payload = json!({ "name": "notebook", "description": "keeps notes" });
        program.say(&json!({ "type": "registration", "payload": payload })).await;
        program.answer("a registration", |frame| frame["payload"]["success"] == true).await;
        self._ears.push(program);
        let worker = Worker::join(self.people.get(Who::Owner), self.hub.address, "worker-1", &["guild-1"]).await;
        let watch = self.watch.clone();
        worker.obey(move |request| {
            watch.told(None, "Chopsticks", &request.to_string());
            Ok(json!({}))
        });
    }

    /// A Lark connection, logged in but for nobody; an agent says hello.
    pub async fn lark(&self, who: Who) -> Ear {
        let url = format!("ws://{}/ws", self.hub.address);
        let mut ear = Ear::dial(&url, Some(who), "Lark", &self.watch).await;
        let Some(member) = self.people.0.get(&who) else { return ear };
        ear.say(&json!({ "v": 1, "id": "in", "type": "auth.login", "data": { "token": member.token } })).await;
        ear.answer("auth.login", |frame| frame["type"] == "auth.success").await;
        if who.is_agent() {
            let hello = crate::support::member::hello(&member.name, "You are a test.");
            ear.say(&json!({ "v": 1, "id": "hello", "type": "agent.hello", "data": hello })).await;
            ear.answer("agent.hello", |frame| frame["type"] == "agent.welcome").await;
        }
        ear
    }

    async fn snek(&self, who: Who) -> Ear {
        let url = format!("ws://{}/rpc.ws", self.hub.address);
        let mut ear = Ear::dial(&url, Some(who), "Snek", &self.watch).await;
        let Some(member) = self.people.0.get(&who) else { return ear };
        let secret = if who.is_agent() { &member.token } else { PASSWORD };
        ear.say(&json!({ "method": "login", "args": [member.name, secret], "kwargs": {}, "callId": "in" })).await;
        let answer = ear.answer("login", |frame| frame["callId"] == "in").await;
        assert_eq!(answer["success"], true, "{who:?}: {answer}");
        ear
    }

    /// The daemon of the member, which carries an agent.
    async fn daemon(&mut self) -> String {
        let mut ear = self.lark(Who::Member).await;
        let agents = json!([{ "name": "carried", "agent_id": self.fixed["carried"] }]);
        ear.say(&json!({ "v": 1, "id": "d", "type": "daemon.register", "data": { "agents": agents } })).await;
        let answer = ear.answer("daemon.register", |frame| frame["reply_to"] == "d").await;
        self._ears.push(ear);
        text(&answer["data"], "daemon_id").to_owned()
    }

    /// Puts things in place of their names: `{thing}` and `{parameter:thing}` in addresses, `$thing` in bodies.
    pub async fn filled(&mut self, template: &str, who: Who) -> (String, Vec<&'static str>) {
        let (mut text, mut used) = (String::new(), Vec::new());
        let mut rest = template;
        while let Some(place) = rest.find(['{', '$']) {
            let (before, from) = rest.split_at(place);
            text.push_str(before);
            let is_name = |letter: char| letter.is_ascii_lowercase() || letter == '_' || letter == ':';
            let end = from[1..].find(|letter| !is_name(letter)).map_or(from.len(), |end| end + 1);
            let name = from[1..end].rsplit(':').next().unwrap_or_default();
            let is_parameter = from.starts_with('{') && from[end..].starts_with('}');
            if name.is_empty() || from.starts_with('{') && !is_parameter {
                text.push_str(&from[..1]);
                rest = &from[1..];
                continue;
            }
            rest = &from[end + usize::from(is_parameter)..];
            text.push_str(&self.named(name, who, &mut used).await);
        }
        text.push_str(rest);
        (text, used)
    }

    async fn named(&mut self, name: &str, who: Who, used: &mut Vec<&'static str>) -> String {
        match name {
            "self" => self.people.0.get(&who).map_or("mem_0".to_owned(), |member| member.id.clone()),
            "who" => who.name().to_owned(),
            "mark" => who.mark(),
            "n" => self.next().to_string(),
            _ => {
                if let Some(value) = self.fixed.get(name) {
                    return value.clone();
                }
                if !self.made.contains_key(name) {
                    let made = self.make(name).await;
                    let number = self.next();
                    self.made.extend(made.into_iter().map(|(name, value)| (name, (number, value))));
                }
                let (name, (_, value)) =
                    self.made.get_key_value(name).unwrap_or_else(|| panic!("no `{name}` is known"));
                used.push(*name);
                value.clone()
            }
        }
    }

    fn next(&mut self) -> u32 {
        self.count += 1;
        self.count
    }

    /// Somebody was let do something to these: the next one gets others.
    pub fn used_up(&mut self, names: &[&'static str]) {
        for name in names {
            if let Some((number, _)) = self.made.get(name).cloned() {
                self.made.retain(|_, (other, _)| *other != number);
            }
        }
    }

    /// Makes one of the things that rows are about, as those to whom it belongs.
    async fn make(&mut self, name: &str) -> Vec<(&'static str, String)> {
        let (member, agent) = (self.member().clone(), self.people.get(Who::Agent).clone());
        let (owner, peer) = (self.people.get(Who::Owner).clone(), self.people.get(Who::Peer).clone());
        let (channel, n) = (self.fixed["channel"].clone(), self.next());
        let inside = format!("{IN_CHANNEL} {name} {n}");
        match name {
            "message" => vec![("message", id(&member.post(&channel, &inside).await))],
            "direct_message" => {
                let made = member.post(&self.fixed["direct"], &format!("{IN_DIRECT} {n}")).await;
                vec![("direct_message", id(&made))]
            }
            "reacted" => {
                let message = id(&member.post(&channel, &inside).await);
                for who in INSIDE {
                    let path = format!("/v1/messages/{message}/reactions");
                    self.rest(*who).post(&path, json!({ "emoji": "👍" })).await.created();
                }
                vec![("reacted", message)]
            }
            "file" => {
                let form = Form::new().text("channel_id", channel);
                let file = upload(&member, &member.path("files"), form, &inside).await.created();
                vec![("file", id(&file))]
            }
            "to_post" => {
                let file = upload(&member, &member.path("files"), Form::new(), &inside).await.created();
                vec![("to_post", id(&file))]
            }
            "own_file" => {
                let file = upload(&member, &member.path("files"), Form::new(), &Who::Member.mark()).await.created();
                vec![("own_file", id(&file))]
            }
            "name" => {
                let file = upload(&member, "/drive.bin", Form::new(), &Who::Member.mark()).await.created();
                vec![("name", text(&file, "url").rsplit('/').next().unwrap_or_default().to_owned())]
            }
            "task" => {
                let body = json!({ "title": inside, "description": inside, "channel_id": channel });
                vec![("task", id(&member.rest.post(&member.path("tasks"), body).await.created()))]
            }
            "approval" => vec![("approval", self.approval(&agent, &inside).await)],
            "approved" => {
                let approval = self.approval(&agent, &inside).await;
                let path = format!("/v1/approvals/{approval}");
                member.rest.patch(&path, json!({ "approved": true })).await.ok();
                vec![("approved", approval)]
            }
            "review" => {
                let body = json!({
                    "reviewer_id": member.id, "subject": inside, "content": inside, "channel_id": channel,
                });
                vec![("review", id(&agent.rest.post(&agent.path("reviews"), body).await.created()))]
            }
            "delivery" => vec![("delivery", self.delivery().await)],
            "run" => vec![("run", self.run().await)],
            "diffed" => {
                let run = self.run().await;
                let diff = agent.rest.request(reqwest::Method::PUT, &format!("/v1/runs/{run}/diff")).body(inside);
                Answer::of("a diff".to_owned(), diff).await.ok();
                vec![("diffed", run)]
            }
            "followup" | "followed" => {
                let run = self.run().await;
                vec![("followup", self.mention().await), ("followed", run)]
            }
            "draft" => vec![("draft", draft(&agent, &channel, &Who::Agent.mark()).await)],
            "reply" => vec![("reply", draft(&agent, &channel, &inside).await)],
            "item" => {
                let body = json!({ "name": format!("note-{n}"), "content": Who::Agent.mark() });
                let made = agent.rest.put(&format!("/v1/agents/{}/workspace", agent.id), body).await.ok();
                vec![("item", id(&made))]
            }
            "key" => {
                let body = json!({ "key": format!("key-{n}"), "value": Who::Agent.mark() });
                agent.rest.post(&format!("/v1/agents/{}/memory", agent.id), body).await.created();
                vec![("key", format!("key-{n}"))]
            }
            "inbox_item" => {
                self.delivery().await;
                let items = agent.rest.get(&format!("/v1/agents/{}/inbox", agent.id)).await.ok();
                vec![("inbox_item", id(&items[0]))]
            }
            "notification" => {
                peer.post(&channel, &format!("@{} {inside}", member.name)).await;
                let listed = member.rest.get("/v1/notifications").await.ok();
                vec![("notification", id(&listed[0]))]
            }
            "pin" => {
                let message = id(&member.post(&channel, &inside).await);
                let path = format!("/v1/channels/{channel}/pins");
                let pin = member.rest.post(&path, json!({ "message_id": message })).await.created();
                vec![("pin", id(&pin))]
            }
            "webhook" | "secret" => {
                let body = json!({ "channel_id": self.fixed["hooked"], "name": inside });
                let made = member.rest.post(&member.path("webhooks"), body).await.created();
                let secret = text(&made, "secret").to_owned();
                self.watch.plant(&secret, &[Who::Member]);
                vec![("webhook", id(&made)), ("secret", secret)]
            }
            "invite" | "code" => {
                let body = json!({ "channel_ids": [channel] });
                let made = owner.rest.post(&owner.path("invites"), body).await.created();
                let code = text(&made, "code").to_owned();
                self.watch.plant(&code, &[Who::Owner]);
                vec![("invite", id(&made)), ("code", code)]
            }
            "provision" => {
                let made = owner.rest.post(&owner.path("provision-tokens"), json!({})).await.created();
                let token = text(&made, "token").to_owned();
                self.watch.plant(&token, &[Who::Owner]);
                vec![("provision", token)]
            }
            // A machine is one of the credentials of who made it.
            "machine" | "credential" => {
                let made = member
                    .rest
                    .post(&member.path("machines"), json!({ "name": format!("machine{n}") }))
                    .await
                    .created();
                self.watch.plant(text(&made, "key"), &[Who::Member]);
                vec![("machine", id(&made)), ("credential", id(&made))]
            }
            "call" => vec![("call", self.call().await)],
            "hosted" => {
                let called = format!("hosted{n}");
                owner.rest.post("/v1/hosting", json!({ "name": called, "engine": "script" })).await.created();
                vec![("hosted", called)]
            }
            "voice_channel" => {
                if let Some(old) = self.session.take() {
                    owner.rest.delete(&format!("/v1/pools/sessions/guild-1/{old}")).await;
                }
                let place = json!({ "guild_id": "guild-1", "voice_channel_id": format!("v{n}") });
                owner.rest.post("/v1/pools/sessions", place).await.done();
                self.session = Some(format!("v{n}"));
                vec![("voice_channel", format!("v{n}"))]
            }
            "victim" => {
                let body = json!({ "name": format!("{IN_WORKSPACE}-v{n}"), "type": "human", "email": format!("v{n}@example.org") });
                let made = owner.rest.post(&owner.path("members"), body).await.created();
                self.watch.plant(&id(&made), WORKSPACE);
                vec![("victim", id(&made))]
            }
            "robot" => vec![("robot", owner.add_agent(&format!("{IN_WORKSPACE}-r{n}")).await.id)],
            "spare" => vec![("spare", self.spare(n).await)],
            "linked" => {
                let spare = self.spare(n).await;
                let place = json!({ "guild_id": "guild-1", "voice_channel_id": "linked" });
                member.rest.put(&format!("/v1/channels/{spare}/pool"), place).await.ok();
                vec![("linked", spare)]
            }
            "message_id" => {
                let made = member.rest.post("/v1/route", json!({ "text": format!("notebook: note {n}") })).await.ok();
                vec![("message_id", text(&made, "message_id").to_owned())]
            }
            _ => panic!("a row names `{name}`; teach `World::make` to make one"),
        }
    }

    async fn approval(&self, agent: &Member, inside: &str) -> String {
        let body = json!({ "channel_id": self.fixed["channel"], "action": inside, "payload": { "secret": inside } });
        id(&agent.rest.post(&agent.path("approvals"), body).await.created())
    }

    async fn spare(&self, n: u32) -> String {
        let others = INSIDE.iter().filter(|who| **who != Who::Member);
        let others: Vec<&Member> = others.map(|who| self.people.get(*who)).collect();
        let spare = self.member().add_private(&format!("{IN_CHANNEL}-spare-{n}"), &others).await;
        self.watch.plant(&spare, INSIDE);
        spare
    }

    /// The member mentions the agent, which is woken. What it had before is put aside.
    async fn delivery(&mut self) -> String {
        if let Some(run) = self.run.take() {
            let data = json!({ "run_id": run, "state": "completed", "answer": IN_CHANNEL });
            self.asked_of(Who::Agent, "run.complete", data).await;
        }
        if let Some(old) = self.wake.take() {
            let path = format!("/v1/deliveries/{old}/pass");
            self.rest(Who::Agent).post(&path, json!({})).await;
        }
        self.used_up(&["delivery", "run", "diffed", "followup"]);
        self.mention().await
    }

    async fn mention(&mut self) -> String {
        let (member, channel) = (self.member().clone(), self.fixed["channel"].clone());
        let message = member.post(&channel, &format!("@{} {IN_CHANNEL} wake", self.people.get(Who::Agent).name)).await;
        let path = format!("/v1/channels/{channel}/deliveries?message_id={}", text(&message, "id"));
        let delivery = eventually("a delivery", || async {
            let listed = member.rest.get(&path).await.ok();
            items(&listed).iter().find(|one| one["state"] != "queued").map(id)
        })
        .await;
        self.wake = Some(delivery.clone());
        delivery
    }

    async fn run(&mut self) -> String {
        let delivery = self.delivery().await;
        let data = json!({ "delivery_id": delivery, "engine": "script", "text": IN_CHANNEL });
        let started = self.asked_of(Who::Agent, "run.start", data).await;
        let run = text(&started["data"]["run"], "id").to_owned();
        self.run = Some(run.clone());
        run
    }

    /// The member calls the peer.
    async fn call(&mut self) -> String {
        if let Some(old) = self.call.take() {
            self.told_to(Who::Member, "call.end", json!({ "call_id": old })).await;
        }
        let data = json!({ "callee_id": self.people.get(Who::Peer).id, "type": "audio", "sdp": IN_DIRECT });
        let offered = self.asked_of(Who::Member, "call.offer", data).await;
        let call = text(&offered["data"], "call_id").to_owned();
        self.call = Some(call.clone());
        call
    }

    async fn told_to(&mut self, who: Who, kind: &str, data: Value) {
        let ear = self.larks.get_mut(&who).expect("a connection");
        ear.say(&json!({ "v": 1, "id": "told", "type": kind, "data": data })).await;
    }

    /// A Lark request that has an answer.
    async fn asked_of(&mut self, who: Who, kind: &str, data: Value) -> Value {
        let request = format!("request-{}", self.next());
        let ear = self.larks.get_mut(&who).expect("a connection");
        ear.forget();
        ear.say(&json!({ "v": 1, "id": request, "type": kind, "data": data })).await;
        ear.answer(kind, |frame| frame["reply_to"] == request.as_str()).await
    }

    /// Waits until everybody has heard what was sent to them so far.
    pub async fn settle(&mut self) {
        for who in ALL.into_iter().filter(|who| *who != Who::Anonymous) {
            let ear = self.larks.get_mut(&who).expect("a connection");
            ear.forget();
            ear.say(&json!({ "v": 1, "id": "settle", "type": "channel.join", "data": { "channel_id": "ch_0" } })).await;
            ear.answer("the last word", |frame| frame["reply_to"] == "settle").await;
            let ear = self.sneks.get_mut(&who).expect("a connection");
            ear.forget();
            ear.say(&json!({ "method": "get_users", "args": ["ch_0"], "kwargs": {}, "callId": "settle" })).await;
            ear.answer_within(DEADLINE, |frame| frame["callId"] == "settle").await.expect("the last word");
        }
    }
}

/// The columns as members: `owner` has the first workspace, `other` another; the agent is `member`'s, the foreign one `admin`'s.
async fn everybody(hub: &Hub) -> People {
    let owner = register(hub, "owner").await;
    let other = register(hub, "other").await;
    let mut people = BTreeMap::new();
    for (who, name) in [(Who::Outside, "outside"), (Who::Peer, "peer"), (Who::Member, "member"), (Who::Admin, "admin")]
    {
        people.insert(who, owner.add_human(name).await);
    }
    set_role(&owner, &people[&Who::Admin], "admin").await;
    let agent = as_admin(&owner, &people[&Who::Member], "agent").await;
    let foreign = people[&Who::Admin].add_agent("foreign").await;
    let channel = other.add_private("zq-only-other-channel", &[]).await;
    other.post(&channel, "zq-only-other message").await;
    people.extend([(Who::Other, other), (Who::Agent, agent), (Who::Foreign, foreign), (Who::Owner, owner)]);
    People(people)
}

/// An agent that a member answers for: made while they were an admin.
async fn as_admin(owner: &Member, member: &Member, name: &str) -> Member {
    set_role(owner, member, "admin").await;
    let agent = member.add_agent(name).await;
    set_role(owner, member, "member").await;
    agent
}

async fn set_role(owner: &Member, member: &Member, role: &str) {
    let path = owner.path(&format!("members/{}", member.id));
    owner.rest.patch(&path, json!({ "role": role })).await.ok();
}

async fn upload(member: &Member, path: &str, form: Form, content: &str) -> Answer {
    let name = format!("{}.txt", content.replace(' ', "-"));
    member.rest.upload_with(form, path, &name, "text/plain", content.as_bytes().to_vec()).await
}

async fn draft(agent: &Member, channel: &str, content: &str) -> String {
    let body = json!({ "channel_id": channel, "content": content });
    id(&agent.rest.post(&format!("/v1/agents/{}/drafts", agent.id), body).await.created())
}

fn id(made: &Value) -> String {
    text(made, "id").to_owned()
}

/// The smallest picture that is recognised as one.
pub fn picture() -> Part {
    Part::bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec()).file_name("picture.png")
}
