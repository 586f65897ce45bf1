//! A short soak test; `cargo bench --bench soak` runs the long one.

use crate::soak;

#[test]
fn nothing_is_left_open_after_many_turns_with_errors() {
    let report = soak::run(200, 20_261_121, None);
    println!("{}", report.table());
    assert!(report.problems().is_empty(), "{:#?}", report.problems());
}
