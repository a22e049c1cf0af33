//! The settings of stores by name, and the clients made of them, once for each bucket.
//!
//! A bucket has two clients with the same credentials. One repeats what fails, and a request of it may take as long as
//! a server may be silent: it asks what is there, lists and deletes. The other repeats nothing and takes its time: who
//! reads and writes bytes through it knows how far they came.

use super::address::{ObjectAddress, StoreKind};
use super::error::RemoteError;
use super::listing::StoreConnector;
use super::request::{ATTEMPTS, RequestFault, RequestRuntime, SILENCE, fault, public_words};
use model::error_words;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::client::{HttpClient, HttpConnector, ReqwestConnector};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::list::PaginatedListStore;
use object_store::multipart::MultipartStore;
use object_store::{ClientOptions, Error, ObjectStore, RetryConfig};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What names of settings begin with: the first word of the environment's variables for each store.
const PREFIXES: [&str; 3] = ["AWS_", "GOOGLE_", "AZURE_"];
/// The setting that says which servers are asked without a proxy.
const NO_PROXY: &str = "NO_PROXY";
/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(10);
/// After how long a small request is not repeated any more.
const PATIENCE: Duration = Duration::from_secs(90);
/// What the name of a setting has whose value is secret, unless it is the path of a file.
const SECRET_SETTINGS: [&str; 5] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "SAS"];
/// A value of fewer bytes is not searched for in messages: it may be part of any word.
const SHORTEST_SECRET: usize = 6;

/// How objects of stores are reached: credentials, regions and endpoints, under the names of the environment's
/// variables (`AWS_ACCESS_KEY_ID`, `AWS_ENDPOINT_URL`, `GOOGLE_APPLICATION_CREDENTIALS`, `AZURE_STORAGE_ACCOUNT_NAME`
/// ..; also `NO_PROXY`). Copies share their connections.
#[derive(Clone)]
pub struct ObjectStores {
    settings: Arc<BTreeMap<String, String>>,
    pub(super) clients: Arc<ClientPool>,
}

impl ObjectStores {
    /// Stores that are reached with these settings; others than of stores are skipped, so that a whole environment may
    /// be given. Without any, what is open to everybody can be read from web servers.
    pub fn new(settings: impl IntoIterator<Item = (String, String)>) -> Self {
        let of_stores = |(name, _): &(String, String)| {
            let name = name.to_ascii_uppercase();
            name == NO_PROXY || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        };
        let settings: BTreeMap<_, _> = settings.into_iter().filter(of_stores).collect();
        let settings = Arc::new(settings);
        Self { clients: Arc::new(ClientPool::new(Arc::clone(&settings))), settings }
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
        f.debug_tuple("ObjectStores").field(&self.settings.keys()).finish()
    }
}

/// The clients that were made, and the thread that they run on.
pub(super) struct ClientPool {
    settings: Arc<BTreeMap<String, String>>,
    /// Values that no message has.
    secrets: Arc<Vec<String>>,
    made: Mutex<ClientCache>,
}

#[derive(Default)]
struct ClientCache {
    buckets: BTreeMap<String, StoreClient>,
    web: Option<HttpClient>,
    runtime: Option<Arc<RequestRuntime>>,
}

/// Where objects of a bucket are asked for.
#[derive(Clone)]
pub(super) struct StoreClient {
    /// For requests of a few bytes, which it repeats.
    pub(super) small: Arc<dyn ObjectStore>,
    /// For listings, whose requests it repeats.
    pub(super) lists: Arc<dyn PaginatedListStore>,
    /// For bytes of objects: it repeats nothing.
    pub(super) bodies: Arc<dyn ObjectStore>,
    /// For objects that are written in parts: it repeats nothing.
    pub(super) multipart: Arc<dyn MultipartStore>,
    pub(super) runtime: Arc<RequestRuntime>,
    kind: StoreKind,
    secrets: Arc<Vec<String>>,
}

impl StoreClient {
    /// What an error of it means.
    pub(super) fn fault(&self, error: &Error, address: &str) -> RequestFault {
        fault(error, self.kind, address, &self.secrets)
    }
}

impl ClientPool {
    fn new(settings: Arc<BTreeMap<String, String>>) -> Self {
        let is_secret = |name: &str| SECRET_SETTINGS.iter().any(|word| name.contains(word));
        let secrets = settings
            .iter()
            .filter(|(name, value)| {
                is_secret(&name.to_ascii_uppercase()) && value.len() >= SHORTEST_SECRET
            })
            .map(|(_, value)| value.clone())
            .collect();
        Self { settings, secrets: Arc::new(secrets), made: Mutex::default() }
    }

