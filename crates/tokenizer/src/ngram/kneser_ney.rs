//! Estimates interpolated modified Kneser-Ney and scores the documents it has counted, by two sorts of their tokens.
//!
//! A token is a record of its n-gram, read backwards from itself. In the order of these (`suffixes`) the n-grams of
//! each order stand together, and within them their extensions to the left: that gives the counts, which for all but
//! the highest order, and but for n-grams from the beginning of a document, are numbers of extensions. In the order of
//! what stands before the token (`contexts`) the n-grams of one context stand together for each order: that gives the
//! denominators and the weights of the lower orders. So each token has all that its probability needs beside it. Each
//! order is read twice: once to count groups, once to give their counts to the tokens in them.

use super::record_file::{Tape, TapeReader};
use super::record_sort::{RecordSort, SortedScan};
use model::invariant::part;
use model::{Context, Error, ErrorKind, Hint};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

/// What stands before the first token of a document; every context reaches back to it at most.
const BEGIN: u32 = 0;
/// What stands behind the last token of a document.
const END: u32 = 1;
/// What is added to an id.
const IDS: u32 = 2;
/// Marks the count of an n-gram at one of its tokens, so that it is taken once.
const FIRST: u32 = 1 << 31;
/// Discounts where the counts of counts give none, as `lmplz --discount_fallback` has them.
const FALLBACK: [f64; 3] = [0.5, 1.0, 1.5];
/// Bytes of a document beside its tokens: how many these are, and their score.
const DOCUMENT_BYTES: u64 = 12;
/// Tokens between two looks at the interrupt.
const STEP: u64 = 1 << 16;

/// An n-gram model that counts documents, and then scores each of them.
///
/// ```
/// # extern crate tokenizer;
/// use tokenizer::KneserNey;
/// # fn main() -> Result<(), model::Error> {
/// let folder = std::env::temp_dir();
/// let mut model = KneserNey::new(3, &folder, 64 << 20)?;
/// for document in [[7, 8, 9].as_slice(), &[7, 8, 9], &[9, 3, 4]] {
///     model.add(document)?;
/// }
/// let (perplexities, counts) = model.perplexities(&model::Context::new())?;
/// assert!(perplexities[0] < perplexities[2]);
/// assert_eq!((counts.tokens, counts.vocabulary), (9, 5));
/// # Ok(())
/// # }
/// ```
pub struct KneserNey(Box<dyn Estimate>);

/// What a model counted, and how it weighs that.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct NgramCounts {
    /// Documents with tokens.
    pub documents: u64,
    /// Their tokens, without beginnings and ends.
    pub tokens: u64,
    /// Tokens that are distinct.
    pub vocabulary: u64,
    /// For each order from 1 on, n-grams that are distinct; ends of documents count as tokens.
    pub ngrams: Vec<u64>,
    /// For each order, what is taken from counts of 1, of 2, and of 3 and more.
    pub discounts: Vec<[f64; 3]>,
    /// Orders whose counts of counts give no discounts: they have 0.5, 1 and 1.5.
    pub fallback_orders: Vec<usize>,
}

impl KneserNey {
    /// The orders that there are.
    pub const ORDERS: RangeInclusive<usize> = 2..=6;

    /// A model of n-grams of `order` that sorts within `memory` bytes, and keeps what does not fit in scratch files in
    /// `folder`.
    ///
    /// # Errors
    /// [`Error`] for an order that there is not.
    pub fn new(order: usize, folder: &Path, memory: u64) -> Result<Self, Error> {
        Ok(Self(match order {
            2 => Box::new(CountedDocuments::<2, 3, 4>::new(folder, memory)),
            3 => Box::new(CountedDocuments::<3, 4, 6>::new(folder, memory)),
            4 => Box::new(CountedDocuments::<4, 5, 8>::new(folder, memory)),
            5 => Box::new(CountedDocuments::<5, 6, 10>::new(folder, memory)),
            6 => Box::new(CountedDocuments::<6, 7, 12>::new(folder, memory)),
            _ => {
                let (least, most) = (Self::ORDERS.start(), Self::ORDERS.end());
                return Err(Error::bad_input(format!(
                    "`order={order}`: n-gram models have an order from {least} to {most}"
                )));
            }
        }))
    }

