//! The family `tokenizers`: records, `tokenizer.json`, how each was made, the files it was made of.

use crate::batch::CommitBatch;
use crate::bytes::key::{BlockNumber, ColumnKey, StoreKey, TokenizerKey, TokenizerPart, TokensKey};
use crate::bytes::record::{StoreState, TokenizerRecord};
use crate::database::PinnedMoment;
use crate::database::family::{StoreFamily, store_family};
use crate::documents::loss::Loss;
use crate::documents::numbers::Columns;
use crate::documents::tokens::Tokens;
use crate::error::{DecodeError, StoreError};
use crate::system_fields;
use crate::view::View;
use model::{DocId, SourceId, TokenizerId};
use std::path::Path;

store_family! {
    /// Tokenizers with their files.
    Tokenizers = "tokenizers", Small,
    TokenizerKey, "tokenizer u16, part u8"
    => {
        /// A tokenizer.
        TokenizerRecords = "tokenizer", tokenizer: TokenizerId [TokenizerKey { tokenizer, part: TokenizerPart::Record }]
        => TokenizerRecord, |_, bytes| TokenizerRecord::decode(bytes);
        /// Its `tokenizer.json`; the record holds the hash, which `check` compares.
        TokenizerJson = "tokenizer file", tokenizer: TokenizerId [TokenizerKey { tokenizer, part: TokenizerPart::File }]
        => &'v [u8], |_, bytes| Ok(bytes);
        /// How it was made.
        TokenizerDecisions = "tokenizer file", tokenizer: TokenizerId
        [TokenizerKey { tokenizer, part: TokenizerPart::Decisions }] => &'v [u8], |_, bytes| decode_decisions(bytes);
        /// One of the files it was made of, by its place in the record, which holds the hash of this one too.
        TokenizerOriginals = "tokenizer file", (tokenizer, at): (TokenizerId, u8)
        [TokenizerKey { tokenizer, part: TokenizerPart::Original(at) }] => &'v [u8], |_, bytes| Ok(bytes);
    }
    "part 0: record; 1: `tokenizer.json`; 2: how it was made, JSON; from 16: the files it was made of, verbatim"
}

fn decode_decisions(bytes: &[u8]) -> Result<&[u8], DecodeError> {
    let json = serde_json::from_slice::<serde::de::IgnoredAny>(bytes);
    json.map(|_| bytes).map_err(|error| DecodeError::at(0, error.to_string()))
}

/// Tokenizers of a corpus, dropped ones included: their columns are numbered from 0x1000 to 0x1fff.
const MOST: u16 = 0x1000;
const MOST_ORIGINALS: usize = TokenizerPart::MOST_ORIGINALS as usize;

/// What a tokenizer is registered with.
#[derive(Clone, Copy, Debug, Default)]
pub struct TokenizerFiles<'a> {
    /// Its `tokenizer.json`.
    pub file: &'a [u8],
    /// How it was trained or extended, as JSON; none when it came from outside.
    pub decisions: Option<&'a [u8]>,
    /// The files it was made of, in the order of the record's `originals`.
    pub originals: &'a [Vec<u8>],
}

/// Refuses a stored file name that would lead out of the directory it is written to: a corpus may be anybody's.
fn check_file_name(name: &str) -> Result<(), StoreError> {
    let is_plain = Path::new(name).file_name().is_some_and(|last| last == name);
    is_plain.then_some(()).ok_or_else(|| {
        StoreError::Name(format!(
            "a tokenizer's file is called {name:?}, which is not a plain file name; rename it, or export its tokenizer.json"
        ))
    })
}

fn missing(what: &'static str, tokenizer: TokenizerId) -> StoreError {
    StoreError::Missing { what, family: Tokenizers::NAME, key: tokenizer.to_string() }
}

/// Stands between the name of a tokenizer and the word of a draw: no other name has it.
const DRAW_SIGN: char = '#';

/// The name of a draw of a tokenizer: of its segmentations that `word` names, registered as a tokenizer of its own.
#[must_use]
pub fn draw_name(tokenizer: &str, word: &str) -> String {
    format!("{tokenizer}{DRAW_SIGN}{word}")
}

impl TokenizerRecord {
    /// The tokenizer that it draws segmentations of, and the word that names them; none where it gives the best ones.
    #[must_use]
    pub fn drawn(&self) -> Option<(&str, &str)> {
        self.name.split_once(DRAW_SIGN)
    }
}

impl View {
    /// Tokenizers that are no draws of others, ascending by id.
    pub fn own_tokenizers(&self) -> impl Iterator<Item = (TokenizerId, &TokenizerRecord)> {
        self.tokenizers().filter(|(_, record)| record.drawn().is_none())
    }

    /// Tokenizers, draws among them, ascending by id.
    pub fn tokenizers(&self) -> impl Iterator<Item = (TokenizerId, &TokenizerRecord)> {
        (0..).map(TokenizerId).zip(self.all_tokenizers()).filter(|(_, record)| !record.dropped)
    }

