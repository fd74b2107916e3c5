//! The Lark suite: a server that people and agents share.

mod agents;
mod calls;
mod envelope;
mod limits;
mod live;
mod login;
mod member;
mod messages;
mod wakes;

use std::time::Duration;

use crate::case::{Fault, Verdict, cases};
use member::Member;

/// What the suite is given: who it may be, and where they may speak.
#[derive(Clone, Debug, Default)]
pub struct Stage {
    pub url: String,
    /// The token of a person.
    pub key: String,
    /// The token of another person.
    pub other_key: Option<String>,
    /// The key of an agent that the first person may carry.
    pub agent_key: Option<String>,
    /// A channel that all of them are in.
    pub channel: Option<String>,
    /// The direct channel of the first person and the agent.
    pub direct: Option<String>,
    /// A channel that the first person is not in.
    pub outside: Option<String>,
    /// How long to listen for what must not come.
    pub quiet: Duration,
}

impl Stage {
    async fn person(&self) -> Verdict<Member> {
        Member::log_in(&self.url, &self.key).await
    }

    async fn other(&self) -> Verdict<Member> {
        Member::log_in(&self.url, given(&self.other_key, "--other-key")?).await
    }

    async fn agent(&self) -> Verdict<Member> {
        Member::log_in(&self.url, given(&self.agent_key, "--agent-key")?).await
    }

    fn channel(&self) -> Verdict<&str> {
        given(&self.channel, "--channel")
    }
}

fn given<'a>(option: &'a Option<String>, flag: &str) -> Verdict<&'a str> {
    option.as_deref().ok_or_else(|| Fault::needs(flag))
}

