//! Lists all objects below a prefix, and counts those whose names cannot be a path.
//!
//! The library of the stores takes a page of a listing apart as a whole: one name with an empty part, `..` or a stroke
//! at its end fails all the others, or is asked for under another name. So such names are taken out of the page before
//! it sees it, and counted.

use super::request::between;
use async_trait::async_trait;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
    ReqwestConnector,
};
use object_store::list::{PaginatedListOptions, PaginatedListStore};
use object_store::path::Path;
use object_store::{ClientOptions, Error, HeaderValue, ObjectMeta};
use std::sync::{Arc, Mutex, PoisonError};

/// What stands around an object in a listing, around its name and around its size: of S3 and Google, of Azure.
const ELEMENTS: [[&str; 3]; 2] = [["Contents", "Key", "Size"], ["Blob", "Name", "Content-Length"]];

/// What a listing found.
pub(super) struct Listing {
    pub(super) objects: Vec<ObjectMeta>,
    /// Names that were left.
    pub(super) left: Vec<String>,
}

/// All objects whose names begin with `prefix`.
pub(super) async fn list(lists: &dyn PaginatedListStore, prefix: &str) -> Result<Listing, Error> {
    let prefix = Some(prefix).filter(|prefix| !prefix.is_empty());
    let (mut objects, mut left) = (Vec::new(), Vec::new());
    let mut token = None;
    loop {
        let names = OddNames::default();
        let mut options = PaginatedListOptions { page_token: token, ..Default::default() };
        options.extensions.insert(names.clone());
        let page = lists.list_paginated(prefix, options).await?;
        objects.extend(page.result.objects);
        left.append(&mut names.0.lock().unwrap_or_else(PoisonError::into_inner));
        token = page.page_token;
        if token.is_none() {
            return Ok(Listing { objects, left });
        }
    }
}

/// The path of an object, which its name must be in every character.
pub(super) fn path_of(name: &str) -> Result<Path, String> {
    let why = "a name with an empty part, `.`, `..`, a control character, or a slash at an end cannot be requested: copy the object to another name";
    let path = Path::parse(name).ok().filter(|path| path.as_ref() == name);
    path.ok_or_else(|| why.to_owned())
}

/// Names of a page that are not paths; travels with its request.
#[derive(Clone, Debug, Default)]
struct OddNames(Arc<Mutex<Vec<String>>>);

/// Makes clients that take odd names out of listings. What Google stores compressed is asked for as it is stored: else
/// it would come decompressed, without ranges and without a length.
#[derive(Clone, Copy, Debug)]
pub(super) struct StoreConnector {
    pub(super) is_google: bool,
}

impl HttpConnector for StoreConnector {
    fn connect(&self, options: &ClientOptions) -> Result<HttpClient, Error> {
        let client = ReqwestConnector::default().connect(options)?;
        Ok(HttpClient::new(StoreService { client, is_google: self.is_google }))
    }
}

#[derive(Debug)]
struct StoreService {
    client: HttpClient,
    is_google: bool,
}

#[async_trait]
impl HttpService for StoreService {
    async fn call(&self, mut request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let is_object =
            request.method().as_str() == "HEAD" || request.headers().contains_key("range");
        if self.is_google && is_object {
            request.headers_mut().insert("accept-encoding", HeaderValue::from_static("gzip"));
        }
        let names = request.extensions().get::<OddNames>().cloned();
        let answer = self.client.execute(request).await?;
        let Some(names) = names.filter(|_| answer.status().is_success()) else { return Ok(answer) };
        let (mut parts, body) = answer.into_parts();
        // A page that is cut is asked for once more.
        let cut = |error| HttpError::new(HttpErrorKind::Interrupted, error);
        let page = body.bytes().await.map_err(cut)?;
        let (page, odd) = match std::str::from_utf8(&page) {
            Ok(text) => without_odd_names(text),
            Err(_) => return Ok(HttpResponse::from_parts(parts, page.into())),
        };
        parts.headers.remove("content-length");
        *names.0.lock().unwrap_or_else(PoisonError::into_inner) = odd;
        Ok(HttpResponse::from_parts(parts, page.into()))
    }
}

