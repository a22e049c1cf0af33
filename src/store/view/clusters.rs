//! A walk over all clusters, member by member.

use crate::model::DocId;
use crate::store::columns::Members;
use crate::store::error::StoreError;
use crate::store::rows::keys::MemberKey;
use crate::store::rows::matches::generation_prefix;
use crate::store::view::View;

impl View {
    /// Every witness with each of its members, ascending by witness, then by member. Holds one row, however many there
    /// are.
    ///
    /// # Errors
    /// [`StoreError`] when the family cannot be read; a row that cannot be read is the last that comes.
    pub fn all_members(
        &self,
    ) -> Result<impl Iterator<Item = Result<(DocId, DocId), StoreError>>, StoreError> {
        let prefix = generation_prefix(self.generation());
        let rows = self.pinned().scan_prefix::<Members>(&prefix)?;
        let mut rows = rows.taken("member", |key, joined| Ok(Some((key, joined))));
        // Rows of a pair are in commit order: the last one counts.
        let mut last: Option<(MemberKey, bool)> = None;
        Ok(std::iter::from_fn(move || {
            loop {
                let row = match rows.next() {
                    Some(Err(error)) => {
                        last = None;
                        return Some(Err(error));
                    }
                    Some(Ok(row)) => Some(row),
                    None => None,
                };
                let pair = |key: &MemberKey| (key.witness, key.removed);
                let next = row.as_ref().map(|(key, _)| pair(key));
                let before = std::mem::replace(&mut last, row);
                match before {
                    Some((key, true)) if Some(pair(&key)) != next => return Some(Ok(pair(&key))),
                    None if next.is_none() => return None,
                    _ => {}
                }
            }
        }))
    }
}
