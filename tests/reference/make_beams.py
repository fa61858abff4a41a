#!/usr/bin/env python3
"""make_beams.py MODELS OUT.json: what transformers' beam search finds with tiny models, in float64.

MODELS holds fixtures/NAME (make_fixtures.py) and reverse (train_reverse.py). Each case of OUT: model, source (the encoder's
tokens, or the decoder's prompt), options, and results, the best first, without start and end tokens."""
import itertools
import json
import os
import sys

import numpy as np
import torch
import transformers

from train_reverse import encode


def results(model, source, options, end, encoder_decoder):
    with torch.no_grad():
        out = model.generate(
            torch.tensor([source]), num_beams=options["beams"], num_return_sequences=options["n_best"], do_sample=False,
            length_penalty=options["length_penalty"], early_stopping=options["early_stopping"],
            max_new_tokens=options["max_tokens"], bad_words_ids=None, forced_eos_token_id=None, forced_bos_token_id=None,
            no_repeat_ngram_size=0, return_dict_in_generate=True, output_scores=True, use_cache=False)
    skip = 1 if encoder_decoder else len(source)
    found = []
    for row, score in zip(out.sequences.tolist(), out.sequences_scores.tolist()):
        tokens, ended = row[skip:], False
        if end in tokens:
            tokens, ended = tokens[:tokens.index(end)], True
        found.append({"tokens": tokens, "score": score, "ended": ended})
    return found


def main():
    root, path = sys.argv[1:]
    rng = np.random.default_rng(5)
    cases = []
    for name, encoder_decoder in (("fixtures/bart", True), ("fixtures/t5", True), ("fixtures/llama", False), ("reverse", True)):
        auto = transformers.AutoModelForSeq2SeqLM if encoder_decoder else transformers.AutoModelForCausalLM
        model = auto.from_pretrained(os.path.join(root, name), dtype=torch.float64).eval()
        end, vocab = model.config.eos_token_id, model.config.vocab_size
        if name == "reverse":
            sources = [encode("deep learning"), encode("a"), encode("zqxj kkvw")]
        else:
            sources = [rng.integers(3, vocab, n).tolist() for n in (3, 9)]
        for source, (beams, penalty, early) in itertools.product(
                sources, ((2, 1.0, False), (4, 0.0, False), (4, 1.0, True), (5, 2.0, False), (3, -0.5, False))):
            options = {"beams": beams, "n_best": beams, "length_penalty": penalty, "early_stopping": early, "max_tokens": 20}
            cases.append({"model": name, "source": source, "options": options,
                          "results": results(model, source, options, end, encoder_decoder)})
    with open(path, "w", encoding="utf-8") as file:
        file.write("[\n" + ",\n".join(json.dumps(case) for case in cases) + "\n]\n")
    ended = sum(r["ended"] for c in cases for r in c["results"])
    print(len(cases), "cases,", sum(len(c["results"]) for c in cases), "results,", ended, "of them ended")


if __name__ == "__main__":
    main()
