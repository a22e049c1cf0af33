//! `check --deep` over what needs the crafts: fingerprints, bands, similarities and token ids.

use super::error::CurateError;
use crate::dedup::{Fingerprinter, Sketch, band_keys, shared};
use crate::model::{DedupMode, DocId, MatchKind, Progress, Standing, TokenizerId};
use crate::store::{Fault, Header, View};
use crate::tokenizer::Tokenizer;
use rayon::prelude::*;

/// Documents checked as one piece of parallel work.
const PIECE: u64 = 1024;
/// Faults listed before the rest is only counted.
const MOST: usize = 100;

/// Recomputes, for every document, its fingerprint and the rows that follow from it; for every kept
/// document its token ids. Damage is in the answer.
///
/// # Errors
/// [`CurateError`] when the check itself cannot run.
pub fn check(
    view: &View,
    tokenizers: &[(TokenizerId, &Tokenizer)],
    progress: &dyn Progress,
) -> Result<Vec<Fault>, CurateError> {
    progress.begin("recomputing fingerprints and ids", Some(view.documents()));
    let pieces: Vec<u64> = (0..view.documents().div_ceil(PIECE)).collect();
    let mut faults = Vec::new();
    // Groups bound what is held and let progress show.
    for group in pieces.chunks(16) {
        let found: Vec<Vec<Fault>> =
            group.par_iter().map(|piece| check_piece(view, tokenizers, *piece)).collect();
        faults.extend(found.into_iter().flatten());
        progress.advance(group.last().map_or(0, |piece| (piece + 1) * PIECE));
    }
    if faults.len() > MOST {
        let what = format!("{} further faults are not listed", faults.len() - MOST);
        faults.truncate(MOST);
        faults.push(Fault { place: "check".to_owned(), what });
    }
    Ok(faults)
}

fn check_piece(view: &View, tokenizers: &[(TokenizerId, &Tokenizer)], piece: u64) -> Vec<Fault> {
    let range = piece * PIECE..((piece + 1) * PIECE).min(view.documents());
    let mut checker =
        Checker { view, tokenizers, craft: Fingerprinter::new(view.policy()), faults: Vec::new() };
    let walked = view.for_each_header(range, |document, header| {
        if let Err(error) = checker.document(document, &header) {
            checker.fault("documents", format!("document {document}: {error}"));
        }
        Ok::<(), CurateError>(())
    });
    if let Err(error) = walked {
        checker.fault("documents", error.to_string());
    }
    checker.faults
}

struct Checker<'a> {
    view: &'a View,
    tokenizers: &'a [(TokenizerId, &'a Tokenizer)],
    craft: Fingerprinter,
    faults: Vec<Fault>,
}

impl Checker<'_> {
    fn fault(&mut self, place: &str, what: String) {
        self.faults.push(Fault { place: place.to_owned(), what });
    }

    fn document(&mut self, document: DocId, header: &Header) -> Result<(), CurateError> {
        let text = self.view.text_of_owner(header.text_owner(document))?;
        let standing = self.view.standing(document)?;
        if self.view.policy().mode == DedupMode::Witness {
            self.fingerprint(document, header, &text, standing)?;
        }
        if standing == Standing::Kept {
            self.ids(document, &text)?;
        }
        Ok(())
    }

    fn fingerprint(
        &mut self,
        document: DocId,
        header: &Header,
        text: &str,
        standing: Standing,
    ) -> Result<(), CurateError> {
        let print = self.craft.fingerprint(text);
        if print.tokens != header.words
            || print.shingles.len() as u64 != u64::from(header.shingles)
            || print.normalised != header.normalised
        {
            self.fault(
                "documents",
                format!("document {document}: fingerprint in the header is not that of its text"),
            );
        }
        let stored = self.view.sketch_of_owner(header.text_owner(document))?;
        if stored.as_deref() != print.sketch.as_ref().map(Sketch::as_bytes) {
            self.fault("sketches", format!("document {document}: sketch is not that of its text"));
        }
        if (standing == Standing::Empty) != (print.tokens == 0)
            && standing.is_eligible() | (standing == Standing::Empty)
        {
            self.fault(
                "postings",
                format!("document {document} is {standing} with {} tokens", print.tokens),
            );
        }
        if standing == Standing::Kept
            && let Some(sketch) = &print.sketch
        {
            let bands = band_keys(sketch, self.view.policy(), header.source);
            let keys: Vec<(u8, u64)> = (0..=u8::MAX).zip(bands).collect();
            for ((band, _), bucket) in
                keys.iter().zip(self.view.buckets(&keys, 1, |other| other == document)?)
            {
                if bucket.is_none_or(|bucket| bucket.members != [document]) {
                    self.fault(
                        "bands",
                        format!("document {document} is kept but not in its bucket of band {band}"),
                    );
                }
            }
        }
        if let Some(matched) = self.view.match_of(document)?
            && matched.kind == MatchKind::Near
        {
            let witness = self.craft.shingles(&self.view.text(matched.witness)?);
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

    fn ids(&mut self, document: DocId, text: &str) -> Result<(), CurateError> {
        for (id, tokenizer) in self.tokenizers {
            let (mut stored, mut computed) = (Vec::new(), Vec::new());
            if !self.view.tokens(*id, document, &mut stored)? {
                continue;
            }
            tokenizer.encoder().encode(text, &mut computed)?;
            if stored != computed {
                let at = stored.iter().zip(&computed).take_while(|(a, b)| a == b).count();
                self.faults.push(Fault {
                    place: "tokens".to_owned(),
                    what: format!(
                        "document {document}, tokenizer {id}: ids differ from position {at}"
                    ),
                });
            }
        }
        Ok(())
    }
}
