"""safetensors: u64 header length, JSON {name: {dtype, shape, data_offsets}}, data in the order of the header.

write(path, tensors) one file; write_sharded(directory, tensors, shards) with model.safetensors.index.json;
read(path) a file; read_directory(directory) either form."""
import json
import os
import struct

import numpy as np

import block_codec

DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I32": "<i4", "I64": "<i8"}


def _encode(kind, array):
    return block_codec.encode(kind, array) if kind == "BF16" else np.asarray(array).astype(DTYPES[kind]).tobytes()


def write(path, tensors):
    """tensors: (name, dtype, array)."""
    header, data = {}, bytearray()
    for name, kind, array in tensors:
        begin = len(data)
        data += _encode(kind, array)
        header[name] = {"dtype": kind, "shape": list(np.shape(array)), "data_offsets": [begin, len(data)]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def write_sharded(directory, tensors, shards):
    """Tensors are dealt out in turn, so neighbouring layers lie in different files."""
    names = [f"model-{i + 1:05d}-of-{shards:05d}.safetensors" for i in range(shards)]
    for i, name in enumerate(names):
        write(os.path.join(directory, name), tensors[i::shards])
    index = {"metadata": {"total_size": sum(len(_encode(k, a)) for _, k, a in tensors)},
             "weight_map": {t[0]: names[i % shards] for i, t in enumerate(tensors)}}
    with open(os.path.join(directory, "model.safetensors.index.json"), "w", encoding="utf-8") as file:
        json.dump(index, file, indent=1)


def read(path):
    """name -> (dtype, float64 or integer array)."""
    data = np.memmap(path, np.uint8, "r")
    length = struct.unpack_from("<Q", data)[0]
    tensors = {}
    for name, entry in json.loads(bytes(data[8:8 + length])).items():
        if name == "__metadata__":
            continue
        kind, (begin, end) = entry["dtype"], entry["data_offsets"]
        part = bytes(data[8 + length + begin:8 + length + end])
        values = block_codec.decode("BF16", part) if kind == "BF16" else np.frombuffer(part, DTYPES[kind])
        if kind[0] != "I":
            values = values.astype(np.float64)
        tensors[name] = (kind, values.reshape(entry["shape"]))
    return tensors


def read_directory(directory):
    index = os.path.join(directory, "model.safetensors.index.json")
    if not os.path.exists(index):
        return read(os.path.join(directory, "model.safetensors"))
    with open(index, encoding="utf-8") as file:
        files = sorted(set(json.load(file)["weight_map"].values()))
    return {name: tensor for part in files for name, tensor in read(os.path.join(directory, part)).items()}
