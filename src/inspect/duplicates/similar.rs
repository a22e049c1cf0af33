//! Finds stored documents similar to a text in the index; nothing is ingested.

use super::candidates::{BUCKET_CAP, Craft, all_candidates, equals, floor, shared_bands, sketch};
use super::excerpts::beginning;
use crate::inspect::InspectError;
use crate::sql::PairReader;
use crate::sql::SqlError;
use model::{DedupMode, DocId, Match, SourceId, Standing, text_hash};
use roaring::RoaringTreemap;
use serde::Serialize;
use store::TextKind;
use store::{View, system_fields};
use text::dedup::{Fingerprint, Overlap, Sketch};

/// Candidates that are held by their estimates, the likeliest; twice as many until the list is pruned.
const RANKED: usize = 1 << 16;
/// Members read of one cluster when removed documents are wanted too.
const MEMBERS: usize = 1000;

/// What to look for similar documents of.
#[derive(Clone, Copy, Debug)]
pub enum SimilarTo<'a> {
    /// A text that need not be stored.
    Text(&'a str),
    /// A stored document, whatever its standing; it is not in the answer itself.
    Document(DocId),
}

/// Which documents are examined, and how many are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimilarOptions {
    /// At most so many documents in the answer.
    pub k: usize,
    /// Removed documents too.
    pub all: bool,
    /// Only documents of this source.
    pub source: Option<String>,
}

impl Default for SimilarOptions {
    fn default() -> Self {
        Self { k: 10, all: false, source: None }
    }
}

/// Stored documents similar to a text, and the work of the search.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SimilarReport {
    /// The stored document, if one was given.
    pub document: Option<u64>,
    /// Tokens of the text.
    pub tokens: u32,
    /// Its distinct shingles.
    pub shingles: u64,
    /// How candidates were found: `bands`; `equal-text` for a text shorter than a shingle, for which only the same
    /// tokens are found, and for prompts in mode `exact`; `equal-bytes` for texts in mode `exact`.
    pub by: &'static str,
    /// Similarity from which documents are duplicates in the corpus.
    pub threshold: f64,
    /// Probability that a document of that similarity is found.
    pub found_at_threshold: f64,
    /// Buckets of the index that were searched.
    pub buckets: u64,
    /// Of these, crowded ones, with more than `cap` members: the sketches of all members were compared.
    pub capped: u64,
    /// Members from which a bucket is crowded.
    pub cap: u64,
    /// Documents found in them.
    pub candidates: u64,
    /// Of these, those whose text was read for the exact similarity: in the order of their estimates, until
    /// none of the rest can be among the most similar.
    pub verified: u64,
    /// Skipped members of large clusters, and candidates less likely than 65,536 others.
    pub passed_over: u64,
    /// The most similar documents, most similar first, then by id.
    pub found: Vec<SimilarDocument>,
}

/// A stored document similar to a text.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SimilarDocument {
    /// The id of the document that was found.
    pub id: u64,
    /// The key of the document that was found.
    pub key: String,
    /// The source of the document that was found.
    pub source: String,
    /// The standing of the document that was found.
    pub standing: &'static str,
    /// Exact Jaccard similarity.
    pub jaccard: f64,
    /// Whether that reaches the corpus's threshold.
    pub duplicate: bool,
    /// The similarity that the sketches give; none for texts without one.
    pub estimate: Option<f64>,
    /// Share of the text's shingles that the document has.
    pub containment_text: f64,
    /// Share of the document's shingles that the text has.
    pub containment_document: f64,
    /// Bands that the two share.
    pub shared_bands: u64,
    /// Probability that a document of this similarity is found.
    pub detection: f64,
    /// The beginning of its text.
    pub beginning: String,
}

