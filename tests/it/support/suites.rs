//! A small suite of evaluation items.

use serde_json::json;

pub const QUESTION: &str = "A baker sells 48 of her rolls in the morning, and then half as many rolls in the afternoon. How many rolls did the baker sell on the whole day?";

pub const ANSWER: &str = "In the afternoon she sold 48/2 = 24 rolls, so on the whole day she sold 48+24 = 72 of them. #### 72";

pub fn suite() -> String {
    let items = [
        json!({ "id": "rolls", "question": QUESTION, "answer": ANSWER }),
        json!({ "id": "mill", "question": SHORT, "answer": "Quilbury" }),
        json!({ "id": "open", "question": "Tell in your own words why the keeper of the old lighthouse never once came down to the village" }),
        json!({ "id": "tiny", "question": "Why?", "answer": "So" }),
    ];
    items.map(|item| format!("{item}\n")).concat()
}

pub fn around(text: &str) -> String {
    format!(
        "Some words that come before it, as they do.\n\n{text}\n\nAnd some that come after, as others do."
    )
}

pub const SHORT: &str = "Which town has the tallest mill?";
