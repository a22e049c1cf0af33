//! Clients of stores, made of settings once for each bucket or server, and what their errors mean.

use super::address::{ObjectAddress, StoreKind};
use super::driver::RequestRuntime;
use super::error::RemoteError;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::http::HttpBuilder;
use object_store::multipart::MultipartStore;
use object_store::{ClientOptions, Error, ObjectStore, RetryConfig};
use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(10);

/// A store, and the same where it takes objects in parts.
type StoreHandles = (Arc<dyn ObjectStore>, Option<Arc<dyn MultipartStore>>);

/// The clients that were made, and the thread that they run on.
pub(super) struct ClientPool {
    settings: Arc<BTreeMap<String, String>>,
    made: Mutex<ClientCache>,
}

#[derive(Default)]
struct ClientCache {
    stores: BTreeMap<String, StoreHandles>,
    driver: Option<Arc<RequestRuntime>>,
}

/// Where an object is asked for.
#[derive(Clone)]
pub(super) struct StoreClient {
    pub(super) store: Arc<dyn ObjectStore>,
    pub(super) multipart: Option<Arc<dyn MultipartStore>>,
    pub(super) driver: Arc<RequestRuntime>,
    pub(super) kind: StoreKind,
}

impl ClientPool {
    pub(super) fn new(settings: Arc<BTreeMap<String, String>>) -> Self {
        Self { settings, made: Mutex::default() }
    }

    /// The client for the store of an address.
    pub(super) fn client(&self, address: &ObjectAddress) -> Result<StoreClient, RemoteError> {
        let failed = |why: String| RemoteError::Failed { address: address.name(), why };
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let driver = match &made.driver {
            Some(driver) => Arc::clone(driver),
            None => {
                let started = RequestRuntime::start().map_err(|error| failed(error.to_string()))?;
                Arc::clone(made.driver.insert(Arc::new(started)))
            }
        };
        // A query gives access to one file, and its client is not wanted for another.
        let name = address.query.is_none().then(|| address.store());
        let known = name.as_ref().and_then(|name| made.stores.get(name)).cloned();
        let (store, multipart) = match known {
            Some(store) => store,
            None => {
                let store = self.store(address).map_err(|error| failed(error_words(&error)))?;
                if let Some(name) = name {
                    made.stores.insert(name, store.clone());
                }
                store
            }
        };
        Ok(StoreClient { store, multipart, driver, kind: address.kind })
    }

