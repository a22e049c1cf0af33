//! The data card: what it tells is computed again from the rows of `sql`, the page is written whole, and nothing of it
//! grows with the corpus.

use crate::support::{Random, TestDir, assert_has, corpusdb, corpusdb_test, init, report, sql};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Three sources of which two share texts, with addresses as keys, scores, and records that cannot be read.
fn place() -> (TestDir, String) {
    let scratch = TestDir::new();
    let corpus = scratch.arg("crawl");
    init(&corpus, &["--field", "score:float", "--field", "year:int"]);
    let mut random = Random::new(11);
    for (source, first) in [("web", 0), ("wiki", 60), ("books", 400)] {
        let mut file = String::new();
        for n in 0..120 {
            let of = first + random.between(0, 100);
            let words: Vec<String> =
                (0..20 + of % 50).map(|at| format!("w{}", of * 71 + at)).collect();
            let mut record = json!({
                "id": format!("https://www.site{}.example/{source}/{n}", random.below(9)),
                "text": words.join(" ") + *random.pick(&["", " more", "."]),
                "score": random.below(100) as f64 / 99.0,
            });
            if random.chance(80) {
                record["language"] = json!(*random.pick(&["en", "de"]));
            }
            if random.chance(50) {
                record["year"] = json!(1990 + random.below(30) as i64);
            }
            file.push_str(&format!("{record}\n"));
        }
        file.push_str("{\"text\": 1\n{\"no\": \"text\"}\n{\"no\": \"text\"}\n");
        let path = scratch.write(&format!("{source}.jsonl"), &file);
        let line = [
            "ingest",
            &corpus,
            &path,
            "--source",
            source,
            "--id-field",
            "id",
            "--batch-bytes",
            "4kB",
        ];
        corpusdb(&line).good();
    }
    corpusdb(&["remove", &corpus, "--where", "score < 0.05"]).good();
    corpusdb(&["snapshot", "create", &corpus, "june"]).good();
    (scratch, corpus)
}

