//! Records that bring their own token ids: which of them are trained on, and the text that they stand for.

use super::id_fields::IdFields;
use crate::decide::LoadedTokenizer;
use files::input::split_members;
use model::invariant::{part, text_part};
use model::{LossSpan, TextForm, parse};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Fields that are read, beside those that say something of the ids; the others stay as they are.
const OWN: [&str; 2] = ["input_ids", "text"];
/// Fields that earlier releases read, which left masks and boundaries among the others.
const EARLIER_OWN: [&str; 3] = ["input_ids", "labels", "text"];

/// Ids that came with a record.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SuppliedTokens {
    /// The ids as they came, without the pads before and behind them.
    pub(super) ids: Vec<u32>,
    /// The trained ones; none: all.
    pub(super) spans: Option<Vec<LossSpan>>,
}

/// What a record with ids becomes.
pub(super) struct PretokenizedRecord {
    pub(super) text: String,
    pub(super) metadata: String,
    pub(super) form: TextForm,
    pub(super) given: SuppliedTokens,
}

/// Reads `input_ids` and `text` of a record, and what says something of the ids; the other fields stay as they are.
pub(super) fn read_pretokenized(
    record: &str,
    tokenizer: &LoadedTokenizer,
    specials: &[u32],
) -> Result<PretokenizedRecord, String> {
    let mut own: BTreeMap<&str, Value> = BTreeMap::new();
    let mut beside = IdFields::default();
    let metadata = split_members(record, |name, value| {
        let known = OWN.into_iter().find(|own| *own == name);
        match known {
            Some(name) => own.insert(name, parse(value).unwrap_or_default()).is_none(),
            None => beside.take(name, value),
        }
    })?;
    let all = own.remove("input_ids").unwrap_or(Value::Null);
    let all = all.as_array().ok_or("field `input_ids` is not a list")?;
    let kept = beside.kept(all.len())?;
    let ids: Vec<u32> = (kept.start..)
        .zip(part(all, kept.clone()))
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
    let spans = beside.spans(&ids, all.len(), &kept)?;
    let decoded = tokenizer.tokenizer.decode(&ids).map_err(|error| error.to_string())?;
    let text = match own.remove("text") {
        None | Some(Value::Null) => decoded.clone(),
        Some(Value::String(text)) => text,
        Some(_) => return Err("field `text` is not a string".to_owned()),
    };
    let bytes = match &spans {
        None => None,
        Some(_) if text != decoded => {
            return Err(
                "its `text` differs from the text of its ids, so what is trained on cannot be mapped to it"
                    .to_owned(),
            );
        }
        Some(spans) => {
            let mut decode =
                |ids: &[u32]| tokenizer.tokenizer.decode(ids).map_err(|error| error.to_string());
            Some(spans_in_text(spans, &ids, &text, &mut decode)?)
        }
    };
    let has_specials = ids.iter().any(|id| specials.binary_search(id).is_ok());
    let given = Some(tokenizer.id);
    let form = TextForm { specials: has_specials, given, plain: Vec::new(), spans: bytes };
    Ok(PretokenizedRecord { text, metadata, form, given: SuppliedTokens { ids, spans } })
}

/// The other fields of a record as earlier releases stored them: before fields had a canonical form, and before masks and
/// boundaries were read.
pub(super) fn earlier_metadata(record: &str, spelled: &str) -> Vec<String> {
    let mut earlier = Vec::new();
    if let Ok(mut spelled) = serde_json::from_str::<Map<String, Value>>(spelled) {
        spelled.retain(|name, _| !EARLIER_OWN.contains(&name.as_str()));
        earlier.push(Value::Object(spelled).to_string());
    }
    earlier.extend(split_members(record, |name, _| EARLIER_OWN.contains(&name)));
    earlier
}

/// Ids before a place that are decoded with what follows it: more than any decoder looks back.
const CONTEXT: usize = 16;

