//! Token ids of rows: `gather` reads those of many rows at once in the order of the store, `ids` puts them where the
//! rows have them.

mod gather;
mod ids;

pub(super) use gather::Gatherer;
pub(super) use ids::{FilledRow, NO_SOURCE};
