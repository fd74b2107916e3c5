//! Random commands: every kind of them, over what a world holds and over what it does not.
//!
//! A command is drawn from a few small numbers, each of which stands for one choice. Whoever shrinks the numbers shrinks the
//! command: zero is always the plainest choice.

use serde_json::value::RawValue;

use super::domain::Millis;
use super::domain::command::*;
use super::domain::hosting::Policy;
use super::domain::ids::*;
use super::domain::model::*;
use super::domain::pools::{Place, SessionKind};
use super::domain::route::*;
use super::pool::Pool;
use super::runs::{RUN_KINDS, run_number};
use super::world::{key, new_file, new_member};

/// How many numbers a command may take.
pub const ROLLS: usize = 12;
/// How many kinds of commands there are; see [`number`].
pub const KINDS: u16 = RUNS + RUN_KINDS;
/// Those about runs are the last ones.
const RUNS: u16 = 101;

/// A few numbers and what they are worth.
pub struct Dice {
    rolls: [u16; ROLLS],
    next: usize,
}

impl Dice {
    pub fn new(rolls: [u16; ROLLS]) -> Self {
        Self { rolls, next: 0 }
    }

    /// A number below `sides`.
    pub fn roll(&mut self, sides: u16) -> u16 {
        let value = self.rolls.get(self.next).copied().unwrap_or(0);
        self.next += 1;
        value % sides.max(1)
    }

    fn coin(&mut self) -> bool {
        self.roll(2) == 1
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[usize::from(self.roll(u16::try_from(from.len()).unwrap_or(u16::MAX)))]
    }

    /// Mostly nothing, otherwise one of these.
    fn maybe<T: Copy>(&mut self, from: &[T]) -> Option<T> {
        match self.roll(u16::try_from(from.len() * 5).unwrap_or(u16::MAX)) {
            number if usize::from(number) < from.len() * 4 => None,
            number => Some(from[usize::from(number) % from.len()]),
        }
    }
}

impl Pool {
    pub fn command(&self, dice: &mut Dice) -> Command {
        // Talk is what a hub mostly hears.
        match dice.roll(KINDS + 20) {
            kind @ 0..11 => self.account(kind, dice),
            kind @ 11..21 => self.agent(kind, dice),
            kind @ 21..30 => self.channel(kind, dice),
            kind @ 30..36 => self.message(kind, dice),
            kind @ 36..50 => self.agent_experience(kind, dice),
            kind @ 50..56 => self.question(kind, dice),
            kind @ 56..60 => self.call(kind, dice),
            kind @ 60..65 => self.keeping(kind, dice),
            65 => Command::CreateWorkspace { name: self.name(dice) },
            kind @ 66..68 => self.guest(kind, dice),
            kind @ 68..74 => self.pools(kind, dice),
            74 => Command::Invite { channel: dice.pick(&self.channels), who: self.name(dice) },
            75 => Command::EndStream { sender: dice.pick(&self.members), channel: dice.pick(&self.channels) },
            kind @ 76..81 => self.route(kind, dice),
            81 => Command::UseApproval { approval: dice.pick(&self.approvals) },
            82 => Command::LetTimePass,
            kind @ 83..87 => self.delivery(kind, dice),
            kind @ 87..90 => self.invite(kind, dice),
            kind if (RUNS..KINDS).contains(&kind) => self.run(kind - RUNS, dice),
            90 => self.host(dice),
            91 => Command::DismissHosted { agent: dice.pick(&self.members) },
            92 => Command::OfferTelegramLink { code_hash: key(dice.roll(5) as u8) },
            93 => {
                let (code_hash, user) = (key(dice.roll(5) as u8), i64::from(dice.roll(3)));
                Command::LinkTelegram { code_hash, user, name: self.name(dice) }
            }
            94 => Command::UnlinkTelegram,
            kind @ 95..98 => self.machine(kind, dice),
            98 => {
                let session = Millis::from(dice.roll(6));
                Command::SignIn(SignIn {
                    session: format!("session-{session}"),
                    generation: u64::from(dice.roll(2)),
                    address: "127.0.0.1".to_owned(),
                    device: self.text(dice),
                    expires_at: START_OF_SESSIONS + session * HOUR,
                })
            }
            99 => Command::SeeSession { session: format!("session-{}", dice.roll(6)), address: "127.0.0.1".to_owned() },
            100 => Command::EndCredential { id: TokenId(self.fresh).to_string() },
            _ => self.send(dice),
        }
    }

