//! `corpusdb tokenizer extend` and `diff`: new ids behind the old ones, and what differs between two tokenizers.

use super::told;
use crate::cli::Outcome as Answer;
use crate::cli::print;
use crate::cli::report::write_file;
use crate::cli::session::{CommandSession, on_disk};
use crate::cli::text_file::read_text;
use anyhow::Context as _;
use clap::ValueEnum;
use corpusdb::CorpusWriter;
use corpusdb::curate::{ExtensionRecord, ExtensionSource};
use corpusdb::tokenizer::{
    Extension, GrowthOptions, NewTokenizer, Outcome, TermCounts, TermForms, TermOptions, TermReport,
};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Extend a tokenizer: old ids stay, new ones follow
///
/// Registers the extended tokenizer, encodes what is stored (documents without a new token take over the ids of the
/// base), and writes tokenizer.json, embedding_map.jsonl and embedding_map.safetensors. Where nothing is new it says
/// so, and registers and writes nothing: exit code 0 if every term is a token already, 1 if none could become one.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  corpusdb tokenizer extend crawl gpt2 gpt2-med --terms terms.txt --out gpt2-med\n  corpusdb tokenizer extend crawl gpt2 gpt2-cov --terms terms.txt --added-tokens --out gpt2-cov\n  corpusdb tokenizer extend crawl gpt2 gpt2-code --grow 4000 \\\n      --where \"source = 'code'\" --out gpt2-code"
)]
pub(in crate::cli) struct Extend {
    /// The corpus
    corpus: PathBuf,
    /// The tokenizer to extend
    base: String,
    /// The name of the extended one
    name: String,
    /// A file of terms, one a line, each to become one token
    #[arg(long, value_name = "FILE", required_unless_present = "grow", conflicts_with = "grow")]
    terms: Option<PathBuf>,
    /// Where a term is one token: behind a space and elsewhere, or only one of them
    #[arg(long, value_enum, default_value_t = Forms::Both, requires = "terms")]
    forms: Forms,
    /// Make added tokens of terms that the pre-tokenizer splits (`COVID-19` in GPT-2): looked for in a text before
    /// everything else, also inside words; without this such terms are refused
    #[arg(long, requires = "terms")]
    added_tokens: bool,
    /// Go on with byte-pair training for N new ids (BPE only)
    #[arg(long, value_name = "N")]
    grow: Option<u32>,
    /// Grow on the documents of this SQL condition [default: all kept ones]
    #[arg(long = "where", value_name = "SQL", requires = "grow")]
    condition: Option<String>,
    /// The least count of a pair that becomes a token
    #[arg(long, value_name = "N", default_value_t = 2, requires = "grow")]
    min_frequency: u64,
    /// The longest new token, in symbols of the model (bytes, where it is byte-level)
    #[arg(long, value_name = "N", requires = "grow")]
    max_token_length: Option<usize>,
    /// A new directory for tokenizer.json and the embedding map
    #[arg(long, value_name = "DIR", value_parser = on_disk())]
    out: PathBuf,
    /// Register only; `tokenizer backfill`, or the next ingest, encodes what is stored
    #[arg(long)]
    no_backfill: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Forms {
    /// Behind a space and elsewhere: two tokens in most models
    Both,
    /// Only behind a space
    AfterSpace,
    /// Only where no space is before it
    Bare,
}

/// Compare two tokenizers: ids kept, moved, removed and added
#[derive(clap::Args)]
#[command(after_help = "Example:\n  corpusdb tokenizer diff crawl gpt2 gpt2-med")]
pub(in crate::cli) struct Diff {
    /// The corpus
    corpus: PathBuf,
    /// The one before
    a: String,
    /// The one after
    b: String,
}

pub(super) fn run(verb: &Extend, session: &CommandSession) -> anyhow::Result<Answer> {
    let mut writer = session.write(&verb.corpus)?;
    // Before the work; made after it, so that a failure leaves nothing.
    anyhow::ensure!(
        !verb.out.exists(),
        "{} exists already; name a new directory",
        verb.out.display()
    );
    let extension = extension(verb, &writer, session)?;
    if extension.adds_nothing() {
        return tell_nothing(verb, &extension, session);
    }
    std::fs::create_dir(&verb.out)
        .with_context(|| format!("making the new directory {}", verb.out.display()))?;
    tell_terms(&extension.terms, session)?;
    write(&verb.out, &extension)?;
    let commit = writer.view().commit().0;
    let decided = ExtensionRecord::of(&verb.base, verb.by(), &extension, commit);
    let (decisions, lineage) = (serde_json::to_vec(&decided)?, decided.lineage());
    let new = NewTokenizer {
        name: &verb.name,
        json: &extension.json,
        lineage: &lineage,
        decisions: Some(&decisions),
        base: Some(&verb.base),
        ..NewTokenizer::default()
    };
    let record = writer.register(&new)?;
    if verb.no_backfill {
        told::record(&record, None, session)?;
        return Ok(Answer::Good);
    }
    let added = writer.backfill(&verb.name, &session.context())?;
    told::record(&added.record, Some(&added), session)?;
    Ok(Answer::Good)
}

/// Says that nothing is registered or written. Good where every term is a token of the base: what was asked for
/// is so already.
fn tell_nothing(
    verb: &Extend,
    extension: &Extension,
    session: &CommandSession,
) -> anyhow::Result<Answer> {
    tell_terms(&extension.terms, session)?;
    let TermCounts { forms_existed: existed, forms_refused: refused, .. } =
        TermCounts::of(&extension.terms);
    if session.json {
        let told = json!({ "type": "nothing_added", "base": verb.base, "name": verb.name });
        print::json(&told)?;
    } else {
        let why = match (verb.grow, refused) {
            (Some(_), _) => "no pair is frequent enough to become a token".to_owned(),
            (None, 0) => format!("every term is a token of {} already", verb.base),
            (None, _) => format!("no term is a new token of {}", verb.base),
        };
        print::line(&format!(
            "nothing to add: {why}; {} is not registered and {} not made: use {}",
            verb.name,
            verb.out.display(),
            verb.base
        ))?;
    }
    let is_good = existed > 0 && refused == 0;
    Ok(if is_good { Answer::Good } else { Answer::Bad })
}

impl Extend {
    /// What it is to be extended by.
    fn by(&self) -> ExtensionSource<'_> {
        let Some(new_tokens) = self.grow else {
            let forms = match self.forms {
                Forms::Both => TermForms::Both,
                Forms::AfterSpace => TermForms::AfterSpace,
                Forms::Bare => TermForms::Bare,
            };
            return ExtensionSource::Terms(TermOptions { forms, added_tokens: self.added_tokens });
        };
        let (min_frequency, max_token_length) = (self.min_frequency, self.max_token_length);
        let options = GrowthOptions { new_tokens, min_frequency, max_token_length };
        ExtensionSource::Growth(options, self.condition.as_deref())
    }
}

