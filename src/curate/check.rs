//! The part of `check --deep` that recomputes fingerprints, bands, similarities and token ids from the stored texts.

use super::contaminate::SuiteCheck;
use crate::decide::{EncodedText, RankNumbers, ViewRanker, check_removal, encode_text};
use model::{
    BucketKey, ComparedPart, Context, DocId, Error, MatchKind, Standing, TextForm, TokenizerId,
    bucket_keys,
};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Mutex;
use store::{CheckFault, DocumentPlace, DocumentPrint, StoreError, TextKind, TokenIdsRef, View};
use text::contamination::SeedScratch;
use text::dedup::{Fingerprinter, Rank, Sketch, band_keys, shared};
use tokenizer::Tokenizer;

/// Documents checked as one piece of parallel work.
const PIECE: u64 = 1024;
/// A text of more than this part of the memory of a query is a long one.
const LONG: u64 = 64;
/// Faults listed before the rest is only counted.
const MOST: usize = 100;

/// Recomputes, for every document, its fingerprint and the rows that follow from it; for every kept
/// document its token ids. Damage is in the answer.
///
/// # Errors
/// [`Error`] when the check itself cannot run, or after an interrupt.
pub fn check(
    view: &View,
    tokenizers: &[(TokenizerId, &Tokenizer)],
    context: &Context<'_>,
) -> Result<Vec<CheckFault>, Error> {
    context.progress.begin("recomputing fingerprints and ids", Some(view.documents()));
    let long = Mutex::new(());
    let pieces: Vec<u64> = (0..view.documents().div_ceil(PIECE)).collect();
    let mut faults = Vec::new();
    let suites = SuiteCheck::of(view, &mut faults)?;
    let refingerprinted = view.refingerprinted()?;
    let base = DeepCheck { view, tokenizers, suites: &suites, refingerprinted, long: &long };
    // Groups bound what is held and let progress show.
    for group in pieces.chunks(16) {
        context.check_interrupt()?;
        let found: Vec<Vec<CheckFault>> =
            group.par_iter().map(|piece| check_piece(&base, *piece)).collect();
        faults.extend(found.into_iter().flatten());
        context.progress.advance(group.last().map_or(0, |piece| (piece + 1) * PIECE));
    }
    if faults.len() > MOST {
        let what = format!("{} further faults are not listed", faults.len() - MOST);
        faults.truncate(MOST);
        faults.push(CheckFault { place: "check".to_owned(), what });
    }
    Ok(faults)
}

/// The family of the store whose rows are at fault, where it is one.
pub(crate) fn family(error: &Error) -> Option<&'static str> {
    error.origin::<StoreError>().and_then(StoreError::family)
}

/// The state by which all pieces are checked.
struct DeepCheck<'a> {
    view: &'a View,
    tokenizers: &'a [(TokenizerId, &'a Tokenizer)],
    suites: &'a SuiteCheck,
    refingerprinted: Option<u64>,
    long: &'a Mutex<()>,
}

fn check_piece(base: &DeepCheck<'_>, piece: u64) -> Vec<CheckFault> {
    let DeepCheck { view, tokenizers, suites, refingerprinted, long } = *base;
    let range = piece * PIECE..((piece + 1) * PIECE).min(view.documents());
    let mut checker = DocumentChecker {
        view,
        tokenizers,
        suites,
        refingerprinted,
        craft: Fingerprinter::new(view.policy()),
        ranker: ViewRanker::new(view),
        numbers: RankNumbers::default(),
        scratch: SeedScratch::default(),
        faults: Vec::new(),
    };
    let most = view.query_memory() as u64 / LONG;
    if let Err(error) = checker.documents(range, most, long) {
        checker.fault(error.family().unwrap_or("text_pages"), error.to_string());
    }
    checker.faults
}

/// The first position at which ids differ. The ids of a long text are not held twice.
fn first_difference(stored: TokenIdsRef<'_>, computed: &[u32]) -> Option<usize> {
    const PART: usize = 1 << 16;
    let mut part = Vec::new();
    for (number, computed) in computed.chunks(PART).enumerate() {
        let from = number * PART;
        part.clear();
        stored.slice(from..from + computed.len()).append(&mut part);
        if part != computed {
            let same = part.iter().zip(computed).take_while(|(a, b)| a == b).count();
            return Some(from + same);
        }
    }
    (stored.len() != computed.len()).then_some(computed.len())
}

struct DocumentChecker<'a> {
    view: &'a View,
    tokenizers: &'a [(TokenizerId, &'a Tokenizer)],
    suites: &'a SuiteCheck,
    /// The first document that still has a fingerprint of the former version while a redo rewrites them: headers of
    /// two documents are not compared then.
    refingerprinted: Option<u64>,
    craft: Fingerprinter,
    ranker: ViewRanker,
    numbers: RankNumbers,
    scratch: SeedScratch,
    faults: Vec<CheckFault>,
}

