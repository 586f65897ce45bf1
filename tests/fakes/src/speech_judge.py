"""Speech for the tests: spoken by espeak-ng, packed as Opus, recognised by pocketsphinx, served as OpenAI does."""
import ctypes
import io
import json
import sys
from email.parser import BytesParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread

import espeakng_loader
import numpy
import pocketsphinx
import soundfile

# What may be said to the recogniser: it decides which of these it was.
GRAMMAR = """#JSGF V1.0;
grammar speech;
public <speech> = <what> | yes | no;
<what> = add a task to <do> | added <do>;
<do> = buy milk | call the doctor | send the report | clean the kitchen | write a letter;
"""

ESPEAK = ctypes.CDLL(espeakng_loader.get_library_path())
RATE = ESPEAK.espeak_Initialize(2, 0, espeakng_loader.get_data_path().encode(), 0)
LOCK, CHUNKS = Lock(), []


@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.c_void_p)
def chunk(samples, count, _):
    if samples and count > 0:
        CHUNKS.append(numpy.ctypeslib.as_array(samples, (count,)).copy())
    return 0


ESPEAK.espeak_SetSynthCallback(chunk)
ESPEAK.espeak_SetVoiceByName(b"en-us")
ESPEAK.espeak_SetParameter(1, 130, 0)  # words a minute


def resampled(samples, before, after):
    at = numpy.arange(0, len(samples), before / after)
    return numpy.interp(at, numpy.arange(len(samples)), samples)


def say(words):
    """The words as Opus in Ogg."""
    with LOCK:
        CHUNKS.clear()
        text = words.encode()
        ESPEAK.espeak_Synth(text, len(text) + 1, 0, 0, 0, 1, None, None)
        ESPEAK.espeak_Synchronize()
        samples = numpy.concatenate([numpy.zeros(RATE // 3), *CHUNKS]).astype(numpy.float64) / 32768
    silence = numpy.zeros(RATE // 3)
    samples = resampled(numpy.concatenate([silence, samples, silence]), RATE, 24000)
    packed = io.BytesIO()
    soundfile.write(packed, samples, 24000, format="OGG", subtype="OPUS")
    return packed.getvalue()


def understand(sound):
    """The words in a file of sound."""
    samples, rate = soundfile.read(io.BytesIO(sound), dtype="float64", always_2d=True)
    samples = resampled(samples[:, 0], rate, 16000)
    if len(samples) < 1600 or numpy.abs(samples).max() < 0.01:
        return "", len(samples) / 16000
    decoder = pocketsphinx.Decoder(samprate=16000, lm=None, loglevel="FATAL")
    decoder.add_jsgf_string("speech", GRAMMAR)
    decoder.activate_search("speech")
    decoder.start_utt()
    decoder.process_raw((samples * 32767).astype(numpy.int16).tobytes(), full_utt=True)
    decoder.end_utt()
    heard = decoder.hyp()
    return (heard.hypstr if heard else ""), len(samples) / 16000


class Service(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.path == "/v1/audio/speech":
            return self.answer(200, "audio/ogg", say(json.loads(body)["input"]))
        if self.path != "/v1/audio/transcriptions":
            return self.answer(404, "application/json", b"{}")
        head = b"content-type: " + self.headers["content-type"].encode() + b"\r\n\r\n"
        parts = BytesParser().parsebytes(head + body).get_payload()
        named = {part.get_param("name", header="content-disposition"): part for part in parts}
        try:
            text, seconds = understand(named["file"].get_payload(decode=True))
        except soundfile.LibsndfileError as error:
            error = json.dumps({"error": {"message": str(error)}})
            return self.answer(400, "application/json", error.encode())
        heard = {"text": text, "language": "english", "duration": seconds}
        self.answer(200, "application/json", json.dumps(heard).encode())

    def answer(self, status, kind, body):
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def handle_one_request(self):
        try:
            super().handle_one_request()
        except OSError:
            # The other side has died, as tests do.
            self.close_connection = True

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    print(server.server_port, flush=True)
    # The test that started it holds the other end.
    Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()
