//! The turns that wait for the person: what they asked for, what waits for their answer, what is done, and what isn't.

use adjutant_models::{Message, Role};
use adjutant_skills::Registry;
use adjutant_store::executions::{self, ExecutionRow};
use adjutant_store::questions::{self, QuestionRow};
use adjutant_store::turns::TurnRow;
use adjutant_store::{Result, runs, taints};
use adjutant_turn::journal::TurnContext;
use adjutant_turn::wording;
use adjutant_types::text::one_line;
use adjutant_types::{ExecutionKind, ExecutionStatus, PromptText, QuestionKind, Taint, WAITING};
use adjutant_workflows::agents::AgentTask;
use adjutant_workflows::plans::{Plan, PlanStep};
use serde_json::Value;

use super::shown;
use crate::conversation::recent_entities::touched;

/// How much is shown of a waiting turn's message, of the rest of it, and of each for all of them, in bytes.
const SHOWN: usize = 4_000;
const SHOWN_OF_ALL: usize = 16_000;
/// How many questions of a turn are shown.
const QUESTIONS: usize = 20;
/// How much of what is done and of a subject is shown, in characters.
const LINE: usize = 200;
/// Stands above what waits for a call.
const NOT_BEGUN: &str = "\nNot begun; follows by itself, also after a replacement:";
/// The name of a block's source: the questions name what was read.
const SOURCE: &str = "an open question";

pub(super) struct WaitingTurn {
    /// When it began, and its `turns.seq`.
    pub(super) order: (i64, i64),
    /// The person's message, and what waits.
    pub(super) messages: [Message; 2],
    /// The outside sources of both.
    pub(super) taint: Taint,
}

/// Those of these turns that wait for the person here, in the order in which they began.
pub(super) async fn load(
    ctx: &TurnContext,
    open: &[TurnRow],
    registry: &Registry,
) -> Result<Vec<WaitingTurn>> {
    let mut waiting = Vec::new();
    for turn in open {
        let here = (&turn.conversation_id, &turn.person_id);
        let mut asked = questions::of_turn(&ctx.store, &turn.id).await?;
        asked.retain(|question| {
            let is_here = (&question.conversation_id, &question.person_id) == here;
            is_here && question.is_open() && !question.outbox_id.is_empty()
        });
        if asked.is_empty() {
            continue;
        }
        let rows = executions::of_turn(&ctx.store, &turn.id).await?;
        let room = SHOWN.min(SHOWN_OF_ALL / open.len());
        let mut lines = Vec::new();
        for (number, question) in as_shown(ctx, &asked[asked.len().saturating_sub(QUESTIONS)..]).await? {
            let mut line = match question.kind {
                QuestionKind::Plan { .. } => plan(ctx, &question, &rows).await?,
                _ => line_of(ctx, &question, &rows).await?,
            };
            if let Some(number) = number {
                line.what = format!("{number}. {}", line.what);
            }
            lines.push(line);
        }
        waiting.push(described(ctx, turn, (lines, &rows), registry, room));
    }
    waiting.sort_by_key(|turn| turn.order);
    Ok(waiting)
}

/// Open questions in the order in which their messages show them, with the numbers that those show.
async fn as_shown(ctx: &TurnContext, open: &[QuestionRow]) -> Result<Vec<(Option<usize>, QuestionRow)>> {
    let mut shown = Vec::new();
    for asked in open.chunk_by(|one, next| one.outbox_id == next.outbox_id) {
        let all = questions::of_message(&ctx.store, &asked[0].outbox_id).await?;
        let place = |open: &QuestionRow| all.iter().position(|question| question.id == open.id);
        let number = |open: &QuestionRow| place(open).filter(|_| all.len() > 1).map(|at| at + 1);
        let mut asked: Vec<_> = asked.iter().map(|open| (number(open), open.clone())).collect();
        asked.sort_by_key(|(number, _)| *number);
        shown.extend(asked);
    }
    Ok(shown)
}

/// A line of ours about a waiting turn, with a text behind it.
struct Line {
    /// Stands above the first line that has it.
    heading: &'static str,
    what: String,
    text: String,
    taint: Taint,
}

/// A waiting turn with its questions, as far as there is room. What others wrote stands in blocks.
fn described(
    ctx: &TurnContext,
    turn: &TurnRow,
    (mut lines, rows): (Vec<Line>, &[ExecutionRow]),
    registry: &Registry,
    room: usize,
) -> WaitingTurn {
    lines.extend(found(ctx, turn, rows, registry));
    lines.extend(rows.iter().filter_map(|row| done(row, registry)));
    lines.extend(rows.iter().filter_map(not_begun));
    if let Some(answer) = turn.answer.as_deref().filter(|_| turn.shown_round >= 0) {
        // What is done stands above.
        let said: Vec<&str> = answer.lines().filter(|line| !line.starts_with(['✓', '✗'])).collect();
        let (text, taint) = (said.join("\n"), rows.iter().map(|row| &row.taint).collect());
        lines.push(Line { heading: "", what: "said with the question:".into(), text, taint });
    }
    let (mut text, mut taint) = (PromptText::from(WAITING), turn.text_taint.clone());
    let (mut heading, mut left) = ("", room);
    for line in lines {
        if line.heading != heading {
            heading = line.heading;
            text.push(heading);
        }
        text.push(PromptText::system(format_args!("\n- {}", line.what)));
        if line.text.is_empty() {
            continue;
        }
        let shown = cut(&line.text, &mut left);
        if line.taint.is_clean() {
            text.push(PromptText::of_model(format_args!(" {shown}")));
        } else {
            text.push("\n");
            text.push(PromptText::outside_from(&ctx.turn.conversation.id, SOURCE, &shown));
            taint.add(&line.taint);
        }
    }
    let (mut left, order) = (room, (turn.started_at, turn.seq));
    let said = shown(ctx, &turn.text_taint, &cut(&turn.text, &mut left));
    let messages = [Message::new(Role::User, said), Message::new(Role::Assistant, text)];
    WaitingTurn { order, messages, taint }
}

