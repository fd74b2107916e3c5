//! The threads somebody takes part in, with what they have not read of them.

use folkmoot_core::ids::*;
use folkmoot_core::lookup::Found;
use folkmoot_core::model::{Message, Notification};
use folkmoot_core::record::Filter;
use folkmoot_core::{State, access};
use folkmoot_doors::lark::objects::MessageObject;
use folkmoot_hub::readings;
use folkmoot_store::{Page, Reader};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::bounds::Limit;
use super::extract::{Caller, Query};
use super::objects;
use super::reply::{self, Answer};

/// So many of the newest notices are looked through for threads that one began or was mentioned in.
const MAX_NOTICES: usize = 500;
/// So many of the newest messages of each channel are looked through for replies of one's own.
const MAX_WALKED: usize = 100;
/// More new replies than this are not counted one by one.
const MAX_COUNTED: usize = 50;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ThreadQuery {
    /// At most 100; 50 when left out.
    #[serde(default)]
    #[param(inline)]
    limit: Limit<50, 100>,
}

/// A thread of the caller's.
#[derive(Serialize, ToSchema)]
#[schema(as = Thread)]
pub struct ThreadObject<'a> {
    /// The message it begins with.
    root: MessageObject<'a>,
    /// The newest reply that is not deleted.
    last_reply: MessageObject<'a>,
    /// How many replies of others the caller has not read.
    unread_count: usize,
}

struct Thread {
    root: Message,
    last: Message,
    unread: usize,
}

/// The threads that the caller began, spoke in or was mentioned in, as soon as somebody replied; the liveliest first.
#[utoipa::path(get, path = "/v1/threads", tag = "messages", params(ThreadQuery),
    responses((status = 200, body = [ThreadObject<'static>])))]
pub async fn list(caller: Caller, Query(query): Query<ThreadQuery>) -> Answer {
    let notices = readings::notifications(&caller.hub, Filter::owner(caller.id()), MAX_NOTICES).await?;
    let limit = query.limit.get();
    let channels: Vec<(ChannelId, u64)> = caller.query(|state, actor| {
        let said = state.channels_of(actor.member).filter(|room| room.head.seq > 0);
        let read = said.map(|room| (room.channel.id, room.members.get(&actor.member).map_or(0, |it| it.read.seq)));
        Ok(read.collect())
    })?;
    let me = caller.id();
    let mut threads = caller.read(move |reader| Threads { reader, me }.find(&notices, &channels, limit)).await?;
    caller.query(|state, actor| {
        threads.retain(|thread| access::may_see_message(state, actor, &thread.root));
        Ok(())
    })?;
    let messages: Vec<Message> = threads.iter().flat_map(|it| [it.root.clone(), it.last.clone()]).collect();
    let names = objects::names_of(&caller.hub, &messages);
    let nobody = State::default();
    let shown = threads.iter().zip(names.chunks(2)).map(|(thread, names)| ThreadObject {
        root: objects::named(&thread.root, &names[0], &nobody),
        last_reply: objects::named(&thread.last, &names[1], &nobody),
        unread_count: thread.unread,
    });
    reply::ok(&shown.collect::<Vec<_>>())
}

struct Threads<'a> {
    reader: &'a dyn Reader,
    me: MemberId,
}

impl Threads<'_> {
    fn find(&self, notices: &[Notification], channels: &[(ChannelId, u64)], limit: usize) -> Found<Vec<Thread>> {
        let told = self.told_of(notices)?;
        let mut threads = Vec::new();
        for (root, unread) in &told {
            threads.extend(self.thread(*root, |_| *unread)?);
        }
        for (channel, read) in channels {
            for root in
                self.replied_to(*channel)?.into_iter().filter(|root| told.iter().all(|(known, _)| known != root))
            {
                threads.extend(self.thread(root, |replies| self.unread(replies, *read))?);
            }
        }
        threads.sort_by_key(|thread| std::cmp::Reverse((thread.last.created_at, thread.last.id)));
        threads.truncate(limit);
        Ok(threads)
    }

    /// The threads that notices tell of, each with how many of them are unread.
    fn told_of(&self, notices: &[Notification]) -> Found<Vec<(MessageId, usize)>> {
        let mut found: Vec<(MessageId, usize)> = Vec::new();
        for notice in notices {
            let message = notice.message.map(|id| self.reader.message(id)).transpose()?.flatten();
            let Some(root) = message.and_then(|message| message.thread) else { continue };
            let unread = usize::from(!notice.is_read);
            match found.iter().position(|(known, _)| *known == root) {
                Some(at) => found[at].1 += unread,
                None => found.push((root, unread)),
            }
        }
        Ok(found)
    }

    /// The threads of a channel in which the caller replied lately.
    fn replied_to(&self, channel: ChannelId) -> Found<Vec<MessageId>> {
        let page = Page { limit: MAX_WALKED, with_replies: true, ..Page::default() };
        let mut roots = Vec::new();
        for message in self.reader.messages(channel, page)?.iter().filter(|message| message.sender == self.me) {
            roots.extend(message.thread.filter(|root| !roots.contains(root)));
        }
        Ok(roots)
    }

    /// Nobody is told of replies in a thread of somebody else's: new are those after one's own last one and after what was read.
    fn unread(&self, replies: &[Message], read: u64) -> usize {
        let mine = replies.iter().rfind(|reply| reply.sender == self.me).map_or(0, |reply| reply.seq);
        replies.iter().filter(|reply| reply.seq > mine.max(read)).count()
    }

    fn thread(&self, id: MessageId, unread: impl FnOnce(&[Message]) -> usize) -> Found<Option<Thread>> {
        let root = self.reader.message(id)?.filter(|root| !root.deleted);
        let mut replies = self.reader.newest_replies(id, MAX_COUNTED)?;
        let unread = unread(&replies);
        Ok(root.zip(replies.pop()).map(|(root, last)| Thread { root, last, unread }))
    }
}
