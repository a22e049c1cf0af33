//! The rows of one source: pass after pass, each a pure function of (source, pass, row).

use super::classes::ClassIndex;
use super::documents::Documents;
use super::error::EpochError;
use super::pack::{Cutter, Document, Histogram, Items, Patterns, Policy, Segment};
use super::permutation::{Permutation, Purpose};
use super::recipe::{OrderKind, PackKind};
use crate::model::DocId;

/// What decides the rows of a source besides its documents.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules<'a> {
    /// Name of the source in the epoch; part of every key.
    pub name: &'a str,
    pub seed: u64,
    pub policy: Policy,
    pub order: OrderKind,
    /// Passes over the documents in the whole run, at most.
    pub max_repeats: u32,
}

/// A source opened to give its rows.
pub(super) struct SourceRows<'a> {
    rules: Rules<'a>,
    documents: Documents<'a>,
    body: Body,
}

enum Body {
    /// Rows by pattern; documents of a row are found by length and rank.
    BestFit { items: Items, patterns: Patterns, classes: Option<ClassIndex> },
    /// Rows cut from documents in order; the blocks that hold any, with how many.
    InOrder { blocks: Vec<(u64, u32)> },
}

/// A row of a source, named by where it is; [`SourceRows::segments`] finds what is in it.
#[derive(Clone, Debug)]
pub(super) struct RowRef {
    /// The pass it belongs to.
    pub pass: u32,
    /// Its real tokens.
    pub tokens: u32,
    place: Place,
}

#[derive(Clone, Debug)]
enum Place {
    /// Position among the rows of its pass.
    Packed(u64),
    /// What is in it.
    Cut(Vec<Segment>),
}

impl<'a> SourceRows<'a> {
    /// Opens a source to count its rows: lengths are scanned once, nothing per document is kept.
    ///
    /// # Errors
    /// [`EpochError::NotEncoded`]; [`EpochError::Store`].
    pub fn to_count(
        rules: Rules<'a>,
        documents: Documents<'a>,
    ) -> Result<(Self, Histogram), EpochError> {
        let histogram = documents.histogram()?;
        Ok((Self::new(rules, documents, &histogram, None), histogram))
    }

    /// Opens a source to give its rows.
    ///
    /// # Errors
    /// As [`SourceRows::to_count`].
    pub fn to_give(
        rules: Rules<'a>,
        documents: Documents<'a>,
    ) -> Result<(Self, Histogram), EpochError> {
        if rules.policy.kind != PackKind::BestFit {
            return Self::to_count(rules, documents);
        }
        let (classes, histogram) = ClassIndex::of(&documents)?;
        Ok((Self::new(rules, documents, &histogram, Some(classes)), histogram))
    }

    fn new(
        rules: Rules<'a>,
        documents: Documents<'a>,
        histogram: &Histogram,
        classes: Option<ClassIndex>,
    ) -> Self {
        let body = if rules.policy.kind == PackKind::BestFit {
            let items = Items::of(histogram, &rules.policy);
            let patterns = Patterns::pack(items.descending(), rules.policy.capacity);
            Body::BestFit { items, patterns, classes }
        } else {
            Body::InOrder { blocks: documents.blocks() }
        };
        Self { rules, documents, body }
    }

    pub const fn rules(&self) -> &Rules<'a> {
        &self.rules
    }

    pub const fn documents(&self) -> &Documents<'a> {
        &self.documents
    }

    /// Rows of one pass, and how many of them are full; scans the lengths where rows are cut in order.
    ///
    /// # Errors
    /// [`EpochError::Store`].
    pub fn count_pass(&self) -> Result<(u64, u64), EpochError> {
        let capacity = self.rules.policy.capacity;
        if let Body::BestFit { patterns, .. } = &self.body {
            let full = patterns.patterns().iter().filter(|pattern| pattern.tokens == capacity);
            return Ok((patterns.rows(), full.map(|pattern| pattern.rows).sum()));
        }
        let mut cursor = self.cursor();
        let (mut rows, mut full) = (0, 0);
        while let Some(row) = cursor.next_row()?.filter(|row| row.pass == 0) {
            rows += 1;
            full += u64::from(row.tokens == capacity);
        }
        Ok((rows, full))
    }

    /// The rows from the first of the first pass to the last of the last.
    pub fn cursor(&self) -> Cursor<'_> {
        Cursor { rows: self, pass: 0, state: self.start(0) }
    }

    fn start(&self, pass: u32) -> State<'_> {
        match &self.body {
            Body::BestFit { patterns, .. } => State::Packed {
                order: self.permutation(patterns.rows(), pass, Purpose::Rows, 0),
                next: 0,
            },
            Body::InOrder { blocks } => State::Cut {
                cutter: Cutter::new(self.rules.policy),
                walk: Box::new(Walk {
                    rows: self,
                    pass,
                    blocks,
                    order: self.permutation(blocks.len() as u64, pass, Purpose::Blocks, 0),
                    next_block: 0,
                    block: 0,
                    lengths: Vec::new(),
                    inside: None,
                    next: 0,
                }),
            },
        }
    }

    fn permutation(&self, n: u64, pass: u32, purpose: Purpose, class: u64) -> Permutation {
        Permutation::new(n, self.rules.seed, self.rules.name, pass.into(), purpose, class)
    }

    /// What is in a row.
    ///
    /// # Errors
    /// [`EpochError::Store`].
    pub fn segments(&self, row: &RowRef) -> Result<Vec<Segment>, EpochError> {
        match &row.place {
            Place::Cut(segments) => Ok(segments.clone()),
            Place::Packed(index) => self.packed_row(row.pass, *index),
        }
    }

    /// Row `index` of a pass of best-fit packing: random access, at the cost of a few look-ups.
    fn packed_row(&self, pass: u32, index: u64) -> Result<Vec<Segment>, EpochError> {
        let Body::BestFit { items, patterns, classes: Some(classes) } = &self.body else {
            return Err(EpochError::bug("a source opened to count was asked for a row"));
        };
        let none = || EpochError::bug(format!("source `{}` has no row {index}", self.rules.name));
        let (pattern, nth) = patterns.row(index).ok_or_else(none)?;
        let mut segments = Vec::new();
        for item in &pattern.items {
            let order =
                self.permutation(items.count(item.size), pass, Purpose::Items, item.size.into());
            for copy in 0..item.copies {
                let ordinal = item.first + nth * u64::from(item.copies) + u64::from(copy);
                let found = items.locate(item.size, order.at(ordinal)).ok_or_else(none)?;
                segments.push(Segment {
                    document: classes.select(&self.documents, found.length, found.rank)?,
                    offset: found.offset,
                    length: item.size,
                    document_length: found.length,
                });
            }
        }
        Ok(segments)
    }
}

