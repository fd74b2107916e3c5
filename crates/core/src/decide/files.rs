//! What members keep: files, and an agent's own items and memory.

use super::{Context, Decision, Outcome, quotas, short_text};
use crate::command::{PutItem, Reply};
use crate::event::Event;
use crate::ids::*;
use crate::lookup::LookupExt;
use crate::model::*;
use crate::record::{Filter, Record, named};
use crate::refusal::{self, Refusal};
use crate::{Actor, access};

const MAX_VALUE_BYTES: usize = 256 * 1024;

pub fn add(context: &mut Context<'_>, actor: Actor, file: File) -> Outcome {
    access::workspace_member(context.state, actor, file.workspace)?;
    if let Some(channel) = file.channel {
        access::room_to_speak(context.state, actor, channel)?;
    }
    // The id comes with the file: it must not be one under which somebody else's file is known.
    if context.history.get::<File>(file.id)?.is_some() {
        return Err(Refusal::conflict("a file with this id exists"));
    }
    let filename = short_text(&file.filename, "filename", 255)?;
    let file = File { uploaded_by: actor.member, filename, created_at: context.now, ..file };
    quotas::more_bytes(context, &file)?;
    Ok(Decision::saved(Reply::File(file.clone()), file))
}

/// Where a file is found over HTTP by doors whose messages carry links instead of files.
pub const DRIVE: &str = "/drive.bin/";
/// More links than this in one message are just text.
const MAX_LINKS: usize = 32;
const MAX_POSTS: usize = 100;

/// The file that a message carries: one that its sender may read.
pub(super) fn attached(context: &Context<'_>, actor: Actor, file: Option<FileId>) -> Result<Option<File>, Refusal> {
    let Some(id) = file else { return Ok(None) };
    let member = access::member(context.state, actor)?;
    let visible = |file: &File| access::may_see_file(context.state, member, file);
    let file = context.history.get::<File>(id)?.filter(visible).ok_or(refusal::FILE_NOT_FOUND)?;
    if file.posts.len() >= MAX_POSTS {
        return Err(Refusal::bad_request("this file was posted 100 times already; upload it again"));
    }
    Ok(Some(file))
}

/// The sender's own files that a text links to.
pub(super) fn linked(context: &Context<'_>, actor: Actor, content: &str) -> Result<Vec<File>, Refusal> {
    let mut files = linked_by_anybody(context, content)?;
    files.retain(|file| file.uploaded_by == actor.member);
    Ok(files)
}

fn linked_by_anybody(context: &Context<'_>, content: &str) -> Result<Vec<File>, Refusal> {
    let mut files: Vec<File> = Vec::new();
    for link in content.split(DRIVE).skip(1).take(MAX_LINKS) {
        let end = link.find(|character: char| !character.is_ascii_alphanumeric() && character != '_');
        let id = FileId::parse(&link[..end.unwrap_or(link.len())]);
        if !id.is_none() && files.iter().all(|file| file.id != id) {
            files.extend(context.history.get::<File>(id)?);
        }
    }
    Ok(files)
}

/// The files of a message as they are once it is sent: whoever reads its channel may read them from then on.
pub(super) fn posted(attached: Option<File>, linked: Vec<File>, message: &Message) -> impl Iterator<Item = Event> {
    let carried = attached.as_ref().map(|file| file.id);
    let linked = linked.into_iter().filter(move |file| Some(file.id) != carried && file.posts.len() < MAX_POSTS);
    let post = FilePost { message: message.id, channel: message.channel };
    attached.into_iter().chain(linked).map(move |file| Event::Saved(Record::File(posted_by(file, post))))
}

fn posted_by(mut file: File, post: FilePost) -> File {
    match file.channel {
        None => file.channel = Some(post.channel),
        Some(first) if first == post.channel || file.also_in.contains(&post.channel) => {}
        Some(_) => file.also_in.push(post.channel),
    }
    file.posts.push(post);
    file
}

/// The files that are no longer shown where a message stood that is deleted now; `texts` is what it ever said.
pub(super) fn unposted<'a>(
    context: &Context<'_>,
    message: &Message,
    texts: impl Iterator<Item = &'a str>,
) -> Result<Vec<Event>, Refusal> {
    let mut files: Vec<File> = Vec::new();
    if let Some(id) = message.file {
        files.extend(context.history.get::<File>(id)?);
    }
    for text in texts {
        for file in linked_by_anybody(context, text)? {
            if files.iter().all(|known| known.id != file.id) {
                files.push(file);
            }
        }
    }
    let changed = files.into_iter().filter_map(|file| without_post(file, message));
    Ok(changed.map(|file| Event::Saved(Record::File(file))).collect())
}

fn without_post(mut file: File, message: &Message) -> Option<File> {
    let in_channel = |post: &FilePost| post.channel == message.channel;
    let is_noted = file.posts.iter().any(|post| post.message == message.id);
    // Older files have no notes: there only the uploader's own message was what showed it.
    let is_older = file.uploaded_by == message.sender && !file.posts.iter().any(in_channel);
    if !is_noted && !is_older {
        return None;
    }
    file.posts.retain(|post| post.message != message.id);
    if !file.posts.iter().any(in_channel) {
        let left = file.channel.into_iter().chain(file.also_in).filter(|channel| *channel != message.channel);
        let mut left = left.collect::<Vec<_>>().into_iter();
        file.channel = left.next();
        file.also_in = left.collect();
    }
    Some(file)
}

