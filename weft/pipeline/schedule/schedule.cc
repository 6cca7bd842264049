// SPDX-License-Identifier: Apache-2.0
#include "weft/pipeline/schedule/schedule.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace weft::pipeline {
namespace {

std::optional<Op> parse_op(std::string_view word) {
  constexpr std::string_view kLetters = "FIWB";
  const auto at = word.find_first_of(kLetters);
  if (at == std::string_view::npos) return std::nullopt;
  Op op;
  op.kind = static_cast<Kind>(kLetters.find(word[at]));
  const char *begin = word.data(), *middle = begin + at, *end = begin + word.size();
  const auto stage = std::from_chars(begin, middle, op.stage);
  const auto micro = std::from_chars(middle + 1, end, op.micro);
  const bool whole =
      stage.ec == std::errc{} && stage.ptr == middle && micro.ec == std::errc{} && micro.ptr == end;
  return whole ? std::optional(op) : std::nullopt;
}

}  // namespace

Status check(const Pipeline& pipeline, const Schedule& schedule) {
  const auto stages = static_cast<StageId>(pipeline.stages.size());
  const Micro micros = pipeline.micro_batches;
  if (static_cast<DeviceId>(schedule.orders.size()) != pipeline.devices()) {
    return bad_input("the schedule has " + std::to_string(schedule.orders.size()) +
                     " devices, not " + std::to_string(pipeline.devices()));
  }
  std::vector<std::array<bool, 4>> seen(static_cast<std::size_t>(stages) * micros);
  for (std::size_t device = 0; device < schedule.orders.size(); ++device) {
    for (const Op& op : schedule.orders[device]) {
      if (op.stage < 0 || op.stage >= stages || op.micro < 0 || op.micro >= micros) {
        return bad_input("the pipeline has no op " + print(op));
      }
      if (pipeline.stages[op.stage].device != static_cast<DeviceId>(device)) {
        return bad_input(print(op) + " does not belong on device " + std::to_string(device));
      }
      bool& mark = seen[static_cast<std::size_t>(op.stage) * micros + op.micro]
                       [static_cast<std::size_t>(op.kind)];
      if (mark) return bad_input(print(op) + " occurs twice");
      mark = true;
    }
  }
  for (StageId stage = 0; stage < stages; ++stage) {
    for (Micro micro = 0; micro < micros; ++micro) {
      const auto& [forward, input, weight, whole] =
          seen[static_cast<std::size_t>(stage) * micros + micro];
      if (!forward) return bad_input(print(Op{stage, Kind::kForward, micro}) + " is missing");
      // Either one whole backward or both halves, never a mixture.
      if (whole ? input || weight : !(input && weight)) {
        return bad_input("micro-batch " + std::to_string(micro) + " of stage " +
                         std::to_string(stage) + " must have either B, or I and W");
      }
    }
  }
  return {};
}

std::string print(const Op& op) {
  return std::to_string(op.stage) + letter(op.kind) + std::to_string(op.micro);
}

std::string print(const Schedule& schedule) {
  std::string text;
  for (const auto& order : schedule.orders) {
    for (std::size_t i = 0; i < order.size(); ++i) text += (i > 0 ? " " : "") + print(order[i]);
    text += '\n';
  }
  return text;
}

Result<Schedule> parse_schedule(std::string_view text) {
  Schedule schedule;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    schedule.orders.emplace_back();
    while (true) {
      line.remove_prefix(std::min(line.size(), line.find_first_not_of(" ,\t\r")));
      if (line.empty()) break;
      const std::string_view word = line.substr(0, line.find_first_of(" ,\t\r"));
      const auto op = parse_op(word);
      if (!op)
        return bad_input("'" + std::string(word) + "' is not an op; write 0F0, 0I0, 0W0 or 0B0");
      schedule.orders.back().push_back(*op);
      line.remove_prefix(word.size());
    }
  }
  return schedule;
}

}  // namespace weft::pipeline
