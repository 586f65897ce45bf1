//! Tables, usage, and the person's accounts.

use adjutant_chat::sanitized;
use adjutant_l10n::{page, page_accounts, page_tables, page_talk};
use axum::extract::{Path, RawQuery};
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{Html, IntoResponse};

use super::reading::query;
use super::{Answer, Form, SignedIn, done, missing, saved_as};
use crate::pages::{self, MAX_QUERY};
use crate::views::{AccountChange, Note, PageAction};

pub(super) async fn things(who: SignedIn) -> Answer {
    let after = who.site.backend.latest().await?;
    let tables = who.site.backend.things(&who.viewer).await?;
    let frame = who.live_frame(page::yours(), "/things", after, false);
    Ok(Html(pages::tables(&frame, &tables)).into_response())
}

pub(super) async fn search(RawQuery(asked): RawQuery, who: SignedIn) -> Answer {
    let asked = query(asked);
    let words: String = asked.get("q").unwrap_or_default().trim().chars().take(MAX_QUERY).collect();
    let found = match words.as_str() {
        "" => Vec::new(),
        words => who.site.backend.search(&who.viewer, words).await?,
    };
    Ok(Html(pages::search(&who.frame(page::search(), "/search"), &words, &found)).into_response())
}

pub(super) async fn note(RawQuery(asked): RawQuery, who: SignedIn) -> Answer {
    let asked = query(asked);
    let note = who.site.backend.note(&who.viewer, asked.get("path").unwrap_or_default()).await?;
    let note = note.ok_or_else(|| missing(&who))?;
    Ok(Html(pages::note(&who.frame(note.path.clone(), "/things"), &note)).into_response())
}

pub(super) async fn save_note(Form(who, fields): Form) -> Answer {
    let [path, text, version] = ["path", "text", "version"].map(|name| fields.get(name).unwrap_or_default());
    let now = who.site.backend.note(&who.viewer, path).await?.ok_or_else(|| missing(&who))?;
    if sanitized(&now.text) != now.text.replace("\r\n", "\n") {
        return Ok(done(&who, Some(page_tables::not_shown_whole()), "", page::not_accepted));
    }
    // A browser sends other ends of lines than most notes have.
    let (path, text, version) = (path.to_owned(), text.replace("\r\n", "\n"), version.to_owned());
    let to = Note::address(&path);
    let refused = who.site.backend.save_note(&who.viewer, Note { path, text, version }).await?;
    Ok(done(&who, refused, &to, page::not_accepted))
}

pub(super) async fn system(who: SignedIn) -> Answer {
    let after = who.site.backend.latest().await?;
    let tables = who.site.backend.system(&who.viewer).await?.ok_or_else(|| missing(&who))?;
    let frame = who.live_frame(page::system(), "/system", after, true);
    Ok(Html(pages::tables(&frame, &tables)).into_response())
}

pub(super) async fn log(Path(turn): Path<String>, who: SignedIn) -> Answer {
    let lines = who.site.backend.log(&who.viewer, &turn).await?.ok_or_else(|| missing(&who))?;
    Ok(Html(pages::log(&who.frame(page_talk::log(), "/system"), &turn, &lines)).into_response())
}

pub(super) async fn usage(who: SignedIn) -> Answer {
    let usage = who.site.backend.usage(&who.viewer).await?;
    Ok(Html(pages::usage(&who.frame(page::usage(), "/usage"), &usage)).into_response())
}

pub(super) async fn csv(who: SignedIn) -> Answer {
    let usage = who.site.backend.usage(&who.viewer).await?;
    let kind = (CONTENT_TYPE, "text/csv; charset=utf-8");
    let name = (CONTENT_DISPOSITION, "attachment; filename=\"adjutant-usage.csv\"");
    Ok(([kind, name], pages::csv(&usage)).into_response())
}

/// A file that the viewer sent. It is saved, and never shown, whatever is in it.
pub(super) async fn sent(Path(file): Path<String>, who: SignedIn) -> Answer {
    let found = who.site.backend.sent(&who.viewer, &file).await?;
    let (name, content) = found.ok_or_else(|| missing(&who))?;
    let kind = (CONTENT_TYPE, "application/octet-stream".to_owned());
    Ok(([kind, (CONTENT_DISPOSITION, saved_as(&name))], content).into_response())
}

pub(super) async fn act(Form(who, fields): Form) -> Answer {
    let act = fields.get("act").and_then(PageAction::named).ok_or_else(|| missing(&who))?;
    let texts: Vec<&str> = fields.all().filter(|(name, _)| *name == "text").map(|(_, text)| text).collect();
    let key = fields.get("key").unwrap_or_default();
    let is_done = who.site.backend.act(&who.viewer, act, key, &texts).await?;
    let back = ["/system", "/plans"].into_iter().find(|back| fields.get("back") == Some(back));
    let is_watch = matches!(act, PageAction::WatchMail | PageAction::WatchMeetings);
    let refused = (!is_done).then(if is_watch { page_tables::no_watch } else { page::row_has_changed });
    Ok(done(&who, refused, back.unwrap_or("/things"), page::not_done))
}

pub(super) async fn accounts(who: SignedIn) -> Answer {
    let accounts = who.site.backend.accounts(&who.viewer).await?;
    let frame = who.frame(page_accounts::title(), "/accounts");
    Ok(Html(pages::accounts(&frame, &accounts)).into_response())
}

pub(super) async fn change_account(Form(who, fields): Form) -> Answer {
    let text = fields.get("text").unwrap_or_default();
    let change = match fields.get("change").unwrap_or_default() {
        "rename" => AccountChange::Rename(text.trim().to_owned()),
        "mail" => AccountChange::MailDefault,
        "events" => AccountChange::EventsDefault,
        "busy" => {
            let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
            AccountChange::Busy(names.map(str::to_owned).collect())
        }
        _ => return Err(missing(&who)),
    };
    let key = fields.get("key").unwrap_or_default();
    let refused = who.site.backend.change_account(&who.viewer, key, change).await?;
    Ok(done(&who, refused, "/accounts", page::not_accepted))
}
