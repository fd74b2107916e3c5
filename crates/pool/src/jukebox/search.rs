//! Which track somebody means: every word of the query has to fit somewhere, a title counts more than an artist, an
//! artist more than an album, and a whole word more than its beginning or a slip of the finger.

use std::cmp::Reverse;
use std::sync::Arc;

use super::track::Track;

const TITLE: u32 = 10;
const ARTIST: u32 = 8;
const ALBUM: u32 = 4;

/// The best matches, best first; equal ones in the order of the library.
pub fn best(tracks: &[Arc<Track>], query: &str, limit: usize) -> Vec<Arc<Track>> {
    let query = words(query);
    if query.is_empty() {
        return Vec::new();
    }
    let scored = |needed: usize| -> Vec<(u32, &Arc<Track>)> {
        let scored = tracks.iter().filter_map(|track| Some((score(track, &query, needed)?, track)));
        scored.collect()
    };
    let mut found = scored(query.len());
    if found.is_empty() && query.len() > 2 {
        // People add words that stand in no tag ("official video"); most of what they say has to fit all the same.
        found = scored(query.len().div_ceil(2).max(2));
    }
    found.sort_by_key(|(score, _)| Reverse(*score));
    found.into_iter().take(limit).map(|(_, track)| Arc::clone(track)).collect()
}

fn score(track: &Track, query: &[String], needed: usize) -> Option<u32> {
    let fields = [(&track.words.title, TITLE), (&track.words.artist, ARTIST), (&track.words.album, ALBUM)];
    let mut fitting = 0;
    let mut sum = 0;
    for wanted in query {
        let best = fields.iter().map(|(words, weight)| best_in(words, wanted) * weight).max().unwrap_or(0);
        fitting += usize::from(best > 0);
        sum += best;
    }
    (fitting >= needed).then(|| sum + whole(track, query))
}

/// How well a word fits the best of these words.
fn best_in(words: &[String], wanted: &str) -> u32 {
    words.iter().map(|word| likeness(word, wanted)).max().unwrap_or(0)
}

fn likeness(word: &str, wanted: &str) -> u32 {
    if word == wanted {
        8
    } else if word.starts_with(wanted) {
        5
    } else if wanted.len() >= 3 && word.contains(wanted) {
        3
    } else if is_one_slip_away(word, wanted) {
        2
    } else {
        0
    }
}

/// Being what was asked for as a whole counts more than having its words.
fn whole(track: &Track, query: &[String]) -> u32 {
    let title = &track.words.title;
    let artist = &track.words.artist;
    let both = |first: &[String], second: &[String]| query == [first, second].concat();
    if title == query || both(artist, title) || both(title, artist) {
        200
    } else if title.starts_with(query) {
        60
    } else if query.len() > 1 && title.windows(query.len()).any(|part| part == query) {
        40
    } else {
        0
    }
}

/// One letter too many, too few, or wrong, or two swapped; only in words long enough for that to mean something.
fn is_one_slip_away(word: &str, wanted: &str) -> bool {
    let word: Vec<char> = word.chars().collect();
    let wanted: Vec<char> = wanted.chars().collect();
    if wanted.len() < 4 || word.len().abs_diff(wanted.len()) > 1 {
        return false;
    }
    let same_start = word.iter().zip(&wanted).take_while(|(one, other)| one == other).count();
    let (rest, wanted_rest) = (&word[same_start..], &wanted[same_start..]);
    match (rest, wanted_rest) {
        ([_, one @ ..], other) if one == other => true,
        (one, [_, other @ ..]) if one == other => true,
        ([_, one @ ..], [_, other @ ..]) if one == other => true,
        ([a, b, one @ ..], [c, d, other @ ..]) => a == d && b == c && one == other,
        _ => false,
    }
}

