#!/usr/bin/env python3
"""train_reverse.py OUTDIR: a small encoder-decoder that writes a line backwards, letter by letter.

A Marian-shaped model (post-norm, sinusoidal positions, tied embeddings) of 2 + 2 layers and 64 dimensions, trained on
random strings of letters and spaces, 1 to 16 of them; ten minutes on one core. Writes config.json, model.safetensors
(fp16), tokenizer.json (one piece a letter) and held_out.txt, lines that were left out of training. Needs torch and
transformers."""
import json
import os
import random
import sys

import torch
from safetensors.torch import save_file
from transformers import MarianConfig, MarianMTModel

LETTERS = "abcdefghijklmnopqrstuvwxyz"
PIECES = ["<pad>", "</s>", "<unk>", "\u2581", *LETTERS]  # U+2581 is SentencePiece's space
PAD, EOS = 0, 1
LONGEST, STEPS, BATCH = 16, 4500, 256


def encode(text):
    return [3 if c == " " else 4 + LETTERS.index(c) for c in text] + [EOS]


def random_text(rng):
    length = rng.randint(1, LONGEST)
    text = "".join(rng.choice(LETTERS) if rng.random() > 0.12 else " " for _ in range(length))
    return " ".join(text.split()) or rng.choice(LETTERS)


def pad(rows):
    width = max(map(len, rows))
    return torch.tensor([row + [PAD] * (width - len(row)) for row in rows])


def batch(rng, held_out):
    texts = []
    while len(texts) < BATCH:
        text = random_text(rng)
        if text not in held_out:
            texts.append(text)
    source, target = pad([encode(t) for t in texts]), pad([encode(t[::-1]) for t in texts])
    return source, target.masked_fill(target == PAD, -100)


def accuracy(model, texts):
    source = pad([encode(t) for t in texts])
    out = model.generate(source, attention_mask=source.ne(PAD), num_beams=1, max_new_tokens=LONGEST + 2)
    expected = [encode(t[::-1]) for t in texts]
    return sum([int(i) for i in row[1:] if i != PAD] == want for row, want in zip(out, expected)) / len(texts)


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    torch.manual_seed(0)
    torch.set_num_threads(1)
    held_rng, rng = random.Random(1), random.Random(2)
    held_out = sorted({random_text(held_rng) for _ in range(400)})
    config = MarianConfig(
        vocab_size=len(PIECES), d_model=64, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=128, decoder_ffn_dim=128, max_position_embeddings=64,
        activation_function="silu", dropout=0.0, attention_dropout=0.0, activation_dropout=0.0, scale_embedding=True,
        pad_token_id=PAD, eos_token_id=EOS, decoder_start_token_id=PAD, forced_eos_token_id=None, init_std=0.05)
    model = MarianMTModel(config)
    optimiser = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 2e-3, STEPS, pct_start=0.1)
    skip = set(held_out)
    for step in range(STEPS):
        source, target = batch(rng, skip)
        loss = model(input_ids=source, attention_mask=source.ne(PAD), labels=target).loss
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        schedule.step()
        if step % 250 == 0:
            model.eval()
            print(step, round(loss.item(), 4), accuracy(model, held_out[:100]), flush=True)
            model.train()
    model.eval().half().float()  # what the file holds
    print("held out:", accuracy(model, held_out), flush=True)
    drop = ("encoder.embed_tokens", "decoder.embed_tokens", "embed_positions", "lm_head")
    save_file({k: v.half().contiguous() for k, v in model.state_dict().items() if not any(d in k for d in drop)},
              os.path.join(folder, "model.safetensors"), metadata={"format": "pt"})
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
        json.dump({"architectures": ["MarianMTModel"], **config.to_diff_dict()}, file, indent=1, sort_keys=True)
    tokenizer = {
        "version": "1.0",
        "added_tokens": [{"id": i, "content": PIECES[i], "special": True} for i in range(3)],
        "normalizer": None,
        "pre_tokenizer": {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "never", "split": False},
        "post_processor": {"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A", "type_id": 0}},
                                                                    {"SpecialToken": {"id": "</s>", "type_id": 0}}],
                           "pair": [], "special_tokens": {"</s>": {"id": "</s>", "ids": [EOS], "tokens": ["</s>"]}}},
        "decoder": {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "never", "split": False},
        "model": {"type": "Unigram", "unk_id": 2, "vocab": [[piece, 0.0 if i < 3 else -1.0]
                                                            for i, piece in enumerate(PIECES)]}}
    with open(os.path.join(folder, "tokenizer.json"), "w", encoding="utf-8") as file:
        json.dump(tokenizer, file, ensure_ascii=False, indent=1)
    with open(os.path.join(folder, "held_out.txt"), "w", encoding="utf-8") as file:
        file.write("\n".join(held_out) + "\n")


if __name__ == "__main__":
    main()
