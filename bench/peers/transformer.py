#!/usr/bin/env python3
"""Warpfold beside sentence-transformers, CTranslate2 and faster-whisper on this machine, in turn, same threads.

    transformer.py --warpfold build/release/warpfold --peer-python VENV/bin/python [embed|translate|whisper]...

VENV holds sentence-transformers, transformers, ctranslate2 and faster-whisper (PyPI). Every round starts one process
after the other, Warpfold and the peer; each warms up once and then repeats the same work, loading not counted:
  embed      MiniLM, the 64 sentences below in batches of 1 and of 32, tokenizer included on both sides
  translate  a Marian model of base size (d_model 512, 8 heads, d_ff 2048, 6 + 6 layers, 32000 pieces) with random
             weights, fp32; a bias forbids the end token, so that both write 32 tokens for each of 8 sources of 20
  whisper    Whisper base, the committed sound file, greedy, without timestamps, in one window
The ratio is peer / Warpfold of the medians, that of the shortest times stands beside it: load of other processes only
ever slows a run down."""
import argparse
import datetime
import json
import os
import statistics
import tempfile

from runs import processor, run_json

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
WORDS = "the a small old river house stone light carries over under quiet morning engine of and paper".split()
SENTENCES = [" ".join(WORDS[(i * 7 + j * (1 + i % 5)) % len(WORDS)] for j in range(6 + i % 14)) for i in range(64)]
VOCAB, SOURCES, SOURCE_TOKENS, TARGET_TOKENS = 32000, 8, 20, 32


def pieces():
    return [f"w{(i * 977 + 13) % (VOCAB - 10) + 3}" for i in range(SOURCES * (SOURCE_TOKENS - 1))]


def source_lines():
    ids, each = pieces(), SOURCE_TOKENS - 1
    return ["".join(f"<{w}>" for w in ids[i * each:(i + 1) * each]) for i in range(SOURCES)]


def make_marian(folder):
    """Random weights of unit gain, in both forms."""
    import ctranslate2
    import torch
    import transformers
    torch.manual_seed(1)
    config = transformers.MarianConfig(
        vocab_size=VOCAB, d_model=512, encoder_layers=6, decoder_layers=6, encoder_attention_heads=8,
        decoder_attention_heads=8, encoder_ffn_dim=2048, decoder_ffn_dim=2048, max_position_embeddings=128, pad_token_id=0,
        eos_token_id=1, decoder_start_token_id=0, forced_eos_token_id=None, scale_embedding=True,
        activation_function="swish", init_std=0.044)
    model = transformers.MarianMTModel(config).eval()
    model.final_logits_bias[0, [0, 1, VOCAB - 1]] = -1e4  # the converter drops the last row, as of Marian's padding
    hf = os.path.join(folder, "hf")
    model.save_pretrained(hf)
    vocab = ["<pad>", "</s>", "<unk>"] + [f"<w{i}>" for i in range(3, VOCAB)]
    with open(os.path.join(ROOT, "tests", "models", "reverse", "tokenizer.json"), encoding="utf-8") as file:
        tokenizer = json.load(file)
    tokenizer["model"]["vocab"] = [[piece, 0.0 if i < 3 else -1.0] for i, piece in enumerate(vocab)]
    with open(os.path.join(hf, "tokenizer.json"), "w", encoding="utf-8") as file:
        json.dump(tokenizer, file)

    class Loader(ctranslate2.converters.transformers.MarianMTLoader):
        def get_vocabulary(self, model, tokenizer):
            return vocab[:-1]

        def set_config(self, config, model, tokenizer):
            config.bos_token, config.eos_token, config.unk_token = "<pad>", "</s>", "<unk>"
            config.decoder_start_token = "<pad>"

        def __call__(self, model, tokenizer):
            spec = self.get_model_spec(model)
            self.set_config(spec.config, model, tokenizer)
            for register in (spec.register_source_vocabulary, spec.register_target_vocabulary):
                register(vocab[:-1])
            return spec
    spec = Loader()(model, None)
    spec.validate()
    spec.optimize(quantization=None)
    os.makedirs(os.path.join(folder, "ct2"), exist_ok=True)
    spec.save(os.path.join(folder, "ct2"))


def worker(job):
    import time
    os.environ["OMP_NUM_THREADS"] = str(job["threads"])

    def timed(run):
        run()
        seconds = []
        for _ in range(job["repeat"]):
            start = time.perf_counter()
            run()
            seconds.append(time.perf_counter() - start)
        return seconds
    result = {}
    if job["kind"] == "model":
        make_marian(job["model"])
    elif job["kind"] == "embed":
        import torch
        torch.set_num_threads(job["threads"])
        from sentence_transformers import SentenceTransformer
        model = SentenceTransformer(job["model"], device="cpu")
        result["seconds"] = timed(lambda: model.encode(SENTENCES, batch_size=job["batch"], show_progress_bar=False))
    elif job["kind"] == "translate":
        import ctranslate2
        translator = ctranslate2.Translator(os.path.join(job["model"], "ct2"), device="cpu", intra_threads=job["threads"],
                                            inter_threads=1, compute_type=job["type"])
        ids, each = [f"<{w}>" for w in pieces()], SOURCE_TOKENS - 1
        batch = [ids[i * each:(i + 1) * each] + ["</s>"] for i in range(SOURCES)]
        found = []
        result["seconds"] = timed(lambda: found.append(translator.translate_batch(
            batch, beam_size=job["beams"], max_decoding_length=TARGET_TOKENS)))
        result["tokens"] = [[int(t[2:-1]) for t in r.hypotheses[0]] for r in found[-1]]
    else:
        from faster_whisper import WhisperModel
        from faster_whisper.audio import decode_audio
        model = WhisperModel(job["model"], device="cpu", cpu_threads=job["threads"], compute_type="float32")
        audio = decode_audio(job["sound"])
        found = []

        def run():
            segments, _ = model.transcribe(audio, language="en", beam_size=1, temperature=0, without_timestamps=True,
                                           condition_on_previous_text=False)
            found.append("".join(s.text for s in segments))
        result["seconds"], result["text"] = timed(run), found[-1]
    print(json.dumps(result))


