"""Generated from `docs/openapi.json` by `make openapi`: change the hub, not this file."""

from __future__ import annotations

import sys
from typing import Any, Literal, TypeAlias

if sys.version_info >= (3, 11):
    from typing import NotRequired, TypedDict
else:
    from typing_extensions import NotRequired, TypedDict


class Acked(TypedDict):
    item_id: str
    status: str


ActionPhase: TypeAlias = "Literal['started', 'updated', 'completed']"


class AdmitBody(TypedDict):
    member_id: NotRequired[str | None]


class Agent(TypedDict):
    capabilities: list[str]
    id: str
    name: str
    online: bool
    runtime: NotRequired[Runtime]
    status: Presence
    type: MemberKind
    workspace: str
    workspace_id: str


class AgentMetrics(TypedDict):
    agent_id: str
    approvals_pending: int
    channels: int
    created_at: Millis
    name: str
    online: bool
    status: Presence
    tasks_done: int
    tasks_open: int


class AgentState(TypedDict):
    agent_id: str
    name: str
    presence: Presence
    status: str


class Approval(TypedDict):
    action: str
    agent_id: str
    asker_id: str | None
    channel_id: str | None
    created_at: Millis
    expires_at: Millis
    fingerprint: str | None
    id: str
    kind: ApprovalKind
    payload: str
    review_note: str | None
    reviewed_at: Millis | None
    reviewer_id: str | None
    run_id: str | None
    scope: ApprovalScope
    shown: Shown
    status: ApprovalStatus
    used_at: Millis | None
    workspace_id: str


class ApprovalBody(TypedDict):
    action: str
    channel_id: NotRequired[str | None]
    fingerprint: NotRequired[str | None]
    kind: NotRequired[AskedKind]
    message_id: NotRequired[str | None]
    payload: NotRequired[Any]
    run_id: NotRequired[str | None]


ApprovalKind: TypeAlias = "Literal['action', 'permission', 'brake']"


ApprovalScope: TypeAlias = "Literal['once', 'run']"


ApprovalStatus: TypeAlias = "Literal['pending', 'approved', 'denied']"


class ApprovalView(TypedDict):
    action: str
    agent_id: str
    asker_id: str | None
    channel_id: str | None
    created_at: Millis
    decider_ids: NotRequired[list[str]]
    expires_at: Millis
    fingerprint: str | None
    id: str
    kind: ApprovalKind
    may_decide: bool
    payload: str
    review_note: str | None
    reviewed_at: Millis | None
    reviewer_id: str | None
    run_id: str | None
    scope: ApprovalScope
    shown: Shown
    status: ApprovalStatus
    used_at: Millis | None
    workspace_id: str


AskedKind: TypeAlias = "Literal['action', 'permission']"


class Attempt(TypedDict):
    client: str
    delivered_at: Millis
    direct: bool
    reason: NotRequired[str]
    reject_reason: NotRequired[str]
    responses: list[dict[str, Any]]
    routing_reason: NotRequired[str]
    status: AttemptStatus


AttemptStatus: TypeAlias = "Literal['delivered', 'acked', 'rejected', 'timeout']"


class AvatarBody(TypedDict):
    file_id: str


class BackupMade(TypedDict):
    created_at: Millis
    file: str
    size: int
    status: str


class Call(TypedDict):
    answered_at: Millis | None
    callee_id: str
    caller_id: str
    created_at: Millis
    ended_at: Millis | None
    id: str
    status: CallStatus
    type: str
    workspace_id: str


CallStatus: TypeAlias = "Literal['ringing', 'answered', 'ended', 'missed']"


class Channel(TypedDict):
    archived: bool
    created_at: Millis
    created_by: str
    id: str
    is_member: bool
    member_count: int
    member_ids: list[str]
    name: str
    notification_preference: NotifyPreference
    read_seq: int
    room_version: int
    seq: int
    topic: str
    type: ChannelKind
    unread_count: int
    workspace_id: str


class ChannelChange(TypedDict):
    name: NotRequired[str | None]
    topic: NotRequired[str | None]


