//! Tests of templates that multiply what they are given, and that every builtin of the engine is accounted for.

use super::ChatTemplate;
use super::budget::{RenderAllowance, RenderBudget, RenderLimits};
use super::sandbox;
use super::values::Members;
use minijinja::Environment;
use minijinja::value::Value;
use serde_json::json;
use std::collections::BTreeSet;

const LIMIT: u64 = 100_000;

fn rendered(source: &str) -> Result<String, String> {
    let template = ChatTemplate::new(source).map_err(|error| error.to_string())?;
    let limits = RenderLimits { bytes: LIMIT, ..RenderLimits::default() };
    let message = json!({"role": "user", "content": "Hello, hello. It is a text."});
    let messages = [Value::from_serialize(message)];
    template.render(&messages, &Members::default(), false, &mut RenderBudget::new(&limits))
}

fn refused(source: &str) {
    let why = rendered(source).unwrap_err();
    assert!(
        why.contains("--max-doc-bytes") && why.contains("(line 2 of the template)"),
        "{source}: {why}"
    );
}

fn in_loop(body: &str) -> String {
    format!(
        "{{% set ns = namespace(x=messages[0].content, l=[1, 'b']) %}}\n{{% for i in range(60) %}}{body}{{% endfor %}}"
    )
}

/// A text doubled in a loop took gigabytes until the process was ended, within a few hundred steps.
#[test]
fn doubling_texts_and_lists_is_refused_before_allocation() {
    for body in [
        "{% set ns.x = ns.x ~ ns.x %}",
        "{% set ns.x = ns.x + ns.x %}",
        "{% set ns.x = ns.x * 2 %}",
        "{% set ns.x = 3 * ns.x %}",
        "{% set ns.x = [ns.x, ns.x] | join(' ') %}",
        "{% set ns.x = ns.x | replace('e', ns.x) %}",
        "{% set ns.x = ns.x.replace('e', ns.x) %}",
        "{% set ns.x = ns.x.replace('', ns.x) %}",
        "{% set ns.x = ns.x.join([ns.x, 1, ns.x]) %}",
        "{% set ns.x = '%s%s' | format(ns.x, ns.x) %}",
        "{% set ns.x = '{0}{0}'.format(ns.x) %}",
        "{% set ns.x = [ns.x, ns.x] | string %}",
        "{% set ns.x = [ns.x, ns.x] | tojson %}",
        "{% set ns.x = [ns.x, ns.x] | pprint %}",
        "{% set ns.x = [ns.x, ns.x] | upper %}",
        "{% set ns.x = (ns.x | e) ~ ns.x[::-1] %}",
        "{% set ns.l = ns.l + ns.l %}",
        "{% set ns.l = ns.l * 3 %}",
        "{% set ns.l = ns.l | chain(ns.l) %}",
        "{% set ns.l = [ns.l, ns.l] %}{{ (ns.l ~ '') | length }}",
        "{% set ns.l = [ns.l, ns.l] %}{{ ns.l in 'abc' }}",
        "{% set ns.l = [ns.l, ns.l] %}{{ 'a' < 'b' and ns.l is in 'abc' }}",
        "{% set ns.l = ns.l | zip(ns.l) %}{{ ns.l | tojson | length }}",
    ] {
        refused(&in_loop(body));
    }
}

#[test]
fn large_numbers_are_refused_before_allocation() {
    for body in [
        "{{ messages | tojson(indent=10000000000) }}",
        "{{ 'a' | indent(10000000000, true) }}",
        "{{ 'a' | indent(width=10000000000) }}",
        "{{ ['a'] | batch(1000000000000000000, 'x') | list | length }}",
        "{{ ['a'] | batch(1000000000000000000) | list | length }}",
        "{{ ['a'] | slice(10000000000) | list | length }}",
        "{{ '%99999999999d' | format(3) }}",
        "{{ '%.9999999999f' | format(3.5) }}",
        "{{ '{:>99999999999}'.format(3) }}",
        "{{ ('a,' * 9000000) | replace(',', 'b' * 9000) }}",
        "{{ (['x'] * 100000000) | join('yyy') }}",
        "{{ (['x'] * 4294967296) * 4294967296 }}",
        "{{ ('ab' * 5000000) | list | length }}",
        "{{ ('a ' * 5000000) | split | length }}",
        "{{ ('a ' * 5000000).split(' ') | length }}",
        "{{ ((['x' * 1000] * 100000) | map('upper')) | length }}",
        "{{ ((['x' * 1000] * 100000) | map('replace', 'x', 'yy')) | length }}",
        "{{ (['x' * 1000] * 100000) | unique | length }}",
        "{{ (['x' * 1000] * 100000) | sort | length }}",
    ] {
        refused(&format!("\n{body}"));
    }
}

