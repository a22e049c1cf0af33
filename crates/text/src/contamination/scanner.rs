//! Scans a text for the n-grams, short questions and pieces of all suites, by in-memory tables of their hashes.
//!
//! Suites may be made by different versions of a normaliser: those of one version have tables together, and the tokens
//! of a text are made once a version.
//!
//! Pieces are runs of a part that are too short for an n-gram, in a text at the same distance from one another. Where
//! names, numbers or words of an item were replaced one by one, what is left stands where it stood: the first token in
//! the text minus the first in the part is the same for all of it. Runs of so few tokens stand in many texts; that
//! several of one part keep their distance is no accident.

use super::suite::piece_key;
use super::{ALIGNED, GAP, MOST_ITEMS, MOST_RUNS, NEAR, PIECE, SEED, SHORTEST};
use crate::dedup::{TokenHashes, TokenPlaces};
use model::{
    ByteSpan, GramPlace, GramRun, ItemText, Normaliser, ShortItem, Sightings, SuiteGram, SuiteId,
    SuitePiece, WholeItem,
};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Bits of the filter for each hash, at least.
const FILTER_BITS: usize = 16;
/// Bytes that an n-gram takes, its share of the filter included.
const GRAM_BYTES: u64 = 20;
/// Bytes that a place of a piece takes, likewise.
const PLACE_BYTES: u64 = 32;

/// The n-grams, pieces and short questions of suites, by their hashes.
#[derive(Debug, Default)]
pub struct SeedIndex {
    by_normaliser: Vec<SeedTables>,
    bytes: u64,
}

/// The n-grams, pieces and short questions of the suites of one normaliser.
#[derive(Debug)]
struct SeedTables {
    normaliser: Normaliser,
    grams: SeedTable<u32>,
    pieces: SeedTable<GramPlace>,
    short: SeedTable<ShortItem>,
}

/// Rows of tables in the making: a hash, the suite, what it has there.
type SeedRows<T> = Vec<(u64, SuiteId, T)>;

/// What [`SeedTables`] are made of.
#[derive(Default)]
struct SeedLists {
    grams: SeedRows<u32>,
    pieces: SeedRows<GramPlace>,
    short: SeedRows<ShortItem>,
}

/// Values by hash, of several suites.
#[derive(Debug)]
struct SeedTable<T> {
    /// A bit for the leading bits of every hash.
    filter: Vec<u64>,
    shift: u32,
    hashes: Vec<u64>,
    values: Vec<(SuiteId, T)>,
}

impl<T> Default for SeedTable<T> {
    fn default() -> Self {
        Self { filter: Vec::new(), shift: 0, hashes: Vec::new(), values: Vec::new() }
    }
}

impl<T> SeedTable<T> {
    fn of(mut rows: SeedRows<T>) -> Self {
        rows.sort_by_key(|(hash, suite, _)| (*hash, *suite));
        let bits = (rows.len() * FILTER_BITS).next_power_of_two().max(64).ilog2();
        let mut filter = vec![0_u64; 1 << (bits - 6)];
        let shift = u64::BITS - bits;
        for (hash, ..) in &rows {
            let bit = hash >> shift;
            if let Some(word) = filter.get_mut((bit >> 6) as usize) {
                *word |= 1 << (bit & 63);
            }
        }
        let hashes = rows.iter().map(|(hash, ..)| *hash).collect();
        let values = rows.into_iter().map(|(_, suite, value)| (suite, value)).collect();
        Self { filter, shift, hashes, values }
    }

    const fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    /// What is there under a hash. Most hashes of texts do not pass the filter.
    fn get(&self, hash: u64) -> impl Iterator<Item = &(SuiteId, T)> {
        let bit = hash >> self.shift;
        let word = self.filter.get((bit >> 6) as usize).copied().unwrap_or_default();
        let first = match word & (1 << (bit & 63)) {
            0 => self.hashes.len(),
            _ => self.hashes.partition_point(|known| *known < hash),
        };
        let same = self.hashes.iter().skip(first).take_while(move |known| **known == hash);
        same.zip(self.values.iter().skip(first)).map(|(_, value)| value)
    }
}

/// Tokens of a text that were made already, by their hashes.
#[derive(Clone, Copy, Debug)]
pub struct TextTokens<'t> {
    /// What the tokens were made by.
    pub normaliser: Normaliser,
    /// The hashes of all tokens, in order.
    pub hashes: &'t [u64],
}

