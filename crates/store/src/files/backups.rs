//! The backups in one place: files under the hash of their content, and a manifest for each moment, written last.
//!
//! ```text
//! corpusdb-backups     marker: the form, and the corpus whose backups they are
//! files/HH/HASH        a file by the blake3 of its bytes, whole from the moment it has that name
//! N.json               the backup of commit N: its files with sizes and hashes, and a check sum of itself
//! lock                 on disk: held by whoever adds or drops
//! marks/adding-ID      elsewhere: somebody adds; `dropping-ID`: somebody drops
//! ```
//!
//! A file that several backups have is there once. What was copied by a process that was killed is not a part of a
//! backup; the next one takes it over where it is whole, and dropping clears the rest.
//!
//! Nobody may drop while somebody adds: what is added is named by no manifest yet. Where a place has no lock, who comes
//! writes a mark first and looks at the marks of others after it, so that of two at least one sees the other and goes.
//! Those who add do not disturb each other: files of one name are equal, and of two manifests of a commit either names
//! files that are there. A mark stays where its process is killed. Who comes next clears it: at once where that process was
//! of this machine, else an hour after its last sign of life, since who holds a mark writes it again between two files.

use crate::error::StoreError;
use crate::files::backup_manifest::{
    BackupFault, BackupFile, BackupRecord, FILES, parsed, place_of, spelled,
};
use crate::files::backup_place::{BackupPlace, PlaceEntry, held_by_another};
use crate::files::directory::WriterLock;
use crate::files::process::{is_gone, this_process};
use model::invariant::part;
use model::near_names::there_are;
use model::{Context, Error, ErrorKind, Hint, Interrupted, IoError, corpus_around};
use std::collections::hash_map::RandomState;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::hash::BuildHasher;
use std::io::{self, Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};

const MARKER: &str = "corpusdb-backups";
const FORM: u32 = 1;
const MARKS: &str = "marks/";
/// Files that are removed before the next look at the interrupt.
const AT_ONCE: usize = 100;
/// Bytes that are copied and hashed before the next look at the interrupt.
const PIECE: usize = 1 << 20;

/// How long a process lets its mark stand before it writes it again, between two files.
const RENEWAL: Duration = Duration::from_secs(300);
/// How long the mark of a process counts that nothing is known of, in seconds. A file that is added takes less.
const SIGN_OF_LIFE: i64 = 3600;

/// Files that were added or dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AddedBytes {
    /// How many.
    pub(crate) files: u64,
    /// Their bytes.
    pub(crate) bytes: u64,
}

/// Work on a place for backups that must not be disturbed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BackupWork {
    Adding,
    Dropping,
}

impl BackupWork {
    const fn word(self) -> &'static str {
        match self {
            Self::Adding => "adding",
            Self::Dropping => "dropping",
        }
    }

    /// Whether the mark of another forbids it.
    fn is_forbidden_by(self, mark: &str) -> bool {
        self == Self::Dropping || !mark.starts_with(&format!("{MARKS}{}-", Self::Adding.word()))
    }
}

/// The right to add or drop, as long as it lives.
enum BackupHold<'a> {
    Lock { _lock: WriterLock },
    Mark { place: &'a dyn BackupPlace, name: String, written: Instant },
}

impl BackupHold<'_> {
    /// Shows others that this process lives, between two files.
    ///
    /// # Errors
    /// [`StoreError::Io`]; [`StoreError::Backup`] when another process took this one for dead.
    fn renew(&mut self) -> Result<(), StoreError> {
        let Self::Mark { place, name, written } = self else { return Ok(()) };
        if written.elapsed() < RENEWAL {
            return Ok(());
        }
        if place.open(name)?.is_none() {
            let why =
                "its process showed no life for an hour, and another one began: run the same again";
            return Err(StoreError::Backup { path: place.path(name), why: why.to_owned() });
        }
        *written = Instant::now();
        write_mark(*place, name)
    }
}

