// SPDX-License-Identifier: Apache-2.0
// Files of redistribution problems: {"cases": [...]}, each with id, kind (mesh, boxes,
// block_cyclic or ragged), dtype, shape, src and dst. See docs/formats/reshard.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/base/result.h"
#include "weft/reshard/layout/problem.h"

namespace weft::reshard {

/// A problem, or why it cannot be answered: a case that makes no sense refuses itself, not the
/// file.
struct Case {
  std::string id;
  Bytes item_size = 0;  ///< on the way
  Result<Problem> problem;
};

/// An Error where the text is no case file.
Result<std::vector<Case>> parse_cases(std::string_view text, const std::string& name);
Result<std::vector<Case>> read_cases(const std::string& path);

}  // namespace weft::reshard
