//! How long checking a workflow takes: `cargo bench --bench workflows`. Prints a line; nothing here fails on a figure.

#![cfg(test)] // so that the lints know it for no part of the product

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::Instant;

use adjutant::config::Approval;
use adjutant::skills::{Skills, handlers};
use adjutant::workflows::{World, check};

const STEPS: usize = 200;
const ROUNDS: u32 = 50;

fn main() {
    let skills = Skills::load(&[], &handlers::all(true)).unwrap().current();
    let approval = Approval::default();
    let world = World { skills: &skills, approval: &approval, workflows: &[] };
    let text = text();
    let (_, faults) = check("bench.yaml", &text, &world);
    assert_eq!(faults, [], "the bench checks a sound file");
    let start = Instant::now();
    for _ in 0..ROUNDS {
        black_box(check("bench.yaml", black_box(&text), &world));
    }
    let each = start.elapsed() / ROUNDS;
    println!("checking a file of {STEPS} steps and {} KB: {each:.2?}", text.len() / 1024);
}

/// Each step asks for the outputs of the two before it.
fn text() -> String {
    let mut text = "workflow:\n  name: bench\n  inputs: [{ name: who }]\n  agents:\n".to_owned();
    for agent in 0..20 {
        let _ = writeln!(
            text,
            "    a{agent}:\n      prompt: |\n        Look {{{{inputs.who}}}} up on {{{{today}}}} and say what is new.\n      \
             skills: [email.search, tasks.search]\n      retry: {{ max_attempts: 3, backoff: exponential, on_failure: skip }}\n      \
             validation: {{ rules: [\"Must include mails field\", \"at most 200 words\"] }}"
        );
    }
    text.push_str("  steps:\n");
    for step in 0..STEPS {
        let needs: Vec<String> =
            (1..=2).filter(|back| *back <= step).map(|back| format!("s{}", step - back)).collect();
        let input: String = needs.iter().map(|need| format!("{{{{steps.{need}.output}}}} ")).collect();
        let input = if input.is_empty() { "{{inputs.who}}".to_owned() } else { input };
        let _ = writeln!(
            text,
            "    - {{ id: s{step}, agent: a{}, type: sequential, depends_on: [{}], input: \"{input}\", output: {{ format: json }} }}",
            step % 20,
            needs.join(", ")
        );
    }
    text
}
