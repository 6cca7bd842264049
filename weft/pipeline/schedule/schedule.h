// SPDX-License-Identifier: Apache-2.0
// The order of ops on every device, and its text form: a line a device, "0F0 0F1 0B0 0B1", which is
// what torch.distributed.pipelining reads with commas instead of blanks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/pipeline/model/pipeline.h"

namespace weft::pipeline {

struct Op {
  StageId stage = 0;
  Kind kind = Kind::kForward;
  Micro micro = 0;
  bool operator==(const Op&) const = default;
};

struct Schedule {
  std::vector<std::vector<Op>> orders;  ///< of each device
  bool operator==(const Schedule&) const = default;
};

/// Each op once, on the device of its stage, a micro-batch's gradients either whole or in halves.
/// An Error names the first op that is missing, repeated or out of place.
Status check(const Pipeline& pipeline, const Schedule& schedule);

std::string print(const Op& op);  ///< "1F3"
std::string print(const Schedule& schedule);
Result<Schedule> parse_schedule(std::string_view text);

}  // namespace weft::pipeline
