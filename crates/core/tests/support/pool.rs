//! What there is in a world for random commands to name.

use super::commands::Dice;
use super::domain::ids::*;
use super::domain::model::Door;
use super::domain::record::Record;
use super::domain::{Actor, Millis};
use super::world::World;

/// What a random command may name. Each list ends with something that does not exist.
#[derive(Clone, Debug)]
pub struct Pool {
    pub workspaces: Vec<WorkspaceId>,
    pub members: Vec<MemberId>,
    pub channels: Vec<ChannelId>,
    pub messages: Vec<MessageId>,
    pub notifications: Vec<NotificationId>,
    pub drafts: Vec<DraftId>,
    pub reviews: Vec<ReviewId>,
    pub tasks: Vec<TaskId>,
    pub approvals: Vec<ApprovalId>,
    pub calls: Vec<CallId>,
    pub webhooks: Vec<WebhookId>,
    pub files: Vec<FileId>,
    pub pins: Vec<PinId>,
    pub items: Vec<ItemId>,
    pub routes: Vec<RouteId>,
    pub deliveries: Vec<DeliveryId>,
    pub invites: Vec<InviteId>,
    pub machines: Vec<MachineId>,
    pub runs: Vec<RunId>,
    /// Names to mention and to take.
    pub names: Vec<String>,
    /// Every text carries this, so that it can be found again.
    pub mark: &'static str,
    /// For what needs an id of its own.
    pub fresh: u128,
    pub now: Millis,
}

impl Pool {
    pub fn of(world: &mut World, mark: &'static str) -> Self {
        let fresh = world.ids.next(world.now);
        let mut pool = Self { fresh, now: world.now, mark, ..Self::nothing() };
        for record in world.ledger.all_records() {
            pool.add(record);
        }
        pool.messages.extend(world.ledger.all_messages().map(|message| message.id));
        pool.end_with_unknowns();
        pool
    }

    fn nothing() -> Self {
        Self {
            workspaces: Vec::new(),
            members: Vec::new(),
            channels: Vec::new(),
            messages: Vec::new(),
            notifications: Vec::new(),
            drafts: Vec::new(),
            reviews: Vec::new(),
            tasks: Vec::new(),
            approvals: Vec::new(),
            calls: Vec::new(),
            webhooks: Vec::new(),
            files: Vec::new(),
            pins: Vec::new(),
            items: Vec::new(),
            routes: Vec::new(),
            deliveries: Vec::new(),
            invites: Vec::new(),
            machines: Vec::new(),
            runs: Vec::new(),
            names: Vec::new(),
            mark: "",
            fresh: 0,
            now: 0,
        }
    }

    fn add(&mut self, record: &Record) {
        match record {
            Record::Workspace(workspace) => self.workspaces.push(workspace.id),
            Record::Member(member) => {
                self.members.push(member.id);
                self.names.push(member.name.clone());
            }
            Record::Channel(channel) => self.channels.push(channel.id),
            Record::Notification(notification) => self.notifications.push(notification.id),
            Record::Draft(draft) => self.drafts.push(draft.id),
            Record::Review(review) => self.reviews.push(review.id),
            Record::Task(task) => self.tasks.push(task.id),
            Record::Approval(approval) => self.approvals.push(approval.id),
            Record::Call(call) => self.calls.push(call.id),
            Record::Webhook(webhook) => self.webhooks.push(webhook.id),
            Record::File(file) => self.files.push(file.id),
            Record::Pin(pin) => self.pins.push(pin.id),
            Record::Item(item) => self.items.push(item.id),
            Record::Route(route) => self.routes.push(route.id),
            Record::Delivery(delivery) => self.deliveries.push(delivery.id),
            Record::Run(run) => self.runs.push(run.id),
            Record::RunAction(_) | Record::Session(_) => {}
            Record::Membership(_) | Record::Edit(_) | Record::Memory(_) | Record::Token(_) | Record::Cause(_) => {}
            Record::Invite(invite) => self.invites.push(invite.id),
            Record::Lease(_) | Record::Fence(_) | Record::PoolLink(_) | Record::Hosted(_) => {}
            Record::TelegramLink(_) => {}
            Record::Machine(machine) => self.machines.push(machine.id),
        }
    }

    fn end_with_unknowns(&mut self) {
        let unknown = 1;
        self.workspaces.push(WorkspaceId(unknown));
        self.members.push(MemberId(unknown));
        self.channels.push(ChannelId(unknown));
        self.messages.push(MessageId(unknown));
        self.notifications.push(NotificationId(unknown));
        self.drafts.push(DraftId(unknown));
        self.reviews.push(ReviewId(unknown));
        self.tasks.push(TaskId(unknown));
        self.approvals.push(ApprovalId(unknown));
        self.calls.push(CallId(unknown));
        self.webhooks.push(WebhookId(unknown));
        self.files.push(FileId(unknown));
        self.pins.push(PinId(unknown));
        self.items.push(ItemId(unknown));
        self.routes.push(RouteId(unknown));
        self.deliveries.push(DeliveryId(unknown));
        self.invites.push(InviteId(unknown));
        self.machines.push(MachineId(unknown));
        self.runs.push(RunId(unknown));
    }

    /// This member, on its newest connection or without any; now and then a daemon for one of its agents.
    pub fn actor(&self, world: &World, member: MemberId, dice: &mut Dice) -> Actor {
        let connection = world.state.connections_of(member).last().copied();
        let carried = connection.and_then(|connection| world.state.daemon(connection));
        let agent = carried.and_then(|daemon| daemon.agents.first()).map(|agent| agent.agent);
        match dice.roll(8) {
            6 => Actor { on_behalf: agent, connection, ..Actor::new(member, Door::Lark) },
            7 => Actor::new(member, Door::Rest),
            _ => Actor { connection, ..Actor::new(member, Door::Lark) },
        }
    }
}
