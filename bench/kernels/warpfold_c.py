"""The C interface of libwarpfold.so for PyTorch tensors."""
import ctypes

import torch

TYPES = {torch.bfloat16: 0, torch.float16: 1, torch.int8: 2, torch.int32: 3, torch.float32: 4, torch.float8_e4m3fn: 5,
         torch.float8_e5m2: 6}
ACTIVATIONS = ["identity", "relu", "silu", "gelu_tanh", "gelu_erf"]
GATES = [None, "interleaved", "concatenated"]
WEIGHT_TYPES = ["Q8_0", "Q4_0", "Q4_1"]


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
                 ("workspace", ctypes.c_void_p), ("workspace_bytes", ctypes.c_int64),
                 ("a_zero", ctypes.c_void_p), ("b_zero", ctypes.c_void_p),
                 ("one_a_zero", ctypes.c_int32), ("one_b_zero", ctypes.c_int32)] +
                [(x, ctypes.c_void_p) for x in ("a_sums", "b_sums", "output_scale", "output_zero", "row_amax")])


class WeightsProblem(ctypes.Structure):
    _fields_ = ([("struct_bytes", ctypes.c_size_t)] + [(x, ctypes.c_int) for x in ("weight_type", "a_type", "output_type")] +
                [(x, ctypes.c_int64) for x in "mnk"] + [(x, ctypes.c_void_p) for x in ("a", "weights", "c", "d")] +
                [(x + "_stride", ctypes.c_int64) for x in "acd"] + [("alpha", ctypes.c_float), ("beta", ctypes.c_float)] +
                [(x, ctypes.c_void_p) for x in ("row_scale", "column_scale", "bias")] + [("activation", ctypes.c_int)] +
                [("workspace", ctypes.c_void_p), ("workspace_bytes", ctypes.c_int64)])


