//! Text and JSON of Arrow values that Arrow's own writers show wrongly, the same when stored, exported and printed.
//!
//! They are moments that no calendar has, moments in zones whose offset had seconds, decimals with more digits than
//! their type declares, and maps whose keys are not texts.

use super::json::json_string;
use super::timestamp::shown_moment;
use crate::invariant::at;
use arrow::array::timezone::Tz;
use arrow::array::{Array, AsArray, StringArray};
use arrow::buffer::ScalarBuffer;
use arrow::compute::cast;
use arrow::datatypes::{
    DECIMAL256_MAX_PRECISION, DataType, Decimal128Type, Decimal256Type, DecimalType, Field,
    Int64Type, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, i256,
};
use arrow::error::ArrowError;
use arrow::json::writer::{Encoder, EncoderOptions, NullableEncoder, make_encoder};
use arrow::temporal_conversions::{as_datetime, as_datetime_with_timezone};
use arrow::util::display::{
    ArrayFormatter, ArrayFormatterFactory, DisplayIndex, FormatOptions, FormatResult,
};
use std::fmt::Write;

/// From here on (10 January 1972) no offset of a zone has seconds.
const WHOLE_MINUTES: i64 = 63_849_600;
const DAY: i64 = 86_400;
/// What the library writes for a duration that it does not hold.
const NO_DURATION: &str = "<invalid>";

/// How values are shown in a table: what no calendar has is null.
const SHOWN: FormatOptions<'static> =
    FormatOptions::new().with_formatter_factory(Some(&MomentFormatters));

/// The values of an array as a table shows them; moments that no calendar has are shown like null.
///
/// # Errors
/// For a type that has no form as text, and a zone that nobody knows.
pub fn shown_values(array: &dyn Array) -> Result<ArrayFormatter<'_>, ArrowError> {
    match MomentFormatters.create_array_formatter(array, &SHOWN, None)? {
        Some(moments) => Ok(moments),
        None => ArrayFormatter::try_new(array, &SHOWN),
    }
}

/// The encoder of moments, days, times of day and durations; none for other types. `beyond` writes the stand-in for a
/// moment that no calendar has, by whether it is below zero.
///
/// # Errors
/// For a zone that nobody knows.
pub fn moment_encoder<'a>(
    array: &'a dyn Array,
    beyond: impl FnMut(bool, &mut Vec<u8>) + 'a,
) -> Result<Option<NullableEncoder<'a>>, ArrowError> {
    let Some(moments) = MomentTexts::new(array, "")? else { return Ok(None) };
    let encoder = MomentEncoder { moments, beyond, text: String::new() };
    Ok(Some(NullableEncoder::new(Box::new(encoder), array.nulls().cloned())))
}

/// The encoder of maps whose keys are not texts: objects, their names the keys as texts; none for other types.
///
/// # Errors
/// For keys or values that have no form in JSON.
pub fn map_encoder<'a>(
    array: &'a dyn Array,
    options: &'a EncoderOptions,
) -> Result<Option<NullableEncoder<'a>>, ArrowError> {
    let DataType::Map(entry, _) = array.data_type() else { return Ok(None) };
    let entries = array.as_map();
    if entries.keys().data_type().is_string() {
        return Ok(None);
    }
    let keys = cast(entries.keys(), &DataType::Utf8)?.as_string::<i32>().clone();
    let DataType::Struct(parts) = entry.data_type() else {
        return Err(ArrowError::JsonError("a map without entries".to_owned()));
    };
    let [_, value] = parts.as_ref() else {
        return Err(ArrowError::JsonError("a map of other parts than two".to_owned()));
    };
    let values = make_encoder(value, entries.values(), options)?;
    let encoder = MapEncoder { map: array, keys, values, nulls: options.explicit_nulls() };
    Ok(Some(NullableEncoder::new(Box::new(encoder), array.nulls().cloned())))
}

