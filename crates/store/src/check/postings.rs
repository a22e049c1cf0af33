//! Checks keyword bitmaps against metadata by sums: one scan of the bitmaps and one of the documents.
//!
//! Bitmaps are in order of terms and documents are not, so that comparing them one by one would be a look-up for every
//! value in every block. Where sums differ, that block is compared value by value.

use crate::bytes::bitmap_block;
use crate::bytes::key::{StoreKey, TermKey};
use crate::check::{FaultList, MOST};
use crate::documents::indexed_values::indexed;
use crate::documents::terms::{self, TermOfValue, TermsWithPostings, ValueOfTerm};
use crate::error::StoreError;
use crate::system_fields;
use crate::view::View;
use model::{BLOCK_SIZE, DocId, FieldId, FieldKind, TermId};
use roaring::RoaringBitmap;
use std::collections::{BTreeMap, BTreeSet};
use xxhash_rust::xxh3::xxh3_64;

/// By field and block, a sum over its bitmaps that does not depend on their order: 8 bytes each, however many values
/// a field has.
#[derive(Default)]
pub(crate) struct PostingSums(BTreeMap<(FieldId, u64), u64>);

impl PostingSums {
    pub(crate) fn add(&mut self, field: FieldId, value: &[u8], block: u64, slots: &RoaringBitmap) {
        if slots.is_empty() {
            return;
        }
        let mut bytes = (value.len() as u64).to_le_bytes().to_vec();
        bytes.extend_from_slice(value);
        bytes.extend(bitmap_block::encode(slots));
        let sum = self.0.entry((field, block)).or_default();
        *sum = sum.wrapping_add(xxh3_64(&bytes));
    }
}

/// Compares the stored bitmaps with what documents came to.
pub(crate) fn check(
    view: &View,
    computed: &PostingSums,
    faults: &mut FaultList,
) -> Result<(), StoreError> {
    names(view, faults)?;
    let stored = stored(view, faults)?;
    let both: BTreeSet<_> = stored.0.keys().chain(computed.0.keys()).copied().collect();
    let differing = both.into_iter().filter(|key| stored.0.get(key) != computed.0.get(key));
    for (at, (field, block)) in differing.enumerate() {
        // Each costs a look-up a value: what continues is only counted.
        if at < MOST {
            detail(view, field, block, faults)?;
        } else {
            faults.push(
                "postings",
                format!("field {field}, block {block}: bitmaps are not those of the metadata"),
            );
        }
    }
    Ok(())
}

fn keyword_fields(view: &View) -> BTreeSet<FieldId> {
    let declared = view.fields().iter().filter(|field| field.kind == FieldKind::Keyword);
    declared.map(|field| field.id).chain([system_fields::LANGUAGE]).collect()
}

/// The sums of the stored bitmaps.
fn stored(view: &View, faults: &mut FaultList) -> Result<PostingSums, StoreError> {
    let fields = keyword_fields(view);
    let mut sums = PostingSums::default();
    let mut terms = TermsWithPostings::new(view, TermId(0))?;
    while let Some((term, named)) = terms.next_term()? {
        match named {
            Some((field, value)) if fields.contains(&field) => {
                while let Some((block, slots)) = terms.next_bitmap()? {
                    sums.add(field, &value, block, &slots);
                }
            }
            Some(_) => {}
            None => {
                faults.push("terms", format!("term {} of a bitmap has no value", term.0));
            }
        }
    }
    Ok(sums)
}

/// Values lead to terms, and terms to the same values.
fn names(view: &View, faults: &mut FaultList) -> Result<(), StoreError> {
    let sum = |field: FieldId, value: &[u8], term: TermId| {
        let mut bytes = terms::encode_id(term).to_vec();
        bytes.extend(terms::encode_value(field, value));
        xxh3_64(&bytes)
    };
    let (mut by_value, mut by_term) = (0_u64, 0_u64);
    let first_term = TermKey::Id(TermId(0)).to_bytes();
    let mut rows = view.pinned().scan::<TermOfValue>(&[], Some(first_term.clone()))?;
    while let Some(((field, name), term)) = rows.next()? {
        by_value = by_value.wrapping_add(sum(field, &name, term));
    }
    let mut rows = view.pinned().scan::<ValueOfTerm>(&first_term, None)?;
    while let Some((term, (field, name))) = rows.next()? {
        by_term = by_term.wrapping_add(sum(field, &name, term));
    }
    if by_value != by_term {
        let what = "values and their terms do not lead to one another";
        faults.push("terms", what.to_owned());
    }
    Ok(())
}

