//! Refuses recipes that contradict themselves, or ask for what is not built.

use super::form::Recipe;
use super::output::Format;
use super::ranges::{LENGTHS, STRATA};
use super::rows::{BatchRecipe, BatchTail};
use super::rows::{Curriculum, LengthGrouped, OrderKind};
use super::rows::{LongDocuments, PackKind, PadView, PartialRow, RowTarget};
use super::sources::SourceRecipe;
use super::sources::{MixMethod, MixUnit, SchedulePoint};
use crate::epoch::error::EpochError;
use crate::epoch::mix::{WEIGHT_MAX, integer_weights};
use model::near_names::way_out;
use model::{Error, ErrorKind};
use tokenizer::Segmentation;

const SHARD_MIN: u64 = 4096;
/// Passes with segmentations of their own, at most.
const DRAWN_PASSES: u32 = 64;

pub(super) fn check(recipe: &Recipe) -> Result<(), EpochError> {
    if recipe.version != 1 {
        return refuse(format!(
            "version {} is unknown to this release, which reads version 1",
            recipe.version
        ));
    }
    not_built(recipe)?;
    for (at, source) in recipe.sources.iter().enumerate() {
        check_source(recipe, source)?;
        if recipe.sources.iter().take(at).any(|other| other.name == source.name) {
            return refuse(format!("two sources are named `{}`", source.name));
        }
    }
    if !LENGTHS.contains(&recipe.pack.length) {
        return refuse(format!(
            "pack.length is {}, not in {} to {}",
            recipe.pack.length,
            LENGTHS.start(),
            LENGTHS.end()
        ));
    }
    if recipe.mix.tokens == Some(0) {
        return refuse("mix.tokens is 0; leave it out for the largest possible epoch".to_owned());
    }
    if recipe.output.shard_bytes < SHARD_MIN {
        return refuse(format!(
            "output.shard_bytes is {}, less than {SHARD_MIN}",
            recipe.output.shard_bytes
        ));
    }
    check_output(recipe)?;
    check_select(recipe)?;
    check_segmentation(recipe)?;
    check_mix(recipe)?;
    check_pack(recipe)?;
    check_concat(recipe)?;
    check_cut_eos(recipe)?;
    check_most_segments(recipe)?;
    check_order(recipe)?;
    recipe.batch.as_ref().map_or(Ok(()), |batch| check_batch(recipe, batch))
}

/// Draws of segmentations: those of each pass are stored, and planned by.
fn check_segmentation(recipe: &Recipe) -> Result<(), EpochError> {
    let Some(segmentation) = recipe.tokenizer.segmentation else { return Ok(()) };
    match segmentation {
        Segmentation::Dropout { probability, .. } if !(probability > 0.0 && probability <= 1.0) => {
            return refuse(format!(
                "tokenizer.segmentation drops merges with probability = {probability}; it must be above 0, and at most 1"
            ));
        }
        Segmentation::Sample { alpha, .. } if !(0.0..=1e9).contains(&alpha) => {
            return refuse(format!(
                "tokenizer.segmentation draws with alpha = {alpha}; it must be from 0 to 1000000000"
            ));
        }
        _ => {}
    }
    let most = recipe.sources.iter().find(|source| source.max_repeats > DRAWN_PASSES);
    if let Some(SourceRecipe { name, max_repeats, .. }) = most {
        return refuse(format!(
            "max_repeats of source `{name}` is {max_repeats}: the ids that tokenizer.segmentation draws for a pass are stored, those of {DRAWN_PASSES} passes at most; lower it"
        ));
    }
    let longs = recipe.sources.iter().filter_map(|source| source.pack.long);
    if longs.chain([recipe.pack.options.long]).any(|long| long == LongDocuments::Paragraph) {
        return refuse(
            "long = \"paragraph\" cuts every pass at the same tokens, and tokenizer.segmentation draws others in each; use long = \"split\""
                .to_owned(),
        );
    }
    if recipe.select.per_cluster > 1 {
        return Err(EpochError::Recipe(
            "select.per_cluster draws near duplicates, of which tokenizer.segmentation has no drawn ids; leave one of them out".to_owned(),
        ));
    }
    if recipe.order.curriculum.as_ref().is_some_and(|curriculum| curriculum.replace) {
        return refuse(
            "order.curriculum.replace draws documents without passes, and tokenizer.segmentation draws the segmentations of a pass; leave one of them out"
                .to_owned(),
        );
    }
    Ok(())
}

