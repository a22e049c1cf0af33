//! Pages generated from the table of verbs: the reference of the command, the schema of the reports, and the keywords
//! and reports of the Python package.

use super::keywords::{ValueKind, is_list, kind};
use super::session::ReferencePage;
use super::spelling::{Face, spell};
use super::verb::DryRun;
use super::verbs::VERBS;
use clap::{Arg, Command};
use corpusdb::curate::Certificate;
use corpusdb::inspect::DocumentDuplicates;
use corpusdb::inspect::ReviewPair;
use schemars::SchemaGenerator;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Words that cannot be names of attributes in Python.
const PYTHON_KEYWORDS: [&str; 35] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue",
    "def", "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import",
    "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while",
    "with", "yield",
];

/// Columns of the generated Python.
const COLUMNS: usize = 118;

/// Reports that `reports.py` extends; it imports the others by a star.
const EXTENDED_BY_HAND: [&str; 10] = [
    "Certificate",
    "CheckReport",
    "Explanation",
    "NothingAdded",
    "RepairReport",
    "SalvageReport",
    "SimilarReport",
    "TokenizerCheckReport",
    "Verification",
    "VerifyBackupsReport",
];

/// Types whose empty value stands for a member that the report leaves out.
const EMPTY_TYPES: [&str; 4] = ["list[", "dict[", "int", "bool"];

/// Reports in Python that no verb answers as one object: rows of streams, and a file.
const OTHER_REPORTS: &[fn(&mut SchemaGenerator) -> schemars::Schema] = &[
    SchemaGenerator::subschema_for::<ReviewPair>,
    SchemaGenerator::subschema_for::<DocumentDuplicates>,
    SchemaGenerator::subschema_for::<Certificate>,
];

/// A page as it is printed; fails with a message on what cannot be generated.
pub fn page(page: ReferencePage, command: Command) -> anyhow::Result<String> {
    match page {
        ReferencePage::Cli => Ok(markdown(command)),
        ReferencePage::Schema => Ok(serde_json::to_string_pretty(&schema())?),
        ReferencePage::PythonOptions => python_options(),
        ReferencePage::PythonReports => python_reports(),
    }
}

/// The help of all verbs as Markdown.
pub fn markdown(command: Command) -> String {
    let mut command = command.term_width(100).disable_help_subcommand(true);
    command.build();
    let mut page = String::from(
        "# Command line\n\nFor people who look up a verb or a flag. Written by `corpusdb reference`; a test compares the two.\n",
    );
    add_section(&mut command, 2, &mut page);
    page
}

fn add_section(command: &mut Command, level: usize, page: &mut String) {
    let name = command.get_bin_name().unwrap_or(command.get_name()).to_owned();
    let (mark, help) = ("#".repeat(level), command.render_long_help().to_string());
    page.push_str(&format!("\n{mark} `{name}`\n\n```text\n{}\n```\n", help.trim_end()));
    for verb in command.get_subcommands_mut() {
        if !verb.is_hide_set() && verb.get_name() != "help" {
            add_section(verb, level + 1, page);
        }
    }
}

/// The schema of every report: `verbs` has the report of each verb, `python` its name in Python, and `$defs` what
/// reports are made of.
pub fn schema() -> Value {
    // The schema of what is written, not of what is read: a member with `skip_serializing_if` may be absent, an
    // `Option` is there.
    let settings = schemars::generate::SchemaSettings::draft2020_12().for_serialize();
    let mut generator = settings.into_generator();
    let verbs = VERBS.iter().map(|row| (row.path.to_owned(), (row.schema)(&mut generator).into()));
    let verbs: Map<String, Value> = verbs.collect();
    for other in OTHER_REPORTS {
        other(&mut generator);
    }
    let mut definitions: BTreeMap<String, Value> =
        generator.take_definitions(true).into_iter().collect();
    for row in VERBS.iter().filter(|row| row.dry_run != DryRun::No) {
        if let Some(report) = verbs.get(row.path) {
            add_dry_run(report, &mut definitions);
        }
    }
    let in_python = VERBS.iter().filter_map(|row| Some((row.path, row.python.name()?)));
    let python: BTreeMap<&str, &str> = in_python.collect();
    serde_json::json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "verbs": verbs,
        "python": python,
        "$defs": definitions,
    })
}

