//! `corpusdb tokenizer`: registers tokenizers, encodes by them, shows, compares, checks and drops them.

use super::ingest::{print_engines, print_refused};
use crate::cli::columns::cut;
use crate::cli::files::read_bytes;
use crate::cli::output::{self, Output, Paint};
use crate::cli::verb::{
    ExitStatus, ListReport, ListRow, Manners, PythonMethod, Report, ShowReport, Verb, VerbCall,
};
use anyhow::Context as _;
use corpusdb::curate::{TokenizerDetails, TokenizerReport};
use corpusdb::show::{count, number};
use corpusdb::tokenizer::{
    CheckVerdict, TokenizerCheck, TokenizerInput, TokenizerRegistration, VocabularyDiff, convert,
};
use corpusdb::{Corpus, CorpusWriter};
use serde::Serialize;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Register a tokenizer and encode the kept documents.
#[derive(clap::Args)]
pub(super) struct TokenizerAddArgs {
    /// The name under which it is registered.
    name: String,
    /// A tokenizer.json (of tokenizers 0.x or 1.0), a SentencePiece .model, or, with `pattern`, a tiktoken rank file.
    #[arg(required_unless_present_all = ["vocab", "merges"])]
    file: Option<PathBuf>,
    /// The vocab.json of GPT-2.
    #[arg(long, value_name = "FILE", requires = "merges", conflicts_with = "file")]
    vocab: Option<PathBuf>,
    /// The merges.txt of GPT-2.
    #[arg(long, value_name = "FILE", requires = "vocab", conflicts_with = "file")]
    merges: Option<PathBuf>,
    /// The split pattern of a tiktoken rank file, which does not contain it.
    ///
    /// One of gpt2, cl100k, llama3, o200k, qwen2 and tekken, or a regular expression.
    #[arg(long, value_name = "NAME|REGEX", requires = "file")]
    pattern: Option<String>,
    /// A special token of a tiktoken rank file.
    #[arg(id = "specials", long = "special", value_name = "TOKEN=ID", requires = "pattern", value_parser = parse_special)]
    specials: Vec<(String, u32)>,
    /// Encoding of the kept documents now. By default it is done; else by `tokenizer backfill` or the next ingest.
    #[arg(id = "backfill", long = "no-backfill", action = clap::ArgAction::SetFalse)]
    backfill: bool,
}

impl Verb for TokenizerAddArgs {
    const PATH: &str = "tokenizer add";
    const PYTHON: PythonMethod = PythonMethod::Mixed("Writer.tokenizers.add", &["name", "file"]);
    const EXAMPLES: &[&str] = &[
        "corpusdb tokenizer add crawl llama tokenizer.json",
        "corpusdb tokenizer add crawl gpt2 --vocab vocab.json --merges merges.txt",
        "corpusdb tokenizer add crawl t5 spiece.model",
        "corpusdb tokenizer add crawl gpt4 cl100k_base.tiktoken --pattern cl100k \\\n      --special '<|endoftext|>=100257'",
    ];
    type On = CorpusWriter;
    type Report = TokenizerReport;

    fn run(self, writer: &mut CorpusWriter, call: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        let (converted, lineage) = match (&self.file, &self.vocab, &self.merges) {
            (Some(file), _, _) if file.is_dir() => anyhow::bail!("{}", folder_words(file)),
            (Some(file), _, _) => {
                let bytes = read_bytes(file)?;
                let given = match &self.pattern {
                    Some(pattern) => TokenizerInput::Tiktoken {
                        ranks: &bytes,
                        pattern,
                        specials: &self.specials,
                    },
                    None if file.extension().is_some_and(|end| end == "model") => {
                        TokenizerInput::SentencePiece(&bytes)
                    }
                    None => TokenizerInput::TokenizerJson(&bytes),
                };
                let converted = convert(given).map_err(corpusdb::Error::from);
                (converted.with_context(|| file.display().to_string())?, file.display().to_string())
            }
            (None, Some(vocab), Some(merges)) => {
                let lineage = format!("{} and {}", vocab.display(), merges.display());
                let (vocab, merges) = (read_bytes(vocab)?, read_bytes(merges)?);
                let given = TokenizerInput::VocabAndMerges { vocab: &vocab, merges: &merges };
                (convert(given).map_err(corpusdb::Error::from)?, lineage)
            }
            _ => anyhow::bail!("give a file, or `vocab=` and `merges=`"),
        };
        let new = TokenizerRegistration {
            name: &self.name,
            json: &converted.json,
            lineage: &lineage,
            originals: &converted.originals,
            ..TokenizerRegistration::default()
        };
        let report = writer.register_and_encode(&new, self.backfill, &call.context)?;
        note_markers(&report, call);
        Ok(report)
    }
}