/// Keys of `[output]` that the format does not have.
fn check_output(recipe: &Recipe) -> Result<(), EpochError> {
    let output = &recipe.output;
    let format = output.format.name();
    if let Some(layout) = output.layout.filter(|_| output.format != Format::Raw) {
        return refuse(format!(
            "output.layout = \"{}\" needs output.format = \"raw\", and the format is \"{format}\"; leave one of them out",
            layout.name()
        ));
    }
    let file_format = output.file_format();
    let allowed = file_format.compressions();
    if let Some(asked) = output.compression.filter(|asked| !allowed.contains(asked)) {
        let known: Vec<String> = allowed.iter().map(|one| format!("\"{}\"", one.name())).collect();
        return refuse(if known.is_empty() {
            format!(
                "output.format = \"{format}\" cannot be compressed, since trainers map its files into memory; leave output.compression out"
            )
        } else {
            format!(
                "output.compression = \"{}\" is not possible with output.format = \"{format}\"; use {}",
                asked.name(),
                known.join(" or ")
            )
        });
    }
    if output.content_defined_chunks && output.format != Format::Parquet {
        return refuse(format!(
            "output.content_defined_chunks = true needs output.format = \"parquet\", and the format is \"{format}\", which has no pages; leave it out"
        ));
    }
    if output.ids.is_some() && !file_format.has_id_choice() {
        return refuse(format!(
            "output.ids needs output.format = \"mds\"; the type of ids of \"{format}\" is fixed or follows from the vocabulary; leave it out"
        ));
    }
    if let Some(columns) = &output.columns {
        if file_format.default_columns(false).is_none() {
            return refuse(format!(
                "output.columns needs format \"parquet\", \"arrow\", \"jsonl\" or \"mds\", and the format is \"{format}\", which has ids only; leave it out"
            ));
        }
        let twice = columns
            .iter()
            .enumerate()
            .find(|(at, one)| columns.iter().take(*at).any(|other| other == *one));
        if let Some((_, column)) = twice {
            return refuse(format!("output.columns names {} twice", column.name()));
        }
    }
    if output.ignore_loss && recipe.mix.unit == MixUnit::LossTokens {
        return refuse(
            "mix.unit = \"loss-tokens\" counts by the loss masks of documents, which output.ignore_loss = true ignores; use mix.unit = \"tokens\""
                .to_owned(),
        );
    }
    if output.format == Format::Litdata && recipe.pack.kind == PackKind::None {
        return refuse(
            "output.format = \"litdata\" needs rows of one length, and pack.kind = \"none\" has rows of many; use another pack.kind, or output.format = \"mds\""
                .to_owned(),
        );
    }
    Ok(())
}

fn check_source(recipe: &Recipe, source: &SourceRecipe) -> Result<(), EpochError> {
    let name = &source.name;
    if name.is_empty() || name.contains('\0') {
        return refuse("a source has an empty name".to_owned());
    }
    if source.max_repeats == 0 {
        return refuse(format!(
            "max_repeats of source `{name}` is 0; remove the source, or allow 1"
        ));
    }
    if source.weight.is_some() && source.tokens.is_some() {
        return refuse(format!("source `{name}` has a weight and tokens; give one of them"));
    }
    if source.tokens == Some(0) {
        return refuse(format!("tokens of source `{name}` is 0; remove the source"));
    }
    let shared = source.weight.is_some() || source.tokens.is_some();
    let scheduled = !recipe.mix.schedule.is_empty();
    match (recipe.mix.method, source.weight) {
        (Some(MixMethod::Weights), _) if scheduled && shared => refuse(format!(
            "source `{name}` has a weight beside mix.schedule, which holds all weights"
        )),
        (Some(MixMethod::Weights), _) if !scheduled && !shared => refuse(format!(
            "source `{name}` has no weight; mix.method = \"weights\" needs one for every source, or tokens"
        )),
        (Some(method), _) if method != MixMethod::Weights && shared => refuse(format!(
            "source `{name}` has a weight or tokens, which needs mix.method = \"weights\""
        )),
        (_, Some(weight)) if integer_weights(&[weight]).is_none() => refuse(format!(
            "weight of source `{name}` is {weight}, not in 0.000000001 to {WEIGHT_MAX}"
        )),
        _ => Ok(()),
    }
}

