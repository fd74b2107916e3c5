//! The player's rules with fake time, and what holds whatever is done to it.

use proptest::prelude::*;
use rand::SeedableRng;
use rand::rngs::SmallRng;

use super::super::track::{Track, Words};
use super::*;

const ANN: Actor<'_> = Actor { user: "ann", is_admin: false };
const BOB: Actor<'_> = Actor { user: "bob", is_admin: false };
const ADMIN: Actor<'_> = Actor { user: "root", is_admin: true };

pub fn track(title: &str, length_ms: u64) -> Track {
    Track {
        id: title.to_owned(),
        path: format!("{title}.wav").into(),
        title: title.to_owned(),
        artist: "Somebody".to_owned(),
        album: String::new(),
        length_ms,
        size: 1,
        content_type: "audio/wav",
        words: Words::of(title, "Somebody", ""),
    }
}

fn entry(title: &str, length_ms: u64) -> Entry {
    Entry { track: Arc::new(track(title, length_ms)), requester: Value::Null }
}

/// Ann's open session with these tracks, begun at 1000.
fn playing(tracks: &[(&str, u64)]) -> Player {
    let mut player = Player::new("ann", Mode::Open, DEFAULT_VOLUME);
    for (title, length) in tracks {
        player.play(ANN, entry(title, *length), &Limits::default(), 1000).unwrap();
    }
    player
}

fn current(player: &Player) -> Option<&str> {
    player.current().map(|entry| entry.track.title.as_str())
}

fn waiting(player: &Player) -> Vec<&str> {
    player.queue().iter().map(|entry| entry.track.title.as_str()).collect()
}

fn text<T: std::fmt::Debug>(outcome: Result<T, OpError>) -> String {
    outcome.unwrap_err().to_string()
}

#[test]
fn the_first_track_plays_and_the_next_is_queued() {
    let mut player = Player::new("ann", Mode::Open, 100);
    let limits = Limits::default();
    assert_eq!(player.play(ANN, entry("a", 5000), &limits, 0).unwrap().action, "playing");
    assert_eq!(player.play(BOB, entry("b", 5000), &limits, 0).unwrap().action, "queued");
    assert_eq!((current(&player), waiting(&player)), (Some("a"), vec!["b"]));
}

#[test]
fn the_position_follows_the_clock() {
    let player = playing(&[("a", 5000)]);
    assert_eq!([1000, 1001, 3500, 5999].map(|now| player.position(now).unwrap()), [0, 1, 2500, 4999]);
}

#[test]
fn a_track_ends_at_its_length_and_the_next_begins_exactly_there() {
    let mut player = playing(&[("a", 5000), ("b", 3000)]);
    assert_eq!(player.deadline(), Some(6000));
    // Nobody looked for a while: the second track is where it would be had somebody looked all the time.
    player.advance(7200);
    assert_eq!((current(&player), player.position(7200)), (Some("b"), Some(1200)));
    assert_eq!(player.deadline(), Some(9000));
}

#[test]
fn after_the_last_track_the_session_waits_and_then_is_over() {
    let mut player = playing(&[("a", 5000)]);
    player.advance(10_000);
    assert_eq!((current(&player), player.deadline()), (None, Some(6000 + IDLE_GRACE_MS)));
    assert!(!player.is_over(6000 + IDLE_GRACE_MS - 1));
    assert!(player.is_over(6000 + IDLE_GRACE_MS));
    assert_eq!(player.skip(ANN, 10_000).unwrap().action, "nothing-to-skip");
    player.play(ANN, entry("b", 1000), &Limits::default(), 20_000).unwrap();
    assert_eq!((current(&player), player.deadline()), (Some("b"), Some(21_000)));
}

#[test]
fn a_pause_holds_the_position_and_resume_goes_on_from_it() {
    let mut player = playing(&[("a", 5000)]);
    assert_eq!(player.pause(ANN, 3000).unwrap().action, "paused");
    assert_eq!(player.pause(ANN, 3100).unwrap().action, "already-paused");
    assert_eq!((player.position(99_000), player.deadline()), (Some(2000), None));
    assert_eq!(player.resume(ANN, 100_000).unwrap().action, "resumed");
    assert_eq!(player.resume(ANN, 100_000).unwrap().action, "already-playing");
    assert_eq!((player.position(101_000), player.deadline()), (Some(3000), Some(103_000)));
}

#[test]
fn with_nothing_playing_pause_and_resume_say_so() {
    let mut player = Player::new("ann", Mode::Open, 100);
    assert_eq!(player.pause(ANN, 0).unwrap().action, "nothing-playing");
    assert_eq!(player.resume(ANN, 0).unwrap().action, "nothing-playing");
}

