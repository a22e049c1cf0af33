//! Fields beside token ids: which ids are pads, which are trained on, and whether they are one text.

use model::invariant::part;
use model::{LossSpan, parse};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ops::Range;

/// 1 for an id of the text, 0 for a pad.
const ATTENTION: &str = "attention_mask";
/// The id itself where it is trained on, else [`IGNORED`].
const LABELS: &str = "labels";
/// How much an id counts in the loss; 0, not at all.
const WEIGHTS: &str = "loss_weights";
/// 1 for an id that is trained on, else 0.
const MASKS: [&str; 5] =
    ["completion_mask", "assistant_masks", "assistant_mask", "assistant_tokens_mask", "loss_mask"];
/// Where each id stands in its text: in one text they count up.
const PLACES: &str = "position_ids";
/// Fields that say to which text each id belongs: their values are equal within one text.
const TEXTS: [&str; 3] = ["segment_ids", "sequence_ids", "seq_idx"];
/// How many ids each text has.
const LENGTHS: [&str; 2] = ["seq_lengths", "seq_lens"];
/// Where each text begins, and the last one ends.
const BOUNDS: [&str; 6] =
    ["cu_seqlens", "cu_seqlens_q", "cu_seqlens_k", "cu_seq_lens", "cu_seq_lens_q", "cu_seq_lens_k"];
/// Masks that say nothing of what is trained on.
const OTHER_MASKS: [&str; 1] = ["special_tokens_mask"];
/// The label of a token that is not trained on.
const IGNORED: i64 = -100;

/// The fields of a record that describe its ids, by name; a field of null describes nothing.
#[derive(Default)]
pub(super) struct IdFields {
    values: BTreeMap<&'static str, Value>,
    /// A list that is called a mask and marks something unknown.
    unknown: Option<String>,
}

impl IdFields {
    /// Takes a field of a record, with its value as JSON, if it says something of ids.
    pub(super) fn take(&mut self, name: &str, value: &str) -> bool {
        let known = [ATTENTION, LABELS, WEIGHTS, PLACES].into_iter();
        let known = known.chain(MASKS).chain(TEXTS).chain(LENGTHS).chain(BOUNDS);
        match known.into_iter().find(|known| *known == name) {
            Some(known) => {
                let value = parse(value).unwrap_or_default();
                if !value.is_null() {
                    self.values.insert(known, value);
                }
                true
            }
            None => {
                let is_mask = ["mask", "masks"].iter().any(|end| {
                    let head = name.strip_suffix(end);
                    head.is_some_and(|head| head.is_empty() || head.ends_with('_'))
                });
                if is_mask && value.starts_with('[') && !OTHER_MASKS.contains(&name) {
                    self.unknown = Some(name.to_owned());
                }
                false
            }
        }
    }

    /// Which ids are of the text: all but the pads before and behind it.
    ///
    /// # Errors
    /// In words, for fields that do not fit the ids, and for a row of several texts.
    pub(super) fn kept(&self, ids: usize) -> Result<Range<usize>, String> {
        if let Some(name) = &self.unknown {
            return Err(format!(
                "field `{name}` is a mask that is not known: name it `loss_mask` if its ones are trained on (--map loss_mask={name}), else leave it out (--drop-fields {name})"
            ));
        }
        let kept = match self.values.get(ATTENTION) {
            None => 0..ids,
            Some(value) => unpadded(&flags(ATTENTION, value, ids)?)?,
        };
        for (name, value) in &self.values {
            if LENGTHS.contains(name) || BOUNDS.contains(name) {
                check_lengths(name, value, ids, &kept)?;
            } else if *name == PLACES || TEXTS.contains(name) {
                check_numbers(name, value, ids, &kept)?;
            }
        }
        Ok(kept)
    }

    /// Runs of the kept ids that are trained on; none: all are, or nothing says so.
    ///
    /// # Errors
    /// In words, for fields that do not fit the ids, and for those that contradict each other.
    pub(super) fn spans(
        &self,
        ids: &[u32],
        of: usize,
        kept: &Range<usize>,
    ) -> Result<Option<Vec<LossSpan>>, String> {
        let mut trained: Option<(&str, Vec<f32>)> = None;
        // Weights first, since the others say nothing more of what they agree with.
        for name in [WEIGHTS, LABELS].into_iter().chain(MASKS) {
            let Some(value) = self.values.get(name) else { continue };
            let marks = match name {
                WEIGHTS => weights(value, of, kept)?,
                LABELS => of_labels(value, ids, of, kept)?,
                _ => {
                    let flags = flags(name, value, of)?;
                    let flags = part(&flags, kept.clone()).iter();
                    flags.map(|is_trained| f32::from(u8::from(*is_trained))).collect()
                }
            };
            match &trained {
                None => trained = Some((name, marks)),
                Some((other, known)) => {
                    let differs = |(a, b): (&f32, &f32)| (*a > 0.0) != (*b > 0.0);
                    if let Some(at) = known.iter().zip(&marks).position(differs) {
                        return Err(format!(
                            "fields `{other}` and `{name}` contradict each other at id {}: leave one of them out (--drop-fields)",
                            kept.start + at
                        ));
                    }
                }
            }
        }
        Ok(trained.and_then(|(_, marks)| spans_of(&marks)))
    }
}

