//! From a text frame to what it asks for.

use folkmoot_core::command::{self, Command, PutItem, RequestApproval};
use folkmoot_core::ids::*;
use folkmoot_core::model::{ApprovalKind, ApprovalScope, ContentType, Presence, RoleCard, Runtime};
use folkmoot_core::{Refusal, refusal};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::wire;
use super::runs;
use crate::door::{Ask, Poll, Ticket};
use crate::lark::objects::schemas::NotificationSource;

/// What a client can ask for.
#[derive(Debug)]
pub enum Request {
    LogIn { token: String, agent: Option<MemberId>, dialect: &'static str },
    Ask(Ask),
}

const DEFAULT_POLL: usize = 50;
const MAX_POLL: usize = 200;

pub fn request(text: &str) -> Result<(Request, Ticket), (Refusal, Ticket)> {
    let envelope: wire::Incoming<'_> = object(text).map_err(|refusal| (refusal, Ticket::default()))?;
    let mut ticket = Ticket { id: envelope.id.map(|id| id.get().to_owned()), request: "" };
    let Some((name, parse)) = TYPES.iter().find(|(name, _)| *name == envelope.kind) else {
        let shown: String = envelope.kind.chars().take(80).collect();
        return Err((Refusal::bad_request(format!("unknown type `{shown}`")), ticket));
    };
    ticket.request = name;
    match parse(Data { raw: envelope.data, ticket: &ticket }) {
        Ok(request) => Ok((request, ticket)),
        Err(refusal) => Err((refusal, ticket)),
    }
}

/// Reads a JSON object. Lists are turned away here, because serde would take one for the fields in their order.
fn object<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, Refusal> {
    if !text.trim_start().starts_with('{') {
        return Err(refusal::INVALID_DATA);
    }
    serde_json::from_str(text).map_err(|_| refusal::INVALID_DATA)
}

type Parse = fn(Data<'_>) -> Result<Request, Refusal>;

/// Every type a client may send, in the document's order; below the line what real agents and our own clients add.
const TYPES: &[(&str, Parse)] = &[
    ("auth.login", auth_login),
    ("channel.join", |data| data.channel(|channel| Command::Subscribe { channel })),
    ("channel.leave", channel_leave),
    ("agent.hello", agent_hello),
    ("agent.sleep", |data| data.command(Command::Sleep)),
    ("agent.thinking", |data| data.channel(|channel| Command::Thinking { channel })),
    ("daemon.register", daemon_register),
    ("message.send", message_send),
    ("message.edit", message_edit),
    ("message.delete", message_delete),
    ("thread.reply", thread_reply),
    ("typing.start", |data| data.channel(|channel| Command::Typing { channel, on: true, color: None })),
    ("typing.stop", |data| data.channel(|channel| Command::Typing { channel, on: false, color: None })),
    ("call.offer", call_offer),
    ("call.answer", call_answer),
    ("call.ice", call_ice),
    ("call.end", call_end),
    ("approval.request", approval_request),
    // ---
    ("presence.update", presence_update),
    ("inbox.poll", inbox_poll),
    ("inbox.ack", inbox_ack),
    ("draft.create", draft_create),
    ("draft.validate", draft_validate),
    ("draft.send", draft_send),
    ("review.request", review_request),
    ("review.result", review_result),
    ("workspace.update", workspace_update),
    ("reaction.add", |data| reaction(&data, true)),
    ("reaction.remove", |data| reaction(&data, false)),
    ("pin.add", pin_add),
    ("pin.remove", pin_remove),
    ("channel.read", channel_read),
    ("approval.decide", approval_decide),
    ("approval.use", approval_use),
    ("wake.pass", wake_pass),
    ("wake.fail", wake_fail),
    ("wake.join", wake_join),
    ("sync.resume", sync_resume),
    ("run.start", runs::start),
    ("run.action", runs::action),
    ("run.progress", runs::progress),
    ("run.session", runs::resume),
    ("run.changes", runs::changes),
    ("run.complete", runs::complete),
    ("run.stop", runs::stop),
    ("session.put", runs::put_session),
    ("session.forget", runs::forget_session),
];

/// Their names, for whoever must know them all: a test holds a row of permissions for each.
pub fn request_types() -> impl Iterator<Item = &'static str> {
    TYPES.iter().map(|(name, _)| *name)
}

/// The payload of one request.
pub(super) struct Data<'a> {
    raw: Option<&'a RawValue>,
    ticket: &'a Ticket,
}

