//! The rules: what a command of an actor leads to, or why it is refused.
//!
//! `decide` changes nothing. The caller stores the events, applies them to the state, tells them to the doors, and
//! then answers; a command whose events could not be stored never happened.

mod agents;
mod approvals;
mod calls;
mod channels;
mod credentials;
mod drafts;
mod files;
mod guests;
mod held;
mod hosting;
mod inbox;
mod invites;
mod machines;
mod members;
mod messages;
mod notify;
mod pools;
mod quotas;
mod routes;
mod runs;
mod streams;
mod tasks;
mod telegram;
#[cfg(test)]
mod tests;
mod threads;
mod wakes;
mod webhooks;

pub use credentials::{Credential, CredentialKind, credentials_of, is_unseen};
pub use drafts::MAX_DRAFT_DELTA;
pub use files::DRIVE;
pub use invites::INVITE_LIFE;
pub use members::{MIN_PASSWORD_CHARS, check_password, may_register};
pub use messages::MAX_CONTENT_CHARS;
pub use runs::MAX_DIFF_BYTES;
pub use streams::{GIVEN_UP_AFTER_MS, is_given_up};
pub use telegram::TELEGRAM_CODE_LIFE;
pub use wakes::whom_it_wakes;

use crate::command::{Command, Reply, Stage};
use crate::event::Event;
use crate::ids::*;
use crate::lookup::Lookup;
use crate::record::Record;
use crate::refusal::Refusal;
use crate::state::State;
use crate::{Actor, Millis, access, names};

/// Everything a decision depends on besides actor and command. Time and ids are arguments.
pub struct Context<'a> {
    pub state: &'a State,
    pub history: &'a dyn Lookup,
    pub now: Millis,
    pub ids: &'a mut IdSource,
}

impl Context<'_> {
    fn new_id(&mut self) -> u128 {
        self.ids.next(self.now)
    }
}

#[derive(Debug)]
pub struct Decision {
    pub events: Vec<Event>,
    pub reply: Reply,
    /// How many of the events the actor hears of before the reply (the document's order: `message.new`, then the ack,
    /// then wakes and notifications).
    pub told_before_reply: usize,
    /// What the actor is told instead of the reply, although all this happened: a text that is held is not posted.
    pub refused: Option<Refusal>,
}

pub type Outcome = Result<Decision, Refusal>;

impl Decision {
    fn new(reply: Reply, events: Vec<Event>) -> Self {
        let told_before_reply = events.len();
        Self { events, reply, told_before_reply, refused: None }
    }

    fn reply_after(mut self, events: usize) -> Self {
        self.told_before_reply = events;
        self
    }

    fn nothing(reply: Reply) -> Self {
        Self::new(reply, Vec::new())
    }

    fn saved(reply: Reply, record: impl Into<Record>) -> Self {
        Self::new(reply, vec![Event::Saved(record.into())])
    }
}

pub fn decide(context: &mut Context<'_>, actor: Actor, command: Command) -> Outcome {
    let actor = actor.resolve(context.state)?;
    let decision = decide_alone(context, actor, command)?;
    let decision = wakes::end_with_their_place(context, decision);
    let decision = streams::end_with_their_place(context.state, decision);
    Ok(runs::end_with_their_place(context, decision))
}

