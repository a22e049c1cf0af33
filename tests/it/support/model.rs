//! The naive model: all documents ever stored and what the user said of them; every standing is
//! computed from scratch, by the definitions.

use crate::support::Page;
use corpusdb::curate::BlockReach;
use corpusdb::dedup::{
    DedupScope, Fingerprint, Fingerprinter, KeepOrder, MatchKind, Standing, bands, estimate_floor,
    shared_at_least,
};
use corpusdb::{DedupMode, Policy};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// What a removal forbids.
#[derive(Clone, Copy)]
pub struct Removal {
    reach: BlockReach,
    key: bool,
}

/// A stored document; its text is a place in [`Model::texts`].
#[derive(Clone)]
pub struct Document {
    pub text: usize,
    pub source: String,
    /// The file it was read from, and its place there.
    pub file: String,
    pub number: usize,
    pub page: Page,
    pub successor: Option<u64>,
    pub removal: Option<Removal>,
    /// What was set from outside of the field that ranks documents.
    pub ranked_by: Option<serde_json::Value>,
    /// Its text, fields and key are gone.
    pub is_purged: bool,
}

/// Place in the keep order: the smaller one stays.
pub type Rank = (i64, u64, u64);

/// A standing and the document that explains it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    pub standing: Standing,
    pub matched: Option<(MatchKind, u64)>,
}

#[derive(Clone)]
pub struct Model {
    policy: Policy,
    pub texts: Vec<String>,
    pub prints: Vec<Fingerprint>,
    known: HashMap<String, usize>,
    buckets: HashMap<(usize, u64), Vec<usize>>,
    /// Texts by their normalised form.
    alike: HashMap<[u8; 16], Vec<usize>>,
    /// Other texts that are duplicates of each text.
    linked: Vec<BTreeSet<usize>>,
    pub documents: Vec<Document>,
    newest: BTreeMap<String, u64>,
    /// Files some of whose documents were superseded by another file since they were read, and that one.
    overtaken: BTreeSet<(String, String)>,
    /// Documents that were removed at some time: no other one can block a text or a key.
    removed: BTreeSet<u64>,
}

impl Model {
    pub fn new(policy: &Policy) -> Self {
        Self {
            policy: policy.clone(),
            texts: Vec::new(),
            prints: Vec::new(),
            known: HashMap::new(),
            buckets: HashMap::new(),
            linked: Vec::new(),
            documents: Vec::new(),
            newest: BTreeMap::new(),
            overtaken: BTreeSet::new(),
            removed: BTreeSet::new(),
            alike: HashMap::new(),
        }
    }

    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The same documents under another policy.
    pub fn change(&mut self, policy: &Policy) {
        self.policy = policy.clone();
        self.buckets.clear();
        self.alike.clear();
        self.linked.clear();
        (0..self.texts.len()).for_each(|text| self.link(text));
    }

    /// Takes a record that stands `number`th in `path`; false when it is known.
    pub fn take(&mut self, source: &str, path: &str, number: usize, page: &Page) -> bool {
        let content = |page: &Page| format!("{:?} {}", page.text, page.fields);
        let key = key(source, path, number, page);
        let id = self.documents.len() as u64;
        if let Some(before) = self.newest.get(&key).copied() {
            if content(&self.documents[before as usize].page) == content(page) {
                return false;
            }
            if self.is_kept_away(source, page) {
                return false;
            }
            let before = &mut self.documents[before as usize];
            before.successor = Some(id);
            if before.file != path {
                self.overtaken.insert((before.file.clone(), path.to_owned()));
            }
        }
        if self.is_kept_away(source, page) {
            return false;
        }
        self.newest.insert(key, id);
        let text = self.text(&page.text);
        self.documents.push(Document {
            text,
            source: source.to_owned(),
            file: path.to_owned(),
            number,
            page: page.clone(),
            successor: None,
            removal: None,
            ranked_by: None,
            is_purged: false,
        });
        true
    }

    /// Ingests an unchanged file again: its versions win again over those of other files since. `reread`: it is read in
    /// any case.
    pub fn take_again(&mut self, source: &str, path: &str, pages: &[Page], reread: bool) {
        if !reread && !self.overtaken.iter().any(|(file, _)| file == path) {
            return;
        }
        self.overtaken.retain(|(file, _)| file != path);
        for (number, page) in pages.iter().enumerate() {
            let newest = self.newest.get(&key(source, path, number, page));
            let newest = newest.map(|id| &self.documents[*id as usize]);
            // An older generation of what the same file says further behind.
            if newest.is_some_and(|newest| newest.file == path && newest.number > number) {
                continue;
            }
            self.take(source, path, number, page);
        }
    }

