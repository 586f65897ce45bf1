//! What the compiler can watch is a type.

use xtask::measures;
use xtask::source::Source;

use crate::{assert_none, engine, errors};

#[test]
fn ids_are_types() {
    let why = "an id of ours is a type of crates/types; a parameter that is none has another name";
    assert_none(engine().iter().flat_map(|source| errors(measures::string_ids(source), why)));
}

#[test]
fn ids_that_are_texts_are_found() {
    let found = |text: &str| measures::string_ids(&Source::new("src/a.rs", text)).len();
    assert_eq!(found("fn f(turn: &str, person_id: &'a str, execution: Option<&str>)"), 3);
    assert_eq!(
        found("fn f(turn: &TurnId, text: &str, wid: &str, message_id: &str, call_id: &str) {} // turn: &str"),
        0
    );
}

#[test]
fn states_are_enums() {
    let why = "a state or kind is an enum with its text in one place";
    assert_none(engine().iter().flat_map(|source| errors(measures::quoted_states(source), why)));
}

#[test]
fn states_compared_with_a_text_are_found() {
    let found = |path: &str, text: &str| measures::quoted_states(&Source::new(path, text)).len();
    assert_eq!(
        found(
            "src/a.rs",
            "row.kind == \"said\" && turn.status() != \"dead\" && ending.as_deref() == Some(\"x\")"
        ),
        3
    );
    assert_eq!(found("crates/store/src/a.rs", "row.kind == \"said\""), 0);
    assert_eq!(found("src/a.rs", "row.kind == Kind::Said && name == \"said\""), 0);
}

#[test]
fn results_are_not_nested() {
    let why = "an error enum with `From`, and `?`";
    assert_none(engine().iter().flat_map(|source| errors(measures::nested_results(source), why)));
}

#[test]
fn results_inside_of_results_are_found() {
    let found = |text: &str| measures::nested_results(&Source::new("src/a.rs", text)).len();
    assert_eq!(found("fn f() -> Result<Result<A, B>, C> { Ok(Err(b)) } Ok(Ok(a))"), 3);
    assert_eq!(found("Ok(Some(a)); // Ok(Ok(a))\n\"Ok(Ok(\""), 0);
}
