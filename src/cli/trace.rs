//! `adjutant trace`: what happened in a turn.

use std::io::{self, Write};
use std::process::ExitCode;

use adjutant_config::Config;
use adjutant_console::render::Theme;
use adjutant_store::turns::{self, TurnRow};
use adjutant_store::{Store, people};
use adjutant_workflows::trace::{self, Style, one_line};

use super::{CliError, Result, TraceArgs, on_store};

/// How many turns are listed when the beginning of an id matches several.
const NAMED: i64 = 5;

pub(super) async fn run(config: Config, args: TraceArgs) -> Result<ExitCode> {
    let style = Style { width: super::columns(), colour: Theme::of_stdout().colour };
    on_store(&config, async |store| show(store, &args, style, &mut io::stdout()).await).await?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) async fn show(
    store: &Store,
    args: &TraceArgs,
    style: Style,
    out: &mut (dyn Write + Send),
) -> Result<()> {
    for (number, turn) in wanted(store, args).await?.iter().enumerate() {
        let trace = trace::load(store, turn, args.calls).await?;
        let text = if args.json {
            let json = serde_json::to_string(&trace);
            json.map_err(|error| CliError::failed("the trace can't be written as JSON", error))? + "\n"
        } else {
            let gap = if number > 0 { "\n\n" } else { "" };
            format!("{gap}{}", trace::draw(&trace, style))
        };
        let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        written.map_err(|error| CliError::failed("the answer could not be written to stdout", error))?;
    }
    Ok(())
}

/// The requested turns: at least one.
async fn wanted(store: &Store, args: &TraceArgs) -> Result<Vec<TurnRow>> {
    if let Some(name) = &args.conversation {
        return of_conversation(store, name).await;
    }
    if args.turn == "last" {
        let last = turns::last(store).await?;
        return last
            .map(|turn| vec![turn])
            .ok_or_else(|| CliError::plain("there are no turns yet; start one with `adjutant chat`"));
    }
    let mut found = turns::beginning_with(store, &args.turn, NAMED + 1).await?;
    match found.len() {
        0 => Err(CliError::plain(format!(
            "there is no turn {}; use `adjutant trace last` for the last one, or `adjutant trace --conversation NAME` for all turns of a conversation",
            one_line(&args.turn)
        ))),
        1 => Ok(found),
        several => {
            found.truncate(NAMED as usize);
            let lines: String =
                found.iter().map(|turn| format!("\n  {}  {}", turn.id, excerpt(turn))).collect();
            let more = if several > found.len() { "\n  … and more" } else { "" };
            let beginning = one_line(&args.turn);
            Err(CliError::plain(format!(
                "several turns begin with '{beginning}'; give more of the id:{lines}{more}"
            )))
        }
    }
}

fn excerpt(turn: &TurnRow) -> String {
    one_line(&turn.text).chars().take(60).collect()
}

async fn of_conversation(store: &Store, name: &str) -> Result<Vec<TurnRow>> {
    let found = people::conversations_named(store, name).await?;
    let conversation = match found.as_slice() {
        [only] => only,
        [] => return Err(CliError::plain(format!("there is no conversation '{}'", one_line(name)))),
        several => {
            let addresses: Vec<String> = several
                .iter()
                .map(|conversation| one_line(&format!("{}:{}", conversation.channel, conversation.place)))
                .collect();
            let name = one_line(name);
            let addresses = addresses.join(", ");
            return Err(CliError::plain(format!(
                "several conversations are called '{name}'; choose one of {addresses}"
            )));
        }
    };
    let turns = turns::of_conversation(store, &conversation.id).await?;
    if turns.is_empty() {
        return Err(CliError::plain(format!(
            "there are no turns yet in the conversation '{}'",
            one_line(name)
        )));
    }
    Ok(turns)
}

#[cfg(test)]
mod tests {
    use adjutant_test_support::journal::{TestStore, busy_turn};

    use super::*;

    fn last() -> TraceArgs {
        TraceArgs { turn: "last".into(), json: false, conversation: None, calls: false }
    }