ChannelKind: TypeAlias = "Literal['channel', 'private', 'dm', 'group_dm']"


class ChannelPreference(TypedDict):
    channel_id: str
    preference: NotifyPreference


ContentType: TypeAlias = "Literal['text', 'markdown']"


class Count(TypedDict):
    count: int


class Credentials(TypedDict):
    keys: list[KeyObject]
    sessions: list[SessionObject]


class Daemon(TypedDict):
    agent_count: int
    agents: list[DaemonAgent]
    id: str
    member_id: str
    name: str
    started_at: str
    status: str


class DaemonAgent(TypedDict):
    agent_id: str
    name: str


class Decision(TypedDict):
    approved: bool
    note: NotRequired[str | None]
    scope: NotRequired[ApprovalScope]


class Delivery(TypedDict):
    agent_id: str
    agent_name: str
    channel_id: str | None
    created_at: Millis
    depth: int
    expires_at: Millis
    id: str
    message_ids: list[str]
    reason: WakeReason
    reply_id: str | None
    root_id: str
    run_id: str | None
    sender_id: str
    state: DeliveryState
    task_id: NotRequired[str]
    thread_id: str | None
    updated_at: Millis
    why: str | None


DeliveryState: TypeAlias = "Literal['queued', 'leased', 'admitted', 'answered', 'passed', 'failed', 'expired', 'cancelled', 'suppressed']"


class DirectBody(TypedDict):
    member_ids: list[str]


class DispatchBody(TypedDict):
    data: NotRequired[dict[str, Any] | None]
    guild_id: str
    kind: NotRequired[PoolKind]
    op: str
    voice_channel_id: str


class Done(TypedDict):
    id: NotRequired[str]
    status: str


class Draft(TypedDict):
    agent_id: str
    channel_id: str
    content: str
    created_at: Millis
    expires_at: Millis
    id: str
    room_version: int
    status: DraftStatus
    thread_id: str | None


class DraftBody(TypedDict):
    channel_id: str
    content: str
    thread_id: NotRequired[str | None]


class DraftCheck(TypedDict):
    current_version: int
    draft_id: str
    draft_version: int
    recent_messages: list[Message]
    valid: bool
    version_delta: int


class DraftSent(TypedDict):
    draft_id: str
    message: Message
    message_id: str
    status: str


DraftStatus: TypeAlias = "Literal['held', 'sent', 'expired', 'cancelled']"


class DriveFile(TypedDict):
    content_type: str
    filename: str
    markdown: str
    size: int
    uid: str
    url: str


class Edit(TypedDict):
    edited_at: Millis
    id: str
    message_id: str
    previous_content: str


class EditBody(TypedDict):
    content: str


class Engine(TypedDict):
    asks: bool
    command: str
    found: bool
    hint: str | None
    id: EngineName
    install: NotRequired[str]
    login: str
    notes: list[str]
    problem: str | None
    version: str | None


EngineName: TypeAlias = "Literal['claude', 'codex', 'opencode', 'pi', 'script']"


class EngineTest(TypedDict):
    answer: NotRequired[str]
    error: NotRequired[str]
    ok: bool
    took_ms: int


class Error(TypedDict):
    code: str
    error: str
    message: str


class FailBody(TypedDict):
    why: str


class Figures(TypedDict):
    agents: int
    agents_online: int
    channels: int
    connections: int
    members: int
    messages: int
    uptime_s: int
    version: str


class File(TypedDict):
    channel_id: str | None
    content_type: str
    created_at: Millis
    filename: str
    id: str
    size: int
    uploaded_by: str
    workspace_id: str


class FileChange(TypedDict):
    added: int
    kind: FileChangeKind
    path: str
    removed: int


FileChangeKind: TypeAlias = "Literal['added', 'modified', 'deleted', 'renamed']"


class HeartbeatBody(TypedDict):
    agent: NotRequired[str | None]
    status: NotRequired[SaidPresence | None]


