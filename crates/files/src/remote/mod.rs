//! Reads and writes objects of stores and of web servers: `s3://`, `gs://`, `az://`, `https://`.
//!
//! Inside, from below: `address` takes addresses apart and knows what of them is secret; `request` is the thread on which
//! all requests run, the only one that is asynchronous, with their limits, repetitions and failures; `stores` has the
//! settings and makes clients of them; `listing` lists, `web` asks web servers; `object` finds objects and reads their
//! bytes, from the byte reached where a connection was cut; `reader` is an object from its beginning to its end, with some
//! of it ahead, or any place of it; `folder` is the objects of one directory, and makes them. Whoever waits hears the
//! request to stop, and no wait is without an end.

mod address;
mod error;
mod folder;
mod listing;
mod object;
mod reader;
mod request;
mod stores;
mod web;

pub(crate) use address::check_address;
pub use address::{is_remote, without_secrets};
pub use error::RemoteError;
pub use folder::RemoteFolder;
pub(crate) use folder::{RemoteEntry, RemoteWriter};
pub(crate) use object::RemoteObject;
pub use reader::RemoteCursor;
pub(crate) use reader::RemoteReader;
pub use stores::ObjectStores;

/// Tells which names of objects are meant.
pub(crate) type NameMatcher = Box<dyn Fn(&str) -> bool>;
