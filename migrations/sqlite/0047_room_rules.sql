-- The rules of rooms: when we answer there ('always', 'mentioned', 'never'), with which skills, and whom. A room's threads
-- follow its rule. skills: JSON, the names of skills and domains; NULL: all. people: JSON, the platform's ids of those who
-- may talk to us; NULL: everybody who may speak.
CREATE TABLE room_rules (
    channel TEXT NOT NULL,
    room TEXT NOT NULL,
    answers TEXT NOT NULL,
    skills TEXT,
    people TEXT,
    PRIMARY KEY (channel, room)
);
-- 0 for what people wrote to each other, in a room where everything is answered.
ALTER TABLE inbox ADD COLUMN is_addressed BIGINT NOT NULL DEFAULT 1;
