// SPDX-License-Identifier: Apache-2.0
#include "weft/pipeline/exports/torch.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/base/decimal.h"
#include "weft/pipeline/exports/messages.h"

namespace weft::pipeline::exports {
namespace {

constexpr TorchVersion kClearLetters{2, 6}, kReduceGrad{2, 10}, kNoGreeting{2, 13};

/// Micro-batches are alike, so they may change names: the last stage runs them from 0 on. True
/// where any did.
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

void note_traps(const Pipeline& pipeline, const Schedule& schedule, TorchVersion version,
                std::vector<std::string>& notes) {
  for (std::size_t s = 1; s < pipeline.stages.size() && version < kNoGreeting; ++s) {
    if (pipeline.stages[s].device != pipeline.stages[s - 1].device) continue;
    notes.push_back(
        fmt::format("stages {} and {} share a rank: torch {}.{} greets neighbours at the start, "
                    "which gloo refuses to itself; let _get_init_p2p_neighbors_ops of each "
                    "stage return [], or use weft.torch.pipeline",
                    s - 1, s, version.major, version.minor));
    break;
  }
  for (const auto& order : schedule.orders) {
    const bool halves = std::any_of(order.begin(), order.end(),
                                    [](const Op& op) { return op.kind == Kind::kInput; });
    if (!halves) continue;
    notes.push_back(
        "backwards are halved (I and W), which torch.compile does not support, and activation "
        "checkpoints make slow");
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
  const auto minor = parse_int(rest.substr(0, rest.find_first_not_of("0123456789")));
  if (!major || !minor || *major > 99 || *minor > 999) {
    return fail(ErrorCode::kUsage,
                fmt::format("'{}' is no version of torch; write 2.11 or 2.13", text));
  }
  const TorchVersion version{static_cast<std::int32_t>(*major), static_cast<std::int32_t>(*minor)};
  if (version < kClearLetters) {
    return fail(ErrorCode::kUsage,
                fmt::format("torch {} reads B in two ways; the first version with clear schedules "
                            "is 2.6",
                            text));
  }
  return version;
}

Result<Exported> torch_csv(const Scheduled& scheduled, TorchFormat format, TorchVersion version) {
  WEFT_ASSIGN(const EqualRanks ranks, equal_ranks(scheduled, "torch.distributed.pipelining"));
  Exported exported;
  note_ranks(scheduled, ranks, exported.notes);
  Schedule schedule = scheduled.schedule;
  if (rename_micro_batches(scheduled.pipeline, schedule)) {
    exported.notes.push_back(
        "micro-batches are numbered as the last stage runs them, since torch finds losses by that");
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
