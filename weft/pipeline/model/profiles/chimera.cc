// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>

#include "weft/base/decimal.h"
#include "weft/pipeline/model/profiles/formats.h"

namespace weft::pipeline::profiles {
namespace {

constexpr std::int64_t kMostBlocks = 10'000;
constexpr double kMegabyte = 1 << 20;  ///< Chimera's sizes are in MiB
/// The table has no column for the output size of a block. But `mem_save_err` is the sum of the
/// gradients of all outputs inside a block: query, key, value, projection, hidden layer and output.
/// The hidden layer is four times as large as the output. Each of the other four is as large as the
/// output. So the output is a ninth of the sum.
constexpr double kOutputsInABlock = 9;

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == text.npos) return parts;
    text.remove_prefix(end + 1);
  }
}

/// Gives access to the cells of a row by column name.
class Columns {
 public:
  Columns(std::vector<std::string_view> names, std::vector<std::string_view> cells)
      : names_(std::move(names)), cells_(std::move(cells)) {}

  std::optional<double> number(std::string_view name) const {
    for (std::size_t i = 0; i < names_.size() && i < cells_.size(); ++i) {
      if (names_[i] == name) return parse_double(cells_[i]);
    }
    return std::nullopt;
  }

 private:
  std::vector<std::string_view> names_, cells_;
};

Result<Layer> block_of(const Columns& row) {
  Layer block;
  struct Field {
    const char* name;
    std::int64_t* into;
    double unit;
  };
  const Field fields[] = {{"time_f", &block.forward, 1e6},
                          {"time_b", &block.backward, 1e6},
                          {"mem_param", &block.parameters, kMegabyte},
                          {"mem_act", &block.stash, kMegabyte},
                          {"mem_save_err", &block.activation, kMegabyte / kOutputsInABlock}};
  for (const Field& field : fields) {
    const auto number = row.number(field.name);
    if (!number || !(*number >= 0) || *number * field.unit > 1e18) {
      return bad_input(fmt::format("column '{}' is missing or is not a usable number", field.name));
    }
    *field.into = std::llround(*number * field.unit);
  }
  return block;
}

}  // namespace

bool is_chimera(std::string_view text) { return text.starts_with("bs,time_f,time_b"); }

Result<Profile> parse_chimera(std::string_view text, std::string_view wanted) {
  const std::size_t times = wanted.find('x');
  const auto size = parse_int(wanted.substr(0, times));
  const auto blocks = times == wanted.npos ? std::nullopt : parse_int(wanted.substr(times + 1));
  std::vector<std::string_view> lines = split(text, '\n');
  for (std::string_view& line : lines) {
    if (line.ends_with('\r')) line.remove_suffix(1);
  }
  const std::vector<std::string_view> names = split(lines.front(), ',');
  std::string sizes;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    if (lines[i].empty()) continue;
    const Columns row(names, split(lines[i], ','));
    const auto here = row.number("bs");
    if (!here) return bad_input(fmt::format("line {} has no number in column 'bs'", i + 1));
    sizes += fmt::format("{}{}", sizes.empty() ? "" : ", ", *here);
    if (!size || !blocks || *here != static_cast<double>(*size)) continue;
    if (*blocks < 1 || *blocks > kMostBlocks) break;
    WEFT_ASSIGN(const Layer block, block_of(row));
    Profile profile;
    for (std::int32_t layer = 0; layer < static_cast<std::int32_t>(*blocks); ++layer) {
      profile.layers.push_back(block);
      profile.layers.back().id = profile.layers.back().name = fmt::format("block.{}", layer);
      if (layer > 0) profile.edges.push_back({layer - 1, layer});
    }
    return profile;
  }
  if (sizes.empty()) return bad_input("the table has no rows");
  return fail(ErrorCode::kUsage,
              fmt::format("this table gives the cost of one block; write FILE#SIZExBLOCKS, for "
                          "example FILE#8x24 for 24 blocks and micro-batches of 8 samples; the "
                          "table has the sizes {}",
                          sizes));
}

}  // namespace weft::pipeline::profiles
