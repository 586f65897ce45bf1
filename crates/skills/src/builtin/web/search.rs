//! Searching the web by an engine of the owner's choice. What it finds is text from outside.

use std::time::Duration;

use adjutant_chat::Finding;
use adjutant_config::{SearchConfig, SearchKind};
use adjutant_l10n::web;
use adjutant_types::invisible_chars::line;
use adjutant_types::text::words;
use adjutant_types::{FromConfig, Own, ours};
use reqwest::header::{ACCEPT, LOCATION};
use reqwest::{Client, RequestBuilder, Url};
use serde_json::{Value, json};

use super::Page;
use crate::handlers::http::{failed, lost, read};
use crate::handlers::{HttpClient, host};
use crate::{ErrorKind, Output, SkillError};

/// The most results.
const MAX: usize = 10;
/// The longest title and excerpt, in characters.
const TITLE: usize = 120;
const EXCERPT: usize = 300;
/// How long a check waits for the engine.
const PATIENCE: Duration = Duration::from_secs(10);

struct Hit {
    title: String,
    url: String,
    excerpt: String,
}

pub(super) async fn search(
    engine: &SearchConfig,
    query: &str,
    limit: usize,
    client: &HttpClient,
) -> Result<Output, SkillError> {
    let limit = limit.clamp(1, MAX);
    let address = Url::parse(&engine.url)
        .map_err(|error| SkillError::tool(ours!(web::search_address_wrong, Own(error))))?;
    let host = host(&address).to_owned();
    // It is the owner's own choice, so it may be in a private network.
    let client = client.for_url(&address, std::slice::from_ref(&host))?;
    let request = request(engine, &address, query, limit, client);
    let response = request.send().await.map_err(|error| lost(&error, &host, false))?;
    let (status, headers) = (response.status(), response.headers().clone());
    let (body, _) = read(response).await.map_err(|error| lost(&error, &host, false))?;
    if !status.is_success() {
        let address = headers.get(LOCATION).and_then(|address| address.to_str().ok()).unwrap_or_default();
        return Err(match (engine.kind, status.as_u16()) {
            (SearchKind::Searxng, 403) => {
                let message = ours!(web::searxng_without_json, FromConfig(&host));
                SkillError::new(ErrorKind::Permission, message)
            }
            (SearchKind::Brave | SearchKind::Tavily, 401 | 403) => {
                SkillError::new(ErrorKind::Auth, ours!(web::search_key_rejected, FromConfig(&host)))
            }
            (_, 300..=399) => {
                SkillError::tool(ours!(web::search_redirects, FromConfig(&host), line(address, EXCERPT)))
            }
            _ => failed(status, &headers, &host, "", false),
        });
    }
    let answer: Value = serde_json::from_str(&body)
        .map_err(|_| SkillError::tool(ours!(web::search_without_json, FromConfig(&host))))?;
    let hits = hits(engine.kind, &answer, limit);
    let silent = silent(&answer);
    match hits.is_empty() && !silent.is_empty() {
        true => Err(SkillError::tool(ours!(web::engines_silent, FromConfig(&host), silent))),
        false => Ok(output(query, &hits)),
    }
}

/// The pages with a word of the query, in a web that an evaluation makes up.
pub(super) fn among(pages: &[Page], query: &str, limit: usize) -> Output {
    let is_named = |page: &&Page| {
        let text = format!("{} {}", page.title, page.text).to_lowercase();
        // Short words stand everywhere.
        words(query).any(|word| word.len() > 3 && text.contains(&word.to_lowercase()))
    };
    let hit = |page: &Page| Hit {
        title: page.title.clone(),
        url: page.url.clone(),
        excerpt: line(&page.text, EXCERPT),
    };
    output(query, &pages.iter().filter(is_named).take(limit).map(hit).collect::<Vec<_>>())
}

/// The engines behind a SearXNG that didn't answer, and why.
fn silent(answer: &Value) -> String {
    let engines = answer["unresponsive_engines"].as_array().into_iter().flatten();
    let engine = |engine: &Value| match (engine[0].as_str()?, engine[1].as_str()) {
        (name, Some(why)) => Some(format!("{name} ({why})")),
        (name, None) => Some(name.to_owned()),
    };
    line(&engines.filter_map(engine).collect::<Vec<_>>().join(", "), EXCERPT)
}

