//! Parsers for the values of options (sizes, shares, paths, pairs, fields), the same in every interface.

use super::FieldKind;
use std::path::PathBuf;
use std::str::FromStr;

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

/// Reads a number of bytes, as people write it: `4096`, `256MiB`, `1.5GB`.
///
/// Units are B, kB, MB, GB, TB of 1000 and KiB, MiB, GiB, TiB (also k, M, G, T) of 1024, in any case.
///
/// # Errors
/// In words: what is not a size, and how one is written.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let no_size = || format!("`{text}` is not a size; write 64MB or 2GiB");
    let unit = unit.trim();
    let Some((_, factor)) = UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)) else {
        return Err(match digits {
            "" => no_size(),
            _ => format!(
                "unknown unit `{unit}` of `{text}`; write kB, MB, GB, TB, KiB, MiB, GiB or TiB"
            ),
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
    whole.checked_add(part as u64).ok_or_else(too_much)
}

/// Reads a share of a whole, 0 to 1.
///
/// # Errors
/// In words, when it is not one.
pub fn parse_share(text: &str) -> Result<f64, String> {
    let share: f64 = text.parse().map_err(|_| "write a share between 0 and 1, like 0.5")?;
    match (0.0..=1.0).contains(&share) {
        true => Ok(share),
        false => Err(format!("{text} is not between 0 and 1")),
    }
}

/// Reads the path of what is made on disk: an address of a store would become a directory named `s3:`.
///
/// # Errors
/// In words, for an address; it is not repeated, for it may have secrets.
pub fn parse_disk_path(text: &str) -> Result<PathBuf, String> {
    match text.split_once("://") {
        Some((scheme, _)) => Err(format!(
            "{scheme}:// is an address, and this must be written to disk: give a path, and copy it from there"
        )),
        None => Ok(PathBuf::from(text)),
    }
}

/// Reads `NAME=VALUE`, both of them not empty.
///
/// # Errors
/// In words, when it is not written so.
pub fn parse_pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() && !value.is_empty() => {
            Ok((name.to_owned(), value.to_owned()))
        }
        _ => Err("write NAME=VALUE, such as text=body".to_owned()),
    }
}

/// A field and its kind, as `NAME:KIND`: `quality:float`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedKind(pub String, pub FieldKind);

impl FromStr for NamedKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, kind) = text.rsplit_once(':').ok_or("write NAME:KIND, such as quality:float")?;
        Ok(Self(name.to_owned(), kind.parse()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_in_every_unit_and_with_fractions() {
        let read = parse_bytes;
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
        assert!(read("5 parsecs").unwrap_err().contains("unknown unit `parsecs` of `5 parsecs`"));
        assert!(read("99999999999GiB").unwrap_err().contains("2^64"));
        assert!(read("99999999999999999999").unwrap_err().contains("2^64"));
    }
}
