//! Telegram accounts that speak for members: how they are linked, when that ends, and what they decide.

use super::support::World;
use super::support::world::key;
use crate::command::{Command, Reply, RequestApproval};
use crate::decide::TELEGRAM_CODE_LIFE;
use crate::ids::*;
use crate::model::*;
use crate::{Actor, access, refusal};

const PHONE: i64 = 1001;
const OTHER: i64 = 2002;

fn offer(number: u8) -> Command {
    Command::OfferTelegramLink { code_hash: key(number) }
}

fn show(number: u8, user: i64) -> Command {
    Command::LinkTelegram { code_hash: key(number), user, name: "Ann\n".to_owned() }
}

fn hub() -> Actor {
    Actor::hub(Door::Telegram)
}

fn linked(world: &mut World, member: MemberId, number: u8, user: i64) -> TelegramLink {
    world.done(member, offer(number));
    let Reply::TelegramLink(link) = world.done(hub(), show(number, user)).reply else { panic!() };
    link
}

fn member_of(world: &World, user: i64) -> Option<MemberId> {
    access::telegram_member(&world.state, user, world.workspace).ok()
}

#[test]
fn a_code_links_the_account_that_shows_it_and_the_link_survives_a_restart() {
    let mut world = World::new();
    let bob = world.human("bob");
    let link = linked(&mut world, bob, 1, PHONE);
    let account = TelegramAccount { user: PHONE, name: "Ann".to_owned(), linked_at: world.now };
    assert_eq!((link.member, link.account), (bob, Some(account)));
    world.state = world.ledger.load();
    assert_eq!(member_of(&world, PHONE), Some(bob));
    assert_eq!(member_of(&world, OTHER), None);
}

#[test]
fn only_people_are_given_codes_and_only_the_hub_takes_them_up() {
    let mut world = World::new();
    let (bob, codebot) = (world.human("bob"), world.agent("codebot"));
    assert_eq!(world.refused(codebot, offer(1)), refusal::NOT_AUTHORIZED);
    assert_eq!(world.refused(Actor::nobody(Door::Rest), offer(1)), refusal::NOT_AUTHENTICATED);
    world.done(bob, offer(1));
    assert_eq!(world.refused(bob, show(1, PHONE)), refusal::NOT_AUTHORIZED);
}

#[test]
fn a_code_that_was_guessed_used_replaced_or_has_expired_links_nobody() {
    let mut world = World::new();
    let bob = world.human("bob");
    assert_eq!(world.refused(hub(), show(1, PHONE)), refusal::TELEGRAM_CODE_OVER, "never given");
    world.done(bob, offer(1));
    world.done(bob, offer(2));
    assert_eq!(world.refused(hub(), show(1, PHONE)), refusal::TELEGRAM_CODE_OVER, "replaced");
    world.done(hub(), show(2, PHONE));
    assert_eq!(world.refused(hub(), show(2, OTHER)), refusal::TELEGRAM_CODE_OVER, "used");
    world.done(hub(), show(2, PHONE));
    assert_eq!(world.state.telegram_links().count(), 1, "the same account again changes nothing");
    world.done(bob, offer(3));
    world.later(TELEGRAM_CODE_LIFE);
    assert_eq!(world.refused(hub(), show(3, PHONE)), refusal::TELEGRAM_CODE_OVER, "expired");
}

#[test]
fn one_account_speaks_for_one_member_of_a_workspace_and_one_member_has_one_account() {
    let mut world = World::new();
    let (bob, carol) = (world.human("bob"), world.human("carol"));
    linked(&mut world, bob, 1, PHONE);
    linked(&mut world, bob, 2, OTHER);
    assert_eq!((member_of(&world, PHONE), member_of(&world, OTHER)), (None, Some(bob)), "a new phone");
    linked(&mut world, carol, 3, OTHER);
    assert_eq!(member_of(&world, OTHER), Some(carol), "handed on");
    let (elsewhere, dave) = world.register("dave");
    linked(&mut world, dave, 4, OTHER);
    assert_eq!(access::telegram_member(&world.state, OTHER, elsewhere), Ok(dave));
    assert_eq!(member_of(&world, OTHER), Some(carol), "another workspace is another matter");
}

#[test]
fn a_link_ends_when_its_member_says_so_changes_the_password_or_is_removed() {
    let mut world = World::new();
    let (alice, bob, carol) = (world.alice, world.human("bob"), world.human("carol"));
    linked(&mut world, carol, 9, OTHER);
    assert_eq!(world.refused(bob, Command::UnlinkTelegram), refusal::TELEGRAM_NOT_LINKED);
    let ends = [
        (bob, Command::UnlinkTelegram),
        (bob, Command::ChangePassword { password_hash: "new".to_owned(), keep: Vec::new() }),
        (alice, Command::RemoveMember { member: bob }),
    ];
    for (number, (who, command)) in (1..).zip(ends) {
        linked(&mut world, bob, number, PHONE);
        world.done(bob, offer(number + 10));
        world.done(who, command);
        assert_eq!(member_of(&world, PHONE), None);
        assert_eq!(world.refused(hub(), show(number + 10, PHONE)), refusal::TELEGRAM_CODE_OVER, "nor a code of before");
    }
    assert_eq!(member_of(&world, OTHER), Some(carol), "nobody else's");
}

#[test]
fn a_question_goes_to_the_accounts_of_those_who_see_it_and_may_decide_it() {
    let mut world = World::new();
    let (alice, chief, bob) = (world.alice, world.admin("chief"), world.human("bob"));
    let codebot = world.agent("codebot");
    let (open, closed) = (world.channel("open", &[alice, codebot]), world.private("closed", &[alice, codebot]));
    let (_, stranger) = world.register("stranger");
    for (number, member) in (1..).zip([alice, chief, bob, stranger]) {
        linked(&mut world, member, number, i64::from(number));
    }
    let mut asked = |channel| {
        let request = RequestApproval { channel: Some(channel), action: "deploy".to_owned(), ..Default::default() };
        let Reply::Approval(approval) = world.done(codebot, Command::RequestApproval(request)).reply else { panic!() };
        let accounts = access::telegram_deciders(&world.state, &approval);
        accounts.map(|account| account.user).collect::<Vec<_>>()
    };
    assert_eq!(asked(open), [1, 2], "the owner of the agent and the admin, not bob");
    assert_eq!(asked(closed), [1], "the admin does not see this channel");
}