#[test]
fn skip_begins_the_next_track_at_once_even_from_a_pause() {
    let mut player = playing(&[("a", 5000), ("b", 3000)]);
    player.pause(ANN, 2000).unwrap();
    assert_eq!(player.skip(ANN, 4000).unwrap(), Done::new("skipped"));
    assert_eq!((current(&player), player.position(4500)), (Some("b"), Some(500)));
}

#[test]
fn skipping_the_last_track_stops_with_the_grace() {
    let mut player = playing(&[("a", 5000)]);
    assert_eq!(player.skip(ANN, 2000).unwrap(), Done { action: "stopped", leaves_in: Some(30_000) });
}

#[test]
fn stop_is_silence_now_and_leaving_after_the_grace() {
    let mut player = playing(&[("a", 5000), ("b", 3000)]);
    assert_eq!(player.stop(ANN, 2000).unwrap(), Done { action: "stopped", leaves_in: Some(30_000) });
    assert_eq!((current(&player), waiting(&player)), (None, vec![]));
    let still = Done { action: "stopping", leaves_in: Some(20_000) };
    assert_eq!(player.stop(ANN, 12_000).unwrap(), still);
    assert_eq!(player.pause(ANN, 12_000).unwrap(), still);
    assert_eq!(player.resume(ANN, 12_000).unwrap(), still);
    assert_eq!(player.skip(ANN, 12_000).unwrap(), still);
    assert!(!player.is_over(31_999) && player.is_over(32_000));
}

#[test]
fn play_takes_a_stop_back() {
    let mut player = playing(&[("a", 5000)]);
    player.stop(ANN, 2000).unwrap();
    assert_eq!(player.play(ANN, entry("b", 1000), &Limits::default(), 3000).unwrap().action, "playing");
    assert!(!player.is_over(60_000 - 1));
}

#[test]
fn without_grace_a_stop_is_over_at_once() {
    let mut player = playing(&[("a", 5000)]);
    player.stop_grace = 0;
    assert_eq!(player.stop(ANN, 2000).unwrap(), Done::new("stopped"));
    assert!(player.is_over(2000));
}

#[test]
fn the_grace_has_a_ceiling() {
    let mut player = playing(&[("a", 5000)]);
    player.stop_grace = Millis::MAX;
    assert_eq!(player.stop(ANN, 2000).unwrap().leaves_in, Some(MAX_STOP_GRACE_MS));
}

#[test]
fn a_track_beyond_the_limit_is_too_long() {
    let mut player = Player::new("ann", Mode::Open, 100);
    let limits = Limits::default();
    assert_eq!(text(player.play(ANN, entry("a", 20 * 60_000 + 1), &limits, 0)), "track-too-long");
    player.play(ANN, entry("a", 20 * 60_000), &limits, 0).unwrap();
}

#[test]
fn a_queue_of_a_hundred_is_full() {
    let mut player = playing(&[("now", 5000)]);
    for _ in 0..100 {
        player.play(ANN, entry("a", 5000), &Limits::default(), 1000).unwrap();
    }
    assert_eq!(text(player.play(ANN, entry("b", 5000), &Limits::default(), 1000)), "queue-full");
    // One has ended: there is room again.
    player.play(ANN, entry("b", 5000), &Limits::default(), 6000).unwrap();
}

#[test]
fn two_hours_of_waiting_are_too_long() {
    let limits = Limits::default();
    let mut player = Player::new("ann", Mode::Open, 100);
    for _ in 0..6 {
        player.play(ANN, entry("a", 20 * 60_000), &limits, 0).unwrap();
    }
    assert_eq!(text(player.play(ANN, entry("b", 60_000), &limits, 0)), "queue-too-long");
    // What has been heard does not count.
    player.play(ANN, entry("b", 60_000), &limits, 60_000).unwrap();
}

#[test]
fn the_volume_is_0_to_150() {
    let mut player = playing(&[("a", 5000)]);
    assert_eq!(player.set_volume(ANN, Some(0.0), 0).unwrap(), 0);
    assert_eq!(player.set_volume(ANN, Some(150.0), 0).unwrap(), 150);
    for bad in [None, Some(-1.0), Some(150.5), Some(f64::NAN), Some(f64::INFINITY)] {
        assert_eq!(text(player.set_volume(ANN, bad, 0)), "bad-volume", "{bad:?}");
    }
    assert_eq!(player.volume(), 150);
}

