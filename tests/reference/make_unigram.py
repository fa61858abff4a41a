#!/usr/bin/env python3
"""make_unigram.py TEXT OUTDIR: a Unigram tokenizer of T5's shape, trained on a text, and what the tokenizers library makes of
some sentences: tokenizer.json and cases.json. Needs tokenizers."""
import json
import os
import sys

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

SENTENCES = [
    "", " ", "the", "The cat sat on the mat.", "  two  spaces\tand a tab\n", "encoders read a whole sentence at once",
    "naïve café façade", "ﬁne ①½", "東京 is far", "🦙🦙 llama", "a\u00a0b\u3000c", "to be or not to be, that is the question",
    "xq zzzz qqqq", "transformer", "the▁the", "ＡＢＣ",
]


def main():
    text, folder = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=300, special_tokens=["<pad>", "</s>", "<unk>"], unk_token="<unk>",
                                      show_progress=False)
    tokenizer.train([text], trainer)
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    tokenizer.save(os.path.join(folder, "tokenizer.json"))
    cases = []
    for sentence in SENTENCES:
        ids = tokenizer.encode(sentence).ids
        cases.append({"text": sentence, "ids": ids, "decoded": tokenizer.decode(ids)})
    with open(os.path.join(folder, "cases.json"), "w", encoding="utf-8") as file:
        json.dump(cases, file, ensure_ascii=False, indent=0)


if __name__ == "__main__":
    main()
