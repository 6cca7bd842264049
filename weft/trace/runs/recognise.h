// SPDX-License-Identifier: Apache-2.0
// Which format a file has, by how it begins.
#pragma once

#include <string_view>

#include "weft/trace/reader.h"

namespace weft::trace {

/// How much of the (uncompressed) content readers are shown.
constexpr std::size_t kHeadSize = 64u << 10;

struct Format {
  const Reader* reader = nullptr;  ///< the surest; null if none is sure at all
  bool execution_trace = false;    ///< a PyTorch execution trace rather than that
  bool probe_log = false;          ///< a log of one of Weft's probes rather than all that

  bool known() const { return reader != nullptr || companion(); }
  /// Belongs to the recording of the same process, which only its content tells.
  bool companion() const { return execution_trace || probe_log; }
};

Format recognise(std::string_view head);

}  // namespace weft::trace