    fn machine(&self, kind: u16, dice: &mut Dice) -> Command {
        match kind {
            95 => {
                let mut key_hash = key(1);
                key_hash.0[..16].copy_from_slice(&self.fresh.to_be_bytes());
                Command::AddMachine { workspace: dice.pick(&self.workspaces), name: self.name(dice), key_hash }
            }
            96 => Command::RemoveMachine { machine: dice.pick(&self.machines) },
            _ => {
                let (machine, member) = (MemberId(dice.pick(&self.machines).0), dice.pick(&self.members));
                Command::ConnectCarried { carrier: dice.pick(&[machine, member]) }
            }
        }
    }

    fn invite(&self, kind: u16, dice: &mut Dice) -> Command {
        let code_hash = key(dice.roll(5) as u8);
        match kind {
            87 => Command::CreateInvite(CreateInvite {
                workspace: dice.pick(&self.workspaces),
                role: dice.maybe(&[Role::Member, Role::Admin, Role::Owner]),
                channels: dice.maybe(&self.channels).into_iter().collect(),
                code_hash,
            }),
            88 => Command::RevokeInvite { invite: dice.pick(&self.invites) },
            _ => Command::Join(Join {
                code_hash,
                name: self.name(dice),
                email: dice.coin().then(|| self.email(dice)),
                password_hash: self.text(dice),
            }),
        }
    }

    fn account(&self, kind: u16, dice: &mut Dice) -> Command {
        let workspace = dice.pick(&self.workspaces);
        let member = dice.pick(&self.members);
        // Keys have 256 random bits: no two are alike.
        let mut key_hash = key(0);
        key_hash.0[..16].copy_from_slice(&self.fresh.to_be_bytes());
        let provision = key(dice.roll(5) as u8);
        match kind {
            0 => Command::Register(Register {
                policy: dice.pick(&[Registration::First, Registration::Open, Registration::Closed]),
                standing: dice.pick(&[Standing::Proven, Standing::Unproven]),
                email: self.email(dice),
                name: self.name(dice),
                workspace_name: dice.coin().then(|| self.name(dice)),
                password_hash: self.text(dice),
            }),
            1 => Command::UpdateWorkspace {
                workspace,
                name: dice.coin().then(|| self.name(dice)),
                slug: dice.coin().then(|| self.name(dice)),
            },
            2 => Command::DeleteWorkspace { workspace },
            3 => Command::AddMember(AddMember {
                role: dice.maybe(&[Role::Member, Role::Admin, Role::Owner]),
                email: dice.coin().then(|| self.email(dice)),
                key_hash: dice.coin().then_some(key_hash),
                ..new_member(workspace, dice.pick(&[MemberKind::Human, MemberKind::Agent]), &self.name(dice))
            }),
            4 => Command::UpdateMember(UpdateMember {
                member,
                role: dice.maybe(&[Role::Member, Role::Admin, Role::Owner]),
                name: dice.coin().then(|| self.name(dice)),
                email: dice.coin().then(|| self.email(dice)),
                avatar: dice.maybe(&self.files),
                nick: dice.coin().then(|| self.text(dice)),
                role_card: dice.coin().then(|| self.role_card(dice)),
            }),
            5 => Command::RemoveMember { member },
            6 => Command::ReplaceKey { member, key_hash },
            7 => Command::ChangePassword { password_hash: self.text(dice), keep: Vec::new() },
            8 => {
                // A session is named once and ends when it ends, so the time belongs to the name.
                let session = Millis::from(dice.roll(6));
                Command::SignOut { jti: format!("session-{session}"), expires_at: START_OF_SESSIONS + session * HOUR }
            }
            9 => Command::IssueProvisionToken { workspace, hash: provision },
            _ => Command::RegisterAgent(RegisterAgent {
                workspace,
                provision_hash: provision,
                name: self.name(dice),
                key_hash,
                role_card: self.role_card(dice),
                runtime: Runtime::default(),
            }),
        }
    }