class HostBody(TypedDict):
    capabilities: NotRequired[list[str]]
    channel_ids: NotRequired[list[str] | None]
    deny: NotRequired[list[str]]
    engine: EngineName
    model: NotRequired[str | None]
    name: str
    policy: NotRequired[Policy]
    project: NotRequired[str | None]
    system_prompt: NotRequired[str | None]
    worktrees: NotRequired[bool]


class HostedAgent(TypedDict):
    agent_id: str
    deny: list[str]
    engine: str
    name: str
    policy: Policy
    problem: NotRequired[str]
    project: str | None
    state: HostedState
    worktrees: bool


HostedState: TypeAlias = "Literal['running', 'stopped', 'failed']"


InputMethod: TypeAlias = "Literal['text', 'voice']"


class Invitation(TypedDict):
    expires_at: Millis
    role: Role
    workspace: InvitedTo


class InviteBody(TypedDict):
    channel_ids: NotRequired[list[str]]
    role: NotRequired[Role | None]


class InviteObject(TypedDict):
    channel_ids: list[str]
    created_at: Millis
    created_by: str
    expires_at: Millis
    id: str
    role: Role


class InvitedTo(TypedDict):
    id: str
    name: str
    slug: str


class Item(TypedDict):
    agent_id: str
    content: str
    created_at: Millis
    description: str
    id: str
    name: str
    namespace: str
    tags: list[str]
    updated_at: Millis


class ItemBody(TypedDict):
    content: NotRequired[str | None]
    description: NotRequired[str | None]
    item_id: NotRequired[str | None]
    name: NotRequired[str]
    namespace: NotRequired[str | None]
    tags: NotRequired[list[str] | None]


class Join(TypedDict):
    run_id: str


class JoinBody(TypedDict):
    code: str
    email: NotRequired[str | None]
    name: str
    password: str


KeyKind: TypeAlias = "Literal['api_key', 'machine', 'provision', 'telegram']"


class KeyObject(TypedDict):
    created_at: Millis
    id: str
    kind: KeyKind
    name: str


class LinkBody(TypedDict):
    guild_id: str
    voice_channel_id: str


class ListenBody(TypedDict):
    channel_id: NotRequired[str | None]
    guild_id: NotRequired[str | None]
    voice_channel_id: NotRequired[str | None]


class ListenLink(TypedDict):
    expires_at: int
    guild_id: str
    key: str
    url: str
    voice_channel_id: str


class LoginBody(TypedDict):
    email: NotRequired[str | None]
    name: NotRequired[str | None]
    password: str


class Machine(TypedDict):
    agents: list[MachineAgent]
    created_at: Millis
    id: str
    last_seen_at: Millis | None
    name: str
    online: bool
    owner_id: str


class MachineAgent(TypedDict):
    id: str
    name: str


class MachineBody(TypedDict):
    name: str


class Member(TypedDict):
    avatar_file_id: NotRequired[str]
    created_at: Millis
    created_by: NotRequired[str]
    email: NotRequired[str]
    id: str
    is_daemon: NotRequired[bool]
    name: str
    nick: str | None
    online: bool
    role: Role
    role_card: NotRequired[RoleCard]
    runtime: NotRequired[Runtime]
    status: Presence
    type: MemberKind
    workspace_id: str


class MemberChange(TypedDict):
    email: NotRequired[str | None]
    name: NotRequired[str | None]
    nick: NotRequired[str | None]
    role: NotRequired[Role | None]
    role_card: NotRequired[RoleCard | None]


MemberKind: TypeAlias = "Literal['human', 'agent']"


MemberRight: TypeAlias = "Literal['change', 'change_role', 'replace_key', 'remove']"


class MemberUse(TypedDict):
    channels_per_hour: UseObject
    messages_per_second: UseObject
    requests_per_second: UseObject
    stored_bytes: UseObject
    uploads_per_minute: UseObject


