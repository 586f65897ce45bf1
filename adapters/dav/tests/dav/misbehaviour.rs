//! A server that hangs, cuts, refuses, redirects, lies about itself, or answers too much: each is a clear
//! fault, and for a write it is known whether it may have happened.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use adjutant_credential::NoToken;
use adjutant_dav::{Account, CalDav, CreateOutcome, DavError, ErrorKind, Quirks, WriteOutcome};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::google::{no_token, tokens};
use super::{account, series, span};

/// What the server does with a request.
#[derive(Clone)]
enum Act {
    /// Sends these bytes and closes.
    Say(String),
    /// Answers nothing until the client gives up.
    Hang,
    /// Sends this, and then nothing more.
    Stall(&'static str),
    /// Sends this again and again, until the client has enough.
    Pour(&'static str, &'static str),
}

/// A server that takes its acts one by one, a connection each; the last is repeated. What it was asked comes
/// out of the receiver.
fn misbehaving(acts: Vec<Act>, tls: Option<Arc<ServerConfig>>) -> (u16, Receiver<String>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let (asked, requests) = channel();
    let acts = Arc::new(Mutex::new(acts));
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let (acts, asked, tls) = (Arc::clone(&acts), asked.clone(), tls.clone());
            thread::spawn(move || match tls {
                Some(tls) => {
                    serve(StreamOwned::new(ServerConnection::new(tls).unwrap(), stream), &acts, &asked)
                }
                None => serve(stream, &acts, &asked),
            });
        }
    });
    (port, requests)
}

