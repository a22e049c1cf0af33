//! The embedding map of an extension: the old ids whose embeddings each new id can start from.

use crate::error::ExtendError;
use serde::Serialize;
use serde_json::{Map, json};

/// Why a token was added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum TokenOrigin {
    /// A requested term.
    Term,
    /// An intermediate token between the pieces of a term and the term.
    Intermediate,
    /// A character of a term that the base did not know.
    Character,
    /// Growth on counts chose it.
    Grown,
    /// A term that is an added token, searched for before the pre-tokenizer.
    #[serde(rename = "added-token")]
    Added,
}

/// The new ids of an extension, and the ids of the base that stand for each.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct EmbeddingMap {
    /// blake3 of the base's `tokenizer.json`, as hexadecimal digits.
    pub base: String,
    /// blake3 of the extended one.
    pub extended: String,
    /// One more than the base's largest id; the first new id.
    pub base_vocab_size: u32,
    /// By id, without gaps.
    pub rows: Vec<EmbeddingRow>,
}

/// One new id.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct EmbeddingRow {
    /// The new id.
    pub id: u32,
    /// The token as the vocabulary spells it.
    pub token: String,
    /// The text it decodes to; U+FFFD where it cuts a character.
    pub text: String,
    /// Why it was added.
    pub origin: TokenOrigin,
    /// The two tokens that it is merged of; absent where the model does not merge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parents: Option<(u32, u32)>,
    /// The ids of the base that stand for it, in order: the parents, theirs, and so on.
    pub old_ids: Vec<u32>,
    /// The share of each of `old_ids` in the mean of their embeddings: 1 / their number.
    pub weights: Vec<f32>,
    /// How often its parents stood side by side when growth chose it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
}

/// Equal shares of a mean over `length` rows.
pub(super) fn equal_weights(length: usize) -> Vec<f32> {
    let length = u16::try_from(length).unwrap_or(u16::MAX);
    vec![1.0 / f32::from(length.max(1)); usize::from(length)]
}

impl EmbeddingMap {
    /// One JSON object a line, one line a new id.
    ///
    /// # Errors
    /// [`ExtendError::Map`].
    pub fn json_lines(&self) -> Result<String, ExtendError> {
        let mut lines = String::new();
        for row in &self.rows {
            let line = serde_json::to_string(row).map_err(ExtendError::Map)?;
            lines.push_str(&line);
            lines.push('\n');
        }
        Ok(lines)
    }

    /// The map as a sparse matrix in the bytes of a `.safetensors` file: `new_ids` i64 `[n]`, `offsets` i64 `[n + 1]`,
    /// `old_ids` i64 `[m]` and `weights` f32 `[m]`. New id `new_ids[i]` is the sum of `weights[j]` times row
    /// `old_ids[j]` for j from `offsets[i]` to below `offsets[i + 1]`. The metadata has `base`, `base_vocab_size` and
    /// `extended`.
    ///
    /// # Errors
    /// [`ExtendError::Map`].
    pub fn safetensors(&self) -> Result<Vec<u8>, ExtendError> {
        let mut end = 0_i64;
        let offsets = self.rows.iter().map(|row| {
            end = end.saturating_add_unsigned(row.old_ids.len() as u64);
            end
        });
        let offsets: Vec<i64> = std::iter::once(0).chain(offsets).collect();
        let old_ids = self.rows.iter().flat_map(|row| row.old_ids.iter().copied());
        let weights = self.rows.iter().flat_map(|row| row.weights.iter().copied());
        let new_ids = self.rows.iter().map(|row| i64::from(row.id));
        // A length of 8 bytes, a header, the columns one behind the other: wide ones first, aligned.
        let columns: [(&str, &str, Vec<u8>, usize); 4] = [
            ("new_ids", "I64", new_ids.flat_map(i64::to_le_bytes).collect(), 8),
            ("offsets", "I64", offsets.into_iter().flat_map(i64::to_le_bytes).collect(), 8),
            ("old_ids", "I64", old_ids.map(i64::from).flat_map(i64::to_le_bytes).collect(), 8),
            ("weights", "F32", weights.flat_map(f32::to_le_bytes).collect(), 4),
        ];
        let mut header = Map::new();
        let metadata = json!({
            "base": self.base,
            "base_vocab_size": self.base_vocab_size.to_string(),
            "extended": self.extended,
        });
        header.insert("__metadata__".to_owned(), metadata);
        let mut at = 0;
        for (name, kind, bytes, width) in &columns {
            let (start, length) = (at, bytes.len() / width);
            at += bytes.len();
            let entry = json!({ "dtype": kind, "shape": [length], "data_offsets": [start, at] });
            header.insert((*name).to_owned(), entry);
        }
        let mut header = serde_json::to_vec(&header).map_err(ExtendError::Map)?;
        header.resize(header.len().next_multiple_of(8), b' ');
        let mut file = (header.len() as u64).to_le_bytes().to_vec();
        file.append(&mut header);
        for (_, _, mut bytes, _) in columns {
            file.append(&mut bytes);
        }
        Ok(file)
    }
}
