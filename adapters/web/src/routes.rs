//! The paths, and what each of them takes and gives.

mod connect;
mod passkeys;
mod reading;
mod settings;
mod tables;
mod uploads;
mod workflows;
mod writing;

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use adjutant_l10n::{page, page_login};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{FromRequest, FromRequestParts, Request, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, LOCATION, RETRY_AFTER};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use parking_lot::Mutex;
use tokio::sync::Semaphore;

use crate::assets::{ASSETS, Asset};
use crate::events::{EVERYBODY, Live};
use crate::guard::Guard;
use crate::pages::{Frame, bounce, login, message, offline};
use crate::session::{Fields, form_token, secret, zone};
use crate::views::Viewer;
use crate::{Backend, Cursor, SettingsEditor, Unavailable, Web};

/// The longest body of a form, in bytes.
const MAX_FORM: usize = 128 * 1024;
/// How long a form may take to arrive.
const FORM_PATIENCE: Duration = Duration::from_secs(10);
/// How many wrong codes and passkeys a minute are answered as such; more are told to wait.
const WRONG_CODES: u32 = 20;
/// How many files are taken at once, and how long one may take to arrive.
const UPLOADS: usize = 8;
const UPLOAD_PATIENCE: Duration = Duration::from_mins(2);

/// How often it is looked whether browsers are to be notified.
const NOTIFY: Duration = Duration::from_secs(1);

/// What a request is answered, whichever way it went.
type Answer = Result<Response, Response>;

type Shared = State<Arc<Site>>;

/// What all requests share.
pub(crate) struct Site {
    backend: Arc<dyn Backend>,
    settings: Arc<dyn SettingsEditor>,
    guard: Guard,
    live: Arc<Live>,
    uploads: Semaphore,
    /// When the minute began, and the wrong codes and passkeys since.
    wrong_codes: Mutex<Option<(Instant, u32)>>,
}

/// Who asks, with all that answers need.
pub(crate) struct SignedIn {
    site: Arc<Site>,
    viewer: Viewer,
    secret: String,
    token: String,
}

impl SignedIn {
    fn frame<'a>(&'a self, title: String, path: &'a str) -> Frame<'a> {
        Frame { title, path, viewer: Some(&self.viewer), token: &self.token, live: None }
    }

    /// A frame that follows the viewer's changes from a place on; an owner's, if asked, those of everybody.
    fn live_frame<'a>(&'a self, title: String, path: &'a str, after: Cursor, follows_all: bool) -> Frame<'a> {
        let whose = if follows_all && self.viewer.is_owner { EVERYBODY } else { self.viewer.person.as_str() };
        Frame { live: Some((after.to_string(), whose.to_owned())), ..self.frame(title, path) }
    }
}

impl FromRequestParts<Arc<Site>> for SignedIn {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, site: &Arc<Site>) -> Result<Self, Response> {
        site.signed_in(&parts.headers).await
    }
}

/// A form of ours, and who has sent it.
struct Form(SignedIn, Fields);

impl FromRequest<Arc<Site>> for Form {
    type Rejection = Response;

    async fn from_request(request: Request, site: &Arc<Site>) -> Result<Self, Response> {
        let (parts, body) = request.into_parts();
        let signed_in = site.signed_in(&parts.headers).await?;
        let fields = site.fields(body).await?;
        if fields.get("token") != Some(signed_in.token.as_str()) {
            site.backend.refused("token");
            let text = page::form_out_of_date();
            return Err(answer(&signed_in, StatusCode::FORBIDDEN, page::not_accepted(), &text));
        }
        Ok(Self(signed_in, fields))
    }
}

