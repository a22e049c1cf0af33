//! The errors of objects of stores and web servers.

use model::{Error, ErrorKind, Interrupted};

/// An object that cannot be found, read or written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteError {
    /// What is not an address of an object.
    #[error("{address}: {why}")]
    Address {
        /// As given.
        address: String,
        /// What is wrong, and the way out.
        why: String,
    },
    /// No object, and nothing below it.
    #[error("{address}: no such object, and none below it")]
    NotFound {
        /// The address.
        address: String,
    },
    /// The store refuses who asks.
    #[error("{address}: the store refuses access ({why}); {out}")]
    Denied {
        /// The address.
        address: String,
        /// Its words.
        why: String,
        /// The way out.
        out: &'static str,
    },
    /// An object where one is being written.
    #[error(
        "{address}: an object appeared there while this was written, and is left as it is: move it away, and run the same command again"
    )]
    Appeared {
        /// The address.
        address: String,
    },
    /// The object is another one than when it was found.
    #[error(
        "{address}: the object was replaced while it was read, at byte {at}; the records before were read: run the same command again to read the new one from its start"
    )]
    Changed {
        /// The address.
        address: String,
        /// Bytes of it that were read.
        at: u64,
    },
    /// A server that gives files as a whole only, where parts are needed.
    #[error(
        "{address}: the server does not serve parts of files (it ignores Range), and a Parquet file is read from its end; download it, or use another server"
    )]
    NoRanges {
        /// The address.
        address: String,
    },
    /// A web server, which lists nothing.
    #[error("{address}: a web server does not list its files; give the address of each file")]
    NoListing {
        /// The address.
        address: String,
    },
    /// Tried again and again.
    #[error(
        "{address}: gave up at byte {at} after {attempts} attempts: {why}; run the same command again to continue"
    )]
    GaveUp {
        /// The address.
        address: String,
        /// Bytes of it that were read.
        at: u64,
        /// How often it was tried without a byte of progress.
        attempts: u32,
        /// The last failure.
        why: String,
    },
    /// Anything else that does not pass.
    #[error("{address}: {why}")]
    Failed {
        /// The address.
        address: String,
        /// The store's words.
        why: String,
    },
    /// A stop was asked for.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}

impl RemoteError {
    /// One that an input or output error carries, through decoders and others who pass it on.
    #[doc(hidden)]
    pub fn within(error: &std::io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref::<Self>()
    }
}

impl From<RemoteError> for std::io::Error {
    fn from(error: RemoteError) -> Self {
        // Never `Interrupted`, which readers take for a reason to try again.
        Self::other(error)
    }
}

impl From<RemoteError> for Error {
    fn from(error: RemoteError) -> Self {
        match &error {
            RemoteError::Interrupted(stop) => (*stop).into(),
            RemoteError::NotFound { .. } => Self::new(ErrorKind::NotFound, error),
            RemoteError::Appeared { .. } => Self::new(ErrorKind::AlreadyExists, error),
            _ => Self::new(ErrorKind::Failed, error),
        }
    }
}