/// Runs of ids of one weight above 0; none where all have the plain one.
fn spans_of(weights: &[f32]) -> Option<Vec<LossSpan>> {
    let plain = 1_f32.to_bits();
    if weights.iter().all(|weight| weight.to_bits() == plain) {
        return None;
    }
    let mut spans: Vec<LossSpan> = Vec::new();
    for (at, weight) in (0_u32..).zip(weights).filter(|(_, weight)| **weight > 0.0) {
        match spans.last_mut() {
            Some(last) if last.end == at && last.weight.to_bits() == weight.to_bits() => {
                last.end += 1;
            }
            _ => spans.push(LossSpan { start: at, end: at + 1, weight: *weight }),
        }
    }
    Some(spans)
}

/// A list with a value for each id.
fn list<'v>(name: &str, value: &'v Value, ids: usize) -> Result<&'v [Value], String> {
    let values = value.as_array().ok_or_else(|| format!("field `{name}` is not a list"))?;
    if values.len() != ids {
        return Err(format!("field `{name}` has {} values for {ids} ids", values.len()));
    }
    Ok(values)
}

/// The value as it stands, but for what may be of any length.
fn shown(value: &Value) -> String {
    match value {
        Value::String(_) => "a text".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        plain => plain.to_string(),
    }
}

/// 0 and 1, false and true.
fn flags(name: &str, value: &Value, ids: usize) -> Result<Vec<bool>, String> {
    let flag = |(at, value): (usize, &Value)| match (value.as_bool(), value.as_f64()) {
        (Some(flag), _) => Ok(flag),
        (_, Some(0.0)) => Ok(false),
        (_, Some(1.0)) => Ok(true),
        _ => Err(format!("{name}[{at}] is {}, neither 0 nor 1", shown(value))),
    };
    list(name, value, ids)?.iter().enumerate().map(flag).collect()
}

/// From the first 1 to the last one.
fn unpadded(mask: &[bool]) -> Result<Range<usize>, String> {
    let start = mask.iter().position(|is_kept| *is_kept).unwrap_or(mask.len());
    let end = mask.iter().rposition(|is_kept| *is_kept).map_or(start, |last| last + 1);
    let kept = part(mask, start..end);
    match kept.iter().position(|is_kept| !is_kept) {
        None => Ok(start..end),
        Some(gap) => Err(format!(
            "{ATTENTION}[{}] is 0 between ids of 1: pads stand before or behind a text; {ONE_TEXT}",
            start + gap
        )),
    }
}

/// The way out for rows that were packed.
const ONE_TEXT: &str = "write one record for each text, without pads";

/// Numbers of the kept ids as they are in one text.
fn check_numbers(name: &str, value: &Value, ids: usize, kept: &Range<usize>) -> Result<(), String> {
    let step = i64::from(name == PLACES);
    let mut last: Option<i64> = None;
    for (at, value) in list(name, value, ids)?.iter().enumerate() {
        if !kept.contains(&at) {
            continue;
        }
        let whole = value.as_i64();
        let number =
            whole.ok_or_else(|| format!("{name}[{at}] is {}, no whole number", shown(value)))?;
        if last.is_some_and(|last| number.checked_sub(last) != Some(step)) {
            return Err(format!("field `{name}` begins another text at id {at}: {ONE_TEXT}"));
        }
        last = Some(number);
    }
    Ok(())
}

