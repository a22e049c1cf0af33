//! Cuts a normalised text into pieces, as SentencePiece's models cut it: BPE, Unigram, words, characters.
//!
//! * BPE (`bpe_model.cc`) joins, over the whole text, the two neighbours whose joined spelling is the piece with the
//!   best score, the leftmost where scores are equal. User symbols are found first and are never joined. Pieces that are
//!   marked unused are joined and split again, as they were last put together anywhere in the text.
//! * Unigram (`unigram_model.cc`, `EncodeOptimized`) takes the way with the best sum of scores, in 32 bits. Of two ways
//!   to a place the later one is taken only if it is better. A sum beyond 100,000 is taken off all sums.
//! * Word (`word_model.cc`) cuts before every `▁`; char (`char_model.cc`) at every character and user symbol.

use super::normalizer::MOST_SYMBOLS;
use super::pieces::{PieceTable, SegmentAlgorithm};
use super::proto::SentencePieceKind;
use crate::file::SPACE_MARKER;
use crate::models::piece_lattice::UnigramPieces;
use crate::models::trie::{PieceTrie, TriePlace};
use model::invariant::{part, text_part};
use std::collections::{BinaryHeap, HashMap, HashSet};

/// What an unknown character costs beyond the worst piece.
const UNKNOWN_PENALTY: f32 = 10.0;
/// A user symbol scores this much for each byte but the first: more than any other way to spell it.
const SYMBOL_SCORE: f64 = 0.1;
/// A Unigram's sums are set back to 0 beyond it, while they have digits left.
const LARGEST_SUM: f32 = 100_000.0;
/// How often an unused piece is split again.
const DEEPEST: usize = 100;
/// No symbol, no piece, no node.
const NONE: u32 = u32::MAX;

/// A piece of a text, or an unknown character.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PieceSpan {
    pub(crate) id: u32,
    /// In bytes of the normalised text.
    pub(crate) length: usize,
}

/// The pieces of a model, made ready to cut texts.
pub(crate) struct Segmenter {
    pub(crate) algorithm: SegmentAlgorithm,
    unknown: u32,
    /// Pieces that text is cut into.
    texts: PieceTrie,
    symbols: PieceTrie,
    has_symbols: bool,
    /// By id.
    rules: Vec<PieceRule>,
    has_unused: bool,
    unknown_score: f32,
    /// Where a BPE may be cut.
    joints: PieceJoints,
}

#[derive(Clone, Copy, Default)]
struct PieceRule {
    score: f32,
    is_unused: bool,
    is_symbol: bool,
}

/// What is kept from text to text.
#[derive(Default)]
pub(crate) struct SegmentScratch {
    symbols: Vec<BpeSymbol>,
    heap: BinaryHeap<BpeCandidate>,
    /// For each unused piece, how long its left half was last.
    halves: HashMap<u32, usize>,
    ways: Vec<BestWay>,
    pub(super) segments: Vec<PieceSpan>,
}

impl Segmenter {
    pub(super) fn new(table: &PieceTable<'_>) -> Self {
        let normal = table.pieces.iter().filter(|(_, _, kind)| *kind == SentencePieceKind::Normal);
        let scores = normal.map(|(_, piece, _)| piece.score.unwrap_or_default());
        let rules = table.pieces.iter().map(|(_, piece, kind)| PieceRule {
            score: match (table.algorithm, kind) {
                (SegmentAlgorithm::Unigram, SentencePieceKind::UserDefined) => {
                    symbol_score(piece.text().len())
                }
                // `-0.0` equals `0.0` to SentencePiece.
                _ => piece.score.unwrap_or_default() + 0.0,
            },
            is_unused: *kind == SentencePieceKind::Unused,
            is_symbol: *kind == SentencePieceKind::UserDefined,
        });
        Self {
            algorithm: table.algorithm,
            unknown: table.unknown,
            texts: PieceTrie::new(table.texts()),
            symbols: PieceTrie::new(table.of_kind(SentencePieceKind::UserDefined)),
            has_symbols: table.of_kind(SentencePieceKind::UserDefined).next().is_some(),
            rules: rules.collect(),
            has_unused: table.of_kind(SentencePieceKind::Unused).next().is_some(),
            unknown_score: scores.fold(f32::MAX, f32::min) - UNKNOWN_PENALTY,
            joints: match table.algorithm {
                SegmentAlgorithm::Bpe => PieceJoints::new(table),
                _ => PieceJoints::default(),
            },
        }
    }