/// Walks the rows of a source in order.
pub(super) struct Cursor<'a> {
    rows: &'a SourceRows<'a>,
    pass: u32,
    state: State<'a>,
}

enum State<'a> {
    Packed { order: Permutation, next: u64 },
    Cut { cutter: Cutter, walk: Box<Walk<'a>> },
}

impl Cursor<'_> {
    /// The next row; none after the last pass.
    ///
    /// # Errors
    /// [`EpochError::Store`].
    pub fn next_row(&mut self) -> Result<Option<RowRef>, EpochError> {
        while self.pass < self.rows.rules.max_repeats {
            if let Some(row) = self.next_of_pass()? {
                return Ok(Some(row));
            }
            self.pass += 1;
            self.state = self.rows.start(self.pass);
        }
        Ok(None)
    }

    fn next_of_pass(&mut self) -> Result<Option<RowRef>, EpochError> {
        match &mut self.state {
            State::Packed { order, next } => {
                let Body::BestFit { patterns, .. } = &self.rows.body else { return Ok(None) };
                if *next >= patterns.rows() {
                    return Ok(None);
                }
                let index = order.at(*next);
                *next += 1;
                Ok(patterns.row(index).map(|(pattern, _)| RowRef {
                    pass: self.pass,
                    tokens: pattern.tokens,
                    place: Place::Packed(index),
                }))
            }
            State::Cut { cutter, walk } => {
                Ok(cutter.next_row(|| walk.next_document())?.map(|segments| RowRef {
                    pass: self.pass,
                    tokens: segments.iter().map(|segment| segment.length).sum(),
                    place: Place::Cut(segments),
                }))
            }
        }
    }
}

/// Walks the documents of a source in the order of a pass, one block in memory.
struct Walk<'a> {
    rows: &'a SourceRows<'a>,
    pass: u32,
    blocks: &'a [(u64, u32)],
    order: Permutation,
    next_block: u64,
    block: u64,
    lengths: Vec<(u16, u32)>,
    /// Order inside the block; none when sequential.
    inside: Option<Permutation>,
    next: usize,
}

impl Walk<'_> {
    fn next_document(&mut self) -> Result<Option<Document>, EpochError> {
        while self.next >= self.lengths.len() {
            if self.next_block >= self.blocks.len() as u64 {
                return Ok(None);
            }
            self.enter_block()?;
        }
        let at = match &self.inside {
            Some(inside) => usize::try_from(inside.at(self.next as u64)).unwrap_or(usize::MAX),
            None => self.next,
        };
        self.next += 1;
        let (slot, length) = self
            .lengths
            .get(at)
            .copied()
            .ok_or_else(|| EpochError::bug("a permutation left its range"))?;
        Ok(Some(Document { id: DocId::at(self.block, slot), length }))
    }

    fn enter_block(&mut self) -> Result<(), EpochError> {
        let shuffled = self.rows.rules.order == OrderKind::Shuffle;
        let at = if shuffled { self.order.at(self.next_block) } else { self.next_block };
        self.next_block += 1;
        let block = usize::try_from(at).ok().and_then(|at| self.blocks.get(at));
        self.block = block.ok_or_else(|| EpochError::bug("a permutation left its range"))?.0;
        self.lengths = self.rows.documents.lengths(self.block)?;
        let documents = self.lengths.len() as u64;
        self.inside = shuffled
            .then(|| self.rows.permutation(documents, self.pass, Purpose::Documents, self.block));
        self.next = 0;
        Ok(())
    }
}
