"""Tokeniser metadata of the tiny checkpoints: 300 tokens, valid for either kind of tokeniser.

Byte-level BPE ("gpt2"): 3 control tokens, the 256 byte characters of GPT-2, 41 merged pairs of letters.
SentencePiece-style ("llama"): 4 control tokens, 256 byte tokens <0x00> .. <0xFF>, the space mark, letters, pairs."""
SIZE = 300
NORMAL, UNKNOWN, CONTROL, BYTE = 1, 2, 3, 6
PRE_TOKENISER = {"llama": "smollm", "qwen2": "qwen2", "qwen3": "qwen2"}


def byte_characters():
    """GPT-2's map: printable Latin-1 bytes stand for themselves, the other 68 for U+0100 onwards in order."""
    printable = {*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = [b for b in range(256) if b not in printable]
    return [chr(b if b in printable else 0x100 + others.index(b)) for b in range(256)]


def bpe_metadata(pre):
    pairs = [(a, b) for a in "Ġet" for b in "abcdefghijklmn"][:SIZE - 259]
    tokens = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", *byte_characters(), *(a + b for a, b in pairs)]
    return [("tokenizer.ggml.model", "str", "gpt2"), ("tokenizer.ggml.pre", "str", pre),
            ("tokenizer.ggml.tokens", "[str]", tokens),
            ("tokenizer.ggml.token_type", "[i32]", [CONTROL] * 3 + [NORMAL] * (SIZE - 3)),
            ("tokenizer.ggml.merges", "[str]", [f"{a} {b}" for a, b in pairs]),
            ("tokenizer.ggml.bos_token_id", "u32", 1), ("tokenizer.ggml.eos_token_id", "u32", 2),
            ("tokenizer.ggml.unknown_token_id", "u32", 0), ("tokenizer.ggml.add_bos_token", "bool", False)]


def sentencepiece_metadata():
    letters = "abcdefghijklmnopqrstuvwxyz"
    pieces = ["▁", *letters, *("▁" + c for c in letters)][:SIZE - 260]
    tokens = ["<pad>", "<eos>", "<bos>", "<unk>", *(f"<0x{b:02X}>" for b in range(256)), *pieces]
    return [("tokenizer.ggml.model", "str", "llama"), ("tokenizer.ggml.pre", "str", "default"),
            ("tokenizer.ggml.tokens", "[str]", tokens),
            ("tokenizer.ggml.scores", "[f32]", [0.0] * 260 + [-float(i) for i in range(SIZE - 260)]),
            ("tokenizer.ggml.token_type", "[i32]",
             [CONTROL] * 3 + [UNKNOWN] + [BYTE] * 256 + [NORMAL] * (SIZE - 260)),
            ("tokenizer.ggml.bos_token_id", "u32", 2), ("tokenizer.ggml.eos_token_id", "u32", 1),
            ("tokenizer.ggml.unknown_token_id", "u32", 3), ("tokenizer.ggml.padding_token_id", "u32", 0),
            ("tokenizer.ggml.add_bos_token", "bool", True), ("tokenizer.ggml.add_space_prefix", "bool", False)]


def metadata(family):
    return sentencepiece_metadata() if family == "gemma3" else bpe_metadata(PRE_TOKENISER[family])
