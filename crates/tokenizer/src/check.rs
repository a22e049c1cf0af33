//! The self-test of a tokenizer: a verdict on its encoder, and a table of the cases in which tokenizers go wrong.

use super::encode::{EncoderBackend, Tokenizer, is_sentencepiece_reference};
use super::engine::hostile_texts::hostile_texts;
use super::engine::proof::{cut_sample, difference_from_sentencepiece, excerpt, text_prefix};
use super::engine::reference::LibraryReference;
use super::error::TokenizerError;
use super::sentencepiece::SentencePiece;
use super::{FAST, REFERENCE, SENTENCEPIECE};
use rayon::prelude::*;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Bytes of the sample that are encoded several times over.
const SAMPLE_BYTES: usize = 256 << 10;

/// The result of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum CheckVerdict {
    /// As expected.
    Ok,
    /// Usual for such tokenizers, and worth knowing.
    Notice,
    /// Text would be encoded wrongly.
    Fault,
}

/// One case of the table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "cli", schemars(rename = "TextCase"))]
pub struct CheckCase {
    /// What was tried.
    pub name: &'static str,
    /// The result.
    pub verdict: CheckVerdict,
    /// The observation.
    pub what: String,
}

/// A library that gives ids.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct EncoderLibrary {
    /// What it is used for: the word of [`EncoderBackend::name`].
    pub role: &'static str,
    /// Its name and exact version.
    pub name: &'static str,
}

/// The libraries that give ids, as this program was built.
const LIBRARIES: [EncoderLibrary; 3] = [
    EncoderLibrary { role: "sentencepiece", name: SENTENCEPIECE },
    EncoderLibrary { role: "oracle", name: REFERENCE },
    EncoderLibrary { role: "fast", name: FAST },
];

/// The files of a tokenizer that is checked.
#[derive(Clone, Copy, Debug)]
pub struct CheckSubject<'a> {
    /// Its `tokenizer.json`.
    pub json: &'a [u8],
    /// The SentencePiece model that it was made of.
    pub model: Option<&'a [u8]>,
    /// Whose ids it has, as it is stored.
    pub reference: &'a str,
}

/// What a check found: the verdict of the self-test, and odd texts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct TokenizerCheck {
    /// Which encoder gives the ids: `sentencepiece`, `fast` or `oracle`.
    pub backend: &'static str,
    /// Why not the fast one.
    pub reason: Option<String>,
    /// The libraries behind them.
    pub libraries: Vec<EncoderLibrary>,
    /// One more than the largest id.
    pub vocab_size: u32,
    /// Every case, in a fixed order.
    pub cases: Vec<CheckCase>,
}

impl TokenizerCheck {
    /// Whether no case is a fault.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.cases.iter().all(|case| case.verdict != CheckVerdict::Fault)
    }
}

