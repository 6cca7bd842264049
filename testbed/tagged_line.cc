// SPDX-License-Identifier: Apache-2.0
#include "testbed/tagged_line.h"

namespace weft::testbed {

TaggedLine parse_tag(std::string_view line) {
  // A rank may print anything, so a line counts as tagged only if the complete form
  // "[JOB,RANK]<stream>:" is there. Every other line is passed on unchanged.
  const TaggedLine untagged{"", false, line};
  const std::size_t comma = line.find(',');
  const std::size_t bracket = line.find(']');
  if (!line.starts_with('[') || bracket == std::string_view::npos || comma > bracket) {
    return untagged;
  }
  const std::string_view rank = line.substr(comma + 1, bracket - comma - 1);
  if (rank.empty() || rank.find_first_not_of("0123456789") != std::string_view::npos) {
    return untagged;
  }
  std::string_view text = line.substr(bracket + 1);
  for (const std::string_view stream : {"<stdout>:", "<stderr>:"}) {
    if (!text.starts_with(stream)) continue;
    text.remove_prefix(stream.size());
    return {"r" + std::string(rank), stream == "<stderr>:", text};
  }
  return untagged;
}

}  // namespace weft::testbed
