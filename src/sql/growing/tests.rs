//! Every function of the engine is bounded or cannot grow, and the bounds are bounds.

use super::{BOUNDED, bound};
use arrow::array::{AsArray, StringArray};
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::session_state::SessionState;
use datafusion::prelude::SessionContext;
use std::collections::BTreeSet;

/// Functions whose results are numbers, dates, booleans, hashes, or parts or copies of one of their arguments.
const CANNOT_GROW: &str = "
    abs acos acosh arrow_cast arrow_field arrow_metadata arrow_try_cast arrow_typeof ascii asin asinh atan
    atan2 atanh bit_length btrim cast_to_type cbrt ceil character_length chr coalesce contains cos cosh cot
    current_date current_time date_bin date_part date_trunc decode degrees ends_with exp factorial file_row_index
    find_in_set floor from_unixtime gcd get_field greatest input_file_name isnan iszero lcm least left
    levenshtein ln log log10 log2 ltrim make_date make_time named_struct nanvl now nullif nvl nvl2
    octet_length pi power radians random regexp_count regexp_instr regexp_like reverse right round rtrim
    signum sin sinh split_part sqrt starts_with strpos struct substr substr_index tan tanh to_date to_hex
    to_local_time to_time to_timestamp to_timestamp_micros to_timestamp_millis to_timestamp_nanos
    to_timestamp_seconds to_unixtime trunc try_cast_to_type union_extract union_tag uuid version
    with_metadata
    array_add array_any_value array_avg array_compact array_dims array_distance array_distinct array_element
    array_except array_has array_has_all array_has_any array_intersect array_length array_max array_min array_ndims
    array_normalize array_pop_back array_pop_front array_position array_positions array_product array_remove
    array_remove_all array_remove_n array_reverse array_scale array_slice array_sort array_subtract array_sum
    cardinality cosine_distance digest empty flatten inner_product map_entries map_extract map_keys map_values
    md5 sha224 sha256 sha384 sha512";

fn state(limit: usize) -> SessionState {
    let mut state = SessionStateBuilder::new().with_default_features().build();
    bound(&mut state, limit).unwrap();
    state
}

#[test]
fn every_function_of_the_engine_is_bounded_or_cannot_grow() {
    // `overlay` was on no list, and took gigabytes.
    let bounded: BTreeSet<&str> = BOUNDED.iter().map(|(name, _)| *name).collect();
    let others: BTreeSet<&str> = CANNOT_GROW.split_whitespace().collect();
    assert!(bounded.is_disjoint(&others));
    let state = state(1 << 20);
    let known: BTreeSet<&str> =
        state.scalar_functions().values().map(|function| function.name()).collect();
    let unseen: Vec<&&str> =
        known.iter().filter(|name| !bounded.contains(*name) && !others.contains(*name)).collect();
    assert!(unseen.is_empty(), "can these make more text than they are given? {unseen:?}");
    let gone: Vec<&&str> = bounded.union(&others).filter(|name| !known.contains(*name)).collect();
    assert!(gone.is_empty(), "not of the engine any more: {gone:?}");
    // An alias is the same function.
    for (alias, function) in state.scalar_functions() {
        let is_bounded = format!("{:?}", function.inner()).starts_with("Bounded");
        assert_eq!(is_bounded, bounded.contains(function.name()), "{alias}");
    }
}

/// The answer in bytes, or why there is none.
fn ask(limit: usize, expression: &str) -> Result<usize, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let context = SessionContext::new_with_state(state(limit));
    let ran = runtime.block_on(async {
        context.sql(&format!("SELECT CAST({expression} AS VARCHAR) AS made")).await?.collect().await
    });
    let batches = ran.map_err(|error| error.to_string())?;
    let column = batches.first().unwrap().column(0);
    let column = arrow::compute::cast(column, &arrow::datatypes::DataType::Utf8).unwrap();
    let texts: &StringArray = column.as_string();
    Ok(texts.value(0).len())
}

#[test]
fn results_of_functions_are_bounded_before_allocation() {
    let a = format!("'{}'", "a".repeat(600));
    let sharp = format!("'{}'", "\u{390}".repeat(300));
    for (expression, bytes) in [
        (format!("overlay({a} placing {a} from 601)"), 1200),
        (format!("overlay({a} placing 'b' from 600 for -9000)"), 1200),
        (format!("translate({a}, 'a', '\u{1d400}')"), 2400),
        (format!("upper({sharp})"), 1800),
        ("lower(repeat('\u{130}', 300))".to_owned(), 900),
        (format!("initcap({sharp})"), 600),
        (format!("encode({a}, 'hex')"), 1200),
        (format!("encode(arrow_cast({a}, 'Binary'), 'hex')"), 1200),
        ("to_char(TIMESTAMP '2001-01-01T00:00:00', repeat('%c', 40))".to_owned(), 960),
    ] {
        let made = ask(1 << 20, &expression).unwrap_or_else(|why| panic!("{expression}: {why}"));
        assert!(made >= bytes, "{expression}: {made}");
        let why = ask(made - 1, &expression).unwrap_err();
        assert!(why.contains("would make more than"), "{expression}: {why}");
    }
    let nested = format!("(SELECT regexp_match({a}, '((((.*))))'))");
    assert!(ask(2000, &nested).unwrap_err().contains("`regexp_match` would make"));
    // What fits is made, and letters that do not grow are counted as they are.
    assert_eq!(ask(1200, &format!("upper({a})")), Ok(600));
    let long = "repeat('\u{e9}', 50000)";
    assert_eq!(ask(100_000, &format!("upper({long})")), Ok(100_000));
    assert_eq!(ask(2400, &format!("overlay({a} placing {a} from 1)")), Ok(600));
}
