//! The rules of a page's style sheets: tags, ids, classes and attributes, one within another. Rules of another form are
//! ignored, as are those for other screens.

use std::cell::Cell;
use std::collections::HashMap;

use html2text::{Element, Handle};

/// How many comparisons of elements with rules a page may cost. After that, elements count as hidden.
const MAX_STEPS: usize = 1_000_000;

/// What a rule or an attribute says: names and values in small letters.
pub(super) type Declarations = Vec<(String, String)>;

/// The rules of a page.
pub(super) struct Sheet {
    rules: Vec<Rule>,
    /// The rules by the id, class or tag that their innermost element must have.
    by_key: HashMap<String, Vec<usize>>,
    steps: Cell<usize>,
}

struct Rule {
    /// The elements from the outermost to the innermost.
    path: Vec<Simple>,
    /// How many ids, classes and tags it names: the more exact rule wins.
    weight: (usize, usize, usize),
    declarations: usize,
}

/// An element that a rule speaks of.
#[derive(Default)]
struct Simple {
    tag: Option<String>,
    id: Option<String>,
    classes: Vec<String>,
    attributes: Vec<Test>,
}

/// An attribute that it must have, and with an operator, of which value.
struct Test {
    name: String,
    operator: String,
    value: String,
}

/// A page's rules, each with its declarations.
pub(super) struct Styles {
    sheet: Sheet,
    declarations: Vec<Declarations>,
}

impl Styles {
    /// Reads style sheets.
    pub(super) fn parse(text: &str) -> Self {
        let mut styles = Self {
            sheet: Sheet { rules: Vec::new(), by_key: HashMap::new(), steps: Cell::new(MAX_STEPS) },
            declarations: Vec::new(),
        };
        let text = without_comments(&text.to_ascii_lowercase());
        let mut rest = text.as_str();
        while let Some((selectors, behind)) = rest.split_once('{') {
            // Of a block for other screens, all is skipped; one for this screen is entered.
            let selectors = selectors.rsplit(['}', ';']).next().unwrap_or_default().trim();
            if let Some(at_rule) = selectors.strip_prefix('@') {
                rest = if is_for_us(at_rule) { behind } else { behind_block(behind) };
                continue;
            }
            let (body, behind) = behind.split_once('}').unwrap_or((behind, ""));
            let number = styles.declarations.len();
            styles.declarations.push(declarations(body).collect());
            for path in selectors.split(',').filter_map(path) {
                styles.sheet.add(path, number);
            }
            rest = behind;
        }
        styles
    }

    /// What the rules say about an element, the most exact last; nothing if the page has cost too much.
    pub(super) fn of(&self, node: &Handle) -> Option<Vec<&Declarations>> {
        let rules = self.sheet.matching(node)?;
        Some(rules.into_iter().filter_map(|rule| self.declarations.get(rule.declarations)).collect())
    }
}

impl Sheet {
    fn add(&mut self, path: Vec<Simple>, declarations: usize) {
        let Some(innermost) = path.last() else { return };
        let count = |of: fn(&Simple) -> usize| path.iter().map(of).sum();
        let weight = (
            count(|one| usize::from(one.id.is_some())),
            count(|one| one.classes.len() + one.attributes.len()),
            count(|one| usize::from(one.tag.is_some())),
        );
        let key = innermost.key();
        self.by_key.entry(key).or_default().push(self.rules.len());
        self.rules.push(Rule { path, weight, declarations });
    }

    fn matching(&self, node: &Handle) -> Option<Vec<&Rule>> {
        let mut keys = vec!["*".to_owned(), node.element_name().unwrap_or_default()];
        if let Some(id) = attribute(node, "id") {
            keys.push(format!("#{}", id.to_ascii_lowercase()));
        }
        let classes = attribute(node, "class").unwrap_or_default().to_ascii_lowercase();
        keys.extend(classes.split_ascii_whitespace().map(|class| format!(".{class}")));
        let mut found = Vec::new();
        for at in keys.iter().filter_map(|key| self.by_key.get(key)).flatten() {
            let Some(rule) = self.rules.get(*at) else { continue };
            if self.matches(rule, node)? {
                found.push((rule.weight, *at));
            }
        }
        found.sort_unstable();
        found.dedup();
        Some(found.into_iter().filter_map(|(_, at)| self.rules.get(at)).collect())
    }

    fn matches(&self, rule: &Rule, node: &Handle) -> Option<bool> {
        self.step()?;
        let mut path = rule.path.iter().rev();
        if !path.next().is_some_and(|innermost| innermost.is(node)) {
            return Some(false);
        }
        let mut within = node.get_parent();
        for outer in path {
            loop {
                self.step()?;
                let Some(parent) = within else { return Some(false) };
                within = parent.get_parent();
                if outer.is(&parent) {
                    break;
                }
            }
        }
        Some(true)
    }

    fn step(&self) -> Option<()> {
        self.steps.set(self.steps.get().checked_sub(1)?);
        Some(())
    }
}

