//! One object, and how a range of it is read: from the byte reached, where a connection was cut.

use super::clients::{RequestFault, StoreClient, fault};
use super::driver::PendingRequest;
use super::error::RemoteError;
use crate::model::Interrupt;
use futures::StreamExt;
use futures::stream::BoxStream;
use object_store::path::Path;
use object_store::{GetOptions, GetRange, GetResult, ObjectMeta};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// How long a server may be silent.
const SILENCE: Duration = Duration::from_secs(30);
/// Attempts without a byte of progress.
const ATTEMPTS: u32 = 7;
/// A silent server counts as so many of them.
const SILENT: u32 = 3;
/// Cuts of one request, with progress between them.
const CUTS: u32 = 1000;
/// The first pause between attempts; each is twice the one before.
const PAUSE: Duration = Duration::from_millis(100);

/// An object as it was found.
#[derive(Clone)]
pub(crate) struct RemoteObject {
    pub(super) known: Arc<ObjectVersion>,
    pub(super) interrupt: Interrupt,
}

/// What is known of an object.
pub(super) struct ObjectVersion {
    pub(super) name: String,
    pub(super) client: StoreClient,
    pub(super) location: Path,
    pub(super) size: u64,
    /// Its version, without quotes.
    tag: Option<String>,
    /// When it was modified, in nanoseconds since 1970; 0 when the server does not say.
    modified: i64,
}

impl RemoteObject {
    pub(super) fn new(
        name: String,
        client: StoreClient,
        meta: ObjectMeta,
        interrupt: &Interrupt,
    ) -> Self {
        let tag = meta.e_tag.as_deref().map(unquoted_tag);
        let modified = meta.last_modified.timestamp_nanos_opt().unwrap_or_default();
        let ObjectMeta { location, size, .. } = meta;
        let known = ObjectVersion { name, client, location, size, tag, modified };
        Self { known: Arc::new(known), interrupt: interrupt.clone() }
    }

    /// Its address.
    pub(crate) fn name(&self) -> &str {
        &self.known.name
    }

    /// Its bytes.
    pub(crate) fn size(&self) -> u64 {
        self.known.size
    }

    /// A number that another version of it has not: of its tag, or else of when it was modified; 0 when neither is
    /// known.
    pub(crate) fn version(&self) -> i128 {
        match &self.known.tag {
            None => i128::from(self.known.modified),
            Some(tag) => {
                let hash = blake3::hash(tag.as_bytes());
                let half = hash.as_bytes().first_chunk::<16>().copied().unwrap_or_default();
                i128::from_le_bytes(half) | 1
            }
        }
    }

    /// Begins to read a range.
    pub(super) fn begin(&self, range: Range<u64>) -> PendingRequest<Vec<u8>> {
        let known = Arc::clone(&self.known);
        self.known.client.driver.begin(async move { known.fetch(range).await })
    }
}

impl PartialEq for RemoteObject {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name() && self.version() == other.version()
    }
}

impl Eq for RemoteObject {}

impl std::fmt::Debug for RemoteObject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("RemoteObject").field(&self.name()).finish()
    }
}

/// A version tag as it is spelled in every answer: some lists leave out the quotes.
pub(super) fn unquoted_tag(tag: &str) -> String {
    tag.trim().trim_matches('"').to_owned()
}

/// Attempts at one request.
#[derive(Default)]
pub(super) struct RetryState {
    failed: u32,
    cuts: u32,
}

impl RetryState {
    /// Takes note of a failure after `progress`, and pauses, unless it is not to be tried again.
    pub(super) async fn failed(
        &mut self,
        name: &str,
        fault: RequestFault,
        progress: bool,
        at: u64,
    ) -> Result<(), RemoteError> {
        let address = name.to_owned();
        let why = match fault {
            RequestFault::Final(error) => return Err(error),
            RequestFault::Changed => return Err(RemoteError::Changed { address, at }),
            RequestFault::NoRanges => return Err(RemoteError::NoRanges { address }),
            RequestFault::Passing(why) => why,
        };
        self.cuts += 1;
        if progress {
            self.failed = 0;
        }
        self.failed += if why == silent() { SILENT } else { 1 };
        if self.failed >= ATTEMPTS || self.cuts > CUTS {
            let attempts = self.failed.min(self.cuts);
            return Err(RemoteError::GaveUp { address, at, attempts, why });
        }
        sleep(PAUSE * 2_u32.pow(self.failed - 1)).await;
        Ok(())
    }
}

