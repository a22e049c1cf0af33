//! Special tokens as recipes name them, resolved to the ids that encoders give.

use super::SpecialTokens;
use crate::epoch::error::{EpochError, SPECIAL_TOKEN};
use model::near_names::UnknownName;
use serde::{Deserialize, Serialize};
use tokenizer::Vocabulary;

/// Ids of the special tokens of an epoch; none where the recipe names none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SpecialIds {
    /// Before every document.
    pub bos: Option<u32>,
    /// After every document.
    pub eos: Option<u32>,
    /// The id that fills rows up to their length.
    pub pad: Option<u32>,
}

/// Looks up `specials` among the tokens with the ids that texts get: not those that a file may say of added tokens.
///
/// # Errors
/// [`EpochError::Unknown`] for a token that is neither added nor in the vocabulary.
pub(crate) fn special_ids(
    vocabulary: &Vocabulary,
    specials: &SpecialTokens,
) -> Result<SpecialIds, EpochError> {
    let find = |name: &Option<String>| match name {
        None => Ok(None),
        Some(name) => vocabulary.id(name).map(Some).ok_or_else(|| {
            let added = vocabulary.added().map(|(_, token, _)| token);
            EpochError::Unknown(UnknownName::new(SPECIAL_TOKEN, name, added))
        }),
    };
    Ok(SpecialIds {
        bos: find(&specials.bos)?,
        eos: find(&specials.eos)?,
        pad: find(&specials.pad)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use tokenizer::stored_vocabulary;

    fn specials(eos: &str) -> SpecialTokens {
        SpecialTokens { eos: Some(eos.to_owned()), ..SpecialTokens::default() }
    }

    fn file(added: &Value, model: &Value) -> Vocabulary {
        let file = json!({ "version": "1.0", "truncation": null, "padding": null, "added_tokens": added,
            "normalizer": null, "pre_tokenizer": null, "post_processor": null, "decoder": null,
            "model": model });
        stored_vocabulary(file.to_string().as_bytes(), "fast").unwrap()
    }

    fn added(id: u32, content: &str) -> Value {
        json!({ "id": id, "content": content, "single_word": false, "lstrip": false, "rstrip": false,
            "normalized": false, "special": true })
    }

    #[test]
    fn added_tokens_and_both_vocabulary_forms_are_looked_up() {
        let model = json!({ "type": "WordLevel", "vocab": { "a": 0, "b": 1 }, "unk_token": "a" });
        // The file says 9; the encoder numbers it behind the vocabulary.
        let words = file(&json!([added(9, "<e>")]), &model);
        assert_eq!(special_ids(&words, &specials("<e>")).unwrap().eos, Some(2));
        assert_eq!(special_ids(&words, &specials("b")).unwrap().eos, Some(1));
        let pieces =
            json!({ "type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["</s>", 0.0]] });
        let pieces = file(&json!([]), &pieces);
        assert_eq!(special_ids(&pieces, &specials("</s>")).unwrap().eos, Some(1));
        let error = special_ids(&words, &specials("</s>")).unwrap_err();
        assert_eq!(error.to_string(), "no special token `</s>`");
        let hint = error.hint().unwrap().to_string();
        let any = "any token of the vocabulary may be named as well, spelled as there";
        assert_eq!(hint, format!("there is `<e>`; {any}"));
        let without = file(&json!([]), &model);
        let hint =
            special_ids(&without, &specials("</s>")).unwrap_err().hint().unwrap().to_string();
        assert_eq!(hint, format!("there is none; {any}"));
    }
}
