//! An object of a bucket or web server: found by its address, known by size and version, read from any byte.
//!
//! One loop reads it, and goes on at the byte reached where a connection is cut.

use super::NameMatcher;
use super::address::{ObjectAddress, StoreKind};
use super::error::RemoteError;
use super::listing::{Listing, list, path_of};
use super::request::{
    AnswerBody, ObjectAnswer, PendingRequest, RequestFault, RequestRuntime, RetryState, SILENCE,
    send, within,
};
use super::stores::{ObjectStores, StoreClient};
use super::web::WebFile;
use bytes::Bytes;
use futures::StreamExt;
use model::Interrupt;
use object_store::path::Path;
use object_store::{GetOptions, GetRange, ObjectMeta, ObjectStoreExt};
use std::ops::Range;
use std::sync::Arc;

impl ObjectStores {
    /// The objects that an address stands for, in byte order of their names: one, all below a prefix, or what matches a
    /// pattern, as `matches` says; a name that is there is no pattern. The addresses of those that cannot be asked for
    /// come second.
    pub(crate) fn objects(
        &self,
        given: &str,
        interrupt: &Interrupt,
        matches: impl FnOnce(&str) -> Result<NameMatcher, String>,
    ) -> Result<(Vec<RemoteObject>, Vec<String>), RemoteError> {
        let address = ObjectAddress::parse(given)?;
        if address.kind == StoreKind::Web {
            return Ok((vec![self.web_file(&address, interrupt)?], Vec::new()));
        }
        let client = self.clients.bucket(&address)?;
        let finder = ObjectFinder { address: &address, client: &client, interrupt };
        let (mut found, left) = if address.is_pattern() {
            match finder.one() {
                Ok(one) => (vec![one], Vec::new()),
                Err(RemoteError::Interrupted(stop)) => return Err(stop.into()),
                Err(_) => {
                    let wrong = |why| RemoteError::Address { address: address.name(), why };
                    let matches = matches(&address.path).map_err(wrong)?;
                    finder.below(address.literal(), &*matches)?
                }
            }
        } else if address.is_prefix() {
            finder.below(&address.path, &|_| true)?
        } else {
            match finder.one() {
                // A folder whose name has no stroke behind it.
                Err(RemoteError::NotFound { .. }) => {
                    finder.below(&format!("{}/", address.path), &|_| true)?
                }
                one => (vec![one?], Vec::new()),
            }
        };
        if found.is_empty() {
            let address = address.name();
            return Err(match left.first() {
                Some(first) => RemoteError::Address {
                    address,
                    why: format!(
                        "no object there can be requested by its name, such as {first}; copy them to names without empty parts, `.`, `..` and slashes at an end"
                    ),
                },
                None => RemoteError::NotFound { address },
            });
        }
        found.sort_by(|a, b| a.location.as_ref().cmp(b.location.as_ref()));
        let object = |meta: ObjectMeta| {
            let name = address.name_of(meta.location.as_ref());
            RemoteObject::of_bucket(name, client.clone(), meta, interrupt)
        };
        Ok((found.into_iter().map(object).collect(), left))
    }

    fn web_file(
        &self,
        address: &ObjectAddress,
        interrupt: &Interrupt,
    ) -> Result<RemoteObject, RemoteError> {
        let name = address.name();
        if address.is_prefix() {
            return Err(RemoteError::NoListing { address: name });
        }
        let (client, runtime) = self.clients.web(address)?;
        let file = WebFile::new(client, address)?;
        let begun = Arc::clone(&runtime);
        let asked = runtime.begin(async move {
            // A part of one byte tells the size and the version, and whether there are parts.
            let answer = send(&name, || file.get(Some(&(0..1)), None)).await?;
            let ObjectAnswer { total: size, is_part, tag, modified, body: _ } = answer;
            let has_ranges = is_part && size.is_some();
            let (tag, source) = (tag.as_deref().map(unquoted_tag), ObjectSource::Web(file));
            Ok(ObjectVersion { name, source, runtime: begun, size, has_ranges, tag, modified })
        });
        let known = Arc::new(asked.wait(interrupt)?);
        Ok(RemoteObject { known, interrupt: interrupt.clone() })
    }
}

