//! An HTTP skill's call, as its TOML describes it, and the request made from it.

use std::net::IpAddr;
use std::sync::LazyLock;

use adjutant_config::Secret as Token;
use adjutant_config::document::{Entry, Node, Problems, Table, Value as Written};
use adjutant_l10n::http;
use adjutant_types::{FromCall, FromConfig, Own, ours};
use regex::Regex;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Url};
use serde_json::{Map, Value};

use super::content::{Content, Upload};
use super::response::{self, Shape};
use super::secret::Secret;
use crate::SkillError;
use crate::arguments::Argument;
use crate::template::{Place, Template, TemplateError, split_outside};

#[derive(Debug, Clone)]
pub struct HttpHandler {
    pub(super) method: Method,
    /// Scheme, host and port, which no argument can change.
    origin: String,
    path: Template,
    query: Vec<Template>,
    headers: Vec<(HeaderName, Header)>,
    body: Option<Body>,
    content: Option<Content>,
    pub(super) result: Option<Shape>,
    /// The name under which the answer is kept as a file.
    pub(super) file: Option<Template>,
    /// The login whose token it sends.
    login: Option<String>,
    pub(super) allow_hosts: Vec<String>,
}

#[derive(Debug, Clone)]
enum Header {
    Text(Template),
    Secret { prefix: String, from: Secret },
}

/// A JSON body whose strings are templates, so that no value can leave its string.
#[derive(Debug, Clone)]
enum Body {
    Text(Template),
    List(Vec<Body>),
    Table(Vec<(String, Body)>),
    Constant(Value),
}

const KEYS: [&str; 8] = ["method", "url", "headers", "auth", "body", "content", "result", "allow_hosts"];
const METHODS: [&str; 6] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];

