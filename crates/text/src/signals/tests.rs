//! Tests of scores: small texts computed by hand, and properties that hold of every text.

use super::scores::scores;
use super::*;
use proptest::prelude::*;

fn near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
}

#[test]
fn words_are_counted_as_gopher_counts_them() {
    let text = "The cat -- # sat... 42\nto the mat…";
    assert_eq!(word_count(text), 7);
    near(mean_word_length(text), 23.0 / 7.0);
    near(symbol_ratio(text), 2.0 / 9.0);
    near(alpha_ratio(text), 6.0 / 9.0);
    near(newline_ratio(text), 1.0 / 9.0);
    assert_eq!(stopword_count(text, "en"), Some(2));
    assert_eq!(stopword_count("und und Die das", "de"), Some(2));
    assert_eq!(stopword_count(text, "xx"), None);
}

#[test]
fn lines_are_cut_as_each_rule_cuts_them() {
    near(bullet_fraction("- a\n  • b\r\nc\u{2028}d\n"), 0.5);
    near(ellipsis_fraction("a...\nb… \nc\n\n"), 0.5);
    // Blank lines do not count, nor does white space behind the mark.
    near(terminal_punctuation_fraction("a.\n \nb\nc。\nd. "), 0.75);
    near(short_line_fraction("éé\n\nabc", 2), 0.5);
    assert_eq!(long_line_count("éé\n\nabc", 2), 2);
    // Cut at runs of line feeds: the last piece is empty.
    near(dup_line_fraction("a\n\na\nb\n"), 0.25);
    near(dup_line_char_fraction("aé\naé\nb"), 2.0 / 7.0);
    near(dup_paragraph_fraction("\na\nb\n\na\nb\n\n\nc\n"), 1.0 / 3.0);
    near(dup_paragraph_char_fraction("ab\n\nab"), 2.0 / 6.0);
    near(char_dup_fraction("ab\n\nab\n "), 2.0 / 4.0);
}

#[test]
fn runs_of_words_repeat_as_gopher_has_it() {
    // `a b` comes three times: 3 x 3 characters of 11.
    near(top_ngram_fraction("a b a b a b", 2), 9.0 / 11.0);
    // `c d` once, and first.
    near(top_ngram_fraction("c d eee", 2), 3.0 / 7.0);
    // From left to right: `ab`, `ba`, then `ab` again, and on behind it `ab`.
    near(dup_ngram_fraction("a b a b a b", 2), 4.0 / 11.0);
    // Runs are counted in characters only.
    near(dup_ngram_fraction("ab c a bc", 2), 3.0 / 9.0);
    near(dup_ngram_fraction("a b", 3), 0.0);
    near(top_ngram_fraction("", 2), 0.0);
    near(top_ngram_fraction("a a a", 1), 3.0 / 5.0);
    near(top_ngram_fraction("a", 0) + dup_ngram_fraction("a", u64::MAX), 0.0);
}

#[test]
fn pages_are_cleaned_as_c4_cleans_them() {
    let text = "One line is kept.[1] \nno end mark here\nToo short.\nIs it? It is so [citation needed].\n\
        We use cookies on here.\nEnable JavaScript to see it.\nIt goes on...";
    assert_eq!(c4_sentence_count(text), 3);
    near(c4_line_fraction(text), 2.0 / 7.0);
    assert_eq!(c4_sentence_count("Lorem Ipsum it says. Really so."), 0);
    assert_eq!(c4_sentence_count("A line of it.\nThis has { in it."), 0);
    // Lines that are out do not throw the page out.
    assert_eq!(c4_sentence_count("A line of it.\nfunction() {"), 1);
    assert_eq!(c4_sentence_count(&format!("{} it is so.", "x".repeat(1001))), 0);
}

#[test]
fn languages_and_noise_are_recognised() {
    let german =
        "Die Katze sitzt auf der Matte und der Hund liegt vor dem Haus. `cat --the README.md`";
    assert_eq!(language(german), Some("de"));
    assert!(language_score(german).is_some_and(|score| (0.0..=1.0).contains(&score)));
    assert_eq!(language("これは日本語の文章です"), Some("ja"));
    assert_eq!((language("12 + 34"), language_score("")), (None, None));
    assert!(compression_ratio(&"the same again ".repeat(100)) > 20.0);
    assert!(compression_ratio(german) < 2.0);
    near(compression_ratio(""), 0.0);
}

#[test]
fn presets_are_conditions_of_known_scores() {
    for set in SignalSet::ALL {
        for rule in set.rules() {
            assert!(Signal::from_name(rule.signal).is_some(), "{}", rule.signal);
        }
    }
    assert_eq!(SignalSet::C4.condition(false), "c4_sentence_count >= 5");
    assert_eq!(SignalSet::C4.condition(true), "c4_sentence_count(text) >= 5");
    assert!(
        SignalSet::Gopher.condition(true).starts_with("word_count(text) BETWEEN 50 AND 100000")
    );
    assert_eq!(SignalSet::All.signals().len(), Signal::ALL.len());
}

/// The scores of lines between line feeds.
const OF_LINES: [&str; 7] = [
    "dup_line_fraction",
    "dup_line_char_fraction",
    "dup_paragraph_fraction",
    "dup_paragraph_char_fraction",
    "terminal_punctuation_fraction",
    "short_line_fraction",
    "char_dup_fraction",
];

proptest! {
    // A page with the line ends of Windows had other scores, and no line of it ended with a full stop.
    #[test]
    fn line_ends_of_any_editor_give_the_same_line_scores(
        lines in prop::collection::vec("[ab]{0,3}[.]?", 0..12),
        blanks in prop::collection::vec("[ \t\r\u{a0}]{0,2}", 12),
    ) {
        let text = lines.join("\n");
        let windows = text.replace('\n', "\r\n");
        let mut blank = String::new();
        for (number, line) in lines.iter().enumerate() {
            let end = if number + 1 < lines.len() { "\n" } else { "" };
            blank.extend([line, blanks[number].as_str(), end]);
        }
        for name in OF_LINES {
            let signal = [Signal::from_name(name).unwrap()];
            for other in [&windows, &blank] {
                prop_assert_eq!(scores(&text, &signal), scores(other, &signal), "{}", name);
            }
        }
        prop_assert_eq!(long_line_count(&text, 3), long_line_count(&blank, 3));
    }

    #[test]
    fn scores_of_any_text_are_finite_and_equal_in_any_batch(
        text in "(\\PC|[ \\n\\r.#…\\-{\\[\\]1]|the |\\u{1c}|\\u{85}){0,80}",
        n in 0u64..12,
    ) {
        let together = scores(&text, Signal::ALL);
        for (signal, value) in Signal::ALL.iter().zip(&together) {
            prop_assert_eq!(&scores(&text, &[*signal])[0], value);
            if let ScoreValue::Number(number) = value {
                prop_assert!(number.is_finite() && *number >= 0.0);
            }
        }
        prop_assert!((0.0..=1.0).contains(&dup_ngram_fraction(&text, n)));
        prop_assert!(top_ngram_fraction(&text, n).is_finite());
        prop_assert!(long_line_count(&text, n) <= 1 + text.len() as u64);
    }
}