fn check_select(recipe: &Recipe) -> Result<(), EpochError> {
    if recipe.select.per_cluster == 0 {
        return refuse(
            "select.per_cluster is 0; leave it out to draw what is kept, or give 2 or more to draw near duplicates too"
                .to_owned(),
        );
    }
    let excluded = &recipe.select.exclude_contaminated;
    for (at, suite) in excluded.iter().enumerate() {
        let name = &suite.suite;
        if excluded.iter().take(at).any(|other| other.suite == *name) {
            return refuse(format!("select.exclude_contaminated has `{name}` twice"));
        }
        if let Some(score) = suite.score.filter(|score| !(0.0..=1.0).contains(score)) {
            return refuse(format!(
                "select.exclude_contaminated: score of `{name}` is {score}, not in 0 to 1"
            ));
        }
    }
    match &recipe.select.holdout {
        Some(holdout) if !(holdout.share > 0.0 && holdout.share < 1.0) => {
            refuse(format!("select.holdout.share is {}, not between 0 and 1", holdout.share))
        }
        _ => Ok(()),
    }
}

fn check_mix(recipe: &Recipe) -> Result<(), EpochError> {
    let mix = &recipe.mix;
    match (mix.method, mix.temperature) {
        (Some(MixMethod::Temperature), None) => {
            return refuse("mix.method = \"temperature\" needs mix.temperature".to_owned());
        }
        (Some(MixMethod::Temperature), Some(t)) if !(t.is_finite() && t >= 0.01) => {
            return refuse(format!("mix.temperature is {t}, not a number from 0.01 up"));
        }
        (method, Some(_)) if method != Some(MixMethod::Temperature) => {
            return refuse("mix.temperature needs mix.method = \"temperature\"".to_owned());
        }
        _ => {}
    }
    if mix.schedule.is_empty() {
        return Ok(());
    }
    if mix.method != Some(MixMethod::Weights) {
        return refuse("mix.schedule needs mix.method = \"weights\"".to_owned());
    }
    if recipe.sources.is_empty() {
        return refuse(
            "mix.schedule needs the sources it names: list them as [[source]]".to_owned(),
        );
    }
    for (at, point) in mix.schedule.iter().enumerate() {
        let moment = match (point.at_tokens, point.at_step) {
            (Some(moment), None) | (None, Some(moment)) => moment,
            _ => {
                return refuse(format!(
                    "point {at} of mix.schedule needs one of at_tokens and at_step"
                ));
            }
        };
        if at == 0 && moment != 0 {
            return refuse("the first point of mix.schedule is not at 0".to_owned());
        }
        if point.at_step.is_some() && recipe.batch.as_ref().and_then(|batch| batch.rows).is_none() {
            return refuse(
                "at_step of mix.schedule needs batch.rows, to know what a step is".to_owned(),
            );
        }
        for (name, weight) in &point.weights {
            if !recipe.sources.iter().any(|source| source.name == *name) {
                let known: Vec<&str> =
                    recipe.sources.iter().map(|source| source.name.as_str()).collect();
                return refuse(format!(
                    "mix.schedule names `{name}`, which is not a source of the recipe; {}",
                    way_out(name, &known)
                ));
            }
            if *weight != 0.0 && integer_weights(&[*weight]).is_none() {
                return refuse(format!(
                    "weight of `{name}` in mix.schedule is {weight}, neither 0 nor in 0.000000001 to {WEIGHT_MAX}"
                ));
            }
        }
        if point.weights.values().all(|weight| *weight == 0.0) {
            return refuse(format!("point {at} of mix.schedule gives no source a weight"));
        }
    }
    let never = recipe.sources.iter().find(|source| {
        let weight =
            |point: &SchedulePoint| point.weights.get(&source.name).copied().unwrap_or(0.0);
        mix.schedule.iter().all(|point| weight(point) == 0.0)
    });
    match never {
        Some(source) => refuse(format!(
            "mix.schedule never gives source `{}` a weight; remove the source",
            source.name
        )),
        None => Ok(()),
    }
}

fn check_pack(recipe: &Recipe) -> Result<(), EpochError> {
    let (pack, options) = (&recipe.pack, &recipe.pack.options);
    // With the token of the last target, or without it.
    let capacity = pack.length + u32::from(options.target == RowTarget::Extra);
    let lengths = [pack.length, capacity];
    if !lengths
        .iter()
        .any(|length| options.doc_multiple > 0 && length.is_multiple_of(options.doc_multiple))
    {
        return refuse(format!(
            "pack.options.doc_multiple is {}, which does not divide the {} tokens of a row",
            options.doc_multiple, pack.length
        ));
    }
    let paragraph = |source: &SourceRecipe| source.pack.long == Some(LongDocuments::Paragraph);
    if pack.kind == PackKind::Concat
        && (options.long == LongDocuments::Paragraph || recipe.sources.iter().any(paragraph))
    {
        return refuse(
            "long = \"paragraph\" has no meaning with pack.kind = \"concat\", which cuts anywhere; use \"split\""
                .to_owned(),
        );
    }
    Ok(())
}