/// What blocks, macros and calls write went to texts of their own, which nothing bounded.
#[test]
fn output_of_blocks_and_macros_is_bounded() {
    let long = "a few words of its own ".repeat(20);
    for body in [
        format!("{{% set x %}}{{% for i in range(90000) %}}{long}{{% endfor %}}{{% endset %}}"),
        format!(
            "{{% set x | upper %}}{{% for i in range(90000) %}}{long}{{% endfor %}}{{% endset %}}"
        ),
        format!(
            "{{% macro m() %}}{{% for i in range(90000) %}}{long}{{% endfor %}}{{% endmacro %}}{{% set x = m() %}}"
        ),
        format!(
            "{{% macro m() %}}{{{{ caller() }}}}{{% endmacro %}}{{% set x %}}{{% call m() %}}{{% for i in range(90000) %}}{long}{{% endfor %}}{{% endcall %}}{{% endset %}}"
        ),
        format!(
            "{{% filter trim %}}{{% for i in range(90000) %}}{long}{{% endfor %}}{{% endfilter %}}"
        ),
        format!(
            "{{% set x %}}{{% for i in [[1]] recursive %}}{{% for j in range(90000) %}}{long}{{% endfor %}}{{% endfor %}}{{% endset %}}"
        ),
    ] {
        let why = rendered(&body).unwrap_err();
        assert!(why.contains("--max-doc-bytes"), "{body}: {why}");
    }
}

/// Constants were worked out while the template was compiled, before anything counted.
#[test]
fn constants_are_evaluated_at_render_time() {
    let source = format!("\n{{{{ {} }}}}", ["'a' * 90000000"; 40].join(" ~ "));
    refused(&source);
    let chain = format!("{{{{ {} }}}}", vec!["'a'"; 100_000].join(" ~ "));
    assert!(rendered(&chain).unwrap_err().contains("set parts of it first"));
}

/// A value within a value, again and again, went down the stack when it was dropped, and ended the process.
#[test]
fn a_template_that_nests_values_without_end_is_refused() {
    for body in [
        "{% set ns.l = [ns.l] %}",
        "{% set ns.l = {'a': ns.l} %}",
        "{% set ns.l = ns.l | batch(9) | list %}",
        "{% set ns.l = ns.l | zip(ns.l) %}",
        "{% set ns.l = dict(a=ns.l) %}",
    ] {
        let source = in_loop(body).replace("range(60)", "range(3000)");
        let why = rendered(&source).unwrap_err();
        assert!(why.contains("deep") || why.contains("--max-doc-bytes"), "{body}: {why}");
    }
    for body in ["set ns.x = ns", "set a = [ns]", "set a = namespace(a=ns)", "set a = {'a': ns}"] {
        let why = rendered(&in_loop(&format!("{{% {body} %}}"))).unwrap_err();
        assert!(why.contains("could hold itself"), "{body}: {why}");
    }
    let sliced = in_loop("{% set ns.l = ns.l[0:] %}").replace("range(60)", "range(3000)");
    assert_eq!(rendered(&sliced).unwrap(), "");
}

/// `count` of nothing did not end.
#[test]
fn nothing_is_found_as_often_as_python_finds_it() {
    assert_eq!(rendered("{{ 'añc'.count('') }} {{ 'aa'.count('a') }}").unwrap(), "4 2");
}

