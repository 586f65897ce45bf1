//! Tables, usage, and the person's accounts.

use adjutant_chat::sanitized;
use adjutant_l10n::{page, page_accounts, page_tables, page_talk};
use axum::extract::{Path, RawQuery, State};
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{Html, IntoResponse};

use super::reading::query;
use super::{Answer, Form, Shared, SignedIn, done, missing, saved_as};
use crate::pages::{self, MAX_QUERY};
use crate::views::{AccountChange, Note, PageAction};

pub(super) async fn things(State(site): Shared, signed_in: SignedIn) -> Answer {
    let after = site.backend.latest().await?;
    let tables = site.backend.things(&signed_in.viewer).await?;
    let frame = signed_in.live_frame(page::yours(), "/things", after, false);
    Ok(Html(pages::tables(&frame, &tables)).into_response())
}

pub(super) async fn search(State(site): Shared, RawQuery(asked): RawQuery, signed_in: SignedIn) -> Answer {
    let asked = query(asked);
    let words: String = asked.get("q").unwrap_or_default().trim().chars().take(MAX_QUERY).collect();
    let found = match words.as_str() {
        "" => Vec::new(),
        words => site.backend.search(&signed_in.viewer, words).await?,
    };
    Ok(Html(pages::search(&signed_in.frame(page::search(), "/search"), &words, &found)).into_response())
}

pub(super) async fn note(State(site): Shared, RawQuery(asked): RawQuery, signed_in: SignedIn) -> Answer {
    let asked = query(asked);
    let note = site.backend.note(&signed_in.viewer, asked.get("path").unwrap_or_default()).await?;
    let note = note.ok_or_else(|| missing(&signed_in))?;
    Ok(Html(pages::note(&signed_in.frame(note.path.clone(), "/things"), &note)).into_response())
}

pub(super) async fn save_note(State(site): Shared, Form(signed_in, fields): Form) -> Answer {
    let [path, text, version] = ["path", "text", "version"].map(|name| fields.get(name).unwrap_or_default());
    let now = site.backend.note(&signed_in.viewer, path).await?.ok_or_else(|| missing(&signed_in))?;
    if sanitized(&now.text) != now.text.replace("\r\n", "\n") {
        return Ok(done(&signed_in, Some(page_tables::not_shown_whole()), "", page::not_accepted));
    }
    // A browser sends other ends of lines than most notes have.
    let (path, text, version) = (path.to_owned(), text.replace("\r\n", "\n"), version.to_owned());
    let to = Note::address(&path);
    let refused = site.backend.save_note(&signed_in.viewer, Note { path, text, version }).await?;
    Ok(done(&signed_in, refused, &to, page::not_accepted))
}

pub(super) async fn system(State(site): Shared, signed_in: SignedIn) -> Answer {
    let after = site.backend.latest().await?;
    let tables = site.backend.system(&signed_in.viewer).await?;
    let tables = tables.ok_or_else(|| missing(&signed_in))?;
    let frame = signed_in.live_frame(page::system(), "/system", after, true);
    Ok(Html(pages::tables(&frame, &tables)).into_response())
}

pub(super) async fn log(State(site): Shared, Path(turn): Path<String>, signed_in: SignedIn) -> Answer {
    let lines = site.backend.log(&signed_in.viewer, &turn).await?;
    let lines = lines.ok_or_else(|| missing(&signed_in))?;
    Ok(Html(pages::log(&signed_in.frame(page_talk::log(), "/system"), &turn, &lines)).into_response())
}

pub(super) async fn usage(State(site): Shared, signed_in: SignedIn) -> Answer {
    let usage = site.backend.usage(&signed_in.viewer).await?;
    Ok(Html(pages::usage(&signed_in.frame(page::usage(), "/usage"), &usage)).into_response())
}

pub(super) async fn csv(State(site): Shared, signed_in: SignedIn) -> Answer {
    let usage = site.backend.usage(&signed_in.viewer).await?;
    let kind = (CONTENT_TYPE, "text/csv; charset=utf-8");
    let name = (CONTENT_DISPOSITION, "attachment; filename=\"adjutant-usage.csv\"");
    Ok(([kind, name], pages::csv(&usage)).into_response())
}

/// A file that the viewer sent. It is saved, and never shown, whatever is in it.
pub(super) async fn sent(State(site): Shared, Path(file): Path<String>, signed_in: SignedIn) -> Answer {
    let found = site.backend.sent(&signed_in.viewer, &file).await?;
    let (name, content) = found.ok_or_else(|| missing(&signed_in))?;
    let kind = (CONTENT_TYPE, "application/octet-stream".to_owned());
    Ok(([kind, (CONTENT_DISPOSITION, saved_as(&name))], content).into_response())
}

pub(super) async fn act(State(site): Shared, Form(signed_in, fields): Form) -> Answer {
    let act = fields.get("act").and_then(PageAction::named).ok_or_else(|| missing(&signed_in))?;
    let texts: Vec<&str> = fields.all().filter(|(name, _)| *name == "text").map(|(_, text)| text).collect();
    let key = fields.get("key").unwrap_or_default();
    let is_done = site.backend.act(&signed_in.viewer, act, key, &texts).await?;
    let back = ["/system", "/plans"].into_iter().find(|back| fields.get("back") == Some(back));
    let is_watch = matches!(act, PageAction::WatchMail | PageAction::WatchMeetings);
    let refused = (!is_done).then(if is_watch { page_tables::no_watch } else { page::row_has_changed });
    Ok(done(&signed_in, refused, back.unwrap_or("/things"), page::not_done))
}

pub(super) async fn accounts(State(site): Shared, signed_in: SignedIn) -> Answer {
    let accounts = site.backend.accounts(&signed_in.viewer).await?;
    let frame = signed_in.frame(page_accounts::title(), "/accounts");
    Ok(Html(pages::accounts(&frame, &accounts)).into_response())
}

pub(super) async fn change_account(State(site): Shared, Form(signed_in, fields): Form) -> Answer {
    let text = fields.get("text").unwrap_or_default();
    let change = match fields.get("change").unwrap_or_default() {
        "rename" => AccountChange::Rename(text.trim().to_owned()),
        "mail" => AccountChange::MailDefault,
        "events" => AccountChange::EventsDefault,
        "busy" => {
            let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
            AccountChange::Busy(names.map(str::to_owned).collect())
        }
        _ => return Err(missing(&signed_in)),
    };
    let key = fields.get("key").unwrap_or_default();
    let refused = site.backend.change_account(&signed_in.viewer, key, change).await?;
    Ok(done(&signed_in, refused, "/accounts", page::not_accepted))
}
