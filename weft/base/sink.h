// SPDX-License-Identifier: Apache-2.0
// Writes bytes in order. The bytes can go to a file that appears only when it is complete, to an
// open descriptor, to memory, or through gzip into any of these.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "weft/base/result.h"

namespace weft {

class ByteSink {
 public:
  virtual ~ByteSink() = default;
  /// Writes `bytes`. After a failure, the caller may only destroy the sink.
  virtual Status write(std::string_view bytes) = 0;
  /// Makes the written bytes final. If a sink is destroyed without close(), it leaves no file
  /// behind. Bytes that were written to a descriptor, a pipe or memory stay there.
  virtual Status close() = 0;
};

/// Makes a sink that writes a file. The file gets its name `path` only in close(), so readers never
/// see an incomplete file. If `path` is a symbolic link, the file that it points to is replaced. If
/// `path` is not a regular file (a pipe, /dev/stdout), the bytes are written to it directly. The
/// sink has no buffer, so write large pieces.
Result<std::unique_ptr<ByteSink>> create_file(const std::string& path);

/// Makes a sink that writes to an open descriptor and does not close it. Messages call it `name`.
/// If the descriptor is a pipe whose reader has closed it (as `head` does), the rest is dropped
/// without an error.
std::unique_ptr<ByteSink> descriptor_sink(int descriptor, std::string name);

/// Makes a sink that appends to `text`. The string must live longer than the sink.
std::unique_ptr<ByteSink> memory_sink(std::string& text);

/// Makes a sink that compresses the bytes with gzip and writes the result to `packed`. The output
/// does not depend on the sizes of the pieces in which the bytes are written.
std::unique_ptr<ByteSink> gzip_sink(std::unique_ptr<ByteSink> packed);

/// Collects small pieces and writes them as large ones. Call flush() at the end.
class BufferedWriter {
 public:
  explicit BufferedWriter(ByteSink& sink) : sink_(sink) {}

  /// Append to this string, then call advance(). It writes the string once the string is large
  /// enough.
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
