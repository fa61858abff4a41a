// What attention refuses, and in which words; through the C interface, with structures of older headers too.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <string>

#include "warpfold/warpfold.h"

namespace {

// Nothing is read or written: places that lie far apart.
char* place(int i) { return reinterpret_cast<char*>(uintptr_t(i + 1) << 44); }
float* floats(int i) { return reinterpret_cast<float*>(place(i)); }

// 2 sequences of 100 queries and 300 keys, 6 heads, 2 KV heads, head dims 64.
wf_attention_problem good() {
  wf_attention_problem p{};
  p.struct_bytes = sizeof p;
  p.type = p.output_type = WF_BF16;
  p.batches = 2;
  p.heads = 6;
  p.kv_heads = 2;
  p.seqlen_q = 100;
  p.seqlen_k = 300;
  p.head_dim = p.v_head_dim = 64;
  p.q = place(0);
  p.k = place(1);
  p.v = place(2);
  p.o = place(3);
  p.q_head_stride = p.k_head_stride = p.v_head_stride = p.o_head_stride = 64;
  p.q_row_stride = p.o_row_stride = 6 * 64;
  p.k_row_stride = p.v_row_stride = 2 * 64;
  p.q_batch_stride = p.o_batch_stride = 100 * 6 * 64;
  p.k_batch_stride = p.v_batch_stride = 300 * 2 * 64;
  p.scale = 0.125f;
  return p;
}

struct Answer {
  wf_status status;
  std::string text;
};
Answer ask(const wf_attention_problem& p) {
  char text[512];
  const wf_status status = wf_attention_can_run(&p, text, sizeof text);
  return {status, text};
}
std::string why(const wf_attention_problem& p) { return ask(p).text; }

TEST(AttentionChecks, Accepts) {
  wf_attention_problem p = good();
  EXPECT_EQ(why(p), "");
  EXPECT_EQ(ask(p).status, WF_OK);
  p.batches = 0;
  p.q = nullptr;
  EXPECT_EQ(why(p), "") << "nothing to do";
  p = good();
  p.seqlen_k = 0;
  p.k = p.v = nullptr;
  EXPECT_EQ(why(p), "") << "K and V are not read";
  p = good();
  p.seqlen_q = p.batches = p.heads = p.kv_heads = 1;
  p.q_row_stride = p.o_row_stride = p.q_head_stride = p.q_batch_stride = 3;
  EXPECT_EQ(why(p), "") << "strides of one row, head and batch are never used";
  p = good();
  p.output_type = WF_F32;
  EXPECT_EQ(why(p), "");
  p = good();
  p.mask = WF_WINDOW;
  p.window_left = -1;
  p.softcap = 30;
  p.sink = floats(4);
  p.alibi = floats(5);
  p.bias = place(6);
  p.bias_type = WF_F32;
  EXPECT_EQ(why(p), "") << "all options at once, a bias of one number for all";
  p.bias_type = WF_I32;
  p.bias_is_mask = 1;
  EXPECT_EQ(why(p), "") << "the type of a mask does not count";
}

TEST(AttentionChecks, NamesArgumentAndRule) {
  wf_attention_problem p = good();
  p.seqlen_q = -1;
  EXPECT_EQ(why(p), "attention: seqlen_q = -1 is below 0");
  EXPECT_EQ(ask(p).status, WF_INVALID_ARGUMENT);
  p = good();
  p.seqlen_k = int64_t{1} << 31;
  EXPECT_EQ(why(p), "attention: seqlen_k = 2147483648 is above 2147482624");
  EXPECT_EQ(ask(p).status, WF_UNSUPPORTED);
  p = good();
  p.kv_heads = 0;
  EXPECT_EQ(why(p), "attention: kv_heads = 0 is below 1");
  p.kv_heads = 4;
  EXPECT_EQ(why(p), "attention: heads = 6 is no multiple of kv_heads = 4");
  p = good();
  p.type = p.output_type = WF_F32;
  EXPECT_EQ(why(p), "attention: Q, K and V of type F32; BF16, F16 and F8_E4M3 are supported");
  p = good();
  p.output_type = WF_F16;
  EXPECT_EQ(why(p), "attention: O of type F16 for inputs of type BF16; BF16 and F32 are supported");
  p = good();
  p.head_dim = 60;
  EXPECT_EQ(why(p), "attention: head_dim = 60; multiples of 8 from 8 to 256 are supported");
  p = good();
  p.v_head_dim = 264;
  EXPECT_EQ(why(p), "attention: v_head_dim = 264; multiples of 8 from 8 to 256 are supported");
  p = good();
  p.scale = 0;
  EXPECT_EQ(why(p), "attention: scale = 0; it must be finite and above 0");
  p.scale = NAN;
  EXPECT_EQ(why(p), "attention: scale = nan; it must be finite and above 0");
  p = good();
  p.k = nullptr;
  EXPECT_EQ(why(p), "attention: K is null");
  p = good();
  p.v = place(2) + 8;
  EXPECT_EQ(why(p), "attention: V starts 8 bytes after a multiple of 16; TMA needs a multiple of 16 bytes");
  p = good();
  p.q_row_stride = -384;
  EXPECT_EQ(why(p), "attention: Q has a row stride of -384 elements");
  p.q_row_stride = int64_t{1} << 40;
  EXPECT_EQ(why(p),
            "attention: Q has a row stride of 1099511627776 elements; TMA needs less than 2^40 bytes");
  p = good();
  p.k_head_stride = 68;
  EXPECT_EQ(why(p),
            "attention: K has a head stride of 68 elements = 136 bytes; TMA needs a multiple of 16 bytes");
  p = good();
  p.o_batch_stride = 38404;
  EXPECT_EQ(
      why(p),
      "attention: O has a batch stride of 38404 elements = 76808 bytes; it is stored 16 bytes at a time");
  p = good();
  p.o = reinterpret_cast<void*>(~uintptr_t{63});
  EXPECT_EQ(why(p), "attention: O reaches beyond the address space");
  p = good();
  p.lse = reinterpret_cast<float*>(place(4) + 2);
  EXPECT_EQ(why(p), "attention: lse starts 2 bytes after a multiple of 4");
  p = good();
  p.q_starts = reinterpret_cast<const int32_t*>(place(4) + 1);
  EXPECT_EQ(why(p), "attention: the lengths of Q start 1 bytes after a multiple of 4");
  p = good();
  p.batches = p.heads = 1 << 20;
  p.q_batch_stride = p.o_batch_stride = p.q_row_stride = p.o_row_stride = 0;
  EXPECT_EQ(why(p), "attention: 1048576 sequences of 100 rows and 1048576 heads have too many tiles");
  p = good();
  p.workspace = place(4);
  EXPECT_EQ(why(p), "attention: the workspace has 0 bytes, 4 are needed");
  p.workspace_bytes = 4;
  EXPECT_EQ(why(p), "");
  p.workspace = place(4) + 4;
  EXPECT_EQ(why(p), "attention: the workspace does not start on a multiple of 128 bytes");
}

TEST(AttentionChecks, Options) {
  wf_attention_problem p = good();
  p.mask = wf_mask(3);
  EXPECT_EQ(why(p), "attention: mask 3 is no wf_mask");
  p = good();
  p.softcap = -1;
  EXPECT_EQ(why(p), "attention: softcap = -1; it must be finite and above 0, or 0 for none");
  p.softcap = INFINITY;
  EXPECT_EQ(why(p), "attention: softcap = inf; it must be finite and above 0, or 0 for none");
  p = good();
  p.mask = WF_WINDOW;
  p.seqlen_k = 2147482600;
  EXPECT_EQ(why(p), "attention: a window over seqlen_q + seqlen_k = 100 + 2147482600, above 2147482624");
  p = good();
  p.sink = reinterpret_cast<float*>(place(4) + 1);
  EXPECT_EQ(why(p), "attention: sink starts 1 bytes after a multiple of 4");
  p = good();
  p.alibi = reinterpret_cast<float*>(place(4) + 2);
  EXPECT_EQ(why(p), "attention: alibi starts 2 bytes after a multiple of 4");
  p.alibi = floats(4);
  p.alibi_batch_stride = -6;
  EXPECT_EQ(why(p), "attention: alibi has a batch stride of -6 elements");
  p = good();
  p.bias = place(4) + 2;
  p.bias_type = WF_F32;
  EXPECT_EQ(why(p), "attention: the bias starts 2 bytes after a multiple of 4");
  p.bias_type = WF_F16;
  EXPECT_EQ(why(p), "");
  p.bias_type = WF_I8;
  EXPECT_EQ(why(p), "attention: a bias of type I8; BF16, F16, F32 and BOOL are supported");
  p.bias_type = wf_type(77);
  EXPECT_EQ(why(p), "attention: bias_type 77 is no wf_type");
  p.bias_type = WF_F16;
  p.bias_row_stride = -1;
  EXPECT_EQ(why(p), "attention: the bias has a row stride of -1 elements");
  p.bias_row_stride = int64_t{1} << 60;
  EXPECT_EQ(why(p), "attention: the bias reaches beyond the address space");
}

TEST(AttentionChecks, EightBits) {
  wf_attention_problem p = good();
  p.type = WF_F8_E4M3;
  EXPECT_EQ(why(p), "");
  p.q_descale = floats(4);
  p.k_descale = floats(5);
  p.v_descale = floats(6);
  EXPECT_EQ(why(p), "") << "one factor for all";
  p.descale_batch_stride = -2;
  EXPECT_EQ(why(p), "attention: q_descale has strides of -2 and 0 elements");
  p.descale_batch_stride = 2;
  p.v_descale = reinterpret_cast<float*>(place(6) + 2);
  EXPECT_EQ(why(p), "attention: v_descale starts 2 bytes after a multiple of 4");
  p = good();
  p.k_descale = floats(5);
  EXPECT_EQ(why(p), "attention: k_descale is for F8_E4M3 only");
  p = good();
  p.type = WF_F8_E4M3;
  p.output_type = WF_F16;
  EXPECT_EQ(why(p), "attention: O of type F16 for inputs of type F8_E4M3; BF16 and F32 are supported");
  p.output_type = WF_F32;
  p.v_head_dim = 72;
  EXPECT_EQ(why(p), "attention: v_head_dim = 72; multiples of 16 from 16 to 256 are supported");
  p.v_head_dim = 64;
  p.k_row_stride = 136;
  EXPECT_EQ(why(p),
            "attention: K has a row stride of 136 elements = 136 bytes; TMA needs a multiple of 16 bytes");
  p.k_row_stride = 128;
  p.softcap = 5;
  EXPECT_EQ(why(p), "attention: F8_E4M3 is compiled without softcap, alibi and bias");
  p.softcap = 0;
  p.sink = floats(4);
  EXPECT_EQ(why(p), "");
}

// Which tile serves which problem: plain ones their own mask, those with options every mask.
TEST(AttentionChecks, Tiles) {
  char text[512];
  const auto serves = [&](const wf_attention_problem& p, const std::string& name) {
    for (int i = 0; i < wf_attention_tile_count(); ++i)
      if (wf_attention_tile_name(i) == name) {
        wf_attention_run(&p, i, nullptr, text, sizeof text);  // with no GPU it fails later, in other words
        return std::string(text).find("is for other types or head dims, another mask") == std::string::npos;
      }
    ADD_FAILURE() << name;
    return false;
  };
  wf_attention_problem p = good();
  p.q_starts = nullptr;
  p.heads = 0;  // nothing is launched
  p.kv_heads = 0;
  EXPECT_TRUE(serves(p, "d64_plain")) << text;
  EXPECT_EQ(wf_attention_run(&p, 1000, nullptr, text, sizeof text), WF_INVALID_ARGUMENT);
  EXPECT_EQ(std::string(text).find("attention: tile 1000 is not in [-1, "), 0u) << text;
  EXPECT_STREQ(wf_attention_tile_name(-1), "");
  EXPECT_STREQ(wf_attention_tile_name(wf_attention_tile_count()), "");

  p = good();
  p.mask = WF_CAUSAL;
  EXPECT_FALSE(serves(p, "d64_plain"));
  p.head_dim = 72;
  EXPECT_FALSE(serves(p, "d64_causal"));
  p = good();
  p.mask = WF_WINDOW;
  EXPECT_FALSE(serves(p, "d64_causal"));
  p.softcap = 3;
  EXPECT_FALSE(serves(p, "d64_window"));
  p.softcap = 0;
  p.bias = place(5);
  EXPECT_FALSE(serves(p, "d64_scores"));
  p = good();
  p.sink = floats(4);
  EXPECT_FALSE(serves(p, "d64_plain"));
}

TEST(AttentionChecks, Structures) {
  char text[512];
  int64_t bytes = -1;
  wf_attention_problem p = good();
  EXPECT_EQ(wf_attention_workspace(&p, &bytes, text, sizeof text), WF_OK);
  EXPECT_EQ(bytes, 4);
  EXPECT_EQ(wf_attention_workspace(&p, nullptr, text, sizeof text), WF_INVALID_ARGUMENT);
  EXPECT_STREQ(text, "attention: bytes is null");
  EXPECT_EQ(wf_attention_can_run(nullptr, text, sizeof text), WF_INVALID_ARGUMENT);
  EXPECT_STREQ(text, "attention: the problem is null");
  p.struct_bytes = sizeof p + 8;
  EXPECT_EQ(why(p).find("attention: struct_bytes is "), 0u) << why(p);
  // A header before windows: what follows is not read, whatever it holds.
  p.struct_bytes = offsetof(wf_attention_problem, window_left);
  p.softcap = -1;
  p.bias = place(4) + 1;
  EXPECT_EQ(why(p), "");
}

}  // namespace
