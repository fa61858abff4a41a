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
        if p.data_ptr() in seen or not p.requires_grad:  # tied, or sinusoidal positions
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


def seq2seq_reference(sources, states, targets, run_decoder):
    """run_decoder(i) -> (states of each layer (T, d), logits (T, vocab)) of target i."""
    decoded = [run_decoder(i) for i in range(len(targets))]
    layers = {f"decoder.{layer}": np.stack([states[layer].numpy() for states, _ in decoded])
              for layer in range(len(decoded[0][0]))}
    return {**source_reference(sources, states), "target": targets, **layers,
            "logits": np.stack([logits.numpy() for _, logits in decoded])}


def targets_of(vocab, rng, start):
    return [[start, *rng.integers(2, vocab, 20)] for _ in LENGTHS]  # more than a panel of keys


def of_transformers(folder, model, config, start, drop=()):
    """An encoder-decoder of transformers: states and logits of every token, causal, so that all come from one call."""
    rng = np.random.default_rng(2)
    sources, targets = sequences(config.vocab_size, rng), targets_of(config.vocab_size, rng, start)
    with torch.no_grad():
        states = encode_alone(model.get_encoder(), sources)

        def run_decoder(i):
            out = model(input_ids=torch.tensor([sources[i]]), decoder_input_ids=torch.tensor([targets[i]]),
                        output_hidden_states=True)
            return [h[0] for h in out.decoder_hidden_states], out.logits[0]
        reference = seq2seq_reference(sources, states, targets, run_decoder)
    tensors = {name: t for name, t in model.state_dict().items() if not any(word in name for word in drop)}
    write(folder, {"model_type": config.model_type, **config.to_diff_dict()}, tensors, reference)


TIED = ("encoder.embed_tokens", "decoder.embed_tokens")


def t5(folder, gated=False):
    config = transformers.T5Config(
        vocab_size=50, d_model=32, d_kv=6, d_ff=40, num_layers=2, num_decoder_layers=3, num_heads=4,
        relative_attention_num_buckets=8, relative_attention_max_distance=12, layer_norm_epsilon=1e-3,
        feed_forward_proj="gated-gelu" if gated else "relu", tie_word_embeddings=not gated, decoder_start_token_id=0,
        n_positions=32)
    model = transformers.T5ForConditionalGeneration(config)
    if gated:  # as the files of v1.1 have it
        model.lm_head.weight = torch.nn.Parameter(torch.empty(50, 32))
    of_transformers(folder, randomise(model, 0.7), config, 0, TIED if gated else (*TIED, "lm_head"))
    if gated:
        path = os.path.join(folder, "config.json")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace(' "scale_decoder_outputs": false,\n', "").replace('"tie_word_embeddings": true', '"tie_word_embeddings": false'))


