//! Files, and an agent's own items and memory.

use super::support::World;
use super::support::world::{message_of, new_file};
use crate::command::{Command, PutItem, Reply, Send, UpdateMember};
use crate::decide::files::DRIVE;
use crate::event::Event;
use crate::ids::*;
use crate::lookup::LookupExt;
use crate::model::*;
use crate::record::Record;
use crate::refusal::{self, Code};
use crate::{Refusal, access};

struct Shelf {
    world: World,
    alice: MemberId,
    bob: MemberId,
    carol: MemberId,
    general: ChannelId,
    closed: ChannelId,
}

fn shelf() -> Shelf {
    let mut world = World::new();
    let alice = world.alice;
    let (bob, carol) = (world.human("bob"), world.human("carol"));
    let general = world.channel("general", &[alice, bob]);
    let closed = world.private("closed", &[alice, bob]);
    Shelf { world, alice, bob, carol, general, closed }
}

fn post(channel: ChannelId, file: FileId) -> Command {
    Command::Send(Send { channel, content: "see".to_owned(), file: Some(file), ..Send::default() })
}

fn sees(world: &World, member: MemberId, file: FileId) -> bool {
    let file = world.ledger.get::<File>(file).unwrap().unwrap();
    access::may_see_file(&world.state, world.state.member(member).unwrap(), &file)
}

#[test]
fn a_file_belongs_to_who_uploads_it_whatever_the_request_says() {
    let Shelf { mut world, alice, bob, .. } = shelf();
    let file = File { uploaded_by: alice, ..new_file(FileId(7), world.workspace, None) };
    let Reply::File(file) = world.done(bob, Command::AddFile(file)).reply else { panic!() };
    assert_eq!((file.uploaded_by, file.created_at), (bob, world.now));
}

#[test]
fn a_file_is_added_by_members_where_they_may_speak() {
    let Shelf { mut world, alice, bob, carol, closed, .. } = shelf();
    let (_, stranger) = world.register("stranger");
    let add = |world: &World, channel| Command::AddFile(new_file(FileId(7), world.workspace, channel));
    assert_eq!(world.refused(stranger, add(&world, None)), refusal::WORKSPACE_NOT_FOUND);
    assert_eq!(world.refused(carol, add(&world, Some(closed))), refusal::NOT_CHANNEL_MEMBER);
    let nameless = File { filename: " ".to_owned(), ..new_file(FileId(7), world.workspace, None) };
    assert_eq!(world.refused(bob, Command::AddFile(nameless)).code, Code::BadRequest);
    world.done(bob, add(&world, Some(closed)));
    let again = Refusal::conflict("a file with this id exists");
    assert_eq!(world.refused(alice, add(&world, None)), again, "nobody takes over a file by its id");
}

#[test]
fn a_file_that_is_posted_belongs_to_the_channel_from_then_on() {
    let Shelf { mut world, alice, bob, carol, closed, .. } = shelf();
    let file = world.file(bob, None);
    let decision = world.done(bob, post(closed, file));
    assert_eq!(message_of(&decision).file, Some(file));
    assert!(decision.events.iter().any(|event| matches!(event, Event::Saved(Record::File(_)))));
    assert_eq!([alice, bob, carol].map(|member| sees(&world, member, file)), [true, true, false]);
}

#[test]
fn a_file_one_may_not_see_cannot_be_posted() {
    let Shelf { mut world, bob, carol, general, closed, .. } = shelf();
    world.done(bob, Command::AddToChannel { channel: general, member: carol });
    let file = world.file(bob, Some(closed));
    assert_eq!(world.refused(carol, post(general, file)), refusal::FILE_NOT_FOUND);
    assert_eq!(world.refused(carol, post(general, FileId::NONE)), refusal::FILE_NOT_FOUND);
}

#[test]
fn a_file_is_its_uploaders_alone_until_it_is_posted() {
    let Shelf { mut world, alice, bob, carol, general, .. } = shelf();
    let file = world.file(bob, None);
    assert_eq!([alice, bob, carol].map(|member| sees(&world, member, file)), [false, true, false]);
    world.done(bob, post(general, file));
    assert_eq!([alice, bob, carol].map(|member| sees(&world, member, file)), [true; 3], "the channel is open");
}

