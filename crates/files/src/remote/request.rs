//! Runs all requests on one thread, with their time limits and repetitions, and says what a failure means.
//!
//! The thread is the only one of this library that runs tokio, beside that of queries. Connections belong to the
//! runtime that made them, so one runtime serves all of them and runs as long as anyone may still ask. Who asks waits
//! on another thread, hears the request to stop, and leaves nothing running behind.

use super::address::StoreKind;
use super::error::RemoteError;
use bytes::Bytes;
use futures::channel::oneshot;
use futures::stream::BoxStream;
use model::invariant::text_part;
use model::{Interrupt, error_words};
use object_store::Error;
use std::future::Future;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// How often one who waits looks whether to stop.
const LOOK: Duration = Duration::from_millis(50);
/// How long a server may be silent.
pub(super) const SILENCE: Duration = Duration::from_secs(30);
/// Bytes a second that the slowest uplink takes.
const SLOWEST: u64 = 16_000;
/// How long a store may put the parts of an object together.
pub(super) const COMPLETION: Duration = Duration::from_secs(600);
/// Attempts without a byte of progress.
pub(super) const ATTEMPTS: u32 = 7;
/// A silent server counts as so many of them.
const SILENT: u32 = 3;
/// Cuts of one request, with progress between them.
const CUTS: u32 = 1000;
/// The first pause between attempts; each is twice the one before.
const PAUSE: Duration = Duration::from_millis(100);

pub(super) struct RequestRuntime {
    handle: tokio::runtime::Handle,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl RequestRuntime {
    pub(super) fn start() -> io::Result<Self> {
        // What requests need of tokio is turned on by the client: input, output and time.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel();
        let run = move || runtime.block_on(async { stopped.await.unwrap_or_default() });
        let thread = Builder::new().name("corpusdb-remote".to_owned()).spawn(run)?;
        Ok(Self { handle, stop: Some(stop), thread: Some(thread) })
    }

    /// Begins something that ends by itself.
    pub(super) fn begin<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, RemoteError>> + Send + 'static,
    ) -> PendingRequest<T> {
        let (sender, receiver) = channel();
        let task = self.handle.spawn(async move {
            // Nobody listens any more when who asked is gone.
            let _ = sender.send(work.await);
        });
        PendingRequest { receiver, task }
    }
}

impl Drop for RequestRuntime {
    fn drop(&mut self) {
        drop(self.stop.take());
        // The last to hold it may be a request that was given up: no thread waits for its own end.
        let own = std::thread::current().id();
        if let Some(thread) = self.thread.take().filter(|thread| thread.thread().id() != own) {
            let _ = thread.join();
        }
    }
}

/// What was begun; dropped, it is given up.
pub(super) struct PendingRequest<T> {
    receiver: Receiver<Result<T, RemoteError>>,
    task: tokio::task::JoinHandle<()>,
}

impl<T> PendingRequest<T> {
    /// Waits for the end, or for the request to stop.
    pub(super) fn wait(&self, interrupt: &Interrupt) -> Result<T, RemoteError> {
        loop {
            match self.receiver.recv_timeout(LOOK) {
                Ok(done) => return done,
                Err(RecvTimeoutError::Timeout) => interrupt.check()?,
                Err(RecvTimeoutError::Disconnected) => {
                    let why = "a request ended without a response".to_owned();
                    return Err(RemoteError::Failed { address: "remote store".to_owned(), why });
                }
            }
        }
    }
}

impl<T> Drop for PendingRequest<T> {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// What became of a request that failed.
pub(super) enum RequestFault {
    /// To repeat the request is of no use.
    Final(RemoteError),
    /// The fault may pass.
    Passing(String),
    /// Nothing was heard for so long.
    Silent(Duration),
    /// The server gives whole files only.
    NoRanges,
    /// The object is not the one that was asked for.
    Changed,
}

impl RequestFault {
    /// The error of a request that is not repeated here.
    pub(super) fn last(self, address: &str) -> RemoteError {
        let address = address.to_owned();
        match self {
            Self::Final(error) => error,
            Self::Changed => RemoteError::Changed { address, at: 0 },
            Self::NoRanges => RemoteError::NoRanges { address },
            Self::Passing(why) => {
                let why = format!("{why}; run the same command again to continue");
                RemoteError::Failed { address, why }
            }
            Self::Silent(limit) => RemoteError::Failed { address, why: silent(limit) },
        }
    }
}

fn silent(limit: Duration) -> String {
    format!("the server was silent for {} seconds", limit.as_secs())
}

/// The bytes of an answer, or why there are no more of them.
pub(super) type AnswerBody = BoxStream<'static, Result<Bytes, String>>;

/// What a server answers to a request for bytes.
pub(super) struct ObjectAnswer {
    /// Bytes of the whole object, if the server reports them.
    pub(super) total: Option<u64>,
    /// The answer is the part that was asked for, not the whole.
    pub(super) is_part: bool,
    pub(super) tag: Option<String>,
    /// In nanoseconds since 1970; 0 when it is not told.
    pub(super) modified: i64,
    pub(super) body: AnswerBody,
}

/// Attempts at one request.
#[derive(Default)]
pub(super) struct RetryState {
    failed: u32,
    cuts: u32,
}

impl RetryState {
    /// Whether an attempt came before.
    pub(super) const fn is_repeated(&self) -> bool {
        self.cuts > 0
    }

