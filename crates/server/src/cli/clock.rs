//! Moments in words. Times are shown in UTC, so that two people compare the same numbers.

/// `HH:MM:SS` of a moment in milliseconds since 1970.
pub fn time(milliseconds: i64) -> String {
    let second = milliseconds.div_euclid(1000).rem_euclid(86_400);
    format!("{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60)
}

/// `YYYY-MM-DD` of a moment in milliseconds since 1970.
pub fn date(milliseconds: i64) -> String {
    let (year, month, day) = civil(milliseconds.div_euclid(86_400_000));
    format!("{year:04}-{month:02}-{day:02}")
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
    }
}
