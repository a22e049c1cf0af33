//! How stores are reached: settings by name, and the clients that are made of them.

use super::clients::ClientPool;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// What names of settings begin with: the first word of the environment's variables for each store.
const PREFIXES: [&str; 3] = ["AWS_", "GOOGLE_", "AZURE_"];

/// How objects of stores are reached: credentials, regions and endpoints, under the names of the environment's
/// variables (`AWS_ACCESS_KEY_ID`, `AWS_ENDPOINT_URL`, `GOOGLE_APPLICATION_CREDENTIALS`, `AZURE_STORAGE_ACCOUNT_NAME`
/// ..). Copies share their connections.
#[derive(Clone)]
pub struct ObjectStores {
    settings: Arc<BTreeMap<String, String>>,
    pub(super) clients: Arc<ClientPool>,
}

impl ObjectStores {
    /// Stores that are reached with these settings; others than of stores are passed over, so that a whole environment
    /// may be given. Without any, what is open to everybody can be read from web servers.
    pub fn new(settings: impl IntoIterator<Item = (String, String)>) -> Self {
        let of_stores = |(name, _): &(String, String)| {
            let name = name.to_ascii_uppercase();
            PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        };
        let settings: BTreeMap<_, _> = settings.into_iter().filter(of_stores).collect();
        let settings = Arc::new(settings);
        Self {
            clients: Arc::new(ClientPool::new(Arc::clone(&settings))),
            settings,
        }
    }
}

impl Default for ObjectStores {
    fn default() -> Self {
        Self::new([])
    }
}

impl PartialEq for ObjectStores {
    fn eq(&self, other: &Self) -> bool {
        self.settings == other.settings
    }
}

impl Eq for ObjectStores {}

impl fmt::Debug for ObjectStores {
    /// The names alone: values may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Stores").field(&self.settings.keys()).finish()
    }
}
