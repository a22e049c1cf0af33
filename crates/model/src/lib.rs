//! The types that every package shares: ids, records, standings, policy, fields, errors, progress and contexts.

mod arrow_values;
mod compared_text;
mod content_form;
mod context;
mod directories;
mod disk;
mod error;
mod field_value;
mod hash;
mod id;
mod identity;
pub mod invariant;
mod json;
mod json_number;
mod named;
pub mod near_names;
mod panic;
mod percent;
mod policy;
mod policy_settings;
mod record;
pub mod show;
mod standing;
mod suite;
pub mod text_file;
mod timestamp;
mod values;

pub use arrow_values::{decimal_encoder, map_encoder, moment_encoder, shown_values};
pub use compared_text::compared_text;
pub use content_form::{ContentFields, content_form, without_null_members};
pub use context::{Context, Interrupt, NoProgress, Progress, ProgressTally};
pub use directories::{
    corpus_around, derived_name, find_manifest, is_corpus, manifest_beside, manifest_name,
};
pub use disk::{note_little_room, refuse_without_room};
pub use error::{
    Error, ErrorDetails, ErrorKind, Hint, Interrupted, IoError, error_words, sync_directory,
    system_way_out,
};
pub use field_value::{FieldValue, Misfit, earlier_column_numbers, value_excerpt};
pub use hash::{
    BucketKey, BucketMap, GOLDEN, MersenneTwister, PremixedState, bucket_keys, hexadecimal, mix32,
    mix64,
};
pub use id::{
    BLOCK_SIZE, ColumnId, CommitSeq, DocId, FieldDeclaration, FieldId, FieldKind, FileId,
    Generation, HIVE_NULL, SourceId, SuiteId, TermId, TokenizerId, sortable_float,
    unsortable_float,
};
pub use identity::{
    hash64, hash128, key_identity, position_identity, record_identity, reject_identity,
    reject_identity_at, text_hash,
};
pub use json::{
    CanonicalJson, JsonMembers, JsonName, JsonObject, JsonTree, NotFinite, canonical,
    canonical_but_numbers, json_string, parse, parse_as, parse_object, with_members,
    without_not_finite,
};
pub use json_number::is_number;
pub use panic::{catch_panic, is_panic_caught};
pub use percent::percent_decoded;
pub use policy::{
    ComparedPart, DedupMode, DedupScope, KeepOrder, Normaliser, Policy, Profile, SIGNATURE_VERSION,
    Signature,
};
pub use policy_settings::{DecisionOptions, PolicySettings, ProfileName};
pub use record::{
    Capture, Incoming, IncomingFilter, IncomingVerdict, LossSpan, MaskRule, ReadRecord, RecordKey,
    RecordOrigin, Reject, RejectReason, SpelledMetadata, TextForm, overlaps_any,
};
pub use show::is_zero;
pub use standing::{Match, MatchKind, Standing, StandingsDigest, jaccard};
pub use suite::{
    ByteSpan, GramPlace, GramRun, ItemText, ShortItem, Sightings, SuiteGram, SuiteItem, SuitePart,
    SuitePiece, SuiteVerdict, WholeItem,
};
pub use timestamp::{TimeUnit, shown_moment, shown_timestamp, timestamp_of_text};
pub use values::{NamedKind, parse_bytes, parse_disk_path, parse_pair, parse_share};

/// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
