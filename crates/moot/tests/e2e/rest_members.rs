//! Members: humans and agents, their names, and what stays private.

use serde_json::{Value, json};

use crate::support::member::{PASSWORD, email, hello};
use crate::support::{Member, column, items, start, text};

async fn add(member: &Member, body: Value) -> crate::support::Answer {
    member.rest.post(&member.path("members"), body).await
}

#[tokio::test]
async fn an_agent_gets_its_api_key_once() {
    let (_hub, alice) = start().await;
    let made = add(&alice, json!({ "name": "codebot", "type": "agent" })).await.created();
    assert_eq!(made["name"], "codebot");
    assert_eq!(made["type"], "agent");
    let key = text(&made, "api_key");
    let digits = key.strip_prefix("lr_").expect("a key that starts with lr_");
    assert_eq!(digits.len(), 64);
    assert!(digits.bytes().all(|digit| digit.is_ascii_hexdigit()), "{key}");
    let path = alice.path(&format!("members/{}", text(&made, "id")));
    for shown in [alice.rest.get(&path).await, alice.rest.get(&alice.path("members")).await] {
        let shown = shown.text();
        assert!(!shown.contains("lr_") && !shown.contains("api_key"), "{shown}");
    }
}

#[tokio::test]
async fn a_human_is_added_with_email_and_password() {
    let (_hub, alice) = start().await;
    let body = json!({ "name": "bob", "type": "human", "email": email("bob"), "password": PASSWORD, "nick": "Bobby" });
    let made = add(&alice, body).await.created();
    assert_eq!(made["name"], "bob");
    assert_eq!(made["type"], "human");
    assert_eq!(made["nick"], "Bobby");
    assert!(made["api_key"].is_null(), "{made}");
    let bob = alice.log_in("bob").await;
    assert_eq!(bob.id, text(&made, "id"));
    assert_eq!(bob.workspace, alice.workspace);
}

#[tokio::test]
async fn only_owner_and_admins_add_members() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let codebot = alice.add_agent("codebot").await;
    for member in [&bob, &codebot] {
        let body = json!({ "name": "sneaky", "type": "agent" });
        add(member, body).await.refused(403, "FORBIDDEN");
    }
    let list = alice.rest.get(&alice.path("members")).await.ok();
    assert!(!column(&list, "name").contains(&"sneaky"));
}

#[tokio::test]
async fn a_name_exists_once_without_regard_to_case() {
    let (_hub, alice) = start().await;
    alice.add_agent("codebot").await;
    for name in ["codebot", "CodeBot", "CODEBOT", "Alice"] {
        let body = json!({ "name": name, "type": "agent" });
        add(&alice, body).await.refused(409, "CONFLICT");
    }
    let list = alice.rest.get(&alice.path("members")).await.ok();
    assert_eq!(items(&list).len(), 2);
}

#[tokio::test]
async fn the_same_name_may_exist_in_another_workspace() {
    let (hub, alice) = start().await;
    let other = crate::support::register(&hub, "other").await;
    alice.add_agent("codebot").await;
    other.add_agent("codebot").await;
}

#[tokio::test]
async fn a_member_of_unknown_type_or_without_a_name_is_refused() {
    let (_hub, alice) = start().await;
    for body in [
        json!({ "name": "x", "type": "robot" }),
        json!({ "name": "", "type": "agent" }),
        json!({ "type": "agent" }),
        json!({ "name": 7, "type": "agent" }),
    ] {
        add(&alice, body).await.refused(400, "BAD_REQUEST");
    }
    let list = alice.rest.get(&alice.path("members")).await.ok();
    assert_eq!(items(&list).len(), 1);
}

#[tokio::test]
async fn a_short_password_is_refused_for_members_too() {
    let (_hub, alice) = start().await;
    let body = json!({ "name": "bob", "type": "human", "email": email("bob"), "password": "short" });
    add(&alice, body).await.refused(400, "BAD_REQUEST");
}

#[tokio::test]
async fn a_member_shows_the_role_card_of_an_agent() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let codebot = alice.add_agent("codebot").await;
    let mut lark = codebot.lark().await;
    lark.asks("agent.hello", hello("codebot", "You review."), "agent.welcome").await;
    let path = bob.path(&format!("members/{}", codebot.id));
    let shown = bob.rest.get(&path).await.ok();
    assert_eq!(shown["role_card"]["system_prompt"], "You review.");
}

#[tokio::test]
async fn other_peoples_email_never_appears() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[&bob, &codebot]).await;
    alice.post(&general, "hello").await;
    for reader in [&bob, &codebot] {
        let paths = [
            reader.path("members"),
            reader.path(&format!("members/{}", alice.id)),
            reader.path(&format!("channels/{general}")),
            format!("/v1/channels/{general}/messages"),
        ];
        for path in paths {
            let shown = reader.rest.get(&path).await.text();
            assert!(!shown.contains(&email("alice")), "{path}: {shown}");
        }
    }
}

#[tokio::test]
async fn members_me_is_the_caller() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let me = codebot.rest.get("/v1/members/me").await.ok();
    assert_eq!(me["id"], codebot.id.as_str());
    assert_eq!(me["type"], "agent");
    assert_eq!(me["workspace_id"], alice.workspace.as_str());
}

#[tokio::test]
async fn the_owner_has_the_role_owner_and_others_are_members() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let role = async |member: &Member| {
        let me = member.rest.get("/v1/members/me").await.ok();
        text(&me, "role").to_owned()
    };
    assert_eq!(role(&alice).await, "owner");
    assert_eq!(role(&bob).await, "member");
}

