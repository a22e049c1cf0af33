//! Gives dense numbers (codes) to the values of one column, in the order in which the values come.

use crate::sql::documents::columns::{ColumnReader, ScanBlock, strings};
use crate::sql::documents::filter::IndexBlock;
use crate::sql::documents::schema::ColumnSource;
use crate::sql::error::SqlError;
use arrow::array::{ArrayRef, BooleanArray, Int64Array, StringArray, UInt64Array};
use model::invariant::at;
use model::{BLOCK_SIZE, ColumnId, DocId, SourceId, Standing, TermId};
use std::collections::HashMap;
use std::sync::Arc;
use store::{StoreError, View, system_fields};

/// Values of a block within a range of this size get their codes from a table by value.
const TABLE: u64 = 1 << 16;
/// A place of a table without a code.
const NONE: u32 = u32::MAX;

pub(super) struct ColumnCodes {
    content: ColumnSource,
    /// The code of each stored value; `None` is null.
    known: HashMap<Option<i64>, u32>,
    /// The value of each code, and the first document that has it.
    values: Vec<(Option<i64>, DocId)>,
}

impl ColumnCodes {
    pub(super) fn of(content: ColumnSource) -> Self {
        Self { content, known: HashMap::new(), values: Vec::new() }
    }

    /// The codes of the documents at `slots`.
    pub(super) fn read(
        &mut self,
        open: &ScanBlock<'_>,
        slots: &[u16],
    ) -> Result<Vec<u32>, StoreError> {
        match self.content {
            ColumnSource::Kept | ColumnSource::Standing => Ok(self.standings(open, slots)),
            ColumnSource::SourceName => self.stored(open, system_fields::SOURCE_OF, slots),
            ColumnSource::Keyword(field) => {
                self.stored(open, system_fields::column_of(field), slots)
            }
            ColumnSource::Bool(column) | ColumnSource::Integer { column, .. } => {
                self.stored(open, column, slots)
            }
            // Columns of other types are not grouped by code.
            _ => Ok(vec![self.code(None, DocId(0)); slots.len()]),
        }
    }

    fn code(&mut self, value: Option<i64>, document: DocId) -> u32 {
        let next = self.values.len() as u32;
        let code = *self.known.entry(value).or_insert(next);
        if code == next {
            self.values.push((value, document));
        }
        code
    }

    fn standings(&mut self, open: &ScanBlock<'_>, slots: &[u16]) -> Vec<u32> {
        let mut table = vec![NONE; BLOCK_SIZE as usize];
        for (standing, members) in &open.standings {
            let value = match self.content {
                ColumnSource::Kept => i64::from(*standing == Standing::Kept),
                _ => place_of(*standing),
            };
            let code = self.code(Some(value), DocId(0));
            for slot in members {
                if let Some(place) = table.get_mut(slot as usize) {
                    *place = code;
                }
            }
        }
        let code = |slot: &u16| *at(&table, usize::from(*slot));
        let mut codes: Vec<u32> = slots.iter().map(code).collect();
        for code in &mut codes {
            if *code == NONE {
                let other = (self.content == ColumnSource::Kept).then_some(0);
                *code = self.code(other, DocId(0));
            }
        }
        codes
    }

    fn stored(
        &mut self,
        open: &ScanBlock<'_>,
        column: ColumnId,
        slots: &[u16],
    ) -> Result<Vec<u32>, StoreError> {
        let mut codes = Vec::with_capacity(slots.len());
        let read = open.block.values(column, |values| {
            let (least, most) = values.range();
            let span = most.wrapping_sub(least).cast_unsigned();
            let mut table = vec![NONE; if span < TABLE { span as usize + 1 } else { 0 }];
            let mut null = NONE;
            values.offsets_of(slots, |offset| {
                let place = match offset {
                    None => Some(&mut null),
                    Some(offset) => usize::try_from(offset).ok().and_then(|at| table.get_mut(at)),
                };
                if let Some(code) = &place
                    && **code != NONE
                {
                    codes.push(**code);
                    return;
                }
                let value = offset.map(|offset| least.wrapping_add(offset.cast_signed()));
                let slot = at(slots, codes.len());
                let code = self.code(value, open.block.document(*slot));
                if let Some(place) = place {
                    *place = code;
                }
                codes.push(code);
            });
        })?;
        if read.is_none() {
            codes.resize(slots.len(), self.code(None, DocId(0)));
        }
        Ok(codes)
    }

    /// The values of some codes, as an array of the column's type.
    pub(super) fn array(
        &self,
        view: &View,
        reader: &mut ColumnReader<'_>,
        codes: &[u32],
    ) -> Result<ArrayRef, SqlError> {
        let numbers = codes.iter().map(|code| self.values.get(*code as usize)?.0);
        Ok(match self.content {
            ColumnSource::Kept | ColumnSource::Bool(_) => {
                Arc::new(numbers.map(|number| number.map(|n| n != 0)).collect::<BooleanArray>())
            }
            ColumnSource::Standing => {
                let standing = |number| Standing::ALL.into_iter().find(|s| place_of(*s) == number);
                let names = numbers.map(|number| Some(standing(number?)?.name()));
                Arc::new(names.collect::<StringArray>())
            }
            ColumnSource::SourceName => {
                let name = |number: Option<i64>| {
                    let source = number.and_then(|number| u32::try_from(number).ok());
                    source.map(|source| view.source_name(SourceId(source))).transpose()
                };
                Arc::new(numbers.map(name).collect::<Result<StringArray, StoreError>>()?)
            }
            ColumnSource::Integer { unsigned: true, .. } => {
                let number = |number: i64| u64::try_from(number).ok();
                Arc::new(numbers.map(|n| n.and_then(number)).collect::<UInt64Array>())
            }
            ColumnSource::Integer { .. } => Arc::new(numbers.collect::<Int64Array>()),
            ColumnSource::Keyword(field) => {
                let mut texts: Vec<Option<Arc<str>>> = Vec::with_capacity(codes.len());
                for code in codes {
                    let value = self.values.get(*code as usize);
                    let term = value.and_then(|(term, document)| {
                        Some((TermId(u32::try_from((*term)?).ok()?), *document))
                    });
                    let text = term.map(|(term, document)| reader.value(document, field, term));
                    texts.push(text.transpose()?.flatten());
                }
                Arc::new(strings(&texts)?)
            }
            _ => arrow::array::new_null_array(&arrow::datatypes::DataType::Null, codes.len()),
        })
    }
}

/// A number for a standing.
fn place_of(standing: Standing) -> i64 {
    (0..).zip(Standing::ALL).find(|(_, known)| *known == standing).map_or(-1, |(place, _)| place)
}
