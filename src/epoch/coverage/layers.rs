//! Counts how often whole documents are covered, as nested bitmaps, and how many passes documents have had.

use roaring::RoaringTreemap;
use std::collections::BTreeMap;

/// Whole copies of documents: layer `k` has the documents with more than `k` copies, so that each layer contains the
/// next one. The last layer is not empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CopyLayers(Vec<RoaringTreemap>);

impl CopyLayers {
    /// Layers as they are, the empty ones at the end apart.
    #[must_use]
    pub fn new(mut layers: Vec<RoaringTreemap>) -> Self {
        while layers.last().is_some_and(RoaringTreemap::is_empty) {
            layers.pop();
        }
        Self(layers)
    }

    /// One copy of each document.
    #[must_use]
    pub fn single(documents: RoaringTreemap) -> Self {
        Self::new(vec![documents])
    }

    /// The layers, the one with all documents first.
    #[must_use]
    pub fn layers(&self) -> &[RoaringTreemap] {
        &self.0
    }

    /// Whether there is no copy.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Copies of a document.
    #[must_use]
    pub fn copies(&self, document: u64) -> usize {
        self.0.iter().take_while(|layer| layer.contains(document)).count()
    }

    /// Adds a copy of a document.
    pub fn insert(&mut self, document: u64) {
        for layer in &mut self.0 {
            if layer.insert(document) {
                return;
            }
        }
        self.0.push(std::iter::once(document).collect());
    }

    /// Adds all copies of others.
    pub fn add(&mut self, others: &Self) {
        for layer in &others.0 {
            self.add_layer(layer.clone());
        }
    }

    /// Adds one copy of each document.
    fn add_layer(&mut self, mut more: RoaringTreemap) {
        for layer in &mut self.0 {
            let has_one = &*layer & &more;
            *layer |= &more;
            more = has_one;
            if more.is_empty() {
                return;
            }
        }
        if !more.is_empty() {
            self.0.push(more);
        }
    }

    /// The copies of these documents alone.
    #[must_use]
    pub fn only(&self, documents: &RoaringTreemap) -> Self {
        Self::new(self.0.iter().map(|layer| layer & documents).collect())
    }

    /// The copies of all but these documents.
    #[must_use]
    pub fn without(&self, documents: &RoaringTreemap) -> Self {
        Self::new(self.0.iter().map(|layer| layer - documents).collect())
    }

    /// The copies that stay when as many are taken as `given` has; of a document with fewer, none.
    #[must_use]
    pub fn minus(&self, given: &Self) -> Self {
        let Some(all) = self.0.first() else { return Self::default() };
        let layer = |k: usize| {
            // Where c copies of a document are taken, its layer k + c becomes layer k.
            let above = self.0.iter().skip(k).enumerate();
            above.map(|(c, layer)| layer & given.exactly(c, all)).fold(
                RoaringTreemap::new(),
                |mut union, part| {
                    union |= part;
                    union
                },
            )
        };
        Self::new((0..self.0.len()).map(layer).collect())
    }

    /// Documents of which `given` has more copies than there are here.
    #[must_use]
    pub fn exceeded_by(&self, given: &Self) -> RoaringTreemap {
        let mut beyond = RoaringTreemap::new();
        for (c, layer) in given.0.iter().enumerate() {
            beyond |= match self.0.get(c) {
                Some(own) => layer - own,
                None => layer.clone(),
            };
        }
        beyond
    }

    /// The documents of `among` with exactly `copies` copies.
    fn exactly(&self, copies: usize, among: &RoaringTreemap) -> RoaringTreemap {
        let mut documents = match copies.checked_sub(1) {
            None => among.clone(),
            Some(below) => match self.0.get(below) {
                Some(layer) => among & layer,
                None => return RoaringTreemap::new(),
            },
        };
        if let Some(more) = self.0.get(copies) {
            documents -= more;
        }
        documents
    }
}

/// How many passes each document has had: for each number of passes, the documents with exactly that number. A
/// document in no set has had no pass.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DocumentPasses(BTreeMap<u32, RoaringTreemap>);

impl DocumentPasses {
    /// Counts `passes` more passes of each document.
    pub fn add(&mut self, documents: &RoaringTreemap, passes: u32) {
        if passes == 0 {
            return;
        }
        let mut new = documents.clone();
        let mut moved: Vec<(u32, RoaringTreemap)> = Vec::new();
        for (had, of) in &mut self.0 {
            let both = &*of & documents;
            if !both.is_empty() {
                *of -= &both;
                new -= &both;
                moved.push((had.saturating_add(passes), both));
            }
        }
        moved.push((passes, new));
        for (had, of) in moved {
            *self.0.entry(had).or_default() |= of;
        }
        self.0.retain(|_, of| !of.is_empty());
    }

    /// Documents that have had a pass.
    #[must_use]
    pub fn documents(&self) -> RoaringTreemap {
        self.more_than(0)
    }

    /// Documents that have had more than `passes` passes.
    #[must_use]
    pub fn more_than(&self, passes: u32) -> RoaringTreemap {
        let Some(from) = passes.checked_add(1) else { return RoaringTreemap::new() };
        let mut all = RoaringTreemap::new();
        for of in self.0.range(from..).map(|(_, of)| of) {
            all |= of;
        }
        all
    }

    /// (passes, documents of `among` that have had that many), ascending, from 0 passes on.
    #[must_use]
    pub fn levels(&self, among: &RoaringTreemap) -> Vec<(u32, RoaringTreemap)> {
        let mut none = among.clone();
        let mut levels = Vec::new();
        for (passes, of) in &self.0 {
            let both = of & among;
            none -= &both;
            levels.push((*passes, both));
        }
        levels.insert(0, (0, none));
        levels.retain(|(_, of)| !of.is_empty());
        levels
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(ids: &[u64]) -> RoaringTreemap {
        ids.iter().copied().collect()
    }

    #[test]
    fn copies_are_added_layer_by_layer() {
        let mut layers = CopyLayers::new(vec![of(&[1, 2, 3]), of(&[2])]);
        layers.add(&CopyLayers::single(of(&[2, 3, 4])));
        assert_eq!(layers.layers(), [of(&[1, 2, 3, 4]), of(&[2, 3]), of(&[2])]);
        layers.add(&CopyLayers::default());
        layers.insert(4);
        assert_eq!(layers.copies(4), 2);
        assert_eq!(layers.layers().len(), 3);
    }

    #[test]
    fn passes_are_counted_by_document() {
        let mut passes = DocumentPasses::default();
        passes.add(&of(&[1, 2, 3]), 2);
        passes.add(&of(&[3, 4]), 1);
        assert_eq!(
            passes.levels(&of(&[0, 2, 3, 4])),
            [(0, of(&[0])), (1, of(&[4])), (2, of(&[2])), (3, of(&[3]))]
        );
        assert_eq!(passes.more_than(1), of(&[1, 2, 3]));
        assert_eq!(passes.documents(), of(&[1, 2, 3, 4]));
    }
}
