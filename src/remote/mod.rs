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
//! Inside: `address` takes addresses apart, `stores` has the settings; `driver` is the thread on which all requests run, the only one
//! that is asynchronous; `clients` makes the clients of stores; `list` finds objects; `fetch` reads a range and goes on
//! where a connection was cut; `read` is an object from its beginning to its end, with some of it ahead, `file` any
//! place of it; `write` makes objects, `folder` the objects of one directory. Whoever waits hears the request to stop,
//! and no wait is without an end.

mod address;
mod clients;
mod driver;
mod error;
mod fetch;
mod file;
mod folder;
mod list;
mod read;
mod stores;
mod write;

pub(crate) use address::is_remote;
pub use error::RemoteError;
pub(crate) use fetch::RemoteObject;
pub(crate) use file::RemoteReader;
pub(crate) use folder::{RemoteEntry, RemoteFolder};
pub(crate) use read::RemoteCursor;
pub use stores::ObjectStores;
pub(crate) use write::RemoteWriter;

/// Tells which names of objects are meant.
pub(crate) type NameMatcher = Box<dyn Fn(&str) -> bool>;
