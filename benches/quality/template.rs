//! Hostile inputs: documents of one template, of one crowded bucket, and copies of one document; and what they
//! look like in the wild: a family with twins, licence headers, shared prompts, pages of one site.
//!
//! Every document is a function of the scenario and its number, so that none need be held.

use crate::random::Random;
use anyhow::{Context, bail};
use corpusdb::Policy;
use corpusdb::dedup::SIGNATURE_VERSION;
use corpusdb::dedup::{BandHash, Fingerprinter, bands};
use rayon::prelude::*;
use std::collections::HashMap;

/// The scenarios that are run unless one is named: templates by their number of slots.
pub const SCENARIOS: [&str; 10] = [
    "template-3",
    "template-6",
    "template-9",
    "template-12",
    "hub",
    "copies",
    "family",
    "licence",
    "prompts",
    "site",
];

/// Words of a template.
const TEMPLATE: usize = 200;
/// Words that may stand in a slot.
const FILLINGS: usize = 16;
/// Words that all documents of the hub have, and words of their own.
const BOILERPLATE: usize = 500;
const BODY: usize = 100;
/// Words and slots of the family: any two fills share 261 of 331 shingles.
const FAMILY: usize = 300;
const SLOTS: usize = 7;
/// Every so many documents of the family one is a twin of an earlier fill.
const TWINS: usize = 11;
/// Words of a licence, a system prompt and the frame of a site's pages.
const LICENCE: usize = 200;
const PROMPT: usize = 1_000;
const FRAME: usize = 150;
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
    /// A template whose slots are filled otherwise in every document, but in twins of an earlier one.
    Family {
        /// The template.
        words: Vec<String>,
    },
    /// The same words before others of each document's own.
    Headed {
        /// What all begin with.
        words: Vec<String>,
        /// Least and most words of its own.
        own: (usize, usize),
        /// For people.
        what: &'static str,
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
            None if name == "family" => Self::Family { words: random.words(FAMILY) },
            None if name == "licence" => Self::Headed {
                words: random.words(LICENCE),
                own: (50, 400),
                what: "a licence before different bodies",
            },
            None if name == "prompts" => Self::Headed {
                words: random.words(PROMPT),
                own: (200, 600),
                what: "a system prompt before different conversations",
            },
            None if name == "site" => Self::Headed {
                words: random.words(FRAME),
                own: (20, 200),
                what: "the frame of a site around different pages",
            },
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
            Self::Family { .. } => format!(
                "{FAMILY} words with {SLOTS} slots, filled otherwise in each; every {TWINS}th document is a twin of an earlier one"
            ),
            Self::Headed { words, own: (least, most), what } => {
                format!("{what}: {} words, then {least} to {most} of their own", words.len())
            }
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
            Self::Family { words } => {
                let (fill, changed) = twin(number).unwrap_or((number, 0));
                let mut words = words.clone();
                for slot in 0..SLOTS {
                    let of = if slot < changed { number } else { fill };
                    words[slot * FAMILY / SLOTS + FAMILY / SLOTS / 2] = format!("fill{of}s{slot}");
                }
                words.join(" ")
            }
            Self::Headed { words, own: (least, most), .. } => {
                let own = least + random.below(most - least);
                words.join(" ") + "\n" + &random.words(own).join(" ")
            }
            Self::Copies { words } => {
                let mut words = words.clone();
                let at = random.below(words.len());
                words[at] = format!("{}{number}", words[at]);
                words.join(" ")
            }
        }
    }
}

/// The fill that a document of the family is a twin of, and in how many slots it is another: 1, 4 or 6 make
/// similarities of 0.967, 0.873 and 0.816.
pub fn twin(number: usize) -> Option<(usize, usize)> {
    if number % TWINS != TWINS - 1 {
        return None;
    }
    let mut random = Random::of(&[3, number as u64]);
    // Not of another twin.
    let fill = (0..).map(|_| random.below(number)).find(|fill| fill % TWINS != TWINS - 1);
    fill.map(|fill| (fill, *random.choice(&[1, 4, 6])))
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