/// The bytes of the text that trained ids stand for: what all ids before a place spell ends there.
///
/// From place to place: only the ids between, and some before them, are decoded, and what they spell must continue in
/// the text where the place before it was. Where it does not, the decoder looks further, and all ids up to the place
/// are decoded, as long as that is not too much.
fn spans_in_text(
    spans: &[LossSpan],
    ids: &[u32],
    text: &str,
    decode: &mut dyn FnMut(&[u32]) -> Result<String, String>,
) -> Result<Vec<LossSpan>, String> {
    let mut places = SuppliedTokenOffsets {
        ids,
        text,
        id: 0,
        byte: 0,
        left: ids.len().saturating_mul(FULL_DECODES),
    };
    let mut bytes = Vec::with_capacity(spans.len());
    for span in spans {
        let (start, end) = (places.of(span.start, decode)?, places.of(span.end, decode)?);
        if start < end {
            bytes.push(LossSpan { start, end, weight: span.weight });
        }
    }
    Ok(bytes)
}

/// How often all ids of a record may be decoded for places that nearby ids do not determine.
const FULL_DECODES: usize = 64;

/// Where ids end in the text, asked in ascending order.
struct SuppliedTokenOffsets<'a> {
    ids: &'a [u32],
    text: &'a str,
    /// The last place asked for, and where it is in the text.
    id: usize,
    byte: usize,
    /// Ids that may still be decoded from the first one on.
    left: usize,
}

impl SuppliedTokenOffsets<'_> {
    fn of(
        &mut self,
        id: u32,
        decode: &mut dyn FnMut(&[u32]) -> Result<String, String>,
    ) -> Result<u32, String> {
        let id = id as usize;
        if id >= self.ids.len() {
            self.byte = self.text.len();
        } else if id > self.id {
            self.byte = match self.offset_by_context(id, decode)? {
                Some(byte) => byte,
                None => self.offset_by_prefix(id, decode)?,
            };
        }
        self.id = id;
        u32::try_from(self.byte).map_err(|_| "longer than 4 GiB".to_owned())
    }

    /// By what the ids between spell; none when that is not how the text continues.
    fn offset_by_context(
        &self,
        id: usize,
        decode: &mut dyn FnMut(&[u32]) -> Result<String, String>,
    ) -> Result<Option<usize>, String> {
        let from = self.id.saturating_sub(CONTEXT);
        let before = decode(part(self.ids, from..self.id))?;
        let with = decode(part(self.ids, from..id))?;
        let known = common_prefix(&before, &with);
        let spelled = text_part(&with, known..);
        let same = common_prefix(spelled, text_part(self.text, self.byte..));
        // What differs at the end is a character that is cut there, which is spelled otherwise.
        let is_cut = text_part(spelled, same..).chars().all(|c| c == '\u{fffd}');
        Ok(is_cut.then_some(self.byte + same))
    }

    fn offset_by_prefix(
        &mut self,
        id: usize,
        decode: &mut dyn FnMut(&[u32]) -> Result<String, String>,
    ) -> Result<usize, String> {
        self.left = self.left.checked_sub(id).ok_or(
            "what is trained on changes too often for this tokenizer's decoder to find the end of each id in the text; split the record",
        )?;
        let spelled = decode(part(self.ids, ..id))?;
        // A character that is cut here is spelled otherwise: it belongs to what follows.
        Ok(common_prefix(&spelled, self.text))
    }
}