impl<'a> Data<'a> {
    pub(super) fn read<T: Deserialize<'a>>(&self) -> Result<T, Refusal> {
        object(self.raw.ok_or(refusal::INVALID_DATA)?.get())
    }

    /// The agent a daemon speaks for, when the request names one.
    fn on_behalf(&self) -> Option<MemberId> {
        let named: wire::OnBehalf = self.read().unwrap_or_default();
        named.agent_id.map(|id| MemberId::parse(&id))
    }

    pub(super) fn command(&self, command: Command) -> Result<Request, Refusal> {
        Ok(Request::Ask(Ask::Do { command: Box::new(command), on_behalf: self.on_behalf() }))
    }

    fn channel(&self, command: impl FnOnce(ChannelId) -> Command) -> Result<Request, Refusal> {
        let data: wire::ChannelRef = self.read()?;
        self.command(command(ChannelId::parse(&data.channel_id)))
    }

    /// The envelope's id makes a send repeatable without doubling it, when it is a UUID and so unlikely to be reused.
    fn idempotency_key(&self) -> Option<String> {
        let text: String = serde_json::from_str(self.ticket.id.as_deref()?).ok()?;
        uuid::Uuid::try_parse(&text).ok().map(|uuid| uuid.hyphenated().to_string())
    }
}

/// An id that may be left out or empty, as the document's examples have it.
fn optional<I>(id: Option<&str>, parse: impl FnOnce(&str) -> I) -> Option<I> {
    id.filter(|id| !id.is_empty()).map(parse)
}

fn auth_login(data: Data<'_>) -> Result<Request, Refusal> {
    let login: wire::AuthLogin = data.read()?;
    let agent = optional(login.agent_id.as_deref(), MemberId::parse);
    let dialect = match login.frames {
        Some(wire::Frames::Plain) => super::PLAIN,
        None => "",
    };
    Ok(Request::LogIn { token: login.token, agent, dialect })
}

fn channel_leave(data: Data<'_>) -> Result<Request, Refusal> {
    let leave: wire::ChannelRef = data.read()?;
    Ok(Request::Ask(Ask::Unsubscribe { channel: ChannelId::parse(&leave.channel_id) }))
}

fn agent_hello(data: Data<'_>) -> Result<Request, Refusal> {
    let hello: wire::AgentHello = data.read()?;
    let role_card = RoleCard {
        system_prompt: hello.role_card.system_prompt,
        capabilities: hello.role_card.capabilities.unwrap_or_default(),
    };
    let runtime =
        hello.runtime.map(|runtime| Runtime { kind: runtime.kind, provider: runtime.provider, model: runtime.model });
    data.command(Command::Hello { role_card, runtime })
}

fn daemon_register(data: Data<'_>) -> Result<Request, Refusal> {
    let register: wire::DaemonRegister = data.read()?;
    let agent = |agent: wire::DaemonAgent| folkmoot_core::model::DaemonAgent {
        agent: MemberId::parse(&agent.agent_id),
        name: agent.name,
    };
    let agents = register.agents.into_iter().map(agent).collect();
    Ok(Request::Ask(Ask::Do { command: Box::new(Command::RegisterDaemon { agents }), on_behalf: None }))
}

