// SPDX-License-Identifier: Apache-2.0
// Lines of ranks that mpirun started.
#pragma once

#include <string>
#include <string_view>

namespace weft::testbed {

/// A line that mpirun tagged ("[1,3]<stdout>:text") as the rank's label, stream and text.
struct TaggedLine {
  std::string label;  ///< "r3"; empty: not tagged
  bool is_error = false;
  std::string_view text;
};
TaggedLine parse_tag(std::string_view line);

}  // namespace weft::testbed
