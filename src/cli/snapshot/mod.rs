//! `corpusdb snapshot`: durable names for moments, what they hold, and what changed between them.

mod report;

use super::Outcome;
use super::session::CommandSession;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  corpusdb snapshot create crawl june
  corpusdb snapshot show crawl june
  corpusdb snapshot diff crawl june
  corpusdb snapshot diff crawl june july --by language
  corpusdb snapshot diff crawl june july --list --json > changes.jsonl
  corpusdb snapshot rename crawl june 2025-06
  corpusdb snapshot drop crawl 2025-06";

const DIFF: &str = "\
Changes:
  added        came after A, and B keeps it
  kept again   was stored in A and not kept, and B keeps it
  removed      A keeps it and B does not
  not kept     came after A, and B does not keep it
What B keeps is what A keeps, without `removed`, with `kept again` and `added`.

Reasons are those of B: `exact` or `near` to a document that B keeps, `superseded` by new content
under its key, `empty`, `removed` by `corpusdb remove`, `purged` by `corpusdb purge`, `blocked` by
such a removal; `unknown` where a removal was taken back since. Values of fields are today's: a snapshot does not remember old ones.

With --json: a `snapshot_diff` in all, then a `snapshot_diff_group` for each group, each with
`added`, `kept_again`, `removed`, `removed_by`, `not_kept`, `not_kept_by`; with --list a
`snapshot_diff_document` for each document.";

/// Create, list, show, compare, rename and drop named moments that epochs can be drawn from
#[derive(clap::Subcommand)]
#[command(after_help = EXAMPLES)]
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
    /// Show what a snapshot keeps of every source, and the plans that draw from it
    Show {
        /// The corpus
        corpus: PathBuf,
        /// The name
        name: String,
    },
    /// Show what changed from one snapshot to a later one or to now: what was added, removed and why, in all and by
    /// group
    #[command(after_help = DIFF)]
    Diff {
        /// The corpus
        corpus: PathBuf,
        /// The earlier snapshot
        a: String,
        /// The later snapshot, or `now`: the present moment, where no snapshot is called so [default: the present]
        b: Option<String>,
        /// Count by a declared field that is no float (such as a month), or by `language`, in the place of the source
        #[arg(long, value_name = "FIELD", default_value = "source", conflicts_with = "list")]
        by: String,
        /// List every document that changed, with the reason, and the witness or successor
        #[arg(long)]
        list: bool,
    },
    /// Give a snapshot another name; refused while a stored plan draws from it
    Rename {
        /// The corpus
        corpus: PathBuf,
        /// Its name
        old: String,
        /// Its new name
        new: String,
    },
    /// Forget a snapshot; refused while stored plans draw from it
    ///
    /// No document goes with it, and no token. Plans that draw from it pin their documents: dropped all the same
    /// (--force), they are built, streamed and verified as before, but no recipe can name it any more, `epoch explain`
    /// does not know what is on neither side of a holdout, and no other snapshot gets its name.
    Drop {
        /// The corpus
        corpus: PathBuf,
        /// The name
        name: String,
        /// Drop it though stored plans draw from it
        #[arg(long)]
        force: bool,
    },
}

pub(super) fn run(verb: Verb, session: &CommandSession) -> anyhow::Result<Outcome> {
    match verb {
        Verb::Create { corpus, name } => {
            let record = session.write(&corpus)?.create_snapshot(&name)?;
            report::record(&record, session)?;
        }
        Verb::List { corpus } => {
            let corpus = session.read(&corpus)?;
            for record in corpus.view().snapshots().map_err(corpusdb::Error::from)? {
                report::record(&record, session)?;
            }
        }
        Verb::Show { corpus, name } => {
            report::details(&session.read(&corpus)?.show_snapshot(&name)?, session)?;
        }
        Verb::Diff { corpus, a, b, list: true, .. } => {
            let corpus = session.read(&corpus)?;
            report::listed(corpus.snapshot_changes(&a, b.as_deref())?, session)?;
        }
        Verb::Diff { corpus, a, b, by, list: false } => {
            let corpus = session.read(&corpus)?;
            report::diff(&corpus.snapshot_diff(&a, b.as_deref(), Some(&by))?, session)?;
        }
        Verb::Rename { corpus, old, new } => {
            let record = session.write_soon(&corpus)?.rename_snapshot(&old, &new)?;
            report::record(&record, session)?;
        }
        Verb::Drop { corpus, name, force } => {
            let (_, plans) = session.write_soon(&corpus)?.drop_snapshot(&name, force)?;
            report::dropped(&name, &plans, session)?;
        }
    }
    Ok(Outcome::Good)
}
