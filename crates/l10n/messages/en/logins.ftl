# Logins at services (OAuth), as far as calls of skills need them. $section: where the login is configured, such as
# [oauth.google]. $login: the command that logs in.

missing = nobody has logged in at the service of { $section } yet. An owner can do it with `{ $login }`
ended = the login of { $section } has ended, and the service gave me nothing to renew it with. An owner can log in again with `{ $login }`
# $words: those of the service.
not-accepted = the service of { $section } doesn't accept my login anymore ({ $words }). An owner can log in again with `{ $login }`
client-rejected = the service of { $section } rejects me ({ $words }). Check `client_id` and `client_secret` in { $section }
scope-rejected = the service of { $section } doesn't know what I ask for ({ $words }). Check `scopes` in { $section }
refused = the service of { $section } refused the login ({ $words })
no-bearer-token = the service of { $section } gave no bearer token
answer-without-token = { $host } gave an answer that is no token
no-token = { $host } gave no token ({ $status })
other-address = the login of { $section } belongs to another address, so its token isn't sent. An owner can log in again with `{ $login }`
busy = another process is renewing the login of { $section }; try again

## What is stored of logins

damaged = what is stored of the login of { $section } is damaged; `{ $login }` makes a new one
not-opened = I can't use the logins that I keep: { $why }
no-password = I have no password for this account anymore. Connect it again with /connect
