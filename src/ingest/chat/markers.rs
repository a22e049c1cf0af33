//! What a template writes to set turns apart, which a tokenizer must know and no message may say.

/// Pairs of brackets that special tokens are spelled with, as `<|im_start|>`.
const BRACKETS: [(&str, &str); 2] = [("<|", "|>"), ("<\u{ff5c}", "\u{ff5c}>")];
/// Longest name within them, in bytes.
const LONGEST: usize = 64;

/// What is spelled like special tokens in the source of a template, ascending: `<|...|>`, `<start_of_...>`.
pub(super) fn special_markers(source: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (open, close) in BRACKETS {
        found.extend(between(source, open, close, |name| {
            !name.contains(|c: char| c.is_whitespace() || "<>{}'\"|\u{ff5c}".contains(c))
        }));
    }
    found.extend(between(source, "<", ">", |name| {
        let is_turn = name.starts_with("start_of_") || name.starts_with("end_of_");
        is_turn && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
    }));
    sorted(found)
}

/// These, and what older templates set turns apart with in plain text: `[INST]`, `<<SYS>>`.
pub(super) fn turn_markers(source: &str) -> Vec<String> {
    let mut found = special_markers(source);
    let is_upper = |name: &str| {
        let name = name.strip_prefix('/').unwrap_or(name);
        name.len() > 2 && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
    };
    found.extend(between(source, "[", "]", is_upper));
    found.extend(between(source, "<<", ">>", is_upper));
    sorted(found)
}

fn between(source: &str, open: &str, close: &str, is_name: impl Fn(&str) -> bool) -> Vec<String> {
    let found = source.match_indices(open).filter_map(|(at, _)| {
        let rest = source.get(at + open.len()..)?;
        let within = rest.get(..rest.floor_char_boundary(LONGEST + close.len()))?;
        let name = within.get(..within.find(close)?)?;
        (!name.is_empty() && is_name(name)).then(|| format!("{open}{name}{close}"))
    });
    found.collect()
}

fn sorted(mut found: Vec<String>) -> Vec<String> {
    found.sort_unstable();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_sets_turns_apart_is_found_in_a_template() {
        let source = "{% if a <b %}{{ '<|im_start|>' + m.role }}<|im_end|>{% endif %}{{ '<start_of_turn>user' }}[INST] {{ m[0] }} [/INST]<<SYS>>{{ x['A'] }} <| a |>";
        assert_eq!(special_markers(source), ["<start_of_turn>", "<|im_end|>", "<|im_start|>"]);
        assert_eq!(
            turn_markers(source),
            ["<<SYS>>", "<start_of_turn>", "<|im_end|>", "<|im_start|>", "[/INST]", "[INST]"]
        );
    }
}