/// Compares the encoders of a tokenizer again, with `sample` of the texts it is for, and tries the cases in which
/// tokenizers lose text, split it oddly or have ids in disorder.
///
/// # Errors
/// As [`Tokenizer::load`], and when a text cannot be encoded or decoded.
pub fn check(
    subject: &CheckSubject<'_>,
    sample: &[&str],
) -> Result<TokenizerCheck, TokenizerError> {
    let json = subject.json;
    let tokenizer = match subject.model {
        Some(model) if is_sentencepiece_reference(subject.reference) => {
            Tokenizer::load_sentencepiece(json, model)?
        }
        _ => Tokenizer::load(json, sample)?,
    };
    let reason = match tokenizer.backend() {
        EncoderBackend::SentencePiece | EncoderBackend::Fast => None,
        EncoderBackend::Oracle { reason } => Some(reason.clone()),
    };
    let encoders = match tokenizer.backend() {
        EncoderBackend::SentencePiece => ok("the ids are those of SentencePiece's own algorithm"),
        EncoderBackend::Fast => {
            ok("both encoders give the same ids on hostile texts and on the sample")
        }
        EncoderBackend::Oracle { reason } => notice(format!("the oracle is used: {reason}")),
    };
    let mut cases = vec![check_case("encoders agree", encoders)];
    if let Some(model) = subject.model {
        cases.push(check_case("ids of SentencePiece", sentencepiece(subject, model, sample)));
    }
    cases.push(check_case("characters come back", characters(&tokenizer)?));
    for (name, texts) in TEXTS {
        cases.push(check_case(name, round_trips(&tokenizer, texts)?));
    }
    cases.push(check_case("digits", digits(&tokenizer)?));
    cases.push(check_case("indentation", indentation(&tokenizer)?));
    cases.push(check_case("200 kB of one character", long_run(&tokenizer)?));
    cases.push(check_case("empty text", empty(&tokenizer)?));
    cases.push(check_case("special tokens in text are text", specials_stay_text(&tokenizer)?));
    cases.push(check_case("added tokens in words", added_tokens_in_words(&tokenizer)));
    cases.push(check_case("ids of added tokens", added_token_ids(&tokenizer)?));
    cases.push(check_case("ids without gaps", id_gaps(&tokenizer)));
    cases.push(check_case("ids fit 16 bits", id_width(&tokenizer)));
    cases.push(check_case("reserved ids", reserved(&tokenizer)));
    cases.push(check_case("one spelling, one token", duplicate_spellings(&tokenizer)?));
    cases.push(check_case(
        "alone, in a row, across threads",
        same_ids_every_way(&tokenizer, sample)?,
    ));
    Ok(TokenizerCheck {
        backend: tokenizer.backend().name(),
        reason,
        libraries: LIBRARIES.to_vec(),
        vocab_size: tokenizer.vocab_size(),
        cases,
    })
}

/// Cases that are texts which should come back.
const TEXTS: [(&str, &[&str]); 8] = [
    ("spaces at the ends", &[" a", "a ", "  a  ", " ", "   "]),
    ("runs of spaces, tabs", &["a  b   c", "\t", "\t\ta\t", " \t \t"]),
    ("line ends", &["a\nb", "a\r\nb\r\n", "\n\n\n", "\r", "\n  \n"]),
    (
        "spaces of other kinds",
        &["a\u{a0}b", "a\u{2003}b\u{3000}c", "a\u{200b}b", "\u{feff}a", "\u{85}\u{2028}"],
    ),
    (
        "joiners and combining marks",
        &["a\u{200d}b", "e\u{301}", "o\u{308}\u{323}", "\u{301}a", "é ﬁ ①"],
    ),
    ("emoji", &["👍🏽", "👩‍👩‍👧‍👦", "🏳️‍🌈", "🇩🇪"]),
    ("right to left", &["שלום עולם", "مرحبا بالعالم", "\u{202b}rtl\u{202c}"]),
    ("NUL and control codes", &["\0", "a\0b", "\u{1}\u{7f}\u{9f}", "\u{fffd}"]),
];

type CheckFinding = (CheckVerdict, String);

fn check_case(name: &'static str, (verdict, what): CheckFinding) -> CheckCase {
    CheckCase { name, verdict, what }
}

fn ok(what: impl Into<String>) -> CheckFinding {
    (CheckVerdict::Ok, what.into())
}

fn notice(what: impl Into<String>) -> CheckFinding {
    (CheckVerdict::Notice, what.into())
}

fn fault(what: impl Into<String>) -> CheckFinding {
    (CheckVerdict::Fault, what.into())
}

/// A hostile text to which the library gives other ids by the `tokenizer.json` than SentencePiece by its model.
///
/// # Errors
/// A [`TokenizerError`] when either cannot be loaded.
pub fn library_difference(json: &[u8], model: &[u8]) -> Result<Option<String>, TokenizerError> {
    let (library, model) = (LibraryReference::load(json)?, SentencePiece::load(model)?);
    let difference = difference_from_sentencepiece(&library, &model, &hostile_texts());
    Ok(difference.map(|difference| excerpt(&difference.text)))
}

