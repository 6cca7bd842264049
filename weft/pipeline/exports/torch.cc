// SPDX-License-Identifier: Apache-2.0
#include "weft/pipeline/exports/torch.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/base/decimal.h"
#include "weft/pipeline/exports/messages.h"

namespace weft::pipeline::exports {
namespace {

/// The first versions in which B has one meaning, in which REDUCE_GRAD exists, and in which ranks
/// no longer exchange a first message with their neighbours.
constexpr TorchVersion kOneMeaningOfB{2, 6}, kReduceGrad{2, 10}, kNoFirstMessage{2, 13};

/// Renumbers micro-batches so that the last stage runs them from 0 on. All micro-batches are equal,
/// so any numbering is valid. Returns whether any number changed.
bool rename_micro_batches(const Pipeline& pipeline, Schedule& schedule) {
  const auto last = static_cast<StageId>(pipeline.stages.size()) - 1;
  std::vector<Micro> name(pipeline.micro_batches);
  Micro next = 0;
  bool changed = false;
  for (const Op& op : schedule.orders[pipeline.stages[last].device]) {
    if (op.stage != last || op.kind != Kind::kForward) continue;
    changed |= op.micro != next;
    name[op.micro] = next++;
  }
  if (!changed) return false;
  for (auto& order : schedule.orders) {
    for (Op& op : order) op.micro = name[op.micro];
  }
  return true;
}

/// Adds notes on what this version of torch cannot do.
void note_traps(const Pipeline& pipeline, const Schedule& schedule, TorchVersion version,
                std::vector<std::string>& notes) {
  for (std::size_t s = 1; s < pipeline.stages.size() && version < kNoFirstMessage; ++s) {
    if (pipeline.stages[s].device != pipeline.stages[s - 1].device) continue;
    notes.push_back(fmt::format(
        "stages {} and {} share a rank: torch {}.{} sends a first message between them, "
        "and gloo refuses messages from a rank to itself; let "
        "_get_init_p2p_neighbors_ops of each stage return [], or use weft.torch.pipeline",
        s - 1, s, version.major, version.minor));
    break;
  }
  for (const auto& order : schedule.orders) {
    const bool halves = std::any_of(order.begin(), order.end(),
                                    [](const Op& op) { return op.kind == Kind::kInput; });
    if (!halves) continue;
    notes.push_back(
        "backwards are split into halves (I and W): torch.compile does not support that, and "
        "activation checkpointing makes it slow");
    return;
  }
}

std::string compute_only(const Schedule& schedule, const EqualRanks& ranks) {
  std::string text;
  for (const DeviceId device : ranks.of_rank) {
    const auto& order = schedule.orders[device];
    for (std::size_t i = 0; i < order.size(); ++i) text += (i > 0 ? "," : "") + print(order[i]);
    text += '\n';
  }
  return text;
}

}  // namespace

Result<TorchVersion> parse_torch_version(std::string_view text) {
  const std::size_t dot = std::min(text.find('.'), text.size());
  const std::string_view rest = text.substr(std::min(dot + 1, text.size()));
  const auto major = parse_int(text.substr(0, dot));
  // Ignore everything after the minor version, such as ".0+cpu".
  const auto minor = parse_int(rest.substr(0, rest.find_first_not_of("0123456789")));
  if (!major || !minor || *major > 99 || *minor > 999) {
    return fail(ErrorCode::kUsage,
                fmt::format("'{}' is no version of torch; write it as 2.11 or 2.13", text));
  }
  const TorchVersion version{static_cast<std::int32_t>(*major), static_cast<std::int32_t>(*minor)};
  if (version < kOneMeaningOfB) {
    return fail(
        ErrorCode::kUsage,
        fmt::format("torch {} reads B differently in different schedules; the first version "
                    "that can be exported to is 2.6",
                    text));
  }
  return version;
}

Result<Exported> torch_csv(const Scheduled& scheduled, TorchFormat format, TorchVersion version) {
  WEFT_ASSIGN(const EqualRanks ranks, equal_ranks(scheduled, "torch.distributed.pipelining"));
  Exported exported;
  note_ranks(scheduled, ranks, exported.notes);
  // A copy, because micro-batches may be renumbered.
  Schedule schedule = scheduled.schedule;
  if (rename_micro_batches(scheduled.pipeline, schedule)) {
    exported.notes.push_back(
        "micro-batches are renumbered in the order in which the last stage runs them, since torch "
        "looks up losses by micro-batch number");
  }
  note_traps(scheduled.pipeline, schedule, version, exported.notes);
  note_recomputation(scheduled, exported.notes);
  exported.text = format == TorchFormat::kComputeOnly
                      ? compute_only(schedule, ranks)
                      : compute_comms(scheduled.pipeline, schedule, scheduled.timeline, ranks,
                                      version >= kReduceGrad);
  return exported;
}

}  // namespace weft::pipeline::exports
