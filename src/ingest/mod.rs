//! Ingest, the way into a corpus: read -> fingerprint -> decide -> encode -> commit.
//!
//! Use it to say how [`CorpusWriter::ingest`](crate::CorpusWriter::ingest) reads files ([`IngestOptions`],
//! [`ReadOptions`], [`InputFormat`]), how conversations become texts ([`ChatOptions`]), and how stored documents get values
//! from outside ([`JoinOptions`]); [`IngestReport`] says what came of it. What is in no file is handed over as
//! [`Records`] ([`CorpusWriter::ingest`](crate::CorpusWriter::ingest), with an example).
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
//! Inside, a record goes through `pipeline`, on three threads one behind the other: `reader` reads records (`input`
//! knows their formats; `file_state` what the store has of a file) and cuts them into chunks; `fingerprinter` drops
//! records that the condition does not let in (`filter`), and fingerprints the others on all cores; `committer`
//! decides, encodes and commits a chunk as one batch. `identify` tells which records are new and whose they are,
//! `decider` stores them, `encoder` makes their token ids, `settlement` finds the stored rejects that a file does not
//! give any more. How the input is cut into chunks changes no decision, no id and no byte that means anything; so
//! chunks that would have many stored documents decided again wait for those behind them.
//!
//! A record that has no text of its own is given one before it is fingerprinted (`converter`): `chat` renders
//! conversations, `pretokenized` spells token ids, `id_fields` reads the masks beside them. Where signals are stored,
//! each document is given those of its text.
//!
//! `monitor` raises alarms (`reject_tally` counts what could not be read, by its reasons; `field_tally` tells those
//! about declared fields), `report` counts, `decisions_file` writes what was decided. `load` takes over what was
//! decided elsewhere (`imported_row`, `load_validator`).
//!
//! `field_join` gives stored documents values from outside, `suite_reader` reads evaluation suites: both decide nothing
//! and run by themselves.
//!
//! What is independent runs in parallel: encoders are built while the first chunk is read, texts are compressed while
//! their documents are decided, ids of the first tokenizer are made while decisions go into the batch, buckets of even
//! and of odd bands are changed, the filter learns of a commit beside its write, and families are flushed. One thread
//! alone decides, in the order of ranks, and writes. On two cores an ingest of 38,000 short documents with GPT-2 ids
//! takes 1/1.4 of the time of one thread: some 0.2 s of decisions, and the first and the last chunk, use one core.
//!
//! At most five chunks are in memory. A chunk of one very long record goes through alone and takes some eight times its
//! text while it is fingerprinted. If a bad record ends the ingest, its chunk is cut before it, and its place in the
//! file is found by reading up to there again. A last record without a line end is stored at once and replaced when it
//! is complete: to wait would lose the last row of every table that is written without one.

mod alarm_words;
mod chat;
mod committer;
mod converter;
mod decider;
mod decisions_file;
mod encoder;
mod error;
mod field_join;
mod field_tally;
mod file_state;
mod file_tally;
mod filter;
mod fingerprinter;
mod id_fields;
mod identify;
mod imported_row;
mod inputs;
mod load;
mod load_validator;
mod monitor;
mod options;
mod pipeline;
mod pretokenized;
mod reader;
mod record_form;
mod reject_tally;
mod report;
mod settlement;
mod suite_reader;

pub use alarm_words::misfit_words;
pub use chat::{ChatOptions, ChatShape, ChatTemplate, SpecialInContent, TemplateMarkers};
pub(crate) use converter::{markers_read_as_text, specials_said_in_chats};
pub(crate) use field_join::join;
pub use file_tally::FileTally;
pub use files::input::{
    CsvOptions, InputFormat, LeftFile, LeftRole, ReadError, ReadOptions, Record, Records,
    SkippedContent, TextUnit,
};
pub use inputs::Inputs;
pub(crate) use load::load;
pub use load::{LoadOptions, LoadReport};
pub use options::{
    IngestOptions, JoinBy, JoinColumn, JoinOptions, JoinReport, OnDamagedFile, OnError, RecordForm,
};
pub(crate) use pipeline::{IngestResources, ingest};
pub(crate) use reader::expand_inputs;
pub use record_form::RecordFormOptions;
pub use report::{Alarm, AlarmPair, CrowdedPair, FieldMisfits, IngestReport, StageSeconds};
pub(crate) use suite_reader::{each_text, read_suite};