/// The most similar stored documents, kept ones unless `options.all`.
///
/// # Errors
/// [`InspectError`], [`InspectError`], [`InspectError::NotLooked`] in mode `none`,
/// [`InspectError::NoWords`] for a text without tokens; [`InspectError`] when a row cannot be read.
pub fn similar(
    view: &View,
    to: SimilarTo<'_>,
    options: &SimilarOptions,
) -> Result<SimilarReport, InspectError> {
    let policy = view.policy();
    if policy.mode == DedupMode::None {
        return Err(InspectError::NotLooked);
    }
    let stored;
    let (text, own) = match to {
        SimilarTo::Text(text) => (text, None),
        SimilarTo::Document(document) if document.0 < view.documents() => {
            stored = view.compared_text(document)?;
            (stored.as_str(), Some(document))
        }
        SimilarTo::Document(document) => {
            return Err(SqlError::NoDocument { document, documents: view.documents() }.into());
        }
    };
    let mut craft = Craft::new(policy);
    let query = craft.fingerprint(text);
    if query.tokens == 0 && policy.compares_words() {
        return Err(InspectError::NoWords { normaliser: policy.normaliser.name() });
    }
    let source = options
        .source
        .as_deref()
        .map(|name| view.expect_source(name))
        .transpose()?
        .map(|(id, _)| id);
    let mut looking = SimilarSearch { view, source, all: options.all, passed_over: 0 };
    let (by, mut found) = looking.candidates(text, &query)?;
    if let Some(own) = own {
        found.documents.remove(own.0);
    }
    let ranked = looking.likeliest(&found.documents, query.sketch.as_ref())?;
    let mut verified = 0;
    let mut best: Vec<(Match, RankedCandidate, String)> = Vec::new();
    for candidate in ranked {
        if let (Some((last, ..)), true) = (best.last(), best.len() >= options.k)
            && candidate.order() < floor(last.jaccard(), policy)
        {
            break;
        }
        let text_of = view.compared_text(candidate.document)?;
        let other = craft.shingles(&text_of);
        verified += 1;
        let found = matched(&candidate, &query, &other, by);
        best.push((found, candidate, text_of));
        best.sort_by(|(a, x, _), (b, y, _)| {
            b.jaccard().total_cmp(&a.jaccard()).then(x.document.cmp(&y.document))
        });
        best.truncate(options.k);
    }
    let mut names = PairReader::new(view);
    let found_documents = best
        .into_iter()
        .map(|(found, candidate, text)| shown(view, &mut names, &query, found, candidate, &text))
        .collect::<Result<_, _>>()?;
    let count = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
    Ok(SimilarReport {
        document: own.map(|document| document.0),
        tokens: query.tokens,
        shingles: count(query.shingles.len()),
        by,
        threshold: policy.threshold,
        found_at_threshold: policy.detection(policy.threshold),
        buckets: found.buckets,
        capped: found.crowded,
        cap: count(BUCKET_CAP),
        candidates: found.documents.len(),
        verified,
        passed_over: looking.passed_over,
        found: found_documents,
    })
}

struct RankedCandidate {
    document: DocId,
    estimate: Option<f64>,
}

impl RankedCandidate {
    /// Texts without an estimate are equal ones, and come first.
    fn order(&self) -> f64 {
        self.estimate.unwrap_or(f64::INFINITY)
    }

    fn sort(ranked: &mut [Self]) {
        ranked.sort_by(|a, b| b.order().total_cmp(&a.order()).then(a.document.cmp(&b.document)));
    }
}

#[derive(Default)]
struct SimilarCandidates {
    documents: RoaringTreemap,
    buckets: u64,
    crowded: u64,
}

/// The search: where it looks, and what it left out.
struct SimilarSearch<'a> {
    view: &'a View,
    source: Option<SourceId>,
    all: bool,
    passed_over: u64,
}