/// The page's paths, and the task that looks for changes.
pub fn router(
    page: &Web,
    backend: Arc<dyn Backend>,
    settings: Arc<dyn SettingsEditor>,
) -> (Router, impl Future<Output = ()> + Send + use<>) {
    let live = Arc::new(Live::new(backend.clone(), page.drafts.clone()));
    let notifier = backend.clone();
    let guard = Guard::new(page.settings());
    let (uploads, wrong_codes) = (Semaphore::new(UPLOADS), Mutex::default());
    let site = Arc::new(Site { backend, settings, guard, live: live.clone(), uploads, wrong_codes });
    let routes = Router::new()
        .route("/", get(reading::now))
        .route("/talk", get(reading::talk))
        .route("/turn/{turn}", get(reading::turn))
        .route("/details/{execution}", get(reading::details))
        .route("/people", get(reading::people))
        .route("/things", get(tables::things))
        .route("/search", get(tables::search))
        .route("/note", get(tables::note).post(tables::save_note))
        .route("/accounts", get(tables::accounts).post(tables::change_account))
        .route("/connect/back", get(connect::back))
        .route("/connect/{nonce}", get(connect::offered).post(connect::open))
        .route("/system", get(tables::system))
        .route("/settings", get(settings::all).post(settings::change))
        .route("/log/{turn}", get(tables::log))
        .route("/workflows", get(workflows::all))
        .route("/workflows/{name}", get(workflows::one))
        .route("/workflows/{name}/plan", post(workflows::plan))
        .route("/workflows/{name}/run", post(workflows::run))
        .route("/plans", get(workflows::plans).post(workflows::begin_plan))
        .route("/plans/{key}", get(workflows::started))
        .route("/runs/{key}", get(workflows::started))
        .route("/runs/{key}/again", post(workflows::again))
        .route("/file/{message}", get(workflows::file))
        .route("/sent/{file}", get(tables::sent))
        .route("/usage", get(tables::usage))
        .route("/usage.csv", get(tables::csv))
        .route("/act", post(tables::act))
        .route("/events", get(reading::events))
        .route("/sessions", get(reading::sessions).post(writing::end_session))
        .route("/login", get(reading::login_form).post(writing::sign_in))
        .route("/login/passkey", get(passkeys::request).post(passkeys::sign_in))
        .route("/passkeys", get(passkeys::creation).post(passkeys::change))
        .route("/logout", post(writing::sign_out))
        .route("/say", post(writing::say))
        .route("/upload", post(uploads::upload))
        .route("/press", post(writing::press))
        .route("/answer", post(workflows::words))
        .route("/stop", post(writing::stop))
        .route("/repeat", post(writing::repeat))
        .route("/notify", get(writing::push_key).post(writing::notify))
        .route("/offline", get(|| async { Html(offline()) }))
        .fallback(reading::nowhere);
    let routes = ASSETS.into_iter().fold(routes, |routes, one| routes.route(one.0, get(move || asset(one))));
    let routes = routes.layer(from_fn_with_state(site.clone(), guarded)).with_state(site);
    let notify = async move {
        loop {
            notifier.notify().await;
            tokio::time::sleep(NOTIFY).await;
        }
    };
    (routes, async move {
        tokio::select! {
            () = live.look() => {}
            () = notify => {}
        }
    })
}

/// A browser keeps what has the version in its address, and asks for all else each time.
async fn asset((path, kind, content): Asset) -> impl IntoResponse {
    let kept = [(CACHE_CONTROL, "public, max-age=31536000, immutable")];
    ([(CONTENT_TYPE, kind)], path.starts_with("/assets/").then_some(kept), content)
}

