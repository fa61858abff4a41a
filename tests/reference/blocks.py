"""Random blocks of every block-quantised type with their values, as tests/formats/blocks_golden.json.

Each type is written down here as the format defines it, field by field on whole arrays, in float64; a value is
rounded to float32 once at the end. Needs numpy. The C++ code is written element by element, so the two share no index.

    python3 tests/reference/blocks.py > tests/formats/blocks_golden.json
"""
import json

import numpy as np


def fp16(block: np.ndarray, at: int) -> np.ndarray:
    """The fp16 at byte `at` of each block, as a float64 column. (blocks, bytes) -> (blocks, 1)"""
    return block[:, at:at + 2].copy().view("<f2").astype(np.float64)


def nibbles(codes: np.ndarray) -> np.ndarray:
    """Lower nibbles first, then the upper ones. (blocks, n) -> (blocks, 2n)"""
    return np.concatenate([codes & 15, codes >> 4], axis=1).astype(np.int64)


def bits(data: np.ndarray) -> np.ndarray:
    """Bits in little-endian order. (blocks, n) -> (blocks, 8n)"""
    return np.unpackbits(data, axis=1, bitorder="little").astype(np.int64)


def q4_0(b):
    return fp16(b, 0) * (nibbles(b[:, 2:]) - 8)


def q4_1(b):
    return fp16(b, 0) * nibbles(b[:, 4:]) + fp16(b, 2)


def q5_0(b):
    return fp16(b, 0) * (nibbles(b[:, 6:]) + 16 * bits(b[:, 2:6]) - 16)


def q5_1(b):
    return fp16(b, 0) * (nibbles(b[:, 8:]) + 16 * bits(b[:, 4:8])) + fp16(b, 2)


def q8_0(b):
    return fp16(b, 0) * b[:, 2:].view(np.int8)


def group_scales(packed):
    """Six-bit scales and minima of 8 groups from 12 bytes. (blocks, 12) -> two of (blocks, 8)"""
    first, second, rest = packed[:, 0:4], packed[:, 4:8], packed[:, 8:12]
    scales = np.concatenate([first & 63, (rest & 15) | (first >> 6 << 4)], axis=1)
    minima = np.concatenate([second & 63, (rest >> 4) | (second >> 6 << 4)], axis=1)
    return scales.astype(np.int64), minima.astype(np.int64)


def k_values(b, codes):
    """codes: (blocks, 8, 32)"""
    scales, minima = group_scales(b[:, 4:16])
    d, dmin = fp16(b, 0)[:, :, None], fp16(b, 2)[:, :, None]
    return (d * scales[:, :, None] * codes - dmin * minima[:, :, None]).reshape(len(b), 256)


def k_nibbles(codes):
    """Four runs of 32 bytes, each holding two groups. (blocks, 128) -> (blocks, 8, 32)"""
    runs = codes.reshape(-1, 4, 1, 32)
    return np.concatenate([runs & 15, runs >> 4], axis=2).reshape(-1, 8, 32).astype(np.int64)


def q4_k(b):
    return k_values(b, k_nibbles(b[:, 16:]))


def q5_k(b):
    planes = b[:, None, 16:48] >> np.arange(8, dtype=np.uint8)[None, :, None] & 1  # plane g: the fifth bits of group g
    return k_values(b, k_nibbles(b[:, 48:]) + 16 * planes.astype(np.int64))


def q6_k(b):
    low = b[:, 0:128].reshape(-1, 2, 1, 64)
    low = np.concatenate([low & 15, low >> 4], axis=2).reshape(-1, 2, 4, 32)  # halves of 128, quarters of 32
    shifts = np.arange(0, 8, 2, dtype=np.uint8)[None, None, :, None]
    high = b[:, 128:192].reshape(-1, 2, 1, 32) >> shifts & 3
    codes = (low.astype(np.int64) + 16 * high.astype(np.int64) - 32).reshape(-1, 16, 16)
    scales = b[:, 192:208].view(np.int8).astype(np.int64)
    return (fp16(b, 208)[:, :, None] * scales[:, :, None] * codes).reshape(len(b), 256)


# name: bytes a block, where its fp16 fields lie, definition
TYPES = {
    "Q4_0": (18, [0], q4_0),
    "Q4_1": (20, [0, 2], q4_1),
    "Q5_0": (22, [0], q5_0),
    "Q5_1": (24, [0, 2], q5_1),
    "Q8_0": (34, [0], q8_0),
    "Q4_K": (144, [0, 2], q4_k),
    "Q5_K": (176, [0, 2], q5_k),
    "Q6_K": (210, [208], q6_k),
}


def make_blocks(rng, size, halves):
    """Three random blocks with ordinary scales, then all codes zero, all ones, a subnormal and a large scale."""
    blocks = rng.integers(0, 256, (7, size), dtype=np.uint8)
    blocks[3], blocks[4] = 0, 255
    for at in halves:
        scales = rng.normal(0, 0.05, 7).astype("<f2")
        scales[5], scales[6] = 3 * 2.0 ** -24, -60000.0
        blocks[:, at:at + 2] = scales.view(np.uint8).reshape(7, 2)
    return blocks


def main():
    rng = np.random.default_rng(20)
    golden = {}
    for name, (size, halves, values) in TYPES.items():
        blocks = make_blocks(rng, size, halves)
        expected = values(blocks).astype(np.float32)
        golden[name] = {
            "blocks": [row.tobytes().hex() for row in blocks],
            # the bit patterns of the float32 values, eight hexadecimal digits each
            "values": ["".join(f"{bits:08x}" for bits in row.view(np.uint32)) for row in expected],
        }
    print(json.dumps(golden, indent=1))


if __name__ == "__main__":
    main()
