//! What is secret in an address is nowhere: not in the corpus, not on standard output or error, not in JSON.

use crate::support::server::{Server, State};
use crate::support::{Ran, TestDir, command, crawl, init, lines, ran};
use std::process::Stdio;

/// What must be nowhere.
const CANARY: &str = "CANARY";

/// A server with one file, and a corpus beside it.
struct SecretAddresses {
    scratch: TestDir,
    server: Server,
    corpus: String,
}

impl SecretAddresses {
    fn new() -> Self {
        let scratch = TestDir::new();
        // Signed for GET alone.
        let server = Server::start(State { no_heads: true, ..State::default() });
        let text = lines(&crawl(5, 40, true)).into_bytes();
        server.state().files.insert("f.jsonl".to_owned(), text);
        let corpus = scratch.arg("corpus");
        init(&corpus, &[]);
        Self { scratch, server, corpus }
    }

    /// Addresses of the file with secrets in every part.
    fn addresses(&self) -> Vec<String> {
        let url = self.server.url("f.jsonl");
        let login = url.replace("://", "://CANARY:CANARY%21@");
        let signed = [
            "X-Amz-Credential=CANARY%2Fs3&X-Amz-Security-Token=CANARY&X-Amz-Signature=CANARY",
            "AWSAccessKeyId=CANARY&Expires=1&Signature=CANARY%3D",
            "X-Goog-Credential=CANARY&X-Goog-Signature=CANARY",
            "GoogleAccessId=CANARY&Expires=1&Signature=CANARY",
            "sv=2026&st=CANARY&sip=CANARY&sig=CANARY&skoid=CANARY",
            "page=1&api_key=CANARY&key=CANARY&access_token=CANARY&password=CANARY&user=CANARY",
        ];
        let mut all: Vec<String> = signed.iter().map(|query| format!("{url}?{query}")).collect();
        all.push(login.clone());
        all.push(format!("{url}#CANARY"));
        all.push(format!("{login}?file=1#access_token=CANARY"));
        all
    }

    /// Addresses that nothing can be made of.
    fn refused(&self) -> Vec<String> {
        let unknown = self.addresses().into_iter().map(|url| url.replace("http://", "ftp://"));
        let wrong = [
            "s3://CANARY:CANARY@bucket/x.jsonl",
            "s3://b/x.jsonl?X-Amz-Signature=CANARY",
            "az://c/x.jsonl?sv=1&sig=CANARY",
            "gs://b/x.jsonl?X-Goog-Signature=CANARY",
            "abfss://c:CANARY@a.dfs.core.windows.net/x",
            "http://joe:CAN/CANARY@127.0.0.1/x",
            "http://joe:CAN#CANARY@127.0.0.1/x",
            "http://joe:CANARY@127.0.0.1:99999/x",
            "hdfs://joe:CANARY@h/x*?key=CANARY",
        ];
        unknown.chain(wrong.map(str::to_owned)).collect()
    }

    /// Runs the command with secrets in its environment too; nothing that it prints has one.
    fn run(&self, arguments: &[&str]) -> Ran {
        let mut command = command(arguments);
        command.stdin(Stdio::null()).envs(self.server.store()).current_dir(self.scratch.path("."));
        command.env("AWS_ACCESS_KEY_ID", "CANARY-ID").env("AWS_SECRET_ACCESS_KEY", "CANARY-KEY");
        command
            .env("AZURE_STORAGE_ACCOUNT_NAME", "none")
            .env("AZURE_STORAGE_SAS_KEY", "sig=CANARY");
        let ran = ran(arguments, command.output().unwrap());
        assert!(!ran.stdout.contains(CANARY) && !ran.stderr.contains(CANARY), "{ran}");
        ran
    }
}

#[test]
fn no_secret_of_an_address_is_kept() {
    let place = SecretAddresses::new();
    for (n, address) in place.addresses().iter().enumerate() {
        let source = format!("web{n}");
        let words = ["ingest", &place.corpus, address, "--source", &source];
        for more in [&[][..], &["--json"], &["--reread"]] {
            place.run(&[&words, more].concat()).good();
        }
    }
    let keys = "SELECT DISTINCT key FROM documents WHERE source = 'web5'";
    let keys = place.run(&["sql", &place.corpus, keys, "--format", "json"]).good().stdout;
    assert!(keys.contains("f.jsonl?page=1"), "{keys}");
    place.run(&["sql", &place.corpus, "SELECT * FROM documents", "--format", "json"]).good();
    for verb in ["info", "stats", "check"] {
        place.run(&[verb, &place.corpus]).good();
    }
    for entry in walkdir::WalkDir::new(&place.corpus) {
        let entry = entry.unwrap();
        if entry.file_type().is_file() {
            let bytes = std::fs::read(entry.path()).unwrap();
            let is_told = bytes.windows(CANARY.len()).any(|part| part == CANARY.as_bytes());
            assert!(!is_told, "{}", entry.path().display());
        }
    }
}

#[test]
fn failed_reads_print_no_secret_of_an_address() {
    let place = SecretAddresses::new();
    let addresses = place.addresses();
    let mut bad: Vec<String> =
        addresses.iter().map(|url| url.replace("f.jsonl", "none.jsonl")).collect();
    bad.push(addresses[0].replace(&place.server.url(""), "http://127.0.0.1:1/"));
    bad.extend(place.refused());
    for address in &bad {
        for more in [&["--source", "web"][..], &["--source", "web", "--json"]] {
            let ran = place.run(&[&["ingest", &place.corpus, address], more].concat());
            assert_eq!(ran.code, Some(2), "{ran}");
        }
    }
}

#[test]
fn misplaced_addresses_print_no_secret() {
    let place = SecretAddresses::new();
    let corpus = place.corpus.as_str();
    for address in place.addresses().iter().chain(&place.refused()) {
        let select = format!("SELECT * FROM read_csv('{address}')");
        for words in [
            &["export", corpus, "--to", address, "--format", "jsonl"][..],
            &["export", corpus, "--to", address],
            &["init", address],
            &["sql", corpus, &select],
        ] {
            let ran = place.run(words);
            assert_eq!(ran.code, Some(2), "{ran}");
        }
    }
}
