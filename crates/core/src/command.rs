//! Everything that can be asked of the hub, whichever door it came through, and what it answers.

use std::sync::Arc;

use serde_json::value::RawValue;

use crate::Millis;
use crate::delivery::Delivery;
use crate::hosting::{Hosted, Policy};
use crate::ids::*;
use crate::model::*;
use crate::pools::{Lease, Place, PoolLink};
use crate::route::{Choice, InputMethod, Route, Said};
use crate::run::{Run, RunCommand, Session};

#[derive(Clone, Debug)]
pub enum Command {
    // Accounts and workspaces
    Register(Register),
    /// A further workspace of somebody who owns one; a member of the same name and password owns it.
    CreateWorkspace {
        name: String,
    },
    UpdateWorkspace {
        workspace: WorkspaceId,
        name: Option<String>,
        slug: Option<String>,
    },
    DeleteWorkspace {
        workspace: WorkspaceId,
    },
    AddMember(AddMember),
    UpdateMember(UpdateMember),
    RemoveMember {
        member: MemberId,
    },
    /// A fresh API key for a member; the old one stops working.
    ReplaceKey {
        member: MemberId,
        key_hash: KeyHash,
    },
    /// Ends every other way in that the member has, but for those whose ids are kept.
    ChangePassword {
        password_hash: String,
        keep: Vec<String>,
    },
    /// Notes a session, so that its holder can look at it and end it; again when it is renewed.
    SignIn(SignIn),
    /// Somebody was here with this session.
    SeeSession {
        session: String,
        address: String,
    },
    /// Ends one way in of whoever asks: a session, the API key, a provision token, a Telegram account.
    EndCredential {
        id: String,
    },
    SignOut {
        jti: String,
        expires_at: Millis,
    },
    IssueProvisionToken {
        workspace: WorkspaceId,
        hash: KeyHash,
    },
    RegisterAgent(RegisterAgent),
    CreateInvite(CreateInvite),
    RevokeInvite {
        invite: InviteId,
    },
    /// Somebody with an invitation makes an account of their own.
    Join(Join),
    /// A one-time code with which a Telegram account is linked to whoever asks; the one before no longer counts.
    OfferTelegramLink {
        code_hash: KeyHash,
    },
    /// A Telegram account shows a code: from now on it speaks for the member who was given it. Only the hub itself asks
    /// for this.
    LinkTelegram {
        code_hash: KeyHash,
        user: i64,
        name: String,
    },
    /// No Telegram account speaks for the one who asks any more.
    UnlinkTelegram,
    /// A key for a machine of the one who asks, with which a daemon there carries their agents.
    AddMachine {
        workspace: WorkspaceId,
        name: String,
        key_hash: KeyHash,
    },
    /// The machine's key no longer counts.
    RemoveMachine {
        machine: MachineId,
    },
    /// A local program came in through a door that needs no account: it is an agent of the oldest workspace, found
    /// again by door and key. Only the hub itself asks for this.
    WelcomeGuest(WelcomeGuest),
    /// A guest answers a message that addressed it, where it stands; it need not be in the channel. Only the hub
    /// itself asks for this.
    AnswerAsGuest(AnswerAsGuest),

    // Connections, presence, agents
    Connect,
    /// An agent comes in through whoever carries it: a daemon, for a program it hosts.
    ConnectCarried {
        carrier: MemberId,
    },
    Disconnect,
    SetPresence(Presence),
    Hello {
        role_card: RoleCard,
        runtime: Option<Runtime>,
    },
    Sleep,
    RegisterDaemon {
        agents: Vec<DaemonAgent>,
    },
    /// Wakes an agent by hand, as an operator does from the terminal.
    WakeAgent {
        agent: MemberId,
    },
    Subscribe {
        channel: ChannelId,
    },
    Typing {
        channel: ChannelId,
        on: bool,
        /// The colour it is shown in, where a door lets people choose one.
        color: Option<Color>,
    },
    Thinking {
        channel: ChannelId,
    },

    // Channels
    CreateChannel {
        /// The asker's own when left out.
        workspace: Option<WorkspaceId>,
        name: String,
        kind: ChannelKind,
        topic: String,
    },
    UpdateChannel {
        channel: ChannelId,
        name: Option<String>,
        topic: Option<String>,
    },
    DeleteChannel {
        channel: ChannelId,
    },
    ArchiveChannel {
        channel: ChannelId,
        archived: bool,
    },
    AddToChannel {
        channel: ChannelId,
        member: MemberId,
    },
    /// The same, for doors that know people by their names.
    Invite {
        channel: ChannelId,
        /// A name or an id.
        who: String,
    },
    RemoveFromChannel {
        channel: ChannelId,
        member: MemberId,
    },
    OpenDirect {
        workspace: WorkspaceId,
        members: Vec<MemberId>,
    },
    MarkRead {
        channel: ChannelId,
        seq: Option<u64>,
    },
    SetNotifyPreference {
        channel: ChannelId,
        notify: NotifyPreference,
    },

