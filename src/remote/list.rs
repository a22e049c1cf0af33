//! Addresses to objects: one by its name, all below a prefix, those that a pattern matches.

use super::NameMatcher;
use super::address::{ObjectAddress, StoreKind};
use super::clients::{StoreClient, fault};
use super::error::RemoteError;
use super::fetch::{RemoteObject, send, within_silence};
use super::stores::ObjectStores;
use crate::model::Interrupt;
use futures::StreamExt;
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStoreExt};

impl ObjectStores {
    /// The objects that an address stands for, in byte order of their names: one, all below a prefix, or what matches a
    /// pattern, as `matches` says. Hidden ones are passed over, unless they are given by name.
    pub(crate) fn objects(
        &self,
        given: &str,
        interrupt: &Interrupt,
        matches: impl FnOnce(&str) -> Result<NameMatcher, String>,
    ) -> Result<Vec<RemoteObject>, RemoteError> {
        let address = ObjectAddress::parse(given)?;
        let client = self.clients.client(&address)?;
        let finder = ObjectFinder { address: &address, client: &client, interrupt };
        let is_web = address.kind == StoreKind::Web;
        if is_web && address.is_prefix() {
            return Err(RemoteError::NoListing { address: address.name() });
        }
        let mut found = if address.is_pattern() {
            let wrong = |why| RemoteError::Address { address: address.name(), why };
            let matches = matches(&address.path).map_err(wrong)?;
            let below = finder.list_below(address.literal())?;
            below.into_iter().filter(|meta| matches(meta.location.as_ref())).collect()
        } else if address.is_prefix() {
            finder.list_below(address.path.trim_end_matches('/'))?
        } else {
            match finder.one(&address.path) {
                // A folder whose name has no stroke behind it.
                Err(RemoteError::NotFound { .. }) if !is_web => finder.list_below(&address.path)?,
                one => vec![one?],
            }
        };
        if found.is_empty() {
            return Err(RemoteError::NotFound { address: address.name() });
        }
        found.sort_by(|a, b| a.location.as_ref().cmp(b.location.as_ref()));
        let object = |meta: ObjectMeta| {
            let name = match is_web {
                true => address.name(),
                false => address.name_of(meta.location.as_ref()),
            };
            RemoteObject::new(name, client.clone(), meta, interrupt)
        };
        Ok(found.into_iter().map(object).collect())
    }
}

struct ObjectFinder<'a> {
    address: &'a ObjectAddress,
    client: &'a StoreClient,
    interrupt: &'a Interrupt,
}

impl ObjectFinder<'_> {
    fn path(&self, path: &str) -> Result<Path, RemoteError> {
        let parsed = match self.address.kind {
            StoreKind::Web => Path::from_url_path(path),
            _ => Path::parse(path),
        };
        parsed.map_err(|error| RemoteError::Address {
            address: self.address.name(),
            why: error.to_string(),
        })
    }

    fn one(&self, path: &str) -> Result<ObjectMeta, RemoteError> {
        let (client, location) = (self.client.clone(), self.path(path)?);
        let name = self.address.name();
        let asked = self.client.driver.begin(async move {
            send(&name, || {
                let head = client.store.head(&location);
                async {
                    within_silence(head).await?.map_err(|error| fault(&error, client.kind, &name))
                }
            })
            .await
        });
        asked.wait(self.interrupt)
    }

    /// All objects below a folder, hidden ones left out.
    fn list_below(&self, folder: &str) -> Result<Vec<ObjectMeta>, RemoteError> {
        let prefix = self.path(folder)?;
        let before = prefix.parts().count();
        let name = self.address.name();
        let asked = self.client.driver.begin(below(self.client.clone(), prefix, name));
        let mut found = asked.wait(self.interrupt)?;
        found.retain(|meta| {
            let mut parts = meta.location.parts().skip(before);
            // A folder that a console made is an object without bytes.
            meta.size > 0 && !parts.any(|part| part.as_ref().starts_with('.'))
        });
        Ok(found)
    }
}

/// All objects below a prefix.
pub(super) async fn below(
    client: StoreClient,
    prefix: Path,
    name: String,
) -> Result<Vec<ObjectMeta>, RemoteError> {
    send(&name, || async {
        let mut found = Vec::new();
        let mut listed = client.store.list(Some(&prefix));
        while let Some(meta) = within_silence(listed.next()).await? {
            found.push(meta.map_err(|error| fault(&error, client.kind, &name))?);
        }
        Ok(found)
    })
    .await
}
