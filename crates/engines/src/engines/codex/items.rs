//! Items of the app server in the words of `codex exec`: the same things in camel case.

use serde_json::{Map, Value};

use crate::json::list;

pub fn snake_item(item: &Value) -> Value {
    let mut item = snake(item);
    let kind = item.get("type").and_then(Value::as_str).map(snake_word).unwrap_or_default();
    let kind = if kind == "collab_agent_tool_call" { "collab_tool_call".to_owned() } else { kind };
    if kind == "reasoning" {
        let parts = list(&item, "summary").iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n");
        item["text"] = Value::String(parts);
    }
    if ["user_message", "hook_prompt", "function_call_output"].contains(&kind.as_str()) {
        return Value::Null;
    }
    if let Some(status) = item.get("status").and_then(Value::as_str).map(snake_word) {
        item["status"] = Value::String(status);
    }
    item["type"] = Value::String(kind);
    item
}

/// The fields of an object in snake case; values stay.
fn snake(value: &Value) -> Value {
    let Some(object) = value.as_object() else { return Value::Object(Map::new()) };
    Value::Object(object.iter().map(|(name, value)| (snake_word(name), value.clone())).collect())
}

fn snake_word(word: &str) -> String {
    let mut snake = String::with_capacity(word.len() + 4);
    for letter in word.chars() {
        if letter.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

/// Notifications of codex 0.166 that people need not see.
pub const QUIET: &[&str] = &[
    "account/gatewayOAuth/changed",
    "account/login/completed",
    "account/updated",
    "app/list/updated",
    "autoApprovalReview/strictReviewRequired",
    "command/exec/outputDelta",
    "externalAgentConfig/import/completed",
    "externalAgentConfig/import/progress",
    "fs/changed",
    "hook/completed",
    "hook/started",
    "item/autoApprovalReview/completed",
    "item/autoApprovalReview/started",
    "item/commandExecution/outputDelta",
    "item/commandExecution/terminalInteraction",
    "item/fileChange/outputDelta",
    "item/fileChange/patchUpdated",
    "item/mcpToolCall/progress",
    "item/plan/delta",
    "item/reasoning/summaryPartAdded",
    "mcpServer/event/stream/notification",
    "mcpServer/oauthLogin/completed",
    "mcpServer/startupStatus/updated",
    "model/rerouted",
    "model/safetyBuffering/updated",
    "model/verification",
    "modelProvider/authRecoveryCompleted",
    "modelProvider/authRecoveryStarted",
    "process/exited",
    "process/outputDelta",
    "project/changed",
    "remoteControl/status/changed",
    "skills/changed",
    "thread/attachment/updated",
    "thread/closed",
    "thread/compacted",
    "thread/environment/connected",
    "thread/environment/disconnected",
    "thread/goal/cleared",
    "thread/goal/updated",
    "thread/name/updated",
    "thread/prediction/updated",
    "thread/project/updated",
    "thread/queue/changed",
    "thread/readState/changed",
    "thread/settings/updated",
    "thread/started",
    "thread/status/changed",
    "turn/diff/updated",
    "turn/moderationMetadata",
    "turn/plan/updated",
];