    fn agent(&self, kind: u16, dice: &mut Dice) -> Command {
        let member = dice.pick(&self.members);
        let channel = dice.pick(&self.channels);
        match kind {
            11 => Command::Connect,
            12 => Command::Disconnect,
            13 => Command::SetPresence(dice.pick(&[
                Presence::Online,
                Presence::Idle,
                Presence::Dnd,
                Presence::Sleeping,
                Presence::Offline,
            ])),
            14 => Command::Hello { role_card: self.role_card(dice), runtime: dice.coin().then(Runtime::default) },
            15 => Command::Sleep,
            16 => {
                let agent = |id| DaemonAgent { name: self.mark.to_owned(), agent: id };
                let agents = [dice.maybe(&self.members), dice.maybe(&self.members), Some(member)];
                Command::RegisterDaemon { agents: agents.into_iter().flatten().map(agent).collect() }
            }
            17 => {
                let about = match dice.roll(4) {
                    0 => None,
                    1 => {
                        let channel = dice.coin().then_some(channel);
                        Some(WakeAbout::Message { channel, message: dice.pick(&self.messages) })
                    }
                    2 => Some(WakeAbout::Channel(channel)),
                    _ => Some(WakeAbout::Words { channel, content: self.text(dice) }),
                };
                Command::WakeAgent { agent: member, about }
            }
            18 => Command::Subscribe { channel },
            19 => Command::Typing {
                channel,
                on: dice.coin(),
                color: dice.coin().then(|| Color::parse("#FF6B35")).flatten(),
            },
            _ => Command::Thinking { channel },
        }
    }

    fn channel(&self, kind: u16, dice: &mut Dice) -> Command {
        let channel = dice.pick(&self.channels);
        let member = dice.pick(&self.members);
        match kind {
            21 => Command::CreateChannel {
                workspace: dice.roll(4).checked_sub(1).map(|_| dice.pick(&self.workspaces)),
                name: self.name(dice),
                kind: dice.pick(&[ChannelKind::Channel, ChannelKind::Private, ChannelKind::Dm]),
                topic: self.text(dice),
            },
            22 => Command::UpdateChannel {
                channel,
                name: dice.coin().then(|| self.name(dice)),
                topic: dice.coin().then(|| self.text(dice)),
                is_private: dice.pick(&[None, None, Some(true), Some(false)]),
            },
            23 => Command::DeleteChannel { channel },
            24 => Command::ArchiveChannel { channel, archived: dice.coin() },
            25 => Command::AddToChannel { channel, member },
            26 => Command::RemoveFromChannel { channel, member },
            27 => {
                let others = [Some(member), dice.maybe(&self.members), dice.maybe(&self.members)];
                let members = others.into_iter().flatten().collect();
                Command::OpenDirect { workspace: dice.pick(&self.workspaces), members }
            }
            28 => Command::MarkRead { channel, seq: dice.maybe(&[0, 1, 2, 3, 5, 8, u64::MAX]) },
            _ => Command::SetNotifyPreference {
                channel,
                notify: dice.pick(&[NotifyPreference::All, NotifyPreference::Mentions, NotifyPreference::None]),
            },
        }
    }

    fn send(&self, dice: &mut Dice) -> Command {
        Command::Send(Send {
            channel: dice.pick(&self.channels),
            content: self.text(dice),
            thread: dice.maybe(&self.messages),
            key: dice.maybe(&["key-1", "key-2", "key-3"]).map(str::to_owned),
            file: dice.maybe(&self.files),
            metadata: dice.maybe(&["{}", "null", "{\"a\":[1]}", "{\"b\":{}}", "[1]", "{\"c\":1e999}"]).and_then(raw),
            kind: dice.maybe(&["system", "", "user", "\u{7}"]).map(str::to_owned),
            content_type: dice.pick(&[ContentType::Text, ContentType::Markdown]),
            stage: dice.pick(&[Stage::Whole, Stage::Whole, Stage::Partial, Stage::Final]),
            delivery: dice.maybe(&self.deliveries),
            is_more: false,
            is_quiet: dice.pick(&[false, false, true]),
        })
    }