    /// Counts a document; the first one has number 0.
    ///
    /// # Errors
    /// [`Error`] when a scratch file cannot be written, or there are more documents than fit into the memory.
    pub fn add(&mut self, ids: &[u32]) -> Result<(), Error> {
        self.0.add(ids)
    }

    /// The perplexity of each document, exp of the mean of -ln p over its tokens and its end, by their numbers; NaN for
    /// one without tokens, which the model did not count either.
    ///
    /// # Errors
    /// [`Error`] when a scratch file cannot be read or written, or for an interrupt.
    pub fn perplexities(self, context: &Context<'_>) -> Result<(Vec<f64>, NgramCounts), Error> {
        self.0.perplexities(context)
    }
}

/// A model of one order.
trait Estimate {
    fn add(&mut self, ids: &[u32]) -> Result<(), Error>;
    fn perplexities(
        self: Box<Self>,
        context: &Context<'_>,
    ) -> Result<(Vec<f64>, NgramCounts), Error>;
}

/// The documents of a model of order `N`: its suffixes are records of `S` = `N` + 1 words, its contexts of `C` = 2 `N`.
struct CountedDocuments<const N: usize, const S: usize, const C: usize> {
    folder: PathBuf,
    /// Bytes for the records of both sorts, in proportion to their widths.
    sorted: u64,
    /// Documents that fit into the memory.
    most: u64,
    /// For each token its n-gram from the last word to the first, and the number of its document.
    suffixes: RecordSort<S>,
    /// Tokens of each document.
    lengths: Vec<u32>,
}

impl<const N: usize, const S: usize, const C: usize> CountedDocuments<N, S, C> {
    fn new(folder: &Path, memory: u64) -> Self {
        let sorted = memory / 4 * 3;
        let suffixes = RecordSort::new(folder, sorted * S as u64 / (S + C) as u64);
        let most = (memory / 4 / DOCUMENT_BYTES).min(u64::from(u32::MAX));
        Self { folder: folder.to_path_buf(), sorted, most, suffixes, lengths: Vec::new() }
    }

    fn tapes<const W: usize>(&self) -> Vec<Tape<W>> {
        (0..N).map(|_| Tape::new(&self.folder)).collect()
    }
}

impl<const N: usize, const S: usize, const C: usize> Estimate for CountedDocuments<N, S, C> {
    fn add(&mut self, ids: &[u32]) -> Result<(), Error> {
        let number = self.lengths.len();
        if number as u64 >= self.most {
            let message = format!(
                "an n-gram model takes {DOCUMENT_BYTES} bytes a document, and has memory for {}",
                self.most
            );
            let hint = "raise `memory=`, or make a model for each source";
            return Err(Error::of(ErrorKind::Failed, message).with_hint(Hint::text(hint)));
        }
        let length = u32::try_from(ids.len());
        let length =
            length.map_err(|_| Error::bad_input("a document has more than 2^32 tokens"))?;
        self.lengths.push(length);
        if ids.is_empty() {
            return Ok(());
        }
        // The document's number stands behind its words, and is pushed out by none.
        let mut words = [BEGIN; N];
        for word in ids.iter().map(|id| id.saturating_add(IDS)).chain([END]) {
            words.rotate_right(1);
            words.first_mut().into_iter().for_each(|first| *first = word);
            self.suffixes.push(filled(words.into_iter().chain([number as u32])))?;
        }
        Ok(())
    }