/// Looks for the objects of an address.
struct ObjectFinder<'a> {
    address: &'a ObjectAddress,
    client: &'a StoreClient,
    interrupt: &'a Interrupt,
}

impl ObjectFinder<'_> {
    /// The object of that name.
    fn one(&self) -> Result<ObjectMeta, RemoteError> {
        let name = self.address.name();
        let location = path_of(&self.address.path)
            .map_err(|why| RemoteError::Address { address: name.clone(), why })?;
        head(self.client, location, name).wait(self.interrupt)
    }

    /// All objects with a prefix whose names match, and those that cannot be asked for.
    fn below(
        &self,
        prefix: &str,
        matches: &dyn Fn(&str) -> bool,
    ) -> Result<(Vec<ObjectMeta>, Vec<String>), RemoteError> {
        let listing = list_below(self.client, prefix.to_owned(), self.address.name());
        let mut listing = listing.wait(self.interrupt)?;
        // A folder that a console made is an object without bytes.
        listing.objects.retain(|meta| meta.size > 0 && matches(meta.location.as_ref()));
        listing.left.sort();
        let left = listing.left.iter().filter(|name| matches(name));
        let left = left.map(|name| self.address.name_of(name)).collect();
        Ok((listing.objects, left))
    }
}

/// Asks what is known of an object.
pub(super) fn head(
    client: &StoreClient,
    location: Path,
    name: String,
) -> PendingRequest<ObjectMeta> {
    let asked = client.clone();
    client.runtime.begin(async move {
        asked.small.head(&location).await.map_err(|error| asked.fault(&error, &name).last(&name))
    })
}

/// Asks for all objects whose names begin with a prefix.
pub(super) fn list_below(
    client: &StoreClient,
    prefix: String,
    name: String,
) -> PendingRequest<Listing> {
    let asked = client.clone();
    client.runtime.begin(async move {
        list(asked.lists.as_ref(), &prefix)
            .await
            .map_err(|error| asked.fault(&error, &name).last(&name))
    })
}

/// An object as it was found.
#[derive(Clone)]
pub struct RemoteObject {
    known: Arc<ObjectVersion>,
    pub(super) interrupt: Interrupt,
}

/// What is known of an object.
struct ObjectVersion {
    name: String,
    source: ObjectSource,
    runtime: Arc<RequestRuntime>,
    /// None: the server does not say.
    size: Option<u64>,
    /// Whether the server gives parts of it.
    has_ranges: bool,
    /// Its version, without quotes.
    tag: Option<String>,
    /// When it was modified, in nanoseconds since 1970; 0 when the server does not say.
    modified: i64,
}

enum ObjectSource {
    Bucket { client: StoreClient, location: Path },
    Web(WebFile),
}

impl RemoteObject {
    pub(super) fn of_bucket(
        name: String,
        client: StoreClient,
        meta: ObjectMeta,
        interrupt: &Interrupt,
    ) -> Self {
        let ObjectMeta { location, size, e_tag, last_modified, .. } = meta;
        let known = ObjectVersion {
            name,
            runtime: Arc::clone(&client.runtime),
            source: ObjectSource::Bucket { client, location },
            size: Some(size),
            has_ranges: true,
            tag: e_tag.as_deref().map(unquoted_tag),
            modified: last_modified.timestamp_nanos_opt().unwrap_or_default(),
        };
        Self { known: Arc::new(known), interrupt: interrupt.clone() }
    }

    /// Its address, without what is secret.
    pub(crate) fn name(&self) -> &str {
        &self.known.name
    }

    /// Its bytes; 0 when the server does not say.
    pub(crate) fn size(&self) -> u64 {
        self.known.size.unwrap_or(0)
    }

    /// Whether any part of it can be had.
    pub(super) fn has_ranges(&self) -> bool {
        self.known.has_ranges
    }

