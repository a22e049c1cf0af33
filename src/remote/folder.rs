//! Objects of one folder of a store: looked at, written, deleted.

use super::address::{ObjectAddress, StoreKind};
use super::clients::{RequestFault, StoreClient, fault};
use super::error::RemoteError;
use super::fetch::{send, unquoted_tag, within_silence};
use super::list::below;
use super::stores::ObjectStores;
use super::write::RemoteWriter;
use crate::model::Interrupt;
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStoreExt, PutPayload};

/// A folder of a store.
#[derive(Clone)]
pub(crate) struct RemoteFolder {
    address: ObjectAddress,
    client: StoreClient,
    interrupt: Interrupt,
    /// With a stroke behind it, unless it is the whole bucket.
    prefix: String,
}

/// An object of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RemoteEntry {
    /// Its name in the folder.
    pub(crate) name: String,
    pub(crate) bytes: u64,
    /// Its version.
    pub(crate) tag: Option<String>,
}

impl RemoteFolder {
    /// The folder of an address, which need not be there.
    pub(crate) fn open(
        stores: &ObjectStores,
        given: &str,
        interrupt: &Interrupt,
    ) -> Result<Self, RemoteError> {
        let address = ObjectAddress::parse(given)?;
        if address.kind == StoreKind::Web {
            let why = "a web server takes no files; give a bucket, such as s3://BUCKET/FOLDER/";
            return Err(RemoteError::Address { address: address.name(), why: why.to_owned() });
        }
        let client = stores.clients.client(&address)?;
        let folder = address.path.trim_matches('/');
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        Ok(Self { address, client, interrupt: interrupt.clone(), prefix })
    }

    /// The address of an object in it.
    pub(crate) fn address_of(&self, name: &str) -> String {
        self.address.name_of(&format!("{}{name}", self.prefix))
    }

    fn location(&self, name: &str) -> Result<Path, RemoteError> {
        let path = format!("{}{name}", self.prefix);
        Path::parse(&path).map_err(|error| RemoteError::Address {
            address: self.address.name_of(&path),
            why: error.to_string(),
        })
    }

    /// All objects in it and below, in byte order of their names.
    pub(crate) fn entries(&self) -> Result<Vec<RemoteEntry>, RemoteError> {
        let prefix = self.location("")?;
        let name = self.address.name();
        let listed = self.client.driver.begin(below(self.client.clone(), prefix, name));
        let mut entries: Vec<RemoteEntry> = listed
            .wait(&self.interrupt)?
            .into_iter()
            .filter_map(|meta| {
                let name = meta.location.as_ref().strip_prefix(&self.prefix)?.to_owned();
                Some(entry(name, &meta))
            })
            .collect();
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    /// An object, if it is there.
    pub(crate) fn entry(&self, name: &str) -> Result<Option<RemoteEntry>, RemoteError> {
        let (client, location) = (self.client.clone(), self.location(name)?);
        let address = self.address_of(name);
        let asked = self.client.driver.begin(async move {
            send(&address, || {
                let head = client.store.head(&location);
                async {
                    within_silence(head)
                        .await?
                        .map_err(|error| fault(&error, client.kind, &address))
                }
            })
            .await
        });
        match asked.wait(&self.interrupt) {
            Ok(meta) => Ok(Some(entry(name.to_owned(), &meta))),
            Err(RemoteError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The bytes of a small object, if it is there.
    pub(crate) fn get(&self, name: &str) -> Result<Option<Vec<u8>>, RemoteError> {
        let (client, location) = (self.client.clone(), self.location(name)?);
        let address = self.address_of(name);
        let asked = self.client.driver.begin(async move {
            send(&address, || async {
                let fault = |error| fault(&error, client.kind, &address);
                let answer = within_silence(client.store.get(&location)).await?.map_err(fault)?;
                within_silence(answer.bytes()).await?.map_err(fault)
            })
            .await
        });
        match asked.wait(&self.interrupt) {
            Ok(bytes) => Ok(Some(bytes.to_vec())),
            Err(RemoteError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes a small object whole, in the place of one that is there.
    pub(crate) fn put(&self, name: &str, bytes: Vec<u8>) -> Result<(), RemoteError> {
        let (client, location) = (self.client.clone(), self.location(name)?);
        let (address, payload) = (self.address_of(name), PutPayload::from(bytes));
        let asked = self.client.driver.begin(async move {
            send(&address, || {
                let put = client.store.put(&location, payload.clone());
                async {
                    within_silence(put).await?.map_err(|error| fault(&error, client.kind, &address))
                }
            })
            .await
        });
        asked.wait(&self.interrupt).map(|_| ())
    }

    /// Deletes an object; one that is not there is deleted.
    pub(crate) fn delete(&self, name: &str) -> Result<(), RemoteError> {
        let (client, location) = (self.client.clone(), self.location(name)?);
        let address = self.address_of(name);
        let asked = self.client.driver.begin(async move {
            send(&address, || async {
                match within_silence(client.store.delete(&location)).await? {
                    Ok(()) => Ok(()),
                    Err(error) => match fault(&error, client.kind, &address) {
                        RequestFault::Final(RemoteError::NotFound { .. }) => Ok(()),
                        fault => Err(fault),
                    },
                }
            })
            .await
        });
        asked.wait(&self.interrupt)
    }

    /// Begins to write an object, which appears as a whole when it is finished.
    pub(crate) fn create(&self, name: &str, memory: u64) -> Result<RemoteWriter, RemoteError> {
        let (location, address) = (self.location(name)?, self.address_of(name));
        RemoteWriter::new(self.client.clone(), location, address, &self.interrupt, memory)
    }
}

fn entry(name: String, meta: &ObjectMeta) -> RemoteEntry {
    RemoteEntry { name, bytes: meta.size, tag: meta.e_tag.as_deref().map(unquoted_tag) }
}
