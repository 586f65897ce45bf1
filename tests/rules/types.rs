//! What the compiler can watch is a type.

use xtask::measures;
use xtask::source::Source;

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
fn states_compared_with_a_text_are_found() {
    let found = |path: &str, text: &str| measures::quoted_states(&Source::new(path, text)).len();
    assert_eq!(
        found(
            "src/a.rs",
            "row.kind == \"said\" && turn.status() != \"dead\" && ending.as_deref() == Some(\"x\")"
        ),
        3
    );
    assert_eq!(found("src/store/a.rs", "row.kind == \"said\""), 0);
    assert_eq!(found("src/a.rs", "row.kind == Kind::Said && name == \"said\""), 0);
}

#[test]
fn results_inside_of_results_are_found() {
    let found = |text: &str| measures::nested_results(&Source::new("src/a.rs", text)).len();
    assert_eq!(found("fn f() -> Result<Result<A, B>, C> { Ok(Err(b)) } Ok(Ok(a))"), 3);
    assert_eq!(found("Ok(Some(a)); // Ok(Ok(a))\n\"Ok(Ok(\""), 0);
}