/// Lengths of texts, or where they begin and end, as they are of one text.
fn check_lengths(name: &str, value: &Value, ids: usize, kept: &Range<usize>) -> Result<(), String> {
    let values = value.as_array().ok_or_else(|| format!("field `{name}` is not a list"))?;
    let (first, last) = match values.as_slice() {
        [length] if LENGTHS.contains(&name) => (Some(0), length.as_u64()),
        [first, last] if BOUNDS.contains(&name) => (first.as_u64(), last.as_u64()),
        several => {
            let bounds = usize::from(BOUNDS.contains(&name));
            let texts = several.len().saturating_sub(bounds);
            return Err(format!("field `{name}` is of {texts} texts in one row: {ONE_TEXT}"));
        }
    };
    let is_of = |count: usize| last == Some(count as u64);
    if first == Some(0) && (is_of(ids) || is_of(kept.len())) {
        return Ok(());
    }
    Err(format!("field `{name}` is not that of one text of {ids} ids: {ONE_TEXT}"))
}

/// The weight of each kept id.
fn weights(value: &Value, ids: usize, kept: &Range<usize>) -> Result<Vec<f32>, String> {
    let weight = |(at, value): (usize, &Value)| {
        #[expect(clippy::cast_possible_truncation, reason = "a weight beyond f32 is refused")]
        let narrow = value.as_f64().map(|weight| weight as f32);
        narrow.filter(|weight| weight.is_finite() && *weight >= 0.0).ok_or_else(|| {
            format!("{WEIGHTS}[{at}] is {}, not a number of 0 or more", shown(value))
        })
    };
    let values = list(WEIGHTS, value, ids)?.iter().enumerate();
    values.filter(|(at, _)| kept.contains(at)).map(weight).collect()
}