fn write_mark(place: &dyn BackupPlace, name: &str) -> Result<(), StoreError> {
    let (release, id) = (env!("CARGO_PKG_VERSION"), std::process::id());
    let text = format!("corpusdb {release}, process {id}\n{}\n", this_process());
    write_small(place, name, text.as_bytes())
}

fn write_small(place: &dyn BackupPlace, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
    place.put(name, &mut |file| {
        Ok(file.write_all(bytes).map_err(IoError::of("writing", &place.path(name)))?)
    })
}

impl Drop for BackupHold<'_> {
    fn drop(&mut self) {
        if let Self::Mark { place, name, .. } = self {
            // One that stays is cleared when its process is gone.
            let _ = place.remove(&[name]);
        }
    }
}

/// What one look at a place found.
struct PlaceContents {
    /// The commits that have manifests.
    commits: BTreeSet<u64>,
    /// Lengths of files, by name.
    files: BTreeMap<String, u64>,
    marks: Vec<PlaceEntry>,
    /// Whether there are things that are not of backups.
    has_others: bool,
}

/// The backups of a place.
pub(crate) struct BackupDirectory<'a> {
    place: &'a dyn BackupPlace,
}

impl<'a> BackupDirectory<'a> {
    /// The backups that are in a place.
    ///
    /// # Errors
    /// [`StoreError`] when the place has none; [`StoreError::Backup`] for those of a newer release.
    pub(crate) fn open(place: &'a dyn BackupPlace) -> Result<Self, StoreError> {
        let found = Self { place };
        match found.marker()? {
            Some(_) => Ok(found),
            None => Err(found.no_backup(None, &BTreeSet::new())),
        }
    }