static ORIGIN: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?s)^(https?://[^/?#@{}\s\\]+)((?:[/?#].*)?)$").ok());

impl HttpHandler {
    pub(crate) fn read(table: Table, arguments: &[Argument], problems: &mut Problems<'_>) -> Option<Self> {
        table.only(&KEYS, problems);
        let method = read_method(table, problems);
        let headers = read_headers(table, arguments, problems);
        let body = table.get("body").and_then(|node| read_body(node, arguments, problems));
        let content = Content::read(table, arguments, problems);
        let (result, file) = response::read(table, arguments, problems);
        let allow_hosts = read_hosts(table, problems);
        let login = read_login(table, problems);
        let (origin, path, query) = read_url(table, arguments, problems)?;
        Some(Self { method, origin, path, query, headers, body, content, result, file, login, allow_hosts })
    }

    /// `GET https://api.example.org/v1/{{place}}`.
    pub fn describe(&self) -> String {
        format!("{} {}{}", self.method, self.origin, self.path.source())
    }

    /// Scheme, host and port.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// The login whose token it sends: `[oauth.NAME]`.
    pub fn login(&self) -> Option<&str> {
        self.login.as_deref()
    }

    /// Checks that each secret can be read.
    pub(super) fn check_secrets(&self) -> Result<(), SkillError> {
        self.headers.iter().try_for_each(|(_, header)| match header {
            Header::Text(_) => Ok(()),
            Header::Secret { from, .. } => from.reveal().map(drop),
        })
    }

    /// The address for these arguments.
    pub(super) fn url(&self, arguments: &Value) -> Result<Url, SkillError> {
        let path = self.path.render(arguments)?.unwrap_or_default();
        // An address's parser would resolve these, and the call would go somewhere else.
        if path.split('/').any(|segment| segment == "." || segment == "..") {
            return Err(SkillError::params(ours!(http::address_climbs)));
        }
        let mut pairs = Vec::new();
        for pair in &self.query {
            pairs.extend(pair.render(arguments)?);
        }
        let mark = if pairs.is_empty() { "" } else { "?" };
        Url::parse(&format!("{}{path}{mark}{}", self.origin, pairs.join("&")))
            .map_err(|error| SkillError::params(ours!(http::address_wrong, Own(error))))
    }

    /// The headers for these arguments, and the secrets in them, which nobody may see.
    pub(super) fn headers(
        &self,
        arguments: &Value,
        token: Option<&Token>,
    ) -> Result<(HeaderMap, Vec<String>), SkillError> {
        let (mut headers, mut secrets) = (HeaderMap::new(), Vec::new());
        if self.body.is_some() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        for (name, header) in &self.headers {
            let text = match header {
                Header::Text(template) => match template.render(arguments)? {
                    Some(text) => text,
                    None => continue,
                },
                Header::Secret { prefix, from } => {
                    let secret = from.reveal()?;
                    let text = format!("{prefix}{secret}");
                    secrets.push(secret);
                    text
                }
            };
            let mut value = HeaderValue::from_str(&text)
                .map_err(|_| SkillError::params(ours!(http::header_wrong, FromConfig(name))))?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        if let Some(token) = token {
            let wrong = |_| SkillError::tool(ours!(http::token_wrong));
            let mut value = HeaderValue::from_str(&format!("Bearer {}", token.expose())).map_err(wrong)?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
            secrets.push(token.expose().to_owned());
        }
        Ok((headers, secrets))
    }

    /// The id of the file that these arguments send, if they send one.
    pub(super) fn upload(&self, arguments: &Value) -> Result<Option<String>, SkillError> {
        self.content.as_ref().map_or(Ok(None), |content| content.upload(arguments))
    }

    /// What is sent for these arguments. What stands behind the JSON makes another kind of it, which the headers say.
    pub(super) fn payload(
        &self,
        arguments: &Value,
        file: Option<&Upload>,
        headers: &mut HeaderMap,
    ) -> Result<Option<Vec<u8>>, SkillError> {
        let body = self.body(arguments)?;
        let content = self.content.as_ref().map(|content| content.with(body.as_deref(), arguments, file));
        let Some((kind, whole)) = content.transpose()?.flatten() else { return Ok(body) };
        headers.insert(CONTENT_TYPE, kind);
        Ok(Some(whole))
    }

    pub(super) fn body(&self, arguments: &Value) -> Result<Option<Vec<u8>>, SkillError> {
        let Some(body) = &self.body else { return Ok(None) };
        let value = body.fill(arguments)?.unwrap_or_else(|| Value::Object(Map::new()));
        Ok(Some(value.to_string().into_bytes()))
    }
}

impl From<TemplateError> for SkillError {
    fn from(error: TemplateError) -> Self {
        Self::params(ours!("{}", FromCall(error.0)))
    }
}

impl Body {
    fn fill(&self, arguments: &Value) -> Result<Option<Value>, TemplateError> {
        Ok(Some(match self {
            Self::Text(template) => return template.value(arguments),
            Self::Constant(value) => value.clone(),
            Self::List(members) => {
                let filled: Result<Vec<_>, _> = members.iter().map(|member| member.fill(arguments)).collect();
                Value::Array(filled?.into_iter().flatten().collect())
            }
            Self::Table(entries) => {
                let mut table = Map::new();
                for (key, member) in entries {
                    if let Some(value) = member.fill(arguments)? {
                        table.insert(key.clone(), value);
                    }
                }
                Value::Object(table)
            }
        }))
    }

    fn from_json(value: Value, arguments: &[Argument]) -> Result<Self, TemplateError> {
        Ok(match value {
            Value::String(text) => Self::Text(Template::new(&text, Place::Text, arguments)?),
            Value::Array(list) => Self::List(
                list.into_iter()
                    .map(|member| Self::from_json(member, arguments))
                    .collect::<Result<_, _>>()?,
            ),
            Value::Object(table) => Self::Table(
                table
                    .into_iter()
                    .map(|(key, member)| Ok((key, Self::from_json(member, arguments)?)))
                    .collect::<Result<_, TemplateError>>()?,
            ),
            constant => Self::Constant(constant),
        })
    }
}

fn read_method(table: Table, problems: &mut Problems<'_>) -> Method {
    let name = table.optional_text("method", problems).unwrap_or("GET").to_ascii_uppercase();
    if !METHODS.contains(&name.as_str()) {
        problems.add(table.place("method"), format!("`method` must be one of {}", METHODS.join(", ")));
    }
    for key in ["body", "content"] {
        if table.get(key).is_some() && ["GET", "HEAD"].contains(&name.as_str()) {
            let hint = format!("a {name} request has no {key}; did you mean method = \"POST\"?");
            problems.add(table.place(key), hint);
        }
    }
    Method::from_bytes(name.as_bytes()).unwrap_or_default()
}

fn read_url(
    table: Table,
    arguments: &[Argument],
    problems: &mut Problems<'_>,
) -> Option<(String, Template, Vec<Template>)> {
    let url = table.text("url", problems)?;
    let at = table.place("url");
    let parts = ORIGIN.as_ref().and_then(|origin| origin.captures(url));
    let Some((origin, rest)) =
        parts.map(|parts| (parts[1].to_owned(), parts.get(2).map_or("", |m| m.as_str())))
    else {
        problems.add(
            at,
            "`url` must begin with http:// or https:// and a fixed host without user, password or template",
        );
        return None;
    };
    if let Err(error) = Url::parse(&origin) {
        problems.add(at, format!("`url` has a wrong host: {error}"));
    }
    let rest = split_outside(rest, '#', 2)[0];
    let (path, query) = match split_outside(rest, '?', 2)[..] {
        [path, query] => (path, query),
        _ => (rest, ""),
    };
    let mut template = |text: &str, position| {
        Template::new(text, position, arguments)
            .map_err(|error| problems.add(at, format!("`url`: {error}")))
            .ok()
    };
    let path = template(if path.is_empty() { "/" } else { path }, Place::Path);
    let pairs = split_outside(query, '&', usize::MAX).into_iter().filter(|pair| !pair.is_empty());
    let query: Vec<_> = pairs.filter_map(|pair| template(pair, Place::Query)).collect();
    Some((origin, path?, query))
}

/// `auth = { oauth = "NAME" }`.
fn read_login(table: Table, problems: &mut Problems<'_>) -> Option<String> {
    let auth = table.table("auth", "`auth`", problems)?;
    auth.only(&["oauth"], problems);
    let headers = table.get("headers").and_then(|node| Table::of(node, "`headers`", problems));
    let is_there = |entry: &Entry| entry.key.eq_ignore_ascii_case("authorization");
    if headers.is_some_and(|headers| headers.entries().iter().any(is_there)) {
        problems.add(table.place("auth"), "`auth` sends the header Authorization; take it out of `headers`");
    }
    auth.text("oauth", problems).map(str::to_owned)
}

fn read_hosts(table: Table, problems: &mut Problems<'_>) -> Vec<String> {
    let mut hosts = Vec::new();
    for (host, at) in table.texts("allow_hosts", problems) {
        let host = host.trim_matches(['[', ']']);
        if host.parse::<IpAddr>().is_err() && host.contains([':', '/', '@', '*', '{', ' ']) {
            problems.add(
                at,
                format!("'{host}' is no host; write a name or an IP address, without scheme and port"),
            );
        }
        hosts.push(host.to_owned());
    }
    hosts
}

fn read_headers(
    table: Table,
    arguments: &[Argument],
    problems: &mut Problems<'_>,
) -> Vec<(HeaderName, Header)> {
    let Some(headers) = table.get("headers").and_then(|node| Table::of(node, "`headers`", problems)) else {
        return Vec::new();
    };
    let mut read = Vec::new();
    for Entry { key, at, node } in headers.entries() {
        let Ok(name) = HeaderName::from_bytes(key.as_bytes()) else {
            problems.add(*at, format!("'{key}' is no header's name"));
            continue;
        };
        let header = match &node.value {
            Written::Text(text) => match Template::new(text, Place::Header, arguments) {
                Ok(template) => Header::Text(template),
                Err(error) => {
                    problems.add(*at, format!("`headers.{key}`: {error}"));
                    continue;
                }
            },
            _ => match Table::of(node, "a header", problems).and_then(|t| Secret::read(t, problems)) {
                Some((prefix, from)) => Header::Secret { prefix, from },
                None => continue,
            },
        };
        read.push((name, header));
    }
    read
}

fn read_body(node: &Node, arguments: &[Argument], problems: &mut Problems<'_>) -> Option<Body> {
    let at = node.at;
    let value = match &node.value {
        Written::Text(text) => match serde_json::from_str(&quoted(text)) {
            Ok(value) => value,
            Err(error) => {
                problems.add(at, format!("`body` must be a table, or JSON as a text: {error}"));
                return None;
            }
        },
        _ => node.json(),
    };
    Body::from_json(value, arguments).map_err(|error| problems.add(at, format!("`body`: {error}"))).ok()
}

/// Puts quotes around each `{{ }}` that stands outside of a JSON string: there it means the value itself.
fn quoted(json: &str) -> String {
    let (mut out, mut rest, mut in_string) = (String::new(), json, false);
    while let Some(character) = rest.chars().next() {
        let expression = rest.find("}}").map(|end| &rest[..end + 2]).filter(|_| rest.starts_with("{{"));
        let taken = match expression {
            Some(expression) if !in_string => {
                out.push_str(&Value::from(expression).to_string());
                expression.len()
            }
            _ => {
                // A backslash takes the next character with it.
                let length = character.len_utf8();
                let escaped =
                    (in_string && character == '\\').then(|| rest[length..].chars().next()).flatten();
                in_string ^= character == '"';
                let length = length + escaped.map_or(0, char::len_utf8);
                out.push_str(&rest[..length]);
                length
            }
        };
        rest = &rest[taken..];
    }
    out
}
