"""The element and block types of GGUF: encode(type, values) -> bytes and decode(type, bytes) -> float64.

A block holds 32 elements (Q4_0 .. Q8_0) or 256 (Q4_K .. Q6_K: eight sub-blocks of 32, Q6_K sixteen of 16).
With q an unsigned code, d and m fp16 numbers of the block, s_i and m_i small integers of sub-block i:
  Q4_0  x = d (q - 8)      Q4_1  x = d q + m        Q4_K, Q5_K  x = d s_i q - m m_i   (s_i, m_i: 6 bits)
  Q5_0  x = d (q - 16)     Q5_1  x = d q + m        Q6_K        x = d s_i (q - 32)    (s_i: int8)
  Q8_0  x = d q (q int8)
Decoding is that of blocks.py. The encoders aim at valid blocks that use every field and both signs of a scale, not at
the least error. Values are exact in float64: each is a product and a sum of short numbers."""
import numpy as np

import blocks

BLOCK_SIZE = {"F32": 1, "F16": 1, "BF16": 1, "Q4_0": 32, "Q4_1": 32, "Q5_0": 32, "Q5_1": 32, "Q8_0": 32,
              "Q4_K": 256, "Q5_K": 256, "Q6_K": 256}
BLOCK_BYTES = {"F32": 4, "F16": 2, "BF16": 2, **{kind: size for kind, (size, _, _) in blocks.TYPES.items()}}


def is_block_type(kind):
    return BLOCK_SIZE[kind] > 1


def encode(kind, values):
    """values: any shape whose number of elements is a multiple of the block size."""
    x = np.asarray(values, np.float64).reshape(-1, BLOCK_SIZE[kind])
    return _ENCODERS[kind](x).tobytes()


