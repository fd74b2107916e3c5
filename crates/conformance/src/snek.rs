//! The Snek suite: calls and events over one socket.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::case::{Fault, Verdict, cases, ensure};
use crate::link::{Link, short, text, word};

/// What the suite is given.
#[derive(Clone, Debug, Default)]
pub struct Stage {
    pub url: String,
    pub user: Login,
    /// Somebody else, who is in the same channel.
    pub other: Option<Login>,
    /// A channel that both are in; without it, the first that both see.
    pub channel: Option<String>,
    /// A direct channel of the first user.
    pub direct: Option<String>,
    /// How long to listen for what must not come.
    pub quiet: Duration,
}

#[derive(Clone, Debug, Default)]
pub struct Login {
    pub name: String,
    pub password: String,
}

cases! { Stage:
    "1.1" "Protocol Overview" "several calls may be outstanding; each answer carries the id of its call" => multiplexed;
    "2.1" "Connection" "the address takes WebSocket upgrades, and pings are answered with pongs" => upgrade;
    "3.1" "Request/Response Format" "an answer carries the `callId` of its call, whether hex or UUID" => call_id;
    "3.2" "Request/Response Format" "an answer carries `data`" => has_data;
    "3.3" "Request/Response Format" "keyword arguments count like positional ones" => keywords;
    "3.4" "Request/Response Format" "a method that does not exist is answered under its `callId` too" => unknown_method;
    "4.1" "Authentication" "`login` with name and password is answered with data" => login;
    "4.2" "Authentication" "a wrong password logs nobody in" => wrong_password;
    "4.3" "Authentication" "`login` comes first: before it no channels are told" => login_first;
    "4.4" "Authentication" "`get_user` of `null` is the user who logged in: `username` and `nick`" => get_user;
    "5.1" "Channel Operations" "`get_channels` is a list of channels with `uid` and `name`" => get_channels;
    "5.2" "Channel Operations" "a channel's `uid` is made of letters, digits, `_` and `-`" => channel_uids;
    "5.3" "Channel Operations" "a direct channel has the tag `dm`" => direct_tag;
    "6.1" "Messaging" "`send_message` is answered with data" => send_message;
    "6.2" "Messaging" "the text arrives as it was written, Markdown too" => markdown;
    "7.1" "Events" "a message is an event with its fields at the top: message, username, nick, channel, `is_final`" => message_event;
    "7.2" "Events" "an event has no `callId` of a pending call" => no_call_id;
    "7.3" "Events" "`set_typing` reaches the others as an event with `data`" => typing_event;
    "8.1" "Visual Feedback" "`set_typing` takes a colour like `#FF0000`" => typing_answer;
    "8.2" "Visual Feedback" "a colour of another form is not passed on" => wrong_colour;
    "9.1" "Message Routing" "one's own messages come back as events too" => own_message;
    "10.1" "Streaming" "a text with `is_final` false reaches the others as not final" => partial;
    "10.2" "Streaming" "the final text comes once, after the partial ones" => stream;
    "13.1" "Error Handling" "a frame that is not JSON does not end the connection" => not_json;
}

/// One user on a connection.
struct User {
    link: Link,
    name: String,
}

impl Stage {
    async fn user(&self) -> Verdict<User> {
        User::log_in(&self.url, &self.user).await
    }

    async fn other(&self) -> Verdict<User> {
        let other = self.other.as_ref().ok_or_else(|| Fault::needs("a second --user"))?;
        User::log_in(&self.url, other).await
    }

    /// The first user, the other one, and a channel that both are in.
    async fn both(&self) -> Verdict<(User, User, String)> {
        let (mut user, mut other) = (self.user().await?, self.other().await?);
        if let Some(channel) = &self.channel {
            return Ok((user, other, channel.clone()));
        }
        let (mine, theirs) = (user.channels().await?, other.channels().await?);
        let shared = mine.iter().find(|channel| theirs.iter().any(|other| other["uid"] == channel["uid"]));
        let shared = shared.ok_or_else(|| Fault::needs("a channel that both users are in"))?;
        let channel = text(shared, "uid")?.to_owned();
        Ok((user, other, channel))
    }
}

