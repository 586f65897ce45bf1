//! Skills that call an HTTP API.
//!
//! The response decides what may happen next. After a refused connection certainly nothing was done; a request that
//! was written and got no proper answer may have done its work, and says so (`unknown`).

use std::time::Duration;

use adjutant_config::Secret;
use adjutant_dav::retry_after;
use adjutant_l10n as l10n;
use adjutant_types::invisible_chars::line;
use adjutant_types::{FromCall, Own, ours};
use reqwest::header::HeaderMap;
use reqwest::{Method, Response, StatusCode, Url};
use serde_json::{Value, json};

use super::address::{HttpClient, Refused, host};
use super::content::Upload;
use super::response::{ResponseContent, contains, media_type, receive};
use crate::definition::cut;
use crate::oauth::OAuth;
use crate::{ErrorKind, Output, SkillError};

pub use super::request::HttpHandler;

/// How much of a response is read: JSON must be complete.
pub(crate) const READ: usize = 1 << 20;
/// How much of it is kept.
const KEPT: usize = 64 * 1024;
/// How long a check waits for a host.
const PATIENCE: Duration = Duration::from_secs(10);
/// How much is kept of a service's own words about a failure.
const WORDS: usize = 500;
/// What is shorter is no secret, and replacing it would garble the text.
const SHORTEST_SECRET: usize = 4;

/// Makes the call; the caller limits its time by dropping it. No error contains a secret.
pub(super) async fn call(
    handler: &HttpHandler,
    arguments: &Value,
    file: Option<&Upload>,
    (client, oauth): (&HttpClient, &OAuth),
) -> Result<ResponseContent, SkillError> {
    let Some(login) = handler.login() else { return send(handler, arguments, file, client, None).await };
    let token = oauth.token(login).await?;
    match send(handler, arguments, file, client, Some(&token)).await {
        // Tokens may end before their time. What was rejected wasn't done.
        Err(error) if error.kind == ErrorKind::Auth => {
            let token = oauth.renewed(login, &token).await?;
            send(handler, arguments, file, client, Some(&token)).await
        }
        done => done,
    }
}

async fn send(
    handler: &HttpHandler,
    arguments: &Value,
    file: Option<&Upload>,
    client: &HttpClient,
    token: Option<&Secret>,
) -> Result<ResponseContent, SkillError> {
    let url = handler.url(arguments)?;
    let (mut headers, secrets) = handler.headers(arguments, token)?;
    let body = handler.payload(arguments, file, &mut headers)?;
    let host = host(&url).to_owned();
    let mut request =
        client.for_url(&url, &handler.allow_hosts)?.request(handler.method.clone(), url).headers(headers);
    if let Some(body) = body {
        request = request.body(body);
    }
    let acts = ![Method::GET, Method::HEAD].contains(&handler.method);
    let response = request.send().await.map_err(|error| lost(&error, &host, acts))?;
    let (status, headers) = (response.status(), response.headers().clone());
    if status.is_success() && handler.file.is_some() {
        return receive(response, &host, &secrets, acts).await;
    }
    let (text, whole) = match read(response).await {
        Ok(read) => read,
        // The status of a failure says enough.
        Err(_) if !status.is_success() => (String::new(), true),
        Err(error) => return Err(lost(&error, &host, acts)),
    };
    let text = without(text, &secrets);
    if status.is_success() && is_binary(&text) {
        return Ok(ResponseContent::Output(unread(&host, &headers)));
    }
    if status.is_success() {
        return Ok(ResponseContent::Output(output(handler, arguments, &host, status, &text, whole)));
    }
    Err(failed(status, &headers, &host, &text, acts))
}

/// Checks that the host answers, whatever it answers; nothing is asked of it.
pub(super) async fn reach(handler: &HttpHandler, client: &HttpClient) -> Result<(), SkillError> {
    let url = Url::parse(handler.origin())
        .map_err(|error| SkillError::params(ours!(l10n::http::address_wrong, Own(error))))?;
    let client = client.for_url(&url, &handler.allow_hosts)?;
    let answer = client.head(url.clone()).timeout(PATIENCE).send().await;
    answer.map(drop).map_err(|error| lost(&error, host(&url), false))
}

