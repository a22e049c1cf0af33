//! Tests of the known record layouts, on made-up records: which texts are searched for, and what is reported.

use super::*;
use serde_json::{Value, json};

type Parts = [Vec<String>; 3];

/// The items of some records, and what is to be said of them.
fn read_all(
    records: &[Value],
    fields: &SuiteFields,
) -> Result<(Vec<SuiteItem>, LayoutNotes), String> {
    let mut layout = SuiteLayout::new(fields);
    let mut items = Vec::new();
    for (number, record) in records.iter().enumerate() {
        items.push(layout.item_of(record.as_object().unwrap(), &format!("file:{number}"))?);
    }
    let notes = layout.finish(&mut items)?;
    Ok((items, notes))
}

fn known(record: &Value) -> (String, Parts) {
    let (mut items, _) = read_all(std::slice::from_ref(record), &SuiteFields::default()).unwrap();
    let item = items.remove(0);
    (item.id, item.parts)
}

fn unsearched(record: &Value) -> Vec<String> {
    let (_, notes) = read_all(std::slice::from_ref(record), &SuiteFields::default()).unwrap();
    notes.unsearched.into_iter().map(|one| one.field).collect()
}

fn parts(parts: [&[&str]; 3]) -> Parts {
    parts.map(|texts| texts.iter().map(|text| (*text).to_owned()).collect())
}

fn answers(records: &[Value]) -> Result<Vec<Vec<String>>, String> {
    let (items, _) = read_all(records, &SuiteFields::default())?;
    Ok(items.into_iter().map(|item| item.parts[1].clone()).collect())
}

fn answer(record: &Value) -> Vec<String> {
    answers(std::slice::from_ref(record)).unwrap().remove(0)
}

#[test]
fn layouts_that_are_known_need_no_fields() {
    let gsm8k = json!({ "question": "How many?", "answer": "48 #### 72" });
    assert_eq!(known(&gsm8k), ("file:0".to_owned(), parts([&["How many?"], &["48 #### 72"], &[]])));
    let humaneval = json!({ "task_id": "HumanEval/0", "prompt": "def f():", "entry_point": "f", "canonical_solution": "return 1", "test": "assert f() == 1" });
    let expected = parts([&["def f():"], &["return 1"], &[]]);
    assert_eq!(known(&humaneval), ("HumanEval/0".to_owned(), expected));
    // What is said already is not named.
    assert_eq!(unsearched(&humaneval), ["test"]);
    let mbpp = json!({ "task_id": 11, "text": "Write a function that counts boats.", "code": "def boats(): return 3", "test_list": ["assert boats() == 3"], "test_setup_code": "", "challenge_test_list": [] });
    let expected =
        parts([&["Write a function that counts boats."], &["def boats(): return 3"], &[]]);
    assert_eq!(known(&mbpp), ("11".to_owned(), expected));
    assert_eq!(unsearched(&mbpp), ["test_list"]);
    let squad = json!({ "id": 5, "context": "A text.", "question": "Which?", "answers": { "text": ["this", "the one", "this"], "answer_start": [0, 2, 0] } });
    let expected = parts([&["Which?"], &["this", "the one"], &["A text."]]);
    assert_eq!(known(&squad), ("5".to_owned(), expected));
    let boolq = json!({ "question": "is it", "passage": "A text.", "answer": true });
    assert_eq!(known(&boolq).1, parts([&["is it"], &["true"], &["A text."]]));
    let math = json!({ "problem": "How deep?", "solution": "It is long to say.", "answer": "4", "level": "Level 2" });
    assert_eq!(known(&math).1, parts([&["How deep?"], &["4", "It is long to say."], &[]]));
    assert_eq!(unsearched(&math), ["level"]);
    let gpqa = json!({ "Record ID": "rec1", "Question": "Which tide?", "Correct Answer": "spring", "Incorrect Answer 1": "neap", "Incorrect Answer 2": "ebb", "Incorrect Answer 3": "flood", "Explanation": "The moon is new." });
    let expected = parts([&["Which tide?"], &["spring", "The moon is new."], &[]]);
    assert_eq!(known(&gpqa), ("rec1".to_owned(), expected));
    assert_eq!(
        unsearched(&gpqa),
        ["Incorrect Answer 1", "Incorrect Answer 2", "Incorrect Answer 3"]
    );
    let race = json!({ "article": "A long text.", "question": "Why?", "options": ["no", "yes"], "answer": "B" });
    assert_eq!(known(&race).1, parts([&["Why?"], &["yes"], &["A long text."]]));
    let stem = json!({ "stem": "Which tide?", "choices": [{ "text": "neap", "label": "A" }, { "text": "spring", "label": "B" }] });
    let first_arc = json!({ "id": "Mercury_1", "question": stem, "answerKey": "B" });
    let expected = parts([&["Which tide?"], &["spring"], &[]]);
    assert_eq!(known(&first_arc), ("Mercury_1".to_owned(), expected));
    assert_eq!(unsearched(&first_arc), ["choices (other options)"]);
    let open = json!({ "question": "Which town?", "answer": ["Quilbury", "Old Quilbury"] });
    assert_eq!(answer(&open), ["Quilbury", "Old Quilbury"]);
    let table = json!({ "question": "Which town?", "answer": "['Quilbury' 'Old Quilbury']" });
    assert_eq!(answer(&table), answer(&open));
    let trivia = json!({ "question_id": "q", "question": "Which town?", "answer": { "value": "Quilbury", "aliases": ["Quilbury", "Old Quilbury"], "type": "town" } });
    assert_eq!(known(&trivia).1, parts([&["Which town?"], &["Quilbury", "Old Quilbury"], &[]]));
}