fn content_type(given: Option<wire::ContentType>) -> ContentType {
    match given {
        Some(wire::ContentType::Markdown) => ContentType::Markdown,
        Some(wire::ContentType::Text | wire::ContentType::Unset) | None => ContentType::Text,
    }
}

fn message_send(data: Data<'_>) -> Result<Request, Refusal> {
    let send: wire::MessageSend = data.read()?;
    data.command(Command::Send(command::Send {
        channel: ChannelId::parse(&send.channel_id),
        content: send.content,
        content_type: content_type(send.content_type),
        kind: send.kind,
        thread: optional(send.thread_id.as_deref(), MessageId::parse),
        file: optional(send.file_id.as_deref(), FileId::parse),
        metadata: send.metadata,
        key: data.idempotency_key(),
        delivery: optional(send.delivery_id.as_deref(), DeliveryId::parse),
        ..command::Send::default()
    }))
}

fn message_edit(data: Data<'_>) -> Result<Request, Refusal> {
    let edit: wire::MessageEdit = data.read()?;
    data.command(Command::EditMessage { message: MessageId::parse(&edit.message_id), content: edit.content })
}

fn message_delete(data: Data<'_>) -> Result<Request, Refusal> {
    let delete: wire::MessageDelete = data.read()?;
    data.command(Command::DeleteMessage { message: MessageId::parse(&delete.message_id) })
}

fn thread_reply(data: Data<'_>) -> Result<Request, Refusal> {
    let reply: wire::ThreadReply = data.read()?;
    if reply.parent_id.is_empty() || reply.content.trim().is_empty() {
        return Err(refusal::PARENT_AND_CONTENT);
    }
    data.command(Command::Send(command::Send {
        channel: ChannelId::parse(&reply.channel_id),
        content: reply.content,
        content_type: content_type(reply.content_type),
        thread: Some(MessageId::parse(&reply.parent_id)),
        metadata: reply.metadata,
        key: data.idempotency_key(),
        delivery: optional(reply.delivery_id.as_deref(), DeliveryId::parse),
        is_more: reply.more.unwrap_or(false),
        ..command::Send::default()
    }))
}

fn call_offer(data: Data<'_>) -> Result<Request, Refusal> {
    let offer: wire::CallOffer = data.read()?;
    if offer.callee_id.is_empty() || offer.sdp.is_empty() {
        return Err(refusal::CALLEE_AND_SDP);
    }
    // An id that cannot be read is nobody's, not a missing one.
    let callee = Some(MemberId::parse(&offer.callee_id)).filter(|id| !id.is_none()).ok_or(refusal::MEMBER_NOT_FOUND)?;
    data.command(Command::OfferCall { callee, kind: offer.kind, sdp: offer.sdp })
}

fn call_id(text: &str) -> Result<CallId, Refusal> {
    if text.is_empty() { Err(refusal::CALL_ID_REQUIRED) } else { Ok(CallId::parse(text)) }
}

fn call_answer(data: Data<'_>) -> Result<Request, Refusal> {
    let answer: wire::CallAnswer = data.read()?;
    data.command(Command::AnswerCall { call: call_id(&answer.call_id)?, sdp: answer.sdp })
}

fn call_ice(data: Data<'_>) -> Result<Request, Refusal> {
    let ice: wire::CallIce = data.read()?;
    let target = optional(ice.target_id.as_deref(), MemberId::parse);
    data.command(Command::RelayIce { call: call_id(&ice.call_id)?, target, candidate: ice.candidate })
}

fn call_end(data: Data<'_>) -> Result<Request, Refusal> {
    let end: wire::CallEnd = data.read()?;
    data.command(Command::EndCall { call: call_id(&end.call_id)? })
}

