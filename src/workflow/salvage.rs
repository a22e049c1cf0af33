//! What is whole of a damaged corpus, copied into a new one by the ordinary way in, and a list of what is not.

use crate::corpus::{CorpusOptions, CorpusWriter};
use crate::curate::{self, BlockReach, NewSuite, StandingRules};
use crate::decide::{BlockKeys, Blocklist};
use crate::ingest::{IngestOptions, OnError, ReadOptions, Records};
use crate::model::{Context, DocId, Error, Standing, key_identity, note_little_room};
use crate::store::{self, DocumentRecord, StoreError, SuiteRecord, View, ranges};
use roaring::RoaringTreemap;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Members of the records that are handed over. No field of a document is called so.
const TEXT: &str = "\u{1}text";
const KEY: &str = "\u{1}key";
const SOURCE: &str = "\u{1}source";

/// Number of documents listed with the reason why they cannot be copied; the ids of all are reported.
const MOST: usize = 1000;

/// The result of a salvage.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SalvageReport {
    /// Documents of the damaged corpus, of every standing.
    pub documents: u64,
    /// Documents that were copied.
    pub copied: u64,
    /// Number of documents that are not intact.
    pub lost: u64,
    /// Their numbers: `3, 7 to 9`.
    pub lost_documents: String,
    /// The first of them, each with its key, where that can be read, and why.
    pub listed: Vec<LostDocument>,
    /// Purged documents, which have no content: their texts and keys may be ingested again.
    pub purged: u64,
    /// Documents that had been removed and are removed in the copy.
    pub removed: u64,
    /// What else was not copied, in words.
    pub left: Vec<String>,
}

/// A document that is not intact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct LostDocument {
    /// Its number in the damaged corpus.
    pub document: u64,
    /// Its key, where that can be read.
    pub key: Option<String>,
    /// Why.
    pub why: String,
}

impl CorpusOptions {
    /// Copies what is whole of the damaged corpus at `path` into a new one at `target`: documents with their keys,
    /// fields and sources, in their order; tokenizers and suites; what was removed is removed there too. All is decided
    /// again. What cannot be read is listed.
    ///
    /// # Errors
    /// [`StoreError`](crate::store::StoreError): no corpus, lost commits, damage to what all else needs (policy,
    /// sources), a target that is
    /// taken; [`IngestError`](crate::ingest::IngestError); [`Interrupted`](crate::Interrupted).
    pub fn salvage(
        self,
        path: impl AsRef<Path>,
        target: impl AsRef<Path>,
        context: &Context<'_>,
    ) -> Result<SalvageReport, Error> {
        let (path, target) = (path.as_ref(), target.as_ref());
        let each = self.among(1);
        let view = store::read_beside_damage(path, each.claim())?;
        // What is lost takes nothing, and nobody knows yet how much that is.
        let tables = view.disk_usage()?.iter().map(|(_, bytes)| *bytes).sum();
        note_little_room("the copy", target, tables, context);
        store::create(target, view.policy(), view.fields())?;
        let mut writer = each.open_writer(target)?;
        let mut report = SalvageReport { documents: view.documents(), ..SalvageReport::default() };
        copy_tokenizers(&view, &mut writer, &mut report, context)?;
        let rules = StandingRules::of(&view, Vec::new())?;
        copy_documents(&view, &rules, &mut writer, &mut report, context)?;
        remove_again(&view, &rules, &mut writer, &mut report, context)?;
        copy_suites(&view, &mut writer, &mut report, context)?;
        tell_left(&view, &mut report);
        Ok(report)
    }
}

/// What is known while documents are handed over, on a thread of the ingest.
#[derive(Default)]
struct CopyTally {
    copied: u64,
    purged: u64,
    lost: RoaringTreemap,
    listed: Vec<LostDocument>,
    spans: u64,
}

