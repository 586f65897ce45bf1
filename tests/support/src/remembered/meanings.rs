//! Vectors as a good embedding model would make them of this set: near to each other are a statement and each question
//! about it, in whatever words, most of all if they name the same person. Made of the set's own templates, so that the
//! neighbours are known; everything else points somewhere by chance.

use super::Dice;
use super::templates::{FACTS, NAMES, PLACES};

const DIMENSIONS: usize = 64;

/// The vector of a text.
pub fn meaning(text: &str) -> Vec<f64> {
    let mut sum = vec![0.0; DIMENSIONS];
    let mut add = |what: &str, weight: f64| {
        for (sum, number) in sum.iter_mut().zip(direction(what, DIMENSIONS)) {
            *sum += weight * number;
        }
    };
    if let Some(fact) = fact(text) {
        add(FACTS[fact].question, 1.0);
    }
    for name in NAMES.iter().chain(&PLACES).filter(|name| has_word(text, name)) {
        add(name, 0.8);
    }
    add(text, 0.4);
    sum
}

/// The fact that a text states or asks for.
fn fact(text: &str) -> Option<usize> {
    let patterns = FACTS.iter().enumerate().flat_map(|(number, fact)| {
        let all = fact.statements.iter().chain([&fact.question, &fact.other_words]);
        all.map(move |pattern| (number, *pattern))
    });
    patterns
        .filter_map(|(number, pattern)| Some((fitting(text, pattern)?, number)))
        .max()
        .map(|(_, number)| number)
}

/// How many characters of a pattern are in a text, in their order; none if not all are.
fn fitting(text: &str, pattern: &str) -> Option<usize> {
    let mut rest = text;
    let parts = pattern.split("{n}").flat_map(|part| part.split("{v}"));
    let mut length = 0;
    for part in parts.filter(|part| !part.trim().is_empty()) {
        rest = &rest[rest.find(part)? + part.len()..];
        length += part.len();
    }
    Some(length)
}

fn has_word(text: &str, word: &str) -> bool {
    text.split(|one: char| !one.is_alphabetic()).any(|one| one == word)
}

/// A direction by chance, the same for the same words.
pub fn direction(what: &str, dimensions: usize) -> Vec<f64> {
    let seed = what.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mut dice = Dice(seed);
    let numbers: Vec<f64> = (0..dimensions).map(|_| dice.below(2001) as f64 / 1000.0 - 1.0).collect();
    let length = numbers.iter().map(|number| number * number).sum::<f64>().sqrt();
    numbers.into_iter().map(|number| number / length).collect()
}
