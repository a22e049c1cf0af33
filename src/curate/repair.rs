//! Fills damaged derived families, which are empty by now, from the rows that they follow from.
//!
//! Each commit notes its progress, so that a repair that is stopped continues. `check --deep` compares by the same
//! rules.
//!
//! Families with the fewest dependencies come first: sketches; columns, terms and bitmaps of blocks, standings among
//! them; members; identities, texts and buckets by standing; suites; token ids; counters, with which the repair ends.

use super::commits::CommitLoop;
use super::contaminate::{self, SuiteReport};
use super::encode::encode_stored;
use super::erase::identity_of;
use super::redo::totals;
use super::refingerprint::{fingerprints, refingerprint};
use super::standing_rules::StandingRules;
use super::tokenizers::load_all;
use crate::decide::{RankNumbers, ViewRanker, stored_sketch};
use model::{
    BLOCK_SIZE, BucketKey, BucketMap, Context, DocId, Error, Generation, MatchKind, Standing,
    bucket_keys,
};
use rayon::prelude::*;
use roaring::RoaringTreemap;
use std::collections::BTreeMap;
use std::ops::Range;
use store::{
    BucketJoin, CommitBatch, CommitRecord, DocumentPrint, RepairRecord, StoreWriter, SuiteRecord,
    TextKind, TokenizerRecord,
};
use text::contamination::suite_ngrams;
use text::dedup::{Rank, band_keys};

/// Documents whose rows are made again in one commit.
const CHUNK: u64 = 1 << 13;

/// Fills the families that [`begin_repair`](crate::store::begin_repair) made empty, and opens the corpus to others.
///
/// # Errors
/// [`Error`] when rows cannot be read or written, or after an interrupt: the same call continues.
pub fn fill(writer: &mut StoreWriter, context: &Context<'_>) -> Result<(), Error> {
    let families = writer.view().repairs()?;
    let has = |family: &str| families.contains_key(family);
    forget_redo(writer, &families)?;
    if has("sketch_pages") {
        in_chunks(writer, ("making sketches", "sketch_pages"), context, |batch, documents| {
            let made = fingerprints(&batch.view().clone(), documents.clone())?;
            let mut left: RoaringTreemap = documents.collect();
            for (document, _, sketch) in made {
                left.remove(document.0);
                batch.put_sketch(document, sketch);
            }
            left.iter().map(DocId).try_for_each(|document| Ok(batch.keep_sketch(document)?))
        })?;
    }
    if has("columns") || has("postings") {
        fill_blocks(writer, has("columns"), has("postings"), context)?;
    }
    refingerprint(writer, context)?;
    if has("members") {
        let generations = writer.view().shown_generations()?;
        let stage = ("finding members", "members");
        in_chunks(writer, stage, context, |batch, documents| {
            for generation in generations.keys() {
                batch.put_members(*generation, documents.clone())?;
            }
            Ok(())
        })?;
    }
    if has("keys") {
        let undone = writer.view().undone()?;
        let fill = |batch: &mut CommitBatch<'_>, documents| fill_keys(batch, documents, &undone);
        in_chunks(writer, ("finding keys", "keys"), context, fill)?;
    }
    if has("exact") {
        in_chunks(writer, ("finding equal texts", "exact"), context, fill_exact)?;
    }
    if has("bands") {
        in_chunks(writer, ("filling buckets", "bands"), context, fill_bands)?;
    }
    fill_suites(writer, &families, context)?;
    if has("tokens") {
        fill_tokens(writer, context)?;
    }
    end(writer, context)
}

fn about(subject: &str) -> CommitRecord {
    CommitRecord::about("repair", subject)
}

/// Forgets a redo under way, whose rows were in families that are empty now; it begins anew with the next call.
fn forget_redo(
    writer: &mut StoreWriter,
    families: &BTreeMap<String, RepairRecord>,
) -> Result<(), Error> {
    let Some(stale) = writer.view().redo()? else { return Ok(()) };
    if !["postings", "exact", "bands", "members"].iter().any(|it| families.contains_key(*it)) {
        return Ok(());
    }
    let mut batch = writer.begin_repair()?;
    batch.drop_generation(Generation(stale.generation))?;
    batch.forget_lineage(Generation(stale.generation))?;
    batch.put_redo(None)?;
    batch.commit(&about("redo"))?;
    Ok(())
}

