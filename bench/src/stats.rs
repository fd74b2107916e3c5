//! Medians and percentiles of what was measured.

use serde::{Deserialize, Serialize};

/// The middle value; of an even number of values, the mean of the two in the middle.
/// An empty slice has no middle and gives NaN, which shows as a gap in the table.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[middle],
        _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
    }
}

/// The nearest-rank percentile: the smallest value that at least `percent` of all values do not exceed.
pub fn percentile(sorted: &[u64], percent: f64) -> u64 {
    if sorted.is_empty() {
        return 0;
    }
    let rank = (percent / 100.0 * sorted.len() as f64).ceil() as usize;
    sorted[rank.clamp(1, sorted.len()) - 1]
}

/// How a set of latencies is spread, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    pub count: u64,
    pub p50_us: f64,
    pub p99_us: f64,
    pub max_us: f64,
}

impl Spread {
    /// Sorts the nanoseconds in place, because callers have no further use for their order.
    pub fn of_nanos(nanos: &mut [u64]) -> Self {
        nanos.sort_unstable();
        let micros = |n: u64| n as f64 / 1_000.0;
        Self {
            count: nanos.len() as u64,
            p50_us: micros(percentile(nanos, 50.0)),
            p99_us: micros(percentile(nanos, 99.0)),
            max_us: micros(nanos.last().copied().unwrap_or(0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_of_odd_count_is_the_middle_value() {
        assert_eq!(median(&[9.0, 1.0, 5.0]), 5.0);
    }

    #[test]
    fn median_of_even_count_is_the_mean_of_the_middle_two() {
        assert_eq!(median(&[4.0, 1.0, 2.0, 100.0]), 3.0);
    }

    #[test]
    fn median_of_nothing_is_not_a_number() {
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn percentile_is_nearest_rank() {
        let values: Vec<u64> = (1..=100).collect();
        assert_eq!(percentile(&values, 50.0), 50);
        assert_eq!(percentile(&values, 99.0), 99);
        assert_eq!(percentile(&values, 100.0), 100);
        assert_eq!(percentile(&values, 0.0), 1);
    }

    #[test]
    fn percentile_of_few_values_never_leaves_the_slice() {
        assert_eq!(percentile(&[7], 99.0), 7);
        assert_eq!(percentile(&[3, 8], 50.0), 3);
        assert_eq!(percentile(&[3, 8], 51.0), 8);
        assert_eq!(percentile(&[], 50.0), 0);
    }

    #[test]
    fn spread_sorts_before_it_ranks() {
        let spread = Spread::of_nanos(&mut [3_000, 1_000, 2_000]);
        assert_eq!(spread.count, 3);
        assert_eq!(spread.p50_us, 2.0);
        assert_eq!(spread.p99_us, 3.0);
        assert_eq!(spread.max_us, 3.0);
    }
}