fn hex_id() -> String {
    uuid::Uuid::new_v4().simple().to_string()[..16].to_owned()
}

fn call(method: &str, args: Value, id: &str) -> Value {
    json!({ "method": method, "args": args, "kwargs": {}, "callId": id })
}

impl User {
    async fn log_in(url: &str, login: &Login) -> Verdict<Self> {
        let mut user = Self { link: Link::dial(url).await?, name: login.name.clone() };
        let answer = user.call("login", json!([login.name, login.password])).await?;
        ensure!(!is_refusal(&answer), "the log-in was refused: {}", short(&answer));
        Ok(user)
    }

    /// Calls and returns the whole answer.
    async fn call(&mut self, method: &str, args: Value) -> Verdict<Value> {
        let id = hex_id();
        self.link.send(call(method, args, &id)).await?;
        self.answer(method, &id).await
    }

    async fn answer(&mut self, method: &str, id: &str) -> Verdict<Value> {
        self.link.find(&format!("the answer to `{method}`"), |frame| frame["callId"] == id).await
    }

    async fn channels(&mut self) -> Verdict<Vec<Value>> {
        let answer = self.call("get_channels", json!([])).await?;
        let channels = answer["data"].as_array().cloned();
        channels.ok_or_else(|| Fault::broken(format!("`get_channels` is no list: {}", short(&answer))))
    }

    async fn say(&mut self, channel: &str, said: &str, is_final: bool) -> Verdict<Value> {
        let answer = self.call("send_message", json!([channel, said, is_final])).await?;
        ensure!(!is_refusal(&answer), "`send_message` was refused: {}", short(&answer));
        Ok(answer)
    }

    async fn hears(&mut self, said: &str) -> Verdict<Value> {
        let what = format!("the event `message` with {said}");
        self.link.find(&what, |frame| frame["event"] == "message" && frame["message"] == said).await
    }
}

/// The document has no shape for refusals; servers say `success: false`, or put an `error` or `exception` into the data.
fn is_refusal(answer: &Value) -> bool {
    let says = |value: &Value| !value["error"].is_null() || !value["exception"].is_null();
    answer["success"] == false || says(answer) || says(&answer["data"])
}

async fn multiplexed(stage: Arc<Stage>) -> Verdict {
    let mut user = stage.user().await?;
    let ids: Vec<String> = (0..10).map(|_| hex_id()).collect();
    for (number, id) in ids.iter().enumerate() {
        let (method, args) = if number % 2 == 0 { ("get_user", json!([null])) } else { ("get_channels", json!([])) };
        user.link.send(call(method, args, id)).await?;
    }
    for (number, id) in ids.iter().enumerate().rev() {
        let answer = user.answer("one of ten calls", id).await?;
        ensure!(answer["data"].is_array() == (number % 2 == 1), "the answer of another call: {}", short(&answer));
    }
    Ok(())
}

async fn upgrade(stage: Arc<Stage>) -> Verdict {
    Link::dial(&stage.url).await?.is_alive().await
}

async fn call_id(stage: Arc<Stage>) -> Verdict {
    let mut user = stage.user().await?;
    for id in [hex_id(), uuid::Uuid::new_v4().to_string()] {
        user.link.send(call("get_channels", json!([]), &id)).await?;
        let answer = user.answer("get_channels", &id).await?;
        ensure!(answer["callId"].is_string(), "`callId` is not a string: {}", short(&answer));
    }
    Ok(())
}

async fn has_data(stage: Arc<Stage>) -> Verdict {
    let answer = stage.user().await?.call("get_channels", json!([])).await?;
    ensure!(answer.get("data").is_some(), "there is no `data`: {}", short(&answer));
    Ok(())
}

async fn keywords(stage: Arc<Stage>) -> Verdict {
    let (mut user, mut other, channel) = stage.both().await?;
    let (id, said) = (hex_id(), word());
    let kwargs = json!({ "channel_uid": channel, "message_text": said, "is_final": true });
    user.link.send(json!({ "method": "send_message", "args": [], "kwargs": kwargs, "callId": id })).await?;
    user.answer("send_message", &id).await?;
    other.hears(&said).await.map(drop)
}