class GroupedProblem(ctypes.Structure):
    _fields_ = ([("struct_bytes", ctypes.c_size_t)] + [(x, ctypes.c_int) for x in ("type", "output_type")] +
                [(x, ctypes.c_int64) for x in ("rows", "n", "k", "groups")] + [(x, ctypes.c_void_p) for x in "abd"] +
                [(x, ctypes.c_int64) for x in ("a_stride", "b_stride", "b_group_stride", "d_stride")] +
                [("alpha", ctypes.c_float), ("starts", ctypes.c_void_p), ("counts", ctypes.c_void_p), ("row_step", ctypes.c_int64)] +
                [(x, ctypes.c_void_p) for x in ("b_pointers", "row_scale", "column_scale")] + [("one_column_scale", ctypes.c_int32)] +
                [("bias", ctypes.c_void_p), ("activation", ctypes.c_int)])


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
        self.c.wf_gemm_weights_tile_name.restype = ctypes.c_char_p
        self.weight_tiles = [self.c.wf_gemm_weights_tile_name(i).decode() for i in range(self.c.wf_gemm_weights_tile_count())]
        self.workspace = torch.zeros(64 << 20, dtype=torch.uint8, device="cuda")

    def problem(self, a, b, c, d, alpha=1.0, beta=0.0, row=None, column=None, bias=None, row_bias=None,
                activation="identity", gate=None, fast=False, **integers):
        """D (M, N) = alpha A (M, K) B (N, K)^T + beta C (M, N) and so on; 3-dimensional tensors are batches.

        integers: a_zero, b_zero, a_sums, b_sums, output_zero (int32), output_scale, row_amax (fp32), all on the GPU.
        """
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
        for name, x in integers.items():
            if x is not None:
                setattr(p, name, x.data_ptr())
                if name in ("a_zero", "b_zero"):
                    setattr(p, "one_" + name, int(x.numel() == 1))
        p.tensors = (a, b, c, d, row, column, bias, row_bias, integers)  # kept alive
        return p

    def row_sums(self, x):
        """Sums over K of the rows of an int8 tensor (rows, K) or (batches, rows, K)."""
        sums = torch.empty(x.shape[:-1], dtype=torch.int32, device="cuda")
        size = [ctypes.c_int64(v) for v in (x.shape[-2], x.shape[-1], x.shape[0] if x.dim() == 3 else 1, x.stride(-2), x.stride(0) if x.dim() == 3 else 0)]
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        self.check(self.c.wf_gemm_row_sums(ctypes.c_void_p(x.data_ptr()), *size, ctypes.c_void_p(sums.data_ptr()), stream, self.message,
                                           len(self.message)))
        return sums

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

    def pack(self, weight_type, n, k, rows):
        """W (N, K) as a file has it, bytes on the CPU, packed and moved to the GPU."""
        kind, size = WEIGHT_TYPES.index(weight_type), ctypes.c_int64()
        n, k = ctypes.c_int64(n), ctypes.c_int64(k)
        self.check(self.c.wf_gemm_weights_packed_bytes(kind, n, k, ctypes.byref(size), self.message, len(self.message)))
        packed = torch.empty(size.value, dtype=torch.uint8)
        self.check(self.c.wf_gemm_weights_pack(kind, n, k, ctypes.c_void_p(rows.data_ptr()), ctypes.c_int64(rows.numel()),
                                               ctypes.c_void_p(packed.data_ptr()), size, self.message, len(self.message)))
        return packed.cuda()

    def weights_problem(self, weight_type, a, packed, c, d, alpha=1.0, beta=0.0, row=None, column=None, bias=None,
                        activation="identity"):
        """D (M, N) = alpha A (M, K) W (N, K)^T + beta C (M, N) and so on, with packed weights."""
        p = WeightsProblem(struct_bytes=ctypes.sizeof(WeightsProblem), weight_type=WEIGHT_TYPES.index(weight_type),
                           a_type=TYPES[a.dtype], output_type=TYPES[d.dtype], m=d.shape[0], n=d.shape[1], k=a.shape[1],
                           a=a.data_ptr(), weights=packed.data_ptr(), d=d.data_ptr(), a_stride=a.stride(0),
                           d_stride=d.stride(0), alpha=alpha, beta=beta, activation=ACTIVATIONS.index(activation),
                           workspace=self.workspace.data_ptr(), workspace_bytes=self.workspace.numel())
        if c is not None:
            p.c, p.c_stride = c.data_ptr(), c.stride(0)
        for name, x in (("row_scale", row), ("column_scale", column), ("bias", bias)):
            if x is not None:
                setattr(p, name, x.data_ptr())
        p.tensors = (a, packed, c, d, row, column, bias)  # kept alive
        return p

    def gemm_weights(self, problem, tile=-1):
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        self.check(self.c.wf_gemm_weights_run(ctypes.byref(problem), tile, stream, self.message, len(self.message)))

    def weights_plan(self, problem, tile=-1):
        """The plan, or None where the tile is not compiled for such a problem."""
        plan = GemmPlan()
        status = self.c.wf_gemm_weights_make_plan(ctypes.byref(problem), self.multiprocessors, tile, ctypes.byref(plan),
                                                  self.message, len(self.message))
        return plan if status == 0 else None

    def grouped_problem(self, a, b, d, starts=None, counts=None, row_step=0, alpha=1.0, b_pointers=None, row_scale=None,
                        column_scale=None, bias=None, activation="identity"):
        """D (rows of group g) = alpha A (rows of group g, K) B (groups, N, K)[g]^T; starts or counts: int32 on the GPU."""
        p = GroupedProblem(struct_bytes=ctypes.sizeof(GroupedProblem), type=TYPES[a.dtype], output_type=TYPES[d.dtype],
                           rows=d.shape[0], n=d.shape[1], k=a.shape[1], groups=b.shape[0], a=a.data_ptr(), b=b.data_ptr(),
                           d=d.data_ptr(), a_stride=a.stride(0), b_stride=b.stride(1), b_group_stride=b.stride(0),
                           d_stride=d.stride(0), alpha=alpha, row_step=row_step, activation=ACTIVATIONS.index(activation),
                           one_column_scale=int(column_scale is not None and column_scale.dim() == 1))
        for name, x in (("starts", starts), ("counts", counts), ("b_pointers", b_pointers), ("row_scale", row_scale),
                        ("column_scale", column_scale), ("bias", bias)):
            if x is not None:
                setattr(p, name, x.data_ptr())
        p.tensors = (a, b, d, starts, counts, b_pointers, row_scale, column_scale, bias)  # kept alive
        return p

    def gemm_grouped(self, problem, tile=-1):
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        self.check(self.c.wf_gemm_grouped_run(ctypes.byref(problem), tile, stream, self.message, len(self.message)))
