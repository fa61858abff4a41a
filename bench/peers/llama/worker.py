"""One turn of the peer: prints a JSON object with the tokens a second of each repetition.
Run by ../llama_cpp.py with the interpreter of the peer's virtual environment."""
import argparse
import json
import random

import llama_cpp

import api

parser = argparse.ArgumentParser()
parser.add_argument("model")
parser.add_argument("--threads", type=int, required=True)
parser.add_argument("--decode", type=int, default=128)
parser.add_argument("--prefill", type=int, default=512)
parser.add_argument("--repeat", type=int, default=2)
parser.add_argument("--flash", type=int, choices=(0, 1), default=0)
args = parser.parse_args()

peer = api.Peer(args.model, args.threads, max(args.prefill, args.decode), bool(args.flash))
rng = random.Random(1)
tokens = [rng.randrange(peer.vocab_size) for _ in range(max(args.prefill, args.decode))]
peer.time_prefill(tokens[:args.prefill])  # warm-up: pages of the file, thread team
peer.time_decode(tokens[:8])
print(json.dumps({
    "version": llama_cpp.__version__,
    "system": llama_cpp.llama_print_system_info().decode().strip(),
    "decode": [peer.time_decode(tokens[:args.decode]) for _ in range(args.repeat)],
    "prefill": [peer.time_prefill(tokens[:args.prefill]) for _ in range(args.repeat)],
}))
