//! Rust sources as rules about them read them: files, tokens, and the paths that they name.

use crate::support::repository;
use std::path::PathBuf;

/// A Rust file, its path from the root of the repository with `/`.
pub struct File {
    pub path: String,
    pub text: String,
}

/// Files of some folders, sorted by path.
pub fn files(folders: &[&str]) -> Vec<File> {
    let root = &repository("");
    let entries = folders.iter().flat_map(|folder| walkdir::WalkDir::new(root.join(folder)));
    let paths = entries.map(|entry| entry.unwrap().into_path());
    let paths = paths.filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        let path = path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
        File { path, text }
    };
    let mut found: Vec<File> = paths.map(read).collect();
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// Names, `::` and single characters, without comments, literals and space.
pub fn tokens(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let starts = |at: usize, with: &str| {
        with.chars().enumerate().all(|(i, c)| chars.get(at + i) == Some(&c))
    };
    let after = |from: usize, with: &str| {
        (from..chars.len()).find(|at| starts(*at, with)).map_or(chars.len(), |at| at + with.len())
    };
    let mut found: Vec<String> = Vec::new();
    let mut at = 0;
    while let Some(c) = chars.get(at).copied() {
        if c.is_whitespace() {
            at += 1;
        } else if starts(at, "//") {
            at = after(at, "\n");
        } else if starts(at, "/*") {
            at = after(at, "*/");
        } else if c == '"' {
            at += 1;
            while at < chars.len() && chars[at] != '"' {
                at += if chars[at] == '\\' { 2 } else { 1 };
            }
            at += 1;
        } else if c == '\'' {
            // A character, or a lifetime.
            at = match (chars.get(at + 1), chars.get(at + 2)) {
                (Some('\\'), _) => after(at + 3, "'"),
                (_, Some('\'')) => at + 3,
                _ => at + 1,
            };
        } else if is_name(c) {
            let end = (at..chars.len()).find(|end| !is_name(chars[*end])).unwrap_or(chars.len());
            let name: String = chars[at..end].iter().collect();
            let hashes = chars[end..].iter().take_while(|c| **c == '#').count();
            if matches!(name.as_str(), "r" | "br") && chars.get(end + hashes) == Some(&'"') {
                at = after(end + hashes + 1, &format!("\"{}", "#".repeat(hashes)));
                continue;
            }
            found.push(name);
            at = end;
        } else if starts(at, "::") {
            found.push("::".to_owned());
            at += 2;
        } else {
            found.push(c.to_string());
            at += 1;
        }
    }
    found
}

/// The tokens without inline test modules, whose `super` is the file itself.
pub fn without_tests(tokens: &[String]) -> Vec<String> {
    const MARK: [&str; 8] = ["#", "[", "cfg", "(", "test", ")", "]", "mod"];
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let marked = tokens[at..].starts_with(&MARK.map(str::to_owned));
        if marked && tokens.get(at + MARK.len() + 1).is_some_and(|token| token == "{") {
            let mut depth = 0;
            for (i, token) in tokens.iter().enumerate().skip(at) {
                depth += i32::from(token == "{") - i32::from(token == "}");
                at = i + 1;
                if token == "}" && depth == 0 {
                    break;
                }
            }
        } else {
            kept.push(tokens[at].clone());
            at += 1;
        }
    }
    kept
}

/// All paths that begin with one of `starts`, groups spelled out.
pub fn paths(tokens: &[String], starts: &[&str]) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let behind = |steps| {
            at.checked_sub(steps).and_then(|at: usize| tokens.get(at)).map_or("", String::as_str)
        };
        let is_name = |token: &str| {
            token.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '$'))
        };
        let continues = behind(1) == "::" && is_name(behind(2)) && !is_keyword(behind(2));
        let begins =
            starts.contains(&token.as_str()) && !continues && !matches!(behind(1), "$" | ".");
        if begins && tokens.get(at + 1).is_some_and(|next| next == "::") {
            tree(tokens, at, &[], &mut found);
        }
    }
    found
}

/// Words behind which a path may begin with `::`.
fn is_keyword(word: &str) -> bool {
    matches!(word, "use" | "as" | "in" | "return" | "dyn" | "impl" | "mut" | "for")
}

/// Follows one path from `at`; answers where it ends.
fn tree(
    tokens: &[String],
    mut at: usize,
    prefix: &[String],
    found: &mut Vec<Vec<String>>,
) -> usize {
    let mut path = prefix.to_vec();
    loop {
        match tokens.get(at).map(String::as_str) {
            Some("{") => {
                at += 1;
                while tokens.get(at).is_some_and(|token| token != "}") {
                    let end = tree(tokens, at, &path, found);
                    // Over `as name` and commas; always forward.
                    at = (end.max(at + 1)..tokens.len())
                        .find(|at| matches!(tokens[*at].as_str(), "," | "}"))
                        .unwrap_or(tokens.len());
                    at += usize::from(tokens.get(at).is_some_and(|token| token == ","));
                }
                return at + 1;
            }
            Some(name)
                if name == "*" || name.starts_with(|c: char| c.is_alphabetic() || c == '_') =>
            {
                path.push(name.to_owned());
                at += 1;
            }
            _ => break,
        }
        if tokens.get(at).is_none_or(|token| token != "::") {
            break;
        }
        at += 1;
    }
    found.push(path);
    at
}

/// The packages of `crates/`, as other packages name them.
pub const PACKAGES: [&str; 6] = ["model", "text", "tokenizer", "files", "store", "testing"];

/// The module that a file is, its package first; none for what starts the command, and for files of no library.
pub fn module(path: &str) -> Option<Vec<String>> {
    let path = match path.strip_prefix("crates/") {
        Some(path) if path.starts_with("store/migrations/") => {
            path.replace("store/migrations", "store/migrate/migrations")
        }
        Some(path) => path.replacen("/src/", "/", 1),
        None => format!("corpusdb/{}", path.strip_prefix("src/")?),
    };
    if path == "corpusdb/main.rs" {
        return None;
    }
    let path = path.strip_suffix(".rs")?;
    let path = path.strip_suffix("/mod").or(path.strip_suffix("/lib")).unwrap_or(path);
    Some(path.split('/').map(str::to_owned).collect())
}

/// The paths of a file that begin at its package, its parent or another package, as it writes them. A module of its own
/// that has the name of a package hides it.
pub fn imports(tokens: &[String]) -> Vec<Vec<String>> {
    let is_own = |name: &&str| tokens.windows(2).any(|pair| pair == ["mod", *name]);
    let starts = PACKAGES.into_iter().filter(|name| !is_own(name)).chain(["crate", "super"]);
    paths(tokens, &starts.collect::<Vec<_>>())
}

/// Whether a file is one of the command, which sees the library as its users do.
pub fn is_of_command(path: &str) -> bool {
    path == "src/main.rs" || path.starts_with("src/cli/")
}
