//! Full-text search in the channels the caller is in, narrowed by who, when and what; also without a word.

use folkmoot_core::decide::DRIVE;
use folkmoot_core::ids::*;
use folkmoot_core::lookup::{Found, LookupExt};
use folkmoot_core::model::{File, Message};
use folkmoot_core::record::Filter;
use folkmoot_core::{Millis, access};
use folkmoot_doors::lark::objects::MessageObject;
use folkmoot_store::{Page, Reader};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use super::bounds::{GivenChannel, GivenMember, Limit, Moment, ShortText};
use super::error::ApiError;
use super::extract::{Caller, Query};
use super::objects;
use super::reply::Answer;

/// So many matches of the words are looked at when they are narrowed further.
const MAX_MATCHES: usize = 1_000;
/// Without words the newest messages themselves are looked at: so many in all, and so many of each channel at least.
const MAX_WALKED: usize = 20_000;
const MIN_WALKED: usize = 200;
const PAGE: usize = 200;
/// So many of the newest files are looked at by name.
const MAX_FILES: usize = 2_000;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct SearchQuery {
    /// Words that must all occur, or all be in the name of its file. May be left out when something else narrows the search.
    #[param(inline)]
    q: Option<ShortText>,
    /// Each word also stands for those that begin with it.
    beginnings: Option<bool>,
    /// Only in this channel.
    #[serde(alias = "channel_id")]
    #[serde(default)]
    #[param(inline)]
    channel: GivenChannel,
    /// Only what this member said.
    #[serde(default)]
    #[param(inline)]
    from: GivenMember,
    /// Only messages with this.
    #[param(inline)]
    has: Option<Has>,
    /// Only what was said before this moment, in milliseconds since 1970.
    #[param(inline)]
    before: Option<Moment>,
    /// Only what was said at this moment or later.
    #[param(inline)]
    after: Option<Moment>,
    /// At most 100; 50 when left out.
    #[serde(default)]
    #[param(inline)]
    limit: Limit<50, 100>,
}

#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Has {
    File,
    Link,
}

