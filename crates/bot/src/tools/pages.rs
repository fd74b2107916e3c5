//! Tools for the web: a page as text, and a search.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Desk, cut};
use crate::error::BotError;
use crate::settings::seconds;
use crate::web::{Beyond, Fetched, Purpose};
use reqwest::Url;

const MAX_PAGE_BYTES: usize = 2 << 20;
const MAX_PAGE_CHARS: usize = 15_000;
const PAGE_WIDTH: usize = 100;
const MAX_ANSWER_BYTES: usize = 1 << 20;
const MAX_HITS: u32 = 20;

/// Fetch a page of the web and read it as text.
#[derive(Deserialize, JsonSchema)]
pub struct FetchPage {
    /// The address, with https:// or http://.
    url: String,
}

pub async fn fetch_page(desk: Desk, args: FetchPage) -> Result<String, BotError> {
    let url = Url::parse(&args.url).map_err(|_| BotError::Validation(format!("`{}` is no address", args.url)))?;
    let patience = seconds(desk.means.limits.media_hunt_fetch_timeout_s);
    let fetched = desk.means.web.get(&url, Purpose::Page, MAX_PAGE_BYTES, Beyond::Cut, patience).await?;
    let text = desk.means.workers.compute(move || readable(fetched)).await??;
    Ok(cut(text, MAX_PAGE_CHARS))
}

fn readable(fetched: Fetched) -> Result<String, BotError> {
    let mut text = match fetched.kind.as_str() {
        "" | "text/html" | "application/xhtml+xml" => html2text::from_read(fetched.bytes.as_slice(), PAGE_WIDTH)
            .map_err(|error| BotError::Tool(format!("the page cannot be read: {error}")))?,
        kind if is_plain(kind) => String::from_utf8_lossy(&fetched.bytes).into_owned(),
        kind => return Err(BotError::Tool(format!("it is no page but {kind}"))),
    };
    if fetched.is_cut {
        text.push_str("\n[… the page goes on]");
    }
    Ok(text)
}

fn is_plain(kind: &str) -> bool {
    kind.starts_with("text/") || ["json", "xml", "javascript"].iter().any(|ending| kind.ends_with(ending))
}

/// Search the web.
#[derive(Deserialize, JsonSchema)]
pub struct WebSearch {
    /// What to search for.
    query: String,
    /// How many results.
    #[serde(default = "ten")]
    count: u32,
}

fn ten() -> u32 {
    10
}

/// One result of a search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hit {
    pub title: String,
    pub url: String,
    pub description: String,
}

pub async fn web_search(desk: Desk, args: WebSearch) -> Result<Vec<Hit>, BotError> {
    search(&desk, &args.query, args.count.clamp(1, MAX_HITS)).await
}

/// Asks the search service; both spellings of the question are sent, so that the usual services understand it.
pub async fn search(desk: &Desk, query: &str, count: u32) -> Result<Vec<Hit>, BotError> {
    if query.trim().is_empty() {
        return Err(BotError::Validation("there is nothing to search for".to_owned()));
    }
    let base = desk.means.limits.search_api_base.trim_end_matches('/');
    let number = count.to_string();
    let asked = [("query", query), ("q", query), ("count", &number), ("format", "json")];
    let url = Url::parse_with_params(&format!("{base}/search"), asked)
        .map_err(|error| BotError::Tool(format!("the search service has no good address: {error}")))?;
    let answer = ask(desk, url);
    let patience = seconds(desk.means.limits.media_hunt_fetch_timeout_s);
    let answer = tokio::time::timeout(patience, answer).await;
    let answer = answer.map_err(|_| BotError::Tool("the search service did not answer in time".to_owned()))??;
    let mut hits = hits(&answer)?;
    hits.truncate(count as usize);
    Ok(hits)
}

async fn ask(desk: &Desk, url: Url) -> Result<Value, BotError> {
    let _turn = desk.means.web.turn().await;
    let unreachable = |error: reqwest::Error| {
        BotError::Tool(format!("the search service cannot be reached: {}", error.without_url()))
    };
    let mut response = desk.means.web.trusted().get(url).send().await.map_err(unreachable)?;
    if !response.status().is_success() {
        return Err(BotError::Tool(format!("the search service answered {}", response.status())));
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(unreachable)? {
        body.extend_from_slice(&chunk);
        if body.len() > MAX_ANSWER_BYTES {
            return Err(BotError::Tool("the search service answered without end".to_owned()));
        }
    }
    serde_json::from_slice(&body).map_err(|_| BotError::Tool("the search service answered no JSON".to_owned()))
}

/// The results in an answer: a list, or a list under `results`.
fn hits(answer: &Value) -> Result<Vec<Hit>, BotError> {
    let list = answer.as_array().or_else(|| answer["results"].as_array());
    let list = list.ok_or_else(|| BotError::Tool("the search service answered no results".to_owned()))?;
    let field = |hit: &Value, names: &[&str]| {
        let found = names.iter().find_map(|name| hit[name].as_str()).unwrap_or_default();
        cut(found.to_owned(), 600)
    };
    Ok(list
        .iter()
        .map(|hit| Hit {
            title: field(hit, &["title", "name"]),
            url: field(hit, &["url", "link", "href"]),
            description: field(hit, &["description", "content", "snippet", "body"]),
        })
        .filter(|hit| !hit.url.is_empty())
        .collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn page(kind: &str, bytes: &[u8]) -> Result<String, BotError> {
        readable(Fetched { kind: kind.into(), bytes: bytes.to_vec(), is_cut: false })
    }

    #[test]
    fn a_page_is_read_as_text_without_its_scripts() {
        let text =
            page("text/html", b"<title>T</title><script>alert(1)</script><h1>Hi</h1><p>there &amp; here").unwrap();
        assert!(text.contains("Hi") && text.contains("there & here") && !text.contains("alert"), "{text}");
    }

    #[test]
    fn plain_text_and_json_stay_and_other_things_are_refused() {
        assert_eq!(page("text/plain", b"a < b").unwrap(), "a < b");
        assert_eq!(page("application/json", b"{}").unwrap(), "{}");
        assert!(page("application/zip", b"PK").is_err());
    }

    #[test]
    fn what_was_cut_says_so() {
        let fetched = Fetched { kind: "text/plain".into(), bytes: b"a".to_vec(), is_cut: true };
        assert_eq!(readable(fetched).unwrap(), "a\n[… the page goes on]");
    }

    #[test]
    fn results_are_read_in_the_shapes_that_services_use() {
        let hit = |url: &str| Hit { title: "T".into(), url: url.into(), description: "D".into() };
        let one = json!({"results": [{"title": "T", "url": "http://a", "description": "D"}]});
        let two = json!([{"name": "T", "link": "http://b", "snippet": "D"}, {"title": "no address"}, 7]);
        assert_eq!(hits(&one).unwrap(), [hit("http://a")]);
        assert_eq!(hits(&two).unwrap(), [hit("http://b")]);
        assert!(hits(&json!({"error": "x"})).is_err());
    }
}
