//! `corpusdb tokenizer train`: learns a tokenizer from what is stored.

use super::told;
use crate::cli::print;
use crate::cli::session::{CommandSession, bytes};
use crate::cli::text_file::read_text;
use anyhow::Context as _;
use clap::ValueEnum;
use corpusdb::curate::{TextGrouping, TrainingResult, TrainingTexts};
use corpusdb::tokenizer::{Digits, ModelKind, NewTokenizer, Normalizer, Pattern, TrainOptions};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Train a tokenizer on the kept documents, register it and encode what is stored
///
/// Equal to the stock trainer of the `tokenizers` library on the same texts, unless counts are weighed or too large for
/// it. The same corpus and options give the same file.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  corpusdb tokenizer train crawl own-32k --vocab-size 32768 --pattern llama3\n  corpusdb tokenizer train crawl multi --model unigram --byte-fallback --by language --alpha 0.3\n  corpusdb tokenizer train crawl code --where \"source = 'code'\" --digits single --reserve 64"
)]
pub(in crate::cli) struct Train {
    /// The corpus
    corpus: PathBuf,
    /// The name it gets
    name: String,
    /// The kind of model
    #[arg(long, value_enum, default_value_t = Model::Bpe)]
    model: Model,
    /// Tokens to end with: special and reserved ones, bytes and characters included
    #[arg(long, default_value_t = 32_768, value_name = "N")]
    vocab_size: u32,
    /// Train on the kept documents of this SQL condition
    #[arg(long = "where", value_name = "SQL")]
    condition: Option<String>,
    /// What --alpha, --weights and the report tell apart
    #[arg(long, value_enum, default_value_t = By::Language)]
    by: By,
    /// Even groups out: one with the share p of all bytes counts as if it had p^A (1: as it is, 0: all equal)
    #[arg(long, value_name = "A", default_value_t = 1.0)]
    alpha: f64,
    /// A JSON object of factors on the counts of groups, after --alpha
    #[arg(long, value_name = "FILE")]
    weights: Option<PathBuf>,
    /// BPE on characters as SentencePiece has it, not on bytes; rare characters fall back to bytes. For Unigram: the
    /// fall-back
    #[arg(long)]
    byte_fallback: bool,
    /// BPE on characters with `</w>` at the end of each word, split at white space, as the first BPE for text and GPT-1
    #[arg(long, conflicts_with_all = ["byte_fallback", "pattern"])]
    end_of_word: bool,
    /// How numbers are split
    #[arg(long, value_enum, default_value_t = DigitSplit::Keep)]
    digits: DigitSplit,
    /// Reserve N special tokens, <|reserved_0|> and on
    #[arg(long, value_name = "N", default_value_t = 0)]
    reserve: u32,
    /// Special tokens, first ids first
    #[arg(long = "special", value_name = "TOKEN", default_value = "<|endoftext|>")]
    specials: Vec<String>,
    /// The split pattern of byte-level BPE: gpt2, cl100k, llama3, o200k, qwen2, tekken, or a regular expression
    /// [default: gpt2]
    #[arg(long, value_name = "NAME|REGEX")]
    pattern: Option<String>,
    /// The Unicode normal form that texts are brought to first
    #[arg(long, value_enum, default_value_t = Form::None)]
    normalizer: Form,
    /// Share of the characters that become tokens; the rarest beyond are left out [default: 0.9995; byte-level BPE has
    /// all]
    #[arg(long, value_name = "C")]
    character_coverage: Option<f64>,
    /// Train on a uniform sample of about so much text
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    sample_bytes: Option<u64>,
    /// The least count of a pair that becomes a token
    #[arg(long, value_name = "N", default_value_t = 2)]
    min_frequency: u64,
    /// The longest token, in symbols of the model (bytes, where it is byte-level)
    #[arg(long, value_name = "N")]
    max_token_length: Option<u32>,
    /// A file of texts, one a line, that must be one token each
    #[arg(long, value_name = "FILE")]
    seed_tokens: Option<PathBuf>,
    /// Register only; `tokenizer backfill`, or the next ingest, encodes what is stored
    #[arg(long)]
    no_backfill: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Model {
    /// Byte-pair encoding: byte-level, or on characters with --byte-fallback
    Bpe,
    /// BERT's WordPiece
    Wordpiece,
    /// The unigram language model of SentencePiece
    Unigram,
}

#[derive(Clone, Copy, ValueEnum)]
enum By {
    /// The field `language`
    Language,
    /// The source
    Source,
}

#[derive(Clone, Copy, ValueEnum)]
enum DigitSplit {
    /// Every digit by itself
    Single,
    /// Groups of up to three, from the left
    #[value(name = "groups-of-3")]
    GroupsOf3,
    /// As the split pattern has it
    Keep,
}

#[derive(Clone, Copy, ValueEnum)]
enum Form {
    /// Canonical composition
    Nfc,
    /// Compatibility composition
    Nfkc,
    /// Texts as they are
    None,
}

pub(super) fn run(verb: &Train, session: &CommandSession) -> anyhow::Result<()> {
    let options = options(verb)?;
    let mut writer = session.write(&verb.corpus)?;
    let on = TrainingTexts {
        condition: verb.condition.clone(),
        grouping: match verb.by {
            By::Language => TextGrouping::Language,
            By::Source => TextGrouping::Source,
        },
        sample_bytes: verb.sample_bytes,
    };
    let TrainingResult { json, decisions } =
        writer.train_tokenizer(&options, &on, &session.context())?;
    let kind = match verb.model {
        Model::Bpe => "bpe",
        Model::Wordpiece => "wordpiece",
        Model::Unigram => "unigram",
    };
    let lineage = format!(
        "{kind}, {} ids, trained at commit {}",
        decisions.report.vocab_size,
        writer.view().commit()
    );
    let told = serde_json::to_vec(&decisions)?;
    let new = NewTokenizer {
        name: &verb.name,
        json: &json,
        lineage: &lineage,
        decisions: Some(&told),
        ..NewTokenizer::default()
    };
    let record = writer.register(&new)?;
    if !session.json {
        groups(&decisions)?;
    }
    if verb.no_backfill {
        return told::record(&record, None, session);
    }
    let added = writer.backfill(&verb.name, &session.context())?;
    told::record(&added.record, Some(&added), session)
}

fn options(verb: &Train) -> anyhow::Result<TrainOptions> {
    let pattern = verb.pattern.as_deref().map(Pattern::parse).transpose();
    let weights: BTreeMap<String, f64> = match &verb.weights {
        Some(file) => serde_json::from_str(&read_text(file)?).with_context(|| {
            format!("{}: not a JSON object of numbers, such as {{\"de\": 2.0}}", file.display())
        })?,
        None => BTreeMap::new(),
    };
    let seed_tokens = match &verb.seed_tokens {
        Some(file) => {
            read_text(file)?.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
        }
        None => Vec::new(),
    };
    Ok(TrainOptions {
        model: match verb.model {
            Model::Bpe => ModelKind::Bpe,
            Model::Wordpiece => ModelKind::WordPiece,
            Model::Unigram => ModelKind::Unigram,
        },
        vocab_size: verb.vocab_size,
        byte_fallback: verb.byte_fallback,
        end_of_word: verb.end_of_word,
        digits: match verb.digits {
            DigitSplit::Single => Digits::Single,
            DigitSplit::GroupsOf3 => Digits::GroupsOf3,
            DigitSplit::Keep => Digits::Keep,
        },
        reserve: verb.reserve,
        specials: verb.specials.clone(),
        pattern: pattern.map_err(corpusdb::Error::from)?,
        normalizer: match verb.normalizer {
            Form::Nfc => Normalizer::Nfc,
            Form::Nfkc => Normalizer::Nfkc,
            Form::None => Normalizer::None,
        },
        character_coverage: verb.character_coverage,
        min_frequency: verb.min_frequency,
        max_token_length: verb.max_token_length,
        alpha: verb.alpha,
        weights,
        seed_tokens,
    })
}

/// Coverage and compression of the groups, the largest first.
fn groups(decisions: &corpusdb::curate::TrainingRecord) -> anyhow::Result<()> {
    const MOST: usize = 12;
    let mut groups: Vec<_> =
        decisions.report.groups.iter().zip(&decisions.bytes_per_token).collect();
    groups.sort_by_key(|(group, _)| std::cmp::Reverse(group.mass.bytes));
    let rows: Vec<Vec<String>> = groups
        .iter()
        .take(MOST)
        .map(|(group, bytes_per_token)| {
            vec![
                group.name.clone(),
                print::size(group.mass.bytes),
                format!("{:.3}", group.weight),
                format!("{:.4}", group.character_coverage),
                bytes_per_token.map_or("-".to_owned(), |bytes| format!("{bytes:.2}")),
            ]
        })
        .collect();
    print::table(&["group", "text", "weight", "characters covered", "bytes a token"], &rows)?;
    if groups.len() > MOST {
        print::line(&format!("and {} more: `tokenizer show`", groups.len() - MOST))?;
    }
    Ok(())
}
