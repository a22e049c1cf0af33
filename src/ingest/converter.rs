//! Converts each record of an ingest, by the kind of its records, to a text and the way to encode it.

use super::chat::{ChatRenderer, ChatTemplate, RenderedChat, TemplateMarkers};
use super::filter::IngestFilter;
use super::imported_row::{ImportedRow, TokenIdsColumn, split_imported_row};
use super::options::{IngestOptions, RecordForm};
use super::pretokenized;
use super::pretokenized::SuppliedTokens;
use super::report::Alarm;
use crate::decide::LoadedTokenizer;
use files::input::ReadOptions;
use model::{
    CommitSeq, Error, FieldDeclaration, FieldKind, Hint, IncomingFilter, Interrupt, ReadRecord,
    Reject, RejectReason, SpelledMetadata, TextForm, overlaps_any, without_null_members,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use store::{TemplateRecord, View};
use text::contamination::SeedIndex;
use tokenizer::{Tokenizer, TokenizerError};

/// A record with how its text is encoded.
pub(super) struct ConvertedText {
    pub(super) record: ReadRecord,
    pub(super) form: Option<TextForm>,
    pub(super) given: Option<SuppliedTokens>,
    /// A template quoted arguments of tool calls a second time.
    pub(super) has_quoted_arguments: bool,
    /// Names of members of messages that a template left out.
    pub(super) left_out: Vec<String>,
    /// What was decided about it elsewhere.
    pub(super) decided: Option<ImportedRow>,
    /// What older releases stored of it, where that is something else.
    pub(super) earlier: Vec<EarlierText>,
}

impl ConvertedText {
    /// A record whose text is its own.
    const fn plain(record: ReadRecord) -> Self {
        Self {
            record,
            form: None,
            given: None,
            has_quoted_arguments: false,
            left_out: Vec::new(),
            decided: None,
            earlier: Vec::new(),
        }
    }
}

/// A record as releases stored it that kept the spelling of its fields, or read its input otherwise.
pub(super) struct EarlierText {
    pub(super) metadata: String,
    /// The record's text and its way of encoding, where they are made of its fields.
    pub(super) made: Option<(String, TextForm)>,
}

impl EarlierText {
    const fn of(metadata: String) -> Self {
        Self { metadata, made: None }
    }
}

/// What a template sets turns apart with that a tokenizer reads as several ordinary tokens: each with how many.
///
/// # Errors
/// [`TokenizerError`](crate::tokenizer::TokenizerError) when the tokenizer cannot be used.
fn unknown_markers_of(
    template: &ChatTemplate,
    tokenizer: &LoadedTokenizer,
) -> Result<Vec<(String, usize)>, TokenizerError> {
    let mut unknown = Vec::new();
    for marker in template.markers() {
        let (ids, _) = tokenizer.tokenizer.encode_with_offsets(&marker, true)?;
        let is_known = ids.len() == 1 && tokenizer.tokenizer.token_to_id(&marker).is_some();
        if !is_known {
            unknown.push((marker, ids.len()));
        }
    }
    Ok(unknown)
}

/// The markers that a tokenizer reads as several tokens, each with how many, of all chat templates that wrote stored
/// texts, without repetition.
///
/// # Errors
/// [`Error`] when a template cannot be read or the tokenizer cannot be used.
pub fn markers_read_as_text(
    view: &View,
    tokenizer: &LoadedTokenizer,
) -> Result<Vec<(String, usize)>, Error> {
    let mut found = Vec::new();
    for source in view.templates()? {
        // One that was used compiles.
        if let Ok(template) = ChatTemplate::new(&source) {
            found.extend(unknown_markers_of(&template, tokenizer)?);
        }
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// Kept conversations that spell special tokens of the tokenizer which their template does not write, by token: their
/// messages say them, and when they came in no tokenizer knew them, or they were allowed.
///
/// # Errors
/// [`Error`] when a text cannot be read, or for an interrupt.
pub fn specials_said_in_chats(
    view: &View,
    tokenizer: &Tokenizer,
    interrupt: &Interrupt,
) -> Result<BTreeMap<String, u64>, Error> {
    let specials = tokenizer.specials();
    let kept = view.kept()?;
    let mut said: BTreeMap<String, u64> = BTreeMap::new();
    // The members that the template of the last commit writes: documents come by commits.
    let mut written: Option<(CommitSeq, Vec<bool>)> = None;
    for form in view.text_forms()? {
        let (document, form) = form?;
        if !form.specials || form.given.is_some() || !kept.contains(document.0) {
            continue;
        }
        interrupt.check()?;
        let commit = view.commit_of(document)?;
        if written.as_ref().is_none_or(|(of, _)| *of != commit) {
            let mut source = String::new();
            if let Some(TemplateRecord { hash, variables }) = view.template_of(commit)? {
                source = view.template_source(&hash)? + &variables;
            }
            let is_written = |(_, special): &(u32, String)| source.contains(special.as_str());
            written = Some((commit, specials.iter().map(is_written).collect()));
        }
        let mut found = BTreeSet::new();
        tokenizer.specials_in(&view.text(document)?, |place, bytes| {
            let is_written = written.as_ref().and_then(|(_, written)| written.get(place));
            if is_written == Some(&false) && !overlaps_any(&form.plain, &bytes) {
                found.insert(place);
            }
        })?;
        for (_, special) in found.into_iter().filter_map(|place| specials.get(place)) {
            *said.entry(special.clone()).or_default() += 1;
        }
    }
    Ok(said)
}

/// Turns records into what is stored.
pub(super) struct RecordConverter {
    kind: ConverterKind,
    /// The filter of records, where not all come in.
    sieve: Option<IngestFilter>,
    /// What their texts are searched for.
    seeds: SeedIndex,
    /// How records are read: the names of their fields, and how long a text may be.
    read: ReadOptions,
    /// Documents are stored already, perhaps by an older release.
    has_stored: bool,
    interrupt: Interrupt,
    /// What is to be said of the template at the end.
    alarms: Vec<Alarm>,
}

enum ConverterKind {
    Text,
    Chat(Box<ChatRenderer>),
    Given {
        tokenizer: LoadedTokenizer,
        specials: Vec<u32>,
    },
    /// Texts with what was decided about them, and token ids in these columns.
    Decided(Vec<TokenIdsColumn>),
}

impl RecordConverter {
    pub(super) fn new(
        options: &IngestOptions,
        tokenizers: &[LoadedTokenizer],
        interrupt: &Interrupt,
    ) -> Result<Self, Error> {
        let mut alarms = Vec::new();
        let kind = match &options.form {
            RecordForm::Text => ConverterKind::Text,
            RecordForm::Chat(chat) => {
                if let Some(template) = &chat.template {
                    template.expect_tokens()?;
                    alarms = marker_alarms(template, chat.markers, tokenizers)?;
                }
                let specials = tokenizers.iter().flat_map(|known| known.tokenizer.specials());
                let specials = specials.map(|(_, spelling)| spelling);
                let chats = ChatRenderer::new(chat, options.read.text_field.as_deref(), specials)
                    .with_tokenizers(tokenizers);
                ConverterKind::Chat(Box::new(chats.within(options.read.max_doc_bytes, interrupt)))
            }
            RecordForm::Pretokenized(name) => {
                let found = tokenizers.iter().find(|tokenizer| tokenizer.name == *name);
                let tokenizer = found.ok_or_else(|| {
                    let known = tokenizers.iter().map(|known| known.name.as_str());
                    TokenizerError::unknown(name, known)
                })?;
                let specials = tokenizer.tokenizer.specials().into_iter().map(|(id, _)| id);
                ConverterKind::Given { tokenizer: tokenizer.clone(), specials: specials.collect() }
            }
        };
        Ok(Self {
            kind,
            sieve: None,
            seeds: SeedIndex::default(),
            read: options.reads(),
            has_stored: false,
            interrupt: interrupt.clone(),
            alarms,
        })
    }

    /// Lets in the records that a filter admits, and no others.
    pub(super) fn with_filter(
        mut self,
        filter: Option<Arc<dyn IncomingFilter>>,
        options: &IngestOptions,
    ) -> Self {
        self.sieve = filter.map(|filter| IngestFilter::new(filter, options));
        self
    }

    /// Converts texts that come with decisions and with token ids in these columns, if any are given.
    pub(super) fn with_decisions(mut self, ids: Option<Vec<TokenIdsColumn>>) -> Self {
        if let Some(ids) = ids {
            self.kind = ConverterKind::Decided(ids);
            // What is dropped of the fields are columns of the decision.
            self.read.drop_fields = Vec::new();
        }
        self
    }

    /// Has records compared with the stored documents, if there are any: also as earlier releases read them.
    pub(super) const fn with_stored(mut self, documents: u64) -> Self {
        self.has_stored = documents > 0;
        self.read.earlier = self.has_stored;
        self
    }

    /// Reads fields as they are declared.
    pub(super) fn with_declared(mut self, fields: &[FieldDeclaration]) -> Self {
        self.read.declared = declared_kinds(fields.iter().map(|field| (field.member(), field)));
        self
    }

    /// Documents are stored already, perhaps by an older release.
    pub(super) const fn has_stored(&self) -> bool {
        self.has_stored
    }

    /// How the inputs are read.
    pub(super) const fn read(&self) -> &ReadOptions {
        &self.read
    }

    /// Has the texts searched for suites.
    pub(super) fn with_seeds(mut self, seeds: SeedIndex) -> Self {
        self.seeds = seeds;
        self
    }

    /// What texts are searched for.
    pub(super) const fn seeds(&self) -> &SeedIndex {
        &self.seeds
    }

    /// Which records come in, where not all do.
    pub(super) const fn sieve(&self) -> Option<&IngestFilter> {
        self.sieve.as_ref()
    }

    /// What a careful person should know of how records become texts.
    pub(super) fn alarms(&self) -> &[Alarm] {
        &self.alarms
    }

    /// Whether a stop was requested where making a record's text may take long: then it may be cut short, and what is
    /// made of the record must not be stored.
    pub(super) fn is_interrupted(&self) -> bool {
        !matches!(self.kind, ConverterKind::Text | ConverterKind::Decided(_))
            && self.interrupt.is_raised()
    }

    /// The record as it is stored, or why it is not.
    pub(super) fn convert(&self, mut record: ReadRecord) -> Result<ConvertedText, Reject> {
        let spelled = record.spelled.take();
        match &self.kind {
            ConverterKind::Text => {
                let earlier = self.earlier_texts(&mut record, spelled);
                Ok(ConvertedText { earlier, ..ConvertedText::plain(record) })
            }
            ConverterKind::Decided(ids) => match split_imported_row(&record.metadata, ids) {
                Ok((metadata, decided)) => {
                    let record = ReadRecord { metadata, ..record };
                    Ok(ConvertedText { decided: Some(decided), ..ConvertedText::plain(record) })
                }
                Err(why) => Err(self.reject(record, RejectReason::Form(why))),
            },
            ConverterKind::Chat(chats) => self.convert_chat(chats, record, spelled),
            ConverterKind::Given { tokenizer, specials } => {
                match pretokenized::read_pretokenized(&record.metadata, tokenizer, specials) {
                    Ok(made) => {
                        let spelled =
                            spelled.as_ref().map_or(&record.metadata, |spelled| &spelled.json);
                        let earlier = match self.has_stored {
                            true => pretokenized::earlier_metadata(&record.metadata, spelled),
                            false => Vec::new(),
                        };
                        let earlier = earlier.into_iter().filter(|of| *of != made.metadata);
                        let earlier = earlier.map(EarlierText::of).collect();
                        let (text, metadata) = (made.text, made.metadata);
                        self.within_limit(ConvertedText {
                            form: Some(made.form),
                            given: Some(made.given),
                            earlier,
                            ..ConvertedText::plain(ReadRecord { text, metadata, ..record })
                        })
                    }
                    Err(why) => Err(self.reject(record, RejectReason::Form(why))),
                }
            }
        }
    }

    fn convert_chat(
        &self,
        chats: &ChatRenderer,
        record: ReadRecord,
        spelled: Option<SpelledMetadata>,
    ) -> Result<ConvertedText, Reject> {
        let other = spelled.as_ref().filter(|spelled| spelled.is_other_value);
        let other = other.map(|spelled| spelled.json.as_str());
        let rendered = without_null_members(&record.metadata).and_then(|plain| {
            let with_nulls = (plain != record.metadata).then_some(record.metadata.as_str());
            chats.render(&plain, other.or(with_nulls))
        });
        let RenderedChat { text, form, has_quoted_arguments, left_out } = match rendered {
            Ok(chat) => chat,
            Err(why) => return Err(self.reject(record, RejectReason::Form(why))),
        };
        let made = other.filter(|_| self.has_stored);
        let made = made.and_then(|spelled| chats.render(spelled, None).ok());
        let made = made.map(|chat| (chat.text, chat.form));
        let earlier = spelled.filter(|_| self.has_stored);
        let earlier = earlier.map(|spelled| EarlierText { metadata: spelled.json, made });
        let earlier = earlier.into_iter().collect();
        self.within_limit(ConvertedText {
            form: Some(form),
            has_quoted_arguments,
            left_out,
            earlier,
            ..ConvertedText::plain(ReadRecord { text, ..record })
        })
    }

    /// What older releases stored of a record whose text is its own.
    fn earlier_texts(
        &self,
        record: &mut ReadRecord,
        spelled: Option<SpelledMetadata>,
    ) -> Vec<EarlierText> {
        let (spelled, earlier) = (spelled.map(|spelled| spelled.json), record.earlier.take());
        if !self.has_stored {
            return Vec::new();
        }
        let of_key = record.earlier_key.as_ref().map(|_| record.metadata.clone());
        let of_key = of_key.filter(|_| spelled.is_none() && earlier.is_none());
        earlier.into_iter().chain(spelled).chain(of_key).map(EarlierText::of).collect()
    }

    /// The text, unless it is too long.
    fn within_limit(&self, converted: ConvertedText) -> Result<ConvertedText, Reject> {
        let bytes = u64::try_from(converted.record.text.len()).unwrap_or(u64::MAX);
        if bytes > self.read.max_doc_bytes {
            let reason = RejectReason::TooLong { bytes, limit: self.read.max_doc_bytes };
            return Err(self.reject(converted.record, reason));
        }
        Ok(converted)
    }

    fn reject(&self, record: ReadRecord, reason: RejectReason) -> Reject {
        self.read.reject(record, reason)
    }
}

/// Declared fields by the names that records have for them; a keyword is a text as it is.
pub(super) fn declared_kinds<'f>(
    fields: impl Iterator<Item = (&'f str, &'f FieldDeclaration)>,
) -> Vec<(String, FieldKind)> {
    let typed = fields.filter(|(_, field)| field.kind != FieldKind::Keyword);
    typed.map(|(name, field)| (name.to_owned(), field.kind)).collect()
}

fn marker_alarms(
    template: &ChatTemplate,
    otherwise: TemplateMarkers,
    tokenizers: &[LoadedTokenizer],
) -> Result<Vec<Alarm>, Error> {
    let mut alarms = Vec::new();
    for known in tokenizers {
        let Some((marker, tokens)) = unknown_markers_of(template, known)?.into_iter().next() else {
            continue;
        };
        let tokenizer = known.name.clone();
        if otherwise == TemplateMarkers::Special {
            return Err(Error::bad_input(format!(
                "tokenizer `{tokenizer}` encodes `{marker}` of the chat template as {tokens} ordinary tokens, so turn markers could not be distinguished from content"
            ))
            .with_hint(Hint::text(
                "every registered tokenizer must have it as one token: use the template of this one, make one that has it (`corpusdb tokenizer extend`) and drop this one (`corpusdb tokenizer drop`), or take it as text (`template_markers=text`)",
            )));
        }
        alarms.push(Alarm::MarkerAsText { tokenizer, marker, tokens: tokens as u64 });
    }
    Ok(alarms)
}