    /// Whether it is a Unigram's symbol of the user that the best segmentation has.
    pub(crate) fn is_symbol(&self, piece: u32) -> bool {
        self.rule(piece).is_symbol
    }

    fn rule(&self, piece: u32) -> PieceRule {
        self.rules.get(piece as usize).copied().unwrap_or_default()
    }

    /// The id of a piece by its spelling. Text spells neither control symbols nor bytes nor the unknown piece.
    fn id(&self, text: &str) -> u32 {
        let piece = self.texts.get(text.as_bytes());
        piece.filter(|piece| !self.rule(*piece).is_unused).unwrap_or(self.unknown)
    }

    /// The longest user symbol that `text` begins with.
    fn symbol(&self, text: &str) -> Option<(usize, u32)> {
        if self.has_symbols { self.symbols.longest(text.as_bytes(), MOST_SYMBOLS) } else { None }
    }

    /// Cuts a text where nothing that is cut off can change anything: calls `each` with the parts, and whether the
    /// part is one that is cut the same wherever it stands.
    pub(super) fn parts<'t>(&self, text: &'t str, mut each: impl FnMut(&'t str, bool)) {
        if self.algorithm != SegmentAlgorithm::Bpe || self.has_unused {
            if !text.is_empty() {
                each(text, false);
            }
            return;
        }
        let (mut start, mut behind) = (0, 0);
        let mut left: Option<char> = None;
        let mut part = |from: usize, to: usize, is_word: bool| {
            if let Some(part) = text.get(from..to).filter(|part| !part.is_empty()) {
                each(part, is_word);
            }
        };
        for (at, right) in text.char_indices() {
            // Inside of a symbol.
            if at < behind {
                continue;
            }
            if self.has_symbols
                && let Some((length, _)) = text.get(at..).and_then(|rest| self.symbol(rest))
            {
                part(start, at, true);
                part(at, at + length, false);
                behind = at + length;
                (start, left) = (behind, None);
                continue;
            }
            if left.is_some_and(|left| self.joints.may_cut(left, right)) {
                part(start, at, true);
                start = at;
            }
            left = Some(right);
        }
        part(start, text.len(), true);
    }

    /// Calls `each` with the pieces of a part of a text, in their order.
    pub(super) fn segment(
        &self,
        part: &str,
        scratch: &mut SegmentScratch,
        mut each: impl FnMut(PieceSpan),
    ) {
        match self.algorithm {
            SegmentAlgorithm::Bpe => self.join(part, scratch, &mut each),
            SegmentAlgorithm::Unigram => self.best_way(part, scratch, &mut each),
            SegmentAlgorithm::Char => {
                let mut rest = part;
                while let Some(first) = rest.chars().next() {
                    let length = self.symbol(rest).map_or(first.len_utf8(), |(length, _)| length);
                    let (piece, after) = rest.split_at_checked(length).unwrap_or((rest, ""));
                    each(PieceSpan { id: self.id(piece), length: piece.len() });
                    rest = after;
                }
            }
            SegmentAlgorithm::Word => {
                let mut rest = part;
                while let Some(first) = rest.chars().next() {
                    let behind = text_part(rest, first.len_utf8()..);
                    let end =
                        behind.find(SPACE_MARKER).map_or(rest.len(), |at| at + first.len_utf8());
                    let (word, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
                    each(PieceSpan { id: self.id(word), length: word.len() });
                    rest = after;
                }
            }
        }
    }
}

/// Between which characters a BPE may be cut: where they stand side by side in no piece, no join reaches over.
struct PieceJoints {
    /// By ASCII characters and `▁`: rows by the left one.
    ascii: Vec<[bool; CLASSES]>,
    others: HashSet<(char, char)>,
}

/// ASCII, and `▁` as the last class.
const CLASSES: usize = 129;

fn class(character: char) -> Option<usize> {
    match character {
        '\0'..='\x7f' => Some(character as usize),
        '▁' => Some(CLASSES - 1),
        _ => None,
    }
}

impl Default for PieceJoints {
    fn default() -> Self {
        Self { ascii: vec![[false; CLASSES]; CLASSES], others: HashSet::new() }
    }
}

impl PieceJoints {
    fn new(table: &PieceTable<'_>) -> Self {
        let mut joints = Self::default();
        for (_, text) in table.texts() {
            for (left, right) in text.chars().zip(text.chars().skip(1)) {
                match (class(left), class(right)) {
                    (Some(left), Some(right)) => {
                        if let Some(joint) =
                            joints.ascii.get_mut(left).and_then(|row| row.get_mut(right))
                        {
                            *joint = true;
                        }
                    }
                    _ => _ = joints.others.insert((left, right)),
                }
            }
        }
        joints
    }

