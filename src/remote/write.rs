//! An object being written: in parts, of which some are under way while the next one is made; it appears when all are
//! there.

use super::clients::{StoreClient, fault};
use super::driver::PendingRequest;
use super::error::RemoteError;
use super::fetch::{send, within_silence};
use crate::model::Interrupt;
use object_store::multipart::{MultipartStore, PartId};
use object_store::path::Path;
use object_store::{MultipartId, ObjectStoreExt, PutPayload};
use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::Arc;

/// Bytes of a part: stores take none below 5 MiB but the last, and some want them equal.
const PARTS: std::ops::RangeInclusive<u64> = 8 << 20..=32 << 20;
/// Parts that may be under way.
const UNDER_WAY: usize = 2;
/// Parts that an object may have.
const MOST: usize = 10_000;

/// An object under way. Dropped unfinished, it leaves nothing.
pub(crate) struct RemoteWriter {
    object: Arc<UploadTarget>,
    interrupt: Interrupt,
    part: usize,
    buffer: Vec<u8>,
    upload: Option<Arc<MultipartId>>,
    under_way: VecDeque<PendingRequest<PartId>>,
    done: Vec<PartId>,
    started: usize,
    is_finished: bool,
}

struct UploadTarget {
    client: StoreClient,
    multipart: Arc<dyn MultipartStore>,
    location: Path,
    address: String,
}

impl UploadTarget {
    fn fault(&self, error: &object_store::Error) -> super::clients::RequestFault {
        fault(error, self.client.kind, &self.address)
    }
}

impl RemoteWriter {
    pub(super) fn new(
        client: StoreClient,
        location: Path,
        address: String,
        interrupt: &Interrupt,
        memory: u64,
    ) -> Result<Self, RemoteError> {
        let why = || "this store takes no objects in parts".to_owned();
        let Some(multipart) = client.multipart.clone() else {
            return Err(RemoteError::Failed { address, why: why() });
        };
        let part = (memory / 64).clamp(*PARTS.start(), *PARTS.end());
        Ok(Self {
            object: Arc::new(UploadTarget { client, multipart, location, address }),
            interrupt: interrupt.clone(),
            part: usize::try_from(part).unwrap_or(usize::MAX),
            buffer: Vec::new(),
            upload: None,
            under_way: VecDeque::new(),
            done: Vec::new(),
            started: 0,
            is_finished: false,
        })
    }

    /// Puts the last bytes there; then the object is there, whole.
    pub(crate) fn finish(mut self) -> Result<(), RemoteError> {
        let Some(upload) = self.upload.clone() else {
            let payload = PutPayload::from(std::mem::take(&mut self.buffer));
            let object = Arc::clone(&self.object);
            let put = self.object.client.driver.begin(async move {
                send(&object.address, || {
                    let put = object.client.store.put(&object.location, payload.clone());
                    async { within_silence(put).await?.map_err(|error| object.fault(&error)) }
                })
                .await
            });
            put.wait(&self.interrupt)?;
            self.is_finished = true;
            return Ok(());
        };
        if !self.buffer.is_empty() {
            self.send()?;
        }
        while !self.under_way.is_empty() {
            self.take_done()?;
        }
        let (object, parts) = (Arc::clone(&self.object), std::mem::take(&mut self.done));
        let complete = self.object.client.driver.begin(async move {
            send(&object.address, || {
                let parts = parts.clone();
                let done = object.multipart.complete_multipart(&object.location, &upload, parts);
                async { within_silence(done).await?.map_err(|error| object.fault(&error)) }
            })
            .await
        });
        complete.wait(&self.interrupt)?;
        self.is_finished = true;
        Ok(())
    }

    /// Sends the buffer as the next part.
    fn send(&mut self) -> Result<(), RemoteError> {
        let upload = match &self.upload {
            Some(upload) => Arc::clone(upload),
            None => Arc::clone(self.upload.insert(Arc::new(self.begin()?))),
        };
        if self.started >= MOST {
            let why = format!(
                "it has more than {MOST} parts of {} bytes: cut it with --shard-bytes, or give more --memory",
                self.part
            );
            return Err(RemoteError::Failed { address: self.object.address.clone(), why });
        }
        if self.under_way.len() >= UNDER_WAY {
            self.take_done()?;
        }
        let payload = PutPayload::from(std::mem::take(&mut self.buffer));
        let (object, number) = (Arc::clone(&self.object), self.started);
        self.started += 1;
        self.under_way.push_back(self.object.client.driver.begin(async move {
            send(&object.address, || {
                let payload = payload.clone();
                let put = object.multipart.put_part(&object.location, &upload, number, payload);
                async { within_silence(put).await?.map_err(|error| object.fault(&error)) }
            })
            .await
        }));
        Ok(())
    }

    fn begin(&self) -> Result<MultipartId, RemoteError> {
        let object = Arc::clone(&self.object);
        let begun = self.object.client.driver.begin(async move {
            send(&object.address, || async {
                let begun = object.multipart.create_multipart(&object.location);
                within_silence(begun).await?.map_err(|error| object.fault(&error))
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
        // What cannot be taken back is left to the rules of the bucket for uploads that nobody finished.
        let aborted = self.object.client.driver.begin(async move {
            let _ =
                within_silence(object.multipart.abort_multipart(&object.location, &upload)).await;
            Ok(())
        });
        let _ = aborted.wait(&self.interrupt);
    }
}