    // Messages
    Send(Send),
    /// Makes a stream final for its sender, who has given it up, with its last text. Only the hub itself asks for this.
    EndStream {
        sender: MemberId,
        channel: ChannelId,
    },
    EditMessage {
        message: MessageId,
        content: String,
    },
    DeleteMessage {
        message: MessageId,
    },
    React {
        message: MessageId,
        emoji: String,
        on: bool,
    },
    Pin {
        channel: Option<ChannelId>,
        message: MessageId,
    },
    Unpin {
        pin: PinId,
    },

    // Notifications and inbox
    MarkNotificationRead {
        notification: NotificationId,
    },
    MarkAllNotificationsRead,
    /// Takes one item of one's own inbox as dealt with.
    AckInbox {
        notification: NotificationId,
    },
    AckWholeInbox,

    // Agent experience
    CreateDraft {
        channel: ChannelId,
        thread: Option<MessageId>,
        content: String,
    },
    ValidateDraft {
        draft: DraftId,
    },
    SendDraft {
        draft: DraftId,
        force: bool,
    },
    CancelDraft {
        draft: DraftId,
    },
    RequestReview {
        reviewer: MemberId,
        subject: String,
        content: String,
        channel: Option<ChannelId>,
    },
    DecideReview {
        review: ReviewId,
        status: String,
        comment: Option<String>,
    },
    PutItem(PutItem),
    RemoveItem {
        item: ItemId,
    },
    PutMemory {
        namespace: String,
        key: String,
        value: String,
    },
    RemoveMemory {
        namespace: String,
        key: String,
    },

    // Tasks, approvals, calls
    CreateTask(CreateTask),
    UpdateTask(UpdateTask),
    ClaimTask {
        task: TaskId,
    },
    DeleteTask {
        task: TaskId,
    },
    RequestApproval(RequestApproval),
    DecideApproval {
        approval: ApprovalId,
        approved: bool,
        scope: ApprovalScope,
        note: Option<String>,
    },
    /// The agent takes the decision up, once, before it acts on it.
    UseApproval {
        approval: ApprovalId,
    },
    OfferCall {
        callee: MemberId,
        kind: String,
        sdp: String,
    },
    AnswerCall {
        call: CallId,
        sdp: String,
    },
    RelayIce {
        call: CallId,
        target: Option<MemberId>,
        candidate: Box<RawValue>,
    },
    EndCall {
        call: CallId,
    },

    // Wakes
    /// The agent does not answer, and that is that.
    PassDelivery {
        delivery: DeliveryId,
        why: Option<String>,
    },
    /// The agent could not: its sender is told.
    FailDelivery {
        delivery: DeliveryId,
        why: String,
    },
    /// What was said goes into a run that is under way.
    JoinDelivery {
        delivery: DeliveryId,
        run: RunId,
    },
    /// Its sender, or an admin, takes it back.
    CancelDelivery {
        delivery: DeliveryId,
    },

    /// The hub's clock: what was to happen by now happens. Only the hub itself asks for this.
    LetTimePass,

    // Files and webhooks
    AddFile(File),
    RemoveFile {
        file: FileId,
    },
    CreateWebhook {
        channel: ChannelId,
        name: String,
        secret_hash: KeyHash,
    },
    RemoveWebhook {
        webhook: WebhookId,
    },
    PostToWebhook {
        webhook: WebhookId,
        secret_hash: KeyHash,
        content: String,
    },

    // Pools of worker agents
    /// The session at a place, given to `agent` when nobody holds it yet.
    TakeLease {
        place: Place,
        agent: String,
    },
    /// An agent says that it serves a place; the hub itself asks, for the agent has no account.
    ClaimLease {
        place: Place,
        agent: String,
    },
    /// Frees a place; with `holder`, only if that agent holds it, which is how the hub itself asks for an agent.
    ReleaseLease {
        place: Place,
        holder: Option<String>,
    },
    /// An agent is lost: what it holds passes to its successor, where the kind of the session allows it, or is freed.
    /// Only the hub itself asks for this.
    LoseAgent {
        agent: String,
        successor: Option<String>,
    },
    /// From now on a channel commands the pool session of a voice channel.
    LinkPool {
        channel: ChannelId,
        guild: String,
        voice_channel: String,
    },
    UnlinkPool {
        channel: ChannelId,
    },
    /// Agents at work.
    Run(RunCommand),