fn decide_alone(context: &mut Context<'_>, actor: Actor, command: Command) -> Outcome {
    match command {
        Command::Register(register) => members::register(context, register),
        Command::CreateWorkspace { name } => members::create_workspace(context, actor, &name),
        Command::UpdateWorkspace { workspace, name, slug } => {
            members::update_workspace(context, actor, workspace, name, slug)
        }
        Command::DeleteWorkspace { workspace } => members::delete_workspace(context, actor, workspace),
        Command::AddMember(add) => members::add(context, actor, add),
        Command::UpdateMember(update) => members::update(context, actor, update),
        Command::RemoveMember { member } => members::remove(context, actor, member),
        Command::ReplaceKey { member, key_hash } => members::replace_key(context, actor, member, key_hash),
        Command::ChangePassword { password_hash, keep } => {
            credentials::change_password(context, actor, password_hash, &keep)
        }
        Command::SignIn(sign_in) => credentials::sign_in(context, actor, sign_in),
        Command::SeeSession { session, address } => credentials::see_session(context, actor, &session, address),
        Command::EndCredential { id } => credentials::end(context, actor, &id),
        Command::SignOut { jti, expires_at } => credentials::sign_out(context, actor, jti, expires_at),
        Command::IssueProvisionToken { workspace, hash } => {
            members::issue_provision_token(context, actor, workspace, hash)
        }
        Command::RegisterAgent(register) => members::register_agent(context, register),
        Command::CreateInvite(create) => invites::create(context, actor, create),
        Command::RevokeInvite { invite } => invites::revoke(context, actor, invite),
        Command::Join(join) => invites::join(context, join),

        Command::OfferTelegramLink { code_hash } => telegram::offer(context, actor, code_hash),
        Command::LinkTelegram { code_hash, user, name } => telegram::link(context, actor, code_hash, user, &name),
        Command::UnlinkTelegram => telegram::unlink(context, actor),

        Command::AddMachine { workspace, name, key_hash } => machines::add(context, actor, workspace, &name, key_hash),
        Command::RemoveMachine { machine } => machines::remove(context, actor, machine),

        Command::WelcomeGuest(welcome) => guests::welcome(context, actor, welcome),
        Command::AnswerAsGuest(answer) => guests::answer(context, actor, answer),

        Command::Connect => agents::connect(context, actor),
        Command::ConnectCarried { carrier } => agents::connect_carried(context, actor, carrier),
        Command::Disconnect => agents::disconnect(context, actor),
        Command::SetPresence(presence) => agents::set_presence(context, actor, presence),
        Command::Hello { role_card, runtime } => agents::hello(context, actor, role_card, runtime),
        Command::Sleep => agents::sleep(context, actor),
        Command::RegisterDaemon { agents } => agents::register_daemon(context, actor, agents),
        Command::WakeAgent { agent, about } => agents::wake_by_hand(context, actor, agent, about),
        Command::Subscribe { channel } => channels::subscribe(context, actor, channel),
        Command::Typing { channel, on, color } => channels::typing(context, actor, channel, on, color),
        Command::Thinking { channel } => agents::thinking(context, actor, channel),

        Command::CreateChannel { workspace, name, kind, topic } => {
            channels::create(context, actor, workspace, name, kind, topic)
        }
        Command::UpdateChannel { channel, name, topic, is_private } => {
            channels::update(context, actor, channel, name, topic, is_private)
        }
        Command::DeleteChannel { channel } => channels::delete(context, actor, channel),
        Command::ArchiveChannel { channel, archived } => channels::archive(context, actor, channel, archived),
        Command::AddToChannel { channel, member } => channels::add_member(context, actor, channel, member),
        Command::Invite { channel, who } => channels::invite(context, actor, channel, &who),
        Command::RemoveFromChannel { channel, member } => channels::remove_member(context, actor, channel, member),
        Command::OpenDirect { workspace, members } => channels::open_direct(context, actor, workspace, members),
        Command::MarkRead { channel, seq } => channels::mark_read(context, actor, channel, seq),
        Command::SetNotifyPreference { channel, notify } => channels::set_notify(context, actor, channel, notify),

        Command::Send(send) if send.stage == Stage::Partial => streams::grow(context, actor, send),
        Command::Send(send) => messages::send(context, actor, send),
        Command::EndStream { sender, channel } => streams::end(context, actor, sender, channel),
        Command::EditMessage { message, content } => messages::edit(context, actor, message, content),
        Command::DeleteMessage { message } => messages::delete(context, actor, message),
        Command::React { message, emoji, on } => messages::react(context, actor, message, emoji, on),
        Command::Pin { channel, message } => messages::pin(context, actor, channel, message),
        Command::Unpin { pin } => messages::unpin(context, actor, pin),

        Command::MarkNotificationRead { notification } => inbox::mark_read(context, actor, notification),
        Command::MarkAllNotificationsRead => inbox::mark_all_read(context, actor),
        Command::AckInbox { notification } => inbox::ack(context, actor, notification),
        Command::AckWholeInbox => inbox::ack_all(context, actor),

        Command::CreateDraft { channel, thread, content } => drafts::create(context, actor, channel, thread, content),
        Command::ValidateDraft { draft } => drafts::validate(context, actor, draft),
        Command::SendDraft { draft, force } => drafts::send(context, actor, draft, force),
        Command::CancelDraft { draft } => drafts::cancel(context, actor, draft),
        Command::RequestReview { reviewer, subject, content, channel } => {
            approvals::request_review(context, actor, reviewer, subject, content, channel)
        }
        Command::DecideReview { review, status, comment } => {
            approvals::decide_review(context, actor, review, status, comment)
        }
        Command::PutItem(put) => files::put_item(context, actor, put),
        Command::RemoveItem { item } => files::remove_item(context, actor, item),
        Command::PutMemory { namespace, key, value } => files::put_memory(context, actor, namespace, key, value),
        Command::RemoveMemory { namespace, key } => files::remove_memory(context, actor, &namespace, &key),

        Command::CreateTask(create) => tasks::create(context, actor, create),
        Command::UpdateTask(update) => tasks::update(context, actor, update),
        Command::ClaimTask { task } => tasks::claim(context, actor, task),
        Command::DeleteTask { task } => tasks::delete(context, actor, task),
        Command::RequestApproval(request) => approvals::request(context, actor, request),
        Command::DecideApproval { approval, approved, scope, note } => {
            approvals::decide(context, actor, approval, approved, scope, note)
        }
        Command::UseApproval { approval } => approvals::take_up(context, actor, approval),
        Command::PassDelivery { delivery, why } => wakes::pass(context, actor, delivery, why),
        Command::FailDelivery { delivery, why } => wakes::fail(context, actor, delivery, &why),
        Command::JoinDelivery { delivery, run } => runs::join(context, actor, delivery, run),
        Command::CancelDelivery { delivery } => wakes::cancel(context, actor, delivery),
        Command::LetTimePass => let_time_pass(context, actor),
        Command::OfferCall { callee, kind, sdp } => calls::offer(context, actor, callee, kind, sdp),
        Command::AnswerCall { call, sdp } => calls::answer(context, actor, call, sdp),
        Command::RelayIce { call, target, candidate } => calls::relay_ice(context, actor, call, target, candidate),
        Command::EndCall { call } => calls::end(context, actor, call),

        Command::AddFile(file) => files::add(context, actor, file),
        Command::RemoveFile { file } => files::remove(context, actor, file),
        Command::CreateWebhook { channel, name, secret_hash } => {
            webhooks::create(context, actor, channel, name, secret_hash)
        }
        Command::RemoveWebhook { webhook } => webhooks::remove(context, actor, webhook),
        Command::PostToWebhook { webhook, secret_hash, content } => {
            webhooks::post(context, webhook, secret_hash, content)
        }

        Command::TakeLease { place, agent } => pools::take(context, actor, place, agent),
        Command::ClaimLease { place, agent } => pools::claim(context, actor, place, agent),
        Command::ReleaseLease { place, holder } => pools::release(context, actor, &place, holder.as_deref()),
        Command::LoseAgent { agent, successor } => pools::lose(context, actor, &agent, successor),
        Command::LinkPool { channel, guild, voice_channel } => {
            pools::link(context, actor, channel, &guild, &voice_channel)
        }
        Command::UnlinkPool { channel } => pools::unlink(context, actor, channel),
        Command::Run(command) => runs::decide(context, actor, command),
        Command::HostAgent(host) => hosting::host(context, actor, host),
        Command::DismissHosted { agent } => hosting::dismiss(context, actor, agent),
        Command::Say(say) => routes::say(context, actor, say),
        Command::Hand { route, choice, timeout } => routes::hand(context, actor, route, choice, timeout),
        Command::HandAgain { route, client } => routes::hand_again(context, actor, route, client),
        Command::AnswerRoute { route, said } => routes::answer(context, actor, route, said),
        Command::EndAttempt { route, client, end } => routes::end_attempt(context, actor, route, client, end),
    }
}

