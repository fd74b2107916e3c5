//! Which client a sentence is for, by its words alone: BM25 over stemmed words and the subjects they belong to.
//!
//! It is there so that routing works without a model, at once and everywhere. A client is known by its name, its
//! description and its capabilities. Words count most; the subject of a word (see [`lexicon`]) helps where people
//! do not use the client's own words. When nobody stands out, it says so instead of guessing.

mod lexicon;

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{LazyLock, OnceLock};

use rust_stemmers::{Algorithm, Stemmer};

/// The usual constants of BM25; descriptions are short and their lengths say little.
const K1: f32 = 1.2;
const B: f32 = 0.4;
const NAME_WEIGHT: f32 = 2.0;
const CAPABILITY_WEIGHT: f32 = 1.5;
const DESCRIPTION_WEIGHT: f32 = 1.0;
/// What a subject counts beside a word of the client's own.
const SUBJECT_WEIGHT: f32 = 0.55;
/// A word that every client knows still says that the sentence is for one of them.
const MIN_RARITY: f32 = 0.3;
/// Below this the words have hardly anything to do with each other.
const MIN_SCORE: f32 = 0.25;
/// The first must be ahead of the second by this share of its score.
const MIN_LEAD: f32 = 0.02;
/// Longer sentences are ranked by their beginning.
const MAX_QUERY_TERMS: usize = 200;

/// A client as the ranking sees it; made once, when the client says what it can do.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Sorted by term.
    terms: Vec<(Term, f32)>,
    length: f32,
}

/// A word or a subject, as a hash of it.
type Term = u64;

/// A client's place, and which words of the sentence spoke for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranked {
    /// The index of the client among those that were ranked.
    pub client: usize,
    pub score: f32,
    pub words: Vec<String>,
}

/// What the ranking makes of a sentence.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// This one, clearly enough.
    Clear(Ranked),
    /// Nobody stands out; the likeliest first.
    Unsure(Vec<usize>),
}

impl Profile {
    pub fn new(name: &str, description: &str, capabilities: &[String]) -> Self {
        let mut terms: HashMap<Term, f32> = HashMap::new();
        let mut length = 0.0;
        let mut add = |text: &str, weight: f32| {
            let words = words(text);
            length += words.len() as f32;
            for (term, share) in weighted_terms(&words) {
                *terms.entry(term).or_default() += weight * share;
            }
        };
        add(name, NAME_WEIGHT);
        add(description, DESCRIPTION_WEIGHT);
        capabilities.iter().for_each(|capability| add(capability, CAPABILITY_WEIGHT));
        let mut terms: Vec<_> = terms.into_iter().collect();
        terms.sort_unstable_by_key(|(term, _)| *term);
        Self { terms, length }
    }

    fn frequency(&self, term: Term) -> f32 {
        self.terms.binary_search_by_key(&term, |(known, _)| *known).map_or(0.0, |at| self.terms[at].1)
    }
}

/// Every client with its score, the best first; those the sentence has nothing in common with are left out.
pub fn rank(sentence: &str, clients: &[&Profile]) -> Vec<Ranked> {
    let words = words(sentence);
    let query = query_terms(&words);
    let average = clients.iter().map(|client| client.length).sum::<f32>() / clients.len().max(1) as f32;
    let mut ranked: Vec<_> =
        (0..clients.len()).map(|client| Ranked { client, score: 0.0, words: Vec::new() }).collect();
    let mut frequencies = vec![0.0; clients.len()];
    for (term, weight, word) in query {
        for (frequency, client) in frequencies.iter_mut().zip(clients) {
            *frequency = client.frequency(term);
        }
        let having = frequencies.iter().filter(|frequency| **frequency > 0.0).count() as f32;
        let rarity = (1.0 + (clients.len() as f32 - having + 0.5) / (having + 0.5)).ln().max(MIN_RARITY);
        for ((place, frequency), client) in ranked.iter_mut().zip(&frequencies).zip(clients) {
            if *frequency > 0.0 {
                let norm = K1 * (1.0 - B + B * client.length / average.max(1.0));
                place.score += weight * rarity * frequency * (K1 + 1.0) / (frequency + norm);
                place.note(&words[word].shown);
            }
        }
    }
    ranked.retain(|place| place.score > 0.0);
    ranked.sort_by(|a, b| b.score.total_cmp(&a.score));
    ranked
}

