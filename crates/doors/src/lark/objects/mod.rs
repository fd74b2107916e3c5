//! The objects of Lark as JSON, shared by the socket and the REST surface: what a message, a task, a call looks like.
//!
//! Each is a view of a core thing. Nothing secret has a field here, so nothing secret can be shown.

mod approvals;
mod runs;
pub mod schemas;

pub use approvals::*;
pub use runs::*;

use folkmoot_core::delivery::Delivery;
use folkmoot_core::ids::*;
use folkmoot_core::model::*;
use folkmoot_core::state::Room;
use folkmoot_core::{Millis, State};
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

/// A message; times in milliseconds, `seq` its position among the stored events of the channel.
#[derive(Clone, Serialize, ToSchema)]
#[schema(as = Message)]
pub struct MessageObject<'a> {
    #[schema(value_type = String)]
    pub id: MessageId,
    #[schema(value_type = String)]
    pub channel_id: ChannelId,
    #[schema(value_type = String)]
    pub sender_id: MemberId,
    pub sender_name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false)]
    pub thread_id: Option<MessageId>,
    pub content: &'a str,
    #[schema(value_type = schemas::ContentType)]
    pub content_type: ContentType,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false)]
    pub file_id: Option<FileId>,
    #[serde(rename = "type")]
    pub kind: &'a str,
    #[schema(value_type = Object)]
    pub metadata: Metadata<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Millis, required = false)]
    pub edited_at: Option<Millis>,
    pub edit_count: u32,
    pub reply_count: u32,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    #[schema(value_type = Vec<schemas::MessageReaction>)]
    pub reactions: &'a [Reaction],
    pub created_at: Millis,
    pub updated_at: Millis,
    pub seq: u64,
    /// The message this one came from in the end, and how many agents' messages lie between; absent: itself, none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false)]
    pub root_id: Option<MessageId>,
    #[serde(skip_serializing_if = "is_zero")]
    pub depth: u32,
    /// Only of a message that was deleted and whose thread goes on.
    #[serde(skip_serializing_if = "is_false")]
    pub deleted: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the shape that serde asks for")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the shape that serde asks for")]
fn is_false(flag: &bool) -> bool {
    !*flag
}

/// Metadata is kept as its own text; without any it is the empty object.
#[derive(Clone)]
pub struct Metadata<'a>(pub Option<&'a RawValue>);

impl Serialize for Metadata<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Some(raw) => raw.serialize(serializer),
            None => serde::ser::SerializeMap::end(serializer.serialize_map(Some(0))?),
        }
    }
}

impl<'a> MessageObject<'a> {
    pub fn new(message: &'a Message, state: &'a State) -> Self {
        Self {
            id: message.id,
            channel_id: message.channel,
            sender_id: message.sender,
            sender_name: state.name_of(message.sender),
            thread_id: message.thread,
            content: &message.content,
            content_type: message.content_type,
            file_id: message.file,
            kind: &message.kind,
            metadata: Metadata(message.metadata.as_deref()),
            edited_at: message.edited_at,
            edit_count: message.edit_count,
            reply_count: message.reply_count,
            reactions: &message.reactions,
            created_at: message.created_at,
            updated_at: message.updated_at,
            seq: message.seq,
            root_id: message.root,
            depth: message.depth,
            deleted: message.deleted,
        }
    }
}

#[derive(Clone, Serialize, ToSchema)]
#[schema(as = Notification)]
pub struct NotificationObject<'a> {
    #[schema(value_type = String)]
    pub id: NotificationId,
    #[schema(value_type = String)]
    pub member_id: MemberId,
    #[serde(rename = "type")]
    pub kind: &'a str,
    pub title: &'a str,
    pub body: &'a str,
    #[schema(value_type = Option<String>, required = true)]
    pub channel_id: Option<ChannelId>,
    #[schema(value_type = Option<String>, required = true)]
    pub message_id: Option<MessageId>,
    pub is_read: bool,
    pub created_at: Millis,
    #[schema(value_type = schemas::NotificationSource)]
    pub source_type: &'a str,
    pub priority: &'a str,
    pub ack_required: bool,
    #[schema(required = true)]
    pub acked_at: Option<Millis>,
    #[schema(required = true)]
    pub expires_at: Option<Millis>,
    #[schema(required = true)]
    pub payload: Option<&'a str>,
}

