// SPDX-License-Identifier: Apache-2.0
// Parses the lines that `mpirun --tag-output` prints for its ranks.
#pragma once

#include <string>
#include <string_view>

namespace weft::testbed {

/// The parts of a tagged line such as "[1,3]<stdout>:text": here rank 3 of job 1.
struct TaggedLine {
  std::string label;  ///< "r3"; empty if the line has no tag
  bool is_error = false;
  std::string_view text;
};
TaggedLine parse_tag(std::string_view line);

}  // namespace weft::testbed
