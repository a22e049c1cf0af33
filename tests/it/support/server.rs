//! A server of files for tests: over HTTP with ranges and tags, and as a store of buckets; it misbehaves as it is told.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

/// How a server behaves, and what it saw.
#[derive(Default)]
pub struct State {
    /// By path, without the stroke before it: in a store, behind the name of the bucket.
    pub files: BTreeMap<String, Vec<u8>>,
    /// Parts of files are not given.
    pub no_ranges: bool,
    /// Versions are not told.
    pub no_tags: bool,
    /// So many answers are cut, each behind so many bytes.
    pub cuts: (usize, usize),
    /// HEAD is not permitted, as by a signature that is for GET.
    pub no_heads: bool,
    /// How long a file is is not said: it comes in chunks, or as in HTTP/1.0 until the connection ends.
    pub no_lengths: Option<Framing>,
    /// Who may ask: `Basic` and the login in base64.
    pub login: Option<String>,
    /// So many completions of uploads are done, and their answers lost.
    pub lost_completions: usize,
    /// Uploads are forgotten when they are to be completed.
    pub uploads_vanish: bool,
    /// A query is part of a file's name.
    pub by_query: bool,
    /// How long each part and each completion takes.
    pub delay: Duration,
    /// How long each object that comes as a whole takes.
    pub put_delay: Duration,
    /// Objects that were written two hours before all others.
    pub old: BTreeSet<String>,
    /// What is to be written only where nothing is, is answered as unknown.
    pub no_conditions: bool,
    /// An object that somebody else writes before the next one that is to be written only where nothing is.
    pub rival: Option<(String, Vec<u8>)>,
    /// An object that somebody else writes before the next object, or part of one, comes in.
    pub appearing: Option<(String, Vec<u8>)>,
    /// The targets of all requests as they were spelled, with what came as authorization.
    pub targets: Vec<String>,
    /// Nothing is answered.
    pub silent: bool,
    /// Behind so many answers with bytes of files, a file has other bytes.
    pub replace: Option<(usize, String, Vec<u8>)>,
    /// Method, path and range of every request.
    pub requests: Vec<String>,
    /// Answers with bytes of files.
    pub answers: usize,
    /// Bytes of files that were sent.
    pub sent: usize,
    /// Parts of files that come in, by the number of the upload.
    pub uploads: BTreeMap<String, BTreeMap<u32, Vec<u8>>>,
}

/// How a body without a length ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    Chunked,
    UntilClosed,
}

/// A server on a port of its own, which ends with it.
pub struct Server {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
}

impl Server {
    pub fn start(state: State) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(Mutex::new(state));
        let shared = Arc::downgrade(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Some(state) = shared.upgrade() else { break };
                let stream = stream.unwrap();
                std::thread::spawn(move || serve(stream, &state));
            }
        });
        Self { address, state }
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// The address of a file.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}/{path}", self.address)
    }

    /// The environment in which it is a store of buckets.
    pub fn store(&self) -> [(&'static str, String); 4] {
        [
            ("AWS_ENDPOINT_URL", format!("http://{}", self.address)),
            ("AWS_ALLOW_HTTP", "true".to_owned()),
            ("AWS_REGION", "us-east-1".to_owned()),
            ("AWS_SKIP_SIGNATURE", "true".to_owned()),
        ]
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The thread that waits for connections looks again whether anyone wants it.
        let _ = TcpStream::connect(self.address);
    }
}

struct Request {
    target: String,
    method: String,
    path: String,
    query: BTreeMap<String, String>,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

impl Request {
    fn read(stream: &TcpStream) -> Option<Self> {
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|bytes| *bytes > 0)?;
        let mut words = line.split_whitespace();
        let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
        let mut headers = BTreeMap::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        }
        let length = headers.get("content-length").and_then(|length| length.parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        reader.read_exact(&mut body).ok()?;
        let (path, query) = target.split_once('?').unwrap_or((target.as_str(), ""));
        let pair = |pair: &str| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decoded(name), decoded(value))
        };
        let query = query.split('&').filter(|pair| !pair.is_empty()).map(pair).collect();
        let path = decoded(path.trim_start_matches('/'));
        Some(Self { target: target.clone(), method, path, query, headers, body })
    }

    fn range(&self) -> Option<(usize, usize)> {
        let (from, to) = self.headers.get("range")?.strip_prefix("bytes=")?.split_once('-')?;
        Some((from.parse().ok()?, to.parse().ok()?))
    }
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let code = (*first == b'%').then(|| std::str::from_utf8(&behind[..2]).unwrap());
        match code {
            Some(code) => {
                bytes.push(u8::from_str_radix(code, 16).unwrap());
                rest = &behind[2..];
            }
            None => {
                bytes.push(*first);
                rest = behind;
            }
        }
    }
    String::from_utf8(bytes).unwrap()
}

