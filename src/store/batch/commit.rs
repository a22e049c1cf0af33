//! The end of a batch: everything is written, synced, then the writer moves on.

use super::Batch;
use crate::model::{CommitSeq, FileId};
use crate::store::columns::{Columns, Commits, Keys, Meta, Postings, Sources};
use crate::store::database::family;
use crate::store::error::StoreError;
use crate::store::files::journal::Entry;
use crate::store::opening::synced;
use crate::store::rows::codec;
use crate::store::rows::keys::{Block, ColumnKey, CommitKey, Key, PostingKey, SourceKey};
use crate::store::rows::meta::MetaKey;
use crate::store::rows::numbers::encode_patch;
use crate::store::rows::records::CommitRecord;
use std::collections::HashMap;
use std::sync::Arc;

impl Batch<'_> {
    /// Writes everything, synced; then the journal; then the writer's view moves on.
    ///
    /// # Errors
    /// [`StoreError`] when the disk refuses. The batch is then stored whole or not at all, and the
    /// writer refuses further ones: open the corpus again.
    pub fn commit(mut self, record: &CommitRecord) -> Result<CommitSeq, StoreError> {
        let commit = self.commit_seq();
        let (bands, generation) = (std::mem::take(&mut self.bands), self.view.generation());
        let bands = self.writer.bands.stage(bands, generation, commit, &mut self.rows)?;
        let forgotten = std::mem::take(&mut self.forgotten);
        let bands = self.writer.bands.forget(bands, forgotten, &mut self.rows)?;
        std::mem::take(&mut self.identities)
            .write(&family::<Keys>(&self.writer.db)?, &mut self.rows);
        let postings = family::<Postings>(&self.writer.db)?;
        for ((term, block), delta) in &self.postings {
            let key = PostingKey { term: *term, block: Block(*block) };
            self.rows.merge_cf(&postings, key.to_bytes(), delta.encode());
        }
        drop(postings);
        let columns = family::<Columns>(&self.writer.db)?;
        for ((column, block), patch) in &self.patches {
            let key = ColumnKey { column: *column, block: Block(*block) };
            self.rows.merge_cf(&columns, key.to_bytes(), encode_patch(patch));
        }
        drop(columns);
        for (source, record) in std::mem::take(&mut self.sources) {
            let key = SourceKey { source, file: FileId(0) };
            self.put::<Sources>(&key, &codec::encode("source", &record)?)?;
        }
        self.put::<Commits>(&CommitKey { commit }, &codec::encode("commit", record)?)?;
        let state = codec::encode("state", &self.state)?;
        self.put::<Meta>(&MetaKey::State, &state)?;

        // From here until the end the writer's memory and the disk may differ.
        self.writer.is_torn = true;
        let (rows, writer) = (std::mem::take(&mut self.rows), &*self.writer);
        let write = || writer.db.write_opt(rows, &synced());
        rayon::join(write, || writer.bands.announce(bands.as_ref())).0?;
        self.writer.acknowledge(Entry { commit: commit.0, documents: self.state.documents })?;
        // Let go of, so that the writer's bitmap is changed in its place.
        self.kept_before = Arc::default();
        if let Some(kept) = self.switched.take() {
            self.writer.kept = kept;
        }
        let changes =
            if self.is_current() { std::mem::take(&mut self.kept) } else { HashMap::new() };
        let kept = Arc::make_mut(&mut self.writer.kept);
        for (document, is_kept) in &changes {
            if *is_kept {
                kept.insert(document.0)
            } else {
                kept.remove(document.0)
            };
        }
        self.writer.terms.extend(self.new_terms.drain());
        if self.writer.terms.len() > TERM_CACHE {
            self.writer.terms.clear();
        }
        if let Some(encoder) = self.encoder.take() {
            self.writer.encoder = encoder;
        }
        self.writer.bands.committed(bands)?;
        self.writer.committed()?;
        self.writer.keep_aside(self.left.take());
        self.writer.is_torn = false;
        Ok(commit)
    }
}

/// Terms remembered between commits; more are read again.
const TERM_CACHE: usize = 1 << 18;