/// Whether SentencePiece and the library give the same ids, by the model and by the `tokenizer.json` made of it.
fn sentencepiece(subject: &CheckSubject<'_>, model: &[u8], sample: &[&str]) -> CheckFinding {
    let (library, model) = match (LibraryReference::load(subject.json), SentencePiece::load(model))
    {
        (Ok(library), Ok(model)) => (library, model),
        (Err(error), _) => return notice(format!("its tokenizer.json cannot be loaded: {error}")),
        (_, Err(error)) => return notice(format!("its model cannot be loaded: {error}")),
    };
    let sample: Vec<String> = cut_sample(sample, SAMPLE_BYTES).collect();
    let hostile = hostile_texts();
    let in_sample = difference_from_sentencepiece(&library, &model, &sample);
    let is_in_sample = in_sample.is_some();
    let difference =
        in_sample.or_else(|| difference_from_sentencepiece(&library, &model, &hostile));
    let Some(difference) = difference else {
        return ok("its tokenizer.json gives the same on hostile texts and on the sample");
    };
    let text = excerpt(&difference.text);
    match (is_sentencepiece_reference(subject.reference), is_in_sample) {
        (true, _) => notice(format!(
            "{REFERENCE} gives other ids by its tokenizer.json, as on {text}: give other programs the .model"
        )),
        (false, true) => fault(format!(
            "its ids are those of {}; SentencePiece gives others on {text}, a text of the corpus: \
             register the .model under a new name",
            subject.reference
        )),
        (false, false) => notice(format!(
            "its ids are those of {}; SentencePiece gives others on {text}: register the .model under a new name",
            subject.reference
        )),
    }
}

fn encode(tokenizer: &Tokenizer, text: &str) -> Result<Vec<u32>, TokenizerError> {
    let mut ids = Vec::new();
    tokenizer.encoder().encode(text, &mut ids)?;
    Ok(ids)
}

fn is_round_trip(tokenizer: &Tokenizer, text: &str) -> Result<bool, TokenizerError> {
    Ok(tokenizer.decode(&encode(tokenizer, text)?)? == text)
}

fn quoted(text: &str) -> String {
    format!("`{}`", text_prefix(text, 60).escape_debug())
}

fn round_trips(tokenizer: &Tokenizer, texts: &[&str]) -> Result<CheckFinding, TokenizerError> {
    let mut lost = Vec::new();
    for text in texts {
        let decoded = tokenizer.decode(&encode(tokenizer, text)?)?;
        if decoded != **text {
            lost.push(format!("{} comes back as {}", quoted(text), quoted(&decoded)));
        }
    }
    Ok(if lost.is_empty() {
        ok(format!("{} texts come back as they were", texts.len()))
    } else {
        notice(lost.join("; "))
    })
}

