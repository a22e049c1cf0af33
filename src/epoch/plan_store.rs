//! Plans as a corpus stores them: saved with what they pin and with their marks, loaded, dropped.

use super::coverage::PinnedSource;
use super::error::EpochError;
use super::plan::{PinnedTokenizer, Plan, PlanHeader};
use super::recipe::DrawsFrom;
use super::run::{check_marks as check_plan, index_epochs};
use crate::corpus::Corpora;
use crate::sql::names_column;
use model::near_names::UnknownName;
use model::show::sql_literal;
use model::{Context, Error, ErrorKind, Standing};
use roaring::RoaringTreemap;
use std::sync::Arc;
use store::{CheckFault, CommitRecord, EpochRecord, MarksRecord, StoreError, StoreWriter, View};

/// Bytes of marks beyond which a commit takes no further epoch.
const MARKS_BYTES: usize = 8 << 20;

/// A stored plan with what it pins.
///
/// # Errors
/// [`EpochError::Unknown`], with the plans that there are; [`EpochError`] when it cannot be read.
pub fn stored_plan(view: &View, number: u32) -> Result<Plan, EpochError> {
    let Some(record) = view.epoch(number)? else {
        let epochs = view.epochs()?;
        let known = epochs.iter().rev().map(|record| record.number.to_string());
        return Err(EpochError::Unknown(UnknownName::new("plan", &number.to_string(), known)));
    };
    let plan = PlanHeader::from_json(&record.plan)?;
    let mut pinned = Vec::new();
    for source in &plan.sources {
        let part = view.epoch_part(number, &source.name)?.ok_or_else(|| StoreError::Missing {
            what: "epoch selection",
            family: "epochs",
            key: format!("{number} {}", source.name),
        })?;
        pinned.push(Arc::new(PinnedSource::decode(&source.name, &part)?));
    }
    Ok(Plan { plan, pinned, stored: Some(number) })
}

/// A stored plan with the plans that it extends, the first one first.
///
/// # Errors
/// [`EpochError::Unknown`] when there is no such plan; [`EpochError::Stale`] when one that it extends was dropped.
pub fn chain_of(view: &View, number: u32) -> Result<Vec<Plan>, EpochError> {
    let mut chain = vec![stored_plan(view, number)?];
    let epochs = view.epochs()?;
    while let Some(ledger) = chain.last().and_then(|planned| planned.plan.parent.clone()) {
        let of_hash = |record: &&EpochRecord| {
            blake3::Hash::from_bytes(record.hash).to_hex().as_str() == ledger.plan
        };
        let Some(record) = epochs.iter().find(of_hash) else {
            return Err(EpochError::Stale(format!(
                "plan {} extends a plan that this corpus no longer has; what that one consumed is unknown",
                number
            )));
        };
        chain.push(stored_plan(view, record.number)?);
    }
    chain.reverse();
    Ok(chain)
}

/// The numbers of the stored plans that are by a tokenizer: by its name and the blake3 of its file.
///
/// # Errors
/// [`StoreError`] when the plans cannot be read.
pub fn plans_by(view: &View, name: &str, hash: [u8; 32]) -> Result<Vec<u32>, StoreError> {
    let hash = blake3::Hash::from_bytes(hash).to_hex();
    let depends = |plan: PlanHeader| {
        let PinnedTokenizer { name: of, hash: has, draws, .. } = &plan.tokenizer;
        has == hash.as_str() && (of == name || draws.iter().any(|draw| draw == name))
    };
    let mut plans = view.epochs()?;
    // A plan that cannot be read cannot be used either.
    plans.retain(|record| PlanHeader::from_json(&record.plan).is_ok_and(depends));
    Ok(plans.into_iter().map(|record| record.number).collect())
}

/// The stored plans whose recipes name a column of `documents`.
///
/// # Errors
/// [`StoreError`] when the plans cannot be read.
pub fn plans_naming(view: &View, column: &str) -> Result<Vec<EpochRecord>, StoreError> {
    let names = |plan: PlanHeader| plan.recipe.expressions().any(|part| names_column(part, column));
    let mut plans = view.epochs()?;
    // A plan that cannot be read cannot be used either.
    plans.retain(|record| PlanHeader::from_json(&record.plan).is_ok_and(names));
    Ok(plans)
}

