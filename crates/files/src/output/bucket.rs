//! Writes an output to a bucket: its files appear one after the other, each whole, and the manifest last.
//!
//! Nothing in a bucket can be renamed, so files are written under their own names. The manifest stands beside a file or
//! a folder: who finds it finds all.
//!
//! `.export-HASH.jsonl` is the record. A name is on it before its file is begun, and what is replaced before anything is
//! deleted. Only what stands on a record or in a manifest, in the size and version that it has there, is ever deleted; an
//! object that appeared meanwhile is left as it is, and the output is refused its name.

use super::destination::{FileRename, OutputMaker, OutputRequest, ShardRecord, Staging};
use super::error::OutputError;
use super::files::{FileDigest, FileTarget, HashedFile, ManifestFile};
use super::naming::{is_plain, is_short_identity, short_identity};
use super::record::{Position, RecordLine, ReplacedObject, to_json};
use crate::remote::{
    ObjectStores, RemoteCursor, RemoteEntry, RemoteError, RemoteFolder, RemoteWriter,
    check_address, is_remote,
};
use model::{Context, manifest_name};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// Bytes that are read ahead of an object that may be the one that was to be written.
const READ_AHEAD: u64 = 16 << 20;

/// An output in a bucket, before anything is written.
pub struct BucketDestination {
    folder: RemoteFolder,
    given: PathBuf,
    /// The name of the only file, where there is but one.
    name: Option<String>,
    /// Where the manifest stands, and its name there.
    manifest_folder: RemoteFolder,
    manifest_name: String,
    force: bool,
    memory: u64,
    maker: &'static OutputMaker,
}

/// An output in a bucket that is under way.
pub(crate) struct BucketStaging<P> {
    destination: BucketDestination,
    /// The name of the record.
    record: String,
    lines: Mutex<Vec<RecordLine<P>>>,
    /// Objects that stood there at the start and that it replaces, by name.
    replaced: BTreeMap<String, RemoteEntry>,
    /// The manifest of the only file that is replaced.
    replaced_manifest: Option<RemoteEntry>,
}

impl BucketDestination {
    /// The destination of a request, where it is in a bucket.
    pub fn of(
        request: &OutputRequest<'_>,
        context: &Context<'_>,
    ) -> Result<Option<Self>, OutputError> {
        let to = request.to.to_string_lossy();
        if !is_remote(&to) {
            return Ok(None);
        }
        check_address(&to)?;
        let (folder, name) = match to.rsplit_once('/').filter(|_| !request.is_directory) {
            Some((folder, name)) => (format!("{folder}/"), Some(name.to_owned())),
            None => (to.to_string(), None),
        };
        let given = request.to.to_path_buf();
        let (maker, path) = (request.maker, given.clone());
        let unnamed = move || OutputError::Unnamed { option: maker.option, path };
        if name.as_ref().is_some_and(String::is_empty) {
            return Err(unnamed());
        }
        let none = ObjectStores::default();
        let stores = request.stores.unwrap_or(&none);
        let folder = RemoteFolder::open(stores, &folder, context.interrupt)?;
        let (manifest_folder, of) = match &name {
            Some(name) => (folder.clone(), name.clone()),
            None => folder.parent().filter(|(_, name)| !name.is_empty()).ok_or_else(unnamed)?,
        };
        let manifest_name = manifest_name(of.as_ref()).to_string_lossy().into_owned();
        let (force, memory) = (request.force, context.memory);
        Ok(Some(Self { folder, given, name, manifest_folder, manifest_name, force, memory, maker }))
    }

