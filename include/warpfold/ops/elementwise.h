// Row-wise operations of a transformer: normalisation, rotary positions, gated activations.
#pragma once

#include <cstdint>

namespace warpfold::ops {

// out[i] = x[i] / sqrt(mean(x^2) + epsilon) * weight[i]; n values; out may be x. (Zhang and Sennrich 2019)
void rms_norm(const float* x, const float* weight, std::int64_t n, float epsilon, float* out);

// out[i] = (x[i] - mean(x)) / sqrt(mean((x - mean(x))^2) + epsilon) * weight[i] + bias[i]; n values; out may be x.
// (Ba et al. 2016)
void layer_norm(const float* x, const float* weight, const float* bias, std::int64_t n, float epsilon, float* out);

// x[i] += y[i]
void add(float* x, const float* y, std::int64_t n);
// x[i] *= factor
void scale(float* x, float factor, std::int64_t n);

// Rotates pairs of x (head_dim) by the angles whose cosines and sines are given (head_dim / 2 each): pairs
// (2i, 2i + 1) when interleaved, (i, i + head_dim / 2) otherwise. (Su et al. 2021)
void rotate(float* x, const float* cosine, const float* sine, std::int64_t head_dim, bool interleaved);

// silu(x) = x / (1 + exp(-x));  gelu(x) = x / 2 (1 + erf(x / sqrt(2))), which kGeluTanh approximates as
// x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)));  relu(x) = max(x, 0)
enum class Activation { kSilu, kGeluTanh, kGelu, kRelu };

// x[i] = act(x[i] + bias[i]), or act(x[i]) when bias is null. The error function is within 5e-7.
void activate(Activation activation, const float* bias, std::int64_t n, float* x);

// out[i] = act(gate[i]) * up[i]; out may be gate or up.
void gated(Activation activation, const float* gate, const float* up, std::int64_t n, float* out);

}  // namespace warpfold::ops