#[test]
fn the_picture_of_a_member_is_for_everybody() {
    let Shelf { mut world, bob, carol, .. } = shelf();
    let file = world.file(bob, None);
    let update = |member| UpdateMember { member, avatar: Some(file), ..UpdateMember::default() };
    world.done(carol, Command::UpdateMember(update(carol)));
    assert!(!sees(&world, carol, file), "nobody makes another's file public");
    world.done(bob, Command::UpdateMember(update(bob)));
    assert!(sees(&world, carol, file));
}

#[test]
fn a_file_may_be_posted_on_by_who_reads_it_and_is_readable_there() {
    let Shelf { mut world, alice, bob, carol, general, closed } = shelf();
    let file = world.file(bob, Some(closed));
    assert!(!sees(&world, carol, file));
    world.done(alice, post(general, file));
    assert_eq!([alice, bob, carol].map(|member| sees(&world, member, file)), [true; 3]);
}

#[test]
fn a_file_goes_with_the_last_message_that_shows_it() {
    let Shelf { mut world, alice, bob, carol, general, closed } = shelf();
    let file = world.file(bob, Some(closed));
    let send = |world: &mut World, by, channel| message_of(&world.done(by, post(channel, file))).id;
    let (first, again) = (send(&mut world, bob, closed), send(&mut world, bob, closed));
    let elsewhere = send(&mut world, alice, general);
    let delete = |world: &mut World, by, message| drop(world.done(by, Command::DeleteMessage { message }));
    delete(&mut world, bob, first);
    assert!(sees(&world, alice, file), "it stands there once more");
    delete(&mut world, alice, elsewhere);
    assert_eq!([alice, carol].map(|member| sees(&world, member, file)), [true, false]);
    delete(&mut world, bob, again);
    assert_eq!([alice, bob, carol].map(|member| sees(&world, member, file)), [false, true, false]);
}

#[test]
fn a_linked_file_goes_with_the_message_of_who_uploaded_it_only() {
    let Shelf { mut world, alice, bob, general, .. } = shelf();
    let file = world.file(bob, None);
    let link = Send { channel: general, content: format!("see {DRIVE}{file}.png"), ..Send::default() };
    let own = message_of(&world.done(bob, Command::Send(link.clone()))).id;
    let quoted = message_of(&world.done(alice, Command::Send(link))).id;
    world.done(alice, Command::DeleteMessage { message: quoted });
    assert!(sees(&world, alice, file));
    world.done(bob, Command::EditMessage { message: own, content: "nothing to see".to_owned() });
    world.done(bob, Command::DeleteMessage { message: own });
    assert!(!sees(&world, alice, file));
}

#[test]
fn a_file_is_posted_a_hundred_times_at_most() {
    let Shelf { mut world, bob, general, .. } = shelf();
    let file = world.file(bob, None);
    for _ in 0..100 {
        world.done(bob, post(general, file));
    }
    let refused = Refusal::bad_request("this file was posted 100 times already; upload it again");
    assert_eq!(world.refused(bob, post(general, file)), refused);
}

#[test]
fn a_file_is_removed_by_who_uploaded_it_or_an_admin() {
    let Shelf { mut world, alice, bob, carol, general, closed } = shelf();
    let open = world.file(bob, Some(general));
    let hidden = world.file(bob, Some(closed));
    let remove = |file| Command::RemoveFile { file };
    assert_eq!(world.refused(carol, remove(open)), refusal::ADMINS_ONLY);
    assert_eq!(world.refused(carol, remove(hidden)), refusal::FILE_NOT_FOUND);
    world.done(bob, remove(open));
    world.done(alice, remove(hidden));
    assert_eq!(world.refused(bob, remove(hidden)), refusal::FILE_NOT_FOUND);
}

// Items and memory.

fn put(name: &str, content: Option<&str>) -> PutItem {
    PutItem { name: name.to_owned(), content: content.map(str::to_owned), ..PutItem::default() }
}

#[track_caller]
fn item(world: &mut World, agent: MemberId, put: PutItem) -> Item {
    let Reply::Item(item) = world.done(agent, Command::PutItem(put)).reply else { panic!() };
    item
}