/// Buffers that one text leaves to the next, by the name of the normaliser.
#[derive(Default)]
pub struct SeedScratch(BTreeMap<&'static str, TokenScratch>);

struct TokenScratch {
    tokens: TokenHashes,
    runs: Vec<u64>,
    places: TokenPlaces,
}

impl SeedScratch {
    fn of(&mut self, normaliser: Normaliser) -> &mut TokenScratch {
        self.0.entry(normaliser.name()).or_insert_with(|| TokenScratch {
            tokens: TokenHashes::new(normaliser),
            runs: Vec::new(),
            places: TokenPlaces::new(normaliser),
        })
    }
}

/// What is found of a suite, in tokens.
#[derive(Default)]
struct SuiteMatches {
    runs: Vec<(u64, u32, u32)>,
    unlisted: u64,
    pieces: PieceFinder,
    /// By item and turn: the first token of the question, its tokens, and the same of the answer.
    whole: BTreeMap<(u32, u32), [(u64, u64); 2]>,
}

impl SeedIndex {
    /// The index of the rows of suites, each with the normaliser that its n-grams were made by.
    ///
    /// # Errors
    /// The first error among the rows.
    pub fn of<E>(
        suites: impl Iterator<
            Item = (SuiteId, Normaliser, impl Iterator<Item = Result<(u64, SuiteGram), E>>),
        >,
    ) -> Result<Self, E> {
        let mut lists: BTreeMap<&str, (Normaliser, SeedLists)> = BTreeMap::new();
        let mut bytes = 0;
        for (suite, normaliser, rows) in suites {
            let of_it = || (normaliser, SeedLists::default());
            let (_, lists) = lists.entry(normaliser.name()).or_insert_with(of_it);
            for row in rows {
                let (hash, gram) = row?;
                bytes += gram_bytes(&gram);
                lists.add(hash, suite, gram);
            }
        }
        let tables = |(normaliser, lists): (Normaliser, SeedLists)| SeedTables {
            normaliser,
            grams: SeedTable::of(lists.grams),
            pieces: SeedTable::of(lists.pieces),
            short: SeedTable::of(lists.short),
        };
        let by_normaliser = lists.into_values().map(tables).filter(|one| !one.is_empty()).collect();
        Ok(Self { by_normaliser, bytes })
    }

    /// Bytes that n-grams would take in memory among others.
    pub fn bytes_of<'g>(grams: impl Iterator<Item = &'g SuiteGram>) -> u64 {
        grams.map(gram_bytes).sum()
    }

    /// Bytes that they take in memory.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether nothing is searched for.
    pub const fn is_empty(&self) -> bool {
        self.by_normaliser.is_empty()
    }

    /// What a text has of each suite, ascending by suite: a function of the text and the suite alone. `made` are tokens
    /// of the text that need not be made again.
    pub fn scan(
        &self,
        text: &str,
        made: Option<TextTokens<'_>>,
        scratch: &mut SeedScratch,
    ) -> Vec<(SuiteId, Sightings)> {
        let mut all = Vec::new();
        for tables in &self.by_normaliser {
            let TokenScratch { tokens, runs, places } = scratch.of(tables.normaliser);
            let made = made.filter(|made| made.normaliser == tables.normaliser);
            let tokens = made.map_or_else(|| tokens.of(text), |made| made.hashes);
            let placed = |(suite, found): (SuiteId, SuiteMatches)| {
                let sightings = found.placed(text, places);
                (!sightings.is_empty()).then_some((suite, sightings))
            };
            all.extend(tables.scan(tokens, runs).into_iter().filter_map(placed));
        }
        all.sort_unstable_by_key(|(suite, _)| *suite);
        all
    }
}

impl SeedLists {
    fn add(&mut self, hash: u64, suite: SuiteId, gram: SuiteGram) {
        match gram {
            SuiteGram::Seed(number, _) => self.grams.push((hash, suite, number)),
            SuiteGram::Short(items) => {
                self.short.extend(items.into_iter().map(|item| (hash, suite, item)));
            }
            SuiteGram::Piece(places) if is_form(&places) => {}
            SuiteGram::Piece(places) => {
                let hash = piece_key(hash);
                self.pieces.extend(places.into_iter().map(|place| (hash, suite, place)));
            }
        }
    }
}

impl SeedTables {
    const fn is_empty(&self) -> bool {
        self.grams.is_empty() && self.short.is_empty()
    }

