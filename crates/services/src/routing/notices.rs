//! The queue of what the desktop shows: not too much, not too fast, the urgent first. Time is an argument.

use std::collections::VecDeque;

use folkmoot_core::Millis;
use folkmoot_core::route::Urgency;

const PER_MINUTE: usize = 10;
const MINUTE: Millis = 60_000;
const APART: Millis = 1000;
/// The same title within this time is one notice with a count.
const JOINED: Millis = 5000;
const DEPTH: usize = 20;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    pub title: String,
    pub body: String,
    pub urgency: Urgency,
}

struct Waiting {
    notice: Notice,
    count: usize,
    since: Millis,
    not_before: Millis,
}

#[derive(Default)]
pub struct Queue {
    waiting: VecDeque<Waiting>,
    /// When the last ones were shown, and under which title, count and beginning.
    shown: VecDeque<(Millis, String, usize, Millis)>,
}

impl Queue {
    pub fn push(&mut self, notice: Notice, now: Millis) {
        let same = |waiting: &&mut Waiting| waiting.notice.title == notice.title && now - waiting.since < JOINED;
        if let Some(waiting) = self.waiting.iter_mut().find(same) {
            waiting.count += 1;
            waiting.notice.urgency = waiting.notice.urgency.max(notice.urgency);
            waiting.notice.body = notice.body;
            return;
        }
        let recent =
            self.shown.iter().rev().find(|(_, title, _, since)| *title == notice.title && now - since < JOINED);
        let waiting = match recent {
            // Shown a moment ago: what follows is gathered until the time is over.
            Some((_, _, count, since)) => {
                Waiting { notice, count: count + 1, since: *since, not_before: since + JOINED }
            }
            None => Waiting { notice, count: 1, since: now, not_before: now },
        };
        self.waiting.push_back(waiting);
        if self.waiting.len() > DEPTH {
            self.drop_least();
        }
    }

    /// The oldest low one goes, then the oldest normal one; high ones stay, however many.
    fn drop_least(&mut self) {
        let of = |urgency: Urgency| move |waiting: &Waiting| waiting.notice.urgency == urgency;
        let low = self.waiting.iter().position(of(Urgency::Low));
        if let Some(at) = low.or_else(|| self.waiting.iter().position(of(Urgency::Normal))) {
            self.waiting.remove(at);
        }
    }

    /// What to show now.
    pub fn next(&mut self, now: Millis) -> Option<Notice> {
        if self.may_show_at(now) > now {
            return None;
        }
        let ready = self.waiting.iter().enumerate().filter(|(_, waiting)| waiting.not_before <= now);
        let urgency = ready.clone().map(|(_, waiting)| waiting.notice.urgency).max()?;
        let at = ready.into_iter().find(|(_, waiting)| waiting.notice.urgency == urgency)?.0;
        let Waiting { mut notice, count, since, .. } = self.waiting.remove(at)?;
        self.shown.push_back((now, notice.title.clone(), count, since));
        if self.shown.len() > PER_MINUTE {
            self.shown.pop_front();
        }
        if count > 1 {
            notice.title = format!("{} ({count} occurrences)", notice.title);
        }
        Some(notice)
    }

    /// When it is worth asking again.
    pub fn deadline(&self, now: Millis) -> Option<Millis> {
        let ready = self.waiting.iter().map(|waiting| waiting.not_before).min()?;
        Some(ready.max(self.may_show_at(now)))
    }

