//! One test per rule of rendering and of the limits.

use proptest::prelude::*;

use super::fit::entity_bytes;
use super::*;
use crate::api::EntityKind::{self, *};

const FOOTER: &str = "`codex resume 019a-77`";

fn message(body: &str) -> Message {
    Message { header: "done · codex · 5s".into(), body: body.into(), footer: Some(FOOTER.into()) }
}

/// The looks with the text they lie on.
fn looks(rendered: &Rendered) -> Vec<(EntityKind, String)> {
    let units: Vec<u16> = rendered.text.encode_utf16().collect();
    let on = |entity: &Entity| String::from_utf16(&units[entity.offset..entity.end()]).expect("whole characters");
    rendered.entities.iter().map(|entity| (entity.kind, on(entity))).collect()
}

fn check(markdown: &str, text: &str, expected: &[(EntityKind, &str)]) {
    let rendered = render(markdown);
    assert_eq!(rendered.text, text, "{markdown:?}");
    let expected: Vec<(EntityKind, String)> = expected.iter().map(|(kind, on)| (*kind, (*on).to_owned())).collect();
    assert_eq!(looks(&rendered), expected, "{markdown:?}");
}

#[test]
fn inline_looks_become_entities_with_utf16_offsets() {
    check("some **bold** and `code`", "some bold and code", &[(Bold, "bold"), (Code, "code")]);
    check("*it* ~~gone~~", "it gone", &[(Italic, "it"), (Strikethrough, "gone")]);
    check("😀 **é😀**!", "😀 é😀!", &[(Bold, "é😀")]);
    assert_eq!(render("😀 **x**").entities[0].offset, 3, "an emoji counts twice");
}

#[test]
fn blocks_are_separated_by_blank_lines() {
    check("# Title\n\ntext\n\n## Sub", "Title\n\ntext\n\nSub", &[(Bold, "Title"), (Underline, "Title"), (Bold, "Sub")]);
    check("a\n\n---\n\nb", "a\n\n⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯\n\nb", &[]);
    check("> quote\n> more\n\nb", "quote\nmore\n\nb", &[(Blockquote, "quote\nmore")]);
}

#[test]
fn lines_that_end_stay_lines() {
    check("one\ntwo  \nthree<br>four", "one\ntwo\nthree\nfour", &[]);
}

#[test]
fn code_blocks_keep_language_and_indentation() {
    let rendered = render("```rust title=x\n  fn x() {}\n\n  y\n```\nafter");
    assert_eq!(looks(&rendered)[0], (Pre, "  fn x() {}\n\n  y".into()));
    assert_eq!(rendered.entities[0].language.as_deref(), Some("rust"));
    check("a\n```\n  b\n```", "a\n\n  b", &[(Pre, "  b")]);
}

#[test]
fn lists_nest_and_count() {
    check("- one\n  - two\n- three", "- one\n  - two\n- three", &[]);
    check("3. a\n4. b", "3. a\n4. b", &[]);
    check("text\n\n- a\n\n  ```\n  x\n  ```\n- b", "text\n\n- a\nx\n- b", &[(Pre, "x")]);
}

#[test]
fn task_lists_are_readable() {
    check("- [x] done\n- [ ] open", "☑ done\n☐ open", &[]);
}

#[test]
fn links_stay_only_where_they_can_be_followed() {
    let rendered = render("[site](https://x.y/z) [js](javascript:z) ![pic](https://x.y/p.png)");
    assert_eq!(rendered.text, "site js 🖼 pic");
    assert_eq!(looks(&rendered), [(TextLink, "site".into()), (TextLink, "🖼 pic".into())]);
    assert_eq!(rendered.entities[0].url.as_deref(), Some("https://x.y/z"));
    check("[main](src/main.rs:10)", "main (src/main.rs:10)", &[]);
    check("[src/main.rs](src/main.rs)", "src/main.rs", &[]);
}

#[test]
fn looks_that_telegram_forbids_inside_each_other_are_sorted_out() {
    check("**a `b` c**", "a b c", &[(Bold, "a "), (Code, "b"), (Bold, " c")]);
    check("[`x`](https://x.y)", "x", &[(TextLink, "x")]);
    check("> a\n> > b", "a\n\nb", &[(Blockquote, "a\n\nb")]);
    check("**a __b__ c**", "a b c", &[(Bold, "a b c")]);
}

