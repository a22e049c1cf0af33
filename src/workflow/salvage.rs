//! Copies what is intact in a damaged corpus into a new one by the ordinary ingest, and lists the rest.

use crate::corpus::{CorpusOptions, CorpusWriter};
use crate::curate::{self, BlockReach, BlocksBefore, NewSuite};
use crate::decide::{BlockExtent, BlockKeys, Blocklist};
use crate::epoch;
use crate::ingest::{IngestOptions, OnError, ReadOptions, Records};
use model::{Context, DocId, Error, Standing, key_identity, note_little_room};
use roaring::RoaringTreemap;
use serde::Serialize;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use store::{self, DamagedCorpus, DocumentPlace, StoreError, SuiteRecord, View, lost_name, ranges};

/// Members of the records for the copy, beginning with a character that no field of a document has.
const TEXT: &str = "\u{1}text";
const KEY: &str = "\u{1}key";
const SOURCE: &str = "\u{1}source";

/// Documents that are listed with the reason why they cannot be copied, at most; ids are reported of all.
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
    /// Documents that were copied without their metadata, which cannot be read.
    pub bare: u64,
    /// Their numbers.
    pub bare_documents: String,
    /// Snapshots that were copied.
    pub snapshots: u64,
    /// Stored plans that were copied: their epochs are the same bytes.
    pub plans: u64,
    /// What cannot be read beside documents, and what the copy lacks for it, in words.
    pub damage: Vec<String>,
    /// What else was not copied, though it may be whole, in words.
    pub left: Vec<String>,
}

impl SalvageReport {
    /// Whether everything could be read.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.lost == 0 && self.bare == 0 && self.damage.is_empty()
    }

    /// Turns an error in a part that can be left out into a sentence of the report; an interrupt stays an error.
    fn leave(&mut self, what: &str, error: Error) -> Result<(), Error> {
        if error.is_interrupt() {
            return Err(error);
        }
        self.damage.push(format!("{what}: {error}"));
        Ok(())
    }
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
    /// fields and sources, in their order; snapshots, tokenizers, suites and plans; what was removed is removed there too. All
    /// is decided again. What cannot be read is listed. Texts and headers are enough; a failure leaves no target.
    ///
    /// # Errors
    /// [`StoreError`](crate::store::StoreError): no corpus, another writer, a target that is taken;
    /// [`Error`]; [`Interrupted`](crate::Interrupted).
    pub fn salvage(
        self,
        path: impl AsRef<Path>,
        target: impl AsRef<Path>,
        context: &Context<'_>,
    ) -> Result<SalvageReport, Error> {
        let (path, target) = (path.as_ref(), target.as_ref());
        let each = self.among(1);
        let damaged = store::read_damaged(path, each.claim())?;
        // Damaged tables need no room in the copy, but their size is not known yet.
        let tables = damaged.view.disk_usage()?.iter().map(|(_, bytes)| *bytes).sum();
        note_little_room("the copy", target, tables, context);
        let was_there = target.exists();
        let is_taken = |error: &StoreError| {
            matches!(error, StoreError::AlreadyExists { .. } | StoreError::HalfMade { .. })
        };
        match store::create(target, damaged.view.policy(), damaged.view.fields()) {
            Err(error) if is_taken(&error) => return Err(error.into()),
            made => {
                made.map_err(Error::from).and_then(|()| each.copy_whole(damaged, target, context))
            }
        }
        .inspect_err(|_| discard(target, was_there))
    }

    fn copy_whole(
        self,
        damaged: DamagedCorpus,
        target: &Path,
        context: &Context<'_>,
    ) -> Result<SalvageReport, Error> {
        let view = &damaged.view;
        let mut writer = self.open_writer(target)?;
        let damage = damaged.damage.clone();
        let mut report =
            SalvageReport { documents: view.documents(), damage, ..SalvageReport::default() };
        let [removed, purged] = view.gone_beside_damage(context, &mut report.damage)?;
        let (copied, has_forms) = copy_documents(view, purged, &mut writer, &mut report, context)?;
        copy_snapshots(view, &copied, &mut writer, &mut report)?;
        remove_again(view, (&removed, &copied), &mut writer, &mut report, context)?;
        // After snapshots, so that the documents that these keep are encoded, too.
        copy_tokenizers(view, &mut writer, &mut report, context)?;
        copy_suites(view, &mut writer, &mut report, context)?;
        copy_plans(view, (&copied, has_forms), &mut writer, &mut report, context)?;
        tell_left(view, &mut report);
        Ok(report)
    }
}