def bart(folder, **changes):
    kind = changes.pop("kind", "bart")
    Config, Model = {"bart": (transformers.BartConfig, transformers.BartForConditionalGeneration),
                     "marian": (transformers.MarianConfig, transformers.MarianMTModel)}[kind]
    config = Config(
        vocab_size=50, d_model=32, encoder_layers=2, decoder_layers=3, encoder_attention_heads=4, decoder_attention_heads=2,
        encoder_ffn_dim=40, decoder_ffn_dim=48, max_position_embeddings=32, pad_token_id=1, bos_token_id=0, eos_token_id=2,
        decoder_start_token_id=2, forced_eos_token_id=None, **changes)
    model = randomise(Model(config), 1.5)
    bias = 0.3 * torch.randn(1, 50, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    model.final_logits_bias = bias.half().double()
    drop = (*TIED, "lm_head") + (("embed_positions",) if kind == "marian" else ())
    of_transformers(folder, model, config, 2, drop)


class Transformer(torch.nn.Module):
    """The original around torch.nn.Transformer."""

    def __init__(self, source_vocab, vocab, d, heads, layers, d_ff, norm_first=False):
        super().__init__()
        self.source_embedding = torch.nn.Embedding(source_vocab, d)
        self.target_embedding = torch.nn.Embedding(vocab, d)
        self.transformer = torch.nn.Transformer(d, heads, *layers, d_ff, dropout=0.0, batch_first=True, norm_first=norm_first)
        self.head = torch.nn.Linear(d, vocab)

    def embed(self, table, ids):
        d = table.embedding_dim
        angle = torch.arange(ids.shape[1], dtype=torch.float64)[:, None] / 10000 ** (torch.arange(0, d, 2) / d)
        position = torch.stack((angle.sin(), angle.cos()), -1).reshape(ids.shape[1], d)
        return table(ids) * d ** 0.5 + position


def transformer(folder, norm_first=False):
    d, layers, source_vocab, vocab = 32, (2, 3), 40, 50
    model = randomise(Transformer(source_vocab, vocab, d, 4, layers, 40, norm_first), 1.5)
    rng = np.random.default_rng(4)
    sources, targets = sequences(source_vocab, rng), targets_of(vocab, rng, 1)
    width = max(LENGTHS)
    padded = torch.tensor([ids + [0] * (width - len(ids)) for ids in sources])
    hidden = torch.tensor([[False] * len(ids) + [True] * (width - len(ids)) for ids in sources])
    causal = torch.nn.Transformer.generate_square_subsequent_mask(len(targets[0]), dtype=torch.float64)
    with torch.no_grad():
        encoder, decoder = model.transformer.encoder, model.transformer.decoder
        x = model.embed(model.source_embedding, padded)
        states = [x]
        for i, layer in enumerate(encoder.layers):
            x = layer(x, src_key_padding_mask=hidden)
            states.append(encoder.norm(x) if i + 1 == layers[0] else x)
        memory = states[-1]
        y = model.embed(model.target_embedding, torch.tensor(targets))
        decoded = [y]
        for i, layer in enumerate(decoder.layers):
            y = layer(y, memory, tgt_mask=causal, memory_key_padding_mask=hidden)
            decoded.append(decoder.norm(y) if i + 1 == layers[1] else y)
        logits = model.head(decoded[-1])
        whole = model.head(model.transformer(states[0], decoded[0], tgt_mask=causal, src_key_padding_mask=hidden,
                                             memory_key_padding_mask=hidden))
        assert torch.allclose(whole, logits, atol=1e-9), "not what the module itself computes"
    states = [torch.cat([h[i, :len(ids)] for i, ids in enumerate(sources)]) for h in states]
    reference = seq2seq_reference(sources, states, targets, lambda i: ([h[i] for h in decoded], logits[i]))
    config = {"model_type": "transformer", "d_model": d, "nhead": 4, "num_encoder_layers": layers[0],
              "num_decoder_layers": layers[1], "dim_feedforward": 40, "activation": "relu", "norm_first": norm_first, "max_length": 32,
              "decoder_start_token_id": 1, "eos_token_id": 2}
    write(folder, config, model.state_dict(), reference)


def whisper(folder):
    frames, mels = 48, 10
    config = transformers.WhisperConfig(
        vocab_size=50, num_mel_bins=mels, d_model=32, encoder_layers=2, decoder_layers=3, encoder_attention_heads=4,
        decoder_attention_heads=2, encoder_ffn_dim=40, decoder_ffn_dim=48, max_source_positions=frames // 2,
        max_target_positions=32, pad_token_id=1, bos_token_id=0, eos_token_id=2, decoder_start_token_id=2,
        suppress_tokens=None, begin_suppress_tokens=None)
    model = randomise(transformers.WhisperForConditionalGeneration(config), 1.5)
    positions = model.model.encoder.embed_positions.weight
    positions.data = positions.data.half().double()
    rng = np.random.default_rng(6)
    features = rng.standard_normal((2, mels, frames))  # channels first
    targets = targets_of(50, rng, 2)[:2]
    with torch.no_grad():
        out = model(input_features=torch.tensor(features), decoder_input_ids=torch.tensor(targets), output_hidden_states=True)
    reference = {"features": features.transpose(0, 2, 1), "target": targets, "logits": out.logits.numpy()}
    for side, states in (("encoder", out.encoder_hidden_states), ("decoder", out.decoder_hidden_states)):
        reference |= {f"{side}.{i}": h.numpy() for i, h in enumerate(states)}
    tensors = {name: t for name, t in model.state_dict().items() if "proj_out" not in name}
    write(folder, {"model_type": "whisper", **config.to_diff_dict()}, tensors, reference)


def llama(folder):
    """For beam search only: the states of decoders are checked against tests/reference/decoder.py."""
    config = transformers.LlamaConfig(
        vocab_size=50, hidden_size=32, intermediate_size=40, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        max_position_embeddings=64, rms_norm_eps=1e-3, bos_token_id=0, eos_token_id=2, pad_token_id=1)
    model = randomise(transformers.LlamaForCausalLM(config), 1.5)
    write(folder, {"model_type": "llama", **config.to_diff_dict()}, model.state_dict(), {"source": [3, 4]})
    os.remove(os.path.join(folder, "reference.safetensors"))


FAMILIES = {
    "llama": llama, "whisper": whisper,
    "bert": bert, "transformer": transformer, "transformer_pre": lambda folder: transformer(folder, norm_first=True), "t5": t5, "t5_gated": lambda folder: t5(folder, gated=True), "bart": bart,
    "marian": lambda folder: bart(folder, kind="marian", scale_embedding=True, activation_function="swish")}


def main():
    root = sys.argv[1]
    for name in sys.argv[2:] or FAMILIES:
        FAMILIES[name](os.path.join(root, name))
        print(name, sum(os.path.getsize(os.path.join(root, name, f)) for f in os.listdir(os.path.join(root, name))), "bytes")


if __name__ == "__main__":
    main()
