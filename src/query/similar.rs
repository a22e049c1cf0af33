//! Stored documents similar to a text, asked of the index; nothing is ingested.

use super::craft::{
    BUCKET_CAP, Candidates, Craft, candidates, equals, floor, overlap, raw_hash, shared_bands,
    sketch,
};
use super::duplicates::Pairs;
use super::error::QueryError;
use super::excerpt::beginning;
use crate::dedup::{Fingerprint, Sketch};
use crate::model::{DedupMode, DocId, Match, MatchKind, SourceId};
use crate::store::View;
use crate::store::fields;
use roaring::RoaringTreemap;
use serde::Serialize;
use std::collections::BTreeSet;

/// Members read of one cluster when removed documents are asked for, too.
const MEMBERS: usize = 1000;

/// What to look for similar documents of.
#[derive(Clone, Copy, Debug)]
pub enum SimilarTo<'a> {
    /// A text.
    Text(&'a str),
    /// A stored document, whatever its standing; it is not in the answer itself.
    Document(DocId),
}

/// Which documents are looked at, and how many are wanted.
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

/// Stored documents similar to a text, and what was done to find them.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct SimilarReport {
    /// The document asked about, when it was one.
    pub document: Option<u64>,
    /// Tokens of the text.
    pub tokens: u32,
    /// Its distinct shingles.
    pub shingles: u64,
    /// How candidates were found: `bands`; `equal-text` for a text shorter than a shingle, of which only
    /// the same tokens are found; `equal-bytes` in mode `exact`.
    pub by: &'static str,
    /// Similarity from which the corpus holds documents for duplicates.
    pub threshold: f64,
    /// Probability that a document of that similarity is found.
    pub found_at_threshold: f64,
    /// Buckets of the index that were asked.
    pub buckets: u64,
    /// Of these, those of which only the first members were read.
    pub capped: u64,
    /// Members read of a bucket at most.
    pub cap: u64,
    /// Documents found in them.
    pub candidates: u64,
    /// Of these, those whose text was read for the exact similarity: in the order of their estimates, until
    /// none of the rest can be among the most similar.
    pub verified: u64,
    /// Members of large clusters that were passed over.
    pub passed_over: u64,
    /// The most similar documents, most similar first, then by id.
    pub found: Vec<SimilarDocument>,
}

/// A stored document similar to a text.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SimilarDocument {
    /// Its number.
    pub id: u64,
    /// Its key.
    pub key: String,
    /// Its source.
    pub source: String,
    /// Its standing.
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
/// [`QueryError::NoDocument`], [`QueryError::NoSource`], [`QueryError::NotLooked`] in mode `none`,
/// [`QueryError::NoWords`] for a text without tokens; [`QueryError::Store`] when a row cannot be read.
pub fn similar(
    view: &View,
    to: SimilarTo<'_>,
    options: &SimilarOptions,
) -> Result<SimilarReport, QueryError> {
    let policy = view.policy();
    if policy.mode == DedupMode::None {
        return Err(QueryError::NotLooked);
    }
    let stored;
    let (text, own) = match to {
        SimilarTo::Text(text) => (text, None),
        SimilarTo::Document(document) if document.0 < view.documents() => {
            stored = view.compared_text(document)?;
            (stored.as_str(), Some(document))
        }
        SimilarTo::Document(document) => {
            return Err(QueryError::NoDocument { document, documents: view.documents() });
        }
    };
    let mut craft = Craft::new(policy);
    let query = craft.fingerprint(text);
    if query.tokens == 0 && policy.mode.is_near() {
        return Err(QueryError::NoWords { normaliser: policy.normaliser.name() });
    }
    let source = options.source.as_deref().map(|name| source_named(view, name)).transpose()?;
    let mut looking = Looking { view, source, all: options.all, passed_over: 0 };
    let (by, mut found) = looking.candidates(text, &query)?;
    if let Some(own) = own {
        found.found.remove(&own);
    }
    let mut ranked = Vec::new();
    for document in &found.found {
        let sketch = sketch(view, *document)?;
        let estimate = match (&query.sketch, &sketch) {
            (Some(own), Some(other)) => Some(own.estimate(other)),
            _ => None,
        };
        ranked.push(Candidate { document: *document, sketch, estimate });
    }
    // Those without an estimate are equal texts: first.
    let order = |candidate: &Candidate| candidate.estimate.unwrap_or(f64::INFINITY);
    ranked.sort_by(|a, b| order(b).total_cmp(&order(a)).then(a.document.cmp(&b.document)));
    let mut verified = 0;
    let mut best: Vec<(Match, Candidate, String)> = Vec::new();
    for candidate in ranked {
        if let (Some((last, ..)), true) = (best.last(), best.len() >= options.k)
            && order(&candidate) < floor(last.jaccard(), policy)
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
    let mut names = Pairs::new(view);
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
        capped: found.capped,
        cap: count(BUCKET_CAP),
        candidates: count(found.found.len()),
        verified,
        passed_over: looking.passed_over,
        found: found_documents,
    })
}

