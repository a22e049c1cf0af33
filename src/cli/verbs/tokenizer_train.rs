//! `corpusdb tokenizer train` and `extend`: train a tokenizer on stored text, or add tokens to one.

use super::tokenizer::{note_markers, print_tokenizer};
use crate::cli::files::{read_text, write_file};
use crate::cli::output::{self, Output};
use crate::cli::session::on_disk;
use crate::cli::verb::{ExitStatus, PythonMethod, Report, Verb, VerbCall};
use anyhow::Context as _;
use corpusdb::CorpusWriter;
use corpusdb::curate::{
    ExtensionSource, TokenizerReport, TrainedTokenizer, TrainingRecord, TrainingTexts,
};
use corpusdb::export::{OutputError, OutputFile};
use corpusdb::show::{decimals, number, probability, size};
use corpusdb::tokenizer::{
    GrowthOptions, TermCounts, TermOptions, TermOutcome, TermReport, TokenizerError,
    TokenizerExtension, TrainOptions,
};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Rows of a table of groups.
const MOST_GROUPS: usize = 12;

/// Train a tokenizer on the kept documents, register it and encode them.
///
/// The result equals that of the library tokenizers on the same texts, unless counts are weighted or too large for it,
/// or pairs are scored by likelihood.
/// The same corpus and options give the same file. After an interrupt run the same command again.
#[derive(clap::Args)]
pub(super) struct TokenizerTrainArgs {
    /// The name under which it is registered.
    #[arg(required_unless_present = "out", conflicts_with = "out")]
    name: Option<String>,
    /// Write its tokenizer.json to this file, and register and encode nothing: a candidate, for `tokenizer analyse`.
    #[arg(long, value_name = "FILE", conflicts_with = "backfill", value_parser = on_disk())]
    out: Option<PathBuf>,
    /// A factor for the counts of a group, applied after `alpha`; 0 leaves the group out.
    #[arg(id = "weights", long = "weight", value_name = "GROUP=FACTOR", value_parser = parse_weight)]
    weights: Vec<(String, f64)>,
    /// A file with a JSON object of such factors; `weights` overrides it.
    #[arg(id = "weights_file", long = "weights", value_name = "FILE")]
    weights_file: Option<PathBuf>,
    /// A text that must be one token.
    #[arg(
        id = "seed_tokens",
        long = "seed-token",
        value_name = "TEXT",
        allow_hyphen_values = true
    )]
    seed_tokens: Vec<String>,
    /// A file with such texts, one a line.
    #[arg(id = "seed_tokens_file", long = "seed-tokens", value_name = "FILE")]
    seed_tokens_file: Option<PathBuf>,
    /// Encoding of the kept documents now. By default it is done; else by `tokenizer backfill` or the next ingest.
    #[arg(id = "backfill", long = "no-backfill", action = clap::ArgAction::SetFalse)]
    backfill: bool,
    #[command(flatten)]
    training: TrainingChoice,
}

/// What is trained, and on what.
#[derive(clap::Args, Debug, Default, PartialEq)]
pub(super) struct TrainingChoice {
    #[command(flatten)]
    texts: TrainingTexts,
    #[command(flatten)]
    options: TrainOptions,
}

impl Verb for TokenizerTrainArgs {
    const PATH: &str = "tokenizer train";
    const PYTHON: PythonMethod = PythonMethod::Mixed("Writer.tokenizers.train", &["name"]);
    const EXAMPLES: &[&str] = &[
        "corpusdb tokenizer train crawl own-32k --vocab-size 32768 --pattern llama3",
        "corpusdb tokenizer train crawl multi --model unigram --byte-fallback --by language --alpha 0.3",
        "corpusdb tokenizer train crawl bert --model wordpiece --score likelihood --min-frequency 20",
        "corpusdb tokenizer train crawl --vocab-size 16384 --out candidate.json",
        "corpusdb tokenizer train crawl code --where \"source = 'code'\" --digits single --reserve 64",
    ];
    type On = CorpusWriter;
    type Report = TokenizerTrainAnswer;

