//! `corpusdb snapshot`: durable names for moments.

use super::setup::Context;
use super::{Outcome, print};
use std::path::PathBuf;

/// Create and list named moments that epochs can be drawn from
#[derive(clap::Subcommand)]
pub(super) enum Verb {
    /// Name the present moment
    Create {
        /// The corpus
        corpus: PathBuf,
        /// The name
        name: String,
    },
    /// List snapshots
    List {
        /// The corpus
        corpus: PathBuf,
    },
}

pub(super) fn run(verb: Verb, context: &Context) -> anyhow::Result<Outcome> {
    match verb {
        Verb::Create { corpus, name } => {
            let record = context.write(&corpus)?.create_snapshot(&name)?;
            report(&record, context)?;
        }
        Verb::List { corpus } => {
            for record in
                context.read(&corpus)?.view().snapshots().map_err(corpusdb::Error::from)?
            {
                report(&record, context)?;
            }
        }
    }
    Ok(Outcome::Good)
}

fn report(record: &corpusdb::store::SnapshotRecord, context: &Context) -> anyhow::Result<()> {
    if context.json {
        return print::json(&serde_json::json!({
            "type": "snapshot", "name": record.name, "commit": record.commit,
            "documents": record.documents, "kept": record.kept,
        }));
    }
    let (kept, documents) = (print::number(record.kept), print::number(record.documents));
    print::line(&format!(
        "{}: commit {}, {kept} kept of {documents} documents",
        record.name, record.commit
    ))
}
