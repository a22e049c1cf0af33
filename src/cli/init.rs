//! `corpusdb init`: makes an empty corpus and fixes its dedup policy.

use super::policy::PolicyArgs;
use super::setup::{CommandSession, on_disk};
use super::{Outcome, print};
use corpusdb::{Corpus, FieldKind};
use std::path::PathBuf;

/// Make an empty corpus
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  corpusdb init crawl\n  corpusdb init crawl --threshold 0.7 --field url:keyword --field quality:float\n  corpusdb init repos --profile code --keep source-priority:official,forks\n  corpusdb init crawl --keep field:quality --field quality:float\n  corpusdb init stack --profile bigcode --mode components\n\n`corpusdb dedup explain` with the same flags says what they come to before anything is made."
)]
pub(super) struct Args {
    /// The directory to make
    #[arg(value_parser = on_disk())]
    corpus: PathBuf,
    /// Index a field of the records: NAME:keyword, NAME:int, NAME:float, NAME:bool or NAME:timestamp
    ///
    /// Further ones can be declared at any time: `corpusdb field add`.
    #[arg(long = "field", value_name = "NAME:KIND", value_parser = field)]
    fields: Vec<(String, FieldKind)>,
    #[command(flatten)]
    policy: PolicyArgs,
}

/// Reads NAME:KIND.
pub(super) fn field(text: &str) -> Result<(String, FieldKind), String> {
    let (name, kind) = text.rsplit_once(':').ok_or("write NAME:KIND, such as quality:float")?;
    Ok((name.to_owned(), kind_named(kind)?))
}

/// Reads the name of a kind.
pub(super) fn kind_named(name: &str) -> Result<FieldKind, String> {
    FieldKind::from_name(name)
        .ok_or_else(|| format!("unknown kind `{name}`; keyword, int, float, bool or timestamp"))
}

pub(super) fn run(args: Args, session: &CommandSession) -> anyhow::Result<Outcome> {
    let policy = args.policy.policy()?;
    Corpus::init(&args.corpus, &policy, &args.fields)?;
    if session.json {
        print::json(
            &serde_json::json!({ "type": "init", "corpus": args.corpus, "policy": policy }),
        )?;
    } else {
        print::talk(&format!("made {} ({policy})", args.corpus.display()));
        args.policy.remark(&policy);
    }
    Ok(Outcome::Good)
}