    fn message(&self, kind: u16, dice: &mut Dice) -> Command {
        let message = dice.pick(&self.messages);
        match kind {
            30 => self.send(dice),
            31 => Command::EditMessage { message, content: self.text(dice) },
            32 => Command::DeleteMessage { message },
            33 => {
                let emoji = dice.pick(&["👍", "🎉", "", "too-long-to-be-an-emoji-of-any-kind-at-all"]).to_owned();
                Command::React { message, emoji, on: dice.roll(3) < 2 }
            }
            34 => Command::Pin { channel: dice.maybe(&self.channels), message },
            _ => Command::Unpin { pin: dice.pick(&self.pins) },
        }
    }

    fn agent_experience(&self, kind: u16, dice: &mut Dice) -> Command {
        let notification = dice.pick(&self.notifications);
        let draft = dice.pick(&self.drafts);
        match kind {
            36 => Command::MarkNotificationRead { notification },
            37 => Command::MarkAllNotificationsRead,
            38 => Command::AckInbox { notification },
            39 => Command::AckWholeInbox,
            40 => Command::CreateDraft {
                channel: dice.pick(&self.channels),
                thread: dice.maybe(&self.messages),
                content: self.text(dice),
            },
            41 => Command::ValidateDraft { draft },
            42 => Command::SendDraft { draft, force: dice.coin() },
            43 => Command::CancelDraft { draft },
            44 => Command::RequestReview {
                reviewer: dice.pick(&self.members),
                subject: self.text(dice),
                content: self.text(dice),
                channel: dice.maybe(&self.channels),
            },
            45 => Command::DecideReview {
                review: dice.pick(&self.reviews),
                status: self.text(dice),
                comment: dice.coin().then(|| self.text(dice)),
            },
            46 => Command::PutItem(PutItem {
                item: dice.maybe(&self.items),
                name: self.text(dice),
                content: dice.coin().then(|| self.text(dice)),
                ..PutItem::default()
            }),
            47 => Command::RemoveItem { item: dice.pick(&self.items) },
            48 => Command::PutMemory { namespace: String::new(), key: self.name(dice), value: self.text(dice) },
            _ => Command::RemoveMemory { namespace: "default".to_owned(), key: self.name(dice) },
        }
    }

    fn question(&self, kind: u16, dice: &mut Dice) -> Command {
        let channel = dice.maybe(&self.channels);
        let task = dice.pick(&self.tasks);
        let approval = dice.pick(&self.approvals);
        match kind {
            50 => Command::CreateTask(CreateTask {
                workspace: dice.pick(&self.workspaces),
                channel,
                message: dice.maybe(&self.messages),
                title: self.text(dice),
                description: self.text(dice),
                priority: Priority::default(),
                assigned_to: dice.maybe(&self.members),
            }),
            51 => Command::UpdateTask(UpdateTask {
                task,
                title: dice.coin().then(|| self.text(dice)),
                status: dice.maybe(&[TaskStatus::Todo, TaskStatus::Review, TaskStatus::Done]),
                assigned_to: dice.coin().then(|| dice.maybe(&self.members)),
                ..UpdateTask::default()
            }),
            52 => Command::ClaimTask { task },
            53 => Command::DeleteTask { task },
            54 => Command::RequestApproval(RequestApproval {
                channel,
                action: self.text(dice),
                payload: self.text(dice),
                hash: dice.coin().then(|| self.name(dice)),
                about: dice.maybe(&self.messages),
                ..RequestApproval::default()
            }),
            _ => {
                let (approved, scope) = (dice.coin(), ApprovalScope::Once);
                Command::DecideApproval { approval, approved, scope, note: dice.coin().then(|| self.text(dice)) }
            }
        }
    }