/// Removes what was made at the target, but not a directory that was there before.
fn discard(target: &Path, was_there: bool) {
    if !was_there {
        let _ = std::fs::remove_dir_all(target);
        return;
    }
    for entry in std::fs::read_dir(target).into_iter().flatten().flatten() {
        let path = entry.path();
        let _ = std::fs::remove_dir_all(&path).or_else(|_| std::fs::remove_file(&path));
    }
}

/// Counts of the copy, kept on the thread of the ingest that takes the documents.
#[derive(Default)]
struct CopyTally {
    copied: RoaringTreemap,
    bare: RoaringTreemap,
    purged: u64,
    lost: RoaringTreemap,
    listed: Vec<LostDocument>,
    spans: u64,
}

/// Copies the documents. Returns their numbers, which the copy has in the same order, and whether any is trained on in
/// part only, or came with its ids.
fn copy_documents(
    view: &View,
    purged: RoaringTreemap,
    writer: &mut CorpusWriter,
    report: &mut SalvageReport,
    context: &Context<'_>,
) -> Result<(RoaringTreemap, bool), Error> {
    let tally = Arc::new(Mutex::new(CopyTally::default()));
    let known = Arc::clone(&tally);
    let objects = (0..view.documents()).map(DocId).filter_map(move |document| {
        let mut tally = known.lock().unwrap_or_else(PoisonError::into_inner);
        object(view, &purged, document, &mut tally).map(|object| Ok::<_, StoreError>(Ok(object)))
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
    report.copied = tally.copied.len();
    report.bare = tally.bare.len();
    report.bare_documents = ranges(&tally.bare);
    report.purged = tally.purged;
    report.lost = tally.lost.len();
    report.lost_documents = ranges(&tally.lost);
    report.listed = tally.listed;
    if tally.spans > 0 {
        let words =
            "trained tokens or ids that came with the records: all of their text is trained on";
        report.left.push(format!("{} documents: {words}", tally.spans));
    }
    Ok((tally.copied, tally.spans > 0))
}

/// A document as a record; `None` for one that is lost or purged.
fn object(
    view: &View,
    purged: &RoaringTreemap,
    document: DocId,
    tally: &mut CopyTally,
) -> Option<String> {
    if purged.contains(document.0) {
        tally.purged += 1;
        return None;
    }
    let mut key = None;
    match read(view, document, &mut key) {
        Ok(CopiedDocument { object, has_form, is_bare }) => {
            tally.copied.insert(document.0);
            tally.spans += u64::from(has_form);
            if is_bare {
                tally.bare.insert(document.0);
            }
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

struct CopiedDocument {
    object: String,
    /// Whether the text is trained on in part only, or the ids came with it.
    has_form: bool,
    /// Whether the metadata cannot be read.
    is_bare: bool,
}

fn read(view: &View, document: DocId, key: &mut Option<String>) -> Result<CopiedDocument, Error> {
    let place = view.place(document)?;
    *key = view.key(document)?;
    let text = view.text_of_owner(place.text_owner(document))?;
    let raw = view.print(document)?.raw;
    if blake3::hash(text.as_bytes()).as_bytes().get(..16) != Some(raw.as_slice()) {
        let (what, family) = ("text that was stored", "text_pages");
        return Err(StoreError::Missing { what, family, key: document.to_string() }.into());
    }
    let metadata = view.metadata(document);
    let is_bare = metadata.is_err();
    let metadata = metadata.unwrap_or_else(|_| "{}".to_owned());
    let (source, shown) = (source_name(view, &place), shown_key(view, document));
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let members: [(&str, &str); 3] = [(SOURCE, &source), (KEY, &shown), (TEXT, &text)];
    let members = members.map(|(name, value)| format!("{}:{}", quoted(name), quoted(value)));
    let own = metadata.trim().strip_prefix('{').unwrap_or("}");
    let comma = if own.trim_start().starts_with('}') { "" } else { "," };
    let object = format!("{{{}{comma}{own}", members.join(","));
    let has_form = view.text_form(document).ok().flatten().is_some();
    Ok(CopiedDocument { object, has_form, is_bare })
}

/// The source that a document has in the copy.
fn source_name(view: &View, place: &DocumentPlace) -> String {
    let known = view.sources().nth(place.source.0 as usize);
    known.map_or_else(|| lost_name(place.source), |(_, record)| record.name.clone())
}

/// The key that a document has in the copy: its own, or the place where it was read.
fn shown_key(view: &View, document: DocId) -> String {
    let shown = view.display_key(document);
    shown.unwrap_or_else(|_| format!("document {document}"))
}

/// The extent to which the removal of a document blocks others.
fn extent(view: &View, blocklist: &Blocklist<'_>, document: DocId) -> Result<BlockExtent, Error> {
    let of = BlockKeys::of_removed(view, document, (blocklist.reach(), true))?;
    blocklist.extent_of(document, &of)
}

fn remove_again(
    view: &View,
    (removed, copied): (&RoaringTreemap, &RoaringTreemap),
    writer: &mut CorpusWriter,
    report: &mut SalvageReport,
    context: &Context<'_>,
) -> Result<(), Error> {
    let mut by_extent = BlocksBefore::new();
    let blocklist = match Blocklist::new(view) {
        Ok(blocklist) => Some(blocklist),
        Err(error) => {
            report.leave("how far removals block", error)?;
            None
        }
    };
    let mut unknown = RoaringTreemap::new();
    let is_numbered = writer.view().documents() == copied.len();
    // Lost documents were not copied.
    for document in (removed & copied).iter().map(DocId) {
        let place = view.place(document)?;
        // A newer document may have the same key, and was not removed.
        let found = if is_numbered {
            Some(place_in(copied, document))
        } else {
            let source = source_name(view, &place);
            let identity = key_identity(&source, &shown_key(view, document));
            writer.view().identities(&[identity])?.into_iter().next().flatten()
        };
        if let Some(found) = found {
            let extent = blocklist.as_ref().and_then(|it| extent(view, it, document).ok());
            if extent.is_none() {
                unknown.insert(document.0);
            }
            let extent = extent.unwrap_or_else(|| BlockReach::default().into());
            by_extent.entry(extent).or_default().insert(found.0);
        }
    }
    if !unknown.is_empty() {
        report.damage.push(format!(
            "how far the removal of documents {} blocks: in the copy as a removal without an option does",
            ranges(&unknown)
        ));
    }
    for (extent, documents) in by_extent {
        report.removed += writer.remove(&documents, extent, context)?.changed;
    }
    Ok(())
}

/// The number that a copied document has in the copy.
fn place_in(copied: &RoaringTreemap, document: DocId) -> DocId {
    DocId(copied.rank(document.0).saturating_sub(1))
}

/// Makes the snapshots again, each of the copied documents that it kept.
fn copy_snapshots(
    view: &View,
    copied: &RoaringTreemap,
    writer: &mut CorpusWriter,
    report: &mut SalvageReport,
) -> Result<(), Error> {
    let snapshots = match view.snapshots() {
        Ok(snapshots) => snapshots,
        Err(error) => return report.leave("snapshots", error.into()),
    };
    if writer.view().documents() != copied.len() {
        // If a version between two equal ones is lost, the second is a duplicate, so numbers of the copy do not
        // correspond.
        let words = "snapshots: the copy has other versions of documents";
        report.damage.extend((!snapshots.is_empty()).then(|| words.to_owned()));
        return Ok(());
    }
    for record in snapshots {
        let kept = match view.snapshot_kept(&record.name) {
            Ok(kept) => kept,
            Err(error) => {
                report.leave(&format!("snapshot {}", record.name), error.into())?;
                continue;
            }
        };
        let place = |document: u64| place_in(copied, DocId(document)).0;
        let own: RoaringTreemap = (&kept & copied).iter().map(place).collect();
        if own.len() < kept.len() {
            let (lost, all) = (kept.len() - own.len(), kept.len());
            report.damage.push(format!("snapshot {}: {lost} of its {all} documents", record.name));
        }
        let documents = record.documents.checked_sub(1).map_or(0, |last| copied.rank(last));
        writer.store().carry_snapshot(&record, &own, documents)?;
        report.snapshots += 1;
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
        let json = view.tokenizer_file(id).map_err(Error::from);
        let added = json.and_then(|json| match record.drawn() {
            None => writer
                .add_tokenizer(&record.name, &json, &record.lineage, context)
                .map(|(_, tokens)| tokens),
            Some((base, word)) => {
                let draw = curate::register_draw(writer.store(), base, word)?;
                Ok(writer.backfill(&draw, context)?.encoded_tokens.unwrap_or_default())
            }
        });
        if let Err(error) = added {
            report.leave(&format!("tokenizer {}", record.name), error)?;
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
        Err(error) => return report.leave("suites", error.into()),
    };
    for (suite, record) in suites {
        let items = view.suite_items(suite).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        match items {
            Ok(items) => {
                let SuiteRecord { name, files, normaliser, rule, .. } = &record;
                let (normaliser, rule) = (*normaliser, *rule);
                let new = NewSuite { name, items: &items, files, normaliser, rule };
                if let Err(error) = curate::add_suite(writer.store(), &new, context) {
                    report.leave(&format!("suite {name}"), error)?;
                }
            }
            Err(error) => report.leave(&format!("suite {}", record.name), error.into())?,
        }
    }
    Ok(())
}

/// Makes the plans again whose documents the copy has: the same numbers, encoded by the same tokenizer.
fn copy_plans(
    view: &View,
    (copied, has_forms): (&RoaringTreemap, bool),
    writer: &mut CorpusWriter,
    report: &mut SalvageReport,
    context: &Context<'_>,
) -> Result<(), Error> {
    let plans = match view.epochs() {
        Ok(plans) => plans,
        Err(error) => return report.leave("stored plans", error.into()),
    };
    let is_numbered = copied.len() == view.documents() && writer.view().documents() == copied.len();
    let mut left = Vec::new();
    for record in plans {
        let number = record.number;
        if !is_numbered || has_forms {
            left.push(number.to_string());
            continue;
        }
        let carried = encode_near(view, number, writer, context)
            .and_then(|()| Ok(epoch::carry_plan(view, writer.store(), record)?));
        match carried {
            Ok(true) => report.plans += 1,
            Ok(false) => left.push(number.to_string()),
            Err(error) => report.leave(&format!("plan {number}"), error)?,
        }
    }
    if !left.is_empty() {
        report.left.push(format!(
            "plans {}: in the copy documents have other numbers, or tokens, snapshots or tokenizers that they draw by are not there; plan their recipes again",
            left.join(", ")
        ));
    }
    Ok(())
}

/// Encodes near duplicates that a plan draws: the copy has ids of what is kept.
fn encode_near(
    view: &View,
    number: u32,
    writer: &mut CorpusWriter,
    context: &Context<'_>,
) -> Result<(), Error> {
    let planned = epoch::stored_plan(view, number)?;
    if planned.plan.recipe.select.per_cluster == 1 {
        return Ok(());
    }
    let mut near = planned.documents();
    near -= writer.view().kept()?;
    near -= writer.view().documents_standing(Standing::Purged)?;
    let name = &planned.plan.tokenizer.name;
    if near.is_empty() || writer.view().tokenizer_named(name).is_none() {
        return Ok(());
    }
    let loaded = curate::load_to_encode(writer.store(), name)?;
    curate::encode_members(writer.store(), &loaded, &near, context)
}

/// Reports what only the damaged corpus has.
fn tell_left(view: &View, report: &mut SalvageReport) {
    let mut tell = |what: &str, count: Result<usize, StoreError>| match count {
        Ok(0) => {}
        Ok(count) => report.left.push(format!("{count} {what}")),
        Err(error) => report.damage.push(format!("{what}: {error}")),
    };
    let outputs = view.stored_outputs().and_then(|rows| rows.map(|row| row.map(|_| 1)).sum());
    tell("outputs on record: ask `who` of a backup", outputs);
    tell(
        "documents of ingests that were undone: in the copy a restoration brings them back",
        view.undone().map(|documents| usize::try_from(documents.len()).unwrap_or(usize::MAX)),
    );
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