/// Every character of the planes that have some, in groups; those of a group that does not come
/// back, one by one between letters.
fn characters(tokenizer: &Tokenizer) -> Result<CheckFinding, TokenizerError> {
    const GROUP: u32 = 16;
    let starts: Vec<u32> = (0..0x3_2400).chain(0xE_0000..0xE_0200).step_by(16).collect();
    let groups: Vec<(u32, Vec<char>)> = starts
        .into_iter()
        .map(|first| (first, (first..first + GROUP).filter_map(char::from_u32).collect()))
        .collect();
    let lost: Vec<(u32, u32)> = groups
        .par_iter()
        .map(|(first, group)| {
            let text: String = group.iter().flat_map(|c| ['a', *c]).chain(['a']).collect();
            if is_round_trip(tokenizer, &text)? {
                return Ok((*first, 0));
            }
            let mut lost = 0;
            for character in group {
                lost += u32::from(!is_round_trip(tokenizer, &format!("a{character}a"))?);
            }
            Ok((*first, lost))
        })
        .collect::<Result<_, TokenizerError>>()?;
    let total: u32 = lost.iter().map(|(_, lost)| lost).sum();
    let all: usize = groups.iter().map(|(_, group)| group.len()).sum();
    if total == 0 {
        return Ok(ok(format!("all {all} characters, assigned or not, come back")));
    }
    let blocks = joined(lost.iter().filter(|(_, lost)| *lost > 0).map(|(first, _)| *first), GROUP);
    let some: Vec<String> =
        blocks.iter().take(6).map(|(from, to)| format!("U+{from:04X}-{to:04X}")).collect();
    let more = blocks.len().saturating_sub(some.len());
    let more = if more > 0 { format!(" and {more} more ranges") } else { String::new() };
    Ok(notice(format!("{total} of {all} characters do not come back: {}{more}", some.join(", "))))
}

/// Neighbouring groups as one range each.
fn joined(starts: impl Iterator<Item = u32>, group: u32) -> Vec<(u32, u32)> {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for start in starts {
        match ranges.last_mut() {
            Some((_, end)) if *end + 1 == start => *end = start + group - 1,
            _ => ranges.push((start, start + group - 1)),
        }
    }
    ranges
}

fn digits(tokenizer: &Tokenizer) -> Result<CheckFinding, TokenizerError> {
    let run = "123456789012";
    let mut counts = Vec::new();
    for length in 1..=run.len() {
        counts.push(encode(tokenizer, text_prefix(run, length))?.len());
    }
    let ids = encode(tokenizer, run)?;
    let mut pieces = Vec::new();
    for id in &ids {
        pieces.push(tokenizer.decode(&[*id])?);
    }
    let kept = is_round_trip(tokenizer, run)? && is_round_trip(tokenizer, "3.14159 1,000,000")?;
    let counts: Vec<String> = counts.iter().map(usize::to_string).collect();
    let what =
        format!("{run} is {}; tokens of 1 to 12 digits: {}", pieces.join("|"), counts.join(" "));
    Ok(if kept { ok(what) } else { notice(format!("digits do not come back; {what}")) })
}

fn indentation(tokenizer: &Tokenizer) -> Result<CheckFinding, TokenizerError> {
    let mut counts = BTreeMap::new();
    let mut is_kept = true;
    for spaces in 1..=32 {
        let text = format!("x\n{}y", " ".repeat(spaces));
        is_kept &= is_round_trip(tokenizer, &text)?;
        if matches!(spaces, 1 | 2 | 4 | 8 | 16 | 32) {
            counts.insert(spaces, encode(tokenizer, &text)?.len());
        }
    }
    let bare = encode(tokenizer, "x\ny")?.len();
    let counts: Vec<String> = counts
        .iter()
        .map(|(spaces, count)| format!("{spaces} cost {}", count.saturating_sub(bare)))
        .collect();
    let what = format!("tokens for spaces before a word: {}", counts.join(", "));
    Ok(if is_kept { ok(what) } else { notice(format!("indentation is lost; {what}")) })
}

fn long_run(tokenizer: &Tokenizer) -> Result<CheckFinding, TokenizerError> {
    let text = "a".repeat(200_000);
    let ids = encode(tokenizer, &text)?;
    let what = format!("{} tokens", ids.len());
    Ok(if tokenizer.decode(&ids)? == text {
        ok(what)
    } else {
        notice(format!("{what}; it does not come back"))
    })
}

fn empty(tokenizer: &Tokenizer) -> Result<CheckFinding, TokenizerError> {
    let ids = encode(tokenizer, "")?;
    Ok(if ids.is_empty() && tokenizer.decode(&[])?.is_empty() {
        ok("no ids, and nothing is added to any text")
    } else {
        fault(format!("ids {ids:?}"))
    })
}

