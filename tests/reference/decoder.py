"""Decoder-only transformers by their published definitions: logits of every position, in float64 by default.

  x = s E[tokens]                                                       (T, d)      s = sqrt(d) for Gemma, else 1
  for each layer:
    q, k, v = Wq n1(x) (+ bq), Wk n1(x) (+ bk), Wv n1(x) (+ bv)         (T, heads | kv_heads, D)
    q, k    = rope(norm?(q)), rope(norm?(k))                            norm over D with one weight: Gemma 3, Qwen3
    a_i     = softmax_j(q_i . k_j / sqrt(D)) v_j,  i - W < j <= i       W = infinity except in sliding-window layers
    x      += post1(Wo a);   x += post2(Wd (act(Wg n2(x)) * Wu n2(x)))  post: RMS norms of Gemma 3, else nothing
  logits = H n(x), H = E when the file has no head of its own
  n(x) = x / sqrt(mean(x^2) + eps) * w;  act = SiLU, or GELU by its tanh form for Gemma

Query head h reads key/value head h // (heads / kv_heads). Rope turns pair i of a head by position * base^(-2i/D).
The pairs are (2i, 2i+1) in a GGUF of the Llama family, whose converter permutes the rows of Wq and Wk for it, and
(i, i + D/2) in Hugging Face checkpoints and in GGUF files of Qwen2, Qwen3 and Gemma 3. Config.rope_scaling changes the
frequencies base^(-2i/D); see frequencies().
Mistral: every layer sees the last W tokens, themselves included, where the file names W.
Gemma 3: layer l attends globally when l % 6 == 5, with the file's rope base; the others see the last W tokens,
themselves included, with base 10000. Its norm weights in a GGUF already have the 1 of (1 + w) added.
The scale s: the published JAX code multiplies by sqrt(d); Hugging Face rounds sqrt(d) to the checkpoint's type first
(25.25 instead of 25.298 for d = 640 in bf16), llama.cpp keeps it in fp32. We follow the definition, sqrt(d) unrounded;
after the first RMS norm a common factor of x only matters through the residual.

Options mirror, in exact arithmetic, roundings that an engine chooses to make:
  quantise_activations  inputs of layers with block-quantised weights: 32 elements share amax / 127, nearest even
  kv = "f16"            keys (after rope) and values are rounded to fp16
  kv = "int8"           ... to int8 with scale amax / 127 for each token and head, after a Walsh-Hadamard rotation
  real = np.float32     the whole computation in another precision: shows what rounding alone does to the logits"""
import dataclasses
import json
import os

import numpy as np

import block_codec
import gguf_file
import safetensors_file


@dataclasses.dataclass
class Config:
    family: str
    layers: int
    d_model: int
    heads: int
    kv_heads: int
    head_dim: int
    context: int
    eps: float
    rope_base: float
    rope_interleaved: bool
    window: int = 0             # tokens; 0: every layer is global
    local_rope_base: float = 10000.0
    global_every: int = 6       # 0: no layer is global
    rope_scaling: dict = dataclasses.field(default_factory=dict)  # as in config.json


@dataclasses.dataclass
class Weight:
    values: np.ndarray
    block_type: bool


@dataclasses.dataclass
class Model:
    config: Config
    weights: dict  # GGUF tensor name -> Weight


def load_gguf(path):
    meta, tensors = gguf_file.read(path)
    family = meta["general.architecture"]
    if family not in ("llama", "gemma3", "qwen2", "qwen3"):
        raise ValueError(f"{path}: architecture {family}")

    def key(name, default=None):
        return meta[f"{family}.{name}"] if default is None else meta.get(f"{family}.{name}", default)

    heads, d_model = key("attention.head_count"), key("embedding_length")
    config = Config(
        family=family, layers=key("block_count"), d_model=d_model, heads=heads,
        kv_heads=key("attention.head_count_kv", heads), head_dim=key("attention.key_length", d_model // heads),
        context=key("context_length"), eps=key("attention.layer_norm_rms_epsilon"),
        rope_base=key("rope.freq_base", 10000.0), rope_interleaved=family == "llama")
    if family == "gemma3":
        config.window = key("attention.sliding_window")
    weights = {name: Weight(block_codec.decode(kind, data).reshape(shape), block_codec.is_block_type(kind))
               for name, (kind, shape, data) in tensors.items()}
    return Model(config, weights)


# Hugging Face name of each tensor of a layer, without "model.layers.N." and ".weight" -> GGUF name without "blk.N.".
HF_LAYER = {"input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
            "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "post_attention_layernorm": "ffn_norm",
            "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"}
HF_OUTER = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}


