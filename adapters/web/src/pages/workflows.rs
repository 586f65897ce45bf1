//! Workflows: the list, the form that runs one, and a run on its drawing.

use adjutant_chat::sanitized;
use adjutant_l10n::{page, page_plans, page_talk, page_workflows};
use maud::{Markup, html};

use super::Frame;
use super::layout::{badge, figures, moment, token};
use super::plans::plan;
use super::talk::{said, turn};
use crate::markdown::{markdown, plain};
use crate::session::once;
use crate::views::{
    Drawing, DrawnStep, Field, FieldKind, Planned, Run, RunLine, RunStep, Said, Started, Turn, WorkflowPage,
    Workflows,
};

pub(crate) fn workflows(frame: &Frame<'_>, all: &Workflows) -> String {
    frame.page(&html! {
        h1.small { (page::workflows()) }
        @if all.workflows.is_empty() { p.empty { (page_workflows::none()) } }
        ul.plain {
            @for one in &all.workflows {
                li { a href={ "/workflows/" (sanitized(&one.name)) } { (plain(&one.name)) } div.about { (plain(&one.about)) } }
            }
        }
        h2 { (page_workflows::what_ran()) }
        div #live data-whole="yes" {
            @if all.runs.is_empty() { p.empty { (page_workflows::no_runs()) } }
            ul.plain { @for one in &all.runs { (run_line(one)) } }
        }
    })
}

fn run_line(run: &RunLine) -> Markup {
    html! {
        li id={ "run-" (run.key) } {
            (badge(run.badge)) " " a href={ "/runs/" (run.key) } { (plain(&run.workflow)) } " " (moment(&run.at))
            @if let Some(by) = &run.by { " " (plain(&page::for_person(by))) }
            " " (figures(std::slice::from_ref(&run.lasted)))
        }
    }
}

/// A workflow, with the form that runs it and what came of its last use.
pub(crate) fn workflow(frame: &Frame<'_>, it: &WorkflowPage, planned: Option<&Planned>) -> String {
    frame.page(&html! {
        p { a href="/workflows" { (page_workflows::all()) } }
        h1 { (plain(&it.name)) }
        p { (plain(&it.about)) }
        (drawn(&it.drawing))
        details { summary { (page_workflows::in_words()) } p.verbatim { (plain(&it.explained)) } }
        @match planned {
            Some(Planned::Problems(all)) => div.error role="alert" { @for one in all { p { (plain(one)) } } },
            Some(Planned::Plan(text)) => section aria-labelledby="plan" {
                h2 #plan { (page_workflows::would_happen()) }
                pre tabindex="0" { (plain(text)) }
            },
            Some(Planned::Asked) | None => {},
        }
        form.fields method="post" action={ "/workflows/" (sanitized(&it.name)) "/run" } {
            h2 { (page_workflows::run_it()) }
            (token(frame.token))
            input type="hidden" name="once" value=(once());
            @for (number, one) in it.fields.iter().enumerate() { (field(number, one)) }
            button type="submit" { (page_workflows::run()) }
            button.quiet type="submit" formaction={ "/workflows/" (sanitized(&it.name)) "/plan" } {
                (page_workflows::dry_run())
            }
        }
    })
}

fn field(number: usize, field: &Field) -> Markup {
    let (id, name) = (format!("in-{number}"), format!("in.{}", sanitized(&field.name)));
    let required = field.is_required;
    html! {
        p.field {
            label for=(id) {
                b { (plain(&field.name)) } @if !required { " " (page_workflows::optional()) }
                @if !field.about.is_empty() { ": " (plain(&field.about)) }
            }
            @match field.kind {
                FieldKind::Text => textarea id=(id) name=(name) rows="2" required[required] { (plain(&field.value)) },
                FieldKind::Line => input id=(id) name=(name) type="text" required[required] value=(sanitized(&field.value));,
                FieldKind::Number => input id=(id) name=(name) type="number" step="any" required[required] value=(sanitized(&field.value));,
                FieldKind::YesNo => select id=(id) name=(name) required[required] {
                    @let words = [("", String::new()), ("true", page_workflows::yes()), ("false", page_workflows::no())];
                    @for (value, word) in words {
                        option value=(value) selected[value == field.value] { (word) }
                    }
                },
            }
        }
    }
}

