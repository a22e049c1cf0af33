//! Finds the files of a tokenizer that have chat templates and special tokens, in the order transformers believes them.

use super::tags::by_tools;
use super::template::ChatTemplate;
use model::near_names::UnknownName;
use model::text_file::{bytes_without_mark, decode_text};
use model::{Error, ErrorKind, IoError};
use serde_json::{Map, Value as Json};
use std::fmt::Display;
use std::io;
use std::path::Path;

/// The file of the template that has no name of its own.
const TEMPLATE: &str = "chat_template.jinja";
/// The folder of further templates.
const MORE_TEMPLATES: &str = "additional_chat_templates";
/// Special tokens, for a configuration that does not list the added ones.
const TOKENS_MAP: &str = "special_tokens_map.json";
/// The template of records without tools, and the one of others where there is such.
const DEFAULT: &str = "default";
const TOOL_USE: &str = "tool_use";

impl ChatTemplate {
    /// Reads a template: a `.jinja` file, a tokenizer_config.json, or the directory of a tokenizer. A
    /// `chat_template.jinja` and those in `additional_chat_templates` go before the ones in the configuration, whose
    /// special tokens are known to all. `name` chooses among several; else it is the one named `default`, and for
    /// records with tools `tool_use` where there is one.
    ///
    /// # Errors
    /// [`Error`] for a file that cannot be read, or has no such template.
    pub fn load(path: &Path, name: Option<&str>) -> Result<Self, Error> {
        let is_json = path.extension().is_some_and(|extension| extension == "json");
        let folder = if path.is_dir() { path } else { path.parent().unwrap_or(Path::new("")) };
        let config_path =
            if is_json { path.to_path_buf() } else { folder.join("tokenizer_config.json") };
        let config = (is_json || config_path.is_file()).then(|| read_json(&config_path));
        let config = config.transpose()?;
        let source = if path.is_dir() || is_json {
            let templates = named_templates(folder)?;
            let source = choose(templates, config.as_ref(), name);
            source.map_err(|why| {
                let at = if config.is_some() { &config_path } else { path };
                config_error(at, why)
            })?
        } else {
            read_text(path)?
        };
        let mut template = Self::new(&source)?;
        let mut tokens = match config {
            Some(Json::Object(config)) => config,
            _ => Map::new(),
        };
        let map_path = folder.join(TOKENS_MAP);
        if !tokens.contains_key("added_tokens_decoder")
            && map_path.is_file()
            && let Json::Object(map) = read_json(&map_path)?
        {
            tokens.extend(map);
        }
        template.set_tokens(&tokens);
        Ok(template)
    }
}

/// The templates that have files of their own, by their names.
fn named_templates(folder: &Path) -> Result<Vec<(String, String)>, Error> {
    let mut found = Vec::new();
    let own = folder.join(TEMPLATE);
    if own.is_file() {
        found.push((DEFAULT.to_owned(), read_text(&own)?));
    }
    let more = folder.join(MORE_TEMPLATES);
    if more.is_dir() {
        let failed = |error| unread(&more, error);
        let mut paths = Vec::new();
        for entry in std::fs::read_dir(&more).map_err(failed)? {
            paths.push(entry.map_err(failed)?.path());
        }
        paths.sort();
        for path in paths {
            let is_template = path.extension().is_some_and(|extension| extension == "jinja");
            if let Some(name) = path.file_stem().and_then(|name| name.to_str())
                && is_template
            {
                found.push((name.to_owned(), read_text(&path)?));
            }
        }
    }
    Ok(found)
}

/// The template asked for, or the default with what there is for tools.
fn choose(
    mut templates: Vec<(String, String)>,
    config: Option<&Json>,
    name: Option<&str>,
) -> Result<String, String> {
    let given = config.and_then(|config| config.get("chat_template"));
    let is_known = |name: &str| templates.iter().any(|(known, _)| known == name);
    if templates.is_empty() || name.is_some_and(|name| !is_known(name)) {
        match given {
            Some(Json::String(source)) if name.is_none() => return Ok(source.clone()),
            Some(Json::String(_)) if templates.is_empty() => {
                let name = name.unwrap_or_default();
                return Err(format!(
                    "it has one chat_template without a name, none named `{name}`"
                ));
            }
            Some(Json::Array(all)) => templates.extend(all.iter().filter_map(|entry| {
                let [name, source] = ["name", "template"].map(|of| entry.get(of)?.as_str());
                Some((name?.to_owned(), source?.to_owned()))
            })),
            _ => {}
        }
    }
    if templates.is_empty() {
        return Err(match config {
            Some(_) => "it has no chat_template".to_owned(),
            None => format!("neither {TEMPLATE} nor tokenizer_config.json is in it"),
        });
    }
    let wanted = name.unwrap_or(DEFAULT);
    let of_name = |wanted: &str| {
        let found = templates.iter().find(|(name, _)| name == wanted);
        found.map(|(_, source)| source.as_str())
    };
    let Some(source) = of_name(wanted) else {
        let names: Vec<&str> = templates.iter().map(|(name, _)| name.as_str()).collect();
        let unknown = UnknownName::new("chat_template", wanted, names);
        return Err(format!("{unknown}; {}", unknown.hint()));
    };
    let Some(tool_use) = of_name(TOOL_USE).filter(|_| name.is_none()) else {
        return Ok(source.to_owned());
    };
    let of = |source: &str| ChatTemplate::new(source).map_err(|error| error.to_string());
    if of(source)?.is_marked() != of(tool_use)?.is_marked() {
        return Err(format!(
            "of its templates `{DEFAULT}` and `{TOOL_USE}` one has generation marks and the other none; choose one by `chat_template_name=`"
        ));
    }
    Ok(by_tools(tool_use, source))
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    std::fs::read(path).map_err(|error| unread(path, error))
}

fn read_text(path: &Path) -> Result<String, Error> {
    decode_text("it", read(path)?).map_err(|why| config_error(path, why))
}

fn read_json(path: &Path) -> Result<Json, Error> {
    serde_json::from_slice(bytes_without_mark(&read(path)?))
        .map_err(|error| config_error(path, format!("not JSON: {error}")))
}

fn unread(path: &Path, error: io::Error) -> Error {
    let kind = match error.kind() {
        io::ErrorKind::NotFound => ErrorKind::NotFound,
        _ => ErrorKind::BadInput,
    };
    Error::new(kind, IoError::of("reading", path)(error))
}

fn config_error(path: &Path, why: impl Display) -> Error {
    Error::bad_input(format!("{}: {why}", path.display()))
}
