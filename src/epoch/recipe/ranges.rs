//! The range of every number of a recipe: the least and the largest value that it may have, and where it is written.

use super::Recipe;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Tokens, rows or documents that are asked for.
const AMOUNT: u64 = 1 << 60;
/// Rows of a batch, and batches that are put in order together.
const ROWS: u64 = 1 << 24;
/// Tokens of a batch, and the weight of a token in the cost of a row.
const BATCH_TOKENS: u64 = 1 << 40;
/// Steps of a schedule.
const STEPS: u64 = 1 << 40;
/// Stages of a curriculum.
const STAGES: u64 = 1 << 20;
/// Bytes of a shard.
const SHARD: u64 = 1 << 50;

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
    let mut steps = place.iter();
    let Some(PlaceStep::Key(first)) = steps.next() else { return None };
    let mut value: &Spanned<DeValue<'_>> = table.get_ref().get(*first)?;
    for step in steps {
        value = match (value.get_ref(), step) {
            (DeValue::Table(table), PlaceStep::Key(key)) => table.get(*key)?,
            (DeValue::Array(values), PlaceStep::At(at)) => values.get(*at)?,
            _ => return None,
        };
    }
    let before = text.get(..value.span().start)?;
    Some(1 + before.bytes().filter(|byte| *byte == b'\n').count())
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
    for (at, source) in recipe.sources.iter().enumerate() {
        number(&[Key("source"), At(at), Key("tokens")], source.tokens, AMOUNT);
    }
    number(&[Key("mix"), Key("tokens")], recipe.mix.tokens, AMOUNT);
    for (at, point) in recipe.mix.schedule.iter().enumerate() {
        number(&[Key("mix"), Key("schedule"), At(at), Key("at_tokens")], point.at_tokens, AMOUNT);
        number(&[Key("mix"), Key("schedule"), At(at), Key("at_step")], point.at_step, STEPS);
    }
    if let Some(curriculum) = &recipe.order.curriculum {
        let place = [Key("order"), Key("curriculum"), Key("steps")];
        number(&place, Some(curriculum.steps.into()), STAGES);
    }
    if let Some(grouped) = &recipe.order.length_grouped {
        let place = [Key("order"), Key("length_grouped"), Key("mega_batch_mult")];
        number(&place, grouped.mega_batch_mult.map(u64::from), ROWS);
    }
    if let Some(batch) = &recipe.batch {
        number(&[Key("batch"), Key("rows")], batch.rows, ROWS);
        number(&[Key("batch"), Key("max_tokens")], batch.max_tokens, BATCH_TOKENS);
        number(&[Key("batch"), Key("balance")], batch.balance, BATCH_TOKENS);
    }
    number(&[Key("output"), Key("shard_bytes")], Some(recipe.output.shard_bytes), SHARD);
    checked
}