class MemberView(TypedDict):
    avatar_file_id: NotRequired[str]
    created_at: Millis
    created_by: NotRequired[str]
    email: NotRequired[str]
    id: str
    is_daemon: NotRequired[bool]
    may: NotRequired[list[MemberRight]]
    name: str
    nick: str | None
    online: bool
    role: Role
    role_card: NotRequired[RoleCard]
    runtime: NotRequired[Runtime]
    status: Presence
    type: MemberKind
    workspace_id: str


class Memory(TypedDict):
    agent_id: str
    id: str
    key: str
    namespace: str
    updated_at: Millis
    value: str


class MemoryBody(TypedDict):
    key: str
    namespace: NotRequired[str]
    value: Any


class Message(TypedDict):
    channel_id: str
    content: str
    content_type: ContentType
    created_at: Millis
    deleted: NotRequired[bool]
    depth: NotRequired[int]
    edit_count: int
    edited_at: NotRequired[Millis]
    file_id: NotRequired[str]
    id: str
    metadata: dict[str, Any]
    reactions: NotRequired[list[MessageReaction]]
    reply_count: int
    root_id: NotRequired[str]
    sender_id: str
    sender_name: str
    seq: int
    thread_id: NotRequired[str]
    type: str
    updated_at: Millis


class MessageBody(TypedDict):
    content: NotRequired[str | None]
    content_type: NotRequired[ContentType | None]
    delivery_id: NotRequired[str | None]
    file_id: NotRequired[str | None]
    metadata: NotRequired[dict[str, Any] | None]
    thread_id: NotRequired[str | None]
    type: NotRequired[str | None]
    wake: NotRequired[bool | None]


class MessageReaction(TypedDict):
    emoji: str
    members: list[str]


Millis: TypeAlias = "int"


class NewAgent(TypedDict):
    agent_id: str
    api_key: NotRequired[str]
    id: str
    member_id: str
    name: str
    workspace_id: str


class NewAgentBody(TypedDict):
    capabilities: NotRequired[list[str]]
    name: str
    provision_token: NotRequired[str | None]
    runtime_model: NotRequired[str | None]
    runtime_provider: NotRequired[str | None]
    runtime_type: NotRequired[str | None]
    system_prompt: NotRequired[str]


class NewChannelBody(TypedDict):
    name: str
    topic: NotRequired[str]
    type: NotRequired[NewChannelKind | None]


NewChannelKind: TypeAlias = "Literal['channel', 'private']"


class NewHostedAgent(TypedDict):
    agent: Member
    agent_id: str
    deny: list[str]
    engine: str
    name: str
    policy: Policy
    problem: NotRequired[str]
    project: str | None
    state: HostedState
    worktrees: bool


class NewInvite(TypedDict):
    channel_ids: list[str]
    code: str
    created_at: Millis
    created_by: str
    expires_at: Millis
    id: str
    role: Role
    url: str


class NewKey(TypedDict):
    api_key: str
    member_id: str
    name: str


class NewMachine(TypedDict):
    created_at: Millis
    id: str
    key: str
    name: str
    owner_id: str


class NewMember(TypedDict):
    api_key: NotRequired[str]
    avatar_file_id: NotRequired[str]
    created_at: Millis
    created_by: NotRequired[str]
    email: NotRequired[str]
    id: str
    is_daemon: NotRequired[bool]
    member_id: str
    name: str
    nick: str | None
    online: bool
    role: Role
    role_card: NotRequired[RoleCard]
    runtime: NotRequired[Runtime]
    status: Presence
    type: MemberKind
    workspace_id: str


class NewMemberBody(TypedDict):
    email: NotRequired[str | None]
    name: str
    nick: NotRequired[str | None]
    password: NotRequired[str | None]
    role: NotRequired[Role | None]
    role_card: NotRequired[RoleCard | None]
    runtime: NotRequired[Runtime | None]
    type: MemberKind


class NewTaskBody(TypedDict):
    assigned_to: NotRequired[str | None]
    channel_id: NotRequired[str | None]
    description: NotRequired[str]
    message_id: NotRequired[str | None]
    priority: NotRequired[Priority | None]
    title: str


