//! SQL, locks and stored keys belong to the store; migrations that have landed stay as they are.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;
use sha2::{Digest, Sha256};
use xtask::measures;
use xtask::source::Source;

use crate::{adapters, assert_none, engine, errors, files, regex};

// Both databases have the same migrations.

fn unpaired(sqlite: &BTreeSet<String>, postgres: &BTreeSet<String>) -> Vec<String> {
    sqlite
        .symmetric_difference(postgres)
        .map(|name| format!("migrations: {name} is there for one database only"))
        .collect()
}

#[test]
fn migrations_are_paired() {
    let names = |folder: &str| {
        let names = files(folder, ".sql").into_iter();
        names.map(|(path, _)| path.rsplit('/').next().unwrap().to_owned()).collect::<BTreeSet<_>>()
    };
    assert_none(unpaired(&names("migrations/sqlite"), &names("migrations/postgres")));
}

#[test]
fn migrations_are_paired_can_fail() {
    let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(unpaired(&set(&["1.sql", "2.sql"]), &set(&["1.sql", "3.sql"])).len(), 2);
    assert_eq!(unpaired(&set(&["1.sql"]), &set(&["1.sql"])).len(), 0);
}

// What has landed of the migrations is never edited: a store that has applied one refuses another text of it.

fn digests(database: &str) -> String {
    let text = |(path, text): (String, String)| {
        let digest = Sha256::digest(text.as_bytes());
        let digest: String = digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
        format!("{digest} {path}")
    };
    let digests: Vec<String> =
        files(&format!("migrations/{database}"), ".sql").into_iter().map(text).collect();
    digests.join("\n")
}

