//! Judges the answers of statements over random rows by naive evaluation: arithmetic of 128 bits, walks along lists, a
//! matcher of patterns.

use super::{IntervalsHaveLengths, TimestampsAreMicroseconds, register};
use arrow::array::{ArrayRef, Float64Array, Int64Array, StringArray, TimestampMicrosecondArray};
use arrow::compute::concat_batches;
use arrow::record_batch::RecordBatch;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::datasource::MemTable;
use datafusion::execution::SessionStateBuilder;
use datafusion::optimizer::{Analyzer, AnalyzerRule};
use datafusion::prelude::{SessionConfig, SessionContext};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The values of the columns of an answer, row by row, as texts; or why there is none.
fn ask(columns: &[(&str, ArrayRef)], sql: &str) -> Result<Vec<Vec<String>>, String> {
    let table =
        RecordBatch::try_from_iter(columns.iter().map(|(name, of)| (*name, Arc::clone(of))));
    let table = table.unwrap();
    let mut rules: Vec<Arc<dyn AnalyzerRule + Send + Sync>> = vec![Arc::new(IntervalsHaveLengths)];
    rules.extend(Analyzer::new().rules);
    let mut state = SessionStateBuilder::new()
        .with_default_features()
        .with_config(SessionConfig::new().with_target_partitions(2))
        .with_analyzer_rules(rules)
        .with_type_planner(Arc::new(TimestampsAreMicroseconds))
        .build();
    register(&mut state).unwrap();
    let context = SessionContext::new_with_state(state);
    // Two partitions, so that states are merged.
    let half = table.num_rows() / 2;
    let parts = vec![vec![table.slice(0, half)], vec![table.slice(half, table.num_rows() - half)]];
    let stored = MemTable::try_new(table.schema(), parts).unwrap();
    context.register_table("t", Arc::new(stored)).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let batches = runtime.block_on(async { context.sql(sql).await?.collect().await });
    let batches = batches.map_err(|error| error.to_string())?;
    let Some(first) = batches.first() else { return Ok(Vec::new()) };
    let whole = concat_batches(&first.schema(), &batches).unwrap();
    let options = FormatOptions::default().with_null("null");
    let shown = |column: &ArrayRef, row| {
        ArrayFormatter::try_new(column.as_ref(), &options).unwrap().value(row).to_string()
    };
    let cells = |row| whole.columns().iter().map(|column| shown(column, row)).collect();
    Ok((0..whole.num_rows()).map(cells).collect())
}

/// The first column of an answer.
fn column(columns: &[(&str, ArrayRef)], sql: &str) -> Result<Vec<String>, String> {
    let rows = ask(columns, sql)?;
    Ok(rows.into_iter().map(|mut row| row.swap_remove(0)).collect())
}

fn whole(values: &[Option<i64>]) -> ArrayRef {
    Arc::new(Int64Array::from(values.to_vec()))
}

fn shown<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(|| "null".to_owned(), |value| value.to_string())
}

fn numbered(rows: usize) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(0..rows as i64))
}

/// Numbers of 64 bits: small ones, extremes, nothing.
fn number() -> impl Strategy<Value = Option<i64>> {
    prop_oneof![
        3 => (-9_i64..9).prop_map(Some),
        2 => select(vec![i64::MIN, i64::MIN + 1, i64::MAX, i64::MAX - 1, 1 << 32, -(1 << 62)]).prop_map(Some),
        1 => any::<i64>().prop_map(Some),
        1 => Just(None),
    ]
}

/// Floats as documents hold them: no NaN, no zero with a sign.
fn float() -> impl Strategy<Value = f64> {
    select(vec![
        0.0,
        1.0,
        -1.0,
        2.5,
        -2.5,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::MAX,
        f64::MIN_POSITIVE,
    ])
}

/// A number that is ordered as a float, with one zero.
fn ordered(float: f64) -> i64 {
    let bits = (float + 0.0).to_bits() as i64;
    bits ^ (((bits >> 63) as u64) >> 1) as i64
}

/// A literal for a number; the least has none of its own.
fn literal(value: Option<i64>) -> String {
    value.map_or_else(
        || "CAST(NULL AS BIGINT)".to_owned(),
        |value| format!("CAST('{value}' AS BIGINT)"),
    )
}

