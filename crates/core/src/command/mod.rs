//! Everything that can be asked of the hub, whichever door it came through, and what it answers.

mod parts;
mod reply;

use serde_json::value::RawValue;

use crate::Millis;
use crate::ids::*;
use crate::model::*;
use crate::pools::Place;
use crate::route::{Choice, Said};
use crate::run::RunCommand;

pub use parts::*;
pub use reply::{DraftCheck, Reply};

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
        about: Option<WakeAbout>,
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
    /// What is none stays as it is.
    UpdateChannel {
        channel: ChannelId,
        name: Option<String>,
        topic: Option<String>,
        is_private: Option<bool>,
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
        timeout: Millis,
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