corpusdb_test!(sizes_duplicates_and_domains_are_those_of_the_rows, place(), |(
    _scratch,
    corpus,
)| {
    let told = report(&corpus, &[]);
    assert_eq!((&told["type"], &told["name"]), (&json!("report"), &json!("crawl")));
    let documents = sql(
        &corpus,
        "SELECT d.key, d.source, d.bytes, d.kept, d.standing, w.source AS witness_source FROM documents d \
         LEFT JOIN documents w ON d.dup_of = w.id ORDER BY d.id",
    );
    let kept = || documents.iter().filter(|row| row["kept"] == true);
    let bytes = |row: &Value| row["bytes"].as_u64().unwrap();
    assert_eq!(told["sizes"]["all"]["documents"], documents.len());
    assert_eq!(told["sizes"]["kept"]["documents"], kept().count());
    assert_eq!(told["sizes"]["kept"]["bytes"], kept().map(bytes).sum::<u64>());
    // The matrix.
    let mut pairs: BTreeMap<(String, String), u64> = BTreeMap::new();
    for row in documents
        .iter()
        .filter(|row| ["exact", "near"].contains(&row["standing"].as_str().unwrap()))
    {
        let name = |of: &str| row[of].as_str().unwrap().to_owned();
        *pairs.entry((name("source"), name("witness_source"))).or_default() += 1;
    }
    assert!(pairs.len() >= 3, "{pairs:?}");
    let matrix = &told["duplicates"]["matrix"];
    let names: Vec<&str> =
        matrix["sources"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect();
    for (row, source) in names.iter().enumerate() {
        for (column, witness) in names.iter().enumerate() {
            let pair = ((*source).to_owned(), (*witness).to_owned());
            let expected = pairs.remove(&pair).unwrap_or(0);
            assert_eq!(matrix["removed"][row][column], expected, "{pair:?}");
        }
    }
    assert!(pairs.is_empty(), "{pairs:?}");
    // Lengths.
    let lengths =
        told["lengths"].as_array().unwrap().iter().find(|it| it["column"] == "bytes").unwrap();
    for bin in lengths["bins"].as_array().unwrap() {
        let within = |row: &&Value| {
            (bin["from"].as_u64().unwrap()..=bin["to"].as_u64().unwrap()).contains(&bytes(row))
        };
        assert_eq!(bin["all"], documents.iter().filter(within).count());
        assert_eq!(bin["kept"], kept().filter(within).count());
    }
    // Domains.
    let mut domains: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for row in kept() {
        let host =
            row["key"].as_str().unwrap().split('/').nth(2).unwrap().trim_start_matches("www.");
        let (count, size) = domains.entry(host.to_owned()).or_default();
        *count += 1;
        *size += bytes(row);
    }
    assert_has(&told["domains"], &json!({ "domains": 9, "is_complete": true }));
    for domain in told["domains"]["top"].as_array().unwrap() {
        let (count, size) = domains.remove(domain["domain"].as_str().unwrap()).unwrap();
        assert_eq!((&domain["documents"], &domain["bytes"]), (&json!(count), &json!(size)));
    }
    assert!(domains.is_empty());
    let few = report(&corpus, &["--domains", "2"]);
    assert_eq!(few["domains"]["top"].as_array().unwrap().len(), 2);
    assert_eq!(few["domains"]["top"][1], told["domains"]["top"][1]);
});

corpusdb_test!(figures_of_a_source_equal_its_own_stats, place(), |(_scratch, corpus)| {
    let told = report(&corpus, &[]);
    let spreads = told["spreads"]["by_source"].as_array().unwrap();
    let mut seen = 0;
    for source in ["web", "wiki", "books"] {
        let alone = corpusdb(&["stats", &corpus, "--source", source, "--json"]).good().json();
        for column in alone["columns"].as_array().unwrap().iter().filter(|it| it["of_kept"] == true)
        {
            let mut same = spreads
                .iter()
                .find(|it| it["source"] == source && it["column"] == column["column"])
                .unwrap()
                .clone();
            same.as_object_mut().unwrap().remove("source");
            assert_eq!(same, *column, "{source}");
            seen += 1;
        }
    }
    assert_eq!(seen, spreads.len());
    assert!(seen >= 12);
});

corpusdb_test!(commits_and_snapshots_are_listed_in_order, place(), |(_scratch, corpus)| {
    let told = report(&corpus, &[]);
    let stretches = told["timeline"]["stretches"].as_array().unwrap();
    let commits = sql(&corpus, "SELECT commit, kind, added, kept FROM commits ORDER BY commit");
    let sum =
        |rows: &[Value], of: &str| rows.iter().map(|it| it[of].as_u64().unwrap()).sum::<u64>();
    assert!(stretches.len() > 5 && stretches.len() <= 96);
    for of in ["added", "kept"] {
        assert_eq!(sum(stretches, of), sum(&commits, of));
    }
    for (one, next) in stretches.iter().zip(&stretches[1..]) {
        assert_eq!(one["last"].as_u64().unwrap() + 1, next["first"].as_u64().unwrap());
    }
    let events: Vec<&Value> =
        told["timeline"]["events"].as_array().unwrap().iter().map(|it| &it["kind"]).collect();
    let expected: Vec<&Value> =
        commits.iter().map(|it| &it["kind"]).filter(|kind| *kind != "ingest").collect();
    assert_eq!(events, expected);
    assert_eq!(told["snapshots"][0]["name"], "june");
    assert_eq!(told["rejects"]["shown"][0]["records"], 2);
    assert_eq!(told["about"]["rejects"], 9);
});

corpusdb_test!(the_mix_along_a_run_follows_the_recipe_to_its_end, place(), |(scratch, corpus)| {
    let file = r#"{"version": "1.0", "added_tokens": [], "pre_tokenizer": {"type": "Whitespace"}, "model":
        {"type": "WordLevel", "vocab": {"<unk>": 0, "page": 1}, "unk_token": "<unk>"}}"#;
    let tokenizer = scratch.write("tokenizer.json", file);
    corpusdb(&["tokenizer", "add", &corpus, "words", &tokenizer]).good();
    let recipe = scratch.write(
        "recipe.toml",
        "version = 1\n[[source]]\nname = \"web\"\n[[source]]\nname = \"books\"\n[mix]\ntokens = 3000\nschedule = [\n\
         { at_tokens = 0, weights = { web = 0.9, books = 0.1 }, ramp = \"linear\" },\n\
         { at_tokens = 3000, weights = { web = 0.1, books = 0.9 } } ]\n[pack]\nkind = \"best-fit\"\nlength = 64\n",
    );
    corpusdb(&["epoch", "plan", &corpus, &recipe]).good();
    let page = scratch.arg("card.html");
    let epoch = &report(&corpus, &["--plan", "1", "-o", &page])["plan"]["epoch"];
    let along = epoch["along"].as_array().unwrap();
    let amounts = |point: &Value, of: &str| -> Vec<u64> {
        point[of].as_array().unwrap().iter().map(|it| it.as_u64().unwrap()).collect()
    };
    assert_eq!((&along[0]["row"], &along[0]["given"]), (&json!(0), &json!(0)));
    let last = along.last().unwrap();
    let tokens = epoch["sources"].as_array().unwrap().iter();
    let tokens: Vec<u64> = tokens.map(|it| it["epoch_tokens"].as_u64().unwrap()).collect();
    assert_eq!(amounts(last, "achieved"), tokens);
    for point in along {
        let given: u64 = amounts(point, "achieved").iter().sum();
        assert_eq!(point["given"], given);
        for (achieved, asked) in amounts(point, "achieved").iter().zip(amounts(point, "asked")) {
            // The mix keeps to a row, and shares are rounded down.
            assert!(achieved.abs_diff(asked) <= 65, "{point}");
        }
    }
    // The schedule can be seen in it: first much of `web`, then little.
    let half = &along[along.len() / 2];
    let (first, whole) = (amounts(half, "asked")[0], amounts(last, "asked")[0]);
    assert!(first > 6 * whole / 10, "{first} of {whole}");
    let explained = corpusdb(&["epoch", "explain", &corpus, "1", "--json"]).good().json();
    assert_eq!(explained["along"], epoch["along"]);
    let html = std::fs::read_to_string(&page).unwrap();
    assert!(html.contains("What a run gets") && html.ends_with("</html>\n"));
    let unknown = corpusdb(&["report", &corpus, "--plan", "7"]);
    assert_eq!(unknown.code, Some(2));
    assert!(unknown.stderr.contains("no plan `7`"), "{}", unknown.stderr);
});

