//! Reads rows of an epoch with ids from the files that it was built into: in one go, not document by document.

use super::manifest::Manifest;
use crate::epoch::error::EpochError;
use crate::epoch::stream::Epoch;
use crate::epoch::stream::{EpochFiles, IdFile};
use model::IoError;
use std::fs;
use std::path::Path;

impl Epoch {
    /// This epoch with the ids of its rows from the files that it was built into, in `dir`. Rows, batches and all
    /// reported about them comes from the plan, as before; whether the files have them is what `epoch verify` proves.
    /// Files of bare ids will do: `litdata`, `megatron`, `raw`, of rows of one length.
    ///
    /// # Errors
    /// [`EpochError::Files`] when they are those of another plan or epoch, of another format, or not as long as they
    /// were written; [`EpochError::Plan`] when the manifest cannot be read; [`EpochError::Io`].
    pub fn from_files(self, dir: &Path) -> Result<Self, EpochError> {
        let manifest = Manifest::read(dir)?;
        let ids = ids(&self, dir, &manifest)?;
        Ok(self.with_files(ids))
    }
}

fn ids(epoch: &Epoch, dir: &Path, manifest: &Manifest) -> Result<EpochFiles, EpochError> {
    let plan = &epoch.opened().plan;
    let refused = |why: String| EpochError::Files { path: dir.to_path_buf(), why };
    if manifest.plan != plan.hash_hex() {
        return Err(refused(format!(
            "was built from plan {:.16}, and these are rows of plan {:.16}: build this plan, or use the other one",
            manifest.plan,
            plan.hash_hex()
        )));
    }
    if manifest.epoch != epoch.number() {
        return Err(refused(format!(
            "holds epoch {}, and these are rows of epoch {}: build that one",
            manifest.epoch,
            epoch.number()
        )));
    }
    let output = &plan.recipe.output;
    let named = output.file_format().bare_ids().filter(|_| plan.fixed_length()).ok_or_else(|| {
        refused(format!(
            "rows of format {} cannot be read from files: build with `[output] format` raw, litdata or megatron, and rows of one length, or leave the files out",
            output.format.name()
        ))
    })?;
    let specials = &plan.tokenizer.specials;
    let special = [specials.pad, specials.bos, specials.eos].into_iter().flatten().max();
    let mut found = EpochFiles {
        files: Vec::new(),
        row_tokens: plan.capacity as usize,
        id_bytes: output.id_type(plan.tokenizer.vocab_size).bytes(),
        vocab: plan.tokenizer.vocab_size.max(special.map_or(0, |id| id.saturating_add(1))),
    };
    let number = |name: &str| {
        name.strip_prefix(named.before)?.strip_suffix(named.behind)?.parse::<u64>().ok()
    };
    let mut files: Vec<_> =
        manifest.files.iter().filter_map(|file| Some((number(&file.name)?, file))).collect();
    files.sort_by_key(|(number, _)| *number);
    let row_bytes = u128::from(plan.capacity) * found.id_bytes as u128;
    let mut first = 0_u64;
    for (_, file) in files {
        let path = dir.join(&file.name);
        let bytes = fs::metadata(&path).map_err(IoError::of("opening", &path))?.len();
        let header = (named.header)(file.rows);
        let wanted = u128::from(header) + u128::from(file.rows) * row_bytes;
        if u128::from(bytes) != wanted {
            let why = format!(
                "has {bytes} bytes, but {} rows take {wanted}: the file was changed; build the epoch again",
                file.rows
            );
            return Err(EpochError::Files { path, why });
        }
        found.files.push(IdFile { path, first, rows: file.rows, header });
        first = first.saturating_add(file.rows);
    }
    if first != epoch.rows() {
        return Err(refused(format!(
            "has {first} rows in its files, and the epoch has {}: build it again",
            epoch.rows()
        )));
    }
    Ok(found)
}