#[test]
fn a_table_that_fits_a_phone_has_aligned_columns() {
    check(
        "| name | n |\n|---|--:|\n| apple | 1 |\n| fig `x` | 23 |",
        "name  │ n\n──────┼───\napple │ 1\nfig x │ 23",
        &[(Pre, "name  │ n\n──────┼───\napple │ 1\nfig x │ 23")],
    );
}

#[test]
fn a_wide_table_becomes_one_block_per_row() {
    let long = "word ".repeat(12);
    let table = format!("| file | what |\n|---|---|\n| a.rs | {long} |\n| b.rs | **short** |");
    let text = format!("- a.rs\n  what: {}\n- b.rs\n  what: short", long.trim());
    check(&table, &text, &[(Bold, "short")]);
    check("| a | b |\n|---|---|\n| [x](https://x.y) | 2 |", "- x\n  b: 2", &[(TextLink, "x")]);
}

#[test]
fn control_characters_do_not_shift_anything() {
    check("a\u{7}b **c\u{1b}d**", "ab cd", &[(Bold, "cd")]);
}

#[test]
fn a_long_answer_is_trimmed_after_rendering_with_the_footer_whole() {
    let rendered = page(&message(&format!("begin **{}**", "😀".repeat(5000))));
    assert!((MAX_TEXT - 1..=MAX_TEXT).contains(&utf16(&rendered.text)), "half a character does not fit");
    assert!(rendered.text.starts_with("done · codex · 5s\n\nbegin 😀"));
    assert!(rendered.text.ends_with("😀…\n\ncodex resume 019a-77"));
    assert_eq!(looks(&rendered).last().unwrap(), &(Code, "codex resume 019a-77".into()));
}

#[test]
fn four_thousand_and_ninety_six_fit_one_page_however_they_are_counted() {
    let pages = |letter: &str, length: usize| {
        let message = Message { header: String::new(), body: letter.repeat(length), footer: None };
        pages(&message, Overflow::Split)
    };
    for (letter, most) in [("x", 4096), ("é", 4096), ("中", 4096), ("😀", 2048)] {
        assert_eq!(pages(letter, most).len(), 1, "{letter}");
        let split = pages(letter, most + 1);
        assert_eq!(split.len(), 2, "{letter}");
        assert_eq!(split.iter().map(|page| page.text.matches(letter).count()).sum::<usize>(), most + 1, "{letter}");
    }
    let plain = plain(&"😀".repeat(4096));
    assert!(utf16(&plain.text) <= MAX_TEXT && plain.text.ends_with("😀…"));
}

#[test]
fn an_open_fence_does_not_swallow_the_footer() {
    for overflow in [Overflow::Trim, Overflow::Split] {
        for page in pages(&message(&format!("```\n{}", "x\n".repeat(4000))), overflow) {
            assert!(page.text.ends_with("\n\ncodex resume 019a-77"));
            assert_eq!(looks(&page).last().unwrap().0, Code);
        }
    }
}

#[test]
fn a_split_closes_a_fence_and_opens_it_again() {
    let code: String = (0..500).map(|n| format!("let x{n} = {n};\n")).collect();
    let pages = pages(&message(&format!("before\n\n```rust\n{code}```\n\nafter")), Overflow::Split);
    assert!(pages.len() >= 2);
    for page in &pages {
        let pre: Vec<&Entity> = page.entities.iter().filter(|entity| entity.kind == Pre).collect();
        assert_eq!(pre.len(), 1);
        assert_eq!(pre[0].language.as_deref(), Some("rust"));
    }
    assert!(pages[1].text.starts_with(&format!("done · codex · 5s · continued (2/{})\n\nlet x", pages.len())));
    assert!(looks(&pages[0]).iter().any(|(kind, on)| *kind == Pre && on.ends_with(';')), "cut at the end of a line");
}

#[test]
fn a_page_that_begins_within_code_keeps_its_indentation() {
    let code: String = (0..500).map(|n| format!("        x{n} = {n}\n")).collect();
    let pages = pages(&message(&format!("```python\n{code}```")), Overflow::Split);
    assert!(pages.len() >= 3);
    for page in &pages {
        let on = looks(page).into_iter().find(|(kind, _)| *kind == Pre).expect("code").1;
        assert!(on.lines().all(|line| line.starts_with("        x")), "{on}");
    }
}

