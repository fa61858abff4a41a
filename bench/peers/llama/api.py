"""llama.cpp through the ctypes layer of llama-cpp-python: load, decode, read logits. Nothing else of Python is in
the loop, so what is timed is llama_decode. Runs inside the peer's own virtual environment."""
import contextlib
import ctypes
import os
import time

import llama_cpp as lc


@contextlib.contextmanager
def quiet():
    """llama.cpp reports its loading on stderr; a benchmark's table should stay readable."""
    saved, null = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(null)


class Peer:
    def __init__(self, path, threads, context, flash=False, batch=512, kv_type=None):
        with quiet():
            lc.llama_backend_init()
            mp = lc.llama_model_default_params()
            mp.use_mmap = True
            self.model = lc.llama_model_load_from_file(os.fsencode(path), mp)
            if not self.model:
                raise SystemExit(f"llama.cpp cannot load {path}")
            cp = lc.llama_context_default_params()
            cp.n_ctx, cp.n_batch, cp.n_ubatch = context, batch, batch
            cp.n_threads = cp.n_threads_batch = threads
            cp.flash_attn_type = lc.LLAMA_FLASH_ATTN_TYPE_ENABLED if flash else lc.LLAMA_FLASH_ATTN_TYPE_DISABLED
            cp.swa_full = False  # as llama-bench: no cache outside of the sliding window
            cp.no_perf = True
            if kv_type is not None:
                cp.type_k = cp.type_v = kv_type
            self.context = lc.llama_init_from_model(self.model, cp)
            if not self.context:
                raise SystemExit(f"llama.cpp cannot make a context for {path}")
        self.vocab = lc.llama_model_get_vocab(self.model)
        self.vocab_size = lc.llama_vocab_n_tokens(self.vocab)

    def clear(self):
        lc.llama_memory_clear(lc.llama_get_memory(self.context), True)

    def decode(self, tokens):
        """Appends tokens; logits of the last one only."""
        array = (lc.llama_token * len(tokens))(*tokens)
        if lc.llama_decode(self.context, lc.llama_batch_get_one(array, len(tokens))):
            raise SystemExit("llama_decode failed")
        lc.llama_synchronize(self.context)

    def decode_all_logits(self, tokens, start=0):
        """Appends tokens at positions start.. and returns the float32 logits (T, V) of each, as a ctypes array."""
        batch = lc.llama_batch_init(len(tokens), 0, 1)
        batch.n_tokens = len(tokens)
        for i, token in enumerate(tokens):
            batch.token[i], batch.pos[i], batch.n_seq_id[i], batch.logits[i] = token, start + i, 1, 1
            batch.seq_id[i][0] = 0
        if lc.llama_decode(self.context, batch):
            raise SystemExit("llama_decode failed")
        data = lc.llama_get_logits(self.context)
        copy = (ctypes.c_float * (len(tokens) * self.vocab_size))()
        ctypes.memmove(copy, data, ctypes.sizeof(copy))
        lc.llama_batch_free(batch)
        return copy

    def tokenize(self, text, add_special):
        data = text.encode()
        out = (lc.llama_token * (len(data) + 8))()
        n = lc.llama_tokenize(self.vocab, data, len(data), out, len(out), add_special, False)
        return list(out[:n])

    def bos(self):
        return lc.llama_vocab_bos(self.vocab)

    def adds_bos(self):
        return bool(lc.llama_vocab_get_add_bos(self.vocab))

    def time_prefill(self, tokens):
        self.clear()
        start = time.perf_counter()
        self.decode(tokens)
        return len(tokens) / (time.perf_counter() - start)

    def time_decode(self, tokens):
        """Tokens a second of single-token steps from an empty cache."""
        self.clear()
        one = (lc.llama_token * 1)()
        batch = lc.llama_batch_get_one(one, 1)
        start = time.perf_counter()
        for token in tokens:
            one[0] = token
            if lc.llama_decode(self.context, batch):
                raise SystemExit("llama_decode failed")
        lc.llama_synchronize(self.context)
        return len(tokens) / (time.perf_counter() - start)