fn specials_stay_text(tokenizer: &Tokenizer) -> Result<CheckFinding, TokenizerError> {
    let specials = tokenizer.specials();
    let mut taken = Vec::new();
    for (id, special) in &specials {
        let text = format!("a {special} b{special}{special}\n");
        let alone = encode(tokenizer, special)?;
        if alone.contains(id) || encode(tokenizer, &text)?.contains(id) {
            taken.push(special.as_str());
        }
    }
    Ok(match (specials.len(), taken.as_slice()) {
        (0, _) => notice("it has no special token that could mark the end of a document"),
        (count, []) => ok(format!("none of {count} special tokens is taken from text")),
        (_, [first, ..]) if is_unknown(tokenizer, &taken) => notice(format!(
            "`{first}` stands for unknown text and is also the token of its own spelling"
        )),
        (_, taken) => fault(format!("text that spells {} becomes the token", taken.join(", "))),
    })
}

/// Whether all of them are the tokens that unknown text becomes.
fn is_unknown(tokenizer: &Tokenizer, taken: &[&str]) -> bool {
    let unknown = encode(tokenizer, "\u{10FFFD}").unwrap_or_default();
    taken.iter().all(|token| tokenizer.token_to_id(token).is_some_and(|id| unknown.contains(&id)))
}

fn added_tokens_in_words(tokenizer: &Tokenizer) -> CheckFinding {
    let plain: Vec<&str> = tokenizer
        .vocabulary()
        .added()
        .filter(|(.., is_special)| !is_special)
        .map(|(_, token, _)| token)
        .collect();
    match plain.as_slice() {
        [] => ok("no token is searched for in text before the model"),
        [first, ..] => notice(format!(
            "{} added tokens are not special and are found in any text, inside words too, such as {}",
            plain.len(),
            quoted(first)
        )),
    }
}

/// The reference implementation counts the ids of added tokens itself; a file may say otherwise.
fn added_token_ids(tokenizer: &Tokenizer) -> Result<CheckFinding, TokenizerError> {
    if let Err(error) = tokenizer.prove_added_ids() {
        return Ok(fault(error.to_string()));
    }
    let vocabulary = tokenizer.vocabulary();
    for (id, token, is_special) in vocabulary.added() {
        if !is_special && !encode(tokenizer, token)?.contains(&id) {
            return Ok(notice(format!(
                "text never becomes `{token}`: other tokens are found in it first"
            )));
        }
    }
    Ok(ok(format!("{} added tokens have the ids that the file gives", vocabulary.added().count())))
}

fn id_gaps(tokenizer: &Tokenizer) -> CheckFinding {
    let mut owners: HashMap<u32, &str> = HashMap::new();
    for (token, id) in tokenizer.vocabulary().model_tokens() {
        if let Some(other) = owners.insert(id, token) {
            let (first, second) = if other < token { (other, token) } else { (token, other) };
            return fault(format!("`{first}` and `{second}` have the id {id}"));
        }
    }
    let ids = ids(tokenizer);
    let missing = (tokenizer.vocab_size() as usize).saturating_sub(ids.len());
    let first = (0..).zip(&ids).find(|(place, id)| place != *id).map(|(place, _)| place);
    match first.filter(|_| missing > 0) {
        None => ok(format!("0 to {}", tokenizer.vocab_size() - 1)),
        Some(first) => notice(format!("{missing} ids have no token, the first is {first}")),
    }
}

/// All ids, ascending.
fn ids(tokenizer: &Tokenizer) -> BTreeSet<u32> {
    tokenizer.vocabulary().all_ids().collect()
}

fn id_width(tokenizer: &Tokenizer) -> CheckFinding {
    let size = tokenizer.vocab_size();
    if u64::from(size) <= 1 << 16 {
        ok(format!("{size} ids: two bytes each are stored"))
    } else {
        notice(format!("{size} ids: four bytes each are stored"))
    }
}