// Nothing of a card may grow with sources, domains, reasons, languages, commits or the length of names and texts.
corpusdb_test!(a_card_does_not_grow_with_the_corpus, |scratch| {
    let corpus = scratch.arg("many");
    init(&corpus, &[]);
    let long = "name ".repeat(200);
    let mut file = String::new();
    for n in 0..600 {
        let twin = n / 2;
        let words: Vec<String> = (0..400).map(|at| format!("{twin}word{at}")).collect();
        let record = json!({
            "id": format!("https://host{n}.example/{long}{n}"), "src": format!("source-{n}"),
            "text": words.join(" "), "language": format!("l{n}"),
        });
        file.push_str(&format!("{record}\n"));
    }
    let path = scratch.write("many.jsonl", &file);
    let line =
        ["ingest", &corpus, &path, "--source", "x", "--source-from", "src", "--id-field", "id"];
    corpusdb(&line).good();
    let page = scratch.arg("card.html");
    let told = report(&corpus, &["-o", &page]);
    let groups = &told["sizes"]["groups"];
    let found = (groups["shown"].as_array().unwrap().len(), &groups["left_out"]);
    assert_eq!(found, (100, &json!(500)));
    assert_eq!(groups["others"]["all"]["documents"], 500);
    assert_eq!(told["duplicates"]["matrix"]["left_out"], 588);
    assert_eq!(told["duplicates"]["matrix"]["removed"].as_array().unwrap().len(), 13);
    assert_eq!(told["domains"]["top"].as_array().unwrap().len(), 50);
    assert!(std::fs::metadata(&page).unwrap().len() < 500_000);
});