/// What was to happen by now happens.
fn let_time_pass(context: &mut Context<'_>, actor: Actor) -> Outcome {
    access::hub(actor)?;
    let mut events = Vec::new();
    wakes::on_time(context, &mut events)?;
    approvals::let_time_pass(context, &mut events)?;
    calls::let_time_pass(context, &mut events)?;
    Ok(Decision::new(Reply::Count(events.len() as u64), events))
}

/// A name: a short text in which everything can be seen, so that it is what it looks like.
fn visible_name(name: &str, what: &str, max_chars: usize) -> Result<String, Refusal> {
    let name = short_text(name, what, max_chars)?;
    if names::hides_something(&name) {
        return Err(Refusal::bad_request(format!("{what} may not contain invisible characters")));
    }
    Ok(name)
}

/// A short text that must say something: trimmed, not empty, not longer than allowed, no control characters.
fn short_text(text: &str, what: &str, max_chars: usize) -> Result<String, Refusal> {
    let text = text.trim();
    if text.is_empty() {
        return Err(Refusal::bad_request(format!("{what} is required")));
    }
    if text.chars().count() > max_chars {
        return Err(Refusal::bad_request(format!("{what} is too long (max {max_chars} characters)")));
    }
    if text.chars().any(char::is_control) {
        return Err(Refusal::bad_request(format!("{what} may not contain control characters")));
    }
    Ok(text.to_owned())
}
