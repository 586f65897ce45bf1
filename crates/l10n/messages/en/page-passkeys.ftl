# The web page: passkeys, with which people sign in instead of a link.

## On the page of the account

passkeys = Passkeys
about = With a passkey you sign in by fingerprint, face or PIN, without a link. Remove those of devices that you no longer have.
# Hidden where this browser can make one. $address: the page's address.
works-at = You can add one at { $address }, in a browser that knows passkeys.
offer = Sign in here with your fingerprint from now on?
add-button = Add a passkey
not-used = not used yet
remove-button = Remove
# This device has one for this person.
known = This device already has a passkey for you.
not-added = That passkey wasn't added. Try again.

## Signing in

sign-in = Sign in with a passkey
# The person said no, had none, or the browser couldn't.
not-given = Your browser gave no passkey. Try again.
not-accepted = That passkey wasn't accepted. It may have been removed, or you took too long. Try again, or get a link.
too-many = Too many passkeys were refused. Wait a minute.
# $name: who is signed in in this browser.
somebody-else = That is somebody else's passkey, and you're signed in as { $name }. Sign out first.