#[test]
fn migrations_that_have_landed_are_as_they_were_on_postgresql() {
    insta::assert_snapshot!(digests("postgres"), @"
    7ded1f1ee085 migrations/postgres/0001_engine.sql
    b1216fd778f6 migrations/postgres/0002_channels.sql
    691b9ce147e5 migrations/postgres/0003_office.sql
    48fe2b27eda2 migrations/postgres/0004_schedules.sql
    1e236091a020 migrations/postgres/0005_budgets.sql
    a7fec7ed6022 migrations/postgres/0006_retention.sql
    bdc61746e34b migrations/postgres/0007_runs.sql
    952ea4979ce5 migrations/postgres/0008_files.sql
    7929ec9e5d96 migrations/postgres/0009_names.sql
    b35fa63258aa migrations/postgres/0010_trust.sql
    926802728526 migrations/postgres/0011_left_over.sql
    0c774a5240bd migrations/postgres/0012_memory.sql
    036bdfa6e204 migrations/postgres/0013_web.sql
    96f65688de9c migrations/postgres/0014_roles.sql
    9009941ba38e migrations/postgres/0015_voice.sql
    bfba14b291a4 migrations/postgres/0016_connectors.sql
    ddd9befab921 migrations/postgres/0017_plans.sql
    3832489bd8af migrations/postgres/0020_vectors.sql
    d366c7d064e0 migrations/postgres/0021_statements.sql
    576eb723ed66 migrations/postgres/0022_sharing.sql
    012c604c6330 migrations/postgres/0023_plan_rest.sql
    230a280c1d61 migrations/postgres/0025_attachments.sql
    eed53083056c migrations/postgres/0026_forgetting.sql
    2b8180470cb8 migrations/postgres/0027_openings.sql
    f8216c08004b migrations/postgres/0028_rate_limits.sql
    9f0955735d01 migrations/postgres/0030_asked.sql
    139028e440b5 migrations/postgres/0032_words.sql
    3af7e26aa4c4 migrations/postgres/0033_formers.sql
    d70d401b77c8 migrations/postgres/0034_load.sql
    140611529867 migrations/postgres/0035_file_parts.sql
    56d689a916a6 migrations/postgres/0036_first_messages.sql
    28e4528d62e3 migrations/postgres/0037_attempts.sql
    2254d99da1d4 migrations/postgres/0038_wishes.sql
    0812492a9ce3 migrations/postgres/0039_questions.sql
    be6a7651f7ad migrations/postgres/0040_forms.sql
    73771b4dee12 migrations/postgres/0042_rooms.sql
    5fa6f29ef507 migrations/postgres/0043_rules.sql
    b721356addcc migrations/postgres/0044_send_delay.sql
    8dd5674c8cfb migrations/postgres/0045_conversation.sql
    5b64eda64c77 migrations/postgres/0046_background.sql
    23833aae61aa migrations/postgres/0047_room_rules.sql
    f84bb96d6404 migrations/postgres/0048_accounts.sql
    42778bb74c57 migrations/postgres/0049_watches.sql
    717630e9cd3e migrations/postgres/0050_push.sql
    ea329b42ced2 migrations/postgres/0051_settings.sql
    bb5d4badb602 migrations/postgres/0052_talk.sql
    ff9b8ca11d09 migrations/postgres/0053_passkeys.sql
    91906cfc2f79 migrations/postgres/0054_opened_by.sql
    2f77f91bbbc2 migrations/postgres/0055_disliked.sql
    c2c329e99faf migrations/postgres/0056_unread.sql
    b74986f38633 migrations/postgres/0057_part_receipts.sql
    f1df993dd434 migrations/postgres/0058_tells.sql
    b82eb9f39d56 migrations/postgres/0059_ended.sql
    ");
}

#[test]
fn migrations_that_have_landed_are_as_they_were_on_sqlite() {
    insta::assert_snapshot!(digests("sqlite"), @"
    98accb936f5e migrations/sqlite/0001_engine.sql
    b1216fd778f6 migrations/sqlite/0002_channels.sql
    691b9ce147e5 migrations/sqlite/0003_office.sql
    48fe2b27eda2 migrations/sqlite/0004_schedules.sql
    1e236091a020 migrations/sqlite/0005_budgets.sql
    a7fec7ed6022 migrations/sqlite/0006_retention.sql
    e25e39360f76 migrations/sqlite/0007_runs.sql
    952ea4979ce5 migrations/sqlite/0008_files.sql
    7929ec9e5d96 migrations/sqlite/0009_names.sql
    598b70212f27 migrations/sqlite/0010_trust.sql
    926802728526 migrations/sqlite/0011_left_over.sql
    6538d720ed56 migrations/sqlite/0012_memory.sql
    caac6387d4b6 migrations/sqlite/0013_web.sql
    96f65688de9c migrations/sqlite/0014_roles.sql
    9009941ba38e migrations/sqlite/0015_voice.sql
    e09798998e81 migrations/sqlite/0016_connectors.sql
    54e83361c83d migrations/sqlite/0017_plans.sql
    3970c3c8f525 migrations/sqlite/0020_vectors.sql
    169e57e4eb3a migrations/sqlite/0021_statements.sql
    576eb723ed66 migrations/sqlite/0022_sharing.sql
    012c604c6330 migrations/sqlite/0023_plan_rest.sql
    485eb684114e migrations/sqlite/0025_attachments.sql
    f6a4e7158756 migrations/sqlite/0026_forgetting.sql
    2b8180470cb8 migrations/sqlite/0027_openings.sql
    f8216c08004b migrations/sqlite/0028_rate_limits.sql
    9f0955735d01 migrations/sqlite/0030_asked.sql
    139028e440b5 migrations/sqlite/0032_words.sql
    c0cd25d4a86e migrations/sqlite/0033_formers.sql
    d70d401b77c8 migrations/sqlite/0034_load.sql
    7b4f9c9d1184 migrations/sqlite/0035_file_parts.sql
    56d689a916a6 migrations/sqlite/0036_first_messages.sql
    28e4528d62e3 migrations/sqlite/0037_attempts.sql
    2254d99da1d4 migrations/sqlite/0038_wishes.sql
    0812492a9ce3 migrations/sqlite/0039_questions.sql
    be6a7651f7ad migrations/sqlite/0040_forms.sql
    73771b4dee12 migrations/sqlite/0042_rooms.sql
    5fa6f29ef507 migrations/sqlite/0043_rules.sql
    b721356addcc migrations/sqlite/0044_send_delay.sql
    8dd5674c8cfb migrations/sqlite/0045_conversation.sql
    5b64eda64c77 migrations/sqlite/0046_background.sql
    23833aae61aa migrations/sqlite/0047_room_rules.sql
    f84bb96d6404 migrations/sqlite/0048_accounts.sql
    139bf7522e52 migrations/sqlite/0049_watches.sql
    717630e9cd3e migrations/sqlite/0050_push.sql
    18c39e17ffd8 migrations/sqlite/0051_settings.sql
    71b6a7bba509 migrations/sqlite/0052_talk.sql
    ff9b8ca11d09 migrations/sqlite/0053_passkeys.sql
    91906cfc2f79 migrations/sqlite/0054_opened_by.sql
    2f77f91bbbc2 migrations/sqlite/0055_disliked.sql
    c2c329e99faf migrations/sqlite/0056_unread.sql
    b74986f38633 migrations/sqlite/0057_part_receipts.sql
    f1df993dd434 migrations/sqlite/0058_tells.sql
    b82eb9f39d56 migrations/sqlite/0059_ended.sql
    ");
}

// Nobody else speaks SQL.

#[test]
fn statements_and_locks_are_in_the_store() {
    let why = "SQL, advisory locks included, is in crates/store";
    assert_none(engine().iter().flat_map(|source| errors(measures::statements(source), why)));
}

#[test]
fn statements_and_locks_outside_the_store_are_found() {
    let found = |path: &str, text: &str| measures::statements(&Source::new(path, text)).len();
    for text in [
        "f(\"SELECT id FROM turns\")",
        "f(\"INSERT INTO turns\")",
        "f(\"UPDATE turns SET a = 1\")",
        "f(r#\"DELETE FROM turns\"#)",
        "f(\"select 1; SELECT pg_advisory_lock($1)\")",
    ] {
        assert_eq!((found("src/cli/a.rs", text), found("crates/store/src/a.rs", text)), (1, 0), "{text}");
    }
    assert_eq!(
        found("src/cli/a.rs", "// SELECT id FROM turns\nf(\"DELETE\"); f(\"Select one from the list\")"),
        0
    );
}

// A stored key is the same with every version of the compiler.

fn unstable_hashes(source: &Source) -> Vec<String> {
    static HASHER: LazyLock<Regex> = LazyLock::new(|| regex(r"\bDefaultHasher\b"));
    errors(measures::find(source, &HASHER), "what it makes may change; use sha2")
}

#[test]
fn hashes_are_stable() {
    assert_none(engine().iter().chain(&adapters()).flat_map(unstable_hashes));
}

#[test]
fn hashes_are_stable_can_fail() {
    let errors = |text: &str| unstable_hashes(&Source::new("src/a.rs", text)).len();
    assert_eq!((errors("use std::hash::DefaultHasher;"), errors("// DefaultHasher")), (1, 0));
}