    // Agents of the hub's own daemon
    HostAgent(HostAgent),
    /// Hosts it no longer, and removes it as a member.
    DismissHosted {
        agent: MemberId,
    },
    // Sentences for whoever should take them
    Say(Say),
    /// Gives a kept sentence to those who were chosen for it. Only the hub itself asks for this.
    Hand {
        route: RouteId,
        choice: Choice,
        /// How long a client may take to answer.
        patience: Millis,
    },
    /// Gives a client that is back what it had not answered. Only the hub itself asks for this.
    HandAgain {
        route: RouteId,
        client: MemberId,
    },
    /// A client answers a sentence it was given.
    AnswerRoute {
        route: RouteId,
        said: Said,
    },
    /// A client did not answer, or left. Only the hub itself asks for this.
    EndAttempt {
        route: RouteId,
        client: MemberId,
        end: AttemptEnd,
    },
}

/// Why no answer comes from a client any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptEnd {
    Timeout,
    Disconnected,
}

/// A sentence for the router.
#[derive(Clone, Debug)]
pub struct Say {
    pub text: String,
    pub input: InputMethod,
    pub confidence: Option<f64>,
    pub source: Option<MessageId>,
    pub choice: Choice,
    /// How long a client may take to answer.
    pub patience: Millis,
}

/// Who may create an account of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Registration {
    First,
    Open,
    Closed,
}

/// What speaks for somebody who wants the first account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The request comes from this machine itself, or shows the code that was printed at the start.
    Proven,
    /// It comes from elsewhere, without the code.
    Unproven,
}

/// A session that begins, or goes on with another token.
#[derive(Clone, Debug)]
pub struct SignIn {
    pub session: String,
    /// Of the secrets that were proven.
    pub generation: u64,
    pub address: String,
    pub device: String,
    pub expires_at: Millis,
}

#[derive(Clone, Debug)]
pub struct Register {
    pub policy: Registration,
    pub standing: Standing,
    pub email: String,
    pub name: String,
    pub workspace_name: Option<String>,
    pub password_hash: String,
}

#[derive(Clone, Debug)]
pub struct CreateInvite {
    pub workspace: WorkspaceId,
    pub role: Option<Role>,
    /// Where the newcomer will be a member; none means every open channel there is then.
    pub channels: Vec<ChannelId>,
    pub code_hash: KeyHash,
}

#[derive(Clone, Debug)]
pub struct Join {
    pub code_hash: KeyHash,
    pub name: String,
    pub email: Option<String>,
    pub password_hash: String,
}

#[derive(Clone, Debug)]
pub struct AddMember {
    pub workspace: WorkspaceId,
    pub kind: MemberKind,
    pub role: Option<Role>,
    pub name: String,
    pub nick: Option<String>,
    pub email: Option<String>,
    pub password_hash: Option<String>,
    pub key_hash: Option<KeyHash>,
    pub role_card: Option<RoleCard>,
    pub runtime: Option<Runtime>,
}

#[derive(Clone, Debug, Default)]
pub struct UpdateMember {
    pub member: MemberId,
    pub name: Option<String>,
    pub nick: Option<String>,
    pub email: Option<String>,
    pub role: Option<Role>,
    pub avatar: Option<FileId>,
    pub role_card: Option<RoleCard>,
}

#[derive(Clone, Debug)]
pub struct RegisterAgent {
    pub workspace: WorkspaceId,
    pub provision_hash: KeyHash,
    pub name: String,
    pub key_hash: KeyHash,
    pub role_card: RoleCard,
    pub runtime: Runtime,
}

#[derive(Clone, Debug)]
pub struct WelcomeGuest {
    pub door: Door,
    /// The program's own name for itself, under which it is known when it comes back.
    pub key: String,
    /// What it would like to be called; a number is added when somebody has that name.
    pub name: String,
    pub role_card: RoleCard,
}

/// A new agent that the hub hosts itself.
#[derive(Clone, Debug)]
pub struct HostAgent {
    pub name: String,
    pub engine: String,
    pub model: Option<String>,
    pub project: Option<String>,
    pub role_card: RoleCard,
    pub policy: Policy,
    pub deny: Vec<String>,
    pub worktrees: bool,
    /// Where it is from the start; none: every open channel of the workspace.
    pub channels: Option<Vec<ChannelId>>,
    /// False for one that the configuration names: it says again at every start what it wants.
    pub is_kept: bool,
}

