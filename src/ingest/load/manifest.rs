//! The manifest of a load: the settings it was decided with, which must be those of the corpus.

use super::LoadOptions;
use crate::ingest::imported_row::TokenIdsColumn;
use files::input::{InputFormat, InputReader, ReadError, ReadItem, ReadOptions, expand};
use model::{Error, Interrupt, Policy, SIGNATURE_VERSION};
use serde::Deserialize;
use store::View;

/// The versions of the layout that are read: with the second one stored documents may stand otherwise.
const FORMATS: std::ops::RangeInclusive<u32> = 1..=2;

/// How the names of columns of token ids begin.
const IDS: &str = "_ids";

/// What stands in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LoadManifestFile {
    format: u32,
    signature_version: u32,
    policy: serde_json::Value,
    documents: u64,
    source: String,
    #[serde(default)]
    tokenizers: Vec<LoadTokenizer>,
    #[serde(default)]
    against: LoadBase,
    /// Documents of each shard, where the load is in shards.
    #[serde(default)]
    shards: Vec<u64>,
}

/// The corpus that the documents were decided against.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct LoadBase {
    documents: u64,
    /// The documents' [`StandingsDigest`](crate::dedup::StandingsDigest).
    #[serde(default)]
    standings: Option<String>,
    /// How many documents of the corpus have another standing with the load.
    #[serde(default)]
    changed: u64,
}

/// A tokenizer that the corpus must have.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LoadTokenizer {
    name: String,
    hash: String,
    /// The column with the ids that it makes of the texts.
    #[serde(default)]
    ids: Option<String>,
}

/// What the loader needs of it.
pub(super) struct LoadManifest {
    /// The folder with the documents that the corpus takes.
    pub(super) folder: String,
    /// How many these are.
    pub(super) documents: u64,
    /// Documents that the corpus must have before it.
    pub(super) before: u64,
    /// The digest of the standings that these documents must have, if the load has one.
    pub(super) standings: Option<String>,
    /// How many of these documents have another standing in the end.
    pub(super) changed: u64,
    /// The columns that have token ids.
    pub(super) ids: Vec<TokenIdsColumn>,
    /// The source of documents that name none, under which the files are booked.
    pub(super) source: String,
}

