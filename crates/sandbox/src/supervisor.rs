//! The process between us and a program of others. Whatever the program starts stays below it, also what makes a session
//! of its own; when the program has ended, or we have, or we say so, it ends all of that.

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitCode, ExitStatus};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{
    DumpableBehavior, Pid, PidfdFlags, Resource, Rlimit, Signal, WaitOptions, getpid, getppid, kill_process,
    pidfd_open, set_child_subreaper, set_dumpable_behavior, setrlimit, wait,
};
use tokio::process::{Child, Command};
use tokio::runtime::Handle;
use tokio::signal::unix::{SignalKind, signal};

use super::{Order, confine};

/// How long the end of all processes may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long a program may take to end by itself when we have ended: its stdin has, too.
const FAREWELL: Duration = Duration::from_millis(500);

/// Runs a program below this process, with its words behind the order and its name. Ends as the program does.
pub fn run(mut words: impl Iterator<Item = OsString>) -> ExitCode {
    let order = words.next().and_then(|order| serde_json::from_str(order.to_str()?).ok());
    let (Some(order), Some(program)) = (order, words.next()) else { return ExitCode::FAILURE };
    let status = supervise(&order, Command::new(program).args(words));
    end_all();
    match status {
        Ok(Some(status)) => like(status),
        Ok(None) => ExitCode::FAILURE,
        Err(error) => {
            let _ = writeln!(io::stderr(), "it can't be started: {error}");
            ExitCode::from(126)
        }
    }
}

/// Waits for the program's end; none if ours comes first.
fn supervise(order: &Order, command: &mut Command) -> io::Result<Option<ExitStatus>> {
    // Its environment may hold a secret for its program alone.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    set_child_subreaper(Some(getpid()))?;
    let Some(parent) = Pid::from_raw(order.parent) else { return Ok(None) };
    when_ended(parent, || {
        std::thread::sleep(FAREWELL);
        let _ = kill_process(getpid(), Signal::TERM);
    })?;
    // Else it has ended before, and its number may mean another.
    if getppid() != Some(parent) {
        return Ok(None);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut stop = signal(SignalKind::terminate())?;
        let mut child = start(order, command.process_group(0))?;
        tokio::select! {
            status = child.wait() => status.map(Some),
            _ = stop.recv() => Ok(None),
        }
    })
}

/// Starts the program from a thread of its own, so that the limits are the program's and not this process's: it could
/// be ended by the program, then.
fn start(order: &Order, command: &mut Command) -> io::Result<Child> {
    let runtime = Handle::current();
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let _entered = runtime.enter();
            confine::confine(&order.may)?;
            command.spawn()
        });
        thread.join().unwrap_or_else(|_| Err(io::Error::other("it failed")))
    })
}

/// Ends everything below this process. What loses its parent becomes a child of this process, so nothing is left when
/// that has no child.
fn end_all() {
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(_) => return,
            }
        }
        for process in below(getpid()) {
            let _ = kill_process(process, Signal::KILL);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// All processes below this one.
fn below(top: Pid) -> Vec<Pid> {
    let parent = |entry: std::fs::DirEntry| {
        let process = Pid::from_raw(entry.file_name().to_str()?.parse().ok()?)?;
        // The name may hold anything; it ends with the last parenthesis. Then come the state and the parent: proc(5).
        let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
        let parent = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()?;
        Some((process, Pid::from_raw(parent)?))
    };
    let entries = std::fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    let mut rest: Vec<(Pid, Pid)> = entries.filter_map(parent).collect();
    let (mut found, mut next) = (Vec::new(), vec![top]);
    while let Some(above) = next.pop() {
        let (mut new, other): (Vec<_>, Vec<_>) = rest.into_iter().partition(|(_, parent)| *parent == above);
        rest = other;
        next.extend(new.iter().map(|(process, _)| *process));
        found.extend(new.drain(..).map(|(process, _)| process));
    }
    found
}

/// Ends as the program has: with its status, or by its signal.
fn like(status: ExitStatus) -> ExitCode {
    if let Some(signal) = status.signal() {
        let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
        let _ = Signal::from_named_raw(signal).map(|signal| kill_process(getpid(), signal));
    }
    // Shells say a signal this way, too.
    let code = status.code().or_else(|| Some(128 + status.signal()?)).unwrap_or(1);
    u8::try_from(code).map_or(ExitCode::FAILURE, ExitCode::from)
}

/// Ends this process when the one that started it has ended.
pub fn end_with_parent() -> io::Result<()> {
    let parent = getppid().ok_or_else(|| io::Error::other("there is no parent"))?;
    when_ended(parent, || std::process::exit(1))
}

fn when_ended(process: Pid, then: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let process = pidfd_open(process, PidfdFlags::empty())?;
    let watch = move || {
        if poll(&mut [PollFd::new(&process, PollFlags::IN)], None).is_ok() {
            then();
        }
    };
    std::thread::Builder::new().spawn(watch).map(drop)
}