impl<'a> From<&'a Notification> for NotificationObject<'a> {
    fn from(notification: &'a Notification) -> Self {
        Self {
            id: notification.id,
            member_id: notification.member,
            kind: &notification.kind,
            title: &notification.title,
            body: &notification.body,
            channel_id: notification.channel,
            message_id: notification.message,
            is_read: notification.is_read,
            created_at: notification.created_at,
            source_type: &notification.source_type,
            priority: &notification.priority,
            ack_required: notification.ack_required,
            acked_at: notification.acked_at,
            expires_at: notification.expires_at,
            payload: notification.payload.as_deref(),
        }
    }
}

/// A wake of an agent and what came of it.
#[derive(Clone, Serialize, ToSchema)]
#[schema(as = Delivery)]
pub struct DeliveryObject<'a> {
    #[schema(value_type = String)]
    pub id: DeliveryId,
    #[schema(value_type = Option<String>, required = true)]
    pub channel_id: Option<ChannelId>,
    #[schema(value_type = Option<String>, required = true)]
    pub thread_id: Option<MessageId>,
    #[schema(value_type = String)]
    pub agent_id: MemberId,
    pub agent_name: &'a str,
    #[schema(value_type = String)]
    pub sender_id: MemberId,
    /// `mention`, `dm`, `thread_reply`, `task_assigned` or `manual`.
    #[schema(value_type = schemas::WakeReason)]
    pub reason: &'static str,
    /// `queued`, `leased`, `admitted`, then `answered`, `passed`, `failed`, `expired`, `cancelled` or `suppressed`.
    #[schema(value_type = schemas::DeliveryState)]
    pub state: &'static str,
    #[schema(required = true)]
    pub why: Option<&'a str>,
    #[schema(value_type = Vec<String>)]
    pub message_ids: &'a [MessageId],
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false)]
    pub task_id: Option<TaskId>,
    #[schema(value_type = String)]
    pub root_id: MessageId,
    pub depth: u32,
    #[schema(value_type = Option<String>, required = true)]
    pub run_id: Option<RunId>,
    #[schema(value_type = Option<String>, required = true)]
    pub reply_id: Option<MessageId>,
    pub created_at: Millis,
    pub updated_at: Millis,
    pub expires_at: Millis,
}

impl<'a> DeliveryObject<'a> {
    pub fn new(delivery: &'a Delivery, state: &'a State) -> Self {
        Self {
            id: delivery.id,
            channel_id: delivery.channel,
            thread_id: delivery.thread,
            agent_id: delivery.agent,
            agent_name: state.name_of(delivery.agent),
            sender_id: delivery.sender,
            reason: delivery.reason.as_str(),
            state: delivery.state.as_str(),
            why: delivery.why.as_deref(),
            message_ids: &delivery.messages,
            task_id: delivery.task,
            root_id: delivery.root,
            depth: delivery.depth,
            run_id: delivery.run,
            reply_id: delivery.reply,
            created_at: delivery.created_at,
            updated_at: delivery.updated_at,
            expires_at: delivery.expires_at,
        }
    }
}

/// A person or an agent. The email is shown to the member itself only.
#[derive(Clone, Serialize, ToSchema)]
#[schema(as = Member)]
pub struct MemberObject<'a> {
    #[schema(value_type = String)]
    pub id: MemberId,
    #[schema(value_type = String)]
    pub workspace_id: WorkspaceId,
    #[serde(rename = "type")]
    #[schema(value_type = schemas::MemberKind)]
    pub kind: MemberKind,
    #[schema(value_type = schemas::Role)]
    pub role: Role,
    pub name: &'a str,
    #[schema(required = true)]
    pub nick: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false)]
    pub email: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false)]
    pub avatar_file_id: Option<FileId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = schemas::RoleCard, required = false)]
    pub role_card: Option<&'a RoleCard>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = schemas::Runtime, required = false)]
    pub runtime: Option<&'a Runtime>,
    #[schema(value_type = schemas::Presence)]
    pub status: Presence,
    pub online: bool,
    /// The hub's own daemon, which carries agents and is none; left out for everybody else.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub is_daemon: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false)]
    pub created_by: Option<MemberId>,
    pub created_at: Millis,
}

