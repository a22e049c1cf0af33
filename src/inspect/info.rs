//! The summary of a corpus, as `corpusdb info` prints it.

use super::snapshots::SnapshotInfo;
use crate::corpus::mixed;
use crate::inspect::InspectError;
use crate::inspect::contamination::suites;
use crate::inspect::fields;
use crate::inspect::policy_settings::{PolicySetting, policy_settings};
use model::{CommitSeq, FieldDeclaration, Policy, Standing, hexadecimal, shown_timestamp};
use roaring::RoaringTreemap;
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use store::{CommitRecord, SourceRecord, TokenizerRecord, View};

/// Commits listed, newest last.
const LISTED: u64 = 10;

/// The rule for NULL in the column `tokens`, in the words of the column's own description.
const TOKENS_RULE: &str = "in SQL, `tokens` is NULL for documents that the tokenizer has not encoded: it encodes documents that are kept, now or in a snapshot; a later removal does not change it";

/// What a corpus holds.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CorpusInfo {
    /// Bytes of the tables of each column family.
    pub disk: Vec<DiskInfo>,
    /// The dedup policy, in words.
    pub policy: String,
    /// The dedup policy.
    pub policy_settings: Policy,
    /// Its settings with what they mean.
    pub settings: Vec<PolicySetting>,
    /// The last commit.
    pub commit: u64,
    /// The policy generation.
    pub generation: u32,
    /// How many documents are stored, kept or not.
    pub documents: u64,
    /// How many documents are kept.
    pub kept: u64,
    /// Documents of each standing that has any.
    pub standings: Vec<StandingCount>,
    /// UTF-8 bytes of the texts of all stored documents.
    pub bytes: u64,
    /// UTF-8 bytes of the texts of kept documents.
    pub kept_bytes: u64,
    /// Rejected records.
    pub rejects: u64,
    /// Sources with their counters.
    pub sources: Vec<SourceInfo>,
    /// The registered tokenizers.
    pub tokenizers: Vec<TokenizerInfo>,
    /// Which documents have a number of tokens in SQL, in words.
    pub tokens_rule: &'static str,
    /// The fields that `init` declared.
    pub fields: Vec<FieldInfo>,
    /// Stored signals of which some documents may have the values of an earlier release's rule, until `signals add`
    /// computes them again.
    pub outdated_signals: Vec<&'static str>,
    /// The declared fields of which some documents may have the values of an earlier release's rule, until `field drop` and
    /// `field add` index all again.
    pub outdated_fields: Vec<String>,
    /// The sources of which several chat templates wrote the texts of kept documents (or one with several values), with how
    /// many: `corpusdb show --json` has that of a document.
    pub mixed_templates: BTreeMap<String, u64>,
    /// The suites of contamination, by name.
    pub suites: Vec<SuiteInfo>,
    /// The suites whose items an earlier release's rule read of their records: `contamination add` reads them anew.
    pub outdated_suites: Vec<String>,
    /// The ten newest commits, newest last.
    pub commits: Vec<CommitInfo>,
    /// The named snapshots, by name.
    pub snapshots: Vec<SnapshotInfo>,
    /// The stored plans.
    pub epochs: Vec<EpochInfo>,
}

/// Documents of one standing.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct StandingCount {
    /// The standing.
    pub standing: &'static str,
    /// Documents.
    pub documents: u64,
}

/// A source and its counters.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SourceInfo {
    /// The name of the source.
    pub name: String,
    /// How many documents of it are stored, kept or not.
    pub documents: u64,
    /// How many documents of it are kept.
    pub kept: u64,
    /// UTF-8 bytes of the texts of all stored documents.
    pub bytes: u64,
    /// UTF-8 bytes of the texts of kept documents.
    pub kept_bytes: u64,
    /// Tokens of kept documents, by tokenizer.
    pub tokens: Map<String, Value>,
}

/// What is stored about a tokenizer, and how many tokens the kept documents have by it.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TokenizerInfo {
    /// The name of the tokenizer.
    pub name: String,
    /// One more than its largest id.
    pub vocab_size: u32,
    /// blake3 of its file, in hexadecimal.
    pub hash: String,
    /// The encoder that passed the self-test.
    pub backend: String,
    /// Where it came from.
    pub lineage: String,
    /// Tokens of kept documents.
    pub tokens: u64,
}

/// A declared field.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct FieldInfo {
    /// The name of the field.
    pub name: String,
    /// `keyword`, `int`, `float`, `bool` or `timestamp`.
    pub kind: &'static str,
}

/// One commit: what made it, and what it changed.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CommitInfo {
    /// The number of the commit.
    pub commit: u64,
    /// The work that made it.
    pub kind: String,
    /// The source, tokenizer, snapshot or epoch concerned.
    pub subject: String,
    /// How many documents it added.
    pub added: u64,
    /// Documents added that were kept.
    pub kept: u64,
    /// Stored documents whose standing changed.
    pub changed: u64,
    /// How many records it rejected.
    pub rejected: u64,
    /// Why documents were removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The condition that selected them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// The time in UTC, by the caller's clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
}

/// A suite of evaluation items.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SuiteInfo {
    /// The name of the suite.
    pub name: String,
    /// How many items it has.
    pub items: u64,
}

