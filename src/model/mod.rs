//! The words every layer shares: ids, records, standings, policy, fields, progress, contexts. No I/O.

#[cfg(test)]
mod cases;
mod compared;
mod contain;
mod context;
mod error_words;
mod field;
mod field_value;
mod hash;
mod id;
mod identity;
mod incoming;
mod json;
mod loss;
mod number;
mod percent;
mod policy;
mod policy_settings;
mod progress;
mod record;
mod standing;
mod suite;
mod time_unit;
mod timestamp;

#[cfg(test)]
pub use cases::cases;
pub use compared::compared_text;
pub use contain::{contain, is_contained};
pub use context::Context;
pub use error_words::error_words;
pub use field::{FieldDeclaration, FieldKind, HIVE_NULL, sortable_float, unsortable_float};
pub use field_value::{FieldValue, Misfit, earlier_column_number, value_excerpt};
pub use hash::{BucketMap, GOLDEN, MersenneTwister, PremixedState, mix32, mix64};
pub use id::{
    BLOCK_SIZE, ColumnId, CommitSeq, DocId, FieldId, FileId, Generation, SourceId, SuiteId, TermId,
    TokenizerId,
};
pub use identity::{
    half, hash_start, key_identity, position_identity, record_identity, reject_identity,
    reject_identity_at, text_hash,
};
pub use incoming::{Incoming, IncomingFilter, Verdict};
pub use json::{
    CanonicalJson, JsonMembers, JsonName, JsonObject, JsonTree, NotFinite, canonical, json_string,
    parse, parse_as, parse_object, with_members, without_not_finite,
};
pub use loss::{LossSpan, TextForm};
pub use number::is_number;
pub use percent::percent_decoded;
pub use policy::{
    Compared, DedupMode, KeepOrder, Normaliser, Policy, PolicyError, Profile, SIGNATURE_VERSION,
    Scope, Signature,
};
pub use policy_settings::PolicySettings;
pub use progress::{Interrupt, Progress, Silent, Tally};
pub use record::{Origin, ReadRecord, RecordKey, Reject, RejectReason, SpelledMetadata};
pub use standing::{Match, MatchKind, Standing, StandingsDigest, jaccard};
pub use suite::{
    ByteSpan, GramPlace, GramRun, Piece, ShortItem, Sightings, SuiteGram, SuiteItem, SuitePart,
    SuiteVerdict, WholeItem,
};
pub use time_unit::TimeUnit;
pub use timestamp::shown_timestamp;
pub(crate) use timestamp::timestamp_of_text;
