-- The channels whose turns an instance runs with others: `,NAME,NAME,`; empty where it shares none.
ALTER TABLE instances ADD COLUMN shares TEXT NOT NULL DEFAULT '';
-- JSON: what to show of a running turn, while another instance than its channel's receiver runs it.
ALTER TABLE turns ADD COLUMN progress TEXT;