/// Messages that contain all words, newest first.
#[utoipa::path(get, path = "/v1/search", tag = "search", params(SearchQuery),
    responses((status = 404, description = "there is no such channel"), (status = 200, body = [MessageObject<'static>])))]
pub async fn search(caller: Caller, Query(query): Query<SearchQuery>) -> Answer {
    let workspace = caller.workspace()?;
    let words = query.q.as_ref().map_or("", |words| words.as_str().trim()).to_owned();
    let only = query.channel.get();
    let narrow = Narrow::new(&query);
    if words.is_empty() && only.is_none() && narrow.takes_all() {
        return Err(ApiError::bad_request(
            "say what to search for: `q`, `channel`, `from`, `has`, `before` or `after`",
        ));
    }
    let channels: Vec<ChannelId> = caller.query(|state, actor| match only {
        Some(channel) => access::room_inside(state, actor, channel).map(|room| vec![room.channel.id]),
        None => Ok(state.channels_of(actor.member).map(|room| room.channel.id).collect()),
    })?;
    // Without room the index stays as it is; what it knows can be found all the same.
    let _ = caller.hub.search_is_current().await;
    let limit = query.limit.get();
    let found = caller.read(move |reader| narrow.find(reader, &words, workspace, &channels, limit)).await?;
    Ok(objects::messages(&caller.hub, &found))
}

/// The same, under the address that the terminal client asks.
#[utoipa::path(get, path = "/v1/search/messages", tag = "search", params(SearchQuery),
    responses((status = 200, body = [MessageObject<'static>])))]
pub async fn search_messages(caller: Caller, query: Query<SearchQuery>) -> Answer {
    search(caller, query).await
}

/// What a message must be besides having the words.
#[derive(Clone, Copy, Default)]
struct Narrow {
    from: Option<MemberId>,
    has: Option<Has>,
    before: Option<Millis>,
    after: Option<Millis>,
    /// Words stand for those that begin with them.
    by_beginnings: bool,
}

impl Narrow {
    fn new(query: &SearchQuery) -> Self {
        let moment = |given: Option<Moment>| given.map(Moment::get);
        Self {
            from: query.from.get(),
            has: query.has,
            before: moment(query.before),
            after: moment(query.after),
            by_beginnings: query.beginnings == Some(true),
        }
    }

    fn takes_all(self) -> bool {
        self.from.is_none() && self.has.is_none() && self.before.is_none() && self.after.is_none()
    }

    fn fits(self, message: &Message) -> bool {
        self.from.is_none_or(|from| message.sender == from)
            && self.before.is_none_or(|before| message.created_at < before)
            && self.after.is_none_or(|after| message.created_at >= after)
            && match self.has {
                Some(Has::File) => message.file.is_some() || message.content.contains(DRIVE),
                Some(Has::Link) => message.content.contains("http://") || message.content.contains("https://"),
                None => true,
            }
    }

    fn find(
        self,
        reader: &dyn Reader,
        words: &str,
        workspace: WorkspaceId,
        channels: &[ChannelId],
        limit: usize,
    ) -> Found<Vec<Message>> {
        let mut found = match words.is_empty() {
            true => self.walk(reader, channels, limit)?,
            false => {
                let most = if self.takes_all() { limit } else { MAX_MATCHES };
                let mut said = match self.by_beginnings {
                    true => reader.search_beginnings(words, channels, most)?,
                    false => reader.search(words, channels, most)?,
                };
                said.extend(with_file_named(reader, words, workspace, channels)?);
                said
            }
        };
        found.retain(|message| self.fits(message));
        found.sort_by_key(|message| std::cmp::Reverse((message.created_at, message.id)));
        found.dedup_by_key(|message| message.id);
        found.truncate(limit);
        Ok(found)
    }

    /// The newest of each channel that fit: among them are the newest of all.
    fn walk(self, reader: &dyn Reader, channels: &[ChannelId], limit: usize) -> Found<Vec<Message>> {
        let budget = (MAX_WALKED / channels.len().max(1)).max(MIN_WALKED);
        let mut found = Vec::new();
        for channel in channels {
            let (mut before, mut here) = (None, 0);
            for _ in 0..budget.div_ceil(PAGE) {
                let page = Page { before, limit: PAGE, with_replies: true, ..Page::default() };
                let messages = reader.messages(*channel, page)?;
                before = messages.last().map(|message| message.seq);
                let is_last = messages.len() < PAGE || messages.last().is_some_and(|oldest| self.is_beyond(oldest));
                let fitting = messages.into_iter().filter(|message| self.fits(message)).take(limit - here);
                let known = found.len();
                found.extend(fitting);
                here += found.len() - known;
                if is_last || here == limit {
                    break;
                }
            }
        }
        Ok(found)
    }

    /// Whether everything before this message is too old as well.
    fn is_beyond(self, message: &Message) -> bool {
        self.after.is_some_and(|after| message.created_at < after)
    }
}

/// Messages in these channels whose file has all words in its name.
fn with_file_named(
    reader: &dyn Reader,
    words: &str,
    workspace: WorkspaceId,
    channels: &[ChannelId],
) -> Found<Vec<Message>> {
    let words: Vec<_> = words.split_whitespace().map(str::to_lowercase).collect();
    let is_named = |file: &File| {
        let name = file.filename.to_lowercase();
        words.iter().all(|word| name.contains(word.as_str()))
    };
    let files = reader.list::<File>(&Filter::workspace(workspace).limit(MAX_FILES))?;
    let posts = files.iter().filter(|file| is_named(file)).flat_map(|file| &file.posts);
    let shown = posts.filter(|post| channels.contains(&post.channel));
    let messages = shown.map(|post| reader.message(post.message)).collect::<Found<Vec<_>>>()?;
    Ok(messages.into_iter().flatten().filter(|message| !message.deleted).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(content: &str, created_at: Millis) -> Message {
        Message { created_at, ..Message::unsent(ChannelId(1), MemberId(2), content.to_owned()) }
    }

    #[test]
    fn each_condition_narrows_alone_and_all_hold_together() {
        let message = said("see https://example.org", 1_000);
        let fits = |narrow: Narrow| narrow.fits(&message);
        assert!(fits(Narrow::default()));
        assert!(fits(Narrow { from: Some(MemberId(2)), ..Narrow::default() }));
        assert!(!fits(Narrow { from: Some(MemberId(3)), ..Narrow::default() }));
        assert!(fits(Narrow { before: Some(1_001), after: Some(1_000), ..Narrow::default() }));
        assert!(!fits(Narrow { before: Some(1_000), ..Narrow::default() }));
        assert!(!fits(Narrow { after: Some(1_001), ..Narrow::default() }));
        assert!(fits(Narrow { has: Some(Has::Link), ..Narrow::default() }));
        assert!(!fits(Narrow { has: Some(Has::File), from: Some(MemberId(2)), ..Narrow::default() }));
    }

    #[test]
    fn a_linked_file_is_a_file_too() {
        let narrow = Narrow { has: Some(Has::File), ..Narrow::default() };
        assert!(narrow.fits(&said("[a.png](/drive.bin/file_1)", 0)));
        assert!(narrow.fits(&Message { file: Some(FileId(1)), ..said("", 0) }));
    }
}
