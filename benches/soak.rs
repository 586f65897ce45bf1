//! The soak: `cargo bench --bench soak -- --turns N` (100,000 if nothing is said) drives turns through the real binary
//! and prints a table; it fails when anything is left open, or memory or open files have grown.
//!
//! `--seed N` is the random seed; `--binary PATH` drives another binary than the one that was built with this.

#![cfg(test)] // so that the lints know it for no part of the product

use adjutant_test_support::soak;

fn main() {
    let (mut turns, mut seed, mut binary) = (100_000, 20_261_121, None);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().unwrap_or_else(|| panic!("{word} wants a value"));
        match word.as_str() {
            "--turns" => turns = value().parse().unwrap(),
            "--seed" => seed = value().parse().unwrap(),
            "--binary" => binary = Some(std::path::absolute(value()).unwrap()),
            // What cargo itself passes.
            "--bench" => {}
            _ => panic!("unknown option {word}"),
        }
    }
    let report = soak::run(turns, seed, binary);
    print!("{}", report.table());
    assert!(report.problems().is_empty(), "{:#?}", report.problems());
}