/// Has `each` write what follows from some documents, one commit after the other, from where the repair of a family
/// stopped.
fn in_chunks(
    writer: &mut StoreWriter,
    (stage, family): (&str, &str),
    context: &Context<'_>,
    mut each: impl FnMut(&mut CommitBatch<'_>, Range<u64>) -> Result<(), Error>,
) -> Result<(), Error> {
    let documents = writer.view().documents();
    let mut commits = CommitLoop::begin(stage, Some(documents), context);
    let mut next = writer.view().repairs()?.get(family).map_or(0, |record| record.next);
    while next < documents {
        commits.check_interrupt()?;
        let end = (next + CHUNK).min(documents);
        let mut batch = writer.begin_repair()?;
        each(&mut batch, next..end)?;
        batch.put_repair(&[family], end)?;
        commits.commit(batch, &about(family), end)?;
        next = end;
    }
    commits.end();
    Ok(())
}

/// Columns and bitmaps, a block a commit.
fn fill_blocks(
    writer: &mut StoreWriter,
    with_columns: bool,
    with_postings: bool,
    context: &Context<'_>,
) -> Result<(), Error> {
    let families: Vec<&str> = [("columns", with_columns), ("postings", with_postings)]
        .into_iter()
        .filter_map(|(family, is_wanted)| is_wanted.then_some(family))
        .collect();
    let first = families.first().copied().unwrap_or_default();
    let record = writer.view().repairs()?.remove(first).unwrap_or_default();
    let rules = StandingRules::of(writer.view(), record.lost)?;
    let documents = writer.view().documents();
    let mut commits = CommitLoop::begin("computing blocks", Some(documents), context);
    if with_postings && record.next == 0 {
        // Removed documents decide which others are blocked.
        for block in writer.view().blocks() {
            commits.check_interrupt()?;
            let mut batch = writer.begin_repair()?;
            rules.fill_removed(&mut batch, block)?;
            batch.commit(&about("postings"))?;
        }
    }
    for block in record.next / BLOCK_SIZE..writer.view().blocks().end {
        commits.check_interrupt()?;
        let mut batch = writer.begin_repair()?;
        let view = batch.view().clone();
        let fields = view.indexed_fields()?;
        let rows = view.rebuild_block(block, &fields, context)?;
        batch.put_block(rows, with_columns, with_postings)?;
        let end = ((block + 1) * BLOCK_SIZE).min(documents);
        if with_postings {
            rules.fill(&mut batch, block)?;
        }
        batch.put_repair(&families, end)?;
        commits.commit(batch, &about(&families.join(", ")), end)?;
    }
    commits.end();
    Ok(())
}

/// Under its identity the newest document is found that no undone ingest brought, but where that one was purged: then
/// none is.
fn fill_keys(
    batch: &mut CommitBatch<'_>,
    documents: Range<u64>,
    undone: &RoaringTreemap,
) -> Result<(), Error> {
    let view = batch.view().clone();
    for document in documents.map(DocId) {
        if undone.contains(document.0) || view.standing(document)? == Standing::Purged {
            continue;
        }
        let has_successor = view.key(document)?.is_some()
            && view.match_of(document)?.is_some_and(|found| found.kind == MatchKind::Superseded);
        if !has_successor {
            batch.put_identity(identity_of(&view, document)?, document);
        }
    }
    Ok(())
}

/// The best-ranked eligible document leads its text.
fn fill_exact(batch: &mut CommitBatch<'_>, documents: Range<u64>) -> Result<(), Error> {
    let view = batch.view().clone();
    let policy = view.policy();
    let (ranker, mut numbers) = (ViewRanker::new(&view), RankNumbers::default());
    let mut rank = |document: DocId, print: &DocumentPrint| -> Result<Rank, Error> {
        let number = numbers.read(&view, view.order_field(), document)?;
        Ok(ranker.rank_stored(&view, document, &print.raw, number)?)
    };
    for kind in TextKind::of_policy(policy) {
        let mut best: BTreeMap<[u8; 16], Rank> = BTreeMap::new();
        for row in view.prints(documents.clone())? {
            let (document, print) = row?;
            if !view.standing(document)?.is_eligible() {
                continue;
            }
            let own = rank(document, &print)?;
            let text = policy.text_key(view.source_of(document)?, kind.hash_of(&print));
            best.entry(text).and_modify(|best| *best = own.min(*best)).or_insert(own);
        }
        let texts: Vec<[u8; 16]> = best.keys().copied().collect();
        let stored = view.exacts(*kind, &texts)?;
        for ((text, best), stored) in best.into_iter().zip(stored) {
            let leads = match stored {
                Some(other) => best < rank(other, &view.print(other)?)?,
                None => true,
            };
            if leads {
                batch.set_exact(*kind, text, Some(best.document))?;
            }
        }
    }
    Ok(())
}

/// Transitive modes look for every eligible document in its buckets, the others for kept ones.
fn fill_bands(batch: &mut CommitBatch<'_>, documents: Range<u64>) -> Result<(), Error> {
    let view = batch.view().clone();
    let policy = view.policy();
    if !policy.mode.is_near() {
        return Ok(());
    }
    let of = |id: u64| -> Result<Option<(DocId, Vec<u64>)>, Error> {
        let document = DocId(id);
        let standing = view.standing(document)?;
        let is_indexed = match policy.mode.is_transitive() {
            true => standing.is_eligible(),
            false => standing == Standing::Kept,
        };
        if !is_indexed {
            return Ok(None);
        }
        let source = view.place(document)?.source;
        let sketch = stored_sketch(&view, document)?;
        Ok(sketch.map(|sketch| (document, band_keys(&sketch, policy, source))))
    };
    let members: Vec<(DocId, Vec<u64>)> = documents
        .into_par_iter()
        .map(of)
        .filter_map(Result::transpose)
        .collect::<Result<_, _>>()?;
    let mut keys: Vec<BucketKey> =
        members.iter().flat_map(|(_, bands)| bucket_keys(bands)).collect();
    keys.par_sort_unstable();
    keys.dedup();
    let firsts = view.bucket_firsts(&keys)?;
    let found: BucketMap<_> = keys.into_iter().zip(firsts).collect();
    let joins = members.iter().map(|(document, hashes)| {
        let stored = bucket_keys(hashes).map(|key| found.get(&key).copied().flatten()).collect();
        BucketJoin { document: *document, hashes, stored }
    });
    batch.join_buckets(&joins.collect::<Vec<_>>());
    Ok(())
}

/// Fills n-grams of suites from their items, and the findings in texts.
fn fill_suites(
    writer: &mut StoreWriter,
    families: &BTreeMap<String, RepairRecord>,
    context: &Context<'_>,
) -> Result<(), Error> {
    let Some(contamination) = families.get("contamination") else { return Ok(()) };
    // Once: from then on the records say how far stored texts were searched.
    if contamination.next == 0 {
        let mut batch = writer.begin_repair()?;
        let view = batch.view().clone();
        for (suite, record) in view.suites()? {
            if families.contains_key("suite_ngrams") {
                let items: Vec<_> = view.suite_items(*suite)?.collect::<Result<_, _>>()?;
                let built = suite_ngrams(&items, record.normaliser);
                batch.put_suite_grams(
                    *suite,
                    built.grams.iter().map(|(hash, gram)| (*hash, gram)),
                )?;
            }
            batch.put_suite(*suite, &SuiteRecord { next: 0, ..record.clone() })?;
        }
        batch.put_repair(&["contamination"], 1)?;
        batch.commit(&about("contamination"))?;
    }
    contaminate::search_stored(writer, context, &mut SuiteReport::default())
}

/// Ids of all that has a length in tokens, or is kept, now or in a snapshot, but those that came with records.
fn fill_tokens(writer: &mut StoreWriter, context: &Context<'_>) -> Result<(), Error> {
    let record = writer.view().repairs()?.remove("tokens").unwrap_or_default();
    if record.next == 0 {
        let mut batch = writer.begin_repair()?;
        let view = batch.view().clone();
        for (id, record) in view.tokenizers() {
            let record = TokenizerRecord { encoded_to: 0, ..record.clone() };
            batch.update_tokenizer(id, &record)?;
        }
        batch.put_repair(&["tokens"], 1)?;
        batch.commit(&about("tokens"))?;
    }
    for loaded in load_all(writer.view())? {
        encode_stored(writer, loaded.id, &loaded.tokenizer, context)?;
    }
    Ok(())
}

/// Counters are what documents come to; then others may open the corpus.
fn end(writer: &mut StoreWriter, context: &Context<'_>) -> Result<(), Error> {
    context.check_interrupt()?;
    let view = writer.view().clone();
    let kept = view.kept()?;
    let mut all = RoaringTreemap::new();
    all.insert_range(0..view.documents());
    let (of_all, of_kept) = (totals(&view, &all)?, totals(&view, &kept)?);
    drop(view);
    let mut batch = writer.begin_repair()?;
    batch.put_counters(&kept, &of_all, &of_kept)?;
    batch.end_repair()?;
    batch.commit(&about("done"))?;
    Ok(writer.flush()?)
}
