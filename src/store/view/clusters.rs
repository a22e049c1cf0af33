//! A walk over all clusters, member by member.

use crate::model::DocId;
use crate::store::columns::Members;
use crate::store::error::StoreError;
use crate::store::rows::keys::MemberKey;
use crate::store::rows::matches::generation_prefix;
use crate::store::view::View;

impl View {
    /// Calls `each` with every witness and member of it, ascending by witness, then by member. Holds
    /// one row, however many there are.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read, or what `each` returns.
    pub fn for_each_member<E: From<StoreError>>(
        &self,
        mut each: impl FnMut(DocId, DocId) -> Result<(), E>,
    ) -> Result<(), E> {
        let prefix = generation_prefix(self.generation());
        let mut rows = self.pinned().scan_prefix::<Members>(&prefix)?;
        // Rows of a pair are in commit order: the last one counts.
        let mut last: Option<(MemberKey, bool)> = None;
        while let Some((key, joined)) = rows.next("member")? {
            if let Some((before, true)) = last
                && (before.witness, before.removed) != (key.witness, key.removed)
            {
                each(before.witness, before.removed)?;
            }
            last = Some((key, joined));
        }
        if let Some((key, true)) = last {
            each(key.witness, key.removed)?;
        }
        Ok(())
    }
}