/// Adds the member that every verb with a dry run has beside its report.
fn add_dry_run(report: &Value, definitions: &mut BTreeMap<String, Value>) {
    let name = report.get("$ref").and_then(Value::as_str).and_then(|path| path.rsplit('/').next());
    let Some(found) = name.and_then(|name| definitions.get_mut(name)) else { return };
    if let Some(branches) = found.get("anyOf").and_then(Value::as_array).cloned() {
        return branches.iter().for_each(|branch| add_dry_run(branch, definitions));
    }
    let Some(members) = found.get_mut("properties").and_then(Value::as_object_mut) else { return };
    let description = "Whether this is what would be, and nothing was changed.";
    let member = serde_json::json!({ "description": description, "type": "boolean" });
    members.insert("dry_run".to_owned(), member);
    if let Some(required) = found.get_mut("required").and_then(Value::as_array_mut)
        && !required.iter().any(|name| name == "dry_run")
    {
        required.push("dry_run".into());
    }
}

/// `_options.py`: the keywords of each verb that Python has, except those that its method declares itself. Fails for an
/// option whose type has no row in `KINDS`.
pub fn python_options() -> anyhow::Result<String> {
    let mut file = String::from(
        "# @generated by `corpusdb reference python-options`; a test compares the two.\n\
         \"\"\"Keywords of the calls that are verbs of the command.\"\"\"\n\n\
         from __future__ import annotations\n\n\
         import os\nfrom collections.abc import Iterable, Mapping\nfrom typing import Literal, TypedDict\n",
    );
    for row in VERBS {
        let Some(method) = row.python.name() else { continue };
        let command = row.arguments();
        let is_keyword = |arg: &&Arg| row.python.has_keyword(arg.get_id().as_str());
        let (mut texts, mut types) = (String::new(), String::new());
        for arg in command.get_arguments().filter(is_keyword) {
            let text = arg.get_long_help().or(arg.get_help()).map(ToString::to_string);
            let text = spell(&text.unwrap_or_default(), Face::Python, &command);
            texts.push_str(&list_item(arg.get_id().as_str(), &text));
            types.push_str(&format!("    {}: {} | None\n", arg.get_id(), option_type(arg)?));
        }
        if !types.is_empty() {
            file.push_str(&format!(
                "\n\nclass {}Options(TypedDict, total=False):\n    \"\"\"Options of `{method}`.\n\n{texts}    \"\"\"\n\n{types}",
                camel(row.path)
            ));
        }
    }
    Ok(file)
}

/// An option as an item of a list: `help()` shows it after the text of the method.
fn list_item(name: &str, text: &str) -> String {
    let text = text.trim_end().replace('\\', "\\\\").replace('"', "\\\"");
    let mut lines: Vec<String> = Vec::new();
    let mut line = format!("    * `{name}`:");
    for paragraph in text.split("\n\n") {
        for word in paragraph.split_whitespace() {
            if line.chars().count() + 1 + word.chars().count() > COLUMNS {
                lines.push(std::mem::replace(&mut line, "     ".to_owned()));
            }
            line.push(' ');
            line.push_str(word);
        }
        // The first paragraph of several has no full stop, since the command shows it alone.
        if !line.ends_with(['.', ':', '!', '?']) {
            line.push('.');
        }
    }
    lines.push(line);
    lines.join("\n") + "\n"
}

/// The Python type of an option's values.
fn option_type(arg: &Arg) -> anyhow::Result<String> {
    let words = arg.get_possible_values();
    let words: Vec<String> = words.iter().map(|word| format!("{:?}", word.get_name())).collect();
    let one = match kind(arg)? {
        ValueKind::Flag => return Ok("bool".to_owned()),
        ValueKind::Text if !words.is_empty() => format!("Literal[{}]", words.join(", ")),
        ValueKind::Text => "str".to_owned(),
        ValueKind::Path => "str | os.PathLike[str]".to_owned(),
        ValueKind::Integer => "int".to_owned(),
        ValueKind::Number => "float".to_owned(),
        ValueKind::Size => "int | str".to_owned(),
        // A mapping holds all pairs.
        ValueKind::Pair(_) if is_list(arg) => {
            return Ok("Mapping[str, object] | str | Iterable[str]".to_owned());
        }
        ValueKind::Pair(_) => return Ok("Mapping[str, object] | str".to_owned()),
    };
    Ok(if is_list(arg) { format!("{one} | Iterable[{one}]") } else { one })
}

/// Adds a docstring, with a full stop after its first line.
fn add_docstring(file: &mut String, text: &str) {
    let text = text.trim_end().replace('\\', "\\\\").replace('"', "\\\"");
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default();
    if first.is_empty() {
        return;
    }
    let indented =
        |line: &str| if line.is_empty() { "\n".to_owned() } else { format!("\n    {line}") };
    let rest: String = lines.map(indented).collect();
    let dot = if first.ends_with(['.', ',', ':', ';']) || !rest.is_empty() { "" } else { "." };
    let end = if rest.is_empty() { "" } else { "\n    " };
    file.push_str(&format!("    \"\"\"{first}{dot}{rest}{end}\"\"\"\n"));
}