#[test]
fn truthfulqa_has_all_its_correct_answers() {
    let record = json!({ "type": "Plain", "question": "What do gulls eat?", "best_answer": "Fish", "correct_answers": ["Fish", "Gulls eat fish", "Crabs"], "incorrect_answers": ["Stones"] });
    assert_eq!(answer(&record), ["Fish", "Gulls eat fish", "Crabs"]);
    let table = json!({ "Type": "Plain", "Question": "What do gulls eat?", "Best Answer": "Fish", "Correct Answers": "Fish; Gulls eat fish; Crabs", "Incorrect Answers": "Stones" });
    assert_eq!(answer(&table), answer(&record));
    assert_eq!(unsearched(&table), ["Incorrect Answers", "Type"]);
    let targets = json!({ "choices": ["Fish", "Stones", "Crabs"], "labels": [1, 0, 1] });
    let choices = json!({ "question": "What do gulls eat?", "mc2_targets": targets });
    assert_eq!(answer(&choices), ["Fish", "Crabs"]);
    let table = json!({ "question": "What do gulls eat?", "mc2_targets": "{'choices': ['Fish', 'Stones'], 'labels': [1, 0]}" });
    assert_eq!(answer(&table), ["Fish"]);
}

#[test]
fn each_turn_of_a_prompt_is_a_text() {
    // Only the first text of a list was taken, and nothing was said of the others.
    let turns = ["Write of a harbour.", "Now make it rhyme."];
    let bench = json!({ "question_id": 81, "category": "writing", "turns": turns, "reference": ["one", "two"] });
    let expected = ("81".to_owned(), parts([&turns, &["one", "two"], &[]]));
    assert_eq!(known(&bench), expected);
    assert_eq!(unsearched(&bench), ["category"]);
    let prompts = json!({ "prompt_id": 81, "prompt": turns, "reference": null });
    assert_eq!(known(&prompts), ("81".to_owned(), parts([&turns, &[], &[]])));
    let table =
        json!({ "prompt_id": "81", "prompt": "['Write of a harbour.' 'Now make it rhyme.']" });
    assert_eq!(known(&table).1, parts([&turns, &[], &[]]));
    let said = |role: &str, content: &Value| json!({ "role": role, "content": content });
    let messages = json!([
        said("system", &json!("Be brief.")),
        said("user", &json!(turns[0])),
        said("assistant", &json!([{ "type": "text", "text": "A harbour is .." }])),
        said("user", &json!(turns[1])),
    ]);
    let expected = parts([&turns, &["A harbour is ..", "gold"], &["Be brief."]]);
    for name in ["messages", "prompt"] {
        assert_eq!(known(&json!({ name: messages, "answer": "gold" })).1, expected, "{name}");
        let text = messages.to_string();
        assert_eq!(known(&json!({ name: text, "answer": "gold" })).1, expected, "{name}");
    }
    let shared = json!({ "conversations": [{ "from": "human", "value": "Who?" }, { "from": "gpt", "value": "I." }] });
    assert_eq!(known(&shared).1, parts([&["Who?"], &["I."], &[]]));
    // A prompt that is a list of numbers, or an object, is a text.
    for prompt in ["[1, 2, 3]", "{\"text\": 1}", "[a] what?"] {
        assert_eq!(known(&json!({ "prompt": prompt })).1, parts([&[prompt], &[], &[]]));
    }
    let very = vec!["turn"; 100];
    let many: Vec<String> = (0..100).map(|at| format!("turn {at}")).collect();
    let refused = answers(&[json!({ "id": "q", "turns": many, "answers": many })]).unwrap_err();
    assert!(refused.contains("item `q`: it has 100 turns and 100 answers"), "{refused}");
    assert_eq!(known(&json!({ "turns": very })).1, parts([&["turn"], &[], &[]]));
}

