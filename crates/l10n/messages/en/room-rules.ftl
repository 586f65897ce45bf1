# /room: when I answer in a room, with which skills, and whom.

## The rule

# $when: one of the next three. $skills: names, or the message for all. $people: names, or the message for everybody.
rule =
    In this room:

    - I answer { $when }.
    - Skills: { $skills }
    - People: { $people }

    Change it with the buttons, or send `/room skills tasks, calendar`, `/room skills all`, `/room people @ada @bob` or `/room people all`.
always = whatever I can help with, also when nobody mentions me
mentioned = when somebody mentions me or replies to me
never = nothing but `/room`
all-skills = all
everybody = everybody I know

## Buttons

always-button = Always
mentioned-button = Only when mentioned
never-button = Never

## What isn't done

only-in-rooms = `/room` is for rooms that others are in, too. Here I always answer you.
not-a-manager = Only people who manage this room, or my owner, can change that. `/room` shows how it's set.
no-such-skill = I have no skill called “{ $name }”. Name some like this: `/room skills tasks, calendar`.
nobody = I can't find “{ $name }” here. Please mention them, or give their ID on this platform.
not-a-mention = Mention them, so that I know who you mean.
usage = I know `/room always`, `/room mentioned`, `/room never`, `/room skills tasks, calendar` and `/room people @ada`.