#[test]
fn a_split_prefers_blank_lines_then_lines_then_blanks() {
    let paragraph = format!("{}\n\n", "word ".repeat(300).trim());
    let cut = pages(&message(&paragraph.repeat(4)), Overflow::Split);
    assert!(cut.iter().all(|page| page.text.contains("word\n\ncodex resume")));
    let lines = pages(&message(&format!("{}\n", "x".repeat(90)).repeat(80)), Overflow::Split);
    assert!(lines.iter().all(|page| page.text.lines().all(|line| line.len() != 91 && line.len() <= 90)));
}

#[test]
fn more_looks_than_a_message_takes_are_split_or_given_up() {
    let many = "`a` ".repeat(150);
    let trimmed = page(&message(&many));
    assert_eq!(trimmed.entities.len(), MAX_ENTITIES);
    assert_eq!(looks(&trimmed).last().unwrap().1, "codex resume 019a-77");
    let split = pages(&message(&many), Overflow::Split);
    let code: usize = split.iter().flat_map(looks).filter(|(_, on)| on == "a").count();
    assert_eq!(code, 150, "a split keeps all of them");
}

#[test]
fn long_addresses_count_too() {
    let link = format!("[x](https://x.y/{}) ", "p".repeat(900));
    let weight = |page: &Rendered| page.entities.iter().map(entity_bytes).sum::<usize>();
    assert!(weight(&page(&message(&link.repeat(30)))) <= MAX_ENTITY_BYTES);
    let split = pages(&message(&link.repeat(30)), Overflow::Split);
    assert!(split.iter().all(|page| weight(page) <= MAX_ENTITY_BYTES));
    assert_eq!(split.iter().flat_map(looks).filter(|(kind, _)| *kind == TextLink).count(), 30);
}

#[test]
fn a_message_of_nothing_is_not_empty() {
    let nothing = Message { header: String::new(), body: " \n".into(), footer: None };
    assert_eq!(page(&nothing).text, "…");
}

/// Everything Telegram would check, and that the footer is there.
fn assert_sound(page: &Rendered) -> Result<(), TestCaseError> {
    prop_assert!(page.text.chars().count() <= MAX_TEXT && utf16(&page.text) <= MAX_TEXT);
    prop_assert!(page.entities.len() <= MAX_ENTITIES);
    prop_assert!(page.entities.iter().map(entity_bytes).sum::<usize>() <= MAX_ENTITY_BYTES);
    prop_assert_eq!(page.text.trim(), page.text.as_str());
    prop_assert!(page.text.ends_with("codex resume 019a-77"));
    let units: Vec<u16> = page.text.encode_utf16().collect();
    let mut last = 0;
    for entity in &page.entities {
        prop_assert!(entity.length > 0 && entity.end() <= units.len());
        prop_assert!(String::from_utf16(&units[entity.offset..entity.end()]).is_ok(), "half a character");
        prop_assert!(entity.offset >= last, "not in order");
        last = entity.offset;
    }
    Ok(())
}

fn letters(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

/// Pieces of Markdown, so that random texts are not mere noise.
fn markdown() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[a-zé😀 ]{0,30}",
        Just("\n".to_owned()),
        Just("\n\n".to_owned()),
        Just("```rust\n".to_owned()),
        Just("\n```\n".to_owned()),
        Just("- [ ] ".to_owned()),
        Just("| a | b |\n|---|---|\n| 1 | 2 |\n".to_owned()),
        Just("**".to_owned()),
        Just("`".to_owned()),
        Just("[x](https://x.y/z)".to_owned()),
        Just("> ".to_owned()),
        Just("1. ".to_owned()),
        "[*_`~#>\\[\\]()|\\n\\- a-z😀]{0,20}",
        "x{0,700}",
    ];
    (proptest::collection::vec(piece, 0..60), 1..12usize).prop_map(|(pieces, times)| pieces.concat().repeat(times))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_page_keeps_to_the_limits_and_has_the_footer(body in markdown()) {
        assert_sound(&page(&message(&body)))?;
        for page in pages(&message(&body), Overflow::Split) {
            assert_sound(&page)?;
        }
    }

    #[test]
    fn a_split_loses_no_text(body in markdown()) {
        let whole = letters(&render(&body).text);
        let pieces: Vec<String> = pages(&message(&body), Overflow::Split).iter().map(|page| {
            let body = page.text.split_once("\n\n").map_or("", |(_, rest)| rest);
            letters(body.strip_suffix("codex resume 019a-77").unwrap_or(body))
        }).collect();
        prop_assert_eq!(pieces.concat(), whole);
    }
}
