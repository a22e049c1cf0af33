//! Runs a change in many commits of bounded size, with its progress and the places where it can be stopped.

use model::{Context, DocId, Error};
use store::{
    CommitBatch, CommitRecord, DocumentPlace, NumberBlock, StoreError, StoreWriter, View,
    system_fields,
};

/// The commits of one change. A request to stop is heard before each commit, so a change whose last commit was made
/// never counts as stopped.
///
/// ```text
/// let mut commits = CommitLoop::begin("changing", Some(total), context);
/// while .. {                                    // something is left to do
///     let mut batch = commits.batch(writer)?;   // the stop
///     commits.commit(batch, &record, done)?;    // the progress
/// }
/// let made = commits.end();
/// ```
pub(super) struct CommitLoop<'a> {
    context: Context<'a>,
    commits: u64,
}

impl<'a> CommitLoop<'a> {
    /// Begins with a stage of `total` steps, where that is known.
    pub(super) fn begin(stage: &str, total: Option<u64>, context: &Context<'a>) -> Self {
        context.progress.begin(stage, total);
        Self { context: *context, commits: 0 }
    }

    /// Begins another stage of the same change.
    pub(super) fn stage(&self, stage: &str, total: Option<u64>) {
        self.context.progress.end();
        self.context.progress.begin(stage, total);
    }

    pub(super) fn check_interrupt(&self) -> Result<(), Error> {
        Ok(self.context.check_interrupt()?)
    }

    /// The batch of the next commit, for which there is something to do.
    pub(super) fn batch<'w>(&self, writer: &'w mut StoreWriter) -> Result<CommitBatch<'w>, Error> {
        self.check_interrupt()?;
        Ok(writer.begin()?)
    }

    /// Makes a commit, with which `done` of the stage's total are done.
    pub(super) fn commit(
        &mut self,
        batch: CommitBatch<'_>,
        record: &CommitRecord,
        done: u64,
    ) -> Result<(), Error> {
        batch.commit(record)?;
        self.commits += 1;
        self.context.progress.advance(done);
        Ok(())
    }

    /// Makes a commit of a stage whose total is not known: the progress counts commits.
    pub(super) fn commit_next(
        &mut self,
        batch: CommitBatch<'_>,
        record: &CommitRecord,
    ) -> Result<(), Error> {
        self.commit(batch, record, self.commits + 1)
    }

    /// The change is over: how many commits it took.
    pub(super) fn end(self) -> u64 {
        self.context.progress.end();
        self.commits
    }
}

/// Documents from number `from` on, at most `rows`, with texts of at most `bytes` in all, and the number behind the
/// last one. There is at least one, where any document is left.
pub(super) fn next_texts(
    view: &View,
    (from, rows): (u64, u64),
    bytes: u64,
) -> Result<(Vec<(DocId, DocumentPlace)>, u64), StoreError> {
    let (mut work, mut taken, mut lengths) = (Vec::new(), 0, LengthBlock::default());
    let end = from.saturating_add(rows.max(1)).min(view.documents());
    for row in view.places(from..end)? {
        let (document, place) = row?;
        if taken >= bytes.max(1) {
            return Ok((work, document.0));
        }
        taken += lengths.of(view, document)?;
        work.push((document, place));
    }
    Ok((work, end))
}

/// Lengths of texts of one block: who asks in the order of documents reads each block once.
#[derive(Default)]
pub(super) struct LengthBlock(Option<(u64, NumberBlock)>);

impl LengthBlock {
    /// The bytes of a document's text.
    pub(super) fn of(&mut self, view: &View, document: DocId) -> Result<u64, StoreError> {
        let (number, column) = (document.block(), system_fields::BYTES);
        let (_, block) = match &mut self.0 {
            Some(known) if known.0 == number => known,
            other => other.insert((number, view.column_block(column, number)?)),
        };
        block.expect(column, document)
    }
}