impl Simple {
    fn key(&self) -> String {
        let id = self.id.as_ref().map(|id| format!("#{id}"));
        let class = || self.classes.first().map(|class| format!(".{class}"));
        id.or_else(class).or_else(|| self.tag.clone()).unwrap_or_else(|| "*".to_owned())
    }

    fn is(&self, node: &Handle) -> bool {
        let Element { name, .. } = &node.data else { return false };
        let id = || attribute(node, "id").unwrap_or_default();
        self.tag.as_ref().is_none_or(|tag| *tag == *name.local)
            && self.id.as_ref().is_none_or(|wanted| id().eq_ignore_ascii_case(wanted))
            && (self.classes.is_empty() || {
                let classes = attribute(node, "class").unwrap_or_default();
                let has = |wanted: &String| {
                    classes.split_ascii_whitespace().any(|class| class.eq_ignore_ascii_case(wanted))
                };
                self.classes.iter().all(has)
            })
            && self.attributes.iter().all(|test| test.is_met(node))
    }
}

impl Test {
    /// From what stands between brackets.
    fn parse(text: &str) -> Option<Self> {
        let (left, value) = text.split_once('=').unwrap_or((text, ""));
        let name = left.trim_end_matches(['~', '|', '^', '$', '*']);
        let operator = match text.contains('=') {
            true => format!("{}=", left.get(name.len()..)?),
            false => String::new(),
        };
        let value = value.trim_matches(['"', '\'']).to_owned();
        is_name(name).then(|| Self { name: name.to_owned(), operator, value })
    }

    fn is_met(&self, node: &Handle) -> bool {
        let Some(value) = attribute(node, &self.name) else { return false };
        let (value, wanted) = (value.to_ascii_lowercase(), self.value.as_str());
        match self.operator.as_str() {
            "" => true,
            "=" => value == wanted,
            "~=" => value.split_ascii_whitespace().any(|word| word == wanted),
            "|=" => value == wanted || value.starts_with(&format!("{wanted}-")),
            "^=" => value.starts_with(wanted),
            "$=" => value.ends_with(wanted),
            _ => value.contains(wanted),
        }
    }
}

/// An attribute of an element.
pub(super) fn attribute(node: &Handle, wanted: &str) -> Option<String> {
    let Element { attrs, .. } = &node.data else { return None };
    let attrs = attrs.borrow();
    attrs.iter().find(|one| &*one.name.local == wanted).map(|one| one.value.to_string())
}

/// The declarations of a rule or of an attribute.
pub(super) fn declarations(style: &str) -> impl Iterator<Item = (String, String)> {
    style.split(';').filter_map(|declaration| {
        let (name, value) = declaration.split_once(':')?;
        let value = value.to_ascii_lowercase().replace("!important", "");
        Some((name.trim().to_ascii_lowercase(), value.trim().to_owned()))
    })
}

/// The elements that a selector names; nothing if it has another form.
fn path(selector: &str) -> Option<Vec<Simple>> {
    // A child is a descendant too, so `>` can be read as a space.
    let path: Option<Vec<Simple>> = selector.replace('>', " ").split_ascii_whitespace().map(simple).collect();
    path.filter(|path| !path.is_empty())
}

fn simple(text: &str) -> Option<Simple> {
    let mut one = Simple::default();
    let first = text.find(['.', '#', '[']).unwrap_or(text.len());
    let (tag, mut rest) = text.split_at(first);
    match tag {
        "" | "*" => {}
        tag if is_name(tag) => one.tag = Some(tag.to_owned()),
        _ => return None,
    }
    while let Some(mark) = rest.chars().next() {
        let behind = rest.get(1..)?;
        if mark == '[' {
            let (test, others) = behind.split_once(']')?;
            one.attributes.push(Test::parse(test)?);
            rest = others;
            continue;
        }
        let end = behind.find(['.', '#', '[']).unwrap_or(behind.len());
        let (name, others) = behind.split_at(end);
        match mark {
            _ if !is_name(name) => return None,
            '#' => one.id = Some(name.to_owned()),
            '.' => one.classes.push(name.to_owned()),
            _ => return None,
        }
        rest = others;
    }
    Some(one)
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '-' || c == '_')
}

/// Whether a block such as `@media` is for every screen.
fn is_for_us(at_rule: &str) -> bool {
    let mut words = at_rule.split(|c: char| c.is_whitespace() || c == ',').filter(|word| !word.is_empty());
    words.next() == Some("media") && words.all(|word| matches!(word, "all" | "screen" | "only"))
}

/// What follows the block that has just been opened.
fn behind_block(text: &str) -> &str {
    let mut open = 1_usize;
    for (at, brace) in text.match_indices(['{', '}']) {
        open = if brace == "{" { open + 1 } else { open - 1 };
        if open == 0 {
            return text.get(at + 1..).unwrap_or_default();
        }
    }
    ""
}

fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("/*") {
        out.push_str(before);
        rest = behind.split_once("*/").map_or("", |(_, rest)| rest);
    }
    out + rest
}