fn serve(mut stream: TcpStream, state: &Mutex<State>) {
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let Some(request) = Request::read(&stream) else { return };
    let (is_silent, delay) = {
        let mut state = state.lock().unwrap();
        let range = request.headers.get("range").map_or("", String::as_str);
        state.requests.push(format!("{} {} {range}", request.method, request.path));
        let login = request.headers.get("authorization").map_or("", String::as_str);
        state.targets.push(format!("{} {login}", request.target));
        let delay = match request.query.contains_key("uploadId") {
            true => state.delay,
            false if request.method == "PUT" => state.put_delay,
            false => Duration::ZERO,
        };
        (state.silent, delay)
    };
    std::thread::sleep(delay);
    if is_silent {
        // Until whoever asks goes away.
        let _ = stream.read(&mut [0]);
        return;
    }
    let (answer, cut) = state.lock().unwrap().answer(&request);
    // Whoever asks may have gone.
    let _ = match cut {
        Some(at) => stream.write_all(&answer[..at]),
        None => stream.write_all(&answer),
    };
    let _ = stream.shutdown(Shutdown::Both);
}

fn head(status: &str, headers: &[(&str, String)], length: usize) -> Vec<u8> {
    let headers: String =
        headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n")
        .into_bytes()
}

fn whole(status: &str, body: &str) -> (Vec<u8>, Option<usize>) {
    let xml = [("Content-Type", "application/xml".to_owned())];
    ([head(status, &xml, body.len()), body.as_bytes().to_vec()].concat(), None)
}

fn tag(bytes: &[u8]) -> String {
    format!("\"{}\"", &blake3::hash(bytes).to_hex()[..16])
}

impl State {
    /// The bytes of an answer, and where it is cut.
    fn answer(&mut self, request: &Request) -> (Vec<u8>, Option<usize>) {
        if self.login.is_some() && self.login.as_ref() != request.headers.get("authorization") {
            return whole("401 Unauthorized", "");
        }
        if self.no_heads && request.method == "HEAD" {
            return whole("403 Forbidden", "");
        }
        if request.query.contains_key("list-type") {
            return self.list(request);
        }
        match request.method.as_str() {
            "GET" | "HEAD" => self.file(request),
            "PUT" => self.put(request),
            "POST" if request.query.contains_key("delete") => self.delete(request),
            "POST" => self.multipart(request),
            "DELETE" => {
                match request.query.get("uploadId") {
                    Some(upload) => drop(self.uploads.remove(upload)),
                    None => drop(self.files.remove(&request.path)),
                }
                whole("204 No Content", "")
            }
            _ => whole("405 Method Not Allowed", ""),
        }
    }

    fn file(&mut self, request: &Request) -> (Vec<u8>, Option<usize>) {
        if let Some((behind, path, bytes)) = self.replace.take_if(|(at, ..)| *at <= self.answers) {
            let _ = behind;
            self.files.insert(path, bytes);
        }
        let path = match self.by_query {
            true => request.target.trim_start_matches('/'),
            false => request.path.as_str(),
        };
        let Some(bytes) = self.files.get(path).cloned() else {
            return whole("404 Not Found", "<Error><Code>NoSuchKey</Code></Error>");
        };
        let own = tag(&bytes);
        let wanted = request.headers.get("if-match");
        if wanted.is_some_and(|wanted| *wanted != own) {
            return whole("412 Precondition Failed", "");
        }
        let mut headers = vec![("Last-Modified", "Wed, 21 Oct 2026 07:28:00 GMT".to_owned())];
        if !self.no_tags {
            headers.push(("ETag", own));
        }
        if request.method == "HEAD" {
            return (head("200 OK", &headers, bytes.len()), None);
        }
        if let Some(framing) = self.no_lengths {
            self.answers += 1;
            return self.unframed(&bytes, framing);
        }
        if bytes.is_empty() {
            headers.push(("Content-Range", "bytes */0".to_owned()));
            return (head("416 Range Not Satisfiable", &headers, 0), None);
        }
        let range = request.range().filter(|_| !self.no_ranges);
        let (status, part) = match range {
            Some((from, to)) => {
                let to = to.min(bytes.len() - 1);
                let told = format!("bytes {from}-{to}/{}", bytes.len());
                headers.push(("Content-Range", told));
                ("206 Partial Content", &bytes[from..=to])
            }
            None => ("200 OK", &bytes[..]),
        };
        self.answers += 1;
        let head = head(status, &headers, part.len());
        let (left, behind) = &mut self.cuts;
        let cut = (*left > 0 && part.len() > *behind).then(|| {
            *left -= 1;
            head.len() + *behind
        });
        self.sent += cut.map_or(part.len(), |cut| cut - head.len());
        ([head, part.to_vec()].concat(), cut)
    }

