"""GGUF version 3, as far as the tests need it: write(path, metadata, tensors) and read(path).

  "GGUF" u32 version, u64 tensors, u64 pairs | pairs: string key, u32 type, value
  | tensors: string name, u32 rank, u64 ne[rank] (innermost first), u32 type, u64 offset | padding | data
Strings are u64 length + bytes; an array is u32 element type, u64 count, elements. Tensor data is aligned to 32.
Shapes here are outermost first, as in numpy: (rows, columns)."""
import math
import struct

import numpy as np

import block_codec

ALIGNMENT = 32
TENSOR_TYPES = {"F32": 0, "F16": 1, "Q4_0": 2, "Q4_1": 3, "Q5_0": 6, "Q5_1": 7, "Q8_0": 8, "Q4_K": 12, "Q5_K": 13,
                "Q6_K": 14, "BF16": 30}
TENSOR_NAMES = {code: name for name, code in TENSOR_TYPES.items()}
VALUE_TYPES = {"u8": (0, "<B"), "i8": (1, "<b"), "u16": (2, "<H"), "i16": (3, "<h"), "u32": (4, "<I"), "i32": (5, "<i"),
               "f32": (6, "<f"), "bool": (7, "<?"), "str": (8, None), "u64": (10, "<Q"), "i64": (11, "<q"),
               "f64": (12, "<d")}
VALUE_FORMATS = {code: form for code, form in VALUE_TYPES.values()}
STRING, ARRAY = 8, 9


def _pack_string(text):
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _pack(kind, value):
    return _pack_string(value) if kind == "str" else struct.pack(VALUE_TYPES[kind][1], value)


def _pack_pair(key, kind, value):
    if kind.startswith("["):  # "[u32]": an array
        kind = kind[1:-1]
        head = struct.pack("<IIQ", ARRAY, VALUE_TYPES[kind][0], len(value))
        return _pack_string(key) + head + b"".join(_pack(kind, v) for v in value)
    return _pack_string(key) + struct.pack("<I", VALUE_TYPES[kind][0]) + _pack(kind, value)


def write(path, metadata, tensors):
    """metadata: (key, kind, value) with kind as in VALUE_TYPES or "[kind]"; tensors: (name, type, array)."""
    infos, data = [], bytearray()
    for name, kind, array in tensors:
        shape = np.shape(array)
        if shape[-1] % block_codec.BLOCK_SIZE[kind]:
            raise ValueError(f"{name}: {shape[-1]} columns do not fill blocks of {kind}")
        infos.append(_pack_string(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *reversed(shape),
                                                      TENSOR_TYPES[kind], len(data)))
        data += block_codec.encode(kind, array)
        data += bytes(-len(data) % ALIGNMENT)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(metadata))
    head += b"".join(_pack_pair(*pair) for pair in metadata) + b"".join(infos)
    with open(path, "wb") as file:
        file.write(head + bytes(-len(head) % ALIGNMENT) + data)


class _Cursor:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, form):
        values = struct.unpack_from(form, self.data, self.at)
        self.at += struct.calcsize(form)
        return values[0] if len(values) == 1 else values

    def string(self):
        length = self.take("<Q")
        self.at += length
        return bytes(self.data[self.at - length:self.at]).decode("utf-8", "surrogateescape")

    def value(self, code):
        if code == STRING:
            return self.string()
        if code == ARRAY:
            element, count = self.take("<I"), self.take("<Q")
            return [self.value(element) for _ in range(count)]
        return self.take(VALUE_FORMATS[code])


def read(path):
    """(metadata: dict, tensors: dict name -> (type, shape, bytes)); the file is mapped, not read."""
    data = np.memmap(path, np.uint8, "r")
    cursor = _Cursor(data)
    magic, version, tensor_count, pair_count = cursor.take("<4sIQQ")
    if magic != b"GGUF" or version not in (2, 3):
        raise ValueError(f"{path}: not a GGUF file of version 2 or 3")
    metadata = {}
    for _ in range(pair_count):
        key = cursor.string()
        metadata[key] = cursor.value(cursor.take("<I"))
    infos = []
    for _ in range(tensor_count):
        name, rank = cursor.string(), cursor.take("<I")
        shape = tuple(struct.unpack_from(f"<{rank}Q", data, cursor.at))[::-1]
        cursor.at += 8 * rank
        infos.append((name, shape, *cursor.take("<IQ")))
    alignment = metadata.get("general.alignment", ALIGNMENT)
    base = -(-cursor.at // alignment) * alignment
    tensors = {}
    for name, shape, code, offset in infos:
        kind = TENSOR_NAMES[code]
        size = math.prod(shape) // block_codec.BLOCK_SIZE[kind] * block_codec.BLOCK_BYTES[kind]
        tensors[name] = (kind, shape, data[base + offset:base + offset + size])
    return metadata, tensors