/// Options a0, b1, c2 .. under every letter.
fn options(count: usize) -> Vec<String> {
    ('a'..='z').zip(0..count).map(|(letter, at)| format!("the {letter}{at} one")).collect()
}

#[test]
fn any_letter_of_the_options_is_the_answer() {
    // The letters F to Z were taken for the answer itself.
    for count in [2, 5, 10, 26] {
        let texts = options(count);
        for (letter, text) in ('A'..='Z').zip(&texts) {
            for answer in [
                format!("{letter}"),
                format!("({letter})"),
                format!("{letter}."),
                format!(" {letter} "),
                letter.to_ascii_lowercase().to_string(),
                text.clone(),
                format!("{letter}. {text}"),
            ] {
                let record = json!({ "question": "Which?", "options": texts, "answer": answer, "answer_index": 99 });
                assert_eq!(self::answer(&record), [text.as_str()], "{answer} of {count}");
            }
            let mut columns = json!({ "question": "Which?", "answer": letter.to_string() });
            for (letter, text) in ('A'..='Z').zip(&texts) {
                columns[letter.to_string()] = json!(text);
            }
            assert_eq!(self::answer(&columns), [text.as_str()], "{letter} of {count}");
        }
        if count < 26 {
            let letter = char::from(b'A' + count as u8);
            let record = json!({ "question_id": 7, "question": "Which?", "options": texts, "answer": letter.to_string() });
            let refused = answers(&[record]).unwrap_err();
            let expected = format!(
                "item `7`: its answer is `{letter}`, and none of its {count} options in `options` is that"
            );
            assert_eq!(refused, expected);
        }
    }
    // Several of them, and an answer that is none.
    let several = |answer: Value| {
        answers(&[json!({ "question": "Which?", "choices": options(4), "answer": answer })])
    };
    assert_eq!(several(json!("A, C")).unwrap(), [["the a0 one", "the c2 one"]]);
    assert_eq!(several(json!(["B", "D"])).unwrap(), [["the b1 one", "the d3 one"]]);
    assert_eq!(several(json!("['B', 'D']")).unwrap(), [["the b1 one", "the d3 one"]]);
    assert_eq!(several(json!("THE B1 ONE")).unwrap(), [["the b1 one"]]);
    assert_eq!(several(json!("quite another")).unwrap(), [["quite another"]]);
    // Nothing is known of an answer that is kept back.
    assert_eq!(several(json!(-1)).unwrap(), [[""; 0]]);
    assert!(several(json!("(F)")).unwrap_err().contains("its answer is `(F)`"));
    assert!(several(json!([0, 2])).unwrap_err().contains("several numbers"));
    // Tables leave the columns of shorter items empty.
    let short =
        json!({ "question": "Which?", "A": "no", "B": "yes", "C": "", "D": null, "answer": "B" });
    assert_eq!(answer(&short), ["yes"]);
    let absent = json!({ "question": "Which?", "A": "no", "B": "yes", "C": "", "answer": "C" });
    assert!(
        answers(&[absent])
            .unwrap_err()
            .contains("its answer is `C`, and none of its 2 options in `A to C`")
    );
    // Letters that stand in the options too.
    let lettered =
        json!({ "question": "Which?", "options": ["A) 21", "B) 22", "C) 23"], "answer": "C" });
    assert_eq!(answer(&lettered), ["23"]);
    let named =
        json!({ "question": "Which?", "options": { "A": "no", "B": "yes" }, "answer": "B" });
    assert_eq!(answer(&named), ["yes"]);
}