    fn unframed(&mut self, bytes: &[u8], framing: Framing) -> (Vec<u8>, Option<usize>) {
        let (mut answer, end) = match framing {
            Framing::Chunked => {
                let head =
                    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n";
                (head.to_vec(), b"0\r\n\r\n".as_slice())
            }
            Framing::UntilClosed => (b"HTTP/1.0 200 OK\r\n\r\n".to_vec(), [].as_slice()),
        };
        let head = answer.len();
        for chunk in bytes.chunks(5000) {
            let length = format!("{:x}\r\n", chunk.len());
            let (before, behind) = match framing {
                Framing::Chunked => (length.as_bytes(), b"\r\n".as_slice()),
                Framing::UntilClosed => ([].as_slice(), [].as_slice()),
            };
            answer.extend([before, chunk, behind].concat());
        }
        answer.extend(end);
        let (left, behind) = &mut self.cuts;
        let cut = (*left > 0 && bytes.len() > *behind).then(|| {
            *left -= 1;
            head + *behind
        });
        (answer, cut)
    }

    fn list(&self, request: &Request) -> (Vec<u8>, Option<usize>) {
        let bucket = format!("{}/", request.path.trim_end_matches('/'));
        if !self.files.keys().any(|path| path.starts_with(&bucket)) {
            return whole("404 Not Found", "<Error><Code>NoSuchBucket</Code></Error>");
        }
        let prefix = request.query.get("prefix").map_or("", String::as_str);
        let escaped =
            |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('\u{1}', "&#x1;");
        let entry = |(path, bytes): (&String, &Vec<u8>)| {
            let key = path.strip_prefix(&bucket).filter(|key| key.starts_with(prefix))?;
            Some(format!(
                "<Contents><Key>{}</Key><LastModified>2026-10-21T{}:28:00.000Z</LastModified><ETag>{}</ETag><Size>{}</Size></Contents>",
                escaped(key),
                if self.old.contains(path) { "05" } else { "07" },
                tag(bytes).replace('"', "&quot;"),
                bytes.len()
            ))
        };
        // A store lists in an order of its own.
        let entries: String = self.files.iter().rev().filter_map(entry).collect();
        whole(
            "200 OK",
            &format!("<?xml version=\"1.0\"?><ListBucketResult>{entries}</ListBucketResult>"),
        )
    }

    fn put(&mut self, request: &Request) -> (Vec<u8>, Option<usize>) {
        self.files.extend(self.appearing.take());
        let (left, behind) = &mut self.cuts;
        if *left > 0 && request.body.len() > *behind {
            *left -= 1;
            return (Vec::new(), None);
        }
        if request.headers.get("if-none-match").is_some_and(|wanted| wanted == "*") {
            if self.no_conditions {
                return whole("501 Not Implemented", "<Error><Code>NotImplemented</Code></Error>");
            }
            self.files.extend(self.rival.take());
            if self.files.contains_key(&request.path) {
                return whole("412 Precondition Failed", "");
            }
        }
        let body = request.body.clone();
        let own = [("ETag", tag(&body))];
        match request.query.get("uploadId") {
            Some(upload) => {
                let part = request.query["partNumber"].parse().unwrap();
                let Some(parts) = self.uploads.get_mut(upload) else {
                    return whole("404 Not Found", "<Error><Code>NoSuchUpload</Code></Error>");
                };
                parts.insert(part, body);
            }
            None => {
                self.files.insert(request.path.clone(), body);
            }
        }
        (head("200 OK", &own, 0), None)
    }

    /// Deletes the objects that a request names.
    fn delete(&mut self, request: &Request) -> (Vec<u8>, Option<usize>) {
        let bucket = request.path.trim_end_matches('/');
        let body = String::from_utf8(request.body.clone()).unwrap();
        let mut deleted = String::new();
        for part in body.split("<Key>").skip(1) {
            let key = part.split("</Key>").next().unwrap();
            self.files.remove(&format!("{bucket}/{key}"));
            deleted += &format!("<Deleted><Key>{key}</Key></Deleted>");
        }
        whole("200 OK", &format!("<DeleteResult>{deleted}</DeleteResult>"))
    }

    fn multipart(&mut self, request: &Request) -> (Vec<u8>, Option<usize>) {
        let Some(upload) = request.query.get("uploadId") else {
            let upload = format!("upload{}", self.requests.len());
            self.uploads.insert(upload.clone(), BTreeMap::new());
            return whole(
                "200 OK",
                &format!(
                    "<InitiateMultipartUploadResult><Bucket>b</Bucket><Key>k</Key><UploadId>{upload}</UploadId></InitiateMultipartUploadResult>"
                ),
            );
        };
        let parts = self.uploads.remove(upload).filter(|_| !self.uploads_vanish);
        let Some(parts) = parts else {
            return whole("404 Not Found", "<Error><Code>NoSuchUpload</Code></Error>");
        };
        let bytes: Vec<u8> = parts.into_values().flatten().collect();
        let own = tag(&bytes).replace('"', "&quot;");
        self.files.insert(request.path.clone(), bytes);
        if self.lost_completions > 0 {
            self.lost_completions -= 1;
            return (Vec::new(), None);
        }
        whole(
            "200 OK",
            &format!(
                "<CompleteMultipartUploadResult><ETag>{own}</ETag></CompleteMultipartUploadResult>"
            ),
        )
    }
}
