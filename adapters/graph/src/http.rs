//! Requests to Graph: the token, paging, throttling, and what its errors mean.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use adjutant_credential::TokenSource;
use adjutant_dav::{DavError, ErrorKind, http_client, retry_after};
use reqwest::header::{CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, IF_MATCH};
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode, Url};
use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// An id stays the same when its thing is moved, if each request asks for such ids
/// (<https://learn.microsoft.com/graph/outlook-immutable-id>).
const IMMUTABLE: &str = "IdType=\"ImmutableId\"";

/// How many requests are under way at once: a mailbox allows an app four
/// (<https://learn.microsoft.com/graph/throttling-limits#outlook-service-limits>), and another instance may have one.
const AT_ONCE: usize = 3;

/// How often, and for how long each time, we wait when there were too many requests
/// (<https://learn.microsoft.com/graph/throttling>). Whoever called waits longer.
const MAX_WAITS: u32 = 3;
const MAX_WAIT: Duration = Duration::from_secs(10);

/// The longest response, and how much of an error is read, in bytes.
const MAX_RESPONSE: usize = 32 << 20;
const MAX_ERROR: usize = 8 << 10;

/// The most pages of a list, of which some may be empty (<https://learn.microsoft.com/graph/paging>), the most items of a page,
/// and the most bytes of all.
const MAX_PAGES: usize = 500;
const MAX_PAGE: usize = 1_000;
const MAX_LIST: usize = 64 << 20;

/// A client of one account.
#[derive(Clone)]
pub(crate) struct Http {
    base: Result<(Client, Url), DavError>,
    token: TokenSource,
    permits: Arc<Semaphore>,
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = self.base.as_ref().map(|(_, url)| url.as_str());
        f.debug_struct("Http").field("url", &url).finish_non_exhaustive()
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Call {
    method: Method,
    url: Url,
    body: Body,
    etag: Option<String>,
    prefer: &'static str,
}

#[derive(Debug, Clone)]
enum Body {
    None,
    Json(Value),
    /// A mail, as Base64 of its MIME text (<https://learn.microsoft.com/graph/outlook-send-mime-message>).
    Mime(String),
}

impl Call {
    fn new(method: Method, url: Url, body: Body) -> Self {
        Self { method, url, body, etag: None, prefer: "" }
    }

    fn get(url: Url) -> Self {
        Self::new(Method::GET, url, Body::None)
    }

    /// With another preference besides the one for ids.
    pub(crate) fn preferring(self, prefer: &'static str) -> Self {
        Self { prefer, ..self }
    }

    /// Refused unless the thing is still as it was.
    pub(crate) fn if_match(self, etag: Option<&str>) -> Self {
        Self { etag: etag.map(str::to_owned), ..self }
    }

    /// Where it goes.
    pub(crate) fn link(&self) -> String {
        self.url.to_string()
    }

    fn is_write(&self) -> bool {
        self.method != Method::GET
    }
}

/// The pages of a list, one after the other.
pub(crate) struct Pages<'a> {
    http: &'a Http,
    next: Option<Call>,
    read: usize,
    bytes: usize,
}

pub(crate) struct Page {
    pub(crate) items: Vec<Value>,
    pub(crate) next: Option<Call>,
    /// The link to what is new after the last page of a list of changes.
    pub(crate) delta: Option<String>,
    /// How many there are on all pages, if that was asked.
    pub(crate) count: Option<usize>,
    bytes: usize,
}

impl Pages<'_> {
    /// The next page, if there is one. A list without an end is an error.
    pub(crate) async fn next(&mut self) -> Result<Option<Page>> {
        let Some(call) = self.next.take() else { return Ok(None) };
        let mut page = self.http.page(&call).await?;
        self.read += 1;
        self.bytes += page.bytes;
        if self.read > MAX_PAGES || self.bytes > MAX_LIST {
            return Err(unreadable(&call, "has no end"));
        }
        self.next = page.next.take();
        Ok(Some(page))
    }

    pub(crate) fn has_more(&self) -> bool {
        self.next.is_some()
    }
}

#[derive(Debug, Clone)]
pub(crate) struct GraphError {
    pub(crate) status: Option<StatusCode>,
    /// The service's own name of it, such as `ErrorItemNotFound`.
    pub(crate) code: String,
    pub(crate) error: DavError,
}

pub(crate) type Result<T, E = GraphError> = std::result::Result<T, E>;

impl GraphError {
    pub(crate) fn is_not_found(&self) -> bool {
        self.error.kind == ErrorKind::NotFound
    }

