//! The family `epochs`: plans, what they pin, and marks along their epochs.
//!
//! Marks are lists of integers that grow slowly from one to the next, with the plan that they are of and a digest. What
//! the integers mean is the epoch layer's.

use crate::batch::CommitBatch;
use crate::bytes::cursor::{ByteCursor, not_empty, put_varint};
use crate::bytes::key::{PlanKey, StoreKey, after_prefix};
use crate::bytes::record::{self, EpochRecord};
use crate::database::family::{RowKind, corrupt_row, store_family};
use crate::error::{DecodeError, StoreError};
use crate::view::View;
use model::invariant::part;

/// What earlier releases wrote: the same lists.
const FIRST_FORM: u8 = 1;
const FORM: u8 = 2;
/// Bytes of the digest.
const DIGEST: usize = 16;

/// Stored marks of an epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarksRecord {
    /// Hash of the plan that they are of.
    pub plan: [u8; 32],
    /// Which epoch of it.
    pub epoch: u64,
    /// Whether a release wrote it that counted wrongly where rows are carried to the next epoch.
    pub is_first_form: bool,
    /// The lists: of each its length, then of each integer its difference to the one in the same place before.
    lists: Vec<u8>,
}

impl MarksRecord {
    /// Packs lists of integers.
    pub fn of(plan: [u8; 32], epoch: u64, lists: impl Iterator<Item = Vec<u64>>) -> Self {
        let (mut packed, mut before) = (Vec::new(), Vec::new());
        for list in lists {
            put_varint(&mut packed, list.len() as u64);
            for (at, number) in list.iter().enumerate() {
                let same = before.get(at).copied().unwrap_or(0);
                put_varint(&mut packed, zigzag(number.wrapping_sub(same)));
            }
            before = list;
        }
        Self { plan, epoch, is_first_form: false, lists: packed }
    }

    /// About the bytes that they take.
    pub const fn bytes(&self) -> usize {
        self.lists.len()
    }

    /// Calls `each` with every list, in order; none when it wants no more, or bytes are not lists.
    pub fn for_each_list(&self, mut each: impl FnMut(&[u64]) -> Option<()>) -> Option<()> {
        lists(&self.lists, |list| each(list).ok_or_else(|| DecodeError::at(0, "not wanted"))).ok()
    }

    /// The stored form: form u8, digest, plan, epoch, lists.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut body = Vec::with_capacity(self.lists.len() + 10);
        put_varint(&mut body, self.epoch);
        body.extend_from_slice(&self.lists);
        let mut out = vec![if self.is_first_form { FIRST_FORM } else { FORM }];
        out.extend_from_slice(&digest(&self.plan, &body));
        out.extend_from_slice(&self.plan);
        out.append(&mut body);
        out
    }

    /// Reads stored marks; none in a form that another release wrote: what they say can be walked again.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Option<Self>, DecodeError> {
        let mut cursor = ByteCursor::new(bytes);
        let form = cursor.u8()?;
        if !matches!(form, FIRST_FORM | FORM) {
            return Ok(None);
        }
        let stored: [u8; DIGEST] = cursor.array()?;
        let plan = cursor.array()?;
        let body = part(bytes, cursor.offset()..);
        if digest(&plan, body) != stored {
            let why = "damaged marks; `corpusdb epoch plan CORPUS PLAN` computes them again";
            return Err(DecodeError::at(1, why));
        }
        let epoch = cursor.varint()?;
        let start = cursor.offset();
        let packed = cursor.rest();
        let within =
            |malformed: DecodeError| DecodeError::at(start + malformed.offset, malformed.why);
        lists(packed, |_| Ok(())).map_err(within)?;
        let is_first_form = form == FIRST_FORM;
        Ok(Some(Self { plan, epoch, is_first_form, lists: packed.to_vec() }))
    }
}

/// Calls `each` with every list of `packed`.
fn lists(
    packed: &[u8],
    mut each: impl FnMut(&[u64]) -> Result<(), DecodeError>,
) -> Result<(), DecodeError> {
    let mut cursor = ByteCursor::new(packed);
    let (mut list, mut before) = (Vec::new(), Vec::new());
    while cursor.offset() < packed.len() {
        for _ in 0..cursor.varint()? {
            let same = before.get(list.len()).copied().unwrap_or(0);
            list.push(unzigzag(cursor.varint()?).wrapping_add(same));
        }
        each(&list)?;
        std::mem::swap(&mut list, &mut before);
        list.clear();
    }
    Ok(())
}

fn digest(plan: &[u8; 32], body: &[u8]) -> [u8; DIGEST] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(plan);
    hasher.update(body);
    let mut digest = [0; DIGEST];
    hasher.finalize_xof().fill(&mut digest);
    digest
}

/// Small differences of both signs as small numbers.
const fn zigzag(difference: u64) -> u64 {
    (difference << 1) ^ (difference.cast_signed() >> 63).cast_unsigned()
}