/// The encoder of decimals with more digits than their type declares, all of them; none for others, and for other
/// types. The library cuts such a number behind as many digits, which makes another number of it.
pub fn decimal_encoder(array: &dyn Array) -> Option<NullableEncoder<'_>> {
    let (digits, scale, numbers): (u8, i8, Vec<i256>) = match array.data_type() {
        DataType::Decimal128(digits, scale) => {
            let numbers = array.as_primitive::<Decimal128Type>().values();
            (*digits, *scale, numbers.iter().map(|number| i256::from_i128(*number)).collect())
        }
        DataType::Decimal256(digits, scale) => {
            (*digits, *scale, array.as_primitive::<Decimal256Type>().values().to_vec())
        }
        _ => return None,
    };
    let is_long = |number: &i256| {
        let spelled = number.to_string();
        spelled.trim_start_matches('-').len() > usize::from(digits)
    };
    if !numbers.iter().any(is_long) {
        return None;
    }
    let encoder = Box::new(DecimalEncoder { numbers, scale });
    Some(NullableEncoder::new(encoder, array.nulls().cloned()))
}

struct DecimalEncoder {
    numbers: Vec<i256>,
    scale: i8,
}

impl Encoder for DecimalEncoder {
    fn encode(&mut self, row: usize, out: &mut Vec<u8>) {
        let number = *at(&self.numbers, row);
        let text = Decimal256Type::format_decimal(number, DECIMAL256_MAX_PRECISION, self.scale);
        out.extend_from_slice(text.as_bytes());
    }
}

/// Moments, days, times of day or durations as texts.
struct MomentTexts<'a> {
    array: &'a dyn Array,
    texts: ArrayFormatter<'a>,
    zoned: Option<ZonedMoments>,
    null: &'a str,
}

/// Moments in a zone: counts of parts of a second.
struct ZonedMoments {
    counts: ScalarBuffer<i64>,
    parts: i64,
    zone: Tz,
}

impl<'a> MomentTexts<'a> {
    /// None for an array of another type.
    fn new(array: &'a dyn Array, null: &'a str) -> Result<Option<Self>, ArrowError> {
        let kind = array.data_type();
        if !kind.is_temporal() || matches!(kind, DataType::Interval(_)) {
            return Ok(None);
        }
        let options = FormatOptions::new().with_display_error(false);
        let texts = ArrayFormatter::try_new(array, &options)?;
        let zoned = match kind {
            DataType::Timestamp(unit, Some(zone)) => {
                let (counts, parts) = match unit {
                    TimeUnit::Second => (array.as_primitive::<TimestampSecondType>().values(), 1),
                    TimeUnit::Millisecond => {
                        (array.as_primitive::<TimestampMillisecondType>().values(), 1_000)
                    }
                    TimeUnit::Microsecond => {
                        (array.as_primitive::<TimestampMicrosecondType>().values(), 1_000_000)
                    }
                    TimeUnit::Nanosecond => {
                        (array.as_primitive::<TimestampNanosecondType>().values(), 1_000_000_000)
                    }
                };
                Some(ZonedMoments { counts: counts.clone(), parts, zone: zone.parse()? })
            }
            _ => None,
        };
        Ok(Some(Self { array, texts, zoned, null }))
    }

    /// Appends the value of a row; says whether it has a text.
    fn append(&self, row: usize, text: &mut String) -> bool {
        if let Some(moment) = self.zoned.as_ref().and_then(|zoned| zoned.in_utc(row)) {
            text.push_str(&moment);
            return true;
        }
        let from = text.len();
        let written = write!(text, "{}", self.texts.value(row));
        let is_shown = written.is_ok() && text.get(from..) != Some(NO_DURATION);
        if !is_shown {
            text.truncate(from);
        }
        is_shown
    }

    fn is_negative(&self, row: usize) -> bool {
        let count = cast(&self.array.slice(row, 1), &DataType::Int64).ok();
        count.is_some_and(|count| count.as_primitive::<Int64Type>().iter().flatten().any(|n| n < 0))
    }
}

