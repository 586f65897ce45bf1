//! The texts of others that an owner has accepted.

use super::words;

words! {
    /// What kind of thing was accepted as it was at that moment.
    PinKind {
        McpTool = "mcp_tool",
        /// A folder with a `SKILL.md`.
        Instructions = "instructions",
    }
}
