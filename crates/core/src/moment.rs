//! Moments in words. Times are shown in UTC, so that two people compare the same numbers.

use crate::Millis;

/// `HH:MM:SS` of a moment in milliseconds since 1970.
pub fn time(milliseconds: Millis) -> String {
    let second = milliseconds.div_euclid(1000).rem_euclid(86_400);
    format!("{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60)
}

/// `YYYY-MM-DD` of a moment in milliseconds since 1970.
pub fn date(milliseconds: Millis) -> String {
    let (year, month, day) = civil(milliseconds.div_euclid(86_400_000));
    format!("{year:04}-{month:02}-{day:02}")
}

/// `YYYY-MM-DDTHH:MM:SS.mmmZ`, as ISO 8601 has it.
pub fn iso(milliseconds: Millis) -> String {
    format!("{}T{}.{:03}Z", date(milliseconds), time(milliseconds), milliseconds.rem_euclid(1000))
}

/// Reads ISO 8601 as programs write it: `T` or a space in the middle, any number of decimals, `Z`, an offset or nothing (UTC).
pub fn from_iso(text: &str) -> Option<Millis> {
    let (date, rest) = text.trim().split_once(['T', 't', ' '])?;
    let [year, month, day] = numbers(date, '-')?;
    let zone = rest.find(['Z', 'z', '+', '-']).unwrap_or(rest.len());
    let (clock, zone) = rest.split_at(zone);
    let (clock, decimals) = clock.split_once('.').unwrap_or((clock, ""));
    let [hour, minute, second] = numbers(clock, ':')?;
    let in_range = (0..=9999).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    if !in_range || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let seconds = days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - offset(zone)?;
    Some(seconds * 1000 + thousandths(decimals)?)
}

fn numbers(text: &str, between: char) -> Option<[i64; 3]> {
    let mut parts = text.split(between).map(digits);
    let numbers = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(numbers)
}

fn digits(text: &str) -> Option<i64> {
    let plain = !text.is_empty() && text.len() <= 9 && text.bytes().all(|byte| byte.is_ascii_digit());
    if plain { text.parse().ok() } else { None }
}

fn thousandths(decimals: &str) -> Option<i64> {
    if decimals.is_empty() {
        return Some(0);
    }
    let all_digits = decimals.bytes().all(|byte| byte.is_ascii_digit());
    if all_digits { digits(&format!("{decimals:0<3}")[..3]) } else { None }
}

/// `Z`, `+02:00`, `-0530` or nothing, in seconds.
fn offset(zone: &str) -> Option<i64> {
    let sign = match zone.chars().next() {
        None | Some('Z' | 'z') => return (zone.len() <= 1).then_some(0),
        Some('-') => -1,
        Some(_) => 1,
    };
    let digits = digits(&zone[1..].replace(':', "")).filter(|_| zone.len() >= 5)?;
    Some(sign * (digits / 100 * 3600 + digits % 100 * 60))
}

/// The day number of a date; the way back from [`civil`].
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let shifted_month = if month > 2 { month - 3 } else { month + 9 };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * shifted_month + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// Year, month and day of a day number; years begin in March here, so that the leap day comes last.
fn civil(days_since_1970: i64) -> (i64, i64, i64) {
    let days = days_since_1970 + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
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
