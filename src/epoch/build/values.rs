//! The values of a column of a row, in the type they are written as.

/// The values that a row has in a column; a single one where the column is not a list.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::epoch) enum Values {
    I8(Vec<i8>),
    I32(Vec<i32>),
    F32(Vec<f32>),
}

impl Values {
    pub fn len(&self) -> usize {
        match self {
            Self::I8(values) => values.len(),
            Self::I32(values) => values.len(),
            Self::F32(values) => values.len(),
        }
    }
}