/// `_reports.py`: a class for each report and for each object in one. Fails for a form of schema without a Python type.
pub fn python_reports() -> anyhow::Result<String> {
    let schema = schema();
    let definitions = schema.get("$defs").and_then(Value::as_object).cloned().unwrap_or_default();
    let mut classes = PythonClasses::of(&definitions);
    for (name, one) in &definitions {
        classes.define(name, one)?;
    }
    let mut file = String::from(
        "# @generated by `corpusdb reference python-reports`; a test compares the two.\n\
         \"\"\"Reports: what the command prints with `--json`, as classes.\"\"\"\n\n\
         from __future__ import annotations\n\n\
         from typing import Any, Literal, TypeAlias\n\n\
         from corpusdb._report import Report\n",
    );
    let names = classes.texts.keys().chain(classes.aliases.keys());
    let names = names.filter(|name| !EXTENDED_BY_HAND.contains(&name.as_str()));
    let names: Vec<String> = names.map(|name| format!("    \"{name}\",\n")).collect();
    file.push_str(&format!("\n__all__ = [\n{}]\n", names.concat()));
    classes.texts.values().for_each(|text| file.push_str(text));
    file.push('\n');
    file.push_str(&classes.alias_texts()?);
    Ok(file)
}

/// Classes and aliases by name.
struct PythonClasses<'a> {
    definitions: &'a Map<String, Value>,
    /// Texts of classes.
    texts: BTreeMap<String, String>,
    /// Types and descriptions of aliases, which stand for one of several types.
    aliases: BTreeMap<String, (String, String)>,
}

impl<'a> PythonClasses<'a> {
    fn of(definitions: &'a Map<String, Value>) -> Self {
        Self { definitions, texts: BTreeMap::new(), aliases: BTreeMap::new() }
    }

    /// Defines a class if the schema has members, else an alias.
    fn define(&mut self, name: &str, schema: &Value) -> anyhow::Result<()> {
        let members = schema.get("properties").and_then(Value::as_object);
        let text = match members {
            Some(members) => {
                let mut members = members.clone();
                self.add_branch_members(schema, &mut members);
                self.class(name, schema, &members)?
            }
            None if is_empty_object(schema) => self.class(name, schema, &Map::new())?,
            None => {
                let kind = self.type_of(name, schema)?;
                let mut text = String::new();
                add_docstring(&mut text, &description(schema));
                self.aliases.insert(name.to_owned(), (kind, text.replace("    ", "")));
                return Ok(());
            }
        };
        self.texts.insert(name.to_owned(), text);
        Ok(())
    }

    /// The aliases, each after those that it uses, since Python evaluates them.
    fn alias_texts(&self) -> anyhow::Result<String> {
        let (mut left, mut text) = (self.aliases.clone(), String::new());
        while !left.is_empty() {
            let names: Vec<String> = left.keys().cloned().collect();
            let is_ready = |(kind, _): &(String, String)| {
                let mut words = kind.split(|c: char| !c.is_alphanumeric() && c != '_');
                words.all(|word| !names.iter().any(|name| name == word))
            };
            let Some(name) = names.iter().find(|name| left.get(*name).is_some_and(is_ready)) else {
                anyhow::bail!("types of Python that are made of each other: {names:?}");
            };
            if let Some((kind, says)) = left.remove(name) {
                text.push_str(&format!("\n{name}: TypeAlias = {kind}\n{says}"));
            }
        }
        Ok(text)
    }

    /// Adds the members that branches of an enum have as optional members of its object.
    fn add_branch_members(&self, schema: &Value, members: &mut Map<String, Value>) {
        let branches = ["anyOf", "oneOf"].into_iter().filter_map(|key| schema.get(key)?.as_array());
        for branch in branches.flatten() {
            let branch = branch
                .get("$ref")
                .and_then(|path| self.definitions.get(path.as_str()?.rsplit('/').next()?))
                .unwrap_or(branch);
            let of_branch = branch.get("properties").and_then(Value::as_object);
            for (name, one) in of_branch.into_iter().flatten() {
                members.entry(name).or_insert_with(|| one.clone());
            }
        }
    }