fn approval_request(data: Data<'_>) -> Result<Request, Refusal> {
    let request: wire::ApprovalRequest = data.read()?;
    let payload = request.payload.map_or_else(String::new, |raw| text_or_json(&raw));
    let channel = optional(request.channel_id.as_deref(), ChannelId::parse);
    data.command(Command::RequestApproval(RequestApproval {
        channel,
        action: request.action,
        payload,
        kind: approval_kind(request.kind),
        hash: request.fingerprint,
        run: optional(request.run_id.as_deref(), RunId::parse),
        about: optional(request.message_id.as_deref(), MessageId::parse),
    }))
}

fn approval_kind(kind: wire::ApprovalKind) -> ApprovalKind {
    match kind {
        wire::ApprovalKind::Action => ApprovalKind::Action,
        wire::ApprovalKind::Permission => ApprovalKind::Permission,
        wire::ApprovalKind::Brake => ApprovalKind::LoopGuard,
    }
}

/// A JSON string's text, or any other JSON as it was written.
fn text_or_json(raw: &RawValue) -> String {
    serde_json::from_str::<String>(raw.get()).unwrap_or_else(|_| raw.get().to_owned())
}

fn presence_update(data: Data<'_>) -> Result<Request, Refusal> {
    let update: wire::PresenceUpdate = data.read()?;
    data.command(Command::SetPresence(match update.status {
        wire::Presence::Online => Presence::Online,
        wire::Presence::Idle => Presence::Idle,
        wire::Presence::Offline => Presence::Offline,
        wire::Presence::Dnd => Presence::Dnd,
        wire::Presence::Sleeping => Presence::Sleeping,
    }))
}

fn inbox_poll(data: Data<'_>) -> Result<Request, Refusal> {
    let poll: wire::InboxPoll = if data.raw.is_none() { wire::InboxPoll::default() } else { data.read()? };
    Ok(Request::Ask(Ask::Poll(Poll {
        on_behalf: data.on_behalf(),
        source_type: poll.source_type.filter(|source| !source.is_empty()).map(source),
        unread_only: poll.unread_only.unwrap_or(false),
        since: poll.since,
        limit: poll.limit.filter(|limit| *limit > 0).unwrap_or(DEFAULT_POLL).min(MAX_POLL),
    })))
}

/// What notifications of this source are stored under; a word that nobody knows finds nothing.
fn source(word: String) -> String {
    NotificationSource::named(&word).map_or(word, |source| source.word().to_owned())
}

fn inbox_ack(data: Data<'_>) -> Result<Request, Refusal> {
    let ack: wire::InboxAck = data.read()?;
    data.command(Command::AckInbox { notification: NotificationId::parse(&ack.item_id) })
}

fn draft_create(data: Data<'_>) -> Result<Request, Refusal> {
    let draft: wire::DraftCreate = data.read()?;
    data.command(Command::CreateDraft {
        channel: ChannelId::parse(&draft.channel_id),
        thread: optional(draft.thread_id.as_deref(), MessageId::parse),
        content: draft.content,
    })
}

fn draft_validate(data: Data<'_>) -> Result<Request, Refusal> {
    let draft: wire::DraftValidate = data.read()?;
    data.command(Command::ValidateDraft { draft: DraftId::parse(&draft.draft_id) })
}

fn draft_send(data: Data<'_>) -> Result<Request, Refusal> {
    let draft: wire::DraftSend = data.read()?;
    let force = match draft.force_version {
        None | Some(serde_json::Value::Null | serde_json::Value::Bool(false)) => false,
        Some(serde_json::Value::Bool(true) | serde_json::Value::Number(_)) => true,
        Some(_) => return Err(refusal::INVALID_DATA),
    };
    data.command(Command::SendDraft { draft: DraftId::parse(&draft.draft_id), force })
}

fn review_request(data: Data<'_>) -> Result<Request, Refusal> {
    let request: wire::ReviewRequest = data.read()?;
    data.command(Command::RequestReview {
        reviewer: MemberId::parse(&request.reviewer_id),
        subject: request.subject,
        content: request.content,
        channel: optional(request.channel_id.as_deref(), ChannelId::parse),
    })
}

