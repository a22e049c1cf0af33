//! How many bytes an id takes where files do not say it, from what their readers elsewhere do.

use crate::epoch::recipe::{Format, Ids, Layout, OutputRecipe};

/// Bytes of an id of a vocabulary of `vocab` in the files of an output.
///
/// nanoGPT and llm.c read `np.uint16`; datatrove takes two bytes while the vocabulary is below 65,536
/// (`DocumentTokenizer.token_size`); OLMo, litdata and plain files take two while the largest id fits; MDS has the type
/// that the recipe names, of four bytes where it names none.
pub fn bytes(output: &OutputRecipe, vocab: u32) -> usize {
    let narrow = match (output.format, output.layout()) {
        (Format::Mds, _) => output.ids == Some(Ids::U16),
        (Format::Raw, Layout::Nanogpt | Layout::LlmC) => true,
        (Format::Raw, Layout::Datatrove) => vocab <= 0xffff,
        (Format::Raw, Layout::Plain | Layout::Olmo) | (Format::Litdata, _) => vocab <= 0x1_0000,
        // Their files say it themselves.
        (Format::Parquet | Format::Arrow | Format::Jsonl | Format::Megatron, _) => false,
    };
    if narrow { 2 } else { 4 }
}