    fn call(&self, kind: u16, dice: &mut Dice) -> Command {
        let call = dice.pick(&self.calls);
        match kind {
            56 => Command::OfferCall {
                callee: dice.pick(&self.members),
                kind: dice.pick(&["", "video", "smoke"]).to_owned(),
                sdp: dice.pick(&["v=0", ""]).to_owned(),
            },
            57 => Command::AnswerCall { call, sdp: "v=0".to_owned() },
            58 => {
                let candidate = raw(dice.pick(&["\"candidate\"", "{}", "1e999"])).unwrap_or_default();
                Command::RelayIce { call, target: dice.maybe(&self.members), candidate }
            }
            _ => Command::EndCall { call },
        }
    }

    fn keeping(&self, kind: u16, dice: &mut Dice) -> Command {
        let channel = dice.pick(&self.channels);
        let webhook = dice.pick(&self.webhooks);
        match kind {
            60 => {
                let id = dice.maybe(&self.files).unwrap_or(FileId(self.fresh));
                let file = new_file(id, dice.pick(&self.workspaces), dice.coin().then_some(channel));
                Command::AddFile(File { filename: self.text(dice), ..file })
            }
            61 => Command::RemoveFile { file: dice.pick(&self.files) },
            62 => Command::CreateWebhook { channel, name: self.name(dice), secret_hash: key(200) },
            63 => Command::RemoveWebhook { webhook },
            _ => {
                let secret_hash = key(200 + dice.roll(2) as u8);
                Command::PostToWebhook { webhook, secret_hash, content: self.text(dice) }
            }
        }
    }

    fn guest(&self, kind: u16, dice: &mut Dice) -> Command {
        match kind {
            66 => Command::WelcomeGuest(WelcomeGuest {
                door: Door::SmartHole,
                key: self.name(dice),
                name: self.name(dice),
                role_card: self.role_card(dice),
            }),
            _ => Command::AnswerAsGuest(AnswerAsGuest {
                guest: dice.pick(&self.members),
                message: dice.pick(&self.messages),
                content: self.text(dice),
                metadata: None,
                key: None,
            }),
        }
    }

    fn pools(&self, kind: u16, dice: &mut Dice) -> Command {
        let named = |dice: &mut Dice, what: &str| format!("{}{what}{}", self.mark, dice.roll(3));
        let place = Place {
            guild: named(dice, "guild"),
            voice_channel: named(dice, "voice"),
            kind: dice.pick(&[SessionKind::Music, SessionKind::Assistant]),
        };
        let agent = named(dice, "agent");
        let channel = dice.pick(&self.channels);
        match kind {
            68 => Command::TakeLease { place, agent },
            69 => Command::ClaimLease { place, agent },
            70 => Command::ReleaseLease { place, holder: dice.coin().then_some(agent) },
            71 => Command::LoseAgent { agent, successor: dice.coin().then(|| named(dice, "agent")) },
            72 => Command::LinkPool { channel, guild: place.guild, voice_channel: place.voice_channel },
            _ => Command::UnlinkPool { channel },
        }
    }

    fn host(&self, dice: &mut Dice) -> Command {
        Command::HostAgent(HostAgent {
            name: self.name(dice),
            engine: "script".to_owned(),
            model: None,
            project: None,
            role_card: RoleCard::default(),
            policy: dice.pick(&[Policy::Ask, Policy::AcceptEdits]),
            deny: Vec::new(),
            worktrees: false,
            channels: dice.coin().then(|| vec![dice.pick(&self.channels)]),
            is_kept: !dice.coin(),
        })
    }

    fn route(&self, kind: u16, dice: &mut Dice) -> Command {
        let route = dice.pick(&self.routes);
        let client = dice.pick(&self.members);
        match kind {
            76 => Command::Say(Say {
                text: self.text(dice),
                input: dice.pick(&[InputMethod::Text, InputMethod::Voice]),
                confidence: None,
                source: dice.maybe(&self.messages),
                choice: self.choice(client, dice),
                timeout: 30_000,
            }),
            77 => Command::Hand { route, choice: self.choice(client, dice), timeout: 30_000 },
            78 => Command::AnswerRoute { route, said: self.said(dice) },
            79 => Command::HandAgain { route, client },
            _ => {
                Command::EndAttempt { route, client, end: dice.pick(&[AttemptEnd::Disconnected, AttemptEnd::Timeout]) }
            }
        }
    }