#[test]
fn letters_without_any_option_are_refused_of_a_suite() {
    let of = |answer: &str| json!({ "question": "Which?", "opt": "x", "answer": answer });
    let refused = answers(&[of("B"), of("C")]).unwrap_err();
    assert!(
        refused
            .starts_with("item `file:0`: its answer is the letter B, and no field has its options"),
        "{refused}"
    );
    assert!(refused.contains("its fields are question, opt, answer: name the one"), "{refused}");
    // One answer may be a letter.
    assert_eq!(answers(&[of("B"), of("boats")]).unwrap(), [["B"], ["boats"]]);
}

#[test]
fn labels_name_options_where_they_have_some() {
    let arc = |labels: &[&str], key: &str| {
        let choices = json!({ "text": ["gate", "mole", "pole"], "label": labels });
        answers(&[
            json!({ "id": "arc-1", "question": "Which?", "choices": choices, "answerKey": key }),
        ])
    };
    assert_eq!(arc(&["A", "B", "C"], "B").unwrap(), [["mole"]]);
    assert_eq!(arc(&["1", "2", "3"], "3").unwrap(), [["pole"]]);
    let refused = arc(&["A", "B", "C"], "E").unwrap_err();
    assert_eq!(
        refused,
        "item `arc-1`: its answer is `E`, and none of its 3 options in `choices` is that"
    );
    let listed = json!([{ "label": "A", "text": "gate" }, { "label": "B", "text": "mole" }]);
    assert_eq!(
        answer(&json!({ "question": "Which?", "choices": listed, "answerKey": "B" })),
        ["mole"]
    );
    let table =
        "{'text': array(['gate', 'mole'], dtype=object), 'label': array(['A', 'B'], dtype=object)}";
    assert_eq!(
        answer(&json!({ "question": "Which?", "choices": table, "answerKey": "B" })),
        ["mole"]
    );
}

#[test]
fn options_that_a_table_has_as_a_text_are_read_or_refused() {
    let of = |choices: &str, answer: Value| {
        answers(&[json!({ "question": "Which?", "choices": choices, "answer": answer })])
    };
    for choices in [
        "['the gate', 'a \"mole\"']",
        "['the gate' 'a \"mole\"']",
        "['the gate'\n 'a \"mole\"']",
        r#"["the gate", "a \"mole\""]"#,
    ] {
        for answer in
            [json!("B"), json!(1), json!("1"), json!(1.0), json!("1.0"), json!("a \"mole\"")]
        {
            assert_eq!(
                of(choices, answer.clone()).unwrap(),
                [["a \"mole\""]],
                "{choices} {answer}"
            );
        }
    }
    for answer in [json!("B"), json!(1), json!("1")] {
        let refused = of("[the gate, a mole]", answer).unwrap_err();
        assert!(refused.contains("`choices` is a text that is no list of options"), "{refused}");
    }
    assert_eq!(of("the gate or a mole", json!("a mole")).unwrap(), [["a mole"]]);
}

