//! Values of the family `verdicts`: what somebody decided about an item and a text.

use crate::model::SuiteVerdict;
use crate::store::error::Malformed;

/// The stored form.
pub(in crate::store) const fn encode(verdict: SuiteVerdict) -> [u8; 1] {
    [verdict as u8]
}

/// What a row says.
pub(in crate::store) fn decode(bytes: &[u8]) -> Result<SuiteVerdict, Malformed> {
    let found = match bytes {
        [byte] => SuiteVerdict::ALL.into_iter().find(|verdict| *verdict as u8 == *byte),
        _ => None,
    };
    found.ok_or_else(|| Malformed::at(0, format!("{bytes:?} is no verdict")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_bytes() {
        assert_eq!((encode(SuiteVerdict::Rejected), encode(SuiteVerdict::Accepted)), ([0], [1]));
        for verdict in SuiteVerdict::ALL {
            assert_eq!(decode(&encode(verdict)), Ok(verdict));
        }
        for bad in [&[][..], &[2], &[0, 0]] {
            assert!(decode(bad).is_err(), "{bad:?}");
        }
    }
}