    /// What a text has of each suite, by its tokens; `runs` is a buffer.
    fn scan(&self, tokens: &[u64], runs: &mut Vec<u64>) -> BTreeMap<SuiteId, SuiteMatches> {
        let mut found: BTreeMap<SuiteId, SuiteMatches> = BTreeMap::new();
        if !self.grams.is_empty() {
            TokenHashes::runs(tokens, SEED, runs);
            for (token, hash) in (0_u64..).zip(&*runs) {
                for (suite, gram) in self.grams.get(*hash) {
                    found.entry(*suite).or_default().gram(token, *gram);
                }
            }
        }
        if !self.pieces.is_empty() {
            TokenHashes::runs(tokens, PIECE, runs);
            for (token, hash) in (0_u64..).zip(&*runs) {
                for (suite, place) in self.pieces.get(*hash) {
                    found.entry(*suite).or_default().pieces.add(token, *place);
                }
            }
        }
        if !self.short.is_empty() {
            TokenHashes::runs(tokens, SHORTEST, runs);
            for (token, hash) in runs.iter().enumerate() {
                for (suite, item) in self.short.get(*hash) {
                    if let Some(near) = whole(tokens, token, item) {
                        let found = found.entry(*suite).or_default();
                        found.whole.entry((item.item, item.turn)).or_insert(near);
                    }
                }
            }
        }
        found
    }
}

fn gram_bytes(gram: &SuiteGram) -> u64 {
    match gram {
        SuiteGram::Seed(..) => GRAM_BYTES,
        SuiteGram::Short(items) => items.iter().map(short_bytes).sum(),
        SuiteGram::Piece(places) if is_form(places) => 0,
        SuiteGram::Piece(places) => PLACE_BYTES * places.len() as u64,
    }
}

/// Whether a piece stands at too many places: then it is a form of words and not searched for.
const fn is_form(places: &[GramPlace]) -> bool {
    places.len() > MOST_ITEMS as usize
}

fn short_bytes(item: &ShortItem) -> u64 {
    GRAM_BYTES + 64 + 8 * (item.question.len() + item.answer.len()) as u64
}

/// Where a short question that may begin at a token stands, with its answer near it: behind it, or else before it.
fn whole(tokens: &[u64], at: usize, item: &ShortItem) -> Option<[(u64, u64); 2]> {
    let (asked, answered) = (item.question.len(), item.answer.len());
    let end = at + asked;
    if tokens.get(at..end)? != item.question {
        return None;
    }
    let behind = tokens.get(end..(end + NEAR + answered).min(tokens.len()))?;
    let first = at.saturating_sub(NEAR + answered);
    let before = tokens.get(first..at)?;
    let is_it = |window: &[u64]| window == item.answer;
    let place = match behind.windows(answered).position(is_it) {
        Some(place) => end + place,
        None => first + before.windows(answered).rposition(is_it)?,
    };
    Some([(at as u64, asked as u64), (place as u64, answered as u64)])
}

impl SuiteMatches {
    fn gram(&mut self, token: u64, gram: u32) {
        if let Some((first, of, count)) = self.runs.last_mut()
            && *first + u64::from(*count) == token
            && of.checked_add(*count) == Some(gram)
        {
            *count += 1;
            return;
        }
        if self.runs.len() >= 2 * MOST_RUNS {
            self.prune();
        }
        self.runs.push((token, gram, 1));
    }

    /// Leaves the longest runs, of equal ones the first.
    fn prune(&mut self) {
        if self.runs.len() <= MOST_RUNS {
            return;
        }
        self.runs.sort_by_key(|(token, _, count)| (Reverse(*count), *token));
        self.unlisted += (self.runs.len() - MOST_RUNS) as u64;
        self.runs.truncate(MOST_RUNS);
        self.runs.sort_unstable();
    }

