//! Fields that every document is given a value of: scores of its text, put into its metadata as it comes.

use super::error::IngestError;
use crate::model::FieldDeclaration;
use crate::signals::{Signal, scores, spelled};
use crate::store::{View, with_fields};

/// What documents are given as they come, and what is indexed of them.
pub(super) struct SignalFields {
    /// The declared fields.
    pub(super) fields: Vec<FieldDeclaration>,
    signals: Vec<Signal>,
    /// Where in the metadata the value of each signal stands.
    members: Vec<String>,
}

impl SignalFields {
    /// What the corpus says that documents are given.
    ///
    /// # Errors
    /// [`IngestError::Signal`] for a signal of another release.
    pub(super) fn of(view: &View) -> Result<Self, IngestError> {
        let (mut signals, mut members) = (Vec::new(), Vec::new());
        for (field, expression) in view.fed_fields() {
            let known = Signal::from_name(&field.name);
            let Some(signal) = known.filter(|signal| signal.expression == expression) else {
                let (name, expression) = (field.name.clone(), expression.to_owned());
                return Err(IngestError::Signal { name, expression });
            };
            signals.push(signal);
            members.push(field.member().to_owned());
        }
        Ok(Self { fields: view.fields().to_vec(), signals, members })
    }

    /// The metadata of a record with the scores of its text. What the record is recognised by was found before.
    ///
    /// # Errors
    /// In words, for metadata that are no object.
    pub(super) fn with_signals(&self, text: &str, metadata: String) -> Result<String, String> {
        if self.signals.is_empty() {
            return Ok(metadata);
        }
        let why = |error: serde_json::Error| format!("its scores cannot be stored: {error}");
        let raw = spelled(&scores(text, &self.signals)).map_err(why)?;
        let both = self.members.iter().zip(&raw);
        let values: Vec<_> = both.map(|(member, raw)| (member.as_str(), raw.as_ref())).collect();
        with_fields(&metadata, &values, &self.fields).map_err(why)
    }
}
