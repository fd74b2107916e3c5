//! Tools that do something: each is one or two commands, and the core decides whether this member may.

use folkmoot_core::command::{Command, CreateTask, Reply, RequestApproval, Send, UpdateTask};
use folkmoot_core::ids::*;
use folkmoot_core::model::*;
use folkmoot_core::run::{CompleteRun, Run, RunCommand, RunEnd, StartRun};
use folkmoot_core::{access, refusal};
use folkmoot_hub::request::{Caller, query, unexpected};
use serde::Deserialize;

use super::call::{Failure, Told};
use super::{look, text};

/// What runs that were begun here call their engine.
const ENGINE: &str = "mcp";
const MAX_ACKED: usize = 100;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SendArguments {
    text: String,
    channel: Option<String>,
    thread: Option<String>,
    answers: Option<String>,
    key: Option<String>,
}

pub async fn send(caller: &Caller, arguments: SendArguments) -> Told {
    if let Some(item) = &arguments.answers {
        let item = own_item(caller, NotificationId::parse(item.trim())).await?;
        return answer(caller, item, arguments).await;
    }
    let channel = match (&arguments.channel, &arguments.thread) {
        (Some(channel), _) if channel.trim().starts_with('@') => direct_with(caller, channel).await?,
        (Some(channel), _) => look::channel_named(caller, channel)?,
        (None, Some(thread)) => query::message(caller, MessageId::parse(thread.trim())).await?.channel,
        (None, None) => return Err(Failure::new("say where: `channel`, `thread` or `answers`")),
    };
    let thread = arguments.thread.as_deref().map(|thread| MessageId::parse(thread.trim()));
    post(caller, channel, thread, arguments.text, arguments.key).await
}

async fn post(
    caller: &Caller,
    channel: ChannelId,
    thread: Option<MessageId>,
    content: String,
    key: Option<String>,
) -> Told {
    let send = Send { channel, content, content_type: ContentType::Markdown, thread, key, ..Send::default() };
    let Reply::Sent { message, repeated } = caller.execute(Command::Send(send)).await? else {
        return Err(unexpected().into());
    };
    let again = if repeated { " before; nothing was sent again" } else { "" };
    Ok(format!("sent as {} ([{}]){again}", message.id, message.seq))
}

async fn direct_with(caller: &Caller, named: &str) -> Result<ChannelId, Failure> {
    let (workspace, member) = (caller.workspace()?, look::member_named(caller, named)?);
    let command = Command::OpenDirect { workspace, members: vec![member] };
    let Reply::Channel { channel, .. } = caller.execute(command).await? else { return Err(unexpected().into()) };
    Ok(channel.id)
}

async fn own_item(caller: &Caller, id: NotificationId) -> Result<Notification, Failure> {
    let own = caller.id();
    let mine = |_: &_, _: &_, item: &Notification| item.member == own;
    Ok(query::one(caller, id, refusal::NOTIFICATION_NOT_FOUND, mine).await?)
}

/// Answers where it was asked. Asked again, it says so and sends nothing: a client may repeat what it had no answer to.
async fn answer(caller: &Caller, item: Notification, arguments: SendArguments) -> Told {
    if item.acked_at.is_some() {
        return Ok(format!("{} was answered or acknowledged before; nothing was sent", item.id));
    }
    let asked =
        item.message.ok_or_else(|| Failure::new("nobody said this; use `channel` to say something, or `ack`"))?;
    let message = query::message_even_if_deleted(caller, asked).await?;
    let sent = match open_run(caller, message.id) {
        Some(run) => complete(caller, run, arguments.text).await?,
        None => {
            let is_direct = caller.query(|state, actor| {
                access::room_to_read(state, actor, message.channel).map(|room| room.channel.kind.is_direct())
            })?;
            let thread = message.thread.or((!is_direct).then_some(message.id));
            let key = arguments.key.or_else(|| Some(format!("answer to {}", item.id)));
            post(caller, message.channel, thread, arguments.text, key).await?
        }
    };
    caller.execute(Command::AckInbox { notification: item.id }).await?;
    Ok(sent)
}

/// The run that the caller began here for what this message asked.
fn open_run(caller: &Caller, asked: MessageId) -> Option<RunId> {
    let own = caller.id();
    let is_it = |run: &&std::sync::Arc<Run>| run.agent == own && run.engine == ENGINE && run.trigger == asked;
    caller.hub.with_state(|state| state.runs().iter().find(is_it).map(|run| run.id))
}