    fn may_cut(&self, left: char, right: char) -> bool {
        match (class(left), class(right)) {
            (Some(left), Some(right)) => {
                !self.ascii.get(left).and_then(|row| row.get(right)).copied().unwrap_or(true)
            }
            _ => !self.others.contains(&(left, right)),
        }
    }
}

/// A part of the text that is joined already.
#[derive(Clone, Copy)]
struct BpeSymbol {
    start: usize,
    /// None: it was joined to the one before.
    length: usize,
    previous: u32,
    next: u32,
    /// Where its bytes lead, unless no piece begins with them.
    place: Option<TriePlace>,
    /// The piece that it is.
    piece: Option<u32>,
    is_frozen: bool,
}

/// Two neighbours that may be joined; the greatest is joined first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct BpeCandidate {
    /// The score of the joined piece, in the order of its bits.
    score: u32,
    /// The left symbol, counted from the end: the leftmost is the greatest.
    left: u32,
    right: u32,
    length: usize,
    piece: u32,
}

impl BpeCandidate {
    /// Both symbols, unless one of them was joined otherwise meanwhile.
    fn symbols(self, symbols: &[BpeSymbol]) -> Option<(BpeSymbol, BpeSymbol)> {
        let first = *symbols.get((u32::MAX - self.left) as usize)?;
        let second = *symbols.get(self.right as usize)?;
        let is_current =
            first.length > 0 && second.length > 0 && first.length + second.length == self.length;
        is_current.then_some((first, second))
    }
}

/// The bits of a finite number, in the order of numbers.
fn ordered(score: f32) -> u32 {
    let bits = score.to_bits();
    if bits >> 31 == 0 { bits | 1 << 31 } else { !bits }
}

impl Segmenter {
    fn join(&self, text: &str, scratch: &mut SegmentScratch, each: &mut impl FnMut(PieceSpan)) {
        self.lay_out(text, scratch);
        while let Some(best) = scratch.heap.pop() {
            self.join_pair(text, best, scratch);
        }
        self.give_out_symbols(text, scratch, each);
    }

    /// Cuts a part of a text by a BPE, where the joins that `is_dropped` says are not made. It is asked once for each,
    /// in the order of joins (`Model::SampleEncode`).
    pub(super) fn join_dropout(
        &self,
        text: &str,
        scratch: &mut SegmentScratch,
        mut is_dropped: impl FnMut() -> bool,
        mut each: impl FnMut(PieceSpan),
    ) {
        self.lay_out(text, scratch);
        while let Some(best) = scratch.heap.pop() {
            if best.symbols(&scratch.symbols).is_some() && !is_dropped() {
                self.join_pair(text, best, scratch);
            }
        }
        self.give_out_symbols(text, scratch, &mut each);
    }