    fn turn(id: &str) -> TraceArgs {
        TraceArgs { turn: id.into(), ..last() }
    }

    fn all_of(conversation: &str) -> TraceArgs {
        TraceArgs { conversation: Some(conversation.into()), ..last() }
    }

    async fn shown(app: &TestStore, args: &TraceArgs) -> String {
        let mut out = Vec::new();
        let style = Style { width: 80, colour: false };
        match show(&app.store, args, style, &mut out).await {
            Ok(()) => String::from_utf8(out).unwrap(),
            Err(CliError::Failed { what, .. }) => {
                assert!(out.is_empty());
                what
            }
            Err(error) => panic!("{error}"),
        }
    }

    /// The ids of the turns that were drawn.
    async fn ids(app: &TestStore, args: &TraceArgs) -> Vec<String> {
        let drawing = shown(app, args).await;
        let heads = drawing.lines().filter_map(|line| line.strip_prefix("Request "));
        heads.map(|head| head.split(' ').next().unwrap().to_owned()).collect()
    }

    #[tokio::test]
    async fn a_turn_is_found_by_the_beginning_of_its_id() {
        let app = TestStore::open().await;
        for id in ["Aab1", "Aac2", "aab3"] {
            let turn = app.turn(id, "hello\nworld\u{1b}[2J").await;
            app.end(&turn, "completed", "yes").await;
        }
        assert_eq!(ids(&app, &last()).await, ["aab3"]);
        assert_eq!(ids(&app, &turn("Aab1")).await, ["Aab1"]);
        assert_eq!(ids(&app, &turn("a")).await, ["aab3"]);
        insta::assert_snapshot!(shown(&app, &turn("A")).await, @r"
        several turns begin with 'A'; give more of the id:
          Aac2  hello world�[2J
          Aab1  hello world�[2J
        ");
        insta::assert_snapshot!(shown(&app, &turn("%")).await, @r"there is no turn %; use `adjutant trace last` for the last one, or `adjutant trace --conversation NAME` for all turns of a conversation");
        assert!(shown(&app, &turn("")).await.starts_with("several turns begin with ''"));
    }

    #[tokio::test]
    async fn a_conversation_is_found_by_name_place_and_id() {
        let app = TestStore::open().await;
        insta::assert_snapshot!(shown(&app, &last()).await, @r"there are no turns yet; start one with `adjutant chat`");
        let first = app.turn("t1", "one").await;
        app.turn("t2", "two").await;
        for name in ["main", "console:main", &first.conversation_id] {
            assert_eq!(ids(&app, &all_of(name)).await, ["t1", "t2"], "{name}");
        }
        insta::assert_snapshot!(shown(&app, &all_of("mian")).await, @r"there is no conversation 'mian'");
        people::conversation(&app.store, "work", "main", &first.person_id, true).await.unwrap();
        insta::assert_snapshot!(shown(&app, &all_of("main")).await, @r"several conversations are called 'main'; choose one of console:main, work:main");
        insta::assert_snapshot!(shown(&app, &all_of("work:main")).await, @r"there are no turns yet in the conversation 'work:main'");
    }

    #[tokio::test]
    async fn json_is_an_object_a_line() {
        let app = TestStore::open().await;
        busy_turn(&app).await;
        app.turn("t2", "two").await;
        let lines = shown(&app, &TraceArgs { json: true, ..all_of("main") }).await;
        let turns: Vec<serde_json::Value> =
            lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(turns.iter().map(|turn| &turn["turn"]["id"]).collect::<Vec<_>>(), ["turn-1", "t2"]);
        assert!(turns[0]["executions"][0].get("calls").is_none());
        let line = shown(&app, &TraceArgs { json: true, calls: true, ..turn("turn-1") }).await;
        let turn: serde_json::Value = serde_json::from_str(&line).unwrap();
        let calls = &turn["executions"][0]["calls"];
        assert_eq!(calls[0]["request"]["tools"][0]["name"], "use_skill");
        assert_eq!(calls[0]["response"]["tool_calls"][1]["id"], "c1");
        assert_eq!(calls[2]["request"]["messages"][3]["tool_call_id"], "c0");
    }
}