const fn unzigzag(stored: u64) -> u64 {
    (stored >> 1) ^ (stored & 1).wrapping_neg()
}

store_family! {
    /// Epoch plans, the selections they pin, and marks along their epochs.
    Epochs = "epochs", Small,
    PlanKey, "name"
    => {
        /// A plan.
        PlanRecords = "epoch", plan: u32 [PlanKey::Record(plan)] => EpochRecord, |_, bytes| record::decode(bytes);
        /// What it pins of a source, as the epoch layer wrote it.
        PlanParts = "epoch part", (plan, source): (u32, String) [PlanKey::Part(plan, source)]
        => &'v [u8], |_, bytes| not_empty(bytes, "what is pinned is empty");
        /// Marks of an epoch; none in a form of another release.
        PlanMarks = "marks of an epoch", (plan, epoch): (u32, u64) [PlanKey::Marks(plan, epoch)]
        => Option<MarksRecord>, |_, bytes| MarksRecord::decode(bytes);
    }
    "`NUMBER` (10 digits): record; `NUMBER` 0x00 `SOURCE`: the documents of its passes (below); `NUMBER` 0x00 0x00 `marks` 0x00 `EPOCH` (20 digits): marks along the epoch (below)"
}

impl View {
    /// The numbers of the stored plans that draw from the snapshot of that name, ascending. No other snapshot ever gets
    /// the name while there are some.
    #[doc(hidden)]
    pub fn plans_from(&self, snapshot: &str) -> Result<Vec<u32>, StoreError> {
        let plans = self.epochs()?.into_iter().filter(|plan| plan.snapshot == snapshot);
        Ok(plans.map(|plan| plan.number).collect())
    }

    /// Epoch plans, by number.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn epochs(&self) -> Result<Vec<EpochRecord>, StoreError> {
        self.named_records::<PlanRecords, _>()
    }

    /// An epoch plan.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub fn epoch(&self, number: u32) -> Result<Option<EpochRecord>, StoreError> {
        self.pinned().read::<PlanRecords, _>(&number)
    }

    /// What an epoch plan pins under a name, as the epoch layer wrote it.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub fn epoch_part(&self, number: u32, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.pinned().read_copy::<PlanParts, _>(&(number, name.to_owned()))
    }

    /// The marks that are stored of an epoch of a plan; none where there are none, or another release wrote them in
    /// a form of its own.
    #[doc(hidden)]
    pub fn epoch_marks(&self, number: u32, epoch: u64) -> Result<Option<MarksRecord>, StoreError> {
        Ok(self.pinned().read::<PlanMarks, _>(&(number, epoch))?.flatten())
    }

    /// The last epoch of a plan before `epoch` that has stored marks.
    #[doc(hidden)]
    pub fn marked_before(&self, number: u32, epoch: u64) -> Result<Option<u64>, StoreError> {
        let Some(last) = epoch.checked_sub(1) else { return Ok(None) };
        let mut rows =
            self.pinned().scan::<PlanMarks>(&PlanMarks::key_bytes(&(number, 0)), None)?;
        rows.seek_back(&PlanMarks::key_bytes(&(number, last)));
        let Some((key, _)) = rows.advance()? else { return Ok(None) };
        let decoded =
            PlanKey::decode(key).map_err(|why| corrupt_row::<Epochs>(PlanMarks::WHAT, key, why))?;
        let own = PlanMarks::own_key(decoded).filter(|(plan, _)| *plan == number);
        Ok(own.map(|(_, epoch)| epoch))
    }

    /// The epochs of a plan with stored marks, ascending.
    #[doc(hidden)]
    pub fn marked_epochs(&self, number: u32) -> Result<Vec<u64>, StoreError> {
        let [from, to] = [0, u64::MAX].map(|epoch| PlanMarks::key_bytes(&(number, epoch)));
        let mut rows = self.pinned().scan::<PlanMarks>(&from, Some(to))?;
        let mut epochs = Vec::new();
        while let Some((key, _)) = rows.advance()? {
            let key = PlanKey::decode(key)
                .map_err(|why| corrupt_row::<Epochs>(PlanMarks::WHAT, key, why))?;
            epochs.extend(PlanMarks::own_key(key).map(|(_, epoch)| epoch));
        }
        Ok(epochs)
    }
}