impl<'a> MemberObject<'a> {
    /// As others see it.
    pub fn new(member: &'a Member, state: &State) -> Self {
        let status = state.presence_of(member.id);
        Self {
            id: member.id,
            workspace_id: member.workspace,
            kind: member.kind,
            role: member.role,
            name: &member.name,
            nick: member.nick.as_deref(),
            email: None,
            avatar_file_id: member.avatar,
            role_card: member.role_card.as_ref(),
            runtime: member.runtime.as_ref(),
            status,
            online: status != Presence::Offline,
            is_daemon: member.is_daemon(),
            created_by: member.created_by,
            created_at: member.created_at,
        }
    }

    /// As the member sees itself.
    pub fn own(member: &'a Member, state: &State) -> Self {
        Self { email: member.email.as_deref(), ..Self::new(member, state) }
    }
}

#[derive(Clone, Serialize, ToSchema)]
#[schema(as = Workspace)]
pub struct WorkspaceObject<'a> {
    #[schema(value_type = String)]
    pub id: WorkspaceId,
    pub name: &'a str,
    pub slug: &'a str,
    pub created_at: Millis,
}

impl<'a> From<&'a Workspace> for WorkspaceObject<'a> {
    fn from(workspace: &'a Workspace) -> Self {
        Self { id: workspace.id, name: &workspace.name, slug: &workspace.slug, created_at: workspace.created_at }
    }
}

#[derive(Clone, Serialize, ToSchema)]
#[schema(as = Channel)]
pub struct ChannelObject<'a> {
    #[schema(value_type = String)]
    pub id: ChannelId,
    #[schema(value_type = String)]
    pub workspace_id: WorkspaceId,
    #[serde(rename = "type")]
    #[schema(value_type = schemas::ChannelKind)]
    pub kind: ChannelKind,
    pub name: &'a str,
    pub topic: &'a str,
    pub archived: bool,
    #[schema(value_type = String)]
    pub created_by: MemberId,
    pub created_at: Millis,
    /// Position of the newest stored event and number of messages so far.
    pub seq: u64,
    pub room_version: u64,
    #[schema(value_type = Vec<String>)]
    pub member_ids: Vec<MemberId>,
    pub member_count: usize,
    /// For the one who asks: whether they are in it, and what they have not read.
    pub is_member: bool,
    pub unread_count: u64,
    pub read_seq: u64,
    #[schema(value_type = schemas::NotifyPreference)]
    pub notification_preference: NotifyPreference,
}

impl<'a> ChannelObject<'a> {
    pub fn new(room: &'a Room, reader: MemberId) -> Self {
        let channel = &room.channel;
        let membership = room.members.get(&reader);
        let unread = |membership: &Membership| room.head.version.saturating_sub(membership.read.version);
        Self {
            id: channel.id,
            workspace_id: channel.workspace,
            kind: channel.kind,
            name: &channel.name,
            topic: &channel.topic,
            archived: channel.archived,
            created_by: channel.created_by,
            created_at: channel.created_at,
            seq: room.head.seq,
            room_version: room.head.version,
            member_ids: room.members.keys().copied().collect(),
            member_count: room.members.len(),
            is_member: membership.is_some(),
            unread_count: membership.map_or(0, unread),
            read_seq: membership.map_or(0, |membership| membership.read.seq),
            notification_preference: membership.map(|membership| membership.notify).unwrap_or_default(),
        }
    }
}

