#!/usr/bin/env python3
"""whisper_from_ctranslate2.py model.bin config.json tokenizer.json OUTDIR: a Whisper of CTranslate2's form as a directory of
Hugging Face's: config.json, generation_config.json, tokenizer.json, model.safetensors (the same fp16 numbers).

A model.bin is: u32 version, string name, u32 revision, u32 count, then for each tensor: string name, u8 rank, u32 sizes,
u8 type (4: fp16, 0: fp32), u32 bytes, data; then u32 aliases (pairs of strings). A string is u16 length, characters, 0."""
import json
import os
import shutil
import struct
import sys


class Reader:
    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        self.at = 0

    def numbers(self, form):
        values = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return values

    def number(self, form):
        return self.numbers(form)[0]

    def bytes(self, size):
        self.at += size
        return self.data[self.at - size:self.at]

    def string(self):
        return self.bytes(self.number("H"))[:-1].decode()


def read_tensors(path):
    """name -> (shape, safetensors type, bytes)"""
    reader = Reader(path)
    version, name, _, count = reader.number("I"), reader.string(), reader.number("I"), reader.number("I")
    if name != "WhisperSpec" or version < 4:
        sys.exit(f"{path}: {name} of version {version}, expected a WhisperSpec of version 4 or more")
    tensors = {}
    for _ in range(count):
        key, rank = reader.string(), reader.number("B")
        shape = reader.numbers(f"{rank}I")
        kind = {0: "F32", 1: "I8", 2: "I16", 3: "I32", 4: "F16", 5: "BF16"}[reader.number("B")]
        tensors[key] = (list(shape), kind, reader.bytes(reader.number("I")))
    return tensors


def parts(tensor, names):
    """Matrices that lie one below the other."""
    shape, kind, data = tensor
    size = len(data) // len(names)
    return {name: ([shape[0] // len(names), *shape[1:]], kind, data[i * size:(i + 1) * size]) for i, name in enumerate(names)}


def convert(tensors, layers):
    out = {}

    def linear(source, *targets):
        for kind in ("weight", "bias"):
            for target, part in parts(tensors[f"{source}/{kind}"], targets).items():
                if not (kind == "bias" and target.endswith("k_proj")):  # zeros: keys have no bias
                    out[f"{target}.{kind}"] = part

    def norm(source, target):
        out[f"{target}.weight"], out[f"{target}.bias"] = tensors[f"{source}/gamma"], tensors[f"{source}/beta"]

    for i in (1, 2):
        linear(f"encoder/conv{i}", f"model.encoder.conv{i}")
    out["model.decoder.embed_tokens.weight"] = tensors["decoder/embeddings/weight"]
    for side, count in layers.items():
        out[f"model.{side}.embed_positions.weight"] = tensors[f"{side}/position_encodings/encodings"]
        norm(f"{side}/layer_norm", f"model.{side}.layer_norm")
        for i in range(count):
            source, target = f"{side}/layer_{i}", f"model.{side}.layers.{i}"
            own = f"{target}.self_attn"
            norm(f"{source}/self_attention/layer_norm", f"{own}_layer_norm")
            linear(f"{source}/self_attention/linear_0", f"{own}.q_proj", f"{own}.k_proj", f"{own}.v_proj")
            linear(f"{source}/self_attention/linear_1", f"{own}.out_proj")
            if side == "decoder":
                cross = f"{target}.encoder_attn"
                norm(f"{source}/attention/layer_norm", f"{cross}_layer_norm")
                linear(f"{source}/attention/linear_0", f"{cross}.q_proj")
                linear(f"{source}/attention/linear_1", f"{cross}.k_proj", f"{cross}.v_proj")
                linear(f"{source}/attention/linear_2", f"{cross}.out_proj")
            norm(f"{source}/ffn/layer_norm", f"{target}.final_layer_norm")
            linear(f"{source}/ffn/linear_0", f"{target}.fc1")
            linear(f"{source}/ffn/linear_1", f"{target}.fc2")
    return out


def write_safetensors(path, tensors):
    header, at = {}, 0
    for name, (shape, kind, data) in tensors.items():
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, _, data in tensors.values():
            file.write(data)


def main():
    model, settings, tokenizer, folder = sys.argv[1:]
    tensors = read_tensors(model)
    with open(settings, encoding="utf-8") as file:
        settings = json.load(file)
    layers = {side: len({key.split("/")[1] for key in tensors if key.startswith(f"{side}/layer_") and key.count("/") > 2})
              for side in ("encoder", "decoder")}
    converted = convert(tensors, layers)
    d = converted["model.decoder.embed_tokens.weight"][0][1]
    sizes = {}
    for side in layers:
        sizes |= {f"{side}_layers": layers[side], f"{side}_attention_heads": d // 64,  # of 64 dimensions in every Whisper
                  f"{side}_ffn_dim": converted[f"model.{side}.layers.0.fc1.weight"][0][0]}
    with open(tokenizer, encoding="utf-8") as file:
        ids = {token["content"]: token["id"] for token in json.load(file)["added_tokens"]}
    common = {"decoder_start_token_id": ids["<|startoftranscript|>"], "eos_token_id": ids["<|endoftext|>"]}
    config = {
        "model_type": "whisper", "architectures": ["WhisperForConditionalGeneration"], "d_model": d, **sizes, **common,
        "activation_function": "gelu", "scale_embedding": False,
        "num_mel_bins": converted["model.encoder.conv1.weight"][0][1],
        "max_source_positions": converted["model.encoder.embed_positions.weight"][0][0],
        "max_target_positions": converted["model.decoder.embed_positions.weight"][0][0],
        "vocab_size": converted["model.decoder.embed_tokens.weight"][0][0]}
    generation = {**common, "suppress_tokens": settings["suppress_ids"], "begin_suppress_tokens": settings["suppress_ids_begin"]}
    os.makedirs(folder, exist_ok=True)
    write_safetensors(os.path.join(folder, "model.safetensors"), converted)
    for name, content in (("config.json", config), ("generation_config.json", generation)):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            json.dump(content, file, indent=1)
    shutil.copyfile(tokenizer, os.path.join(folder, "tokenizer.json"))


if __name__ == "__main__":
    main()