    fn delivery(&self, kind: u16, dice: &mut Dice) -> Command {
        let delivery = dice.pick(&self.deliveries);
        match kind {
            83 => Command::PassDelivery { delivery, why: dice.coin().then(|| self.text(dice)) },
            84 => Command::FailDelivery { delivery, why: self.text(dice) },
            85 => Command::JoinDelivery { delivery, run: RunId(u128::from(dice.roll(3)) + 1) },
            _ => Command::CancelDelivery { delivery },
        }
    }

    fn choice(&self, client: MemberId, dice: &mut Dice) -> Choice {
        let chosen = |client| Chosen { client, reason: Some(self.mark.to_owned()) };
        match dice.roll(4) {
            0 => Choice::These(vec![chosen(client), chosen(dice.pick(&self.members))]),
            1 => Choice::Direct { client, text: self.text(dice) },
            2 => Choice::Unsure(vec![client]),
            _ => Choice::Later,
        }
    }

    fn said(&self, dice: &mut Dice) -> Said {
        match dice.roll(3) {
            0 => Said::Ack,
            1 => Said::Reject { reason: self.text(dice) },
            _ => Said::Notification { title: None, body: Some(self.text(dice)), priority: Urgency::High },
        }
    }

    pub fn text(&self, dice: &mut Dice) -> String {
        let mark = self.mark;
        match dice.roll(20) {
            0..10 => format!("{mark} hello"),
            10..16 if !self.names.is_empty() => {
                let name = &self.names[usize::from(dice.roll(u16::try_from(self.names.len()).unwrap_or(1)))];
                format!("{mark} @{name}, look")
            }
            16 => format!("{mark} ünï🎉\n\"\\ \u{2028}"),
            17 => String::new(),
            18 => format!("{mark}\u{0}"),
            19 => format!("{mark}{}", "é".repeat(10_001)),
            _ => mark.to_owned(),
        }
    }

    pub fn name(&self, dice: &mut Dice) -> String {
        let number = dice.roll(12);
        match number {
            9 if !self.names.is_empty() => self.names[0].to_uppercase(),
            10 => format!("@{}", self.mark),
            11 => "   ".to_owned(),
            _ => format!("{}{number}", self.mark),
        }
    }

    fn email(&self, dice: &mut Dice) -> String {
        match dice.roll(8) {
            7 => self.mark.to_owned(),
            number => format!("{}{number}@example.org", self.mark),
        }
    }

    fn role_card(&self, dice: &mut Dice) -> RoleCard {
        RoleCard { system_prompt: self.text(dice), capabilities: vec![self.mark.to_owned()] }
    }
}

const HOUR: Millis = 3_600_000;
const START_OF_SESSIONS: Millis = super::world::START;

pub fn raw(text: &str) -> Option<Box<RawValue>> {
    RawValue::from_string(text.to_owned()).ok()
}

