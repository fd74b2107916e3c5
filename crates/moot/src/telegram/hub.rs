//! What the Telegram bridge asks of the hub it runs beside: whose account it is, what is asked of whom, and decisions.

use std::time::Instant;

use folkmoot_core::command::{Command, Reply};
use folkmoot_core::event::Event;
use folkmoot_core::ids::{ApprovalId, MemberId};
use folkmoot_core::lookup::LookupExt;
use folkmoot_core::model::{Approval, ApprovalKind, ApprovalScope, ApprovalStatus, Door};
use folkmoot_core::record::Record;
use folkmoot_core::{Actor, Refusal, State, access, moment, refusal};
use folkmoot_doors::lark::objects;
use folkmoot_hub::Hub;
use folkmoot_hub::auth::Auth;
use folkmoot_telegram::api::UserId;
use folkmoot_telegram::hub::{self as bridge, Asked, Decision, Question, Soon};
use tokio::sync::watch;

const MAX_CODE_BYTES: usize = 64;

pub struct Deciding {
    hub: Hub,
    changes: watch::Receiver<u64>,
}

impl Deciding {
    /// Looks at what happens in the hub from now on.
    pub fn start(hub: &Hub) -> Self {
        let mut sightings = hub.watch(Box::new(|event, _| matters(event)));
        let (sender, changes) = watch::channel(0);
        tokio::spawn(async move {
            while sightings.next().await.is_some() {
                sender.send_modify(|count| *count += 1);
            }
        });
        Self { hub: hub.clone(), changes }
    }
}

/// Whether it may change what is asked of somebody: questions, links, who sees what, who is an admin.
fn matters(event: &Event) -> bool {
    match event {
        Event::Saved(record) | Event::Removed(record) => {
            matches!(record, Record::Approval(_) | Record::TelegramLink(_) | Record::Member(_) | Record::Channel(_))
        }
        Event::Joined(_) | Event::Left(_) => true,
        _ => false,
    }
}

impl bridge::Hub for Deciding {
    fn changes(&self) -> watch::Receiver<u64> {
        self.changes.clone()
    }

    fn open_questions(&self) -> Soon<Option<Vec<Asked>>> {
        let hub = self.hub.clone();
        Box::pin(async move {
            let open: Vec<ApprovalId> = hub.with_state(|state| {
                let anybody = state.telegram_links().any(|link| link.account.is_some());
                if anybody { state.open_approvals().collect() } else { Vec::new() }
            });
            let approvals = read(&hub, open).await?;
            Some(hub.with_state(|state| approvals.iter().flat_map(|approval| asked(state, approval)).collect()))
        })
    }

    fn outcome(&self, approval: String) -> Soon<Option<String>> {
        let hub = self.hub.clone();
        Box::pin(async move {
            let found = read(&hub, vec![ApprovalId::parse(&approval)]).await?.pop();
            Some(hub.with_state(|state| match &found {
                Some(approval) => outcome(state, approval),
                None => "no longer there".to_owned(),
            }))
        })
    }

    fn decide(&self, user: UserId, approval: String, decision: Decision) -> Soon<String> {
        let hub = self.hub.clone();
        Box::pin(async move {
            match decide(&hub, user, ApprovalId::parse(&approval), decision).await {
                Ok(approval) => hub.with_state(|state| outcome(state, &approval)),
                Err(refused) => refused.to_string(),
            }
        })
    }

    fn link(&self, user: UserId, name: String, code: String) -> Soon<Option<String>> {
        let hub = self.hub.clone();
        Box::pin(async move {
            // Guesses are counted by who makes them: nobody can shut the door for others.
            let guesser = format!("telegram user {user}");
            let guess = hub.limits().guess_of(&guesser);
            guess.begin(Instant::now()).ok()?;
            let (hash, now) = (code_hash(&code), hub.now());
            let fits = hub.with_state(|state| access::telegram_offer(state, &hash, user.0, now).is_ok());
            if fits {
                guess.give_back();
            }
            Some(match link(&hub, user, name, &code).await {
                Ok(member) => {
                    let name = hub.with_state(|state| state.name_of(member).to_owned());
                    format!("linked: here you decide as {name}; `/unlink` ends that")
                }
                Err(refused) => refused.to_string(),
            })
        })
    }

