//! Format 5: a family for the documents whose place a document took, filled from the matches.
//!
//! The matches of the current generation are gone through in the order of their commits. A document that
//! a snapshot shows as kept stays a root of itself beside what it inherits: a plan may have gone by that. The
//! rows count from the last commit on, which no snapshot shows yet, so that no snapshot's plan changes.
#![expect(
    clippy::big_endian_bytes,
    reason = "keys are big-endian, so that byte order is value order"
)]

use super::super::StoreError;
use super::MigrationStep;
use crate::bytes::cursor::ByteCursor;
use crate::database::family::{corrupt_row, handle_named};
use crate::decisions::matches::Matches;
use crate::documents::headers::Documents;
use crate::error::DecodeError;
use crate::meta::Meta;
use crate::records::snapshots::Snapshots;
use roaring::RoaringTreemap;
use rocksdb::{DB, Direction, IteratorMode, ReadOptions, WriteBatch};
use std::collections::{BTreeMap, BTreeSet};

/// From format 4 to format 5. The new family is made when the database is opened.
pub const STEP: MigrationStep = MigrationStep { to: 5, apply };

const SUPERSEDED: u8 = 3;
/// Roots that are told apart, and the one that stands for more.
const MOST: usize = 32;
const MANY: u64 = u64::MAX;
/// Rows written at a time.
const ROWS: usize = 1 << 16;

type MatchV4 = Option<(u8, u64)>;

/// A change of what explains a document.
struct MatchEvent {
    document: u64,
    /// The commit that added the document.
    arrived: u64,
    /// The commit that added the one that explains it now.
    other_arrived: u64,
    before: MatchV4,
    now: MatchV4,
}

fn apply(db: &DB, _: &mut WriteBatch) -> Result<(), StoreError> {
    let Some((commit, generation)) = state(db)? else { return Ok(()) };
    let mut lineages = LineageReplay::default();
    for (at, events) in events(db, generation)? {
        lineages.replay(at, &events);
    }
    let shown = shown(db)?;
    let family = handle_named(db, "lineage")?;
    let mut rows = WriteBatch::default();
    for (document, mut roots) in lineages.0 {
        if shown.contains(document) {
            join(&mut roots, &BTreeSet::from([document]));
        }
        for root in roots {
            let key = [document, commit, root].into_iter().flat_map(u64::to_be_bytes);
            let key: Vec<u8> = generation.to_be_bytes().into_iter().chain(key).collect();
            rows.put_cf(&family, key, []);
        }
        if rows.len() >= ROWS {
            db.write(std::mem::take(&mut rows))?;
        }
    }
    db.write(rows)?;
    Ok(())
}

/// Roots of documents that are not just themselves.
#[derive(Default)]
struct LineageReplay(BTreeMap<u64, BTreeSet<u64>>);

impl LineageReplay {
    fn of(&self, document: u64, matched: MatchV4) -> BTreeSet<u64> {
        let mut roots = self.0.get(&document).cloned().unwrap_or_default();
        if let Some(witness) = in_cluster(matched) {
            let own = BTreeSet::from([witness]);
            join(&mut roots, self.0.get(&witness).unwrap_or(&own));
        }
        if roots.is_empty() { BTreeSet::from([document]) } else { roots }
    }

    fn add(&mut self, document: u64, own: BTreeSet<u64>, more: &BTreeSet<u64>) {
        let roots = self.0.entry(document).or_default();
        join(roots, &own);
        join(roots, more);
    }