#[test]
fn numbers_of_options_are_counted_as_the_whole_suite_does() {
    let of = |answers: &[Value]| {
        let record = |answer: &Value| json!({ "question": "Which?", "choices": ["gate", "mole", "pole"], "answer": answer });
        let records: Vec<Value> = answers.iter().map(record).collect();
        let (items, notes) = read_all(&records, &SuiteFields::default())?;
        let chosen: Vec<String> = items.iter().map(|item| item.parts[1].join("+")).collect();
        Ok::<_, String>((chosen, notes.numbers_from))
    };
    let all = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    for as_text in [false, true] {
        let numbers = |numbers: &[u64]| -> Vec<Value> {
            numbers.iter().map(|n| if as_text { json!(n.to_string()) } else { json!(n) }).collect()
        };
        assert_eq!(of(&numbers(&[1, 0, 2])).unwrap(), (all(&["mole", "gate", "pole"]), Some(0)));
        assert_eq!(of(&numbers(&[1, 3, 2])).unwrap(), (all(&["gate", "pole", "mole"]), Some(1)));
        // Nothing shows it: from 0, which is said.
        assert_eq!(of(&numbers(&[1, 2])).unwrap(), (all(&["mole", "pole"]), Some(0)));
        let refused = of(&numbers(&[1, 0, 3])).unwrap_err();
        assert_eq!(
            refused,
            "item `file:2`: its answer is option 3, and it has 3 options, counted from 0"
        );
        let refused = of(&numbers(&[1, 4])).unwrap_err();
        assert_eq!(
            refused,
            "item `file:1`: its answer is option 4, and it has 3 options, counted from 1"
        );
    }
    // Numbers that are the options themselves.
    let sums = |answer: &str| json!({ "question": "How many?", "choices": ["2", "3", "4"], "answer": answer });
    assert_eq!(answers(&[sums("3"), sums("4")]).unwrap(), [["3"], ["4"]]);
    let far = json!({ "question": "How many?", "A": 71, "B": 72, "answer": 72 });
    assert_eq!(answer(&far), ["72"]);
    // Layouts whose options stand in fields of their own.
    let swag = json!({ "ind": 4, "activity_label": "Sailing", "ctx": "A man rows. He", "ctx_a": "A man rows.", "ctx_b": "he", "endings": ["sings.", "flies.", "rests.", "melts."], "label": "2" });
    assert_eq!(known(&swag).1, parts([&["A man rows. He"], &["rests."], &[]]));
    assert_eq!(unsearched(&swag), ["activity_label", "ctx_b", "endings (other options)"]);
    let untold = json!({ "ctx": "A man rows. He", "endings": ["sings.", "flies."], "label": "" });
    assert_eq!(known(&untold).1, parts([&["A man rows. He"], &[], &[]]));
    let grande = json!({ "sentence": "The mole kept the pole since _ was wet.", "option1": "mole", "option2": "pole", "answer": "1" });
    assert_eq!(answer(&grande), ["mole"]);
    let goals = json!({ "goal": "How to dry a net?", "sol1": "Burn it.", "sol2": "Hang it up.", "label": 1 });
    assert_eq!(answer(&goals), ["Hang it up."]);
}

#[test]
fn a_long_solution_is_searched_for_beside_a_letter() {
    let pro = json!({ "question_id": 70, "question": "Which bell?", "options": options(10), "answer": "I", "answer_index": 8, "cot_content": "A: Let us think. The bell is old.", "category": "law", "src": "ours" });
    assert_eq!(answer(&pro), ["the i8 one", "A: Let us think. The bell is old."]);
    assert_eq!(unsearched(&pro), ["category", "options (other options)", "src"]);
    let solved = json!({ "question": "Which bell?", "options": options(3), "answer": "B", "solution": "First we look at the bells." });
    assert_eq!(answer(&solved), ["the b1 one", "First we look at the bells."]);
    let both = json!({ "question": "Which bell?", "options": options(3), "answer": "B", "gold": "the b1 one", "target": "The bell that hangs lowest." });
    assert_eq!(answer(&both), ["the b1 one", "The bell that hangs lowest."]);
    let unknown = json!({ "question": "Which bell?", "answer": { "hung": "lowest" } });
    assert_eq!((answer(&unknown).len(), unsearched(&unknown)), (0, vec!["answer".to_owned()]));
    let numbered = json!({ "question": "Which bell?", "choices": options(3), "answer": 2, "solution": "First we look." });
    assert_eq!(answer(&numbered), ["the c2 one", "First we look."]);
}

#[test]
fn missing_fields_are_named() {
    let fields = SuiteFields {
        question: Some("q".to_owned()),
        answer: Some("gold.text".to_owned()),
        passage: None,
    };
    let read = |record: &Value, fields: &SuiteFields| {
        read_all(std::slice::from_ref(record), fields).map(|(items, _)| items[0].parts.clone())
    };
    let found = read(&json!({ "q": "Which?", "gold": { "text": "this" } }), &fields).unwrap();
    assert_eq!(found, parts([&["Which?"], &["this"], &[]]));
    let error = read(&json!({ "q": "Which?", "a": 1 }), &fields).unwrap_err();
    assert_eq!(error, "item `file:0`: no field `gold.text`; there are `q`, `a`");
    for record in [json!({ "x": "Which?" }), json!({ "x": "Which?", "question": " " })] {
        let error = read(&record, &SuiteFields::default()).unwrap_err();
        assert!(
            error.contains("its fields are ") && error.contains("name one with `question=`"),
            "{error}"
        );
    }
}
