// Lists a model file's metadata and tensors, as columns for people or as one JSON object for programs.
// GGUF and safetensors are brought into one report first, so that both look alike.
#include "cli/inspect.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "warpfold/formats/gguf.h"
#include "warpfold/formats/safetensors.h"

namespace warpfold::cli {
namespace {

using Json = nlohmann::json;

struct MetadataRow {
  std::string key, type;
  Json value;
};

struct Report {
  std::string file, format;
  std::vector<MetadataRow> metadata;
  std::vector<formats::NamedTensor> tensors;
};

struct Total {
  std::int64_t tensors = 0, elements = 0, bytes = 0;
  void add(const TensorView& view) {
    ++tensors;
    elements += view.size();
    bytes += view.bytes();
  }
};

// The double that prints with the few digits that tell the float apart: 1e-05, not 9.999999747378752e-06.
double with_short_digits(float value) {
  if (!std::isfinite(value)) return value;
  char text[32];
  const auto written = std::to_chars(text, text + sizeof(text), value);
  double out = 0;
  std::from_chars(text, written.ptr, out);
  return out;
}

Json json_of(const formats::GgufArray& array) {
  Json out = Json::array();
  std::visit(
      [&]<class Element>(const std::vector<Element>& elements) {
        for (const Element element : elements) {
          if constexpr (std::is_same_v<Element, float>)
            out.push_back(with_short_digits(element));
          else
            out.push_back(element);
        }
      },
      array);
  return out;
}

Json json_of(const formats::GgufValue& value) {
  if (value.type == formats::GgufType::kF32)
    return with_short_digits(static_cast<float>(std::get<double>(value.value)));
  return std::visit(
      [](const auto& v) -> Json {
        if constexpr (std::is_same_v<std::decay_t<decltype(v)>, formats::GgufArray>)
          return json_of(v);
        else
          return v;
      },
      value.value);
}

Report report_of(const formats::Gguf& gguf) {
  Report out{gguf.name(), fmt::format("GGUF version {}", gguf.version()), {}, gguf.tensors()};
  for (const auto& [key, value] : gguf.metadata()) {
    std::string type(name(value.type));
    if (const auto* array = std::get_if<formats::GgufArray>(&value.value))
      type = fmt::format("{}[{}]", name(value.element), formats::size(*array));
    out.metadata.push_back({key, std::move(type), json_of(value)});
  }
  return out;
}

Report report_of(const formats::Safetensors& safetensors, const std::string& path) {
  Report out{path, "safetensors", {}, safetensors.tensors()};
  for (const auto& [key, value] : safetensors.metadata()) out.metadata.push_back({key, "string", value});
  return out;
}

bool is_safetensors(const std::string& path) {
  std::error_code error;
  return path.ends_with(".safetensors") || path.ends_with(".json") ||
         std::filesystem::is_directory(path, error);
}

// The map of the file is closed before the report is printed, so the tensors' data must not be read.
Result<Report> read_report(const std::string& path) {
  if (is_safetensors(path))
    return formats::Safetensors::open(path).map([&](const auto& file) { return report_of(file, path); });
  return formats::Gguf::open(path).map([](const auto& file) { return report_of(file); });
}

std::map<std::string_view, Total> totals_by_type(const Report& report) {
  std::map<std::string_view, Total> out;
  for (const auto& [name, view] : report.tensors) out[info(view.dtype).name].add(view);
  return out;
}

Total total_of(const Report& report) {
  Total out;
  for (const auto& [name, view] : report.tensors) out.add(view);
  return out;
}

// ---- JSON

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);  // invalid UTF-8 becomes U+FFFD
}

std::string as_json(const Report& report) {
  Json metadata = Json::object(), tensors = Json::array(), types = Json::object();
  for (const MetadataRow& row : report.metadata) metadata[row.key] = row.value;
  for (const auto& [name, view] : report.tensors) {
    Json shape = Json::array();
    for (int i = 0; i < view.rank; ++i) shape.push_back(view.shape[static_cast<std::size_t>(i)]);
    tensors.push_back(
        {{"name", name}, {"type", info(view.dtype).name}, {"shape", shape}, {"bytes", view.bytes()}});
  }
  const auto json_of_total = [](const Total& t) {
    return Json{{"tensors", t.tensors}, {"elements", t.elements}, {"bytes", t.bytes}};
  };
  for (const auto& [type, total] : totals_by_type(report)) types[std::string(type)] = json_of_total(total);
  return dump(Json{{"file", report.file},
                   {"format", report.format},
                   {"metadata", metadata},
                   {"tensors", tensors},
                   {"types", types},
                   {"total", json_of_total(total_of(report))}}) +
         "\n";
}

// ---- text