/// A page of a listing without the objects whose names are not paths, and these names. A folder that a console made is
/// an object without bytes and a stroke at its end: it goes unsaid.
fn without_odd_names(page: &str) -> (String, Vec<String>) {
    let (mut page, mut odd) = (page.to_owned(), Vec::new());
    for [element, name, size] in ELEMENTS {
        let (open, close) = (format!("<{element}>"), format!("</{element}>"));
        let mut kept = String::with_capacity(page.len());
        let mut rest = page.as_str();
        while let Some((before, (object, behind))) = rest
            .split_once(&open)
            .and_then(|(before, from)| Some((before, from.split_once(&close)?)))
        {
            kept.push_str(before);
            rest = behind;
            let spelled = between(object, &format!("<{name}>"), &format!("</{name}>"));
            // Azure says so where a name has characters that XML has not.
            let is_coded = spelled.is_none();
            let key = unescaped(
                spelled
                    .or_else(|| {
                        between(
                            object,
                            &format!("<{name} Encoded=\"true\">"),
                            &format!("</{name}>"),
                        )
                    })
                    .unwrap_or_default(),
            );
            let is_folder = key.ends_with('/')
                && between(object, &format!("<{size}>"), &format!("</{size}>")) == Some("0");
            if is_folder {
                continue;
            }
            if is_coded || key.trim() != key || path_of(&key).is_err() {
                odd.push(key);
            } else {
                kept.push_str(&open);
                kept.push_str(object);
                kept.push_str(&close);
            }
        }
        kept.push_str(rest);
        page = kept;
    }
    (page, odd)
}

/// Text of XML as it is meant.
fn unescaped(text: &str) -> String {
    let mut meant = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, from)) = rest.split_once('&') {
        meant.push_str(before);
        let (name, behind) = from.split_once(';').unwrap_or((from, ""));
        let number =
            |digits: &str, radix| u32::from_str_radix(digits, radix).ok().and_then(char::from_u32);
        let found = match name {
            "amp" => Some('&'),
            "lt" => Some('<'),
            "gt" => Some('>'),
            "quot" => Some('"'),
            "apos" => Some('\''),
            _ => match name.strip_prefix("#x").or_else(|| name.strip_prefix("#X")) {
                Some(digits) => number(digits, 16),
                None => name.strip_prefix('#').and_then(|digits| number(digits, 10)),
            },
        };
        match found {
            Some(found) => {
                meant.push(found);
                rest = behind;
            }
            None => {
                meant.push('&');
                rest = from;
            }
        }
    }
    meant.push_str(rest);
    meant
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_names_are_taken_out_of_a_page_and_the_others_stay() {
        let object = |key: &str, size: u64| {
            format!(
                "<Contents><Key>{key}</Key><Size>{size}</Size><ETag>&quot;1&quot;</ETag></Contents>"
            )
        };
        let good = [object("a/b.jsonl", 1), object("a/&lt;x&gt; &amp;#65;%2F.jsonl", 2)];
        let odd = [
            object("a//b", 1),
            object("a/../b", 1),
            object("a/./b", 1),
            object("/a", 1),
            object("a/t/", 1),
            object("a&#x1;b", 1),
            object("a/c ", 1),
        ];
        let folder = object("a/", 0);
        let page =
            |objects: &[String]| format!("<?xml?><R><Name>b</Name>{}<Z/></R>", objects.concat());
        let mixed = [&good[..1], &odd[..4], &[folder][..], &good[1..], &odd[4..]].concat();
        let (kept, left) = without_odd_names(&page(&mixed));
        assert_eq!(kept, page(&good));
        assert_eq!(left, ["a//b", "a/../b", "a/./b", "/a", "a/t/", "a\u{1}b", "a/c "]);
        let azure = |name: &str, of: &str| {
            format!(
                "<Blob><Name{of}>{name}</Name><Properties><Content-Length>3</Content-Length></Properties></Blob>"
            )
        };
        let coded = azure("a%FF", " Encoded=\"true\"");
        let mixed = [azure("x//y", ""), azure("x/y", ""), coded].concat();
        let (kept, left) = without_odd_names(&mixed);
        assert_eq!((kept.as_str(), left.len()), (azure("x/y", "").as_str(), 2));
        for broken in ["<Contents><Key>a//b</Key>", "</Contents><Contents>", "&", ""] {
            assert_eq!(without_odd_names(broken), (broken.to_owned(), vec![]));
        }
    }

    #[test]
    fn text_of_xml_is_read_as_it_is_meant() {
        for (text, meant) in [
            ("a&amp;b&lt;&gt;&quot;&apos;&#65;&#x42;", "a&b<>\"'AB"),
            ("&unknown;&#xD800;&", "&unknown;&#xD800;&"),
            ("&amp;lt;", "&lt;"),
        ] {
            assert_eq!(unescaped(text), meant);
        }
    }
}
