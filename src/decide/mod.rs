//! Which documents are kept: shared by the way in and by changes of mind.
//!
//! A [`Session`] decides within one commit: newcomers arrive in rank order, each is matched against
//! what the store holds and what came before it in the same commit, a superseded document sets off
//! the cascade of those it explained, and [`Session::apply`] writes the outcome into the batch.
//!
//! The rule (mode `witness`, keep order `first`): standing is the lexicographically first maximal
//! independent set of the graph of verified similarities over eligible documents, in the order of
//! their ids. So a document is removed if and only if a kept document of lower id is similar to it.

mod cascade;
mod error;
mod neighbours;
mod scene;
mod session;

pub use error::DecideError;
pub use session::{Arrival, Counts, Session};
