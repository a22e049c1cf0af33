//! Which files hold keys that another file's records superseded since: read again, their content wins again.

use crate::model::{FileId, SourceId};
use crate::store::batch::Batch;
use crate::store::columns::{Meta, corrupt};
use crate::store::error::{Malformed, StoreError};
use crate::store::rows::keys::NameKey;
use crate::store::view::View;

fn prefix(source: SourceId) -> String {
    format!("overtaken {:010} ", source.0)
}

fn key(source: SourceId, file: FileId, by: FileId) -> NameKey {
    NameKey(format!("{}{:010} {:010}", prefix(source), file.0, by.0))
}

fn read(key: &[u8]) -> Result<(FileId, FileId), Malformed> {
    let wrong = || Malformed::at(0, "not a pair of files");
    let words = std::str::from_utf8(key).map_err(|_| wrong())?;
    let mut numbers = words.split(' ').skip(2).map(|word| word.parse().map(FileId));
    match (numbers.next(), numbers.next(), numbers.next()) {
        (Some(Ok(file)), Some(Ok(by)), None) => Ok((file, by)),
        _ => Err(wrong()),
    }
}

impl View {
    /// Calls `each` with every file of a source some of whose documents were superseded by another file
    /// since it was last read from its start, and that other file; ascending by file.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn for_each_overtaken(
        &self,
        source: SourceId,
        mut each: impl FnMut(FileId, FileId),
    ) -> Result<(), StoreError> {
        let mut rows = self.pinned().scan_prefix::<Meta>(prefix(source).as_bytes())?;
        while let Some((key, _)) = rows.advance()? {
            let (file, by) =
                read(key).map_err(|why| corrupt::<Meta>("overtaken file", key, why))?;
            each(file, by);
        }
        Ok(())
    }
}

impl Batch<'_> {
    /// Notes that records of one file superseded documents of another.
    ///
    /// # Errors
    /// [`StoreError`] when the family is absent.
    pub fn overtake(
        &mut self,
        source: SourceId,
        file: FileId,
        by: FileId,
    ) -> Result<(), StoreError> {
        self.put::<Meta>(&key(source, file, by), &[])
    }

    /// Forgets who overtook a file that is read from its start: what it says wins from here on.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn forget_overtaken(&mut self, source: SourceId, file: FileId) -> Result<(), StoreError> {
        let mut stored = Vec::new();
        let prefix = format!("{}{:010} ", prefix(source), file.0);
        let mut rows = self.view().pinned().scan_prefix::<Meta>(prefix.as_bytes())?;
        while let Some((key, _)) = rows.advance()? {
            stored.push(read(key).map_err(|why| corrupt::<Meta>("overtaken file", key, why))?);
        }
        drop(rows);
        stored.into_iter().try_for_each(|(file, by)| self.delete::<Meta>(&key(source, file, by)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_keys() {
        let NameKey(name) = key(SourceId(3), FileId(70), FileId(8));
        assert_eq!(name, "overtaken 0000000003 0000000070 0000000008");
        assert_eq!(read(name.as_bytes()), Ok((FileId(70), FileId(8))));
        assert!(read(b"overtaken 0000000003 0000000070").is_err());
    }
}
