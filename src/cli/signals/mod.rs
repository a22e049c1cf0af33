//! `corpusdb signals`: scores of texts, stored, listed, given up, and the published thresholds as conditions and
//! judged.

mod add;
mod report;

use super::session::CommandSession;
use super::{Outcome, print};
use anyhow::anyhow;
use corpusdb::query::SignalSummary;
use corpusdb::signals::{Signal, SignalSet};
use corpusdb::store::EpochRecord;
use std::path::{Path, PathBuf};

/// Store scores of quality as fields, and show the thresholds of published filters
///
/// A signal is a function of a text (docs/reference/signals.md), which SQL and every condition can ask for without any
/// of this. Stored, it is a field: indexed, and given to every document that comes. Nothing is filtered by it: a
/// threshold is a condition.
#[derive(clap::Subcommand)]
pub(super) enum Verb {
    Add(add::Add),
    /// List the signals that can be stored, and what of each the corpus has
    #[command(
        after_help = "Examples:\n  corpusdb signals list crawl\n  corpusdb signals list crawl --json"
    )]
    List {
        /// The corpus
        corpus: PathBuf,
    },
    /// Print what a published filter asks, as one condition
    ///
    /// Over the fields that `signals add` stores; with --on-text over the texts, of which nothing need be stored. In
    /// every condition `preset('gopher')` stands for the first, `preset('gopher', 'text')` for the second.
    #[command(
        after_help = "Examples:\n  corpusdb signals show gopher\n  corpusdb count crawl --where \"preset('gopher')\"\n  corpusdb ingest crawl new.jsonl --source web --where \"preset('fineweb')\""
    )]
    Show {
        /// gopher, c4, fineweb or all
        #[arg(value_parser = set)]
        set: SignalSet,
        /// Over texts instead of stored fields
        #[arg(long)]
        on_text: bool,
    },
    Report(report::Args),
    /// Give stored signals up; the metadata of documents stay as they are
    ///
    /// No query sees them from the first commit on, and documents that come get them no more. Refused while the recipe
    /// of a stored plan names one. `signals add` brings them back.
    #[command(
        after_help = "Examples:\n  corpusdb signals drop crawl word_count\n  corpusdb signals drop crawl --set gopher"
    )]
    Drop {
        #[command(flatten)]
        which: Which,
        /// Also when recipes of stored plans name them
        #[arg(long)]
        force: bool,
    },
}

/// A corpus and signals.
#[derive(clap::Args)]
pub(super) struct Which {
    /// The corpus
    corpus: PathBuf,
    /// Signals one by one
    #[arg(value_name = "SIGNAL", value_parser = signal, required_unless_present = "set")]
    signals: Vec<Signal>,
    /// Those of a set: gopher, c4, fineweb, or all there are
    #[arg(long, value_parser = set)]
    set: Option<SignalSet>,
}

impl Which {
    /// The signals that are meant, each once.
    fn signals(&self) -> Vec<Signal> {
        let mut all = self.set.map(SignalSet::signals).unwrap_or_default();
        for signal in &self.signals {
            if !all.contains(signal) {
                all.push(*signal);
            }
        }
        all
    }
}

impl Verb {
    /// Whether the verb looks for Ctrl-C itself, to stop where nothing is lost.
    pub(super) const fn has_safe_points(&self) -> bool {
        matches!(self, Self::Add(_) | Self::Report(_) | Self::Drop { .. })
    }
}

fn set(name: &str) -> Result<SignalSet, String> {
    let known = SignalSet::ALL.map(SignalSet::name).join(", ");
    SignalSet::from_name(name).ok_or_else(|| format!("there is no set `{name}`; there are {known}"))
}

fn signal(name: &str) -> Result<Signal, String> {
    let known: Vec<&str> = Signal::ALL.iter().map(|signal| signal.name).collect();
    let known = known.join(", ");
    Signal::from_name(name).ok_or_else(|| format!("there is no signal `{name}`; there are {known}"))
}

pub(super) fn run(verb: Verb, session: &CommandSession) -> anyhow::Result<Outcome> {
    match verb {
        Verb::Add(args) => add::run(&args, session),
        Verb::List { corpus } => list(&corpus, session),
        Verb::Report(args) => report::run(&args, session),
        Verb::Show { set, on_text } => show(set, on_text, session),
        Verb::Drop { which, force } => drop_signals(&which, force, session),
    }
}

fn list(corpus: &Path, session: &CommandSession) -> anyhow::Result<Outcome> {
    let signals = session.read(corpus)?.signals()?;
    if session.json {
        signals.iter().try_for_each(|signal| print::typed("signal", signal))?;
        return Ok(Outcome::Good);
    }
    let row = |signal: &SignalSummary| {
        let documents = signal.documents.map(print::number).unwrap_or_default();
        let texts = [signal.name, signal.set, signal.kind, signal.state];
        let mut row: Vec<String> = texts.map(str::to_owned).to_vec();
        row.extend([documents, signal.expression.to_owned()]);
        row
    };
    let rows: Vec<Vec<String>> = signals.iter().map(row).collect();
    print::table(&["signal", "set", "type", "state", "documents", "function"], &rows)?;
    Ok(Outcome::Good)
}

fn show(set: SignalSet, on_text: bool, session: &CommandSession) -> anyhow::Result<Outcome> {
    let condition = set.condition(on_text);
    if session.json {
        let told = serde_json::json!({
            "type": "signals_preset", "set": set.name(), "on_text": on_text, "where": condition,
        });
        print::json(&told)?;
    } else {
        print::line(&condition)?;
    }
    Ok(Outcome::Good)
}

fn drop_signals(which: &Which, force: bool, session: &CommandSession) -> anyhow::Result<Outcome> {
    let mut writer = session.write(&which.corpus)?;
    let mut signals = which.signals();
    // Of a set, what is stored; one that was named must be.
    let stored = writer.corpus().signals()?;
    let is_stored = |signal: &Signal| {
        stored.iter().any(|known| known.name == signal.name && known.documents.is_some())
    };
    signals.retain(|signal| which.signals.contains(signal) || is_stored(signal));
    if signals.is_empty() {
        return Err(anyhow!(
            "none of these signals is stored; `corpusdb signals list` tells which are"
        ));
    }
    let plans = writer.drop_signals(&signals, force, &session.context())?;
    let names: Vec<&str> = signals.iter().map(|signal| signal.name).collect();
    if session.json {
        let plan = |plan: &EpochRecord| serde_json::json!({ "plan": plan.number, "snapshot": plan.snapshot });
        let plans: Vec<_> = plans.iter().map(plan).collect();
        let told = serde_json::json!({ "type": "signals_drop", "signals": names, "plans": plans });
        print::json(&told)?;
        return Ok(Outcome::Good);
    }
    print::line(&format!("dropped {}", names.join(", ")))?;
    for plan in &plans {
        print::line(&format!(
            "  plan {} (snapshot {}) stays as it is; its recipe names one of them",
            plan.number, plan.snapshot
        ))?;
    }
    Ok(Outcome::Good)
}
