//! Makes the passes of a source from its documents: strata, copies, segments, and what a parent plan left.
//!
//! Documents longer than a row are cut after a paragraph, else after a line, else when the row is full.
//!
//! Cuts at paragraphs stay in extensions: the pieces of a parent plan are owed as they were cut, even if the new rows
//! are longer, since cutting again would read texts of documents that were given in part. In the stored plan the cuts
//! are segments; nothing else is listed one by one.

use super::PlanInputs;
use super::strata::strata;
use crate::epoch::coverage::{
    CopyLayers, Coverage, PassRun, PinnedSource, PinnedStratum, TokenSpans,
};
use crate::epoch::error::EpochError;
use crate::epoch::lengths::{LengthReader, blocks_of};
use crate::epoch::pack::{PackPolicy, Segment};
use crate::epoch::permutation::coin;
use crate::epoch::plan::{PinnedTokenizer, policy};
use crate::epoch::recipe::{LongDocuments, Recipe, SourceRecipe};
use crate::epoch::run::OwedPasses;
use model::invariant::part;
use model::{Context, DocId, TokenizerId};
use rayon::prelude::*;
use roaring::RoaringTreemap;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Copies of a document in one pass, at most.
const COPIES: usize = 1000;

/// What passes are made from, besides the documents of a source.
pub(super) struct PassBuilder<'a> {
    against: &'a PlanInputs<'a>,
    tokenizer: TokenizerId,
    pinned: &'a PinnedTokenizer,
    /// Layers of documents that come more than `k + 1` times a pass, for each `k`; and the documents that never come.
    copies: Option<(Vec<RoaringTreemap>, RoaringTreemap)>,
    /// By source, under a curriculum.
    strata: Option<BTreeMap<String, Vec<RoaringTreemap>>>,
}

impl<'a> PassBuilder<'a> {
    /// # Errors
    /// [`EpochError::Recipe`] for a `repeat` that is not a number of copies; [`EpochError::Select`].
    pub fn new(
        against: &'a PlanInputs<'a>,
        recipe: &Recipe,
        tokenizer: TokenizerId,
        pinned: &'a PinnedTokenizer,
        selections: &[(String, RoaringTreemap)],
        context: &Context<'_>,
    ) -> Result<Self, EpochError> {
        let copies = match &recipe.select.repeat {
            Some(expression) => {
                Some(copies(against, recipe.seed, expression, selections, context)?)
            }
            None => None,
        };
        let curriculum = recipe.order.curriculum.as_ref();
        let by = |curriculum| strata(against.corpora, tokenizer, curriculum, selections, context);
        let strata = curriculum.map(by).transpose()?;
        Ok(Self { against, tokenizer, pinned, copies, strata })
    }

    /// What the passes of a source over `selection` hold, where these are `owed`; the first one holds the next one too
    /// where it is `joined` to it.
    ///
    /// # Errors
    /// [`EpochError::NotEncoded`]; [`EpochError::Recipe`]; [`EpochError::Select`]; [`EpochError::Store`].
    pub fn source(
        &self,
        recipe: &Recipe,
        source: &SourceRecipe,
        selection: &RoaringTreemap,
        owed: &OwedPasses,
        joined: bool,
    ) -> Result<PinnedSource, EpochError> {
        let policy = policy(recipe, Some(source), &self.pinned.specials);
        let strata = match &self.strata {
            Some(strata) => strata.get(&source.name).cloned().unwrap_or_default(),
            None => vec![selection.clone()],
        };
        let mut later = owed.later_runs();
        let mut first_times = 1;
        if owed.is_renewed && later.first().is_some_and(|(_, documents)| *documents == owed.first) {
            first_times += later.remove(0).0;
        }
        let next = later.first_mut().filter(|_| joined).map(|(times, documents)| {
            *times -= 1;
            documents.clone()
        });
        later.retain(|(times, _)| *times > 0);
        let mut pinned = PinnedSource { name: source.name.clone(), strata: Vec::new() };
        for documents in strata {
            let whole = self.copies(&documents);
            let mut first = owed.left.only(&documents);
            first.whole.add(&whole.only(&owed.first));
            if let Some(next) = &next {
                first.whole.add(&whole.only(next));
            }
            let mut runs =
                vec![PassRun { times: first_times, coverage: self.cut(&policy, first)? }];
            for (times, of) in &later {
                let coverage = self.cut(&policy, Coverage::whole(whole.only(of)))?;
                runs.push(PassRun { times: *times, coverage });
            }
            if let Some(last) = runs.last_mut() {
                last.times = 1;
            }
            pinned.strata.push(PinnedStratum { runs });
        }
        // A stratum without anything would end each pass at once.
        pinned.strata.retain(|stratum| stratum.runs.iter().any(|run| !run.coverage.is_empty()));
        Ok(pinned)
    }

    /// The documents that come at all.
    pub fn repeated(&self, documents: &RoaringTreemap) -> RoaringTreemap {
        match &self.copies {
            Some((_, never)) => documents - never,
            None => documents.clone(),
        }
    }

