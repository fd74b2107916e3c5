//! People, channels and messages to store, made without the rules of the core: a store takes what it is given.

use std::collections::HashMap;
use std::sync::Arc;

use folkmoot_core::delivery::{Delivery, DeliveryState, WakeReason};
use folkmoot_core::ids::*;
use folkmoot_core::model::*;
use folkmoot_core::record::{Change, ChangeKind};
use folkmoot_core::route::*;
use folkmoot_core::run::*;
use folkmoot_core::{Event, Millis};
use serde_json::value::RawValue;

use crate::{Store, StoreError};

pub const ALICE: MemberId = MemberId(0xA11CE);
pub const BOB: MemberId = MemberId(0xB0B);
pub const WORKSPACE: WorkspaceId = WorkspaceId(0x3095);
pub const GENERAL: ChannelId = ChannelId(0x9E4E);
pub const RANDOM: ChannelId = ChannelId(0x4A4D);

/// Stores events in one transaction.
pub fn store_all(store: &mut dyn Store, events: &[Event]) {
    try_to_store(store, events).expect("the events are stored");
}

pub fn try_to_store(store: &mut dyn Store, events: &[Event]) -> Result<(), StoreError> {
    let mut transaction = store.begin()?;
    for event in events {
        transaction.append(event)?;
    }
    transaction.commit()
}

pub fn catch_up(store: &mut dyn Store) {
    while store.catch_up(100).expect("catching up works") {}
}

pub fn sent(message: &Message) -> Event {
    Event::MessageSent(Arc::new(message.clone()))
}

/// Gives out ids, times and positions as a hub would.
pub struct Hub {
    ids: IdSource,
    pub now: Millis,
    heads: HashMap<ChannelId, Head>,
}

impl Hub {
    pub fn new() -> Self {
        Self { ids: IdSource::new(1), now: 1_700_000_000_000, heads: HashMap::new() }
    }

    pub fn id(&mut self) -> u128 {
        self.now += 1;
        self.ids.next(self.now)
    }

    pub fn head(&self, channel: ChannelId) -> Head {
        self.heads.get(&channel).copied().unwrap_or_default()
    }

    /// Takes positions back that were given out for what was not stored.
    pub fn set_head(&mut self, channel: ChannelId, head: Head) {
        self.heads.insert(channel, head);
    }

    pub fn delivery(&mut self) -> Delivery {
        let id = self.id();
        Delivery {
            id: DeliveryId(id),
            workspace: WORKSPACE,
            channel: Some(GENERAL),
            thread: None,
            agent: BOB,
            sender: ALICE,
            reason: WakeReason::Mention,
            state: DeliveryState::Leased,
            why: None,
            messages: vec![MessageId(id)],
            task: None,
            root: MessageId(id),
            depth: 0,
            run: None,
            reply: None,
            created_at: self.now,
            updated_at: self.now,
            elsewhere: None,
            refused: None,
            due_at: self.now + 300,
            expires_at: self.now + 1_000_000,
        }
    }

    pub fn message(&mut self, channel: ChannelId, content: &str) -> Message {
        let id = MessageId(self.id());
        let head = self.heads.entry(channel).or_default();
        *head = Head { seq: head.seq + 1, version: head.version + 1 };
        Message {
            id,
            seq: head.seq,
            version: head.version,
            kind: "user".into(),
            door: Door::Lark,
            created_at: self.now,
            updated_at: self.now,
            ..Message::unsent(channel, ALICE, content.into())
        }
    }

    pub fn reply(&mut self, root: &Message, content: &str) -> Message {
        Message { thread: Some(root.id), ..self.message(root.channel, content) }
    }

    pub fn edit(&mut self, message: &mut Message, content: &str) -> Event {
        let change = self.change(message, ChangeKind::Edited);
        let previous = std::mem::replace(&mut message.content, content.into());
        message.edited_at = Some(change.at);
        message.updated_at = change.at;
        message.edit_count += 1;
        let edit = Edit {
            id: EditId(self.id()),
            message: message.id,
            channel: message.channel,
            previous,
            edited_at: change.at,
        };
        Event::MessageEdited { message: Arc::new(message.clone()), change, edit: Some(edit) }
    }