#[test]
fn an_item_is_found_again_by_its_name_or_its_id_and_keeps_what_is_left_out() {
    let mut world = World::new();
    let codebot = world.agent("codebot");
    let first = item(&mut world, codebot, PutItem { tags: Some(vec!["go".to_owned()]), ..put("notes", Some("one")) });
    assert_eq!(first.namespace, "default");
    let same = item(&mut world, codebot, put("notes", Some("two")));
    assert_eq!((same.id, same.content.as_str(), &same.tags), (first.id, "two", &first.tags));
    let renamed = item(&mut world, codebot, PutItem { item: Some(first.id), ..put("ideas", None) });
    assert_eq!((renamed.id, renamed.name.as_str(), renamed.content.as_str()), (first.id, "ideas", "two"));
    let elsewhere = item(&mut world, codebot, PutItem { namespace: Some("other".to_owned()), ..put("ideas", None) });
    assert_ne!(elsewhere.id, first.id);
}

#[test]
fn items_are_an_agents_own() {
    let mut world = World::new();
    let (codebot, other) = (world.agent("codebot"), world.agent("other"));
    let notes = item(&mut world, codebot, put("notes", Some("one")));
    let steal = PutItem { item: Some(notes.id), ..put("mine", None) };
    assert_eq!(world.refused(other, Command::PutItem(steal)), refusal::ITEM_NOT_FOUND);
    assert_eq!(world.refused(other, Command::RemoveItem { item: notes.id }), refusal::ITEM_NOT_FOUND);
    assert_eq!(world.refused(world.alice, Command::PutItem(put("x", None))), refusal::NOT_AUTHORIZED);
    assert_ne!(item(&mut world, other, put("notes", None)).id, notes.id, "the same name is another item");
    world.done(codebot, Command::RemoveItem { item: notes.id });
    assert_eq!(world.refused(codebot, Command::RemoveItem { item: notes.id }), refusal::ITEM_NOT_FOUND);
}

#[test]
fn an_item_has_a_name_a_plain_namespace_and_a_limit() {
    let mut world = World::new();
    let codebot = world.agent("codebot");
    assert_eq!(world.refused(codebot, Command::PutItem(put(" ", None))), Refusal::bad_request("name is required"));
    for namespace in ["\u{84}", "a\u{1f}b", &"x".repeat(201)] {
        let put = PutItem { namespace: Some(namespace.to_owned()), ..put("notes", None) };
        assert!(world.refused(codebot, Command::PutItem(put)).text.starts_with("namespace "), "{namespace:?}");
    }
    let empty = PutItem { namespace: Some(" ".to_owned()), ..put("notes", None) };
    assert_eq!(item(&mut world, codebot, empty).namespace, "default");
    let large = "x".repeat(256 * 1024);
    item(&mut world, codebot, put("large", Some(&large)));
    let refusal = world.refused(codebot, Command::PutItem(put("large", Some(&format!("{large}x")))));
    assert_eq!(refusal, Refusal::bad_request("content is too large (max 262144 bytes)"));
}

#[test]
fn memory_is_one_value_per_name_and_an_agents_own() {
    let mut world = World::new();
    let (codebot, other) = (world.agent("codebot"), world.agent("other"));
    let put = |value: &str| Command::PutMemory {
        namespace: String::new(),
        key: "editor".to_owned(),
        value: value.to_owned(),
    };
    let forget = || Command::RemoveMemory { namespace: "default".to_owned(), key: "editor".to_owned() };
    let Reply::Memory(first) = world.done(codebot, put("vi")).reply else { panic!() };
    let Reply::Memory(second) = world.done(codebot, put("ed")).reply else { panic!() };
    assert_eq!((second.id, second.value.as_str()), (first.id, "ed"));
    assert_eq!(world.refused(other, forget()), refusal::MEMORY_NOT_FOUND);
    assert_eq!(world.refused(world.alice, forget()), refusal::NOT_AUTHORIZED);
    world.done(codebot, forget());
    assert_eq!(world.refused(codebot, forget()), refusal::MEMORY_NOT_FOUND);
    let too_large = put(&"x".repeat(256 * 1024 + 1));
    assert_eq!(world.refused(codebot, too_large), Refusal::bad_request("value is too large (max 262144 bytes)"));
}
