// SPDX-License-Identifier: Apache-2.0
// Recognises the format of a file by its beginning.
#pragma once

#include <string_view>

#include "weft/trace/reader.h"

namespace weft::trace {

/// How many bytes of the (uncompressed) content readers get to recognise their format.
constexpr std::size_t kHeadSize = 64u << 10;

struct Format {
  const Reader* reader = nullptr;  ///< the reader that is most certain; null if none knows it
  bool execution_trace = false;    ///< a PyTorch execution trace; ignore `reader`
  bool probe_log = false;          ///< a log of one of Weft's probes; ignore the members above

  bool known() const { return reader != nullptr || companion(); }
  /// The file complements the trace of the same process. The name of the file may not tell which
  /// process this is, but its content does.
  bool companion() const { return execution_trace || probe_log; }
};

Format recognise(std::string_view head);

}  // namespace weft::trace