#[test]
fn the_presets_are_seven() {
    let mut player = playing(&[("a", 5000)]);
    for preset in PRESETS {
        assert_eq!(player.set_preset(ANN, &preset.to_uppercase(), 0).unwrap(), preset);
    }
    assert_eq!(text(player.set_preset(ANN, "louder", 0)), "bad-preset");
}

#[test]
fn move_remove_swap_and_clear_change_the_queue_and_not_what_plays() {
    let mut player = playing(&[("now", 5000), ("a", 1), ("b", 1), ("c", 1), ("d", 1)]);
    player.move_to(ANN, Some(0), Some(2), 1000).unwrap();
    assert_eq!(waiting(&player), ["b", "c", "a", "d"]);
    player.swap(ANN, Some(0), Some(3), 1000).unwrap();
    assert_eq!(waiting(&player), ["d", "c", "a", "b"]);
    assert_eq!(player.remove(ANN, Some(1), 1000).unwrap().track.title, "c");
    assert_eq!(waiting(&player), ["d", "a", "b"]);
    player.clear(ANN, 1000).unwrap();
    assert_eq!((current(&player), waiting(&player)), (Some("now"), vec![]));
}

#[test]
fn a_place_outside_the_queue_is_a_bad_index() {
    let mut player = playing(&[("now", 5000), ("a", 1), ("b", 1)]);
    for bad in [None, Some(2), Some(usize::MAX)] {
        assert_eq!(text(player.remove(ANN, bad, 1000)), "bad-index");
        assert_eq!(text(player.move_to(ANN, bad, Some(0), 1000)), "bad-index");
        assert_eq!(text(player.move_to(ANN, Some(0), bad, 1000)), "bad-index");
        assert_eq!(text(player.swap(ANN, Some(0), bad, 1000)), "bad-index");
    }
    assert_eq!(waiting(&player), ["a", "b"]);
}

#[test]
fn shuffle_keeps_the_tracks_and_changes_their_order() {
    let names: Vec<String> = (0..20).map(|number| format!("{number:02}")).collect();
    let mut player = playing(&[("now", 5000)]);
    for name in &names {
        player.play(ANN, entry(name, 1000), &Limits::default(), 1000).unwrap();
    }
    player.shuffle(ANN, &mut SmallRng::seed_from_u64(7), 1000).unwrap();
    let mut after = waiting(&player);
    assert_ne!(after, names);
    after.sort_unstable();
    assert_eq!(after, names);
    assert_eq!(current(&player), Some("now"));
}

#[test]
fn in_an_open_session_everybody_may_do_everything() {
    let mut player = playing(&[("now", 5000), ("a", 1)]);
    player.pause(BOB, 1000).unwrap();
    player.skip(BOB, 1000).unwrap();
}

/// A command of somebody, and whether it is refused.
type Attempt = (&'static str, fn(&mut Player, Actor<'_>) -> Result<(), OpError>);

const CONTROLS: [Attempt; 10] = [
    ("pause", |player, actor| player.pause(actor, 1000).map(drop)),
    ("resume", |player, actor| player.resume(actor, 1000).map(drop)),
    ("volume", |player, actor| player.set_volume(actor, Some(50.0), 1000).map(drop)),
    ("preset", |player, actor| player.set_preset(actor, "pop", 1000).map(drop)),
    ("move", |player, actor| player.move_to(actor, Some(0), Some(0), 1000)),
    ("swap", |player, actor| player.swap(actor, Some(0), Some(0), 1000)),
    ("shuffle", |player, actor| player.shuffle(actor, &mut SmallRng::seed_from_u64(1), 1000)),
    ("remove", |player, actor| player.remove(actor, Some(0), 1000).map(drop)),
    ("clear", |player, actor| player.clear(actor, 1000)),
    ("stop", |player, actor| player.stop(actor, 1000).map(drop)),
];

#[test]
fn in_a_djs_session_only_the_owner_and_admins_control() {
    for (name, attempt) in CONTROLS {
        let mut player = playing(&[("now", 5000), ("a", 1)]);
        player.set_mode(ANN, Mode::Dj, 1000).unwrap();
        let before = player.clone();
        assert_eq!(text(attempt(&mut player, BOB)), "not-owner", "{name}");
        assert_eq!(player, before, "{name}");
        attempt(&mut player.clone(), ANN).unwrap();
        attempt(&mut player, ADMIN).unwrap();
    }
    let mut player = playing(&[("now", 5000)]);
    player.set_mode(ANN, Mode::Dj, 1000).unwrap();
    assert_eq!(text(player.play(BOB, entry("b", 1), &Limits::default(), 1000)), "not-owner");
    assert_eq!(text(player.skip(BOB, 1000)), "not-owner");
}