impl ZonedMoments {
    /// The moment in UTC, where the offset of its zone has seconds: no offset that is written has them.
    fn in_utc(&self, row: usize) -> Option<String> {
        let count = *self.counts.get(row)?;
        let seconds = count.div_euclid(self.parts);
        if seconds >= WHOLE_MINUTES {
            return None;
        }
        // At the first day of the calendar there is no local time.
        as_datetime::<TimestampSecondType>(seconds.checked_sub(DAY)?)?;
        let moment = as_datetime_with_timezone::<TimestampSecondType>(seconds, self.zone)?;
        let offset = (moment.naive_local() - moment.naive_utc()).num_seconds();
        let nanoseconds = count.rem_euclid(self.parts) * (1_000_000_000 / self.parts);
        (offset % 60 != 0).then(|| shown_moment(seconds, nanoseconds))
    }
}

struct MomentEncoder<'a, F> {
    moments: MomentTexts<'a>,
    beyond: F,
    text: String,
}

impl<F: FnMut(bool, &mut Vec<u8>)> Encoder for MomentEncoder<'_, F> {
    fn encode(&mut self, row: usize, out: &mut Vec<u8>) {
        self.text.clear();
        if !self.moments.append(row, &mut self.text) {
            (self.beyond)(self.moments.is_negative(row), out);
            return;
        }
        // Nothing in it needs an escape.
        out.push(b'"');
        out.extend_from_slice(self.text.as_bytes());
        out.push(b'"');
    }
}

/// Moments within lists and structs, too.
#[derive(Debug)]
struct MomentFormatters;

impl ArrayFormatterFactory for MomentFormatters {
    fn create_array_formatter<'f>(
        &self,
        array: &'f dyn Array,
        options: &FormatOptions<'f>,
        _: Option<&'f Field>,
    ) -> Result<Option<ArrayFormatter<'f>>, ArrowError> {
        let moments = MomentTexts::new(array, options.null())?;
        Ok(moments.map(|moments| ArrayFormatter::new(Box::new(moments), options.safe())))
    }
}

impl DisplayIndex for MomentTexts<'_> {
    fn write(&self, row: usize, out: &mut dyn Write) -> FormatResult {
        let mut text = String::new();
        let is_shown = !self.array.is_null(row) && self.append(row, &mut text);
        out.write_str(if is_shown { &text } else { self.null })?;
        Ok(())
    }
}

struct MapEncoder<'a> {
    map: &'a dyn Array,
    keys: StringArray,
    values: NullableEncoder<'a>,
    /// Whether members of null are written.
    nulls: bool,
}