class NewWebhook(TypedDict):
    channel_id: str
    created_at: Millis
    created_by: str
    id: str
    name: str
    secret: str
    url: str
    workspace_id: str


class NewWorkspace(TypedDict):
    created_at: Millis
    id: str
    member_id: str
    name: str
    slug: str
    token: str


class NewWorkspaceBody(TypedDict):
    name: str


class Notification(TypedDict):
    ack_required: bool
    acked_at: Millis | None
    body: str
    channel_id: str | None
    created_at: Millis
    expires_at: Millis | None
    id: str
    is_read: bool
    member_id: str
    message_id: str | None
    payload: str | None
    priority: str
    source_type: NotificationSource
    title: str
    type: str


NotificationSource: TypeAlias = "Literal['mention', 'dm', 'thread', 'task', 'review', 'approval', 'route', 'system']"


NotifyPreference: TypeAlias = "Literal['all', 'mentions', 'none']"


class Part(TypedDict):
    kind: PartKind
    label: str
    text: str


PartKind: TypeAlias = "Literal['command', 'place', 'url', 'diff', 'argument']"


class PassBody(TypedDict):
    why: NotRequired[str | None]


class PasswordBody(TypedDict):
    current_password: NotRequired[str | None]
    keep: NotRequired[list[str]]
    new_password: str


class PasswordChanged(TypedDict):
    device: str
    ended: list[str]
    expires_at: Millis
    status: str
    token: str


class Pin(TypedDict):
    channel_id: str
    created_at: Millis
    id: str
    message_id: str
    pinned_by: str


class PinBody(TypedDict):
    message_id: str


class PinnedMessage(TypedDict):
    channel_id: str
    created_at: Millis
    id: str
    message: Message
    message_id: str
    pinned_by: str


class PlaceBody(TypedDict):
    guild_id: str
    kind: NotRequired[PoolKind]
    voice_channel_id: str


Policy: TypeAlias = "Literal['ask', 'ask-commands', 'accept-edits', 'dangerously-allow-all']"


class PoolAgent(TypedDict):
    agent_id: str
    busy: bool
    guild_ids: list[str]
    health: int
    kind: NotRequired[PoolKind]
    last_seen: Millis
    member_id: NotRequired[str]
    pool_id: str
    protocol_version: str
    ready: bool
    tag: str | None


class PoolAnswer(TypedDict):
    agent_id: NotRequired[str]
    data: NotRequired[Any]
    error: NotRequired[str]
    ok: bool


PoolKind: TypeAlias = "Literal['music', 'assistant']"


class PoolLink(TypedDict):
    channel_id: str
    created_at: int
    guild_id: str
    linked_by: str
    voice_channel_id: str


class PoolSession(TypedDict):
    agent_id: str
    fence: int
    guild_id: str
    kind: PoolKind
    owner_id: str | None
    taken_at: int
    voice_channel_id: str


class PostBody(TypedDict):
    content: NotRequired[str | None]
    text: NotRequired[str | None]


class Posted(TypedDict):
    channel_id: str
    created_at: Millis
    id: str
    message_id: str


class PreferenceBody(TypedDict):
    preference: NotifyPreference


Presence: TypeAlias = "Literal['online', 'idle', 'offline', 'dnd', 'sleeping']"


class Preview(TypedDict):
    wakes: list[Woken]


class PreviewBody(TypedDict):
    content: NotRequired[str]
    thread_id: NotRequired[str | None]


Priority: TypeAlias = "Literal['low', 'medium', 'high', 'urgent']"


class Provider(TypedDict):
    first_account: bool
    id: str
    name: str
    registration: str
    type: str


class ProvisionToken(TypedDict):
    expires_at: Millis
    token: str


class Reaction(TypedDict):
    count: int
    emoji: str
    member_id: str
    message_id: str


class ReactionBody(TypedDict):
    emoji: str


class ReadBody(TypedDict):
    message_id: NotRequired[str | None]
    seq: NotRequired[int | None]


class ReadState(TypedDict):
    channel_id: str
    read_seq: int
    status: str
    unread_count: int