/// The body as text, cut where it is too long; and whether it is whole.
pub(crate) async fn read(response: Response) -> Result<(String, bool), reqwest::Error> {
    let (bytes, whole) = read_bytes(response, READ).await?;
    Ok((String::from_utf8_lossy(&bytes).into_owned(), whole))
}

/// The first bytes of the body; and whether they are all.
pub(crate) async fn read_bytes(
    mut response: Response,
    max: usize,
) -> Result<(Vec<u8>, bool), reqwest::Error> {
    let (mut bytes, mut whole) = (Vec::new(), true);
    while let Some(chunk) = response.chunk().await? {
        bytes.extend_from_slice(&chunk[..chunk.len().min(max - bytes.len())]);
        if bytes.len() == max {
            whole = false;
            break;
        }
    }
    Ok((bytes, whole))
}

/// The text without our secrets, in case the service repeats them.
pub(super) fn without(mut text: String, secrets: &[String]) -> String {
    for secret in secrets.iter().filter(|secret| secret.len() >= SHORTEST_SECRET) {
        text = text.replace(secret.as_str(), "[secret]");
    }
    text
}

/// Whether a secret of ours stands in a file.
pub(crate) fn holds(bytes: &[u8], secret: &str) -> bool {
    secret.len() >= SHORTEST_SECRET && contains(bytes, secret.as_bytes())
}

/// The error of a call without an answer. Its own text may contain the URL's query, so it isn't shown.
pub(crate) fn lost(error: &reqwest::Error, host: &str, acts: bool) -> SkillError {
    if let Some(refused) = Refused::within(error) {
        return SkillError::new(ErrorKind::Permission, ours!("{}", FromCall(refused)));
    }
    let host = FromCall(host);
    if error.is_builder() {
        return SkillError::new(ErrorKind::Tool, ours!(l10n::http::no_request, host));
    }
    // First, because it covers a connection that was not made in time: nothing was sent.
    let (kind, message) = if error.is_connect() {
        (ErrorKind::Network, ours!(l10n::http::unreachable, host, root(error)))
    } else if error.is_timeout() {
        (ErrorKind::Timeout, ours!(l10n::http::late, host))
    } else {
        (ErrorKind::Network, ours!(l10n::http::connection_lost, host, root(error)))
    };
    SkillError { unknown: acts && !error.is_connect(), ..SkillError::new(kind, message) }
}