def decode(kind, data):
    """A flat float64 array."""
    if kind == "F32":
        return np.frombuffer(data, "<f4").astype(np.float64)
    if kind == "F16":
        return np.frombuffer(data, "<f2").astype(np.float64)
    if kind == "BF16":
        return (np.frombuffer(data, "<u2").astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return blocks.TYPES[kind][2](np.frombuffer(data, np.uint8).reshape(-1, BLOCK_BYTES[kind])).reshape(-1)


def _bf16(x):
    bits = x.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("<u2")  # to nearest even


def _half_bytes(x):
    """(n,) -> (n, 2) bytes of fp16."""
    return np.ascontiguousarray(x).astype("<f2").reshape(-1, 1).view(np.uint8)


def _round_half(x):
    return x.astype(np.float16).astype(np.float64)


def _divide(x, d):
    """x / d, and 0 where d is 0."""
    return np.divide(x, d, out=np.zeros(np.broadcast(x, d).shape), where=d != 0)


def _signed_peak(x):
    """The element of largest magnitude in each row, with its sign, (n, 1)."""
    return np.take_along_axis(x, np.abs(x).argmax(-1)[..., None], -1)


def _nibbles(q):
    """(n, 32) codes below 16 -> (n, 16) bytes: element j low, element j + 16 high."""
    return (q[:, :16] | q[:, 16:] << 4).astype(np.uint8)


def _fifth_bits(q):
    """(n, 32) -> (n, 4) bytes; bit j of the little-endian word is bit 4 of element j."""
    return np.packbits((q >> 4 & 1).astype(np.uint8), axis=1, bitorder="little")


def _encode_symmetric(x, levels):
    """d, q with x = d (q - levels / 2), the peak exactly at code 0: its sign makes d positive or negative."""
    d = _round_half(_signed_peak(x) / -(levels // 2))
    return d, np.clip(np.rint(_divide(x, d)) + levels // 2, 0, levels - 1).astype(np.int64)


def _encode_affine(x, levels):
    low = _round_half(x.min(1, keepdims=True))
    d = _round_half((x.max(1, keepdims=True) - low) / (levels - 1))
    return d, low, np.clip(np.rint(_divide(x - low, d)), 0, levels - 1).astype(np.int64)


def _encode_q4_0(x):
    d, q = _encode_symmetric(x, 16)
    return np.concatenate([_half_bytes(d), _nibbles(q)], 1)


def _encode_q4_1(x):
    d, low, q = _encode_affine(x, 16)
    return np.concatenate([_half_bytes(d), _half_bytes(low), _nibbles(q)], 1)


def _encode_q5_0(x):
    d, q = _encode_symmetric(x, 32)
    return np.concatenate([_half_bytes(d), _fifth_bits(q), _nibbles(q & 15)], 1)


def _encode_q5_1(x):
    d, low, q = _encode_affine(x, 32)
    return np.concatenate([_half_bytes(d), _half_bytes(low), _fifth_bits(q), _nibbles(q & 15)], 1)


def _encode_q8_0(x):
    d = _round_half(np.abs(x).max(1, keepdims=True) / 127)
    q = np.clip(np.rint(_divide(x, d)), -127, 127).astype(np.int8)
    return np.concatenate([_half_bytes(d), q.view(np.uint8)], 1)


def _pack_scales(s, m):
    """Eight 6-bit scales and minima in 12 bytes: 0..3 in the low 6 bits of bytes 0..3 (scales) and 4..7 (minima);
    of 4..7 the low 4 bits share bytes 8..11 and the high 2 bits top up bytes 0..3 and 4..7."""
    return np.concatenate([s[:, :4] | (s[:, 4:] >> 4) << 6, m[:, :4] | (m[:, 4:] >> 4) << 6,
                           (s[:, 4:] & 15) | (m[:, 4:] & 15) << 4], 1).astype(np.uint8)


def _encode_k_affine(x, levels):
    """d, m, s, low, q with x = d s_i q - m low_i over eight sub-blocks; q (n, 8, 32)."""
    sub = x.reshape(-1, 8, 32)
    low = np.maximum(-sub.min(2), 0)
    scale = (sub.max(2) + low) / (levels - 1)
    d = _round_half(scale.max(1, keepdims=True) / 63)
    m = _round_half(low.max(1, keepdims=True) / 63)
    s = np.clip(np.rint(_divide(scale, d)), 0, 63).astype(np.int64)
    low_codes = np.clip(np.rint(_divide(low, m)), 0, 63).astype(np.int64)
    q = np.rint(_divide(sub + (m * low_codes)[..., None], (d * s)[..., None]))
    return d, m, s, low_codes, np.clip(q, 0, levels - 1).astype(np.int64)


def _k_nibbles(q):
    """(n, 8, 32) -> (n, 128): 32 bytes hold sub-block 2i in the low and 2i + 1 in the high nibbles."""
    return (q[:, 0::2] | q[:, 1::2] << 4).astype(np.uint8).reshape(len(q), 128)


def _encode_q4_k(x):
    d, m, s, low, q = _encode_k_affine(x, 16)
    return np.concatenate([_half_bytes(d), _half_bytes(m), _pack_scales(s, low), _k_nibbles(q)], 1)


def _encode_q5_k(x):
    d, m, s, low, q = _encode_k_affine(x, 32)
    high = ((q >> 4) << np.arange(8)[:, None]).sum(1).astype(np.uint8)  # bit i of byte l: element l of sub-block i
    return np.concatenate([_half_bytes(d), _half_bytes(m), _pack_scales(s, low), high, _k_nibbles(q & 15)], 1)


def _encode_q6_k(x):
    sub = x.reshape(-1, 16, 16)
    scale = _signed_peak(sub)[..., 0] / -32
    d = _round_half(np.abs(scale).max(1, keepdims=True) / 127)
    s = np.clip(np.rint(_divide(scale, d)), -127, 127).astype(np.int8)
    q = np.clip(np.rint(_divide(sub, (d * s)[..., None])) + 32, 0, 63).astype(np.int64)
    q = q.reshape(-1, 2, 4, 32)  # half, quarter, element
    low = np.concatenate([(q[:, :, 0] & 15) | (q[:, :, 2] & 15) << 4, (q[:, :, 1] & 15) | (q[:, :, 3] & 15) << 4], 2)
    high = ((q >> 4) << np.array([0, 2, 4, 6])[:, None]).sum(2)
    return np.concatenate([low.reshape(-1, 128).astype(np.uint8), high.reshape(-1, 64).astype(np.uint8),
                           s.view(np.uint8), _half_bytes(d)], 1)


_ENCODERS = {
    "F32": lambda x: x.astype("<f4"), "F16": lambda x: x.astype("<f2"), "BF16": _bf16,
    "Q4_0": _encode_q4_0, "Q4_1": _encode_q4_1, "Q5_0": _encode_q5_0, "Q5_1": _encode_q5_1, "Q8_0": _encode_q8_0,
    "Q4_K": _encode_q4_k, "Q5_K": _encode_q5_k, "Q6_K": _encode_q6_k,
}