    /// Takes in what one commit changed.
    fn replay(&mut self, commit: u64, events: &[MatchEvent]) {
        let mut heirs = BTreeSet::new();
        let superseded = events.iter().filter_map(|event| match event.now {
            Some((SUPERSEDED, heir)) => Some((heir, event)),
            _ => None,
        });
        let superseded: BTreeMap<u64, &MatchEvent> = superseded.collect();
        for (heir, event) in superseded {
            let roots = self.of(event.document, event.before);
            self.add(heir, BTreeSet::new(), &roots);
            heirs.insert(heir);
        }
        for event in events {
            let (witness, next) = (in_cluster(event.before), in_cluster(event.now));
            if witness.is_some()
                && witness != next
                && event.now.is_none_or(|now| now.0 != SUPERSEDED)
            {
                let roots = self.of(event.document, event.before);
                self.add(event.document, roots, &BTreeSet::new());
            }
            let Some(next) = next.filter(|next| witness != Some(*next)) else { continue };
            let was_alone = event.arrived < commit && witness.is_none();
            if was_alone || heirs.contains(&event.document) {
                let roots = self.of(event.document, None);
                let is_new = event.other_arrived == commit;
                let own = if is_new { BTreeSet::new() } else { self.of(next, None) };
                self.add(next, own, &roots);
            }
        }
    }
}

fn join(roots: &mut BTreeSet<u64>, more: &BTreeSet<u64>) {
    roots.extend(more);
    if roots.len() > MOST || roots.contains(&MANY) {
        *roots = BTreeSet::from([MANY]);
    }
}

/// The witness of a duplicate.
fn in_cluster(matched: MatchV4) -> Option<u64> {
    matched.filter(|(kind, _)| *kind != SUPERSEDED).map(|(_, witness)| witness)
}

/// Everything but the duplicates that were never anything else, by commit.
fn events(db: &DB, generation: u32) -> Result<BTreeMap<u64, Vec<MatchEvent>>, StoreError> {
    let documents = handle_named(db, "documents")?;
    let mut heirs = RoaringTreemap::new();
    for_each_match(db, generation, |_, _, _, now| {
        heirs.extend(now.filter(|(kind, _)| *kind == SUPERSEDED).map(|(_, heir)| heir));
        Ok(())
    })?;
    let mut found: BTreeMap<u64, Vec<MatchEvent>> = BTreeMap::new();
    let arrival_of = |document: u64| {
        let key = document.to_be_bytes();
        let header = db.get_pinned_cf(&documents, key)?;
        let arrived = header.map_or(Ok(0), |header| arrival(&header));
        arrived.map_err(|why| corrupt_row::<Documents>("header", &key, why))
    };
    for_each_match(db, generation, |document, commit, before, now| {
        let arrived = arrival_of(document)?;
        let came_so = arrived == commit && before.is_none() && in_cluster(now).is_some();
        if !came_so || heirs.contains(document) {
            let other_arrived = now.map_or(Ok(0), |(_, other)| arrival_of(other))?;
            let event = MatchEvent { document, arrived, other_arrived, before, now };
            found.entry(commit).or_default().push(event);
        }
        Ok(())
    })?;
    Ok(found)
}

/// Calls `each` with document, commit, what explained it before and what does from then on, ascending.
fn for_each_match(
    db: &DB,
    generation: u32,
    mut each: impl FnMut(u64, u64, MatchV4, MatchV4) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let matches = handle_named(db, "matches")?;
    let prefix = generation.to_be_bytes();
    let mut options = ReadOptions::default();
    options.set_total_order_seek(true);
    let from = IteratorMode::From(&prefix, Direction::Forward);
    let mut last: Option<(u64, MatchV4)> = None;
    for row in db.iterator_cf_opt(&matches, options, from) {
        let (key, value) = row?;
        if !key.starts_with(&prefix) {
            break;
        }
        let wrong = |why| corrupt_row::<Matches>("match", &key, why);
        let (document, commit) = numbers(&key).map_err(wrong)?;
        let now = matched(&value).map_err(wrong)?;
        let before = last.filter(|(of, _)| *of == document).and_then(|(_, matched)| matched);
        each(document, commit, before, now)?;
        last = Some((document, now));
    }
    Ok(())
}

