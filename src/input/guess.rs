//! The text field of an input whose user named none.

/// Usual names, best first.
const USUAL: [&str; 5] = ["text", "content", "raw_content", "document", "body"];

/// The best of the usual names among `fields`.
pub(super) fn vote_text_field<'a>(
    fields: impl Iterator<Item = &'a str> + Clone,
) -> Option<&'static str> {
    USUAL.into_iter().find(|usual| fields.clone().any(|field| field == *usual))
}

/// Field names for an error message.
pub(super) fn field_names_for_message<'a>(fields: impl Iterator<Item = &'a str>) -> String {
    const SHOWN: usize = 40;
    let mut names: Vec<String> = fields.map(|field| format!("`{field}`")).collect();
    if names.is_empty() {
        return "no fields at all".to_owned();
    }
    if names.len() > SHOWN {
        let more = names.len() - SHOWN;
        names.truncate(SHOWN);
        names.push(format!("{more} more"));
    }
    names.join(", ")
}
