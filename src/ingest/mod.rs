//! The way in: read -> fingerprint -> decide -> encode -> commit.
//!
//! Use it to say how [`CorpusWriter::ingest`](crate::CorpusWriter::ingest) reads files ([`IngestOptions`],
//! [`ReadOptions`], [`InputFormat`]), how conversations become texts ([`ChatOptions`]), and how stored documents get values
//! from outside ([`JoinOptions`]); [`IngestReport`] says what came of it. What is in no file is handed over as
//! [`Records`] ([`CorpusWriter::ingest_records`](crate::CorpusWriter::ingest_records), with an example).
//!
//! ```
//! use corpusdb::IngestOptions;
//! use corpusdb::ingest::{OnError, ReadOptions};
//!
//! // Records are named by their field `url`, and one that cannot be read ends the ingest.
//! let read = ReadOptions { id_field: Some("url".to_owned()), ..ReadOptions::default() };
//! let options = IngestOptions { read, on_error: OnError::Fail, ..IngestOptions::new("web") };
//! assert_eq!(options.source, "web");
//! ```
//!
//! Inside:
//!
//! Where the ingest has a condition, records are let in or passed over as soon as they are read (`sift`).
//!
//! A record that has no text of its own is given one before it is fingerprinted (`form`): `chat` renders
//! conversations, `given` spells token ids.
//!
//! Where signals are stored, each document is given those of its text (`feed`).
//!
//! What was decided elsewhere is taken over instead of decided (`load`, by `decided` and `judge`).
//!
//! `join` gives stored documents values from outside. It decides nothing and runs by itself.
//!
//! Three threads, one behind the other: `produce` reads records and cuts them into chunks, `prepare` fingerprints a
//! chunk on all cores, `write` decides, encodes and commits it as one batch (`identify` tells what is new, `sources` to
//! whom it belongs, `newcomers` stores it, `consumed` notes what was read, `booked` where). How the input is cut
//! changes no decision, no id and no byte that means anything; so chunks that would have much decided over again wait
//! for those behind them (`waiting`).

mod alarm;
mod booked;
mod chat;
mod consumed;
mod decided;
mod decisions;
mod encode;
mod error;
mod feed;
mod flight;
mod form;
mod given;
mod identify;
mod join;
mod joined;
mod judge;
mod load;
mod newcomers;
mod options;
mod prepare;
mod produce;
mod report;
mod run;
mod sift;
mod sight;
mod sources;
mod suites;
mod waiting;
mod watch;
mod write;

pub use crate::input::{
    CsvOptions, InputFormat, ReadError, ReadOptions, Record, Records, SkippedContent, TextUnit,
};
pub use alarm::{Alarm, AlarmPair, CrowdedPair};
pub use chat::{
    ChatOptions, ChatShape, ChatTemplate, SpecialInContent, TemplateError, TemplateMarkers,
};
pub use error::IngestError;
pub(crate) use form::markers_read_as_text;
pub(crate) use join::join;
pub use joined::{JoinBy, JoinColumn, JoinOptions, JoinReport};
pub(crate) use load::load;
pub use load::{LoadOptions, LoadReport};
pub use options::{IngestOptions, OnError, RecordForm};
pub(crate) use produce::{IngestInput, expand_inputs};
pub use report::{IngestReport, StageSeconds};
pub(crate) use run::{IngestResources, ingest};
pub(crate) use suites::{each_text, read_suite};
