//! Writes and hashes a file on a thread of its own.

use super::error::WriteError;
use model::IoError;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{Builder, JoinHandle};

const BUFFER: usize = 1 << 20;
/// Bytes that are handed on without a copy, at most.
const MOST_HANDED_ON: usize = 4 << 20;
/// Full buffers that may wait to be written.
const WAITING: usize = 4;

/// A file of an export.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct ManifestFile {
    /// Its name in the directory.
    pub name: String,
    /// Bytes of the file.
    pub bytes: u64,
    /// Rows in it or described by it.
    pub rows: u64,
    /// blake3 of its bytes, in hexadecimal.
    pub blake3: String,
}

/// What a file is written to: it is there when it is finished.
pub trait FileTarget: Write + Send {
    /// All is written, and came to this.
    fn finish(self: Box<Self>, digest: &FileDigest) -> io::Result<()>;
}

impl FileTarget for File {
    fn finish(self: Box<Self>, _: &FileDigest) -> io::Result<()> {
        Ok(())
    }
}

/// A file under way. What is put into it is handed on a buffer at a time, so that encoding, hashing
/// and the file system work side by side. Dropped unfinished, it leaves what was written.
pub struct HashedFile {
    path: PathBuf,
    name: String,
    buffer: Vec<u8>,
    /// Bytes handed on, those in `buffer` apart.
    sent: u64,
    worker: Option<Worker>,
}

struct Worker {
    buffers: SyncSender<Vec<u8>>,
    /// Buffers that are written, to be filled again.
    emptied: Receiver<Vec<u8>>,
    thread: JoinHandle<io::Result<FileDigest>>,
}

/// What was written to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileDigest {
    pub bytes: u64,
    pub blake3: blake3::Hash,
}

impl HashedFile {
    /// Creates `dir/name`.
    pub fn create(dir: &Path, name: &str) -> Result<Self, IoError> {
        let path = dir.join(name);
        let file = File::create_new(&path).map_err(IoError::of("creating", &path))?;
        Self::to(path, name, Box::new(file))
    }

    /// Begins to write to a target; errors tell `path`.
    pub fn to(path: PathBuf, name: &str, target: Box<dyn FileTarget>) -> Result<Self, IoError> {
        let (buffers, received) = sync_channel(WAITING);
        let (empty, emptied) = channel();
        let thread = Builder::new()
            .name("write".to_owned())
            .spawn(move || drain(target, &received, &empty))
            .map_err(IoError::of("starting a thread for", &path))?;
        Ok(Self {
            path,
            name: name.to_owned(),
            buffer: Vec::with_capacity(BUFFER),
            sent: 0,
            worker: Some(Worker { buffers, emptied, thread }),
        })
    }

    /// Where it is made.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes put so far.
    pub const fn bytes(&self) -> u64 {
        self.sent + self.buffer.len() as u64
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// [`WriteError::Io`].
    pub fn put(&mut self, bytes: &[u8]) -> Result<(), WriteError> {
        Ok(self.write_all(bytes).map_err(IoError::of("writing", &self.path))?)
    }

    /// Appends bytes that nobody else needs any more: as many as a buffer has, and not so many that those which wait
    /// would take much memory, are handed on as they are.
    pub(crate) fn put_owned(&mut self, bytes: Vec<u8>) -> Result<(), WriteError> {
        if !(BUFFER..=MOST_HANDED_ON).contains(&bytes.len()) {
            return self.put(&bytes);
        }
        let sent = self.send().and_then(|()| self.hand_on(bytes));
        Ok(sent.map_err(IoError::of("writing", &self.path))?)
    }

    /// Completes the file, which holds `rows` rows.
    pub fn finish(mut self, rows: u64) -> Result<ManifestFile, WriteError> {
        let written = self.send().and_then(|()| {
            // An empty buffer says that nothing is missing.
            let marked = self.worker.as_ref().map(|worker| worker.buffers.send(Vec::new()));
            // Where the mark did not arrive, the end tells why.
            let _ = marked;
            self.end()
        });
        let written = written.map_err(IoError::of("writing", &self.path))?;
        Ok(ManifestFile {
            name: std::mem::take(&mut self.name),
            bytes: written.bytes,
            rows,
            blake3: written.blake3.to_hex().to_string(),
        })
    }

    /// Hands the buffer on.
    fn send(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let empty = self.worker.as_ref().and_then(|worker| worker.emptied.try_recv().ok());
        let empty = empty.unwrap_or_else(|| Vec::with_capacity(BUFFER));
        let full = std::mem::replace(&mut self.buffer, empty);
        self.hand_on(full)
    }

    fn hand_on(&mut self, full: Vec<u8>) -> io::Result<()> {
        self.sent += full.len() as u64;
        match &self.worker {
            Some(worker) if worker.buffers.send(full).is_ok() => Ok(()),
            // The thread stops listening only when writing failed; it knows why.
            _ => Err(self.end().err().unwrap_or_else(|| io::ErrorKind::BrokenPipe.into())),
        }
    }

    fn end(&mut self) -> io::Result<FileDigest> {
        let Some(Worker { buffers, thread, .. }) = self.worker.take() else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        drop(buffers);
        thread.join().unwrap_or_else(|_| Err(io::Error::other("the writing thread gave up")))
    }
}

impl Drop for HashedFile {
    fn drop(&mut self) {
        // Nothing may touch the file once its owner is gone.
        if self.worker.is_some() {
            let _ = self.end();
        }
    }
}

impl Write for HashedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = BUFFER - self.buffer.len();
        let (now, _) = bytes.split_at_checked(room).unwrap_or((bytes, &[]));
        self.buffer.extend_from_slice(now);
        if self.buffer.len() >= BUFFER {
            self.send()?;
        }
        Ok(now.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn drain(
    mut target: Box<dyn FileTarget>,
    buffers: &Receiver<Vec<u8>>,
    emptied: &Sender<Vec<u8>>,
) -> io::Result<FileDigest> {
    let mut hasher = blake3::Hasher::new();
    let mut bytes = 0;
    for mut buffer in buffers {
        if buffer.is_empty() {
            let digest = FileDigest { bytes, blake3: hasher.finalize() };
            target.finish(&digest)?;
            return Ok(digest);
        }
        target.write_all(&buffer)?;
        hasher.update(&buffer);
        bytes += buffer.len() as u64;
        buffer.clear();
        if buffer.capacity() == BUFFER {
            // Nobody waits for it once the file is being finished.
            let _ = emptied.send(buffer);
        }
    }
    // The owner of the file is gone.
    Ok(FileDigest { bytes, blake3: hasher.finalize() })
}

/// Writes a small file whole.
pub(crate) fn write_whole(
    dir: &Path,
    name: &str,
    bytes: &[u8],
    rows: u64,
) -> Result<ManifestFile, WriteError> {
    let mut file = HashedFile::create(dir, name)?;
    file.put(bytes)?;
    file.finish(rows)
}