    pub fn remove(&mut self, ids: &[u64], reach: BlockReach) {
        for id in ids {
            let document = &mut self.documents[*id as usize];
            if document.is_purged {
                continue;
            }
            let has_key = document.successor.is_none() && document.page.id.is_some();
            let key = reach >= BlockReach::Exact && has_key;
            let before =
                document.removal.unwrap_or(Removal { reach: BlockReach::Nothing, key: false });
            let reach = reach.max(before.reach);
            document.removal = Some(Removal { reach, key: key || before.key });
            self.removed.insert(*id);
        }
    }

    /// Erases documents. With a reach of nothing they block nothing any more; what they blocked stays blocked otherwise.
    pub fn purge(&mut self, ids: &[u64], reach: BlockReach) {
        self.remove(ids, reach);
        for id in ids {
            let document = &mut self.documents[*id as usize];
            if document.is_purged {
                continue;
            }
            document.is_purged = true;
            if reach == BlockReach::Nothing {
                document.removal = Some(Removal { reach, key: false });
            }
            let key = key(&document.source, &document.file, document.number, &document.page);
            if self.newest.get(&key) == Some(id) {
                self.newest.remove(&key);
            }
        }
    }

    /// Whether a record is not even stored, since a purged document has its text or its key.
    fn is_kept_away(&mut self, source: &str, page: &Page) -> bool {
        let text = self.text(&page.text);
        let purged = self.removed.iter().map(|id| &self.documents[*id as usize]);
        let purged = purged.filter(|document| document.is_purged);
        let blocks = |by: &Document| {
            let has_key = page.id.is_some() && by.page.id == page.id && by.source == source;
            by.removal.is_some_and(|removal| {
                removal.key && has_key || self.is_same(removal.reach, by.text, text)
            })
        };
        purged.into_iter().any(blocks)
    }

    /// Whether a text is as good as another one to a removal of that reach.
    fn is_same(&self, reach: BlockReach, removed: usize, text: usize) -> bool {
        let (own, other) = (&self.prints[text], &self.prints[removed]);
        let is_empty = self.texts[text].is_empty();
        reach >= BlockReach::Exact && removed == text && !is_empty
            || reach >= BlockReach::Normalised
                && own.tokens > 0
                && own.normalised == other.normalised
    }

    pub fn restore(&mut self, ids: &[u64]) {
        let standing = |id: &&u64| !self.documents[**id as usize].is_purged;
        let ids: Vec<u64> = ids.iter().filter(standing).copied().collect();
        ids.iter().for_each(|id| self.documents[*id as usize].removal = None);
    }

    fn text(&mut self, text: &str) -> usize {
        if let Some(at) = self.known.get(text) {
            return *at;
        }
        let at = self.texts.len();
        self.known.insert(text.to_owned(), at);
        self.texts.push(text.to_owned());
        self.prints.push(Fingerprinter::new(&self.policy).fingerprint(text));
        self.link(at);
        at
    }

    /// Links a text to those before it.
    fn link(&mut self, text: usize) {
        self.linked.push(BTreeSet::new());
        if !self.policy.mode.is_near() {
            return;
        }
        let (print, prints) = (&self.prints[text], &self.prints);
        let alike = self.alike.entry(print.normalised).or_default();
        let mut links: BTreeSet<usize> = alike.iter().copied().collect();
        alike.push(text);
        if let Some(sketch) = &print.sketch {
            let mut candidates = BTreeSet::new();
            for key in bands(sketch, &self.policy).into_iter().enumerate() {
                let bucket = self.buckets.entry(key).or_default();
                candidates.extend(bucket.iter().copied());
                bucket.push(text);
            }
            let is_similar = |other: &usize| {
                let other = &prints[*other];
                let estimate = other.sketch.as_ref().unwrap().estimate(sketch);
                let exact =
                    shared_at_least(&print.shingles, &other.shingles, self.policy.threshold);
                self.policy.mode == DedupMode::Lsh
                    || estimate >= estimate_floor(&self.policy) && exact.is_some()
            };
            links.extend(candidates.into_iter().filter(is_similar));
        }
        for other in &links {
            self.linked[*other].insert(text);
        }
        self.linked[text] = links;
    }

    /// An edge of the graph.
    pub fn is_edge(&self, a: u64, b: u64) -> bool {
        let (a, b) = (&self.documents[a as usize], &self.documents[b as usize]);
        let is_linked = a.text == b.text || self.linked[a.text].contains(&b.text);
        let in_scope = self.policy.scope == DedupScope::Global || a.source == b.source;
        self.policy.mode != DedupMode::None && in_scope && is_linked
    }