/// Asks the engine for something that everybody finds.
pub(in crate::builtin) async fn check(engine: &SearchConfig, client: &HttpClient) -> Finding {
    let fix = "correct `search` under [web], or what its engine asks";
    let Ok(found) = tokio::time::timeout(PATIENCE, search(engine, "weather", 1, client)).await else {
        return Finding::error("the search engine didn't answer in 10 s", fix);
    };
    match found {
        Ok(output) if output.ours => Finding::warning("the search engine finds nothing", fix),
        Ok(_) => Finding::ok("the search engine answers"),
        Err(error) => Finding::error(error.message.whole(), fix),
    }
}

fn request(
    engine: &SearchConfig,
    address: &Url,
    query: &str,
    limit: usize,
    client: &Client,
) -> RequestBuilder {
    let key = engine.key.as_ref().map_or("", |key| key.expose());
    let number = limit.to_string();
    let with = |mut url: Url, pairs: &[(&str, &str)]| {
        url.query_pairs_mut().extend_pairs(pairs);
        url
    };
    match engine.kind {
        SearchKind::Searxng => {
            let mut url = address.clone();
            let path = url.path().trim_end_matches('/');
            let path = if path.ends_with("/search") { path.to_owned() } else { format!("{path}/search") };
            url.set_path(&path);
            client.get(with(url, &[("q", query), ("format", "json")])).header(ACCEPT, "application/json")
        }
        SearchKind::Brave => client
            .get(with(address.clone(), &[("q", query), ("count", &number)]))
            .header(ACCEPT, "application/json")
            .header("X-Subscription-Token", key),
        SearchKind::Tavily => {
            client.post(address.clone()).bearer_auth(key).json(&json!({"query": query, "max_results": limit}))
        }
    }
}

fn hits(kind: SearchKind, answer: &Value, limit: usize) -> Vec<Hit> {
    let (list, excerpt) = match kind {
        SearchKind::Searxng | SearchKind::Tavily => (&answer["results"], "content"),
        SearchKind::Brave => (&answer["web"]["results"], "description"),
    };
    let plain = |value: &Value, max: usize| {
        let text = value.as_str().unwrap_or_default();
        // Some mark the words that were searched.
        let text = if text.contains('<') {
            adjutant_mail::readable(text).0.replace("**", "")
        } else {
            text.to_owned()
        };
        line(&text, max)
    };
    let hit = |item: &Value| {
        let url = Url::parse(item["url"].as_str()?).ok()?;
        let is_page = matches!(url.scheme(), "http" | "https") && url.as_str().len() <= 2000;
        is_page.then(|| Hit {
            title: plain(&item["title"], TITLE),
            url: url.to_string(),
            excerpt: plain(&item[excerpt], EXCERPT),
        })
    };
    list.as_array().into_iter().flatten().filter_map(hit).take(limit).collect()
}

