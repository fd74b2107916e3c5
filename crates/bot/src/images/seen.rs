//! Images that were looked at before, so that none is fetched again and again.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What is known about an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Image(Arc<Image>),
    /// Why it cannot be shown.
    Refused(String),
}

/// An image as the model gets it.
#[derive(Debug, PartialEq, Eq)]
pub struct Image {
    pub mime: String,
    pub bytes: Vec<u8>,
}

/// A bounded memory of verdicts: by number, by age, and by the bytes of the images it keeps.
#[derive(Debug)]
pub struct Seen {
    entries: HashMap<String, (Instant, Verdict)>,
    /// The addresses of all entries with their times, oldest first.
    order: VecDeque<(Instant, String)>,
    most: usize,
    ttl: Duration,
    most_bytes: usize,
    bytes: usize,
}

impl Seen {
    pub fn new(most: usize, ttl: Duration, most_bytes: usize) -> Self {
        Self { entries: HashMap::new(), order: VecDeque::new(), most, ttl, most_bytes, bytes: 0 }
    }

    pub fn get(&self, url: &str, now: Instant) -> Option<&Verdict> {
        let (since, verdict) = self.entries.get(url)?;
        (now.saturating_duration_since(*since) < self.ttl).then_some(verdict)
    }

    pub fn insert(&mut self, url: &str, verdict: Verdict, now: Instant) {
        if self.take(url).is_some() {
            self.order.retain(|(_, known)| known != url);
        }
        self.bytes += size(&verdict);
        self.entries.insert(url.to_owned(), (now, verdict));
        self.order.push_back((now, url.to_owned()));
        self.clean(now);
    }

    /// Forgets what is too old or too much.
    pub fn clean(&mut self, now: Instant) {
        while let Some((since, _)) = self.order.front() {
            let old = now.saturating_duration_since(*since) >= self.ttl;
            if !old && self.entries.len() <= self.most && self.bytes <= self.most_bytes {
                break;
            }
            if let Some((_, url)) = self.order.pop_front() {
                self.take(&url);
            }
        }
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn take(&mut self, url: &str) -> Option<Verdict> {
        let (_, verdict) = self.entries.remove(url)?;
        self.bytes -= size(&verdict);
        Some(verdict)
    }
}

fn size(verdict: &Verdict) -> usize {
    match verdict {
        Verdict::Image(image) => image.bytes.len(),
        Verdict::Refused(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DAY: Duration = Duration::from_secs(86_400);

    fn no() -> Verdict {
        Verdict::Refused("too large".into())
    }

    fn image(length: usize) -> Verdict {
        Verdict::Image(Arc::new(Image { mime: "image/png".into(), bytes: vec![0; length] }))
    }

    #[test]
    fn an_entry_lives_for_24_hours() {
        let start = Instant::now();
        let mut seen = Seen::new(10_000, DAY, 1000);
        seen.insert("a", no(), start);
        assert_eq!(seen.get("a", start + DAY - Duration::from_secs(1)), Some(&no()));
        assert_eq!(seen.get("a", start + DAY), None);
        seen.clean(start + DAY);
        assert!(seen.is_empty());
    }

    #[test]
    fn there_are_at_most_10_000_and_the_oldest_goes_first() {
        let start = Instant::now();
        let mut seen = Seen::new(10_000, DAY, 1000);
        for number in 0..10_001 {
            seen.insert(&number.to_string(), no(), start);
        }
        assert_eq!(seen.len(), 10_000);
        assert_eq!(seen.get("0", start), None);
        assert_eq!(seen.get("10000", start), Some(&no()));
    }

    #[test]
    fn the_images_it_keeps_are_bounded_too() {
        let start = Instant::now();
        let mut seen = Seen::new(10_000, DAY, 1000);
        seen.insert("a", image(600), start);
        seen.insert("b", image(600), start);
        assert_eq!(seen.get("a", start), None);
        assert_eq!(seen.get("b", start), Some(&image(600)));
    }

    #[test]
    fn a_newer_verdict_replaces_the_old_one() {
        let start = Instant::now();
        let mut seen = Seen::new(2, DAY, 1000);
        seen.insert("a", image(10), start);
        seen.insert("a", no(), start + Duration::from_secs(5));
        seen.insert("b", no(), start + Duration::from_secs(6));
        assert_eq!((seen.get("a", start), seen.len(), seen.bytes), (Some(&no()), 2, 0));
    }

    proptest! {
        #[test]
        fn the_bounds_hold_whatever_is_asked(steps in prop::collection::vec((0u8..12, 0usize..80, 0u64..40), 1..80)) {
            let mut now = Instant::now();
            let mut seen = Seen::new(5, Duration::from_secs(100), 200);
            for (name, length, later) in steps {
                now += Duration::from_secs(later);
                seen.insert(&name.to_string(), image(length), now);
                prop_assert!(seen.len() <= 5);
                let held: usize = seen.entries.values().map(|(_, verdict)| size(verdict)).sum();
                prop_assert_eq!(held, seen.bytes);
                prop_assert!(held <= 200);
                prop_assert!(seen.get(&name.to_string(), now).is_some());
            }
        }
    }
}