/// An epoch plan.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct EpochInfo {
    /// The number of the plan.
    pub number: u32,
    /// blake3 of the plan, in hexadecimal.
    pub hash: String,
    /// The snapshot it pins.
    pub snapshot: String,
}

/// The tables of one column family on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DiskInfo {
    /// The family (docs/reference/format.md).
    pub family: &'static str,
    /// Bytes of its tables; rows still in the log are not counted.
    pub bytes: u64,
}

/// How many documents, of all or of a set, have each standing, in the order of [`Standing::ALL`]; standings of none are
/// left out.
pub(super) fn standing_counts(
    view: &View,
    among: Option<&RoaringTreemap>,
) -> Result<Vec<StandingCount>, InspectError> {
    let mut counts = Vec::new();
    for standing in Standing::ALL {
        let all = view.documents_standing(standing)?;
        let documents = among.map_or_else(|| all.len(), |among| all.intersection_len(among));
        if documents > 0 {
            counts.push(StandingCount { standing: standing.name(), documents });
        }
    }
    Ok(counts)
}

/// What a corpus holds: policy, counts, sources, tokenizers, fields, commits, snapshots, epochs.
///
/// # Errors
/// [`InspectError`] when a row cannot be read.
pub fn info(view: &View) -> Result<CorpusInfo, InspectError> {
    let standings = standing_counts(view, None)?;
    let commits = view.last_commits(LISTED)?;
    let sum = |of: fn(&SourceRecord) -> u64| view.sources().map(|(_, record)| of(record)).sum();
    let tokens = |record: &SourceRecord, id: u16| {
        record.tokens.iter().find(|(tokenizer, _)| *tokenizer == id).map_or(0, |(_, count)| *count)
    };
    let source = |record: &SourceRecord| SourceInfo {
        name: record.name.clone(),
        documents: record.documents,
        kept: record.kept,
        bytes: record.bytes,
        kept_bytes: record.kept_bytes,
        tokens: view
            .own_tokenizers()
            .map(|(id, tokenizer)| (tokenizer.name.clone(), Value::from(tokens(record, id.0))))
            .collect(),
    };
    let tokenizer = |id: u16, record: &TokenizerRecord| TokenizerInfo {
        name: record.name.clone(),
        vocab_size: record.vocab_size,
        hash: hexadecimal(&record.hash),
        backend: record.backend.clone(),
        lineage: record.lineage.clone(),
        tokens: view.sources().map(|(_, source)| tokens(source, id)).sum(),
    };
    let (suites, outdated): (Vec<SuiteInfo>, Vec<bool>) = suites(view)?
        .into_iter()
        .map(|suite| (SuiteInfo { name: suite.suite, items: suite.items }, suite.outdated))
        .unzip();
    let disk = view.disk_usage()?.into_iter().map(|(family, bytes)| DiskInfo { family, bytes });
    Ok(CorpusInfo {
        disk: disk.collect(),
        policy: view.policy().to_string(),
        policy_settings: view.policy().clone(),
        settings: policy_settings(view.policy()),
        commit: view.commit().0,
        generation: view.generation().0,
        documents: view.documents(),
        kept: view.state().kept,
        standings,
        bytes: sum(|record| record.bytes),
        kept_bytes: sum(|record| record.kept_bytes),
        rejects: view.state().rejects,
        sources: view.sources().map(|(_, record)| source(record)).collect(),
        tokenizers: view.own_tokenizers().map(|(id, record)| tokenizer(id.0, record)).collect(),
        tokens_rule: TOKENS_RULE,
        fields: view.fields().iter().map(FieldInfo::from).collect(),
        outdated_signals: fields::outdated(view),
        outdated_fields: outdated_fields(view),
        mixed_templates: mixed(view.templates_of(|| view.kept())?),
        outdated_suites: suites
            .iter()
            .zip(outdated)
            .filter(|(_, is_outdated)| *is_outdated)
            .map(|(suite, _)| suite.name.clone())
            .collect(),
        suites,
        commits: commits.into_iter().map(CommitInfo::from).collect(),
        snapshots: view.snapshots()?.into_iter().map(SnapshotInfo::from).collect(),
        epochs: view
            .epochs()?
            .into_iter()
            .map(|record| EpochInfo {
                number: record.number,
                hash: hexadecimal(&record.hash),
                snapshot: record.snapshot,
            })
            .collect(),
    })
}

/// Fields with values of records that were read by an earlier rule.
fn outdated_fields(view: &View) -> Vec<String> {
    let is_computed = |field: &FieldDeclaration| {
        view.added_field(field.id).is_some_and(|record| record.expression.is_some())
    };
    let fields = view.fields().iter();
    let earlier = fields.filter(|field| field.rule < field.kind.rule() && !is_computed(field));
    earlier.map(|field| field.name.clone()).collect()
}

impl From<&FieldDeclaration> for FieldInfo {
    fn from(field: &FieldDeclaration) -> Self {
        Self { name: field.name.clone(), kind: field.kind.name() }
    }
}

impl From<(CommitSeq, CommitRecord)> for CommitInfo {
    fn from((commit, record): (CommitSeq, CommitRecord)) -> Self {
        Self {
            commit: commit.0,
            kind: record.kind,
            subject: record.subject,
            added: record.added,
            kept: record.kept,
            changed: record.changed,
            rejected: record.rejected,
            reason: record.reason,
            condition: record.condition,
            time: record.time.map(shown_timestamp),
        }
    }
}