    /// A number for its version: a hash of its tag, or else its time of modification; 0 when neither is known.
    pub(crate) fn version(&self) -> i128 {
        match &self.known.tag {
            None => i128::from(self.known.modified),
            Some(tag) => {
                let hash = blake3::hash(tag.as_bytes());
                let half = hash.as_bytes().first_chunk::<16>().copied().unwrap_or_default();
                i128::from_le_bytes(half) | 1
            }
        }
    }

    /// Why two objects of one name cannot both be read: their addresses differ in what is not stored, and they are not
    /// of one version.
    pub(crate) fn clash(&self, other: &Self) -> Option<RemoteError> {
        let (ObjectSource::Web(one), ObjectSource::Web(two)) =
            (&self.known.source, &other.known.source)
        else {
            return None;
        };
        let is_same = self.version() != 0 && *self == *other && self.size() == other.size();
        (one.differs(two) && !is_same).then(|| RemoteError::Address {
            address: self.name().to_owned(),
            why: "it is given twice, and the two differ only in parameters that are treated as secrets and not stored (key, token, sig ..), so both would have the same name; copy one of them to another name".to_owned(),
        })
    }

    /// Begins to read a range.
    pub(super) fn begin(&self, range: Range<u64>) -> PendingRequest<Vec<u8>> {
        let length = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
        let mut body = BodyReader::new(self, Some(range));
        self.known.runtime.begin(async move {
            let mut bytes = Vec::with_capacity(length);
            while let Some(next) = body.next().await? {
                bytes.extend_from_slice(&next);
            }
            Ok(bytes)
        })
    }

    /// Begins to read the next bytes of a body, about `length`; fewer come at its end only.
    pub(super) fn pull(
        &self,
        mut body: BodyReader,
        length: usize,
    ) -> PendingRequest<(BodyReader, Vec<u8>)> {
        self.known.runtime.begin(async move {
            let mut bytes = Vec::new();
            while bytes.len() < length {
                let Some(next) = body.next().await? else { break };
                bytes.extend_from_slice(&next);
            }
            Ok((body, bytes))
        })
    }
}

impl PartialEq for RemoteObject {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name() && self.version() == other.version()
    }
}

impl Eq for RemoteObject {}

impl std::fmt::Debug for RemoteObject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("RemoteObject").field(&self.name()).finish()
    }
}

/// A version tag as it is spelled in every answer: some lists leave out the quotes.
pub(super) fn unquoted_tag(tag: &str) -> String {
    tag.trim().trim_matches('"').to_owned()
}

impl ObjectVersion {
    /// Asks for a range, or for all, of the version that was found.
    async fn open(&self, range: Option<Range<u64>>) -> Result<AnswerBody, RequestFault> {
        // A weak tag matches nothing, by the rules; the answer's own is examined below.
        let strong = self.tag.as_deref().filter(|tag| !tag.starts_with("W/"));
        let is_range = range.is_some();
        let answer = match &self.source {
            ObjectSource::Web(file) => file.get(range.as_ref(), strong).await?,
            ObjectSource::Bucket { client, location } => {
                self.get(client, location, range, strong).await?
            }
        };
        if !self.is_same(&answer) {
            return Err(RequestFault::Changed);
        }
        match is_range && !answer.is_part {
            true => Err(RequestFault::NoRanges),
            false => Ok(answer.body),
        }
    }

    async fn get(
        &self,
        client: &StoreClient,
        location: &Path,
        range: Option<Range<u64>>,
        tag: Option<&str>,
    ) -> Result<ObjectAnswer, RequestFault> {
        let is_part = range.is_some();
        let options = GetOptions {
            range: range.map(GetRange::Bounded),
            if_match: tag.map(|tag| format!("\"{tag}\"")),
            ..GetOptions::default()
        };
        let answer = within(SILENCE, client.bodies.get_opts(location, options)).await?;
        let answer = answer.map_err(|error| client.fault(&error, &self.name))?;
        let (client, name) = (client.clone(), self.name.clone());
        let words = move |error| match client.fault(&error, &name) {
            RequestFault::Passing(why) => why,
            fault => fault.last(&name).to_string(),
        };
        let ObjectMeta { size, e_tag, last_modified, .. } = answer.meta.clone();
        Ok(ObjectAnswer {
            total: Some(size),
            is_part,
            tag: e_tag,
            modified: last_modified.timestamp_nanos_opt().unwrap_or_default(),
            body: answer.into_stream().map(move |bytes| bytes.map_err(&words)).boxed(),
        })
    }