    /// Takes note of a failure after `progress`, and pauses, unless it is not to be tried again.
    pub(super) async fn failed(
        &mut self,
        name: &str,
        fault: RequestFault,
        progress: bool,
        at: u64,
    ) -> Result<(), RemoteError> {
        let (why, weight) = match fault {
            RequestFault::Passing(why) => (why, 1),
            RequestFault::Silent(limit) => (silent(limit), SILENT),
            RequestFault::Changed => {
                return Err(RemoteError::Changed { address: name.to_owned(), at });
            }
            fault => return Err(fault.last(name)),
        };
        self.cuts += 1;
        if progress {
            self.failed = 0;
        }
        self.failed += weight;
        if self.failed >= ATTEMPTS || self.cuts > CUTS {
            let attempts = self.failed.min(self.cuts);
            return Err(RemoteError::GaveUp { address: name.to_owned(), at, attempts, why });
        }
        sleep(PAUSE * 2_u32.pow(self.failed - 1)).await;
        Ok(())
    }
}

/// How long a server may take until it has so many bytes.
pub(super) const fn transfer_time(bytes: usize) -> Duration {
    Duration::from_secs(SILENCE.as_secs() + bytes as u64 / SLOWEST)
}

/// A server that does nothing for so long is one that failed.
pub(super) async fn within<T>(
    limit: Duration,
    work: impl Future<Output = T>,
) -> Result<T, RequestFault> {
    timeout(limit, work).await.map_err(|_| RequestFault::Silent(limit))
}

/// Asks until there is an answer, or none is to be hoped for.
pub(super) async fn send<T, F: Future<Output = Result<T, RequestFault>>>(
    name: &str,
    ask: impl Fn() -> F,
) -> Result<T, RemoteError> {
    let mut attempts = RetryState::default();
    loop {
        match ask().await {
            Ok(answer) => return Ok(answer),
            Err(fault) => attempts.failed(name, fault, false, 0).await?,
        }
    }
}

/// What an error of a store's client means. `secrets` are not told.
pub(super) fn fault(
    error: &Error,
    kind: StoreKind,
    address: &str,
    secrets: &[String],
) -> RequestFault {
    let address = || address.to_owned();
    let words = error_words(error);
    let why = public_words(&words, secrets);
    let denied = |why| {
        let out = access_hint(kind);
        RequestFault::Final(RemoteError::Denied { address: address(), why, out })
    };
    match error {
        Error::Precondition { .. } | Error::NotModified { .. } => RequestFault::Changed,
        Error::NotFound { .. } => RequestFault::Final(RemoteError::NotFound { address: address() }),
        Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => denied(why),
        Error::NotSupported { .. } if words.contains("Range request not supported") => {
            RequestFault::NoRanges
        }
        Error::Generic { .. } if words.contains("Received non-partial response") => {
            RequestFault::NoRanges
        }
        // No key was given, and the machine does not belong to the cloud that would give one.
        Error::Generic { .. } if is_about_credentials(&words) => denied(why),
        Error::Generic { .. }
            if words.contains("NoSuchBucket") || words.contains("404 Not Found") =>
        {
            RequestFault::Final(RemoteError::NotFound { address: address() })
        }
        Error::Generic { .. } => RequestFault::Passing(why),
        _ => RequestFault::Final(RemoteError::Failed { address: address(), why }),
    }
}

fn is_about_credentials(why: &str) -> bool {
    ["169.254.169.254", "metadata.google.internal", "/latest/api/token", "security-credentials"]
        .iter()
        .any(|word| why.contains(word))
}

/// What lets a store of a kind be read.
pub(super) const fn access_hint(kind: StoreKind) -> &'static str {
    match kind {
        StoreKind::S3 => {
            "give AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (and AWS_SESSION_TOKEN, AWS_REGION, AWS_ENDPOINT_URL) in the environment, or AWS_SKIP_SIGNATURE=true for a public bucket"
        }
        StoreKind::Google => {
            "give GOOGLE_APPLICATION_CREDENTIALS or GOOGLE_SERVICE_ACCOUNT in the environment, or GOOGLE_SKIP_SIGNATURE=true for a public bucket"
        }
        StoreKind::Azure => {
            "give AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY (or AZURE_STORAGE_SAS_KEY) in the environment, or AZURE_SKIP_SIGNATURE=true for a public container"
        }
        StoreKind::Web => "give an address to which you have access: with a login, or signed",
    }
}

