use super::*;

fn check(name: &str, finding: Finding) -> Check {
    Check::new(name, finding)
}

#[test]
fn a_report_shows_each_finding_with_its_fix_and_counts_them() {
    let checks = [
        check("configuration", Finding::ok("config.toml is valid")),
        check("secrets", Finding::warning("everybody can read them", "chmod 600 config.toml")),
        check("channels.main", Finding::error("the token is\nrefused", "set another one")),
        check("channels.other", Finding::error("this one is, too", "set another one")),
    ];
    insta::assert_snapshot!(text(&checks), @r"
✓ configuration   config.toml is valid
! secrets         everybody can read them (A02)
                  → chmod 600 config.toml
✗ channels.main   the token is refused (A19)
✗ channels.other  this one is, too (A19)
                  → set another one

2 problems, 1 warning.
");
    insta::assert_snapshot!(json(&checks[1..3]).unwrap(), @r#"
{
  "ok": false,
  "checks": [
    {
      "name": "secrets",
      "code": "A02",
      "verdict": "warning",
      "reason": "everybody can read them",
      "mend": "chmod 600 config.toml"
    },
    {
      "name": "channels.main",
      "code": "A19",
      "verdict": "fault",
      "reason": "the token is\nrefused",
      "mend": "set another one"
    }
  ]
}
"#);
    assert!(text(&checks[..1]).ends_with("\nNo problems.\n"));
    assert!(text(&checks[..2]).ends_with("\n0 problems, 1 warning.\n"));
}

#[test]
fn what_an_error_says_to_do_is_its_fix() {
    let parts = |text: &str| {
        let finding = failed(&text);
        (finding.reason, finding.fix)
    };
    for (text, reason, fix) in [
        (
            "the store can't be opened: no room (os error 28). Free some",
            "the store can't be opened: no room (os error 28)",
            "Free some",
        ),
        (
            "x.token is not a token; it looks like 1:AAF... and comes from @BotFather",
            "x.token is not a token",
            "it looks like 1:AAF... and comes from @BotFather",
        ),
        ("it failed", "it failed", "look its code up in docs/troubleshooting.md"),
    ] {
        assert_eq!(parts(text), (reason.to_owned(), fix.to_owned()));
    }
}
