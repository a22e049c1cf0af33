//! Registers draws of a tokenizer: for each pass of an epoch one of its own, which draws a segmentation of every text.
//!
//! Each is registered with the files of the tokenizer that it draws of. Its name says what it draws, so that nothing
//! else need be stored; no other tokenizer has such a name.

use super::drawing::DRAWS_BY;
use super::tokenizers::{find, load};
use model::{Error, Hint};
use store::{CommitRecord, StoreWriter, TokenizerFiles, TokenizerRecord, draw_name};
use tokenizer::Segmentation;

/// Registers the draws of so many passes that there are not yet, in one commit; answers the names of all.
///
/// # Errors
/// [`Error`] when there is no such tokenizer, or it has no such segmentations.
pub fn register_draws(
    writer: &mut StoreWriter,
    name: &str,
    segmentation: Segmentation,
    passes: u32,
) -> Result<Vec<String>, Error> {
    let words: Vec<String> = (0..passes).map(|pass| segmentation.pass_name(pass)).collect();
    let names: Vec<String> = words.iter().map(|word| draw_name(name, word)).collect();
    let is_there = |of: &String| writer.view().tokenizer_named(of).is_some();
    if names.iter().all(is_there) {
        return Ok(names);
    }
    let (_, base) = find(writer.view(), name)?;
    if base.drawn().is_some() {
        let message = format!("tokenizer `{name}` draws itself: no segmentations of it are drawn");
        return Err(Error::bad_input(message));
    }
    let loaded = load(writer.view(), Some(name))?;
    let drawn = loaded.tokenizer.encode_segmentation("", false, segmentation, &mut Vec::new());
    drawn.map_err(|error| {
        let error = Error::from(error);
        let way_out = match segmentation {
            Segmentation::Dropout { .. } => "kind = \"sample\" draws segmentations of a Unigram",
            _ => "kind = \"dropout\" draws segmentations of a BPE",
        };
        // The keys of a recipe are no options.
        let words =
            error.to_string().replace("`alpha=`", "alpha").replace("`dropout=`", "probability");
        let message = format!("tokenizer.segmentation of `{name}`: {words}");
        Error::of(error.kind(), message).with_hint(Hint::text(way_out))
    })?;
    let new = names.iter().zip(&words).filter(|(name, _)| !is_there(name));
    let new: Vec<(&String, &String)> = new.collect();
    add(writer, name, &new)?;
    Ok(names)
}

/// Registers a draw of a tokenizer, of which its name says all.
///
/// # Errors
/// [`Error`] when there is no such tokenizer, or the name is taken.
pub fn register_draw(writer: &mut StoreWriter, name: &str, word: &str) -> Result<String, Error> {
    let (draw, word) = (draw_name(name, word), word.to_owned());
    add(writer, name, &[(&draw, &word)])?;
    Ok(draw)
}

fn add(writer: &mut StoreWriter, name: &str, draws: &[(&String, &String)]) -> Result<(), Error> {
    let (id, base) = find(writer.view(), name)?;
    let base = base.clone();
    let json = writer.view().tokenizer_file(id)?;
    let originals = writer.view().tokenizer_originals(id, &base)?;
    let originals: Vec<Vec<u8>> = originals.into_iter().map(|(_, bytes)| bytes).collect();
    let parts = TokenizerFiles { file: &json, decisions: None, originals: &originals };
    let first = draws.first().map_or(name, |(draw, _)| draw.as_str());
    let mut batch = writer.begin()?;
    for (draw, word) in draws {
        let record = TokenizerRecord {
            name: (*draw).clone(),
            lineage: format!("segmentations of `{name}`: {word}"),
            reference: format!("{DRAWS_BY}{}", base.reference),
            encoded_to: 0,
            base: None,
            ..base.clone()
        };
        batch.add_tokenizer(&record, parts)?;
    }
    batch.commit(&CommitRecord::about("tokenizer", first))?;
    Ok(())
}