/// The numbers of the stored plans that draw from the source of that name, or select by it.
///
/// # Errors
/// [`StoreError`] when the plans cannot be read.
pub fn plans_of_source(view: &View, name: &str) -> Result<Vec<u32>, StoreError> {
    let literal = sql_literal(name);
    let draws = |plan: PlanHeader| {
        plan.recipe.sources.iter().any(|source| {
            let planned = plan.sources.iter().find(|planned| planned.name == source.name);
            let own = std::slice::from_ref(&source.name);
            let named = source.from.as_ref().map_or(own, DrawsFrom::entries);
            let found = planned.map_or(&[][..], |planned| &planned.draws_from);
            named.iter().chain(found).any(|one| one == name)
        }) || plan.recipe.expressions().any(|part| part.contains(&literal))
    };
    let mut plans = view.epochs()?;
    // A plan that cannot be read cannot be used either.
    plans.retain(|record| PlanHeader::from_json(&record.plan).is_ok_and(draws));
    Ok(plans.into_iter().map(|record| record.number).collect())
}

/// The stored plans that draw any of these documents, by number, each with how many it draws.
///
/// # Errors
/// [`EpochError`] when what a plan pins cannot be read.
pub fn plans_drawing(
    view: &View,
    documents: &RoaringTreemap,
) -> Result<Vec<(u32, u64)>, EpochError> {
    let mut drawing = Vec::new();
    if documents.is_empty() {
        return Ok(drawing);
    }
    for record in view.epochs()? {
        let drawn = stored_plan(view, record.number)?.count_drawn(documents);
        if drawn > 0 {
            drawing.push((record.number, drawn));
        }
    }
    Ok(drawing)
}

/// What is stored with a plan.
#[derive(Clone, Copy)]
pub struct PlanStorage<'a> {
    /// Epochs from the first on along which marks are.
    pub epochs: u64,
    /// The name of the snapshot of this moment that it draws from, where that is new.
    pub snapshot: Option<&'a str>,
}

/// Stores a plan with what it pins, its marks and its snapshot, in one commit. The same plan is stored once: where it is
/// already, only marks are added.
///
/// # Errors
/// [`EpochError`] when the plan has fewer epochs, or the disk refuses; nothing of a new plan is then stored.
pub fn store_plan(
    writer: &mut StoreWriter,
    others: &[View],
    planned: Plan,
    PlanStorage { epochs, snapshot }: PlanStorage<'_>,
    context: &Context<'_>,
) -> Result<(EpochRecord, Plan), EpochError> {
    let hash = planned.plan.hash();
    if let Some(record) = writer.view().epochs()?.into_iter().find(|record| record.hash == hash) {
        mark_epochs(writer, others, record.number, epochs, context)?;
        let stored = Some(record.number);
        return Ok((record, Plan { stored, ..planned }));
    }
    let mut marks = Vec::new();
    let corpora = Corpora::of(writer.view(), others);
    index_epochs(&corpora, &planned, epochs, context, |record| {
        marks.push(record);
        Ok::<(), EpochError>(())
    })?;
    context.progress.end();
    let plan = &planned.plan;
    let record =
        EpochRecord { number: 0, hash, snapshot: plan.snapshot.name.clone(), plan: plan.to_json() };
    let parts = encoded_parts(&planned)?;
    let mut batch = writer.begin()?;
    if let Some(name) = snapshot {
        batch.add_snapshot(name)?;
    }
    let record = batch.add_epoch(record, &parts)?;
    for marks in &marks {
        batch.put_marks(record.number, marks)?;
    }
    batch.commit(&about(record.number.to_string()))?;
    let stored = Some(record.number);
    Ok((record, Plan { stored, ..planned }))
}

/// What a plan pins of each source, as it is stored.
fn encoded_parts(planned: &Plan) -> Result<Vec<(String, Vec<u8>)>, EpochError> {
    planned.pinned.iter().map(|pinned| Ok((pinned.name.clone(), pinned.encode()?))).collect()
}

