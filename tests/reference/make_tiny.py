#!/usr/bin/env python3
"""make_tiny.py OUTDIR: random checkpoints of a few layers, and what the reference says about each.

For every NAME below: NAME.gguf or the directory NAME.hf (config.json and safetensors), and NAME.ref.safetensors with
  tokens      I32 (T)         the input, positions 0 .. T - 1
  exact       F64 (T, vocab)  logits by definition
  kv_f16      F64 (T, vocab)  with the roundings of an engine that keeps keys and values in fp16 and multiplies
  kv_int8     F64 (T, vocab)  block-quantised weights with int8 activations; the same with int8 keys and values
The model is causal, so the logits of a shorter input are the first rows. Everything follows from fixed seeds.
BROKEN lists files that a loader has to refuse: bad_NAME.gguf."""
import dataclasses
import json
import os
import sys

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # the matrices are tiny: threads would only wait for each other
import numpy as np

import decoder
import gguf_file
import safetensors_file
import tiny_vocab

VOCAB = tiny_vocab.SIZE
EPS = 1e-3  # large enough that an engine's own constant in its place would show
ROLES = ("embed", "q", "k", "v", "o", "gate", "up", "down", "head")


@dataclasses.dataclass
class Spec:
    name: str
    family: str
    types: dict            # role -> type
    d_model: int
    heads: int
    kv_heads: int
    head_dim: int
    d_ff: int
    layers: int = 2
    tied: bool = True
    form: str = "gguf"     # "gguf", "hf" or "hf-sharded"
    window: int = 0
    tokens: int = 70
    context: int = 128
    rope_base: float = 10000.0
    rope_scaling: dict = dataclasses.field(default_factory=dict)
    doubled_head: bool = False  # a head in the file although the configuration ties it: the file's counts


def every(kind, **others):
    return {role: others.get(role, kind) for role in ROLES}


