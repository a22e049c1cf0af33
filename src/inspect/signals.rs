//! Lists the signals that can be stored, and how many documents of a corpus have a value of each.

use super::fields::fields;
use crate::inspect::InspectError;
use serde::Serialize;
use store::View;
use text::signals::Signal;

/// A signal that can be stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
#[cfg_attr(feature = "cli", schemars(rename = "Signal"))]
pub struct SignalSummary {
    /// Its name, also the name of its field.
    pub name: &'static str,
    /// The set it belongs to: `gopher`, `c4`, `fineweb`, or `all` if it belongs to no other set.
    pub set: &'static str,
    /// The type of its values.
    pub kind: &'static str,
    /// Its function, in SQL over `documents`.
    pub expression: &'static str,
    /// The version of its rule in this release: 2 and more for a signal whose values an earlier release computed
    /// otherwise.
    pub version: u16,
    /// `stored`: every new document gets it; `outdated`: likewise, but documents stored by an earlier release keep the
    /// values of an earlier version, until `signals add` computes all again; `filling`: its addition was interrupted;
    /// `absent`; `other`, when a field of its name has other values.
    pub state: &'static str,
    /// The version by which it was stored first.
    pub stored_version: Option<u16>,
    /// Documents that have a value, where it is stored or filled.
    pub documents: Option<u64>,
}

/// Every signal that can be stored, and what of it the corpus has. Reads columns, no document.
///
/// # Errors
/// [`InspectError`] when a column cannot be read.
pub fn signals(view: &View) -> Result<Vec<SignalSummary>, InspectError> {
    let declared = fields(view)?;
    let summary = |signal: &Signal| {
        let field = declared.iter().find(|field| field.name == signal.name);
        let expression = field.and_then(|field| field.expression.as_deref());
        let stored_version = expression.and_then(|stored| signal.stored_version(stored));
        let is_outdated = stored_version != Some(signal.version);
        let state = match field {
            None => "absent",
            Some(_) if stored_version.is_none() => "other",
            Some(field) if field.state == "fed" && is_outdated => "outdated",
            Some(field) if field.state == "fed" => "stored",
            Some(field) if field.state == "filling" => "filling",
            Some(_) => "other",
        };
        let documents = field.filter(|_| matches!(state, "stored" | "outdated" | "filling"));
        SignalSummary {
            name: signal.name,
            set: signal.set.name(),
            kind: signal.kind.name(),
            expression: signal.expression,
            version: signal.version,
            state,
            stored_version: stored_version.filter(|_| state != "other"),
            documents: documents.map(|field| field.documents),
        }
    };
    Ok(Signal::ALL.iter().map(summary).collect())
}

/// The stored signals of which some documents may have values by the rule of an earlier release.
pub(super) fn outdated(view: &View) -> Vec<&'static str> {
    let is_earlier = |signal: &&Signal| {
        let mut fields = view.added_fields().iter().map(|(_, field)| field);
        let field = fields.find(|field| field.name == signal.name);
        let stored = field.and_then(|field| field.expression.as_deref());
        let version = stored.and_then(|stored| signal.stored_version(stored));
        version.is_some_and(|version| version < signal.version)
    };
    Signal::ALL.iter().filter(is_earlier).map(|signal| signal.name).collect()
}
