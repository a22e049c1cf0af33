//! `corpusdb field`: declared fields, added, set, computed, listed and dropped at any time.

mod add;
mod set;

use super::ingest::report::misfit_words;
use super::setup::CommandSession;
use super::{Outcome, print};
use corpusdb::query::{FieldSummary, MisfitExample};
use corpusdb::store::EpochRecord;
use std::path::{Path, PathBuf};

/// Declare fields at any time, and give them values: from the metadata, from outside, from a SQL expression
#[derive(clap::Subcommand)]
pub(super) enum Verb {
    Add(add::Add),
    Set(set::Set),
    Compute(add::Compute),
    /// Give a field up; the metadata of documents stay as they are
    ///
    /// No query sees it from the first commit on. Refused while the recipe of a stored plan names it, and while the
    /// keep order goes by it. Plans pin their documents, so they stay the same bytes; a recipe that names the field
    /// fails by name when it is planned again. `field add` brings it back.
    #[command(after_help = "Example:\n  corpusdb field drop crawl quality")]
    Drop {
        /// The corpus
        corpus: PathBuf,
        /// The field
        name: String,
        /// Also when recipes of stored plans name it
        #[arg(long)]
        force: bool,
    },
    /// List the declared fields: type, documents with a value or one of another type, where the values are from
    #[command(
        after_help = "Examples:\n  corpusdb field list crawl\n  corpusdb field list crawl --json"
    )]
    List {
        /// The corpus
        corpus: PathBuf,
    },
}

impl Verb {
    /// Whether the verb looks for Ctrl-C itself, to stop where nothing is lost.
    pub(super) const fn has_safe_points(&self) -> bool {
        !matches!(self, Self::List { .. })
    }
}

pub(super) fn run(verb: Verb, session: &CommandSession) -> anyhow::Result<Outcome> {
    match verb {
        Verb::Add(args) => add::add(args, session),
        Verb::Compute(args) => add::compute(args, session),
        Verb::Set(args) => set::run(args, session),
        Verb::Drop { corpus, name, force } => drop_field(&corpus, &name, force, session),
        Verb::List { corpus } => {
            let fields = session.read(&corpus)?.fields()?;
            if session.json {
                fields.iter().try_for_each(|field| print::typed("field", field))?;
            } else {
                list(&fields)?;
            }
            Ok(Outcome::Good)
        }
    }
}

fn drop_field(
    corpus: &Path,
    name: &str,
    force: bool,
    session: &CommandSession,
) -> anyhow::Result<Outcome> {
    let mut writer = session.write(corpus)?;
    let plans = writer.drop_field(name, force, &session.context())?;
    if session.json {
        let plan = |plan: &EpochRecord| serde_json::json!({ "plan": plan.number, "snapshot": plan.snapshot });
        let plans: Vec<_> = plans.iter().map(plan).collect();
        let told = serde_json::json!({ "type": "field_drop", "field": name, "plans": plans });
        print::json(&told)?;
        return Ok(Outcome::Good);
    }
    print::line(&format!("dropped {name}"))?;
    for plan in &plans {
        print::line(&format!(
            "  plan {} (snapshot {}) stays as it is; its recipe names the field",
            plan.number, plan.snapshot
        ))?;
    }
    Ok(Outcome::Good)
}

fn list(fields: &[FieldSummary]) -> anyhow::Result<()> {
    if fields.is_empty() {
        print::talk("no field is declared; `corpusdb field add` declares one");
        return Ok(());
    }
    let row = |field: &FieldSummary| {
        let kind = match field.state {
            "declared" => field.kind.to_owned(),
            state => format!("{} ({state})", field.kind),
        };
        let from = match &field.expression {
            Some(expression) => format!("computed: {expression}"),
            None => format!("metadata: {}", field.member),
        };
        let distinct = field.distinct.map(print::number).unwrap_or_default();
        vec![field.name.clone(), kind, print::number(field.documents), distinct, from]
    };
    let rows: Vec<Vec<String>> = fields.iter().map(row).collect();
    print::table(&["field", "type", "documents", "distinct", "from"], &rows)?;
    for field in fields {
        if let Some(MisfitExample { document, value, .. }) = &field.misfit {
            let values = field.documents + field.misfits;
            let words = misfit_words(&field.name, field.kind, field.misfits, values);
            print::line(&format!("{words}, e.g. {value} (document {document})"))?;
        }
    }
    Ok(())
}

/// Documents that stand otherwise, since the keep order goes by a field that was changed.
fn decided_again(kept_again: u64, no_longer_kept: u64) -> anyhow::Result<()> {
    if kept_again + no_longer_kept == 0 {
        return Ok(());
    }
    let (gone, back) = (print::number(no_longer_kept), print::number(kept_again));
    print::line(&format!("  by the keep order {gone} are no longer kept, {back} are kept again"))
}