impl LoadManifest {
    /// Reads the manifest of a directory, here or in a store, and holds it against a corpus.
    ///
    /// # Errors
    /// [`Error`] when it cannot be read or is invalid, or the load was decided with other settings than the corpus has.
    pub(super) fn read(
        directory: &str,
        options: &LoadOptions,
        view: &View,
        interrupt: &Interrupt,
    ) -> Result<Self, Error> {
        let path = format!("{directory}/manifest");
        let fail = |why: &str| Error::bad_input(format!("{path}: {why}"));
        let read = ReadOptions {
            format: InputFormat::Json,
            whole: true,
            partitions: false,
            stores: options.stores.clone(),
            ..ReadOptions::default()
        };
        let files = match expand(std::slice::from_ref(&path), &read, interrupt) {
            Ok(inputs) => inputs.files,
            Err(ReadError::EmptyDirectory { .. }) => Vec::new(),
            Err(error) => return Err(error.into()),
        };
        // Spark leaves marks of its own beside what it writes.
        let mut files = files.iter().filter(|file| !file.name().starts_with(['_', '.']));
        let (Some(file), None) = (files.next(), files.next()) else {
            return Err(fail("there is not one file in it"));
        };
        let Some(ReadItem::Record(record)) = InputReader::open(file, &read)?.next()? else {
            return Err(fail("it is no JSON object"));
        };
        let told = |error: serde_json::Error| fail(&format!("not a manifest of a load: {error}"));
        let manifest: LoadManifestFile = serde_json::from_str(&record.metadata).map_err(told)?;
        let differs = |what: &str, has: &dyn std::fmt::Display, corpus: &dyn std::fmt::Display| {
            fail(&format!("the load was decided with {what} {has}, and the corpus has {corpus}"))
        };
        if !FORMATS.contains(&manifest.format) {
            let (has, first, last) = (manifest.format, FORMATS.start(), FORMATS.end());
            return Err(fail(&format!(
                "format {has} of loads; this release reads {first} to {last}"
            )));
        }
        if manifest.signature_version != SIGNATURE_VERSION {
            let (has, corpus) = (manifest.signature_version, SIGNATURE_VERSION);
            return Err(differs("signature version", &has, &corpus));
        }
        let policy: Policy = serde_json::from_value(manifest.policy.clone()).map_err(told)?;
        if policy != *view.policy() {
            return Err(differs("the policy", &policy, view.policy()));
        }
        refuse_changes(&manifest, &policy).map_err(|why| fail(&why))?;
        let mut ids = Vec::new();
        for LoadTokenizer { name, hash, ids: column } in &manifest.tokenizers {
            let of_corpus = view.tokenizers().find(|(_, record)| record.name == *name);
            let has =
                of_corpus.as_ref().map(|(_, record)| blake3::Hash::from(record.hash).to_hex());
            if has.as_ref().is_none_or(|has| has.as_str() != hash) {
                let has = has.as_ref().map_or("none of that name", |has| has.as_str());
                return Err(differs(&format!("tokenizer `{name}`"), hash, &has));
            }
            if let Some(((tokenizer, record), column)) = of_corpus.zip(column.as_ref()) {
                if !column.starts_with(IDS) {
                    let why = format!("the column {column:?} of token ids must begin with `{IDS}`");
                    return Err(fail(&why));
                }
                let (column, vocab_size) = (column.clone(), record.vocab_size);
                ids.push(TokenIdsColumn { column, tokenizer, vocab_size });
            }
        }
        let (folder, documents) =
            shard(&manifest.shards, manifest.documents, options.shard).map_err(|why| fail(&why))?;
        let LoadManifestFile { source, against, .. } = manifest;
        let LoadBase { documents: before, standings, changed } = against;
        Ok(Self { folder, documents, before, standings, changed, ids, source })
    }
}

/// Stored documents stand otherwise only by what a load can make them.
fn refuse_changes(manifest: &LoadManifestFile, policy: &Policy) -> Result<(), String> {
    let changed = manifest.against.changed;
    if changed == 0 {
        return Ok(());
    }
    if manifest.format < 2 {
        return Err(format!(
            "{changed} stored documents change their standing, which format 1 cannot express"
        ));
    }
    if !manifest.shards.is_empty() {
        return Err(format!(
            "{changed} stored documents change their standing, but the load is in shards, and ids belong to one corpus"
        ));
    }
    if policy.mode.is_transitive() {
        return Err(format!(
            "{changed} stored documents change their standing, which a load cannot do in mode `{}`: ingest the documents",
            policy.mode.name()
        ));
    }
    Ok(())
}

/// The folder that a corpus takes, and how many documents are in it: of a load of `all`, or of one of its shards.
fn shard(shards: &[u64], all: u64, asked: Option<u32>) -> Result<(String, u64), String> {
    let last = shards.len().saturating_sub(1);
    if !shards.is_empty()
        && shards.iter().try_fold(0_u64, |sum, of| sum.checked_add(*of)) != Some(all)
    {
        return Err(format!("its shards do not have {all} documents together"));
    }
    match (asked, shards) {
        (None, []) => Ok(("documents".to_owned(), all)),
        (None, _) => Err(format!(
            "the load is in {} shards, one for each corpus: give the one for this corpus, from 0 to {last} (`shard=`)",
            shards.len()
        )),
        (Some(asked), []) => Err(format!("the load is not in shards, and has no shard {asked}")),
        (Some(asked), shards) => match shards.get(asked as usize) {
            Some(documents) => Ok((format!("documents/shard={asked:05}"), *documents)),
            None => Err(format!("the load has the shards 0 to {last}, and no shard {asked}")),
        },
    }
}
