//! Objects of stores and of web servers: `s3://`, `gs://`, `az://`, `https://`.
//!
//! Use it to say how they are reached: [`ObjectStores`], from settings under the names that the environment has for them. The
//! library reads no environment itself.
//!
//! ```
//! use corpusdb::ingest::ReadOptions;
//! use corpusdb::remote::ObjectStores;
//!
//! let settings = [("AWS_REGION", "eu-central-1"), ("AWS_SKIP_SIGNATURE", "true")];
//! let stores = ObjectStores::new(settings.map(|(name, value)| (name.to_owned(), value.to_owned())));
//! let read = ReadOptions { stores, ..ReadOptions::default() };
//! assert!(format!("{read:?}").contains("AWS_REGION"));
//! ```
//!
//! Inside: `address` takes addresses apart, `stores` has the settings; the rest is there with the feature `remote`
//! alone, and `absent` stands in its place without it. `driver` is the thread on which all requests run, the only one
//! that is asynchronous; `clients` makes the clients of stores; `list` finds objects; `fetch` reads a range and goes on
//! where a connection was cut; `read` is an object from its beginning to its end, with some of it ahead, `file` any
//! place of it; `write` makes objects, `folder` the objects of one directory. Whoever waits hears the request to stop,
//! and no wait is without an end.

#[cfg(not(feature = "remote"))]
mod absent;
#[cfg_attr(
    not(feature = "remote"),
    allow(dead_code, reason = "told apart from paths, and no more")
)]
mod address;
#[cfg(feature = "remote")]
mod clients;
#[cfg(feature = "remote")]
mod driver;
mod error;
#[cfg(feature = "remote")]
mod fetch;
#[cfg(feature = "remote")]
mod file;
#[cfg(feature = "remote")]
mod folder;
#[cfg(feature = "remote")]
mod list;
#[cfg(feature = "remote")]
mod read;
mod stores;
#[cfg(feature = "remote")]
mod write;

#[cfg(not(feature = "remote"))]
pub(crate) use absent::{
    RemoteCursor, RemoteEntry, RemoteFolder, RemoteObject, RemoteReader, RemoteWriter,
};
pub(crate) use address::is_remote;
pub use error::RemoteError;
#[cfg(feature = "remote")]
pub(crate) use fetch::RemoteObject;
#[cfg(feature = "remote")]
pub(crate) use file::RemoteReader;
#[cfg(feature = "remote")]
pub(crate) use folder::{RemoteEntry, RemoteFolder};
#[cfg(feature = "remote")]
pub(crate) use read::RemoteCursor;
pub use stores::ObjectStores;
#[cfg(feature = "remote")]
pub(crate) use write::RemoteWriter;

/// Tells which names of objects are meant.
pub(crate) type NameMatcher = Box<dyn Fn(&str) -> bool>;