/// Stores a plan of another corpus, which has the same documents under the same numbers: its epochs are the same bytes
/// there. Answers whether the corpus has what the plan draws by: its snapshot and its tokenizer.
///
/// # Errors
/// [`EpochError`] when the plan or its marks cannot be read, or the disk refuses; nothing of the plan is then stored.
pub(crate) fn carry_plan(
    view: &View,
    writer: &mut StoreWriter,
    record: EpochRecord,
) -> Result<bool, EpochError> {
    let number = record.number;
    let planned = stored_plan(view, number)?;
    let PinnedTokenizer { name, hash, draws, .. } = &planned.plan.tokenizer;
    let has_tokenizer = [name].into_iter().chain(draws).all(|name| {
        writer.view().tokenizer_named(name).is_some_and(|(_, found)| {
            blake3::Hash::from_bytes(found.hash).to_hex().as_str() == hash.as_str()
        })
    });
    if !has_tokenizer || writer.view().snapshot(&record.snapshot)?.is_none() {
        return Ok(false);
    }
    let parts = encoded_parts(&planned)?;
    let mut batch = writer.begin()?;
    batch.carry_epoch(record, &parts)?;
    for epoch in view.marked_epochs(number)? {
        if let Some(marks) = view.epoch_marks(number, epoch)? {
            batch.put_marks(number, &marks)?;
        }
    }
    batch.commit(&about(number.to_string()))?;
    Ok(true)
}

/// Stores marks along the first `epochs` epochs of a stored plan, where they are not yet; answers how many got some.
///
/// # Errors
/// [`EpochError`] when there is no such plan or it has fewer epochs. The marks made before are stored, also after an
/// interrupt.
pub fn mark_epochs(
    writer: &mut StoreWriter,
    others: &[View],
    number: u32,
    epochs: u64,
    context: &Context<'_>,
) -> Result<u64, EpochError> {
    let corpora = Corpora::of(writer.view(), others);
    let planned = stored_plan(writer.view(), number)?;
    let (mut marked, mut found) = (0, Vec::new());
    let walked = index_epochs(&corpora, &planned, epochs, context, |marks| {
        marked += 1;
        found.push(marks);
        let held: usize = found.iter().map(MarksRecord::bytes).sum();
        if held > MARKS_BYTES { store_marks(writer, number, &mut found) } else { Ok(()) }
    });
    store_marks(writer, number, &mut found)?;
    walked?;
    context.progress.end();
    Ok(marked)
}

fn store_marks(
    writer: &mut StoreWriter,
    number: u32,
    found: &mut Vec<MarksRecord>,
) -> Result<(), EpochError> {
    if found.is_empty() {
        return Ok(());
    }
    let mut batch = writer.begin()?;
    for marks in found.drain(..) {
        batch.put_marks(number, &marks)?;
    }
    batch.commit(&about(format!("{number} marked")))?;
    Ok(())
}

/// Finds marks that are stored with plans and are not those of their epochs.
///
/// # Errors
/// [`EpochError`] when a plan cannot be read.
pub fn check_marks(corpora: &Corpora) -> Result<Vec<CheckFault>, EpochError> {
    let mut faults = Vec::new();
    let view = corpora.first();
    for record in view.epochs()? {
        if !view.marked_epochs(record.number)?.is_empty() {
            let planned = stored_plan(view, record.number)?;
            // A plan with purged documents cannot be opened, so nothing goes by its marks.
            let purged = corpora.documents_standing(Standing::Purged)?;
            if planned.is_redacted() || planned.count_drawn(&purged) > 0 {
                continue;
            }
            faults.extend(check_plan(corpora, &planned)?);
        }
    }
    Ok(faults)
}

/// Forgets a stored plan with the documents it pins and its marks. Its number is not given again.
///
/// # Errors
/// [`EpochError::Unknown`] when there is no such plan; [`EpochError`] when another one extends it.
pub fn drop_plan(writer: &mut StoreWriter, number: u32) -> Result<(), EpochError> {
    stored_plan(writer.view(), number)?;
    let dropped = writer.view().epoch(number)?.map(|record| record.hash).unwrap_or_default();
    let hash = blake3::Hash::from_bytes(dropped).to_hex();
    for record in writer.view().epochs()? {
        let ledger = PlanHeader::from_json(&record.plan).ok().and_then(|plan| plan.parent);
        if ledger.is_some_and(|ledger| ledger.plan == hash.as_str()) {
            let by = record.number;
            let message =
                format!("plan {by} extends plan {number} and needs it; drop plan {by} first");
            return Err(Error::of(ErrorKind::Failed, message).into());
        }
    }
    let mut batch = writer.begin()?;
    batch.drop_epoch(number)?;
    batch.commit(&about(format!("{number} dropped")))?;
    Ok(())
}

fn about(subject: String) -> CommitRecord {
    CommitRecord::about("epoch", subject)
}
