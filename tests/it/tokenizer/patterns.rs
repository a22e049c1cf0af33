//! What a training says of other split patterns than its own.

use crate::support::scenarios::TokenizerCorpus;
use crate::support::{Page, Random, corpusdb_test};
use serde_json::{Value, json};

/// Languages with words of their pages.
const WORDS: [(&str, &str); 3] = [
    (
        "hi",
        "अभिलेख फ़ाइलें निर्देशिका दिखाएँ नई बनाएँ संपीड़ित सूची हटाएँ वर्तमान प्रक्रिया उपयोगकर्ता अनुमतियाँ बदलें किसी दूरस्थ",
    ),
    (
        "zh",
        "列出 当前目录 中的 所有文件 创建 压缩存档 显示 隐藏文件 复制到 远程服务器 修改 用户权限 搜索 匹配的行 安装 软件包",
    ),
    (
        "en",
        "list all files in the current directory create compressed archive show hidden copy to remote",
    ),
];

/// Pages of each language, their words drawn by chance.
fn pages() -> Vec<Page> {
    let mut random = Random::new(85);
    let page = |number: usize| {
        let (language, words) = WORDS[number % WORDS.len()];
        let words: Vec<&str> = words.split(' ').collect();
        let text: Vec<&str> = (0..40).map(|_| words[random.below(words.len())]).collect();
        Page {
            id: Some(number.to_string()),
            text: text.join(" "),
            fields: json!({ "language": language }),
        }
    };
    (0..180).map(page).collect()
}

corpusdb_test!(a_training_names_a_better_pattern, TokenizerCorpus::of(&pages()), |place| {
    let train = |name: &str, more: &[&str]| {
        let size = ["--vocab-size", "1500", "--json"];
        place.tokenizer("train", &[&[name], &size[..], more].concat()).good()
    };
    let told = train("own", &[]);
    let hints = told.json()["decisions"]["pattern_hints"].clone();
    let [hint] = &hints.as_array().unwrap()[..] else { panic!("one: {hints}") };
    assert_eq!((&hint["script"], &hint["pattern"]), (&json!("Devanagari"), &json!("o200k")));
    let figure = |name: &str| hint[name].as_f64().unwrap();
    assert!(figure("bytes_per_token") >= 2.0 * figure("bytes_per_token_as_trained"), "{hint}");
    for words in ["texts in Devanagari would have", "--pattern o200k"] {
        assert!(told.stderr.contains(words), "{}", told.stderr);
    }
    let shown = place.tokenizer("show", &["own", "--json"]).good().json();
    assert_eq!(shown["decisions"]["pattern_hints"], hints);
    // The figures are those of trainings on these pages alone.
    for (name, pattern, of) in
        [("a", "gpt2", "bytes_per_token_as_trained"), ("b", "o200k", "bytes_per_token")]
    {
        let told = train(name, &["--pattern", pattern, "--where", "language = 'hi'"]).json();
        assert_eq!(told["decisions"]["bytes_per_token"], json!([figure(of)]), "{pattern}");
    }
    let told = train("t", &["--pattern", "o200k"]).json();
    assert_eq!(told["decisions"].get("pattern_hints"), None::<&Value>);
});