class RegisterBody(TypedDict):
    email: str
    name: str
    password: str
    setup_code: NotRequired[str | None]
    workspace_name: NotRequired[str | None]


class RequestBody(TypedDict):
    data: NotRequired[dict[str, Any] | None]
    op: str


class Review(TypedDict):
    channel_id: str | None
    comment: str | None
    content: str
    created_at: Millis
    decided_at: Millis | None
    id: str
    requester_id: str
    reviewer_id: str
    status: ReviewStatus
    subject: str
    workspace_id: str


class ReviewBody(TypedDict):
    channel_id: NotRequired[str | None]
    content: NotRequired[str]
    reviewer_id: str
    subject: str


ReviewStatus: TypeAlias = "Literal['pending', 'approved', 'changes_requested', 'rejected', 'denied', 'commented']"


ReviewVerdict: TypeAlias = "Literal['approved', 'changes_requested', 'rejected', 'denied', 'commented']"


Role: TypeAlias = "Literal['member', 'admin', 'owner']"


class RoleCard(TypedDict):
    capabilities: NotRequired[list[str]]
    system_prompt: str


class Route(TypedDict):
    attempts: list[Attempt]
    candidates: NotRequired[list[str]]
    confidence: NotRequired[float]
    created_at: Millis
    deliveries: list[RouteDelivery]
    input_method: InputMethod
    message_id: str
    outcome: RouteResult
    state: RouteState
    text: str
    updated_at: Millis


class RouteDelivery(TypedDict):
    client: str
    direct: bool
    reason: NotRequired[str]
    status: AttemptStatus


class RouteOutcome(TypedDict):
    candidates: NotRequired[list[str]]
    deliveries: list[RouteDelivery]
    message_id: str
    outcome: RouteResult


RouteResult: TypeAlias = "Literal['routed', 'no_clients', 'failed']"


RouteState: TypeAlias = "Literal['choosing', 'waiting', 'taken', 'asked', 'no_clients', 'failed']"


class RouterClient(TypedDict):
    capabilities: list[str]
    description: str
    member_id: str
    name: str
    type: str
    version: NotRequired[str]


class Run(TypedDict):
    action_count: int
    agent_id: str
    agent_name: str
    answer: NotRequired[str]
    asker_id: str | None
    branch: str | None
    changes: list[FileChange]
    channel_id: str
    cost_usd: float | None
    delivery_id: str
    ended_at: Millis | None
    engine: str
    error: str | None
    has_diff: bool
    id: str
    machine: str | None
    message_id: str
    model: str | None
    project: str | None
    resume: str | None
    resume_line: str | None
    started_at: Millis
    state: RunState
    stop_requested: bool
    thread_id: str
    trigger_id: str
    usage: dict[str, Any] | None


class RunAction(TypedDict):
    at: Millis
    detail: dict[str, Any]
    first_seq: int
    id: str
    kind: str
    ok: bool | None
    phase: ActionPhase
    seq: int
    title: str


RunFilter: TypeAlias = "Literal['open', 'running', 'waiting', 'completed', 'failed', 'cancelled']"


RunState: TypeAlias = "Literal['running', 'waiting', 'completed', 'failed', 'cancelled']"


class RunWithActions(TypedDict):
    action_count: int
    actions: list[RunAction]
    agent_id: str
    agent_name: str
    answer: NotRequired[str]
    asker_id: str | None
    branch: str | None
    changes: list[FileChange]
    channel_id: str
    cost_usd: float | None
    delivery_id: str
    ended_at: Millis | None
    engine: str
    error: str | None
    has_diff: bool
    id: str
    machine: str | None
    message_id: str
    model: str | None
    project: str | None
    resume: str | None
    resume_line: str | None
    started_at: Millis
    state: RunState
    stop_requested: bool
    thread_id: str
    trigger_id: str
    usage: dict[str, Any] | None


class Runtime(TypedDict):
    model: NotRequired[str]
    provider: NotRequired[str]
    type: NotRequired[str]