/// Decides between the ranked; `clients` is how many there are. Where `any_will_do`, as after a refusal, the likeliest is
/// tried, however little speaks for it.
pub fn verdict(mut ranked: Vec<Ranked>, clients: usize, any_will_do: bool) -> Verdict {
    let lead = match ranked.as_slice() {
        [first, second, ..] if !any_will_do => (first.score - second.score) / first.score,
        _ => 1.0,
    };
    if ranked.first().is_some_and(|first| first.score >= MIN_SCORE && lead >= MIN_LEAD) {
        return Verdict::Clear(ranked.swap_remove(0));
    }
    let known: Vec<_> = ranked.iter().map(|place| place.client).collect();
    let unknown = (0..clients).filter(|client| !known.contains(client));
    ranked.extend(unknown.map(|client| Ranked { client, score: 0.0, words: Vec::new() }));
    if any_will_do && !ranked.is_empty() {
        return Verdict::Clear(ranked.swap_remove(0));
    }
    Verdict::Unsure(ranked.into_iter().map(|place| place.client).collect())
}

impl Ranked {
    fn note(&mut self, word: &str) {
        if !self.words.iter().any(|known| known == word) {
            self.words.push(word.to_owned());
        }
    }
}

struct Word {
    shown: String,
    stem: String,
}

fn words(text: &str) -> Vec<Word> {
    static STEMMER: LazyLock<Stemmer> = LazyLock::new(|| Stemmer::create(Algorithm::English));
    static STOPPED: LazyLock<std::collections::HashSet<&str>> =
        LazyLock::new(|| lexicon::STOP_WORDS.split_whitespace().collect());
    let lower = text.to_lowercase().replace('\u{2019}', "'");
    let raw = lower.split(|letter: char| !(letter.is_alphanumeric() || letter == '\'')).filter(|word| !word.is_empty());
    let kept = raw.map(|word| word.trim_matches('\'')).filter(|word| !word.is_empty() && !STOPPED.contains(word));
    let plain = kept.map(|word| word.strip_suffix("'s").unwrap_or(word));
    plain.map(|word| Word { shown: word.to_owned(), stem: STEMMER.stem(word).into_owned() }).collect()
}

fn hash(kind: u8, text: &str) -> Term {
    let mut hasher = DefaultHasher::new();
    (kind, text).hash(&mut hasher);
    hasher.finish()
}

fn word_term(stem: &str) -> Term {
    hash(0, stem)
}

fn subject_term(subject: usize) -> Term {
    hash(1, &subject.to_string())
}

/// The subjects that each word, or pair of words, belongs to.
fn subjects() -> &'static HashMap<Term, Vec<Term>> {
    static SUBJECTS: OnceLock<HashMap<Term, Vec<Term>>> = OnceLock::new();
    SUBJECTS.get_or_init(|| {
        let mut subjects: HashMap<Term, Vec<Term>> = HashMap::new();
        for (number, line) in lexicon::SUBJECTS.iter().enumerate() {
            for word in words(line) {
                let known = subjects.entry(word_term(&word.stem)).or_default();
                if !known.contains(&subject_term(number)) {
                    known.push(subject_term(number));
                }
            }
        }
        subjects
    })
}

/// The terms of a client's text: its words, and their subjects.
fn weighted_terms(words: &[Word]) -> Vec<(Term, f32)> {
    let mut terms = Vec::new();
    for word in words {
        let term = word_term(&word.stem);
        terms.push((term, 1.0));
        if let Some(subjects) = subjects().get(&term) {
            // A word of many subjects says little about each.
            let share = 1.0 / subjects.len() as f32;
            terms.extend(subjects.iter().map(|subject| (*subject, share)));
        }
    }
    terms
}