    /// The client for the bucket of an address.
    pub(super) fn bucket(&self, address: &ObjectAddress) -> Result<StoreClient, RemoteError> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let runtime = made.runtime(address)?;
        let name = address.store();
        if let Some(client) = made.buckets.get(&name) {
            return Ok(client.clone());
        }
        let client = self.client(address, runtime);
        let client = client.map_err(|error| self.failed(address, &error))?;
        Ok(made.buckets.entry(name).or_insert(client).clone())
    }

    /// The client for web servers, and the thread that it runs on.
    pub(super) fn web(
        &self,
        address: &ObjectAddress,
    ) -> Result<(HttpClient, Arc<RequestRuntime>), RemoteError> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let runtime = made.runtime(address)?;
        let client = match &made.web {
            Some(client) => client.clone(),
            None => {
                let options = self.options().with_timeout_disabled().with_allow_http(true);
                let client = ReqwestConnector::default().connect(&options);
                let client = client.map_err(|error| self.failed(address, &error))?;
                made.web.insert(client).clone()
            }
        };
        Ok((client, runtime))
    }

    fn failed(&self, address: &ObjectAddress, error: &Error) -> RemoteError {
        let why = public_words(&error_words(error), &self.secrets);
        RemoteError::Failed { address: address.name(), why }
    }

    fn options(&self) -> ClientOptions {
        let options = ClientOptions::new().with_connect_timeout(CONNECT);
        let mut proxies =
            self.settings.iter().filter(|(name, _)| name.eq_ignore_ascii_case(NO_PROXY));
        let is_off = proxies.any(|(_, hosts)| hosts.split(',').any(|host| host.trim() == "*"));
        match is_off {
            // The client beneath takes `*` for all names, but for no address in figures.
            true => {
                options.with_proxy_url("http://127.0.0.1:9").with_proxy_excludes("*,0.0.0.0/0,::/0")
            }
            false => options,
        }
    }

    fn client(
        &self,
        address: &ObjectAddress,
        runtime: Arc<RequestRuntime>,
    ) -> Result<StoreClient, Error> {
        let repeated = RetryConfig {
            max_retries: ATTEMPTS as usize - 1,
            retry_timeout: PATIENCE,
            ..RetryConfig::default()
        };
        let once = RetryConfig { max_retries: 0, ..RetryConfig::default() };
        let (kind, url) = (address.kind, address.store());
        let connector = StoreConnector { is_google: kind == StoreKind::Google };
        /// The client of a store whose builder and keys of settings are of these types, as in
        /// `client!("AWS_", AmazonS3Builder, AmazonS3ConfigKey)`: the builders have the same methods, and no trait.
        macro_rules! client {
            ($prefix:literal, $builder:ty, $key:ty) => {{
                let builder = |options: ClientOptions, retry: RetryConfig| {
                    let builder = <$builder>::new().with_url(url.clone());
                    let builder = builder.with_client_options(options);
                    let with =
                        |builder: $builder, key: $key, value: &str| builder.with_config(key, value);
                    let builder = self.settings($prefix, builder, with);
                    builder.with_http_connector(connector).with_retry(retry)
                };
                let small = builder(self.options().with_timeout(SILENCE), repeated).build()?;
                let bodies = builder(self.options().with_timeout_disabled(), once);
                let bodies = bodies.with_credentials(Arc::clone(small.credentials())).build()?;
                let (small, bodies) = (Arc::new(small), Arc::new(bodies));
                let secrets = Arc::clone(&self.secrets);
                let (lists, multipart) = (small.clone(), bodies.clone());
                StoreClient { small, lists, bodies, multipart, runtime, kind, secrets }
            }};
        }
        Ok(match kind {
            StoreKind::S3 | StoreKind::Web => client!("AWS_", AmazonS3Builder, AmazonS3ConfigKey),
            StoreKind::Google => client!("GOOGLE_", GoogleCloudStorageBuilder, GoogleConfigKey),
            StoreKind::Azure => client!("AZURE_", MicrosoftAzureBuilder, AzureConfigKey),
        })
    }

    /// Gives a builder the settings that it knows.
    fn settings<B, K: FromStr>(
        &self,
        prefix: &str,
        builder: B,
        with: impl Fn(B, K, &str) -> B,
    ) -> B {
        self.settings.iter().fold(builder, |builder, (name, value)| {
            let name = name.to_ascii_lowercase();
            let is_own = name.starts_with(&prefix.to_ascii_lowercase());
            match name.parse().ok().filter(|_| is_own) {
                Some(key) => with(builder, key, value),
                None => builder,
            }
        })
    }
}

impl ClientCache {
    fn runtime(&mut self, address: &ObjectAddress) -> Result<Arc<RequestRuntime>, RemoteError> {
        if let Some(runtime) = &self.runtime {
            return Ok(Arc::clone(runtime));
        }
        let started = RequestRuntime::start().map_err(|error| RemoteError::Failed {
            address: address.name(),
            why: error.to_string(),
        })?;
        Ok(Arc::clone(self.runtime.insert(Arc::new(started))))
    }
}