/// The message on a directory in place of a file: which of its files to give.
fn folder_words(folder: &Path) -> String {
    let files = ["tokenizer.json", "tokenizer.model", "vocab.json", "merges.txt"];
    let [json, model, vocab, merges] =
        files.map(|name| Some(folder.join(name)).filter(|file| file.is_file()));
    let way = match (json.or(model), vocab, merges) {
        (Some(file), _, _) => format!("give its file {}", file.display()),
        (None, Some(vocab), Some(merges)) => {
            format!("give `vocab={}` and `merges={}`", vocab.display(), merges.display())
        }
        _ => "give the file in it that is the tokenizer: a tokenizer.json, a .model, a vocab.json with its merges.txt, or tiktoken ranks".to_owned(),
    };
    format!("{} is a directory: {way}", folder.display())
}

fn parse_special(text: &str) -> Result<(String, u32), String> {
    let (token, id) = text
        .rsplit_once('=')
        .filter(|(token, _)| !token.is_empty())
        .ok_or_else(|| format!("`{text}` is not TOKEN=ID"))?;
    let id = id.parse().map_err(|_| format!("`{id}` in `{text}` is not an id"))?;
    Ok((token.to_owned(), id))
}

/// Notes the turn markers of stored chat templates that the tokenizer encodes as ordinary text, and the special tokens
/// that messages spell.
pub(super) fn note_markers(report: &TokenizerReport, call: &VerbCall<'_>) {
    for (marker, tokens) in &report.ordinary_markers {
        call.note(&format!(
            "{} encodes `{marker}` of a stored chat template as {tokens} ordinary tokens: turn markers cannot be distinguished from content",
            report.tokenizer.name
        ));
    }
    for (special, conversations) in &report.special_tokens_in_chats {
        call.note(&format!(
            "{} `{special}` in what messages say, and to {} it is that special token, which no template wrote: look for it in `text`, and remove them",
            count(*conversations, "conversation spells", "conversations spell"),
            report.tokenizer.name
        ));
    }
}

impl Report for TokenizerReport {
    const TYPE: &'static str = "tokenizer";

    fn print(&self, out: &mut Output) {
        print_tokenizer(self, out);
    }
}

impl ListRow for TokenizerReport {
    const TYPE: &'static str = "tokenizer";

    fn print_all(all: &[Self], out: &mut Output) {
        if all.is_empty() {
            return out
                .note("there is no tokenizer; `corpusdb tokenizer add` and `train` make one");
        }
        let row = |report: &Self| {
            let of = &report.tokenizer;
            let ids = number(of.vocab_size.into());
            // Its file or its training, at length in `tokenizer show NAME`.
            let from = of.lineage.rsplit('/').next().unwrap_or(&of.lineage);
            vec![of.name.clone(), ids, of.backend.to_string(), cut(from)]
        };
        out.table(&["tokenizer", "ids", "encoder", "from"], all.iter().map(row));
        for one in all {
            if !one.tokenizer.complete {
                out.line(format!("{}{UNFINISHED}", one.tokenizer.name));
            }
            print_remarks(one, out);
        }
    }
}

/// Behind the name of a tokenizer whose encoding is under way.
const UNFINISHED: &str = "; not all documents are encoded: `corpusdb tokenizer backfill` continues";