async fn complete(caller: &Caller, run: RunId, answer: String) -> Told {
    let complete = CompleteRun {
        run,
        end: RunEnd::Completed,
        answer: Some(answer),
        error: None,
        resume: None,
        resume_line: None,
        usage: None,
        cost_usd: None,
        model: None,
    };
    let Reply::Run { run, .. } = caller.execute(Command::Run(RunCommand::Complete(complete))).await? else {
        return Err(unexpected().into());
    };
    Ok(format!("sent as {}", run.message))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ack {
    ids: Vec<String>,
}

pub async fn ack(caller: &Caller, ack: Ack) -> Told {
    if ack.ids.len() > MAX_ACKED {
        return Err(Failure::new(format!("at most {MAX_ACKED} ids at a time")));
    }
    let is_agent = caller.hub.with_state(|state| state.is_agent(caller.id()));
    for id in &ack.ids {
        let id = id.trim();
        let (notification, approval) = (NotificationId::parse(id), ApprovalId::parse(id));
        let command = match is_agent {
            _ if !approval.is_none() => Command::UseApproval { approval },
            true => Command::AckInbox { notification },
            false => Command::MarkNotificationRead { notification },
        };
        let done = caller.execute(command).await;
        done.map_err(|error| Failure::new(format!("{}: {}", text::line(id, 60), error.sentence)))?;
    }
    Ok(format!("acknowledged {}", ack.ids.len()))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskArguments {
    id: Option<String>,
    title: Option<String>,
    description: Option<String>,
    channel: Option<String>,
    assign: Option<String>,
    #[serde(default)]
    claim: bool,
    status: Option<TaskStatus>,
}

pub async fn task(caller: &Caller, arguments: TaskArguments) -> Told {
    let assignee = arguments.assign.as_deref().map(|name| look::member_named(caller, name)).transpose()?;
    let mut task = match &arguments.id {
        Some(id) => TaskId::parse(id.trim()),
        None => create(caller, &arguments, assignee).await?.id,
    };
    let mut shown = None;
    if arguments.claim {
        shown = Some(changed(caller, Command::ClaimTask { task }).await?);
    }
    let is_old = arguments.id.is_some();
    let (title, description) = (arguments.title.filter(|_| is_old), arguments.description.filter(|_| is_old));
    let assigned_to = assignee.filter(|_| is_old).map(Some);
    if title.is_some() || description.is_some() || assigned_to.is_some() || arguments.status.is_some() {
        let update = UpdateTask { task, title, description, status: arguments.status, priority: None, assigned_to };
        shown = Some(changed(caller, Command::UpdateTask(update)).await?);
    }
    let known = match shown {
        Some(known) => known,
        None => {
            let may_see = |state: &_, member: &Member, task: &Task| {
                access::may_see_within(state, member, task.workspace, task.channel)
            };
            query::one(caller, task, refusal::TASK_NOT_FOUND, may_see).await?
        }
    };
    task = known.id;
    Ok(caller.query(|state, _| Ok(format!("{}\n{}", task, look::task_line(state, &known))))?)
}

async fn create(caller: &Caller, arguments: &TaskArguments, assigned_to: Option<MemberId>) -> Result<Task, Failure> {
    let title =
        arguments.title.clone().ok_or_else(|| Failure::new("a new task needs a `title`; an old one its `id`"))?;
    let channel = arguments.channel.as_deref().map(|channel| look::channel_named(caller, channel)).transpose()?;
    let create = CreateTask {
        workspace: caller.workspace()?,
        channel,
        message: None,
        title,
        description: arguments.description.clone().unwrap_or_default(),
        priority: Priority::default(),
        assigned_to,
    };
    changed(caller, Command::CreateTask(create)).await
}

async fn changed(caller: &Caller, command: Command) -> Result<Task, Failure> {
    match caller.execute(command).await? {
        Reply::Task(task) => Ok(task),
        _ => Err(unexpected().into()),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ask {
    action: String,
    #[serde(default)]
    detail: String,
    channel: Option<String>,
    about: Option<String>,
}

/// Never waits for people: a call that did would be cut off by the client long before they look.
pub async fn ask(caller: &Caller, ask: Ask) -> Told {
    let channel = ask.channel.as_deref().map(|channel| look::channel_named(caller, channel)).transpose()?;
    let about = ask.about.as_deref().map(|about| MessageId::parse(about.trim()));
    let request =
        RequestApproval { channel, action: ask.action, payload: ask.detail, about, ..RequestApproval::default() };
    let Reply::Approval(approval) = caller.execute(Command::RequestApproval(request)).await? else {
        return Err(unexpected().into());
    };
    Ok(format!("asked as {}; `wait` brings the decision. Do nothing of it before.", approval.id))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Status {
    about: String,
    text: String,
}

/// Shows people a run for what woke the agent, and how far it is; the answer takes its place.
pub async fn status(caller: &Caller, status: Status) -> Told {
    let about = status.about.trim();
    let (item, message) = (NotificationId::parse(about), MessageId::parse(about));
    let asked = if item.is_none() { Some(message) } else { own_item(caller, item).await?.message };
    let own = caller.id();
    let delivery = asked.and_then(|asked| {
        let open = |state: &folkmoot_core::State| {
            state.deliveries().of_agent(own).find(|open| open.messages.contains(&asked)).map(|open| open.id)
        };
        caller.hub.with_state(open)
    });
    let delivery = delivery.ok_or_else(|| Failure::new("nothing that you were asked there is open"))?;
    let start =
        StartRun { delivery, engine: ENGINE.to_owned(), text: Some(status.text.clone()), ..StartRun::default() };
    let Reply::Run { run, known } = caller.execute(Command::Run(RunCommand::Start(start))).await? else {
        return Err(unexpected().into());
    };
    if known {
        caller.execute(Command::Run(RunCommand::Progress { run: run.id, text: status.text })).await?;
    }
    Ok(format!("shown in {}", run.id))
}