    /// The tokenizer of that name.
    #[must_use]
    pub fn tokenizer_named(&self, name: &str) -> Option<(TokenizerId, &TokenizerRecord)> {
        self.tokenizers().find(|(_, record)| record.name == name)
    }

    /// The `tokenizer.json` of a tokenizer.
    ///
    /// # Errors
    /// [`StoreError`] when it is absent or cannot be read.
    pub fn tokenizer_file(&self, tokenizer: TokenizerId) -> Result<Vec<u8>, StoreError> {
        let found = self.pinned().read_copy::<TokenizerJson, _>(&tokenizer)?;
        found.ok_or_else(|| missing("tokenizer file", tokenizer))
    }

    /// How a tokenizer was trained or extended, as JSON; none when it came from outside.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read.
    pub fn tokenizer_decisions(
        &self,
        tokenizer: TokenizerId,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        self.pinned().read_copy::<TokenizerDecisions, _>(&tokenizer)
    }

    /// One of the files that a tokenizer was made of, by its place in the record.
    ///
    /// # Errors
    /// [`StoreError`] when it is absent or cannot be read.
    pub fn tokenizer_original(
        &self,
        tokenizer: TokenizerId,
        at: usize,
    ) -> Result<Vec<u8>, StoreError> {
        let missing = || missing("original file", tokenizer);
        let key = (tokenizer, u8::try_from(at).map_err(|_| missing())?);
        self.pinned().read_copy::<TokenizerOriginals, _>(&key)?.ok_or_else(missing)
    }

    /// The files that a tokenizer was made of, by name; each name is that of a file in some directory.
    ///
    /// # Errors
    /// [`StoreError`] when one is absent or cannot be read; [`StoreError::Name`] when one is called like a path.
    pub fn tokenizer_originals(
        &self,
        tokenizer: TokenizerId,
        record: &TokenizerRecord,
    ) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        let named = record.originals.iter().enumerate();
        named
            .map(|(at, file)| {
                check_file_name(&file.name)?;
                Ok((file.name.clone(), self.tokenizer_original(tokenizer, at)?))
            })
            .collect()
    }

    /// Files of tokenizers that are not those of their records.
    pub(crate) fn damaged_tokenizers(&self) -> Result<Vec<String>, StoreError> {
        let mut damaged = Vec::new();
        for (id, record) in self.tokenizers() {
            if !self.has_its_hash(id, record)? {
                damaged.push(format!(
                    "tokenizer `{}` has another file than it was registered with",
                    record.name
                ));
            }
            for (at, original) in record.originals.iter().enumerate() {
                let bytes = self.tokenizer_original(id, at)?;
                if *blake3::hash(&bytes).as_bytes() != original.hash {
                    damaged.push(format!(
                        "`{}` of tokenizer `{}` has other bytes",
                        original.name, record.name
                    ));
                }
            }
        }
        Ok(damaged)
    }

    /// Whether the hash of a record is that of its file, alone or with its only original behind it.
    fn has_its_hash(&self, id: TokenizerId, record: &TokenizerRecord) -> Result<bool, StoreError> {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.tokenizer_file(id)?);
        if *hasher.finalize().as_bytes() == record.hash || record.originals.len() != 1 {
            return Ok(*hasher.finalize().as_bytes() == record.hash);
        }
        hasher.update(&self.tokenizer_original(id, 0)?);
        Ok(*hasher.finalize().as_bytes() == record.hash)
    }

    /// Records of tokenizers by id, dropped ones included.
    pub(crate) fn all_tokenizers(&self) -> &[TokenizerRecord] {
        &self.moment.records.tokenizers
    }

    /// The records of all tokenizers, by id: a view has them from its beginning.
    pub(crate) fn read_tokenizers(
        pinned: &PinnedMoment,
        state: &StoreState,
    ) -> Result<Vec<TokenizerRecord>, StoreError> {
        let record = |id| {
            let record = pinned.read::<TokenizerRecords, _>(&TokenizerId(id))?;
            record.ok_or_else(|| missing("tokenizer", TokenizerId(id)))
        };
        (0..state.next_tokenizer).map(record).collect()
    }

    /// Reads like [`View::read_tokenizers`]: a tokenizer whose record cannot be read counts as dropped.
    pub(crate) fn read_tokenizers_beside_damage(
        pinned: &PinnedMoment,
        state: &StoreState,
        damage: &mut Vec<String>,
    ) -> Vec<TokenizerRecord> {
        let record = |id: u16| {
            let found = pinned.read::<TokenizerRecords, _>(&TokenizerId(id));
            match found.and_then(|found| found.ok_or_else(|| missing("record", TokenizerId(id)))) {
                Ok(record) => record,
                Err(error) => {
                    damage.push(format!("tokenizer {id}: {error}"));
                    TokenizerRecord { dropped: true, ..TokenizerRecord::default() }
                }
            }
        };
        (0..state.next_tokenizer).map(record).collect()
    }
}