fn silent() -> String {
    format!("the server was silent for {} seconds", SILENCE.as_secs())
}

/// A server that says nothing for so long is one that failed.
pub(super) async fn within_silence<T>(work: impl Future<Output = T>) -> Result<T, RequestFault> {
    timeout(SILENCE, work).await.map_err(|_| RequestFault::Passing(silent()))
}

/// Asks until there is an answer, or none is to be hoped for.
pub(super) async fn send<T, F: Future<Output = Result<T, RequestFault>>>(
    name: &str,
    ask: impl Fn() -> F,
) -> Result<T, RemoteError> {
    let mut attempts = RetryState::default();
    loop {
        match ask().await {
            Ok(answer) => return Ok(answer),
            Err(fault) => attempts.failed(name, fault, false, 0).await?,
        }
    }
}

/// The bytes of an answer.
pub(super) type ByteBody = BoxStream<'static, object_store::Result<bytes::Bytes>>;

impl ObjectVersion {
    pub(super) fn fault(&self, error: &object_store::Error) -> RequestFault {
        fault(error, self.client.kind, &self.name)
    }

    /// The bytes of a range.
    pub(super) async fn fetch(&self, range: Range<u64>) -> Result<Vec<u8>, RemoteError> {
        let length = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
        let mut got = Vec::with_capacity(length);
        let mut attempts = RetryState::default();
        while got.len() < length {
            let before = got.len();
            let from = range.start + before as u64;
            if let Err(fault) = self.attempt(from..range.end, &mut got).await {
                let at = range.start + got.len() as u64;
                attempts.failed(&self.name, fault, got.len() > before, at).await?;
            }
        }
        Ok(got)
    }

    async fn attempt(&self, range: Range<u64>, got: &mut Vec<u8>) -> Result<(), RequestFault> {
        let wanted = got.len() as u64 + (range.end - range.start);
        let mut body = self.open(Some(range)).await?;
        while let Some(bytes) = within_silence(body.next()).await? {
            got.extend_from_slice(&bytes.map_err(|error| self.fault(&error))?);
        }
        match (got.len() as u64).cmp(&wanted) {
            std::cmp::Ordering::Equal => Ok(()),
            std::cmp::Ordering::Less => {
                Err(RequestFault::Passing("the connection was cut".to_owned()))
            }
            std::cmp::Ordering::Greater => Err(RequestFault::Final(RemoteError::Failed {
                address: self.name.clone(),
                why: "the server gave more bytes than were asked for".to_owned(),
            })),
        }
    }

    /// Asks for a range, or for all, of the version that was found.
    pub(super) async fn open(&self, range: Option<Range<u64>>) -> Result<ByteBody, RequestFault> {
        // A weak tag matches nothing, by the rules; the answer's own is looked at below.
        let strong = self.tag.as_ref().filter(|tag| !tag.starts_with("W/"));
        let options = GetOptions {
            range: range.map(GetRange::Bounded),
            if_match: strong.map(|tag| format!("\"{tag}\"")),
            ..GetOptions::default()
        };
        let answer = within_silence(self.client.store.get_opts(&self.location, options)).await?;
        let answer = answer.map_err(|error| self.fault(&error))?;
        match self.is_same(&answer) {
            true => Ok(answer.into_stream()),
            false => Err(RequestFault::Changed),
        }
    }

    fn is_same(&self, answer: &GetResult) -> bool {
        let ObjectMeta { size, e_tag, last_modified, .. } = &answer.meta;
        let is_same_version = match (&self.tag, e_tag.as_deref().map(unquoted_tag)) {
            (Some(known), Some(now)) => *known == now,
            (Some(_), None) => true,
            // A list tells the time to the millisecond, an answer to the second.
            (None, _) => {
                let now = last_modified.timestamp_nanos_opt().unwrap_or_default();
                now.abs_diff(self.modified) < 1_000_000_000
            }
        };
        is_same_version && *size == self.size
    }
}