/// One block of one field, value by value.
fn detail(
    view: &View,
    field: FieldId,
    block: u64,
    faults: &mut FaultList,
) -> Result<(), StoreError> {
    let mut computed: BTreeMap<Vec<u8>, RoaringBitmap> = BTreeMap::new();
    for document in block * BLOCK_SIZE..((block + 1) * BLOCK_SIZE).min(view.documents()) {
        let document = DocId(document);
        for (of, keyword) in indexed(&view.metadata(document)?, view.fields()).keywords {
            if of == field {
                let slots = computed.entry(system_fields::keyword_value(&keyword)).or_default();
                slots.insert(document.slot().into());
            }
        }
    }
    for (value, term) in view.terms(field)? {
        let stored = view.posting_block(term, block)?;
        let computed = computed.remove(&value).unwrap_or_default();
        if stored != computed {
            let value = String::from_utf8_lossy(&value).into_owned();
            let (stored, computed) = (stored.len(), computed.len());
            let what = format!(
                "field {field} = {value}, block {block}: {stored} stored, {computed} computed"
            );
            faults.push("postings", what);
        }
    }
    for value in computed.into_keys() {
        let value = String::from_utf8_lossy(&value).into_owned();
        faults.push("terms", format!("field {field} lacks the value {value}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::key::{BlockNumber, PostingKey, StoreKey};
    use crate::database::tuning::MemoryBudget;
    use crate::{StoreWriter, counted, create};
    use model::{DedupMode, Policy};

    const VALUES: u32 = 50;

    /// A corpus whose bitmaps say that each of some values is in each of `blocks` blocks once.
    fn corpus(directory: &std::path::Path, blocks: u64) -> (StoreWriter, PostingSums) {
        create(directory, &Policy::new(DedupMode::None, 0.8).unwrap(), &[]).unwrap();
        let writer = StoreWriter::open(directory, MemoryBudget::within(16 << 20), 2).unwrap();
        let mut sums = PostingSums::default();
        let terms_family = writer.db.cf_handle("terms").unwrap();
        let postings = writer.db.cf_handle("postings").unwrap();
        for number in 0..VALUES {
            let (term, value) = (TermId(100 + number), format!("v{number:02}"));
            let by_value =
                TermKey::Value(system_fields::LANGUAGE, value.clone().into_bytes()).to_bytes();
            let by_term = TermKey::Id(term).to_bytes();
            writer.db.put_cf(&terms_family, by_value, terms::encode_id(term)).unwrap();
            let named = terms::encode_value(system_fields::LANGUAGE, value.as_bytes());
            writer.db.put_cf(&terms_family, by_term, named).unwrap();
            for block in 0..blocks {
                let slots: RoaringBitmap = [number].into_iter().collect();
                let key = PostingKey { term, block: BlockNumber(block) }.to_bytes();
                writer.db.put_cf(&postings, key, bitmap_block::encode(&slots)).unwrap();
                sums.add(system_fields::LANGUAGE, value.as_bytes(), block, &slots);
            }
        }
        drop((terms_family, postings));
        (writer, sums)
    }

    #[test]
    fn bitmaps_of_any_size_are_compared_in_one_scan() {
        let cost = |blocks: u64| {
            let directory = tempfile::tempdir().unwrap();
            let (mut writer, sums) = corpus(&directory.path().join("corpus"), blocks);
            writer.refresh_view().unwrap();
            let mut faults = FaultList::default();
            let (checked, rows) = counted::during(|| check(writer.view(), &sums, &mut faults));
            checked.unwrap();
            assert!(faults.found.is_empty(), "{:?}", faults.found);
            rows.values().sum::<u64>()
        };
        let (small, large) = (cost(8), cost(16));
        assert!(large < small * 2, "{small} then {large} rows");
        assert!(small < u64::from(VALUES) * (8 + 4), "{small}");
    }

    #[test]
    fn a_bitmap_that_is_not_what_was_computed_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let (mut writer, _) = corpus(&directory.path().join("corpus"), 2);
        writer.refresh_view().unwrap();
        let mut faults = FaultList::default();
        check(writer.view(), &PostingSums::default(), &mut faults).unwrap();
        let named = |fault: &super::super::CheckFault| {
            fault.what.contains("= v07, block 1: 1 stored, 0 computed")
        };
        assert!(faults.found.iter().any(named), "{:?}", faults.found);
    }
}
