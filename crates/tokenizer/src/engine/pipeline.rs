//! The fast engine (tokenizers 1.0), and the one normalisation that is done for it: the removal of extra spaces.
//!
//! The library reads only its own canonical form of the file. SentencePiece models strip spaces at the ends of a text
//! and collapse runs of them, which their `tokenizer.json` says in regular expressions that the library has no engine
//! for. The steps up to the last such one are run here, the library's own by the library; the others stay in the file.

use super::cuts::MergeBoundaries;
use super::spaces::{SpaceRule, space_rule};
use super::unicode::has_new_characters;
use crate::error::guard;
use crate::file::TokenizerFile;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};
use tokenizers_fast::pipeline::{
    EncodeOptions, Model, Override, PipelineModel, PipelineToken, PipelineTokenizer, Span,
    normalize_all,
};

/// Why it gives no ids for a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DeclineReason {
    /// The text has characters that are newer than the reference: it could encode them, but otherwise.
    NewCharacters,
    /// The bytes of its ids are not the text, or special tokens in texts are not proven.
    Offsets,
    /// A panic may have left its memory half written.
    Broken,
    /// The library's own words.
    Failed(String),
}

impl std::fmt::Display for DeclineReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::NewCharacters => "the text has characters newer than the reference encoder",
            Self::Offsets => "the places of its tokens cannot be told from its ids",
            Self::Broken => "it panicked before",
            Self::Failed(why) => why,
        })
    }
}

impl From<String> for DeclineReason {
    fn from(why: String) -> Self {
        Self::Failed(why)
    }
}

/// A tokenizer of the fast implementation, set as the reference is.
pub(crate) struct PipelineEngine {
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
    pub(crate) fn load(file: TokenizerFile) -> Result<Self, String> {
        let (prepare, pipeline, words) = guard("converting", || {
            let (prepare, mut file) = SpaceNormalizer::extract_from(file)?;
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
    pub(crate) fn encode(
        &self,
        text: &str,
        scratch: &mut PipelineScratch,
        out: &mut Vec<u32>,
    ) -> Result<(), DeclineReason> {
        let [plain, _] = &self.options;
        self.run(text, scratch, out, |scratch| {
            let text = self.prepare.apply(text)?;
            let Some(words) = &self.words else {
                return self.pipeline.encode_into(&text, plain, &mut scratch.ids).map_err(in_words);
            };
            let text =
                normalize_all(self.pipeline.get_normalizers(), &text, 0).map_err(in_words)?;
            words.cut(&text, &mut scratch.words);
            if scratch.words.is_empty() && !text.is_empty() {
                return Err(format!("a text of {} bytes is too long", text.len()));
            }
            let model = self.pipeline.get_model();
            let memory = scratch.memory.get_or_insert_with(|| model.init_scratch());
            model.tokenize_spans(&text, &scratch.words, memory, &mut scratch.ids).map_err(in_words)
        })
    }

    /// Encodes as [`PipelineEngine::encode`] does, with special tokens in the text recognised.
    pub(crate) fn encode_special(
        &self,
        text: &str,
        scratch: &mut PipelineScratch,
        out: &mut Vec<u32>,
    ) -> Result<(), DeclineReason> {
        if !self.prepare.is_empty() {
            return Err("a text with special tokens is normalised in parts".to_owned().into());
        }
        let [_, special] = &self.options;
        self.run(text, scratch, out, |scratch| {
            self.pipeline.encode_into(text, special, &mut scratch.ids).map_err(in_words)
        })
    }

    fn run(
        &self,
        text: &str,
        scratch: &mut PipelineScratch,
        out: &mut Vec<u32>,
        encode: impl FnOnce(&mut PipelineScratch) -> Result<(), String>,
    ) -> Result<(), DeclineReason> {
        if self.broken.load(Ordering::Relaxed) {
            return Err(DeclineReason::Broken);
        }
        if has_new_characters(text) {
            return Err(DeclineReason::NewCharacters);
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

fn in_words(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Ids of a text that is no longer usual: their place is given back.
const MOST_IDS: usize = 1 << 20;

/// What is kept from text to text.
#[derive(Default)]
pub(crate) struct PipelineScratch {
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

/// Steps in order. None: the file is used as it is.
#[derive(Default)]
pub(crate) struct SpaceNormalizer(Vec<SpaceStep>);

enum SpaceStep {
    /// Steps of the library, in a tokenizer that does nothing else.
    Library(Box<PipelineTokenizer>),
    Spaces(SpaceRule),
}

impl SpaceNormalizer {
    /// Takes the steps out of a file, and gives the rest of it.
    pub(crate) fn extract_from(file: TokenizerFile) -> Result<(Self, Value), String> {
        let steps = file.normalizers();
        let last = steps.iter().rposition(|step| space_rule(step).is_some());
        // Where text is taken apart at added tokens before it is normalised, the ends are not its own.
        let last = last.filter(|_| file.added_tokens().all(|token| token.is_special));
        let Some(last) = last else { return Ok((Self::default(), file.into_json())) };
        let (first, rest) = steps.split_at(last + 1);
        let mut taken = Vec::new();
        let mut library = Vec::new();
        for step in first {
            let Some(spaces) = space_rule(step) else {
                library.push((*step).clone());
                continue;
            };
            if !library.is_empty() {
                taken.push(SpaceStep::Library(of_library(std::mem::take(&mut library))?));
            }
            taken.push(SpaceStep::Spaces(spaces));
        }
        let rest = json!({ "type": "Sequence", "normalizers": rest });
        let mut file = file.into_json();
        if let Some(file) = file.as_object_mut() {
            file.insert("normalizer".to_owned(), rest);
        }
        Ok((Self(taken), file))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn apply<'t>(&self, text: &'t str) -> Result<Cow<'t, str>, String> {
        let mut text = Cow::Borrowed(text);
        for step in &self.0 {
            let changed = match step {
                SpaceStep::Library(library) => {
                    normalize_all(library.get_normalizers(), &text, 0).map_err(|e| e.to_string())?
                }
                SpaceStep::Spaces(spaces) => spaces.apply(&text),
            };
            // Borrowed from the text before: the same, or a part of it.
            if let Cow::Owned(changed) = changed {
                text = Cow::Owned(changed);
            } else if changed.len() < text.len() {
                text = Cow::Owned(changed.into_owned());
            }
        }
        Ok(text)
    }
}

fn of_library(steps: Vec<Value>) -> Result<Box<PipelineTokenizer>, String> {
    let mut file = json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
        "normalizer": { "type": "Sequence", "normalizers": steps },
        "pre_tokenizer": null, "post_processor": null, "decoder": null,
        "model": { "type": "WordLevel", "vocab": { "a": 0 }, "unk_token": "a" }
    });
    tokenizers_fast::canonicalize_value(&mut file).map_err(|error| error.to_string())?;
    tokenizers_fast::from_json(&file.to_string()).map(Box::new).map_err(|error| error.to_string())
}