/// 1 for each kept id that is its own label, 0 for one whose label is ignored.
fn of_labels(
    value: &Value,
    kept_ids: &[u32],
    ids: usize,
    kept: &Range<usize>,
) -> Result<Vec<f32>, String> {
    let labels = part(list(LABELS, value, ids)?, kept.clone());
    let mark = |((at, label), id): ((usize, &Value), &u32)| match label.as_i64() {
        Some(IGNORED) => Ok(0.0),
        Some(label) if label == i64::from(*id) => Ok(1.0),
        _ => Err(format!(
            "labels[{at}] is {}, neither -100 nor the id {id} at its place; labels must not be shifted",
            shown(label)
        )),
    };
    (kept.start..).zip(labels).zip(kept_ids).map(mark).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    /// Applies these fields to ids: which are kept, and which of these are trained on.
    fn read(ids: &[u32], fields: &Value) -> Result<(Vec<u32>, Option<Vec<LossSpan>>), String> {
        let mut own = IdFields::default();
        for (name, value) in fields.as_object().expect("an object") {
            own.take(name, &value.to_string());
        }
        let kept = own.kept(ids.len())?;
        let ours = ids[kept.clone()].to_vec();
        let spans = own.spans(&ours, ids.len(), &kept)?;
        Ok((ours, spans))
    }

    fn of(masks: &[bool], weight: f32) -> Option<Vec<LossSpan>> {
        let weights: Vec<f32> = masks.iter().map(|mask| if *mask { weight } else { 0.0 }).collect();
        spans_of(&weights)
    }

    proptest! {
        /// Every way to say the same of ids gives the same, with pads on either side or none.
        #[test]
        fn all_names_of_masks_say_the_same(
            masks in proptest::collection::vec(any::<bool>(), 1..20),
            (left, right) in (0usize..4, 0usize..4),
        ) {
            let padded = |pad: Value, middle: Vec<Value>| {
                let mut all = vec![pad.clone(); left];
                all.extend(middle);
                all.extend(vec![pad; right]);
                Value::Array(all)
            };
            let count = u32::try_from(masks.len()).expect("short");
            let mut ids = vec![77; left];
            ids.extend(0..count);
            ids.extend(vec![77; right]);
            let attention = padded(json!(0), vec![json!(1); masks.len()]);
            let want = (Vec::from_iter(0..count), of(&masks, 1.0));
            let labels = (0..).zip(&masks).map(|(id, mask)| json!(if *mask { id } else { -100 }));
            let labels = padded(json!(-100), labels.collect());
            prop_assert_eq!(
                read(&ids, &json!({"labels": labels, "attention_mask": attention})),
                Ok(want.clone())
            );
            for name in MASKS {
                for as_number in [true, false] {
                    let mask = |mask: &bool| if as_number { json!(u8::from(*mask)) } else { json!(mask) };
                    // What a mask says of pads is no matter.
                    for pad in [json!(0), json!(1)] {
                        let marks = padded(pad, masks.iter().map(mask).collect());
                        let fields = json!({name: marks, "attention_mask": attention});
                        prop_assert_eq!(read(&ids, &fields), Ok(want.clone()));
                        let fields = json!({name: marks, "labels": labels, "attention_mask": attention});
                        prop_assert_eq!(read(&ids, &fields), Ok(want.clone()));
                    }
                }
            }
            let halves = masks.iter().map(|mask| json!(if *mask { 0.5 } else { 0.0 })).collect();
            let fields = json!({"loss_weights": padded(json!(0), halves), "labels": labels, "attention_mask": attention});
            prop_assert_eq!(read(&ids, &fields), Ok((want.0, of(&masks, 0.5))));
        }
    }

    #[test]
    fn fields_that_do_not_fit_are_refused_by_name() {
        for (fields, words) in [
            (json!({"completion_mask": [0, 1]}), "`completion_mask` has 2 values for 3 ids"),
            (json!({"loss_mask": "011"}), "`loss_mask` is not a list"),
            (json!({"loss_mask": [[0, 1, 1]]}), "`loss_mask` has 1 values for 3 ids"),
            (json!({"assistant_masks": [0, 2, 1]}), "assistant_masks[1] is 2, neither 0 nor 1"),
            (json!({"assistant_masks": [0, null, 1]}), "assistant_masks[1] is null"),
            (json!({"attention_mask": [1, 0, 1]}), "attention_mask[1] is 0 between"),
            (json!({"attention_mask": [1, 2, 3]}), "attention_mask[1] is 2"),
            (json!({"attention_mask": [1, 1]}), "`attention_mask` has 2 values"),
            (json!({"labels": [5, -100, 8]}), "labels[2] is 8"),
            (json!({"loss_weights": [0, -1, 1]}), "loss_weights[1] is -1"),
            (json!({"loss_weights": [0, 1e300, 1]}), "loss_weights[1]"),
            (
                json!({"labels": [5, -100, 7], "loss_mask": [1, 1, 1]}),
                "`labels` and `loss_mask` contradict each other at id 1",
            ),
            (
                json!({"completion_mask": [0, 1, 1], "assistant_masks": [0, 0, 1]}),
                "`completion_mask` and `assistant_masks` contradict each other at id 1",
            ),
            (json!({"seq_lengths": [1, 2]}), "`seq_lengths` is of 2 texts"),
            (json!({"seq_lengths": [2]}), "`seq_lengths` is not that of one text"),
            (json!({"cu_seqlens": [0, 1, 3]}), "`cu_seqlens` is of 2 texts"),
            (json!({"cu_seq_lens_q": [1, 3]}), "`cu_seq_lens_q` is not that of one text"),
            (json!({"position_ids": [0, 1, 0]}), "`position_ids` begins another text at id 2"),
            (json!({"position_ids": [0, 2, 3]}), "`position_ids` begins another text at id 1"),
            (json!({"segment_ids": [1, 2, 2]}), "`segment_ids` begins another text at id 1"),
            (json!({"seq_idx": [0, 0, 1.5]}), "seq_idx[2] is 1.5"),
            (json!({"prompt_mask": [1, 0, 0]}), "`prompt_mask` is a mask that is not known"),
            (json!({"mask": [true, false, false]}), "`mask` is a mask that is not known"),
        ] {
            let told = read(&[5, 6, 7], &fields).expect_err(words);
            assert!(told.contains(words), "{fields}: {told}");
        }
    }

    #[test]
    fn fields_of_one_text_and_of_null_say_nothing() {
        for fields in [
            json!({"seq_lengths": [3], "position_ids": [0, 1, 2], "segment_ids": [4, 4, 4]}),
            json!({"cu_seqlens": [0, 3], "attention_mask": [1, 1, 1], "completion_mask": null}),
            json!({"special_tokens_mask": [1, 0, 0], "unmasked": [1], "mask": "a word"}),
            json!({"loss_mask": [1.0, true, 1], "labels": [5, 6, 7], "seq_idx": [0, 0, 0]}),
        ] {
            assert_eq!(read(&[5, 6, 7], &fields), Ok((vec![5, 6, 7], None)), "{fields}");
        }
        // Pads have places and texts of their own.
        let fields = json!({"attention_mask": [0, 1, 1], "position_ids": [1, 0, 1], "segment_ids": [0, 1, 1], "seq_lengths": [2]});
        assert_eq!(read(&[5, 6, 7], &fields), Ok((vec![6, 7], None)));
        let fields = json!({"attention_mask": [0, 0, 0], "loss_mask": [0, 0, 0]});
        assert_eq!(read(&[5, 6, 7], &fields), Ok((Vec::new(), None)));
        assert_eq!(
            read(&[5, 6], &json!({"loss_mask": [0, 0]})),
            Ok((vec![5, 6], Some(Vec::new())))
        );
    }
}
