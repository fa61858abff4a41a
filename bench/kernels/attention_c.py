"""The attention of libwarpfold.so for PyTorch tensors."""
import ctypes
import math

import torch

TYPES = {torch.float8_e4m3fn: 5, torch.bfloat16: 0, torch.float16: 1, torch.float32: 4}


class AttentionProblem(ctypes.Structure):
    _fields_ = ([("struct_bytes", ctypes.c_size_t), ("type", ctypes.c_int), ("output_type", ctypes.c_int)] +
                [(x, ctypes.c_int64) for x in ("batches", "heads", "kv_heads", "seqlen_q", "seqlen_k", "head_dim", "v_head_dim")] +
                [(x, ctypes.c_void_p) for x in "qkvo"] + [(x + "_row_stride", ctypes.c_int64) for x in "qkvo"] +
                [(x + "_head_stride", ctypes.c_int64) for x in "qkvo"] + [(x + "_batch_stride", ctypes.c_int64) for x in "qkvo"] +
                [("lse", ctypes.c_void_p), ("lse_head_stride", ctypes.c_int64), ("lse_batch_stride", ctypes.c_int64)] +
                [(x, ctypes.c_void_p) for x in ("q_starts", "k_starts", "q_used", "k_used")] +
                [("scale", ctypes.c_float), ("mask", ctypes.c_int), ("workspace", ctypes.c_void_p),
                 ("workspace_bytes", ctypes.c_int64), ("window_left", ctypes.c_int64), ("window_right", ctypes.c_int64),
                 ("softcap", ctypes.c_float), ("sink", ctypes.c_void_p), ("alibi", ctypes.c_void_p), ("alibi_batch_stride", ctypes.c_int64),
                 ("bias", ctypes.c_void_p), ("bias_type", ctypes.c_int), ("bias_is_mask", ctypes.c_int)] +
                [(f"bias_{x}_stride", ctypes.c_int64) for x in ("batch", "head", "row", "key")] +
                [(f"{x}_descale", ctypes.c_void_p) for x in "qkv"] + [(f"descale_{x}_stride", ctypes.c_int64) for x in ("batch", "head")])


class Attention:
    def __init__(self, path):
        self.c = ctypes.CDLL(path)
        self.c.wf_attention_tile_name.restype = ctypes.c_char_p
        self.message = ctypes.create_string_buffer(512)
        self.tiles = [self.c.wf_attention_tile_name(i).decode() for i in range(self.c.wf_attention_tile_count())]
        self.workspace = torch.zeros(1024, dtype=torch.uint8, device="cuda")

    def problem(self, q, k, v, o, lse=None, causal=False, scale=None, q_starts=None, k_starts=None, q_used=None, k_used=None,
                longest_q=0, longest_k=0, workspace=True, window=None, softcap=0, sink=None, alibi=None, bias=None, descale=None):
        """q, k, v, o: (batches, rows, heads, dim); packed, with starts: (rows, heads, dim), and the longest lengths.
        lse: (batches, heads, rows) or (heads, rows). window: (left, right). sink: (heads). alibi: (heads) or (batches, heads).
        bias: (batches, heads, longest q, longest k), expanded where it repeats; bool: a mask. descale: three (batches, KV heads), with the same strides."""
        batches = len(q_starts) - 1 if q_starts is not None else len(k_starts) - 1 if k_starts is not None else q.shape[0]
        p = AttentionProblem(struct_bytes=ctypes.sizeof(AttentionProblem), type=TYPES[q.dtype], output_type=TYPES[o.dtype],
                             batches=batches, heads=q.shape[-2], kv_heads=k.shape[-2],
                             seqlen_q=(q.shape[1] if q_starts is None else longest_q) if q.numel() else 0,
                             seqlen_k=(k.shape[1] if k_starts is None else longest_k) if k.numel() else 0,
                             head_dim=q.shape[-1], v_head_dim=v.shape[-1],
                             scale=1 / math.sqrt(q.shape[-1]) if scale is None else scale, mask=int(causal))
        for name, x in zip("qkvo", (q, k, v, o)):
            assert x.stride(-1) == 1 or x.shape[-1] == 1
            setattr(p, name, x.data_ptr())
            setattr(p, name + "_row_stride", x.stride(-3))
            setattr(p, name + "_head_stride", x.stride(-2))
            setattr(p, name + "_batch_stride", x.stride(0) if x.dim() == 4 else 0)
        if lse is not None:
            p.lse, p.lse_head_stride, p.lse_batch_stride = lse.data_ptr(), lse.stride(-2), lse.stride(0) if lse.dim() == 3 else 0
        for name, x in (("q_starts", q_starts), ("k_starts", k_starts), ("q_used", q_used), ("k_used", k_used)):
            if x is not None:
                assert x.dtype == torch.int32 and x.is_cuda
                setattr(p, name, x.data_ptr())
        if window is not None:
            p.mask, p.window_left, p.window_right = 2, *window
        p.softcap = softcap
        if sink is not None:
            assert sink.dtype == torch.float32 and sink.is_contiguous()
            p.sink = sink.data_ptr()
        if alibi is not None:
            assert alibi.dtype == torch.float32 and alibi.stride(-1) == 1
            p.alibi, p.alibi_batch_stride = alibi.data_ptr(), alibi.stride(0) if alibi.dim() == 2 else 0
        if bias is not None:
            p.bias, p.bias_is_mask = bias.data_ptr(), bias.dtype == torch.bool
            p.bias_type = 0 if p.bias_is_mask else TYPES[bias.dtype]
            p.bias_batch_stride, p.bias_head_stride, p.bias_row_stride, p.bias_key_stride = bias.stride()
        if descale is not None:
            p.q_descale, p.k_descale, p.v_descale = (x.data_ptr() for x in descale)
            p.descale_batch_stride, p.descale_head_stride = descale[0].stride()
        if workspace:
            p.workspace, p.workspace_bytes = self.workspace.data_ptr(), self.workspace.numel()
        p.tensors = (q, k, v, o, lse, q_starts, k_starts, q_used, k_used, sink, alibi, bias, descale)  # kept alive
        return p

    def run(self, problem, tile=-1):
        """Launches on the current stream; False where the given tile serves no such problem."""
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        status = self.c.wf_attention_run(ctypes.byref(problem), tile, stream, self.message, len(self.message))
        if status == 2 and tile >= 0:
            return False
        if status != 0:
            raise RuntimeError(self.message.value.decode())
        return True