/// Refuses settings of rows cut end to end that have no meaning, or none beside others.
fn check_concat(recipe: &Recipe) -> Result<(), EpochError> {
    let (pack, options) = (&recipe.pack, &recipe.pack.options);
    if options.overlap && (pack.kind != PackKind::Concat || options.target != RowTarget::Extra) {
        return refuse(
            "pack.options.overlap = true begins each row with the last token of the one before: it needs \
             pack.kind = \"concat\" and pack.options.target = \"extra\"".to_owned(),
        );
    }
    if options.overlap && options.doc_multiple > 1 {
        return refuse(
            "pack.options.overlap = true repeats a single token, which pack.options.doc_multiple would fill up with \
             pads; leave one of them out".to_owned(),
        );
    }
    if options.partial.is_some() && pack.kind != PackKind::Concat {
        return refuse(
            "pack.options.partial concerns the one row of a pass that pack.kind = \"concat\" does not fill; leave it out".to_owned(),
        );
    }
    if options.partial != Some(PartialRow::Drop) {
        return Ok(());
    }
    if options.doc_multiple > 1 {
        return refuse(
            "pack.options.partial = \"drop\" leaves out tokens that do not fill a row, and with pack.options.doc_multiple rows have pads anyway; leave one of them out".to_owned(),
        );
    }
    if !counts_alike(recipe.mix.unit) {
        return refuse(
            "pack.options.partial = \"drop\" leaves out other documents in every pass, so passes would not count equally; use mix.unit = \"tokens\" or \"rows\", or declare tokenizer.specials.pad".to_owned(),
        );
    }
    Ok(())
}

/// Refuses EOS at the cuts of documents where there is none, where rows have no place for it, and beside settings of
/// `concat` that say which tokens a row has.
fn check_cut_eos(recipe: &Recipe) -> Result<(), EpochError> {
    let (pack, options) = (&recipe.pack, &recipe.pack.options);
    if !pack.cut_eos {
        return Ok(());
    }
    if recipe.tokenizer.specials.eos.is_none() {
        return refuse(
            "pack.cut_eos = true ends each part of a document with EOS, and none is declared: declare \
             tokenizer.specials.eos, or leave pack.cut_eos out"
                .to_owned(),
        );
    }
    // A token of a document, BOS before it, EOS behind it.
    let least = 2 + u32::from(recipe.tokenizer.specials.bos.is_some());
    if pack.length < least {
        return refuse(format!(
            "pack.cut_eos = true needs rows of {least} tokens or more, since a part of a document has a token of it \
             beside the special ones, and pack.length is {}",
            pack.length
        ));
    }
    if options.overlap {
        return refuse(
            "pack.options.overlap = true begins each row with the last token of the one before, which pack.cut_eos = \
             true makes an EOS: leave one of them out"
                .to_owned(),
        );
    }
    if options.partial == Some(PartialRow::Drop) {
        return refuse(
            "pack.options.partial = \"drop\" leaves out tokens by their number, and with pack.cut_eos = true this is \
             another one in every pass: use \"keep\", with tokenizer.specials.pad where the format needs rows of one \
             length"
                .to_owned(),
        );
    }
    Ok(())
}

/// Refuses a limit of segments that no row keeps, and settings whose segments or tokens it would change.
fn check_most_segments(recipe: &Recipe) -> Result<(), EpochError> {
    let Some(most) = recipe.pack.most_segments else { return Ok(()) };
    let options = &recipe.pack.options;
    if most == 0 {
        return refuse(
            "pack.most_segments is 0, and a row has at least one segment: give the most that your attention kernel \
             takes, or leave it out"
                .to_owned(),
        );
    }
    if options.pad_view == PadView::Each {
        return refuse(format!(
            "pack.most_segments = {most} cannot be kept with pack.options.pad_view = \"each\", which makes every pad a \
             segment of its own: use \"suffix\", or leave pack.most_segments out"
        ));
    }
    if options.overlap && most == 1 {
        return refuse(
            "pack.options.overlap = true begins each row with the last token of the one before, which is a segment: \
             pack.most_segments must be 2 or more"
                .to_owned(),
        );
    }
    if options.partial == Some(PartialRow::Drop) {
        return refuse(
            "pack.options.partial = \"drop\" leaves out tokens by their number, and rows that pack.most_segments ends \
             make this another one in every pass: use \"keep\", with tokenizer.specials.pad where the format needs \
             rows of one length"
                .to_owned(),
        );
    }
    Ok(())
}

