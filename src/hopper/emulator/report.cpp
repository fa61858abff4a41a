// What a report says of threads that wait: for what, and how far that is.
#include <bit>
#include <cstring>
#include <map>

#include "cluster.h"

namespace warpfold::hopper::emulator {

static std::string missing(const MBarrier& m) {
  const std::string arrivals = std::to_string(m.pending) + " of " + std::to_string(m.count) + " arrivals";
  if (m.bytes >= 0) return arrivals + " and " + std::to_string(m.bytes) + " bytes are missing";
  return arrivals + " are missing, and " + std::to_string(-m.bytes) + " bytes more have come than were expected";
}

static std::string arrived(const WarpBarrier& b) {
  return std::to_string(b.arrived) + " of " + std::to_string(b.expected) + " threads have arrived" +
         (b.of_all && b.ended > 0 ? ", " + std::to_string(b.ended) + " have ended" : "");
}

std::string Cluster::text_of(const Waiting& w, uint32_t thread) const {
  const Block& b = blocks_[thread / threads_per_block_];
  switch (w.what) {
    case Waiting::For::try_wait:
    case Waiting::For::mbarrier: {
      const MBarrier& m = b.mbarriers[size_t(b.mbarrier_at[w.id / 8])];
      return "mbarrier " + m.name + ", parity " + std::to_string(w.parity) + ": it is in phase " +
             std::to_string(m.phase) + ", " + missing(m) +
             (w.what == Waiting::For::try_wait ? " (by mbarrier_try_wait, again and again)" : "");
    }
    case Waiting::For::flag:
      return "another value of " + global_.name_of(reinterpret_cast<uintptr_t>(w.flag)) +
             " (by load_acquire, again and again): it is " + std::to_string(*w.flag);
    case Waiting::For::registers:
      return "registers_increase<" + std::to_string(w.id) + ">: the block has " +
             std::to_string(b.free_registers) + " registers free, and a warp with " +
             std::to_string(warps_[thread / 32].registers) + " a lane needs " +
             std::to_string((int(w.id) - warps_[thread / 32].registers) * 32) + " more";
    case Waiting::For::barrier:
      return (w.id == 0 ? std::string("block_sync") : "named barrier " + std::to_string(w.id)) + ": " +
             arrived(b.named[w.id]);
    case Waiting::For::cluster_barrier:
      return "the cluster barrier: " + arrived(cluster_barrier_);
    case Waiting::For::warp:
      return std::string(warps_[w.id].atom) + " of the whole warp: " + std::to_string(warps_[w.id].arrived) +
             " of 32 lanes are there";
    case Waiting::For::product:
      return "wgmma_wait: not all warps of the warpgroup have issued the products";
    case Waiting::For::bulk:
      return "bulk_wait";
    case Waiting::For::copy:
      return "copy_async_wait";
    case Waiting::For::nothing:
      break;
  }
  return "";
}

// A thread that runs on: what it asks for, if it does, and the other atoms that it goes through.
std::string Cluster::text_of_round(uint32_t thread) const {
  const Thread& t = threads_[thread];
  std::string question, others;
  for (const Visit& v : t.round) {
    if ((t.waiting.what == Waiting::For::try_wait && std::strcmp(v.atom, "mbarrier_try_wait") == 0) ||
        (t.waiting.what == Waiting::For::flag && std::strcmp(v.atom, "load_acquire") == 0)) {
      question = text_of(t.waiting, thread);
      continue;
    }
    if (!others.empty()) others += ", ";
    others += v.atom;
    if (v.where == 0) continue;
    others += v.in_shared ? " of shared address " : " of ";
    others += v.in_shared ? std::to_string(v.where) : global_.name_of(v.where);
  }
  if (question.empty()) return "a change, going again and again through " + others;
  return question + (others.empty() ? "" : "; it goes through " + others);
}

// "lane 3", "lanes 0-4, 7"
static std::string names_of_lanes(uint32_t mask) {
  std::string text;
  for (int lane = 0; lane < 32; ++lane) {
    if ((mask >> lane & 1) == 0) continue;
    const int first = lane;
    while (lane < 31 && (mask >> (lane + 1) & 1) != 0) ++lane;
    if (!text.empty()) text += ", ";
    text += std::to_string(first);
    if (lane > first) text.append(1, '-').append(std::to_string(lane));
  }
  return (std::popcount(mask) == 1 ? "lane " : "lanes ") + text;
}

std::string Cluster::describe_waiters() const {
  std::string text;
  for (uint32_t rank = 0; rank < blocks_.size(); ++rank) {
    std::map<std::string, std::map<uint32_t, uint32_t>> lanes;  // reason -> warp -> mask
    uint32_t ended = 0;
    for (uint32_t t = rank * threads_per_block_; t < (rank + 1) * threads_per_block_; ++t) {
      ended += threads_[t].finished;
      const Warp& w = warps_[t / 32];
      const bool runs = (w.runnable >> t % 32 & 1) != 0;
      if (threads_[t].finished || (runs && threads_[t].round.empty())) continue;
      Waiting why = threads_[t].waiting;
      if (why.what == Waiting::For::warp && w.arrived == 32) why = w.waits_for;
      const std::string reason = runs ? text_of_round(t) : text_of(why, t);
      lanes[reason][t % threads_per_block_ / 32] |= 1u << t % 32;
    }
    for (const auto& [reason, warps] : lanes) {
      text += "\n  block " + std::to_string(threads_[rank * threads_per_block_].identity.block) + ": ";
      const char* separator = "";
      for (const auto& [warp, mask] : warps) {
        text += separator + ("warp " + std::to_string(warp));
        if (mask != 0xFFFFFFFF) text += " (" + names_of_lanes(mask) + ")";
        separator = ", ";
      }
      text += " wait" + std::string(warps.size() == 1 ? "s" : "") + " for " + reason;
    }
    if (ended > 0)
      text += "\n  block " + std::to_string(threads_[rank * threads_per_block_].identity.block) + ": " +
              std::to_string(ended) + " of " + std::to_string(threads_per_block_) + " threads have ended";
  }
  return text;
}

}  // namespace warpfold::hopper::emulator
