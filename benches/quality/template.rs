//! Hostile inputs: documents of one template, of one crowded bucket, and copies of one document.
//!
//! Every document is a function of the scenario and its number, so that none need be held.

use crate::random::Random;
use anyhow::{Context, bail};
use corpusdb::dedup::{BandHash, Fingerprinter, bands};
use corpusdb::{Policy, SIGNATURE_VERSION};
use rayon::prelude::*;
use std::collections::HashMap;

/// The scenarios that are run unless one is named: templates by their number of slots.
pub const SCENARIOS: [&str; 6] =
    ["template-3", "template-6", "template-9", "template-12", "hub", "copies"];

/// Words of a template.
const TEMPLATE: usize = 200;
/// Words that may stand in a slot.
const FILLINGS: usize = 16;
/// Words that all documents of the hub have, and words of their own.
const BOILERPLATE: usize = 500;
const BODY: usize = 100;
/// Words of a page of which copies are made.
const PAGE: usize = 600;

/// A way to make documents.
pub enum Scenario {
    /// A template of 200 words with this many slots, each filled with one of 16 words.
    Template {
        /// Slots.
        slots: usize,
        /// The template.
        words: Vec<String>,
    },
    /// 500 words of boilerplate and 100 of each document's own, chosen so that all have this band in common.
    Hub {
        /// The boilerplate.
        words: Vec<String>,
        /// The band and its hash.
        bucket: (usize, BandHash),
        /// What to test documents with.
        policy: Box<Policy>,
    },
    /// A page of 600 words of which one is another in every copy.
    Copies {
        /// The page.
        words: Vec<String>,
    },
}

impl Scenario {
    /// The scenario of that name.
    pub fn named(name: &str, policy: &Policy) -> anyhow::Result<Self> {
        let mut random = Random::of(&[u64::from(SIGNATURE_VERSION)]);
        Ok(match name.split_once('-') {
            Some(("template", slots)) => {
                let slots = slots.parse().context("template-N needs the number of slots")?;
                if !(1..=40).contains(&slots) {
                    bail!("a template has 1 to 40 slots");
                }
                Self::Template { slots, words: random.words(TEMPLATE) }
            }
            None if name == "hub" => {
                let words = random.words(BOILERPLATE);
                let bucket = most_common_bucket(&words, policy)?;
                Self::Hub { words, bucket, policy: Box::new(policy.clone()) }
            }
            None if name == "copies" => Self::Copies { words: random.words(PAGE) },
            _ => bail!("no scenario `{name}`; there is {}", SCENARIOS.join(", ")),
        })
    }

    /// What it is, for people.
    pub fn describe(&self) -> String {
        match self {
            Self::Template { slots, .. } => {
                format!("{TEMPLATE} words with {slots} slots of {FILLINGS} fillings")
            }
            Self::Hub { bucket, .. } => format!(
                "{BOILERPLATE} words of boilerplate and {BODY} of each document's own, all with the same band {}",
                bucket.0
            ),
            Self::Copies { .. } => {
                format!("a page of {PAGE} words, in every copy another word changed")
            }
        }
    }

    /// Document number `number`.
    pub fn document(&self, number: usize, craft: &mut Fingerprinter) -> String {
        let mut random = Random::of(&[1, number as u64]);
        match self {
            Self::Template { slots, words } => {
                let mut words = words.clone();
                for slot in 0..*slots {
                    let filling = random.below(FILLINGS);
                    words[slot * TEMPLATE / slots] = format!("filling{filling}");
                }
                words.join(" ")
            }
            Self::Hub { words, bucket: (band, hash), policy } => loop {
                let text = with_body(words, &mut random);
                let sketch = craft.fingerprint(&text).sketch;
                if sketch.is_some_and(|sketch| bands(&sketch, policy)[*band] == *hash) {
                    return text;
                }
            },
            Self::Copies { words } => {
                let mut words = words.clone();
                let at = random.below(words.len());
                words[at] = format!("{}{number}", words[at]);
                words.join(" ")
            }
        }
    }
}

fn with_body(boilerplate: &[String], random: &mut Random) -> String {
    let body = random.words(BODY);
    boilerplate.join(" ") + "\n" + &body.join(" ")
}

/// The band of which most documents with this boilerplate have the same hash, and that hash.
fn most_common_bucket(
    boilerplate: &[String],
    policy: &Policy,
) -> anyhow::Result<(usize, BandHash)> {
    let hashes: Vec<Vec<BandHash>> = (0..1_000_u64)
        .into_par_iter()
        .map_init(
            || Fingerprinter::new(policy),
            |craft, number| {
                let text = with_body(boilerplate, &mut Random::of(&[2, number]));
                let sketch = craft.fingerprint(&text).sketch;
                sketch.map(|sketch| bands(&sketch, policy)).unwrap_or_default()
            },
        )
        .collect();
    let mut counts: HashMap<(usize, BandHash), u32> = HashMap::new();
    for bucket in hashes.iter().flat_map(|hashes| hashes.iter().copied().enumerate()) {
        *counts.entry(bucket).or_default() += 1;
    }
    let most = counts.into_iter().max_by_key(|(bucket, count)| (*count, *bucket));
    Ok(most.context("no bands to crowd")?.0)
}