pub fn remove(context: &mut Context<'_>, actor: Actor, id: FileId) -> Outcome {
    let member = access::member(context.state, actor)?;
    let visible = |file: &File| access::may_see_file(context.state, member, file);
    let file = context.history.get::<File>(id)?.filter(visible).ok_or(refusal::FILE_NOT_FOUND)?;
    if file.uploaded_by != member.id && member.role < Role::Admin {
        return Err(refusal::ADMINS_ONLY);
    }
    Ok(Decision::new(Reply::File(file.clone()), vec![Event::Removed(file.into())]))
}

pub fn put_item(context: &mut Context<'_>, actor: Actor, mut put: PutItem) -> Outcome {
    let agent = access::agent(context.state, actor)?.id;
    put.namespace = put.namespace.map(|namespace| namespace_named(&namespace)).transpose()?;
    let old = match put.item {
        Some(id) => Some(own_item(context, agent, id)?),
        None => find_item(context, agent, &put)?,
    };
    let name = if put.name.trim().is_empty() {
        old.as_ref().map(|old| old.name.clone()).unwrap_or_default()
    } else {
        put.name
    };
    let content = put.content.or_else(|| old.as_ref().map(|old| old.content.clone())).unwrap_or_default();
    if content.len() > MAX_VALUE_BYTES {
        return Err(Refusal::bad_request("content is too large (max 262144 bytes)"));
    }
    let item = Item {
        id: old.as_ref().map_or_else(|| ItemId(context.new_id()), |old| old.id),
        agent,
        name: short_text(&name, "name", 200)?,
        namespace: put
            .namespace
            .or_else(|| old.as_ref().map(|old| old.namespace.clone()))
            .unwrap_or_else(default_namespace),
        content,
        description: put.description.or_else(|| old.as_ref().map(|old| old.description.clone())).unwrap_or_default(),
        tags: put.tags.or_else(|| old.as_ref().map(|old| old.tags.clone())).unwrap_or_default(),
        created_at: old.map_or(context.now, |old| old.created_at),
        updated_at: context.now,
    };
    Ok(Decision::saved(Reply::Item(item.clone()), item))
}

fn default_namespace() -> String {
    "default".to_owned()
}

fn namespace_named(name: &str) -> Result<String, Refusal> {
    if name.trim().is_empty() { Ok(default_namespace()) } else { short_text(name, "namespace", 200) }
}

fn find_item(context: &Context<'_>, agent: MemberId, put: &PutItem) -> Result<Option<Item>, Refusal> {
    let namespace = put.namespace.clone().unwrap_or_else(default_namespace);
    let filter = Filter::owner(agent).named(named(&namespace, put.name.trim())).limit(1);
    Ok(context.history.first::<Item>(&filter)?)
}

fn own_item(context: &Context<'_>, agent: MemberId, id: ItemId) -> Result<Item, Refusal> {
    context.history.get::<Item>(id)?.filter(|item| item.agent == agent).ok_or(refusal::ITEM_NOT_FOUND)
}

pub fn remove_item(context: &mut Context<'_>, actor: Actor, id: ItemId) -> Outcome {
    let agent = access::agent(context.state, actor)?.id;
    let item = own_item(context, agent, id)?;
    Ok(Decision::new(Reply::Item(item.clone()), vec![Event::Removed(item.into())]))
}

pub fn put_memory(context: &mut Context<'_>, actor: Actor, namespace: String, key: String, value: String) -> Outcome {
    let agent = access::agent(context.state, actor)?.id;
    let namespace = namespace_named(&namespace)?;
    let key = short_text(&key, "key", 200)?;
    if value.len() > MAX_VALUE_BYTES {
        return Err(Refusal::bad_request("value is too large (max 262144 bytes)"));
    }
    let old = find_memory(context, agent, &namespace, &key)?;
    let id = old.map_or_else(|| MemoryId(context.new_id()), |old| old.id);
    let memory = Memory { id, agent, namespace, key, value, updated_at: context.now };
    Ok(Decision::saved(Reply::Memory(memory.clone()), memory))
}

pub fn remove_memory(context: &mut Context<'_>, actor: Actor, namespace: &str, key: &str) -> Outcome {
    let agent = access::agent(context.state, actor)?.id;
    let memory = find_memory(context, agent, namespace, key)?.ok_or(refusal::MEMORY_NOT_FOUND)?;
    Ok(Decision::new(Reply::Done, vec![Event::Removed(memory.into())]))
}

fn find_memory(context: &Context<'_>, agent: MemberId, namespace: &str, key: &str) -> Result<Option<Memory>, Refusal> {
    Ok(context.history.first::<Memory>(&Filter::owner(agent).named(named(namespace, key)).limit(1))?)
}
