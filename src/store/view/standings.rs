//! Standings of the documents of one block, its bitmaps read once: who asks about many documents asks here.

use crate::model::Standing;
use crate::store::columns::Postings;
use crate::store::error::StoreError;
use crate::store::fields;
use crate::store::rows::keys::{Block, PostingKey};
use crate::store::view::View;
use roaring::RoaringBitmap;

/// The standings of the documents of one block, as a view has them: at most 57 kB.
#[derive(Clone, Debug, Default)]
pub struct BlockStandings(Vec<(Standing, RoaringBitmap)>);

impl BlockStandings {
    /// The standing of the document in that slot; none when no bitmap has it.
    #[must_use]
    pub fn of(&self, slot: u16) -> Option<Standing> {
        let slot = u32::from(slot);
        self.0.iter().find(|(_, slots)| slots.contains(slot)).map(|(standing, _)| *standing)
    }
}

impl View {
    /// The standings of all documents of a block.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn block_standings(&self, block: u64) -> Result<BlockStandings, StoreError> {
        let mut found = Vec::new();
        for standing in Standing::ALL {
            let value = fields::standing_value(self.generation(), standing);
            let Some(term) = self.term(fields::STANDING, &value)? else { continue };
            let key = PostingKey { term, block: Block(block) };
            let slots = self.pinned().read::<Postings, _>("bitmap", &key)?;
            found.extend(slots.filter(|slots| !slots.is_empty()).map(|slots| (standing, slots)));
        }
        Ok(BlockStandings(found))
    }
}
