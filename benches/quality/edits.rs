//! `edits`: whether a text and its edited copy find each other, by kind of edit and by length.

use crate::arguments::Arguments;
use crate::data::{Text, floor, load, policy};
use crate::musts::Musts;
use crate::plant::Edit;
use crate::random::Random;
use crate::statistics::{Share, jaccard, predict, ratio};
use crate::table::{Table, number, share};
use anyhow::ensure;
use corpusdb::Policy;
use corpusdb::dedup::Normaliser;
use corpusdb::dedup::{Fingerprint, Fingerprinter, bands, reaches, shared};
use rayon::prelude::*;
use std::path::Path;

const LENGTHS: [usize; 8] = [5, 20, 50, 200, 600, 2_000, 10_000, 50_000];
/// Trials a cell, and from 10,000 words on.
const TRIALS: [u64; 2] = [400, 100];

/// Real texts of one kind, cut into words.
struct Kind<'t> {
    name: &'static str,
    normaliser: Normaliser,
    /// Documents as words, each with the space behind it; characters where there is no space.
    documents: Vec<Vec<&'t str>>,
}

/// Runs it.
pub fn run(arguments: &Arguments) -> anyhow::Result<Musts> {
    let mut musts = Musts::default();
    let directory = arguments.directory()?;
    let texts = Texts::load(directory)?;
    for kind in texts.kinds() {
        if !arguments.wants("--text", kind.name) {
            continue;
        }
        ensure!(!kind.documents.is_empty(), "no texts of kind {}", kind.name);
        for threshold in [0.7, 0.8] {
            kind.run(&policy(kind.normaliser, threshold)?, &mut musts);
        }
    }
    Ok(musts)
}

struct Texts {
    peps: Vec<Text>,
    tldr: Vec<Text>,
    code: Vec<Text>,
}

impl Texts {
    fn load(directory: &Path) -> anyhow::Result<Self> {
        let [tldr, peps, code] = crate::data::CORPORA.map(|corpus| load(directory, corpus));
        Ok(Self { peps: peps?, tldr: tldr?, code: code? })
    }

    fn kinds(&self) -> Vec<Kind<'_>> {
        let by_character = |start| cut(&self.tldr, start, |_| true);
        let spaced = |texts, start| cut(texts, start, |last| last.is_whitespace());
        let web = Normaliser::Web;
        let kinds = [
            ("english", web, spaced(&self.peps, "")),
            ("french", web, spaced(&self.tldr, "pages.fr/")),
            ("chinese", web, by_character("pages.zh/")),
            ("japanese", web, by_character("pages.ja/")),
            ("code", Normaliser::Code, spaced(&self.code, "")),
        ];
        kinds.map(|(name, normaliser, documents)| Kind { name, normaliser, documents }).into()
    }
}

/// The documents whose key begins with `start`, cut before every character that is no space and follows one
/// that `ends` a word.
fn cut<'t>(texts: &'t [Text], start: &str, ends: fn(char) -> bool) -> Vec<Vec<&'t str>> {
    let words = |text: &'t str| {
        let (mut words, mut from, mut last) = (Vec::new(), 0, None);
        for (at, c) in text.char_indices() {
            if !c.is_whitespace() && last.is_some_and(ends) {
                words.push(&text[from..at]);
                from = at;
            }
            last = Some(c);
        }
        words.push(&text[from..]);
        words
    };
    let of = texts.iter().filter(|text| text.id.starts_with(start));
    of.map(|text| words(&text.text)).collect()
}

/// What the trials of one edit at one length came to.
#[derive(Default)]
struct Cell {
    jaccard: f64,
    least: f64,
    most: f64,
    found: Share,
    similar: u64,
    removed: u64,
}

/// One trial: similarity, whether the two met, and whether one was removed; what the curve says.
struct Trial {
    jaccard: f64,
    met: bool,
    similar: bool,
    removed: bool,
    expected: f64,
}

