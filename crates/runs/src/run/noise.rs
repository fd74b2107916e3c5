//! Lines of an engine that nobody can read: the first are told, the rest are counted.

/// How many of them one run tells; more would bury what the engine does.
const MAX_TOLD: usize = 3;

#[derive(Default)]
pub struct Noise {
    lines: usize,
}

impl Noise {
    /// What to say of one more; nothing when enough was said.
    pub fn take(&mut self, text: String) -> Option<String> {
        self.lines += 1;
        (self.lines <= MAX_TOLD).then_some(text)
    }

    /// What to say of those that were only counted.
    pub fn rest(&mut self) -> Option<String> {
        let more = std::mem::take(&mut self.lines).saturating_sub(MAX_TOLD);
        let (lines, were) = if more == 1 { ("line", "was") } else { ("lines", "were") };
        (more > 0).then(|| format!("{more} more {lines} that nobody can read {were} skipped"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_lines_are_told_and_the_rest_is_a_count() {
        let mut noise = Noise::default();
        let told = (0..1000).filter_map(|number| noise.take(format!("line {number}"))).collect::<Vec<_>>();
        assert_eq!(told, ["line 0", "line 1", "line 2"]);
        assert_eq!(noise.rest().as_deref(), Some("997 more lines that nobody can read were skipped"));
        assert_eq!(noise.rest(), None, "it is said once");
    }

    #[test]
    fn what_was_told_is_not_counted_again() {
        let mut noise = Noise::default();
        assert!(noise.take("a".to_owned()).is_some() && noise.rest().is_none());
    }
}
