//! The graph of similar documents: the independent set that the contract names, and its clusters.

/// Neighbours of every document.
pub struct Graph {
    neighbours: Vec<Vec<u32>>,
}

/// What of a graph is kept, and the largest group explained by one kept document.
pub struct Kept {
    /// By document.
    pub kept: Vec<bool>,
    /// A kept document and what it explains, together.
    pub largest_cluster: usize,
}

impl Graph {
    /// The graph of `documents` numbers with these edges.
    pub fn new(documents: usize, edges: impl Iterator<Item = (u32, u32)>) -> Self {
        let mut neighbours = vec![Vec::new(); documents];
        for (a, b) in edges {
            neighbours[a as usize].push(b);
            neighbours[b as usize].push(a);
        }
        for list in &mut neighbours {
            list.sort_unstable();
        }
        Self { neighbours }
    }

    /// The lexicographically first maximal independent set among the eligible: one after the other, each
    /// is kept unless an earlier kept one is its neighbour; the earliest of these explains it.
    pub fn first_independent(&self, eligible: impl Fn(usize) -> bool) -> Kept {
        let mut kept = vec![false; self.neighbours.len()];
        let mut members = vec![1_usize; self.neighbours.len()];
        for document in (0..self.neighbours.len()).filter(|document| eligible(*document)) {
            let mut earlier = self.neighbours[document]
                .iter()
                .map(|other| *other as usize)
                .take_while(|o| *o < document);
            match earlier.find(|other| kept[*other]) {
                Some(witness) => members[witness] += 1,
                None => kept[document] = true,
            }
        }
        let clusters = members.iter().zip(&kept).filter(|(_, kept)| **kept);
        let largest_cluster = clusters.map(|(members, _)| *members).max().unwrap_or(0);
        Kept { kept, largest_cluster }
    }

    /// The largest number of documents that are connected through others.
    pub fn largest_component(&self) -> usize {
        let mut seen = vec![false; self.neighbours.len()];
        let mut largest = 0;
        for start in 0..self.neighbours.len() {
            let (mut open, mut size) = (vec![start], 0);
            while let Some(document) = open.pop() {
                if !std::mem::replace(&mut seen[document], true) {
                    size += 1;
                    open.extend(self.neighbours[document].iter().map(|other| *other as usize));
                }
            }
            largest = largest.max(size);
        }
        largest
    }
}