    /// Begins the output with that identity, or goes on with it: gives the shards whose files are there in the versions
    /// that they had, up to the first that is not.
    pub(crate) fn begin_or_resume<P: Position>(
        self,
        identity: &str,
    ) -> Result<(BucketStaging<P>, Vec<ShardRecord<P>>), OutputError> {
        let record = format!(".export-{}.jsonl", short_identity(identity));
        let found = self.manifest()?;
        if let Some(name) = &self.name {
            let replaced = self.replaced_file(name)?;
            let (lines, replaced_manifest) = (Mutex::default(), found.map(|found| found.entry));
            let staging =
                BucketStaging { destination: self, record, lines, replaced, replaced_manifest };
            return Ok((staging, Vec::new()));
        }
        let mut judged = BucketContents::of(&self, &record, identity, found.as_ref())?;
        let finished = judged.finished(&self)?;
        if !judged.replaced.is_empty() {
            if !self.force {
                return Err(self.exists(None, self.maker.instead));
            }
            // What is replaced is on record before anything goes; whole is what has a manifest.
            let objects = judged.replaced.values().cloned().map(replaced_object);
            judged.lines.insert(1, RecordLine::Replaced(objects.collect()));
            self.folder.put(&record, to_json(&judged.lines))?;
            let inside = self.maker.manifest_inside;
            if judged.replaced.remove(inside).is_some() {
                self.folder.delete(inside)?;
            }
        }
        if found.is_some() && !judged.is_manifest_own {
            self.manifest_folder.delete(&self.manifest_name)?;
        }
        let (lines, replaced) = (Mutex::new(judged.lines), judged.replaced);
        let replaced_manifest = None;
        let staging =
            BucketStaging { destination: self, record, lines, replaced, replaced_manifest };
        Ok((staging, finished))
    }

    fn exists(&self, name: Option<&str>, instead: &'static str) -> OutputError {
        let path = match name {
            Some(name) => PathBuf::from(self.folder.address_of(name)),
            None => self.given.clone(),
        };
        OutputError::Exists { path, instead }
    }

    /// What stands in the place of the only file.
    fn replaced_file(&self, name: &str) -> Result<BTreeMap<String, RemoteEntry>, OutputError> {
        let mut replaced = BTreeMap::new();
        if let Some(entry) = self.folder.entry(name)? {
            if !self.force {
                return Err(self.exists(None, self.maker.instead));
            }
            replaced.insert(entry.name.clone(), entry);
        }
        Ok(replaced)
    }

    /// The manifest that stands in the place of the own one; refuses what is none.
    fn manifest(&self) -> Result<Option<BucketManifest>, OutputError> {
        let (folder, name) = (&self.manifest_folder, &self.manifest_name);
        let Some(entry) = folder.entry(name)? else { return Ok(None) };
        let text = folder.get(name)?.unwrap_or_default();
        match (self.maker.listed)(&text) {
            Some(listed) => Ok(Some(BucketManifest { entry, listed })),
            None => Err(OutputError::Exists {
                path: PathBuf::from(folder.address_of(name)),
                instead: "the manifest of the output is to stand there: move it away, or give another name",
            }),
        }
    }
}

/// A manifest in a bucket, and the files that it lists.
struct BucketManifest {
    entry: RemoteEntry,
    listed: Vec<ManifestFile>,
}

fn replaced_object(entry: RemoteEntry) -> ReplacedObject {
    let RemoteEntry { name, bytes, tag, .. } = entry;
    ReplacedObject { name, bytes, tag }
}

fn is_record(name: &str) -> bool {
    let hash = name.strip_prefix(".export-").and_then(|name| name.strip_suffix(".jsonl"));
    hash.is_some_and(|hash| is_short_identity(hash.as_bytes()))
}

/// What stands in a folder, and whose it is.
struct BucketContents<P> {
    /// The lines of the own record.
    lines: Vec<RecordLine<P>>,
    /// Objects that others left and that may be replaced.
    replaced: BTreeMap<String, RemoteEntry>,
    /// Whether the manifest that stands beside is the one that this output got: killed behind it, a run leaves its record.
    is_manifest_own: bool,
}

/// Objects as records and manifests have them: by name, in the size and, where there is one, the version of each.
type KnownObjects = BTreeMap<String, Vec<(u64, Option<String>)>>;

fn has(known: &KnownObjects, entry: &RemoteEntry) -> bool {
    let found = known.get(&entry.name).into_iter().flatten();
    let mut found = found.filter(|(bytes, _)| *bytes == entry.bytes);
    found.any(|(_, tag)| tag.is_none() || *tag == entry.tag)
}