# Groups of query heads of 1, 3, 4 and 7; d_ff odd where the types allow it; head_dim other than d_model / heads.
SPECS = [
    Spec("llama_f32", "llama", every("F32"), 96, 3, 1, 32, 173),
    Spec("llama_f32_untied", "llama", every("F32"), 128, 4, 4, 32, 129, tied=False, rope_base=1e5),
    Spec("llama_f16", "llama", every("F16"), 128, 8, 2, 16, 173, tied=False),
    Spec("llama_bf16", "llama", every("BF16"), 112, 7, 1, 40, 99),
    Spec("llama_q4_0", "llama", every("Q4_0", head="Q6_K"), 256, 4, 1, 64, 352, tied=False),
    Spec("llama_q4_1", "llama", every("Q4_1", embed="Q8_0"), 96, 3, 1, 32, 224),
    Spec("llama_q5_0", "llama", every("Q5_0", v="Q8_0", embed="Q8_0"), 160, 7, 1, 32, 352),
    Spec("llama_q5_1", "llama", every("Q5_1", head="F16"), 128, 8, 2, 16, 160, tied=False),
    Spec("llama_q8_0", "llama", every("Q8_0"), 128, 4, 4, 32, 160),
    Spec("llama_q4_k", "llama", every("Q4_K", v="Q6_K", down="Q6_K", head="Q6_K"), 256, 8, 2, 32, 768, tied=False),
    Spec("llama_q5_k", "llama", every("Q5_K"), 256, 4, 4, 64, 256),
    Spec("llama_q6_k", "llama", every("Q6_K"), 256, 4, 1, 64, 512, layers=3),
    Spec("llama_long", "llama", every("Q8_0", embed="F16"), 96, 3, 1, 32, 160, tokens=600, context=600),
    Spec("gemma3_f32", "gemma3", every("F32"), 96, 4, 1, 64, 145, layers=7, window=32, rope_base=1e6),
    Spec("gemma3_q8_0", "gemma3", every("Q8_0"), 128, 4, 1, 64, 160, layers=7, window=32, rope_base=1e6),
    Spec("gemma3_mixed", "gemma3", every("Q5_0", embed="Q8_0", v="Q8_0", o="Q4_K", down="Q6_K"), 160, 4, 1, 64, 256,
         layers=7, window=32, rope_base=1e6),
    Spec("gemma3_long", "gemma3", every("F16"), 96, 4, 2, 32, 145, layers=7, window=32, rope_base=1e6, tokens=600,
         context=600),
    Spec("qwen2_f32", "qwen2", every("F32"), 112, 7, 1, 16, 173, rope_base=1e6),
    Spec("qwen2_q4_k", "qwen2", every("Q4_K", embed="Q8_0"), 256, 8, 2, 32, 256, rope_base=1e6),
    Spec("llama_hf_f32", "llama", every("F32"), 96, 3, 1, 32, 173, form="hf"),
    Spec("llama_hf_f16", "llama", every("F16"), 128, 4, 4, 24, 131, form="hf", tied=False),
    Spec("qwen2_hf_f32", "qwen2", every("F32"), 112, 7, 1, 16, 173, form="hf-sharded", tied=False, rope_base=1e6),
    Spec("qwen2_hf_bf16", "qwen2", every("BF16"), 128, 8, 2, 16, 129, form="hf", rope_base=1e6),
    Spec("qwen3_f32", "qwen3", every("F32"), 96, 6, 2, 40, 145, tied=False, rope_base=1e6),
    Spec("qwen3_q8_0", "qwen3", every("Q8_0"), 128, 4, 1, 64, 160, rope_base=1e6),
    Spec("qwen3_hf_f32", "qwen3", every("F32"), 96, 4, 2, 32, 131, form="hf", rope_base=1e6, doubled_head=True),
    Spec("qwen3_yarn", "qwen3", every("F32"), 96, 4, 2, 64, 131, form="hf", tokens=300, context=512,
         rope_scaling={"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 128}),
    Spec("mistral_f32", "mistral", every("F32"), 96, 6, 2, 16, 131, form="hf", window=32, tied=False),
    Spec("mistral_bf16", "mistral", every("BF16"), 112, 4, 2, 40, 99, form="hf-sharded", tied=False, rope_base=1e6),
    Spec("llama_hf_llama3", "llama", every("F32"), 128, 4, 2, 64, 131, form="hf", tied=False, tokens=300, context=512,
         rope_base=5e5, rope_scaling={"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                                      "original_max_position_embeddings": 64}),
    Spec("llama_hf_linear", "llama", every("F32"), 96, 3, 1, 32, 173, form="hf",
         rope_scaling={"rope_type": "linear", "factor": 2.0}),
]


def random_tensors(spec, rng):
    """(GGUF name, type, array) in file order. Rows of unit gain keep every activation near 1."""
    def matrix(name, kind, rows, columns, gain=1.0):
        return name, kind, rng.standard_normal((rows, columns)) * gain / np.sqrt(columns)

    def vector(name, size, mean, spread):
        return name, "F32", mean + spread * rng.standard_normal(size)

    gemma = spec.family == "gemma3"
    kinds, d, heads_d, kv_d = spec.types, spec.d_model, spec.heads * spec.head_dim, spec.kv_heads * spec.head_dim
    # sqrt(d) of Gemma brings embeddings of size 1 / sqrt(d) to 1; the others start there.
    yield matrix("token_embd.weight", kinds["embed"], VOCAB, d, 1.0 if gemma else np.sqrt(d))
    for layer in range(spec.layers):
        blk = f"blk.{layer}"
        yield vector(f"{blk}.attn_norm.weight", d, 1.0, 0.2)
        for role, size, gain in (("q", heads_d, 1.5), ("k", kv_d, 1.5), ("v", kv_d, 1.0)):
            yield matrix(f"{blk}.attn_{role}.weight", kinds[role], size, d, gain)
            if spec.family == "qwen2":
                yield vector(f"{blk}.attn_{role}.bias", size, 0.0, 0.5)
        if gemma or spec.family == "qwen3":
            yield vector(f"{blk}.attn_q_norm.weight", spec.head_dim, 1.5, 0.2)
            yield vector(f"{blk}.attn_k_norm.weight", spec.head_dim, 1.5, 0.2)
        yield matrix(f"{blk}.attn_output.weight", kinds["o"], d, heads_d)
        if gemma:
            yield vector(f"{blk}.post_attention_norm.weight", d, 0.7, 0.1)
        yield vector(f"{blk}.ffn_norm.weight", d, 1.0, 0.2)
        yield matrix(f"{blk}.ffn_gate.weight", kinds["gate"], spec.d_ff, d, 2.0)  # where tanh and erf GELU differ most
        yield matrix(f"{blk}.ffn_up.weight", kinds["up"], spec.d_ff, d, 1.5)
        yield matrix(f"{blk}.ffn_down.weight", kinds["down"], d, spec.d_ff)
        if gemma:
            yield vector(f"{blk}.post_ffw_norm.weight", d, 1.0, 0.1)
    yield vector("output_norm.weight", d, 1.0, 0.2)
    if not spec.tied or spec.doubled_head:
        yield matrix("output.weight", kinds["head"], VOCAB, d)


def gguf_metadata(spec):
    arch = spec.family
    pairs = [
        ("general.architecture", "str", arch), ("general.name", "str", spec.name),
        (f"{arch}.block_count", "u32", spec.layers), (f"{arch}.context_length", "u32", spec.context),
        (f"{arch}.embedding_length", "u32", spec.d_model), (f"{arch}.feed_forward_length", "u32", spec.d_ff),
        (f"{arch}.attention.head_count", "u32", spec.heads),
        (f"{arch}.attention.head_count_kv", "u32", spec.kv_heads),
        (f"{arch}.attention.layer_norm_rms_epsilon", "f32", EPS),
        (f"{arch}.rope.freq_base", "f32", spec.rope_base),
    ]
    if arch == "llama":
        pairs += [("llama.vocab_size", "u32", VOCAB), ("llama.rope.dimension_count", "u32", spec.head_dim)]
    if arch == "gemma3" or spec.head_dim * spec.heads != spec.d_model:
        pairs += [(f"{arch}.attention.{what}_length", "u32", spec.head_dim) for what in ("key", "value")]
    if arch == "gemma3":
        pairs.append(("gemma3.attention.sliding_window", "u32", spec.window))
    return pairs + tiny_vocab.metadata(arch)


def hf_config(spec):
    names = {"llama": "LlamaForCausalLM", "mistral": "MistralForCausalLM", "qwen2": "Qwen2ForCausalLM",
             "qwen3": "Qwen3ForCausalLM"}
    extra = {} if spec.head_dim * spec.heads == spec.d_model else {"head_dim": spec.head_dim}
    if spec.family == "mistral":
        extra["sliding_window"] = spec.window or None
    if spec.family == "qwen3":  # as newer files write it
        extra["rope_parameters"] = {"rope_theta": spec.rope_base, "rope_type": "default", **spec.rope_scaling}
    elif spec.rope_scaling:
        extra["rope_scaling"] = spec.rope_scaling
    return extra | {
        "architectures": [names[spec.family]], "model_type": spec.family, "vocab_size": VOCAB,
        "hidden_size": spec.d_model, "intermediate_size": spec.d_ff, "num_hidden_layers": spec.layers,
        "num_attention_heads": spec.heads, "num_key_value_heads": spec.kv_heads,
        "hidden_act": "silu", "max_position_embeddings": spec.context, "rms_norm_eps": EPS,
        **({} if spec.family == "qwen3" else {"rope_theta": spec.rope_base}), "tie_word_embeddings": spec.tied, "bos_token_id": 1, "eos_token_id": 2,
        "torch_dtype": {"F32": "float32", "F16": "float16", "BF16": "bfloat16"}[spec.types["q"]],
    }


def hf_name(name):
    """blk.0.attn_q.bias -> model.layers.0.self_attn.q_proj.bias."""
    stem, suffix = name.rsplit(".", 1)
    for hf, gguf in decoder.HF_OUTER.items():
        if stem == gguf:
            return f"{hf}.{suffix}"
    _, layer, rest = stem.split(".", 2)
    return next(f"model.layers.{layer}.{hf}.{suffix}" for hf, gguf in decoder.HF_LAYER.items() if rest == gguf)


# What is wrong with bad_NAME.gguf: a change of llama_f32's metadata (dict key -> (kind, value) or None) and tensors.
def _without(name):
    return lambda tensors: [t for t in tensors if t[0] != name]


def _reshaped(name, rows):
    return lambda tensors: [(n, k, a[:rows] if n == name else a) for n, k, a in tensors]


BROKEN = {
    "architecture": ({"general.architecture": ("str", "mamba")}, list),
    "no_width": ({"llama.embedding_length": None}, list),
    "layers": ({"llama.block_count": ("u32", 2**31)}, list),
    "heads": ({"llama.attention.head_count_kv": ("u32", 2)}, list),      # 3 query heads in groups of 1.5
    "zero_heads": ({"llama.attention.head_count": ("u32", 0)}, list),
    "width": ({"llama.embedding_length": ("u32", 192), "llama.rope.dimension_count": ("u32", 64)}, list),  # it is 96
    "inner_width": ({"llama.feed_forward_length": ("u32", 172)}, list),  # it is 173
    "missing_tensor": ({}, _without("blk.1.ffn_up.weight")),
    "missing_embeddings": ({}, _without("token_embd.weight")),
    "shape": ({}, _reshaped("blk.0.attn_k.weight", 31)),
    "norm_shape": ({}, _reshaped("blk.1.ffn_norm.weight", 95)),
}


def write_broken(folder):
    spec = SPECS[0]
    for name, (changes, change_tensors) in BROKEN.items():
        pairs = [(key, *changes.get(key, (kind, value))) for key, kind, value in gguf_metadata(spec)
                 if changes.get(key, True) is not None]
        tensors = change_tensors(list(random_tensors(spec, np.random.default_rng(0))))
        gguf_file.write(os.path.join(folder, f"bad_{name}.gguf"), pairs, tensors)


def write_checkpoint(spec, rng, folder):
    tensors = list(random_tensors(spec, rng))
    if spec.form == "gguf":
        path = os.path.join(folder, f"{spec.name}.gguf")
        gguf_file.write(path, gguf_metadata(spec), tensors)
        return path
    path = os.path.join(folder, f"{spec.name}.hf")
    os.makedirs(path, exist_ok=True)
    tensors = [(hf_name(name), spec.types["q"], array) for name, _, array in tensors]  # one type throughout, as usual
    with open(os.path.join(path, "config.json"), "w", encoding="utf-8") as file:
        json.dump(hf_config(spec), file, indent=1)
    if spec.form == "hf-sharded":
        safetensors_file.write_sharded(path, tensors, 3)
    else:
        safetensors_file.write(os.path.join(path, "model.safetensors"), tensors)
    return path


def write_reference(spec, rng, path, folder):
    model = decoder.load(path)
    tokens = rng.integers(0, VOCAB, spec.tokens)
    tokens[:3] = VOCAB - 1, 0, 1
    tensors = [("tokens", "I32", tokens), ("exact", "F64", decoder.forward(model, tokens))]
    for kv in ("f16", "int8"):
        tensors.append((f"kv_{kv}", "F64", decoder.forward(model, tokens, quantise_activations=True, kv=kv)))
    safetensors_file.write(os.path.join(folder, f"{spec.name}.ref.safetensors"), tensors)


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    for seed, spec in enumerate(SPECS):
        rng = np.random.default_rng(seed)
        write_reference(spec, rng, write_checkpoint(spec, rng, folder), folder)
    write_broken(folder)


if __name__ == "__main__":
    main()