fn output(query: &str, hits: &[Hit]) -> Output {
    if hits.is_empty() {
        return Output::ours(web::found_nothing(query), json!({"items": [], "count": 0}));
    }
    let lines: Vec<String> = hits
        .iter()
        .enumerate()
        .map(|(index, hit)| format!("{}. {}\n   {}\n   {}", index + 1, hit.title, hit.url, hit.excerpt))
        .collect();
    // `heading` and not `title`, which is an event's: the source of each is its page.
    let items: Vec<Value> = hits
        .iter()
        .map(|hit| json!({"url": hit.url, "heading": hit.title, "excerpt": hit.excerpt}))
        .collect();
    let data = json!({"items": items, "count": hits.len()});
    Output::new(lines.join("\n"), data)
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::TcpListener;

    use adjutant_config::Secret;

    use super::*;

    /// Answers one request, and returns its lines and body.
    fn serve(status: &str, body: &str) -> (String, std::thread::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let answer =
            format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len());
        let seen = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let (mut request, mut length) = (String::new(), 0);
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).unwrap();
                if line.trim().is_empty() {
                    break;
                }
                if let Some(number) = line.to_lowercase().strip_prefix("content-length:") {
                    length = number.trim().parse().unwrap();
                }
                request.push_str(&line);
            }
            let mut sent = vec![0; length];
            reader.read_exact(&mut sent).unwrap();
            stream.write_all(answer.as_bytes()).unwrap();
            request + &String::from_utf8(sent).unwrap()
        });
        (address, seen)
    }

    async fn found(kind: SearchKind, status: &str, body: &str) -> (Result<Output, SkillError>, String) {
        let (url, seen) = serve(status, body);
        let key = (kind != SearchKind::Searxng).then(|| Secret::new("k-1"));
        let engine = SearchConfig { kind, url, key };
        let output = search(&engine, "rust & crabs", 2, &HttpClient::new()).await;
        (output, seen.join().unwrap())
    }

    #[tokio::test]
    async fn each_engine_is_asked_in_its_own_way() {
        let searxng = r#"{"results": [{"title": "A", "url": "https://a.example/1", "content": "About\n a"},
            {"title": "bad", "url": "javascript:x", "content": ""}, {"title": "B", "url": "https://b.example/", "content": "b"},
            {"title": "C", "url": "https://c.example/", "content": "c"}]}"#;
        let (output, request) = found(SearchKind::Searxng, "200 OK", searxng).await;
        assert!(request.starts_with("GET /search?q=rust+%26+crabs&format=json HTTP/1.1"), "{request}");
        let output = output.unwrap();
        assert_eq!(
            output.summary,
            "1. A\n   https://a.example/1\n   About a\n2. B\n   https://b.example/\n   b"
        );
        assert!(!output.ours);
        assert_eq!(output.data["items"][0]["url"], "https://a.example/1");

        let brave = r#"{"web": {"results": [{"title": "A", "url": "https://a.example/", "description": "the <strong>rust</strong> book"}]}}"#;
        let (output, request) = found(SearchKind::Brave, "200 OK", brave).await;
        assert!(request.starts_with("GET /?q=rust+%26+crabs&count=2 HTTP/1.1"), "{request}");
        assert!(request.to_lowercase().contains("x-subscription-token: k-1\r\n"), "{request}");
        assert!(output.unwrap().summary.ends_with("the rust book"));

        let (output, request) = found(SearchKind::Tavily, "200 OK", r#"{"results": []}"#).await;
        assert!(request.starts_with("POST / HTTP/1.1"), "{request}");
        assert!(request.to_lowercase().contains("authorization: bearer k-1\r\n"), "{request}");
        assert!(request.ends_with(r#"{"query":"rust & crabs","max_results":2}"#), "{request}");
        assert_eq!(output.unwrap().summary, "The web search for “rust & crabs” found nothing");
    }

    #[tokio::test]
    async fn a_searxng_that_has_no_json_is_explained() {
        let (refused, _) = found(SearchKind::Searxng, "403 Forbidden", "<html>").await;
        assert!(
            refused.unwrap_err().to_string().contains("add `json` to `search.formats` in its settings.yml")
        );
        let (page, _) = found(SearchKind::Searxng, "200 OK", "<html>").await;
        assert!(page.unwrap_err().to_string().ends_with("didn't answer with JSON"));
    }

    #[tokio::test]
    async fn an_error_names_the_key_that_is_there() {
        let (auth, _) = found(SearchKind::Brave, "401 Unauthorized", "").await;
        let auth = auth.unwrap_err();
        assert_eq!(auth.kind, ErrorKind::Auth);
        insta::assert_snapshot!(auth, @"my search engine on 127.0.0.1 rejects its key: correct `key` of `search` under [web]");
        let (moved, _) = found(SearchKind::Searxng, "301 Moved\r\nLocation: https://s.example/", "").await;
        insta::assert_snapshot!(moved.unwrap_err(), @"my search engine on 127.0.0.1 redirects to https://s.example/: if that's right, make it the `url` of `search` under [web]");
    }

    #[tokio::test]
    async fn an_engine_that_got_no_answer_has_not_found_nothing() {
        let silent = r#""unresponsive_engines": [["google", "timeout"], ["brave", "too many requests"]]"#;
        let (nothing, _) =
            found(SearchKind::Searxng, "200 OK", &format!(r#"{{"results": [], {silent}}}"#)).await;
        let nothing = nothing.unwrap_err();
        assert!(nothing.message.is_foreign(), "what the engine says of others is not ours");
        insta::assert_snapshot!(nothing, @"my search engine on 127.0.0.1 got no answer from those that it asks: google (timeout), brave (too many requests)");
        let hit = r#"{"title": "A", "url": "https://a.example/", "content": "a"}"#;
        let (some, _) =
            found(SearchKind::Searxng, "200 OK", &format!(r#"{{"results": [{hit}], {silent}}}"#)).await;
        assert_eq!(some.unwrap().data["count"], 1);
        let (none, _) =
            found(SearchKind::Searxng, "200 OK", r#"{"results": [], "unresponsive_engines": []}"#).await;
        assert_eq!(none.unwrap().summary, "The web search for “rust & crabs” found nothing");
    }
}