#[derive(Clone, Debug)]
pub struct AnswerAsGuest {
    pub guest: MemberId,
    /// The message it answers; the answer goes to the same channel and thread.
    pub message: MessageId,
    pub content: String,
    pub metadata: Option<Box<RawValue>>,
    /// Idempotency key: a repeat returns the first answer.
    pub key: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DaemonAgent {
    pub name: String,
    pub agent: MemberId,
}

#[derive(Clone, Debug, Default)]
pub struct Send {
    pub channel: ChannelId,
    pub content: String,
    pub content_type: ContentType,
    pub kind: Option<String>,
    pub thread: Option<MessageId>,
    pub file: Option<FileId>,
    pub metadata: Option<Box<RawValue>>,
    /// Idempotency key: a repeat returns the first message and changes nothing.
    pub key: Option<String>,
    pub stage: Stage,
    /// The wake this answers, where the agent says so.
    pub delivery: Option<DeliveryId>,
    /// It goes on where the agent's last message had to end, and answers no wake by itself.
    pub is_more: bool,
}

/// How much of a message a send is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Stage {
    /// A message of its own, whatever else its sender is writing.
    #[default]
    Whole,
    /// The text so far of the one live message of this sender in the channel.
    Partial,
    /// The live message as it stays, if there is one; otherwise a message of its own.
    Final,
}

#[derive(Clone, Debug, Default)]
pub struct PutItem {
    pub item: Option<ItemId>,
    pub name: String,
    pub namespace: Option<String>,
    pub content: Option<String>,
    pub description: Option<String>,
    pub tags: Option<Vec<String>>,
}

#[derive(Clone, Debug)]
pub struct CreateTask {
    pub workspace: WorkspaceId,
    pub channel: Option<ChannelId>,
    pub message: Option<MessageId>,
    pub title: String,
    pub description: String,
    pub priority: Priority,
    pub assigned_to: Option<MemberId>,
}

#[derive(Clone, Debug, Default)]
pub struct UpdateTask {
    pub task: TaskId,
    pub title: Option<String>,
    pub description: Option<String>,
    pub status: Option<TaskStatus>,
    pub priority: Option<Priority>,
    /// `Some(None)` takes the task away from whoever has it.
    pub assigned_to: Option<Option<MemberId>>,
}

#[derive(Clone, Debug, Default)]
pub struct RequestApproval {
    pub channel: Option<ChannelId>,
    pub action: String,
    pub payload: String,
    pub kind: ApprovalKind,
    pub hash: Option<String>,
    pub run: Option<RunId>,
    /// The message the work began with; its sender, if a person, may decide.
    pub about: Option<MessageId>,
}

/// The answer to the one who asked. Events tell everybody else.
#[derive(Clone, Debug)]
pub enum Reply {
    Done,
    /// How many things it concerned.
    Count(u64),
    Registered {
        member: Arc<Member>,
        workspace: Workspace,
    },
    Workspace(Workspace),
    Member(Arc<Member>),
    Channel {
        channel: Channel,
        created: bool,
    },
    Connected(Arc<Member>),
    Welcome {
        agent: MemberId,
    },
    Daemon {
        id: String,
        agents: Vec<DaemonAgent>,
        /// Those that it may not carry, as it named them.
        refused: Vec<DaemonAgent>,
    },
    Subscribed(ChannelId),
    /// `repeated` when the idempotency key was known and nothing happened.
    Sent {
        message: Arc<Message>,
        repeated: bool,
    },
    /// The live message has this text now.
    Streamed(Arc<Stream>),
    Message(Arc<Message>),
    Deleted(Arc<Message>),
    Pin(Pin),
    Notification(Notification),
    Draft(Draft),
    DraftCheck(DraftCheck),
    DraftSent {
        draft: DraftId,
        message: Arc<Message>,
    },
    Review(Review),
    Item(Item),
    Memory(Memory),
    Task(Task),
    Approval(Approval),
    Call(Call),
    File(File),
    Webhook(Webhook),
    Token(Token),
    /// The ids of what was ended.
    Ended(Vec<String>),
    Invite(Invite),
    TelegramLink(TelegramLink),
    Machine(Machine),
    /// `created` when it was free before, or passed to another agent.
    Lease {
        lease: Lease,
        created: bool,
    },
    PoolLink(PoolLink),
    Hosted(Hosted),
    Route(Arc<Route>),
    Delivery(Delivery),
    /// `known` when it was there already and nothing happened.
    Run {
        run: Arc<Run>,
        known: bool,
    },
    /// The run has another diff now; the bytes of the one before can go.
    Diff {
        run: Arc<Run>,
        replaced: Option<FileId>,
    },
    Session(Session),
}

/// Whether a held draft still fits the conversation.
#[derive(Clone, Debug)]
pub struct DraftCheck {
    pub draft: DraftId,
    pub valid: bool,
    pub draft_version: u64,
    pub current_version: u64,
    /// What was said meanwhile (the newest five), when the draft is stale.
    pub recent: Vec<Message>,
}