impl<P: Position> BucketContents<P> {
    /// Looks at all objects; one that is on no record and in no manifest is refused by name.
    fn of(
        destination: &BucketDestination,
        record: &str,
        identity: &str,
        beside: Option<&BucketManifest>,
    ) -> Result<Self, OutputError> {
        let (folder, maker) = (&destination.folder, destination.maker);
        let entries = folder.entries()?;
        let (mut own, mut known) = (KnownObjects::new(), KnownObjects::new());
        let (mut lines, mut begun) = (Vec::new(), BTreeSet::from([record.to_owned()]));
        let mut listed = beside.map_or_else(Vec::new, |manifest| manifest.listed.clone());
        for RemoteEntry { name, bytes, .. } in &entries {
            if name == maker.manifest_inside {
                let text = folder.get(name)?.unwrap_or_default();
                let Some(inside) = (maker.listed)(&text) else { continue };
                known.entry(name.clone()).or_default().push((*bytes, None));
                listed.extend(inside);
            } else if is_record(name) {
                let text = folder.get(name)?.unwrap_or_default();
                let Some((of, read)) = RecordLine::<P>::parse(&text) else { continue };
                if name == record && of == identity {
                    begun.extend(read.iter().filter_map(begun_name));
                    note(&mut own, finished_objects(&read));
                    note(&mut known, replaced_objects(&read));
                    lines = read;
                } else {
                    known.entry(name.clone()).or_default().push((*bytes, None));
                    note(&mut known, finished_objects(&read));
                    note(&mut known, replaced_objects(&read));
                }
            }
        }
        let is_manifest_own = !lines.is_empty()
            && beside.is_some_and(|manifest| {
                manifest.listed.iter().all(|file| is_recorded(&lines, file))
            });
        for file in listed.into_iter().filter(|file| is_plain(&file.name)) {
            known.entry(file.name).or_default().push((file.bytes, None));
        }
        let mut replaced = BTreeMap::new();
        for entry in entries {
            if has(&own, &entry) || entry.name == record {
                continue;
            }
            if has(&known, &entry) {
                replaced.insert(entry.name.clone(), entry);
            } else if !begun.contains(&entry.name) {
                let instead = "it is on no record and in no manifest of an export: give another folder, or move it away";
                return Err(destination.exists(Some(&entry.name), instead));
            }
        }
        lines.insert(0, RecordLine::first(identity));
        lines.retain(|line| !matches!(line, RecordLine::Replaced(_)));
        Ok(Self { lines, replaced, is_manifest_own })
    }

    /// The finished shards, as long as each is there in the version that it had; those behind are struck off.
    fn finished(
        &mut self,
        destination: &BucketDestination,
    ) -> Result<Vec<ShardRecord<P>>, OutputError> {
        let (mut kept, mut finished, mut is_whole) = (Vec::new(), Vec::new(), true);
        for line in std::mem::take(&mut self.lines) {
            let RecordLine::Finished { shard, tags } = &line else {
                kept.push(line);
                continue;
            };
            for (at, file) in shard.files.iter().enumerate() {
                let found = destination.folder.entry(&file.name)?;
                let tag = tags.get(at).cloned().flatten();
                is_whole &=
                    found.is_some_and(|found| found.bytes == file.bytes && found.tag == tag);
            }
            if is_whole {
                finished.push(shard.clone());
                kept.push(line);
            } else {
                // The shard's files are made again, and their names stay on record.
                kept.extend(shard.files.iter().map(|file| RecordLine::Begun(file.name.clone())));
            }
        }
        self.lines = kept;
        Ok(finished)
    }
}

fn begun_name<P>(line: &RecordLine<P>) -> Option<String> {
    match line {
        RecordLine::Begun(name) => Some(name.clone()),
        _ => None,
    }
}

fn note(known: &mut KnownObjects, objects: impl Iterator<Item = ReplacedObject>) {
    for ReplacedObject { name, bytes, tag } in objects.filter(|object| is_plain(&object.name)) {
        known.entry(name).or_default().push((bytes, tag));
    }
}

