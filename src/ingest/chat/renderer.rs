//! Renders the text of a conversation, and marks which bytes of it are trained on.

use super::budget::{RenderBudget, RenderLimits};
use super::conversation;
use super::conversation::Conversation;
use super::forged::ForgedTokens;
use super::left_out::{check_contents, members_left_out};
use super::options::ForbiddenSpellings;
use super::options::{ChatOptions, SpecialInContent};
use super::template::{ChatTemplate, MARKS};
use super::trace::{Trace, common};
use super::values::Members;
use crate::decide::LoadedTokenizer;
use minijinja::value::Value;
use model::invariant::{part, text_part};
use model::{Interrupt, LossSpan, TextForm, json_string};

const RESERVED: &str = "a character that is reserved for generation marks (U+FDD0, U+FDD1)";

/// What a conversation became.
pub(in crate::ingest) struct RenderedChat {
    pub(in crate::ingest) text: String,
    pub(in crate::ingest) form: TextForm,
    /// Arguments of a tool call came as a JSON text, and the template quoted that a second time.
    pub(in crate::ingest) has_quoted_arguments: bool,
    /// Names of members of its messages that are not in the text.
    pub(in crate::ingest) left_out: Vec<String>,
}

/// Makes texts of conversations.
pub(in crate::ingest) struct ChatRenderer {
    options: ChatOptions,
    field: Option<String>,
    specials: ForbiddenSpellings,
    /// Special tokens that a record puts together; none: they may stand in a record, or nothing joins it.
    forged: Option<ForgedTokens>,
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
        let specials = ForbiddenSpellings::new(specials.into_iter().chain(template));
        let is_checked = options.special_in_content != SpecialInContent::Allow;
        let template = options.template.as_ref().filter(|_| is_checked);
        Self {
            options: options.clone(),
            field: field.map(str::to_owned),
            forged: template.map(|template| ForgedTokens::new(&specials, template)),
            specials,
            marks: ForbiddenSpellings::new(MARKS.map(String::from)),
            limits: RenderLimits::default(),
        }
    }

    /// Also checks the texts for special tokens that one of these tokenizers finds behind other spellings.
    pub(in crate::ingest) fn with_tokenizers(self, tokenizers: &[LoadedTokenizer]) -> Self {
        let forged = self.forged.map(|forged| forged.with_tokenizers(tokenizers));
        Self { forged, ..self }
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
            let form = TextForm { spans: Some(spans.0), ..TextForm::default() };
            let (has_quoted_arguments, left_out) = (false, Vec::new());
            return Ok(RenderedChat { text, form, has_quoted_arguments, left_out });
        };
        self.check_specials(&turns)?;
        let mut work = RenderBudget::new(&self.limits);
        let (text, spans) = if template.is_marked() {
            if turns.messages.iter().any(|message| self.marks.find_in(message).is_some()) {
                return Err(RESERVED.to_owned());
            }
            render_by_marks(template, &turns, &mut work)?
        } else {
            render_by_prefixes(template, &self.specials, &turns, &mut work)?
        };
        let of = ((&self.specials, template.as_ref()), (&turns, text.as_str()));
        let plain = match &self.forged {
            Some(forged) if self.keeps_text() => forged.said(of.0, of.1, &mut work)?,
            Some(forged) => forged.check(of.0, of.1, &mut work).map(|()| Vec::new())?,
            None => Vec::new(),
        };
        check_contents(template, (&turns, &text), &mut work)?;
        let left_out = members_left_out(&turns, &text);
        let has_quoted_arguments = has_quoted_arguments(&turns, &text);
        let form = TextForm { specials: true, given: None, plain, spans: Some(spans) };
        Ok(RenderedChat { text, form, has_quoted_arguments, left_out })
    }

    #[cfg(test)]
    pub(super) fn text(&self, record: &str) -> Result<(String, TextForm), String> {
        self.render(record, None).map(|chat| (chat.text, chat.form))
    }

    /// Whether special tokens in a record are text, and no reason to reject it.
    fn keeps_text(&self) -> bool {
        self.options.special_in_content == SpecialInContent::Text
    }

    fn check_specials(&self, turns: &Conversation) -> Result<(), String> {
        let Some(forged) = &self.forged else { return Ok(()) };
        forged.check_roles(turns)?;
        if self.keeps_text() {
            return Ok(());
        }
        for (number, message) in turns.messages.iter().enumerate() {
            if let Some(special) = self.specials.find_in(message) {
                return Err(format!(
                    "message {number} spells the special token `{special}`, which would become that token (--special-in-content text keeps it as text)"
                ));
            }
        }
        if let Some((name, special)) = turns
            .context
            .iter()
            .find_map(|(name, value)| Some((name, self.specials.find_value(value)?)))
        {
            return Err(format!(
                "field `{name}` spells the special token `{special}`, which would become that token (--special-in-content text keeps it as text)"
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
/// answer, when the turn is there. Where it stands otherwise once others follow, it is found by its texts.
fn render_by_prefixes(
    template: &ChatTemplate,
    specials: &ForbiddenSpellings,
    turns: &Conversation,
    work: &mut RenderBudget<'_>,
) -> Result<(String, Vec<LossSpan>), String> {
    let messages = values(turns);
    let whole = template.render(&messages, &turns.context, false, work);
    let whole = whole.map_err(|why| turns.with_odd_message(why))?;
    let (mut spans, mut trace) = (SpanBuilder::default(), None);
    for (number, weight) in turns.weights.iter().enumerate() {
        if *weight <= 0.0 {
            continue;
        }
        let is_last = number + 1 == messages.len();
        let upto = |end: usize| part(&messages, ..end);
        let asked = template.render(upto(number), &turns.context, true, work);
        let asked = asked.map_err(|why| format!("before message {number}: {why}"))?;
        let answered = if is_last {
            whole.clone()
        } else {
            let answered = template.render(upto(number + 1), &turns.context, false, work);
            answered.map_err(|why| format!("up to message {number}: {why}"))?
        };
        let (start, end) = match expect_added((&asked, &answered, &whole), number) {
            Ok(()) => (asked.len(), answered.len()),
            Err(why) => {
                let of = (template, turns);
                let all = match &mut trace {
                    Some(all) => all,
                    None => trace.insert(Trace::of(of, messages.len(), false, &whole, work)?),
                };
                if all.as_ref().is_some_and(|all| all.is_silent(number)) {
                    return Err(format!(
                        "message {number} (assistant): the template writes nothing of it, neither a content nor its calls, so its answer would be missing"
                    ));
                }
                let before = template.render(upto(number), &turns.context, false, work);
                let opener = before.map(|before| asked.get(common(&asked, &before).len()..));
                let opener = opener.ok().flatten().unwrap_or_default();
                let before = Trace::of(of, number, true, &asked, work)?;
                let alone = Trace::of(of, number + 1, false, &answered, work)?;
                let found = all.as_ref().zip(before.as_ref()).zip(alone.as_ref());
                let found = found.and_then(|((all, before), alone)| {
                    let special = |text: &str| specials.length_at_start(text);
                    all.answer(number, (before, alone), opener, special)
                });
                found.ok_or(why)?
            }
        };
        spans = spans.and(start, end, *weight)?;
    }
    Ok((whole, spans.0))
}

/// Fails for an answer that is not added to what stands before it, or not kept in the whole.
fn expect_added((asked, answered, whole): (&str, &str, &str), number: usize) -> Result<(), String> {
    let opened = "its answer is opened otherwise than it stands in the turn";
    expect_prefix(asked, answered, number, opened)?;
    expect_prefix(answered, whole, number, "it stands otherwise in the whole conversation")
}

/// Fails with the first byte at which `longer` does not begin with `shorter`.
fn expect_prefix(shorter: &str, longer: &str, number: usize, what: &str) -> Result<(), String> {
    if longer.starts_with(shorter) {
        return Ok(());
    }
    let at = shorter.bytes().zip(longer.bytes()).take_while(|(a, b)| a == b).count();
    let from = common(shorter, longer).len();
    let excerpt = |text: &str| text_part(text, from..).chars().take(24).collect::<String>();
    Err(format!(
        "the template is not prefix-preserving: of message {number}, {what}, from byte {at} ({:?} became {:?}); trained tokens cannot be found; mark them in the template with {{% generation %}} (TRL publishes such templates of many models, named *_training.jinja), or leave that message out with \"train\": false",
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
    let is_assistant =
        |message: &Members| message.get("role").and_then(Value::as_str) == Some("assistant");
    let said = turns.messages.iter().zip(&turns.weights);
    let mut said = said.filter(|(message, _)| is_assistant(message));
    let is_plain = said.all(|(_, weight)| weight.to_bits() == 1_f32.to_bits());
    let weights = if is_plain {
        vec![1.0; found.len()]
    } else {
        let trace = Trace::of((template, turns), messages.len(), false, &text, work)?;
        let trace = trace.filter(|trace| trace.marked.len() == found.len());
        let weights = trace.and_then(|trace| weights_of_marks(turns, &trace));
        weights.ok_or_else(|| {
            format!(
                "of the {} parts that the template marks it cannot be told which message each is of, so their weights cannot be assigned",
                found.len()
            )
        })?
    };
    let mut spans = SpanBuilder::default();
    for ((start, end), weight) in found.into_iter().zip(weights) {
        spans = spans.and(start, end, weight)?;
    }
    Ok((text, spans.0))
}

/// For every part between marks, the weight of the message whose texts it has. A part without a text belongs to the
/// only assistant's message between the messages of the parts beside it.
fn weights_of_marks(turns: &Conversation, trace: &Trace) -> Option<Vec<f32>> {
    let weight = |message: usize| turns.weights.get(message).copied();
    let is_said = |message: &usize| {
        let role = turns.messages.get(*message).and_then(|message| message.get("role"));
        role.and_then(Value::as_str) == Some("assistant")
    };
    let mut weights = Vec::with_capacity(trace.marked.len());
    for (at, (_, _, of)) in trace.marked.iter().enumerate() {
        let own = match of.as_slice() {
            [] => {
                let known = |marks: &[(usize, usize, Vec<usize>)], last: bool| {
                    let mut of = marks.iter().map(|(_, _, of)| of);
                    let beside = if last { of.next_back() } else { of.next() }?;
                    if last { beside.last() } else { beside.first() }.copied()
                };
                let (before, behind) = (trace.marked.get(..at)?, trace.marked.get(at + 1..)?);
                let from = if before.is_empty() { 0 } else { known(before, true)? + 1 };
                let to =
                    if behind.is_empty() { turns.messages.len() } else { known(behind, false)? };
                let mut between = (from..to).filter(is_said);
                let only = between.next().filter(|_| between.next().is_none())?;
                weight(only)?
            }
            [first, others @ ..] => {
                let first = weight(*first)?;
                let is_same = |other: &usize| {
                    weight(*other).is_some_and(|other| other.to_bits() == first.to_bits())
                };
                others.iter().all(is_same).then_some(first)?
            }
        };
        weights.push(own);
    }
    Some(weights)
}