/// A plan with its steps. Its planner may have read what others wrote.
async fn plan(ctx: &TurnContext, question: &QuestionRow, rows: &[ExecutionRow]) -> Result<Line> {
    let Some(run) = &question.execution_id else { return line_of(ctx, question, rows).await };
    let row = runs::plan(&ctx.store, run).await?;
    let plan: Plan = row.and_then(|row| serde_json::from_str(&row.body).ok()).unwrap_or_default();
    let step = |(number, step): (usize, &PlanStep)| {
        one_line(&format!("{number}. {} ({}): {}", step.id, step.role, step.task), LINE)
    };
    let steps: Vec<String> = (1..).zip(&plan.steps).map(step).collect();
    let made = rows.iter().filter(|row| row.id == *run || row.parent_id.as_ref() == Some(run));
    let taint = made.map(|row| &row.taint).collect();
    let what = format!(
        "plan [{}]; assistant.replace(question: id, arguments: {{}}) with as_answer changes it as they say:",
        question.id
    );
    Ok(Line { heading: "", what, text: steps.join("\n"), taint })
}

async fn line_of(ctx: &TurnContext, question: &QuestionRow, rows: &[ExecutionRow]) -> Result<Line> {
    let row = rows.iter().find(|row| question.execution_id.as_ref() == Some(&row.id));
    let (what, mut text) = match row.map(|row| (row.skill.as_deref(), row.parameters.clone())) {
        None => ("going on beyond a limit", String::new()),
        Some((None, _)) => ("question", one_line(&wording::questions::subject(question), LINE)),
        Some((Some(skill), arguments)) => (skill, arguments.unwrap_or_default()),
    };
    let mut taint = row.map(|row| row.taint.clone()).unwrap_or_default();
    // The person has read the title of what the arguments name by its id.
    if let QuestionKind::Approval { preview, .. } = &question.kind
        && ["id\":", "ids\":"].iter().any(|key| text.contains(key))
    {
        let domain = what.split('.').next().unwrap_or_default();
        let marked = taints::of_domain(&ctx.store, domain).await?;
        marked.iter().filter(|(id, _)| text.contains(id.as_str())).for_each(|(_, by)| taint.add(by));
        text = format!("{} {text}", one_line(preview, LINE));
    }
    Ok(Line { heading: "", what: format!("{what} [{}]", question.id), text, taint })
}

/// What it has read, so that it can be meant before the turn has ended. Its effects have lines of their own.
fn found(ctx: &TurnContext, turn: &TurnRow, rows: &[ExecutionRow], registry: &Registry) -> Option<Line> {
    let read = rows.iter().filter_map(|row| {
        let skill = row.skill.as_deref().filter(|_| row.status == ExecutionStatus::Completed)?;
        registry.get(skill).filter(|skill| !skill.has_effect())?;
        Some((skill, serde_json::from_str(row.data.as_deref()?).ok()?))
    });
    let read: Vec<(&str, Value)> = read.collect();
    let texts = (turn.text.as_str(), turn.answer.as_deref().unwrap_or_default());
    let text = touched(&read, texts, ctx.turn.conversation.shared).join("; ");
    let mut taint: Taint = rows.iter().map(|row| &row.taint).collect();
    if rows.iter().any(|row| row.untrusted) {
        taint.add(&Taint::by(SOURCE));
    }
    (!text.is_empty()).then(|| Line { heading: "", what: "touched:".into(), text, taint })
}

/// An effect that isn't to be repeated.
fn done(row: &ExecutionRow, registry: &Registry) -> Option<Line> {
    let skill = row.skill.as_deref().filter(|_| row.status.has_ended())?;
    registry.get(skill).filter(|skill| skill.has_effect())?;
    let text = row.result.as_deref().or(row.parameters.as_deref()).unwrap_or_default();
    let taint = if row.untrusted && row.taint.is_clean() { Taint::by(SOURCE) } else { row.taint.clone() };
    let what = format!("{skill} {}:", row.status);
    let data: Value = serde_json::from_str(row.data.as_deref().unwrap_or_default()).unwrap_or_default();
    let id = data["id"].as_str().or(data["message_id"].as_str());
    let id = id.map(|id| format!(" [id {id}]")).unwrap_or_default();
    Some(Line { heading: "\nDone already:", what, text: one_line(text, LINE) + &id, taint })
}

/// An agent that waits for others.
fn not_begun(row: &ExecutionRow) -> Option<Line> {
    let is_pending = row.kind == ExecutionKind::Agent && row.status == ExecutionStatus::Pending;
    let task: AgentTask = serde_json::from_str(row.task.as_deref().filter(|_| is_pending)?).ok()?;
    let text = task.arguments.as_ref().map_or_else(|| one_line(&task.mission, LINE), ToString::to_string);
    let what = format!("{}:", task.skills.join(", "));
    Some(Line { heading: NOT_BEGUN, what, text, taint: row.taint.clone() })
}

/// As much of a text as there is room for.
fn cut(text: &str, left: &mut usize) -> String {
    let end = text.floor_char_boundary(*left);
    *left -= end;
    if end < text.len() { format!("{}… (cut here)", &text[..end]) } else { text.to_owned() }
}
