# Skills that call an HTTP API, and pages of the web.

## Results

# $status: such as "201 Created".
answered = { $host } answered with { $status }.
answered-with-json = { $host } answered { $method } with JSON ({ $status }).
# $answer: one of the two above, or the answer itself. $why: one of the two below.
answered-otherwise = { $answer } But { $why }.
nothing-there = the response has nothing at { $pointer }
result-failed = the skill's `result` fails: { $why }
file = { $host } sent a file, { $media-type }, which isn't text and can't be read here.
unknown-file = { $host } sent a file, of an unknown kind, which isn't text and can't be read here.
# The last line of a text that was cut.
cut = [cut: the first 64 KB of { $bytes } bytes]

## The service was not reached

unreachable = I couldn't reach { $host }: no connection ({ $why })
late = { $host } didn't answer in time
connection-lost = the connection to { $host } was lost: { $why }
no-request = the request to { $host } can't be made
private-host = { $host } is a private, loopback or link-local address; if the skill may call it, add the host to its `allow_hosts`

## The service said no: $status is its number

credential-rejected = { $host } rejected the skill's credential ({ $status })
forbidden = { $host } doesn't allow it ({ $status })
unknown-there = { $host } doesn't know it ({ $status })
request-late = { $host } didn't get the request in time ({ $status })
rate-limit = { $host } asks me to wait ({ $status })
redirects = { $host } redirects; put the new address into the skill's `url` ({ $status })
request-rejected = { $host } rejected the request ({ $status })
service-failed = { $host } failed ({ $status })
# $error: one of the above, or how a program or a file fails. $words: those of the service, the program or the system.
with-words = { $error }: { $words }

## Files

file-too-big = { $host } sent a file of more than { $megabytes } MB
file-empty = { $host } sent an empty file
file-with-secret = { $host } put the skill's own secret into the file, so I didn't keep it

## Wrong arguments

address-wrong = the address is wrong: { $why }
address-climbs = an argument makes the address's path climb with '.' or '..'
header-wrong = the header { $name } can't hold its value
token-wrong = the service's token can't be sent
content-wrong = the content can't be sent: { $why }
