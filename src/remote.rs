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

#[doc(inline)]
pub use files::remote::{ObjectStores, RemoteError, without_secrets};
