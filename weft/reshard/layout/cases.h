// SPDX-License-Identifier: Apache-2.0
// Reads case files, which contain redistribution problems: {"cases": [...]}. Each case has an id, a
// kind (mesh, boxes, block_cyclic or ragged), dtype, shape, src and dst. See
// docs/formats/reshard.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/base/result.h"
#include "weft/reshard/layout/problem.h"

namespace weft::reshard {

/// One case of a file. If the case is invalid, `problem` is the Error that says why; the other
/// cases of the file are not affected.
struct Case {
  std::string id;
  Bytes item_size = 0;  ///< bytes of an element as it is sent; 0 if that is not known
  Result<Problem> problem;
};

/// Returns an Error only if the text is not a case file at all. `name` is the name of the file in
/// error messages.
Result<std::vector<Case>> parse_cases(std::string_view text, const std::string& name);
Result<std::vector<Case>> read_cases(const std::string& path);

}  // namespace weft::reshard
