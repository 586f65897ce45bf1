# Voice notes.

## What I heard

heard = 🎤 “{ $words }”
needs-hand = A spoken yes isn't enough for this. Press the button, or type your answer.

## Questions about words that may not have been said, below them

maybe-silence = Did you say that? It may just have been silence. Reply “yes”, or say it again.
maybe-other-language = Did you really say that? It isn't a language you usually use with me. Reply “yes”, or say it again.
unsure = I'm not sure that I heard that right. Is that what you said? Reply “yes”, or say it again.
no-words = I couldn't hear any words in your voice note. Please say it again, or type it.
too-much = That transcript can't be right, so I ignored it. Please say it again, or type it.

## Why I couldn't listen

no-service = I can't listen to voice notes: no transcription service is set up. Please type your message.
too-long = That voice note is too long: I listen to { $time } at most. Please send it in shorter pieces, or type it.
too-big = That voice note is too big: I take up to { $megabytes } MB. Please send it in shorter pieces, or type it.
empty = That voice note is empty. Please record it again, or type it.
not-sound = I can't play that file: it isn't sound in a format I know. Please record it again, or type it.
gone = I couldn't listen to your voice note: the file isn't there anymore. Please send it again later, or type it.
no-download = I couldn't listen to your voice note: the download failed. Please send it again later, or type it.
no-budget = I couldn't listen to your voice note: today's budget is used up. Please send it again later, or type it.
wrong-key = I couldn't listen to your voice note: I can't sign in to the transcription service. Please tell whoever runs me, and type it for now.
overloaded = I couldn't listen to your voice note: the transcription service is overloaded or its quota is used up. Please send it again later, or type it.
too-slow = I couldn't listen to your voice note: the transcription service took too long. Please send it again later, or type it.
refused = I couldn't listen to your voice note: the transcription service refused the recording. Please send it again later, or type it.
no-answer = I couldn't listen to your voice note: the transcription service gave no usable answer. Please send it again later, or type it.
unreachable = I couldn't listen to your voice note: I can't reach the transcription service right now. Please send it again later, or type it.
went-wrong = I couldn't listen to your voice note: something went wrong on my side. Please send it again later, or type it.