fn copy_documents(
    view: &View,
    rules: &StandingRules,
    writer: &mut CorpusWriter,
    report: &mut SalvageReport,
    context: &Context<'_>,
) -> Result<(), Error> {
    let tally = Arc::new(Mutex::new(CopyTally::default()));
    let known = Arc::clone(&tally);
    let objects = (0..view.documents()).map(DocId).filter_map(move |document| {
        let mut tally = known.lock().unwrap_or_else(PoisonError::into_inner);
        object(view, rules, document, &mut tally).map(|object| Ok::<_, StoreError>(Ok(object)))
    });
    let read = ReadOptions {
        text_field: Some(TEXT.to_owned()),
        id_field: Some(KEY.to_owned()),
        source_field: Some(SOURCE.to_owned()),
        max_doc_bytes: u64::MAX / 8,
        max_meta_bytes: u64::MAX / 8,
        max_key_bytes: u64::MAX / 8,
        ..ReadOptions::default()
    };
    let options = IngestOptions { read, on_error: OnError::Fail, ..IngestOptions::new("salvage") };
    writer.ingest(Records::objects("salvage", objects), &options, context)?;
    let tally = std::mem::take(&mut *tally.lock().unwrap_or_else(PoisonError::into_inner));
    report.copied = tally.copied;
    report.purged = tally.purged;
    report.lost = tally.lost.len();
    report.lost_documents = ranges(&tally.lost);
    report.listed = tally.listed;
    if tally.spans > 0 {
        let words =
            "trained tokens or ids that came with the records: all of their text is trained on";
        report.left.push(format!("{} documents: {words}", tally.spans));
    }
    Ok(())
}

/// A document as a record; `None` for a lost or purged one.
fn object(
    view: &View,
    rules: &StandingRules,
    document: DocId,
    tally: &mut CopyTally,
) -> Option<String> {
    let mut key = None;
    match read(view, rules, document, &mut key) {
        Ok(Copied::Purged) => {
            tally.purged += 1;
            None
        }
        Ok(Copied::Whole { object, has_form }) => {
            tally.copied += 1;
            tally.spans += u64::from(has_form);
            Some(object)
        }
        Err(error) => {
            tally.lost.insert(document.0);
            if tally.listed.len() < MOST {
                let why = error.to_string();
                tally.listed.push(LostDocument { document: document.0, key, why });
            }
            None
        }
    }
}

/// What of a document can be copied.
enum Copied {
    /// Nothing: it was purged.
    Purged,
    /// All of it.
    Whole {
        object: String,
        /// Whether not all of its text is trained on, or its ids came with it.
        has_form: bool,
    },
}

fn read(
    view: &View,
    rules: &StandingRules,
    document: DocId,
    key: &mut Option<String>,
) -> Result<Copied, Error> {
    let header = view.expect_header(document)?;
    key.clone_from(&header.key);
    if rules.read(view, document)? == Standing::Purged {
        return Ok(Copied::Purged);
    }
    let text = view.text_of_owner(header.text_owner(document))?;
    if blake3::hash(text.as_bytes()).as_bytes().get(..16) != Some(header.raw.as_slice()) {
        let (what, family) = ("text that was stored", "texts");
        return Err(StoreError::Missing { what, family, key: document.to_string() }.into());
    }
    let metadata = view.metadata(document)?;
    let (source, shown) = (view.source_name(header.source), shown_key(view, document, &header));
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let members: [(&str, &str); 3] = [(SOURCE, source), (KEY, &shown), (TEXT, &text)];
    let members = members.map(|(name, value)| format!("{}:{}", quoted(name), quoted(value)));
    let own = metadata.trim().strip_prefix('{').unwrap_or("}");
    let comma = if own.trim_start().starts_with('}') { "" } else { "," };
    let object = format!("{{{}{comma}{own}", members.join(","));
    let has_form = view.text_form(document).ok().flatten().is_some();
    Ok(Copied::Whole { object, has_form })
}

