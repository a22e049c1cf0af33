//! The way in: read -> fingerprint -> decide -> encode -> commit.
//!
//! Three threads, one behind the other: `produce` reads records and cuts them into chunks, `prepare`
//! fingerprints a chunk on all cores, `write` decides, encodes and commits it as one batch. How the
//! input is cut changes no decision, no id and no byte that means anything.

mod alarm;
mod decisions;
mod error;
mod options;
mod prepare;
mod produce;
pub mod read;
mod report;
mod run;
mod watch;
mod write;

pub use alarm::{Alarm, AlarmPair};
pub use error::IngestError;
pub use options::{IngestOptions, OnError};
pub use report::{IngestReport, StageSeconds};
pub use run::ingest;