    fn unlink(&self, user: UserId) -> Soon<Option<String>> {
        let hub = self.hub.clone();
        Box::pin(async move {
            let members: Vec<MemberId> = hub.with_state(|state| {
                let own = |account: &folkmoot_core::model::TelegramAccount| account.user == user.0;
                let links = state.telegram_links().filter(|link| link.account.as_ref().is_some_and(own));
                links.map(|link| link.member).collect()
            });
            for member in &members {
                if let Err(refused) = hub.execute(Actor::new(*member, Door::Telegram), Command::UnlinkTelegram).await {
                    return Some(refused.to_string());
                }
            }
            (!members.is_empty()).then(|| "no longer linked: nothing is decided from here any more".to_owned())
        })
    }
}

async fn read(hub: &Hub, ids: Vec<ApprovalId>) -> Option<Vec<Approval>> {
    if ids.is_empty() {
        return Some(Vec::new());
    }
    let found =
        hub.read(move |reader| ids.into_iter().map(|id| reader.get::<Approval>(id)).collect::<Result<Vec<_>, _>>());
    Some(found.await.ok()?.into_iter().flatten().collect())
}

fn asked<'a>(state: &'a State, approval: &'a Approval) -> impl Iterator<Item = Asked> + 'a {
    let open = approval.status == ApprovalStatus::Pending;
    let accounts = access::telegram_deciders(state, approval).filter(move |_| open);
    accounts.map(|account| Asked { user: UserId(account.user), question: question(state, approval) })
}

fn question(state: &State, approval: &Approval) -> Question {
    let place = approval.channel.and_then(|channel| state.channel(channel)).map(|room| match room.channel.kind {
        kind if kind.is_direct() => "a direct conversation".to_owned(),
        _ => format!("#{}", room.channel.name),
    });
    Question {
        approval: approval.id.to_string(),
        is_brake: approval.kind == ApprovalKind::LoopGuard,
        agent: state.name_of(approval.agent).to_owned(),
        place,
        action: approval.action.clone(),
        payload: approval.payload.clone(),
        shown: objects::shown(approval),
        has_run: approval.run.is_some(),
        expires: format!("{} {} UTC", moment::date(approval.expires_at), moment::time(approval.expires_at)),
    }
}

/// What became of a question, in the words of its card.
fn outcome(state: &State, approval: &Approval) -> String {
    let brake = approval.kind == ApprovalKind::LoopGuard;
    let how = match (approval.status, approval.scope, brake) {
        (ApprovalStatus::Pending, _, _) => return "no longer yours to decide".to_owned(),
        (ApprovalStatus::Approved, ApprovalScope::Once, false) => "allowed once",
        (ApprovalStatus::Approved, ApprovalScope::Run, false) => "allowed for this run",
        (ApprovalStatus::Approved, ApprovalScope::Once, true) => "posted",
        (ApprovalStatus::Approved, ApprovalScope::Run, true) => "continued",
        (ApprovalStatus::Denied, _, false) => "denied",
        (ApprovalStatus::Denied, _, true) => "stopped",
    };
    let by = approval.reviewer.map(|reviewer| format!(" by {}", state.name_of(reviewer))).unwrap_or_default();
    let note = approval.note.as_ref().map(|note| format!(": {note}")).unwrap_or_default();
    format!("{how}{by}{note}")
}

async fn decide(hub: &Hub, user: UserId, id: ApprovalId, decision: Decision) -> Result<Approval, Refusal> {
    let found = hub.read(move |reader| reader.get::<Approval>(id)).await?;
    let approval = found.ok_or(refusal::APPROVAL_NOT_FOUND)?;
    let member = hub.with_state(|state| access::telegram_member(state, user.0, approval.workspace))?;
    let scope = if decision.for_run { ApprovalScope::Run } else { ApprovalScope::Once };
    let command = Command::DecideApproval { approval: id, approved: decision.approved, scope, note: decision.note };
    match hub.execute(Actor::new(member, Door::Telegram), command).await? {
        Reply::Approval(approval) => Ok(approval),
        _ => Err(Refusal::unavailable("internal error")),
    }
}

async fn link(hub: &Hub, user: UserId, name: String, code: &str) -> Result<MemberId, Refusal> {
    let command = Command::LinkTelegram { code_hash: code_hash(code), user: user.0, name };
    match hub.execute(Actor::hub(Door::Telegram), command).await? {
        Reply::TelegramLink(link) => Ok(link.member),
        _ => Err(Refusal::unavailable("internal error")),
    }
}

/// A code is the same in any case, with or without its dash: people may type it.
pub fn code_hash(code: &str) -> folkmoot_core::model::KeyHash {
    // A longer one is nobody's, and need not be gone through.
    let code = code.get(..MAX_CODE_BYTES).unwrap_or(code);
    Auth::hash_key(&code.trim().replace('-', "").to_ascii_lowercase())
}
