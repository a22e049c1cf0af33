//! Encodes texts with the encoder that a corpus uses.

use super::columns::{KernelColumns, required};
use super::each;
use crate::blocking::run_briefly;
use crate::tokenizers::PyEncoder;
use corpusdb::arrow::array::{Array, ListBuilder, UInt32Builder};
use corpusdb::tokenizer::Tokenizer;
use pyo3::prelude::*;
use pyo3_arrow::{PyRecordBatch, PyRecordBatchReader};
use std::sync::Arc;

/// Loads the bytes of a `tokenizer.json` or of a SentencePiece `.model`, without a corpus.
#[pyfunction]
pub(crate) fn load_encoder(py: Python<'_>, file: Vec<u8>) -> PyResult<PyEncoder> {
    let tokenizer = run_briefly(py, || Ok(Tokenizer::load(&file, &[])?))?;
    Ok(PyEncoder::new(String::new(), Arc::new(tokenizer)))
}

/// Replaces a column of texts by their token ids; null for a text that cannot be encoded.
#[pyfunction]
pub(crate) fn kernel_encode(
    py: Python<'_>,
    batches: PyRecordBatchReader,
    encoder: &PyEncoder,
    text: String,
) -> PyResult<PyRecordBatch> {
    let tokenizer = encoder.tokenizer();
    each(py, batches, move |batch| {
        let columns = KernelColumns(batch);
        let texts = columns.strings(&text)?;
        let mut encoder = tokenizer.encoder();
        let mut column = ListBuilder::new(UInt32Builder::new());
        let mut ids = Vec::new();
        for row in 0..texts.len() {
            let one = required(texts.is_valid(row).then(|| texts.value(row)), &text, row)?;
            ids.clear();
            let refused = match encoder.encode(one, &mut ids) {
                Err(error) if error.refusal().is_none() => {
                    return Err(format!("row {row}: {error}"));
                }
                Err(_) => true,
                Ok(()) => false,
            };
            if !refused {
                column.values().append_slice(&ids);
            }
            column.append(!refused);
        }
        columns.replaced(&[&text], vec![("ids", Arc::new(column.finish()))])
    })
}
