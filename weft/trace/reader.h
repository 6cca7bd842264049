// SPDX-License-Identifier: Apache-2.0
// The seam for foreign formats: one folder a format, one Reader each, registered in one visible
// place (readers() in reader.cc). A reader sees bytes and fills RankTraces; it knows nothing of
// other ranks or files.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/diagnostics.h"
#include "weft/base/file.h"
#include "weft/base/result.h"
#include "weft/trace/events.h"

namespace weft::trace {

struct ReadOptions {
  /// Called with uncompressed bytes read so far in this file; return false to cancel.
  std::function<bool(std::int64_t)> progress;
};

class Reader {
 public:
  virtual ~Reader() = default;
  virtual const char* name() const = 0;         ///< "kineto"
  virtual const char* description() const = 0;  ///< one line, for `weft list readers`
  /// How sure this reader is, from the first 64 KiB of (uncompressed) content: 0 no, 100 certain.
  virtual int recognise(std::string_view head) const = 0;
  /// Reads the whole input. Repairs are counted in `diagnostics`; a file that cannot be used at all
  /// is an Error with file, byte and advice. Most formats give one RankTrace a file.
  virtual Result<std::vector<RankTrace>> read(ByteSource& source, const ReadOptions& options,
                                              Diagnostics& diagnostics) const = 0;
};

/// All readers, in the order in which ties of recognise() are broken.
const std::vector<std::unique_ptr<Reader>>& readers();

}  // namespace weft::trace