    fn run(self, writer: &mut CorpusWriter, call: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        let TrainingChoice { texts, mut options } = self.training;
        if let Some(file) = &self.weights_file {
            let weights: BTreeMap<String, f64> = serde_json::from_str(&read_text(file)?)
                .with_context(|| {
                    format!(
                        "{}: not a JSON object of numbers, such as {{\"de\": 2.0}}",
                        file.display()
                    )
                })?;
            options.weights = weights;
        }
        if options.specials.iter().all(String::is_empty) {
            options.specials.clear();
        }
        options.weights.extend(self.weights);
        if let Some(file) = &self.seed_tokens_file {
            options.seed_tokens = lines(&read_text(file)?).map(str::to_owned).collect();
        }
        options.seed_tokens.extend(self.seed_tokens);
        let Some(name) = &self.name else {
            let file = self.out.context("give a name, or `out=`")?;
            OutputFile::judge(&file)?;
            let trained = writer.train_tokenizer(&options, &texts, &call.context)?;
            write_file(&file, &trained.json)?;
            note_decisions(&trained.decisions, call);
            let what = format!("{}, not registered", trained.decisions.lineage());
            call.wrote(&file, what, "`corpusdb tokenizer add` registers it");
            let (to, decisions) = (file.display().to_string(), trained.decisions);
            return Ok(TokenizerTrainAnswer::Written(Box::new(CandidateReport { to, decisions })));
        };
        let trained =
            writer.train_and_register(name, &options, &texts, self.backfill, &call.context)?;
        note_decisions(&trained.decisions, call);
        note_markers(&trained.tokenizer, call);
        Ok(TokenizerTrainAnswer::Registered(Box::new(trained)))
    }
}

/// Notes why there are fewer tokens than asked for, which split patterns would give a script half as many, and what a
/// tokenizer without special tokens cannot do.
fn note_decisions(decisions: &TrainingRecord, call: &VerbCall<'_>) {
    let options = &decisions.options;
    if options.specials.is_empty() && options.reserve == 0 {
        call.note(
            "it has no special token that could mark the end of a document: recipes of it name no `eos`, `bos` or `pad`",
        );
    }
    if let Some(why) = &decisions.report.shortfall {
        call.note(why);
    }
    decisions.pattern_hints.iter().for_each(|hint| call.note(&hint.to_string()));
}

/// The result of a training.
#[derive(Serialize, schemars::JsonSchema)]
#[serde(untagged)]
pub(super) enum TokenizerTrainAnswer {
    /// It is registered.
    Registered(Box<TrainedTokenizer>),
    /// It was written to a file only.
    Written(Box<CandidateReport>),
}

/// A tokenizer that was trained and written to a file, without being registered.
#[derive(Serialize, schemars::JsonSchema)]
pub(super) struct CandidateReport {
    /// The file.
    to: String,
    /// Everything that decided it, and the result.
    decisions: TrainingRecord,
}

fn parse_weight(text: &str) -> Result<(String, f64), String> {
    let (group, factor) =
        text.rsplit_once('=').ok_or_else(|| format!("`{text}` is not GROUP=FACTOR"))?;
    let factor = factor.parse().map_err(|_| format!("`{factor}` in `{text}` is not a number"))?;
    Ok((group.to_owned(), factor))
}

/// The lines of a text that are not empty.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.is_empty())
}

impl Report for TokenizerTrainAnswer {
    const TYPE: &'static str = "tokenizer";

    fn print(&self, out: &mut Output) {
        match self {
            Self::Registered(trained) => {
                print_groups(&trained.decisions, out);
                print_tokenizer(&trained.tokenizer, out);
            }
            Self::Written(report) => print_groups(&report.decisions, out),
        }
    }

    fn json(&self, _: Option<bool>) -> serde_json::Result<String> {
        match self {
            Self::Registered(trained) => output::json_line(Self::TYPE, trained, None),
            Self::Written(report) => output::json_line("tokenizer_candidate", report, None),
        }
    }
}

