//! The named notes in an agent's own workspace. Its own only.

use folkmoot_core::command::{Command, PutItem, Reply};
use folkmoot_core::ids::*;
use folkmoot_core::lookup::LookupExt;
use folkmoot_core::model::Item;
use folkmoot_core::record::{Filter, named};
use folkmoot_core::{State, refusal};
use folkmoot_doors::lark::objects::ItemObject;
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use super::bounds::{Limit, ShortName, ShortText};
use super::error::ApiError;
use super::extract::{Body, Caller, Path, Query, given};
use super::reply::{self, Answer, Done};
use super::{query, unexpected};

const DEFAULT_NAMESPACE: &str = "default";

/// What is left out stays as it is.
#[derive(Deserialize, ToSchema)]
pub struct ItemBody {
    /// The item to change; left out, the one of this name, else a new one.
    item_id: Option<String>,
    #[serde(default)]
    #[schema(max_length = 200, pattern = "plain")]
    name: String,
    /// `default` when left out.
    #[schema(max_length = 200, pattern = "plain")]
    namespace: Option<String>,
    content: Option<String>,
    description: Option<String>,
    tags: Option<Vec<String>>,
}

/// Write an item, new or known by its name.
#[utoipa::path(put, path = "/v1/agents/{agent}/workspace", tag = "agent experience", request_body = ItemBody,
    responses((status = 200, body = ItemObject)))]
pub async fn put(caller: Caller, Path(agent): Path<String>, Body(body): Body<ItemBody>) -> Answer {
    let item = given(body.item_id.clone(), ItemId::parse);
    write(&caller, &agent, item, body).await
}

/// The same, for clients that post it.
#[utoipa::path(post, path = "/v1/agents/{agent}/workspace", tag = "agent experience", request_body = ItemBody,
    responses((status = 200, body = ItemObject)))]
pub async fn put_by_post(caller: Caller, agent: Path<String>, body: Body<ItemBody>) -> Answer {
    put(caller, agent, body).await
}

/// Write the item with this id, or of this name.
#[utoipa::path(put, path = "/v1/agents/{agent}/workspace/{item}", tag = "agent experience", request_body = ItemBody,
    responses((status = 200, body = ItemObject)))]
pub async fn put_one(
    caller: Caller,
    Path((agent, item)): Path<(String, String)>,
    Body(mut body): Body<ItemBody>,
) -> Answer {
    let id = ItemId::parse(&item);
    if id.is_none() && body.name.is_empty() {
        body.name = item;
    }
    write(&caller, &agent, Some(id).filter(|id| !id.is_none()), body).await
}

async fn write(caller: &Caller, agent: &str, item: Option<ItemId>, body: ItemBody) -> Answer {
    query::own_agent(caller, agent)?;
    let put = PutItem {
        item,
        name: body.name,
        namespace: body.namespace.filter(|namespace| !namespace.is_empty()),
        content: body.content,
        description: body.description,
        tags: body.tags,
    };
    let Reply::Item(item) = caller.execute(Command::PutItem(put)).await? else { return Err(unexpected()) };
    reply::ok(&ItemObject::from(&item))
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ItemQuery {
    /// Only items of this namespace.
    #[param(inline)]
    namespace: Option<ShortName>,
    /// At most 500; 200 when left out.
    #[serde(default)]
    #[param(inline)]
    limit: Limit<200, 500>,
}

/// The agent's items, newest first.
#[utoipa::path(get, path = "/v1/agents/{agent}/workspace", tag = "agent experience", params(ItemQuery),
    responses((status = 200, body = [ItemObject])))]
pub async fn list(caller: Caller, Path(agent): Path<String>, Query(query): Query<ItemQuery>) -> Answer {
    let in_namespace =
        |item: &Item| query.namespace.as_ref().is_none_or(|namespace| item.namespace == namespace.as_str());
    find(&caller, &agent, query.limit.get(), in_namespace).await
}

async fn find(caller: &Caller, agent: &str, limit: usize, wanted: impl Fn(&Item) -> bool) -> Answer {
    let agent = query::own_agent(caller, agent)?;
    let wanted = |_: &State, _: &_, item: &Item| wanted(item);
    let items = query::visible(caller, Filter::owner(agent), limit, wanted).await?;
    reply::ok(&items.iter().map(ItemObject::from).collect::<Vec<_>>())
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ItemSearch {
    /// Words that must all occur in the name, description, content or tags.
    #[param(inline)]
    q: ShortText,
    /// At most 500; 50 when left out.
    #[serde(default)]
    #[param(inline)]
    limit: Limit<50, 500>,
}

/// Find items by their words.
#[utoipa::path(get, path = "/v1/agents/{agent}/workspace/search", tag = "agent experience", params(ItemSearch),
    responses((status = 200, body = [ItemObject])))]
pub async fn search(caller: Caller, Path(agent): Path<String>, Query(query): Query<ItemSearch>) -> Answer {
    let words = query.q.as_str().to_lowercase();
    find(&caller, &agent, query.limit.get(), |item| contains_all(item, &words)).await
}

fn contains_all(item: &Item, words: &str) -> bool {
    let mut text = [&*item.name, &item.description, &item.content].join("\n");
    text.extend(item.tags.iter().flat_map(|tag| ["\n", tag.as_str()]));
    let text = text.to_lowercase();
    words.split_whitespace().all(|word| text.contains(word))
}

/// One item, by its id or its name in the default namespace.
#[utoipa::path(get, path = "/v1/agents/{agent}/workspace/{item}", tag = "agent experience",
    responses((status = 200, body = ItemObject)))]
pub async fn get(caller: Caller, Path((agent, item)): Path<(String, String)>) -> Answer {
    let item = one(&caller, &agent, &item).await?;
    reply::ok(&ItemObject::from(&item))
}

/// Delete an item, by its id or its name in the default namespace.
#[utoipa::path(delete, path = "/v1/agents/{agent}/workspace/{item}", tag = "agent experience",
    responses((status = 200, body = Done)))]
pub async fn delete(caller: Caller, Path((agent, item)): Path<(String, String)>) -> Answer {
    let item = one(&caller, &agent, &item).await?.id;
    caller.execute(Command::RemoveItem { item }).await?;
    reply::deleted(item)
}

async fn one(caller: &Caller, agent: &str, item: &str) -> Result<Item, ApiError> {
    let agent = query::own_agent(caller, agent)?;
    let id = ItemId::parse(item);
    let by_name = Filter::owner(agent).named(named(DEFAULT_NAMESPACE, item)).limit(1);
    let found = caller.read(move |reader| match reader.get::<Item>(id)? {
        Some(item) => Ok(Some(item)),
        None => reader.first::<Item>(&by_name),
    });
    let own = found.await?.filter(|item| item.agent == agent);
    Ok(own.ok_or(refusal::ITEM_NOT_FOUND)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_finds_items_that_contain_all_words_anywhere() {
        let item = Item {
            id: ItemId(1),
            agent: MemberId(1),
            name: "Notes.md".into(),
            namespace: "default".into(),
            content: "owls hunt at night".into(),
            description: "about birds".into(),
            tags: vec!["zoo".into()],
            created_at: 0,
            updated_at: 0,
        };
        for (words, found) in [("owls", true), ("notes zoo birds", true), ("", true), ("owls zebra", false)] {
            assert_eq!(contains_all(&item, words), found, "{words}");
        }
    }
}