corpusdb_test!(a_description_keeps_filled_parts_and_names_the_blanks, place(), |(
    scratch,
    corpus,
)| {
    let (file, summary) = (scratch.arg("croissant.json"), scratch.arg("summary.md"));
    let line = ["report", &corpus, "--croissant", &file, "--eu-summary", &summary];
    let ran = corpusdb(&line).good();
    assert_eq!(ran.stdout, "");
    for blank in ["license: ", "citeAs: ", "rai:dataLimitations: "] {
        assert!(ran.stderr.contains(blank), "{}", ran.stderr);
    }
    let read =
        || -> Value { serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap() };
    let mut first = read();
    assert_eq!(first["conformsTo"][0], "http://mlcommons.org/croissant/1.1");
    // Terms and provenance that 1.1 has beyond 1.0.
    assert_eq!(first["@context"]["containedIn"], "cr:containedIn");
    assert_eq!(first["@context"]["prov"], "http://www.w3.org/ns/prov#");
    let origins = first["prov:wasDerivedFrom"].as_array().unwrap();
    let sizes = first["recordSet"][1]["data"].as_array().unwrap();
    let is_source =
        |origin: &Value| sizes.iter().any(|row| row["sizes/source"] == origin["prov:label"]);
    assert!(!origins.is_empty() && origins.iter().all(is_source), "{origins:?}");
    let how = first["prov:wasGeneratedBy"]["prov:label"].as_str().unwrap();
    assert!(how.contains("mode witness"), "{how}");
    let fields = first["recordSet"][0]["field"].as_array().unwrap();
    let names: Vec<&str> = fields.iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["key", "source", "text", "score", "year", "meta"]);
    let told = report(&corpus, &[]);
    let sum = |of: &str| {
        let rows = first["recordSet"][1]["data"].as_array().unwrap();
        rows.iter().map(|row| row[of].as_u64().unwrap()).sum::<u64>()
    };
    assert_eq!(told["sizes"]["all"]["documents"], sum("sizes/documents"));
    assert_eq!(told["sizes"]["kept"]["bytes"], sum("sizes/kept_bytes"));
    // A person fills in the licence and what the data is for, and tries to change what is counted.
    first["license"] = json!("https://creativecommons.org/licenses/by/4.0/");
    first["rai:dataUseCases"] = json!("Tests.");
    first["version"] = json!("9.9.9");
    std::fs::write(&file, first.to_string()).unwrap();
    corpusdb(&["snapshot", "create", &corpus, "july"]).good();
    let ran = corpusdb(&line).good();
    assert!(!ran.stderr.contains("license: ") && ran.stderr.contains("citeAs: "), "{}", ran.stderr);
    let second = read();
    assert_eq!(second["license"], first["license"]);
    assert_eq!(second["rai:dataUseCases"], "Tests.");
    assert_eq!(
        second["version"],
        format!(
            "{}.{}.0",
            told["about"]["generation"],
            told["about"]["commit"].as_u64().unwrap() + 1
        )
    );
    // What is no description is not written over.
    for other in ["no json", "[1]"] {
        std::fs::write(&file, other).unwrap();
        let refused = corpusdb(&line);
        assert_eq!(refused.code, Some(2));
        assert!(refused.stderr.contains("the existing description is not "), "{}", refused.stderr);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), other);
    }
});

