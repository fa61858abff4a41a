// The layout sub-commands about the chip: banks, tma, wgmma, synthesise. Layouts are in elements of --bits
// bits, and a swizzle in front of them too: Sw<3,3,3> o (64,64):(64,1) on 16 bits is Sw<3,4,3> on bytes.
#pragma once

#include "cli/layout/common.h"

namespace warpfold::layout::hardware {
struct SharedTile;
enum class SharedAccess : uint8_t;
}  // namespace warpfold::layout::hardware

namespace warpfold::cli::layout_tool {

// Bytes of an element of 8, 16, 32 or 64 bits.
int element_bytes(int64_t bits);

// A tile in elements of `bits` bits as the hardware sees it, its swizzle on bytes.
layout::hardware::SharedTile read_tile(std::string_view name, const std::string& text, int64_t bits);

// 32, 64, 128, ldmatrix.x1, .x2, .x4 or stmatrix.x1, .x2, .x4.
layout::hardware::SharedAccess read_access(const std::string& name);

void add_banks_command(CLI::App& app);
void add_tma_command(CLI::App& app);
void add_wgmma_command(CLI::App& app);
void add_chain_command(CLI::App& app);
void add_synthesise_command(CLI::App& app);

}  // namespace warpfold::cli::layout_tool