#[test]
fn checked_operators_and_filters_give_what_the_engine_gives() {
    let both = |source: &str| {
        let mut plain = Environment::new();
        plain.set_formatter(super::functions::write);
        plain.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
        let allowance = RenderAllowance::begin(&RenderLimits::default());
        let plain = plain.render_str(source, minijinja::context! {});
        drop(allowance);
        let ours = rendered(source);
        match plain {
            Ok(plain) => assert_eq!(ours.as_deref(), Ok(plain.as_str()), "{source}"),
            Err(error) => {
                let why = error.detail().unwrap_or_default();
                assert!(ours.as_ref().is_err_and(|ours| ours.contains(why)), "{source}: {ours:?}");
            }
        }
    };
    for source in [
        "{{ 1 + 2 }} {{ 1.5 + 2 }} {{ 'a' + 'b' }} {{ 9223372036854775807 + 1 }}",
        "{{ ([1] + [2])[1] }}",
        "{{ 'a' + 1 }}",
        "{{ none + 1 }}",
        "{{ 2 * 3 }} {{ 2 * 1.5 }} {{ 'ab' * 2 }} {{ 2 * 'ab' }} {{ 9223372036854775807 * 9 }}",
        "{{ 'a' * 'b' }}",
        "{{ 'a' * -1 }}",
        "{{ 1 ~ 'a' ~ none ~ 1.5 ~ true }}",
        "{{ ([1] + [2, 3]) | join(',') }} {{ ([1] + [2]) | length }} {{ ([1, 2] * 2) | join }}",
        "{{ ([1] + [2]) is sequence }} {{ ([1] * 2) is iterable }} {{ ([1] + [2]) == [1, 2] }}",
        "{{ [1, 2, 3][1:] | join }} {{ [1, 2, 3][::-1][1:] | join }} {{ 'abc'[1:] }} {{ [1, 2, 3][1:][0] }}",
        "{{ 'a' in 'abc' }} {{ 1 in 'a1' }} {{ 'a' in ['a'] }} {{ 'a' in {'a': 1} }} {{ 'a' not in [] }} {{ 'a' in x }}",
        "{{ 1 < 2 in [2] }} {{ 1 in [1] in [true] }} {{ 3 > 2 not in [1] }}",
        "{{ 1 in 2 }}",
        "{{ 'a b' | upper }} {{ 'a,b' | split(',') | join('-') }} {{ 'x' | indent(2, true) }} {{ 'a' | foo }}",
        "{% if false %}{{ 'a' | foo }}{% endif %}{{ [3, 1] | sort | join }} {{ [1, 2, 3] | batch(2) | list | length }}",
        "{{ {'b': 1} | chain({'a': 2, 'b': 3}) | dictsort | map('join', '=') | join(';') }} {{ [1] | chain([2]) | join }} {{ ([1] | chain([2]))[1] }}",
        "{{ [1, 2] | zip([3, 4]) | map('join', '+') | join(' ') }} {{ {'a': 1} | items | first | join }}",
        "{{ [{'a': 1}] | map(attribute='a') | join }} {{ ['a'] | map('upper') | join }} {{ ['a'] | map('foo') }}",
        "{{ '%05d|%-4s|' | format(3, 'a') }} {{ '{:>4}|{}'.format('a', 2) }} {{ [1, 2] | reverse | join }}",
        "{{ 'abc' | reverse }} {{ ['a', 'A'] | unique | join }} {{ 'a\nb' | lines | join('|') }} {{ [1, 2, 3] | slice(2) | map('join', ',') | join('|') }}",
        "{% set x %}a{{ 1 }}{% endset %}{{ x }}{% filter upper %}abc{% endfilter %}{% macro m(a, b=2) %}{{ a }}{{ b }}{{ caller() }}{% endmacro %}{% call m(1) %}c{% endcall %}",
        "{% for k, v in {'a': 1}.items() %}{{ k }}{{ v }}{% endfor %}{% for x in [[1, [2]]] recursive %}{% if x is iterable %}{{ loop(x) }}{% else %}{{ x }}{% endif %}{% endfor %}",
        "{% with a = 1, b = a + 1 %}{{ b }}{% endwith %}{% block x %}in{{ self.y() }}{% endblock %}{% block y %}!{% endblock %}{% do [].count(1) %}",
        "{% autoescape true %}<b>{{ '<' ~ 'b' }}{{ '&' | safe }}{{ ['<', 'a' | safe] | join(',') }}{% endautoescape %}",
        "{{ -1 }} {{ not 1 }} {{ 7 % 3 }} {{ 2 ** 5 }} {{ 7 // 2 }} {{ 7 / 2 }} {{ 1 if false }} {{ dict(a=1).a }} {{ ' a '.strip() }}",
    ] {
        both(source);
    }
}

