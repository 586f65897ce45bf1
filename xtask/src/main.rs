//! `cargo run -p xtask -- shape`: the measures of the code beside what they were and what they should be. It fails if the code
//! has more lines than `xtask/lines.toml` allows.
//! (How many crates a message crosses is counted by hand, in `docs/architecture.md`.)
//! `shape FOLDER` measures another checkout; `shape . NAME` lists the places of one measure.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{Write as _, stdout};
use std::path::Path;

use xtask::lines;
use xtask::measures::{self, Finding};
use xtask::source::{Source, ours, production, workspace};

type Measure = fn(&Source) -> Vec<Finding>;

/// The measures that should become 0: a name, how, the count at the end of the first build.
const ZEROS: &[(&str, &str, Measure, usize)] = &[
    ("ids", "ids of type `&str`", measures::string_ids, 220),
    ("states", "kinds and states compared with a quoted text", measures::quoted_states, 60),
    ("nested", "results inside of results", measures::nested_results, 124),
    ("sql", "SQL statements outside the store", measures::statements, 9),
];

/// What should be there once, with the count at the end of the first build.
const ONCE: &[(&str, usize)] = &[
    ("readers of documents", 3),
    ("template cores", 2),
    ("back-offs", 8),
    ("did-you-means", 4),
    ("duration parsers", 3),
    ("recurrence engines", 3),
];

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let here = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    match words[..] {
        ["shape"] => shape(Path::new(here)),
        ["shape", folder] => shape(Path::new(folder)),
        ["shape", folder, name] => list(Path::new(folder), name),
        _ => Err("usage: xtask shape [FOLDER [ids|states|nested|sql|once|functions]]".into()),
    }
}

fn shape(root: &Path) -> Result<(), Box<dyn Error>> {
    let (engine, adapters) = (ours(root)?, production(root, "adapters")?);
    let all = || engine.iter().chain(&adapters);
    let mut table = vec![row("", "first build", "now", "target")];
    let parts = lines::parts(root)?;
    for (part, before) in parts.iter().zip(["45787", "19096", ""]) {
        let limit = part.limit.map_or_else(String::new, |limit| format!("{limit} at most"));
        table.push(row(&format!("production lines of {}", part.name), before, part.lines, limit));
    }
    let both = parts.iter().filter(|part| part.name != "core").map(|part| part.lines).sum::<usize>();
    table.push(row("production lines of all", "64883", both, "86000"));
    for (_, title, measure, before) in ZEROS {
        let now: usize = engine.iter().map(|source| measure(source).len()).sum();
        table.push(row(title, before, now, 0));
    }
    let singles = measures::singles(all());
    for (title, before) in ONCE {
        table.push(row(title, before, singles.get(title).map_or(0, |files| files.len()), 1));
    }
    let longest = all().max_by_key(|source| source.text.lines().count());
    let (path, length) =
        longest.map_or(("", 0), |source| (source.path.as_str(), source.text.lines().count()));
    table.push(row(&format!("longest file ({path})"), 398, length, "600 at most"));
    let function = all().flat_map(measures::functions).max_by_key(|(_, length)| *length);
    let (name, length) =
        function.map_or((String::new(), 0), |(finding, length)| (finding.to_string(), length));
    table.push(row(&format!("longest function ({name})"), 58, length, "80 at most"));
    let (folder, files) = widest(&engine);
    table.push(row(&format!("files in one folder ({folder})"), 30, files, "about 15"));
    print(&table)?;
    let excess: Vec<String> = parts.iter().filter_map(lines::Part::excess).collect();
    if excess.is_empty() { Ok(()) } else { Err(excess.join("\n").into()) }
}

fn row(title: &str, before: impl ToString, now: impl ToString, target: impl ToString) -> [String; 4] {
    [title.to_owned(), before.to_string(), now.to_string(), target.to_string()]
}

fn widest(sources: &[Source]) -> (String, usize) {
    let mut folders: BTreeMap<&str, usize> = BTreeMap::new();
    for source in sources {
        let folder = source.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        *folders.entry(folder).or_default() += 1;
    }
    let widest = folders.into_iter().max_by_key(|(_, files)| *files);
    widest.map_or((String::new(), 0), |(folder, files)| (folder.to_owned(), files))
}

fn print(table: &[[String; 4]]) -> Result<(), Box<dyn Error>> {
    let width = |column: usize| table.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..4).map(width).collect();
    let mut out = stdout().lock();
    for [title, before, now, target] in table {
        writeln!(
            out,
            "{title:<0$}  {before:>1$}  {now:>2$}  {target:>3$}",
            widths[0], widths[1], widths[2], widths[3]
        )?;
    }
    Ok(())
}

fn list(root: &Path, name: &str) -> Result<(), Box<dyn Error>> {
    let sources = workspace(root)?;
    let lines: Vec<String> = match ZEROS.iter().find(|(known, ..)| *known == name) {
        Some((_, _, measure, _)) => sources.iter().flat_map(measure).map(|found| found.to_string()).collect(),
        None if name == "once" => {
            let singles = measures::singles(sources.iter());
            let line = |(what, files): (&str, std::collections::BTreeSet<&str>)| {
                format!("{what}: {}", files.into_iter().collect::<Vec<_>>().join(", "))
            };
            singles.into_iter().map(line).collect()
        }
        None if name == "functions" => {
            let mut functions: Vec<_> = sources.iter().flat_map(measures::functions).collect();
            functions.sort_by_key(|(_, length)| std::cmp::Reverse(*length));
            functions.into_iter().take(20).map(|(found, length)| format!("{length} {found}")).collect()
        }
        None => return Err(format!("there is no measure {name}").into()),
    };
    writeln!(stdout().lock(), "{}", lines.join("\n"))?;
    Ok(())
}
