//! What the layers above keep between commits, beside the store: it belongs to the writer, and holds as
//! long as the commit that left it is the last one. The store does not know what it is.

use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};

/// One thing at most.
#[derive(Clone, Default)]
pub(in crate::store) struct Aside(Arc<Mutex<Option<Box<dyn Any + Send>>>>);

impl Aside {
    pub(in crate::store) fn replace(
        &self,
        kept: Option<Box<dyn Any + Send>>,
    ) -> Option<Box<dyn Any + Send>> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *held, kept)
    }
}