/// A graph, with how its steps stand.
pub(super) fn drawn(drawing: &Drawing) -> Markup {
    let (width, height) = drawing.size;
    html! {
        div.wide.graph #drawing tabindex="0" role="region" aria-label=(page_workflows::drawing()) {
            svg.drawing viewBox={ "0 0 " (width) " " (height) } width=(width) height=(height) aria-hidden="true" {
                defs {
                    marker #end viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto" {
                        path.head d="M0 0L8 4L0 8z" {}
                    }
                }
                @for arrow in &drawing.arrows {
                    path.arrow d=(arrow.path) marker-end="url(#end)" {}
                    @if let Some((x, y, label)) = &arrow.label {
                        text.label x=(x) y=(y) text-anchor="middle" { (plain(label)) }
                    }
                }
                @for step in &drawing.steps { (boxed(step, drawing.line)) }
            }
        }
    }
}

fn boxed(step: &DrawnStep, line: usize) -> Markup {
    let ((x, y), (width, height)) = (step.place, step.size);
    let class = step.state.as_ref().map_or("step", |(badge, _)| badge.look().2);
    let row = |at: usize| y + line * (at + 1) + 2;
    html! {
        g class=(class) {
            rect x=(x) y=(y) width=(width) height=(height) rx=(step.radius) {}
            @for (at, text) in step.texts.iter().enumerate() {
                text class=[(at == 0).then_some("name")] x=(x + 12) y=(row(at)) { (plain(text)) }
            }
            @if let Some((badge, lasted)) = &step.state {
                text.state x=(x + 12) y=(row(step.texts.len())) {
                    (badge.look().1) " " (badge.look().0) @if !lasted.is_empty() { " · " (plain(lasted)) }
                }
            }
            title { (plain(&step.whole)) }
        }
    }
}

/// A run or a plan, or what the request for it has led to so far.
pub(crate) fn started(frame: &Frame<'_>, here: &str, it: &Started) -> String {
    let all = if frame.path == "/plans" { page_plans::all() } else { page_workflows::all() };
    frame.page(&html! {
        p { a href=(frame.path) { (all) } }
        div #live data-whole="yes" {
            @match it {
                Started::Waiting => {
                    h1.small { (page_workflows::starting()) }
                    p {
                        (page_workflows::begins_soon()) " "
                        a href=(sanitized(here)) { (page_workflows::look_again()) }
                    }
                },
                Started::Turn(it) => { h1.small { (page_talk::request()) } (turn(it, frame.token)) },
                Started::Run(run) => (a_run(frame, run)),
                Started::Plan(it) => (plan(frame, it)),
            }
        }
    })
}

fn a_run(frame: &Frame<'_>, run: &Run) -> Markup {
    html! {
        h1 { (plain(&run.workflow)) }
        p { (badge(run.badge)) " " (moment(&run.at)) " " (figures(&run.figures)) }
        @for one in &run.warnings { p.error { (plain(one)) } }
        // What waits stands first, and not once more in the request.
        @let (open, settled): (Vec<Said>, Vec<Said>) =
            run.turn.replies.iter().cloned().partition(Said::is_question);
        @for question in &open { (said(question, frame.token)) }
        @if !run.inputs.is_empty() {
            dl.inputs { @for (name, value) in &run.inputs { dt { (plain(name)) } dd { (plain(value)) } } }
        }
        @if !run.drawing.steps.is_empty() { (drawn(&run.drawing)) }
        @if !run.output.is_empty() {
            h2 { (page_workflows::output()) }
            div.said.assistant { div.text { (markdown(&run.output)) } }
        }
        @if !run.steps.is_empty() {
            h2 { (page_workflows::steps()) }
            ul.plain.steps { @for step in &run.steps { (a_step(frame, run, step)) } }
        }
        details.request #request-of open[run.turn.is_open] {
            summary { (page_talk::request()) }
            (turn(&Turn { replies: settled, ..run.turn.clone() }, frame.token))
        }
        @if run.is_known {
            p { a href={ "/workflows/" (sanitized(&run.workflow)) } { (page_workflows::run_with_other_inputs()) } }
        }
    }
}

fn a_step(frame: &Frame<'_>, run: &Run, step: &RunStep) -> Markup {
    html! {
        li {
            (badge(step.badge)) " " b { (plain(&step.name)) } " " span.about { (plain(&step.by)) } " " (figures(&step.notes))
            @if run.again.contains(&step.name) {
                form.inline method="post" action={ "/runs/" (run.key) "/again" } {
                    (token(frame.token))
                    input type="hidden" name="once" value=(once());
                    " "
                    button.quiet type="submit" name="from" value=(sanitized(&step.name)) {
                        (page_workflows::run_again_from())
                    }
                }
            }
        }
    }
}