async fn unknown_method(stage: Arc<Stage>) -> Verdict {
    stage.user().await?.call("no_such_method", json!([])).await.map(drop)
}

async fn login(stage: Arc<Stage>) -> Verdict {
    let mut user = User { link: Link::dial(&stage.url).await?, name: stage.user.name.clone() };
    let answer = user.call("login", json!([stage.user.name, stage.user.password])).await?;
    ensure!(!is_refusal(&answer) && !answer["data"].is_null(), "no data: {}", short(&answer));
    Ok(())
}

async fn wrong_password(stage: Arc<Stage>) -> Verdict {
    let mut nobody = User { link: Link::dial(&stage.url).await?, name: String::new() };
    nobody.call("login", json!([stage.user.name, format!("not {}", word())])).await?;
    let answer = nobody.call("get_user", json!([null])).await?;
    ensure!(answer["data"]["username"] != stage.user.name.as_str(), "logged in all the same: {}", short(&answer));
    Ok(())
}

async fn login_first(stage: Arc<Stage>) -> Verdict {
    let mut nobody = User { link: Link::dial(&stage.url).await?, name: String::new() };
    let answer = nobody.call("get_channels", json!([])).await?;
    let told = answer["data"].as_array().is_some_and(|channels| !channels.is_empty());
    ensure!(!told, "nobody was told the channels: {}", short(&answer));
    Ok(())
}

async fn get_user(stage: Arc<Stage>) -> Verdict {
    let mut user = stage.user().await?;
    let data = user.call("get_user", json!([null])).await?["data"].clone();
    ensure!(data["username"].as_str().is_some_and(|name| name.eq_ignore_ascii_case(&user.name)), "{}", short(&data));
    ensure!(data["nick"].is_string(), "`nick` is not a string: {}", short(&data));
    Ok(())
}

async fn get_channels(stage: Arc<Stage>) -> Verdict {
    for channel in stage.user().await?.channels().await? {
        text(&channel, "uid")?;
        text(&channel, "name")?;
        ensure!(channel["tag"].is_string() || channel["tag"].is_null(), "`tag` is no string: {}", short(&channel));
    }
    Ok(())
}

async fn channel_uids(stage: Arc<Stage>) -> Verdict {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    for channel in stage.user().await?.channels().await? {
        let uid = text(&channel, "uid")?;
        ensure!(!uid.is_empty() && uid.chars().all(is_plain), "{uid:?} has other characters");
    }
    Ok(())
}

async fn direct_tag(stage: Arc<Stage>) -> Verdict {
    let direct = stage.direct.as_ref().ok_or_else(|| Fault::needs("--direct"))?;
    let channels = stage.user().await?.channels().await?;
    let channel = channels.iter().find(|channel| channel["uid"] == direct.as_str());
    let channel = channel.ok_or_else(|| Fault::broken("the direct channel is not listed"))?;
    ensure!(channel["tag"] == "dm", "its tag is another: {}", short(channel));
    Ok(())
}

async fn send_message(stage: Arc<Stage>) -> Verdict {
    let (mut user, _, channel) = stage.both().await?;
    let answer = user.say(&channel, &word(), true).await?;
    ensure!(answer.get("data").is_some(), "there is no `data`: {}", short(&answer));
    Ok(())
}

async fn markdown(stage: Arc<Stage>) -> Verdict {
    let (mut user, mut other, channel) = stage.both().await?;
    let said = format!("**{}** `code` [link](https://example.org) <b>é</b> \"quoted\"\n- item", word());
    user.say(&channel, &said, true).await?;
    other.hears(&said).await.map(drop)
}

