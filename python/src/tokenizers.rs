//! Tokenizers of a corpus for reading: encodes texts and decodes ids.

use crate::blocking::{run_briefly, run_detached};
use crate::corpus::Handle;
use crate::words::json;
use corpusdb::tokenizer::{ScoredSegmentation, Segmentation, Tokenizer};
use corpusdb::{Corpus, Error};
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use std::sync::Arc;

type Ids<'py> = Bound<'py, PyArray1<u32>>;
/// Its ids, pieces, log probability and probability.
type PySegmentation<'py> = (Ids<'py>, Vec<String>, f64, f64);
/// The options `segmentation_seed`, `alpha` and `dropout`.
type DrawOptions = (Option<u64>, Option<f64>, Option<f64>);

/// A tokenizer with its encoder. It works after its corpus was closed, and in forked processes.
#[pyclass(frozen, module = "corpusdb._native", name = "Encoder")]
pub(crate) struct PyEncoder {
    name: String,
    tokenizer: Arc<Tokenizer>,
}

/// The named tokenizer, or the first one.
#[pyfunction]
#[pyo3(signature = (handle, name=None))]
pub(crate) fn encoder(
    py: Python<'_>,
    handle: &Handle,
    name: Option<String>,
) -> PyResult<PyEncoder> {
    let corpus = handle.corpus(py)?;
    let loaded = run_detached(py, None, move |_| corpus.tokenizer(name.as_deref()))?;
    Ok(PyEncoder { name: loaded.name, tokenizer: loaded.tokenizer })
}

impl PyEncoder {
    pub(crate) const fn new(name: String, tokenizer: Arc<Tokenizer>) -> Self {
        Self { name, tokenizer }
    }

    pub(crate) fn tokenizer(&self) -> Arc<Tokenizer> {
        Arc::clone(&self.tokenizer)
    }
}

#[pymethods]
impl PyEncoder {
    /// Its name in the corpus.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// The largest id plus one.
    #[getter]
    fn vocab_size(&self) -> u32 {
        self.tokenizer.vocab_size()
    }

    /// The special tokens and their ids.
    fn specials(&self) -> Vec<(u32, String)> {
        self.tokenizer.specials()
    }

    /// The id of a token; `None` if the vocabulary does not have it.
    fn token_to_id(&self, token: &str) -> Option<u32> {
        self.tokenizer.token_to_id(token)
    }

    /// The ids of a text. With `specials`, special tokens spelled in the text are encoded as such.
    fn encode<'py>(
        &self,
        py: Python<'py>,
        text: &str,
        specials: bool,
        draw: DrawOptions,
    ) -> PyResult<Ids<'py>> {
        let ids = run_briefly(py, || ids(&self.tokenizer, text, specials, segmentation(draw)?))?;
        Ok(ids.into_pyarray(py))
    }

    /// The best segmentations of a text: of each the ids, the pieces, the log probability and the probability.
    fn nbest<'py>(
        &self,
        py: Python<'py>,
        text: &str,
        count: usize,
        specials: bool,
    ) -> PyResult<Vec<PySegmentation<'py>>> {
        let best =
            run_briefly(py, || Ok(self.tokenizer.best_segmentations(text, specials, count)?))?;
        let tuple = |one: ScoredSegmentation| {
            let (ids, pieces): (Vec<u32>, Vec<String>) =
                one.tokens.into_iter().map(|piece| (piece.id, piece.text)).unzip();
            (ids.into_pyarray(py), pieces, one.log_probability, one.probability)
        };
        Ok(best.segmentations.into_iter().map(tuple).collect())
    }

    /// The entropy of all segmentations of a text, in nats.
    fn entropy(&self, py: Python<'_>, text: &str, alpha: f64, specials: bool) -> PyResult<f64> {
        run_briefly(py, || Ok(self.tokenizer.segmentation_entropy(text, specials, alpha)?))
    }

    /// The ids of many texts, on all cores.
    fn encode_batch<'py>(
        &self,
        py: Python<'py>,
        texts: Vec<String>,
        specials: bool,
        draw: DrawOptions,
    ) -> PyResult<Vec<Ids<'py>>> {
        use rayon::prelude::*;
        let tokenizer = Arc::clone(&self.tokenizer);
        let all = run_detached(py, None, move |context| {
            let segmentation = segmentation(draw)?;
            let one = |text: &String| {
                if context.is_interrupted() {
                    Ok(Vec::new())
                } else {
                    ids(&tokenizer, text, specials, segmentation)
                }
            };
            texts.par_iter().map(one).collect::<Result<Vec<_>, Error>>()
        })?;
        Ok(all.into_iter().map(|ids| ids.into_pyarray(py)).collect())
    }

    /// The ids of a text, and for each id the begin and end of its UTF-8 bytes in the text.
    fn encode_with_offsets<'py>(
        &self,
        py: Python<'py>,
        text: &str,
        specials: bool,
    ) -> PyResult<(Ids<'py>, Vec<(u32, u32)>)> {
        let (ids, offsets) =
            run_briefly(py, || Ok(self.tokenizer.encode_with_offsets(text, specials)?))?;
        Ok((ids.into_pyarray(py), offsets))
    }

    /// The text of ids. Special tokens are spelled out.
    fn decode(&self, py: Python<'_>, ids: Vec<u32>) -> PyResult<String> {
        run_briefly(py, || {
            let vocab_size = self.tokenizer.vocab_size();
            if let Some(id) = ids.iter().copied().find(|id| *id >= vocab_size) {
                let error = corpusdb::tokenizer::TokenizerError::NoSuchId { id, vocab_size };
                return Err(error.into());
            }
            Ok(self.tokenizer.decode(&ids)?)
        })
    }
}

fn segmentation((seed, alpha, dropout): DrawOptions) -> Result<Segmentation, Error> {
    Ok(Segmentation::of_options(seed, alpha, dropout)?)
}

fn ids(
    tokenizer: &Tokenizer,
    text: &str,
    specials: bool,
    segmentation: Segmentation,
) -> Result<Vec<u32>, Error> {
    let mut ids = Vec::new();
    tokenizer.encode_segmentation(text, specials, segmentation, &mut ids)?;
    Ok(ids)
}

/// The tokens of a text, each with its piece of the text, as JSON text.
#[pyfunction]
pub(crate) fn pieces(
    py: Python<'_>,
    handle: &Handle,
    name: Option<String>,
    text: String,
    specials: bool,
    draw: DrawOptions,
) -> PyResult<String> {
    let corpus = handle.corpus(py)?;
    let pieces = run_briefly(py, move || {
        corpus.encode(name.as_deref(), &text, specials, segmentation(draw)?)
    })?;
    json(py, &pieces)
}

/// The names of the tokenizers, in the order in which they were registered.
#[pyfunction]
pub(crate) fn tokenizer_names(py: Python<'_>, handle: &Handle) -> PyResult<Vec<String>> {
    Ok(names(handle.corpus(py)?.as_ref()))
}

fn names(corpus: &Corpus) -> Vec<String> {
    corpus.view().own_tokenizers().map(|(_, record)| record.name.clone()).collect()
}