macro_rules! objects {
    ($($(#[$doc:meta])* $object:ident as $schema:ident from $core:ty {
        $($(#[$attribute:meta])* $field:ident: $type:ty = $of:ident $(.$more:ident)*),* $(,)?
    })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Serialize, ToSchema)]
        #[schema(as = $schema)]
        pub struct $object { $($(#[$attribute])* pub $field: $type),* }

        impl From<&$core> for $object {
            fn from(it: &$core) -> Self {
                Self { $($field: it.$of.clone()),* }
            }
        }
    )*};
}

objects! {
    PinObject as Pin from Pin {
        #[schema(value_type = String)] id: PinId = id,
        #[schema(value_type = String)] channel_id: ChannelId = channel,
        #[schema(value_type = String)] message_id: MessageId = message,
        #[schema(value_type = String)] pinned_by: MemberId = pinned_by,
        created_at: Millis = created_at,
    }
    EditObject as Edit from Edit {
        #[schema(value_type = String)] id: EditId = id,
        #[schema(value_type = String)] message_id: MessageId = message,
        previous_content: String = previous,
        edited_at: Millis = edited_at,
    }
    /// A held reply.
    DraftObject as Draft from Draft {
        #[schema(value_type = String)] id: DraftId = id,
        #[schema(value_type = String)] agent_id: MemberId = agent,
        #[schema(value_type = String)] channel_id: ChannelId = channel,
        #[schema(value_type = Option<String>, required = true)] thread_id: Option<MessageId> = thread,
        content: String = content,
        room_version: u64 = room_version,
        #[schema(value_type = schemas::DraftStatus)] status: DraftStatus = status,
        created_at: Millis = created_at,
        expires_at: Millis = expires_at,
    }
    ReviewObject as Review from Review {
        #[schema(value_type = String)] id: ReviewId = id,
        #[schema(value_type = String)] workspace_id: WorkspaceId = workspace,
        #[schema(value_type = Option<String>, required = true)] channel_id: Option<ChannelId> = channel,
        #[schema(value_type = String)] requester_id: MemberId = requester,
        #[schema(value_type = String)] reviewer_id: MemberId = reviewer,
        subject: String = subject,
        content: String = content,
        #[schema(value_type = schemas::ReviewStatus)] status: String = status,
        #[schema(required = true)] comment: Option<String> = comment,
        created_at: Millis = created_at,
        #[schema(required = true)] decided_at: Option<Millis> = decided_at,
    }
    TaskObject as Task from Task {
        #[schema(value_type = String)] id: TaskId = id,
        #[schema(value_type = String)] workspace_id: WorkspaceId = workspace,
        #[schema(value_type = Option<String>, required = true)] channel_id: Option<ChannelId> = channel,
        #[schema(value_type = Option<String>, required = true)] message_id: Option<MessageId> = message,
        title: String = title,
        description: String = description,
        #[schema(value_type = schemas::TaskStatus)] status: TaskStatus = status,
        #[schema(value_type = schemas::Priority)] priority: Priority = priority,
        #[schema(value_type = Option<String>, required = true)] assigned_to: Option<MemberId> = assigned_to,
        #[schema(value_type = String)] created_by: MemberId = created_by,
        created_at: Millis = created_at,
        updated_at: Millis = updated_at,
    }
    CallObject as Call from Call {
        #[schema(value_type = String)] id: CallId = id,
        #[schema(value_type = String)] workspace_id: WorkspaceId = workspace,
        #[schema(value_type = String)] caller_id: MemberId = caller,
        #[schema(value_type = String)] callee_id: MemberId = callee,
        #[serde(rename = "type")] kind: String = kind,
        #[schema(value_type = schemas::CallStatus)] status: CallStatus = status,
        created_at: Millis = created_at,
        #[schema(required = true)] answered_at: Option<Millis> = answered_at,
        #[schema(required = true)] ended_at: Option<Millis> = ended_at,
    }
    WebhookObject as Webhook from Webhook {
        #[schema(value_type = String)] id: WebhookId = id,
        #[schema(value_type = String)] workspace_id: WorkspaceId = workspace,
        #[schema(value_type = String)] channel_id: ChannelId = channel,
        name: String = name,
        #[schema(value_type = String)] created_by: MemberId = created_by,
        created_at: Millis = created_at,
    }
    FileObject as File from File {
        #[schema(value_type = String)] id: FileId = id,
        #[schema(value_type = String)] workspace_id: WorkspaceId = workspace,
        #[schema(value_type = Option<String>, required = true)] channel_id: Option<ChannelId> = channel,
        #[schema(value_type = String)] uploaded_by: MemberId = uploaded_by,
        filename: String = filename,
        content_type: String = content_type,
        size: u64 = size,
        created_at: Millis = created_at,
    }
    /// A named note in an agent's own workspace.
    ItemObject as Item from Item {
        #[schema(value_type = String)] id: ItemId = id,
        #[schema(value_type = String)] agent_id: MemberId = agent,
        name: String = name,
        namespace: String = namespace,
        content: String = content,
        description: String = description,
        tags: Vec<String> = tags,
        created_at: Millis = created_at,
        updated_at: Millis = updated_at,
    }
    MemoryObject as Memory from Memory {
        #[schema(value_type = String)] id: MemoryId = id,
        #[schema(value_type = String)] agent_id: MemberId = agent,
        namespace: String = namespace,
        key: String = key,
        value: String = value,
        updated_at: Millis = updated_at,
    }
    DaemonAgentObject as DaemonAgent from DaemonAgent {
        name: String = name,
        #[schema(value_type = String)] agent_id: MemberId = agent,
    }
}