    fn perplexities(
        mut self: Box<Self>,
        context: &Context<'_>,
    ) -> Result<(Vec<f64>, NgramCounts), Error> {
        let mut counts = NgramCounts::default();
        for length in self.lengths.iter().filter(|length| **length > 0) {
            counts.documents += 1;
            counts.tokens += u64::from(*length);
        }
        let mut progress = Steps::begin(4 * (counts.tokens + counts.documents), context);
        let folder = self.folder.clone();
        let suffixes =
            std::mem::replace(&mut self.suffixes, RecordSort::new(&folder, 0)).finish()?;

        let mut of_ngrams = self.tapes::<1>();
        let kinds = count_ngrams::<N, S>(suffixes.scan()?, &mut of_ngrams, &mut progress)?;
        for (order, kinds) in (1..).zip(&kinds) {
            counts.ngrams.push(kinds.distinct);
            let discounts = kinds.discounts();
            if discounts.is_none() {
                counts.fallback_orders.push(order);
            }
            counts.discounts.push(discounts.unwrap_or(FALLBACK));
        }
        let distinct = counts.ngrams.first().copied().unwrap_or(0);
        counts.vocabulary = distinct.saturating_sub(1);

        let memory = self.sorted * C as u64 / (S + C) as u64;
        let mut contexts = RecordSort::<C>::new(&folder, memory);
        let counted = of_ngrams.iter().map(Tape::read).collect();
        to_contexts::<N, S, C>(suffixes.scan()?, counted, &mut contexts, &mut progress)?;
        drop((suffixes, of_ngrams));
        let contexts = contexts.finish()?;

        let mut of_contexts = self.tapes::<4>();
        weigh_contexts::<N, C>(
            contexts.scan()?,
            &counts.discounts,
            &mut of_contexts,
            &mut progress,
        )?;
        let weighed = of_contexts.iter().map(Tape::read).collect();
        // What no document has is a word too.
        let uniform = 1.0 / (distinct + 1) as f64;
        let model = (uniform, counts.discounts.as_slice());
        let mut nats = vec![0.0; self.lengths.len()];
        score::<N, C>(contexts.scan()?, model, weighed, &mut nats, &mut progress)?;
        context.progress.end();
        for (nats, length) in nats.iter_mut().zip(&self.lengths) {
            *nats =
                if *length == 0 { f64::NAN } else { (*nats / (f64::from(*length) + 1.0)).exp() };
        }
        Ok((nats, counts))
    }
}

/// The progress of the passes over all tokens, and the places where they can be stopped.
struct Steps<'a> {
    context: Context<'a>,
    done: u64,
}

impl<'a> Steps<'a> {
    fn begin(total: u64, context: &Context<'a>) -> Self {
        context.progress.begin("estimating", Some(total));
        Self { context: *context, done: 0 }
    }

    fn step(&mut self) -> Result<(), Error> {
        self.done += 1;
        if self.done.is_multiple_of(STEP) {
            self.context.check_interrupt()?;
            self.context.progress.advance(self.done);
        }
        Ok(())
    }
}

/// How many n-grams of an order there are, and how many have a count of 1, 2, 3 and 4.
#[derive(Clone, Copy, Default)]
struct CountsOfCounts {
    distinct: u64,
    of: [u64; 4],
}

impl CountsOfCounts {
    fn add(&mut self, count: u64) {
        self.distinct += 1;
        let of =
            usize::try_from(count).ok().and_then(|count| self.of.get_mut(count.checked_sub(1)?));
        of.into_iter().for_each(|of| *of += 1);
    }

    /// What is taken from counts of 1, 2, and 3 and more (Chen & Goodman, equation 26), where all can be estimated.
    fn discounts(&self) -> Option<[f64; 3]> {
        let [one, two, three, four] = self.of.map(|of| of as f64);
        let share = one / (one + 2.0 * two);
        let taken = [
            1.0 - 2.0 * share * two / one,
            2.0 - 3.0 * share * three / two,
            3.0 - 4.0 * share * four / three,
        ];
        let most = [1.0, 2.0, 3.0];
        // Also false for what is divided by zero.
        let fits = taken.iter().zip(most).all(|(taken, most)| (0.0..=most).contains(taken));
        fits.then_some(taken)
    }
}

/// An n-gram whose tokens are being read.
struct OpenNgram {
    /// Whether its tokens count, and not what stands before them: it is of the highest order, or from the beginning.
    is_whole: bool,
    tokens: u64,
    extensions: u64,
}

