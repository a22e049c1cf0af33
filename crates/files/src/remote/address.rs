//! Parses addresses of objects and of files on web servers, and keeps their secret parts out of messages.

use super::error::RemoteError;
use model::invariant::text_part;
use model::percent_decoded;

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

/// Names of parameters that are secret, in small letters and without `-`, `_`, `.`.
const SECRET_NAMES: [&str; 16] = [
    "auth",
    "bearer",
    "hdnea",
    "hdnts",
    "hmac",
    "jwt",
    "key",
    "keypairid",
    "otp",
    "pass",
    "psk",
    "pw",
    "pwd",
    "sas",
    "sessid",
    "sig",
];
/// Words that make a parameter secret wherever they stand in its name, spelled in the same way.
const SECRET_WORDS: [&str; 24] = [
    "accesskey",
    "accountkey",
    "apikey",
    "appkey",
    "authkey",
    "authorization",
    "clientkey",
    "consumerkey",
    "credential",
    "functionskey",
    "licensekey",
    "masterkey",
    "oauth",
    "passphrase",
    "passwd",
    "password",
    "privatekey",
    "secret",
    "servicekey",
    "sessionid",
    "sharedkey",
    "signature",
    "subscriptionkey",
    "token",
];
/// Names of parameters that are secret where their value is as long as a key.
const KEY_NAMES: [&str; 6] = ["code", "k", "session", "sid", "sign", "ticket"];
/// Characters of the shortest value that is a key.
const KEY_LENGTH: usize = 16;
/// Names of parameters that say that a query is signed, or has a password.
const SIGNATURES: [&str; 10] = [
    "pass",
    "passwd",
    "password",
    "pw",
    "pwd",
    "sig",
    "sign",
    "signature",
    "xamzsignature",
    "xgoogsignature",
];
/// What stands beside a signature and is not of the file's name: how long it holds, for whom, and what it permits (a
/// shared access signature of Azure has two letters for most of it).
const SIGNED_NAMES: [&str; 30] = [
    "expires",
    "googleaccessid",
    "login",
    "policy",
    "saoid",
    "scid",
    "sdd",
    "sduoid",
    "se",
    "ses",
    "si",
    "sip",
    "ske",
    "skoid",
    "sks",
    "skt",
    "sktid",
    "skv",
    "sp",
    "spr",
    "sr",
    "srt",
    "ss",
    "st",
    "suoid",
    "sv",
    "u",
    "user",
    "username",
    "xid",
];
/// Beginnings of names of parameters that stand beside a signature.
const SIGNED_BEGINNINGS: [&str; 3] = ["xamz", "xgoog", "response"];

/// A kind of store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum StoreKind {
    S3,
    Google,
    Azure,
    Web,
}

/// Whether an argument is an address, and not a path; it may be of a store that is not known here.
pub fn is_remote(argument: &str) -> bool {
    AddressParts::of(argument).is_some()
}

/// Checks that an address is one of a store that is known here, without secrets where none belong.
///
/// # Errors
/// [`RemoteError::Address`].
pub fn check_address(given: &str) -> Result<(), RemoteError> {
    ObjectAddress::parse(given).map(|_| ())
}

/// What may be shown of an argument: a path as it is, an address of any kind without what is secret in it.
pub fn without_secrets(given: &str) -> String {
    AddressParts::of(given).map_or_else(|| given.to_owned(), |parts| parts.shown())
}

/// What an address is made of, as it is spelled.
struct AddressParts<'a> {
    scheme: String,
    /// None: of a store that is not known here.
    kind: Option<StoreKind>,
    login: Option<&'a str>,
    authority: &'a str,
    /// With the stroke before it.
    path: &'a str,
    query: Option<&'a str>,
}