corpusdb_test!(the_summary_has_the_sections_of_the_template, place(), |(scratch, corpus)| {
    let summary = scratch.arg("summary.md");
    corpusdb(&["report", &corpus, "--eu-summary", &summary]).good();
    let told = std::fs::read_to_string(&summary).unwrap();
    for section in [
        "\n## 1. General information\n",
        "\n### 1.1. Provider identification\n",
        "\n### 1.2. Model identification\n",
        "\n### 1.3. Modalities, overall training data size and other characteristics\n",
        "\n## 2. List of data sources\n",
        "\n### 2.1. Publicly available datasets\n",
        "\n### 2.2. Private non-publicly available datasets obtained from third parties\n",
        "\n#### 2.2.1. Datasets commercially licensed by rightsholders or their representatives\n",
        "\n#### 2.2.2. Private datasets obtained from other third parties\n",
        "\n### 2.3. Data crawled and scraped from online sources\n",
        "\n### 2.4. User data\n",
        "\n### 2.5. Synthetic data\n",
        "\n### 2.6. Other sources of data\n",
        "\n## 3. Data processing aspects\n",
        "\n### 3.1. Respect of reservation of rights from text and data mining exception or limitation\n",
        "\n### 3.2. Removal of illegal content\n",
        "\n### 3.3. Other information (optional)\n",
    ] {
        assert_eq!(told.matches(section).count(), 1, "{section}");
    }
    let most = sql(
        &corpus,
        "SELECT regexp_replace(split_part(key, '/', 3), '^www\\.', '') AS domain, sum(bytes) AS bytes FROM documents \
         WHERE kept GROUP BY 1 ORDER BY bytes DESC, domain LIMIT 1",
    );
    let domain = most[0]["domain"].as_str().unwrap();
    assert!(told.contains(&format!("\n| {domain} | ")), "{told}");
    assert!(told.contains("* Domains: 1 of 9, those with most text"), "{told}");
    let counts =
        sql(&corpus, "SELECT source, count(*) AS n FROM documents WHERE kept GROUP BY source");
    for row in counts {
        assert!(
            told.contains(&format!("| {} | {} | ", row["source"].as_str().unwrap(), row["n"])),
            "{told}"
        );
    }
});

// What a person has filled in of a summary is theirs: writing it again changes the counts alone.
corpusdb_test!(the_summary_keeps_filled_parts, place(), |(scratch, corpus)| {
    let summary = scratch.arg("summary.md");
    let write = || {
        corpusdb(&["report", &corpus, "--eu-summary", &summary]).good();
        std::fs::read_to_string(&summary).unwrap()
    };
    let fresh = write();
    let source = fresh.lines().find(|line| line.ends_with(" | _to be filled in_ |")).unwrap();
    let filled = fresh
        .replace(
            "* Licensing agreements: _to be filled in_",
            "* Licensing agreements: two\n  * with A\n  * with B",
        )
        .replace(source, &source.replace("_to be filled in_", "2.3"));
    assert_eq!(filled.lines().count(), fresh.lines().count() + 2);
    std::fs::write(&summary, &filled).unwrap();
    assert_eq!(write(), filled);
    corpusdb(&["snapshot", "create", &corpus, "july"]).good();
    let commit = |text: &str| text.lines().last().unwrap().to_owned();
    let again = write();
    assert_ne!(commit(&again), commit(&filled));
    assert_eq!(again.replace(&commit(&again), &commit(&filled)), filled);
});