/// The innermost cause, which doesn't repeat the address with its query.
pub(crate) fn root(error: &(dyn std::error::Error + 'static)) -> String {
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

pub(crate) fn failed(
    status: StatusCode,
    headers: &HeaderMap,
    host: &str,
    text: &str,
    acts: bool,
) -> SkillError {
    let (host, number) = (FromCall(host), status.as_u16());
    let (kind, message) = match number {
        401 => (ErrorKind::Auth, ours!(l10n::http::credential_rejected, host, number)),
        402 | 403 => (ErrorKind::Permission, ours!(l10n::http::forbidden, host, number)),
        404 | 410 => (ErrorKind::NotFound, ours!(l10n::http::unknown_there, host, number)),
        408 => (ErrorKind::Timeout, ours!(l10n::http::request_late, host, number)),
        429 => (ErrorKind::RateLimit, ours!(l10n::http::rate_limit, host, number)),
        300..400 => (ErrorKind::Tool, ours!(l10n::http::redirects, host, number)),
        400..500 => (ErrorKind::Params, ours!(l10n::http::request_rejected, host, number)),
        _ => (ErrorKind::Network, ours!(l10n::http::service_failed, host, number)),
    };
    let mut words: String = service_words(text, headers).split_whitespace().collect::<Vec<_>>().join(" ");
    cut(&mut words, WORDS);
    SkillError {
        kind,
        message: if words.is_empty() { message } else { ours!(l10n::http::with_words, message, words) },
        retry_after: retry_after(headers),
        unknown: acts && (status.is_server_error() || kind == ErrorKind::Timeout),
    }
}

/// The service's own words: where JSON errors usually have them, else the text; a redirect's target.
fn service_words(text: &str, headers: &HeaderMap) -> String {
    if let Some(target) = headers.get("location").and_then(|target| target.to_str().ok()) {
        return target.to_owned();
    }
    let Ok(json) = serde_json::from_str::<Value>(text) else { return text.to_owned() };
    let pointers = ["/error/message", "/message", "/error_description", "/error", "/detail", "/title"];
    let found = pointers.iter().find_map(|pointer| json.pointer(pointer).and_then(Value::as_str));
    found.map_or_else(|| text.to_owned(), str::to_owned)
}

/// Whether what came is no text, whatever it calls itself.
fn is_binary(text: &str) -> bool {
    text.contains('\0') || text.starts_with("%PDF-")
}

/// Names a file instead of showing its bytes.
fn unread(host: &str, headers: &HeaderMap) -> Output {
    let summary = match media_type(headers) {
        "" => l10n::http::unknown_file(host),
        media_type => l10n::http::file(host, line(media_type, 60)),
    };
    Output::new(summary, Value::Null)
}

fn output(
    handler: &HttpHandler,
    arguments: &Value,
    host: &str,
    status: StatusCode,
    text: &str,
    whole: bool,
) -> Output {
    let json = whole.then(|| serde_json::from_str::<Value>(text).ok()).flatten();
    let method = &handler.method;
    let plain = || match (&json, text.trim()) {
        (Some(Value::String(text)), _) => text.clone(),
        (Some(Value::Array(_) | Value::Object(_)), _) => l10n::http::answered_with_json(host, method, status),
        (_, "") => l10n::http::answered(host, status),
        (_, text) => text.to_owned(),
    };
    let response = json.clone().unwrap_or_else(|| Value::from(text));
    let mut summary = handler
        .result
        .as_ref()
        .map_or_else(|| Ok(plain()), |shape| shape.summary(arguments, response))
        .unwrap_or_else(|why| l10n::http::answered_otherwise(plain(), why));
    shorten(&mut summary);
    let data = match json {
        Some(json) if text.len() <= KEPT => json,
        Some(_) => {
            let mut start = text.to_owned();
            shorten(&mut start);
            json!({ "text": start, "truncated": true })
        }
        None => Value::Null,
    };
    Output::new(summary, data)
}

/// Cuts a text that is too long, with a note.
pub(crate) fn shorten(text: &mut String) {
    if text.len() > KEPT {
        let length = text.len();
        cut(text, KEPT);
        text.push_str(&format!("\n{}", l10n::http::cut(length)));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;
    use crate::{Handler, parse};

    /// The output of a response; no test here gets a file.
    fn output_of(content: ResponseContent) -> Output {
        match content {
            ResponseContent::Output(output) => output,
            ResponseContent::File { .. } => panic!("a file"),
        }
    }

    /// An HTTP skill with the arguments `id` (required), `q` and `n`.
    fn handler(http: &str) -> HttpHandler {
        let toml = format!(
            "domain = 'h'\nsummary = 'H'\n[[skill]]\nname = 'h.get'\nsummary = 'G'\nrisk = 'low'\n\
             [skill.handler.http]\n{http}\n[skill.parameters]\nrequired = ['id']\n[skill.parameters.properties]\n\
             id = {{ type = 'string' }}\nq = {{ type = 'string' }}\nn = {{}}\n"
        );
        let domain = parse("h.toml", &toml, &[]).unwrap_or_else(|faults| panic!("{faults:?}"));
        let Handler::Http(handler) = &domain.skills[0].handler else { panic!("no http") };
        (**handler).clone()
    }

    /// Makes one call to a server that answers with these bytes and hangs up; the request, and what came of it.
    async fn exchange(http: &str, arguments: Value, answer: &str) -> (String, Result<Output, SkillError>) {
        let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", server.local_addr().unwrap());
        let http = format!("{}\nallow_hosts = ['127.0.0.1']", http.replace("ORIGIN", &origin));
        let (handler, client, oauth) = (handler(&http), HttpClient::new(), OAuth::default());
        let serve = async {
            let (mut socket, _) = server.accept().await.unwrap();
            let mut request = Vec::new();
            while !is_whole(&request) {
                let mut buffer = [0; 4096];
                let read = socket.read(&mut buffer).await.unwrap();
                assert!(read > 0, "the request was cut");
                request.extend_from_slice(&buffer[..read]);
            }
            // The client may hang up first, when it has read enough.
            let _ = socket.write_all(answer.as_bytes()).await;
            drop(socket);
            String::from_utf8(request).unwrap()
        };
        let (request, answer) = tokio::join!(serve, call(&handler, &arguments, None, (&client, &oauth)));
        (request, answer.map(output_of))
    }

    fn is_whole(request: &[u8]) -> bool {
        let text = String::from_utf8_lossy(request);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        body.len() >= length.map_or(0, |length| length.parse().unwrap())
    }

    fn answer(status: &str, headers: &str, body: &str) -> String {
        format!(
            "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n{headers}\r\n{body}",
            body.len()
        )
    }

    #[tokio::test]
    async fn a_get_fills_path_and_query_and_shapes_the_summary() {
        let http = "url = 'ORIGIN/v1/{{id}}?q={{q}}&n={{n}}&fixed=1#part'\nresult = '{{id}}: {{response.t}} degrees'";
        let ok = answer("200 OK", "", r#"{"t": 21.5}"#);
        let (request, output) = exchange(http, json!({"id": "a/../b?c#d", "n": [1, "x y"]}), &ok).await;
        let output = output.unwrap();
        assert_eq!(request.lines().next(), Some("GET /v1/a%2F..%2Fb%3Fc%23d?n=1%2Cx%20y&fixed=1 HTTP/1.1"));
        assert_eq!(output.summary, "a/../b?c#d: 21.5 degrees");
        assert_eq!((&output.data, !output.ours), (&json!({"t": 21.5}), true));
    }

    #[tokio::test]
    async fn a_body_keeps_types_and_leaves_out_what_is_absent() {
        let ok = answer("201 Created", "", "");
        let table = "method = 'POST'\nurl = 'ORIGIN/'\nbody = { text = 'a {{id}}', n = '{{n}}', q = '{{q}}', in = [{ x = '{{id}}' }, true] }";
        let (request, output) = exchange(table, json!({"id": "\"},{", "n": 7}), &ok).await;
        assert!(request.contains("content-type: application/json\r\n"), "{request}");
        let body: Value = serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap();
        assert_eq!(body, json!({"text": "a \"},{", "n": 7, "in": [{"x": "\"},{"}, true]}));
        assert_eq!(output.unwrap().summary, "127.0.0.1 answered with 201 Created.");
        let text = r#"method = 'POST'
url = 'ORIGIN/'
body = '{"n": {{n}}, "s": {{ id }}, "t": "{{id}} \" {{n}}"}'"#;
        let (request, _) = exchange(text, json!({"id": "\"}", "n": [1]}), &ok).await;
        let body: Value = serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap();
        assert_eq!(body, json!({"n": [1], "s": "\"}", "t": "\"} \" 1"}));
    }

    #[tokio::test]
    async fn a_secret_goes_to_the_service_and_nowhere_else() {
        let folder = tempfile::TempDir::new().unwrap();
        let file = folder.path().join("token");
        std::fs::write(&file, "s3cr3t-token\n").unwrap();
        let http = format!(
            "url = 'ORIGIN/'\nheaders = {{ Authorization = {{ file = '{}', prefix = 'Bearer ' }} }}",
            file.display()
        );
        let no = answer("401 Unauthorized", "", r#"{"error": {"message": "s3cr3t-token is expired"}}"#);
        let (request, error) = exchange(&http, json!({"id": "x"}), &no).await;
        assert!(request.contains("authorization: Bearer s3cr3t-token\r\n"), "{request}");
        let error = error.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Auth);
        insta::assert_snapshot!(error, @"127.0.0.1 rejected the skill's credential (401): [secret] is expired");
        let (_, output) =
            exchange(&http, json!({"id": "x"}), &answer("200 OK", "", "you sent s3cr3t-token")).await;
        assert_eq!(output.unwrap().summary, "you sent [secret]");
        std::fs::remove_file(&file).unwrap();
        let error = call(
            &handler(&http.replace("ORIGIN", "http://h.test")),
            &json!({"id": "x"}),
            None,
            (&HttpClient::new(), &OAuth::default()),
        )
        .await
        .unwrap_err();
        assert_eq!(error.kind, ErrorKind::Auth);
        assert!(error.message.whole().ends_with("token is missing"), "{error}");
    }

    #[tokio::test]
    async fn each_status_has_its_kind() {
        let kinds = [
            ("400 Bad", ErrorKind::Params, false),
            ("401 No", ErrorKind::Auth, false),
            ("403 No", ErrorKind::Permission, false),
            ("404 No", ErrorKind::NotFound, false),
            ("408 Slow", ErrorKind::Timeout, true),
            ("410 Gone", ErrorKind::NotFound, false),
            ("422 Bad", ErrorKind::Params, false),
            ("429 Slower", ErrorKind::RateLimit, false),
            ("500 Oh", ErrorKind::Network, true),
            ("503 Busy", ErrorKind::Network, true),
        ];
        for (status, kind, unknown) in kinds {
            for (method, unknown) in [("GET", false), ("POST", unknown)] {
                let http = format!("method = '{method}'\nurl = 'ORIGIN/'");
                let error =
                    exchange(&http, json!({"id": "x"}), &answer(status, "", "why")).await.1.unwrap_err();
                assert_eq!((error.kind, error.unknown), (kind, unknown), "{method} {status}");
                assert!(error.message.whole().ends_with(": why"), "{error}");
            }
        }
    }

    #[tokio::test]
    async fn retry_after_is_read() {
        let wait = async |headers| {
            let answer = answer("429 Slow down", headers, "");
            exchange("url = 'ORIGIN/'", json!({"id": "x"}), &answer).await.1.unwrap_err().retry_after
        };
        assert_eq!(wait("retry-after: 7\r\n").await, Some(Duration::from_secs(7)));
        let dates = "date: Fri, 02 Jan 2026 10:00:00 GMT\r\nretry-after: Fri, 02 Jan 2026 10:01:30 GMT\r\n";
        assert_eq!(wait(dates).await, Some(Duration::from_secs(90)));
        assert_eq!(wait("retry-after: soon\r\n").await, None);
    }

    #[tokio::test]
    async fn a_file_that_is_no_text_is_named() {
        for body in ["%PDF-1.7\n%more", "PK\u{3}\u{4}\0\0"] {
            let answer = answer("200 OK", "content-type: application/pdf\r\n", body);
            let output = exchange("url = 'ORIGIN/'", json!({"id": "x"}), &answer).await.1.unwrap();
            assert_eq!(
                (output.summary.as_str(), !output.ours),
                ("127.0.0.1 sent a file, application/pdf, which isn't text and can't be read here.", true)
            );
        }
    }

    #[tokio::test]
    async fn a_redirect_is_not_followed() {
        let answer = answer("302 Found", "location: http://169.254.169.254/\r\n", "");
        let error = exchange("url = 'ORIGIN/'", json!({"id": "x"}), &answer).await.1.unwrap_err();
        insta::assert_snapshot!(error, @"127.0.0.1 redirects; put the new address into the skill's `url` (302): http://169.254.169.254/");
    }

    #[tokio::test]
    async fn a_cut_connection_leaves_a_post_unknown_and_a_get_not() {
        for cut in ["", "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf"] {
            for (method, unknown) in [("GET", false), ("POST", true), ("DELETE", true)] {
                let http = format!("method = '{method}'\nurl = 'ORIGIN/'");
                let error = exchange(&http, json!({"id": "x"}), cut).await.1.unwrap_err();
                assert_eq!((error.kind, error.unknown), (ErrorKind::Network, unknown), "{method} {cut:?}");
            }
        }
    }

    #[tokio::test]
    async fn a_refused_connection_has_done_nothing() {
        let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = server.local_addr().unwrap();
        drop(server);
        let http = format!("method = 'POST'\nurl = 'http://{address}/'\nallow_hosts = ['127.0.0.1']");
        let error = call(&handler(&http), &json!({"id": "x"}), None, (&HttpClient::new(), &OAuth::default()))
            .await
            .unwrap_err();
        assert_eq!((error.kind, error.unknown), (ErrorKind::Network, false));
        insta::assert_snapshot!(error, @"I couldn't reach 127.0.0.1: no connection (Connection refused (os error 111))");
    }

    #[tokio::test]
    async fn a_private_host_needs_leave() {
        for host in ["127.0.0.1", "localhost", "[::1]", "10.0.0.1"] {
            let error = call(
                &handler(&format!("url = 'http://{host}:9/'")),
                &json!({"id": "x"}),
                None,
                (&HttpClient::new(), &OAuth::default()),
            )
            .await;
            assert_eq!(error.unwrap_err().kind, ErrorKind::Permission, "{host}");
        }
    }

    #[tokio::test]
    async fn long_answers_are_cut_with_a_note() {
        let long = answer("200 OK", "", &"ü".repeat(1 << 20));
        let output = exchange("url = 'ORIGIN/'", json!({"id": "x"}), &long).await.1.unwrap();
        assert!(
            output.summary.ends_with("\n[cut: the first 64 KB of 1048576 bytes]"),
            "{}",
            output.summary.len()
        );
        assert!(output.summary.len() < KEPT + 100);
        let list = serde_json::to_string(&vec!["x"; 30_000]).unwrap();
        let output =
            exchange("url = 'ORIGIN/'\nresult = '/2'", json!({"id": "x"}), &answer("200 OK", "", &list))
                .await
                .1
                .unwrap();
        assert_eq!((output.summary.as_str(), &output.data["truncated"]), ("x", &json!(true)));
    }

    #[tokio::test]
    async fn a_result_that_does_not_fit_is_mentioned_but_no_failure() {
        let output =
            exchange("url = 'ORIGIN/'\nresult = '/a/b'", json!({"id": "x"}), &answer("200 OK", "", "{}"))
                .await
                .1;
        insta::assert_snapshot!(output.unwrap().summary, @"127.0.0.1 answered GET with JSON (200 OK). But the response has nothing at /a/b.");
    }

    #[test]
    fn an_empty_or_climbing_path_is_refused() {
        let handler = handler("url = 'https://h.test/users/{{id}}/x'");
        for id in ["", ".", ".."] {
            assert_eq!(handler.url(&json!({"id": id})).unwrap_err().kind, ErrorKind::Params, "{id:?}");
        }
        insta::assert_snapshot!(handler.url(&json!({})).unwrap_err(), @"the argument 'id' is missing");
    }

    proptest! {
        #[test]
        fn a_value_stays_in_its_segment(id in any::<String>()) {
            let handler = handler("url = 'https://h.test:8443/users/{{id}}/x?q={{id}}'");
            if let Ok(url) = handler.url(&json!({"id": id})) {
                prop_assert_eq!((url.scheme(), url.host_str(), url.port()), ("https", Some("h.test"), Some(8443)));
                let segments: Vec<_> = url.path_segments().unwrap().collect();
                prop_assert_eq!((segments.len(), segments[0], segments[2]), (3, "users", "x"));
                prop_assert_eq!(url.query_pairs().into_owned().collect::<Vec<_>>(), vec![("q".to_owned(), id)]);
                prop_assert!(url.fragment().is_none());
            }
        }

        #[test]
        fn a_value_stays_in_its_json_and_its_header(id in any::<String>()) {
            let handler = handler("method = 'POST'\nurl = 'https://h.test/'\nheaders = { X-Id = 'i {{id}}' }\nbody = '{\"a\": {{id}}, \"b\": \"<{{id}}>\"}'");
            let body = handler.body(&json!({"id": id})).unwrap().unwrap();
            let body: Value = serde_json::from_slice(&body).unwrap();
            prop_assert_eq!(body, json!({"a": id, "b": format!("<{id}>")}));
            if let Ok((headers, _)) = handler.headers(&json!({"id": id}), None) {
                prop_assert_eq!(headers.len(), 2);
                prop_assert_eq!(headers["x-id"].as_bytes().to_vec(), format!("i {id}").into_bytes());
            }
        }
    }
}