/// A line about a tokenizer and its encoding.
pub(super) fn print_tokenizer(report: &TokenizerReport, out: &mut Output) {
    let of = &report.tokenizer;
    let encoded = report.encoded_tokens.map_or(String::new(), |tokens| {
        let encoded = number(report.encoded_documents.unwrap_or(0));
        let tokens = number(tokens);
        match report.copied_documents.unwrap_or(0) {
            0 => format!(", encoded {tokens} tokens"),
            copied => format!(
                ", {tokens} tokens: {encoded} documents encoded, {} taken over",
                number(copied)
            ),
        }
    });
    let state = match of.complete {
        true => "",
        false => UNFINISHED,
    };
    let speed = report.megabytes_per_second.map(|speed| format!(" at {speed:.0} MB/s a thread"));
    out.line(format!(
        "{}: {} ids, encoder {}{}{encoded}{state} ({})",
        of.name,
        number(of.vocab_size.into()),
        of.backend,
        speed.unwrap_or_default(),
        of.lineage
    ));
    print_remarks(report, out);
}

/// What somebody should know of a tokenizer beside its figures.
fn print_remarks(report: &TokenizerReport, out: &mut Output) {
    for (special, documents) in report.special_tokens_in_text.iter().flatten() {
        out.line(format!("  {} documents spell {special}: encoded as text", number(*documents)));
    }
    if let Some(refused) = &report.refused {
        print_refused(&report.tokenizer.name, refused, out);
    }
    report.engines.iter().for_each(|engines| print_engines(engines, out));
}

/// Encode the kept documents that a registered tokenizer has not encoded yet; continues after an interrupt.
#[derive(clap::Args)]
pub(super) struct TokenizerBackfillArgs {
    /// The tokenizer.
    name: String,
}

impl Verb for TokenizerBackfillArgs {
    const PATH: &str = "tokenizer backfill";
    const PYTHON: PythonMethod = PythonMethod::Mixed("Writer.tokenizers.backfill", &["name"]);
    const EXAMPLES: &[&str] = &["corpusdb tokenizer backfill crawl llama"];
    type On = CorpusWriter;
    type Report = TokenizerReport;

    fn run(self, writer: &mut CorpusWriter, call: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        let report = writer.backfill(&self.name, &call.context)?;
        note_markers(&report, call);
        Ok(report)
    }
}

/// Delete a tokenizer and all its ids; refused while a stored plan uses it.
#[derive(clap::Args)]
pub(super) struct TokenizerDropArgs {
    /// The tokenizer.
    name: String,
    /// Drop it even if plans use it (they can no longer be opened) or records brought its ids.
    #[arg(long)]
    force: bool,
}

/// A tokenizer that was dropped.
#[derive(Serialize, schemars::JsonSchema)]
pub(super) struct TokenizerDropReport {
    /// The tokenizer.
    name: String,
    /// Stored plans that can no longer be opened.
    broken_plans: Vec<u32>,
}

impl Verb for TokenizerDropArgs {
    const PATH: &str = "tokenizer drop";
    const PYTHON: PythonMethod = PythonMethod::ByHand("Writer.tokenizers.drop");
    const EXAMPLES: &[&str] = &["corpusdb tokenizer drop crawl old"];
    const MANNERS: Manners = Manners::WAITS;
    type On = CorpusWriter;
    type Report = TokenizerDropReport;

    fn run(self, writer: &mut CorpusWriter, _: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        let broken_plans = writer.drop_tokenizer(&self.name, self.force)?;
        Ok(TokenizerDropReport { name: self.name, broken_plans })
    }
}

impl Report for TokenizerDropReport {
    const TYPE: &'static str = "dropped";

    fn print(&self, out: &mut Output) {
        let plans: Vec<String> = self.broken_plans.iter().map(u32::to_string).collect();
        let broken = match plans.as_slice() {
            [] => String::new(),
            plans => format!("; plans {} can no longer be opened", plans.join(", ")),
        };
        out.line(format!("dropped {}{broken}", self.name));
    }
}

