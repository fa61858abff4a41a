#!/usr/bin/env python3
"""make_speech.py MODEL_DIR OUTDIR: speech.flac, three sentences by espeak-ng at 16 kHz, and expected.json, the tokens that
transformers' Whisper writes for it, greedily, without and with timestamps. Needs espeak-ng, libsndfile, torch, transformers."""
import ctypes
import json
import os
import subprocess
import sys
import tempfile
import wave

import numpy as np
import torch
import transformers
from scipy.signal import resample_poly
from transformers.generation.logits_process import WhisperTimeStampLogitsProcessor

TEXT = ("The transformer reads a sentence at once. Every word looks at every other word, and decides what matters. "
        "Then it writes the answer, one word after another.")


def speech():
    with tempfile.NamedTemporaryFile(suffix=".wav") as file:
        subprocess.run(["espeak-ng", "-v", "en-us", "-s", "150", "-w", file.name, TEXT], check=True)
        with wave.open(file.name) as source:
            x = np.frombuffer(source.readframes(source.getnframes()), np.int16) / 32768
            x = resample_poly(x, 16000, source.getframerate())
    return np.clip(np.round(x * 32768), -32768, 32767).astype(np.int16)


def write_flac(path, samples):
    class Info(ctypes.Structure):
        _fields_ = [("frames", ctypes.c_int64)] + [(name, ctypes.c_int) for name in
                                                   ("samplerate", "channels", "format", "sections", "seekable")]
    library = ctypes.CDLL("libsndfile.so.1")
    library.sf_open.restype = ctypes.c_void_p
    info = Info(0, 16000, 1, 0x170000 | 0x0002, 0, 0)  # FLAC, 16 bits
    file = ctypes.c_void_p(library.sf_open(path.encode(), 0x20, ctypes.byref(info)))
    library.sf_write_short(file, samples.ctypes.data_as(ctypes.c_void_p), ctypes.c_int64(len(samples)))
    library.sf_close(file)


def write_tokens(model, features, generation, prompt, timestamps):
    end, no_timestamps = 50257, 50363
    out = list(prompt)
    config = transformers.GenerationConfig(eos_token_id=end, no_timestamps_token_id=no_timestamps, max_initial_timestamp_index=50)
    rules = WhisperTimeStampLogitsProcessor(config, begin_index=len(prompt))
    states = model.model.encoder(features).last_hidden_state
    while out[-1] != end:
        scores = model(encoder_outputs=(states,), decoder_input_ids=torch.tensor([out])).logits[:, -1]
        scores[:, generation["suppress_tokens"]] = -torch.inf
        if len(out) == len(prompt):
            scores[:, generation["begin_suppress_tokens"]] = -torch.inf
        if timestamps:
            scores = rules(torch.tensor([out]), scores)
        out.append(int(scores.argmax()))
    return out[len(prompt):-1]


def main():
    path, folder = sys.argv[1:]
    samples = speech()
    write_flac(os.path.join(folder, "speech.flac"), samples)
    features = transformers.WhisperFeatureExtractor()(samples.astype(np.float32) / 32768, sampling_rate=16000,
                                                      return_tensors="pt").input_features
    model = transformers.WhisperForConditionalGeneration.from_pretrained(path, dtype=torch.float32).eval()
    with open(os.path.join(path, "generation_config.json"), encoding="utf-8") as file:
        generation = json.load(file)
    english, transcribe, no_timestamps = 50259, 50359, 50363
    with torch.no_grad():
        result = {"text": TEXT, "seconds": len(samples) / 16000,
                  "tokens": write_tokens(model, features, generation, [50258, english, transcribe, no_timestamps], False),
                  "timestamp_tokens": write_tokens(model, features, generation, [50258, english, transcribe], True)}
    with open(os.path.join(folder, "expected.json"), "w", encoding="utf-8") as file:
        json.dump(result, file)
    print(result)


if __name__ == "__main__":
    main()