def peer(args, **job):
    job |= {"threads": args.threads, "repeat": args.repeat}
    return run_json([args.peer_python, os.path.abspath(__file__), "--worker", json.dumps(job)])


def compare(args, name, ours, theirs):
    runs, last = {"warpfold": [], "peer": []}, {}
    for _ in range(args.rounds):
        for side, run in (("warpfold", ours), ("peer", theirs)):
            last[side] = run()
            runs[side] += last[side]["seconds"]
    row = {"measurement": name, **runs, "ratio": statistics.median(runs["peer"]) / statistics.median(runs["warpfold"]),
           "ratio_of_best": min(runs["peer"]) / min(runs["warpfold"])}
    print(f"{name:<28} {statistics.median(runs['warpfold']):9.4f} {statistics.median(runs['peer']):9.4f} s "
          f"{row['ratio']:6.2f} {row['ratio_of_best']:6.2f}", flush=True)
    return row, last


def embed(args):
    model = os.path.join(ROOT, "models", "all-MiniLM-L6-v2")
    command = [args.warpfold, "embed", model, "-f", "-", "--json", "--threads", str(args.threads), "--repeat", str(args.repeat)]
    return [compare(args, f"embed, batch {batch}",
                    lambda b=batch: run_json([*command, "--batch", str(b)], input="\n".join(SENTENCES)),
                    lambda b=batch: peer(args, kind="embed", model=model, batch=b))[0] for batch in (1, 32)]


def translate(args):
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        peer(args, kind="model", model=folder)
        for beams in (1, 4):
            command = [args.warpfold, "translate", os.path.join(folder, "hf"), "-f", "-", "--json", "--threads",
                       str(args.threads), "--repeat", str(args.repeat), "--beams", str(beams), "--max-tokens",
                       str(TARGET_TOKENS)]
            row, last = compare(args, f"translate fp32, beams {beams}",
                                lambda c=command: run_json(c, input="\n".join(source_lines())),
                                lambda b=beams: peer(args, kind="translate", model=folder, beams=b, type="float32"))
            ours = [t[0]["tokens"] for t in last["warpfold"]["translations"]]
            row["same_sequences"] = sum(a == b for a, b in zip(ours, last["peer"]["tokens"]))
            row["lengths"] = [sorted({len(t) for t in side}) for side in (ours, last["peer"]["tokens"])]
            rows.append(row)
    return rows


def whisper(args):
    model, sound = os.path.join(ROOT, "models", "whisper-base"), os.path.join(ROOT, "tests", "cli", "speech", "speech.flac")

    def ours():
        runs = [run_json([args.warpfold, "transcribe", model, sound, "--language", "en", "--json", "--threads",
                        str(args.threads)]) for _ in range(args.repeat)]
        return {"seconds": [r["seconds"] for r in runs], "text": runs[-1]["text"]}
    row, last = compare(args, "whisper base", ours,
                        lambda: peer(args, kind="whisper", model=args.whisper_ctranslate2, sound=sound))
    row["texts"] = [last[side]["text"] for side in ("warpfold", "peer")]
    return [row]


def main():
    sections = {"embed": embed, "translate": translate, "whisper": whisper}
    parser = argparse.ArgumentParser(description="Warpfold beside its peers for encoders and encoder-decoders")
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(sections) + " (default: all)")
    parser.add_argument("--warpfold", help="the warpfold program")
    parser.add_argument("--peer-python", help="interpreter of the environment with the peers")
    parser.add_argument("--whisper-ctranslate2", help="Whisper base in CTranslate2's form, as faster-whisper reads it")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--repeat", type=int, default=5, help="measurements in each process")
    parser.add_argument("--output", default=os.path.join(ROOT, "bench", "results", "transformer.json"))
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        worker(json.loads(args.worker))
        return
    print(f"{processor()}, {args.threads} threads: Warpfold, peer (medians), ratio, ratio of the shortest")
    rows = []
    for name in args.sections or sections:
        rows += sections[name](args)
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        flags = next(line for line in file if line.startswith("flags")).split()
    report = {"date": datetime.date.today().isoformat(), "processor": processor(),
              "avx512": "avx512f" in flags, "processors": os.cpu_count(), "threads": args.threads, "results": rows}
    with open(args.output, "w", encoding="utf-8") as file:
        json.dump(report, file, indent=1)


if __name__ == "__main__":
    main()