    /// The symbols of a text, and the pairs of them that may be joined.
    fn lay_out(&self, text: &str, scratch: &mut SegmentScratch) {
        scratch.symbols.clear();
        scratch.heap.clear();
        scratch.halves.clear();
        let (mut at, mut index) = (0, 0u32);
        while let Some(rest) = text.get(at..)
            && let Some(first) = rest.chars().next()
        {
            let symbol = self.symbol(rest);
            let length = symbol.map_or(first.len_utf8(), |(length, _)| length);
            let bytes = part(rest.as_bytes(), ..length);
            let place = self.texts.walk(PieceTrie::ROOT, bytes);
            let previous = index.checked_sub(1).unwrap_or(NONE);
            at += length;
            index += 1;
            scratch.symbols.push(BpeSymbol {
                start: at - length,
                length,
                previous,
                next: if at == text.len() { NONE } else { index },
                place,
                piece: place.and_then(|place| self.texts.piece(place)),
                is_frozen: symbol.is_some(),
            });
        }
        for right in 1..index {
            self.consider(text, right - 1, right, scratch);
        }
    }

    fn give_out_symbols(
        &self,
        text: &str,
        scratch: &SegmentScratch,
        each: &mut impl FnMut(PieceSpan),
    ) {
        let mut at = if scratch.symbols.is_empty() { NONE } else { 0 };
        while let Some(symbol) = scratch.symbols.get(at as usize) {
            self.split_unused(text, symbol, &scratch.halves, each);
            at = symbol.next;
        }
    }

    /// Joins two symbols, unless one of them was joined otherwise meanwhile.
    fn join_pair(&self, text: &str, best: BpeCandidate, scratch: &mut SegmentScratch) {
        let left = u32::MAX - best.left;
        let symbols = &mut scratch.symbols;
        let Some((first, second)) = best.symbols(symbols) else { return };
        let place = self.place_of(text, &first, &second);
        if let Some(joined) = symbols.get_mut(left as usize) {
            (joined.length, joined.next) = (best.length, second.next);
            (joined.place, joined.piece) = (place, Some(best.piece));
        }
        if let Some(gone) = symbols.get_mut(best.right as usize) {
            gone.length = 0;
        }
        if let Some(behind) = symbols.get_mut(second.next as usize) {
            behind.previous = left;
        }
        self.consider(text, first.previous, left, scratch);
        self.consider(text, left, second.next, scratch);
    }

    fn place_of(&self, text: &str, left: &BpeSymbol, right: &BpeSymbol) -> Option<TriePlace> {
        let bytes = text.as_bytes().get(right.start..right.start + right.length)?;
        self.texts.walk(left.place?, bytes)
    }

    /// Puts two neighbours among the candidates, if they are one piece together.
    fn consider(&self, text: &str, left: u32, right: u32, scratch: &mut SegmentScratch) {
        let symbols = &scratch.symbols;
        let (Some(first), Some(second)) = (symbols.get(left as usize), symbols.get(right as usize))
        else {
            return;
        };
        if first.is_frozen || second.is_frozen {
            return;
        }
        let place = self.place_of(text, first, second);
        let Some(piece) = place.and_then(|place| self.texts.piece(place)) else { return };
        let rule = self.rule(piece);
        if rule.is_unused {
            scratch.halves.insert(piece, first.length);
        }
        scratch.heap.push(BpeCandidate {
            score: ordered(rule.score),
            left: u32::MAX - left,
            right,
            length: first.length + second.length,
            piece,
        });
    }

    /// A symbol as it is, or an unused piece as the pieces that it was last put together of.
    fn split_unused(
        &self,
        text: &str,
        symbol: &BpeSymbol,
        halves: &HashMap<u32, usize>,
        each: &mut impl FnMut(PieceSpan),
    ) {
        if !self.has_unused {
            let id = symbol.piece.unwrap_or(self.unknown);
            return each(PieceSpan { id, length: symbol.length });
        }
        let mut waiting = vec![(symbol.start, symbol.length, 0)];
        while let Some((start, length, depth)) = waiting.pop() {
            let part = text.get(start..start + length).unwrap_or_default();
            let piece = self.texts.get(part.as_bytes()).unwrap_or(self.unknown);
            if depth > DEEPEST || !self.rule(piece).is_unused {
                each(PieceSpan { id: piece, length });
            } else if let Some(half) = halves.get(&piece) {
                let (right, left) = (start + half, start);
                waiting.push((right, length - half, depth + 1));
                waiting.push((left, *half, depth + 1));
            } else {
                each(PieceSpan { id: self.unknown, length });
            }
        }
    }
}