/// Coverage and compression of the groups, the largest first.
fn print_groups(decisions: &TrainingRecord, out: &mut Output) {
    let mut groups: Vec<_> =
        decisions.report.groups.iter().zip(&decisions.bytes_per_token).collect();
    groups.sort_by_key(|(group, _)| std::cmp::Reverse(group.mass.bytes));
    let rows = groups.iter().take(MOST_GROUPS).map(|(group, bytes_per_token)| {
        vec![
            group.name.clone(),
            size(group.mass.bytes),
            decimals(group.weight),
            probability(group.character_coverage),
            bytes_per_token.map_or("-".to_owned(), decimals),
        ]
    });
    out.table(&["group", "text", "weight", "characters covered", "bytes a token"], rows);
    let more = groups.len().saturating_sub(MOST_GROUPS);
    if more > 0 {
        out.line(format!("and {} more: `corpusdb tokenizer show`", number(more as u64)));
    }
}

/// Extend a tokenizer: old ids stay, new ones follow.
///
/// Registers the extended tokenizer, encodes the kept documents (those without a new token take over the ids of the
/// base), and writes tokenizer.json, embedding_map.jsonl and embedding_map.safetensors. If there is no new token,
/// nothing is registered or written: exit code 0 if every term is a token already, 1 if no term could become one. After
/// an interrupt run the same command again.
#[derive(clap::Args)]
pub(super) struct TokenizerExtendArgs {
    /// The tokenizer to extend.
    base: String,
    /// The name of the extended one.
    name: String,
    /// A term that becomes one token.
    #[arg(
        id = "terms",
        long = "term",
        value_name = "TEXT",
        required_unless_present_any = ["terms_file", "grow"],
        allow_hyphen_values = true
    )]
    terms: Vec<String>,
    /// A file with such terms, one a line.
    #[arg(id = "terms_file", long = "terms", value_name = "FILE")]
    terms_file: Option<PathBuf>,
    /// Continue BPE training for N new ids.
    #[arg(
        long,
        value_name = "N",
        conflicts_with_all = ["terms", "terms_file", "forms", "added_tokens"]
    )]
    grow: Option<u32>,
    /// With `grow`: train on the kept documents for which this SQL condition is true. By default on all kept ones.
    #[arg(
        id = "where",
        long = "where",
        value_name = "SQL",
        requires = "grow",
        allow_hyphen_values = true
    )]
    condition: Option<String>,
    /// The lowest count at which a pair becomes a token.
    #[arg(long, value_name = "N", default_value_t = 2, requires = "grow")]
    min_frequency: u64,
    /// The longest new token, in symbols of the model: bytes of a byte-level BPE.
    #[arg(long, value_name = "N", requires = "grow")]
    max_token_length: Option<usize>,
    /// A new directory for tokenizer.json and the map of new embeddings. By default nothing is written.
    #[arg(long, value_name = "DIR", value_parser = on_disk())]
    out: Option<PathBuf>,
    /// Encoding of the kept documents now. By default it is done; else by `tokenizer backfill` or the next ingest.
    #[arg(id = "backfill", long = "no-backfill", action = clap::ArgAction::SetFalse)]
    backfill: bool,
    #[command(flatten)]
    options: TermOptions,
}

/// The result of an extension.
#[derive(Serialize, schemars::JsonSchema)]
#[serde(untagged)]
pub(super) enum TokenizerExtendAnswer {
    /// It is registered.
    Extended(Box<ExtendReport>),
    /// There was no new token, so no tokenizer was registered.
    NothingAdded(NothingAdded),
}

/// A tokenizer that extends another one.
#[derive(Serialize, schemars::JsonSchema)]
pub(super) struct ExtendReport {
    /// The result of each term.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    terms: Vec<TermReport>,
    /// The tokenizer.
    #[serde(flatten)]
    tokenizer: TokenizerReport,
}

