//! Which documents are kept: shared by the way in and by changes of mind.
//!
//! A [`Session`] decides within one commit. First everything that comes and goes is said: newcomers,
//! superseded, removed and restored documents. Then [`Session::settle`] decides what follows, and
//! [`Session::apply`] writes the outcome into the batch. So standing is a function of the eligible
//! documents and the policy, not of the order or the commits in which they came.
//!
//! * `scene`: the store as it will be after the decisions made so far;
//! * `rank`: the keep order;
//! * `texts`: the exact rows, while documents come and go; `twins` remembers who has equal ones;
//! * `left`: what a commit leaves in memory for the next;
//! * `neighbours`: buckets, estimate, verification;
//! * `crowd`: the kept members of crowded buckets, from commit to commit; `crowded` asks it, `passes` looks
//!   through what it has no room for; `entrant` is what it takes in;
//! * `linked`: the crowd of mode `components`, which holds `clusters` in part (`shallow`); `labels` tells who
//!   is of one, `forest` who is of one component in this commit;
//! * `marks`: whose decision left candidates out;
//! * `independent`: modes `witness` and `exact`; `components`: modes `components` and `lsh`;
//! * `given`: decisions that were made elsewhere, as `takeover` has them, and `untrue` those that cannot be;
//! * `orphans`: who loses its witness, counted beforehand;
//! * `lineage`: whose place each document took; `heirs`: of those that leave as it comes;
//! * `blockade`: what removals by the user keep out;
//! * `outcome`: what was decided, into the batch;
//! * `tokens`: ids and trained tokens, of newcomers and of what is kept again; `refused` what has none.

mod blockade;
mod clusters;
mod components;
mod crowd;
#[cfg(test)]
mod crowd_tests;
mod crowded;
mod eligible;
mod entrant;
mod error;
mod followers;
mod forest;
mod given;
mod heirs;
mod independent;
mod labels;
mod left;
mod lineage;
mod linked;
mod marks;
mod neighbours;
mod orphans;
mod outcome;
mod passes;
mod rank;
mod refused;
mod remembered;
mod scene;
mod session;
mod shallow;
mod takeover;
mod texts;
mod tokens;
mod twins;
mod untrue;

pub use blockade::{Blockable, Blockade, Reach};
pub use error::DecideError;
pub use lineage::Lineages;
pub use orphans::Orphans;
pub use outcome::Applied;
pub use refused::Refused;
pub use scene::stored_sketch;
pub use session::{Arrival, Decision, DecisionCounts, Session, Stored};
pub use takeover::{Given, Takeover};
pub use tokens::{
    Encoded, EncodedBatch, LoadedTokenizer, PIECE, encode_again, encode_document,
    encode_kept_again, encode_text, store_encoded,
};
pub use untrue::Untrue;
