//! Ids of special tokens, found in the tokenizer's own file.

use super::Specials;
use crate::epoch::error::{EpochError, SPECIAL_TOKEN};
use crate::model::near_names::UnknownName;
use serde::{Deserialize, Serialize};
use serde_json::Value;

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

/// Looks up `specials` in a `tokenizer.json`.
///
/// # Errors
/// [`EpochError::Unknown`] for a token that is neither added nor in the vocabulary;
/// [`EpochError::Plan`] when the file is not JSON.
pub(in crate::epoch) fn special_ids(
    file: &[u8],
    specials: &Specials,
) -> Result<SpecialIds, EpochError> {
    if *specials == Specials::default() {
        return Ok(SpecialIds::default());
    }
    let file: Value = serde_json::from_slice(file)
        .map_err(|error| EpochError::Plan(format!("tokenizer file is not JSON: {error}")))?;
    let find = |name: &Option<String>| match name {
        None => Ok(None),
        Some(name) => id_of(&file, name).map(Some).ok_or_else(|| {
            let known = added(&file).map(|(content, _)| content);
            EpochError::Unknown(UnknownName::new(SPECIAL_TOKEN, name, known))
        }),
    };
    Ok(SpecialIds {
        bos: find(&specials.bos)?,
        eos: find(&specials.eos)?,
        pad: find(&specials.pad)?,
    })
}

fn id_of(file: &Value, name: &str) -> Option<u32> {
    let added = added(file).find(|(content, _)| *content == name).map(|(_, id)| id);
    let vocabulary = file.pointer("/model/vocab");
    let listed = || match vocabulary? {
        Value::Object(ids) => ids.get(name)?.as_u64(),
        // Unigram: pieces with scores, the id is the position.
        Value::Array(pieces) => {
            let at = pieces
                .iter()
                .position(|piece| piece.get(0).and_then(Value::as_str) == Some(name))?;
            u64::try_from(at).ok()
        }
        _ => None,
    };
    added.or_else(listed).and_then(|id| u32::try_from(id).ok())
}

fn added(file: &Value) -> impl Iterator<Item = (&str, u64)> {
    let tokens = file.get("added_tokens").and_then(Value::as_array).into_iter().flatten();
    tokens.filter_map(|token| Some((token.get("content")?.as_str()?, token.get("id")?.as_u64()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn specials(eos: &str) -> Specials {
        Specials { eos: Some(eos.to_owned()), ..Specials::default() }
    }

    #[test]
    fn added_tokens_and_both_vocabulary_forms_are_found() {
        let bpe = br#"{"added_tokens":[{"id":9,"content":"<e>"}],"model":{"vocab":{"a":0,"b":1}}}"#;
        assert_eq!(special_ids(bpe, &specials("<e>")).unwrap().eos, Some(9));
        assert_eq!(special_ids(bpe, &specials("b")).unwrap().eos, Some(1));
        let unigram = br#"{"model":{"vocab":[["<unk>",0.0],["</s>",0.0]]}}"#;
        assert_eq!(special_ids(unigram, &specials("</s>")).unwrap().eos, Some(1));
        let error = special_ids(bpe, &specials("</s>")).unwrap_err();
        assert_eq!(error.to_string(), "no special token `</s>`");
        let hint = error.hint().unwrap().to_string();
        let any = "any token of the vocabulary may be named as well, spelled as there";
        assert_eq!(hint, format!("there is `<e>`; {any}"));
        let without = br#"{"model":{"vocab":{"a":0}}}"#;
        let hint = special_ids(without, &specials("</s>")).unwrap_err().hint().unwrap().to_string();
        assert_eq!(hint, format!("there is none; {any}"));
        assert!(special_ids(b"not json", &Specials::default()).is_ok());
        assert!(special_ids(b"not json", &specials("x")).is_err());
    }
}