impl Encoder for MapEncoder<'_> {
    fn encode(&mut self, at: usize, out: &mut Vec<u8>) {
        let offsets = self.map.as_map().value_offsets();
        let bounds = (offsets.get(at), offsets.get(at + 1));
        let (Some(from), Some(to)) = bounds else { return };
        out.push(b'{');
        let mut is_first = true;
        for entry in *from..*to {
            let entry = usize::try_from(entry).unwrap_or_default();
            let is_null = self.values.is_null(entry);
            if is_null && !self.nulls {
                continue;
            }
            if !std::mem::take(&mut is_first) {
                out.push(b',');
            }
            out.extend(json_string(self.keys.value(entry)).bytes());
            out.push(b':');
            match is_null {
                true => out.extend_from_slice(b"null"),
                false => self.values.encode(entry, out),
            }
        }
        out.push(b'}');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{
        ArrayRef, Date32Array, Date64Array, DurationMillisecondArray, DurationSecondArray,
        Int32Array, ListArray, MapArray, StructArray, Time32SecondArray, Time64MicrosecondArray,
        TimestampMicrosecondArray, TimestampNanosecondArray, TimestampSecondArray,
    };
    use arrow::buffer::OffsetBuffer;
    use std::sync::Arc;

    fn encoded(array: &dyn Array) -> Vec<String> {
        let beyond = |is_negative, out: &mut Vec<u8>| {
            out.extend(if is_negative { "below".bytes() } else { "above".bytes() });
        };
        let mut encoder = moment_encoder(array, beyond).expect("an encoder").expect("moments");
        let mut value = |row| {
            let mut out = Vec::new();
            encoder.encode(row, &mut out);
            String::from_utf8(out).expect("a text")
        };
        (0..array.len()).map(&mut value).collect()
    }

    /// Regression: the words of an error stood in the place of the value.
    #[test]
    fn moments_beyond_the_calendar_have_no_text() {
        let (most, least) = (i64::MAX, i64::MIN);
        let arrays: Vec<(ArrayRef, &str)> = vec![
            (Arc::new(Date32Array::from(vec![0, i32::MAX, i32::MIN])), "\"1970-01-01\""),
            (Arc::new(Date64Array::from(vec![0, most, least])), "\"1970-01-01T00:00:00\""),
            (Arc::new(Time32SecondArray::from(vec![0, i32::MAX, -1])), "\"00:00:00\""),
            (Arc::new(Time64MicrosecondArray::from(vec![0, most, least])), "\"00:00:00\""),
            (Arc::new(DurationSecondArray::from(vec![0, most, least])), "\"P0D\""),
            (Arc::new(DurationMillisecondArray::from(vec![0, 0, 0])), "\"P0D\""),
            (Arc::new(TimestampSecondArray::from(vec![0, most, least])), "\"1970-01-01T00:00:00\""),
            (
                Arc::new(
                    TimestampMicrosecondArray::from(vec![0, most, least]).with_timezone("UTC"),
                ),
                "\"1970-01-01T00:00:00Z\"",
            ),
        ];
        for (array, first) in arrays {
            let found = encoded(&array);
            assert_eq!(found[0], first);
            if !matches!(array.data_type(), DataType::Duration(TimeUnit::Millisecond)) {
                assert_eq!(found[1..], ["above", "below"], "{:?}", array.data_type());
            }
            let shown = shown_values(&array).expect("a form");
            for (row, found) in found.iter().enumerate() {
                let known = found.trim_matches('"');
                let expected = if known == "above" || known == "below" { "" } else { known };
                assert_eq!(shown.value(row).to_string(), expected);
            }
        }
        let days = Arc::new(Date32Array::from(vec![Some(0), Some(i32::MAX), None]));
        let item = Arc::new(Field::new("item", DataType::Date32, true));
        let list = ListArray::new(item, OffsetBuffer::from_lengths([3]), days, None);
        let shown = shown_values(&list).expect("a form");
        assert_eq!(shown.value(0).to_string(), "[1970-01-01, , ]");
    }

    /// Regression: `+00:09` was written of an offset of 9 minutes and 21 seconds, so the moment was another one.
    #[test]
    fn moments_of_offsets_with_seconds_are_in_utc() {
        let paris =
            TimestampMicrosecondArray::from(vec![-10_906_111_285_670_525, 0, -1_000_000_000_000]);
        let found = encoded(&paris.with_timezone("Europe/Paris"));
        let expected = [
            "\"1624-05-25T20:38:34.329475Z\"",
            "\"1970-01-01T01:00:00+01:00\"",
            "\"1969-12-20T11:13:20+01:00\"",
        ];
        assert_eq!(found, expected);
        let extremes = TimestampNanosecondArray::from(vec![i64::MIN, i64::MAX]);
        assert!(encoded(&extremes.with_timezone("Africa/Monrovia"))[0].ends_with("Z\""));
    }

    #[test]
    fn maps_of_other_keys_than_texts_are_objects() {
        let key = Arc::new(Field::new("key", DataType::Int32, false));
        let value = Arc::new(Field::new("value", DataType::Int32, true));
        let keys = Arc::new(Int32Array::from(vec![1, 2])) as ArrayRef;
        let values = Arc::new(Int32Array::from(vec![Some(7), None])) as ArrayRef;
        let entries = StructArray::from(vec![(key, keys), (value, values)]);
        let field = Arc::new(Field::new("entries", entries.data_type().clone(), false));
        let map = MapArray::new(field, OffsetBuffer::from_lengths([2]), entries, None, false);
        for (nulls, expected) in [(true, r#"{"1":7,"2":null}"#), (false, r#"{"1":7}"#)] {
            let options = EncoderOptions::default().with_explicit_nulls(nulls);
            let mut encoder = map_encoder(&map, &options).expect("an encoder").expect("a map");
            let mut out = Vec::new();
            encoder.encode(0, &mut out);
            assert_eq!(String::from_utf8(out).expect("a text"), expected);
        }
    }
}
