"""The C interface of libwarpfold.so for PyTorch tensors."""
import ctypes

import torch

TYPES = {torch.bfloat16: 0, torch.float16: 1, torch.int8: 2, torch.int32: 3}


class GemmProblem(ctypes.Structure):
    _fields_ = ([("type", ctypes.c_int), ("output_type", ctypes.c_int)] + [(x, ctypes.c_int64) for x in "mnk"] +
                [(x, ctypes.c_void_p) for x in "abcd"] + [(x + "_stride", ctypes.c_int64) for x in "abcd"] +
                [("alpha", ctypes.c_float), ("beta", ctypes.c_float),
                 ("row_scale", ctypes.c_void_p), ("column_scale", ctypes.c_void_p)])


class Library:
    def __init__(self, path):
        self.c = ctypes.CDLL(path)
        self.c.wf_gemm_tile_name.restype = ctypes.c_char_p
        self.message = ctypes.create_string_buffer(512)
        self.multiprocessors = torch.cuda.get_device_properties(0).multi_processor_count
        self.tiles = [self.c.wf_gemm_tile_name(i).decode() for i in range(self.c.wf_gemm_tile_count())]

    def problem(self, a, b, c, d, alpha=1.0, beta=0.0, row=None, column=None):
        """D (M, N) = alpha A (M, K) B (N, K)^T + beta C (M, N); unit stride along the last mode."""
        return GemmProblem(TYPES[a.dtype], TYPES[d.dtype], a.shape[0], b.shape[0], a.shape[1], a.data_ptr(), b.data_ptr(),
                           None if c is None else c.data_ptr(), d.data_ptr(), a.stride(0), b.stride(0),
                           0 if c is None else c.stride(0), d.stride(0), alpha, beta,
                           None if row is None else row.data_ptr(), None if column is None else column.data_ptr())

    def gemm(self, problem, tile=-1):
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        if self.c.wf_gemm_run(ctypes.byref(problem), tile, stream, self.message, len(self.message)) != 0:
            raise RuntimeError(self.message.value.decode())

    def chosen(self, problem):
        return self.tiles[self.c.wf_gemm_choose(ctypes.byref(problem), self.multiprocessors)]