corpusdb_test!(parts_of_the_card_stand_alone, place(), |(scratch, corpus)| {
    let file = r#"{"version": "1.0", "added_tokens": [], "pre_tokenizer": {"type": "Whitespace"}, "model":
        {"type": "WordLevel", "vocab": {"<unk>": 0, "page": 1}, "unk_token": "<unk>"}}"#;
    let tokenizer = scratch.write("tokenizer.json", file);
    corpusdb(&["tokenizer", "add", &corpus, "words", &tokenizer]).good();
    let recipe =
        scratch.write("recipe.toml", "version = 1\n[pack]\nkind = \"concat\"\nlength = 64\n");
    let (card, epoch, duplicates) =
        (scratch.arg("card.html"), scratch.arg("epoch.html"), scratch.arg("duplicates.html"));
    corpusdb(&["epoch", "plan", &corpus, &recipe]).good();
    let explained = corpusdb(&["epoch", "explain", &corpus, "1", "--html", &epoch]).good();
    let settings = format!("\nsettings  corpusdb epoch explain {corpus} 1 --settings\n");
    assert!(explained.stdout.ends_with(&settings) && !explained.stdout.contains("[pack]"));
    let all = corpusdb(&["epoch", "explain", &corpus, "1", "--settings"]).good().stdout;
    assert!(
        all.contains("\nevery setting:\nversion = 1\n") && !all.contains("--settings"),
        "{all}"
    );
    corpusdb(&["duplicates", &corpus, "--limit", "6", "--html", &duplicates]).good();
    corpusdb(&["report", &corpus, "--plan", "1", "-o", &card]).good();
    let read = |file: &str| std::fs::read_to_string(file).unwrap();
    let section = |page: &str, id: &str| {
        let begin = page.find(&format!("<section id=\"{id}\"")).unwrap();
        let end = begin + page[begin..].find("</section>").unwrap();
        page[begin..end].to_owned()
    };
    let (card, epoch, duplicates) = (read(&card), read(&epoch), read(&duplicates));
    assert_eq!(section(&duplicates, "duplicates"), section(&card, "duplicates"));
    let found = section(&epoch, "plan");
    assert_eq!(found, section(&card, "plan").replace("Plan 1 draws", "The plan draws"));
    assert!(duplicates.matches("<section").count() == 1 && epoch.matches("<section").count() == 1);
    // A list is no page.
    assert_eq!(corpusdb(&["duplicates", &corpus, "--list", "--html", "x.html"]).code, Some(2));
});

corpusdb_test!(suites_are_shown_as_counts_and_never_as_items, place(), |(scratch, corpus)| {
    assert_eq!(report(&corpus, &[])["contamination"]["suites"], json!([]));
    let text =
        corpusdb(&["sql", &corpus, "SELECT text FROM documents WHERE kept LIMIT 1", "--json"])
            .good()
            .json();
    let words = text["text"].as_str().unwrap();
    let items = [
        json!({"question": words, "answer": "forty-two"}),
        json!({"question": "which of these seventeen unheard words would any of the stored pages ever come to say again", "answer": "none"}),
    ];
    let suite = scratch.write("suite.jsonl", items.map(|item| format!("{item}\n")).concat());
    let page = scratch.arg("card.html");
    corpusdb(&[
        "contamination",
        "add",
        &corpus,
        "quiz",
        &suite,
        "--question",
        "question",
        "--answer",
        "answer",
    ])
    .good();
    let found = &report(&corpus, &["-o", &page])["contamination"]["suites"][0];
    assert_has(found, &json!({ "suite": "quiz", "items": 2, "is_complete": true }));
    let numbers = corpusdb(&["contamination", "report", &corpus, "--json"]).good().json();
    for member in ["contaminated_items", "documents", "removed_documents", "sources"] {
        let told_alone = numbers.get(member).or_else(|| numbers["suites"][0].get(member)).unwrap();
        assert_eq!(&found[member], told_alone, "{member}");
    }
    assert_eq!(found["contaminated_items"], 1);
    assert_eq!(found["worst"], json!([]));
    let html = std::fs::read_to_string(&page).unwrap();
    assert!(html.contains("1 of its 2 items (50.0 %)") && !html.contains("unheard words"));
});