/// The objects of finished shards.
fn finished_objects<P>(lines: &[RecordLine<P>]) -> impl Iterator<Item = ReplacedObject> {
    let shards = lines.iter().filter_map(|line| match line {
        RecordLine::Finished { shard, tags } => Some((shard, tags)),
        _ => None,
    });
    shards.flat_map(|(shard, tags)| {
        shard.files.iter().enumerate().map(|(at, file)| ReplacedObject {
            name: file.name.clone(),
            bytes: file.bytes,
            tag: tags.get(at).cloned().flatten(),
        })
    })
}

/// The objects that were to be replaced.
fn replaced_objects<P>(lines: &[RecordLine<P>]) -> impl Iterator<Item = ReplacedObject> {
    let objects = lines.iter().filter_map(|line| match line {
        RecordLine::Replaced(objects) => Some(objects),
        _ => None,
    });
    objects.flatten().cloned()
}

fn is_recorded<P>(lines: &[RecordLine<P>], file: &ManifestFile) -> bool {
    lines.iter().any(|line| match line {
        RecordLine::Finished { shard, .. } => shard.files.contains(file),
        _ => false,
    })
}

impl<P: Position> BucketStaging<P> {
    fn folder(&self) -> &RemoteFolder {
        &self.destination.folder
    }

    /// Adds lines to the record and puts it there.
    fn append(&self, line: RecordLine<P>) -> Result<(), OutputError> {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.push(line);
        Ok(self.folder().put(&self.record, to_json(&lines))?)
    }

    fn appeared(&self, folder: &RemoteFolder, name: &str) -> OutputError {
        let path = PathBuf::from(folder.address_of(name));
        OutputError::Appeared { path, kept: self.destination.given.clone() }
    }

    /// Deletes what is replaced and has none of the new names, unless it has changed, or something else has appeared.
    fn delete_replaced(&self) -> Result<(), OutputError> {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let mut own = KnownObjects::new();
        note(&mut own, finished_objects(&lines));
        drop(lines);
        let mut stale = Vec::new();
        for entry in self.folder().entries()? {
            if entry.name == self.record || has(&own, &entry) {
                continue;
            }
            if self.replaced.get(&entry.name).is_some_and(|replaced| is_same(replaced, &entry)) {
                stale.push(entry.name);
            } else {
                return Err(self.appeared(self.folder(), &entry.name));
            }
        }
        let stale: Vec<&str> = stale.iter().map(String::as_str).collect();
        if !stale.is_empty() {
            self.folder().delete_all(&stale)?;
        }
        Ok(())
    }
}

/// Whether an object is the one that it was; by the size alone where a list has no versions.
fn is_same(was: &RemoteEntry, is: &RemoteEntry) -> bool {
    was.bytes == is.bytes && (was.tag == is.tag || was.tag.is_none() || is.tag.is_none())
}

impl<P: Position> Staging<P> for BucketStaging<P> {
    fn prepare(&self, _: &str) -> Result<(), OutputError> {
        Ok(())
    }

    /// Begins a file, which appears when it is finished.
    fn create(&self, name: &str) -> Result<HashedFile, OutputError> {
        let folder = self.folder();
        let mut manifest = None;
        if self.destination.name.is_none() {
            let begun = RecordLine::Begun(name.to_owned());
            let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
            let is_on_record = lines.contains(&begun);
            drop(lines);
            if !is_on_record {
                self.append(begun)?;
            }
        } else {
            manifest.clone_from(&self.replaced_manifest);
        }
        let target = BucketTarget {
            writer: folder.create(name, self.destination.memory)?,
            folder: folder.clone(),
            name: name.to_owned(),
            replaced: self.replaced.get(name).cloned(),
            manifest,
        };
        let path = PathBuf::from(folder.address_of(name));
        Ok(HashedFile::to(path, name, Box::new(target))?)
    }