SaidPresence: TypeAlias = "Literal['online', 'idle', 'dnd', 'sleeping']"


class SendDraftBody(TypedDict):
    force_version: NotRequired[Any]


class SentenceBody(TypedDict):
    input_method: NotRequired[InputMethod]
    text: str


class Session(TypedDict):
    device: str
    member_id: str
    name: str
    token: str
    workspace: WorkspaceRef | None
    workspace_id: str


class SessionObject(TypedDict):
    address: str
    created_at: Millis
    current: bool
    device: str
    id: str
    last_seen_at: Millis


class Setup(TypedDict):
    code_needed: bool
    needs_owner: bool
    version: str


class Shown(TypedDict):
    choices: list[str]
    heading: str
    parts: list[Part]
    says: str | None
    warning: str | None


class SpokenOutcome(TypedDict):
    candidates: NotRequired[list[str]]
    confidence: NotRequired[float]
    deliveries: list[RouteDelivery]
    message_id: str
    outcome: RouteResult
    text: str


class Status(TypedDict):
    agents: int
    agents_online: int
    channels: int
    connections: int
    member_id: str
    members: int
    messages: int
    name: str
    status: str
    uptime_s: int
    version: str
    workspace: Workspace


class Task(TypedDict):
    assigned_to: str | None
    channel_id: str | None
    created_at: Millis
    created_by: str
    description: str
    id: str
    message_id: str | None
    priority: Priority
    status: TaskStatus
    title: str
    updated_at: Millis
    workspace_id: str


class TaskChange(TypedDict):
    assigned_to: NotRequired[str | None]
    description: NotRequired[str | None]
    priority: NotRequired[Priority | None]
    status: NotRequired[TaskStatus | None]
    title: NotRequired[str | None]


TaskStatus: TypeAlias = "Literal['todo', 'in_progress', 'review', 'done']"


class TelegramCode(TypedDict):
    code: str
    command: str
    expires_at: Millis


class TelegramLinkObject(TypedDict):
    linked: bool
    linked_at: Millis | None
    name: str | None
    user_id: int | None


class Thread(TypedDict):
    last_reply: Message
    root: Message
    unread_count: int


class Unread(TypedDict):
    channels: list[UnreadChannel]
    count: int


class UnreadChannel(TypedDict):
    channel_id: str
    name: str
    type: ChannelKind
    unread_count: int


class UploadForm(TypedDict):
    channel_id: NotRequired[str]
    file: str


class UsageObject(TypedDict):
    me: MemberUse
    reactions_per_message: int
    workspace: WorkspaceUse


class UseObject(TypedDict):
    limit: int
    used: int


class Verdict(TypedDict):
    comment: NotRequired[str | None]
    status: ReviewVerdict


class WakeBody(TypedDict):
    channel_id: NotRequired[str | None]
    message: NotRequired[str | None]


WakeReason: TypeAlias = "Literal['mention', 'dm', 'thread_reply', 'task_assigned', 'manual']"


class Webhook(TypedDict):
    channel_id: str
    created_at: Millis
    created_by: str
    id: str
    name: str
    workspace_id: str


class WebhookBody(TypedDict):
    channel_id: str
    name: str


class Woken(TypedDict):
    agent_id: str
    name: str
    presence: Presence
    reachable: bool
    reason: WakeReason


class Workspace(TypedDict):
    created_at: Millis
    id: str
    name: str
    slug: str


class WorkspaceChange(TypedDict):
    name: NotRequired[str | None]
    slug: NotRequired[str | None]


class WorkspaceRef(TypedDict):
    id: str
    name: str
    slug: str


WorkspaceRight: TypeAlias = "Literal['administer', 'make_admins', 'cancel_wakes']"


class WorkspaceUse(TypedDict):
    channels: int
    members: int
    members_per_hour: UseObject
    messages_per_second: UseObject
    stored_bytes: UseObject


class WorkspaceView(TypedDict):
    created_at: Millis
    id: str
    may: NotRequired[list[WorkspaceRight]]
    name: str
    slug: str