    pub fn delete(&mut self, message: &mut Message) -> Event {
        let change = self.change(message, ChangeKind::Deleted);
        message.deleted = true;
        message.content = String::new();
        message.metadata = None;
        message.reactions = Vec::new();
        message.updated_at = change.at;
        Event::MessageDeleted { message: Arc::new(message.clone()), change }
    }

    pub fn react(&mut self, message: &mut Message, emoji: &str) -> Event {
        let change = self.change(message, ChangeKind::Reacted { emoji: emoji.into() });
        message.reactions.push(Reaction { emoji: emoji.into(), members: vec![BOB] });
        Event::Reacted { message: Arc::new(message.clone()), change }
    }

    pub fn pin(&mut self, message: &Message) -> (Pin, Event) {
        let pin = self.a_pin(message.channel, message.id);
        let change = self.change(message, ChangeKind::Pinned { pin: pin.id });
        (pin.clone(), Event::Pinned { pin, change })
    }

    pub fn unpin(&mut self, message: &Message, pin: Pin) -> Event {
        let change = self.change(message, ChangeKind::Unpinned { pin: pin.id });
        Event::Unpinned { pin, change }
    }

    fn change(&mut self, message: &Message, what: ChangeKind) -> Change {
        self.now += 1;
        let head = self.heads.entry(message.channel).or_default();
        head.seq += 1;
        Change::new(message.channel, head.seq, message.id, ALICE, self.now, what)
    }

    pub fn a_pin(&mut self, channel: ChannelId, message: MessageId) -> Pin {
        Pin { id: PinId(self.id()), channel, message, pinned_by: BOB, created_at: self.now }
    }

    pub fn task(&mut self, channel: Option<ChannelId>, to: Option<MemberId>, status: TaskStatus) -> Task {
        Task {
            id: TaskId(self.id()),
            workspace: WORKSPACE,
            channel,
            message: None,
            title: "Sweep the hall".into(),
            description: String::new(),
            status,
            priority: Priority::Medium,
            assigned_to: to,
            created_by: ALICE,
            created_at: self.now,
            updated_at: self.now,
        }
    }

    pub fn notification(&mut self, member: MemberId, source: &str, is_read: bool, is_acked: bool) -> Notification {
        Notification {
            id: NotificationId(self.id()),
            member,
            kind: "mention".into(),
            title: "You were mentioned".into(),
            body: "“Hello” – 你好".into(),
            channel: Some(GENERAL),
            message: None,
            source_type: source.into(),
            priority: "normal".into(),
            payload: None,
            is_read,
            ack_required: true,
            acked_at: is_acked.then_some(self.now),
            expires_at: None,
            created_at: self.now,
        }
    }

    pub fn memory(&mut self, agent: MemberId, namespace: &str, key: &str) -> Memory {
        Memory {
            id: MemoryId(self.id()),
            agent,
            namespace: namespace.into(),
            key: key.into(),
            value: "42".into(),
            updated_at: self.now,
        }
    }

    pub fn workspace(&mut self, slug: &str) -> Workspace {
        Workspace { id: WorkspaceId(self.id()), name: slug.to_uppercase(), slug: slug.into(), created_at: self.now }
    }

    pub fn member(&mut self, workspace: WorkspaceId, name: &str) -> Member {
        Member {
            id: MemberId(self.id()),
            workspace,
            kind: MemberKind::Agent,
            role: Role::Member,
            name: name.into(),
            nick: None,
            email: Some(format!("{name}@example.org")),
            avatar: None,
            created_by: Some(ALICE),
            created_at: self.now,
            role_card: Some(RoleCard { system_prompt: "Help.".into(), capabilities: vec!["review".into()] }),
            runtime: Some(Runtime { kind: Some("llm".into()), provider: None, model: None }),
            secrets: Secrets { password_hash: None, key_hash: Some(KeyHash([7; 32])), ..Secrets::default() },
            guest: None,
            visit: None,
            removed: false,
        }
    }