/// Whether the rest that is left out at the end of a pass counts the same in every pass.
pub(in crate::epoch) const fn counts_alike(unit: MixUnit) -> bool {
    matches!(unit, MixUnit::Tokens | MixUnit::Rows)
}

/// Settings that would be ignored.
pub(super) fn check_ignored(recipe: &Recipe) -> Result<(), EpochError> {
    let multiple = recipe.pack.options.doc_multiple;
    if multiple <= 1 {
        return Ok(());
    }
    if recipe.tokenizer.specials.pad.is_none() {
        return refuse(format!(
            "pack.options.doc_multiple = {multiple} fills documents up with pads, and there is no pad token: declare tokenizer.specials.pad"
        ));
    }
    let padded = recipe.batch.as_ref().is_some_and(|batch| batch.pad.is_some());
    if recipe.pack.kind == PackKind::None && !padded {
        return refuse(format!(
            "pack.options.doc_multiple = {multiple} needs rows with pads, and pack.kind = \"none\" has none: add batch.pad = \"longest\", or use another pack.kind"
        ));
    }
    Ok(())
}

fn check_order(recipe: &Recipe) -> Result<(), EpochError> {
    let (kind, order) = (recipe.pack.kind, &recipe.order);
    if kind == PackKind::BestFit && order.kind == OrderKind::Sequential {
        return refuse(
            "order.kind = \"sequential\" has no meaning with pack.kind = \"best-fit\", which puts documents together by \
             length; use \"shuffle\", or pack.kind = \"greedy\", \"concat\" or \"none\""
                .to_owned(),
        );
    }
    match (order.kind, &order.curriculum) {
        (OrderKind::Curriculum, None) => {
            return refuse("order.kind = \"curriculum\" needs order.curriculum.by".to_owned());
        }
        (OrderKind::Curriculum, Some(curriculum)) => check_curriculum(kind, curriculum)?,
        (_, Some(_)) => {
            return refuse("order.curriculum needs order.kind = \"curriculum\"".to_owned());
        }
        _ => {}
    }
    match (order.kind, &order.length_grouped) {
        (OrderKind::LengthGrouped, grouped) => check_grouped(recipe, &grouped.unwrap_or_default()),
        (_, Some(_)) => {
            refuse("order.length_grouped needs order.kind = \"length-grouped\"".to_owned())
        }
        _ => Ok(()),
    }
}

fn check_curriculum(kind: PackKind, curriculum: &Curriculum) -> Result<(), EpochError> {
    if curriculum.by.trim().is_empty() {
        return refuse(
            "order.curriculum.by is empty; give a number of `documents`, or \"surprisal\""
                .to_owned(),
        );
    }
    // At 0 the easiest stratum is open all the same, so that there is something to read.
    if !(0.0..=1.0).contains(&curriculum.c0) {
        return refuse(format!("order.curriculum.c0 is {}, not in 0 to 1", curriculum.c0));
    }
    if !(1..=STRATA).contains(&curriculum.strata) {
        return refuse(format!(
            "order.curriculum.strata is {}, not in 1 to {STRATA}",
            curriculum.strata
        ));
    }
    if !(curriculum.root >= 0.1 && curriculum.root <= 100.0) {
        return refuse(format!("order.curriculum.root is {}, not in 0.1 to 100", curriculum.root));
    }
    if curriculum.steps == 0 {
        return refuse("order.curriculum.steps is 0".to_owned());
    }
    if curriculum.replace && !matches!(kind, PackKind::BestFit | PackKind::None) {
        return refuse(
            "order.curriculum.replace needs pack.kind = \"best-fit\" or \"none\", whose rows can be drawn one by one"
                .to_owned(),
        );
    }
    Ok(())
}

