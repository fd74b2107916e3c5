//! For the operator: figures, and a backup while the hub runs.

use folkmoot_core::{Actor, Millis, Refusal, State, access};
use serde::Serialize;
use tokio::sync::Semaphore;
use utoipa::ToSchema;

use super::extract::Caller;
use super::reply::{self, Answer};
use super::unexpected;

/// One backup at a time; each reads the whole database.
static TURN: Semaphore = Semaphore::const_new(1);

/// What there is in a workspace, and how the hub is.
#[derive(Serialize, ToSchema)]
pub struct Figures {
    version: &'static str,
    uptime_s: u64,
    members: usize,
    agents: usize,
    agents_online: usize,
    channels: usize,
    /// Sent so far.
    messages: u64,
    /// Logged-in connections.
    connections: usize,
}

impl Figures {
    /// As the caller sees them: of its own workspace, and of channels it may read.
    pub fn new(state: &State, actor: Actor, uptime_s: u64) -> Result<Self, Refusal> {
        let reader = access::member(state, actor)?;
        let is_online = |id| state.presence_of(id) != folkmoot_core::model::Presence::Offline;
        let mut figures = Self {
            version: env!("CARGO_PKG_VERSION"),
            uptime_s,
            members: 0,
            agents: 0,
            agents_online: 0,
            channels: 0,
            messages: 0,
            connections: 0,
        };
        for member in state.members_of(reader.workspace) {
            figures.members += 1;
            figures.agents += usize::from(member.is_agent());
            figures.agents_online += usize::from(member.is_agent() && is_online(member.id));
            figures.connections += state.connections_of(member.id).len();
        }
        for room in state.channels_in(reader.workspace).filter(|room| access::may_read(state, reader, room)) {
            figures.channels += 1;
            figures.messages += room.head.version;
        }
        Ok(figures)
    }
}

/// Figures of the workspace (owner or admin).
#[utoipa::path(get, path = "/v1/admin/stats", tag = "operator", responses((status = 200, body = Figures)))]
pub async fn stats(caller: Caller) -> Answer {
    let uptime_s = caller.hub.uptime_s();
    caller.query(|state, actor| {
        let workspace = access::member(state, actor)?.workspace;
        access::admin(state, actor, workspace)?;
        Ok(reply::ok(&Figures::new(state, actor, uptime_s)?))
    })?
}

#[derive(Serialize, ToSchema)]
pub struct BackupMade {
    #[schema(example = "ok")]
    status: &'static str,
    /// The file below `backups/` in the data folder.
    file: String,
    size: u64,
    created_at: Millis,
}

/// Write a backup below the data folder (owner or admin of the hub's first workspace). The hub goes on meanwhile.
#[utoipa::path(post, path = "/v1/admin/backup", tag = "operator", responses((status = 409, description = "a backup is being made already"), (status = 201, body = BackupMade)))]
pub async fn backup(caller: Caller) -> Answer {
    caller.query(access::operator)?;
    let turn = TURN.try_acquire().map_err(|_| Refusal::conflict("a backup is being made already"))?;
    // On its own task: it goes on, and keeps its turn, when the client hangs up.
    let working = tokio::spawn(async move {
        let _turn = turn;
        let folder = caller.hub.data_dir().join("backups");
        let created_at = caller.hub.now();
        let file = format!("folkmoot-{created_at}.backup");
        let made = folkmoot_hub::modes::make_folder(&folder);
        made.map_err(|error| Refusal::unavailable(format!("the folder for backups cannot be made: {error}")))?;
        let target = folder.join(&file);
        caller.hub.backup_to(target.clone()).await?;
        let size = tokio::fs::metadata(&target).await.map_or(0, |metadata| metadata.len());
        reply::created(&BackupMade { status: "ok", file, size, created_at })
    });
    working.await.map_err(|_| unexpected())?
}

#[cfg(test)]
mod tests {
    use folkmoot_core::ids::*;
    use folkmoot_core::model::*;
    use folkmoot_core::record::Record;

    use folkmoot_core::access::operator;
    use folkmoot_core::{Actor, State};

    fn workspace(id: u128) -> Record {
        let id = WorkspaceId(id);
        Record::Workspace(Workspace { id, name: "w".into(), slug: format!("w{}", id.0), created_at: 0 })
    }

    fn member(id: u128, workspace: u128, role: Role) -> Record {
        Record::Member(Member {
            id: MemberId(id),
            workspace: WorkspaceId(workspace),
            kind: MemberKind::Human,
            role,
            name: format!("m{id}"),
            nick: None,
            email: None,
            avatar: None,
            created_by: None,
            created_at: 0,
            role_card: None,
            runtime: None,
            secrets: Secrets::default(),
            guest: None,
            visit: None,
            removed: false,
        })
    }

    #[test]
    fn only_the_admins_of_the_first_workspace_run_the_hub() {
        let records = [
            workspace(1),
            workspace(2),
            member(11, 1, Role::Owner),
            member(12, 1, Role::Admin),
            member(13, 1, Role::Member),
            member(21, 2, Role::Owner),
        ];
        let state = State::load(records, []);
        let may = |id| operator(&state, Actor::new(MemberId(id), Door::Rest)).is_ok();
        assert_eq!([11, 12, 13, 21, 99].map(may), [true, true, false, false, false]);
    }
}