impl<'a> AddressParts<'a> {
    /// None: it is not an address.
    fn of(given: &'a str) -> Option<Self> {
        let (scheme, rest) = given.split_once("://")?;
        let is_scheme = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.');
        if scheme.is_empty() || !scheme.bytes().all(is_scheme) {
            return None;
        }
        let scheme = scheme.to_ascii_lowercase();
        let kind = SCHEMES.iter().find(|(known, _)| *known == scheme).map(|(_, kind)| *kind);
        let is_bucket = kind.is_some_and(|kind| kind != StoreKind::Web);
        let rest =
            if is_bucket { rest } else { rest.split_once('#').map_or(rest, |(rest, _)| rest) };
        // `?` is a character of a name in a bucket, unless a signed query stands behind it.
        let is_query = |query: &str| !is_bucket || public_query(query).as_deref() != Some(query);
        let query = rest.split_once('?').filter(|(_, query)| is_query(query));
        let (rest, query) = query.map_or((rest, None), |(rest, query)| (rest, Some(query)));
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let is_container = matches!(scheme.as_str(), "abfs" | "abfss") && !authority.contains(':');
        let (login, authority) = match authority.rsplit_once('@').filter(|_| !is_container) {
            Some((login, server)) => (Some(login), server),
            None => (None, authority),
        };
        Some(Self { scheme, kind, login, authority, path, query })
    }

    /// Whether the part in the place of a port is not a port: a login with a slash, `?` or `#` in its password, then.
    fn has_broken_login(&self) -> bool {
        let port = self.authority.rsplit_once(':').map(|(_, port)| port);
        port.is_some_and(|port| !port.ends_with(']') && !port.bytes().all(|b| b.is_ascii_digit()))
    }

    fn shown(&self) -> String {
        if self.has_broken_login() {
            return format!("{}://…", self.scheme);
        }
        let query = self.query.and_then(public_query).map(|query| format!("?{query}"));
        format!("{}://{}{}{}", self.scheme, self.authority, self.path, query.unwrap_or_default())
    }
}

/// An address of an object, or of all below it.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct ObjectAddress {
    pub(super) kind: StoreKind,
    scheme: String,
    /// The bucket or container, or the server.
    authority: String,
    /// Name and password before it.
    login: Option<String>,
    /// Behind the bucket, without the stroke between.
    pub(super) path: String,
    /// The query of a web address, behind its question mark, with its secrets.
    query: Option<String>,
}

impl ObjectAddress {
    pub(super) fn parse(given: &str) -> Result<Self, RemoteError> {
        let wrong = |why: &str| RemoteError::Address {
            address: without_secrets(given),
            why: why.to_owned(),
        };
        let parts = AddressParts::of(given).ok_or_else(|| wrong("no address"))?;
        let kind = parts
            .kind
            .ok_or_else(|| wrong("its scheme is unknown; known are s3, gs, az, abfss and https"))?;
        if parts.authority.is_empty() {
            return Err(wrong("it names no bucket; write s3://BUCKET/NAME"));
        }
        if parts.has_broken_login() {
            return Err(wrong(
                "the part after the last `:` before the path is not a port; in a password write `/` as %2F, `?` as %3F, `#` as %23, `@` as %40 and `:` as %3A",
            ));
        }
        if kind != StoreKind::Web && parts.login.is_some() {
            return Err(wrong(
                "the address of a bucket cannot have a login: give it in the environment (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY ..)",
            ));
        }
        if kind != StoreKind::Web && parts.query.is_some() {
            return Err(wrong(
                "a signed query needs an https:// address: give that, or the signature in the environment (AZURE_STORAGE_SAS_KEY ..)",
            ));
        }
        let owned = |text: &str| text.to_owned();
        Ok(Self {
            kind,
            authority: owned(parts.authority),
            login: parts.login.map(owned),
            path: owned(parts.path.strip_prefix('/').unwrap_or(parts.path)),
            query: parts.query.map(owned),
            scheme: parts.scheme,
        })
    }

    /// The store that it is in.
    pub(super) fn store(&self) -> String {
        format!("{}://{}", self.scheme, self.authority)
    }

    /// What a web server is asked for: path and query as they were written. It is secret.
    pub(super) fn target(&self) -> String {
        let query = self.query.as_ref().map(|query| format!("?{query}")).unwrap_or_default();
        format!("{}/{}{query}", self.store(), self.path)
    }

    /// Name and password, as they are.
    pub(super) fn login(&self) -> Option<Vec<u8>> {
        let login = self.login.as_deref()?;
        let (name, password) = login.split_once(':').unwrap_or((login, ""));
        Some(
            [percent_decoded(name.as_bytes()), b":".to_vec(), percent_decoded(password.as_bytes())]
                .concat(),
        )
    }

