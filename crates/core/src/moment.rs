//! Moments in words. Times are shown in UTC, so that two people compare the same numbers.

use jiff::SignedDuration;
use jiff::civil::DateTime;
use jiff::fmt::temporal::Pieces;

use crate::Millis;

const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

/// `HH:MM:SS` of a moment in milliseconds since 1970.
pub fn time(milliseconds: Millis) -> String {
    utc(milliseconds).strftime("%H:%M:%S").to_string()
}

/// `YYYY-MM-DD` of a moment in milliseconds since 1970.
pub fn date(milliseconds: Millis) -> String {
    utc(milliseconds).strftime("%Y-%m-%d").to_string()
}

/// `YYYY-MM-DDTHH:MM:SS.mmmZ`, as ISO 8601 has it.
pub fn iso(milliseconds: Millis) -> String {
    utc(milliseconds).strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

fn utc(milliseconds: Millis) -> DateTime {
    EPOCH.saturating_add(SignedDuration::from_millis(milliseconds))
}

/// Reads ISO 8601 as programs write it: `T` or a space in the middle, any number of decimals, `Z`, an offset or nothing (UTC).
pub fn from_iso(text: &str) -> Option<Millis> {
    let text = with_thousandths(text.trim());
    let pieces = Pieces::parse(&text).ok()?;
    if pieces.time_zone_annotation().is_some() {
        return None;
    }
    let moment = pieces.date().to_datetime(pieces.time()?);
    let offset = pieces.to_numeric_offset().map_or(0, |offset| offset.seconds());
    let since_1970 = moment.duration_since(EPOCH) - SignedDuration::from_secs(offset.into());
    Millis::try_from(since_1970.as_millis()).ok()
}

/// The same text without the decimals that a [`Millis`] has no room for.
fn with_thousandths(text: &str) -> String {
    let Some((before, decimals)) = text.split_once('.') else { return text.to_owned() };
    let end = decimals.find(|character: char| !character.is_ascii_digit()).unwrap_or(decimals.len());
    format!("{before}.{}{}", &decimals[..end.min(3)], &decimals[end..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_read_as_the_calendar_says() {
        assert_eq!((date(0), time(0)), ("1970-01-01".into(), "00:00:00".into()));
        assert_eq!((date(1_709_210_096_789), time(1_709_210_096_789)), ("2024-02-29".into(), "12:34:56".into()));
        assert_eq!((date(-1), time(-1)), ("1969-12-31".into(), "23:59:59".into()));
        assert_eq!(date(4_102_444_800_000), "2100-01-01");
        assert_eq!(iso(1_709_210_096_789), "2024-02-29T12:34:56.789Z");
    }

    #[test]
    fn iso_moments_are_read_as_programs_write_them() {
        let moment = 1_709_210_096_789;
        for text in [
            "2024-02-29T12:34:56.789Z",
            "2024-02-29 12:34:56.789123",
            "2024-02-29T12:34:56.789+00:00",
            "2024-02-29T14:34:56.789+02:00",
            "2024-02-29T07:04:56.789-0530",
        ] {
            assert_eq!(from_iso(text), Some(moment), "{text}");
        }
        assert_eq!(from_iso("1970-01-01T00:00:00"), Some(0));
        for wrong in
            ["", "now", "2024-02-29", "2024-13-01T00:00:00", "2024-01-01T25:00:00", "2024-01-01T00:00:00x", "T"]
        {
            assert_eq!(from_iso(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_day_that_is_in_no_calendar_is_no_moment() {
        for wrong in ["2024-02-31", "2023-02-29", "2100-02-29", "2024-04-31", "2024-01-00", "2024-00-01"] {
            assert_eq!(from_iso(&format!("{wrong}T00:00:00Z")), None, "{wrong}");
        }
        assert!(from_iso("2024-02-29T00:00:00Z").is_some());
    }

    #[test]
    fn decimals_beyond_thousandths_are_dropped_however_many_there_are() {
        for decimals in ["789", "789123456", "7891234567891234567"] {
            assert_eq!(from_iso(&format!("2024-02-29T12:34:56.{decimals}Z")), Some(1_709_210_096_789), "{decimals}");
        }
    }

    proptest::proptest! {
        #[test]
        fn every_moment_is_read_back(moment in 0_i64..253_402_300_799_999) {
            proptest::prop_assert_eq!(from_iso(&iso(moment)), Some(moment));
        }

        #[test]
        fn any_text_is_read_without_a_panic(text in "[0-9TZ:+. -]{0,30}|.{0,30}") {
            let _ = from_iso(&text);
        }
    }
}