fn extension(
    verb: &Extend,
    writer: &CorpusWriter,
    session: &CommandSession,
) -> anyhow::Result<Extension> {
    let options = match verb.by() {
        ExtensionSource::Terms(options) => options,
        ExtensionSource::Growth(options, condition) => {
            let base = &verb.base;
            return Ok(writer.extend_by_growth(base, options, condition, &session.context())?);
        }
    };
    let Some(file) = &verb.terms else { anyhow::bail!("give --terms or --grow") };
    let text = read_text(file)?;
    let terms: Vec<String> =
        text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect();
    anyhow::ensure!(!terms.is_empty(), "{} holds no term; write one a line", file.display());
    Ok(writer.extend_by_terms(&verb.base, &terms, options)?)
}

fn write(out: &Path, extension: &Extension) -> anyhow::Result<()> {
    let lines = extension.map.json_lines().map_err(corpusdb::tokenizer::TokenizerError::from);
    let tensors = extension.map.safetensors().map_err(corpusdb::tokenizer::TokenizerError::from);
    let files = [
        ("tokenizer.json", extension.json.clone()),
        ("embedding_map.jsonl", lines.map_err(corpusdb::Error::from)?.into_bytes()),
        ("embedding_map.safetensors", tensors.map_err(corpusdb::Error::from)?),
    ];
    for (name, bytes) in files {
        write_file(&out.join(name), &bytes)?;
    }
    Ok(())
}

/// Refused terms one by one, the others as a count.
fn tell_terms(terms: &[TermReport], session: &CommandSession) -> anyhow::Result<()> {
    if terms.is_empty() {
        return Ok(());
    }
    if session.json {
        return print::json(&json!({ "type": "terms", "terms": terms }));
    }
    for term in terms {
        for form in &term.forms {
            match &form.outcome {
                Outcome::Refused { reason } => {
                    print::talk(&format!("`{}` is not added: {reason}", term.term));
                }
                Outcome::Matched { id } => print::line(&format!(
                    "`{}` is the added token {id}: looked for before the text is split, also inside words",
                    form.form
                ))?,
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
    print::line(&format!(
        "{} terms: {forms_added} forms became tokens of the model,{matched} {forms_existed} were tokens, {forms_refused} cannot be one",
        terms.len()
    ))
}

pub(super) fn diff(verb: &Diff, session: &CommandSession) -> anyhow::Result<()> {
    let found = session.read(&verb.corpus)?.diff_tokenizers(&verb.a, &verb.b)?;
    if session.json {
        return print::typed("tokenizer_diff", &found);
    }
    let rows = [
        ("kept", found.kept),
        ("moved", found.moved.len() as u64),
        ("removed", found.removed.len() as u64),
        ("added", found.added.len() as u64),
        ("merges kept", found.merges_kept),
        ("merges removed", found.merges_removed),
        ("merges added", found.merges_added),
    ];
    let rows: Vec<Vec<String>> =
        rows.map(|(name, count)| vec![name.to_owned(), print::number(count)]).to_vec();
    print::table(&["ids", "count"], &rows)?;
    let most = 10;
    for (token, from, to) in found.moved.iter().take(most) {
        print::line(&format!("moved {token:?}: {from} -> {to}"))?;
    }
    for (token, id) in found.removed.iter().take(most) {
        print::line(&format!("removed {token:?}: {id}"))?;
    }
    for (token, id) in found.added.iter().take(most) {
        print::line(&format!("added {token:?}: {id}"))?;
    }
    let compatible = if found.keeps_old_ids {
        "every old id keeps its token: ids of the first are ids of the second"
    } else {
        "old ids do not keep their tokens: ids of the first mean nothing to the second"
    };
    print::line(compatible)
}
