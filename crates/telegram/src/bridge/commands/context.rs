//! `/ctx`: which project and branch a chat or topic works in.

use std::sync::Arc;

use super::{Call, CommandAnswer, context_here, later, said};
use crate::bridge::Bridge;
use crate::context::Context;
use crate::journal::Preference;
use crate::shared::Shared;
use crate::worktree::{self, Missing};

pub async fn ctx(bridge: &Bridge, call: Call) -> CommandAnswer {
    let place = call.place;
    match call.arguments()[..] {
        [] => {
            let shared = Arc::clone(bridge.shared());
            let context = bridge.shared().journal.transact(move |rows| context_here(rows, &shared, place)).await?;
            said(match context {
                Some(context) => format!("works in {}", context.line()),
                None => {
                    let folder = bridge.shared().settings.start_folder.display().to_string();
                    format!("works in `{folder}`, without a project\n\n`/ctx set PROJECT [@BRANCH]` changes that")
                }
            })
        }
        ["clear"] => {
            let store = move |rows: &mut crate::journal::Rows<'_>| rows.prefer(place, &Preference::Context, None);
            bridge.shared().journal.transact(store).await?;
            said("nothing is bound here any more")
        }
        ["set", project] => bind(bridge, &call, project, None),
        ["set", project, branch] if branch.starts_with('@') => bind(bridge, &call, project, Some(&branch[1..])),
        _ => said("use `/ctx`, `/ctx set PROJECT [@BRANCH]` or `/ctx clear`"),
    }
}

/// Makes the branch where there is none, because somebody asked for it.
fn bind(bridge: &Bridge, call: &Call, project: &str, branch: Option<&str>) -> CommandAnswer {
    let Some((alias, _)) = bridge.shared().settings.projects.find(project) else {
        return said(unknown_project(bridge.shared(), project));
    };
    let (shared, place, context) = (Arc::clone(bridge.shared()), call.place, Context::new(alias, branch));
    later(bridge, call.spot, async move {
        if let Err(error) = worktree::folder(&shared.settings.projects, &context, Missing::Create).await {
            return Some(error.to_string());
        }
        let value = serde_json::to_string(&context).ok()?;
        let store = move |rows: &mut crate::journal::Rows<'_>| rows.prefer(place, &Preference::Context, Some(&value));
        Some(match shared.journal.transact(store).await {
            Ok(()) => format!("works in {}", context.line()),
            Err(error) => error.to_string(),
        })
    })
}

pub fn unknown_project(shared: &Shared, name: &str) -> String {
    let names: Vec<&str> = shared.settings.projects.aliases().collect();
    match names.is_empty() {
        true => format!("there is no project `{name}`\n\nhint: add a table `[projects.{name}]` with a `path`"),
        false => format!("there is no project `{name}`; there are {}", names.join(", ")),
    }
}
