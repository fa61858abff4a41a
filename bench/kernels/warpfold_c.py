"""The C interface of libwarpfold.so for PyTorch tensors."""
import ctypes

import torch

TYPES = {torch.bfloat16: 0, torch.float16: 1, torch.int8: 2, torch.int32: 3, torch.float32: 4, torch.float8_e4m3fn: 5,
         torch.float8_e5m2: 6}
ACTIVATIONS = ["identity", "relu", "silu", "gelu_tanh", "gelu_erf"]
GATES = [None, "interleaved", "concatenated"]


class GemmProblem(ctypes.Structure):
    _fields_ = ([("struct_bytes", ctypes.c_size_t)] + [(x, ctypes.c_int) for x in ("a_type", "b_type", "output_type")] +
                [(x, ctypes.c_int64) for x in ("m", "n", "k", "batches")] + [(x, ctypes.c_void_p) for x in "abcd"] +
                [(x + "_stride", ctypes.c_int64) for x in "abcd"] +
                [(x + "_batch_stride", ctypes.c_int64) for x in "abcd"] +
                [(x + "_column_major", ctypes.c_int32) for x in "abd"] +
                [("alpha", ctypes.c_float), ("beta", ctypes.c_float),
                 ("row_scale", ctypes.c_void_p), ("column_scale", ctypes.c_void_p),
                 ("one_row_scale", ctypes.c_int32), ("one_column_scale", ctypes.c_int32),
                 ("bias", ctypes.c_void_p), ("row_bias", ctypes.c_void_p),
                 ("activation", ctypes.c_int), ("gate", ctypes.c_int), ("fast_accumulation", ctypes.c_int32),
                 ("workspace", ctypes.c_void_p), ("workspace_bytes", ctypes.c_int64)])


class GemmPlan(ctypes.Structure):
    _fields_ = [("tile", ctypes.c_int32), ("blocks", ctypes.c_int32), ("workspace_bytes", ctypes.c_int64),
                ("microseconds", ctypes.c_double)]


def matrix(x):
    """Address, stride, batch stride and whether columns are contiguous of a (rows, width) or (batches, rows, width) tensor."""
    columns = x.stride(-1) != 1
    assert x.stride(-2 if columns else -1) == 1 or x.numel() == 0 or 1 in x.shape[-2:], x.stride()
    return x.data_ptr(), x.stride(-1 if columns else -2), x.stride(0) if x.dim() == 3 else 0, int(columns)


class Library:
    def __init__(self, path):
        self.c = ctypes.CDLL(path)
        self.c.wf_gemm_tile_name.restype = ctypes.c_char_p
        self.message = ctypes.create_string_buffer(512)
        self.multiprocessors = torch.cuda.get_device_properties(0).multi_processor_count
        self.tiles = [self.c.wf_gemm_tile_name(i).decode() for i in range(self.c.wf_gemm_tile_count())]
        self.workspace = torch.zeros(64 << 20, dtype=torch.uint8, device="cuda")

    def problem(self, a, b, c, d, alpha=1.0, beta=0.0, row=None, column=None, bias=None, row_bias=None,
                activation="identity", gate=None, fast=False):
        """D (M, N) = alpha A (M, K) B (N, K)^T + beta C (M, N) and so on; 3-dimensional tensors are batches."""
        p = GemmProblem(struct_bytes=ctypes.sizeof(GemmProblem), a_type=TYPES[a.dtype], b_type=TYPES[b.dtype],
                        output_type=TYPES[d.dtype], m=d.shape[-2], n=d.shape[-1], k=a.shape[-1],
                        batches=d.shape[0] if d.dim() == 3 else 1, alpha=alpha, beta=beta,
                        activation=ACTIVATIONS.index(activation), gate=GATES.index(gate), fast_accumulation=int(fast),
                        workspace=self.workspace.data_ptr(), workspace_bytes=self.workspace.numel())
        p.a, p.a_stride, p.a_batch_stride, p.a_column_major = matrix(a)
        p.b, p.b_stride, p.b_batch_stride, p.b_column_major = matrix(b)
        p.d, p.d_stride, p.d_batch_stride, p.d_column_major = matrix(d)
        if c is not None:
            p.c, p.c_stride, p.c_batch_stride, _ = matrix(c)
        for name, x in (("row_scale", row), ("column_scale", column), ("bias", bias), ("row_bias", row_bias)):
            if x is not None:
                setattr(p, name, x.data_ptr())
                if name.endswith("scale"):
                    setattr(p, "one_" + name, int(x.numel() == 1))
        p.tensors = (a, b, c, d, row, column, bias, row_bias)  # kept alive
        return p

    def check(self, status):
        if status != 0:
            raise RuntimeError(self.message.value.decode())

    def gemm(self, problem, tile=-1):
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        self.check(self.c.wf_gemm_run(ctypes.byref(problem), tile, stream, self.message, len(self.message)))

    def plan(self, problem, tile=-1):
        """The plan, or None where the tile is not compiled for such a problem."""
        plan = GemmPlan()
        status = self.c.wf_gemm_make_plan(ctypes.byref(problem), self.multiprocessors, tile, ctypes.byref(plan),
                                          self.message, len(self.message))
        return plan if status == 0 else None
