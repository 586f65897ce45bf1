//! What was made from text of others.

use adjutant_l10n::ownership as words;
use adjutant_store::taints::MarkedRow;

const MAX: usize = 20;

/// Everything marked; `missing` is a number that isn't there.
pub fn list(marked: &[MarkedRow], missing: Option<&str>) -> String {
    let text = match marked {
        [] => words::nothing(),
        [first, ..] => {
            let line = |mark: &MarkedRow| words::line(mark.number, name(mark), mark.sources.label());
            let mut lines: Vec<String> = marked.iter().take(MAX).map(line).collect();
            lines.extend((marked.len() > MAX).then(|| words::more(marked.len() - MAX)));
            words::list(lines.join("\n"), first.number)
        }
    };
    match missing {
        Some(number) => format!("{} {text}", words::no_such_number(number)),
        None => text,
    }
}

/// What has become the person's own.
pub fn cleared(marked: &[&MarkedRow]) -> String {
    match marked {
        [mark] => words::cleared(name(mark)),
        all => {
            let names: Vec<String> = all.iter().map(|mark| name(mark)).collect();
            words::cleared_several(names.len(), names.join(", "))
        }
    }
}

fn name(mark: &MarkedRow) -> String {
    let title = match mark.title.is_empty() {
        true => mark.id.clone(),
        false => format!("“{}”", super::first_line(&mark.title)),
    };
    match mark.domain.as_str() {
        "tasks" => words::task(title),
        "memory" => words::memory(title),
        "schedule" => words::schedule(title),
        "contacts" => words::contact(title),
        "calendar" => words::event(title),
        _ => words::something(title),
    }
}
