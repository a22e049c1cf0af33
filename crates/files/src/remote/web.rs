//! Files of web servers, requested as their addresses are written, by GET alone: a signed address permits nothing else.
//!
//! The store of web servers that object_store has asks HEAD first, decodes paths, sends no login and needs a length.

use super::address::{ObjectAddress, StoreKind};
use super::error::RemoteError;
use super::request::{
    AnswerBody, ObjectAnswer, RequestFault, SILENCE, access_hint, public_words, within,
};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures::StreamExt;
use model::{error_words, timestamp_of_text};
use object_store::client::{HttpClient, HttpRequest, HttpRequestBody};
use object_store::{HeaderMap, HeaderValue, ObjectStoreScheme};
use std::ops::Range;

/// A file of a web server.
pub(super) struct WebFile {
    client: HttpClient,
    /// Secret.
    url: String,
    login: Option<HeaderValue>,
    name: String,
}

impl WebFile {
    pub(super) fn new(client: HttpClient, address: &ObjectAddress) -> Result<Self, RemoteError> {
        let name = address.name();
        let wrong = |why| RemoteError::Address { address: name.clone(), why };
        let url = checked(&address.target()).map_err(wrong)?;
        let login = match address.login() {
            Some(login) => {
                let value = format!("Basic {}", STANDARD.encode(login)).parse();
                let mut value: HeaderValue = value.map_err(|_| wrong("no login".to_owned()))?;
                value.set_sensitive(true);
                Some(value)
            }
            None => None,
        };
        Ok(Self { client, url, login, name })
    }

    /// Whether the other is asked for under another address.
    pub(super) fn differs(&self, other: &Self) -> bool {
        self.url != other.url
    }

    /// Asks for a range, or for all, of the version with that tag.
    pub(super) async fn get(
        &self,
        range: Option<&Range<u64>>,
        tag: Option<&str>,
    ) -> Result<ObjectAnswer, RequestFault> {
        let failed = |why: String| {
            RequestFault::Final(RemoteError::Failed { address: self.name.clone(), why })
        };
        let mut request = HttpRequest::new(HttpRequestBody::empty());
        *request.uri_mut() = self.url.parse().map_err(|_| failed("no address".to_owned()))?;
        let texts = [
            ("range", range.map(|range| format!("bytes={}-{}", range.start, range.end - 1))),
            ("if-match", tag.map(|tag| format!("\"{tag}\""))),
        ];
        for (header, text) in texts {
            if let Some(text) = text {
                let text = text.parse().map_err(|_| failed(format!("no header {header}")))?;
                request.headers_mut().insert(header, text);
            }
        }
        if let Some(login) = &self.login {
            request.headers_mut().insert("authorization", login.clone());
        }
        let answer = within(SILENCE, self.client.execute(request)).await?;
        let answer = answer
            .map_err(|error| RequestFault::Passing(public_words(&error_words(&error), &[])))?;
        let (status, start) = (answer.status().as_u16(), range.map_or(0, |range| range.start));
        if !answer.status().is_success() && status != 416 {
            return Err(self.refused(status, &answer.status().to_string()));
        }
        let (parts, body) = answer.into_parts();
        let headers = &parts.headers;
        let (first, total) = content_range(text(headers, "content-range").unwrap_or_default());
        let is_part = range.is_some() && matches!(status, 206 | 416);
        let total = match status {
            206 | 416 => total,
            _ => text(headers, "content-length").and_then(|length| length.parse().ok()),
        };
        let body: AnswerBody = match status {
            // Nothing is there to take a part of.
            416 if total == Some(0) => futures::stream::empty().boxed(),
            416 => return Err(RequestFault::Changed),
            206 if first.is_some_and(|first| first != start) => {
                return Err(failed(
                    "the server sent another part than the requested one".to_owned(),
                ));
            }
            _ => {
                let words = |error| public_words(&error_words(&error), &[]);
                body.bytes_stream().map(move |bytes| bytes.map_err(words)).boxed()
            }
        };
        let modified = text(headers, "last-modified").and_then(timestamp_of_text).unwrap_or(0);
        let tag = text(headers, "etag").map(str::to_owned);
        Ok(ObjectAnswer { total, is_part, tag, modified: modified.saturating_mul(1000), body })
    }

    fn refused(&self, status: u16, why: &str) -> RequestFault {
        let (address, why) = (self.name.clone(), format!("the server answers {why}"));
        match status {
            404 | 410 => RequestFault::Final(RemoteError::NotFound { address }),
            401 | 403 | 407 => {
                let out = access_hint(StoreKind::Web);
                RequestFault::Final(RemoteError::Denied { address, why, out })
            }
            412 => RequestFault::Changed,
            408 | 425 | 429 | 500.. => RequestFault::Passing(why),
            _ => RequestFault::Final(RemoteError::Failed { address, why }),
        }
    }
}

/// An address as it goes out: what cannot stand in one is coded, what is coded stays so.
fn checked(target: &str) -> Result<String, String> {
    let parsed = target.parse();
    match &parsed {
        Ok(url) => {
            // Its type, which is not named here, is what the client beneath takes every address for.
            let _ = ObjectStoreScheme::parse(url);
            Ok(url.to_string())
        }
        Err(error) => Err(error.to_string()),
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// The first byte of a part and the bytes of the whole, if the header has them: `bytes 0-9/100`, `bytes */100`.
fn content_range(told: &str) -> (Option<u64>, Option<u64>) {
    let Some((part, total)) = told.trim_start_matches("bytes").trim().split_once('/') else {
        return (None, None);
    };
    (part.split('-').next().and_then(|first| first.trim().parse().ok()), total.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_go_out_as_they_are_written() {
        for (target, sent) in [
            ("https://h/a%2Fb/c%20d?x=%2F&y=a+b", "https://h/a%2Fb/c%20d?x=%2F&y=a+b"),
            ("http://h:8080/a b/é?q=ü", "http://h:8080/a%20b/%C3%A9?q=%C3%BC"),
            ("https://h/50%/%zz", "https://h/50%/%zz"),
            ("http://[::1]:80/x;y=1/(z)", "http://[::1]/x;y=1/(z)"),
        ] {
            assert_eq!(checked(target).unwrap(), sent);
        }
        for wrong in ["http://[::1/x", "http://h:99999/x", "http://a%zz/x", "http:///"] {
            assert!(checked(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_total_of_a_content_range_is_read() {
        assert_eq!(content_range("bytes 0-0/120"), (Some(0), Some(120)));
        assert_eq!(content_range("bytes 5-9/*"), (Some(5), None));
        assert_eq!(content_range("bytes */0"), (None, Some(0)));
        assert_eq!(content_range(""), (None, None));
    }
}
