//! `corpusdb signals`: stores, lists and drops scores of texts, and prints published thresholds as conditions.

use super::field::{PlanNaming, print_dropped};
use crate::cli::output::Output;
use crate::cli::verb::{
    DryRun, ListReport, ListRow, Manners, PythonMethod, Report, ShowReport, Verb, VerbCall,
};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use corpusdb::curate::{NewField, NewSignals, SignalsReport};
use corpusdb::inspect::SignalSummary;
use corpusdb::show::number;
use corpusdb::signals::{Signal, SignalSet};
use corpusdb::{Corpus, CorpusWriter};
use serde::Serialize;

/// Signals of a request: one by one, or those of a set.
#[derive(clap::Args)]
struct SignalSelection {
    /// Names of signals; `signals show` lists all.
    #[arg(
        value_name = "SIGNAL",
        value_parser = signal_parser(),
        hide_possible_values = true,
        required_unless_present = "set"
    )]
    signals: Vec<Signal>,
    /// All signals of a set.
    #[arg(long, value_enum)]
    set: Option<SignalSet>,
}

/// Parses the name of a signal; the error lists all signals, and the nearest one.
fn signal_parser() -> impl TypedValueParser<Value = Signal> {
    let names = Signal::ALL.iter().map(|signal| signal.name);
    PossibleValuesParser::new(names)
        .try_map(|name| Signal::from_name(&name).ok_or("there is no such signal"))
}

impl SignalSelection {
    /// The selected signals, each once.
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

/// Store signals as fields, for all documents now and for every later one.
///
/// One pass over the texts, in several commits; after an interrupt run the same command again. Queries see the signals
/// after the last commit. The values are stored in the metadata, as signals.NAME; unchanged records are still
/// recognised when they are ingested again. Signals already stored are not computed again, unless an earlier release
/// computed them by another rule.
#[derive(clap::Args)]
pub(super) struct SignalsAddArgs {
    #[command(flatten)]
    selection: SignalSelection,
    /// At most this many documents per commit.
    #[arg(long, value_name = "N", default_value_t = NewField::BATCH, value_parser = clap::value_parser!(u64).range(1..))]
    batch_rows: u64,
}

impl Verb for SignalsAddArgs {
    const PATH: &str = "signals add";
    const PYTHON: PythonMethod = PythonMethod::ByHand("Writer.signals.add");
    const EXAMPLES: &[&str] = &[
        "corpusdb signals add crawl --set gopher",
        "corpusdb signals add crawl --set all",
        "corpusdb signals add crawl lang lang_score compression_ratio",
    ];
    const DRY_RUN: DryRun = DryRun::Copy;
    type On = CorpusWriter;
    type Report = SignalsReport;

    fn run(self, writer: &mut CorpusWriter, call: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        let new = NewSignals { signals: self.selection.signals(), batch: self.batch_rows };
        Ok(writer.add_signals(&new, &call.context)?)
    }
}

impl Report for SignalsReport {
    const TYPE: &'static str = "signals_add";

    fn print(&self, out: &mut Output) {
        if !self.known.is_empty() {
            out.line(format!("stored already: {}", self.known.join(", ")));
        }
        let is_new = |name: &&&str| !self.known.contains(name);
        let added: Vec<&str> = self.signals.iter().filter(is_new).copied().collect();
        if !self.outdated.is_empty() {
            let names = self.outdated.join(", ");
            out.line(format!("computed again, by the rules of this release: {names}"));
        }
        if !added.is_empty() {
            let (count, documents) = (added.len(), number(self.documents));
            out.line(format!("{count} signals of {documents} documents: {}", added.join(", ")));
            out.line("every later document gets them at ingest");
        }
    }
}

impl ListRow for SignalSummary {
    const TYPE: &'static str = "signal";