/// The engine wrote `1e-7`, sixteen zeros, and quotes of its own.
#[test]
fn values_become_texts_as_python_has_them() {
    for (source, text) in [
        (
            "{{ 0.0000001 }} {{ 1e16 }} {{ 1e16 ~ '' }} {{ 1e16 | string }} {{ 1e16 | upper }}",
            "1e-07 1e+16 1e+16 1e+16 1E+16",
        ),
        (
            "{{ [1e16, 'x', 2] | join(' ') }} {{ [0.00001] | map('string') | first }}",
            "1e+16 x 2 1e-05",
        ),
        ("{{ [1, 'x', 1e-7] ~ {'a': [none, true]} }}", "[1, 'x', 1e-07]{'a': [None, True]}"),
        (
            "{{ '%s %5.1f' | format(1e16, 2.25) }} {{ '{} {:>6} {:6} {:.1f}'.format(1e-7, 1e-7, 1e-7, 1.25) }}",
            "1e+16   2.2 1e-07  1e-07  1e-07 1.2",
        ),
        ("{{ {'b': 1e16, 'a': [], 'c': {}} | tojson }}", "{\"b\": 1e+16, \"a\": [], \"c\": {}}"),
        (
            "{{ {'b': 'é', 'a': {'x': 1}} | tojson(sort_keys=true, ensure_ascii=true, separators=[',', ':']) }}",
            "{\"a\":{\"x\":1},\"b\":\"\\u00e9\"}",
        ),
        ("{{ {'b': [1, []]} | tojson(indent='\t') }}", "{\n\t\"b\": [\n\t\t1,\n\t\t[]\n\t]\n}"),
        (
            "{{ 2.675 | round(2) }} {{ 2.5 | round }} {{ -0.4 | round }} {{ 7 | round(1) }} {{ 2.25 | round(precision=1) }}",
            "2.67 2.0 -0.0 7 2.2",
        ),
        (
            "{{ 1e40 | int }} {{ 1e40 | int is integer }} {{ 2.9 | int }}",
            "10000000000000000303786028427003666890752 True 2",
        ),
        // 1 is equal to true, and a map with both has one or two names, by chance.
        ("{{ {2: 2, true: 3, none: 4} | tojson }}", "{\"2\": 2, \"true\": 3, \"null\": 4}"),
    ] {
        assert_eq!(rendered(source).as_deref(), Ok(text), "{source}");
    }
}

/// A filter, a function or a method that another release of the engine brings must be looked at: what it
/// makes has no bound by itself.
#[test]
fn every_builtin_of_the_engine_is_on_the_list() {
    let environment = Environment::new();
    let shown = format!("{environment:?}");
    let filters = shown.split_once("filters: ").unwrap().1;
    let filters = filters.split_once(['}', ']']).unwrap().0;
    let builtin: BTreeSet<&str> = filters.split('"').skip(1).step_by(2).collect();
    assert!(builtin.contains("replace") && builtin.len() > 40, "{builtin:?}");
    let listed: BTreeSet<&str> = sandbox::names().filter(|name| *name != "generation").collect();
    assert_eq!(builtin, listed);
    let functions: BTreeSet<&str> = environment.globals().map(|(name, _)| name).collect();
    let listed = sandbox::FUNCTIONS.into_iter().chain(["debug"]).collect();
    assert_eq!(functions, listed);
}
