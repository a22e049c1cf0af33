//! Checked values of options: text in, text out, the same in every face.

use std::fmt;
use std::str::FromStr;

/// A number of bytes, as people write it: `4096`, `256MiB`, `1.5GB`.
///
/// Units are B, kB, MB, GB, TB of 1000 and KiB, MiB, GiB, TiB (also k, M, G, T) of 1024, in any case. It must not
/// implement `From<&str>`: clap would take that instead of the checked [`FromStr`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByteSize(pub u64);

const UNITS: [(&str, u64); 14] = [
    ("", 1),
    ("b", 1),
    ("kb", 1000),
    ("mb", 1_000_000),
    ("gb", 1_000_000_000),
    ("tb", 1_000_000_000_000),
    ("k", 1 << 10),
    ("kib", 1 << 10),
    ("m", 1 << 20),
    ("mib", 1 << 20),
    ("g", 1 << 30),
    ("gib", 1 << 30),
    ("t", 1 << 40),
    ("tib", 1 << 40),
];

impl FromStr for ByteSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (digits, unit) = text.split_at(end);
        let no_size = || format!("`{text}` is not a size; write 64MB or 2GiB");
        let unit = unit.trim().to_ascii_lowercase();
        let Some((_, factor)) = UNITS.iter().find(|(name, _)| *name == unit) else {
            return Err(match digits {
                "" => no_size(),
                _ => format!("unknown unit `{unit}`; write kB, MB, GB, TB, KiB, MiB, GiB or TiB"),
            });
        };
        let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
        let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || !is_digits(part) || (part.is_empty() && digits.contains('.')) {
            return Err(no_size());
        }
        let too_much = || format!("`{text}` is more than 2^64 bytes");
        let whole: u64 = whole.parse().map_err(|_| too_much())?;
        let whole = whole.checked_mul(*factor).ok_or_else(too_much)?;
        // Whole bytes: a part of one is left out.
        let part = match part {
            "" => 0.0,
            part => format!("0.{part}").parse::<f64>().map_err(|_| no_size())? * *factor as f64,
        };
        Ok(Self(whole.checked_add(part as u64).ok_or_else(too_much)?))
    }
}

/// The number of bytes: what [`FromStr`] reads.
impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_in_every_unit_and_with_fractions() {
        let read = |text: &str| text.parse::<ByteSize>().map(|ByteSize(bytes)| bytes);
        assert_eq!(read("1000"), Ok(1000));
        assert_eq!(read("64MB"), Ok(64_000_000));
        assert_eq!(read("2 GiB"), Ok(2 << 30));
        assert_eq!(read("2g"), Ok(2 << 30));
        assert_eq!(read("1.5GB"), Ok(1_500_000_000));
        assert_eq!(read("0.5KiB"), Ok(512));
        assert_eq!(read("1tb"), Ok(1_000_000_000_000));
        for text in ["", "MB", ".5GB", "1.GB", "1.2.3", "-1", "1e9", "x"] {
            assert!(read(text).is_err(), "{text}");
        }
        assert!(read("5 parsecs").unwrap_err().contains("unknown unit `parsecs`"));
        assert!(read("99999999999GiB").unwrap_err().contains("2^64"));
        assert!(read("99999999999999999999").unwrap_err().contains("2^64"));
    }
}