fn review_result(data: Data<'_>) -> Result<Request, Refusal> {
    let result: wire::ReviewResult = data.read()?;
    let review = ReviewId::parse(&result.review_id);
    data.command(Command::DecideReview { review, status: result.status, comment: result.comment })
}

fn workspace_update(data: Data<'_>) -> Result<Request, Refusal> {
    let update: wire::WorkspaceUpdate = data.read()?;
    data.command(Command::PutItem(PutItem {
        item: optional(update.item_id.as_deref(), ItemId::parse),
        name: update.name,
        namespace: update.namespace,
        content: update.content,
        description: update.description,
        tags: update.tags,
    }))
}

fn reaction(data: &Data<'_>, on: bool) -> Result<Request, Refusal> {
    let change: wire::ReactionAdd = data.read()?;
    data.command(Command::React { message: MessageId::parse(&change.message_id), emoji: change.emoji, on })
}

fn pin_add(data: Data<'_>) -> Result<Request, Refusal> {
    let pin: wire::PinAdd = data.read()?;
    let channel = optional(pin.channel_id.as_deref(), ChannelId::parse);
    data.command(Command::Pin { channel, message: MessageId::parse(&pin.message_id) })
}

fn pin_remove(data: Data<'_>) -> Result<Request, Refusal> {
    let pin: wire::PinRemove = data.read()?;
    data.command(Command::Unpin { pin: PinId::parse(&pin.pin_id) })
}

fn channel_read(data: Data<'_>) -> Result<Request, Refusal> {
    let read: wire::ChannelRead = data.read()?;
    data.command(Command::MarkRead { channel: ChannelId::parse(&read.channel_id), seq: read.seq })
}

fn approval_use(data: Data<'_>) -> Result<Request, Refusal> {
    let take_up: wire::ApprovalUse = data.read()?;
    data.command(Command::UseApproval { approval: ApprovalId::parse(&take_up.approval_id) })
}

fn approval_decide(data: Data<'_>) -> Result<Request, Refusal> {
    let decide: wire::ApprovalDecide = data.read()?;
    let approval = ApprovalId::parse(&decide.approval_id);
    let wire::ApprovalDecide { approved, scope, note, .. } = decide;
    let scope = match scope {
        wire::ApprovalScope::Once => ApprovalScope::Once,
        wire::ApprovalScope::Run => ApprovalScope::Run,
    };
    data.command(Command::DecideApproval { approval, approved, scope, note })
}

fn wake_pass(data: Data<'_>) -> Result<Request, Refusal> {
    let pass: wire::WakePass = data.read()?;
    data.command(Command::PassDelivery { delivery: DeliveryId::parse(&pass.delivery_id), why: pass.why })
}

fn wake_fail(data: Data<'_>) -> Result<Request, Refusal> {
    let fail: wire::WakeFail = data.read()?;
    data.command(Command::FailDelivery { delivery: DeliveryId::parse(&fail.delivery_id), why: fail.why })
}

fn wake_join(data: Data<'_>) -> Result<Request, Refusal> {
    let join: wire::WakeJoin = data.read()?;
    let (delivery, run) = (DeliveryId::parse(&join.delivery_id), RunId::parse(&join.run_id));
    data.command(Command::JoinDelivery { delivery, run })
}

fn sync_resume(data: Data<'_>) -> Result<Request, Refusal> {
    let resume: wire::SyncResume = data.read()?;
    let mut positions: Vec<_> =
        resume.positions.unwrap_or_default().iter().map(|(channel, seq)| (ChannelId::parse(channel), *seq)).collect();
    if let Some(channel) = resume.channel_id {
        positions.push((ChannelId::parse(&channel), resume.after_seq.ok_or(refusal::INVALID_DATA)?));
    }
    if positions.is_empty() {
        return Err(refusal::INVALID_DATA);
    }
    Ok(Request::Ask(Ask::Resume { positions }))
}
