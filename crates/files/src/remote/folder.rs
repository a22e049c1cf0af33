//! The objects of one folder of a bucket: lists, reads, writes and deletes them.
//!
//! An object is written in parts; some are being sent while the next one is made; it appears when all are there.

use super::address::{ObjectAddress, StoreKind};
use super::error::RemoteError;
use super::listing::path_of;
use super::object::{RemoteObject, head, list_below, unquoted_tag};
use super::request::{
    COMPLETION, PendingRequest, RequestFault, RetryState, SILENCE, send, transfer_time, within,
};
use super::stores::{ObjectStores, StoreClient};
use futures::StreamExt;
use model::{Interrupt, error_words};
use object_store::multipart::PartId;
use object_store::path::Path;
use object_store::{
    Error, MultipartId, ObjectMeta, ObjectStore as _, ObjectStoreExt, PutMode, PutPayload,
};
use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::Arc;

/// Bytes of a part: stores take none below 5 MiB but the last, and some want them equal.
const PARTS: std::ops::RangeInclusive<u64> = 8 << 20..=32 << 20;
/// Parts that may be under way.
const UNDER_WAY: usize = 2;
/// Parts that an object may have.
const MOST: usize = 10_000;

/// A folder of a store.
#[derive(Clone)]
pub struct RemoteFolder {
    address: ObjectAddress,
    client: StoreClient,
    interrupt: Interrupt,
    /// With a stroke behind it, unless it is the whole bucket.
    prefix: String,
}

/// An object of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteEntry {
    /// Its name in the folder.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// When it was written, in seconds since 1970 by the clock of the store; 0 where it has no such time.
    pub written: i64,
    /// Its version.
    pub(crate) tag: Option<String>,
}

impl RemoteFolder {
    /// The folder of an address, which need not be there.
    pub fn open(
        stores: &ObjectStores,
        given: &str,
        interrupt: &Interrupt,
    ) -> Result<Self, RemoteError> {
        let address = ObjectAddress::parse(given)?;
        if address.kind == StoreKind::Web {
            let why =
                "a web server cannot be written to; give a bucket, such as s3://BUCKET/FOLDER/";
            return Err(RemoteError::Address { address: address.name(), why: why.to_owned() });
        }
        let client = stores.clients.bucket(&address)?;
        let folder = address.path.strip_suffix('/').unwrap_or(&address.path);
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        Ok(Self { address, client, interrupt: interrupt.clone(), prefix })
    }

    /// The folder above it, and its name in that one; none: it is the whole bucket.
    pub(crate) fn parent(&self) -> Option<(Self, String)> {
        let path = self.prefix.strip_suffix('/')?;
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        let prefix = if above.is_empty() { String::new() } else { format!("{above}/") };
        Some((Self { prefix, ..self.clone() }, name.to_owned()))
    }

    /// The address of an object in it.
    pub fn address_of(&self, name: &str) -> String {
        self.address.name_of(&format!("{}{name}", self.prefix))
    }

    fn location(&self, name: &str) -> Result<Path, RemoteError> {
        let path = format!("{}{name}", self.prefix);
        path_of(&path).map_err(|why| {
            let address = self.address.name_of(&path);
            RemoteError::Address { address, why }
        })
    }

