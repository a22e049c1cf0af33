//! Records that bring their own token ids: which of them are trained on, and the text that they stand for.

use crate::decide::LoadedTokenizer;
use crate::model::{LossSpan, TextForm};
use serde_json::{Map, Value};

/// The label of a token that is not trained on.
const IGNORED: i64 = -100;

/// Ids that came with a record.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Given {
    /// As they came.
    pub(super) ids: Vec<u32>,
    /// The trained ones; none: all.
    pub(super) spans: Option<Vec<LossSpan>>,
}

/// What a record with ids becomes.
pub(super) struct Made {
    pub(super) text: String,
    pub(super) metadata: String,
    pub(super) form: TextForm,
    pub(super) given: Given,
}

/// Reads `input_ids`, `labels` and `text` of a record; the other fields stay as they are.
pub(super) fn read(
    record: &str,
    tokenizer: &LoadedTokenizer,
    specials: &[u32],
) -> Result<Made, String> {
    let mut record: Map<String, Value> =
        serde_json::from_str(record).map_err(|error| format!("not a JSON object: {error}"))?;
    let ids = record.shift_remove("input_ids").unwrap_or(Value::Null);
    let ids = ids.as_array().ok_or("field `input_ids` is not a list")?;
    let ids: Vec<u32> = ids
        .iter()
        .enumerate()
        .map(|(at, id)| {
            let id = id.as_u64().and_then(|id| u32::try_from(id).ok());
            id.filter(|id| *id < tokenizer.vocab_size).ok_or_else(|| {
                format!(
                    "input_ids[{at}] is not an id of tokenizer `{}`, which has {}",
                    tokenizer.name, tokenizer.vocab_size
                )
            })
        })
        .collect::<Result<_, _>>()?;
    let spans = match record.shift_remove("labels") {
        None | Some(Value::Null) => None,
        Some(labels) => trained(&ids, labels.as_array().ok_or("field `labels` is not a list")?)?,
    };
    let decoded = tokenizer.tokenizer.decode(&ids).map_err(|error| error.to_string())?;
    let text = match record.shift_remove("text") {
        None | Some(Value::Null) => decoded.clone(),
        Some(Value::String(text)) => text,
        Some(_) => return Err("field `text` is not a string".to_owned()),
    };
    let bytes = match &spans {
        None => None,
        Some(_) if text != decoded => {
            return Err(
                "its `text` is not what its ids spell, so `labels` cannot be told of the text"
                    .to_owned(),
            );
        }
        Some(spans) => Some(of_text(spans, &ids, &text, tokenizer)?),
    };
    let has_specials = ids.iter().any(|id| specials.binary_search(id).is_ok());
    let form = TextForm { specials: has_specials, given: Some(tokenizer.id), spans: bytes };
    let metadata = Value::Object(record).to_string();
    Ok(Made { text, metadata, form, given: Given { ids, spans } })
}

/// Runs of labels that are not ignored, each of which must be the id at its own place.
fn trained(ids: &[u32], labels: &[Value]) -> Result<Option<Vec<LossSpan>>, String> {
    if labels.len() != ids.len() {
        return Err(format!("{} labels for {} ids", labels.len(), ids.len()));
    }
    let mut spans: Vec<LossSpan> = Vec::new();
    for ((at, label), id) in (0_u32..).zip(labels).zip(ids) {
        match label.as_i64() {
            Some(IGNORED) => {}
            Some(label) if label == i64::from(*id) => match spans.last_mut() {
                Some(last) if last.end == at => last.end += 1,
                _ => spans.push(LossSpan { start: at, end: at + 1, weight: 1.0 }),
            },
            _ => {
                return Err(format!(
                    "labels[{at}] is {label}, neither -100 nor the id {id} at its place; labels must not be shifted"
                ));
            }
        }
    }
    let is_all =
        matches!(spans.as_slice(), [only] if only.start == 0 && only.end as usize == ids.len());
    Ok(Some(spans).filter(|_| !is_all && !ids.is_empty()))
}

/// The bytes of the text that trained ids stand for: what all ids before a place spell ends there.
fn of_text(
    spans: &[LossSpan],
    ids: &[u32],
    text: &str,
    tokenizer: &LoadedTokenizer,
) -> Result<Vec<LossSpan>, String> {
    let mut bytes = Vec::with_capacity(spans.len());
    let place = |at: u32| -> Result<u32, String> {
        let before = ids.get(..at as usize).unwrap_or_default();
        let spelled = tokenizer.tokenizer.decode(before).map_err(|error| error.to_string())?;
        // A character that is cut here is spelled otherwise: it belongs to what follows.
        let same = spelled.bytes().zip(text.bytes()).take_while(|(a, b)| a == b).count();
        let end =
            if before.len() == ids.len() { text.len() } else { text.floor_char_boundary(same) };
        u32::try_from(end).map_err(|_| "longer than 4 GiB".to_owned())
    };
    for span in spans {
        let (start, end) = (place(span.start)?, place(span.end)?);
        if start < end {
            bytes.push(LossSpan { start, end, weight: span.weight });
        }
    }
    Ok(bytes)
}