    /// Begins a backup of a corpus.
    ///
    /// # Errors
    /// [`StoreError::Backup`] when the place holds other things, or backups of another corpus, or is in a corpus;
    /// [`StoreError`] when another process has the right.
    pub(crate) fn begin(
        place: &'a dyn BackupPlace,
        corpus: &str,
    ) -> Result<BackupSession<'a>, StoreError> {
        let backups = Self { place };
        let refuse_other = |found: Option<&String>| match found {
            Some(of) if of != corpus => {
                let why = "it has backups of another corpus: use one directory for each corpus";
                Err(backups.refused("", why))
            }
            _ => Ok(()),
        };
        if let Some(around) = place.directory().and_then(corpus_around) {
            let around = around.display();
            let why = format!(
                "it is in the corpus {around}, which holds nothing but its own files; give a path outside"
            );
            return Err(backups.refused("", why));
        }
        let found = backups.marker()?;
        refuse_other(found.as_ref())?;
        if found.is_none() && backups.look()?.has_others {
            let why = "it has other files: use a directory for backups only";
            return Err(backups.refused("", why));
        }
        let (hold, contents) = backups.hold(BackupWork::Adding)?;
        if found.is_none() {
            place.put_new(MARKER, format!("{FORM} {corpus}\n").as_bytes())?;
            // Another corpus may have come at the same time.
            refuse_other(backups.marker()?.as_ref())?;
        }
        let newest = contents.commits.last().copied();
        let newest = newest.map(|commit| backups.record(commit)).transpose()?.flatten();
        let before = newest.and_then(Result::ok).map_or_else(Vec::new, |record| record.files);
        let before = before.into_iter().map(|file| (file.name.clone(), file)).collect();
        let there = contents.files;
        Ok(BackupSession { backups, hold, there, before, added: AddedBytes::default() })
    }

    fn refused(&self, name: &str, why: impl Into<String>) -> StoreError {
        StoreError::Backup { path: self.place.path(name), why: why.into() }
    }

    /// The bytes of a small file; none where there is none.
    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(mut file) = self.place.open(name)? else { return Ok(None) };
        let mut bytes = Vec::new();
        let read = file.read_to_end(&mut bytes);
        read.map_err(IoError::of("reading", &self.place.path(name)))?;
        Ok(Some(bytes))
    }

    /// The corpus whose backups these are; none where there is no marker.
    fn marker(&self) -> Result<Option<String>, StoreError> {
        let Some(bytes) = self.read(MARKER)? else { return Ok(None) };
        let text = String::from_utf8_lossy(&bytes);
        match text.trim_end().split_once(' ') {
            Some((form, corpus)) if form == FORM.to_string() => Ok(Some(corpus.to_owned())),
            _ => {
                let why = "its backups have a format that this release does not know";
                Err(self.refused("", why))
            }
        }
    }

    /// Looks at what is there.
    fn look(&self) -> Result<PlaceContents, StoreError> {
        let mut found = PlaceContents {
            commits: BTreeSet::new(),
            files: BTreeMap::new(),
            marks: Vec::new(),
            has_others: false,
        };
        for entry in self.place.entries()? {
            let PlaceEntry { name, bytes, .. } = entry.clone();
            if let Some(commit) = name.strip_suffix(".json").and_then(|name| name.parse().ok()) {
                found.commits.insert(commit);
                found.has_others = true;
            } else if name.starts_with(FILES) {
                found.files.insert(name, bytes);
            } else if name.starts_with(MARKS) {
                found.marks.push(entry);
            } else {
                found.has_others |= name != MARKER && name != "lock";
            }
        }
        Ok(found)
    }

    /// Takes the right to do something, and looks at what is there then.
    fn hold(&self, work: BackupWork) -> Result<(BackupHold<'a>, PlaceContents), StoreError> {
        if let Some(lock) = self.place.lock()? {
            return Ok((BackupHold::Lock { _lock: lock }, self.look()?));
        }
        // Drawn, since processes of many machines come here; no corpus and no backup has it.
        let id = RandomState::new().hash_one(std::process::id());
        let name = format!("{MARKS}{}-{id:016x}", work.word());
        let (place, written) = (self.place, Instant::now());
        // Before it is written: a request that was given up may have been heard.
        let hold = BackupHold::Mark { place, name: name.clone(), written };
        write_mark(place, &name)?;
        let contents = self.look()?;
        let (own, others): (Vec<_>, Vec<_>) =
            contents.marks.iter().partition(|mark| mark.name == name);
        let now = own.first().map_or(0, |mark| mark.written);
        for mark in others {
            if self.is_dead(mark, now)? {
                place.remove(&[&mark.name])?;
            } else if work.is_forbidden_by(&mark.name) {
                return Err(held_by_another(&place.path(""), Some(&mark.name)));
            }
        }
        Ok((hold, contents))
    }

    /// Whether a mark is of a process that is gone: from this machine, or without a sign of life since an hour before
    /// `now`, by the clock of the place. A process that was taken for dead and goes on, as after its machine slept, fails:
    /// it looks for its mark, or whether its files are there.
    fn is_dead(&self, mark: &PlaceEntry, now: i64) -> Result<bool, StoreError> {
        if now.saturating_sub(mark.written) > SIGN_OF_LIFE {
            return Ok(true);
        }
        let text = self.read(&mark.name)?.unwrap_or_default();
        Ok(String::from_utf8_lossy(&text).lines().any(is_gone))
    }

    /// The backups in order of their commits, and the faults of manifests that cannot be used.
    pub(crate) fn list(&self) -> Result<(Vec<BackupRecord>, Vec<BackupFault>), StoreError> {
        self.records(&self.look()?.commits)
    }

    fn records(
        &self,
        commits: &BTreeSet<u64>,
    ) -> Result<(Vec<BackupRecord>, Vec<BackupFault>), StoreError> {
        let (mut good, mut bad) = (Vec::new(), Vec::new());
        for commit in commits.iter().copied() {
            match self.record(commit)? {
                Some(Ok(record)) => good.push(record),
                Some(Err(what)) => {
                    bad.push(BackupFault { commit, file: format!("{commit}.json"), what });
                }
                // Dropped since it was seen.
                None => {}
            }
        }
        Ok((good, bad))
    }

    /// The manifest of a commit, or what is wrong with it; none where there is none.
    fn record(&self, commit: u64) -> Result<Option<Result<BackupRecord, String>>, StoreError> {
        let Some(bytes) = self.read(&format!("{commit}.json"))? else { return Ok(None) };
        Ok(Some(parsed(&bytes, commit)))
    }

    fn no_backup(&self, commit: Option<u64>, known: &BTreeSet<u64>) -> StoreError {
        let (of_commit, hint) = match commit {
            None => (String::new(), Hint::text("make one").with_command("corpusdb backup create")),
            Some(commit) => {
                let known: Vec<String> = known.iter().rev().map(u64::to_string).collect();
                (format!(" of commit {commit}"), Hint::text(there_are(&known)))
            }
        };
        let message = format!("{}: no backup{of_commit}", self.place.path("").display());
        Error::of(ErrorKind::NotFound, message).with_hint(hint).into()
    }

    /// The backup of a commit, or the newest one.
    ///
    /// # Errors
    /// [`StoreError`] when there is none; [`StoreError::Backup`] where its manifest is damaged.
    pub(crate) fn find(&self, commit: Option<u64>) -> Result<BackupRecord, StoreError> {
        let known = self.look()?.commits;
        let wanted = commit.or_else(|| known.last().copied()).filter(|one| known.contains(one));
        match wanted.map(|wanted| self.record(wanted)).transpose()?.flatten() {
            Some(Ok(record)) => Ok(record),
            Some(Err(what)) => {
                Err(self.refused(&format!("{}.json", wanted.unwrap_or_default()), what))
            }
            None => Err(self.no_backup(commit, &known)),
        }
    }

    /// Copies a file of a backup to `to`, and compares it on the way with what was taken in.
    ///
    /// # Errors
    /// [`StoreError::Backup`] where it is not the same; [`StoreError::Io`]; [`StoreError::Interrupted`].
    pub(crate) fn copy_out(
        &self,
        file: &BackupFile,
        to: &Path,
        context: &Context<'_>,
    ) -> Result<(), StoreError> {
        let name = place_of(&file.blake3);
        let from = self.place.path(&name);
        let Some(source) = self.place.open(&name)? else {
            return Err(self.refused(&name, format!("`{}` is missing", file.name)));
        };
        let mut target = File::create(to).map_err(IoError::of("creating", to))?;
        let done = pass(source, |part| target.write_all(part), context);
        let done = done.map_err(|error| error.told(&from, to))?;
        target.sync_all().map_err(IoError::of("syncing", to))?;
        match done == (file.bytes, file.blake3.clone()) {
            true => Ok(()),
            false => {
                let why = format!("`{}` is not what was backed up", file.name);
                Err(self.refused(&name, why))
            }
        }
    }

    /// Reads every byte of every backup: what is wrong.
    ///
    /// # Errors
    /// [`StoreError::Io`] when the place cannot be read; [`StoreError::Interrupted`].
    pub(crate) fn verify(
        &self,
        context: &Context<'_>,
    ) -> Result<(Vec<BackupRecord>, Vec<BackupFault>), StoreError> {
        let (good, mut faults) = self.list()?;
        let files = good.iter().flat_map(|record| &record.files);
        let sizes: BTreeMap<&str, u64> =
            files.map(|file| (file.blake3.as_str(), file.bytes)).collect();
        context.progress.begin("reading backups", Some(sizes.values().sum()));
        let mut found: BTreeMap<&str, Option<String>> = BTreeMap::new();
        let mut done = 0;
        for (blake3, bytes) in &sizes {
            found.insert(blake3, self.wrong(blake3, *bytes, context)?);
            done += bytes;
            context.progress.advance(done);
        }
        for record in &good {
            for file in &record.files {
                if let Some(Some(what)) = found.get(file.blake3.as_str()) {
                    let (commit, file) = (record.commit, file.name.clone());
                    faults.push(BackupFault { commit, file, what: what.clone() });
                }
            }
        }
        context.progress.end();
        Ok((good, faults))
    }

    /// What is wrong with the bytes of that hash. That a store of objects cannot be asked is not a fault of its
    /// objects.
    fn wrong(
        &self,
        blake3: &str,
        bytes: u64,
        context: &Context<'_>,
    ) -> Result<Option<String>, StoreError> {
        let name = place_of(blake3);
        let path = self.place.path(&name);
        let shown = path.display();
        let file = match self.place.open(&name) {
            Ok(Some(file)) => file,
            Ok(None) => return Ok(Some(format!("{shown} is missing"))),
            Err(StoreError::Io(error)) if error.source.raw_os_error().is_some() => {
                return Ok(Some(format!("{shown}: {}", error.source)));
            }
            Err(error) => return Err(error),
        };
        match pass(file, |_| Ok(()), context) {
            Ok((length, _)) if length != bytes => {
                Ok(Some(format!("{shown} has {length} bytes, not {bytes}")))
            }
            Ok((_, hash)) if hash != blake3 => {
                Ok(Some(format!("{shown} has other bytes than were written")))
            }
            Ok(_) => Ok(None),
            Err(PassError::Read(error)) if error.raw_os_error().is_some() => {
                Ok(Some(format!("{shown}: {error}")))
            }
            Err(error) => Err(error.told(&path, &path)),
        }
    }

    /// Drops the backup of a commit, and the files that no other one has.
    ///
    /// # Errors
    /// [`StoreError`] when there is none, or another process adds some; [`StoreError::Io`]; [`StoreError::Interrupted`]: the
    /// backup is gone then, and its files go with the next one.
    pub(crate) fn drop_backup(
        &self,
        commit: u64,
        context: &Context<'_>,
    ) -> Result<AddedBytes, StoreError> {
        let (mut hold, mut contents) = self.hold(BackupWork::Dropping)?;
        if !contents.commits.remove(&commit) {
            return Err(self.no_backup(Some(commit), &contents.commits));
        }
        self.place.remove(&[&format!("{commit}.json")])?;
        let (left, damaged) = self.records(&contents.commits)?;
        let mut freed = AddedBytes::default();
        // A manifest that cannot be read may name any of them.
        if !damaged.is_empty() {
            return Ok(freed);
        }
        let named = left.iter().flat_map(|record| &record.files);
        let named: BTreeSet<String> = named.map(|file| place_of(&file.blake3)).collect();
        contents.files.retain(|name, _| !named.contains(name));
        context.progress.begin("removing files", Some(contents.files.values().sum()));
        let gone: Vec<(String, u64)> = contents.files.into_iter().collect();
        for some in gone.chunks(AT_ONCE) {
            context.check_interrupt()?;
            hold.renew()?;
            self.place.remove(&some.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>())?;
            // Others are pieces of what was not taken in.
            let is_whole =
                |name: &str| name.rsplit('/').next().is_some_and(|hash| place_of(hash) == name);
            let whole = some.iter().filter(|(name, _)| is_whole(name));
            freed.files += whole.clone().count() as u64;
            freed.bytes += whole.map(|(_, bytes)| bytes).sum::<u64>();
            context.progress.advance(freed.bytes);
        }
        context.progress.end();
        Ok(freed)
    }
}

