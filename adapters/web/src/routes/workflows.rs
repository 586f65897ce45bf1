//! Workflows, plans, their runs, answers in words, and files.

use adjutant_l10n::{page, page_plans, page_workflows};
use axum::extract::Path;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::http::{StatusCode, Uri};
use axum::response::{Html, IntoResponse, Response};

use super::{Answer, Form, SignedIn, answer, done, missing, not_a_text, saved_as, see};
use crate::session::{Fields, is_once};
use crate::views::{Planned, Started};
use crate::{Given, pages};

/// The longest answer in words, in characters.
const MAX_LENGTH: usize = 4_000;

/// The inputs of a form, without those that were left empty.
fn given(fields: &Fields) -> Given {
    let input = |(name, value): (&str, &str)| {
        let value = value.replace("\r\n", "\n");
        Some((name.strip_prefix("in.")?.to_owned(), value)).filter(|(_, value)| !value.trim().is_empty())
    };
    fields.all().filter_map(input).collect()
}

pub(super) async fn all(who: SignedIn) -> Answer {
    let after = who.site.backend.latest().await?;
    let all = who.site.backend.workflows(&who.viewer).await?;
    let frame = who.live_frame(page::workflows(), "/workflows", after, true);
    Ok(Html(pages::workflows(&frame, &all)).into_response())
}

pub(super) async fn one(Path(name): Path<String>, who: SignedIn) -> Answer {
    who.form_of(&name, &Given::new(), None).await
}

pub(super) async fn plan(Path(name): Path<String>, Form(who, fields): Form) -> Answer {
    let given = given(&fields);
    let planned = who.site.backend.plan(&who.viewer, &name, &given).await?.ok_or_else(|| missing(&who))?;
    who.form_of(&name, &given, Some(&planned)).await
}

pub(super) async fn run(Path(name): Path<String>, Form(who, fields): Form) -> Answer {
    let once = once_of(&fields).ok_or_else(|| out_of_date(&who))?;
    let given = given(&fields);
    let asked = who.site.backend.run(&who.viewer, &once, &name, &given).await?;
    match asked.ok_or_else(|| missing(&who))? {
        Planned::Asked => Ok(see(&format!("/runs/{once}"))),
        planned => who.form_of(&name, &given, Some(&planned)).await,
    }
}

pub(super) async fn again(Path(key): Path<String>, Form(who, fields): Form) -> Answer {
    let once = once_of(&fields).ok_or_else(|| out_of_date(&who))?;
    let from = fields.get("from").unwrap_or_default();
    match who.site.backend.rerun(&who.viewer, &once, &key, from).await? {
        true => Ok(see(&format!("/runs/{once}"))),
        false => Err(missing(&who)),
    }
}

/// A run or a plan, by its own name or by the name of the request for it.
pub(super) async fn started(Path(key): Path<String>, uri: Uri, who: SignedIn) -> Answer {
    let after = who.site.backend.latest().await?;
    let it = who.site.backend.started(&who.viewer, &key).await?.ok_or_else(|| missing(&who))?;
    let person = match &it {
        Started::Waiting => who.viewer.person.clone(),
        Started::Turn(turn) => turn.person.clone(),
        Started::Run(run) => run.turn.person.clone(),
        Started::Plan(plan) => plan.turn.person.clone(),
    };
    // Later, it is known by its own name only.
    let address = match &it {
        Started::Run(run) => format!("/runs/{}", run.key),
        Started::Plan(plan) => format!("/plans/{}", plan.key),
        Started::Waiting | Started::Turn(_) => uri.path().to_owned(),
    };
    if address != uri.path() {
        return Ok(see(&address));
    }
    let (title, path) = match address.starts_with("/plans/") {
        true => (page_plans::plan(), "/plans"),
        false => (page_workflows::run(), "/workflows"),
    };
    let mut frame = who.frame(title, path);
    frame.live = Some((after.to_string(), person));
    Ok(Html(pages::started(&frame, &address, &it)).into_response())
}

pub(super) async fn file(Path(message): Path<String>, who: SignedIn) -> Answer {
    let file = who.site.backend.file(&who.viewer, &message).await?.ok_or_else(|| missing(&who))?;
    let kind = (CONTENT_TYPE, "text/plain; charset=utf-8".to_owned());
    Ok(([kind, (CONTENT_DISPOSITION, saved_as(&file.name))], file.text).into_response())
}

pub(super) async fn plans(who: SignedIn) -> Answer {
    let after = who.site.backend.latest().await?;
    let all = who.site.backend.plans(&who.viewer).await?;
    let frame = who.live_frame(page::plans(), "/plans", after, true);
    Ok(Html(pages::plans(&frame, &all, None)).into_response())
}

pub(super) async fn begin_plan(Form(who, fields): Form) -> Answer {
    let once = once_of(&fields).ok_or_else(|| out_of_date(&who))?;
    let goal = fields.get("goal").unwrap_or_default().replace("\r\n", "\n");
    let Some(problem) = who.site.backend.begin_plan(&who.viewer, &once, &goal).await? else {
        return Ok(see(&format!("/plans/{once}")));
    };
    let all = who.site.backend.plans(&who.viewer).await?;
    let html = pages::plans(&who.frame(page::plans(), "/plans"), &all, Some((goal.as_str(), &problem)));
    Err((StatusCode::UNPROCESSABLE_ENTITY, Html(html)).into_response())
}

/// What was typed into the field of a question.
pub(super) async fn words(Form(who, fields): Form) -> Answer {
    let once = once_of(&fields).ok_or_else(|| out_of_date(&who))?;
    let words = fields.get("words").unwrap_or_default().trim().replace("\r\n", "\n");
    let question = fields.get("question").unwrap_or_default();
    if words.is_empty() || words.chars().count() > MAX_LENGTH {
        return Err(not_a_text(&who, MAX_LENGTH));
    }
    let refused = who.site.backend.answer(&who.viewer, &once, question, &words).await?;
    Ok(done(&who, refused, "/talk", page::not_accepted))
}

/// What makes a request one request, if the form has it.
fn once_of(fields: &Fields) -> Option<String> {
    fields.get("once").filter(|once| is_once(once)).map(str::to_owned)
}

fn out_of_date(signed_in: &SignedIn) -> Response {
    let text = page::form_out_of_date();
    answer(signed_in, StatusCode::UNPROCESSABLE_ENTITY, page::not_accepted(), &text)
}

impl SignedIn {
    async fn form_of(&self, name: &str, given: &Given, planned: Option<&Planned>) -> Answer {
        let page = self.site.backend.workflow(&self.viewer, name, given).await?;
        let page = page.ok_or_else(|| missing(self))?;
        let status = match planned {
            Some(Planned::Problems(_)) => StatusCode::UNPROCESSABLE_ENTITY,
            _ => StatusCode::OK,
        };
        let html = pages::workflow(&self.frame(page_workflows::workflow(), "/workflows"), &page, planned);
        Ok((status, Html(html)).into_response())
    }
}