fn computed(op: &str, a: i64, b: i64) -> Option<i64> {
    let (a, b) = (i128::from(a), i128::from(b));
    let exact = match op {
        "+" => a + b,
        "-" => a - b,
        "*" => a * b,
        "<<" if a == 0 && b >= 0 => 0,
        "<<" if (0..64).contains(&b) => a << b,
        ">>" if b >= 0 => a >> b.min(127),
        _ => return None,
    };
    i64::try_from(exact).ok()
}

/// What a statement over rows must give: each value, or an error where one has none.
fn expected<T: ToString>(
    rows: impl Iterator<Item = Option<Result<T, ()>>>,
) -> Result<Vec<String>, ()> {
    rows.map(|row| row.transpose().map(shown)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn whole_numbers_are_exact_or_an_error(
        rows in vec((number(), number()), 1..4),
        op in select(vec!["+", "-", "*", "<<", ">>"]),
    ) {
        let (a, b): (Vec<_>, Vec<_>) = rows.iter().copied().unzip();
        let table = [("a", whole(&a)), ("b", whole(&b))];
        let both = |(a, b): &(Option<i64>, Option<i64>)| {
            a.zip(*b).map(|(a, b)| computed(op, a, b).ok_or(()))
        };
        let right = expected(rows.iter().map(both));
        let got = column(&table, &format!("SELECT a {op} b FROM t"));
        prop_assert_eq!(got.clone().map_err(drop), right, "{:?} {:?}", rows, got);
        let (a, b) = (literal(rows[0].0), literal(rows[0].1));
        let folded = column(&table, &format!("SELECT {a} {op} {b}"));
        let right = expected(std::iter::once(both(&rows[0])));
        prop_assert_eq!(folded.clone().map_err(drop), right, "{} {} {} {:?}", a, op, b, folded);
        let negated = column(&table, "SELECT -a FROM t");
        let right = expected(rows.iter().map(|(a, _)| a.map(|a| a.checked_neg().ok_or(()))));
        prop_assert_eq!(negated.map_err(drop), right);
        // In a condition.
        let kept = rows.iter().map(both).map(|row| row.transpose().map(|it| it.is_some_and(|it| it > 0)));
        let right: Result<Vec<bool>, ()> = kept.collect();
        let counted = column(&table, &format!("SELECT count(*) FROM t WHERE a {op} b > 0"));
        let right = right.map(|kept| vec![kept.iter().filter(|kept| **kept).count().to_string()]);
        prop_assert_eq!(counted.map_err(drop), right);
    }

    #[test]
    fn sums_are_exact_or_an_error(rows in vec((0_i64..3, number()), 1..12)) {
        let (groups, values): (Vec<_>, Vec<_>) = rows.iter().map(|(g, v)| (Some(*g), *v)).unzip();
        let table = [("k", numbered(rows.len())), ("g", whole(&groups)), ("v", whole(&values))];
        let sum = |values: &mut dyn Iterator<Item = i64>| {
            let mut sum = None;
            for value in values {
                sum = Some(sum.unwrap_or(0) + i128::from(value));
            }
            sum.map(|sum| i64::try_from(sum).map_err(drop))
        };
        let all = expected(std::iter::once(sum(&mut values.iter().copied().flatten())));
        prop_assert_eq!(column(&table, "SELECT sum(v) FROM t").map_err(drop), all);
        let distinct: BTreeSet<i64> = values.iter().copied().flatten().collect();
        let once = expected(std::iter::once(sum(&mut distinct.into_iter())));
        prop_assert_eq!(column(&table, "SELECT sum(DISTINCT v) FROM t").map_err(drop), once.clone());
        let beside = column(&table, "SELECT sum(DISTINCT v) + 0 * count(DISTINCT k) FROM t");
        prop_assert_eq!(beside.map_err(drop), once);
        let of_group = |group: i64| {
            let mut values = rows.iter().filter(|(g, _)| *g == group).filter_map(|(_, v)| *v);
            sum(&mut values)
        };
        let present: BTreeSet<i64> = rows.iter().map(|(group, _)| *group).collect();
        let grouped = expected(present.iter().map(|group| of_group(*group)));
        let got = column(&table, "SELECT s FROM (SELECT g, sum(v) AS s FROM t GROUP BY g) ORDER BY g");
        prop_assert_eq!(got.map_err(drop), grouped);
        // A frame that moves: values leave it.
        let frame = |row: usize| sum(&mut values[row.saturating_sub(2)..=row].iter().copied().flatten());
        let moved = expected((0..rows.len()).map(frame));
        let got = column(
            &table,
            "SELECT sum(v) OVER (ORDER BY k ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) FROM t ORDER BY k",
        );
        prop_assert_eq!(got.map_err(drop), moved);
        // As decimals all of them have a sum.
        let wide: i128 = values.iter().flatten().map(|value| i128::from(*value)).sum();
        if values.iter().any(Option::is_some) {
            let got = column(&table, "SELECT sum(CAST(v AS DECIMAL(38, 0))) FROM t");
            prop_assert_eq!(got, Ok(vec![wide.to_string()]));
        }
    }

    #[test]
    fn narrowing_casts_are_compared_as_casts(
        values in vec(number(), 1..6),
        (name, low, high) in select(vec![
            ("TINYINT", -128_i128, 127_i128),
            ("SMALLINT UNSIGNED", 0, 65_535),
            ("INT", -(1 << 31), (1 << 31) - 1),
            ("BIGINT UNSIGNED", 0, i128::from(u64::MAX)),
            ("DECIMAL(2, 0)", -99, 99),
        ]),
        literal in -3_i64..4,
        op in select(vec!["=", "<>", "<", ">=", "IS DISTINCT FROM"]),
        not in any::<bool>(),
    ) {
        let table = [("k", numbered(values.len())), ("v", whole(&values))];
        let fits = |value: i64| (low..=high).contains(&i128::from(value));
        let judged = |value: Option<i64>| {
            let Some(value) = value else { return (op == "IS DISTINCT FROM").then_some(!not) };
            let holds = match op {
                "=" => value == literal,
                "<" => value < literal,
                ">=" => value >= literal,
                _ => value != literal,
            };
            Some(holds != not)
        };
        let not = if not { "NOT " } else { "" };
        let tried: Vec<String> =
            values.iter().map(|it| shown(judged(it.filter(|it| fits(*it))))).collect();
        let got = column(&table, &format!("SELECT {not}(TRY_CAST(v AS {name}) {op} {literal}) FROM t ORDER BY k"));
        prop_assert_eq!(got, Ok(tried.clone()));
        let taken = tried.iter().filter(|it| *it == "true").count().to_string();
        let got = column(&table, &format!("SELECT count(*) FROM t WHERE {not}(TRY_CAST(v AS {name}) {op} {literal})"));
        prop_assert_eq!(got, Ok(vec![taken.clone()]));
        let got = column(&table, &format!("SELECT count(*) FROM t WHERE {not}(CAST(v AS {name}) {op} {literal})"));
        let right = values.iter().flatten().all(|it| fits(*it)).then(|| vec![taken]).ok_or(());
        prop_assert_eq!(got.map_err(drop), right);
    }

    #[test]
    fn windows_ignore_nulls_as_a_walk_does(
        values in vec(prop_oneof![2 => Just(None), 3 => (0_i64..99).prop_map(Some)], 1..14),
        offset in -4_i64..5,
        default in prop_oneof![Just(None), Just(Some(-7_i64))],
        limit in 1_usize..20,
    ) {
        let table = [("k", numbered(values.len())), ("v", whole(&values))];
        // The value of the row that is so many values away, before it or behind it.
        let away = |row: usize, by: i64, nulls: bool| -> Option<i64> {
            if by == 0 {
                return values[row];
            }
            let rows: Vec<usize> = match by > 0 {
                true => (row + 1..values.len()).collect(),
                false => (0..row).rev().collect(),
            };
            let mut met = rows.into_iter().filter(|row| nulls || values[*row].is_some());
            met.nth(by.unsigned_abs() as usize - 1).map_or(default, |row| values[row])
        };
        for (name, sign) in [("lead", 1), ("lag", -1)] {
            for (words, nulls) in [("IGNORE NULLS", false), ("", true)] {
                let by = offset * sign;
                let right: Vec<String> =
                    (0..values.len()).take(limit).map(|row| shown(away(row, by, nulls))).collect();
                let given = default.map_or_else(String::new, |default| format!(", {default}"));
                let sql = format!(
                    "SELECT {name}(v, {offset}{given}) {words} OVER (ORDER BY k) FROM t ORDER BY k LIMIT {limit}"
                );
                prop_assert_eq!(column(&table, &sql), Ok(right), "{}", sql);
            }
        }
        let (from, to) = (2_usize, 1_usize);
        for (call, of) in [
            ("first_value(v)", 1_i64), ("last_value(v)", -1), ("nth_value(v, 2)", 2), ("nth_value(v, -2)", -2),
        ] {
            let of_frame = |row: usize| {
                let end = values.len().min(row + to + 1);
                let mut frame: Vec<i64> = values[row.saturating_sub(from)..end].iter().copied().flatten().collect();
                if of < 0 {
                    frame.reverse();
                }
                frame.get(of.unsigned_abs() as usize - 1).copied()
            };
            let right: Vec<String> = (0..values.len()).map(|row| shown(of_frame(row))).collect();
            let sql = format!(
                "SELECT {call} IGNORE NULLS OVER (ORDER BY k ROWS BETWEEN {from} PRECEDING AND {to} FOLLOWING) FROM t ORDER BY k"
            );
            prop_assert_eq!(column(&table, &sql), Ok(right), "{}", sql);
        }
    }

    #[test]
    fn computed_floats_have_one_zero_and_one_nan(
        rows in vec((float(), float()), 1..14), op in select(vec!["*", "-", "/", "+"]),
    ) {
        let compute = |(a, b): &(f64, f64)| match op {
            "*" => a * b,
            "-" => a - b,
            "/" => a / b,
            _ => a + b,
        };
        // Above all numbers, and one value.
        let key = |float: f64| if float.is_nan() { f64::INFINITY.to_bits() as i64 + 1 } else { ordered(float) };
        let of = |side: fn(&(f64, f64)) -> f64| -> ArrayRef {
            Arc::new(Float64Array::from_iter_values(rows.iter().map(side)))
        };
        let table = [("k", numbered(rows.len())), ("a", of(|row| row.0)), ("b", of(|row| row.1))];
        let mut sorted: Vec<(i64, usize)> =
            rows.iter().enumerate().map(|(at, row)| (key(compute(row)), at)).collect();
        sorted.sort_unstable();
        let in_order: Vec<String> = sorted.iter().map(|(_, at)| at.to_string()).collect();
        let sql = format!("SELECT k FROM t ORDER BY a {op} b, k");
        prop_assert_eq!(column(&table, &sql), Ok(in_order), "{}", sql);
        let groups: BTreeSet<i64> = sorted.iter().map(|(key, _)| *key).collect();
        let sql = format!("SELECT count(*) FROM (SELECT DISTINCT a {op} b FROM t)");
        prop_assert_eq!(column(&table, &sql), Ok(vec![groups.len().to_string()]), "{}", sql);
        let below = |(_, row): &(usize, &(f64, f64))| key(compute(row)) <= key(-row.1);
        let kept = rows.iter().enumerate().filter(below).map(|(at, _)| at.to_string());
        let sql = format!("SELECT k FROM t WHERE a {op} b <= - b ORDER BY k");
        prop_assert_eq!(column(&table, &sql), Ok(kept.collect()), "{}", sql);
    }

    #[test]
    fn patterns_match_as_a_naive_matcher_does(
        texts in vec(vec(select(vec!['a', 'B', '%', '_', '\\', '!', 'ä', '\n']), 0..5), 1..5),
        pattern in vec(select(vec!['a', 'b', '%', '_', '\\', '!', 'ä']), 0..6),
        escape in select(vec![None, Some('!'), Some('\\'), Some('a'), Some('%')]),
        negated in any::<bool>(),
        folds in any::<bool>(),
    ) {
        let texts: Vec<String> = texts.into_iter().map(|text| text.into_iter().collect()).collect();
        let pattern: String = pattern.into_iter().collect();
        let table = [
            ("k", numbered(texts.len())),
            ("w", Arc::new(StringArray::from(texts.clone())) as ArrayRef),
            ("p", Arc::new(StringArray::from(vec![pattern.clone(); texts.len()])) as ArrayRef),
        ];
        let parts = parsed(&pattern, escape.unwrap_or('\\'));
        let right = parts.map(|parts| -> Vec<String> {
            let holds = |text: &String| {
                let text: Vec<char> = text.chars().collect();
                matches_pattern(&text, &parts, folds) != negated
            };
            texts.iter().map(|text| holds(text).to_string()).collect()
        });
        let like = format!(
            "{}{}", if negated { "NOT " } else { "" }, if folds { "ILIKE" } else { "LIKE" }
        );
        let with = escape.map_or_else(String::new, |escape| format!(" ESCAPE '{escape}'"));
        for pattern in [format!("'{pattern}'"), "p".to_owned()] {
            let sql = format!("SELECT w {like} {pattern}{with} FROM t ORDER BY k");
            let got = column(&table, &sql);
            prop_assert_eq!(got.clone().map_err(drop), right.clone().ok_or(()), "{} {:?}", sql, got);
        }
    }

    #[test]
    fn intervals_are_compared_by_their_length(
        a in (-3_i64..4, -70_i64..70, -2000_i64..2000),
        b in (-3_i64..4, -70_i64..70, -2000_i64..2000),
        moments in (moment(), moment()),
        op in select(vec!["=", "<>", "<", ">=", "IS DISTINCT FROM"]),
    ) {
        let written = |(months, days, hours): (i64, i64, i64)| {
            format!("INTERVAL '{months} months {days} days {hours} hours'")
        };
        let hours = |(months, days, hours): (i64, i64, i64)| {
            i128::from((months * 30 + days) * 24 + hours) * 3_600_000_000
        };
        let holds = |a: i128, b: i128| match op {
            "=" => a == b,
            "<" => a < b,
            ">=" => a >= b,
            _ => a != b,
        };
        let table = [("x", timestamps(&[moments.0])), ("y", timestamps(&[moments.1]))];
        let one = |sql: String| column(&table, &sql).map(|mut rows| rows.remove(0));
        let got = one(format!("SELECT {} {op} {} FROM t", written(a), written(b)));
        prop_assert_eq!(got, Ok(holds(hours(a), hours(b)).to_string()));
        let between = i128::from(moments.0) - i128::from(moments.1);
        let got = one(format!("SELECT x - y {op} {} FROM t", written(b)));
        prop_assert_eq!(got, Ok(holds(between, hours(b)).to_string()));
        let got = one(format!("SELECT count(*) FROM t WHERE x - y {op} '{} days'", b.1));
        prop_assert_eq!(got, Ok(i32::from(holds(between, hours((0, b.1, 0)))).to_string()));
        let got = one(format!("SELECT {} BETWEEN x - y AND {} FROM t", written(a), written(b)));
        prop_assert_eq!(got, Ok((between <= hours(a) && hours(a) <= hours(b)).to_string()));
    }

    #[test]
    fn moments_of_all_years_are_compared_exactly(
        values in vec(moment(), 1..5),
        other in moment(),
        day in -719_162_i64..2_932_896,
        op in select(vec!["=", "<", ">="]),
        width in 1_i64..40,
    ) {
        let table = [("k", numbered(values.len())), ("x", timestamps(&values))];
        let text = spelled(other);
        let holds = |a: i64, b: i64| match op {
            "=" => a == b,
            "<" => a < b,
            _ => a >= b,
        };
        let verdicts = |with: i64| values.iter().map(|it| holds(*it, with).to_string()).collect::<Vec<_>>();
        for literal in [format!("'{text}'"), format!("TIMESTAMP '{text}'"), format!("to_timestamp('{text}')")] {
            let got = column(&table, &format!("SELECT x {op} {literal} FROM t ORDER BY k"));
            prop_assert_eq!(got, Ok(verdicts(other)), "{}", literal);
        }
        const DAY: i64 = 86_400_000_000;
        let date = spelled(day * DAY);
        let date = date.get(..10).unwrap();
        let got = column(&table, &format!("SELECT x {op} DATE '{date}' FROM t ORDER BY k"));
        prop_assert_eq!(got, Ok(verdicts(day * DAY)), "{}", date);
        let got = column(&table, &format!("SELECT CAST(date_bin(INTERVAL '{width} days', x) AS BIGINT) FROM t ORDER BY k"));
        let begun = |it: &i64| (it.div_euclid(width * DAY) * width * DAY).to_string();
        prop_assert_eq!(got, Ok(values.iter().map(begun).collect::<Vec<_>>()));
        let got = column(&table, &format!("SELECT CAST(x - TIMESTAMP '{text}' AS BIGINT) FROM t ORDER BY k"));
        prop_assert_eq!(got, Ok(values.iter().map(|it| (it - other).to_string()).collect::<Vec<_>>()));
    }
}

/// Microseconds since 1970, of the years 1 to 9999.
fn moment() -> impl Strategy<Value = i64> {
    const FIRST: i64 = -62_135_596_800_000_000;
    const LAST: i64 = 253_402_300_799_999_999;
    prop_oneof![FIRST..LAST, select(vec![FIRST, LAST, 0, -1, 1_700_000_000_000_000])]
}

fn timestamps(values: &[i64]) -> ArrayRef {
    Arc::new(TimestampMicrosecondArray::from(values.to_vec()))
}

fn spelled(moment: i64) -> String {
    let one = timestamps(&[moment]);
    let options = FormatOptions::default();
    ArrayFormatter::try_new(one.as_ref(), &options).unwrap().value(0).to_string()
}

/// A part of a pattern.
#[derive(Clone, Copy)]
enum Part {
    Any,
    One,
    Is(char),
}

/// The parts of a pattern; none for one that ends in its escape.
fn parsed(pattern: &str, escape: char) -> Option<Vec<Part>> {
    let mut parts = Vec::new();
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        parts.push(match character {
            it if it == escape => Part::Is(characters.next()?),
            '%' => Part::Any,
            '_' => Part::One,
            other => Part::Is(other),
        });
    }
    Some(parts)
}