#[tokio::test]
async fn nobody_makes_himself_an_admin() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let path = bob.path(&format!("members/{}", bob.id));
    let answer = bob.rest.patch(&path, json!({ "role": "admin" })).await;
    assert!((200..500).contains(&answer.status), "{answer:?}");
    let me = bob.rest.get("/v1/members/me").await.ok();
    assert_eq!(me["role"], "member");
}

#[tokio::test]
async fn the_owner_makes_an_admin_who_adds_members() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let path = alice.path(&format!("members/{}", bob.id));
    alice.rest.patch(&path, json!({ "role": "admin" })).await.ok();
    add(&bob, json!({ "name": "codebot", "type": "agent" })).await.created();
}

#[tokio::test]
async fn a_member_changes_its_own_nick_and_not_anothers() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let own = bob.path(&format!("members/{}", bob.id));
    let changed = bob.rest.patch(&own, json!({ "nick": "Bobby" })).await.ok();
    assert_eq!(changed["nick"], "Bobby");
    let foreign = bob.path(&format!("members/{}", alice.id));
    let refusal = bob.rest.patch(&foreign, json!({ "nick": "Ally" })).await;
    refusal.refused(403, "FORBIDDEN");
}

#[tokio::test]
async fn a_removed_member_is_out_everywhere() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let general = alice.add_channel("general", &[&bob]).await;
    bob.post(&general, "my words stay").await;
    let mut lark = bob.lark().await;
    let path = alice.path(&format!("members/{}", bob.id));
    alice.rest.delete(&path).await.ok();
    lark.closed().await;
    bob.rest.get("/v1/members/me").await.refused_as(&[401]);
    let list = alice.rest.get(&alice.path("members")).await.ok();
    assert_eq!(column(&list, "name"), ["alice"]);
    assert_eq!(alice.texts(&general).await, ["my words stay"]);
}

#[tokio::test]
async fn a_plain_member_removes_nobody() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let path = bob.path(&format!("members/{}", alice.id));
    bob.rest.delete(&path).await.refused(403, "FORBIDDEN");
    alice.rest.get("/v1/members/me").await.ok();
}

/// What `reader` is told that it may do with a member.
async fn told(reader: &Member, id: &str) -> Value {
    let list = reader.rest.get(&reader.path("members")).await.ok();
    let listed = items(&list).iter().find(|member| member["id"] == id).unwrap().clone();
    let one = reader.rest.get(&reader.path(&format!("members/{id}"))).await.ok();
    assert_eq!(listed["may"], one["may"]);
    listed["may"].clone()
}

#[tokio::test]
async fn everybody_is_told_what_they_may_do_with_a_member_and_the_hub_keeps_to_it() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let admin = alice.add_human("carol").await;
    let codebot = alice.add_agent("codebot").await;
    let role = |member: &Member| alice.path(&format!("members/{}", member.id));
    alice.rest.patch(&role(&admin), json!({ "role": "admin" })).await.ok();
    let all = json!(["change", "change_role", "replace_key", "remove"]);
    assert_eq!(told(&alice, &codebot.id).await, all);
    assert_eq!(told(&alice, &bob.id).await, json!(["change", "change_role", "remove"]));
    assert_eq!(told(&alice, &alice.id).await, json!(["change", "replace_key"]), "the owner stays");
    assert_eq!(told(&admin, &bob.id).await, json!(["change", "remove"]));
    assert_eq!(told(&admin, &alice.id).await, Value::Null);
    assert_eq!(told(&bob, &codebot.id).await, Value::Null);
    assert_eq!(told(&bob, &bob.id).await, json!(["change", "replace_key"]));
    for reader in [&bob, &codebot, &admin] {
        for target in [&alice, &bob, &admin, &codebot] {
            let may = told(reader, &target.id).await;
            let says = |right: &str| may.as_array().is_some_and(|may| may.contains(&json!(right)));
            let path = reader.path(&format!("members/{}", target.id));
            let nick = format!("{}-{}", target.name, reader.name);
            let changed = reader.rest.patch(&path, json!({ "nick": nick })).await;
            assert_eq!(changed.status == 200, says("change"), "{}", changed.text());
            let raised = reader.rest.patch(&path, json!({ "role": "admin" })).await;
            assert_eq!(raised.status == 200, says("change_role") || says("change") && target.id == admin.id);
        }
    }
    admin.rest.delete(&role(&bob)).await.ok();
    admin.rest.delete(&role(&alice)).await.refused(403, "FORBIDDEN");
}

#[tokio::test]
async fn everybody_is_told_what_they_may_do_in_the_workspace() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let carol = alice.add_human("carol").await;
    alice.rest.patch(&alice.path(&format!("members/{}", carol.id)), json!({ "role": "admin" })).await.ok();
    let workspace = format!("/v1/workspaces/{}", alice.workspace);
    assert_eq!(alice.rest.get(&workspace).await.ok()["may"], json!(["administer", "make_admins", "cancel_wakes"]));
    assert_eq!(carol.rest.get(&workspace).await.ok()["may"], json!(["administer", "cancel_wakes"]));
    assert!(bob.rest.get(&workspace).await.ok().get("may").is_none());
    carol.rest.post(&alice.path("invites"), json!({ "role": "admin" })).await.refused(403, "FORBIDDEN");
    bob.rest.post(&alice.path("invites"), json!({})).await.refused(403, "FORBIDDEN");
}
