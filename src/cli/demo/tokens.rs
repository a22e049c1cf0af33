//! The demo's tokenizer: trained on the kept documents, registered, shown on a document.

use super::{Demo, Shape};
use crate::cli::print;
use corpusdb::curate::TrainingTexts;
use corpusdb::tokenizer::TrainOptions;
use std::time::Instant;

/// Tokens of a document shown.
const SHOWN: usize = 24;

/// What training gave.
pub(super) struct Trained {
    /// Ids of the tokenizer.
    pub(super) vocab_size: u32,
    /// Tokens of all kept documents.
    pub(super) tokens: u64,
    /// Bytes of text a token stands for.
    pub(super) bytes_per_token: f64,
    /// Seconds to train.
    pub(super) train_seconds: f64,
    /// Seconds to encode what is kept.
    pub(super) encode_seconds: f64,
}

/// Trains, registers and encodes.
pub(super) fn train(demo: &Demo<'_>, shape: &Shape) -> anyhow::Result<Trained> {
    let size = shape.vocab_size.to_string();
    demo.teller.command(&[
        "tokenizer",
        "train",
        &demo.corpus,
        shape.tokenizer,
        "--model",
        "bpe",
        "--vocab-size",
        &size,
    ])?;
    let session = demo.session;
    let mut writer = session.write(&demo.place.corpus())?;
    let started = Instant::now();
    let options = TrainOptions { vocab_size: shape.vocab_size, ..TrainOptions::default() };
    let on = TrainingTexts::default();
    let trained = writer.train_tokenizer(&options, &on, &session.context())?;
    let json = trained.json;
    let train_seconds = started.elapsed().as_secs_f64();
    super::stop_if_asked(&session.context())?;
    let lineage = format!("bpe, {size} ids, trained at commit {}", writer.view().commit());
    let started = Instant::now();
    let (record, _) = writer.add_tokenizer(shape.tokenizer, &json, &lineage, &session.context())?;
    let encode_seconds = started.elapsed().as_secs_f64();
    demo.end_bar();
    drop(writer);

    let info = demo.open()?.info()?;
    let tokens = info
        .tokenizers
        .iter()
        .filter(|tokenizer| tokenizer.name == shape.tokenizer)
        .map(|tokenizer| tokenizer.tokens)
        .sum();
    let bytes_per_token = info.kept_bytes as f64 / (tokens as f64).max(1.0);
    demo.teller.say("")?;
    demo.teller.prose(&format!(
        "{} ids learnt from {} of text in {train_seconds:.1} s; {} tokens encoded in {encode_seconds:.1} s: \
         {bytes_per_token:.2} bytes a token, {} encoder.",
        print::number(record.vocab_size.into()),
        print::size(info.kept_bytes),
        print::number(tokens),
        record.backend
    ))?;
    show(demo, shape)?;
    Ok(Trained {
        vocab_size: record.vocab_size,
        tokens,
        bytes_per_token,
        train_seconds,
        encode_seconds,
    })
}

/// The beginning of a document, its tokens set apart, and their ids as stored.
fn show(demo: &Demo<'_>, shape: &Shape) -> anyhow::Result<()> {
    let corpus = demo.open()?;
    let Some(document) = corpus.sample("kept AND tokens > 100", 1, 0)?.first().copied() else {
        return Ok(());
    };
    let tokens = corpus.tokens_of(document, Some(shape.tokenizer))?.tokens;
    let (pieces, count) = pieces(tokens.iter().map(|token| token.text.as_str()), SHOWN);
    let key = corpus.show(document)?.key;
    demo.teller.say("")?;
    demo.teller.prose(&format!(
        "Document {} ({}) begins so, tokens set apart by |:",
        document.0,
        demo.place.short(&key)
    ))?;
    for line in pieces.join("|").lines() {
        let line: String = line.chars().filter(|c| !c.is_control() || *c == '\t').collect();
        demo.teller.say(&format!("    {line}"))?;
    }
    let ids: Vec<String> = tokens.iter().take(count).map(|token| token.id.to_string()).collect();
    demo.teller.prose(&format!("As stored: {} ...", ids.join(" ")))
}

/// The first `count` tokens, and as many more as the last character needs: their texts, and how many tokens these are.
/// Tokens that share a character are one piece, since half a character cannot be shown.
fn pieces<'a>(texts: impl Iterator<Item = &'a str>, count: usize) -> (Vec<&'a str>, usize) {
    let (mut pieces, mut taken) = (Vec::new(), 0);
    for text in texts {
        // A token without a text of its own goes on with the character of the one before.
        if !text.is_empty() || pieces.is_empty() {
            if taken >= count {
                break;
            }
            pieces.push(text);
        }
        taken += 1;
    }
    (pieces, taken)
}

#[cfg(test)]
mod tests {
    use super::pieces;

    /// Each token was decoded by itself, and half a character shown as U+FFFD.
    #[test]
    fn a_sample_of_tokens_shows_whole_characters() {
        let texts = ["日", "", "", "本", "", " a", "b"];
        assert_eq!(pieces(texts.into_iter(), 2), (vec!["日"], 3));
        assert_eq!(pieces(texts.into_iter(), 4), (vec!["日", "本"], 5));
        assert_eq!(pieces(texts.into_iter(), 6), (vec!["日", "本", " a"], 6));
        assert_eq!(pieces(texts.into_iter(), 9), (vec!["日", "本", " a", "b"], 7));
    }
}
