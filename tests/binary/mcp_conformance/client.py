"""What the conformance suite runs as its client: a person with our program, who logs in wherever that asks for it.

The first word is a folder with `scenario.json`, the last is the address of the suite's server.
"""

import json
import os
import pathlib
import subprocess
import sys
import urllib.request

home, url = pathlib.Path(sys.argv[1]), sys.argv[-1]
scenario = json.loads((home / "scenario.json").read_text())
env = {"HOME": str(home), "PATH": "/usr/bin:/bin", "TZ": "UTC"}
(home / "config.toml").write_text(
    f'[model]\nprovider = "openai"\nname = "fake"\nbase_url = "{scenario["model"]}"\n'
    f'[mcp.suite]\nurl = "{url}"\nrisk = {{ "*" = "low" }}\n{scenario["config"]}\n'
)


def run(*words, said=""):
    done = subprocess.run([scenario["binary"], *words], cwd=home, env=env, input=said, capture_output=True, text=True)
    print(words, done.stdout, done.stderr, flush=True)
    return done.stdout + done.stderr


def log_in():
    words = [scenario["binary"], "mcp", "login", "suite"]
    login = subprocess.Popen(words, cwd=home, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    for line in login.stdout:
        print(line, end="", flush=True)
        if line.strip().startswith("http"):
            try:
                urllib.request.urlopen(line.strip(), timeout=20).read()
            except OSError as error:
                print(error, flush=True)
    login.wait()


def until_allowed(*words, said=""):
    """A person logs in again when they are told to, and gives up after the second time."""
    for _ in range(2):
        if "mcp login suite" not in run(*words, said=said):
            return
        log_in()


until_allowed("mcp", "approve", "suite", "--yes")
for number, answers in enumerate(scenario["answers"]):
    run("chat", "--once", "/new")
    until_allowed("chat", said="\n".join([f"call tool {number}.", *answers, ""]))