impl CommitBatch<'_> {
    /// Registers a tokenizer with its files.
    ///
    /// # Errors
    /// [`StoreError::Name`] when the name is taken or there are 4,096 already.
    pub fn add_tokenizer(
        &mut self,
        record: &TokenizerRecord,
        parts: TokenizerFiles<'_>,
    ) -> Result<TokenizerId, StoreError> {
        if self.view().tokenizer_named(&record.name).is_some() {
            return Err(StoreError::tokenizer_taken(&record.name));
        }
        let id = self
            .next_tokenizer(MOST)
            .ok_or_else(|| StoreError::Name(format!("a corpus holds at most {MOST} tokenizers")))?;
        if parts.originals.len() > MOST_ORIGINALS {
            return Err(StoreError::Name(format!("a tokenizer of over {MOST_ORIGINALS} files")));
        }
        record.originals.iter().try_for_each(|file| check_file_name(&file.name))?;
        self.put::<Tokenizers>(
            &TokenizerKey { tokenizer: id, part: TokenizerPart::File },
            parts.file,
        )?;
        if let Some(decisions) = parts.decisions {
            self.put::<Tokenizers>(
                &TokenizerKey { tokenizer: id, part: TokenizerPart::Decisions },
                decisions,
            )?;
        }
        for (at, bytes) in (0..).zip(parts.originals) {
            let part = TokenizerPart::Original(at);
            self.put::<Tokenizers>(&TokenizerKey { tokenizer: id, part }, bytes)?;
        }
        self.update_tokenizer(id, record)?;
        Ok(id)
    }

    /// Rewrites a tokenizer's record.
    ///
    /// # Errors
    /// [`StoreError`] when the record cannot be encoded.
    pub fn update_tokenizer(
        &mut self,
        tokenizer: TokenizerId,
        record: &TokenizerRecord,
    ) -> Result<(), StoreError> {
        self.put::<Tokenizers>(
            &TokenizerKey { tokenizer, part: TokenizerPart::Record },
            &record.encode()?,
        )
    }

    /// Writes how a tokenizer was made without the words that quoted what was purged.
    ///
    /// # Errors
    /// [`StoreError`] when there is no such family.
    pub fn redact_tokenizer(
        &mut self,
        tokenizer: TokenizerId,
        decisions: &[u8],
    ) -> Result<(), StoreError> {
        self.put::<Tokenizers>(
            &TokenizerKey { tokenizer, part: TokenizerPart::Decisions },
            decisions,
        )
    }

    /// Forgets a tokenizer: its ids, trained tokens, counts and files. Its record stays as the mark of a
    /// number that is not given again.
    ///
    /// # Errors
    /// [`StoreError`] when there is no such tokenizer or records cannot be encoded.
    pub fn drop_tokenizer(&mut self, tokenizer: TokenizerId) -> Result<(), StoreError> {
        let known = self.view().tokenizers().find(|(id, _)| *id == tokenizer);
        let (_, record) = known.ok_or_else(|| missing("tokenizer", tokenizer))?;
        let record = TokenizerRecord { dropped: true, ..record.clone() };
        let next = TokenizerId(tokenizer.0.saturating_add(1));
        let row = |tokenizer| TokensKey { tokenizer, document: DocId(0) }.to_bytes();
        self.delete_range::<Tokens>(row(tokenizer), row(next))?;
        self.delete_range::<Loss>(row(tokenizer), row(next))?;
        let column = |tokenizer| {
            ColumnKey { column: system_fields::tokens_of(tokenizer), block: BlockNumber(0) }
                .to_bytes()
        };
        let last = ColumnKey {
            column: system_fields::tokens_of(tokenizer),
            block: BlockNumber(u64::MAX >> 16),
        };
        let end = if next.0 < MOST { column(next) } else { last.to_bytes() };
        self.delete_range::<Columns>(column(tokenizer), end)?;
        let part = |part| TokenizerKey { tokenizer, part }.to_bytes();
        self.delete_range::<Tokenizers>(
            part(TokenizerPart::File),
            part(TokenizerPart::Original(u8::MAX)),
        )?;
        self.update_tokenizer(tokenizer, &record)?;
        let sources: Vec<SourceId> = self.view().sources().map(|(id, _)| id).collect();
        for source in sources {
            self.source_record(source)?.tokens.retain(|(id, _)| *id != tokenizer.0);
        }
        Ok(())
    }

    /// The next tokenizer's number, if there are fewer than `most`.
    pub(crate) fn next_tokenizer(&mut self, most: u16) -> Option<TokenizerId> {
        let next = self.state.next_tokenizer;
        (next < most).then(|| {
            self.state.next_tokenizer += 1;
            TokenizerId(next)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_file_name_outside_its_directory_is_refused() {
        for name in ["../out", "/etc/passwd", "..", "a/b", "a/", "", "."] {
            let error = check_file_name(name).unwrap_err().to_string();
            assert!(error.contains("not a plain file name"), "{error}");
        }
        for name in ["tokenizer.model", ".hidden", "..a", "a b"] {
            check_file_name(name).unwrap();
        }
    }
}