    fn print_all(signals: &[Self], out: &mut Output) {
        let row = |signal: &Self| {
            let documents = signal.documents.map(number).unwrap_or_default();
            let texts = [signal.name, signal.set, signal.kind, signal.state];
            let mut row: Vec<String> = texts.map(str::to_owned).to_vec();
            row.extend([documents, signal.expression.to_owned()]);
            row
        };
        out.table(
            &["signal", "set", "type", "state", "documents", "function"],
            signals.iter().map(row),
        );
        let is_outdated = |signal: &&Self| signal.state == "outdated";
        let outdated: Vec<&str> =
            signals.iter().filter(is_outdated).map(|signal| signal.name).collect();
        if !outdated.is_empty() {
            out.note(format!(
                "outdated: some documents have values of an earlier release's rule; `corpusdb signals add CORPUS {}` computes them again",
                outdated.join(" ")
            ));
        }
    }
}

/// List all signals, and for each whether and for how many documents it is stored; or print a published filter as one
/// SQL condition.
///
/// The condition uses the fields that `signals add` stores, or with `on_text` the texts, so that no stored signals are
/// needed. In any condition preset('gopher') means the first form, preset('gopher', 'text') the second.
#[derive(clap::Args)]
pub(super) struct SignalsShowArgs {
    /// Print the rules of this set as a condition.
    #[arg(long, value_enum)]
    set: Option<SignalSet>,
    /// Compute the signals from texts instead of using stored fields.
    #[arg(long, requires = "set")]
    on_text: bool,
}

/// A published filter as a condition.
#[derive(Serialize, schemars::JsonSchema)]
pub(super) struct PresetReport {
    /// The set.
    set: &'static str,
    /// Whether it is over texts instead of stored fields.
    on_text: bool,
    /// The condition.
    r#where: String,
}

impl Verb for SignalsShowArgs {
    const PATH: &str = "signals show";
    const PYTHON: PythonMethod = PythonMethod::Mixed("preset", &["set", "on_text"]);
    const EXAMPLES: &[&str] = &[
        "corpusdb signals show crawl",
        "corpusdb signals show --set gopher",
        "corpusdb count crawl --where \"preset('gopher')\"",
        "corpusdb ingest crawl new.jsonl --source web --where \"preset('fineweb')\"",
    ];
    type On = Option<Corpus>;
    type Report = ShowReport<SignalSummary, PresetReport>;

    fn run(self, corpus: Option<&Corpus>, _: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        let Self { set, on_text } = self;
        Ok(match (set, corpus) {
            (Some(set), _) => {
                let condition = set.condition(on_text);
                let answer = PresetReport { set: set.name(), on_text, r#where: condition };
                ShowReport::One(Box::new(answer))
            }
            (None, Some(corpus)) => ShowReport::All(ListReport(corpus.signals()?)),
            (None, None) => anyhow::bail!("give a corpus, or `set=`"),
        })
    }
}

impl Report for PresetReport {
    const TYPE: &'static str = "signals_preset";

    fn print(&self, out: &mut Output) {
        out.line(&self.r#where);
    }
}

/// Drop stored signals; the metadata stays.
///
/// No query sees them after the first commit, and later documents do not get them. Refused while the recipe of a stored
/// plan uses one. `signals add` stores them again.
#[derive(clap::Args)]
pub(super) struct SignalsDropArgs {
    #[command(flatten)]
    selection: SignalSelection,
    /// Drop them even if recipes of stored plans use them.
    #[arg(long)]
    force: bool,
}

/// Signals that were dropped.
#[derive(Serialize, schemars::JsonSchema)]
pub(super) struct SignalsDropReport {
    /// The signals.
    signals: Vec<&'static str>,
    /// Stored plans whose recipes use one of them; the plans are unchanged.
    plans: Vec<PlanNaming>,
}

impl Verb for SignalsDropArgs {
    const PATH: &str = "signals drop";
    const PYTHON: PythonMethod = PythonMethod::ByHand("Writer.signals.drop");
    const EXAMPLES: &[&str] =
        &["corpusdb signals drop crawl word_count", "corpusdb signals drop crawl --set gopher"];
    const MANNERS: Manners = Manners::STOPS_AND_WAITS;
    type On = CorpusWriter;
    type Report = SignalsDropReport;

    fn run(self, writer: &mut CorpusWriter, call: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        let mut signals = self.selection.signals();
        // Signals of a set are skipped if they are not stored; for one that is named that is an error.
        let stored = writer.corpus().signals()?;
        let is_stored = |signal: &Signal| {
            stored.iter().any(|known| known.name == signal.name && known.documents.is_some())
        };
        signals.retain(|signal| self.selection.signals.contains(signal) || is_stored(signal));
        anyhow::ensure!(
            !signals.is_empty(),
            "none of these signals is stored; `corpusdb signals show` lists which are"
        );
        let plans = writer.drop_signals(&signals, self.force, &call.context)?;
        Ok(SignalsDropReport {
            signals: signals.iter().map(|signal| signal.name).collect(),
            plans: plans.into_iter().map(PlanNaming::from).collect(),
        })
    }
}

impl Report for SignalsDropReport {
    const TYPE: &'static str = "signals_drop";

    fn print(&self, out: &mut Output) {
        print_dropped(&self.signals.join(", "), "one of them", &self.plans, out);
    }
}
