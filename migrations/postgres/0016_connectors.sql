-- What an owner has accepted of what others wrote, as it was at that moment: the tools of MCP servers, SKILL.md folders.
CREATE TABLE pins (
    kind TEXT NOT NULL,
    -- the MCP server; the skill
    owner TEXT NOT NULL,
    -- the server's own name of the tool; empty for a skill
    item TEXT NOT NULL,
    digest TEXT NOT NULL,
    definition TEXT NOT NULL,
    approved_at BIGINT NOT NULL,
    PRIMARY KEY (kind, owner, item)
);
