//! What is wrong gets a sentence that names the place and the mend, and the documented exit status.

use crate::process::{Ended, Home};

/// What a person reads, without the folder that is another for each run.
fn told(home: &Home, ended: &Ended) -> String {
    let text = format!("{:?} {}{}", ended.status, ended.stdout, ended.stderr);
    text.replace(home.path().to_str().unwrap(), "HOME")
}

#[track_caller]
fn once(config: &str) -> String {
    let home = Home::with_config(config);
    let ended = home.run(&["chat", "--once", "what is overdue?"]);
    assert_eq!(ended.stdout, "");
    told(&home, &ended)
}

#[test]
fn a_wrong_configuration() {
    insta::assert_snapshot!(once("[limits]\nagents_per_trun = 3\n"), @"");
    insta::assert_snapshot!(once("[limits]\nagents_per_turn = \"three\"\nskill_timeout = 30\n"), @"");
    insta::assert_snapshot!(once("[model]\nprovider = \"openai\"\nname = \"x\"\napi_key = { env = \"NO_SUCH_KEY\" }\n"), @"");
    insta::assert_snapshot!(once("[model]\nprovider = \"openai\"\nname = \"x\"\napi_key = { file = \"nowhere\" }\n"), @"");
    insta::assert_snapshot!(once("[model]\nprovider = \"opnai\"\nname = \"x\"\n"), @"");
    insta::assert_snapshot!(once("[approval]\nmedium = \"perhaps\"\n[approval.skills]\n\"tasks.delte\" = \"ask\"\n"), @"");
    insta::assert_snapshot!(once("[approval.skills]\n\"tasks.delte\" = \"ask\"\n"), @"");
    insta::assert_snapshot!(once("[assistant\n"), @"");
    insta::assert_snapshot!(once("[assistant]\ntimezone = \"Europe/Berln\"\n"), @"");
}

#[test]
fn a_store_that_cant_be_had() {
    insta::assert_snapshot!(once("[store]\nurl = \"mysql://x/y\"\n"), @"");
    insta::assert_snapshot!(once("[store]\nurl = \"nonsense\"\n"), @"");
    // Nobody listens there.
    insta::assert_snapshot!(once("[store]\nurl = \"postgres://a:secret@127.0.0.1:1/b\"\n"), @"");
    // A folder below a file: not even root can make one.
    let home = Home::with_config("[store]\nurl = \"sqlite://file/adjutant.db\"\n");
    home.write("file", "");
    insta::assert_snapshot!(told(&home, &home.run(&["chat", "--once", "x"])), @"");
    let home = Home::new();
    home.write("file", "");
    let ended = home
        .command(&["chat", "--once", "x"])
        .env("ADJUTANT_DATA_DIR", home.path().join("file/data"))
        .output()
        .unwrap();
    let stderr = String::from_utf8(ended.stderr).unwrap().replace(home.path().to_str().unwrap(), "HOME");
    insta::assert_snapshot!(format!("{:?} {stderr}", ended.status.code()), @"");
    // Something else lies in its place.
    let home = Home::with_config("[store]\nurl = \"sqlite://other.db\"\n");
    home.write("other.db", &"this is a letter, not a database. ".repeat(100));
    insta::assert_snapshot!(told(&home, &home.run(&["chat", "--once", "x"])), @"");
}

#[test]
fn a_store_of_a_newer_version_is_left_alone() {
    let home = Home::new();
    assert_eq!(home.run(&["chat", "--once", "what is overdue?"]).status, Some(0));
    home.ask(async |store| {
        let mut batch = adjutant::store::Batch::new();
        batch.run(
            "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
             VALUES (99990101000000, 'later', 1, 'x', 1)",
            [],
        );
        store.write(batch).await.unwrap();
    });
    insta::assert_snapshot!(told(&home, &home.run(&["chat", "--once", "what is overdue?"])), @"");
    insta::assert_snapshot!(told(&home, &home.feed(&["chat", "--json"], b"hello\n")), @"");
}

#[test]
fn a_broken_skill_file() {
    let home = Home::with_config("[skills]\npaths = [\"skills\"]\n");
    home.write(
        "skills/bell.toml",
        "domain = \"bell\"\nsummary = \"A bell\"\n[[skill]]\nname = \"bell.ring\"\nrisk = \"none\"\n",
    );
    insta::assert_snapshot!(told(&home, &home.run(&["chat", "--once", "x"])), @"");
    insta::assert_snapshot!(told(&home, &home.run(&["skills", "check"])), @"");
    insta::assert_snapshot!(told(&home, &home.run(&["skills", "list"])), @"");
}

#[test]
fn a_wrong_command_line() {
    let home = Home::new();
    for (words, hint) in [
        (&["chat", "--once", ""][..], "the message is empty"),
        (&["chat", "--once", " \n"], "the message is empty"),
        (&["chat", "--json", "--once", "x"], "cannot be used with"),
        (&["chta"], "chat"),
        (&["chat", "--jsn"], "--json"),
    ] {
        let ended = home.run(words);
        assert_eq!((ended.status, ended.stdout.as_str()), (Some(2), ""), "{words:?}");
        assert!(ended.stderr.contains(hint), "{words:?}: {}", ended.stderr);
    }
    // A single argument of a program can't be longer than 128 KiB.
    let ended = home.run(&["chat", "--once", &"x".repeat(120_000)]);
    assert_eq!((ended.status, ended.stdout.as_str()), (Some(2), ""));
    insta::assert_snapshot!(ended.stderr, @"");
    assert!(!home.data().exists(), "what was never said left something behind");
}

#[test]
fn a_megabyte_of_plain_text_in_a_pipe() {
    let home = Home::new();
    let mut input = vec![b'x'; 1_000_000];
    input.extend_from_slice(b"\n\xff\xfe\nadd a task to survive\n");
    let ended = home.feed(&["chat"], &input);
    assert_eq!(ended.status, Some(0));
    insta::assert_snapshot!(ended.stdout, @"");
}

#[test]
fn a_reader_that_goes_away_ends_it_and_nothing_is_lost() {
    let home = Home::new();
    let (reader, writer) = std::io::pipe().unwrap();
    let mut command = home.command(&["chat", "--json"]);
    let mut child = command.stdin(std::process::Stdio::piped()).stdout(writer).spawn().unwrap();
    drop(command);
    drop(reader);
    let mut stdin = child.stdin.take().unwrap();
    let _ = std::io::Write::write_all(&mut stdin, b"{\"id\": \"m1\", \"text\": \"add a task to keep\"}\n");
    // stdin stays open: it ends because nobody can be told anything any more.
    assert_eq!(child.wait().unwrap().code(), Some(0));
    drop(stdin);
    let mut chat = home.chat();
    chat.say("m1", "add a task to keep");
    chat.finish_well();
    assert_eq!(home.tasks(), ["keep"]);
}
