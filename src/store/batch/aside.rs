//! Taking what the last commit left aside, and leaving something for the next.

use crate::store::batch::Batch;
use crate::store::opening::Writer;
use std::any::Any;

impl Writer {
    /// The commit stands, and what was left with it.
    pub(in crate::store) fn keep_aside(&self, left: Option<Box<dyn Any + Send>>) {
        if left.is_some() {
            self.aside.replace(left);
        }
    }
}

impl Batch<'_> {
    /// Takes what the last commit left, if it is of that kind. It is gone unless it is left or returned.
    #[must_use]
    pub fn take_aside<T: Any + Send>(&self) -> Option<T> {
        let found = self.aside.replace(None)?;
        found.downcast().ok().map(|found| *found)
    }

    /// Leaves something for the next commit, if this one comes to stand.
    pub fn leave_aside<T: Any + Send>(&mut self, kept: T) {
        self.left = Some(Box::new(kept));
    }

    /// Returns what was taken and not changed: it holds whatever becomes of this commit.
    pub fn return_aside<T: Any + Send>(&self, taken: T) {
        self.aside.replace(Some(Box::new(taken)));
    }

    /// Bytes that what is kept between commits may take.
    #[must_use]
    pub const fn memory_aside(&self) -> usize {
        self.memory_aside
    }
}