fn reserved(tokenizer: &Tokenizer) -> CheckFinding {
    const WORDS: [&str; 5] = ["reserved", "unused", "extra_id", "placeholder", "dummy"];
    let is_reserved = |token: &str| {
        let token = token.to_lowercase();
        WORDS.iter().any(|word| token.contains(word))
    };
    let vocabulary = tokenizer.vocabulary();
    let own = vocabulary
        .model_tokens()
        .map(|(token, _)| token)
        .filter(|token| token.starts_with(['<', '[']));
    let tokens: HashSet<&str> = own
        .chain(vocabulary.added().map(|(_, token, _)| token))
        .filter(|t| is_reserved(t))
        .collect();
    match tokens.len() {
        0 => notice("none: more tokens later need a larger vocabulary"),
        count => ok(format!("{count} reserved ids")),
    }
}

/// Two ids for the same text: one of them is never learned.
fn duplicate_spellings(tokenizer: &Tokenizer) -> Result<CheckFinding, TokenizerError> {
    let anchor = encode(tokenizer, "a")?;
    let Some(anchor) = anchor.last().copied() else { return Ok(notice("`a` has no token")) };
    let head = tokenizer.decode(&[anchor])?;
    let specials: HashSet<u32> = tokenizer.specials().into_iter().map(|(id, _)| id).collect();
    let ids: Vec<u32> = ids(tokenizer).into_iter().filter(|id| !specials.contains(id)).collect();
    let texts: Vec<(u32, String)> = ids
        .par_iter()
        .map(|id| Ok((*id, tokenizer.decode(&[anchor, *id])?)))
        .collect::<Result<_, TokenizerError>>()?;
    let mut owners: HashMap<&str, u32> = HashMap::new();
    let mut doubles = Vec::new();
    for (id, text) in &texts {
        let Some(text) = text.strip_prefix(&head) else { continue };
        // Parts of characters all show as the same sign.
        if text.is_empty() || text.contains('\u{fffd}') {
            continue;
        }
        if let Some(first) = owners.insert(text, *id) {
            doubles.push(format!("{first} and {id} are both {}", quoted(text)));
        }
    }
    Ok(match doubles.as_slice() {
        [] => ok("no two ids have the same text"),
        [first, ..] => {
            notice(format!("{} ids have the same text as another: {first}", doubles.len()))
        }
    })
}

/// Whether a fresh encoder for each text, one for all, and several threads give the same ids.
fn same_ids_every_way(
    tokenizer: &Tokenizer,
    sample: &[&str],
) -> Result<CheckFinding, TokenizerError> {
    let mut texts = hostile_texts();
    texts.extend(cut_sample(sample, SAMPLE_BYTES));
    let alone: Vec<Vec<u32>> =
        texts.iter().map(|text| encode(tokenizer, text)).collect::<Result<_, _>>()?;
    let (mut encoder, mut row, mut ends) = (tokenizer.encoder(), Vec::new(), Vec::new());
    for text in &texts {
        encoder.encode(text, &mut row)?;
        ends.push(row.len());
    }
    let mut start = 0;
    let is_same_in_a_row = alone.iter().zip(ends).all(|(ids, end)| {
        let same = row.get(start..end) == Some(ids.as_slice());
        start = end;
        same
    });
    let spread: Vec<Vec<u32>> = texts
        .par_iter()
        .rev()
        .map_init(
            || tokenizer.encoder(),
            |encoder, text| {
                let mut ids = Vec::new();
                encoder.encode(text, &mut ids).map(|()| ids)
            },
        )
        .collect::<Result<_, _>>()?;
    let is_same_across = spread.iter().rev().eq(alone.iter());
    Ok(if is_same_in_a_row && is_same_across {
        ok(format!("{} texts have the same ids each way", texts.len()))
    } else {
        fault("the ids of a text depend on what was encoded before it")
    })
}