    fn record(&self, shard: &ShardRecord<P>) -> Result<(), OutputError> {
        if self.destination.name.is_some() {
            return Ok(());
        }
        let tag =
            |file: &ManifestFile| Ok(self.folder().entry(&file.name)?.and_then(|found| found.tag));
        let tags = shard.files.iter().map(tag).collect::<Result<Vec<_>, RemoteError>>()?;
        self.append(RecordLine::Finished { shard: shard.clone(), tags })
    }

    fn publish(
        self: Box<Self>,
        _: &[FileRename],
        manifest: Option<&str>,
        _: &Context<'_>,
    ) -> Result<(), OutputError> {
        let Some(text) = manifest else { return Ok(()) };
        if self.destination.name.is_none() {
            self.delete_replaced()?;
        }
        let BucketDestination { manifest_folder: folder, manifest_name: name, .. } =
            &self.destination;
        if !folder.put_new(name, text.as_bytes().to_vec())?
            && folder.get(name)?.is_none_or(|found| found != text.as_bytes())
        {
            return Err(self.appeared(folder, name));
        }
        if self.destination.name.is_none() {
            self.folder().delete(&self.record)?;
        }
        Ok(())
    }

    fn abandon(self: Box<Self>, can_resume: bool) {
        if can_resume || self.destination.name.is_some() {
            return;
        }
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        for object in finished_objects(&lines) {
            // The first error is the one to tell.
            let found = self.folder().entry(&object.name);
            let is_own = found.is_ok_and(|found| {
                found.is_some_and(|found| found.bytes == object.bytes && found.tag == object.tag)
            });
            if is_own {
                let _ = self.folder().delete(&object.name);
            }
        }
        // What was to be replaced stays known.
        let is_kept = |line: &&RecordLine<P>| {
            matches!(line, RecordLine::Output { .. } | RecordLine::Replaced(_))
        };
        let kept: Vec<RecordLine<P>> = lines.iter().filter(is_kept).cloned().collect();
        let _ = match kept.len() {
            0 | 1 => self.folder().delete(&self.record),
            _ => self.folder().put(&self.record, to_json(&kept)),
        };
    }
}

/// A file under way in a bucket, and what it may replace when it is whole.
struct BucketTarget {
    writer: RemoteWriter,
    folder: RemoteFolder,
    name: String,
    replaced: Option<RemoteEntry>,
    /// The manifest of the only file that is replaced: it goes first.
    manifest: Option<RemoteEntry>,
}

impl BucketTarget {
    fn settle(self, digest: &FileDigest) -> io::Result<()> {
        let Self { mut writer, folder, name, replaced, manifest } = self;
        // The name is asked for as late as can be: no store completes an upload on a condition.
        writer.send_rest()?;
        let found = folder.entry(&name)?;
        if let Some(found) = &found
            && !replaced.as_ref().is_some_and(|replaced| is_same(replaced, found))
        {
            return has_digest(&folder, &name, digest);
        }
        if let Some(manifest) = manifest
            && folder.entry(&manifest.name)?.is_some_and(|found| is_same(&manifest, &found))
        {
            folder.delete(&manifest.name)?;
        }
        // A condition that is not met is told by the store, as far as it knows conditions.
        match found.is_some() {
            true => Ok(writer.finish()?),
            false if writer.finish_new()? => Ok(()),
            false => has_digest(&folder, &name, digest),
        }
    }
}

/// An object that appeared is as good as the one that was to be there if it has its bytes: it is that one, from a run
/// that was killed, or whose answer was lost.
fn has_digest(folder: &RemoteFolder, name: &str, digest: &FileDigest) -> io::Result<()> {
    let mut hasher = blake3::Hasher::new();
    if let Some(object) = folder.object(name)?.filter(|object| object.size() == digest.bytes) {
        hasher.update_reader(RemoteCursor::new(&object, READ_AHEAD))?;
    }
    if hasher.count() == digest.bytes && hasher.finalize() == digest.blake3 {
        return Ok(());
    }
    Err(RemoteError::Appeared { address: folder.address_of(name) }.into())
}

impl io::Write for BucketTarget {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

impl FileTarget for BucketTarget {
    fn finish(self: Box<Self>, digest: &FileDigest) -> io::Result<()> {
        self.settle(digest)
    }
}
