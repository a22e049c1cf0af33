//! Fixed test strings of an analysis: how a tokenizer cuts digits, white space, indentation and a few telling texts.

use crate::encode::{TokenPiece, Tokenizer, token_pieces};
use crate::error::TokenizerError;
use serde::Serialize;

/// Longest run of digits that is examined.
const DIGITS: usize = 12;
/// Runs tried of each length.
const RUNS: usize = 100;
/// Deepest indentation, in spaces.
const INDENTATION: usize = 32;

/// How runs of digits of one length are tokenized, over a hundred fixed numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DigitRun {
    /// Digits in the run.
    pub digits: u64,
    /// Tokens that a run falls into, on average.
    pub mean_tokens: f64,
    /// Runs that are one token, of a hundred.
    pub single_token_runs: u64,
    /// Lengths of the pieces, most frequent cut first, with the runs that are cut so.
    pub cuts: Vec<(String, u64)>,
    /// One of the runs, cut.
    pub example: Vec<TokenPiece>,
}

/// What a case shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum AnalysisCaseKind {
    /// Spaces or tabs at the beginning of a line, before a word.
    Indentation,
    /// White space between two words.
    Whitespace,
    /// Any other piece of text.
    Text,
}

/// One string, cut.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct AnalysisCase {
    /// What it shows.
    pub kind: AnalysisCaseKind,
    /// What it is, in words.
    pub what: String,
    /// Tokens that hold some of the white space; of a text, all tokens.
    pub tokens: u64,
    /// The string, cut.
    pub pieces: Vec<TokenPiece>,
}

/// Runs of 1 to 12 digits between spaces.
pub(super) fn digit_runs(tokenizer: &Tokenizer) -> Result<Vec<DigitRun>, TokenizerError> {
    (1..=DIGITS).map(|digits| digit_run(tokenizer, digits)).collect()
}

fn digit_run(tokenizer: &Tokenizer, digits: usize) -> Result<DigitRun, TokenizerError> {
    let (mut total, mut single) = (0u64, 0u64);
    let mut cuts = std::collections::BTreeMap::<String, u64>::new();
    let mut example = Vec::new();
    for number in 0..RUNS {
        let run = run_of_digits(digits, number);
        let text = format!("x {run} y");
        let (cut, offsets) = token_pieces(tokenizer, &text, false)?;
        // Between the space before and the space after it.
        let (from, to) = (2, 2 + digits as u64);
        let inside = |(start, end): &(u32, u32)| u64::from(*start) < to && u64::from(*end) > from;
        let held: Vec<&(u32, u32)> = offsets.iter().filter(|place| inside(place)).collect();
        total += held.len() as u64;
        single += u64::from(held.len() == 1);
        let width = |(start, end): &&(u32, u32)| {
            u64::from(*end).min(to).saturating_sub(u64::from(*start).max(from)).to_string()
        };
        *cuts.entry(held.iter().map(width).collect::<Vec<_>>().join("+")).or_default() += 1;
        if number == 0 {
            let kept = cut.into_iter().zip(&offsets).filter(|(_, place)| inside(place));
            example = kept.map(|(piece, _)| piece).collect();
        }
    }
    let mut cuts: Vec<(String, u64)> = cuts.into_iter().collect();
    // Stable, so that equally frequent cuts stay in their order of spelling.
    cuts.sort_by_key(|(_, runs)| std::cmp::Reverse(*runs));
    Ok(DigitRun {
        digits: digits as u64,
        mean_tokens: total as f64 / RUNS as f64,
        single_token_runs: single,
        cuts,
        example,
    })
}

/// Fixed digits without a zero in front: `123...` first, then those of a linear congruential
/// generator (Knuth's MMIX constants), so that every build looks at the same runs.
fn run_of_digits(digits: usize, number: usize) -> String {
    if number == 0 {
        return "123456789012".chars().take(digits).collect();
    }
    let mut state = (digits * RUNS + number) as u64;
    let mut run = String::new();
    while run.len() < digits {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let digit = u32::try_from((state >> 33) % 10).ok().and_then(|d| char::from_digit(d, 10));
        run.extend(digit.filter(|digit| !run.is_empty() || *digit != '0'));
    }
    run
}

/// Indentation, white space and telling strings.
pub(super) fn cases(tokenizer: &Tokenizer) -> Result<Vec<AnalysisCase>, TokenizerError> {
    let mut all = Vec::new();
    let mut blank = |kind, what: String, before: &str, run: &str, after: &str| {
        let text = format!("{before}{run}{after}");
        let (pieces, offsets) = token_pieces(tokenizer, &text, false)?;
        let (from, to) = (before.len() as u64, (before.len() + run.len()) as u64);
        let held = |(start, end): &&(u32, u32)| u64::from(*start) < to && u64::from(*end) > from;
        let tokens = offsets.iter().filter(held).count() as u64;
        all.push(AnalysisCase { kind, what, tokens, pieces });
        Ok::<_, TokenizerError>(())
    };
    for spaces in 1..=INDENTATION {
        let what = counted(spaces, "space");
        blank(AnalysisCaseKind::Indentation, what, "{\n", &" ".repeat(spaces), "return")?;
    }
    for tabs in 1..=8 {
        let what = counted(tabs, "tab");
        blank(AnalysisCaseKind::Indentation, what, "{\n", &"\t".repeat(tabs), "return")?;
    }
    for (what, run) in BLANKS {
        blank(AnalysisCaseKind::Whitespace, what.to_owned(), "one", run, "two")?;
    }
    for (what, text) in TEXTS {
        let (pieces, _) = token_pieces(tokenizer, text, false)?;
        let tokens = pieces.len() as u64;
        all.push(AnalysisCase {
            kind: AnalysisCaseKind::Text,
            what: what.to_owned(),
            tokens,
            pieces,
        });
    }
    Ok(all)
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

const BLANKS: [(&str, &str); 12] = [
    ("1 space", " "),
    ("2 spaces", "  "),
    ("8 spaces", "        "),
    ("1 line break", "\n"),
    ("2 line breaks", "\n\n"),
    ("4 line breaks", "\n\n\n\n"),
    ("a line break of DOS", "\r\n"),
    ("2 line breaks of DOS", "\r\n\r\n"),
    ("spaces at the end of a line", "   \n"),
    ("a tab", "\t"),
    ("a space that does not break", "\u{a0}"),
    ("an ideographic space", "\u{3000}"),
];

const TEXTS: [(&str, &str); 12] = [
    ("capitals", "hello Hello HELLO"),
    ("contractions", "don't we'll I'm they've O'Neill"),
    ("names in code", "getHTTPResponseCode get_http_response_code XMLHttpRequest2"),
    ("Python", "for i in range(10):\n    if x[i] != None:\n        return x[i]**2\n"),
    ("JSON", "{\"id\": 1, \"tags\": [\"a\", \"b\"], \"ok\": true}"),
    ("mathematics", "3.14159 + 2x² = -1,000,000.00 ≤ ½"),
    ("an address on the web", "https://example.org/a-b/c_d?q=1&r=%20#top"),
    ("accents", "naïve café Straße Ångström"),
    ("an accent as a mark of its own", "cafe\u{301}"),
    ("Chinese and Japanese", "你好,世界。日本語のテキスト"),
    ("Hindi, Arabic, Russian", "नमस्ते दुनिया مرحبا بالعالم Привет, мир"),
    ("emoji", "👍🏽 👩‍👩‍👧 🇩🇪 ☺️"),
];