    fn is_same(&self, answer: &ObjectAnswer) -> bool {
        let is_same_version = match (&self.tag, answer.tag.as_deref().map(unquoted_tag)) {
            (Some(known), Some(now)) => *known == now,
            (Some(_), None) => true,
            // A list tells the time to the millisecond, an answer to the second.
            (None, _) => answer.modified.abs_diff(self.modified) < 1_000_000_000,
        };
        is_same_version
            && (self.size.is_none() || answer.total.is_none() || answer.total == self.size)
    }
}

/// Reads a range of an object, or all of it from its start: whatever is cut continues at the byte reached.
pub(super) struct BodyReader {
    known: Arc<ObjectVersion>,
    range: Option<Range<u64>>,
    body: Option<AnswerBody>,
    /// The next byte that is wanted.
    reached: u64,
    /// Bytes of an answer that were had before.
    skip: u64,
    is_done: bool,
    retries: RetryState,
    /// What was reached at the last failure.
    failed_at: u64,
}

impl BodyReader {
    /// A reader that has begun nothing.
    pub(super) fn new(object: &RemoteObject, range: Option<Range<u64>>) -> Self {
        let reached = range.as_ref().map_or(0, |range| range.start);
        Self {
            known: Arc::clone(&object.known),
            range,
            body: None,
            reached,
            skip: 0,
            is_done: false,
            retries: RetryState::default(),
            failed_at: reached,
        }
    }

    /// Goes on at a byte of the whole.
    pub(super) fn from(object: &RemoteObject, reached: u64) -> Self {
        Self { reached, failed_at: reached, ..Self::new(object, None) }
    }

    /// The next bytes; none at the end.
    async fn next(&mut self) -> Result<Option<Bytes>, RemoteError> {
        while !self.is_done {
            match self.attempt().await {
                Ok(bytes) if bytes.is_empty() => {}
                Ok(bytes) => return Ok(Some(bytes)),
                Err(fault) => {
                    self.body = None;
                    let progress = self.reached > self.failed_at;
                    self.failed_at = self.reached;
                    let (name, at) = (&self.known.name, self.reached);
                    self.retries.failed(name, fault, progress, at).await?;
                }
            }
        }
        Ok(None)
    }

    /// Bytes that come next, which may be none yet.
    async fn attempt(&mut self) -> Result<Bytes, RequestFault> {
        let end = self.range.as_ref().map(|range| range.end).or(self.known.size);
        if end.is_some_and(|end| self.reached >= end) {
            self.is_done = true;
            return Ok(Bytes::new());
        }
        let mut body = match self.body.take() {
            Some(body) => body,
            None => {
                let range = self.range.as_ref().map(|range| self.reached..range.end);
                self.skip = if range.is_none() { self.reached } else { 0 };
                self.known.open(range).await?
            }
        };
        let Some(bytes) = within(SILENCE, body.next()).await? else {
            // Without a length the end of the answer is the end of the file, unless it had been longer.
            self.is_done = end.is_none() && self.skip == 0;
            return match (self.is_done, end) {
                (true, _) => Ok(Bytes::new()),
                (false, None) => Err(RequestFault::Changed),
                (false, Some(_)) => Err(RequestFault::Passing("the connection was cut".to_owned())),
            };
        };
        let mut bytes = bytes.map_err(RequestFault::Passing)?;
        let passed = self.skip.min(bytes.len() as u64);
        self.skip -= passed;
        let bytes = bytes.split_off(usize::try_from(passed).unwrap_or(usize::MAX));
        let reached = self.reached + bytes.len() as u64;
        if end.is_some_and(|end| reached > end) {
            return Err(RequestFault::Final(RemoteError::Failed {
                address: self.known.name.clone(),
                why: "the server sent more bytes than requested".to_owned(),
            }));
        }
        self.reached = reached;
        self.body = Some(body);
        Ok(bytes)
    }
}