impl UnigramPieces for Segmenter {
    fn pieces_at(&self, rest: &str, mut each: impl FnMut(usize, u32, f64)) {
        self.texts.prefixes(rest.as_bytes(), |length, id| {
            let rule = self.rule(id);
            if rule.is_unused {
                return;
            }
            // The lattice counts characters of a user symbol, the encoder bytes.
            let score = match rule.is_symbol {
                true => symbol_score(text_part(rest, ..length).chars().count()),
                false => rule.score,
            };
            each(length, id, f64::from(score));
        });
    }

    fn unknown_score(&self) -> Option<f64> {
        Some(f64::from(self.unknown_score))
    }
}

/// The last piece of the best way to a place.
#[derive(Clone, Copy)]
struct BestWay {
    score: f32,
    id: u32,
    start: u32,
}

const NO_WAY: BestWay = BestWay { score: 0.0, id: NONE, start: NONE };

impl Segmenter {
    /// Where no piece reaches over a place, what comes behind it depends on the sum alone: the way to it is given out,
    /// so that memory does not grow with the text.
    fn best_way(&self, text: &str, scratch: &mut SegmentScratch, each: &mut impl FnMut(PieceSpan)) {
        /// Bytes that are worth a walk back.
        const LEAST: usize = 512;
        let bytes = text.as_bytes();
        let SegmentScratch { ways, segments, .. } = scratch;
        ways.clear();
        ways.push(NO_WAY);
        // Where `ways` begin, the end of the longest piece so far, and the place that is looked at.
        let (mut base, mut reach, mut at) = (0, 0, 0);
        while at < bytes.len() {
            if at == reach && at - base >= LEAST {
                give_out(ways, segments, each);
                let score = ways.last().map_or(0.0, |way| way.score);
                ways.clear();
                ways.push(BestWay { score, ..NO_WAY });
                base = at;
            }
            let width =
                text.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8);
            let start = u32::try_from(at - base).unwrap_or(NONE);
            let mut here = ways.get(at - base).map_or(0.0, |way| way.score);
            if here.abs() > LARGEST_SUM {
                let behind = ways.iter_mut().skip(at - base);
                behind.filter(|way| way.start != NONE).for_each(|way| way.score -= here);
                here = 0.0;
            }
            let mut has_character = false;
            self.texts.prefixes(part(bytes, at..), |length, id| {
                let rule = self.rule(id);
                if rule.is_unused {
                    return;
                }
                has_character |= length == width;
                reach = reach.max(at + length);
                improve(ways, at - base + length, BestWay { score: rule.score + here, id, start });
            });
            if !has_character {
                reach = reach.max(at + width);
                let way = BestWay { score: self.unknown_score + here, id: self.unknown, start };
                improve(ways, at - base + width, way);
            }
            at += width;
        }
        give_out(ways, segments, each);
    }
}

/// Puts a way to a place, if it is the first or a better one.
fn improve(ways: &mut Vec<BestWay>, at: usize, way: BestWay) {
    if ways.len() <= at {
        ways.resize(at + 1, NO_WAY);
    }
    if let Some(known) =
        ways.get_mut(at).filter(|known| known.start == NONE || way.score > known.score)
    {
        *known = way;
    }
}

/// The score of a user symbol of a Unigram, by its length.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "as SentencePiece counts"
)]
pub(crate) fn symbol_score(length: usize) -> f32 {
    (SYMBOL_SCORE * length.saturating_sub(1) as f64) as f32
}

/// The pieces of the best way to the last place.
fn give_out(ways: &[BestWay], segments: &mut Vec<PieceSpan>, each: &mut impl FnMut(PieceSpan)) {
    segments.clear();
    let mut end = ways.len().saturating_sub(1);
    while let Some(way) = ways.get(end).filter(|way| way.start != NONE) {
        let start = way.start as usize;
        segments.push(PieceSpan { id: way.id, length: end - start });
        end = start;
    }
    segments.drain(..).rev().for_each(each);
}
