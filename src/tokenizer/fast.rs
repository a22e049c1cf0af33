//! The fast encoder: tokenizers 1.0, which reads only its own canonical form of the file.

use super::oracle::guard;
use std::sync::atomic::{AtomicBool, Ordering};
use tokenizers_fast::pipeline::{EncodeOptions, Override, PipelineToken, PipelineTokenizer};

/// A tokenizer of the fast implementation, set as the oracle is.
pub(super) struct Fast {
    pipeline: PipelineTokenizer,
    /// For text that is only text, and for text in which special tokens are special.
    options: [EncodeOptions; 2],
    // A panic may leave a pooled scratch half written; its words are not trusted after that.
    broken: AtomicBool,
}

impl Fast {
    /// Fails with the reason a user should read.
    pub(super) fn load(json: &[u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(json).map_err(|error| error.to_string())?;
        let pipeline = guard("converting", || {
            let canonical = tokenizers_fast::canonicalize_str(text).map_err(|e| e.to_string())?;
            tokenizers_fast::from_json(&canonical).map_err(|e| e.to_string())
        })
        .map_err(|error| error.to_string())??;
        let options = [true, false].map(|encode_special_tokens| EncodeOptions {
            add_special_tokens: false,
            encode_special_tokens,
            padding: Override::Off,
            truncation: Override::Off,
        });
        Ok(Self { pipeline, options, broken: AtomicBool::new(false) })
    }

    /// Appends the ids of `text`, or says why it cannot; then `out` is as it was.
    pub(super) fn encode(
        &self,
        text: &str,
        scratch: &mut FastScratch,
        out: &mut Vec<u32>,
    ) -> Result<(), String> {
        let [plain, _] = &self.options;
        self.encode_by(plain, text, scratch, out)
    }

    /// As [`Fast::encode`], with special tokens in the text recognised.
    pub(super) fn encode_special(
        &self,
        text: &str,
        scratch: &mut FastScratch,
        out: &mut Vec<u32>,
    ) -> Result<(), String> {
        let [_, special] = &self.options;
        self.encode_by(special, text, scratch, out)
    }

    fn encode_by(
        &self,
        options: &EncodeOptions,
        text: &str,
        scratch: &mut FastScratch,
        out: &mut Vec<u32>,
    ) -> Result<(), String> {
        if self.broken.load(Ordering::Relaxed) {
            return Err("it panicked before".to_owned());
        }
        scratch.0.clear();
        let encoded =
            guard("encoding", || self.pipeline.encode_into(text, options, &mut scratch.0))
                .map_err(|panic| {
                    self.broken.store(true, Ordering::Relaxed);
                    panic.to_string()
                })?;
        encoded.map_err(|error| error.to_string())?;
        out.extend_from_slice(PipelineToken::cast_slice(&scratch.0));
        Ok(())
    }
}

/// Ids in the crate's own type, before they are copied out.
#[derive(Default)]
pub(super) struct FastScratch(Vec<PipelineToken>);
