//! `truth`: sketches, bands and ingests against all pairs that exist.

use crate::arguments::Arguments;
use crate::checked::{among, holds_on_made_up_sets, sample};
use crate::data::{CORPORA, Prints, Text, exists, load, path, policy};
use crate::graph::Graph;
use crate::join::{Pair, brute_force, join};
use crate::musts::Musts;
use crate::recall::{BINS, Recall, measure};
use crate::statistics::{Share, ratio};
use crate::stored::{MEMORY, Stored};
use crate::table::{Table, number, share};
use anyhow::ensure;
use corpusdb::Policy;
use corpusdb::dedup::Normaliser;
use corpusdb::dedup::reaches;
use std::path::Path;
use std::time::Instant;

const THRESHOLDS: [f64; 2] = [0.7, 0.8];
/// Least share of the pairs at the threshold or above that must become candidates.
const LEAST_RECALL: f64 = 0.995;
/// Largest share of these pairs that may be left, both kept.
const MOST_LEFT: f64 = 0.005;

/// The tables that gather a row for every corpus, normaliser and threshold.
struct Summary {
    found: Table,
    stored: Table,
    /// Recall over all corpora, by normaliser and threshold.
    whole: Vec<(String, Share)>,
}

/// Runs it.
pub fn run(arguments: &Arguments) -> anyhow::Result<Musts> {
    let directory = arguments.directory()?;
    let mut musts = Musts::default();
    musts.check(holds_on_made_up_sets(), || {
        "join and brute force differ on made-up sets".to_owned()
    });
    let mut summary = Summary {
        found: Table::new(&[
            "corpus",
            "normaliser",
            "T",
            "bands",
            "pairs >= T",
            "candidate recall",
            "95 % interval",
            "curve",
            "after estimate",
            "documents with a neighbour",
            "found one",
            "curve",
            "short pairs",
            "candidate pairs",
            "precision",
            "after estimate",
        ]),
        stored: Table::new(&[
            "corpus",
            "normaliser",
            "T",
            "documents",
            "kept",
            "exact set",
            "distance",
            "pairs >= T",
            "both kept",
            "share",
            "witness < T",
            "largest cluster",
            "exact",
            "component",
        ]),
        whole: Vec::new(),
    };
    for corpus in CORPORA.into_iter().filter(|name| arguments.wants("--corpus", name)) {
        let texts = load(directory, corpus)?;
        for normaliser in Normaliser::ALL {
            if !arguments.wants("--normaliser", normaliser.name()) {
                continue;
            }
            if exists(normaliser) {
                let scene = Scene { directory, corpus, texts: &texts, normaliser };
                scene.run(&mut summary, &mut musts)?;
            } else {
                println!("Normaliser {} is not in this build: skipped.\n", normaliser.name());
            }
        }
    }
    println!("## What sketches and bands find\n");
    summary.found.print();
    println!("All corpora together:\n");
    let mut table =
        Table::new(&["normaliser, T", "pairs >= T", "missed", "recall", "95 % interval", "curve"]);
    for (name, all) in &summary.whole {
        table.row(vec![
            name.clone(),
            number(all.trials),
            number(all.trials - all.hits),
            share(all.measured(), all.trials),
            interval(all),
            share(all.predicted(), all.trials),
        ]);
        musts.check(all.measured() >= LEAST_RECALL, || {
            format!("{name}: candidate recall {:.4} over all corpora", all.measured())
        });
    }
    table.print();
    println!("## What an ingest keeps\n");
    summary.stored.print();
    Ok(musts)
}

/// One corpus under one normaliser.
struct Scene<'a> {
    directory: &'a Path,
    corpus: &'a str,
    texts: &'a [Text],
    normaliser: Normaliser,
}

