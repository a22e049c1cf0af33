//! The demo's tokenizer: trained on the kept documents, registered, shown on a document.

use super::Demo;
use crate::cli::print;
use anyhow::Context as _;
use corpusdb::{TrainOptions, TrainedOn};
use std::collections::BTreeMap;
use std::time::Instant;

/// Its name in the corpus.
pub(super) const NAME: &str = "bpe-8k";
const VOCAB_SIZE: u32 = 8192;
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
pub(super) fn train(demo: &Demo<'_>) -> anyhow::Result<Trained> {
    let size = VOCAB_SIZE.to_string();
    demo.teller.command(&[
        "tokenizer",
        "train",
        &demo.corpus,
        NAME,
        "--model",
        "bpe",
        "--vocab-size",
        &size,
    ])?;
    let context = demo.context;
    let mut writer = context.write(&demo.place.corpus())?;
    let started = Instant::now();
    let options = TrainOptions { vocab_size: VOCAB_SIZE, ..TrainOptions::default() };
    let on = TrainedOn::default();
    let trained =
        writer.train_tokenizer(&options, &on, context.progress.as_ref(), &context.interrupt)?;
    let json = trained.json;
    let train_seconds = started.elapsed().as_secs_f64();
    super::stop_if_asked(&context.interrupt)?;
    let lineage = format!("bpe, {VOCAB_SIZE} ids, trained at commit {}", writer.view().commit());
    let started = Instant::now();
    let (record, _) = writer.add_tokenizer(
        NAME,
        &json,
        &lineage,
        context.progress.as_ref(),
        &context.interrupt,
    )?;
    let encode_seconds = started.elapsed().as_secs_f64();
    demo.end_bar();
    drop(writer);

    let info = demo.open()?.info()?;
    let tokens = info
        .tokenizers
        .iter()
        .filter(|tokenizer| tokenizer.name == NAME)
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
    show(demo, &json)?;
    Ok(Trained {
        vocab_size: record.vocab_size,
        tokens,
        bytes_per_token,
        train_seconds,
        encode_seconds,
    })
}

/// The beginning of a document, its tokens set apart, and their ids as stored.
fn show(demo: &Demo<'_>, json: &[u8]) -> anyhow::Result<()> {
    let corpus = demo.open()?;
    let view = corpus.view();
    let Some((tokenizer, _)) = view.tokenizer_named(NAME) else { return Ok(()) };
    let Some(document) = corpus.sample(Some("kept AND tokens > 100"), 1, 0)?.first().copied()
    else {
        return Ok(());
    };
    let mut ids = Vec::new();
    view.tokens(tokenizer, document, &mut ids).map_err(corpusdb::Error::from)?;
    ids.truncate(SHOWN);
    let spelled = spellings(json)?;
    let pieces: Vec<&str> =
        ids.iter().map(|id| spelled.get(id).map_or("?", String::as_str)).collect();
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
    let ids: Vec<String> = ids.iter().map(u32::to_string).collect();
    demo.teller.prose(&format!("As stored: {} ...", ids.join(" ")))
}

/// What each id stands for. Byte-level tokenizers spell every byte as a printable character.
fn spellings(json: &[u8]) -> anyhow::Result<BTreeMap<u32, String>> {
    let file: serde_json::Value = serde_json::from_slice(json).context("reading the tokenizer")?;
    let vocabulary = file.pointer("/model/vocab").and_then(|vocabulary| vocabulary.as_object());
    let bytes = bytes_of_characters();
    let spell = |(token, id): (&String, &serde_json::Value)| {
        let bytes: Vec<u8> = token.chars().filter_map(|c| bytes.get(&c).copied()).collect();
        Some((u32::try_from(id.as_u64()?).ok()?, String::from_utf8_lossy(&bytes).into_owned()))
    };
    Ok(vocabulary.into_iter().flatten().filter_map(spell).collect())
}

/// GPT-2's alphabet: printable Latin-1 stands for itself, the other bytes for U+0100 onwards.
fn bytes_of_characters() -> BTreeMap<char, u8> {
    let is_itself = |byte: &u8| matches!(byte, 33..=126 | 161..=172 | 174..=255);
    let themselves = (0..=255_u8).filter(is_itself).map(|byte| (char::from(byte), byte));
    let others = ('\u{100}'..).zip((0..=255_u8).filter(|byte| !is_itself(byte)));
    themselves.chain(others).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_its_character() {
        let bytes = bytes_of_characters();
        assert_eq!(bytes.len(), 256);
        assert_eq!((bytes[&'\u{120}'], bytes[&'\u{10a}'], bytes[&'a']), (b' ', b'\n', b'a'));
        let json = br#"{"model":{"vocab":{"\u0120fn":7,"\u00c3\u00a9":9}}}"#;
        let spelled = spellings(json).unwrap();
        assert_eq!((spelled[&7].as_str(), spelled[&9].as_str()), (" fn", "\u{e9}"));
    }
}