/// An extension without a new token.
#[derive(Serialize, schemars::JsonSchema)]
pub(super) struct NothingAdded {
    /// The result of each term.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    terms: Vec<TermReport>,
    /// The tokenizer that was to be extended.
    base: String,
    /// The name that was not registered.
    name: String,
    /// The directory that was not made.
    #[serde(skip)]
    out: Option<PathBuf>,
}

impl Verb for TokenizerExtendArgs {
    const PATH: &str = "tokenizer extend";
    const PYTHON: PythonMethod = PythonMethod::Mixed("Writer.tokenizers.extend", &["base", "name"]);
    const EXAMPLES: &[&str] = &[
        "corpusdb tokenizer extend crawl gpt2 gpt2-med --terms terms.txt --out gpt2-med",
        "corpusdb tokenizer extend crawl gpt2 gpt2-cov --terms terms.txt --added-tokens --out gpt2-cov",
        "corpusdb tokenizer extend crawl gpt2 gpt2-code --grow 4000 \\\n      --where \"source = 'code'\" --out gpt2-code",
    ];
    type On = CorpusWriter;
    type Report = TokenizerExtendAnswer;

    fn run(self, writer: &mut CorpusWriter, call: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        // What may be refused comes before the work.
        let out = self.out.as_deref().map(NewDirectory::judge).transpose()?;
        let terms = self.terms()?;
        let by = match self.grow {
            None => ExtensionSource::Terms(&terms, self.options),
            Some(new_tokens) => {
                let (min_frequency, max_token_length) = (self.min_frequency, self.max_token_length);
                let options = GrowthOptions { new_tokens, min_frequency, max_token_length };
                ExtensionSource::Growth(options, self.condition.as_deref())
            }
        };
        let extended =
            writer.extend_and_register(&self.base, &self.name, by, self.backfill, &call.context)?;
        let terms = extended.extension.terms.clone();
        let Some(tokenizer) = extended.tokenizer else {
            let (base, name, out) = (self.base, self.name, self.out);
            return Ok(TokenizerExtendAnswer::NothingAdded(NothingAdded {
                terms,
                base,
                name,
                out,
            }));
        };
        // Last, so that a rerun after an interrupt finds no directory of the name.
        if let Some(out) = out {
            out.write(&files(&extended.extension)?)?;
            let what = "tokenizer.json, and the map for an embedding as JSON lines and tensors";
            call.wrote(out.path, what.to_owned(), "");
        }
        note_markers(&tokenizer, call);
        Ok(TokenizerExtendAnswer::Extended(Box::new(ExtendReport { terms, tokenizer })))
    }
}

impl TokenizerExtendArgs {
    /// The terms of the arguments and of the file; none if the new tokens are learnt.
    fn terms(&self) -> anyhow::Result<Vec<String>> {
        let mut terms = self.terms.clone();
        if let Some(file) = &self.terms_file {
            let text = read_text(file)?;
            let of_file = lines(&text).map(str::trim).filter(|line| !line.is_empty());
            let before = terms.len();
            terms.extend(of_file.map(str::to_owned));
            anyhow::ensure!(
                terms.len() > before,
                "{} holds no term; write one a line",
                file.display()
            );
        }
        Ok(terms)
    }
}

/// The files that are needed to extend an embedding.
fn files(extension: &TokenizerExtension) -> anyhow::Result<[(&'static str, Vec<u8>); 3]> {
    let failed = |error| corpusdb::Error::from(TokenizerError::from(error));
    let lines = extension.map.json_lines().map_err(failed)?;
    let tensors = extension.map.safetensors().map_err(failed)?;
    Ok([
        ("tokenizer.json", extension.json.clone()),
        ("embedding_map.jsonl", lines.into_bytes()),
        ("embedding_map.safetensors", tensors),
    ])
}

/// A directory that is made with its files, or not at all.
struct NewDirectory<'a> {
    path: &'a Path,
    partial: PathBuf,
}

