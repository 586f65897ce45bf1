//! The soak's short form; `cargo bench --bench soak` is the long one.

use crate::soak;

#[test]
fn nothing_is_left_open_after_many_turns_with_faults() {
    let soaked = soak::run(200, 20_261_121, None);
    println!("{}", soaked.table());
    assert!(soaked.faults().is_empty(), "{:#?}", soaked.faults());
}
