//! The text of a conversation, and which bytes of it are trained on.

use super::budget::{RenderBudget, RenderLimits};
use super::conversation;
use super::conversation::Conversation;
use super::options::ForbiddenSpellings;
use super::options::{ChatOptions, SpecialInContent};
use super::template::{ChatTemplate, MARKS};
use super::values::Members;
use crate::model::{Interrupt, LossSpan, TextForm, json_string};
use minijinja::value::Value;

const RESERVED: &str = "a character that is reserved for generation marks (U+FDD0, U+FDD1)";

/// What a conversation became.
pub(in crate::ingest) struct RenderedChat {
    pub(in crate::ingest) text: String,
    pub(in crate::ingest) form: TextForm,
    /// Arguments of a tool call came as a JSON text, and the template quoted that a second time.
    pub(in crate::ingest) has_quoted_arguments: bool,
}

/// Makes texts of conversations.
pub(in crate::ingest) struct ChatRenderer {
    options: ChatOptions,
    field: Option<String>,
    specials: ForbiddenSpellings,
    /// Generation marks, which no record may hold.
    marks: ForbiddenSpellings,
    limits: RenderLimits,
}

impl ChatRenderer {
    /// `specials` are spellings that tokenizers of the corpus know; `field` is the list's name, if it has
    /// another than usual.
    pub(in crate::ingest) fn new(
        options: &ChatOptions,
        field: Option<&str>,
        specials: impl IntoIterator<Item = String>,
    ) -> Self {
        let template = options.template.iter().flat_map(|template| template.forbidden());
        Self {
            options: options.clone(),
            field: field.map(str::to_owned),
            specials: ForbiddenSpellings::new(specials.into_iter().chain(template)),
            marks: ForbiddenSpellings::new(MARKS.map(String::from)),
            limits: RenderLimits::default(),
        }
    }

    /// With a bound on what a template writes, and a way to stop it.
    pub(in crate::ingest) fn within(self, max_doc_bytes: u64, interrupt: &Interrupt) -> Self {
        let limits =
            RenderLimits { bytes: max_doc_bytes, interrupt: interrupt.clone(), ..self.limits };
        Self { limits, ..self }
    }

    #[cfg(test)]
    pub(super) fn with_steps(self, steps: u64) -> Self {
        Self { limits: RenderLimits { steps, ..self.limits }, ..self }
    }

    /// The text of one record, in its canonical form; the reason why it is rejected otherwise. `spelled` is the record as
    /// the input has it, where that says more.
    pub(in crate::ingest) fn render(
        &self,
        record: &str,
        spelled: Option<&str>,
    ) -> Result<RenderedChat, String> {
        let (shape, field) = (self.options.shape, self.field.as_deref());
        let turns = conversation::read_conversation(record, spelled, shape, field)?;
        let Some(template) = &self.options.template else {
            let Some((prompt, completion)) = turns.plain else {
                return Err("such a record needs a chat template (--chat-template)".to_owned());
            };
            let weight = turns.weights.last().copied().unwrap_or(1.0);
            let text = prompt.clone() + &completion;
            let spans = SpanBuilder::default().and(prompt.len(), text.len(), weight)?;
            let form = TextForm { specials: false, given: None, spans: Some(spans.0) };
            return Ok(RenderedChat { text, form, has_quoted_arguments: false });
        };
        self.check_specials(&turns)?;
        let mut work = RenderBudget::new(&self.limits);
        let (text, spans) = if template.is_marked() {
            if turns.messages.iter().any(|message| self.marks.find_in(message).is_some()) {
                return Err(RESERVED.to_owned());
            }
            render_by_marks(template, &turns, &mut work)?
        } else {
            render_by_prefixes(template, &turns, &mut work)?
        };
        let has_quoted_arguments = has_quoted_arguments(&turns, &text);
        let form = TextForm { specials: true, given: None, spans: Some(spans) };
        Ok(RenderedChat { text, form, has_quoted_arguments })
    }

    #[cfg(test)]
    pub(super) fn text(&self, record: &str) -> Result<(String, TextForm), String> {
        self.render(record, None).map(|chat| (chat.text, chat.form))
    }

    fn check_specials(&self, turns: &Conversation) -> Result<(), String> {
        if self.options.special_in_content == SpecialInContent::Allow {
            return Ok(());
        }
        for (number, message) in turns.messages.iter().enumerate() {
            if let Some(special) = self.specials.find_in(message) {
                return Err(format!(
                    "message {number} spells the special token `{special}`, which would become that token (--special-in-content allow)"
                ));
            }
        }
        if let Some((name, special)) = turns
            .context
            .iter()
            .find_map(|(name, value)| Some((name, self.specials.find_value(value)?)))
        {
            return Err(format!(
                "field `{name}` spells the special token `{special}`, which would become that token (--special-in-content allow)"
            ));
        }
        Ok(())
    }
}

/// Trained bytes, ascending.
#[derive(Default)]
struct SpanBuilder(Vec<LossSpan>);