impl<'a> NewDirectory<'a> {
    /// Refuses a directory that cannot be made.
    fn judge(path: &'a Path) -> anyhow::Result<Self> {
        let shown = path.display();
        if std::fs::symlink_metadata(path).is_ok() {
            let (path, instead) = (path.to_path_buf(), "name a new directory");
            let exists = OutputError::Exists { path, instead };
            return Err(corpusdb::Error::from(exists).into());
        }
        OutputFile::judge(path)?;
        let name =
            path.file_name().with_context(|| format!("{shown} is not a name of a directory"))?;
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let parent = parent.unwrap_or(Path::new("."));
        anyhow::ensure!(
            parent.is_dir(),
            "{shown} cannot be made: {} is not a directory",
            parent.display()
        );
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".partial-{}", std::process::id()));
        Ok(Self { path, partial: parent.join(hidden) })
    }

    fn write(&self, files: &[(&str, Vec<u8>)]) -> anyhow::Result<()> {
        let written = self.write_partial(files).and_then(|()| {
            std::fs::rename(&self.partial, self.path)
                .with_context(|| format!("making the new directory {}", self.path.display()))
        });
        if written.is_err() {
            let _ = std::fs::remove_dir_all(&self.partial);
        }
        written
    }

    fn write_partial(&self, files: &[(&str, Vec<u8>)]) -> anyhow::Result<()> {
        std::fs::create_dir(&self.partial)
            .with_context(|| format!("making the new directory {}", self.path.display()))?;
        files.iter().try_for_each(|(name, bytes)| write_file(&self.partial.join(name), bytes))
    }
}

impl Report for TokenizerExtendAnswer {
    const TYPE: &'static str = "tokenizer";

    fn print(&self, out: &mut Output) {
        match self {
            Self::Extended(report) => {
                print_terms(&report.terms, out);
                print_tokenizer(&report.tokenizer, out);
            }
            Self::NothingAdded(report) => {
                print_terms(&report.terms, out);
                out.line(report.sentence());
            }
        }
    }

    fn json(&self, _: Option<bool>) -> serde_json::Result<String> {
        match self {
            Self::Extended(report) => output::json_line(Self::TYPE, report, None),
            Self::NothingAdded(report) => output::json_line("nothing_added", report, None),
        }
    }

    fn status(&self) -> ExitStatus {
        match self {
            Self::Extended(_) => ExitStatus::Done,
            Self::NothingAdded(report) => {
                let counts = TermCounts::of(&report.terms);
                ExitStatus::of(counts.forms_existed > 0 && counts.forms_refused == 0)
            }
        }
    }
}

impl NothingAdded {
    /// Why nothing is registered or written, and what to do.
    fn sentence(&self) -> String {
        let Self { terms, base, name, out } = self;
        let why = match (terms.is_empty(), TermCounts::of(terms).forms_refused) {
            (true, _) => "no pair is frequent enough to become a token".to_owned(),
            (false, 0) => format!("every term is a token of {base} already"),
            (false, _) => format!("no term is a new token of {base}"),
        };
        let made =
            out.as_ref().map_or(String::new(), |out| format!(" and {} not made", out.display()));
        format!("nothing to add: {why}; {name} is not registered{made}: use {base}")
    }
}

/// Refused terms one by one, and a count of the others.
fn print_terms(terms: &[TermReport], out: &mut Output) {
    if terms.is_empty() {
        return;
    }
    for term in terms {
        for form in &term.forms {
            match &form.outcome {
                TermOutcome::Refused { reason } => {
                    out.note(format!("`{}` is not added: {reason}", term.term));
                }
                TermOutcome::Matched { id } => out.line(format!(
                    "`{}` is the added token {id}: found before the text is split, also inside words",
                    form.form
                )),
                _ => {}
            }
        }
    }
    let TermCounts { forms_added, forms_added_tokens, forms_existed, forms_refused, .. } =
        TermCounts::of(terms);
    let matched = match forms_added_tokens {
        0 => String::new(),
        matched => format!(" {matched} added tokens,"),
    };
    out.line(format!(
        "{} terms: {forms_added} forms became tokens of the model,{matched} {forms_existed} were tokens, {forms_refused} cannot be one",
        terms.len()
    ));
}