/// List the tokenizers, or show the origin of one: record, files, and every decision of its training.
#[derive(clap::Args)]
pub(super) struct TokenizerShowArgs {
    /// The tokenizer. By default all are listed.
    name: Option<String>,
}

impl Verb for TokenizerShowArgs {
    const PATH: &str = "tokenizer show";
    const PYTHON: PythonMethod = PythonMethod::Mixed("Corpus.tokenizers.show", &["name"]);
    const EXAMPLES: &[&str] =
        &["corpusdb tokenizer show crawl", "corpusdb tokenizer show crawl own-32k"];
    type On = Corpus;
    type Report = ShowReport<TokenizerReport, TokenizerDetails>;

    fn run(self, corpus: &Corpus, _: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        Ok(match self.name {
            Some(name) => ShowReport::One(Box::new(corpus.tokenizer_details(&name)?)),
            None => ShowReport::All(ListReport(corpus.tokenizer_reports())),
        })
    }
}

impl Report for TokenizerDetails {
    const TYPE: &'static str = "tokenizer";

    fn print(&self, out: &mut Output) {
        // The record is shown as it was stored, by whatever release.
        match serde_json::to_value(self) {
            Ok(value) => print_outline(&value, 0, out),
            Err(error) => out.line(error.to_string()),
        }
    }
}

/// A value as an indented outline.
fn print_outline(value: &Value, depth: usize, out: &mut Output) {
    let indent = "  ".repeat(depth);
    let is_nested = |value: &Value| match value {
        Value::Object(map) => !map.is_empty(),
        Value::Array(all) => all.iter().any(Value::is_object),
        _ => false,
    };
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                let key = key.replace('_', " ");
                if is_nested(value) {
                    out.line(format!("{indent}{key}"));
                    print_outline(value, depth + 1, out);
                } else {
                    out.line(format!("{indent}{key}: {}", plain(value)));
                }
            }
        }
        Value::Array(all) => {
            for value in all {
                match value {
                    Value::Object(map) => {
                        let member = |(key, value): (&String, &Value)| {
                            format!("{} {}", key.replace('_', " "), plain(value))
                        };
                        let row: Vec<String> = map.iter().map(member).collect();
                        out.line(format!("{indent}{}", row.join(", ")));
                    }
                    value => out.line(format!("{indent}{}", plain(value))),
                }
            }
        }
        value => out.line(format!("{indent}{}", plain(value))),
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(all) => all.iter().map(plain).collect::<Vec<_>>().join(" "),
        value => value.to_string(),
    }
}

/// Compare two tokenizers: ids kept, moved, removed and added.
#[derive(clap::Args)]
pub(super) struct TokenizerDiffArgs {
    /// The first tokenizer.
    a: String,
    /// The second tokenizer.
    b: String,
}

impl Verb for TokenizerDiffArgs {
    const PATH: &str = "tokenizer diff";
    const PYTHON: PythonMethod = PythonMethod::Mixed("Corpus.tokenizers.diff", &["a", "b"]);
    const EXAMPLES: &[&str] = &["corpusdb tokenizer diff crawl gpt2 gpt2-med"];
    type On = Corpus;
    type Report = VocabularyDiff;

    fn run(self, corpus: &Corpus, _: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        Ok(corpus.diff_tokenizers(&self.a, &self.b)?)
    }
}

impl Report for VocabularyDiff {
    const TYPE: &'static str = "tokenizer_diff";

    fn print(&self, out: &mut Output) {
        const MOST: usize = 10;
        let rows = [
            ("kept", self.kept),
            ("moved", self.moved.len() as u64),
            ("removed", self.removed.len() as u64),
            ("added", self.added.len() as u64),
            ("merges kept", self.merges_kept),
            ("merges removed", self.merges_removed),
            ("merges added", self.merges_added),
        ];
        let rows = rows.map(|(name, count)| vec![name.to_owned(), number(count)]);
        out.table(&["ids", "count"], rows);
        for (token, from, to) in self.moved.iter().take(MOST) {
            out.line(format!("moved {token:?}: {from} -> {to}"));
        }
        for (token, id) in self.removed.iter().take(MOST) {
            out.line(format!("removed {token:?}: {id}"));
        }
        for (token, id) in self.added.iter().take(MOST) {
            out.line(format!("added {token:?}: {id}"));
        }
        out.line(match self.keeps_old_ids {
            true => "every old id keeps its token: ids of the first are valid for the second",
            false => {
                "some old ids have other tokens: ids of the first are not valid for the second"
            }
        });
    }
}

