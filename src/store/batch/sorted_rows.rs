//! Rows of hashed families, held back and put in key order: the memtable takes sorted rows three
//! times as fast, because each goes in beside the one before.

use rocksdb::{AsColumnFamilyRef, WriteBatch};

/// Rows of one family; a later row of the same key counts.
#[derive(Default)]
pub(in crate::store) struct SortedRows {
    bytes: Vec<u8>,
    rows: Vec<Row>,
}

#[derive(Clone, Copy)]
struct Row {
    start: usize,
    key: usize,
    value: usize,
}

impl SortedRows {
    pub(in crate::store) fn put(&mut self, key: &[u8], value: &[u8]) {
        self.rows.push(Row { start: self.bytes.len(), key: key.len(), value: value.len() });
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value);
    }

    pub(in crate::store) fn write(
        mut self,
        family: &impl AsColumnFamilyRef,
        batch: &mut WriteBatch,
    ) {
        let Self { bytes, rows } = &mut self;
        let key = |row: &Row| bytes.get(row.start..row.start + row.key).unwrap_or_default();
        rows.sort_unstable_by(|a, b| key(a).cmp(key(b)).then(a.start.cmp(&b.start)));
        for row in rows.iter() {
            let value = row.start + row.key;
            batch.put_cf(family, key(row), bytes.get(value..value + row.value).unwrap_or_default());
        }
    }
}