async fn message_event(stage: Arc<Stage>) -> Verdict {
    let (mut user, mut other, channel) = stage.both().await?;
    let said = word();
    user.say(&channel, &said, true).await?;
    let event = other.hears(&said).await?;
    let username = text(&event, "username")?;
    ensure!(username.eq_ignore_ascii_case(&user.name), "`username` is another: {}", short(&event));
    text(&event, "user_nick")?;
    ensure!(event["channel_uid"] == channel.as_str(), "`channel_uid` is another: {}", short(&event));
    ensure!(event["is_final"] == true, "`is_final` is not true: {}", short(&event));
    Ok(())
}

async fn no_call_id(stage: Arc<Stage>) -> Verdict {
    let (mut user, _, channel) = stage.both().await?;
    let said = word();
    user.say(&channel, &said, true).await?;
    let event = user.hears(&said).await?;
    ensure!(event["callId"].is_null(), "an event with a `callId`: {}", short(&event));
    Ok(())
}

fn is_typing(frame: &Value, channel: &str) -> bool {
    frame["event"] == "set_typing" && frame["data"]["channel_uid"] == channel
}

async fn typing_event(stage: Arc<Stage>) -> Verdict {
    let (mut user, mut other, channel) = stage.both().await?;
    user.link.send(call("set_typing", json!([channel, "#FF6B35"]), &hex_id())).await?;
    let event = other.link.find("the event `set_typing`", |frame| frame["event"] == "set_typing").await?;
    ensure!(event["data"].is_object(), "`data` is no object: {}", short(&event));
    Ok(())
}

async fn typing_answer(stage: Arc<Stage>) -> Verdict {
    let (mut user, _, channel) = stage.both().await?;
    let answer = user.call("set_typing", json!([channel, "#FF0000"])).await?;
    ensure!(!is_refusal(&answer), "it was refused: {}", short(&answer));
    Ok(())
}

async fn wrong_colour(stage: Arc<Stage>) -> Verdict {
    let (mut user, mut other, channel) = stage.both().await?;
    for wrong in ["red", "#12345", "#GGGGGG"] {
        user.link.send(call("set_typing", json!([channel, wrong]), &hex_id())).await?;
        let passed_on = |frame: &Value| is_typing(frame, &channel) && frame.to_string().contains(wrong);
        other.link.silence(stage.quiet, "a typing event with a wrong colour", passed_on).await?;
    }
    Ok(())
}

async fn own_message(stage: Arc<Stage>) -> Verdict {
    let (mut user, _, channel) = stage.both().await?;
    let said = word();
    user.say(&channel, &said, true).await?;
    user.hears(&said).await.map(drop)
}

async fn partial(stage: Arc<Stage>) -> Verdict {
    let (mut user, mut other, channel) = stage.both().await?;
    let said = word();
    user.say(&channel, &said, false).await?;
    let event = other.hears(&said).await?;
    user.say(&channel, &format!("{said} done"), true).await?;
    ensure!(event["is_final"] == false, "`is_final` is not false: {}", short(&event));
    Ok(())
}

async fn stream(stage: Arc<Stage>) -> Verdict {
    let (mut user, mut other, channel) = stage.both().await?;
    let said = word();
    for (text, is_final) in [("one", false), ("one two", false), ("one two three", true)] {
        user.say(&channel, &format!("{said} {text}"), is_final).await?;
    }
    let marker = word();
    user.say(&channel, &marker, true).await?;
    let mut finals = Vec::new();
    let of_stream = |frame: &Value| {
        frame["event"] == "message"
            && frame["message"].as_str().is_some_and(|text| text.contains(&said) || text == marker)
    };
    loop {
        let event = other.link.find("the events of a stream", of_stream).await?;
        if event["message"] == marker.as_str() {
            break;
        }
        match event["is_final"] == true {
            true => finals.push(event["message"].clone()),
            false => ensure!(finals.is_empty(), "a partial text came behind the final one: {}", short(&event)),
        }
    }
    ensure!(finals == [json!(format!("{said} one two three"))], "the final texts are {finals:?}");
    Ok(())
}

async fn not_json(stage: Arc<Stage>) -> Verdict {
    let mut user = stage.user().await?;
    user.link.send_text("{ this is not JSON".to_owned()).await?;
    user.channels().await.map(drop)
}