/// Check tokenizers: both encoders, stored ids, and a table of odd texts.
#[derive(clap::Args)]
pub(super) struct TokenizerCheckArgs {
    /// The tokenizer. By default all.
    name: Option<String>,
}

/// Whether the ids of some tokenizers can be trusted.
#[derive(Serialize, schemars::JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub(super) struct TokenizerChecks(Vec<CheckedTokenizer>);

/// Whether the ids of a tokenizer can be trusted.
#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "TokenizerCheckReport")]
pub(super) struct CheckedTokenizer {
    /// The tokenizer.
    name: String,
    /// Whether no case failed and stored ids equal those of the texts.
    good: bool,
    /// A document whose stored ids differ from those of its text.
    other_ids: Option<u64>,
    /// Both encoders, and what the tokenizer does with odd texts.
    check: TokenizerCheck,
}

impl Verb for TokenizerCheckArgs {
    const PATH: &str = "tokenizer check";
    const PYTHON: PythonMethod = PythonMethod::Mixed("Corpus.tokenizers.check", &["name"]);
    const EXAMPLES: &[&str] =
        &["corpusdb tokenizer check crawl", "corpusdb tokenizer check crawl llama --json"];
    const NOTES: &str =
        "Exit code 1 when a case fails or stored ids differ from those of the text.";
    type On = Corpus;
    type Report = TokenizerChecks;

    fn run(self, corpus: &Corpus, _: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        let names = match self.name {
            Some(name) => vec![name],
            None => corpus.view().tokenizers().map(|(_, record)| record.name.clone()).collect(),
        };
        let checked = names.into_iter().map(|name| {
            let (check, other) = corpus.check_tokenizer(&name)?;
            let good = check.is_good() && other.is_none();
            let other_ids = other.map(|document| document.0);
            Ok(CheckedTokenizer { name, good, other_ids, check })
        });
        Ok(TokenizerChecks(checked.collect::<anyhow::Result<_>>()?))
    }
}

impl Report for TokenizerChecks {
    const TYPE: &'static str = "tokenizer_check";

    fn print(&self, out: &mut Output) {
        self.0.iter().for_each(|checked| print_check(checked, out));
    }

    fn json(&self, _: Option<bool>) -> serde_json::Result<String> {
        output::json_lines(Self::TYPE, &self.0)
    }

    fn status(&self) -> ExitStatus {
        ExitStatus::of(self.0.iter().all(|checked| checked.good))
    }
}

fn print_check(checked: &CheckedTokenizer, out: &mut Output) {
    let CheckedTokenizer { name, other_ids, check, .. } = checked;
    let reason = check.reason.as_ref().map_or(String::new(), |why| format!(" ({why})"));
    out.line(format!("{name}: {} ids, {} encoder{reason}", check.vocab_size, check.backend));
    for case in &check.cases {
        let (paint, verdict) = match case.verdict {
            CheckVerdict::Ok => (Paint::Good, "  ok      "),
            CheckVerdict::Notice => (Paint::Plain, "  notice  "),
            CheckVerdict::Fault => (Paint::Bad, "  FAULT   "),
        };
        let rest = format!("{}: {}", case.name, case.what);
        out.painted(&[(paint, verdict), (Paint::Plain, &rest)]);
    }
    let (verdict, rest) = match other_ids {
        Some(document) => (
            "  FAULT   ",
            format!("stored ids: those of document {document} differ from those of its text"),
        ),
        None => ("  ok      ", "stored ids: those of a sample equal those of the texts".to_owned()),
    };
    out.verdict(other_ids.is_none(), verdict, &rest);
}
