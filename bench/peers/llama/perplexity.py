"""llama.cpp's perplexity of a text, by the method of its own perplexity tool, as a figure to compare ours with.

The text is tokenised once, with the special tokens that the vocabulary asks for. Chunks of C tokens do not overlap;
a rest shorter than C is dropped. Where the vocabulary asks for a BOS, the first token of each chunk is *replaced* by
it. Each chunk starts from an empty cache. With h = C / 2, the logits of positions h .. C - 2 are scored against
tokens h + 1 .. C - 1 (C - 1 - h tokens a chunk):  perplexity = exp(mean(logsumexp(logits) - logits[next])).

Run with the interpreter of the environment that has llama-cpp-python (and numpy)."""
import argparse
import json

import numpy as np

import api

parser = argparse.ArgumentParser(description="Perplexity by llama.cpp")
parser.add_argument("model")
parser.add_argument("text")
parser.add_argument("--context", type=int, default=512)
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--chunks", type=int, default=0, help="stop after so many; 0: all")
parser.add_argument("--bos", choices=("auto", "yes", "no"), default="auto")
parser.add_argument("--json", action="store_true")
args = parser.parse_args()

peer = api.Peer(args.model, args.threads, args.context, batch=args.context)
with open(args.text, encoding="utf-8") as file:
    text = file.read().removesuffix("\n")
tokens = peer.tokenize(text, True)
bos = peer.adds_bos() if args.bos == "auto" else args.bos == "yes"
context, half = args.context, args.context // 2
chunks = len(tokens) // context
if args.chunks:
    chunks = min(chunks, args.chunks)
total, count = 0.0, 0
for chunk in range(chunks):
    ids = tokens[chunk * context:(chunk + 1) * context]
    inputs = [peer.bos()] + ids[1:] if bos else ids
    peer.clear()
    logits = np.ctypeslib.as_array(peer.decode_all_logits(inputs)).reshape(context, -1)[half:-1].astype(np.float64)
    top = logits.max(axis=1)
    nll = np.log(np.exp(logits - top[:, None]).sum(axis=1)) + top - logits[np.arange(len(logits)), ids[half + 1:]]
    total, count = total + nll.sum(), count + len(nll)
    if not args.json:
        print(f"chunk {chunk + 1:3d} of {chunks}: {np.exp(total / count):.4f}", flush=True)
result = {"perplexity": float(np.exp(total / count)), "tokens": len(tokens), "chunks": chunks, "scored": count,
          "bos_at_chunk_start": bos, "context": context}
print(json.dumps(result) if args.json else
      f"perplexity {result['perplexity']:.4f} over {count} tokens ({chunks} chunks of {context}, "
      f"{len(tokens)} tokens in the text, BOS at each chunk's start: {'yes' if bos else 'no'})")