/// A number for each kind of command; the compiler asks for a new one when there is a new kind.
pub fn number(command: &Command) -> u16 {
    match command {
        Command::Register(_) => 0,
        Command::UpdateWorkspace { .. } => 1,
        Command::DeleteWorkspace { .. } => 2,
        Command::AddMember(_) => 3,
        Command::UpdateMember(_) => 4,
        Command::RemoveMember { .. } => 5,
        Command::ReplaceKey { .. } => 6,
        Command::ChangePassword { .. } => 7,
        Command::SignOut { .. } => 8,
        Command::IssueProvisionToken { .. } => 9,
        Command::RegisterAgent(_) => 10,
        Command::Connect => 11,
        Command::Disconnect => 12,
        Command::SetPresence(_) => 13,
        Command::Hello { .. } => 14,
        Command::Sleep => 15,
        Command::RegisterDaemon { .. } => 16,
        Command::WakeAgent { .. } => 17,
        Command::Subscribe { .. } => 18,
        Command::Typing { .. } => 19,
        Command::Thinking { .. } => 20,
        Command::CreateChannel { .. } => 21,
        Command::UpdateChannel { .. } => 22,
        Command::DeleteChannel { .. } => 23,
        Command::ArchiveChannel { .. } => 24,
        Command::AddToChannel { .. } => 25,
        Command::RemoveFromChannel { .. } => 26,
        Command::OpenDirect { .. } => 27,
        Command::MarkRead { .. } => 28,
        Command::SetNotifyPreference { .. } => 29,
        Command::Send(_) => 30,
        Command::EditMessage { .. } => 31,
        Command::DeleteMessage { .. } => 32,
        Command::React { .. } => 33,
        Command::Pin { .. } => 34,
        Command::Unpin { .. } => 35,
        Command::MarkNotificationRead { .. } => 36,
        Command::MarkAllNotificationsRead => 37,
        Command::AckInbox { .. } => 38,
        Command::AckWholeInbox => 39,
        Command::CreateDraft { .. } => 40,
        Command::ValidateDraft { .. } => 41,
        Command::SendDraft { .. } => 42,
        Command::CancelDraft { .. } => 43,
        Command::RequestReview { .. } => 44,
        Command::DecideReview { .. } => 45,
        Command::PutItem(_) => 46,
        Command::RemoveItem { .. } => 47,
        Command::PutMemory { .. } => 48,
        Command::RemoveMemory { .. } => 49,
        Command::CreateTask(_) => 50,
        Command::UpdateTask(_) => 51,
        Command::ClaimTask { .. } => 52,
        Command::DeleteTask { .. } => 53,
        Command::RequestApproval(_) => 54,
        Command::DecideApproval { .. } => 55,
        Command::OfferCall { .. } => 56,
        Command::AnswerCall { .. } => 57,
        Command::RelayIce { .. } => 58,
        Command::EndCall { .. } => 59,
        Command::AddFile(_) => 60,
        Command::RemoveFile { .. } => 61,
        Command::CreateWebhook { .. } => 62,
        Command::RemoveWebhook { .. } => 63,
        Command::PostToWebhook { .. } => 64,
        Command::CreateWorkspace { .. } => 65,
        Command::WelcomeGuest(_) => 66,
        Command::AnswerAsGuest(_) => 67,
        Command::TakeLease { .. } => 68,
        Command::ClaimLease { .. } => 69,
        Command::ReleaseLease { .. } => 70,
        Command::LoseAgent { .. } => 71,
        Command::LinkPool { .. } => 72,
        Command::UnlinkPool { .. } => 73,
        Command::Invite { .. } => 74,
        Command::EndStream { .. } => 75,
        Command::Say(_) => 76,
        Command::Hand { .. } => 77,
        Command::AnswerRoute { .. } => 78,
        Command::HandAgain { .. } => 79,
        Command::EndAttempt { .. } => 80,
        Command::UseApproval { .. } => 81,
        Command::LetTimePass => 82,
        Command::PassDelivery { .. } => 83,
        Command::FailDelivery { .. } => 84,
        Command::JoinDelivery { .. } => 85,
        Command::CancelDelivery { .. } => 86,
        Command::CreateInvite(_) => 87,
        Command::RevokeInvite { .. } => 88,
        Command::Join(_) => 89,
        Command::Run(command) => RUNS + run_number(command),
        Command::HostAgent(_) => 90,
        Command::DismissHosted { .. } => 91,
        Command::OfferTelegramLink { .. } => 92,
        Command::LinkTelegram { .. } => 93,
        Command::UnlinkTelegram => 94,
        Command::AddMachine { .. } => 95,
        Command::RemoveMachine { .. } => 96,
        Command::ConnectCarried { .. } => 97,
        Command::SignIn(_) => 98,
        Command::SeeSession { .. } => 99,
        Command::EndCredential { .. } => 100,
    }
}