fn serve(mut stream: impl Read + Write, acts: &Mutex<Vec<Act>>, asked: &std::sync::mpsc::Sender<String>) {
    let mut reader = BufReader::new(&mut stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line == "\r\n" {
            break;
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let _ = asked.send(head);
    let act = {
        let mut acts = acts.lock().unwrap();
        if acts.len() > 1 { acts.remove(0) } else { acts[0].clone() }
    };
    match act {
        Act::Say(text) => drop(stream.write_all(text.as_bytes())),
        Act::Stall(start) => {
            let _ = stream.write_all(start.as_bytes()).and_then(|()| stream.flush());
            let _ = stream.read(&mut [0]);
        }
        Act::Hang => drop(stream.read(&mut [0])),
        Act::Pour(start, more) => {
            let more = more.repeat(10_000);
            let _ = stream.write_all(start.as_bytes());
            while stream.write_all(more.as_bytes()).is_ok() {}
        }
    }
    let _ = stream.flush();
}

fn response(status: &str, headers: &str, body: &str) -> Act {
    Act::Say(format!(
        "HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    ))
}

/// For those that are never answered.
const QUICK: Duration = Duration::from_millis(700);

fn client(port: u16) -> CalDav {
    client_that_waits(port, Duration::from_secs(20))
}

fn client_that_waits(port: u16, timeout: Duration) -> CalDav {
    let account = Account { timeout, ..account(&format!("http://127.0.0.1:{port}/c/"), "me") };
    CalDav::new(&account).unwrap()
}

/// The faults of reading and of writing with a server that does this.
async fn errors(act: Act) -> (DavError, DavError) {
    let timeout = if matches!(act, Act::Hang) { QUICK } else { Duration::from_secs(20) };
    let (port, _) = misbehaving(vec![act], None);
    let dav = client_that_waits(port, timeout);
    let window = span("2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z");
    let read = dav.list("/c/", window).await.unwrap_err();
    (read, dav.create("/c/", &series("u", None)).await.unwrap_err())
}

#[tokio::test]
async fn a_hang_is_a_timeout_and_a_write_may_have_happened() {
    let (read, write) = errors(Act::Hang).await;
    assert_eq!((read.kind, read.may_have_happened), (ErrorKind::Timeout, false), "{read}");
    assert_eq!((write.kind, write.may_have_happened), (ErrorKind::Timeout, true), "{write}");
    let half =
        "HTTP/1.1 207 Multi-Status\r\nContent-Length: 5000\r\n\r\n<multistatus xmlns=\"DAV:\"><response>";
    let (port, _) = misbehaving(vec![Act::Stall(half)], None);
    let read = client_that_waits(port, QUICK).calendars().await.unwrap_err();
    assert_eq!(read.kind, ErrorKind::Timeout, "{read}");
}

#[tokio::test]
async fn a_cut_is_network_and_a_write_may_have_happened() {
    for text in ["", "HTTP/1.1 2"] {
        let (read, write) = errors(Act::Say(text.to_owned())).await;
        assert_eq!((read.kind, read.may_have_happened), (ErrorKind::Network, false), "{read}");
        assert_eq!((write.kind, write.may_have_happened), (ErrorKind::Network, true), "{write}");
    }
    // In mid-answer of a list.
    let half =
        "HTTP/1.1 207 Multi-Status\r\nContent-Length: 5000\r\n\r\n<multistatus xmlns=\"DAV:\"><response>";
    let (port, _) = misbehaving(vec![Act::Say(half.to_owned())], None);
    let read = client(port).calendars().await.unwrap_err();
    assert_eq!(read.kind, ErrorKind::Network, "{read}");
}

#[tokio::test]
async fn nobody_there_is_network_and_surely_did_not_happen() {
    // Bound, so that nobody else gets the port, but not listening.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let port = socket.local_addr().unwrap().port();
    let error = client(port).create("/c/", &series("u", None)).await.unwrap_err();
    assert_eq!((error.kind, error.may_have_happened), (ErrorKind::Network, false), "{error}");
}

/// A refusal: its status, headers and body; what it comes to, whether a write may have happened, and the message.
type Refusal = (&'static str, &'static str, &'static str, ErrorKind, bool, &'static str);

const REFUSALS: [Refusal; 7] = [
    (
        "401 Unauthorized",
        "",
        "who?",
        ErrorKind::Auth,
        false,
        "the server rejected the name or password (401 Unauthorized): who?",
    ),
    (
        "403 Forbidden",
        "",
        "<D:error xmlns:D=\"DAV:\"><D:need-privileges/></D:error>",
        ErrorKind::Permission,
        false,
        "the server refused the request (403 Forbidden): need-privileges",
    ),
    ("404 Not Found", "", "", ErrorKind::NotFound, false, "the server refused the request (404 Not Found)"),
    (
        "429 Too Many Requests",
        "Retry-After: 7\r\n",
        "slow",
        ErrorKind::RateLimit,
        false,
        "the server refused the request (429 Too Many Requests): slow",
    ),
    (
        "503 Service Unavailable",
        "Date: Sat, 21 Nov 2026 12:00:00 GMT\r\nRetry-After: Sat, 21 Nov 2026 12:00:07 GMT\r\n",
        "",
        ErrorKind::RateLimit,
        false,
        "the server refused the request (503 Service Unavailable)",
    ),
    (
        "507 Insufficient Storage",
        "",
        "",
        ErrorKind::Tool,
        false,
        "the server's storage is full (507 Insufficient Storage)",
    ),
    (
        "500 Internal Server Error",
        "",
        "<html><head><title>x</title></head><body><h1>Oh</h1>\n no</body></html>",
        ErrorKind::Tool,
        true,
        "the server refused the request (500 Internal Server Error): Oh no",
    ),
];

#[tokio::test]
async fn refusals_have_a_kind_and_the_server_s_words() {
    for (status, headers, body, kind, may, words) in REFUSALS {
        let (read, write) = errors(response(status, headers, body)).await;
        assert_eq!((read.kind, read.message.as_str(), read.may_have_happened), (kind, words, false));
        assert_eq!((write.kind, write.message.as_str(), write.may_have_happened), (kind, words, may));
        let wait = (kind == ErrorKind::RateLimit).then_some(Duration::from_secs(7));
        assert_eq!((read.retry_after, write.retry_after), (wait, wait));
    }
}

#[tokio::test]
async fn what_is_not_webdav_is_said_so() {
    for (act, words) in [
        (response("200 OK", "", "<html>Welcome</html>"), "the URL isn't a WebDAV server (200 OK)"),
        (
            response("207 Multi-Status", "", "<html>Welcome</html>"),
            "the server's response isn't a WebDAV multistatus",
        ),
        (response("207 Multi-Status", "", ""), "the server's response ended early"),
        (
            response("302 Found", "Location: http://elsewhere.invalid/\r\n", ""),
            "the server redirects to elsewhere.invalid; the login is not sent there",
        ),
        (response("302 Found", "Location: /c/\r\n", ""), "the server sent too many redirects"),
    ] {
        let (port, _) = misbehaving(vec![act], None);
        let error = client(port).calendars().await.unwrap_err();
        assert_eq!((error.kind, error.message.as_str()), (ErrorKind::Tool, words));
    }
}

#[tokio::test]
async fn a_redirect_on_the_same_host_is_followed_and_hrefs_elsewhere_are_not() {
    let body = "<multistatus xmlns=\"DAV:\" xmlns:C=\"urn:ietf:params:xml:ns:caldav\"><response><href>/other/</href><propstat>\
        <prop><resourcetype><collection/><C:calendar/></resourcetype></prop><status>HTTP/1.1 200 OK</status></propstat></response></multistatus>";
    let moved = response("301 Moved", "Location: /other/\r\n", "");
    let (port, requests) = misbehaving(vec![moved, response("207 Multi-Status", "", body)], None);
    let found = client(port).calendars().await.unwrap();
    assert_eq!(found[0].url, format!("http://127.0.0.1:{port}/other/"));
    let asked: Vec<String> = requests.try_iter().collect();
    assert!(asked[1].starts_with("PROPFIND /other/ HTTP/1.1\r\n"), "{asked:?}");
    assert!(asked[1].to_ascii_lowercase().contains("authorization: basic"), "{asked:?}");
    let stray = body.replace(
        "<resourcetype><collection/><C:calendar/></resourcetype>",
        "<current-user-principal><href>http://elsewhere.invalid/</href></current-user-principal>",
    );
    let (port, _) = misbehaving(vec![response("207 Multi-Status", "", &stray)], None);
    let error = client(port).calendars().await.unwrap_err();
    assert!(error.message.contains("elsewhere.invalid"), "{error}");
    assert!(client(port).get("http://elsewhere.invalid/x").await.is_err());
}

#[tokio::test]
async fn a_calendar_that_can_only_be_read_is_not_the_first() {
    let multistatus = |entries: &str| {
        let names = "xmlns=\"DAV:\" xmlns:C=\"urn:ietf:params:xml:ns:caldav\"";
        response("207 Multi-Status", "", &format!("<multistatus {names}>{entries}</multistatus>"))
    };
    let entry = |path: &str, props: &str| {
        format!(
            "<response><href>{path}</href><propstat><prop>{props}</prop><status>HTTP/1.1 200 OK</status></propstat>\
             </response>"
        )
    };
    let calendar = |path: &str, privileges: &str| {
        let kind = "<resourcetype><collection/><C:calendar/></resourcetype>";
        let set = format!("<current-user-privilege-set>{privileges}</current-user-privilege-set>");
        entry(path, &format!("{kind}{set}"))
    };
    let read = "<privilege><read/></privilege>";
    let home = entry("/c/", "<C:calendar-home-set><href>/home/</href></C:calendar-home-set>");
    let all = [
        calendar("/home/team/", read),
        calendar("/home/own/", &format!("{read}<privilege><write/></privilege>")),
        calendar("/home/unsaid/", ""),
    ];
    let (port, _) = misbehaving(vec![multistatus(&home), multistatus(&all.concat())], None);
    let found = client(port).calendars().await.unwrap();
    let names: Vec<&str> = found.iter().map(|calendar| calendar.name.as_str()).collect();
    assert_eq!(names, ["own", "unsaid", "team"]);
}

#[tokio::test]
async fn too_much_is_cut() {
    let start =
        "HTTP/1.1 207 Multi-Status\r\nConnection: close\r\n\r\n<multistatus xmlns=\"DAV:\"><response><href>";
    let (port, _) = misbehaving(vec![Act::Pour(start, "0123456789")], None);
    let patient =
        Account { timeout: Duration::from_secs(60), ..account(&format!("http://127.0.0.1:{port}/c/"), "me") };
    let window = span("2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z");
    let error = CalDav::new(&patient).unwrap().list("/c/", window).await.unwrap_err();
    assert_eq!(
        (error.kind, error.message.as_str()),
        (ErrorKind::Tool, "the server's response is longer than 64 MB")
    );
}

#[tokio::test]
async fn a_lost_answer_is_found_by_the_second_try() {
    let there = series("u", None).text();
    let acts = vec![
        Act::Say(String::new()),
        response("412 Precondition Failed", "", ""),
        response("200 OK", "ETag: \"1\"\r\n", &there),
    ];
    let (port, requests) = misbehaving(acts, None);
    let dav = client(port);
    assert!(dav.create("/c/", &series("u", None)).await.unwrap_err().may_have_happened);
    let CreateOutcome::AlreadyExists(found) = dav.create("/c/", &series("u", None)).await.unwrap() else {
        panic!()
    };
    assert_eq!(found.etag.as_deref(), Some("\"1\""));
    let asked: Vec<String> = requests.try_iter().collect();
    assert_eq!(asked.len(), 3, "nothing was tried again by itself: {asked:?}");
    assert!(asked[0].contains("if-none-match: *") && asked[0].starts_with("PUT /c/u.ics"), "{asked:?}");
    // A delete that finds nothing, after one that may have happened.
    let (port, requests) = misbehaving(
        vec![response("412 Precondition Failed", "", ""), response("404 Not Found", "", "")],
        None,
    );
    assert_eq!(client(port).delete("/c/u.ics", Some("W/\"1\"")).await.unwrap(), WriteOutcome::Gone);
    let asked: Vec<String> = requests.try_iter().collect();
    assert!(asked[0].contains("if-match: \"1\"\r\n"), "{asked:?}");
}

/// A CA, and a server's certificate by it that ends in this year.
fn certificates(until: i32, host: &str) -> (String, Arc<ServerConfig>) {
    let mut ca = CertificateParams::new(Vec::new()).unwrap();
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let ca = CertifiedIssuer::self_signed(ca, KeyPair::generate().unwrap()).unwrap();
    let mut own = CertificateParams::new(vec![host.to_owned()]).unwrap();
    (own.not_before, own.not_after) = (date_time_ymd(2001, 1, 1), date_time_ymd(until, 1, 1));
    let key = KeyPair::generate().unwrap();
    let own = own.signed_by(&key, &ca).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let config = config.with_no_client_auth().with_single_cert(vec![own.der().clone()], key).unwrap();
    (ca.pem(), Arc::new(config))
}

#[tokio::test]
async fn certificates_are_checked_and_a_private_ca_is_trusted() {
    let body = "<multistatus xmlns=\"DAV:\"/>";
    for (until, host, is_known, words) in [
        (2100, "127.0.0.1", true, "the server's answer says nothing about the URL"),
        (2100, "127.0.0.1", false, "UnknownIssuer"),
        (2002, "127.0.0.1", true, "expired"),
        (2100, "elsewhere.invalid", true, "not valid for name"),
    ] {
        let (ca, config) = certificates(until, host);
        let (port, requests) = misbehaving(vec![response("207 Multi-Status", "", body)], Some(config));
        let account = Account {
            ca_pem: is_known.then_some(ca),
            timeout: Duration::from_secs(10),
            ..account(&format!("https://127.0.0.1:{port}/c/"), "me")
        };
        let dav = CalDav::new(&account).unwrap();
        let error = dav.calendars().await.unwrap_err();
        assert!(error.message.contains(words), "{error}");
        if words.len() < 20 {
            assert_eq!(error.kind, ErrorKind::Network);
            assert_eq!(requests.try_iter().count(), 0, "the password was not sent");
            let write = dav.create("/c/", &series("u", None)).await.unwrap_err();
            assert!(!write.may_have_happened);
        }
    }
    let broken = Account { ca_pem: Some("-----BEGIN".to_owned()), ..account("https://127.0.0.1/", "me") };
    assert_eq!(CalDav::new(&broken).err().map(|error| error.kind), Some(ErrorKind::Params));
    for url in ["", "ftp://127.0.0.1/", "127.0.0.1", "https://me:secret@127.0.0.1/"] {
        let error = CalDav::new(&account(url, "me")).err().unwrap();
        assert_eq!((error.kind, error.message.contains("secret")), (ErrorKind::Params, false));
    }
}

/// The logins and first lines of what was asked.
fn logins(requests: &Receiver<String>) -> Vec<(String, String)> {
    let login = |head: String| {
        let lines = head.lines().filter_map(|line| line.split_once(": "));
        let mut logins = lines.filter(|(name, _)| name.eq_ignore_ascii_case("authorization"));
        let login = logins.next().map(|(_, login)| login.to_owned()).unwrap_or_default();
        (login, head.split(' ').next().unwrap_or_default().to_owned())
    };
    requests.try_iter().map(login).collect()
}

#[tokio::test]
async fn a_token_that_is_refused_is_renewed_once() {
    let asked = |login: &str, method: &str| (login.to_owned(), method.to_owned());
    let denied = response("401 Unauthorized", "", "");
    let (port, requests) = misbehaving(vec![denied.clone(), response("201 Created", "", ""), denied], None);
    let bearer = |credential| Account { credential, ..account(&format!("http://127.0.0.1:{port}/c/"), "me") };
    let dav = CalDav::new(&bearer(tokens("old", "new"))).unwrap();
    assert!(matches!(dav.create("/c/", &series("u", None)).await, Ok(CreateOutcome::Created { .. })));
    assert_eq!(logins(&requests), [asked("Bearer old", "PUT"), asked("Bearer new", "PUT")]);
    let error = dav.create("/c/", &series("u", None)).await.unwrap_err();
    assert_eq!((error.kind, error.may_have_happened), (ErrorKind::Auth, false), "{error}");
    assert_eq!(error.message, "the server rejected the access token (401 Unauthorized)");
    assert_eq!(logins(&requests).len(), 2);
    for (why, kind) in [
        (NoToken::Ended, ErrorKind::Auth),
        (NoToken::Unreachable("the provider is away".to_owned()), ErrorKind::Network),
    ] {
        let dav = CalDav::new(&bearer(no_token(why))).unwrap();
        assert_eq!(dav.get("/c/x.ics").await.unwrap_err().kind, kind);
    }
    assert!(logins(&requests).is_empty(), "nothing was asked without a token");
}

#[tokio::test]
async fn a_server_that_knows_no_if_none_match_is_asked_first_and_may_choose_the_place() {
    let not_there = response("404 Not Found", "", "");
    let made = response("201 Created", "Location: /c/elsewhere.ics\r\n", "");
    let (port, requests) = misbehaving(vec![not_there, made], None);
    let address = format!("http://127.0.0.1:{port}/c/");
    let google = Account { quirks: Quirks::google(), ..account(&address, "me") };
    let dav = CalDav::new(&google).unwrap();
    let CreateOutcome::Created { url, .. } = dav.create("/c/", &series("u", None)).await.unwrap() else {
        panic!()
    };
    assert_eq!(url, format!("{address}elsewhere.ics"));
    let heads: Vec<String> = requests.try_iter().collect();
    assert!(heads[0].starts_with("GET /c/u.ics ") && heads[1].starts_with("PUT /c/u.ics "), "{heads:?}");
    assert!(!heads[1].to_ascii_lowercase().contains("if-none-match"));
}

#[tokio::test]
async fn a_used_up_quota_is_no_missing_permission() {
    let (read, write) = errors(response("403 Forbidden", "", "User Rate Limit Exceeded")).await;
    assert_eq!((read.kind, write.kind), (ErrorKind::RateLimit, ErrorKind::RateLimit), "{read}");
}

#[tokio::test]
async fn what_a_filter_refuses_is_not_connected_to() {
    let (port, requests) = misbehaving(vec![response("200 OK", "", "")], None);
    let filter: fn(IpAddr) -> bool = |address| !address.is_loopback();
    let filtered = |host: &str| {
        let address = format!("http://{host}:{port}/");
        Account { address_filter: Some(filter), ..account(&address, "me") }
    };
    for host in ["127.0.0.1", "[::1]", "0x7f.1"] {
        let error = CalDav::new(&filtered(host)).err().unwrap();
        assert!(error.message.contains("isn't on the public internet"), "{error}");
    }
    let error = CalDav::new(&filtered("localhost")).unwrap().calendars().await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Network);
    assert!(error.message.contains("localhost isn't on the public internet"), "{error}");
    assert_eq!(requests.try_iter().count(), 0);
}
