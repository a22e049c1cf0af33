//! An object from its beginning to its end: some parts of it are asked for ahead, none is held longer than it is read.

use super::clients::RequestFault;
use super::driver::PendingRequest;
use super::error::RemoteError;
use super::fetch::{ByteBody, ObjectVersion, RemoteObject, RetryState, within_silence};
use futures::StreamExt;
use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::Arc;

/// Parts under way at a time, at most.
const AHEAD: usize = 4;
/// Bytes of a part that is told from a file given as a whole.
const PIECE: usize = 1 << 20;
/// Bytes of the first part, by which a format is told.
const FIRST: u64 = 256 << 10;

/// An object being read.
pub(crate) struct RemoteCursor {
    object: RemoteObject,
    /// Bytes of a part.
    part: u64,
    /// Up to where parts are asked for.
    asked: u64,
    /// How many may be under way.
    window: usize,
    parts: VecDeque<PendingRequest<Vec<u8>>>,
    /// Where the server gives whole files only.
    whole: Option<PendingRequest<WholeObjectRead>>,
    current: Vec<u8>,
    at: usize,
    /// Bytes before `current`.
    before: u64,
}

/// An answer that is read to its end, whatever is cut.
struct WholeObjectRead {
    body: Option<ByteBody>,
    /// Bytes that were read of the object.
    reached: u64,
    piece: Vec<u8>,
}

impl RemoteCursor {
    /// Opens an object, of which about `ahead` bytes may be held. Nothing is asked for yet.
    pub(crate) fn new(object: &RemoteObject, ahead: u64) -> Self {
        Self {
            object: object.clone(),
            part: (ahead / (AHEAD as u64 + 1)).max(64 << 10),
            asked: 0,
            window: 1,
            parts: VecDeque::new(),
            whole: None,
            current: Vec::new(),
            at: 0,
            before: 0,
        }
    }

    /// Whether the object begins with these bytes. They are read after it all the same.
    pub(crate) fn begins_with(&mut self, head: &[u8]) -> Result<bool, RemoteError> {
        if self.before == 0 && self.current.is_empty() {
            self.fill()?;
        }
        Ok(self.current.starts_with(head))
    }

    /// The next part; empty at the end.
    fn fill(&mut self) -> Result<(), RemoteError> {
        self.before += self.current.len() as u64;
        (self.current, self.at) = (Vec::new(), 0);
        if self.whole.is_some() {
            return self.fill_of_whole();
        }
        while self.parts.len() < self.window && self.asked < self.object.size() {
            let bytes = if self.asked == 0 { FIRST.min(self.part) } else { self.part };
            let end = self.object.size().min(self.asked + bytes);
            self.parts.push_back(self.object.begin(self.asked..end));
            self.asked = end;
        }
        let Some(part) = self.parts.pop_front() else { return Ok(()) };
        match part.wait(&self.object.interrupt) {
            Ok(bytes) => self.current = bytes,
            Err(RemoteError::NoRanges { .. }) => {
                self.parts.clear();
                self.whole = Some(self.pull(WholeObjectRead {
                    body: None,
                    reached: self.before,
                    piece: Vec::new(),
                }));
                return self.fill_of_whole();
            }
            Err(error) => return Err(error),
        }
        self.window = (self.window * 2).min(AHEAD);
        Ok(())
    }

    fn fill_of_whole(&mut self) -> Result<(), RemoteError> {
        let Some(pending) = self.whole.take() else { return Ok(()) };
        let mut whole = pending.wait(&self.object.interrupt)?;
        self.current = std::mem::take(&mut whole.piece);
        // The next piece comes while this one is read.
        self.whole = Some(self.pull(whole));
        Ok(())
    }

    fn pull(&self, whole: WholeObjectRead) -> PendingRequest<WholeObjectRead> {
        let known = Arc::clone(&self.object.known);
        self.object.known.client.driver.begin(async move { whole.pull(&known).await })
    }
}

impl WholeObjectRead {
    /// Reads the next piece. Where the answer was cut it is asked for once more, and what was read is passed over.
    async fn pull(mut self, known: &ObjectVersion) -> Result<Self, RemoteError> {
        let mut attempts = RetryState::default();
        while self.piece.len() < PIECE && self.reached < known.size {
            let before = self.reached;
            if let Err(fault) = self.attempt(known).await {
                self.body = None;
                attempts.failed(&known.name, fault, self.reached > before, self.reached).await?;
            }
        }
        Ok(self)
    }

    async fn attempt(&mut self, known: &ObjectVersion) -> Result<(), RequestFault> {
        let mut skip = 0;
        let mut body = match self.body.take() {
            Some(body) => body,
            None => {
                skip = self.reached;
                known.open(None).await?
            }
        };
        while self.piece.len() < PIECE {
            let Some(bytes) = within_silence(body.next()).await? else {
                return match self.reached == known.size {
                    true => Ok(()),
                    false => Err(RequestFault::Passing("the connection was cut".to_owned())),
                };
            };
            let bytes = bytes.map_err(|error| known.fault(&error))?;
            let passed = skip.min(bytes.len() as u64);
            skip -= passed;
            let new = bytes.get(usize::try_from(passed).unwrap_or(usize::MAX)..);
            let new = new.unwrap_or_default();
            self.piece.extend_from_slice(new);
            self.reached += new.len() as u64;
        }
        self.body = Some(body);
        Ok(())
    }
}

impl Read for RemoteCursor {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at >= self.current.len() {
            self.fill()?;
        }
        let read = self.current.get(self.at..).unwrap_or_default().read(buffer)?;
        self.at += read;
        Ok(read)
    }
}
