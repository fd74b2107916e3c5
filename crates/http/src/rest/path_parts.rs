//! What the parts of a path are: ids of a kind, or texts that somebody chose.

use folkmoot_core::ids::*;
use serde_json::{Value, json};

/// What stands in a part.
enum Part {
    /// An id, by its beginning.
    Id(&'static str),
    /// The id of a member, or `me`.
    Member,
    /// The id of a routed sentence.
    Sentence,
    /// A text of at most so many characters.
    Text(usize, &'static str),
}

use Part::*;

const TEXT: usize = 255;
const ULID: &str = "[0-7][0-9A-HJKMNP-TV-Z]{25}";
const ULID_EXAMPLE: &str = "01JCZ8Q3V7K5R2M9X4T6B8C0D1";

/// The parts by name, with their meaning.
const PARTS: &[(&str, &str, Part)] = &[
    ("workspace", "id of a workspace", Id(WorkspaceId::PREFIX)),
    ("member", "id of a member, or `me`", Member),
    ("agent", "id of an agent, or `me`", Member),
    ("namespace", "namespace of a remembered value", Text(TEXT, "default")),
    ("key", "key of a remembered value", Text(TEXT, "standup")),
    ("channel", "id of a channel", Id(ChannelId::PREFIX)),
    ("message", "id of a message", Id(MessageId::PREFIX)),
    ("emoji", "the emoji, percent-encoded", Text(32, "👍")),
    ("pin", "id of a pin", Id(PinId::PREFIX)),
    ("task", "id of a task", Id(TaskId::PREFIX)),
    ("notification", "id of a notification", Id(NotificationId::PREFIX)),
    ("item", "id of an item", Id(NotificationId::PREFIX)),
    ("draft", "id of a draft", Id(DraftId::PREFIX)),
    ("review", "id of a review", Id(ReviewId::PREFIX)),
    ("approval", "id of an approval", Id(ApprovalId::PREFIX)),
    ("delivery", "id of a delivery, which is one wake of one agent", Id(DeliveryId::PREFIX)),
    ("run", "id of a run", Id(RunId::PREFIX)),
    ("file", "id of a file", Id(FileId::PREFIX)),
    ("call", "id of a call", Id(CallId::PREFIX)),
    ("webhook", "id of a webhook", Id(WebhookId::PREFIX)),
    ("secret", "the secret of the webhook", Text(256, "whs_0f4c…")),
    ("credential", "a session, key or link of the caller, by id", Text(TEXT, "tok_01JCZ8Q3V7K5R2M9X4T6B8C0D1")),
    ("invite", "an invitation, by id", Id(InviteId::PREFIX)),
    ("code", "the code of an invitation", Text(TEXT, "5f0c9b27ae1d4c83a6f2e9b07d51c4aa")),
    ("daemon", "id of a daemon", Text(TEXT, "daemon_1")),
    ("machine", "id of a machine", Id(MachineId::PREFIX)),
    ("guild", "id of a guild, as the agents of a pool name it", Text(TEXT, "guild-1")),
    ("voice_channel", "id of a voice channel of the guild", Text(TEXT, "voice-1")),
    ("name", "id of a file, with any ending", Text(TEXT, "file_01JCZ8Q3V7K5R2M9X4T6B8C0D1.png")),
    ("pool_agent", "id of a pool's agent, as it names itself", Text(TEXT, "agent-1")),
    ("message_id", "id of a routed sentence", Sentence),
    ("engine", "name of an engine", Text(TEXT, "claude")),
    ("hosted", "name of an agent that the hub hosts", Text(TEXT, "claude")),
];

/// Where a part is more than its name says: the addresses that take a name as well as an id.
const BY_NAME: &[(&str, &str, &str)] = &[
    ("/disconnect", "agent", "id or name of an agent"),
    ("/v1/daemons/", "agent", "id or name of an agent that the daemon carries"),
    ("/workspace/{item}", "item", "id of an item, or its name in the default namespace"),
];

/// The names of a path's parts.
pub fn of(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
}

pub fn parameter(path: &str, name: &str) -> Value {
    let by_name = BY_NAME.iter().find(|(place, part, _)| *part == name && path.contains(place));
    let (meaning, schema) = match (by_name, PARTS.iter().find(|(part, ..)| *part == name)) {
        (Some((_, _, meaning)), _) => (*meaning, schema(&Text(200, "codebot"))),
        (None, Some((_, meaning, part))) => (*meaning, schema(part)),
        (None, None) => ("", schema(&Text(TEXT, ""))),
    };
    json!({ "name": name, "in": "path", "required": true, "description": meaning, "schema": schema })
}

fn schema(part: &Part) -> Value {
    let id = |prefix: &str| format!("{prefix}{ULID_EXAMPLE}");
    match part {
        Id(prefix) => json!({ "type": "string", "pattern": format!("^{prefix}{ULID}$"), "examples": [id(prefix)] }),
        Member => {
            let prefix = MemberId::PREFIX;
            json!({ "type": "string", "pattern": format!("^(me|{prefix}{ULID})$"), "examples": ["me", id(prefix)] })
        }
        Sentence => {
            let example = "msg-550e8400-e29b-41d4-a716-446655440000";
            json!({ "type": "string", "pattern": format!("^{}$", RouteId::pattern()), "examples": [example] })
        }
        Text(most, example) => {
            json!({ "type": "string", "minLength": 1, "maxLength": most, "examples": [example] })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shape_of_an_id_is_the_core_s_and_its_example_is_one() {
        assert_eq!(WorkspaceId::pattern(), format!("{}{ULID}", WorkspaceId::PREFIX));
        assert!(!WorkspaceId::parse(&format!("{}{ULID_EXAMPLE}", WorkspaceId::PREFIX)).is_none());
    }

    #[test]
    fn a_part_that_may_be_a_name_is_not_held_to_the_shape_of_an_id() {
        let by_id = parameter("/v1/agents/{agent}/inbox", "agent");
        let by_name = parameter("/v1/agents/{agent}/disconnect", "agent");
        assert!(by_id["schema"]["pattern"].is_string() && by_name["schema"]["pattern"].is_null());
    }
}