    fn placed(mut self, text: &str, places: &mut TokenPlaces) -> Sightings {
        self.prune();
        let ends = |token: u64, tokens: u64| [token, token + tokens.saturating_sub(1)];
        let long = |count: u32| u64::from(count) + SEED as u64 - 1;
        let mut asked: Vec<u64> =
            self.runs.iter().flat_map(|(token, _, count)| ends(*token, long(*count))).collect();
        let (pieces, unlisted) = self.pieces.finish();
        asked.extend(pieces.iter().flat_map(|piece| ends(piece.token, piece.tokens.into())));
        let whole = self.whole.values().flatten();
        asked.extend(whole.flat_map(|(token, tokens)| ends(*token, *tokens)));
        asked.sort_unstable();
        asked.dedup();
        let spans = places.of(text, &asked);
        let span = |token: u64, tokens: u64| -> ByteSpan {
            let [first, last] = ends(token, tokens).map(|token| {
                let at = asked.binary_search(&token).unwrap_or(usize::MAX);
                spans.get(at).copied().unwrap_or_default()
            });
            (first.0, last.1.max(first.0))
        };
        let runs = self.runs.iter().map(|(token, gram, count)| {
            let (token, gram, count) = (*token, *gram, *count);
            GramRun { token, gram, count, span: span(token, long(count)) }
        });
        let pieces = pieces.iter().map(|piece| {
            let (token, place, tokens) = (piece.token, piece.place, piece.tokens);
            SuitePiece { token, place, tokens, span: span(token, tokens.into()) }
        });
        let whole = self.whole.iter().map(|((item, turn), [question, answer])| WholeItem {
            item: *item,
            turn: *turn,
            question: span(question.0, question.1),
            answer: span(answer.0, answer.1),
        });
        Sightings {
            runs: runs.collect(),
            pieces: pieces.collect(),
            whole: whole.collect(),
            unlisted: self.unlisted + unlisted,
        }
    }
}

/// Lines that are open before those that ended are searched for.
const OPEN: usize = 1024;

/// Tokens that a text and a part have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SharedRun {
    /// Tokens of the text before them.
    pub(super) token: u64,
    /// Where they stand in the suite.
    pub(super) place: GramPlace,
    /// How many there are.
    pub(super) tokens: u32,
}

/// Runs of one part at one distance, with at most [`GAP`] tokens between two of them.
#[derive(Default)]
struct Diagonal {
    runs: Vec<SharedRun>,
    /// Tokens of the text before the end of the last.
    end: u64,
}

/// The pieces of a suite in a text. Its lines are kept while they may continue: their number is bounded.
#[derive(Default)]
pub(super) struct PieceFinder {
    /// By item, text of it and distance.
    open: BTreeMap<(u32, ItemText, u64), Diagonal>,
    /// Lines that were open when those that ended were searched for last.
    open_before: usize,
    found: PieceList,
}

#[derive(Default)]
struct PieceList {
    pieces: Vec<SharedRun>,
    unlisted: u64,
}

impl PieceFinder {
    /// A run of [`PIECE`] tokens of the text; they come in the order of the text.
    pub(super) fn add(&mut self, token: u64, place: GramPlace) {
        if self.open.len() >= OPEN.max(2 * self.open_before) {
            self.open.retain(|_, line| {
                let goes_on = line.end + GAP >= token;
                if !goes_on {
                    self.found.add(line);
                }
                goes_on
            });
            self.open_before = self.open.len();
        }
        let distance = token.wrapping_sub(place.position.into());
        let line = self.open.entry((place.item, place.text, distance)).or_default();
        if line.end + GAP < token {
            self.found.add(line);
            line.runs.clear();
        }
        let end = token + PIECE as u64;
        match line.runs.last_mut() {
            Some(last) if token <= line.end => {
                last.tokens = last.tokens.saturating_add((end - line.end) as u32);
            }
            _ => line.runs.push(SharedRun { token, place, tokens: PIECE as u32 }),
        }
        line.end = end;
    }

    /// All pieces in the order of the text, and how many more there are.
    pub(super) fn finish(mut self) -> (Vec<SharedRun>, u64) {
        self.open.values().for_each(|line| self.found.add(line));
        self.found.prune();
        self.found.pieces.sort_unstable();
        (self.found.pieces, self.found.unlisted)
    }
}

impl PieceList {
    /// What a line has that ended. Its longer runs are n-grams, and found as such.
    fn add(&mut self, line: &Diagonal) {
        let tokens: u64 = line.runs.iter().map(|run| u64::from(run.tokens)).sum();
        if tokens < ALIGNED as u64 {
            return;
        }
        self.pieces.extend(line.runs.iter().filter(|run| run.tokens < SEED as u32));
        if self.pieces.len() >= 2 * MOST_RUNS {
            self.prune();
        }
    }

    /// Leaves the longest, of equal ones the first.
    fn prune(&mut self) {
        if self.pieces.len() > MOST_RUNS {
            self.pieces.sort_unstable_by_key(|one| (Reverse(one.tokens), *one));
            self.unlisted += (self.pieces.len() - MOST_RUNS) as u64;
            self.pieces.truncate(MOST_RUNS);
        }
    }
}