/// The words of a text as they are compared: small letters without accents; what is neither letter nor digit parts them.
pub fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for letter in text.chars().flat_map(char::to_lowercase) {
        match letter {
            // "Don't" is one word, with or without its mark.
            '\'' | '’' | '`' => {}
            letter if letter.is_alphanumeric() => {
                if let Some(word) = words.last_mut() {
                    push_plain(word, letter);
                }
            }
            _ => words.push(String::new()),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Without the accent: people type "beyonce" for "Beyoncé".
fn push_plain(word: &mut String, letter: char) {
    let plain = match letter {
        'à'..='å' | 'ā' | 'ă' | 'ą' => "a",
        'æ' => "ae",
        'ç' | 'ć' | 'č' => "c",
        'ď' | 'đ' | 'ð' => "d",
        'è'..='ë' | 'ē' | 'ė' | 'ę' | 'ě' => "e",
        'ğ' => "g",
        'ì'..='ï' | 'ī' | 'į' | 'ı' => "i",
        'ł' => "l",
        'ñ' | 'ń' | 'ň' => "n",
        'ò'..='ö' | 'ø' | 'ō' | 'ő' => "o",
        'œ' => "oe",
        'ř' => "r",
        'ś' | 'š' | 'ş' | 'ș' => "s",
        'ß' => "ss",
        'ť' | 'ț' | 'ţ' => "t",
        'ù'..='ü' | 'ū' | 'ů' | 'ű' => "u",
        'ý' | 'ÿ' => "y",
        'ź' | 'ż' | 'ž' => "z",
        other => return word.push(other),
    };
    word.push_str(plain);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::track::Words;
    use super::*;

    fn track(title: &str, artist: &str, album: &str) -> Arc<Track> {
        let mut track = super::super::player::tests::track(title, 1000);
        track.artist = artist.to_owned();
        track.album = album.to_owned();
        track.words = Words::of(title, artist, album);
        Arc::new(track)
    }

    fn shelf() -> Vec<Arc<Track>> {
        vec![
            track("Blue in Green", "Miles Davis", "Kind of Blue"),
            track("So What", "Miles Davis", "Kind of Blue"),
            track("Blue", "Joni Mitchell", "Blue"),
            track("Halo", "Beyoncé", "I Am… Sasha Fierce"),
            track("Don’t Stop Me Now", "Queen", "Jazz"),
            track("Queen", "Perfume Genius", "Too Bright"),
            track("Never Gonna Give You Up", "Rick Astley", "Whenever You Need Somebody"),
        ]
    }

    fn first(query: &str) -> Option<String> {
        best(&shelf(), query, 10).first().map(|track| track.title.clone())
    }

    #[test]
    fn the_whole_title_comes_before_a_part_of_one() {
        assert_eq!(first("blue").unwrap(), "Blue");
        assert_eq!(first("blue in").unwrap(), "Blue in Green");
    }

    #[test]
    fn title_comes_before_artist_and_artist_before_album() {
        assert_eq!(first("queen").unwrap(), "Queen");
        let found = best(&shelf(), "queen", 10);
        assert_eq!(found[1].title, "Don’t Stop Me Now");
        let found: Vec<_> = best(&shelf(), "kind of blue", 10).iter().map(|track| track.title.clone()).collect();
        assert_eq!(found, ["Blue in Green", "So What"]);
    }

    #[test]
    fn artist_and_title_together_find_the_track_in_either_order() {
        assert_eq!(first("miles davis so what").unwrap(), "So What");
        assert_eq!(first("so what miles davis").unwrap(), "So What");
        assert_eq!(first("rick astley never gonna").unwrap(), "Never Gonna Give You Up");
    }

    #[test]
    fn accents_case_marks_beginnings_and_slips_do_not_matter() {
        assert_eq!(first("BEYONCE halo").unwrap(), "Halo");
        assert_eq!(first("dont stop").unwrap(), "Don’t Stop Me Now");
        assert_eq!(first("nev gon giv").unwrap(), "Never Gonna Give You Up");
        for slip in ["qeen stop", "queeen stop", "queem stop", "quene stop"] {
            assert_eq!(first(slip).unwrap(), "Don’t Stop Me Now", "{slip}");
        }
    }

    #[test]
    fn every_word_has_to_fit_unless_most_of_many_do() {
        assert_eq!(first("halo zebra"), None);
        assert_eq!(first("never gonna give official video hd").unwrap(), "Never Gonna Give You Up");
        assert_eq!(first(""), None);
        assert_eq!(first("!?"), None);
    }

    proptest! {
        #[test]
        fn a_track_is_found_by_its_own_title(title in "[a-zA-Z]{1,10}( [a-zA-Z]{1,10}){0,4}") {
            let mut tracks = shelf();
            tracks.push(track(&title, "", ""));
            let found = best(&tracks, &title, 3);
            prop_assert!(found.iter().any(|track| track.title == title));
        }

        #[test]
        fn no_query_makes_the_search_panic(query: String) {
            prop_assert!(best(&shelf(), &query, 3).len() <= 3);
        }
    }
}
