//! `corpusdb count`, `sample` and `show`: documents.

use crate::cli::columns::shown_path;
use crate::cli::find;
use crate::cli::output::{self, Output, Paint};
use crate::cli::session::parse_document;
use crate::cli::verb::{ExitStatus, PythonMethod, Report, Streamed, Verb, VerbCall};
use corpusdb::Corpus;
use corpusdb::curate::ShownTokens;
use corpusdb::inspect::DocumentDetails;
use corpusdb::show::{number, one_line};
use corpusdb::sql::DocumentFilter;
use serde::Serialize;
use serde_json::{Map, Value};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::str::FromStr;
use unicode_width::UnicodeWidthStr;

/// Characters of a text that `sample` shows.
const SAMPLE: usize = 400;
/// Columns of a line with several fields of a document.
const MEMBERS: usize = 80;

/// Count documents.
#[derive(clap::Args)]
pub(super) struct CountArgs {
    /// Only documents for which this SQL condition over the table documents is true. By default all stored documents,
    /// kept or not.
    #[arg(id = "where", long = "where", value_name = "SQL", allow_hyphen_values = true)]
    condition: Option<String>,
    /// Only documents that this snapshot keeps; the columns of the condition have today's values, also kept.
    #[arg(long, value_name = "NAME")]
    snapshot: Option<String>,
}

/// The number of documents of a condition.
#[derive(Serialize, schemars::JsonSchema)]
pub(super) struct CountReport {
    /// The condition.
    r#where: Option<String>,
    /// Documents.
    documents: u64,
    /// The snapshot, if one was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    snapshot: Option<String>,
}

impl Verb for CountArgs {
    const PATH: &str = "count";
    const PYTHON: PythonMethod = PythonMethod::ByHand("Corpus.count");
    const EXAMPLES: &[&str] = &[
        "corpusdb count crawl",
        "corpusdb count crawl --where \"kept AND language = 'en' AND tokens > 1000\"",
        "corpusdb count crawl --snapshot june --where \"source = 'web'\"",
    ];
    type On = Corpus;
    type Report = CountReport;

    fn run(self, corpus: &Corpus, call: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        let (condition, snapshot) = (self.condition.clone(), self.snapshot.clone());
        let filter = DocumentFilter { condition, snapshot, ..DocumentFilter::default() };
        let documents = corpus.count(filter.with_interrupt(call.context.interrupt()))?;
        Ok(CountReport { r#where: self.condition, documents, snapshot: self.snapshot })
    }
}

impl Report for CountReport {
    const TYPE: &'static str = "count";

    fn print(&self, out: &mut Output) {
        out.line(self.documents.to_string());
    }
}

/// The seed of a draw.
#[derive(Clone, Copy)]
pub enum SampleSeed {
    /// This one.
    Given(u64),
    /// A new one, which is printed.
    New,
}

impl FromStr for SampleSeed {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "random" => Ok(Self::New),
            number => {
                let seed = number.parse().map_err(|_| "write a whole number, or `random`")?;
                Ok(Self::Given(seed))
            }
        }
    }
}

/// Show a uniform sample of documents.
///
/// The same selection and seed give the same documents.
#[derive(clap::Args)]
pub(super) struct SampleArgs {
    /// Number of documents.
    #[arg(short, default_value_t = 5, value_name = "N")]
    n: u64,
    /// Seed of the draw, or the word random for a new one, which is printed as a note.
    #[arg(long, default_value = "0", value_name = "N|random")]
    seed: SampleSeed,
    /// Draw from the documents for which this SQL condition over the table documents is true. By default the kept ones,
    /// or all that `snapshot` keeps.
    #[arg(id = "where", long = "where", value_name = "SQL", allow_hyphen_values = true)]
    condition: Option<String>,
    /// Only documents that this snapshot keeps; the columns of the condition have today's values, also kept.
    #[arg(long, value_name = "NAME")]
    snapshot: Option<String>,
}

impl Verb for SampleArgs {
    const PATH: &str = "sample";
    const PYTHON: PythonMethod = PythonMethod::ByHand("Corpus.sample");
    const EXAMPLES: &[&str] = &[
        "corpusdb sample crawl -n 3 --where \"kept AND source = 'web'\"",
        "corpusdb sample crawl -n 1000 --seed 7 --json > sample.jsonl",
        "corpusdb sample crawl --seed random",
        "corpusdb sample crawl --snapshot june",
    ];
    type On = Corpus;
    type Report = Streamed;

