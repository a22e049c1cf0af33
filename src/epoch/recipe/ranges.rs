//! The range of every number of a recipe: its least and its largest value, and where it is written.

use super::Recipe;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Tokens, rows or documents that are asked for.
const AMOUNT: u64 = 1 << 60;
/// Rows of a batch, and batches that are put in order together.
const ROWS: u32 = 1 << 24;
/// Tokens of a batch, and the weight of a token in the cost of a row.
const BATCH_TOKENS: u64 = 1 << 40;
/// Steps of a schedule.
const STEPS: u64 = 1 << 40;
/// Stages of a curriculum.
const STAGES: u32 = 1 << 20;
/// Bytes of a shard.
const SHARD: u64 = 1 << 50;
/// Tokens of a row.
pub(super) const LENGTHS: std::ops::RangeInclusive<u32> = 2..=1 << 24;
/// Strata of a curriculum.
pub(super) const STRATA: u32 = 4096;

/// A part of the way to a value of a recipe.
#[derive(Clone, Copy, Debug)]
enum PlaceStep {
    Key(&'static str),
    At(usize),
}

/// A number of a recipe that is out of its range.
#[derive(Debug)]
pub(super) struct OutOfRange {
    place: Vec<PlaceStep>,
    value: u64,
    most: u64,
}

impl OutOfRange {
    /// What is said of it, with its line in the `text` that the recipe was read from.
    pub fn words(&self, text: Option<&str>) -> String {
        let mut name = String::new();
        for step in &self.place {
            match step {
                PlaceStep::Key(key) if name.is_empty() => name.push_str(key),
                PlaceStep::Key(key) => name.extend([".", key]),
                PlaceStep::At(at) => name.push_str(&format!("[{at}]")),
            }
        }
        let line = text.and_then(|text| line_of(text, &self.place));
        let line = line.map_or_else(String::new, |line| format!("line {line}: "));
        let Self { value, most, .. } = self;
        format!("{line}{name} is {value}, more than {most}, the most that it may be")
    }
}

/// The line, from 1, of the value at a place of a recipe.
fn line_of(text: &str, place: &[PlaceStep]) -> Option<usize> {
    let table = DeTable::parse(text).ok()?;
    let value = value_at(table.get_ref(), place)?;
    let before = text.get(..value.span().start)?;
    Some(1 + before.bytes().filter(|byte| *byte == b'\n').count())
}

/// What a recipe has at a place.
fn value_at<'v, 't>(
    table: &'v DeTable<'t>,
    place: &[PlaceStep],
) -> Option<&'v Spanned<DeValue<'t>>> {
    let mut steps = place.iter();
    let Some(PlaceStep::Key(first)) = steps.next() else { return None };
    let mut value = table.get(*first)?;
    for step in steps {
        value = match (value.get_ref(), step) {
            (DeValue::Table(table), PlaceStep::Key(key)) => table.get(*key)?,
            (DeValue::Array(values), PlaceStep::At(at)) => values.get(*at)?,
            _ => return None,
        };
    }
    Some(value)
}

/// The first number of a recipe that cannot be read since a number of its kind has 32 bits: the parser knows neither its
/// name nor the most that it may be.
pub(super) fn check_text(text: &str) -> Result<(), OutOfRange> {
    use PlaceStep::{At, Key};
    let Ok(table) = DeTable::parse(text) else { return Ok(()) };
    let mut numbers = vec![
        (vec![Key("select"), Key("per_cluster")], u32::MAX),
        (vec![Key("pack"), Key("length")], *LENGTHS.end()),
        (vec![Key("pack"), Key("most_segments")], *LENGTHS.end()),
        (vec![Key("pack"), Key("options"), Key("doc_multiple")], *LENGTHS.end()),
        (vec![Key("order"), Key("curriculum"), Key("steps")], STAGES),
        (vec![Key("order"), Key("curriculum"), Key("strata")], STRATA),
        (vec![Key("order"), Key("length_grouped"), Key("mega_batch_mult")], ROWS),
    ];
    let count = |place: &[PlaceStep]| match value_at(table.get_ref(), place).map(Spanned::get_ref) {
        Some(DeValue::Array(values)) => values.len(),
        _ => 0,
    };
    for at in 0..count(&[Key("source")]) {
        numbers.push((vec![Key("source"), At(at), Key("max_repeats")], u32::MAX));
    }
    let excluded = [Key("select"), Key("exclude_contaminated")];
    for at in 0..count(&excluded) {
        numbers.push((excluded.into_iter().chain([At(at), Key("tokens")]).collect(), u32::MAX));
    }
    for (place, most) in numbers {
        let value = value_at(table.get_ref(), &place).map(Spanned::get_ref);
        let Some(DeValue::Integer(number)) = value else { continue };
        let value = u64::from_str_radix(number.as_str(), number.radix()).ok();
        if let Some(value) = value.filter(|value| *value > u32::MAX.into()) {
            return Err(OutOfRange { place, value, most: most.into() });
        }
    }
    Ok(())
}

/// The first number of a recipe that is larger than it may be. What is less than it may be is refused with what it takes
/// beside it.
pub(super) fn check(recipe: &Recipe) -> Result<(), OutOfRange> {
    use PlaceStep::{At, Key};
    let mut checked = Ok(());
    let mut number = |place: &[PlaceStep], value: Option<u64>, most: u64| {
        if let (Ok(()), Some(value)) = (&checked, value.filter(|value| *value > most)) {
            checked = Err(OutOfRange { place: place.to_vec(), value, most });
        }
    };
    number(&[Key("select"), Key("min_tokens")], Some(recipe.select.min_tokens), u32::MAX.into());
    number(&[Key("select"), Key("min_trained")], recipe.select.min_trained, u32::MAX.into());
    for (at, source) in recipe.sources.iter().enumerate() {
        number(&[Key("source"), At(at), Key("tokens")], source.tokens, AMOUNT);
    }
    number(&[Key("mix"), Key("tokens")], recipe.mix.tokens, AMOUNT);
    for (at, point) in recipe.mix.schedule.iter().enumerate() {
        number(&[Key("mix"), Key("schedule"), At(at), Key("at_tokens")], point.at_tokens, AMOUNT);
        number(&[Key("mix"), Key("schedule"), At(at), Key("at_step")], point.at_step, STEPS);
    }
    let most_segments = recipe.pack.most_segments.map(u64::from);
    number(&[Key("pack"), Key("most_segments")], most_segments, (*LENGTHS.end()).into());
    if let Some(curriculum) = &recipe.order.curriculum {
        let place = [Key("order"), Key("curriculum"), Key("steps")];
        number(&place, Some(curriculum.steps.into()), STAGES.into());
    }
    if let Some(grouped) = &recipe.order.length_grouped {
        let place = [Key("order"), Key("length_grouped"), Key("mega_batch_mult")];
        number(&place, grouped.mega_batch_mult.map(u64::from), ROWS.into());
    }
    if let Some(batch) = &recipe.batch {
        number(&[Key("batch"), Key("rows")], batch.rows, ROWS.into());
        number(&[Key("batch"), Key("max_tokens")], batch.max_tokens, BATCH_TOKENS);
        number(&[Key("batch"), Key("balance")], batch.balance, BATCH_TOKENS);
    }
    number(&[Key("output"), Key("shard_bytes")], Some(recipe.output.shard_bytes), SHARD);
    checked
}