    fn is_expired(&self) -> bool {
        let codes = ["syncStateNotFound", "syncStateInvalid", "resyncRequired"];
        self.status == Some(StatusCode::GONE) || codes.iter().any(|code| self.code.eq_ignore_ascii_case(code))
    }
}

impl From<DavError> for GraphError {
    fn from(error: DavError) -> Self {
        Self { status: None, code: String::new(), error }
    }
}

impl From<GraphError> for DavError {
    fn from(GraphError { code, error, .. }: GraphError) -> Self {
        match code.as_str() {
            "ErrorInvalidRecipients" => Self { kind: ErrorKind::Recipient, ..error },
            _ => error,
        }
    }
}

/// A text inside of the quotes of a filter.
pub(crate) fn quoted(text: &str) -> String {
    text.replace('\'', "''")
}

impl Http {
    pub(crate) fn new(api_url: &str, token: TokenSource, timeout: Duration) -> Self {
        Self { base: base(api_url, timeout), token, permits: Arc::new(Semaphore::new(AT_ONCE)) }
    }

    /// The address of a thing; ids may hold slashes.
    pub(crate) fn url(&self, path: &[&str], query: &[(&str, &str)]) -> Result<Url> {
        // They would lead to another thing.
        if path.iter().any(|part| matches!(*part, "" | "." | "..")) {
            return Err(DavError::not_found("nothing has this id").into());
        }
        let mut url = self.base()?.1.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
            // A plus isn't a space everywhere; one that is meant was encoded.
            let spaced = url.query().map(|query| query.replace('+', "%20"));
            url.set_query(spaced.as_deref());
        }
        Ok(url)
    }

    pub(crate) fn get(&self, path: &[&str], query: &[(&str, &str)]) -> Result<Call> {
        Ok(Call::get(self.url(path, query)?))
    }

    pub(crate) fn post(&self, path: &[&str], body: Value) -> Result<Call> {
        Ok(Call::new(Method::POST, self.url(path, &[])?, Body::Json(body)))
    }

    pub(crate) fn post_mime(&self, path: &[&str], base64: String) -> Result<Call> {
        Ok(Call::new(Method::POST, self.url(path, &[])?, Body::Mime(base64)))
    }

    /// An order that needs no words.
    pub(crate) fn order(&self, path: &[&str]) -> Result<Call> {
        Ok(Call::new(Method::POST, self.url(path, &[])?, Body::None))
    }

    pub(crate) fn patch(&self, path: &[&str], body: Value) -> Result<Call> {
        Ok(Call::new(Method::PATCH, self.url(path, &[])?, Body::Json(body)))
    }

    pub(crate) fn delete(&self, path: &[&str]) -> Result<Call> {
        Ok(Call::new(Method::DELETE, self.url(path, &[])?, Body::None))
    }

    fn base(&self) -> Result<&(Client, Url)> {
        self.base.as_ref().map_err(|error| error.clone().into())
    }

    /// The answer to a request; nothing if it has no body.
    pub(crate) async fn json(&self, call: &Call) -> Result<Value> {
        Ok(self.sized(call).await?.0)
    }

    /// The same, and how long it was.
    async fn sized(&self, call: &Call) -> Result<(Value, usize)> {
        let (bytes, is_cut) = self.bytes(call, MAX_RESPONSE).await?;
        if is_cut {
            return Err(unreadable(call, "is longer than 32 MB"));
        }
        let value = if bytes.is_empty() { Ok(Value::Null) } else { serde_json::from_slice(&bytes) };
        Ok((value.map_err(|_| unreadable(call, "isn't JSON"))?, bytes.len()))
    }

    /// The thing behind an address, if it exists.
    pub(crate) async fn optional(&self, call: &Call) -> Result<Option<Value>> {
        match self.json(call).await {
            Ok(found) => Ok(Some(found)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The body of an answer up to a limit, and whether there was more.
    pub(crate) async fn bytes(&self, call: &Call, most: usize) -> Result<(Vec<u8>, bool)> {
        let (mut response, _permit) = self.send(call).await?;
        let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        if kind.is_some_and(|kind| kind.starts_with("text/html")) {
            return Err(unreadable(call, "is a web page"));
        }
        let mut bytes = Vec::new();
        let read = read_body(&mut response, most, &mut bytes).await;
        let is_cut = read.map_err(|error| lost(&error, call.is_write()))?;
        Ok((bytes, is_cut))
    }

    pub(crate) fn pages(&self, first: Call) -> Pages<'_> {
        Pages { http: self, next: Some(first), read: 0, bytes: 0 }
    }

    pub(crate) async fn page(&self, call: &Call) -> Result<Page> {
        let (mut page, bytes) = self.sized(call).await?;
        let Some(Value::Array(mut items)) = page.get_mut("value").map(Value::take) else {
            return Err(unreadable(call, "isn't a list"));
        };
        items.truncate(MAX_PAGE);
        let next = page["@odata.nextLink"].as_str().map(|link| self.own(link)).transpose()?;
        let next = next.map(|url| Call { url, ..call.clone() });
        let delta = page["@odata.deltaLink"].as_str().map(str::to_owned);
        let count = page["@odata.count"].as_u64().and_then(|count| usize::try_from(count).ok());
        Ok(Page { items, next, delta, count, bytes })
    }

    /// A page of a list of changes: behind a link or, without one or if it has expired
    /// (<https://learn.microsoft.com/graph/delta-query-overview>), the first.
    pub(crate) async fn changes(&self, link: Option<&str>, first: Url, prefer: &'static str) -> Result<Page> {
        if let Some(link) = link {
            match self.page(&Call::get(self.own(link)?).preferring(prefer)).await {
                Err(error) if error.is_expired() => {}
                page => return page,
            }
        }
        self.page(&Call::get(first).preferring(prefer)).await
    }

    /// All items of a list, up to a limit. A list whose next page has expired is read again from its beginning, once
    /// (<https://learn.microsoft.com/graph/delta-query-overview>: 410, or `syncStateNotFound`).
    pub(crate) async fn all(&self, first: Call, most: usize) -> Result<Vec<Value>> {
        match self.walk(first.clone(), most).await {
            Err(error) if error.is_expired() => self.walk(first, most).await,
            walked => walked,
        }
    }

    async fn walk(&self, first: Call, most: usize) -> Result<Vec<Value>> {
        let (mut items, mut pages) = (Vec::new(), self.pages(first));
        while items.len() < most
            && let Some(page) = pages.next().await?
        {
            items.extend(page.items);
        }
        items.truncate(most);
        Ok(items)
    }

    /// The next page, whose address is followed as it is (<https://learn.microsoft.com/graph/paging>), but never to another
    /// server: the token goes along.
    fn own(&self, link: &str) -> Result<Url> {
        let origin = self.base()?.1.origin();
        let is_there = |url: &Url| url.origin() == origin && url.username().is_empty();
        let url = Url::parse(link).ok().filter(is_there);
        url.ok_or_else(|| DavError::tool("the next page is on another server").into())
    }

    /// Puts a piece of a file to an address that needs no token
    /// (<https://learn.microsoft.com/graph/outlook-large-attachments>).
    pub(crate) async fn put_piece(&self, to: &str, range: &str, piece: &[u8]) -> Result<()> {
        let (client, base) = self.base()?;
        let is_elsewhere = |url: &Url| url.scheme() == "https" && url.domain().is_some();
        let is_safe = |url: &Url| url.origin() == base.origin() || is_elsewhere(url);
        let url = Url::parse(to).ok().filter(is_safe);
        let url = url.ok_or_else(|| DavError::tool("the address for a file isn't safe"))?;
        let request = client.put(url).header(CONTENT_RANGE, range);
        let request = request.header(CONTENT_TYPE, "application/octet-stream").body(piece.to_vec());
        let response = request.send().await.map_err(|error| lost(&error, true))?;
        if response.status().is_success() { Ok(()) } else { Err(refused(response, true).await) }
    }

    /// Sends a request: with another token if this one was refused, and once more after a while if there were too many.
    async fn send(&self, call: &Call) -> Result<(Response, Option<OwnedSemaphorePermit>)> {
        let (client, _) = self.base()?;
        // It is never closed.
        let permit = Arc::clone(&self.permits).acquire_owned().await.ok();
        let mut token = self.token(None).await?;
        let (mut is_renewed, mut waits) = (false, 0);
        loop {
            let response = request(client, call).bearer_auth(&token).send().await;
            let response = response.map_err(|error| lost(&error, call.is_write()))?;
            let wait = retry_after(response.headers()).filter(|wait| waits < MAX_WAITS && *wait <= MAX_WAIT);
            match (response.status(), wait) {
                (status, _) if status.is_success() => return Ok((response, permit)),
                (StatusCode::UNAUTHORIZED, _) if !is_renewed => {
                    is_renewed = true;
                    token = self.token(Some(token)).await?;
                }
                (StatusCode::TOO_MANY_REQUESTS, Some(wait)) => {
                    waits += 1;
                    tokio::time::sleep(wait).await;
                }
                _ => return Err(refused(response, call.is_write()).await),
            }
        }
    }

    async fn token(&self, refused: Option<String>) -> Result<String> {
        (self.token)(refused).await.map_err(|error| DavError::from(error).into())
    }
}

fn base(api_url: &str, timeout: Duration) -> Result<(Client, Url), DavError> {
    let is_http = |url: &Url| matches!(url.scheme(), "http" | "https") && url.has_host();
    let url = Url::parse(api_url).ok().filter(is_http);
    let url = url.ok_or_else(|| DavError::params(format!("{api_url} isn't the address of a service")))?;
    let client = http_client(None, timeout)?.build();
    Ok((client.map_err(|error| DavError::params(error.to_string()))?, url))
}

fn request(client: &Client, call: &Call) -> RequestBuilder {
    let prefer = match call.prefer {
        "" => IMMUTABLE.to_owned(),
        more => format!("{IMMUTABLE}, {more}"),
    };
    let mut request = client.request(call.method.clone(), call.url.clone()).header("prefer", prefer);
    if let Some(etag) = &call.etag {
        request = request.header(IF_MATCH, etag);
    }
    match &call.body {
        Body::None if call.method == Method::POST => request.header(CONTENT_LENGTH, "0"),
        Body::None => request,
        Body::Json(body) => request.json(body),
        Body::Mime(text) => request.header(CONTENT_TYPE, "text/plain").body(text.clone()),
    }
}

/// Reads a body up to a limit. Returns whether there was more.
async fn read_body(response: &mut Response, most: usize, into: &mut Vec<u8>) -> Result<bool, reqwest::Error> {
    while let Some(chunk) = response.chunk().await? {
        let fitting = chunk.len().min(most - into.len());
        into.extend_from_slice(&chunk[..fitting]);
        if fitting < chunk.len() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The error of an answer that makes no sense. What it answers was accepted all the same.
fn unreadable(call: &Call, why: &str) -> GraphError {
    let error = DavError::tool(format!("Microsoft's answer {why}"));
    DavError { may_have_happened: call.is_write(), ..error }.into()
}

/// The error of a request without an answer.
fn lost(error: &reqwest::Error, is_write: bool) -> GraphError {
    let (kind, message) = match error {
        // Such as one with a version that is no header's value.
        error if error.is_builder() => (ErrorKind::Tool, "there is no such request to Microsoft"),
        error if error.is_timeout() => (ErrorKind::Timeout, "Microsoft did not answer in time"),
        error if error.is_connect() => (ErrorKind::Network, "Microsoft can't be reached"),
        _ => (ErrorKind::Network, "the connection to Microsoft was lost"),
    };
    let may_have_happened = is_write && !error.is_connect() && !error.is_builder();
    DavError { may_have_happened, ..DavError::new(kind, message) }.into()
}

/// What a refusal means. Only its JSON is shown: a proxy's page says nothing to anybody.
async fn refused(mut response: Response, is_write: bool) -> GraphError {
    let (status, retry_after) = (response.status(), retry_after(response.headers()));
    let mut body = Vec::new();
    // What came of it is enough.
    let _ = read_body(&mut response, MAX_ERROR, &mut body).await;
    let said: Value = serde_json::from_slice(&body).unwrap_or_default();
    let said = &said["error"];
    let code = said["code"].as_str().unwrap_or_default().to_owned();
    let kind = match (status.as_u16(), code.as_str()) {
        (_, "ErrorQuotaExceeded" | "ErrorMessageSizeExceeded") => ErrorKind::Tool,
        (404 | 410, _) | (_, "ErrorInvalidIdMalformed") => ErrorKind::NotFound,
        (400 | 413, _) => ErrorKind::Params,
        (401, _) => ErrorKind::Auth,
        (403, _) => ErrorKind::Permission,
        (408 | 504, _) => ErrorKind::Timeout,
        (429 | 503, _) => ErrorKind::RateLimit,
        _ => ErrorKind::Tool,
    };
    let meaning = match (status.as_u16(), code.as_str()) {
        (401, _) => "Microsoft rejected the access token",
        (_, "ErrorQuotaExceeded") => "the mailbox is full",
        (429, _) => "Microsoft wants fewer requests",
        _ => "Microsoft refused the request",
    };
    let separator = if said["message"].is_string() { ": " } else { "" };
    let words = said["message"].as_str().unwrap_or_default();
    let error = DavError::new(kind, format!("{meaning} ({}){separator}{words}", status.as_u16()));
    let retry_after = retry_after.filter(|_| kind == ErrorKind::RateLimit);
    // A server that failed may have failed afterwards.
    let may_have_happened = is_write && matches!(status.as_u16(), 408 | 500 | 502 | 504);
    GraphError { status: Some(status), code, error: DavError { retry_after, may_have_happened, ..error } }
}