    pub fn channel(&mut self, workspace: WorkspaceId, kind: ChannelKind) -> Channel {
        let id = ChannelId(self.id());
        Channel {
            id,
            workspace,
            kind,
            name: id.to_string(),
            topic: String::new(),
            created_by: ALICE,
            created_at: self.now,
            archived: false,
        }
    }

    pub fn membership(&mut self, channel: ChannelId, member: MemberId) -> Membership {
        Membership {
            id: MembershipId(self.id()),
            channel,
            member,
            joined_at: self.now,
            read: ReadPosition::default(),
            notify: NotifyPreference::All,
        }
    }

    pub fn webhook(&mut self, channel: ChannelId) -> Webhook {
        Webhook {
            id: WebhookId(self.id()),
            workspace: WORKSPACE,
            channel,
            name: "build".into(),
            secret_hash: KeyHash([9; 32]),
            created_by: ALICE,
            created_at: self.now,
        }
    }

    pub fn token(&mut self, jti: &str) -> Token {
        Token {
            id: TokenId(self.id()),
            workspace: WORKSPACE,
            made_by: ALICE,
            purpose: TokenPurpose::Revoked(jti.into()),
            expires_at: self.now + 1000,
        }
    }

    pub fn route(&mut self) -> Route {
        let answer = RouteAnswer { at: self.now, said: Said::Reject { reason: "not \u{1f} mine".into() } };
        let attempt = Attempt {
            client: BOB,
            name: "notebook".into(),
            reason: Some("it takes notes".into()),
            status: AttemptStatus::Rejected,
            refusal: Some("not mine".into()),
            at: self.now,
            due: self.now + 30_000,
            answers: vec![answer],
        };
        Route {
            id: RouteId(self.id()),
            workspace: WORKSPACE,
            speaker: ALICE,
            text: "buy milk".into(),
            input: InputMethod::Voice,
            confidence: Some(0.95),
            direct: false,
            source: None,
            state: RouteState::Waiting,
            attempts: vec![attempt],
            created_at: self.now,
            updated_at: self.now,
        }
    }

    pub fn run(&mut self) -> Run {
        let (id, message) = (self.id(), MessageId(self.id()));
        Run {
            id: RunId(id),
            workspace: WORKSPACE,
            channel: GENERAL,
            thread: message,
            message,
            trigger: message,
            delivery: DeliveryId(id),
            agent: BOB,
            asker: Some(ALICE),
            engine: "script".into(),
            model: None,
            project: Some("shop".into()),
            branch: None,
            machine: None,
            state: RunState::Waiting,
            error: None,
            resume: Some("abc".into()),
            resume_line: None,
            started_at: self.now,
            ended_at: None,
            usage: RawValue::from_string(r#"{"input_tokens":12}"#.into()).ok().map(Json),
            cost_usd: Some(0.25),
            action_count: 3,
            changes: vec![FileChange {
                path: "src/main.rs".into(),
                kind: FileChangeKind::Renamed,
                added: 1,
                removed: 2,
            }],
            diff: Some(FileId(id)),
            stop_requested: true,
            answer: None,
            news: RunNews::Updated,
        }
    }

    pub fn action(&mut self) -> RunAction {
        let run = RunId(self.id());
        RunAction {
            id: RunActionId::of(run, "1"),
            run,
            channel: GENERAL,
            thread: MessageId(self.id()),
            seq: 2,
            first_seq: 1,
            count: 1,
            action: "1".into(),
            kind: "command".into(),
            title: "ls \u{1f}".into(),
            phase: ActionPhase::Completed,
            ok: Some(false),
            detail: RawValue::from_string(r#"{"exit": 1}"#.into()).ok().map(Json),
            at: self.now,
        }
    }

    pub fn session(&mut self) -> ThreadSession {
        ThreadSession {
            id: SessionId(self.id()),
            agent: BOB,
            channel: GENERAL,
            thread: MessageId(self.id()),
            engine: Some("script".into()),
            model: None,
            resume: Some("abc".into()),
            reset_at: None,
            updated_at: self.now,
        }
    }
}
