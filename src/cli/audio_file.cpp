#include "cli/audio_file.h"

#include <fmt/format.h>
#include <samplerate.h>
#include <sndfile.h>

#include <memory>

#include "warpfold/core/memory_map.h"

namespace warpfold::cli {

Result<std::vector<float>> read_audio(const std::string& path, int rate) {
  WF_CHECK(MemoryMap::open(path));  // says what is wrong when there is no such file
  SF_INFO info{};
  const std::unique_ptr<SNDFILE, int (*)(SNDFILE*)> file(sf_open(path.c_str(), SFM_READ, &info), sf_close);
  if (!file) return fail(ErrorCode::kBadFile, fmt::format("{}: {}", path, sf_strerror(nullptr)));
  std::vector<float> mono, block(static_cast<std::size_t>(info.channels) * 65536);
  while (const sf_count_t frames = sf_readf_float(file.get(), block.data(), 65536)) {
    if (frames < 0) return fail(ErrorCode::kBadFile, fmt::format("{}: {}", path, sf_strerror(file.get())));
    for (sf_count_t f = 0; f < frames; ++f) {
      float sum = 0;
      for (int c = 0; c < info.channels; ++c) sum += block[static_cast<std::size_t>(f * info.channels + c)];
      mono.push_back(sum / static_cast<float>(info.channels));
    }
  }
  if (mono.empty()) return fail(ErrorCode::kBadFile, path + ": there is no sound in it");
  if (info.samplerate == rate) return mono;

  const double ratio = static_cast<double>(rate) / info.samplerate;
  std::vector<float> converted(static_cast<std::size_t>(static_cast<double>(mono.size()) * ratio) + 16);
  SRC_DATA data{};
  data.data_in = mono.data();
  data.data_out = converted.data();
  data.input_frames = static_cast<long>(mono.size());
  data.output_frames = static_cast<long>(converted.size());
  data.src_ratio = ratio;
  if (const int error = src_simple(&data, SRC_SINC_MEDIUM_QUALITY, 1))
    return fail(ErrorCode::kBadFile,
                fmt::format("{}: from {} Hz to {} Hz: {}", path, info.samplerate, rate, src_strerror(error)));
  converted.resize(static_cast<std::size_t>(data.output_frames_gen));
  return converted;
}

}  // namespace warpfold::cli
