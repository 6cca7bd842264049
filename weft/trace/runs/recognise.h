// SPDX-License-Identifier: Apache-2.0
// Recognises the format of a file by its beginning.
#pragma once

#include <string_view>

#include "weft/trace/reader.h"

namespace weft::trace {

/// How many bytes of the (uncompressed) content readers get to recognise their format.
constexpr std::size_t kHeadSize = 64u << 10;

struct Format {
  const Reader* reader = nullptr;  ///< the most certain reader; null if no reader knows the format
  bool execution_trace = false;    ///< a PyTorch execution trace; ignore `reader`
  bool probe_log = false;          ///< a log of one of Weft's probes; ignore the members above

  bool known() const { return reader != nullptr || companion(); }
  /// True if the file only adds to the trace of the same process. Its content tells which process
  /// this is, but its name may not tell.
  bool companion() const { return execution_trace || probe_log; }
};

Format recognise(std::string_view head);

}  // namespace weft::trace
