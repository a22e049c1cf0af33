//! Refuses recipes that contradict themselves or ask for what is not built yet.

use super::form::{
    Long, Method, OrderKind, PackKind, PadSide, PadView, Recipe, SourceRecipe, Unit,
};
use crate::epoch::error::EpochError;
use crate::epoch::mix::{WEIGHT_MAX, integer_weights};

const LENGTHS: std::ops::RangeInclusive<u32> = 2..=16_777_216;
const SHARD_MIN: u64 = 4096;

pub(super) fn check(recipe: &Recipe) -> Result<(), EpochError> {
    if recipe.version != 1 {
        return wrong(format!(
            "version {} is unknown to this release, which reads version 1",
            recipe.version
        ));
    }
    not_built(recipe)?;
    for (at, source) in recipe.sources.iter().enumerate() {
        check_source(recipe, source)?;
        if recipe.sources.iter().take(at).any(|other| other.name == source.name) {
            return wrong(format!("two sources are named `{}`", source.name));
        }
    }
    if !LENGTHS.contains(&recipe.pack.length) {
        return wrong(format!(
            "pack.length is {}, not in {} to {}",
            recipe.pack.length,
            LENGTHS.start(),
            LENGTHS.end()
        ));
    }
    if recipe.mix.tokens == Some(0) {
        return wrong("mix.tokens is 0; leave it out for the largest epoch there is".to_owned());
    }
    if recipe.output.shard_bytes < SHARD_MIN {
        return wrong(format!(
            "output.shard_bytes is {}, less than {SHARD_MIN}",
            recipe.output.shard_bytes
        ));
    }
    if recipe.pack.kind == PackKind::BestFit && recipe.order.kind == OrderKind::Sequential {
        return wrong(
            "order.kind = \"sequential\" has no meaning with pack.kind = \"best-fit\", which puts documents together by \
             length; use \"shuffle\", or pack.kind = \"greedy\", \"concat\" or \"none\""
                .to_owned(),
        );
    }
    Ok(())
}

fn check_source(recipe: &Recipe, source: &SourceRecipe) -> Result<(), EpochError> {
    let name = &source.name;
    if name.is_empty() || name.contains('\0') {
        return wrong("a source has an empty name".to_owned());
    }
    if source.max_repeats == 0 {
        return wrong(format!(
            "max_repeats of source `{name}` is 0; remove the source, or allow 1"
        ));
    }
    match (recipe.mix.method, source.weight) {
        (Some(Method::Natural), Some(_)) => {
            wrong(format!("source `{name}` has a weight, which needs mix.method = \"weights\""))
        }
        (Some(Method::Weights), None) => wrong(format!(
            "source `{name}` has no weight; mix.method = \"weights\" needs one for every source"
        )),
        (_, Some(weight)) if integer_weights(&[weight]).is_none() => wrong(format!(
            "weight of source `{name}` is {weight}, not in 0.000000001 to {WEIGHT_MAX}"
        )),
        _ => Ok(()),
    }
}

fn not_built(recipe: &Recipe) -> Result<(), EpochError> {
    let select = &recipe.select;
    let options = &recipe.pack.options;
    let asked = [
        (
            select.exclude_contaminated.is_some(),
            "select.exclude_contaminated",
            "leave it out, or name documents to leave out in select.where",
        ),
        (
            select.holdout.is_some(),
            "select.holdout",
            "leave it out, or split by a field in select.where",
        ),
        (
            select.repeat.is_some(),
            "select.repeat",
            "leave it out; source.max_repeats repeats whole sources",
        ),
        (
            recipe.mix.method == Some(Method::Temperature),
            "mix.method = \"temperature\"",
            "use \"weights\" or \"natural\"",
        ),
        (
            recipe.mix.method == Some(Method::Unimax),
            "mix.method = \"unimax\"",
            "use \"weights\" or \"natural\"",
        ),
        (
            recipe.mix.temperature.is_some(),
            "mix.temperature",
            "use mix.method = \"weights\" or \"natural\"",
        ),
        (recipe.mix.schedule.is_some(), "mix.schedule", "use constant weights"),
        (
            recipe.mix.unit != Unit::Tokens,
            "a mix.unit other than tokens",
            "use mix.unit = \"tokens\"",
        ),
        (
            recipe.order.kind == OrderKind::LengthGrouped,
            "order.kind = \"length-grouped\"",
            "use \"shuffle\" or \"sequential\"",
        ),
        (
            recipe.order.length_grouped.is_some(),
            "order.length_grouped",
            "use order.kind = \"shuffle\" or \"sequential\"",
        ),
        (
            recipe.order.kind == OrderKind::Curriculum,
            "order.kind = \"curriculum\"",
            "use \"shuffle\" or \"sequential\"",
        ),
        (
            recipe.order.curriculum.is_some(),
            "order.curriculum",
            "use order.kind = \"shuffle\" or \"sequential\"",
        ),
        (
            options.long == Long::Paragraph,
            "pack.options.long = \"paragraph\"",
            "use \"split\", \"truncate\" or \"drop\"",
        ),
        (options.doc_multiple != 1, "a pack.options.doc_multiple other than 1", "leave it out"),
        (options.pad_side == PadSide::Left, "pack.options.pad_side = \"left\"", "use \"right\""),
        (options.pad_view == PadView::Each, "pack.options.pad_view = \"each\"", "use \"suffix\""),
        (recipe.batch.is_some(), "[batch]", "leave it out; epochs are written row by row"),
    ];
    for (is_asked, what, instead) in asked {
        if is_asked {
            return Err(EpochError::NotBuilt {
                what: what.to_owned(),
                instead: instead.to_owned(),
            });
        }
    }
    for source in &recipe.sources {
        let pack = &source.pack;
        let asked = [
            (source.tokens.is_some(), "tokens", "give a weight"),
            (
                pack.long == Some(Long::Paragraph),
                "pack.long = \"paragraph\"",
                "use \"split\", \"truncate\" or \"drop\"",
            ),
            (pack.kind.is_some(), "pack.kind", "only pack.long can differ by source"),
            (pack.length.is_some(), "pack.length", "only pack.long can differ by source"),
            (pack.options.is_some(), "pack.options", "only pack.long can differ by source"),
        ];
        for (is_asked, what, instead) in asked {
            if is_asked {
                let what = format!("{what} of source `{}`", source.name);
                return Err(EpochError::NotBuilt { what, instead: instead.to_owned() });
            }
        }
    }
    Ok(())
}

fn wrong(message: String) -> Result<(), EpochError> {
    Err(EpochError::Recipe(message))
}
