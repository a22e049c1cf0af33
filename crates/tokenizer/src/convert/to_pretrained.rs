//! Writes the files from which `AutoTokenizer.from_pretrained` of transformers loads a tokenizer.

use crate::error::TokenizerError;
use crate::file::TokenizerFile;
use serde_json::{Map, Value};

/// What a directory says of a tokenizer beside its `tokenizer.json`.
#[derive(Clone, Copy, Debug, Default)]
pub struct PretrainedSettings<'a> {
    /// The token before a document.
    pub bos: Option<&'a str>,
    /// The token behind a document.
    pub eos: Option<&'a str>,
    /// The token that fills rows.
    pub pad: Option<&'a str>,
    /// The Jinja template by which `apply_chat_template` writes conversations.
    pub chat_template: Option<&'a str>,
}

/// The files of a directory that transformers loads, by name: the `tokenizer.json` as it is, a `tokenizer_config.json`
/// with the special tokens (that for unknown text too, where the model has one), and the chat template.
///
/// The class is `PreTrainedTokenizerFast`, which has the ids of `tokenizer.json` in every release.
///
/// # Errors
/// [`TokenizerError`] when the bytes are not a `tokenizer.json`.
pub fn to_pretrained(
    json: &[u8],
    settings: &PretrainedSettings<'_>,
) -> Result<Vec<(String, Vec<u8>)>, TokenizerError> {
    let file = TokenizerFile::read(json)?;
    let mut config = Map::new();
    config.insert("tokenizer_class".to_owned(), "PreTrainedTokenizerFast".into());
    // Without it older releases join the spaces before punctuation when they decode.
    config.insert("clean_up_tokenization_spaces".to_owned(), Value::Bool(false));
    let tokens = [
        ("bos_token", settings.bos),
        ("eos_token", settings.eos),
        ("pad_token", settings.pad),
        ("unk_token", file.unknown_token()),
    ];
    for (name, token) in tokens {
        if let Some(token) = token {
            config.insert(name.to_owned(), token.into());
        }
    }
    let mut config = serde_json::to_vec_pretty(&config).map_err(TokenizerError::Write)?;
    config.push(b'\n');
    let mut files = vec![
        ("tokenizer.json".to_owned(), json.to_vec()),
        ("tokenizer_config.json".to_owned(), config),
    ];
    if let Some(template) = settings.chat_template {
        files.push(("chat_template.jinja".to_owned(), template.as_bytes().to_vec()));
    }
    Ok(files)
}
