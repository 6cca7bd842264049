// SPDX-License-Identifier: Apache-2.0
// A schedule: the order of ops on every device. Its text form has one line per device, such as
// "0F0 0F1 0B0 0B1": stage, kind, micro-batch. With commas instead of blanks it is the format that
// torch.distributed.pipelining reads.
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
  std::vector<std::vector<Op>> orders;  ///< per device
  bool operator==(const Schedule&) const = default;
};

/// Checks that each op occurs once and on the device of its stage, and that the gradients of a
/// micro-batch are either one whole backward or two halves. The Error names the first op that is
/// missing, repeated or on the wrong device.
Status check(const Pipeline& pipeline, const Schedule& schedule);

std::string print(const Op& op);  ///< "1F3"
std::string print(const Schedule& schedule);
/// Reads the text form, with blanks or commas between ops. Does not call check().
Result<Schedule> parse_schedule(std::string_view text);

}  // namespace weft::pipeline