def gguf_name(hf_name):
    stem, suffix = hf_name.rsplit(".", 1)
    if stem in HF_OUTER:
        return f"{HF_OUTER[stem]}.{suffix}"
    _, _, layer, rest = stem.split(".", 3)
    return f"blk.{layer}.{HF_LAYER[rest]}.{suffix}"


def load_directory(path):
    with open(os.path.join(path, "config.json"), encoding="utf-8") as file:
        hf = json.load(file)
    if hf["model_type"] not in ("llama", "mistral", "qwen2", "qwen3"):
        raise ValueError(f"{path}: model_type {hf['model_type']}")
    heads = hf["num_attention_heads"]
    config = Config(
        family=hf["model_type"], layers=hf["num_hidden_layers"], d_model=hf["hidden_size"], heads=heads,
        kv_heads=hf.get("num_key_value_heads", heads), head_dim=hf.get("head_dim", hf["hidden_size"] // heads),
        context=hf["max_position_embeddings"], eps=hf["rms_norm_eps"],
        rope_base=hf.get("rope_parameters", hf).get("rope_theta", 10000.0), rope_interleaved=False,
        window=(hf.get("sliding_window") or 0) if hf["model_type"] == "mistral" else 0, global_every=0,
        rope_scaling=hf.get("rope_parameters", hf.get("rope_scaling")) or {})
    weights = {gguf_name(name): Weight(values, False)
               for name, (_, values) in safetensors_file.read_directory(path).items()}
    return Model(config, weights)


def load(path):
    return load_directory(path) if os.path.isdir(path) else load_gguf(path)


def hadamard(n):
    """Symmetric, orthogonal (n, n): blocks (-1)^popcount(i & j) / sqrt(b), b the largest power of two dividing n."""
    b = n & -n
    block = np.array([[(-1) ** bin(i & j).count("1") for j in range(b)] for i in range(b)]) / np.sqrt(b)
    return np.kron(np.eye(n // b), block)


def round_groups(x, group):
    """Each run of `group` elements of the last mode to int8 with scale amax / 127, back as real numbers."""
    parts = x.reshape(*x.shape[:-1], -1, group)
    scale = np.abs(parts).max(-1, keepdims=True) / 127
    codes = np.rint(np.divide(parts, scale, out=np.zeros_like(parts), where=scale > 0))
    return (codes * scale).reshape(x.shape)


def round_kv(x, kind):
    """x (T, kv_heads, D)."""
    if kind == "f16":
        return x.astype(np.float16).astype(x.dtype)
    if kind != "int8":
        return x
    h = hadamard(x.shape[-1])
    return round_groups(x @ h, x.shape[-1]) @ h


def rms_norm(x, weight, eps):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * weight


def silu(x):
    return x / (1 + np.exp(-x))


def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def frequencies(base, dim, scaling, context):
    """Radians a position of each pair (D/2), and the factor of cosine and sine. With a factor s and wavelength w:
      linear  all frequencies / s
      llama3  / s where w > original / low, kept where w < original / high, in between a mixture by original / w
      yarn    / s from the pair that turns beta_slow times over the original context on, kept up to the one that turns
              beta_fast times, in between a mixture by the pair's number; cosine and sine times 1 + ln(s) / 10"""
    f = base ** (-2 * np.arange(dim // 2) / dim)
    kind = scaling.get("rope_type", "default")
    if kind == "default":
        return f, 1.0
    s = scaling["factor"]
    if kind == "linear":
        return f / s, 1.0
    original = scaling.get("original_max_position_embeddings", context)
    if kind == "llama3":
        low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
        keep = np.clip((original * f / (2 * np.pi) - low) / (high - low), 0, 1)
        return f * (keep + (1 - keep) / s), 1.0
    assert kind == "yarn"
    first, last = (dim * np.log(original / (2 * np.pi * turns)) / (2 * np.log(base)) for turns in (32, 1))
    first, last = max(np.floor(first), 0), min(np.ceil(last), dim - 1)
    keep = 1 - np.clip((np.arange(dim // 2) - first) / max(last - first, 1e-3), 0, 1)
    return f * (keep + (1 - keep) / s), 1 + 0.1 * np.log(s)


def rope(x, base, interleaved, scaling=None, context=0):
    """x (T, heads, D) at positions 0 .. T - 1. The angles are computed in float64 whatever the type of x."""
    length, _, dim = x.shape
    f, magnitude = frequencies(base, dim, scaling or {}, context)
    angle = np.arange(length)[:, None] * f
    cos, sin = (magnitude * g(angle)[:, None, :].astype(x.dtype) for g in (np.cos, np.sin))
    first, second = (x[..., 0::2], x[..., 1::2]) if interleaved else (x[..., :dim // 2], x[..., dim // 2:])
    turned = first * cos - second * sin, first * sin + second * cos
    return np.stack(turned, -1).reshape(x.shape) if interleaved else np.concatenate(turned, -1)


def attention(q, k, v, window):
    """q (T, heads, D), k and v (T, kv_heads, D) -> (T, heads * D); causal, `window` tokens or all for 0."""
    length, heads, dim = q.shape
    k, v = (np.repeat(m, heads // m.shape[1], axis=1) for m in (k, v))
    q, k, v = (m.transpose(1, 0, 2) for m in (q, k, v))  # (heads, T, D)
    scores = q @ k.transpose(0, 2, 1) * np.asarray(dim ** -0.5, q.dtype)
    distance = np.arange(length)[:, None] - np.arange(length)
    visible = (distance >= 0) & (distance < window) if window else distance >= 0
    scores = np.where(visible, scores, -np.inf)
    weight = np.exp(scores - scores.max(-1, keepdims=True))
    weight /= weight.sum(-1, keepdims=True)
    return (weight @ v).transpose(1, 0, 2).reshape(length, heads * dim)


def forward(model, tokens, quantise_activations=False, kv="exact", real=np.float64):
    """Logits (T, vocab) of a sequence that starts at position 0."""
    config, weights = model.config, model.weights

    def vector(name):
        return weights[f"{name}.weight"].values.astype(real)

    def norm(x, name):
        return rms_norm(x, vector(name), real(config.eps))

    def linear(x, name):
        weight, bias = weights[f"{name}.weight"], weights.get(f"{name}.bias")
        if quantise_activations and weight.block_type:
            x = round_groups(x, 32)
        y = x @ weight.values.astype(real).T
        return y if bias is None else y + bias.values.astype(real)

    length = len(tokens)
    gemma = config.family == "gemma3"
    act = gelu_tanh if gemma else silu
    x = weights["token_embd.weight"].values[tokens].astype(real)
    if gemma:
        x = x * real(np.sqrt(config.d_model))
    for layer in range(config.layers):
        blk = f"blk.{layer}"
        local = config.window > 0 and (config.global_every == 0 or layer % config.global_every != config.global_every - 1)
        base, window = config.local_rope_base if local and gemma else config.rope_base, config.window if local else 0
        y = norm(x, f"{blk}.attn_norm")
        q = linear(y, f"{blk}.attn_q").reshape(length, config.heads, config.head_dim)
        k = linear(y, f"{blk}.attn_k").reshape(length, config.kv_heads, config.head_dim)
        v = linear(y, f"{blk}.attn_v").reshape(length, config.kv_heads, config.head_dim)
        if f"{blk}.attn_q_norm.weight" in weights:
            q, k = norm(q, f"{blk}.attn_q_norm"), norm(k, f"{blk}.attn_k_norm")
        q, k = (rope(m, base, config.rope_interleaved, config.rope_scaling, config.context) for m in (q, k))
        y = linear(attention(q, round_kv(k, kv), round_kv(v, kv), window), f"{blk}.attn_output")
        x = x + (norm(y, f"{blk}.post_attention_norm") if gemma else y)
        y = norm(x, f"{blk}.ffn_norm")
        y = linear(act(linear(y, f"{blk}.ffn_gate")) * linear(y, f"{blk}.ffn_up"), f"{blk}.ffn_down")
        x = x + (norm(y, f"{blk}.post_ffw_norm") if gemma else y)
    return linear(norm(x, "output_norm"), "output" if "output.weight" in weights else "token_embd")