    /// The documents as often as they come.
    fn copies(&self, documents: &RoaringTreemap) -> CopyLayers {
        let mut layers = vec![self.repeated(documents)];
        if let Some((more, _)) = &self.copies {
            layers.extend(more.iter().map(|layer| layer & documents));
        }
        CopyLayers::new(layers)
    }

    /// Cuts documents that are longer than a row, at paragraphs where the policy says so.
    fn cut(&self, policy: &PackPolicy, coverage: Coverage) -> Result<Coverage, EpochError> {
        let coverage = coverage.cut(policy);
        if policy.long != LongDocuments::Paragraph {
            return Ok(coverage);
        }
        let ends = self.against.ends.ok_or_else(|| {
            EpochError::Recipe(
                "long = \"paragraph\" needs the tokenizer to tell where tokens end".to_owned(),
            )
        })?;
        self.cut_paragraphs(policy, ends, coverage)
    }

    /// Moves documents longer than a row from the copies to the parts.
    fn cut_paragraphs(
        &self,
        policy: &PackPolicy,
        ends: &dyn TokenAligner,
        coverage: Coverage,
    ) -> Result<Coverage, EpochError> {
        let lengths = LengthReader {
            corpora: self.against.corpora.clone(),
            tokenizer: self.tokenizer,
            tokenizer_name: self.pinned.name.as_str().into(),
            draws: Arc::default(),
            overhead: policy.overhead(),
            known: None,
            sharing: 1,
            interrupt: self.against.interrupt.clone(),
        };
        let mut parts = coverage.parts.segments().to_vec();
        let mut layers = Vec::new();
        for layer in coverage.whole.layers() {
            let mut long = RoaringTreemap::new();
            for (block, _) in blocks_of(layer) {
                let mut longer = Vec::new();
                for (slot, length) in lengths.of(layer, block)? {
                    if length > policy.capacity {
                        let document = DocId::at(block, slot);
                        long.insert(document.0);
                        longer.push((document, length));
                    }
                }
                let cut = in_order(&longer, |(document, length)| {
                    fragments(&lengths, ends, policy, (document, length))
                })?;
                parts.extend(cut.into_iter().flatten());
            }
            layers.push(layer - long);
        }
        Ok(Coverage { whole: CopyLayers::new(layers), parts: TokenSpans::new(parts) })
    }
}

fn copies(
    against: &PlanInputs<'_>,
    seed: u64,
    expression: &str,
    selections: &[(String, RoaringTreemap)],
    context: &Context<'_>,
) -> Result<(Vec<RoaringTreemap>, RoaringTreemap), EpochError> {
    let mut more: Vec<RoaringTreemap> = Vec::new();
    let mut never = RoaringTreemap::new();
    let mut wrong: Option<(u64, Option<f64>)> = None;
    let of_value = |id, value: Option<f64>| {
        // Documents that are not drawn need no number.
        if !selections.iter().any(|(_, drawn)| drawn.contains(id)) {
            return;
        }
        let Some(times) = value.filter(|times| (0.0..=COPIES as f64).contains(times)) else {
            if wrong.is_none_or(|(before, _)| id < before) {
                wrong = Some((id, value));
            }
            return;
        };
        let once_more = coin("repeat", seed, &id.to_le_bytes()) < times.fract();
        // Between 0 and COPIES, so the cast keeps it.
        let times = times as usize + usize::from(once_more);
        if times == 0 {
            never.insert(id);
        }
        for layer in 1..times {
            if more.len() < layer {
                more.push(RoaringTreemap::new());
            }
            if let Some(layer) = more.get_mut(layer - 1) {
                layer.insert(id);
            }
        }
    };
    against.corpora.number_values(expression, of_value, context)?;
    match wrong {
        Some((id, value)) => Err(EpochError::Recipe(format!(
            "select.repeat is {} for document {id}; it must be a number from 0 to {COPIES}",
            value.map_or("not a number".to_owned(), |value| value.to_string())
        ))),
        None => Ok((more, never)),
    }
}

/// Tells where the tokens of a text end. Implemented by what knows the tokenizer.
pub trait TokenAligner: Sync {
    /// For each token of `text`, the byte where it ends; none when the tokens of the text are not the stored ones of
    /// `document`.
    ///
    /// # Errors
    /// What the tokenizer says.
    fn ends(&self, document: DocId, text: &str) -> Result<Option<Vec<u32>>, String>;
}