    /// The name of an object of the same store: what is secret in an address is not a part of it.
    pub(super) fn name_of(&self, path: &str) -> String {
        let query = self.query.as_deref().and_then(public_query);
        let query = query.map(|query| format!("?{query}")).unwrap_or_default();
        format!("{}/{path}{query}", self.store())
    }

    /// The name of this object, without what is secret in its address.
    pub(super) fn name(&self) -> String {
        self.name_of(&self.path)
    }

    /// Whether all below it is meant.
    pub(super) fn is_prefix(&self) -> bool {
        self.query.is_none() && (self.path.is_empty() || self.path.ends_with('/'))
    }

    /// Whether it is a pattern; a web server could not say what matches.
    pub(super) fn is_pattern(&self) -> bool {
        self.kind != StoreKind::Web && self.path.contains(['*', '?', '['])
    }

    /// The folder above whatever a pattern matches, with the stroke behind it; empty at the top.
    pub(super) fn literal(&self) -> &str {
        let end = self.path.find(['*', '?', '[']).unwrap_or(self.path.len());
        let before = text_part(&self.path, ..end);
        before.rfind('/').and_then(|stroke| before.get(..=stroke)).unwrap_or_default()
    }
}

impl std::fmt::Debug for ObjectAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ObjectAddress").field(&self.name()).finish()
    }
}

/// A query without its secret parameters, as it is spelled; none when nothing is left of it.
fn public_query(query: &str) -> Option<String> {
    let parts = || query.split(['&', ';']).map(parameter);
    let is_signed = parts().any(|(name, _)| SIGNATURES.contains(&name.as_str()));
    let is_secret = |pair: &str| {
        pair.split(';').map(parameter).any(|(name, value)| {
            is_secret_parameter(&name, value) || is_signed && is_of_signature(&name)
        })
    };
    let kept: Vec<&str> = query.split('&').filter(|pair| !is_secret(pair)).collect();
    (!kept.is_empty()).then(|| kept.join("&"))
}

/// The name of a parameter as names are compared here, and its value as it is spelled.
fn parameter(pair: &str) -> (String, &str) {
    let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
    let name = String::from_utf8_lossy(&percent_decoded(name.as_bytes())).to_ascii_lowercase();
    (name.chars().filter(|c| !matches!(c, '-' | '_' | '.' | ' ' | '+')).collect(), value)
}

fn is_secret_parameter(name: &str, value: &str) -> bool {
    SECRET_NAMES.contains(&name)
        || SECRET_WORDS.iter().any(|word| name.contains(word))
        || KEY_NAMES.contains(&name) && value.len() >= KEY_LENGTH
}

