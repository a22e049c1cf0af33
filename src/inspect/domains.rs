//! Counts the domains in keys of documents exactly, in memory that does not grow with the number of domains.
//!
//! The first walk over the headers of documents keeps at most 65,536 domains: when one more comes, every count is
//! lowered by the smallest, so that any domain with more than one document in 65,536 is kept (Misra and Gries). The
//! second walk counts the domains that were kept.

use crate::inspect::InspectError;
use roaring::RoaringTreemap;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use store::{View, system_fields};

/// Domains that are held at once.
const HELD: usize = 1 << 16;
/// A domain name is no longer.
const LONGEST: usize = 253;

/// The domains of documents whose key is a URL: of the kept ones, or of those that an epoch trains on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Domains {
    /// Documents whose key is an address of the web.
    pub documents: u64,
    /// UTF-8 bytes of their texts.
    pub bytes: u64,
    /// How many domains there are; absent where they are more than can be held.
    pub domains: Option<u64>,
    /// The domains of most documents, most first, as many as were asked for. Their counts are exact.
    pub top: Vec<DomainStats>,
    /// Whether no other domain has more documents than the last of these.
    pub is_complete: bool,
    /// The tenth of the domains with most text, most first, where it was asked for; of those that could be held.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub largest: Vec<DomainStats>,
}

/// Counts of the documents of a domain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DomainStats {
    /// The host of the address, in lower case, without `www.` and port.
    pub domain: String,
    /// Documents.
    pub documents: u64,
    /// UTF-8 bytes of their texts.
    pub bytes: u64,
}

/// The `most` domains with most of these documents, each corpus with its own; `by_text` the tenth of all with most text,
/// too.
///
/// # Errors
/// [`InspectError`] when a row cannot be read.
pub fn domains(
    of: &[(&View, RoaringTreemap)],
    most: usize,
    by_text: bool,
) -> Result<Domains, InspectError> {
    let (mut documents, mut bytes) = (0, 0);
    let mut held = DomainCounter::new(HELD);
    each(of, |domain, of_text| {
        documents += 1;
        bytes += of_text;
        held.add(domain, of_text);
    })?;
    let (is_exact, mut counts) = (held.lost == 0, held.counts);
    if !is_exact {
        counts.values_mut().for_each(|count| *count = (0, 0));
        each(of, |domain, of_text| {
            if let Some((documents, bytes)) = counts.get_mut(domain) {
                *documents += 1;
                *bytes += of_text;
            }
        })?;
    }
    let domains = is_exact.then_some(counts.len() as u64);
    let all = counts.len();
    let mut top: Vec<DomainStats> = counts
        .into_iter()
        .map(|(domain, (documents, bytes))| DomainStats { domain, documents, bytes })
        .collect();
    let mut largest = Vec::new();
    if by_text {
        top.sort_by(|a, b| (Reverse(a.bytes), &a.domain).cmp(&(Reverse(b.bytes), &b.domain)));
        largest = top.iter().take(all.div_ceil(10)).cloned().collect();
    }
    top.sort_by(|a, b| {
        Reverse(a.documents).cmp(&Reverse(b.documents)).then(a.domain.cmp(&b.domain))
    });
    top.truncate(most);
    // A domain that is not kept has at most as many documents as counts were lowered by.
    let is_complete = is_exact || top.last().is_some_and(|last| last.documents >= held.lost);
    Ok(Domains { documents, bytes, domains, top, is_complete, largest })
}

/// Calls `take` with the domain and the bytes of each of these documents whose key has one.
fn each(
    of: &[(&View, RoaringTreemap)],
    mut take: impl FnMut(&str, u64),
) -> Result<(), InspectError> {
    for (view, documents) in of {
        for block in view.blocks() {
            let lengths = view.column_block(system_fields::BYTES, block)?;
            let ids = block * model::BLOCK_SIZE..view.documents();
            let ids = ids.start..ids.end.min(ids.start + model::BLOCK_SIZE);
            for row in view.keys(ids)? {
                let (document, key) = row?;
                let Some(key) = key.filter(|_| documents.contains(document.0)) else { continue };
                if let Some(domain) = domain_of(&key) {
                    take(&domain, lengths.expect(system_fields::BYTES, document)?);
                }
            }
        }
    }
    Ok(())
}

/// The domain of a web address; none of other keys.
fn domain_of(key: &str) -> Option<String> {
    let (scheme, rest) = key.trim_start().split_once("://")?;
    if !["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known)) {
        return None;
    }
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or(rest);
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let host = match host.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => host,
    };
    let host = host.trim_end_matches('.').to_lowercase();
    let host = host.strip_prefix("www.").unwrap_or(&host);
    let is_one = !host.is_empty() && host.len() <= LONGEST && !host.contains(char::is_whitespace);
    is_one.then(|| host.to_owned())
}

/// Counts of a bounded number of domains.
struct DomainCounter {
    most: usize,
    /// Documents and bytes.
    counts: BTreeMap<String, (u64, u64)>,
    /// The sum of what was taken off every count: a forgotten domain has at most as many documents.
    lost: u64,
}

impl DomainCounter {
    const fn new(most: usize) -> Self {
        Self { most, counts: BTreeMap::new(), lost: 0 }
    }

    fn add(&mut self, domain: &str, bytes: u64) {
        if let Some((documents, of_texts)) = self.counts.get_mut(domain) {
            *documents += 1;
            *of_texts += bytes;
            return;
        }
        self.counts.insert(domain.to_owned(), (1, bytes));
        if self.counts.len() > self.most {
            let least = self.counts.values().map(|(documents, _)| *documents).min().unwrap_or(0);
            self.lost += least;
            self.counts.retain(|_, (documents, _)| {
                *documents -= least;
                *documents > 0
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_domain_is_the_host_of_an_address() {
        for (key, domain) in [
            ("https://Example.ORG/a?b", Some("example.org")),
            ("http://www.example.org:8080", Some("example.org")),
            ("https://user:pass@a.b.example.org.#x", Some("a.b.example.org")),
            ("https://[::1]:80/x", Some("[::1]")),
            ("https://bücher.example/x", Some("bücher.example")),
            ("HTTPS://x\\y", Some("x")),
            ("ftp://example.org", None),
            ("https://", None),
            ("https://a b/", None),
            ("doc-17", None),
            ("/home/me/file.txt:3", None),
        ] {
            assert_eq!(domain_of(key).as_deref(), domain, "{key}");
        }
        assert_eq!(domain_of(&format!("https://{}", "x".repeat(254))), None);
    }

    proptest! {
        /// A domain with more documents than `lost` is kept, and no count is too high.
        #[test]
        fn frequent_domains_are_never_forgotten(
            met in prop::collection::vec(prop_oneof![0_u32..4, 0_u32..200], 0..600),
            most in 1_usize..20,
        ) {
            let mut held = DomainCounter::new(most);
            let mut exact: BTreeMap<String, u64> = BTreeMap::new();
            for domain in &met {
                held.add(&domain.to_string(), 1);
                *exact.entry(domain.to_string()).or_default() += 1;
            }
            prop_assert!(held.counts.len() <= most);
            prop_assert!(held.lost <= met.len() as u64 / (most as u64 + 1));
            for (domain, documents) in exact {
                match held.counts.get(&domain) {
                    Some((counted, _)) => {
                        prop_assert!(*counted <= documents && documents <= counted + held.lost);
                    }
                    None => prop_assert!(documents <= held.lost),
                }
            }
        }
    }
}