    pub fn rank(&self, id: u64) -> Rank {
        let document = &self.documents[id as usize];
        let text = &document.page.text;
        let place = match &self.policy.keep {
            KeepOrder::First => return (0, 0, id),
            KeepOrder::Longest => -(text.chars().count() as i64),
            KeepOrder::SourcePriority(names) => {
                let place = names.iter().position(|name| *name == document.source);
                place.unwrap_or(names.len()) as i64
            }
            KeepOrder::Field(name) => {
                match document.ranked_by.as_ref().unwrap_or(&document.page.fields[name]).as_f64() {
                    Some(number) => -(number * 1000.0).round() as i64,
                    None => i64::MAX,
                }
            }
        };
        let hash = blake3::hash(text.as_bytes());
        (place, u64::from_le_bytes(hash.as_bytes()[..8].try_into().unwrap()), id)
    }

    fn is_blocked(&self, id: usize) -> bool {
        let document = &self.documents[id];
        self.removed.iter().any(|other| {
            let (other, by) = (*other as usize, &self.documents[*other as usize]);
            let same_key = by.page.id == document.page.id && by.source == document.source;
            other != id
                && by.removal.is_some_and(|removal| {
                    removal.key && same_key || self.is_same(removal.reach, by.text, document.text)
                })
        })
    }

    /// Why deduplication does not decide about a document, if it does not.
    fn excluded(&self, id: usize) -> Option<Standing> {
        let document = &self.documents[id];
        if document.is_purged {
            Some(Standing::Purged)
        } else if document.removal.is_some() {
            Some(Standing::Removed)
        } else if document.successor.is_some() {
            Some(Standing::Superseded)
        } else if self.is_blocked(id) {
            Some(Standing::Blocked)
        } else if self.policy.mode.is_near() && self.prints[document.text].tokens == 0 {
            Some(Standing::Empty)
        } else {
            None
        }
    }

    /// What every document is.
    pub fn settle(&self) -> Vec<Outcome> {
        let mut outcome: Vec<Outcome> = (0..self.documents.len())
            .map(|id| Outcome {
                standing: self.excluded(id).unwrap_or(Standing::Kept),
                matched: self.documents[id].successor.map(|next| (MatchKind::Superseded, next)),
            })
            .collect();
        let eligible = (0..outcome.len()).filter(|id| outcome[*id].standing == Standing::Kept);
        let mut eligible: Vec<Rank> = eligible.map(|id| self.rank(id as u64)).collect();
        eligible.sort_unstable();
        let mut of_text: HashMap<usize, Vec<Rank>> = HashMap::new();
        for rank in &eligible {
            of_text.entry(self.documents[rank.2 as usize].text).or_default().push(*rank);
        }
        let near = |id: u64| -> BTreeSet<Rank> {
            let text = self.documents[id as usize].text;
            let texts = self.linked[text].iter().chain([&text]);
            let others = texts.filter_map(|text| of_text.get(text)).flatten().copied();
            others.filter(|other| other.2 != id && self.is_edge(id, other.2)).collect()
        };
        let mut kept_of: HashMap<u64, u64> = HashMap::new();
        for rank in &eligible {
            let id = rank.2;
            if self.policy.mode.is_transitive() {
                let mut reached = vec![id];
                if kept_of.contains_key(&id) {
                    continue;
                }
                while let Some(at) = reached.pop() {
                    if let std::collections::hash_map::Entry::Vacant(slot) = kept_of.entry(at) {
                        slot.insert(id);
                        reached.extend(near(at).iter().map(|rank| rank.2));
                    }
                }
            } else {
                let witness = near(id)
                    .into_iter()
                    .find(|other| other < rank && kept_of.get(&other.2) == Some(&other.2));
                kept_of.insert(id, witness.map_or(id, |rank| rank.2));
            }
        }
        for (id, kept) in kept_of.into_iter().filter(|(id, kept)| id != kept) {
            outcome[id as usize] = self.removed_by(id, kept);
        }
        outcome
    }

    /// The outcome of a document that `witness` removes.
    pub fn removed_by(&self, id: u64, witness: u64) -> Outcome {
        let text = |id: u64| self.documents[id as usize].text;
        let (standing, kind) = if text(id) == text(witness) {
            (Standing::Exact, MatchKind::Exact)
        } else {
            (Standing::Near, MatchKind::Near)
        };
        Outcome { standing, matched: Some((kind, witness)) }
    }
}

/// What identifies a record.
fn key(source: &str, path: &str, number: usize, page: &Page) -> String {
    match &page.id {
        Some(id) => format!("{source}: key {id}"),
        None => format!("{source}: position {path} {number} {:?} {}", page.text, page.fields),
    }
}