/// The terms of a sentence with their weights and the word they come from; what is said twice counts once.
fn query_terms(words: &[Word]) -> Vec<(Term, f32, usize)> {
    let mut query: Vec<(Term, f32, usize)> = Vec::new();
    for (at, word) in words.iter().enumerate().take(MAX_QUERY_TERMS) {
        let term = word_term(&word.stem);
        if query.iter().any(|(known, ..)| *known == term) {
            continue;
        }
        query.push((term, 1.0, at));
        for subject in subjects().get(&term).into_iter().flatten() {
            let share = SUBJECT_WEIGHT / (subjects()[&term].len() as f32);
            query.push((*subject, share, at));
        }
    }
    query
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn profiles() -> Vec<Profile> {
        let client = |name: &str, description: &str| Profile::new(name, description, &[]);
        vec![
            client("notebook", "I keep notes and ideas in a journal."),
            client("calendar", "I manage appointments and meetings."),
            client("weather", "I know the weather forecast."),
        ]
    }

    fn judge(sentence: &str) -> Verdict {
        let profiles = profiles();
        let clients: Vec<_> = profiles.iter().collect();
        verdict(rank(sentence, &clients), clients.len(), false)
    }

    #[track_caller]
    fn clear(sentence: &str) -> Ranked {
        let Verdict::Clear(ranked) = judge(sentence) else { panic!("nobody stands out for {sentence:?}") };
        ranked
    }

    #[test]
    fn words_meet_by_their_stem() {
        let first = clear("please move my meeting");
        assert_eq!((first.client, first.words[0].as_str()), (1, "meeting"));
        assert_eq!(clear("noting an idea").client, 0);
    }

    #[test]
    fn a_word_of_the_same_subject_is_enough() {
        assert_eq!(clear("do I need an umbrella").client, 2);
    }

    #[test]
    fn a_name_counts_as_a_word() {
        assert_eq!(clear("ask the calendar").client, 1);
    }

    #[test]
    fn nobody_stands_out_for_words_that_nobody_knows_and_all_are_offered() {
        assert_eq!(judge("xyzzy plugh"), Verdict::Unsure(vec![0, 1, 2]));
        assert_eq!(judge(""), Verdict::Unsure(vec![0, 1, 2]));
    }

    #[test]
    fn two_clients_that_say_the_same_are_not_guessed_between() {
        let twin = Profile::new("notes", "I keep notes.", &[]);
        let clients = [&twin, &twin];
        assert_eq!(verdict(rank("take a note", &clients), 2, false), Verdict::Unsure(vec![0, 1]));
        let after_a_refusal = verdict(rank("take a note", &clients), 2, true);
        assert!(matches!(after_a_refusal, Verdict::Clear(Ranked { client: 0, .. })), "{after_a_refusal:?}");
    }

    #[test]
    fn after_a_refusal_somebody_is_tried_also_without_common_words() {
        let profiles = profiles();
        let clients: Vec<_> = profiles.iter().collect();
        let judge = |sentence: &str| verdict(rank(sentence, &clients), clients.len(), true);
        let nobody_knows = Ranked { client: 0, score: 0.0, words: Vec::new() };
        assert_eq!(judge("xyzzy plugh"), Verdict::Clear(nobody_knows));
        assert!(matches!(judge("do I need an umbrella"), Verdict::Clear(Ranked { client: 2, .. })));
        assert_eq!(verdict(rank("xyzzy", &[]), 0, true), Verdict::Unsure(Vec::new()));
    }

    proptest! {
        #[test]
        fn any_sentence_ranks_each_client_at_most_once_and_by_score(sentence in "\\PC{0,200}") {
            let profiles = profiles();
            let clients: Vec<_> = profiles.iter().collect();
            let ranked = rank(&sentence, &clients);
            prop_assert!(ranked.windows(2).all(|pair| pair[0].score >= pair[1].score && pair[1].score > 0.0));
            let mut seen: Vec<_> = ranked.iter().map(|place| place.client).collect();
            seen.sort_unstable();
            seen.dedup();
            prop_assert_eq!(seen.len(), ranked.len());
        }
    }
}