/// The fragments of a document of effective `length`, each within a row. A document whose tokens cannot be aligned with
/// its text is cut when the row is full.
///
/// # Errors
/// [`EpochError::Bug`] when the tokenizer fails; [`EpochError::Store`].
pub(super) fn fragments(
    lengths: &LengthReader,
    ends: &dyn TokenAligner,
    policy: &PackPolicy,
    (document, length): (DocId, u32),
) -> Result<Vec<Segment>, EpochError> {
    let text = lengths.corpora.text(document)?;
    let ends = ends
        .ends(document, &text)
        .map_err(|why| EpochError::bug(format!("aligning document {document}: {why}")))?
        .unwrap_or_default();
    let breaks = breaks(&text, &ends, u32::from(policy.bos));
    let mut fragments = Vec::new();
    let mut offset = 0;
    while offset < length {
        let rest = length - offset;
        let fits = rest <= policy.capacity;
        let taken = if fits { rest } else { cut(&breaks, offset, policy.step()) };
        fragments.push(Segment { document, offset, length: taken, document_length: length });
        offset += taken;
    }
    Ok(fragments)
}

/// Cuts documents of given lengths on all threads, since each is encoded for it; results are in the order of the
/// documents.
pub(super) fn in_order<T: Send>(
    documents: &[(DocId, u32)],
    cut: impl Fn((DocId, u32)) -> Result<T, EpochError> + Sync,
) -> Result<Vec<T>, EpochError> {
    documents.par_iter().map(|document| cut(*document)).collect()
}

/// A place to cut, and whether a paragraph ends there; a line ends at every one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ParagraphBreak {
    /// Tokens of the effective sequence before it.
    at: u32,
    paragraph: bool,
}

fn breaks(text: &str, ends: &[u32], shift: u32) -> Vec<ParagraphBreak> {
    let bytes = text.as_bytes();
    let mut breaks: Vec<ParagraphBreak> = Vec::new();
    let mut token = 0;
    let mut at = 0;
    while let Some(line) = part(bytes, at..).iter().position(|byte| *byte == b'\n') {
        let rest = part(bytes, at + line..);
        let run = rest.iter().take_while(|byte| matches!(byte, b'\n' | b'\r')).count();
        let lines = part(rest, ..run);
        let paragraph = lines.iter().filter(|byte| **byte == b'\n').count() > 1;
        at += line + run;
        // The first token that ends at or after the break.
        token += part(ends, token..).partition_point(|end| (*end as usize) < at);
        let Ok(after) = u32::try_from(token + 1) else { break };
        match breaks.last_mut().filter(|last| last.at == after + shift) {
            Some(last) => last.paragraph |= paragraph,
            None if token < ends.len() => {
                breaks.push(ParagraphBreak { at: after + shift, paragraph })
            }
            None => break,
        }
    }
    breaks
}

/// Tokens to take from `offset`: to the last paragraph within a row, else the last line, else a row.
fn cut(breaks: &[ParagraphBreak], offset: u32, capacity: u32) -> u32 {
    let from = breaks.partition_point(|found| found.at <= offset);
    let to = breaks.partition_point(|found| found.at <= offset + capacity);
    let within = part(breaks, from..to);
    let paragraph = within.iter().rev().find(|found| found.paragraph);
    paragraph.or(within.last()).map_or(capacity, |found| found.at - offset)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Condvar, Mutex};
    use std::time::Duration;

    /// One token a byte.
    fn cuts(text: &str, capacity: u32, bos: bool) -> Vec<u32> {
        let ends: Vec<u32> = (1..=text.len() as u32).collect();
        let breaks = breaks(text, &ends, u32::from(bos));
        let length = text.len() as u32 + u32::from(bos);
        let (mut offset, mut found) = (0, Vec::new());
        while offset < length {
            let rest = length - offset;
            let taken = if rest <= capacity { rest } else { cut(&breaks, offset, capacity) };
            found.push(taken);
            offset += taken;
        }
        found
    }

    #[test]
    fn rows_end_with_paragraphs_then_lines_then_anywhere() {
        assert_eq!(cuts("aaa\n\nbb\ncc\n\ndddd", 9, false), [5, 7, 4]);
        assert_eq!(cuts("aaa\nbb\ncc\ndddd", 8, false), [7, 7]);
        assert_eq!(cuts("aaaaaaaaaa", 4, false), [4, 4, 2]);
        assert_eq!(cuts("aaa\n\nbb\n\ncccc", 6, true), [6, 4, 4]);
        assert_eq!(cuts("aaa\r\n\r\nbb", 7, false), [7, 2]);
    }

    /// Documents were encoded one after the other, however many threads there were.
    #[test]
    fn documents_are_cut_on_several_threads_and_stay_in_order() {
        let documents: Vec<(DocId, u32)> = (0..64).map(|n| (DocId(n), 64 - n as u32)).collect();
        let (met, changed) = (Mutex::new(0_u32), Condvar::new());
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let cut = pool.install(|| {
            in_order(&documents, |(document, length)| {
                // The first waits until another thread has begun on one.
                let mut begun = met.lock().unwrap();
                *begun += 1;
                changed.notify_all();
                let limit = Duration::from_secs(60);
                let waited = changed.wait_timeout_while(begun, limit, |begun| *begun < 2).unwrap();
                assert!(!waited.1.timed_out());
                Ok((document, length))
            })
        });
        assert_eq!(cut.unwrap(), documents);
    }
}
