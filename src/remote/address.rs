//! Addresses of objects, taken apart.

use super::error::RemoteError;

/// Kinds of stores, by what addresses begin with.
const SCHEMES: [(&str, StoreKind); 9] = [
    ("s3", StoreKind::S3),
    ("s3a", StoreKind::S3),
    ("gs", StoreKind::Google),
    ("az", StoreKind::Azure),
    ("azure", StoreKind::Azure),
    ("abfs", StoreKind::Azure),
    ("abfss", StoreKind::Azure),
    ("http", StoreKind::Web),
    ("https", StoreKind::Web),
];

/// Words of a query that give access for a while: such a query is no part of a file's name.
const SIGNATURES: [&str; 6] =
    ["x-amz-signature", "x-goog-signature", "signature", "sig", "token", "access_token"];

/// A kind of store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum StoreKind {
    S3,
    Google,
    Azure,
    Web,
}

/// Whether an argument is the address of an object, and not a path.
pub(crate) fn is_remote(argument: &str) -> bool {
    let scheme = argument.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
    scheme.is_some_and(|scheme| SCHEMES.iter().any(|(known, _)| *known == scheme))
}

/// An address of an object, or of all below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ObjectAddress {
    pub(super) kind: StoreKind,
    scheme: String,
    /// The bucket or container, or the server.
    pub(super) authority: String,
    /// Name and password before it.
    login: Option<String>,
    /// Behind the bucket, without the stroke between.
    pub(super) path: String,
    /// Of a web address, behind its question mark.
    pub(super) query: Option<String>,
}

impl ObjectAddress {
    pub(super) fn parse(given: &str) -> Result<Self, RemoteError> {
        let wrong = |why: &str| RemoteError::Address {
            address: without_secrets(given),
            why: why.to_owned(),
        };
        let (scheme, rest) = given.split_once("://").ok_or_else(|| wrong("no address"))?;
        let scheme = scheme.to_ascii_lowercase();
        let known = SCHEMES.iter().find(|(known, _)| *known == scheme);
        let (_, kind) = known.ok_or_else(|| wrong("stores are s3, gs, az and https"))?;
        let rest = if *kind == StoreKind::Web { before(rest, '#') } else { rest };
        let (rest, query) = match rest.split_once('?').filter(|_| *kind == StoreKind::Web) {
            Some((rest, query)) => (rest, Some(query.to_owned())),
            None => (rest, None),
        };
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (login, authority) =
            match authority.rsplit_once('@').filter(|_| *kind == StoreKind::Web) {
                Some((login, server)) => (Some(login.to_owned()), server),
                None => (None, authority),
            };
        if authority.is_empty() {
            return Err(wrong("it names no bucket; write s3://BUCKET/NAME"));
        }
        let (authority, path) = (authority.to_owned(), path.to_owned());
        Ok(Self { kind: *kind, scheme, authority, login, path, query })
    }

    /// The store that it is in.
    pub(super) fn store(&self) -> String {
        let login = self.login.as_ref().map(|login| format!("{login}@")).unwrap_or_default();
        format!("{}://{login}{}", self.scheme, self.authority)
    }

    /// The name of an object of the same store: what is secret in an address is no part of it.
    pub(super) fn name_of(&self, path: &str) -> String {
        let query = self.query.as_ref().filter(|query| !is_secret_parameter(query));
        let query = query.map(|query| format!("?{query}")).unwrap_or_default();
        format!("{}://{}/{path}{query}", self.scheme, self.authority)
    }

    /// The same as text.
    pub(super) fn name(&self) -> String {
        self.name_of(&self.path)
    }

    /// Whether all below it is meant.
    pub(super) fn is_prefix(&self) -> bool {
        self.path.is_empty() || self.path.ends_with('/')
    }

    /// Whether it is a pattern; a web server could not say what matches.
    pub(super) fn is_pattern(&self) -> bool {
        self.kind != StoreKind::Web && self.path.contains(['*', '?', '['])
    }

    /// The folder above whatever a pattern matches.
    pub(super) fn literal(&self) -> &str {
        let end = self.path.find(['*', '?', '[']).unwrap_or(self.path.len());
        let before = self.path.get(..end).unwrap_or_default();
        before.rsplit_once('/').map_or("", |(folder, _)| folder)
    }
}

fn before(text: &str, mark: char) -> &str {
    text.split_once(mark).map_or(text, |(before, _)| before)
}

/// An address for messages.
fn without_secrets(given: &str) -> String {
    match given.split_once('?') {
        Some((address, query)) if is_secret_parameter(query) => address.to_owned(),
        _ => given.to_owned(),
    }
}

fn is_secret_parameter(query: &str) -> bool {
    let names = query.split('&').filter_map(|pair| pair.split('=').next());
    names.into_iter().any(|name| SIGNATURES.contains(&name.to_ascii_lowercase().as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_come_apart_and_keep_their_secrets() {
        let parse = |given: &str| ObjectAddress::parse(given).unwrap();
        for path in ["a.jsonl", "/x/s3/a", "c:/x", "file:///x", "s3:/a/b", "ftp://a/b", "-"] {
            assert!(!is_remote(path), "{path}");
        }
        for (given, store, path, name) in [
            ("s3://b/a b/c.jsonl", "s3://b", "a b/c.jsonl", "s3://b/a b/c.jsonl"),
            ("S3://b", "s3://b", "", "s3://b/"),
            ("gs://b/x?y#z", "gs://b", "x?y#z", "gs://b/x?y#z"),
            (
                "abfss://c@a.dfs.core.windows.net/x",
                "abfss://c@a.dfs.core.windows.net",
                "x",
                "abfss://c@a.dfs.core.windows.net/x",
            ),
            ("https://u:p@h:8/x?file=1#top", "https://u:p@h:8", "x", "https://h:8/x?file=1"),
            ("https://h/x?X-Amz-Date=1&X-Amz-Signature=2", "https://h", "x", "https://h/x"),
        ] {
            assert!(is_remote(given), "{given}");
            let address = parse(given);
            assert_eq!((address.store().as_str(), address.path.as_str()), (store, path), "{given}");
            assert_eq!(address.name(), name, "{given}");
        }
        assert!(parse("s3://b/a/").is_prefix() && parse("s3://b").is_prefix());
        assert!(
            parse("s3://b/a/2024-*/x[12].gz").is_pattern() && !parse("https://h/a*").is_pattern()
        );
        assert_eq!(parse("s3://b/a/2024-*/x").literal(), "a");
        assert_eq!(parse("s3://b/*.gz").literal(), "");
        let error = ObjectAddress::parse("s3:///x").unwrap_err().to_string();
        assert!(error.contains("s3://BUCKET/NAME"), "{error}");
    }
}