impl SpanBuilder {
    fn and(mut self, start: usize, end: usize, weight: f32) -> Result<Self, String> {
        let narrow = |at: usize| u32::try_from(at).map_err(|_| "longer than 4 GiB".to_owned());
        let (start, end) = (narrow(start)?, narrow(end)?);
        if start < end && weight > 0.0 {
            match self.0.last_mut() {
                Some(last) if last.end > start => return Err("turns that overlap".to_owned()),
                _ => self.0.push(LossSpan { start, end, weight }),
            }
        }
        Ok(self)
    }
}

fn has_quoted_arguments(turns: &Conversation, text: &str) -> bool {
    let mut spelled = turns.messages.iter().flat_map(conversation::spelled_arguments);
    spelled.any(|arguments| text.contains(&json_string(&arguments)))
}

fn values(turns: &Conversation) -> Vec<Value> {
    turns.messages.iter().map(Members::to_value).collect()
}

/// An assistant's turn is what the template adds to the conversation before it, opened for an
/// answer, when the turn is there; this and all that follows must only ever add.
fn render_by_prefixes(
    template: &ChatTemplate,
    turns: &Conversation,
    work: &mut RenderBudget<'_>,
) -> Result<(String, Vec<LossSpan>), String> {
    let messages = values(turns);
    let whole = template.render(&messages, &turns.context, false, work);
    let whole = whole.map_err(|why| turns.with_odd_message(why))?;
    let mut spans = SpanBuilder::default();
    for (number, weight) in turns.weights.iter().enumerate() {
        if *weight <= 0.0 {
            continue;
        }
        let is_last = number + 1 == messages.len();
        let upto = |end: usize| messages.get(..end).unwrap_or_default();
        let asked = template.render(upto(number), &turns.context, true, work);
        let asked = asked.map_err(|why| format!("before message {number}: {why}"))?;
        let answered = if is_last {
            whole.clone()
        } else {
            let answered = template.render(upto(number + 1), &turns.context, false, work);
            answered.map_err(|why| format!("up to message {number}: {why}"))?
        };
        expect_prefix(
            &asked,
            &answered,
            number,
            "its answer is opened otherwise than it stands in the turn",
        )?;
        expect_prefix(&answered, &whole, number, "it stands otherwise in the whole conversation")?;
        spans = spans.and(asked.len(), answered.len(), *weight)?;
    }
    Ok((whole, spans.0))
}

/// Fails with the first byte at which `longer` does not begin with `shorter`.
fn expect_prefix(shorter: &str, longer: &str, number: usize, what: &str) -> Result<(), String> {
    if longer.starts_with(shorter) {
        return Ok(());
    }
    let at = shorter.bytes().zip(longer.bytes()).take_while(|(a, b)| a == b).count();
    let from = longer.floor_char_boundary(at.min(shorter.floor_char_boundary(at)));
    let excerpt =
        |text: &str| text.get(from..).unwrap_or_default().chars().take(24).collect::<String>();
    Err(format!(
        "the template is not prefix-preserving: of message {number}, {what}, from byte {at} ({:?} became {:?}); trained tokens cannot be found; use a template with generation marks",
        excerpt(shorter),
        excerpt(longer)
    ))
}

/// The template marks what is trained on; the marks are taken out.
fn render_by_marks(
    template: &ChatTemplate,
    turns: &Conversation,
    work: &mut RenderBudget<'_>,
) -> Result<(String, Vec<LossSpan>), String> {
    let messages = values(turns);
    let marked = template.render(&messages, &turns.context, false, work);
    let marked = marked.map_err(|why| turns.with_odd_message(why))?;
    let [open, close] = MARKS;
    let (mut text, mut found, mut begun) = (String::with_capacity(marked.len()), Vec::new(), None);
    for character in marked.chars() {
        if character == open && begun.is_none() {
            begun = Some(text.len());
        } else if character == close
            && let Some(start) = begun.take()
        {
            found.push((start, text.len()));
        } else if character == open || character == close {
            return Err(RESERVED.to_owned());
        } else {
            text.push(character);
        }
    }
    if begun.is_some() {
        return Err("a generation mark that does not end".to_owned());
    }
    let said = turns.messages.iter().zip(&turns.weights);
    let said = said
        .filter(|(message, _)| message.get("role").and_then(Value::as_str) == Some("assistant"));
    let weights: Vec<f32> = said.map(|(_, weight)| *weight).collect();
    let is_plain = weights.iter().all(|weight| weight.to_bits() == 1_f32.to_bits());
    if !is_plain && weights.len() != found.len() {
        return Err(format!(
            "the template marks {} parts and the assistant has {} turns, so their weights cannot be assigned",
            found.len(),
            weights.len()
        ));
    }
    let mut spans = SpanBuilder::default();
    for (number, (start, end)) in found.into_iter().enumerate() {
        let weight = if is_plain { 1.0 } else { weights.get(number).copied().unwrap_or(1.0) };
        spans = spans.and(start, end, weight)?;
    }
    Ok((text, spans.0))
}
