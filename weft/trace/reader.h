// SPDX-License-Identifier: Apache-2.0
// The interface for foreign formats. Each format has one folder with one Reader; readers() in
// reader.cc lists them all. A reader turns bytes into RankTraces. It does not depend on other ranks
// or files.
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
  /// Called with the number of uncompressed bytes of this file read so far. Return false to cancel.
  std::function<bool(std::int64_t)> progress;
};

class Reader {
 public:
  virtual ~Reader() = default;
  virtual const char* name() const = 0;         ///< "kineto"
  virtual const char* description() const = 0;  ///< one line, for `weft list readers`
  /// Returns how certain it is that a file has this reader's format, from 0 (no) to 100 (yes).
  /// `head` is the first 64 KiB of the (uncompressed) content.
  virtual int recognise(std::string_view head) const = 0;
  /// Reads the whole input. Counts repairs in `diagnostics`. If nothing in the file is usable,
  /// returns an Error with file, byte and advice. Most formats give one RankTrace per file.
  virtual Result<std::vector<RankTrace>> read(ByteSource& source, const ReadOptions& options,
                                              Diagnostics& diagnostics) const = 0;
};

/// Returns all readers. If two of them are equally certain about a file, the first of them reads
/// it.
const std::vector<std::unique_ptr<Reader>>& readers();

}  // namespace weft::trace