/// Bytes of whole characters that both begin with.
fn common_prefix(a: &str, b: &str) -> usize {
    let same = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    b.floor_char_boundary(same).min(a.floor_char_boundary(same))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Bytes as ids; what is no UTF-8 becomes U+FFFD.
    fn bytes(ids: &[u32]) -> Result<String, String> {
        let bytes: Vec<u8> = ids.iter().filter_map(|id| u8::try_from(*id).ok()).collect();
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Words; the first has no space before it and the last none after it.
    fn words(ids: &[u32]) -> Result<String, String> {
        Ok(ids.iter().map(|id| format!("w{id}")).collect::<Vec<_>>().join(" "))
    }

    /// One whose every word depends on how many stand before it.
    fn counted(ids: &[u32]) -> Result<String, String> {
        Ok(ids.iter().enumerate().map(|(at, id)| format!("{at}:{id},")).collect())
    }

    fn spans(cuts: &[usize], ids: usize) -> Vec<LossSpan> {
        let mut cuts: Vec<u32> =
            cuts.iter().map(|cut| u32::try_from(cut % (ids + 1)).expect("small")).collect();
        cuts.sort_unstable();
        cuts.dedup();
        cuts.chunks_exact(2)
            .map(|pair| LossSpan { start: pair[0], end: pair[1], weight: 1.0 })
            .collect()
    }

    /// The spans by definition: every place by all ids before it.
    fn by_definition(
        spans: &[LossSpan],
        ids: &[u32],
        text: &str,
        decode: fn(&[u32]) -> Result<String, String>,
    ) -> Vec<LossSpan> {
        let place = |at: u32| {
            let before = &ids[..at as usize];
            let end = if before.len() == ids.len() {
                text.len()
            } else {
                common_prefix(&decode(before).expect("decodes"), text)
            };
            u32::try_from(end).expect("short")
        };
        let spans = spans.iter().map(|span| LossSpan {
            start: place(span.start),
            end: place(span.end),
            weight: 1.0,
        });
        spans.filter(|span| span.start < span.end).collect()
    }

    proptest! {
        #[test]
        fn places_are_those_of_all_ids_before_them(
            text in "[a-cé語😀 ]{0,60}",
            numbers in proptest::collection::vec(0u32..12, 0..60),
            cuts in proptest::collection::vec(0usize..1000, 0..24),
        ) {
            let ids: Vec<u32> = text.bytes().map(u32::from).collect();
            for (ids, decode) in [(&ids, bytes as fn(&[u32]) -> _), (&numbers, words), (&numbers, counted)] {
                let text = decode(ids).expect("decodes");
                let spans = spans(&cuts, ids.len());
                let found = spans_in_text(&spans, ids, &text, &mut |ids| decode(ids)).expect("is told");
                prop_assert_eq!(found, by_definition(&spans, ids, &text, decode));
            }
        }
    }

    /// Every run of labels decoded all ids before it: 80,000 ids took more than a minute.
    #[test]
    fn labels_that_change_often_decode_every_id_a_few_times_only() {
        let decoded = [2_000_u32, 4_000].map(|count| {
            let ids: Vec<u32> = (0..count).map(|id| id % 100).collect();
            let text = words(&ids).expect("decodes");
            let spans: Vec<LossSpan> = (0..count / 4)
                .map(|at| LossSpan { start: at * 4, end: at * 4 + 2, weight: 1.0 })
                .collect();
            let mut decoded = 0;
            let found = spans_in_text(&spans, &ids, &text, &mut |ids| {
                decoded += ids.len();
                words(ids)
            });
            assert_eq!(found.expect("is told").len(), spans.len());
            decoded
        });
        assert!(decoded[1] <= decoded[0] * 2 + 1024, "{decoded:?}");
        // A decoder that looks back to the start is only asked so often.
        let ids: Vec<u32> = (0..4_000).collect();
        let text = counted(&ids).expect("decodes");
        let spans = spans(&(0..2_000).map(|at| at * 2).collect::<Vec<_>>(), ids.len());
        let mut decoded = 0;
        let told = spans_in_text(&spans, &ids, &text, &mut |ids| {
            decoded += ids.len();
            counted(ids)
        });
        assert!(told.expect_err("is too much").contains("split the record"));
        assert!(decoded <= ids.len() * (FULL_DECODES + 64), "{decoded}");
    }
}