fn is_of_signature(name: &str) -> bool {
    SIGNED_NAMES.contains(&name) || SIGNED_BEGINNINGS.iter().any(|word| name.starts_with(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(given: &str) -> ObjectAddress {
        ObjectAddress::parse(given).unwrap()
    }

    #[test]
    fn addresses_come_apart_and_keep_their_secrets() {
        for path in ["a.jsonl", "/x/s3/a", "c:/x", "s3:/a/b", "a/b://c", "-"] {
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
            ("https://u:p@h:8/x?file=1#top", "https://h:8", "x", "https://h:8/x?file=1"),
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
        assert_eq!(parse("s3://b/a/2024-*/x").literal(), "a/");
        assert_eq!(parse("s3://b/*.gz").literal(), "");
        let error = ObjectAddress::parse("s3:///x").unwrap_err().to_string();
        assert!(error.contains("s3://BUCKET/NAME"), "{error}");
    }

    /// What older releases stored under a name is found under it: addresses without secrets are their own names.
    #[test]
    fn a_name_without_secrets_is_the_address() {
        for name in [
            "https://h/a%2Fb/c%20d?file=1&b=%2F&empty=&flag",
            "http://h:8080/x?",
            "https://h/x?a=1;b=2&monkey=3&sort_keys=asc&page=2&se=1&expires=2&code=de&user=7",
            "s3://b/q?q.jsonl",
            "s3://b/a=b&c?d=e#f",
            "gs://b/x[1]*.gz",
        ] {
            assert_eq!(parse(name).name(), name);
            assert_eq!(without_secrets(name), name);
        }
    }

    #[test]
    fn access_parameters_are_dropped_and_others_kept() {
        for (given, name) in [
            ("https://h/get?file=1&token=CANARY", "https://h/get?file=1"),
            ("https://h/get?token=CANARY&file=2", "https://h/get?file=2"),
            ("https://h/get?api_key=CANARY&file=2&API-Key=CANARY", "https://h/get?file=2"),
            ("https://h/get?%74oken=CANARY&x=1", "https://h/get?x=1"),
            ("https://h/get?x=1;access_token=CANARY", "https://h/get"),
            ("https://h/get?X-Amz-Security-Token=CANARY&versionId=3", "https://h/get?versionId=3"),
            ("https://h/f?AWSAccessKeyId=CANARY&Expires=1&Signature=CANARY", "https://h/f"),
            (
                "https://h/f?X-Amz-Algorithm=A&X-Amz-Credential=CANARY&X-Amz-Expires=9&X-Amz-SignedHeaders=host&X-Amz-Signature=CANARY&x-id=GetObject&response-content-type=CANARY",
                "https://h/f",
            ),
            (
                "https://h/f?X-Goog-Credential=CANARY&X-Goog-Date=1&X-Goog-Signature=CANARY",
                "https://h/f",
            ),
            ("https://h/f?GoogleAccessId=CANARY&Expires=1&Signature=CANARY", "https://h/f"),
            (
                "https://a.blob.core.windows.net/c/f?sv=1&st=CANARY&se=2&sr=b&sp=r&sip=CANARY&sig=CANARY&skoid=CANARY&snapshot=7",
                "https://a.blob.core.windows.net/c/f?snapshot=7",
            ),
            ("https://h/f?Policy=CANARY&Signature=CANARY&Key-Pair-Id=CANARY", "https://h/f"),
            ("https://h/f?user=CANARY&password=CANARY&page=3", "https://h/f?page=3"),
            ("https://h/f?code=CANARYCANARYCANARY", "https://h/f"),
            ("https://CANARY:CANARY@h/f#CANARY", "https://h/f"),
            ("https://CANARY@h/f?a=1#access_token=CANARY", "https://h/f?a=1"),
        ] {
            assert_eq!(parse(given).name(), name);
            assert_eq!(without_secrets(given), name);
            assert!(!format!("{:?}", parse(given)).contains("CANARY"));
        }
    }

    /// Addresses that are refused are shown too.
    #[test]
    fn no_secret_of_a_refused_address_is_shown() {
        for given in [
            "s3://CANARY:CANARY@bucket/x",
            "az://c/x.jsonl?sv=1&se=2&sig=CANARY",
            "gs://b/x?X-Goog-Signature=CANARY&X-Goog-Credential=CANARY",
            "abfss://c:CANARY@a.dfs.core.windows.net/x",
            "https://joe:CAN/ARY@h/CANARY",
            "https://joe:CAN#CANARY@h/x",
            "https://joe:CAN?CANARY@h/x",
            "https://CANARY:CANARY@/x",
        ] {
            let error = ObjectAddress::parse(given).unwrap_err().to_string();
            assert!(!error.contains("CANARY"), "{error}");
        }
        for given in
            ["ftp://joe:CANARY@h/x?key=CANARY#CANARY", "hdfs://CANARY@h/x", "sftp://u:C/ANARY@h"]
        {
            let error = ObjectAddress::parse(given).unwrap_err().to_string();
            assert!(!error.contains("ANARY") && error.contains("its scheme is unknown"), "{error}");
            assert!(!without_secrets(given).contains("ANARY"), "{}", without_secrets(given));
        }
        assert_eq!(without_secrets("a/b://c@d?key=1"), "a/b://c@d?key=1");
    }

    #[test]
    fn a_login_is_sent_as_it_is_meant() {
        let login =
            |given: &str| parse(given).login().map(|bytes| String::from_utf8(bytes).unwrap());
        assert_eq!(login("https://joe:sec%3Aret%2F1@h/x").unwrap(), "joe:sec:ret/1");
        assert_eq!(login("https://joe@h/x").unwrap(), "joe:");
        assert_eq!(login("https://a%40b:100%25@h/x").unwrap(), "a@b:100%");
        assert_eq!(login("https://h/x@y"), None);
        assert_eq!(parse("https://joe:x@h/a%2Fb?c=%2F#d").target(), "https://h/a%2Fb?c=%2F");
    }
}
