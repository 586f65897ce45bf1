//! The slash commands that the engine understands. An adapter offers those that make sense where it runs.

/// Their names, those that come to mind first in front.
pub const COMMANDS: [&str; 19] = [
    "/help",
    "/new",
    "/stop",
    "/pause",
    "/answer",
    "/memories",
    "/rules",
    "/forget",
    "/status",
    "/trace",
    "/pair",
    "/link",
    "/web",
    "/mine",
    "/undo",
    "/run",
    "/draft",
    "/plan",
    "/spawn",
];