/// Words that may be shown: without logins and queries of addresses, without what a server said beside the name of the
/// fault and its first line (stores say what they were sent), and without `secrets`.
pub(super) fn public_words(told: &str, secrets: &[String]) -> String {
    let mut shown = String::new();
    for word in without_page(told).split_inclusive(char::is_whitespace) {
        match word.split_once("://") {
            Some((scheme, rest)) => {
                let (address, behind) = rest.split_once('?').unwrap_or((rest, ""));
                let (authority, path) =
                    address.split_at(address.find('/').unwrap_or(address.len()));
                let server = authority.rsplit('@').next().unwrap_or_default();
                shown.push_str(&format!("{scheme}://{server}{path}"));
                let end = behind.trim_end_matches(|c: char| !c.is_alphanumeric()).len();
                shown.push_str(text_part(behind, end..));
            }
            None => shown.push_str(word),
        }
    }
    secrets.iter().fold(shown, |shown, secret| shown.replace(secret, "***"))
}

/// Words with the fault that a page of XML names in its place; a page of HTML says nothing.
fn without_page(told: &str) -> String {
    let begins = ["<?xml", "<Error", "<!DOCTYPE", "<!doctype", "<html", "<HTML"];
    let Some(start) = begins.iter().filter_map(|begin| told.find(begin)).min() else {
        return told.to_owned();
    };
    let (before, page) = told.split_at(start);
    let message = between(page, "<Message>", "</Message>").and_then(|text| text.lines().next());
    let words = [between(page, "<Code>", "</Code>"), message];
    format!("{before}{}", words.into_iter().flatten().collect::<Vec<_>>().join(": "))
}

/// What stands between two marks.
pub(super) fn between<'a>(text: &'a str, open: &str, close: &str) -> Option<&'a str> {
    text.split_once(open)?.1.split_once(close).map(|(within, _)| within)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A part of 8 MiB over 200 kB/s takes 42 s, and a server that takes nothing is given up.
    #[test]
    fn a_slow_uplink_has_the_time_that_it_needs() {
        assert!(transfer_time(8 << 20).as_secs() > (8 << 20) / 20_000);
        assert_eq!(transfer_time(0), SILENCE);
        assert_eq!(transfer_time(usize::MAX).as_secs(), 30 + u64::MAX / 16_000);
    }

    #[test]
    fn words_of_errors_tell_no_secrets() {
        let secrets = ["SETTING-CANARY".to_owned()];
        for (told, shown) in [
            (
                "Error performing GET http://u:CANARY@h:1/b/x?sig=CANARY&x=1 in 3s - no answer",
                "Error performing GET http://h:1/b/x in 3s - no answer",
            ),
            (
                "sending for url (https://h/x?token=CANARY): cut",
                "sending for url (https://h/x): cut",
            ),
            (
                "403 Forbidden: <?xml version=\"1.0\"?>\n<Error><Code>SignatureDoesNotMatch</Code><Message>No match.\nCANARY</Message><AWSAccessKeyId>CANARY</AWSAccessKeyId><StringToSign>CANARY</StringToSign></Error>",
                "403 Forbidden: SignatureDoesNotMatch: No match.",
            ),
            ("502 Bad Gateway: <html><body>CANARY</body></html>", "502 Bad Gateway: "),
            ("bad key \"SETTING-CANARY\" given", "bad key \"***\" given"),
        ] {
            assert_eq!(public_words(told, &secrets), shown);
        }
    }
}
