//! `corpusdb init`: makes an empty corpus and fixes its dedup policy.

use crate::cli::columns::{policy_name, shown_path};
use crate::cli::output::Output;
use crate::cli::session::on_disk;
use crate::cli::verb::{PythonMethod, Report, Verb, VerbCall};
use corpusdb::dedup::PolicySettings;
use corpusdb::{Corpus, FieldKind, NamedKind, Policy};
use serde::Serialize;
use std::path::PathBuf;

/// Create an empty corpus.
#[derive(clap::Args)]
pub(super) struct InitArgs {
    /// The directory to create; @ is the default corpus, or else the folder .corpusdb here.
    #[arg(value_parser = on_disk())]
    corpus: PathBuf,
    /// Index a field of the records: NAME:keyword, NAME:int, NAME:float, NAME:bool or NAME:timestamp.
    ///
    /// More can be declared at any time with `field add`.
    #[arg(long = "field", id = "fields", value_name = "NAME:KIND")]
    fields: Vec<NamedKind>,
    #[command(flatten)]
    policy: PolicySettings,
}

/// A corpus that was created.
#[derive(Serialize, schemars::JsonSchema)]
pub(super) struct InitReport {
    /// Its directory.
    corpus: PathBuf,
    /// Its dedup policy.
    policy: Policy,
}

impl Verb for InitArgs {
    const PATH: &str = "init";
    const PYTHON: PythonMethod = PythonMethod::Mixed("create", &["corpus", "fields"]);
    const EXAMPLES: &[&str] = &[
        "corpusdb init crawl",
        "corpusdb init crawl --threshold 0.7 --field url:keyword --field quality:float",
        "corpusdb init repos --profile code --keep source-priority:official,forks",
        "corpusdb init crawl --keep field:quality --field quality:float",
        "corpusdb init stack --profile bigcode --mode components",
        "corpusdb init answers --compare prompt --mode exact",
    ];
    const NOTES: &str = "`corpusdb dedup explain` with the same flags shows what the policy finds, stores and costs.";
    type On = ();
    type Report = InitReport;

    fn run(self, (): (), call: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        let policy = self.policy.policy()?;
        let fields: Vec<(String, FieldKind)> =
            self.fields.into_iter().map(|NamedKind(name, kind)| (name, kind)).collect();
        let corpus = match call.session {
            Some(session) => session.new_corpus_of(self.corpus),
            None => self.corpus,
        };
        Corpus::init(&corpus, &policy, &fields)?;
        for remark in self.policy.decision.remarks(&policy) {
            call.note(&remark);
        }
        Ok(InitReport { corpus, policy })
    }
}

impl Report for InitReport {
    const TYPE: &'static str = "init";

    fn print(&self, out: &mut Output) {
        let corpus = self.corpus.to_string_lossy();
        let (corpus, policy) = (shown_path(&corpus), policy_name(&self.policy));
        out.line(format!(
            "made {corpus} (policy {policy}; `corpusdb info --settings` shows all of it)"
        ));
    }
}