/// The key that a document has in the copy: its own, or the place where it was read.
fn shown_key(view: &View, document: DocId, header: &DocumentRecord) -> String {
    let shown = view.display_key(document, header);
    shown.unwrap_or_else(|_| format!("document {document}"))
}

/// How far the removal of a document blocks, as far as that can be read.
fn reach(
    view: &View,
    blocklist: &Blocklist<'_>,
    document: DocId,
    header: &DocumentRecord,
) -> BlockReach {
    let of = BlockKeys::of_removed(view, document, header, blocklist.reach());
    of.and_then(|of| blocklist.reach_of(document, &of)).unwrap_or_default()
}

fn remove_again(
    view: &View,
    rules: &StandingRules,
    writer: &mut CorpusWriter,
    report: &mut SalvageReport,
    context: &Context<'_>,
) -> Result<(), Error> {
    let mut by_reach: BTreeMap<BlockReach, RoaringTreemap> = BTreeMap::new();
    let blocklist = Blocklist::new(view).ok();
    for document in rules.removed(view).iter().map(DocId) {
        // Those that are lost were not copied.
        let Ok(header) = view.expect_header(document) else { continue };
        let source = view.source_name(header.source);
        let identity = key_identity(source, &shown_key(view, document, &header));
        if let [Some(found)] = writer.view().identities(&[identity])?.as_slice() {
            let blocklist = blocklist.as_ref();
            let reach = blocklist.map(|blocklist| reach(view, blocklist, document, &header));
            by_reach.entry(reach.unwrap_or_default()).or_default().insert(found.0);
        }
    }
    for (reach, documents) in by_reach {
        report.removed += writer.remove(&documents, reach, context)?.changed;
    }
    Ok(())
}

fn copy_tokenizers(
    view: &View,
    writer: &mut CorpusWriter,
    report: &mut SalvageReport,
    context: &Context<'_>,
) -> Result<(), Error> {
    for (id, record) in view.tokenizers() {
        match view.tokenizer_file(id) {
            Ok(json) => {
                writer.add_tokenizer(&record.name, &json, &record.lineage, context)?;
            }
            Err(error) => report.left.push(format!("tokenizer {}: {error}", record.name)),
        }
    }
    Ok(())
}

fn copy_suites(
    view: &View,
    writer: &mut CorpusWriter,
    report: &mut SalvageReport,
    context: &Context<'_>,
) -> Result<(), Error> {
    let suites = match view.suites() {
        Ok(suites) => suites.to_vec(),
        Err(error) => {
            report.left.push(format!("suites: {error}"));
            return Ok(());
        }
    };
    for (suite, record) in suites {
        let items = view.suite_items(suite).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        match items {
            Ok(items) => {
                let SuiteRecord { name, files, normaliser, rule, .. } = &record;
                let (normaliser, rule) = (*normaliser, *rule);
                let new = NewSuite { name, items: &items, files, normaliser, rule };
                curate::add_suite(writer.store(), &new, context)?;
            }
            Err(error) => report.left.push(format!("suite {}: {error}", record.name)),
        }
    }
    Ok(())
}

/// What lives in the damaged corpus alone.
fn tell_left(view: &View, report: &mut SalvageReport) {
    let mut tell = |what: &str, count: Result<usize, StoreError>| match count {
        Ok(0) => {}
        Ok(count) => report.left.push(format!("{count} {what}")),
        Err(error) => report.left.push(format!("{what}: {error}")),
    };
    tell("snapshots", view.snapshots().map(|all| all.len()));
    tell("stored plans", view.epochs().map(|all| all.len()));
    let rejects = usize::try_from(view.state().rejects).unwrap_or(usize::MAX);
    tell("records that could not be read", Ok(rejects));
    let verdicts = view.suites().and_then(|suites| {
        let mut count = 0;
        for (suite, _) in suites {
            count += view.verdicts(*suite)?.count();
        }
        Ok(count)
    });
    tell("verdicts", verdicts);
}
