//! The fast encoder: tokenizers 1.0, which reads only its own canonical form of the file.

use super::cut_places::MergeBoundaries;
use super::doubt::has_new_characters;
use super::oracle::guard;
use super::prepare::SpaceNormalizer;
use serde_json::Value;
use std::sync::atomic::{AtomicBool, Ordering};
use tokenizers_fast::pipeline::{
    EncodeOptions, Model, Override, PipelineModel, PipelineToken, PipelineTokenizer, Span,
    normalize_all,
};

/// Why it declines a text that it could encode.
pub(super) const DOUBTFUL: &str = "the text has characters newer than the oracle";

/// A tokenizer of the fast implementation, set as the oracle is.
pub(super) struct PipelineEngine {
    /// What is done to a text first.
    prepare: SpaceNormalizer,
    pipeline: PipelineTokenizer,
    /// Where a text without pre-tokens may be cut.
    words: Option<MergeBoundaries>,
    /// For text that is only text, and for text in which special tokens are special.
    options: [EncodeOptions; 2],
    // A panic may leave a pooled scratch half written; its words are not trusted after that.
    broken: AtomicBool,
}

impl PipelineEngine {
    /// Fails with the reason a user should read.
    pub(super) fn load(json: &[u8]) -> Result<Self, String> {
        let mut file: Value = serde_json::from_slice(json).map_err(|error| error.to_string())?;
        let (prepare, pipeline, words) = guard("converting", || {
            let prepare = SpaceNormalizer::take(&mut file)?;
            tokenizers_fast::canonicalize_value(&mut file).map_err(|e| e.to_string())?;
            let canonical = serde_json::to_string(&file).map_err(|e| e.to_string())?;
            let pipeline = tokenizers_fast::from_json(&canonical).map_err(|e| e.to_string())?;
            Ok::<_, String>((prepare, pipeline, MergeBoundaries::of(&file)))
        })
        .map_err(|error| error.to_string())??;
        let options = [true, false].map(|encode_special_tokens| EncodeOptions {
            add_special_tokens: false,
            encode_special_tokens,
            padding: Override::Off,
            truncation: Override::Off,
        });
        Ok(Self { prepare, pipeline, words, options, broken: AtomicBool::new(false) })
    }

    /// Appends the ids of `text`, or says why it cannot; then `out` is as it was.
    pub(super) fn encode(
        &self,
        text: &str,
        scratch: &mut PipelineScratch,
        out: &mut Vec<u32>,
    ) -> Result<(), String> {
        let [plain, _] = &self.options;
        self.run(text, scratch, out, |scratch| {
            let text = self.prepare.apply(text)?;
            let Some(words) = &self.words else {
                return self.pipeline.encode_into(&text, plain, &mut scratch.ids).map_err(told);
            };
            let text = normalize_all(self.pipeline.get_normalizers(), &text, 0).map_err(told)?;
            words.cut(&text, &mut scratch.words);
            if scratch.words.is_empty() && !text.is_empty() {
                return Err(format!("a text of {} bytes is too long", text.len()));
            }
            let model = self.pipeline.get_model();
            let memory = scratch.memory.get_or_insert_with(|| model.init_scratch());
            model.tokenize_spans(&text, &scratch.words, memory, &mut scratch.ids).map_err(told)
        })
    }

    /// As [`PipelineEngine::encode`], with special tokens in the text recognised.
    pub(super) fn encode_special(
        &self,
        text: &str,
        scratch: &mut PipelineScratch,
        out: &mut Vec<u32>,
    ) -> Result<(), String> {
        if !self.prepare.is_empty() {
            return Err("a text with special tokens is normalised in parts".to_owned());
        }
        let [_, special] = &self.options;
        self.run(text, scratch, out, |scratch| {
            self.pipeline.encode_into(text, special, &mut scratch.ids).map_err(told)
        })
    }

    fn run(
        &self,
        text: &str,
        scratch: &mut PipelineScratch,
        out: &mut Vec<u32>,
        encode: impl FnOnce(&mut PipelineScratch) -> Result<(), String>,
    ) -> Result<(), String> {
        if self.broken.load(Ordering::Relaxed) {
            return Err("it panicked before".to_owned());
        }
        if has_new_characters(text) {
            return Err(DOUBTFUL.to_owned());
        }
        scratch.ids.clear();
        guard("encoding", || encode(scratch)).map_err(|panic| {
            self.broken.store(true, Ordering::Relaxed);
            panic.to_string()
        })??;
        out.extend_from_slice(PipelineToken::cast_slice(&scratch.ids));
        scratch.release();
        Ok(())
    }
}

fn told(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Ids of a text that is no longer usual: their place is given back.
const MOST_IDS: usize = 1 << 20;

/// What is kept from text to text.
#[derive(Default)]
pub(super) struct PipelineScratch {
    /// Ids in the crate's own type, before they are copied out.
    ids: Vec<PipelineToken>,
    words: Vec<Span>,
    /// The words that the model remembers, where they are not cut by the crate's own pre-tokenizer.
    memory: Option<<PipelineModel as Model>::Scratch>,
}

impl PipelineScratch {
    fn release(&mut self) {
        if self.ids.capacity() > MOST_IDS {
            self.ids = Vec::new();
        }
        if self.words.capacity() > MOST_IDS {
            self.words = Vec::new();
        }
    }
}
