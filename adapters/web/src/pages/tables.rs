//! Tables: a person's things, and the system.

use adjutant_chat::sanitized;
use adjutant_l10n::page_tables;
use maud::{Markup, html};

use super::Frame;
use super::layout::{moment, token};
use crate::markdown::{markdown, plain};
use crate::views::{Cell, LogLine, PageAction, Table, TableRow};

/// A page of tables.
pub(crate) fn tables(frame: &Frame<'_>, tables: &[Table]) -> String {
    frame.page(&html! {
        h1.small { (plain(&frame.title)) }
        @for table in tables {
            section {
                h2 { (table.title) }
                @if table.rows.is_empty() { p.empty { (table.empty) } } @else { (one(frame, table)) }
            }
        }
    })
}

/// What this process logged for a turn.
pub(crate) fn log(frame: &Frame<'_>, turn: &str, lines: &[LogLine]) -> String {
    frame.page(&html! {
        h1.small { (page_tables::log_of_request()) }
        p { a href={ "/turn/" (sanitized(turn)) } { (page_tables::the_request()) } }
        @if lines.is_empty() {
            div.empty { (markdown(&page_tables::no_lines())) }
        } @else {
            ol.log {
                @for line in lines {
                    li class=(line.level.to_lowercase()) {
                        (moment(&line.at)) " " b { (line.level) } " " code { (plain(&line.text)) }
                    }
                }
            }
        }
    })
}

fn one(frame: &Frame<'_>, table: &Table) -> Markup {
    let has_acts = table.rows.iter().any(|row| row.act.is_some());
    html! {
        div.wide tabindex="0" role="region" aria-label=(table.title) {
            table {
                thead {
                    tr {
                        @for column in &table.columns { th scope="col" { (column) } }
                        @if has_acts { th scope="col" { span.hidden { (page_tables::actions()) } } }
                    }
                }
                tbody { @for row in &table.rows { (line(frame, row, has_acts)) } }
            }
        }
    }
}

fn line(frame: &Frame<'_>, row: &TableRow, has_acts: bool) -> Markup {
    html! {
        tr {
            @for cell in &row.cells {
                td {
                    @match cell {
                        Cell::Text(text) => (plain(text)),
                        Cell::Time(at) => (moment(at)),
                        Cell::Link(text, to) => a href=(sanitized(to)) { (plain(text)) },
                    }
                }
            }
            @if has_acts {
                td {
                    @if let Some((act, key)) = &row.act { (button(frame, *act, key)) }
                }
            }
        }
    }
}

/// The button that does something with a row; what can't be undone asks once more.
pub(super) fn button(frame: &Frame<'_>, act: PageAction, key: &str) -> Markup {
    let form = html! {
        form.inline method="post" action="/act" {
            (token(frame.token))
            input type="hidden" name="act" value=(act.name());
            input type="hidden" name="back" value=(frame.path);
            button.quiet type="submit" name="key" value=(key) {
                @if act.is_final() { (page_tables::delete_for_good()) } @else { (act.label()) }
            }
        }
    };
    html! { @if act.is_final() { details { summary { (act.label()) } (form) } } @else { (form) } }
}
