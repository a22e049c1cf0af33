//! Reads the rows of a family that can be read, and says between which keys others cannot.
//!
//! A damaged block is skipped here; every other reader ends with an error.

use crate::database::family::{StoreFamily, check_row};
use crate::database::reads::PinnedMoment;
use crate::error::StoreError;
use model::Context;

/// Keys between which rows cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LostKeys {
    /// The last key before them; none: they are the first. It is lost itself where `before` is the same.
    pub(crate) after: Option<Vec<u8>>,
    /// The first key behind them; none: they are the last.
    pub(crate) before: Option<Vec<u8>>,
    /// What the reader said.
    pub(crate) why: String,
}

/// Calls `each` with every row that can be read, key and value; answers where they cannot be read.
///
/// # Errors
/// [`StoreError::Interrupted`]; what is not damage.
pub(crate) fn whole_rows<C: StoreFamily>(
    pinned: &PinnedMoment,
    context: &Context<'_>,
    mut each: impl FnMut(&[u8], &[u8]),
) -> Result<Vec<LostKeys>, StoreError> {
    let mut lost = Vec::new();
    let mut rows = pinned.scan::<C>(&[], None)?;
    let mut last: Option<Vec<u8>> = None;
    loop {
        context.check_interrupt()?;
        match rows.advance() {
            Ok(None) => return Ok(lost),
            Ok(Some((key, value))) => {
                match check_row::<C>(key, value) {
                    Ok(()) => each(key, value),
                    Err(why) => {
                        let (own, why) = (Some(key.to_vec()), why.to_string());
                        lost.push(LostKeys { after: own.clone(), before: own, why });
                    }
                }
                let last = last.get_or_insert_default();
                last.clear();
                last.extend_from_slice(key);
            }
            Err(StoreError::Damaged { why, .. }) => {
                let next = first_whole::<C>(pinned, last.as_deref().unwrap_or_default())?;
                lost.push(LostKeys { after: last.clone(), before: next.clone(), why });
                let Some(next) = next else { return Ok(lost) };
                rows = pinned.scan::<C>(&next, None)?;
            }
            Err(error) => return Err(error),
        }
    }
}

/// The first key behind another one that can be read again; none where that is the end. A damaged block spans keys that
/// nothing says, so they are sought: by steps that double, then by halves. Keys are taken for numbers of 128 bits.
fn first_whole<C: StoreFamily>(
    pinned: &PinnedMoment,
    after: &[u8],
) -> Result<Option<Vec<u8>>, StoreError> {
    let mut first = [0; 16];
    first.iter_mut().zip(after).for_each(|(to, from)| *to = *from);
    let first = number(first);
    let at = |step: u128| -> Result<Option<Option<Vec<u8>>>, StoreError> {
        let Some(key) = first.checked_add(step) else { return Ok(Some(None)) };
        match pinned.scan::<C>(&bytes(key), None)?.advance() {
            Ok(row) => Ok(Some(row.map(|(key, _)| key.to_vec()))),
            Err(StoreError::Damaged { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    };
    let (mut bad, mut good) = (0, 1_u128);
    let mut found = loop {
        if let Some(found) = at(good)? {
            break found;
        }
        bad = good;
        let Some(next) = good.checked_mul(2) else { return Ok(None) };
        good = next;
    };
    while good - bad > 1 {
        let middle = bad + (good - bad) / 2;
        match at(middle)? {
            Some(nearer) => (good, found) = (middle, nearer),
            None => bad = middle,
        }
    }
    Ok(found)
}

#[expect(clippy::big_endian_bytes, reason = "the order of keys is that of big-endian numbers")]
const fn number(key: [u8; 16]) -> u128 {
    u128::from_be_bytes(key)
}

#[expect(clippy::big_endian_bytes, reason = "the order of keys is that of big-endian numbers")]
const fn bytes(key: u128) -> [u8; 16] {
    key.to_be_bytes()
}