fn check_grouped(recipe: &Recipe, grouped: &LengthGrouped) -> Result<(), EpochError> {
    if recipe.pack.kind != PackKind::None {
        return refuse(
            "order.kind = \"length-grouped\" needs pack.kind = \"none\": packed rows have one length".to_owned(),
        );
    }
    let Some(batch) = &recipe.batch else {
        return refuse(
            "order.kind = \"length-grouped\" needs [batch] with rows or max_tokens".to_owned(),
        );
    };
    if grouped.mega_batch_mult == Some(0) {
        return refuse("order.length_grouped.mega_batch_mult is 0".to_owned());
    }
    if grouped.window.is_some() && (grouped.mega_batch_mult.is_some() || grouped.exact.is_some()) {
        return refuse(
            "order.length_grouped.window = \"epoch\" sorts a whole epoch together; leave out mega_batch_mult and exact"
                .to_owned(),
        );
    }
    if grouped.exact.is_none() {
        return Ok(());
    }
    let mixed = recipe.sources.len() > 1 || recipe.mix.tokens.is_some();
    if mixed || recipe.select.repeat.is_some() || !recipe.mix.schedule.is_empty() {
        return refuse(
            "length_grouped.exact = \"torch\" takes one whole source: leave out mix.tokens, select.repeat and further sources"
                .to_owned(),
        );
    }
    // An epoch is a pass, seeded by its number, and begins with its first row.
    let repeats = recipe.sources.iter().any(|source| source.max_repeats > 1);
    if repeats && recipe.mix.method != Some(MixMethod::Natural) {
        return refuse(
            "length_grouped.exact = \"torch\" with max_repeats has one pass per epoch: leave out weights, and mix.method other than \"natural\""
                .to_owned(),
        );
    }
    if repeats && batch.tail == BatchTail::Carry {
        return refuse(
            "length_grouped.exact = \"torch\" with max_repeats begins each epoch with its own first row, so no rows can be carried over; use batch.tail = \"drop\" or \"pad\""
                .to_owned(),
        );
    }
    if batch.rows.is_none() || grouped.buckets.is_some() || batch.balance.is_some() {
        return refuse(
            "length_grouped.exact = \"torch\" needs batch.rows, and neither buckets nor balance"
                .to_owned(),
        );
    }
    Ok(())
}

fn check_batch(recipe: &Recipe, batch: &BatchRecipe) -> Result<(), EpochError> {
    match (batch.rows, batch.max_tokens) {
        (Some(1..), None) => {}
        (None, Some(1..)) => {
            if recipe.pack.kind != PackKind::None {
                return refuse(
                    "batch.max_tokens needs pack.kind = \"none\"; packed rows have one length, so use batch.rows"
                        .to_owned(),
                );
            }
            if batch.balance.is_some() || batch.tail != BatchTail::Drop {
                return refuse(
                    "batch.balance and batch.tail need batch.rows: batches of max_tokens have no fixed count".to_owned(),
                );
            }
        }
        _ => return refuse("[batch] needs one of rows and max_tokens, from 1 up".to_owned()),
    }
    if batch.pad.is_some() {
        let has_columns = recipe.output.file_format().default_columns(false).is_some();
        if recipe.pack.kind != PackKind::None {
            return refuse(
                "batch.pad = \"longest\" needs pack.kind = \"none\": packed rows have one length"
                    .to_owned(),
            );
        }
        if recipe.tokenizer.specials.pad.is_none() {
            return refuse("batch.pad = \"longest\" needs tokenizer.specials.pad".to_owned());
        }
        if !has_columns {
            return refuse(format!(
                "batch.pad = \"longest\" makes rows of unequal length with pads, which output.format = \"{}\" cannot store; use \"parquet\", \"arrow\", \"mds\" or \"jsonl\"",
                recipe.output.format.name()
            ));
        }
    }
    if batch.tail == BatchTail::Pad && recipe.tokenizer.specials.pad.is_none() {
        return refuse("batch.tail = \"pad\" needs tokenizer.specials.pad".to_owned());
    }
    Ok(())
}

fn not_built(recipe: &Recipe) -> Result<(), EpochError> {
    let refuse = |what: String, instead: &str| {
        let message = format!("recipe: {what} is not supported yet; {instead}");
        Err(Error::of(ErrorKind::BadRecipe, message).into())
    };
    for source in &recipe.sources {
        let pack = &source.pack;
        let asked = [
            (pack.kind.is_some(), "pack.kind"),
            (pack.length.is_some(), "pack.length"),
            (pack.options.is_some(), "pack.options"),
        ];
        if let Some((_, what)) = asked.into_iter().find(|(asked, _)| *asked) {
            return refuse(
                format!("{what} of source `{}`", source.name),
                "only pack.long can differ by source",
            );
        }
    }
    Ok(())
}

fn refuse(message: String) -> Result<(), EpochError> {
    Err(EpochError::Recipe(message))
}