    fn run(self, corpus: &Corpus, call: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        let is_json = call.session()?.json;
        let snapshot = self.snapshot;
        let condition = self.condition.or_else(|| snapshot.is_none().then(|| "kept".to_owned()));
        let filter = DocumentFilter { condition, snapshot, ..DocumentFilter::default() };
        let filter = filter.with_interrupt(call.context.interrupt());
        let seed = match self.seed {
            SampleSeed::Given(seed) => seed,
            SampleSeed::New => {
                // The hasher of the standard library has its keys from the system. 32 bits are easily written down.
                let seed = RandomState::new().build_hasher().finish() >> 32;
                call.note(&format!("drawn with seed {seed}"));
                seed
            }
        };
        let drawn = corpus.sample(filter, self.n, seed)?.into_iter();
        // A thousand long documents are not held at once.
        let documents = drawn.map(|document| Ok(corpus.show(document)?));
        output::stream_rows(("document", is_json), documents, print_sampled)?;
        Ok(ExitStatus::Done.into())
    }
}

fn print_sampled(shown: &DocumentDetails, out: &mut Output) {
    out.line(format!("--- {} {} ({}, {} bytes)", shown.id, shown.key, shown.source, shown.bytes));
    let head: String = shown.text.chars().take(SAMPLE).collect();
    let cut = if head.len() < shown.text.len() { " …" } else { "" };
    out.text(&format!("{}{cut}\n", head.trim_end()));
}

/// Show all about one document, also why it was removed.
#[derive(clap::Args)]
pub(super) struct ShowArgs {
    /// Its id or its key; all documents that had the key are shown, newest last.
    ///
    /// A document without a key is PATH:NUMBER@ID, with the records of the file counted from 0. PATH:NUMBER is enough
    /// if only one document was read there.
    #[arg(
        value_name = "ID|KEY",
        required_unless_present = "key",
        conflicts_with = "key",
        value_parser = parse_document
    )]
    document: Option<String>,
    /// Its key, also one made of digits.
    #[arg(long, allow_hyphen_values = true)]
    key: Option<String>,
    /// Show its tokens instead: on a terminal trained tokens are green; elsewhere untrained ones are between ⟦ and ⟧.
    #[arg(long)]
    tokens: bool,
    /// The tokenizer of `tokens`. By default the first.
    #[arg(long, value_name = "NAME", requires = "tokens")]
    tokenizer: Option<String>,
}

/// Documents, or the tokens of documents.
#[derive(Serialize, schemars::JsonSchema)]
#[serde(untagged)]
pub(super) enum ShowAnswer {
    /// Everything known about them.
    Documents(Vec<DocumentDetails>),
    /// Their tokens.
    Tokens(Vec<ShownTokens>),
}

impl Verb for ShowArgs {
    const PATH: &str = "show";
    const PYTHON: PythonMethod = PythonMethod::ByHand("Corpus.document");
    const EXAMPLES: &[&str] = &[
        "corpusdb show crawl 42",
        "corpusdb show crawl https://example.org/page",
        "corpusdb show crawl --key 2024",
        "corpusdb show chats 42 --tokens --tokenizer qwen",
    ];
    const NOTES: &str = "Exit code 1 when no document has the key.";
    type On = Corpus;
    type Report = ShowAnswer;

    fn run(self, corpus: &Corpus, call: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        let found =
            find::documents(corpus, self.document.as_deref(), self.key.as_deref(), call.note)?;
        let tokenizer = self.tokenizer.as_deref();
        Ok(match self.tokens {
            true => ShowAnswer::Tokens(
                found
                    .iter()
                    .map(|id| corpus.tokens_of(*id, tokenizer))
                    .collect::<Result<_, _>>()?,
            ),
            false => ShowAnswer::Documents(
                found.iter().map(|id| corpus.show(*id)).collect::<Result<_, _>>()?,
            ),
        })
    }
}

impl Report for ShowAnswer {
    const TYPE: &'static str = "document";

    fn print(&self, out: &mut Output) {
        match self {
            Self::Documents(documents) => documents.iter().for_each(|one| print_document(one, out)),
            Self::Tokens(documents) => documents.iter().for_each(|one| print_tokens(one, out)),
        }
    }

    fn json(&self, _: Option<bool>) -> serde_json::Result<String> {
        match self {
            Self::Documents(documents) => output::json_lines("document", documents),
            Self::Tokens(documents) => output::json_lines("tokens", documents),
        }
    }

    fn status(&self) -> ExitStatus {
        ExitStatus::of(match self {
            Self::Documents(documents) => !documents.is_empty(),
            Self::Tokens(documents) => !documents.is_empty(),
        })
    }
}

