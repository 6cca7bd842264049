// SPDX-License-Identifier: Apache-2.0
// A plan: which changes to make to a job, and what they are expected to bring. It is the seam
// between predicting, searching and putting into force. Format: docs/formats/plan.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/base/result.h"
#include "weft/base/units.h"
#include "weft/predict/what_if.h"

namespace weft::plan {

/// One thing to change: "ddp.bucket_mb" to "100". Keys and values are those of what-ifs.
struct Change {
  std::string key;
  std::string value;
};

struct Plan {
  static constexpr int kVersion = 1;

  std::vector<Change> changes;      ///< all together
  Nanos predicted_step = 0;         ///< mean step of the slowest rank with the changes
  Nanos baseline_step = 0;          ///< without them
  std::vector<std::string> inputs;  ///< what the prediction was made from, as it was named
};

/// The changes of what-ifs, in their order.
std::vector<Change> changes_of(const std::vector<predict::WhatIf>& what_ifs);
/// KEY=VALUE of each change, to be asked as what-ifs.
std::vector<std::string> questions(const Plan& plan);

/// Complete JSON text, ending in a newline.
std::string print_plan(const Plan& plan);
/// `name` stands for the file in messages. A plan of another version, with fields that this version
/// does not have, or with changes that do not exist is an Error (kBadInput): half a plan would be
/// another plan.
Result<Plan> parse_plan(std::string_view text, const std::string& name);

Status write_plan(const std::string& path, const Plan& plan);
Result<Plan> read_plan(const std::string& path);
/// Whether the file is meant to be a plan, sound or not, from a look at how it begins.
bool is_plan(const std::string& path);

}  // namespace weft::plan
