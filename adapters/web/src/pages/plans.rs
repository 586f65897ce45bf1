//! Plans: the list, the form that begins one, and a plan from its question to its report.

use adjutant_l10n::{page, page_plans, page_talk, page_workflows, plans};
use maud::{Markup, html};

use super::Frame;
use super::layout::{badge, figures, moment, token};
use super::tables::button;
use super::talk::{answers, said, turn};
use super::workflows::drawn;
use crate::markdown::{markdown, plain};
use crate::session::once;
use crate::views::{Plan, PlanLine, PlanStep, Said, Turn};

/// The plans, and the form that begins one; with what was wrong with what was filled in.
pub(crate) fn plans(frame: &Frame<'_>, all: &[PlanLine], filled: Option<(&str, &str)>) -> String {
    let (goal, problem) = filled.unwrap_or_default();
    frame.page(&html! {
        h1.small { (page::plans()) }
        form.fields method="post" action="/plans" {
            (token(frame.token))
            input type="hidden" name="once" value=(once());
            @if !problem.is_empty() { div.error role="alert" { p { (plain(problem)) } } }
            p.field {
                label for="goal" { b { (page_plans::goal()) } ": " (page_plans::goal_hint()) }
                textarea #goal name="goal" rows="3" required maxlength="4000" { (plain(goal)) }
            }
            button type="submit" { (page_plans::make()) }
        }
        h2 { (page_plans::so_far()) }
        div #live data-whole="yes" {
            @if all.is_empty() { p.empty { (page_plans::none()) } }
            ul.plain { @for one in all { (line(frame, one)) } }
        }
    })
}

fn line(frame: &Frame<'_>, plan: &PlanLine) -> Markup {
    html! {
        li id={ "plan-" (plan.key) } {
            (badge(plan.badge)) " " a href={ "/plans/" (plan.key) } { (plain(&plan.goal)) } " " (moment(&plan.at))
            @if let Some(by) = &plan.by { " " (plain(&page::for_person(by))) }
            @if let Some(act) = plan.act { " " (button(frame, act, &plan.key)) }
        }
    }
}

pub(super) fn plan(frame: &Frame<'_>, plan: &Plan) -> Markup {
    html! {
        h1.small { (page_plans::plan()) }
        p.verbatim { (plain(&plan.goal)) }
        p {
            (badge(plan.badge)) " " (moment(&plan.at))
            @if plan.version > 1 { " " span.figures { (page_plans::version(plan.version)) } }
        }
        @if !plan.note.is_empty() { p { (plan.note) } }
        @for one in &plan.warnings { p.error { (plain(one)) } }
        (questions(frame, plan))
        @if !plan.drawing.steps.is_empty() { (drawn(&plan.drawing)) }
        @if !plan.output.is_empty() {
            h2 { (page_workflows::output()) }
            div.said.assistant { div.text { (markdown(&plan.output)) } }
        }
        @if !plan.steps.is_empty() {
            h2 { (page_workflows::steps()) }
            ol.plan { @for one in &plan.steps { (step(one)) } }
        }
        (list(&plans::uncertain(), &plan.uncertain))
        (list(&plans::will_ask(), &plan.will_ask))
        @if !plan.forecast.is_empty() || !plan.spent.is_empty() {
            h2 { (page_plans::what_it_takes()) }
            @if !plan.forecast.is_empty() { p { (plain(&plan.forecast)) } }
            @if !plan.spent.is_empty() {
                @let spent = plan.spent.join(", ");
                p {
                    @if plan.turn.is_open { (plain(&page_plans::spent_so_far(spent))) }
                    @else { (plain(&page_plans::spent_in_all(spent))) }
                }
            }
        }
        // What waits stands above, and not once more here.
        @let settled = plan.turn.replies.iter().filter(|reply| !plan.questions.iter().any(|open| open.key == reply.key));
        details.request #request-of open[plan.turn.is_open] {
            summary { (page_talk::request()) }
            (turn(&Turn { replies: settled.cloned().collect(), ..plan.turn.clone() }, frame.token))
        }
    }
}

/// What it asks now. The plan's own question isn't repeated in words: the page shows the plan.
fn questions(frame: &Frame<'_>, plan: &Plan) -> Markup {
    let is_about_plan = |one: &&Said| one.plan().is_some_and(|key| key == plan.key);
    html! {
        @for question in &plan.questions {
            @if is_about_plan(&question) {
                div.said.assistant id={ "m-" (question.key) } {
                    p.by id={ "t-" (question.key) } { b { (page_plans::shall_it_run()) } " " (moment(&question.at)) }
                    (answers(question, frame.token))
                }
            } @else { (said(question, frame.token)) }
        }
    }
}

fn step(step: &PlanStep) -> Markup {
    html! {
        li {
            @if let Some(one) = step.badge { (badge(one)) " " }
            b { (plain(&step.name)) } " " span.about { (plain(&step.role)) } " " (figures(&step.notes))
            p { (plain(&step.task)) }
            p.about { (plain(&plans::done_when(&step.criteria))) }
            @if let Some(verdict) = &step.verdict { p.about { (plain(&page_plans::review(verdict))) } }
        }
    }
}

fn list(title: &str, lines: &[String]) -> Markup {
    html! {
        @if !lines.is_empty() {
            h2 { (title) }
            ul { @for one in lines { li { (plain(one)) } } }
        }
    }
}