/// A backup that is being taken: nobody drops any meanwhile.
pub(crate) struct BackupSession<'a> {
    backups: BackupDirectory<'a>,
    hold: BackupHold<'a>,
    /// Lengths of the files that are there, by name.
    there: BTreeMap<String, u64>,
    /// The files of the newest backup before it, by name.
    before: BTreeMap<String, BackupFile>,
    /// What came to those that were there.
    pub(crate) added: AddedBytes,
}

impl BackupSession<'_> {
    /// The file of the backup before, where it is the same table and is there still.
    pub(crate) fn unchanged(
        &self,
        name: &str,
        tail: Option<&str>,
        bytes: u64,
    ) -> Option<BackupFile> {
        let found = self.before.get(name)?;
        let is_same = tail.is_some() && found.tail.as_deref() == tail && found.bytes == bytes;
        (is_same && self.has(found)).then(|| found.clone())
    }

    /// Whether bytes of that hash are there; those of another length were cut.
    fn has(&self, file: &BackupFile) -> bool {
        self.there.get(&place_of(&file.blake3)) == Some(&file.bytes)
    }

    /// Takes a file in, which stays as it is.
    ///
    /// # Errors
    /// [`StoreError::Io`]; [`StoreError::Interrupted`]: what was taken in stays.
    pub(crate) fn add(
        &mut self,
        from: &Path,
        name: String,
        context: &Context<'_>,
    ) -> Result<BackupFile, StoreError> {
        let opened = || File::open(from).map_err(IoError::of("opening", from));
        // The hash of a file is its name, which is needed before its bytes are written.
        let found = pass(opened()?, |_| Ok(()), context);
        let (bytes, blake3) = found.map_err(|error| error.told(from, from))?;
        let file = BackupFile { name, bytes, blake3, tail: None };
        if self.has(&file) {
            return Ok(file);
        }
        self.hold.renew()?;
        let name = place_of(&file.blake3);
        let place = self.backups.place;
        place.put(&name, &mut |target| {
            let done = pass(opened()?, |part| target.write_all(part), context);
            let done = done.map_err(|error| error.told(from, &place.path(&name)))?;
            match done == (file.bytes, file.blake3.clone()) {
                true => Ok(()),
                false => Err(StoreError::Backup {
                    path: from.to_path_buf(),
                    why: "two reads gave different bytes: its disk is damaged, or another process writes to it".to_owned(),
                }),
            }
        })?;
        self.there.insert(name, file.bytes);
        self.added.files += 1;
        self.added.bytes += file.bytes;
        Ok(file)
    }

    /// Writes the manifest: from now on the backup is there.
    ///
    /// # Errors
    /// [`StoreError::Backup`] where files of it went meanwhile; [`StoreError::Io`].
    pub(crate) fn seal(mut self, record: BackupRecord) -> Result<(), StoreError> {
        if matches!(self.hold, BackupHold::Mark { .. }) {
            // Another process may have taken this one for dead, or its mark was cleared by hand.
            self.there = self.backups.look()?.files;
            if let Some(gone) = record.files.iter().find(|file| !self.has(file)) {
                let why = "it was dropped while it was used; take the backup again";
                return Err(self.backups.refused(&place_of(&gone.blake3), why));
            }
        }
        let name = format!("{}.json", record.commit);
        write_small(self.backups.place, &name, &spelled(record))
    }
}

enum PassError {
    Stopped(Interrupted),
    Read(io::Error),
    Write(io::Error),
}

impl PassError {
    fn told(self, from: &Path, to: &Path) -> StoreError {
        match self {
            Self::Stopped(stop) => stop.into(),
            Self::Read(error) => IoError::of("reading", from)(error).into(),
            Self::Write(error) => IoError::of("writing", to)(error).into(),
        }
    }
}

/// Reads a file to its end: its length and hash.
fn pass(
    mut from: impl Read,
    mut each: impl FnMut(&[u8]) -> io::Result<()>,
    context: &Context<'_>,
) -> Result<(u64, String), PassError> {
    let (mut hasher, mut bytes, mut piece) = (blake3::Hasher::new(), 0, vec![0; PIECE]);
    loop {
        context.check_interrupt().map_err(PassError::Stopped)?;
        let read = match from.read(&mut piece) {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(PassError::Read(error)),
        };
        let part = part(&piece, ..read);
        if part.is_empty() {
            return Ok((bytes, hasher.finalize().to_hex().to_string()));
        }
        hasher.update(part);
        each(part).map_err(PassError::Write)?;
        bytes += part.len() as u64;
    }
}
