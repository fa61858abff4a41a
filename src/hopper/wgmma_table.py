#!/usr/bin/env python3
"""Writes the WGMMA wrappers: one header an operand type, one struct a type pair and N. Usage: wgmma_table.py FOLDER

A row of the table says which instructions exist: the header, the C++ and PTX names of A and B, the accumulator, the
elements of K, and whether operands can be negated (immediates of +1 or -1) and transposed (immediates of 0 or 1).
"""
import pathlib
import sys

ALL = range(8, 257, 8)
INTEGER = [n for n in ALL if n <= 24 or n % 16 == 0]

#        header  A          B          PTX A   PTX B   D      k   N        negate transpose
TABLE = [
    ("bf16", "bf16",    "bf16",    "bf16", "bf16", "f32", 16, ALL,     True,  True),
    ("f16",  "f16",     "f16",     "f16",  "f16",  "f32", 16, ALL,     True,  True),
    ("tf32", "tf32",    "tf32",    "tf32", "tf32", "f32", 8,  ALL,     True,  False),
    ("fp8",  "e4m3",    "e4m3",    "e4m3", "e4m3", "f32", 32, ALL,     True,  False),
    ("fp8",  "e4m3",    "e5m2",    "e4m3", "e5m2", "f32", 32, ALL,     True,  False),
    ("fp8",  "e5m2",    "e4m3",    "e5m2", "e4m3", "f32", 32, ALL,     True,  False),
    ("fp8",  "e5m2",    "e5m2",    "e5m2", "e5m2", "f32", 32, ALL,     True,  False),
    ("int8", "int8_t",  "int8_t",  "s8",   "s8",   "s32", 32, INTEGER, False, False),
    ("int8", "int8_t",  "uint8_t", "s8",   "u8",   "s32", 32, INTEGER, False, False),
    ("int8", "uint8_t", "int8_t",  "u8",   "s8",   "s32", 32, INTEGER, False, False),
    ("int8", "uint8_t", "uint8_t", "u8",   "u8",   "s32", 32, INTEGER, False, False),
]


def function(row, n, from_registers):
    _, _, _, a, b, acc, k, _, negate, transpose = row
    c_type, constraint = ("float", "f") if acc == "f32" else ("int32_t", "r")
    regs = n // 2
    b_at = regs + (4 if from_registers else 1)  # operands: d, a, b, accumulate, immediates
    flags = []
    if negate:
        flags += ["kSignA", "kSignB"]
    if transpose:
        flags += ["kTransposeB"] if from_registers else ["kTransposeA", "kTransposeB"]
    d = ", ".join(f"%{i}" for i in range(regs))
    a_text = "{" + ", ".join(f"%{regs + i}" for i in range(4)) + "}" if from_registers else f"%{regs}"
    immediates = "".join(f", %{b_at + 2 + i}" for i in range(len(flags)))
    outputs = ", ".join(f'"+{constraint}"(d[{i}])' for i in range(regs))
    inputs = ", ".join(f'"r"(a[{i}])' for i in range(4)) if from_registers else '"l"(a)'
    inputs += ', "l"(b), "r"(accumulate)' + "".join(f', "n"({f})' for f in flags)
    parameters = "int kSignA, int kSignB, " + ("" if from_registers else "int kTransposeA, ") + "int kTransposeB"
    a_type = "const uint32_t (&a)[4]" if from_registers else "uint64_t a"
    return (f"  template <{parameters}>\n"
            f"  WF_ATOM static void {'rs' if from_registers else 'ss'}({c_type} (&d)[{regs}], {a_type}, uint64_t b, int accumulate) {{\n"
            f'    asm volatile("{{.reg .pred p; setp.ne.b32 p, %{b_at + 1}, 0; wgmma.mma_async.sync.aligned.m64n{n}k{k}.{acc}.{a}.{b} "\n'
            f'                 "{{{d}}}, {a_text}, %{b_at}, p{immediates};}}"\n'
            f"                 : {outputs}\n"
            f"                 : {inputs});\n"
            "  }\n")


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for header in dict.fromkeys(row[0] for row in TABLE):
        text = ["// Generated from src/hopper/wgmma_table.py.", "#pragma once", '#include "warpfold/hopper/hopper.h"',
                "namespace warpfold::hopper {", "inline namespace WF_TARGET {", "namespace ptx {"]
        for row in (r for r in TABLE if r[0] == header):
            for n in row[7]:
                text += [f"template <>\nstruct WgmmaInstruction<{row[1]}, {row[2]}, {n}> {{",
                         function(row, n, False) + function(row, n, True) + "};"]
        text += ["}  // namespace ptx", "}  // namespace WF_TARGET", "}  // namespace warpfold::hopper", ""]
        (folder / f"wgmma_{header}.h").write_text("\n".join(text))


main()
