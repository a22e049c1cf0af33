//! What is taken over of decisions that were made elsewhere.

use crate::model::{DocId, Match};
use roaring::RoaringTreemap;
use std::sync::Arc;

/// What was decided about a document.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Given {
    /// It is kept.
    Kept,
    /// It is removed for the sake of its witness.
    Removed(Match),
    /// It is removed for the sake of a document that comes later: it is kept until that is there.
    Later,
}

/// Whose decisions are taken over, and what they do to stored documents.
#[derive(Clone, Debug, Default)]
pub struct Takeover {
    /// The first document that came with its decision, in this commit or an earlier one.
    pub first: DocId,
    /// Documents before it stand otherwise in the end, so that a witness may not be kept yet.
    pub changes: bool,
    /// Those of them that are superseded in the end.
    pub leaving: Arc<RoaringTreemap>,
}
