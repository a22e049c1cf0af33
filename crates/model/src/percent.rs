//! Decodes the percent escapes of URLs.

use crate::invariant::part;

/// The bytes that `%2F` and its like stand for; what is not an escape stays.
#[must_use]
pub fn percent_decoded(spelled: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(spelled.len());
    let mut rest = spelled;
    while let Some((first, behind)) = rest.split_first() {
        let digit = |at: usize| behind.get(at).and_then(|b| char::from(*b).to_digit(16));
        let coded = (*first == b'%').then(|| Some(digit(0)? * 16 + digit(1)?)).flatten();
        match coded.and_then(|coded| u8::try_from(coded).ok()) {
            Some(coded) => {
                bytes.push(coded);
                rest = part(behind, 2..);
            }
            None => {
                bytes.push(*first);
                rest = behind;
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::percent_decoded;

    #[test]
    fn only_two_digits_are_an_escape() {
        for (spelled, plain) in
            [("", ""), ("a%2Fb%2f", "a/b/"), ("100%", "100%"), ("%4", "%4"), ("%+5%zz", "%+5%zz")]
        {
            assert_eq!(percent_decoded(spelled.as_bytes()), plain.as_bytes(), "{spelled}");
        }
        assert_eq!(percent_decoded(b"%d0%98+%ff"), [0xd0, 0x98, b'+', 0xff]);
    }
}