fn matches_pattern(text: &[char], parts: &[Part], folds: bool) -> bool {
    match (parts, text) {
        ([], text) => text.is_empty(),
        ([Part::Any, rest @ ..], text) => {
            (0..=text.len()).any(|skipped| matches_pattern(&text[skipped..], rest, folds))
        }
        ([Part::One, rest @ ..], [_, behind @ ..]) => matches_pattern(behind, rest, folds),
        ([Part::Is(wanted), rest @ ..], [found, behind @ ..]) => {
            let alike = match folds {
                true => wanted.to_lowercase().eq(found.to_lowercase()),
                false => wanted == found,
            };
            alike && matches_pattern(behind, rest, folds)
        }
        _ => false,
    }
}

#[test]
fn no_right_answer_is_refused_with_the_way_out() {
    let table = [("k", numbered(2)), ("v", whole(&[Some(i64::MAX), Some(1)]))];
    for (sql, why) in [
        (
            "SELECT v + 1 FROM t",
            "9223372036854775807 + 1 is beyond whole numbers of 64 bits: write CAST(.. AS DECIMAL(38, 0))",
        ),
        ("SELECT sum(v) FROM t", "write sum(CAST(x AS DECIMAL(38, 0)))"),
        ("SELECT v << 1 FROM t", "is beyond whole numbers of 64 bits"),
        ("SELECT DATE '2024-01-01' + v FROM t", "is beyond whole numbers of 64 bits"),
        ("SELECT lead(v, NULL) OVER (ORDER BY k) FROM t", "the offset of `lead` is null"),
        ("SELECT 'a' LIKE 'a!' ESCAPE '!'", "ends in its escape: write 'a!!'"),
        ("SELECT 'a' SIMILAR TO 'a'", "write x ~ '^(..)$'"),
        ("SELECT CAST(5 AS TIMESTAMP)", "write to_timestamp(x)"),
        (
            "SELECT i FROM (VALUES (INTERVAL '1 day')) r(i) ORDER BY i",
            "write extract(epoch FROM x)",
        ),
        ("SELECT DISTINCT i FROM (VALUES (INTERVAL '1 day')) r(i)", "DISTINCT does not compare"),
        (
            "SELECT count(*) FROM (VALUES (INTERVAL '1 day')) r(i) GROUP BY i",
            "GROUP BY does not compare",
        ),
        ("SELECT max(i) FROM (VALUES (INTERVAL '1 day')) r(i)", "max(..) does not compare"),
        ("SELECT greatest(INTERVAL '1 day', INTERVAL '25 hours')", "`greatest` does not compare"),
        (
            "SELECT date_bin(INTERVAL '1 month', TIMESTAMP '9999-12-31')",
            "date_bin counts months from 1678 to 2261 only",
        ),
    ] {
        let error = column(&table, sql).expect_err(sql);
        assert!(error.contains(why), "{sql}: {error}");
    }
}

