#!/usr/bin/env python3
"""embed_minilm.py MODEL_DIR SENTENCES OUT.safetensors: what sentence-transformers makes of each line.

  embeddings  F16 (sentences, d)  normalised; fp16 moves a cosine by less than 1e-6
  tokens      I32 (all tokens)    of all sentences, one after another
  lengths     I32 (sentences)
Needs torch and sentence-transformers."""
import sys

import numpy as np
from sentence_transformers import SentenceTransformer

import safetensors_file

path, sentences, out = sys.argv[1:]
with open(sentences, encoding="utf-8") as file:
    lines = file.read().split("\n")[:-1]
model = SentenceTransformer(path, device="cpu")
embeddings = np.concatenate([model.encode([line], normalize_embeddings=True) for line in lines])
limit = model.max_seq_length
tokens = [model.tokenizer(line, truncation=True, max_length=limit)["input_ids"] for line in lines]
safetensors_file.write(out, [("embeddings", "F16", embeddings), ("tokens", "I32", np.concatenate(tokens)),
                             ("lengths", "I32", [len(ids) for ids in tokens])])
print(f"{len(lines)} sentences, {sum(map(len, tokens))} tokens")