    fn store(&self, address: &ObjectAddress) -> Result<StoreHandles, Error> {
        // Requests are repeated by those who know what they have read; and a request may take as long as it moves.
        let retry = RetryConfig { max_retries: 0, ..RetryConfig::default() };
        let options = ClientOptions::new()
            .with_timeout_disabled()
            .with_connect_timeout(CONNECT)
            .with_allow_http(address.kind == StoreKind::Web);
        let url = address.store();
        Ok(match address.kind {
            StoreKind::S3 => {
                let builder = AmazonS3Builder::new().with_client_options(options);
                let with = |builder: AmazonS3Builder, key: AmazonS3ConfigKey, value: &str| {
                    builder.with_config(key, value)
                };
                let builder = self.settings("AWS_", builder, with);
                both(builder.with_url(url).with_retry(retry).build()?)
            }
            StoreKind::Google => {
                let builder = GoogleCloudStorageBuilder::new().with_client_options(options);
                let with = |builder: GoogleCloudStorageBuilder, key: GoogleConfigKey, v: &str| {
                    builder.with_config(key, v)
                };
                let builder = self.settings("GOOGLE_", builder, with);
                both(builder.with_url(url).with_retry(retry).build()?)
            }
            StoreKind::Azure => {
                let builder = MicrosoftAzureBuilder::new().with_client_options(options);
                let with = |builder: MicrosoftAzureBuilder, key: AzureConfigKey, value: &str| {
                    builder.with_config(key, value)
                };
                let builder = self.settings("AZURE_", builder, with);
                both(builder.with_url(url).with_retry(retry).build()?)
            }
            StoreKind::Web => {
                let query = address.query.as_ref().map(|query| format!("?{query}"));
                let url = format!("{url}/{}", query.unwrap_or_default());
                let builder = HttpBuilder::new().with_url(url).with_client_options(options);
                (Arc::new(builder.with_retry(retry).build()?), None)
            }
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

fn both<S: ObjectStore + MultipartStore>(store: S) -> StoreHandles {
    let store = Arc::new(store);
    (Arc::<S>::clone(&store), Some(store))
}

/// What became of a request that failed.
pub(super) enum RequestFault {
    /// It is of no use to ask again.
    Final(RemoteError),
    /// It may pass.
    Passing(String),
    /// The server gives whole files only.
    NoRanges,
    /// The object is not the one that was asked for.
    Changed,
}

/// What an error of a client means.
pub(super) fn fault(error: &Error, kind: StoreKind, address: &str) -> RequestFault {
    let address = || address.to_owned();
    let why = error_words(error);
    match error {
        Error::Precondition { .. } | Error::NotModified { .. } => RequestFault::Changed,
        Error::NotFound { .. } => RequestFault::Final(RemoteError::NotFound { address: address() }),
        Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => {
            RequestFault::Final(RemoteError::Denied {
                address: address(),
                why,
                out: access_hint(kind),
            })
        }
        Error::NotSupported { .. } if why.contains("Range request not supported") => {
            RequestFault::NoRanges
        }
        Error::Generic { .. } if why.contains("Received non-partial response") => {
            RequestFault::NoRanges
        }
        // No key was given, and the machine is none of the cloud that would hand one out.
        Error::Generic { .. } if is_about_credentials(&why) => {
            RequestFault::Final(RemoteError::Denied {
                address: address(),
                why,
                out: access_hint(kind),
            })
        }
        Error::Generic { .. } if why.contains("NoSuchBucket") || why.contains("404 Not Found") => {
            RequestFault::Final(RemoteError::NotFound { address: address() })
        }
        Error::Generic { .. } => RequestFault::Passing(why),
        _ => RequestFault::Final(RemoteError::Failed { address: address(), why }),
    }
}

fn is_about_credentials(why: &str) -> bool {
    ["169.254.169.254", "metadata.google.internal", "/latest/api/token", "security-credentials"]
        .iter()
        .any(|word| why.contains(word))
}

const fn access_hint(kind: StoreKind) -> &'static str {
    match kind {
        StoreKind::S3 => {
            "give AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (and AWS_SESSION_TOKEN, AWS_REGION, AWS_ENDPOINT_URL) in the environment, or AWS_SKIP_SIGNATURE=true for a public bucket"
        }
        StoreKind::Google => {
            "give GOOGLE_APPLICATION_CREDENTIALS or GOOGLE_SERVICE_ACCOUNT in the environment, or GOOGLE_SKIP_SIGNATURE=true for a public bucket"
        }
        StoreKind::Azure => {
            "give AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY (or AZURE_STORAGE_SAS_KEY) in the environment, or AZURE_SKIP_SIGNATURE=true for a public container"
        }
        StoreKind::Web => {
            "give an address that is open to you: one with its login, or one that is signed"
        }
    }
}

/// The words of an error and of what is behind it, without what stands there twice, and without the secrets of a query.
pub(super) fn error_words(error: &(dyn std::error::Error + 'static)) -> String {
    let mut told = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        let more = source.to_string();
        if !told.contains(&more) {
            told = format!("{told}: {more}");
        }
        next = source.source();
    }
    let mut shown = String::new();
    for word in told.split_inclusive(char::is_whitespace) {
        match word.split_once('?').filter(|_| word.contains("://")) {
            Some((address, rest)) => {
                shown.push_str(address);
                shown.extend(
                    rest.chars()
                        .rev()
                        .take_while(|c| !c.is_alphanumeric())
                        .collect::<Vec<_>>()
                        .iter()
                        .rev(),
                );
            }
            None => shown.push_str(word),
        }
    }
    shown
}