impl Kind<'_> {
    fn run(&self, policy: &Policy, musts: &mut Musts) {
        let words: usize = self.documents.iter().map(Vec::len).sum();
        println!("## {}, T = {}\n", self.name, policy.threshold);
        println!("{} words to draw from. Policy: {policy}.\n", number(words as u64));
        let mut table = Table::new(&[
            "edit",
            "words",
            "trials",
            "independent",
            "mean J",
            "least",
            "most",
            "met",
            "curve",
            "J >= T",
            "removed",
        ]);
        for edit in Edit::ALL {
            for length in LENGTHS.into_iter().filter(|length| *length <= words) {
                let trials = TRIALS[usize::from(length >= 10_000)];
                // Texts that share words share luck.
                let independent = trials.min((words / length) as u64);
                let cell = self.cell(policy, edit, length, trials);
                let (met, curve) = (cell.found.measured(), cell.found.predicted());
                table.row(vec![
                    edit.name().to_owned(),
                    number(length as u64),
                    trials.to_string(),
                    independent.to_string(),
                    format!("{:.3}", cell.jaccard),
                    format!("{:.3}", cell.least),
                    format!("{:.3}", cell.most),
                    share(met, trials),
                    share(curve, trials),
                    share(ratio(cell.similar, trials), trials),
                    share(ratio(cell.removed, trials), trials),
                ]);
                musts.check(!cell.found.is_below_chance(independent), || {
                    format!(
                        "{}, T = {}, {} at {length} words: met {met:.4}, curve {curve:.4}",
                        self.name,
                        policy.threshold,
                        edit.name()
                    )
                });
            }
        }
        table.print();
    }

    fn cell(&self, policy: &Policy, edit: Edit, length: usize, trials: u64) -> Cell {
        let done: Vec<Trial> = (0..trials)
            .into_par_iter()
            .map_init(
                || Fingerprinter::new(policy),
                |craft, trial| {
                    // The same texts and edits under every policy.
                    let mut random = Random::of(&[edit as u64, length as u64, trial]);
                    let mut base = self.draw(&mut random, length);
                    while !base.iter().any(|word| word.contains(char::is_alphanumeric)) {
                        base = self.draw(&mut random, length);
                    }
                    let mut more = |random: &mut Random, count| self.draw(random, count);
                    let (before, after) = edit.plant(&base, &mut random, &mut more);
                    judge(policy, &craft.fingerprint(&before), &craft.fingerprint(&after))
                },
            )
            .collect();
        let mut cell = Cell { least: 1.0, ..Cell::default() };
        for trial in &done {
            cell.jaccard += trial.jaccard / trials as f64;
            cell.least = cell.least.min(trial.jaccard);
            cell.most = cell.most.max(trial.jaccard);
            cell.found.add(trial.met, trial.expected);
            cell.similar += u64::from(trial.similar);
            cell.removed += u64::from(trial.removed);
        }
        cell
    }

    /// That many words from a random place on; random documents follow when one is not enough.
    fn draw(&self, random: &mut Random, count: usize) -> Vec<&str> {
        let mut words: Vec<&str> = Vec::with_capacity(count);
        while words.len() < count {
            let document = random.choice(&self.documents);
            let start = if words.is_empty() { random.below(document.len().max(1)) } else { 0 };
            words.extend(document.iter().skip(start).take(count - words.len()));
            if let Some(last) = words.last()
                && !last.ends_with(char::is_whitespace)
            {
                words.push("\n");
            }
        }
        words.truncate(count);
        words
    }
}

/// What dedup makes of a pair: bands, then the estimate, then the exact similarity; without a sketch, equality
/// of the tokens.
fn judge(policy: &Policy, a: &Fingerprint, b: &Fingerprint) -> Trial {
    let (x, y) = (a.shingles.len(), b.shingles.len());
    let overlap = shared(&a.shingles, &b.shingles) as usize;
    let jaccard = jaccard(overlap, x, y);
    let similar = reaches(overlap, x, y, policy.threshold);
    let equal = a.tokens > 0 && a.normalised == b.normalised;
    let (met, passes, sketched) = match (&a.sketch, &b.sketch) {
        (Some(a), Some(b)) => {
            let met = bands(a, policy).iter().zip(&bands(b, policy)).any(|(x, y)| x == y);
            (met, a.estimate(b) >= floor(policy), true)
        }
        _ => (equal, equal, false),
    };
    let removed = equal || (met && passes && similar);
    Trial { jaccard, met, similar, removed, expected: predict(policy, jaccard, sketched) }
}