/// Counts the n-grams of each order, and writes the counts onto its tape, in the order in which they begin.
fn count_ngrams<const N: usize, const S: usize>(
    mut tokens: SortedScan<'_, S>,
    tapes: &mut [Tape<1>],
    progress: &mut Steps<'_>,
) -> Result<Vec<CountsOfCounts>, Error> {
    let mut kinds = vec![CountsOfCounts::default(); N];
    let mut open: Vec<OpenNgram> = Vec::with_capacity(N);
    let mut before = [BEGIN; S];
    while let Some(record) = tokens.next()? {
        progress.step()?;
        let words = part(&record, ..N);
        close(&mut open, alike(words, &before), (&mut kinds, tapes))?;
        before = record;
        for word in part(words, open.len()..depth(words)) {
            let order = open.len() + 1;
            if let Some(shorter) = open.last_mut() {
                shorter.extensions += 1;
            }
            let is_whole = order == N || *word == BEGIN;
            open.push(OpenNgram { is_whole, tokens: 0, extensions: 0 });
        }
        open.iter_mut().for_each(|ngram| ngram.tokens += 1);
    }
    close(&mut open, 0, (&mut kinds, tapes))?;
    Ok(kinds)
}

/// Ends the n-grams of all orders above one.
fn close(
    open: &mut Vec<OpenNgram>,
    order: usize,
    (kinds, tapes): (&mut [CountsOfCounts], &mut [Tape<1>]),
) -> Result<(), Error> {
    while open.len() > order {
        let Some(ngram) = open.pop() else { break };
        let count = if ngram.is_whole { ngram.tokens } else { ngram.extensions };
        let number = u32::try_from(count).ok().filter(|count| *count < FIRST);
        let number = number.ok_or_else(|| {
            Error::of(ErrorKind::Failed, format!("an n-gram occurs {count} times, more than 2^31"))
        })?;
        if let (Some(kinds), Some(tape)) = (kinds.get_mut(open.len()), tapes.get_mut(open.len())) {
            kinds.add(count);
            tape.push([number])?;
        }
    }
    Ok(())
}

/// Gives each token the counts of its n-grams, and sorts it by what stands before it: a record has that, the counts by
/// order, 0 for those that reach beyond the beginning, and the number of the document.
fn to_contexts<const N: usize, const S: usize, const C: usize>(
    mut tokens: SortedScan<'_, S>,
    mut tapes: Vec<TapeReader<'_, 1>>,
    contexts: &mut RecordSort<C>,
    progress: &mut Steps<'_>,
) -> Result<(), Error> {
    let mut counts: Vec<u32> = Vec::with_capacity(N);
    let mut before = [BEGIN; S];
    while let Some(record) = tokens.next()? {
        progress.step()?;
        let words = part(&record, ..N);
        counts.truncate(alike(words, &before));
        before = record;
        counts.iter_mut().for_each(|count| *count &= !FIRST);
        let known = counts.len();
        for tape in tapes.iter_mut().take(depth(words)).skip(known) {
            let [count] = tape.next()?;
            counts.push(count | FIRST);
        }
        let counts = counts.iter().copied().chain(std::iter::repeat(0)).take(N);
        let document = part(&record, N..).iter().copied();
        contexts.push(filled(part(words, 1..).iter().copied().chain(counts).chain(document)))?;
    }
    Ok(())
}

/// A context whose tokens are being read.
#[derive(Default)]
struct OpenContext {
    total: u64,
    /// N-grams with a count of 1, of 2, and of 3 and more.
    kinds: [u64; 3],
}

impl OpenContext {
    fn add(&mut self, count: u32) {
        self.total += u64::from(count);
        let kind = self.kinds.get_mut(kind(count));
        kind.into_iter().for_each(|kind| *kind += 1);
    }

    /// The sum of its counts, and the weight of the order below.
    fn weights(&self, discounts: &[f64; 3]) -> [u32; 4] {
        let taken: f64 =
            discounts.iter().zip(self.kinds).map(|(taken, of)| taken * of as f64).sum();
        let total = self.total as f64;
        let [a, b] = halves(total);
        // No n-gram reaches so far back, and none asks for the weight.
        let [c, d] = halves(if self.total == 0 { 0.0 } else { taken / total });
        [a, b, c, d]
    }
}

