//! Marks of an epoch as they are stored with its plan: lists of integers that grow slowly from one to the next, with
//! the plan that they are of and a digest. What the integers mean is the epoch layer's.

use crate::store::error::Malformed;
use crate::store::rows::bytes::{Cursor, put_varint};

const FORM: u8 = 1;
/// Bytes of the digest.
const DIGEST: usize = 16;

/// Stored marks of an epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarksRecord {
    /// Hash of the plan that they are of.
    pub plan: [u8; 32],
    /// Which epoch of it.
    pub epoch: u64,
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
        Self { plan, epoch, lists: packed }
    }

    /// About the bytes that they take.
    pub const fn bytes(&self) -> usize {
        self.lists.len()
    }

    /// Calls `each` with every list, in order; none when it wants no more, or bytes are no lists.
    pub fn for_each_list(&self, mut each: impl FnMut(&[u64]) -> Option<()>) -> Option<()> {
        lists(&self.lists, |list| each(list).ok_or_else(|| Malformed::at(0, "not wanted"))).ok()
    }

    /// The stored form: form u8, digest, plan, epoch, lists.
    pub(in crate::store) fn encode(&self) -> Vec<u8> {
        let mut body = Vec::with_capacity(self.lists.len() + 10);
        put_varint(&mut body, self.epoch);
        body.extend_from_slice(&self.lists);
        let mut out = vec![FORM];
        out.extend_from_slice(&digest(&self.plan, &body));
        out.extend_from_slice(&self.plan);
        out.append(&mut body);
        out
    }

    /// Reads stored marks; none in a form that another release wrote: what they say can be walked again.
    pub(in crate::store) fn decode(bytes: &[u8]) -> Result<Option<Self>, Malformed> {
        let mut cursor = Cursor::new(bytes);
        if cursor.u8()? != FORM {
            return Ok(None);
        }
        let stored: [u8; DIGEST] = cursor.array()?;
        let plan = cursor.array()?;
        let body = bytes.get(cursor.offset()..).unwrap_or_default();
        if digest(&plan, body) != stored {
            let why = "not the marks that were written; `corpusdb epoch mark` makes them again";
            return Err(Malformed::at(1, why));
        }
        let epoch = cursor.varint()?;
        let start = cursor.offset();
        let packed = cursor.rest();
        let within = |malformed: Malformed| Malformed::at(start + malformed.offset, malformed.why);
        lists(packed, |_| Ok(())).map_err(within)?;
        Ok(Some(Self { plan, epoch, lists: packed.to_vec() }))
    }
}

/// Calls `each` with every list of `packed`.
fn lists(
    packed: &[u8],
    mut each: impl FnMut(&[u64]) -> Result<(), Malformed>,
) -> Result<(), Malformed> {
    let mut cursor = Cursor::new(packed);
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

        /// Also those that have the right digest.
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

    /// Pinned, so that no release writes another form unnoticed.
    #[test]
    fn the_stored_form() {
        let bytes = record([1; 32], 2, &[vec![5, 300], vec![4, 1324]]).encode();
        assert_eq!(bytes[..1], [1]);
        assert_eq!(bytes[17..49], [1; 32]);
        assert_eq!(bytes[49..], [2, 2, 10, 216, 4, 2, 1, 128, 16]);
        assert_eq!(bytes[1..17], digest(&[1; 32], &bytes[49..]));
    }
}
