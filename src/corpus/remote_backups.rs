//! Backups below an address in an object store.

use files::remote::{ObjectStores, RemoteCursor, RemoteError, RemoteFolder};
use model::{Context, Interrupt, IoError};
use std::io::Read;
use std::path::{Path, PathBuf};
use store::{BackupPlace, Fill, PlaceEntry, StoreError, WriterLock};

/// Objects below an address. A store has no locks, so marks keep processes apart.
pub(super) struct RemoteBackups {
    folder: RemoteFolder,
    /// The same folder without the interrupt: to clean up after a stop was requested.
    after: RemoteFolder,
    memory: u64,
}

impl RemoteBackups {
    pub(super) fn open(
        stores: &ObjectStores,
        address: &str,
        context: &Context<'_>,
    ) -> Result<Self, RemoteError> {
        Ok(Self {
            folder: RemoteFolder::open(stores, address, context.interrupt)?,
            after: RemoteFolder::open(stores, address, &Interrupt::default())?,
            memory: context.memory,
        })
    }

    fn failed<T>(
        &self,
        doing: &'static str,
        name: &str,
        done: Result<T, RemoteError>,
    ) -> Result<T, StoreError> {
        done.map_err(|error| IoError::of(doing, &self.path(name))(error.into()).into())
    }
}

impl BackupPlace for RemoteBackups {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.address_of(name).into()
    }

    fn directory(&self) -> Option<&Path> {
        None
    }

    fn lock(&self) -> Result<Option<WriterLock>, StoreError> {
        Ok(None)
    }

    fn entries(&self) -> Result<Vec<PlaceEntry>, StoreError> {
        let entries = self.failed("listing", "", self.folder.entries())?;
        let placed = entries.into_iter().map(|entry| PlaceEntry {
            name: entry.name,
            bytes: entry.bytes,
            written: entry.written,
        });
        Ok(placed.collect())
    }

    fn open(&self, name: &str) -> Result<Option<Box<dyn Read + '_>>, StoreError> {
        let object = self.failed("opening", name, self.folder.object(name))?;
        Ok(object.map(|object| -> Box<dyn Read> {
            Box::new(RemoteCursor::new(&object, self.memory / 16))
        }))
    }

    fn put(&self, name: &str, fill: Fill<'_>) -> Result<(), StoreError> {
        let mut object = self.failed("creating", name, self.folder.create(name, self.memory))?;
        fill(&mut object)?;
        self.failed("writing", name, object.finish())
    }

    fn put_new(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        self.failed("writing", name, self.folder.put_new(name, bytes.to_vec()).map(drop))
    }

    fn remove(&self, names: &[&str]) -> Result<(), StoreError> {
        self.failed("removing", "", self.after.delete_all(names))
    }
}