fn source_named(view: &View, name: &str) -> Result<SourceId, QueryError> {
    if let Some((id, _)) = view.source_named(name) {
        return Ok(id);
    }
    let known: Vec<&str> = view.sources().map(|(_, record)| record.name.as_str()).collect();
    let known = if known.is_empty() { "none yet".to_owned() } else { known.join(", ") };
    Err(QueryError::NoSource { name: name.to_owned(), known })
}

struct Candidate {
    document: DocId,
    sketch: Option<Sketch>,
    estimate: Option<f64>,
}

/// Where is looked, and what was not looked at.
struct Looking<'a> {
    view: &'a View,
    source: Option<SourceId>,
    all: bool,
    passed_over: u64,
}

impl Looking<'_> {
    fn candidates(
        &mut self,
        text: &str,
        query: &Fingerprint,
    ) -> Result<(&'static str, Candidates), QueryError> {
        let (view, source) = (self.view, self.source);
        let of_source = match source {
            Some(id) => Some(view.documents_with(fields::SOURCE, &fields::source_value(id))?),
            None => None,
        };
        let admit = |document: DocId, kept: Option<&RoaringTreemap>| {
            let within = |set: &RoaringTreemap| set.contains(document.0);
            kept.is_none_or(within) && of_source.as_ref().is_none_or(within)
        };
        let (by, mut found) = match &query.sketch {
            _ if view.policy().mode == DedupMode::Exact => ("equal-bytes", Candidates::default()),
            None => ("equal-text", Candidates::default()),
            // A removed document of the source may be reached only through a witness of another.
            Some(sketch) if self.all => ("bands", candidates(view, sketch, source, |_| true)?),
            Some(sketch) => {
                let kept = view.kept()?;
                ("bands", candidates(view, sketch, source, |other| admit(other, Some(&kept)))?)
            }
        };
        // An equal text is found also where its buckets are crowded.
        found.found.extend(if by == "equal-bytes" {
            equals(view, 0, raw_hash(text), source)?
        } else {
            equals(view, 1, query.normalised, source)?
        });
        if self.all {
            self.add_members(&mut found.found)?;
        }
        let kept = if self.all { None } else { Some(view.kept()?) };
        found.found.retain(|document| admit(*document, kept.as_ref()));
        Ok((by, found))
    }

    /// Adds what the candidates removed: most of it was never in the index itself.
    fn add_members(&mut self, found: &mut BTreeSet<DocId>) -> Result<(), QueryError> {
        let mut members = BTreeSet::new();
        for witness in found.iter() {
            let of_witness = self.view.members(*witness)?;
            let over = of_witness.len().saturating_sub(MEMBERS);
            self.passed_over += u64::try_from(over).unwrap_or(u64::MAX);
            members.extend(of_witness.into_iter().take(MEMBERS));
        }
        found.extend(members);
        Ok(())
    }
}

/// The exact overlap of the text, in the place of the removed document, and a candidate.
fn matched(candidate: &Candidate, query: &Fingerprint, other: &[u64], by: &str) -> Match {
    let count = |shingles: &[u64]| u32::try_from(shingles.len()).unwrap_or(u32::MAX);
    Match {
        kind: if by == "equal-bytes" { MatchKind::Exact } else { MatchKind::Near },
        witness: candidate.document,
        shared: overlap(&query.shingles, other),
        removed_shingles: count(&query.shingles),
        witness_shingles: count(other),
    }
}

fn shown(
    view: &View,
    names: &mut Pairs<'_>,
    query: &Fingerprint,
    found: Match,
    candidate: Candidate,
    text: &str,
) -> Result<SimilarDocument, QueryError> {
    let policy = view.policy();
    let (key, source) = names.named(candidate.document)?;
    let shared = match (&query.sketch, &candidate.sketch) {
        (Some(own), Some(other)) => shared_bands(own, other, policy).len(),
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