/// Refuses what comes from elsewhere, and protects what is answered.
async fn guarded(State(site): State<Arc<Site>>, request: Request, next: Next) -> Response {
    let mut response = match site.guard.refuses(request.method(), request.headers()) {
        None => next.run(request).await,
        Some(reason) => {
            site.backend.refused(reason);
            let status =
                if reason == "host" { StatusCode::MISDIRECTED_REQUEST } else { StatusCode::FORBIDDEN };
            (status, page::unknown_address() + "\n").into_response()
        }
    };
    site.guard.protect(response.headers_mut());
    response.headers_mut().entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

impl Site {
    /// Who asks; without a session, what to answer instead.
    async fn signed_in(self: &Arc<Self>, headers: &HeaderMap) -> Result<SignedIn, Response> {
        let secret = secret(headers, &self.guard).map(str::to_owned);
        let Some(secret) = secret else {
            // A link on another site: the browser keeps the cookie back the first time.
            if headers.get("sec-fetch-site").is_some_and(|site| site == "cross-site") {
                return Err(Html(bounce()).into_response());
            }
            return Err(self.sign_in_first(headers, None));
        };
        match self.backend.viewer(&secret).await {
            Ok(Some(mut viewer)) => {
                viewer.zone = zone(headers);
                Ok(SignedIn { site: self.clone(), viewer, token: form_token(&secret), secret })
            }
            Ok(None) => Err(self.sign_in_first(headers, Some(&page_login::signed_out()))),
            Err(Unavailable) => Err(unavailable()),
        }
    }

    fn sign_in_first(&self, headers: &HeaderMap, why: Option<&str>) -> Response {
        let wants_page = headers.get("accept").is_none_or(|kind| kind.as_bytes().starts_with(b"text/html"));
        match wants_page {
            true => (StatusCode::UNAUTHORIZED, Html(login(why, self.guard.passkeys()))).into_response(),
            false => (StatusCode::UNAUTHORIZED, page::sign_in_first() + "\n").into_response(),
        }
    }

    async fn fields(&self, body: Body) -> Result<Fields, Response> {
        match tokio::time::timeout(FORM_PATIENCE, to_bytes(body, MAX_FORM)).await {
            Ok(Ok(bytes)) => Ok(Fields::of(&bytes)),
            Ok(Err(_)) => {
                self.backend.refused("size");
                Err((StatusCode::PAYLOAD_TOO_LARGE, page::too_long() + "\n").into_response())
            }
            Err(_) => Err((StatusCode::REQUEST_TIMEOUT, page::too_slow() + "\n").into_response()),
        }
    }

    /// Counts a wrong code or passkey; true if there were too many within a minute.
    fn is_guessing(&self) -> bool {
        let mut wrong = self.wrong_codes.lock();
        let minute = wrong.filter(|(since, _)| since.elapsed() < Duration::from_mins(1));
        let (since, count) = minute.unwrap_or((Instant::now(), 0));
        *wrong = Some((since, count.saturating_add(1)));
        count >= WRONG_CODES
    }
}

/// A page that says one thing.
fn answer(signed_in: &SignedIn, status: StatusCode, title: String, text: &str) -> Response {
    (status, Html(message(&signed_in.frame(title, ""), text))).into_response()
}

fn missing(signed_in: &SignedIn) -> Response {
    answer(signed_in, StatusCode::NOT_FOUND, page::not_found(), &page::nothing_here())
}

/// After something was done, on to this page; or why it wasn't.
fn done(signed_in: &SignedIn, refused: Option<String>, to: &str, title: fn() -> String) -> Response {
    refused.map_or_else(|| see(to), |why| answer(signed_in, StatusCode::CONFLICT, title(), &why))
}

/// To a form whose text is missing, or has more characters than this.
fn not_a_text(signed_in: &SignedIn, max: usize) -> Response {
    let text = page::write_something(max);
    answer(signed_in, StatusCode::UNPROCESSABLE_ENTITY, page::not_accepted(), &text)
}

fn unavailable() -> Response {
    let text = page::unavailable() + "\n";
    (StatusCode::SERVICE_UNAVAILABLE, [(RETRY_AFTER, "2")], text).into_response()
}

/// The header with which a file is saved under its name.
fn saved_as(name: &str) -> String {
    let is_harmless = |one: &char| one.is_ascii_alphanumeric() || "._-".contains(*one);
    format!("attachment; filename=\"{}\"", name.chars().filter(is_harmless).collect::<String>())
}

fn see(path: &str) -> Response {
    (StatusCode::SEE_OTHER, [(LOCATION, path.to_owned())]).into_response()
}