    fn class(
        &mut self,
        name: &str,
        schema: &Value,
        members: &Map<String, Value>,
    ) -> anyhow::Result<String> {
        let mut text = format!("\n\nclass {name}(Report):\n");
        add_docstring(&mut text, &description(schema));
        if members.is_empty() && description(schema).is_empty() {
            text.push_str("    pass\n");
        }
        let required = schema.get("required").and_then(Value::as_array);
        for (member, one) in members {
            // A member that is no name in Python is read by its key.
            if PYTHON_KEYWORDS.contains(&member.as_str()) || member.contains('-') {
                continue;
            }
            let kind = self.type_of(&format!("{name}{}", camel(member)), one)?;
            let is_there = required.is_some_and(|names| names.iter().any(|name| name == member));
            // A member that is left out when it is empty is empty in Python; a member of another branch is absent.
            let is_own = schema.pointer(&format!("/properties/{member}")).is_some();
            let is_empty = is_own && EMPTY_TYPES.iter().any(|empty| kind.starts_with(empty));
            let is_said = is_there || is_empty || kind.ends_with("| None");
            let absent = if is_said { "" } else { " | None" };
            text.push_str(&format!("\n    {member}: {kind}{absent}\n"));
            add_docstring(&mut text, &description(one));
        }
        Ok(text)
    }

    /// The type of a schema; `name` is for a class that has no name of its own. An unknown form is an error: nothing
    /// becomes `Any` by itself.
    fn type_of(&mut self, name: &str, schema: &Value) -> anyhow::Result<String> {
        if *schema == Value::Bool(true) || schema.as_object().is_some_and(is_any) {
            return Ok("Any".to_owned());
        }
        if let Some(path) = schema.get("$ref").and_then(Value::as_str) {
            return Ok(path.rsplit('/').next().unwrap_or(path).to_owned());
        }
        if let Some(word) = schema.get("const") {
            return Ok(format!("Literal[{word}]"));
        }
        if let Some(words) = schema.get("enum").and_then(Value::as_array) {
            let words: Vec<String> = words.iter().map(Value::to_string).collect();
            return Ok(format!("Literal[{}]", words.join(", ")));
        }
        let parts = ["anyOf", "oneOf"].into_iter().find_map(|key| schema.get(key)?.as_array());
        if let Some(parts) = parts {
            return self.union(name, parts);
        }
        if let Some(kinds) = schema.get("type").and_then(Value::as_array) {
            let one = |kind: &Value| {
                let mut one = schema.as_object().cloned().unwrap_or_default();
                one.insert("type".to_owned(), kind.clone());
                Value::Object(one)
            };
            return self.union(name, &kinds.iter().map(one).collect::<Vec<_>>());
        }
        Ok(match schema.get("type").and_then(Value::as_str) {
            Some("string") => "str".to_owned(),
            Some("integer") => "int".to_owned(),
            Some("number") => "float".to_owned(),
            Some("boolean") => "bool".to_owned(),
            Some("null") => "None".to_owned(),
            Some("array") => self.array(name, schema)?,
            Some("object") => self.object(name, schema)?,
            _ => anyhow::bail!("no Python type for {name}: {schema}"),
        })
    }

    /// The union of several schemas.
    fn union(&mut self, name: &str, parts: &[Value]) -> anyhow::Result<String> {
        let (mut words, mut kinds) = (Vec::new(), Vec::new());
        for (number, part) in (1..).zip(parts) {
            match part.get("const") {
                Some(word) => words.push(word.to_string()),
                None => {
                    let kind = self.type_of(&branch_name(name, number, part), part)?;
                    if !kinds.contains(&kind) {
                        kinds.push(kind);
                    }
                }
            }
        }
        if !words.is_empty() {
            kinds.insert(0, format!("Literal[{}]", words.join(", ")));
        }
        // `None` comes last, as people write it.
        kinds.sort_by_key(|kind| kind == "None");
        Ok(kinds.join(" | "))
    }

    fn array(&mut self, name: &str, schema: &Value) -> anyhow::Result<String> {
        if let Some(parts) = schema.get("prefixItems").and_then(Value::as_array) {
            let parts: Vec<String> =
                parts.iter().map(|part| self.type_of(name, part)).collect::<anyhow::Result<_>>()?;
            return Ok(format!("tuple[{}]", parts.join(", ")));
        }
        match schema.get("items") {
            Some(items) => Ok(format!("list[{}]", self.type_of(name, items)?)),
            None => Ok("list[Any]".to_owned()),
        }
    }