impl CommitBatch<'_> {
    /// Stores an epoch plan with what it pins, by name, and gives it the next number.
    ///
    /// # Errors
    /// [`StoreError`] when the plan cannot be encoded.
    pub fn add_epoch(
        &mut self,
        record: EpochRecord,
        parts: &[(String, Vec<u8>)],
    ) -> Result<EpochRecord, StoreError> {
        let record = EpochRecord { number: self.state.next_epoch, ..record };
        self.state.next_epoch += 1;
        self.redact_epoch(&record)?;
        for (part, bytes) in parts {
            self.put::<Epochs>(&PlanKey::Part(record.number, part.clone()), bytes)?;
        }
        Ok(record)
    }

    /// Stores a plan of another corpus with what it pins, under its number, which is behind all that are stored.
    pub fn carry_epoch(
        &mut self,
        record: EpochRecord,
        parts: &[(String, Vec<u8>)],
    ) -> Result<EpochRecord, StoreError> {
        self.state.next_epoch = record.number;
        self.add_epoch(record, parts)
    }

    /// Stores the marks of an epoch with plan `number`.
    ///
    /// # Errors
    /// [`StoreError`] when the family is absent.
    pub fn put_marks(&mut self, number: u32, marks: &MarksRecord) -> Result<(), StoreError> {
        self.put::<Epochs>(&PlanKey::Marks(number, marks.epoch), &marks.encode())
    }

    /// Writes a plan without the words that quoted what was purged; its number, hash and what it pins stay.
    ///
    /// # Errors
    /// [`StoreError`] when the record cannot be encoded.
    pub fn redact_epoch(&mut self, record: &EpochRecord) -> Result<(), StoreError> {
        self.put::<Epochs>(&PlanKey::Record(record.number), &record::encode("epoch", record)?)
    }

    /// Forgets an epoch plan with what it pins and its marks.
    ///
    /// # Errors
    /// [`StoreError`] when the family is absent.
    pub fn drop_epoch(&mut self, number: u32) -> Result<(), StoreError> {
        let parts = PlanKey::Part(number, String::new()).to_bytes();
        let end = after_prefix(&parts).unwrap_or_default();
        self.delete::<Epochs>(&PlanKey::Record(number))?;
        self.delete_range::<Epochs>(parts, end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn record(plan: [u8; 32], epoch: u64, lists: &[Vec<u64>]) -> MarksRecord {
        MarksRecord::of(plan, epoch, lists.iter().cloned())
    }

    fn unpacked(record: &MarksRecord) -> Vec<Vec<u64>> {
        let mut lists = Vec::new();
        let all = record.for_each_list(|list| {
            lists.push(list.to_vec());
            Some(())
        });
        all.unwrap();
        lists
    }

    proptest! {
        #[test]
        fn any_lists_come_back(plan: [u8; 32], epoch: u64, lists: Vec<Vec<u64>>) {
            let written = record(plan, epoch, &lists);
            let read = MarksRecord::decode(&written.encode()).unwrap().unwrap();
            prop_assert_eq!(&read, &written);
            prop_assert_eq!(unpacked(&read), lists);
        }

        #[test]
        fn a_changed_byte_is_an_error(
            lists: Vec<Vec<u64>>,
            at: prop::sample::Index,
            by in 1..=255_u8,
        ) {
            let mut bytes = record([7; 32], 3, &lists).encode();
            let at = 1 + at.index(bytes.len() - 1);
            bytes[at] ^= by;
            prop_assert!(MarksRecord::decode(&bytes).is_err());
            bytes[at] ^= by;
            bytes.pop();
            prop_assert!(MarksRecord::decode(&bytes).is_err());
        }

        /// Bytes with the right digest are tried, too.
        #[test]
        fn any_bytes_are_an_error_or_marks(body: Vec<u8>) {
            let mut bytes = vec![FORM];
            bytes.extend_from_slice(&digest(&[0; 32], &body));
            bytes.extend_from_slice(&[0; 32]);
            bytes.extend_from_slice(&body);
            if let Ok(read) = MarksRecord::decode(&bytes) {
                unpacked(&read.unwrap());
            }
        }
    }

    #[test]
    fn a_form_of_another_release_is_passed_over() {
        let mut bytes = record([7; 32], 3, &[vec![1]]).encode();
        bytes[0] = FORM + 1;
        assert_eq!(MarksRecord::decode(&bytes), Ok(None));
        assert!(MarksRecord::decode(&[]).is_err());
    }

    /// Marks of the first form may be wrong where rows are carried, so the form is told.
    #[test]
    fn the_first_form_is_read_and_written_as_it_was() {
        let written = record([7; 32], 3, &[vec![1, 5], vec![2]]);
        let mut bytes = written.encode();
        bytes[0] = FIRST_FORM;
        let read = MarksRecord::decode(&bytes).unwrap().unwrap();
        assert_eq!(unpacked(&read), unpacked(&written));
        assert!(read.is_first_form && !written.is_first_form);
        assert_eq!(read.encode(), bytes);
    }

    /// Pinned, so that no release writes another form unnoticed.
    #[test]
    fn the_stored_form() {
        let bytes = record([1; 32], 2, &[vec![5, 300], vec![4, 1324]]).encode();
        assert_eq!(bytes[..1], [2]);
        assert_eq!(bytes[17..49], [1; 32]);
        assert_eq!(bytes[49..], [2, 2, 10, 216, 4, 2, 1, 128, 16]);
        assert_eq!(bytes[1..17], digest(&[1; 32], &bytes[49..]));
    }
}