cases! { Stage:
    "1.1" "Envelope" "every frame of the server is an object with `v` 1, a `type` in words and `ts` in milliseconds" => envelope::fields;
    "1.2" "Envelope" "`data`, where it is there, is an object" => envelope::data_is_an_object;
    "1.3" "Envelope" "the `type` of a frame is made of words with dots between them, or is `error`" => envelope::types;
    "1.4" "Envelope" "an `id` is optional: a request without one is served" => envelope::no_id;
    "1.5" "Envelope" "an answer can be matched with its request: the request's `id` is in it, as `id` or as `reply_to`" => envelope::correlation;
    "2.1" "WebSocket Upgrade" "anybody may upgrade; the connection begins without a member" => login::upgrade;
    "2.2" "WebSocket Upgrade" "whoever does not log in for 30 seconds gets `auth.fail` and is closed" => login::timeout, takes 30;
    "3.1" "Authentication" "a person's token is answered with `auth.success`: member, workspace, name and the type `human`" => login::person;
    "3.2" "Authentication" "an agent's key (`lr_…`) is answered with `auth.success` of the type `agent`" => login::agent;
    "3.3" "Authentication" "a wrong token is answered with `auth.fail` and the error `invalid credentials`" => login::wrong_token;
    "3.4" "Authentication" "a key that nobody has is answered with `auth.fail`" => login::wrong_key;
    "3.5" "Authentication" "logging in comes first: anything else before it is refused and does nothing" => login::first_message;
    "3.6" "Authentication" "after the log-in a member hears the channels it belongs to without asking" => login::auto_subscribe;
    "4.1" "Channel Subscription" "`channel.join` is answered with `channel.join` and the channel" => login::join;
    "4.2" "Channel Subscription" "after `channel.leave` the channel is not heard any more, and after `channel.join` it is again" => login::leave;
    "5.1" "agent.hello" "is answered with `agent.welcome`: the agent's id and the status `awake`" => agents::hello;
    "5.2" "agent.hello" "capabilities and runtime may be left out" => agents::short_hello;
    "5.3" "agent.hello" "may be said again, on the same connection, and counts again" => agents::hello_again;
    "5.4" "Agent States" "an agent that says hello is online to others" => agents::online;
    "6.1" "agent.sleep" "the agent's presence becomes `sleeping`, and others are told" => agents::sleep;
    "7.1" "agent.wake" "a mention wakes the agent with the reason `mention` and the channel's id" => wakes::mention;
    "7.2" "agent.wake" "the messages in a wake have id, sender, content and time" => wakes::message_fields;
    "7.3" "agent.wake" "a mention outside a thread brings no thread" => wakes::no_thread;
    "7.4" "agent.wake" "a direct message wakes the agent with the reason `dm`" => wakes::direct;
    "7.5" "agent.wake" "a reply in the agent's thread wakes it with the reason `thread_reply` and the thread" => wakes::thread_reply;
    "7.6" "agent.wake" "a wake brings the 20 newest messages of the channel, the one that caused it among them" => wakes::twenty;
    "7.7" "agent.wake" "a sleeping agent is woken by a mention" => wakes::sleeping;
    "7.8" "agent.wake" "what is no trigger wakes nobody" => wakes::no_trigger;
    "8.1" "agent.thinking" "everybody in the channel gets `typing.start` of the agent" => agents::thinking;
    "9.1" "message.send" "is answered with `message.ack` and the new message's id" => messages::ack;
    "9.2" "message.send" "everybody in the channel gets `message.new`, with channel, sender and content" => messages::broadcast;
    "9.3" "message.send" "the sender hears its own message too" => messages::own;
    "9.4" "message.send" "`content_type` is `text` unless the sender says `markdown`" => messages::content_type;
    "9.5" "message.send" "`thread_id` makes it a reply in that thread" => messages::in_thread;
    "9.6" "message.send" "`metadata` reaches the readers as it was" => messages::metadata;
    "9.7" "message.send" "content of 10,000 characters is taken, also when each takes several bytes" => messages::longest;
    "9.8" "message.send" "without a channel or without content it is refused" => messages::required;
    "10.1" "message.edit" "everybody in the channel gets `message.edit` with the message and its new content" => messages::edit;
    "10.2" "message.edit" "only the author edits: others are refused, and nobody is told" => messages::foreign_edit;
    "11.1" "message.delete" "everybody in the channel gets `message.delete` with the message" => messages::delete;
    "11.2" "message.delete" "only the author deletes: others are refused, and nobody is told" => messages::foreign_delete;
    "12.1" "thread.reply" "everybody in the channel gets `message.new` with `thread_id`" => messages::reply;
    "12.2" "thread.reply" "a mention in a reply wakes the agent" => wakes::mention_in_reply;
    "13.1" "Typing" "`typing.start` reaches the others of the channel with the member's id and name" => live::typing_start;
    "13.2" "Typing" "`typing.stop` reaches the others of the channel with the member's id and name" => live::typing_stop;
    "14.1" "Presence" "others are told `offline` and `online` when a member goes and comes" => live::presence;
    "15.1" "Notifications" "a mentioned person gets `notification.new` with the fields of the document" => live::notification;
    "15.2" "Notifications" "nobody but the mentioned person gets it" => live::notification_is_personal;
    "16.1" "call.offer" "the caller gets the call's id; the callee gets `call.ring` and `call.offer` with the SDP" => calls::offer;
    "16.2" "call.answer" "the caller gets the answer's SDP" => calls::answer;
    "16.3" "call.ice" "the target gets the candidate" => calls::ice;
    "16.4" "call.end" "the other side is told" => calls::end;
    "17.1" "approval.request" "people are told of it, with its action and an id" => live::approval;
    "18.1" "Error Handling" "unauthenticated requests get the error `not authenticated`" => envelope::not_authenticated;
    "18.2" "Error Handling" "data of the wrong shape gets the error `invalid data`" => envelope::invalid_data;
    "18.3" "Error Handling" "content of 10,001 characters gets the error `content too long (max 10000 characters)`" => messages::too_long;
    "18.4" "Error Handling" "speaking in a channel one is not in gets the error `not a channel member`" => messages::outside;
    "18.5" "Error Handling" "an error does not end the connection" => envelope::goes_on;
    "19.1" "Connection Limits" "a frame of 65,536 bytes is read" => limits::largest_frame;
    "19.2" "Connection Limits" "a larger frame is not: the connection ends" => limits::too_large_frame;
    "20.1" "Timeouts" "a quiet connection is pinged (every 30 seconds)" => limits::ping, takes 30;
    "20.2" "Timeouts" "a connection that answers no ping for 60 seconds is given up" => limits::no_pong, takes 120;
    "21.1" "Reconnection" "an agent that connects again replaces its older connection, which is closed" => agents::replaced;
    "21.2" "Reconnection" "after a reconnect the agent says hello again and is welcome" => agents::again_after_reconnect;
    "22.1" "Name Resolution" "punctuation behind a mention does not hide it" => wakes::punctuation;
    "22.2" "Name Resolution" "a name inside a longer word is no mention" => wakes::inside_a_word;
    "23.1" "daemon.register" "is answered with `daemon.registered`: a daemon's id and the agents" => agents::daemon;
    "23.2" "Message Routing" "an agent that a daemon registered is woken over the daemon's connection" => wakes::through_a_daemon;
}
