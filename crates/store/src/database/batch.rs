//! Writes as data, so that several can share one commit, and each can run again alone when another one fails.

use sqlx::Arguments;
use sqlx::any::AnyArguments;

use crate::Stale;

/// An argument or a returned column.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Text(String),
    MaybeText(Option<String>),
    /// A number, a flag or a time.
    Int(i64),
    MaybeInt(Option<i64>),
    Real(f64),
}

impl Value {
    pub(crate) fn server_type(&self) -> &'static str {
        match self {
            Self::Text(_) | Self::MaybeText(_) => "text",
            Self::Int(_) | Self::MaybeInt(_) => "bigint",
            Self::Real(_) => "float8",
        }
    }

    /// The value as a server reads it from text; nothing for NULL.
    pub(crate) fn as_text(&self) -> Option<String> {
        match self {
            Self::Text(value) => Some(value.clone()),
            Self::MaybeText(value) => value.clone(),
            Self::Int(value) => Some(value.to_string()),
            Self::MaybeInt(value) => value.map(|value| value.to_string()),
            Self::Real(value) => Some(value.to_string()),
        }
    }

    pub fn as_int(&self) -> Option<i64> {
        match self {
            Self::Int(value) => Some(*value),
            Self::MaybeInt(value) => *value,
            _ => None,
        }
    }
}

/// These as the arguments of a query.
pub(crate) fn arguments<'v>(
    values: impl IntoIterator<Item = &'v Value>,
) -> Result<AnyArguments, sqlx::Error> {
    let mut all = AnyArguments::default();
    for value in values {
        let added = match value {
            Value::Text(value) => all.add(value.as_str()),
            Value::MaybeText(value) => all.add(value.as_deref()),
            Value::Int(value) => all.add(*value),
            Value::MaybeInt(value) => all.add(*value),
            Value::Real(value) => all.add(*value),
        };
        added.map_err(sqlx::Error::Encode)?;
    }
    Ok(all)
}

/// A server's text can't contain a zero byte, and a message with one must not be lost.
fn storable(text: String) -> String {
    if text.contains('\0') { text.replace('\0', "\u{FFFD}") } else { text }
}

macro_rules! value {
    ($($type:ty: $from:ident => $value:expr;)*) => {$(
        impl From<$type> for Value {
            fn from($from: $type) -> Self {
                $value
            }
        }
    )*};
}

value! {
    &str: text => Self::Text(storable(text.to_owned()));
    String: text => Self::Text(storable(text));
    &String: text => Self::Text(storable(text.clone()));
    Option<String>: text => Self::MaybeText(text.map(storable));
    Option<&str>: text => text.map(str::to_owned).into();
    i64: number => Self::Int(number);
    Option<i64>: number => Self::MaybeInt(number);
    bool: flag => Self::Int(flag.into());
    f64: number => Self::Real(number);
}

#[derive(Debug, Clone)]
pub(crate) struct Statement {
    pub(crate) sql: &'static str,
    pub(crate) arguments: Vec<Value>,
    /// When set, the statement must touch a row; otherwise the whole batch is undone for this reason.
    pub(crate) must: Option<Stale>,
    pub(crate) returning: bool,
}

/// Statements that become durable together or not at all.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    pub(crate) statements: Vec<Statement>,
}

impl Batch {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn with(add: impl FnOnce(&mut Self)) -> Self {
        let mut batch = Self::new();
        add(&mut batch);
        batch
    }

    /// One that only runs this.
    pub(crate) fn of<const N: usize>(sql: &'static str, arguments: [Value; N]) -> Self {
        Self::with(|batch| _ = batch.run(sql, arguments))
    }

    /// One that only runs this, which must change a row.
    pub(crate) fn requiring<const N: usize>(why: Stale, sql: &'static str, arguments: [Value; N]) -> Self {
        Self::with(|batch| _ = batch.must(why, sql, arguments))
    }

    /// A statement that may or may not find rows.
    pub fn run<const N: usize>(&mut self, sql: &'static str, arguments: [Value; N]) -> &mut Self {
        self.push(Statement { sql, arguments: arguments.into(), must: None, returning: false })
    }

    /// A statement that must find a row; `why` says what is stale if it doesn't.
    pub fn must<const N: usize>(
        &mut self,
        why: Stale,
        sql: &'static str,
        arguments: [Value; N],
    ) -> &mut Self {
        self.push(Statement { sql, arguments: arguments.into(), must: Some(why), returning: false })
    }

    /// A statement that returns rows; the caller gets their first column, a number.
    pub fn returning<const N: usize>(&mut self, sql: &'static str, arguments: [Value; N]) -> &mut Self {
        self.push(Statement { sql, arguments: arguments.into(), must: None, returning: true })
    }

    /// A statement that must return a row.
    pub fn must_return<const N: usize>(
        &mut self,
        why: Stale,
        sql: &'static str,
        arguments: [Value; N],
    ) -> &mut Self {
        self.push(Statement { sql, arguments: arguments.into(), must: Some(why), returning: true })
    }

    pub fn append(&mut self, other: Self) -> &mut Self {
        self.statements.extend(other.statements);
        self
    }

    pub fn is_empty(&self) -> bool {
        self.statements.is_empty()
    }

    fn push(&mut self, statement: Statement) -> &mut Self {
        self.statements.push(statement);
        self
    }
}