/// Sums the counts of each context up, and writes the weights onto the tape of their order.
fn weigh_contexts<const N: usize, const C: usize>(
    mut tokens: SortedScan<'_, C>,
    discounts: &[[f64; 3]],
    tapes: &mut [Tape<4>],
    progress: &mut Steps<'_>,
) -> Result<(), Error> {
    let mut open: Vec<OpenContext> = Vec::with_capacity(N);
    let mut before = None;
    let mut close = |open: &mut Vec<OpenContext>, left: usize| -> Result<(), Error> {
        while open.len() > left {
            let Some(context) = open.pop() else { break };
            if let (Some(tape), Some(of)) = (tapes.get_mut(open.len()), discounts.get(open.len())) {
                tape.push(context.weights(of))?;
            }
        }
        Ok(())
    };
    while let Some(record) = tokens.next()? {
        progress.step()?;
        close(&mut open, open_contexts::<N, C>(&record, before.as_ref()))?;
        before = Some(record);
        open.resize_with(N, OpenContext::default);
        for (context, count) in open.iter_mut().zip(part(&record, N - 1..C - 1)) {
            if count & FIRST != 0 {
                context.add(count & !FIRST);
            }
        }
    }
    close(&mut open, 0)
}

/// Adds -ln p of each token to its document.
fn score<const N: usize, const C: usize>(
    mut tokens: SortedScan<'_, C>,
    (uniform, discounts): (f64, &[[f64; 3]]),
    mut tapes: Vec<TapeReader<'_, 4>>,
    nats: &mut [f64],
    progress: &mut Steps<'_>,
) -> Result<(), Error> {
    let mut weights: Vec<(f64, f64)> = Vec::with_capacity(N);
    let mut before = None;
    while let Some(record) = tokens.next()? {
        progress.step()?;
        weights.truncate(open_contexts::<N, C>(&record, before.as_ref()));
        before = Some(record);
        let known = weights.len();
        for tape in tapes.iter_mut().skip(known) {
            let [a, b, c, d] = tape.next()?;
            weights.push((whole([a, b]), whole([c, d])));
        }
        let counts = part(&record, N - 1..C - 1).iter().map(|count| count & !FIRST);
        let counts = counts.take_while(|count| *count > 0);
        let mut p = uniform;
        for ((count, (total, weight)), taken) in counts.zip(&weights).zip(discounts) {
            let taken = taken.get(kind(count)).copied().unwrap_or(0.0);
            p = (f64::from(count) - taken) / total + weight * p;
        }
        let document = record.last().map_or(0, |number| *number as usize);
        nats.get_mut(document).into_iter().for_each(|nats| *nats -= p.ln());
    }
    Ok(())
}

/// How many contexts of the token before are those of this one too, from the empty one on.
fn open_contexts<const N: usize, const C: usize>(
    record: &[u32; C],
    before: Option<&[u32; C]>,
) -> usize {
    before.map_or(0, |before| 1 + alike(part(record, ..N - 1), before))
}

/// How many words the first list has in common with the beginning of the other.
fn alike(words: &[u32], others: &[u32]) -> usize {
    words.iter().zip(others).take_while(|(word, other)| word == other).count()
}

/// The order of the longest n-gram of a token: of the highest order, or from the beginning of its document.
fn depth(words: &[u32]) -> usize {
    words.iter().position(|word| *word == BEGIN).map_or(words.len(), |begin| begin + 1)
}

/// Which of three discounts a count has.
const fn kind(count: u32) -> usize {
    match count {
        0 | 1 => 0,
        2 => 1,
        _ => 2,
    }
}

/// A record of these words.
fn filled<const W: usize>(words: impl Iterator<Item = u32>) -> [u32; W] {
    let mut record = [0; W];
    record.iter_mut().zip(words).for_each(|(to, word)| *to = word);
    record
}

const fn halves(number: f64) -> [u32; 2] {
    let bits = number.to_bits();
    [(bits >> 32) as u32, bits as u32]
}

fn whole([high, low]: [u32; 2]) -> f64 {
    f64::from_bits(u64::from(high) << 32 | u64::from(low))
}
