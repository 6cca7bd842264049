// SPDX-License-Identifier: Apache-2.0
// Writes bytes in order: to a file that appears only when it is complete, to an open descriptor, to
// memory, or through gzip into any of these.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "weft/base/result.h"

namespace weft {

class ByteSink {
 public:
  virtual ~ByteSink() = default;
  /// After a failure, the only thing left to do with a sink is to destroy it.
  virtual Status write(std::string_view bytes) = 0;
  /// Makes the written bytes final. A sink that is destroyed without close() leaves no file behind
  /// (what went to a descriptor, a pipe or memory stays written).
  virtual Status close() = 0;
};

/// Writes a file that gets its name `path` in close(), so that readers never see part of it. A
/// symbolic link is followed. If `path` is not a regular file (a pipe, /dev/stdout), bytes are
/// written to it directly. Not buffered: write large pieces.
Result<std::unique_ptr<ByteSink>> create_file(const std::string& path);

/// Writes to an open descriptor, which stays open; `name` is for messages. If the reader of a pipe
/// closes it (as `head` does), the rest is dropped without an error.
std::unique_ptr<ByteSink> descriptor_sink(int descriptor, std::string name);

/// Appends to `text`, which must outlive the sink.
std::unique_ptr<ByteSink> memory_sink(std::string& text);

/// Compresses the bytes. The output depends on the bytes only, not on the pieces in which they are
/// written.
std::unique_ptr<ByteSink> gzip_sink(std::unique_ptr<ByteSink> packed);

/// Collects small pieces and writes them as large ones. Call flush() at the end.
class BufferedWriter {
 public:
  explicit BufferedWriter(ByteSink& sink) : sink_(sink) {}

  /// Append to this string, then call advance(), which writes it once it is large enough.
  std::string& buffer() { return buffer_; }
  Status advance() { return buffer_.size() < kEnough ? Status{} : flush(); }
  Status flush() {
    WEFT_TRY(sink_.write(buffer_));
    buffer_.clear();
    return {};
  }

 private:
  static constexpr std::size_t kEnough = 256u << 10;
  ByteSink& sink_;
  std::string buffer_;
};

}  // namespace weft