#[test]
fn answers_that_were_wrong_are_right() {
    let table = [("k", numbered(3)), ("x", timestamps(&[0, i64::from(i32::MAX), -1]))];
    for (sql, right) in [
        ("SELECT INTERVAL '25 hours' > INTERVAL '1 day'", "true"),
        ("SELECT INTERVAL '24 hours' IN (INTERVAL '1 day')", "true"),
        ("SELECT CASE INTERVAL '24 hours' WHEN INTERVAL '1 day' THEN 'one' ELSE 'none' END", "one"),
        ("SELECT extract(epoch FROM INTERVAL '1 month') = 30 * 86400", "true"),
        ("SELECT count(*) FROM t WHERE now() - x > INTERVAL '30 days'", "3"),
        ("SELECT count(*) FROM t WHERE now() + INTERVAL '1000 years' > x", "3"),
        ("SELECT DATE '9999-12-31' > TIMESTAMP '2024-01-01'", "true"),
        ("SELECT to_timestamp(253402300799)", "9999-12-31T23:59:59"),
        ("SELECT to_timestamp(253402300799.5)", "9999-12-31T23:59:59.500"),
        ("SELECT CAST(to_timestamp_seconds('0001-01-01') AS VARCHAR)", "0001-01-01T00:00:00"),
        ("SELECT 1 >> 64", "0"),
        ("SELECT DATE '2024-02-28' + 2", "2024-03-01"),
        ("SELECT DATE '2024-03-01' - 2", "2024-02-28"),
        ("SELECT 2 + DATE '2024-02-28'", "2024-03-01"),
        ("SELECT CAST(sum(x - TIMESTAMP '1970-01-01') AS BIGINT) FROM t", "2147483646"),
        ("SELECT CAST(avg(x - TIMESTAMP '1970-01-01') AS BIGINT) FROM t", "715827882"),
        ("SELECT avg(CAST(v AS DECIMAL(38, 0))) FROM (VALUES (1), (2)) r(v)", "1.5000"),
        ("SELECT sum(NULL) IS NULL", "true"),
        ("SELECT min(v) FROM (VALUES (1, CAST('inf' AS DOUBLE))) r(k, v) GROUP BY k", "inf"),
        ("SELECT max(v) FROM (VALUES (1, CAST('-inf' AS DOUBLE))) r(k, v) GROUP BY k", "-inf"),
        (
            "SELECT min(v) FROM (VALUES (1, CAST('NaN' AS DOUBLE)), (1, 2.0)) r(k, v) GROUP BY k",
            "2.0",
        ),
        (
            "SELECT sum(v) > 1e308 FROM (VALUES (CAST('inf' AS DOUBLE)), (CAST('-inf' AS DOUBLE))) r(v)",
            "true",
        ),
        (
            "SELECT bool_and(v > 0) OVER (ROWS BETWEEN CURRENT ROW AND CURRENT ROW) FROM (VALUES (0)) r(v)",
            "false",
        ),
    ] {
        assert_eq!(column(&table, sql), Ok(vec![right.to_owned()]), "{sql}");
    }
}

#[test]
fn types_of_answers_stay() {
    let columns: [(&str, ArrayRef); 1] = [("v", whole(&[Some(1)]))];
    let kinds = "SELECT arrow_typeof(sum(v)) AS a, arrow_typeof(sum(v + 1) * 2) AS b FROM t";
    assert_eq!(ask(&columns, kinds), Ok(vec![vec!["Int64".to_owned(), "Int64".to_owned()]]));
    let named = ask(&columns, "SELECT \"t.v + Int64(1)\" FROM (SELECT v + 1 FROM t)");
    assert_eq!(named, Ok(vec![vec!["2".to_owned()]]));
}