impl SimilarSearch<'_> {
    fn candidates(
        &mut self,
        text: &str,
        query: &Fingerprint,
    ) -> Result<(&'static str, SimilarCandidates), InspectError> {
        let (view, source) = (self.view, self.source);
        let of_source = match source {
            Some(id) => {
                Some(view.documents_with(system_fields::SOURCE, &system_fields::source_value(id))?)
            }
            None => None,
        };
        let admit = |document: DocId, kept: Option<&RoaringTreemap>| {
            let within = |set: &RoaringTreemap| set.contains(document.0);
            kept.is_none_or(within) && of_source.as_ref().is_none_or(within)
        };
        let mut found = SimilarCandidates::default();
        let documents = &mut found.documents;
        let (by, (buckets, crowded)) = match &query.sketch {
            _ if view.policy().mode == DedupMode::Exact => {
                let is_text = view.policy().compares_words();
                (if is_text { "equal-text" } else { "equal-bytes" }, (0, 0))
            }
            None => ("equal-text", (0, 0)),
            // A removed document of the source may be found only through a witness from another source.
            Some(sketch) if self.all => {
                ("bands", all_candidates(view, sketch, source, |_| true, documents)?)
            }
            Some(sketch) => {
                let kept = view.kept()?;
                let admit = |other| admit(other, Some(&kept));
                ("bands", all_candidates(view, sketch, source, admit, documents)?)
            }
        };
        // A text shorter than a shingle is in no bucket, so equal texts are looked up by hash.
        let equal = match by {
            "equal-bytes" => equals(view, TextKind::Raw, text_hash(text), source)?,
            _ => equals(view, TextKind::Normalised, query.normalised, source)?,
        };
        documents.extend(equal.into_iter().map(|document| document.0));
        if self.all {
            self.add_members(documents)?;
        }
        let kept = if self.all { None } else { Some(view.kept()?) };
        let standing = kept.as_ref().into_iter().chain(of_source.as_ref());
        standing.for_each(|set| *documents &= set);
        (found.buckets, found.crowded) = (buckets, crowded);
        Ok((by, found))
    }

    /// The candidates by their estimates, the likeliest first.
    fn likeliest(
        &mut self,
        found: &RoaringTreemap,
        own: Option<&Sketch>,
    ) -> Result<Vec<RankedCandidate>, InspectError> {
        let mut ranked = Vec::new();
        for document in found.iter().map(DocId) {
            let estimate = match (own, sketch(self.view, document)?) {
                (Some(own), Some(other)) => Some(own.estimate(&other)),
                _ => None,
            };
            ranked.push(RankedCandidate { document, estimate });
            if ranked.len() >= 2 * RANKED {
                RankedCandidate::sort(&mut ranked);
                ranked.truncate(RANKED);
            }
        }
        RankedCandidate::sort(&mut ranked);
        let over = found.len().saturating_sub(ranked.len() as u64);
        self.passed_over += over;
        Ok(ranked)
    }

    /// Adds the documents that the candidates removed: most of them were never in the index.
    fn add_members(&mut self, found: &mut RoaringTreemap) -> Result<(), InspectError> {
        let mut members = RoaringTreemap::new();
        for witness in found.iter() {
            let of_witness = self.view.members(DocId(witness))?;
            let over = of_witness.len().saturating_sub(MEMBERS);
            self.passed_over += u64::try_from(over).unwrap_or(u64::MAX);
            members.extend(of_witness.into_iter().take(MEMBERS).map(|member| member.0));
        }
        *found |= members;
        Ok(())
    }
}

/// The exact overlap of the text and a candidate, the text taken as the removed document.
fn matched(candidate: &RankedCandidate, query: &Fingerprint, other: &[u64], by: &str) -> Match {
    let (_, kind) = Standing::of_duplicate(by == "equal-bytes");
    Match { kind, ..Overlap::of(&query.shingles, other).match_to(candidate.document) }
}

fn shown(
    view: &View,
    names: &mut PairReader<'_>,
    query: &Fingerprint,
    found: Match,
    candidate: RankedCandidate,
    text: &str,
) -> Result<SimilarDocument, InspectError> {
    let policy = view.policy();
    let (key, source) = names.named(candidate.document)?;
    let shared = match (&query.sketch, sketch(view, candidate.document)?) {
        (Some(own), Some(other)) => shared_bands(own, &other, policy).len(),
        _ => 0,
    };
    let by_bands = candidate.estimate.is_some();
    Ok(SimilarDocument {
        id: candidate.document.0,
        key,
        source,
        standing: view.standing(candidate.document)?.name(),
        jaccard: found.jaccard(),
        duplicate: found.jaccard() >= policy.threshold,
        estimate: candidate.estimate,
        containment_text: found.containment_removed(),
        containment_document: found.containment_witness(),
        shared_bands: u64::try_from(shared).unwrap_or(u64::MAX),
        detection: if by_bands { policy.detection(found.jaccard()) } else { 1.0 },
        beginning: beginning(text),
    })
}
