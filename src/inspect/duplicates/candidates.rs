//! Answers questions of this room from fingerprints and the bucket index; no other file here knows sketches or buckets.

use crate::inspect::InspectError;
use model::{BucketKey, DedupScope, DocId, Policy, SourceId, Standing, bucket_keys};
use roaring::RoaringTreemap;
use std::collections::BTreeSet;
use store::{BlockKind, TextKind, View};
use text::dedup::{
    Fingerprint, Fingerprinter, RemovedText, Sketch, bands, block_keys, estimate_floor,
};

/// Members read of one bucket: more than an ingest reads, since here one document is looked up, not millions.
pub(in crate::inspect) const BUCKET_CAP: usize = 1024;

/// Documents that share a bucket with a sketch.
#[derive(Debug, Default)]
pub(in crate::inspect) struct BandCandidates {
    pub(in crate::inspect) found: BTreeSet<DocId>,
    pub(in crate::inspect) buckets: u64,
    /// Buckets of which only the first members were read.
    pub(in crate::inspect) capped: u64,
}

/// Makes fingerprints of texts under a policy, one after another.
pub(in crate::inspect) struct Craft(Fingerprinter);

impl Craft {
    pub(in crate::inspect) fn new(policy: &Policy) -> Self {
        Self(Fingerprinter::new(policy))
    }

    pub(in crate::inspect) fn fingerprint(&mut self, text: &str) -> Fingerprint {
        self.0.fingerprint(text)
    }

    pub(in crate::inspect) fn shingles(&mut self, text: &str) -> Vec<u64> {
        self.0.shingles(text)
    }
}

/// The sketch of a stored document, or its owner's when it borrows one; none when the text is too short for one.
pub(in crate::inspect) fn sketch(
    view: &View,
    document: DocId,
) -> Result<Option<Sketch>, InspectError> {
    let is_old = view.refingerprinted()?.is_some_and(|next| document.0 >= next);
    if is_old && view.text_bytes(document)? > 0 {
        // After a stopped redo the stored sketch may still be that of the policy before.
        let text = view.compared_text(document)?;
        return Ok(Fingerprinter::new(view.policy()).fingerprint(&text).sketch);
    }
    let Some(bytes) = view.sketch_of(document)? else { return Ok(None) };
    let sketch = Sketch::from_bytes(&bytes, view.policy());
    sketch.map(Some).ok_or(InspectError::Sketch { document, bytes: bytes.len() })
}

/// The removed documents that keep this one out by similarity, with the exact similarity. A purged one has nothing but
/// its sketch, so it comes with the estimate.
pub(in crate::inspect) fn similar_blockers(
    view: &View,
    document: DocId,
) -> Result<Vec<(DocId, f64)>, InspectError> {
    let Some(sketch) = sketch(view, document)? else { return Ok(Vec::new()) };
    let mut candidates = BTreeSet::new();
    for key in block_keys(&sketch) {
        candidates.extend(view.blockers(BlockKind::Similar, key)?);
    }
    candidates.remove(&document);
    let mut craft = Craft::new(view.policy());
    let mut found = Vec::new();
    if candidates.is_empty() {
        return Ok(found);
    }
    let own = craft.shingles(&view.compared_text(document)?);
    for other in candidates {
        let removed = match view.standing(other)? {
            Standing::Purged => RemovedText::Sketch(super::candidates::sketch(view, other)?),
            _ => RemovedText::Shingles(craft.shingles(&view.compared_text(other)?).into()),
        };
        let similarity = removed.keeps_out((&sketch, &own), view.policy().threshold);
        found.extend(similarity.map(|similarity| (other, similarity)));
    }
    Ok(found)
}

/// The smallest estimate that a pair of this similarity is likely to have.
pub(in crate::inspect) fn floor(jaccard: f64, policy: &Policy) -> f64 {
    estimate_floor(&Policy { threshold: jaccard, ..policy.clone() })
}

/// The bands in which two sketches agree.
pub(in crate::inspect) fn shared_bands(a: &Sketch, b: &Sketch, policy: &Policy) -> Vec<u8> {
    let pairs = (0..=u8::MAX).zip(bands(a, policy)).zip(bands(b, policy));
    pairs.filter(|((_, a), b)| a == b).map(|((band, _), _)| band).collect()
}

/// Keys of the buckets of a sketch, ascending.
pub(in crate::inspect) fn band_keys(
    sketch: &Sketch,
    policy: &Policy,
    source: SourceId,
) -> Vec<BucketKey> {
    bucket_keys(&text::dedup::band_keys(sketch, policy, source)).collect()
}

/// The sources whose buckets are searched. In global scope any one stands for all.
pub(in crate::inspect) fn scopes(view: &View, source: Option<SourceId>) -> Vec<SourceId> {
    match (view.policy().scope, source) {
        (_, Some(source)) => vec![source],
        (DedupScope::Global, None) => vec![SourceId(0)],
        (DedupScope::PerSource, None) => view.sources().map(|(id, _)| id).collect(),
    }
}

/// Adds to `each` all documents admitted by `keep` that share a bucket with the sketch, however crowded the bucket is.
/// Answers how many buckets were read and how many of them are crowded.
pub(in crate::inspect) fn all_candidates(
    view: &View,
    sketch: &Sketch,
    source: Option<SourceId>,
    keep: impl Fn(DocId) -> bool,
    found: &mut RoaringTreemap,
) -> Result<(u64, u64), InspectError> {
    let (mut asked, mut crowded) = (0, 0);
    for source in scopes(view, source) {
        let keys = band_keys(sketch, view.policy(), source);
        for (key, bucket) in keys.iter().zip(view.buckets(&keys, BUCKET_CAP, &keep)?) {
            asked += 1;
            let Some(bucket) = bucket else { continue };
            found.extend(bucket.members.iter().map(|member| member.0));
            if bucket.capped {
                crowded += 1;
                // Only one crowded bucket is held at a time.
                for bucket in view.buckets(&[*key], usize::MAX, &keep)?.into_iter().flatten() {
                    found.extend(bucket.members.iter().map(|member| member.0));
                }
            }
        }
    }
    Ok((asked, crowded))
}

/// Documents admitted by `keep` that share a bucket with the sketch; of a crowded bucket only the first members.
pub(in crate::inspect) fn candidates(
    view: &View,
    sketch: &Sketch,
    source: Option<SourceId>,
    keep: impl Fn(DocId) -> bool,
) -> Result<BandCandidates, InspectError> {
    let mut answer = BandCandidates::default();
    for source in scopes(view, source) {
        let keys = band_keys(sketch, view.policy(), source);
        for bucket in view.buckets(&keys, BUCKET_CAP, &keep)? {
            answer.buckets += 1;
            if let Some(bucket) = bucket {
                answer.capped += u64::from(bucket.capped);
                answer.found.extend(bucket.members);
            }
        }
    }
    Ok(answer)
}

/// The best-ranked eligible documents whose text, in the form of `kind`, has this hash.
pub(in crate::inspect) fn equals(
    view: &View,
    kind: TextKind,
    hash: [u8; 16],
    source: Option<SourceId>,
) -> Result<BTreeSet<DocId>, InspectError> {
    let mut found = BTreeSet::new();
    for source in scopes(view, source) {
        found.extend(view.exact(kind, view.policy().text_key(source, hash))?);
    }
    Ok(found)
}
