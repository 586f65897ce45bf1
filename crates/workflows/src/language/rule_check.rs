//! The checks that a rule becomes.

use std::fmt;

use serde_json::Value;

#[derive(Debug, Clone, PartialEq)]
pub enum Check {
    /// A field exists, with this type if there is one.
    Has {
        /// The field; dots lead into tables.
        field: String,
        kind: Option<ValueType>,
    },
    /// A list has this many members.
    Count {
        /// The field, or the author's word for its members; none: the only list in the output.
        of: Option<String>,
        min: Option<f64>,
        max: Option<f64>,
    },
    /// A number lies in a range.
    Range { field: String, min: Option<f64>, max: Option<f64> },
    /// A value isn't null or an empty text, list or table.
    NotEmpty {
        /// Which; none: the output.
        field: Option<String>,
    },
    /// A text is one of these words.
    OneOf {
        field: String,
        /// The words; case does not matter.
        values: Vec<String>,
    },
    Length {
        /// In words; else in characters.
        is_words: bool,
        min: Option<f64>,
        max: Option<f64>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueType {
    Array,
    Object,
    String,
    Boolean,
    Integer,
    Number,
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |of: &Option<String>| {
            of.as_ref().map_or("the list".to_owned(), |of| format!("the list `{}`", key(of)))
        };
        match self {
            Self::Has { field, kind: None } => write!(f, "there is a field `{field}`"),
            Self::Has { field, kind: Some(kind) } => write!(f, "there is a field `{field}`, {kind}"),
            Self::Count { of, min, max } => write!(f, "{} has {} members", list(of), range(*min, *max)),
            Self::Range { field, min, max } => write!(f, "`{}` is {}", key(field), range(*min, *max)),
            Self::NotEmpty { field } => write!(f, "{} is not empty", name(field.as_deref())),
            Self::OneOf { field, values } => write!(f, "`{}` is one of {}", key(field), values.join(", ")),
            Self::Length { is_words, min, max } => {
                let unit = if *is_words { "words" } else { "characters" };
                write!(f, "the text has {} {unit}", range(*min, *max))
            }
        }
    }
}

impl fmt::Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Array => "a list",
            Self::Object => "a table",
            Self::String => "a text",
            Self::Boolean => "true or false",
            Self::Integer => "a whole number",
            Self::Number => "a number",
        })
    }
}

fn name(field: Option<&str>) -> String {
    field.map_or("the output".to_owned(), |field| format!("`{}`", key(field)))
}

fn range(min: Option<f64>, max: Option<f64>) -> String {
    match (min, max) {
        (Some(min), Some(max)) if (min - max).abs() < f64::EPSILON => format!("exactly {min}"),
        (Some(min), Some(max)) => format!("between {min} and {max}"),
        (Some(min), None) => format!("at least {min}"),
        (None, Some(max)) => format!("at most {max}"),
        (None, None) => "any number of".to_owned(),
    }
}

impl Check {
    /// Checks an output; the error is for the agent that tries again.
    pub fn judge(&self, output: &Value) -> Result<(), String> {
        let counted = |count: usize, min: Option<f64>, max: Option<f64>| {
            let is_ok = within(count as f64, min, max);
            if is_ok { Ok(()) } else { Err(format!("expected that {self}; it has {count}")) }
        };
        let is_ok = match self {
            Self::Has { field, kind } => {
                let found = at(output, Some(field))?;
                kind.as_ref().is_none_or(|kind| kind.fits(found))
            }
            Self::Count { of, min, max } => return counted(list(output, of.as_deref())?.len(), *min, *max),
            Self::Range { field, min, max } => {
                at(output, Some(field))?.as_f64().is_some_and(|number| within(number, *min, *max))
            }
            Self::NotEmpty { field } => !is_empty(at(output, field.as_deref())?),
            Self::OneOf { field, values } => {
                let found = find(output, field).and_then(Value::as_str).unwrap_or_default().to_lowercase();
                values.iter().any(|value| value.to_lowercase() == found)
            }
            Self::Length { is_words, min, max } => {
                let text = text(output);
                let length = if *is_words { text.split_whitespace().count() } else { text.chars().count() };
                return counted(length, *min, *max);
            }
        };
        if is_ok { Ok(()) } else { Err(format!("expected that {self}")) }
    }
}

fn within(number: f64, min: Option<f64>, max: Option<f64>) -> bool {
    min.is_none_or(|min| number >= min) && max.is_none_or(|max| number <= max)
}

fn text(output: &Value) -> String {
    output.as_str().map_or_else(|| output.to_string(), str::to_owned)
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(table) => table.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

impl ValueType {
    fn fits(self, value: &Value) -> bool {
        match self {
            Self::Array => value.is_array(),
            Self::Object => value.is_object(),
            Self::String => value.is_string(),
            Self::Boolean => value.is_boolean(),
            Self::Integer => value.is_i64() || value.is_u64(),
            Self::Number => value.is_number(),
        }
    }
}

/// "Pain points" is the field `pain_points`.
fn key(name: &str) -> String {
    name.trim().to_lowercase().replace([' ', '-'], "_")
}

fn at<'v>(output: &'v Value, field: Option<&str>) -> Result<&'v Value, String> {
    match field {
        None => Ok(output),
        Some(field) => find(output, field).ok_or_else(|| format!("there is no field `{field}`")),
    }
}

fn find<'v>(output: &'v Value, field: &str) -> Option<&'v Value> {
    field.split('.').try_fold(output, |here, step| {
        let table = here.as_object()?;
        let wanted = key(step);
        table.get(step).or_else(|| table.iter().find(|(name, _)| key(name) == wanted).map(|(_, value)| value))
    })
}

/// The list to check: the output itself, the field of that name or its plural, or the only list in it.
fn list<'v>(output: &'v Value, of: Option<&str>) -> Result<&'v [Value], String> {
    if let Value::Array(list) = output {
        return Ok(list);
    }
    if let Some(of) = of {
        let plural = [of.to_owned(), format!("{of}s"), format!("{}ies", of.trim_end_matches('y'))];
        if let Some(Value::Array(list)) = plural.iter().find_map(|name| find(output, name)) {
            return Ok(list);
        }
    }
    let lists = output.as_object().into_iter().flat_map(|table| table.values()).filter_map(Value::as_array);
    match lists.collect::<Vec<_>>()[..] {
        [list] => Ok(list),
        [] => Err("there is no list in it".to_owned()),
        _ => Err("it has several lists, and none of that name".to_owned()),
    }
}