// JSON's escapes keep control characters of a file from reaching the terminal; it leaves out delete and
// U+0080..9F.
std::string printable(const Json& json) {
  const std::string text = dump(json);
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
    if (byte == 0x7f) {
      out += "\\u007f";
    } else if (byte == 0xc2 && next >= 0x80 && next < 0xa0) {
      out += fmt::format("\\u{:04x}", next);
      ++i;
    } else {
      out += text[i];
    }
  }
  return out;
}

// A name without the quotes around it.
std::string printable_name(const std::string& text) {
  const std::string quoted = printable(text);
  return quoted.substr(1, quoted.size() - 2);
}

std::string abbreviated(const Json& value) {
  constexpr std::size_t kElements = 4, kBytes = 72;
  if (value.is_string()) {
    std::string text = value.get<std::string>();
    if (text.size() <= kBytes) return printable(text);
    std::size_t cut = kBytes;
    while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xc0) == 0x80) --cut;  // between characters
    return fmt::format("{} ... ({} bytes)", printable(text.substr(0, cut)), text.size());
  }
  if (!value.is_array()) return printable(value);
  std::string out = "[";
  for (std::size_t i = 0; i < std::min(kElements, value.size()); ++i)
    out += (i > 0 ? ", " : "") + abbreviated(value[i]);
  return out + (value.size() > kElements ? ", ...]" : "]");
}

std::string human_bytes(std::int64_t bytes) {
  if (bytes < 1000) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes) / 1e3;
  const char* unit = "kB";
  for (const char* next : {"MB", "GB", "TB", "PB", "EB"}) {
    if (value < 999.95) break;
    value /= 1e3;
    unit = next;
  }
  return fmt::format("{:.1f} {}", value, unit);
}

std::string shape_text(const TensorView& view) {
  if (view.rank == 0) return "scalar";
  return fmt::format("{}", fmt::join(view.shape.begin(), view.shape.begin() + view.rank, " x "));
}

// Rows of columns, each as wide as its widest cell but for the last; columns named in `right` are flush
// right.
std::string columns(const std::vector<std::vector<std::string>>& rows, const std::vector<bool>& right) {
  std::vector<std::size_t> widths(right.size());
  for (const auto& row : rows)
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  std::string out;
  for (const auto& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) {
      out += "  ";
      if (right[c])
        out += fmt::format("{:>{}}", row[c], widths[c]);
      else if (c + 1 < row.size())
        out += fmt::format("{:<{}}", row[c], widths[c]);
      else
        out += row[c];
    }
    out += '\n';
  }
  return out;
}

std::string as_text(const Report& report) {
  const Total total = total_of(report);
  std::string out = fmt::format("{}: {}, {} metadata entries, {} tensors, {} parameters, {}\n",
                                printable_name(report.file), report.format, report.metadata.size(),
                                total.tensors, total.elements, human_bytes(total.bytes));

  std::vector<std::vector<std::string>> rows;
  if (!report.metadata.empty()) {
    for (const MetadataRow& row : report.metadata)
      rows.push_back({printable_name(row.key), row.type, abbreviated(row.value)});
    out += "\nMetadata\n" + columns(rows, {false, false, false});
  }
  if (report.tensors.empty()) return out;

  rows = {{"name", "type", "shape", "size"}};
  for (const auto& [name, view] : report.tensors)
    rows.push_back({printable_name(name), std::string(info(view.dtype).name), shape_text(view),
                    human_bytes(view.bytes())});
  out += "\nTensors\n" + columns(rows, {false, false, true, true});

  rows = {{"type", "tensors", "parameters", "size"}};
  for (const auto& [type, sum] : totals_by_type(report))
    rows.push_back({std::string(type), std::to_string(sum.tensors), std::to_string(sum.elements),
                    human_bytes(sum.bytes)});
  out += "\nTotals\n" + columns(rows, {false, true, true, true});
  return out;
}

}  // namespace

int inspect_main(int argc, char** argv) {
  CLI::App app(
      "Prints the metadata and tensors of a model file (GGUF, safetensors, or a directory of the latter).",
      "warpfold inspect");
  std::string path;
  bool json = false;
  app.add_option("FILE", path, "the model file")->required();
  app.add_flag("--json", json, "one JSON object, nothing abbreviated");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;  // --help is no error
  }
  const Result<Report> report = read_report(path);
  if (!report) {
    fmt::print(stderr, "error: {}\n", report.error().message);
    return 1;
  }
  const std::string out = json ? as_json(*report) : as_text(*report);
  if (std::fwrite(out.data(), 1, out.size(), stdout) != out.size() || std::fflush(stdout) != 0) {
    fmt::print(stderr, "error: cannot write the report: {}\n", std::strerror(errno));
    return 1;
  }
  return 0;
}

}  // namespace warpfold::cli
