#!/usr/bin/env python3
"""make_fixtures.py OUTDIR [NAME...]: tiny random models of each family, and what PyTorch computes with them.

For every NAME in FAMILIES a folder with config.json, model.safetensors (fp16, so that the numbers are few and exact)
and reference.safetensors, all F32, computed in float64 by transformers or torch.nn:
  source, source_lengths   I32  the sequences that go into the encoder, one after another
  encoder.L                (tokens, d)  states after the embedding (L = 0) and after each layer
  target                   I32 (sequences, T)  what the decoder reads
  decoder.L                (sequences, T, d)
  logits                   (sequences, T, vocab)
The folders are committed (tests/models/fixtures), so that tests need neither torch nor transformers; this script does."""
import json
import os
import sys

import numpy as np
import torch
import transformers
from safetensors.torch import save_file

import safetensors_file

LENGTHS = (7, 19, 1)  # around the 16 keys of a panel


def randomise(model, gain=1.0):
    """Weights of unit gain, so that activations stay near 1; biases and norm weights that no code may forget. Everything
    is rounded to fp16 first, since the file holds that."""
    generator = torch.Generator().manual_seed(7)
    seen = set()
    for name, p in model.named_parameters():
        if p.data_ptr() in seen:
            continue
        seen.add(p.data_ptr())
        noise = torch.randn(p.shape, generator=generator, dtype=torch.float64)
        if p.dim() > 1:
            embedding = any(word in name for word in ("embed", "shared", "relative_attention_bias"))
            value = noise if embedding else noise * gain / np.prod(p.shape[1:]) ** 0.5
        elif "norm" in name.lower() and name.endswith("weight"):
            value = 1 + 0.2 * noise
        else:
            value = 0.3 * noise
        p.data = value.half().double()
    return model.double().eval()


def sequences(vocab, rng, first=3):
    return [rng.integers(first, vocab, n).tolist() for n in LENGTHS]


def write(folder, config, tensors, reference):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
        json.dump(config, file, indent=1, sort_keys=True)
        file.write("\n")
    save_file({name: t.half().contiguous() for name, t in tensors.items()}, os.path.join(folder, "model.safetensors"))
    kinds = {"source": "I32", "source_lengths": "I32", "target": "I32"}
    safetensors_file.write(os.path.join(folder, "reference.safetensors"),
                           [(name, kinds.get(name, "F32"), np.asarray(value)) for name, value in reference.items()])


def encode_alone(encoder, sources):
    """States of each layer (tokens, d) of sequences that are computed one by one, and padded together: the same."""
    alone = []
    for ids in sources:
        out = encoder(input_ids=torch.tensor([ids]), output_hidden_states=True)
        alone.append([h[0] for h in out.hidden_states])
    width = max(map(len, sources))
    padded = torch.tensor([ids + [0] * (width - len(ids)) for ids in sources])
    mask = torch.tensor([[1] * len(ids) + [0] * (width - len(ids)) for ids in sources])
    together = encoder(input_ids=padded, attention_mask=mask, output_hidden_states=True).hidden_states
    for layer, h in enumerate(together):
        for i, ids in enumerate(sources):
            assert torch.allclose(h[i, :len(ids)], alone[i][layer], atol=1e-9), "a padded token was seen"
    return [torch.cat([states[layer] for states in alone]) for layer in range(len(together))]


def source_reference(sources, states):
    return {"source": np.concatenate(sources), "source_lengths": [len(ids) for ids in sources],
            **{f"encoder.{i}": h.numpy() for i, h in enumerate(states)}}


WORDS = ("[PAD] [UNK] [CLS] [SEP] [MASK] the a cat dog sat on mat un ##aff ##able ##s . , ! ' e cafe x ##y ##z "
         "transform ##er").split()


def bert(folder):
    config = transformers.BertConfig(
        vocab_size=len(WORDS), hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=40,
        max_position_embeddings=24, type_vocab_size=2, layer_norm_eps=1e-3, hidden_act="gelu")
    model = randomise(transformers.BertModel(config, add_pooling_layer=False), 1.5)
    sources = sequences(len(WORDS), np.random.default_rng(1))
    with torch.no_grad():
        states = encode_alone(model, sources)
    write(folder, {"model_type": "bert", **config.to_diff_dict()}, model.state_dict(), source_reference(sources, states))
    tokenizer = {
        "added_tokens": [{"id": i, "content": word, "special": True} for i, word in enumerate(WORDS[:5])],
        "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None,
                       "lowercase": True},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 20, "vocab": {word: i for i, word in enumerate(WORDS)}}}
    with open(os.path.join(folder, "tokenizer.json"), "w", encoding="utf-8") as file:
        json.dump(tokenizer, file, indent=1)


FAMILIES = {"bert": bert}


def main():
    root = sys.argv[1]
    for name in sys.argv[2:] or FAMILIES:
        FAMILIES[name](os.path.join(root, name))
        print(name, sum(os.path.getsize(os.path.join(root, name, f)) for f in os.listdir(os.path.join(root, name))), "bytes")


if __name__ == "__main__":
    main()
