//! One record of every kind, for what must hold for all of them.

use folkmoot_core::Record;
use folkmoot_core::delivery::Cause;
use folkmoot_core::hosting::{Hosted, Policy};
use folkmoot_core::ids::*;
use folkmoot_core::model::*;
use folkmoot_core::pools::{Fence, Lease, Place, PoolLink, SessionKind};

use super::fixtures::*;

impl Hub {
    /// One record of every kind there is.
    pub fn one_of_each(&mut self) -> Vec<Record> {
        let (id, workspace) = (self.id(), self.workspace("hall"));
        let mut records = self.people_and_work(id, &workspace);
        records.extend(self.ways_in_and_places(id, &workspace));
        records.extend(self.what_is_kept(id, &workspace));
        records.extend(self.what_is_going_on(id));
        records.push(workspace.into());
        records
    }

    fn people_and_work(&mut self, id: u128, workspace: &Workspace) -> Vec<Record> {
        let (now, message) = (self.now, MessageId(id));
        vec![
            self.member(workspace.id, "codebot").into(),
            self.channel(workspace.id, ChannelKind::GroupDm).into(),
            self.membership(GENERAL, BOB).into(),
            self.notification(BOB, "message", false, true).into(),
            Draft {
                id: DraftId(id),
                agent: BOB,
                channel: GENERAL,
                thread: Some(message),
                content: "Perhaps…".into(),
                room_version: 9,
                status: DraftStatus::Held,
                created_at: now,
                expires_at: now + 1,
            }
            .into(),
            Review {
                id: ReviewId(id),
                workspace: workspace.id,
                channel: None,
                requester: ALICE,
                reviewer: BOB,
                subject: "Look".into(),
                content: "At this".into(),
                status: "pending".into(),
                comment: None,
                created_at: now,
                decided_at: None,
            }
            .into(),
            self.task(Some(GENERAL), Some(BOB), TaskStatus::InProgress).into(),
            Approval {
                id: ApprovalId(id),
                workspace: workspace.id,
                channel: Some(GENERAL),
                agent: BOB,
                action: "deploy".into(),
                payload: "{\"a\":\"\\u0000\"}".into(),
                status: ApprovalStatus::Pending,
                reviewer: None,
                note: None,
                created_at: now,
                reviewed_at: None,
                kind: ApprovalKind::Permission,
                hash: Some("c0ffee".into()),
                run: Some(RunId(id)),
                asker: Some(ALICE),
                scope: ApprovalScope::Run,
                expires_at: now + 1,
                used_at: None,
            }
            .into(),
            Call {
                id: CallId(id),
                workspace: workspace.id,
                caller: ALICE,
                callee: BOB,
                kind: "video".into(),
                status: CallStatus::Ringing,
                created_at: now,
                answered_at: None,
                ended_at: None,
            }
            .into(),
        ]
    }

    fn ways_in_and_places(&mut self, id: u128, workspace: &Workspace) -> Vec<Record> {
        let now = self.now;
        vec![
            Lease {
                id: LeaseId(id),
                place: Place { guild: "g".into(), voice_channel: "v".into(), kind: SessionKind::Music },
                agent: "agent1".into(),
                fence: 7,
                owner: Some(ALICE),
                taken_at: now,
            }
            .into(),
            Fence { id: FenceId(id), last: 7 }.into(),
            Invite {
                id: InviteId(id),
                workspace: workspace.id,
                made_by: ALICE,
                role: Role::Admin,
                channels: vec![GENERAL],
                code_hash: KeyHash([5; 32]),
                created_at: now,
                expires_at: now + 1,
            }
            .into(),
            TelegramLink {
                id: TelegramLinkId(id),
                workspace: workspace.id,
                member: ALICE,
                code_hash: KeyHash([6; 32]),
                created_at: now,
                expires_at: now + 1,
                account: Some(TelegramAccount { user: 1001, name: "Ann".into(), linked_at: now }),
            }
            .into(),
            Machine {
                id: MachineId(id),
                workspace: workspace.id,
                owner: ALICE,
                name: "laptop".into(),
                key_hash: KeyHash([7; 32]),
                created_at: now,
                last_seen_at: Some(now),
                agents: vec![ALICE],
            }
            .into(),
            PoolLink {
                id: PoolLinkId(id),
                channel: GENERAL,
                guild: "g".into(),
                voice_channel: "v".into(),
                linked_by: ALICE,
                created_at: now,
            }
            .into(),
            Hosted {
                id: HostedId(id),
                workspace: workspace.id,
                agent: BOB,
                engine: "script".into(),
                model: Some("small".into()),
                project: Some("web".into()),
                policy: Policy::AcceptEdits,
                deny: vec!["git push".into()],
                worktrees: true,
                created_by: ALICE,
                created_at: now,
            }
            .into(),
            self.webhook(GENERAL).into(),
            self.token("jti").into(),
        ]
    }

    fn what_is_kept(&mut self, id: u128, workspace: &Workspace) -> Vec<Record> {
        let (now, message) = (self.now, MessageId(id));
        vec![
            File {
                id: FileId(id),
                workspace: workspace.id,
                channel: None,
                restricted: true,
                also_in: vec![GENERAL],
                posts: vec![FilePost { message, channel: GENERAL }],
                uploaded_by: BOB,
                filename: "plan.pdf".into(),
                content_type: "application/pdf".into(),
                size: u64::from(u32::MAX) + 1,
                created_at: now,
            }
            .into(),
            self.a_pin(GENERAL, message).into(),
            Edit { id: EditId(id), message, channel: GENERAL, previous: "before".into(), edited_at: now }.into(),
            Item {
                id: ItemId(id),
                agent: BOB,
                name: "notes".into(),
                namespace: "default".into(),
                content: "line\nline".into(),
                description: String::new(),
                tags: vec!["a".into()],
                created_at: now,
                updated_at: now,
            }
            .into(),
            self.memory(BOB, "default", "answer").into(),
        ]
    }

    fn what_is_going_on(&mut self, id: u128) -> Vec<Record> {
        let (now, message) = (self.now, MessageId(id));
        vec![
            self.route().into(),
            self.delivery().into(),
            Cause { granted: 6, ..Cause::new(message, WORKSPACE, Some(GENERAL), now) }.into(),
            self.run().into(),
            self.action().into(),
            self.session().into(),
        ]
    }
}