    fn may_show_at(&self, now: Millis) -> Millis {
        let apart = self.shown.back().map_or(now, |(at, ..)| at + APART);
        let first = if self.shown.len() < PER_MINUTE { None } else { self.shown.front() };
        apart.max(first.map_or(now, |(at, ..)| at + MINUTE))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn notice(title: &str, urgency: Urgency) -> Notice {
        Notice { title: title.to_owned(), body: String::new(), urgency }
    }

    fn normal(title: &str) -> Notice {
        notice(title, Urgency::Normal)
    }

    /// Everything that is shown until nothing waits, with the time.
    fn drain(queue: &mut Queue, mut now: Millis) -> Vec<(Millis, String)> {
        let mut shown = Vec::new();
        while let Some(at) = queue.deadline(now) {
            now = now.max(at);
            let notice = queue.next(now).expect("something is shown at the deadline");
            shown.push((now, notice.title));
        }
        shown
    }

    #[test]
    fn notices_are_at_least_a_second_apart() {
        let mut queue = Queue::default();
        queue.push(normal("a"), 0);
        queue.push(normal("b"), 0);
        assert_eq!(queue.next(0).map(|notice| notice.title), Some("a".to_owned()));
        assert_eq!((queue.next(999), queue.deadline(0)), (None, Some(1000)));
        assert_eq!(queue.next(1000).map(|notice| notice.title), Some("b".to_owned()));
    }

    #[test]
    fn ten_are_shown_per_minute() {
        let mut queue = Queue::default();
        for number in 0..12 {
            queue.push(normal(&number.to_string()), 0);
        }
        let times: Vec<_> = drain(&mut queue, 0).into_iter().map(|(at, _)| at).collect();
        assert_eq!(times[..10], [0, 1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000, 9000]);
        assert_eq!(times[10..], [60_000, 61_000]);
    }

    #[test]
    fn the_same_title_within_five_seconds_is_joined_with_a_count() {
        let mut queue = Queue::default();
        queue.push(normal("saved"), 0);
        assert_eq!(queue.next(0).map(|notice| notice.title), Some("saved".to_owned()));
        queue.push(normal("saved"), 1000);
        queue.push(normal("saved"), 2000);
        assert_eq!(queue.next(4999), None);
        assert_eq!(drain(&mut queue, 4999), [(5000, "saved (3 occurrences)".to_owned())]);
        queue.push(normal("saved"), 6000);
        assert_eq!(drain(&mut queue, 6000), [(6000, "saved".to_owned())], "a new one after five seconds");
    }

    #[test]
    fn while_it_waits_the_same_title_is_joined_too() {
        let mut queue = Queue::default();
        queue.push(normal("x"), 0);
        queue.push(normal("saved"), 0);
        queue.push(notice("saved", Urgency::High), 100);
        assert_eq!(queue.next(100), Some(notice("saved (2 occurrences)", Urgency::High)));
    }

    #[test]
    fn high_priority_is_first() {
        let mut queue = Queue::default();
        queue.push(notice("low", Urgency::Low), 0);
        queue.push(normal("normal"), 0);
        queue.push(notice("high", Urgency::High), 0);
        let titles: Vec<_> = drain(&mut queue, 0).into_iter().map(|(_, title)| title).collect();
        assert_eq!(titles, ["high", "normal", "low"]);
    }

    proptest! {
        #[test]
        fn however_much_comes_high_is_never_dropped_and_the_pace_is_kept(
            pushes in proptest::collection::vec((0..3_usize, 0..3000_i64), 0..120)
        ) {
            let mut queue = Queue::default();
            let (mut now, mut high) = (0, 0);
            let mut shown = Vec::new();
            for (number, (urgency, pause)) in pushes.into_iter().enumerate() {
                now += pause;
                let urgency = [Urgency::Low, Urgency::Normal, Urgency::High][urgency];
                high += usize::from(urgency == Urgency::High);
                queue.push(notice(&format!("{urgency:?} {number}"), urgency), now);
                shown.extend(queue.next(now).map(|notice| (now, notice.title)));
            }
            shown.extend(drain(&mut queue, now));
            let times: Vec<_> = shown.iter().map(|(at, _)| *at).collect();
            prop_assert!(times.windows(2).all(|pair| pair[1] - pair[0] >= 1000));
            prop_assert!(times.windows(11).all(|eleven| eleven[10] - eleven[0] >= MINUTE));
            prop_assert_eq!(shown.iter().filter(|(_, title)| title.starts_with("High")).count(), high);
        }
    }
}