/// Documents that a snapshot shows as kept.
#[expect(
    clippy::disallowed_methods,
    reason = "the last item carries the iterator's status: a damaged block is an error here"
)]
fn shown(db: &DB) -> Result<RoaringTreemap, StoreError> {
    let mut all = RoaringTreemap::new();
    for row in db.iterator_cf(&handle_named(db, "snapshots")?, IteratorMode::Start) {
        let (key, value) = row?;
        if key.ends_with(b"\0kept") {
            let kept = RoaringTreemap::deserialize_from(value.as_ref());
            let wrong = |why: std::io::Error| DecodeError::at(0, why.to_string());
            all |= kept.map_err(|why| corrupt_row::<Snapshots>("snapshot", &key, wrong(why)))?;
        }
    }
    Ok(all)
}

/// Last commit and current generation; none of a store that is being made.
fn state(db: &DB) -> Result<Option<(u64, u32)>, StoreError> {
    let Some(bytes) = db.get_pinned_cf(&handle_named(db, "meta")?, "state")? else {
        return Ok(None);
    };
    let read = || {
        let mut cursor = ByteCursor::new(&bytes);
        cursor.u8()?;
        let commit = cursor.u64()?;
        // Documents and kept ones.
        cursor.take(16)?;
        Ok((commit, cursor.u32()?))
    };
    read().map(Some).map_err(|why| corrupt_row::<Meta>("state", b"state", why))
}

/// Document and commit of a key of `matches`.
fn numbers(key: &[u8]) -> Result<(u64, u64), DecodeError> {
    let mut cursor = ByteCursor::new(key);
    cursor.take(4)?;
    let numbers = (u64::from_be_bytes(cursor.array()?), u64::from_be_bytes(cursor.array()?));
    cursor.end()?;
    Ok(numbers)
}

fn matched(value: &[u8]) -> Result<MatchV4, DecodeError> {
    let mut cursor = ByteCursor::new(value);
    match cursor.u8()? {
        0 => Ok(None),
        kind => Ok(Some((kind, cursor.u64()?))),
    }
}

/// The commit in a header: format, flags, source, file, number, commit.
fn arrival(header: &[u8]) -> Result<u64, DecodeError> {
    let mut cursor = ByteCursor::new(header);
    cursor.take(2)?;
    for _ in 0..3 {
        cursor.varint()?;
    }
    cursor.varint()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of documents that came with commit 1, but for 12, which came with commit 6.
    fn event(document: u64, arrived: u64, before: MatchV4, now: MatchV4) -> MatchEvent {
        let other_arrived = now.map_or(0, |(_, other)| if other == 12 { 6 } else { 1 });
        MatchEvent { document, arrived, other_arrived, before, now }
    }

    /// The roots of a document, and of a duplicate of `witness`.
    fn roots(lineages: &LineageReplay, document: u64, matched: MatchV4) -> Vec<u64> {
        lineages.of(document, matched).into_iter().collect()
    }

    #[test]
    fn lineages_follow_supersession_displacement_and_lost_witnesses() {
        let mut lineages = LineageReplay::default();
        // 10 supersedes 1, which was kept; 12 displaces 10 and 2; 2 had the duplicate 3.
        lineages.replay(5, &[event(1, 1, None, Some((SUPERSEDED, 10)))]);
        assert_eq!(roots(&lineages, 10, None), [1]);
        let near = |witness| Some((2, witness));
        let moved = [
            event(2, 1, None, near(12)),
            event(3, 1, near(2), near(12)),
            event(10, 5, None, near(12)),
        ];
        lineages.replay(6, &moved);
        assert_eq!(roots(&lineages, 12, None), [1, 2]);
        assert_eq!(roots(&lineages, 3, near(12)), [1, 2]);
        // 12 goes, and 3 is kept in its place.
        lineages.replay(7, &[event(3, 1, near(12), None)]);
        assert_eq!(roots(&lineages, 3, None), [1, 2]);
        // 20 supersedes 3 and is a duplicate of 7: both lineages meet in 7.
        let met = [event(3, 1, None, Some((SUPERSEDED, 20))), event(20, 8, None, near(7))];
        lineages.replay(8, &met);
        assert_eq!(roots(&lineages, 7, None), [1, 2, 7]);
        assert_eq!(roots(&lineages, 8, None), [8]);
    }
}