/// Where a document was read, and the print that is stored of it.
type PlaceAndPrint<'a> = (&'a DocumentPlace, &'a DocumentPrint);

impl DocumentChecker<'_> {
    /// Checks the documents of `range`, those of more than `most` bytes one at a time: text, shingles and ids of one
    /// take many times its bytes.
    fn documents(
        &mut self,
        range: Range<u64>,
        most: u64,
        long: &Mutex<()>,
    ) -> Result<(), StoreError> {
        let view = self.view;
        for (place, print) in view.places(range.clone())?.zip(view.prints(range)?) {
            let ((document, place), (_, print)) = (place?, print?);
            let is_long = view.text_bytes(document).is_ok_and(|bytes| bytes > most);
            let _alone = is_long.then(|| long.lock());
            if let Err(error) = self.document(document, (&place, &print)) {
                let family = family(&error).unwrap_or("text_pages");
                self.fault(family, format!("document {document}: {error}"));
            }
        }
        Ok(())
    }

    fn fault(&mut self, place: &str, what: String) {
        self.faults.push(CheckFault { place: place.to_owned(), what });
    }

    fn document(&mut self, document: DocId, of: PlaceAndPrint<'_>) -> Result<(), Error> {
        let text = self.view.text_of_owner(of.0.text_owner(document))?;
        let standing = self.view.standing(document)?;
        if self.refingerprinted.is_none_or(|next| document.0 < next) {
            let compared = match self.view.policy().compared {
                ComparedPart::Text => None,
                ComparedPart::Turns | ComparedPart::Prompt => {
                    Some(self.view.compared_text(document)?)
                }
            };
            self.fingerprint(document, of, compared.as_deref().unwrap_or(&text), standing)?;
        }
        if let Some(what) = self.suites.document(self.view, document, &text, &mut self.scratch)? {
            self.fault("contamination", what);
        }
        if standing.is_eligible() && self.refingerprinted.is_none() {
            self.texts(document, of)?;
            self.witness(document, of)?;
        }
        if standing == Standing::Kept {
            self.ids(document, &text)?;
        } else if let Some(form) = self.view.text_form(document)? {
            self.form(document, &text, &form);
        }
        Ok(())
    }

    /// The exact rows of an eligible document lead to an eligible one of the same text.
    fn texts(&mut self, document: DocId, (place, print): PlaceAndPrint<'_>) -> Result<(), Error> {
        let policy = self.view.policy();
        for kind in TextKind::of_policy(policy) {
            let text = kind.hash_of(print);
            let is_right = match self.view.exact(*kind, policy.text_key(place.source, text))? {
                None => false,
                Some(best) => {
                    kind.hash_of(&self.view.print(best)?) == text
                        && self.view.standing(best)?.is_eligible()
                }
            };
            if !is_right {
                let what = format!("the text of document {document} leads to no eligible document");
                self.fault("exact", what);
            }
        }
        Ok(())
    }

    fn fingerprint(
        &mut self,
        document: DocId,
        (place, stored): PlaceAndPrint<'_>,
        text: &str,
        standing: Standing,
    ) -> Result<(), Error> {
        let print = self.craft.fingerprint(text);
        if print.tokens != stored.words
            || print.shingles.len() as u64 != u64::from(stored.shingles)
            || print.normalised != stored.normalised
        {
            self.fault(
                "print_pages",
                format!(
                    "document {document}: the stored fingerprint differs from that of its text"
                ),
            );
        }
        let stored = self.view.sketch_of(document)?;
        // The sketch of a purged document may stay where its text is gone.
        if standing != Standing::Purged
            && stored.as_deref() != print.sketch.as_ref().map(Sketch::as_bytes)
        {
            self.fault(
                "sketch_pages",
                format!("document {document}: the sketch differs from that of its text"),
            );
        }
        let mode = self.view.policy().mode;
        if (standing == Standing::Empty) != (print.tokens == 0)
            && self.view.policy().compares_words()
            && standing.is_eligible() | (standing == Standing::Empty)
        {
            self.fault(
                "postings",
                format!("document {document} is {standing} with {} tokens", print.tokens),
            );
        }
        // Transitive modes look for every eligible document, the others for kept ones.
        let is_indexed = match mode.is_transitive() {
            true => standing.is_eligible(),
            false => mode.is_near() && standing == Standing::Kept,
        };
        if is_indexed && let Some(sketch) = &print.sketch {
            let bands = band_keys(sketch, self.view.policy(), place.source);
            let keys: Vec<BucketKey> = bucket_keys(&bands).collect();
            for ((band, _), bucket) in
                keys.iter().zip(self.view.buckets(&keys, 1, |other| other == document)?)
            {
                if bucket.is_none_or(|bucket| bucket.members != [document]) {
                    self.fault(
                        "bands",
                        format!(
                            "document {document} is {standing} but not in its bucket of band {band}"
                        ),
                    );
                }
            }
        }
        if let Some(matched) = self.view.match_of(document)?
            && matched.kind == MatchKind::Near
        {
            let witness = self.craft.shingles(&self.view.compared_text(matched.witness)?);
            let computed = (shared(&print.shingles, &witness), print.shingles.len(), witness.len());
            let kept = (
                matched.shared,
                matched.removed_shingles as usize,
                matched.witness_shingles as usize,
            );
            if computed != kept {
                self.fault("matches", format!("document {document} and witness {}: stored overlap {kept:?}, computed {computed:?}", matched.witness));
            }
        }
        Ok(())
    }

    /// Checks what keeps a document out by the values of this moment; that a document is kept, rows alone say.
    fn witness(&mut self, document: DocId, (place, print): PlaceAndPrint<'_>) -> Result<(), Error> {
        let Some(matched) = self.view.match_of(document)? else { return Ok(()) };
        if !matched.is_duplicate() {
            return Ok(());
        }
        let witness = matched.witness;
        let other = self.view.print(witness)?;
        let (rank, better) = (self.rank(document, print)?, self.rank(witness, &other)?);
        let policy = self.view.policy();
        let own = (rank, place.source, *print);
        let other = (better, self.view.place(witness)?.source, other);
        if let Err(why) = check_removal(policy, own, other, &matched) {
            self.fault(
                "matches",
                format!("document {document}, removed for {witness}: {why}; `corpusdb dedup redo` decides again"),
            );
        }
        Ok(())
    }

    fn rank(&mut self, document: DocId, print: &DocumentPrint) -> Result<Rank, Error> {
        let number = self.numbers.read(self.view, self.view.order_field(), document)?;
        Ok(self.ranker.rank_stored(self.view, document, &print.raw, number)?)
    }

    /// Checks that ids and trained tokens of a kept document are those of its text.
    fn ids(&mut self, document: DocId, text: &str) -> Result<(), Error> {
        let form = self.view.text_form(document)?;
        if let Some(form) = &form {
            self.form(document, text, form);
        }
        for (id, tokenizer) in self.tokenizers {
            let spans = self.view.loss(*id, document)?;
            if form.as_ref().is_some_and(|form| form.given == Some(*id)) {
                let mut stored = EncodedText { ids: Vec::new(), spans };
                if self.view.tokens(*id, document, &mut stored.ids)? {
                    self.given(document, *id, tokenizer, &stored);
                }
                continue;
            }
            let mut computed = None;
            let mut known = self.view.tokenizers();
            let rule = known.find(|(of, _)| of == id).map(|(_, record)| record.mask_rule);
            self.view.for_each_tokens(*id, &[document], |_, stored| {
                let Some(stored) = stored else { return Ok(()) };
                let mut encoder = tokenizer.encoder();
                let rule = rule.unwrap_or_default();
                let encoded = encode_text(&mut encoder, text, form.as_ref(), rule)?;
                computed = Some((first_difference(stored, &encoded.ids), encoded.spans));
                Ok::<(), Error>(())
            })?;
            let Some((differs, computed)) = computed else { continue };
            if let Some(at) = differs {
                let what =
                    format!("document {document}, tokenizer {id}: ids differ from position {at}");
                self.fault("tokens", what);
            } else if spans != computed {
                let what = format!(
                    "document {document}, tokenizer {id}: trained tokens differ from those of its text"
                );
                self.fault("loss", what);
            }
        }
        Ok(())
    }

    /// The trained and the plain bytes are within the text, at borders of characters.
    fn form(&mut self, document: DocId, text: &str, form: &TextForm) {
        let is_border = |at: u32| usize::try_from(at).is_ok_and(|at| text.is_char_boundary(at));
        let spans = form.spans.iter().flatten().map(|span| (span.start, span.end));
        let plain = form.plain.iter().map(|range| (range.start, range.end));
        let is_within = |(start, end): (u32, u32)| is_border(start) && is_border(end);
        for (what, is_whole) in
            [("trained", { spans }.all(is_within)), ("plain", { plain }.all(is_within))]
        {
            if !is_whole {
                let what = format!("document {document}: {what} bytes are outside its text");
                self.fault("loss", what);
            }
        }
    }

    /// Ids that came with the record are the tokenizer's, and its trained tokens among them.
    fn given(
        &mut self,
        document: DocId,
        id: TokenizerId,
        tokenizer: &Tokenizer,
        stored: &EncodedText,
    ) {
        if stored.ids.iter().any(|id| *id >= tokenizer.vocab_size()) {
            let what = format!("document {document}, tokenizer {id}: an id beyond its vocabulary");
            self.fault("tokens", what);
        }
        let last = stored.spans.iter().flatten().last().map_or(0, |span| span.end);
        if u64::from(last) > stored.ids.len() as u64 {
            let what = format!("document {document}, tokenizer {id}: trained tokens it lacks");
            self.fault("loss", what);
        }
    }
}
