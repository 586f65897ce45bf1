//! Makes a module of functions from each message file.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

use fluent_syntax::ast::{Entry, Expression, InlineExpression, Pattern, PatternElement, VariantKey};
use fluent_syntax::{ast, parser, serializer};

/// The keys of variants that a number chooses.
const PLURALS: [&str; 6] = ["zero", "one", "two", "few", "many", "other"];

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let folder = Path::new("messages/en");
    println!("cargo::rerun-if-changed={}", folder.display());
    let files = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<PathBuf>>>()?;
    let mut modules = BTreeMap::new();
    for path in files {
        let module = module(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        modules.insert(path, module);
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("no OUT_DIR")?).join("messages.rs");
    Ok(fs::write(out, modules.into_values().collect::<String>())?)
}

fn module(path: &Path) -> Result<String> {
    let source = fs::read_to_string(path)?;
    let resource = parser::parse(source.as_str()).map_err(|(_, errors)| format!("{errors:?}"))?;
    let mut functions = BTreeMap::new();
    for entry in &resource.body {
        let Entry::Message(message) = entry else { continue };
        let id = message.id.name;
        let pattern = message.value.as_ref().ok_or_else(|| format!("{id} has no text"))?;
        if functions.insert(id, function(id, pattern)).is_some() {
            return Err(format!("{id} stands there twice").into());
        }
    }
    let name = path.file_stem().and_then(|stem| stem.to_str()).ok_or("no file's name")?;
    let functions: String = functions.into_values().collect();
    Ok(format!(
        "/// The messages of `{name}.ftl`.\npub mod {} {{\nuse super::*;\n\n\
         static MESSAGES: LazyLock<Messages> = LazyLock::new(|| Messages::new(include_str!(\
         concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/messages/en/{name}.ftl\"))));\n{functions}}}\n",
        name.replace('-', "_")
    ))
}

fn function(message: &str, pattern: &Pattern<&str>) -> String {
    let mut variables = Vec::new();
    collect(pattern, &mut variables);
    let (mut parameters, mut arguments) = (String::new(), String::new());
    for Variable { name, is_count } in &variables {
        let parameter = name.replace('-', "_");
        let (bound, value) = if *is_count {
            ("Count", format!("{parameter}.value()"))
        } else {
            ("Display", format!("super::shown({parameter})"))
        };
        let _ = write!(parameters, "{parameter}: impl {bound}, ");
        let _ = write!(arguments, "({name:?}, {value}), ");
    }
    let function = message.replace('-', "_");
    format!(
        "#[doc = {:?}]\npub fn {function}({parameters}) -> String {{ MESSAGES.text({message:?}, [{arguments}]) }}\n",
        format!("```text\n{}\n```", written(message, pattern))
    )
}

/// The message as it stands in its file.
fn written(name: &str, pattern: &Pattern<&str>) -> String {
    let message = ast::Message {
        id: ast::Identifier { name },
        value: Some(pattern.clone()),
        attributes: Vec::new(),
        comment: None,
    };
    serializer::serialize(&ast::Resource { body: vec![Entry::Message(message)] }).trim_end().to_owned()
}

/// A parameter of the function.
struct Variable {
    name: String,
    is_count: bool,
}

/// Adds the variables of a pattern, each once, in order of their appearance.
fn collect(pattern: &Pattern<&str>, variables: &mut Vec<Variable>) {
    for element in &pattern.elements {
        if let PatternElement::Placeable { expression } = element {
            add_expression(expression, variables);
        }
    }
}

fn add_expression(expression: &Expression<&str>, variables: &mut Vec<Variable>) {
    match expression {
        Expression::Inline(inline) => add_inline(inline, false, variables),
        Expression::Select { selector, variants } => {
            let is_count = variants.iter().all(|variant| match &variant.key {
                VariantKey::Identifier { name } => PLURALS.contains(name),
                VariantKey::NumberLiteral { .. } => true,
            });
            add_inline(selector, is_count, variables);
            for variant in variants {
                collect(&variant.value, variables);
            }
        }
    }
}

fn add_inline(inline: &InlineExpression<&str>, is_count: bool, variables: &mut Vec<Variable>) {
    match inline {
        InlineExpression::VariableReference { id } => {
            let known = variables.iter_mut().find(|variable| variable.name == id.name);
            match known {
                Some(variable) => variable.is_count |= is_count,
                None => variables.push(Variable { name: id.name.to_owned(), is_count }),
            }
        }
        InlineExpression::Placeable { expression } => add_expression(expression, variables),
        _ => {}
    }
}