impl Scene<'_> {
    fn run(&self, summary: &mut Summary, musts: &mut Musts) -> anyhow::Result<()> {
        let policies: Vec<Policy> = THRESHOLDS
            .into_iter()
            .map(|threshold| policy(self.normaliser, threshold))
            .collect::<anyhow::Result<_>>()?;
        // Sets and sketches do not depend on the threshold.
        let prints = Prints::of(self.texts, &policies[0]);
        let started = Instant::now();
        let pairs = join(&prints.sets, BINS[0]);
        let joined = started.elapsed().as_secs_f64();
        let started = Instant::now();
        let sample = sample(prints.sets.len());
        let brute = brute_force(&prints.sets, &sample, BINS[0]);
        let compared = started.elapsed().as_secs_f64();
        let same = among(&pairs, &sample) == brute;
        println!("## {}, {}\n", self.corpus, self.normaliser.name());
        println!(
            "{} documents, {} of them too short for a shingle, {} shingles; {} pairs >= {} by the join in \
             {joined:.1} s; the {} pairs among {} documents by brute force in {compared:.1} s: {}.\n",
            number(prints.sets.len() as u64),
            number((0..prints.sets.len()).filter(|id| prints.is_short(*id)).count() as u64),
            number(prints.sets.iter().map(|set| set.len() as u64).sum()),
            number(pairs.len() as u64),
            BINS[0],
            number(brute.len() as u64),
            number(sample.len() as u64),
            if same { "the same pairs" } else { "OTHER PAIRS" },
        );
        musts.check(same, || {
            format!("{}, {}: join and brute force differ", self.corpus, self.normaliser.name())
        });
        let recalls: Vec<Recall> =
            policies.iter().map(|policy| measure(&prints, &pairs, policy)).collect();
        print_bins(&policies, &recalls);
        for (policy, recall) in policies.iter().zip(&recalls) {
            self.found(policy, recall, summary, musts);
            self.stored(policy, &prints, &pairs, summary, musts)?;
        }
        Ok(())
    }

    fn name(&self, policy: &Policy) -> String {
        format!("{}, {}, T = {}", self.corpus, self.normaliser.name(), policy.threshold)
    }

    fn cells(&self, policy: &Policy) -> Vec<String> {
        vec![
            self.corpus.to_owned(),
            self.normaliser.name().to_owned(),
            policy.threshold.to_string(),
        ]
    }

    fn found(&self, policy: &Policy, recall: &Recall, summary: &mut Summary, musts: &mut Musts) {
        let Recall { candidates, documents, .. } = recall;
        let pairs = candidates.trials;
        let mut cells = self.cells(policy);
        cells.extend([
            format!("{} x {}", policy.bands, policy.rows),
            number(pairs),
            share(candidates.measured(), pairs),
            interval(candidates),
            share(candidates.predicted(), pairs),
            share(ratio(recall.estimated, pairs), pairs),
            number(documents.trials),
            share(documents.measured(), documents.trials),
            share(documents.predicted(), documents.trials),
            number(recall.short_pairs),
            number(recall.met),
            share(ratio(candidates.hits, recall.met), recall.met),
            share(ratio(recall.estimated, recall.met_estimated), recall.met_estimated),
        ]);
        summary.found.row(cells);
        let key = format!("{}, {}", self.normaliser.name(), policy.threshold);
        match summary.whole.iter_mut().find(|(name, _)| *name == key) {
            Some((_, whole)) => whole.merge(candidates),
            None => summary.whole.push((key, *candidates)),
        }
        // Few pairs prove little: one corpus fails when chance is no excuse, all together strictly.
        musts.check(candidates.interval().1 >= LEAST_RECALL, || {
            let recall = candidates.measured();
            format!("{}: candidate recall {recall:.4} of {pairs} pairs", self.name(policy))
        });
    }

    fn stored(
        &self,
        policy: &Policy,
        prints: &Prints,
        pairs: &[Pair],
        summary: &mut Summary,
        musts: &mut Musts,
    ) -> anyhow::Result<()> {
        let stored = Stored::new(policy, MEMORY)?;
        stored.ingest(&path(self.directory, self.corpus))?;
        let standings = stored.standings()?;
        ensure!(standings.kept.len() == prints.sets.len(), "not every line became a document");
        let size = |document: u32| prints.sets[document as usize].len();
        let similar: Vec<Pair> = pairs
            .iter()
            .filter(|pair| {
                reaches(pair.shared as usize, size(pair.a), size(pair.b), policy.threshold)
            })
            .copied()
            .collect();
        let is_empty = |document: usize| prints.sets[document].is_empty();
        let graph = Graph::new(prints.sets.len(), similar.iter().map(|pair| (pair.a, pair.b)));
        let exact = graph.first_independent(|document| !is_empty(document));
        let distance = standings.kept.iter().zip(&exact.kept).filter(|(a, b)| a != b).count();
        let both = standings.both_kept(similar.iter());
        let set = |document: usize| prints.sets[document].clone();
        let mut unexplained = standings.unexplained(policy.threshold, set, is_empty);
        // What is called equal must be.
        unexplained += (standings.matches.iter())
            .filter(|(id, witness, equal)| {
                *equal && self.texts[*id].text != self.texts[*witness].text
            })
            .count();
        let count = |kept: &[bool]| number(kept.iter().filter(|kept| **kept).count() as u64);
        let all = similar.len() as u64;
        let left = if all == 0 { 0.0 } else { ratio(both, all) };
        let mut cells = self.cells(policy);
        cells.extend([
            number(prints.sets.len() as u64),
            count(&standings.kept),
            count(&exact.kept),
            number(distance as u64),
            number(all),
            number(both),
            share(left, all),
            number(unexplained as u64),
            number(standings.largest_cluster() as u64),
            number(exact.largest_cluster as u64),
            number(graph.largest_component() as u64),
        ]);
        summary.stored.row(cells);
        musts.check(unexplained == 0, || {
            format!("{}: {unexplained} removals without a witness >= T", self.name(policy))
        });
        musts.check(left <= MOST_LEFT, || {
            format!("{}: {both} of {all} pairs >= T have both kept", self.name(policy))
        });
        Ok(())
    }
}

fn interval(of: &Share) -> String {
    let (low, high) = of.interval();
    if of.trials == 0 { "-".to_owned() } else { format!("{low:.4} - {high:.4}") }
}

fn print_bins(policies: &[Policy], recalls: &[Recall]) {
    let mut heads = vec!["similarity".to_owned(), "pairs".to_owned()];
    for policy in policies {
        heads.push(format!("found, {} x {}", policy.bands, policy.rows));
        heads.push("curve".to_owned());
    }
    let mut table = Table::new(&heads.iter().map(String::as_str).collect::<Vec<_>>());
    for (bin, low) in BINS.iter().enumerate() {
        let name = match BINS.get(bin + 1) {
            Some(high) => format!("{low:.2} - {high:.2}"),
            None => "equal".to_owned(),
        };
        let mut cells = vec![name, number(recalls[0].bins[bin].trials)];
        for recall in recalls {
            let of = &recall.bins[bin];
            cells.extend([share(of.measured(), of.trials), share(of.predicted(), of.trials)]);
        }
        table.row(cells);
    }
    table.print();
}