    /// All objects in it and below, in byte order of their names; those that cannot be asked for by their names are
    /// among them, so that they are not taken for none.
    pub fn entries(&self) -> Result<Vec<RemoteEntry>, RemoteError> {
        let listed = list_below(&self.client, self.prefix.clone(), self.address.name());
        let listing = listed.wait(&self.interrupt)?;
        let within = |name: &str| Some(name.strip_prefix(&self.prefix)?.to_owned());
        let good = listing.objects.iter();
        let good = good.filter_map(|meta| Some(entry(within(meta.location.as_ref())?, meta)));
        let odd = listing.left.iter();
        let odd = odd.filter_map(|name| {
            Some(RemoteEntry { name: within(name)?, bytes: 0, written: 0, tag: None })
        });
        let mut entries: Vec<RemoteEntry> = good.chain(odd).collect();
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    fn meta(&self, name: &str) -> Result<Option<ObjectMeta>, RemoteError> {
        let asked = head(&self.client, self.location(name)?, self.address_of(name));
        match asked.wait(&self.interrupt) {
            Ok(meta) => Ok(Some(meta)),
            Err(RemoteError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// An object, if it is there.
    pub(crate) fn entry(&self, name: &str) -> Result<Option<RemoteEntry>, RemoteError> {
        Ok(self.meta(name)?.map(|meta| entry(name.to_owned(), &meta)))
    }

    /// An object to be read, if it is there.
    pub fn object(&self, name: &str) -> Result<Option<RemoteObject>, RemoteError> {
        let Some(meta) = self.meta(name)? else { return Ok(None) };
        let (address, client) = (self.address_of(name), self.client.clone());
        Ok(Some(RemoteObject::of_bucket(address, client, meta, &self.interrupt)))
    }

    /// The bytes of a small object, if it is there.
    pub(crate) fn get(&self, name: &str) -> Result<Option<Vec<u8>>, RemoteError> {
        let Some(object) = self.object(name)? else { return Ok(None) };
        object.begin(0..object.size()).wait(&self.interrupt).map(Some)
    }

    /// Writes a small object whole, in the place of one that is there.
    pub(crate) fn put(&self, name: &str, bytes: Vec<u8>) -> Result<(), RemoteError> {
        let (location, address) = (self.location(name)?, self.address_of(name));
        let target = Arc::new(UploadTarget { client: self.client.clone(), location, address });
        put(&target, bytes, PutMode::Overwrite).wait(&self.interrupt).map(drop)
    }

    /// Writes a small object unless one is there, which is answered by `false`; a store that cannot tell writes it all
    /// the same.
    pub fn put_new(&self, name: &str, bytes: Vec<u8>) -> Result<bool, RemoteError> {
        let (location, address) = (self.location(name)?, self.address_of(name));
        let target = Arc::new(UploadTarget { client: self.client.clone(), location, address });
        put(&target, bytes, PutMode::Create).wait(&self.interrupt)
    }

    /// Deletes an object; one that is not there is deleted.
    pub(crate) fn delete(&self, name: &str) -> Result<(), RemoteError> {
        self.delete_all(&[name])
    }

    /// Deletes objects, many by one request where the store takes that; those that are not there are deleted.
    pub fn delete_all(&self, names: &[&str]) -> Result<(), RemoteError> {
        let locations = names.iter().map(|name| self.location(name));
        let locations = locations.collect::<Result<Vec<_>, _>>()?;
        let address = match names {
            [name] => self.address_of(name),
            _ => self.address_of(""),
        };
        let client = self.client.clone();
        let asked = self.client.runtime.begin(async move {
            let locations = futures::stream::iter(locations.into_iter().map(Ok)).boxed();
            let mut deleted = client.small.delete_stream(locations);
            while let Some(done) = deleted.next().await {
                match done.map_err(|error| client.fault(&error, &address).last(&address)) {
                    Ok(_) | Err(RemoteError::NotFound { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(())
        });
        asked.wait(&self.interrupt)
    }

    /// Begins to write an object, which appears as a whole when it is finished.
    pub fn create(&self, name: &str, memory: u64) -> Result<RemoteWriter, RemoteError> {
        let (location, address) = (self.location(name)?, self.address_of(name));
        let target = UploadTarget { client: self.client.clone(), location, address };
        Ok(RemoteWriter::new(target, &self.interrupt, memory))
    }
}

fn entry(name: String, meta: &ObjectMeta) -> RemoteEntry {
    let (bytes, written) = (meta.size, meta.last_modified.timestamp());
    RemoteEntry { name, bytes, written, tag: meta.e_tag.as_deref().map(unquoted_tag) }
}

/// An object under way. Dropped unfinished, it leaves nothing.
pub struct RemoteWriter {
    object: Arc<UploadTarget>,
    interrupt: Interrupt,
    part: usize,
    buffer: Vec<u8>,
    /// Bytes of the parts.
    bytes: u64,
    upload: Option<Arc<MultipartId>>,
    under_way: VecDeque<PendingRequest<PartId>>,
    done: Vec<PartId>,
    started: usize,
    is_finished: bool,
}

struct UploadTarget {
    client: StoreClient,
    location: Path,
    address: String,
}

impl UploadTarget {
    fn fault(&self, error: &object_store::Error) -> RequestFault {
        self.client.fault(error, &self.address)
    }

    /// Puts the parts together. A store may take minutes for it, and one that had done so when its answer was lost knows
    /// nothing of the upload any more: then the object is there, with all its bytes.
    async fn complete(
        &self,
        upload: &MultipartId,
        parts: Vec<PartId>,
        bytes: u64,
    ) -> Result<(), RemoteError> {
        let mut attempts = RetryState::default();
        loop {
            let multipart = &self.client.multipart;
            let done = multipart.complete_multipart(&self.location, upload, parts.clone());
            let done = within(COMPLETION, done).await;
            let fault = match done.and_then(|done| done.map_err(|error| self.fault(&error))) {
                Ok(_) => return Ok(()),
                Err(fault) => fault,
            };
            let is_gone = match &fault {
                RequestFault::Final(RemoteError::NotFound { .. }) => true,
                // In the words of Azure.
                RequestFault::Passing(why) => why.contains("InvalidBlockList"),
                _ => false,
            };
            if is_gone && attempts.is_repeated() {
                let found = self.client.small.head(&self.location).await;
                if found.is_ok_and(|found| found.size == bytes) {
                    return Ok(());
                }
            }
            attempts.failed(&self.address, fault, false, 0).await?;
        }
    }
}

/// Begins to write an object whole. `PutMode::Create` leaves one that is there, and answers `false`: it may be this very
/// one, where the answer to an earlier request was lost.
fn put(target: &Arc<UploadTarget>, bytes: Vec<u8>, mode: PutMode) -> PendingRequest<bool> {
    let (target, limit) = (Arc::clone(target), transfer_time(bytes.len()));
    let runtime = Arc::clone(&target.client.runtime);
    let payload = PutPayload::from(bytes);
    runtime.begin(async move {
        send(&target.address, || {
            let (bodies, location) = (&target.client.bodies, &target.location);
            let put = |mode: PutMode| bodies.put_opts(location, payload.clone(), mode.into());
            let (asked, again) = (put(mode.clone()), put(PutMode::Overwrite));
            async {
                match within(limit, asked).await? {
                    Ok(_) => Ok(true),
                    Err(Error::AlreadyExists { .. }) if mode == PutMode::Create => Ok(false),
                    Err(error) if mode == PutMode::Create && is_unknown(&error) => {
                        let put = within(limit, again).await?;
                        put.map(|_| true).map_err(|error| target.fault(&error))
                    }
                    Err(error) => Err(target.fault(&error)),
                }
            }
        })
        .await
    })
}

/// Whether a store does not know what it was asked to see to.
fn is_unknown(error: &Error) -> bool {
    matches!(error, Error::NotImplemented { .. } | Error::NotSupported { .. })
        || error_words(error).contains("501 Not Implemented")
}

impl RemoteWriter {
    fn new(target: UploadTarget, interrupt: &Interrupt, memory: u64) -> Self {
        let part = (memory / 64).clamp(*PARTS.start(), *PARTS.end());
        Self {
            object: Arc::new(target),
            interrupt: interrupt.clone(),
            part: usize::try_from(part).unwrap_or(usize::MAX),
            buffer: Vec::new(),
            bytes: 0,
            upload: None,
            under_way: VecDeque::new(),
            done: Vec::new(),
            started: 0,
            is_finished: false,
        }
    }

    /// Puts the last bytes there; then the object is there, whole.
    pub fn finish(self) -> Result<(), RemoteError> {
        self.finish_in(PutMode::Overwrite).map(drop)
    }

    /// Finishes like [`RemoteWriter::finish`]; answers `false`, and does nothing, if an object is there. An object of
    /// several parts takes its place all the same: no store completes those on a condition.
    pub(crate) fn finish_new(self) -> Result<bool, RemoteError> {
        self.finish_in(PutMode::Create)
    }

    /// Sends what is left of an object of several parts, and waits until all of them are there.
    pub(crate) fn send_rest(&mut self) -> Result<(), RemoteError> {
        if self.upload.is_some() {
            if !self.buffer.is_empty() {
                self.send()?;
            }
            while !self.under_way.is_empty() {
                self.take_done()?;
            }
        }
        Ok(())
    }

    fn finish_in(mut self, mode: PutMode) -> Result<bool, RemoteError> {
        let Some(upload) = self.upload.clone() else {
            let bytes = std::mem::take(&mut self.buffer);
            let is_put = put(&self.object, bytes, mode).wait(&self.interrupt)?;
            self.is_finished = true;
            return Ok(is_put);
        };
        self.send_rest()?;
        let (object, parts) = (Arc::clone(&self.object), std::mem::take(&mut self.done));
        let bytes = self.bytes;
        let complete = self
            .object
            .client
            .runtime
            .begin(async move { object.complete(&upload, parts, bytes).await });
        complete.wait(&self.interrupt)?;
        self.is_finished = true;
        Ok(true)
    }

    /// Sends the buffer as the next part.
    fn send(&mut self) -> Result<(), RemoteError> {
        let upload = match &self.upload {
            Some(upload) => Arc::clone(upload),
            None => Arc::clone(self.upload.insert(Arc::new(self.begin()?))),
        };
        if self.started >= MOST {
            let why = format!(
                "it needs more than {MOST} parts of {} bytes: lower `shard_bytes=`, or raise `memory=`",
                self.part
            );
            return Err(RemoteError::Failed { address: self.object.address.clone(), why });
        }
        if self.under_way.len() >= UNDER_WAY {
            self.take_done()?;
        }
        self.bytes += self.buffer.len() as u64;
        let limit = transfer_time(self.buffer.len());
        let payload = PutPayload::from(std::mem::take(&mut self.buffer));
        let (object, number) = (Arc::clone(&self.object), self.started);
        self.started += 1;
        self.under_way.push_back(self.object.client.runtime.begin(async move {
            send(&object.address, || {
                let payload = payload.clone();
                let put =
                    object.client.multipart.put_part(&object.location, &upload, number, payload);
                async { within(limit, put).await?.map_err(|error| object.fault(&error)) }
            })
            .await
        }));
        Ok(())
    }

    fn begin(&self) -> Result<MultipartId, RemoteError> {
        let object = Arc::clone(&self.object);
        let begun = self.object.client.runtime.begin(async move {
            send(&object.address, || async {
                let begun = object.client.multipart.create_multipart(&object.location);
                within(SILENCE, begun).await?.map_err(|error| object.fault(&error))
            })
            .await
        });
        begun.wait(&self.interrupt)
    }

    fn take_done(&mut self) -> Result<(), RemoteError> {
        if let Some(part) = self.under_way.pop_front() {
            self.done.push(part.wait(&self.interrupt)?);
        }
        Ok(())
    }
}

impl Write for RemoteWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = self.part - self.buffer.len();
        let now = bytes.get(..room).unwrap_or(bytes);
        self.buffer.extend_from_slice(now);
        if self.buffer.len() >= self.part {
            self.send()?;
        }
        Ok(now.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for RemoteWriter {
    fn drop(&mut self) {
        let Some(upload) = self.upload.take().filter(|_| !self.is_finished) else { return };
        self.under_way.clear();
        let object = Arc::clone(&self.object);
        // After a stop was requested, too. What cannot be taken back is left to the rules of the bucket for uploads
        // that nobody finished.
        let aborted = self.object.client.runtime.begin(async move {
            let aborted = object.client.multipart.abort_multipart(&object.location, &upload);
            let _ = within(SILENCE, aborted).await;
            Ok(())
        });
        let _ = aborted.wait(&Interrupt::default());
    }
}
