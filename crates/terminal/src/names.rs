//! Names where the hub wants ids: `general`, `#general`, `@bob`, `bob`, or the id itself.

use serde_json::{Value, json};

use crate::Fault;
use crate::client::{Session, items, text};
use folkmoot_config::nearest;

/// A channel to write to or read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    pub channel_id: String,
    /// As people call it: `#general` or `@bob`.
    pub label: String,
}

/// The channel that is meant; `@bob` opens the direct channel with bob.
pub async fn target(session: &Session, name: &str) -> anyhow::Result<Target> {
    if let Some(member) = name.strip_prefix('@') {
        return direct(session, member).await;
    }
    let channels = session.hub.get(&session.workspace_path("/channels"), &[]).await?;
    let wanted = name.strip_prefix('#').unwrap_or(name);
    if let Some(channel) = pick(items(&channels), wanted) {
        return Ok(Target { channel_id: text(channel, "id").to_owned(), label: format!("#{}", text(channel, "name")) });
    }
    // Direct channels are not in the list; whoever has the id may still use it.
    if wanted.starts_with("ch_") || wanted.starts_with("dm_") {
        return Ok(Target { channel_id: wanted.to_owned(), label: wanted.to_owned() });
    }
    let fault = unknown("channel", wanted, items(&channels), "moot channel list");
    let members = session.hub.get(&session.workspace_path("/members"), &[]).await?;
    Err(match pick(items(&members), wanted) {
        Some(member) => fault.hint(format!("for a direct message write `@{}`", text(member, "name"))),
        None => fault,
    }
    .into())
}

async fn direct(session: &Session, name: &str) -> anyhow::Result<Target> {
    let member = member(session, name).await?;
    let body = json!({"member_ids": [session.member_id, member.id]});
    let channel = session.hub.post(&session.workspace_path("/dm"), &body).await?;
    Ok(Target { channel_id: text(&channel, "id").to_owned(), label: format!("@{}", member.name) })
}

/// Somebody of the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    pub id: String,
    pub name: String,
}

pub async fn member(session: &Session, name: &str) -> anyhow::Result<Member> {
    let members = session.hub.get(&session.workspace_path("/members"), &[]).await?;
    let wanted = name.strip_prefix('@').unwrap_or(name);
    let found = pick(items(&members), wanted);
    let found = found.ok_or_else(|| unknown("member", wanted, items(&members), "moot member list"))?;
    Ok(Member { id: text(found, "id").to_owned(), name: text(found, "name").to_owned() })
}

/// The item with this id, else with this name; names do not regard case.
fn pick<'a>(list: &'a [Value], wanted: &str) -> Option<&'a Value> {
    let by_id = list.iter().find(|item| text(item, "id") == wanted);
    by_id.or_else(|| list.iter().find(|item| text(item, "name").to_lowercase() == wanted.to_lowercase()))
}

fn unknown(what: &str, wanted: &str, list: &[Value], command: &str) -> Fault {
    let fault = Fault::failed(format!("there is no {what} `{wanted}` that you can see"));
    match nearest(wanted, list.iter().map(|item| text(item, "name"))) {
        Some(near) => fault.hint(format!("the nearest name is `{near}`; `{command}` shows all")),
        None => fault.hint(format!("`{command}` shows all")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_beats_a_name_and_names_do_not_regard_case() {
        let list = [json!({"id": "ch_1", "name": "ch_2"}), json!({"id": "ch_2", "name": "General"})];
        assert_eq!(pick(&list, "ch_2").unwrap()["name"], "General");
        assert_eq!(pick(&list, "gENERAL").unwrap()["id"], "ch_2");
        assert!(pick(&list, "gen").is_none());
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_nearest() {
        let fault =
            unknown("channel", "genral", &[json!({"name": "general"}), json!({"name": "ops"})], "moot channel list");
        assert_eq!(fault.sentence, "there is no channel `genral` that you can see");
        assert_eq!(fault.hint.unwrap(), "the nearest name is `general`; `moot channel list` shows all");
    }
}
