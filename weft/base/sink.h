// SPDX-License-Identifier: Apache-2.0
// Bytes out, pushed in order: to a file that appears only when it is whole, to an open descriptor,
// to memory, or through gzip into any of these.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "weft/base/result.h"

namespace weft {

class ByteSink {
 public:
  virtual ~ByteSink() = default;
  /// After a failure the sink is good for nothing but its end.
  virtual Status write(std::string_view bytes) = 0;
  /// Makes final what was written. A sink that ends without it leaves nothing behind, as far as
  /// that can be had.
  virtual Status close() = 0;
};

/// Writes to a temporary name beside `path`, which close() renames. A link is followed; what is no
/// regular file (a pipe, /dev/stdout) is written as it comes. Not buffered: write large pieces.
Result<std::unique_ptr<ByteSink>> create_file(const std::string& path);

/// An open descriptor, which stays open; `name` is for messages. Where the reader of a pipe goes
/// away, it has seen what it wanted: the rest is dropped without an error.
std::unique_ptr<ByteSink> descriptor_sink(int descriptor, std::string name);

/// Appends to `text`, which must outlive the sink.
std::unique_ptr<ByteSink> memory_sink(std::string& text);

/// Packs what it gets. The same bytes in, in whatever pieces, give the same bytes out.
std::unique_ptr<ByteSink> gzip_sink(std::unique_ptr<ByteSink> packed);

/// Collects small pieces, and hands them on in large ones. Call flush() at the end.
class BufferedWriter {
 public:
  explicit BufferedWriter(ByteSink& sink) : sink_(sink) {}

  /// Append to it, then call advance().
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