#[test]
fn with_voice_control_a_djs_session_may_be_controlled_by_everybody() {
    for (name, attempt) in CONTROLS {
        let mut player = playing(&[("now", 5000), ("a", 1)]);
        player.set_mode(ANN, Mode::Dj, 1000).unwrap();
        player.owner_controls = false;
        attempt(&mut player, BOB).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

#[test]
fn only_the_owner_changes_the_mode_of_a_djs_session() {
    let mut player = playing(&[("now", 5000)]);
    assert_eq!(text(player.set_mode(BOB, Mode::Dj, 1000)), "not-owner");
    player.set_mode(BOB, Mode::Open, 1000).unwrap();
    player.set_mode(ANN, Mode::Dj, 1000).unwrap();
    assert_eq!(text(player.set_mode(BOB, Mode::Open, 1000)), "not-owner");
    player.set_mode(ADMIN, Mode::Dj, 1000).unwrap();
    assert_eq!(player.owner(), "root");
}

#[derive(Clone, Debug)]
enum Step {
    Wait(u64),
    Play(u64),
    Pause,
    Resume,
    Skip,
    Stop,
    Remove(usize),
    Move(usize, usize),
    Swap(usize, usize),
    Shuffle,
    Clear,
}

fn step() -> impl Strategy<Value = Step> {
    let place = 0..12_usize;
    prop_oneof![
        4 => (0..4000_u64).prop_map(Step::Wait),
        4 => (1..3000_u64).prop_map(Step::Play),
        1 => Just(Step::Pause),
        1 => Just(Step::Resume),
        1 => Just(Step::Skip),
        1 => Just(Step::Stop),
        1 => place.clone().prop_map(Step::Remove),
        1 => (place.clone(), place.clone()).prop_map(|(from, to)| Step::Move(from, to)),
        1 => (place.clone(), place).prop_map(|(a, b)| Step::Swap(a, b)),
        1 => Just(Step::Shuffle),
        1 => Just(Step::Clear),
    ]
}

fn apply(player: &mut Player, step: &Step, now: &mut Millis, limits: &Limits) {
    let _ = match *step {
        Step::Wait(time) => {
            *now += time;
            player.advance(*now);
            Ok(())
        }
        Step::Play(length) => player.play(ANN, entry("t", length), limits, *now).map(drop),
        Step::Pause => player.pause(ANN, *now).map(drop),
        Step::Resume => player.resume(ANN, *now).map(drop),
        Step::Skip => player.skip(ANN, *now).map(drop),
        Step::Stop => player.stop(ANN, *now).map(drop),
        Step::Remove(index) => player.remove(ANN, Some(index), *now).map(drop),
        Step::Move(from, to) => player.move_to(ANN, Some(from), Some(to), *now),
        Step::Swap(a, b) => player.swap(ANN, Some(a), Some(b), *now),
        Step::Shuffle => player.shuffle(ANN, &mut SmallRng::seed_from_u64(*now), *now),
        Step::Clear => player.clear(ANN, *now),
    };
}

proptest! {
    #[test]
    fn whatever_is_done_the_player_stays_whole(steps in proptest::collection::vec(step(), 0..60)) {
        let limits = Limits { max_queue: 10, ..Limits::default() };
        let mut player = Player::new("ann", Mode::Open, 100);
        let mut now = 0;
        for step in &steps {
            let before = player.revision();
            apply(&mut player, step, &mut now, &limits);
            prop_assert!(player.revision() >= before);
            prop_assert!(player.queue().len() <= 10);
            prop_assert!(player.current().is_some() || player.queue().is_empty(), "a queue without anything playing");
            prop_assert!(!(player.is_playing() && player.is_paused()));
            if let Some(position) = player.position(now) {
                prop_assert!(position <= player.current().unwrap().track.length_ms);
            }
            if player.is_playing() {
                prop_assert!(player.deadline().unwrap() > now, "a track that has ended still plays");
            }
        }
    }

    /// Looking often and looking once must see the same.
    #[test]
    fn the_number_of_looks_does_not_matter(
        lengths in proptest::collection::vec(1..2000_u64, 1..8),
        looks in proptest::collection::vec(1..700_u64, 1..20),
    ) {
        let limits = Limits::default();
        let mut often = Player::new("ann", Mode::Open, 100);
        for length in lengths {
            often.play(ANN, entry("t", length), &limits, 0).unwrap();
        }
        let mut once = often.clone();
        let mut now = 0;
        for look in looks {
            now += look;
            often.advance(now);
        }
        once.advance(now);
        prop_assert_eq!(often, once);
    }
}
