// SPDX-License-Identifier: Apache-2.0
// Writes the stages as Megatron's layout. Profiles do not say which layers are the embedding,
// transformer layers or the head, so blocks_of() finds out by the names of the layers.
#include "weft/pipeline/exports/megatron.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "weft/base/counted.h"

namespace weft::pipeline::exports {
namespace {

tl::unexpected<Error> no_layout(const std::string& why) {
  return fail(
      ErrorCode::kInfeasible,
      fmt::format("Megatron's layout cannot express this plan: {}; weft.torch.pipeline runs "
                  "any plan",
                  why));
}

/// The name of a layer in lower case and without digits. It is equal for layers of the same kind.
std::string kind_of(const std::string& id) {
  std::string kind;
  for (const char c : id) {
    if (c >= '0' && c <= '9') continue;
    kind += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return kind;
}

template <std::size_t N>
bool names_one_of(const Layer& layer, const std::array<std::string_view, N>& words) {
  const std::string kind = kind_of(layer.id);
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return kind.find(word) != kind.npos; });
}

/// Layers [first, last) are transformer layers. The layers before them are the embedding. The
/// layers after them are the head.
struct Blocks {
  std::int32_t first = 0, last = 0;
};

Result<Blocks> blocks_of(const std::vector<Layer>& layers) {
  constexpr std::array<std::string_view, 4> kEmbeds = {"embed", "wte", "wpe", "input"};
  constexpr std::array<std::string_view, 6> kEnds = {"head", "loss",  "norm",
                                                     "ln_f", "logit", "output"};
  Blocks blocks{0, static_cast<std::int32_t>(layers.size())};
  while (blocks.first < blocks.last && names_one_of(layers[blocks.first], kEmbeds)) ++blocks.first;
  while (blocks.first < blocks.last && names_one_of(layers[blocks.last - 1], kEnds)) --blocks.last;
  if (blocks.first == blocks.last)
    return no_layout("the plan has no layer between embedding and head");
  // The first and the last layer may include the embedding or the head, so their sizes may differ.
  const Layer& usual = layers[blocks.first + (blocks.last - blocks.first) / 2];
  for (std::int32_t i = blocks.first; i < blocks.last; ++i) {
    const bool inner = i > blocks.first && i + 1 < blocks.last;
    const bool other_size = inner && layers[i].parameters != usual.parameters;
    if (other_size || kind_of(layers[i].id) != kind_of(usual.id)) {
      return no_layout(fmt::format(
          "layers '{}' and '{}' differ, but the layout only has equal transformer layers", usual.id,
          layers[i].id));
    }
  }
  return blocks;
}

/// How to get a plan that the layout can express.
constexpr const char* kPlanInTurn =
    "plan with --chunks 1 --replicas 1, or --schedule interleaved --replicas 1";

/// Megatron puts stage s on rank s modulo the number of ranks.
Status check_placement(const Scheduled& scheduled) {
  const std::size_t ranks = scheduled.devices.size();
  const auto& stages = scheduled.pipeline.stages;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const auto group = static_cast<std::size_t>(stages[s].device);
    if (group == s % ranks) continue;
    return no_layout(fmt::format(
        "Megatron assigns stages to {} in turn, but this plan has stage {} on {} {} instead of {}; "
        "{}",
        counted(ranks, "rank"), s, scheduled.devices[group].size() > 1 ? "devices" : "device",
        fmt::join(scheduled.devices[group], ", "), fmt::join(scheduled.devices[s % ranks], ", "),
        kPlanInTurn));
  }
  if (stages.size() % ranks == 0) return {};
  return no_layout(
      fmt::format("Megatron gives {} equal numbers of stages, but there are {} stages; {}",
                  counted(ranks, "rank"), stages.size(), kPlanInTurn));
}

/// "ttt" or, for more than three, "t*4".
std::string letters(std::int32_t count) {
  return count > 3 ? fmt::format("t*{}", count) : std::string(static_cast<std::size_t>(count), 't');
}

}  // namespace

Result<Exported> megatron_layout(const Scheduled& scheduled) {
  if (scheduled.stages.empty()) {
    return fail(ErrorCode::kUsage,
                "Megatron's layout lists layers, but this file has none; export a plan instead");
  }
  WEFT_ASSIGN(const EqualRanks ranks, equal_ranks(scheduled, "Megatron's layout"));
  WEFT_TRY(check_placement(scheduled));
  WEFT_ASSIGN(const Blocks blocks, blocks_of(scheduled.layers));
  const auto& stages = scheduled.stages;
  // E stands for the whole embedding and L for the whole head, so each must be in one stage.
  if (stages.front().last < blocks.first || stages.back().first > blocks.last) {
    return no_layout("a stage boundary is inside the embedding or the head");
  }
  Exported exported;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const std::int32_t first = std::max(stages[s].first, blocks.first);
    const std::int32_t last = std::min(stages[s].last, blocks.last);
    exported.text += (s == 0 ? "E" : "|") + letters(std::max(0, last - first));
  }
  exported.text += "L\n";
  const std::size_t chunks = stages.size() / scheduled.devices.size();
  exported.notes.push_back(
      fmt::format("pass this text to --pipeline-model-parallel-layout, with "
                  "--pipeline-model-parallel-size {} and "
                  "--num-layers {}; Megatron runs micro-batches in its own order, {}",
                  scheduled.devices.size(), blocks.last - blocks.first,
                  chunks > 1 ? "interleaved 1F1B" : "1F1B"));
  note_ranks(scheduled, ranks, exported.notes);
  note_recomputation(scheduled, exported.notes);
  return exported;
}

}  // namespace weft::pipeline::exports