    fn object(&mut self, name: &str, schema: &Value) -> anyhow::Result<String> {
        if schema.get("properties").is_some() || is_empty_object(schema) {
            anyhow::ensure!(
                !self.definitions.contains_key(name),
                "two Python classes are called {name}"
            );
            self.define(name, schema)?;
            return Ok(name.to_owned());
        }
        // The keys are names of users, so they stay keys and do not become attributes.
        match schema.get("additionalProperties") {
            Some(values) => Ok(format!("dict[str, {}]", self.type_of(name, values)?)),
            None => Ok("dict[str, Any]".to_owned()),
        }
    }
}

/// Whether a schema only describes a value, and does not restrict it.
fn is_any(schema: &Map<String, Value>) -> bool {
    schema.keys().all(|key| matches!(key.as_str(), "description" | "title" | "default"))
}

fn is_empty_object(schema: &Value) -> bool {
    let is_object = schema.get("type").and_then(Value::as_str) == Some("object");
    let no_keys = schema.get("additionalProperties") == Some(&Value::Bool(false));
    let is_bare = schema.as_object().is_some_and(|schema| {
        schema.keys().all(|key| matches!(key.as_str(), "type" | "description" | "title"))
    });
    is_object && schema.get("properties").is_none() && (no_keys || is_bare)
}

/// The name of a branch of an enum: by the word that tells it apart, else by its number.
fn branch_name(name: &str, number: usize, branch: &Value) -> String {
    let members = branch.get("properties").and_then(Value::as_object);
    let word =
        members.and_then(|members| members.values().find_map(|one| one.get("const")?.as_str()));
    match (word, members) {
        (Some(word), _) => format!("{name}{}", camel(word)),
        (None, Some(members)) if members.len() == 1 => {
            format!("{name}{}", members.keys().map(|key| camel(key)).collect::<String>())
        }
        (None, Some(_)) => format!("{name}{number}"),
        (None, None) if is_empty_object(branch) => format!("{name}{number}"),
        (None, None) => name.to_owned(),
    }
}

/// `added-token` -> `AddedToken`, `dedup redo` -> `DedupRedo`.
fn camel(word: &str) -> String {
    let part = |part: &str| {
        let mut characters = part.chars();
        let first = characters.next().map(|first| first.to_ascii_uppercase());
        first.into_iter().chain(characters).collect::<String>()
    };
    word.split(['-', '_', ' ']).map(part).collect()
}

/// The description of a schema, without rustdoc's links.
fn description(schema: &Value) -> String {
    let text = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    text.replace("[`", "`").replace("`]", "`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_its_defaults_its_keywords_and_its_report() {
        for row in VERBS {
            (row.check_defaults)().unwrap_or_else(|why| panic!("{}: {why}", row.path));
            crate::cli::table::command(row).debug_assert();
        }
        let options = python_options().unwrap();
        assert!(options.contains("class TokenizerTrainOptions(TypedDict, total=False):"));
        assert!(options.contains("\n    * `vocab_size`: "), "{options}");
        assert!(options.contains("\n    vocab_size: int | None\n"), "{options}");
        let reports = python_reports().unwrap();
        assert!(reports.contains("\nclass TokenizerDetails(Report):\n"));
        let schema = schema();
        for row in VERBS {
            assert!(schema["verbs"][row.path].is_object(), "{}", row.path);
        }
    }

    #[test]
    fn every_form_of_a_schema_has_a_python_type_or_an_error() {
        let none = Map::new();
        let mut classes = PythonClasses::of(&none);
        let mut kind = |schema: Value| classes.type_of("Answer", &schema).unwrap();
        let json = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        for (schema, expected) in [
            (r#"{"type": ["integer", "null"]}"#, "int | None"),
            (r##"{"anyOf": [{"type": "null"}, {"$ref": "#/$defs/Policy"}]}"##, "Policy | None"),
            (r#"{"oneOf": [{"const": "a"}, {"const": "b"}]}"#, "Literal[\"a\", \"b\"]"),
            (
                r#"{"type": "array", "prefixItems": [{"type": "string"}, {"type": "number"}]}"#,
                "tuple[str, float]",
            ),
            (
                r#"{"type": "object", "additionalProperties": {"type": "integer"}}"#,
                "dict[str, int]",
            ),
            (r#"{"type": "object", "properties": {"n": {"type": "integer"}}}"#, "Answer"),
            ("true", "Any"),
        ] {
            assert_eq!(kind(json(schema)), expected, "{schema}");
        }
        assert!(classes.texts["Answer"].contains("\n    n: int\n"));
        assert!(classes.type_of("X", &json(r#"{"type": "date"}"#)).is_err());
    }
}
