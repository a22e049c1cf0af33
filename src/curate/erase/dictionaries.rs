//! Replaces zstd dictionaries that contain pieces of purged texts, and compresses all texts anew.
//!
//! A dictionary is made of pieces of the texts it was trained on, so it is replaced when any run of 32 bytes of a text
//! that is about to be purged stands in it. Done before rows are erased: afterwards nobody could tell.

use super::PurgeProcedure;
use super::traces::TraceSearch;
use super::traces::{WIDTHS, hash, rolled};
use model::{DocId, Error};
use rayon::prelude::*;
use roaring::RoaringTreemap;
use store::{TracePart, TraceRun, View};

/// Texts a dictionary is trained on, at most: more than that are not looked at.
const SAMPLES: usize = 4096;
/// Bytes of a text that training looks at.
const SAMPLE_BYTES: usize = 16 << 10;
/// Texts written in one commit.
const CHUNK: usize = 1 << 12;

/// Replaces the dictionaries that have pieces of the texts of `documents`, which are not erased yet.
pub(super) fn replace(
    purge: &mut PurgeProcedure<'_, '_>,
    documents: &RoaringTreemap,
) -> Result<(), Error> {
    let (tainted, newest_is) = dictionaries_quoting(purge, documents)?;
    if tainted.is_empty() {
        return Ok(());
    }
    if newest_is {
        let samples = samples(purge.writer.view(), documents)?;
        let mut batch = purge.commits.batch(purge.writer)?;
        batch.replace_dictionary(samples.iter().map(String::as_str))?;
        purge.commits.commit_next(batch, &purge.record)?;
    }
    rewrite(purge, &tainted)?;
    let mut batch = purge.commits.batch(purge.writer)?;
    batch.drop_dictionaries(&tainted)?;
    purge.report.dictionaries += tainted.len() as u64;
    purge.commits.commit_next(batch, &purge.record)
}

/// The dictionaries that have a run of one of the texts, and whether the newest one is among them.
fn dictionaries_quoting(
    purge: &PurgeProcedure<'_, '_>,
    documents: &RoaringTreemap,
) -> Result<(Vec<u16>, bool), Error> {
    let [width, ..] = WIDTHS;
    let view = purge.writer.view();
    let dictionaries = view.dictionaries()?;
    let mut searches = Vec::new();
    for (id, bytes) in &dictionaries {
        let runs: Vec<TraceRun> = bytes
            .windows(width)
            .map(|run| TraceRun {
                width: width as u8,
                of: TracePart::Text,
                rolled: rolled(run),
                hash: hash(run),
            })
            .collect();
        searches.push((*id, TraceSearch::of(runs.iter()), false));
    }
    for document in documents.iter().map(DocId) {
        if searches.iter().all(|(.., is_tainted)| *is_tainted) {
            break;
        }
        let place = view.place(document)?;
        let text = view.text_of_owner(place.text_owner(document))?;
        for (_, search, is_tainted) in searches.iter_mut().filter(|(.., found)| !*found) {
            *is_tainted = search.any(text.as_bytes());
        }
        purge.commits.check_interrupt()?;
    }
    let newest_is = searches.last().is_some_and(|(.., is_tainted)| *is_tainted);
    let tainted = searches.into_iter().filter(|(.., is_tainted)| *is_tainted);
    Ok((tainted.map(|(id, ..)| id).collect(), newest_is))
}

/// Texts that stay, spread over the corpus.
fn samples(view: &View, documents: &RoaringTreemap) -> Result<Vec<String>, Error> {
    let step = (view.documents() / SAMPLES as u64).max(1);
    let mut samples = Vec::new();
    for row in view.headers(0..view.documents())? {
        let (document, header) = row?;
        let is_one = document.0 % step == 0 && header.place.text_of.is_none() && header.bytes > 0;
        if is_one && !documents.contains(document.0) && samples.len() < SAMPLES {
            let mut text = view.text_of_owner(document)?;
            text.truncate(text.floor_char_boundary(SAMPLE_BYTES));
            samples.push(text);
        }
    }
    Ok(samples)
}

/// Compresses the texts again that are compressed with one of `dictionaries`.
fn rewrite(purge: &mut PurgeProcedure<'_, '_>, dictionaries: &[u16]) -> Result<(), Error> {
    purge.commits.stage("compressing texts again", Some(purge.writer.view().documents()));
    let mut from = DocId(0);
    loop {
        let view = purge.writer.view().clone();
        let mut chunk = Vec::new();
        let mut bytes = 0;
        for document in view.compressed_with(dictionaries, from)? {
            let document = document?;
            bytes += view.text_bytes(document)?;
            chunk.push(document);
            if chunk.len() >= CHUNK || bytes >= purge.writer.batch_bytes() {
                break;
            }
        }
        let Some(last) = chunk.last() else { break };
        from = DocId(last.0 + 1);
        let mut batch = purge.commits.batch(purge.writer)?;
        let encoder = batch.encoder(std::iter::empty())?;
        let encoded = chunk
            .par_iter()
            .map(|document| Ok((*document, encoder.encode(&view.text_of_owner(*document)?)?)));
        let encoded: Vec<_> = encoded.collect::<Result<_, Error>>()?;
        for (document, text) in &encoded {
            batch.put_text(*document, text)?;
        }
        purge.report.texts_rewritten += encoded.len() as u64;
        purge.commits.commit(batch, &purge.record, from.0)?;
    }
    Ok(())
}