fn print_document(shown: &DocumentDetails, out: &mut Output) {
    out.line(format!("document {}: {} (source {})", shown.id, shown.key, shown.source));
    out.line(format!("  standing: {}{}", shown.standing, reason(shown)));
    for blocker in &shown.blocked_by {
        let similarity =
            blocker.jaccard.map_or_else(String::new, |jaccard| format!(" {jaccard:.3}"));
        out.line(format!(
            "  blocked by the removal of document {} ({}), by {}{similarity}",
            blocker.id, blocker.key, blocker.by
        ));
    }
    if let Some(cluster) = shown.cluster.as_ref().filter(|cluster| cluster.size > 1) {
        let members: Vec<String> = cluster.members.iter().map(u64::to_string).collect();
        out.line(format!(
            "  cluster {} of {} documents: {}",
            cluster.id,
            cluster.size,
            members.join(", ")
        ));
    }
    out.line(format!(
        "  record {} (counted from 0) of {}, commit {}",
        shown.number,
        shown.path.as_deref().map_or("?", shown_path),
        shown.commit
    ));
    let counted = shown.tokens.iter().filter(|(_, count)| !count.is_null());
    let tokens: String =
        counted.map(|(name, count)| format!(", {count} tokens of {name}")).collect();
    out.line(format!(
        "  {} bytes, {} characters, {} words{tokens}",
        shown.bytes, shown.chars, shown.words
    ));
    let member = |(name, value): (&String, &Value)| format!("{name}: {value}");
    let language = shown.language.iter().map(|language| format!("language: {language}"));
    let (without, with): (Vec<_>, Vec<_>) =
        shown.fields.iter().partition(|(_, value)| value.is_null());
    print_members("", language.chain(with.into_iter().map(member)), out);
    let without = without.into_iter().map(|(name, _)| name.clone());
    print_members("without: ", without, out);
    if let Some(template) = &shown.chat_template {
        let hash = template.hash.get(..16).unwrap_or(&template.hash);
        let variables = match template.variables.as_object() {
            Some(none) if none.is_empty() => "no values set".to_owned(),
            _ => format!("with {}", template.variables),
        };
        out.line(format!("  chat template: {hash}, {variables}"));
    }
    // As it is read: an order or a number that a map would change is in `--json`.
    let is_shown = |name: &str, value: &Value| {
        shown.fields.get(name) == Some(value)
            || name == "language" && value.as_str() == shown.language.as_deref()
    };
    match serde_json::from_str::<Map<String, Value>>(shown.metadata.get()) {
        Ok(metadata) => {
            let rest = metadata.iter().filter(|(name, value)| !is_shown(name, value));
            print_members("metadata ", rest.map(member), out);
        }
        // Nested deeper than a reader goes.
        Err(_) => out.line(format!("metadata {}", shown.metadata.get())),
    }
    out.line("");
    out.text(shown.text.trim_end());
}

/// Parts of a header, as many on a line as it holds.
fn print_members(label: &str, parts: impl Iterator<Item = String>, out: &mut Output) {
    let mut line = String::new();
    for part in parts {
        let part = one_line(&part);
        if line.is_empty() {
            line = format!("  {label}{part}");
        } else if line.width() + part.width() + 3 <= MEMBERS {
            line.extend(["   ", &part]);
        } else {
            out.line(&line);
            line = format!("  {:1$}{part}", "", label.len());
        }
    }
    if !line.is_empty() {
        out.line(line);
    }
}

/// A line of counts, and the text in its tokens, cut by `|`.
fn print_tokens(shown: &ShownTokens, out: &mut Output) {
    let trained = shown.tokens.iter().filter(|token| token.trained).count();
    out.line(format!(
        "document {}: {} tokens of {}, {} trained on",
        shown.document,
        number(shown.tokens.len() as u64),
        shown.tokenizer,
        number(trained as u64)
    ));
    let mut parts = Vec::new();
    for run in shown.tokens.chunk_by(|a, b| a.trained == b.trained) {
        let is_trained = run.first().is_some_and(|token| token.trained);
        let texts: Vec<&str> = run.iter().map(|token| token.text.as_str()).collect();
        let paint = if is_trained { Paint::Trained } else { Paint::Untrained };
        parts.push((paint, texts.join("|")));
    }
    out.painted(&parts);
}

fn reason(shown: &DocumentDetails) -> String {
    let Some(found) = &shown.found else {
        return String::new();
    };
    let of = format!(
        "document {} ({}, source {})",
        found.witness, found.witness_key, found.witness_source
    );
    match found.jaccard {
        Some(jaccard) if found.kind == "near" => {
            let share = |value: Option<f64>| value.map_or(0.0, |value| value * 100.0);
            format!(
                " duplicate of {of}: similarity {jaccard:.3}; {:.0} % of its shingles and {:.0} % of the other's are shared",
                share(found.containment_removed),
                share(found.containment_witness)
            )
        }
        Some(_) => format!(" duplicate of {of}: equal bytes"),
        None => format!(" by {of}"),
    }
}
