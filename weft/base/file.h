// SPDX-License-Identifier: Apache-2.0
// Files in, plain or gzip (told by content, never by name), in windows of bounded size: a trace of
// many gigabytes must not need many gigabytes of memory.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/result.h"

namespace weft {

/// Uncompressed bytes, pulled in order.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Fills at most `capacity` bytes; 0 means end. A broken gzip stream gives what could be unpacked
  /// and then ends, with truncated() true.
  virtual Result<std::size_t> read(char* buffer, std::size_t capacity) = 0;
  virtual const std::string& name() const = 0;
  virtual bool truncated() const { return false; }
  /// All of it at once where that costs no reading: a plain file is mapped, whatever was pulled of
  /// it so far. Nothing where the bytes come from a pipe or out of gzip. Valid as long as the
  /// source; a file that shrinks meanwhile ends the program, so keep to files that are complete.
  virtual std::optional<std::string_view> whole() { return std::nullopt; }
  /// Bytes of the stored (perhaps compressed) file taken so far, for progress against its size.
  virtual std::int64_t consumed() const = 0;
};

/// "-" is standard input. Pipes will do: nothing is read twice.
Result<std::unique_ptr<ByteSource>> open_file(const std::string& path);
/// The next `size` bytes, or fewer at the end of the source.
Result<std::string> read_up_to(ByteSource& source, std::size_t size);
/// All bytes that are left.
Result<std::string> read_rest(ByteSource& source);
/// Serves `bytes`, which were read from `source`, once more before the rest of it.
std::unique_ptr<ByteSource> put_back(std::string bytes, std::unique_ptr<ByteSource> source);
/// For tests and fuzzing: serves `bytes` (kept by reference) in pieces of at most `piece` bytes.
std::unique_ptr<ByteSource> memory_source(std::string_view bytes, std::string name,
                                          std::size_t piece = 1u << 20);

/// Whole (uncompressed) content; for small files such as link tables and plans.
Result<std::string> read_file(const std::string& path);
/// All of it or nothing; see create_file() in sink.h.
Status write_file(const std::string& path, std::string_view content);

/// Expands files, folders (not recursive unless they hold only folders) and globs into a sorted
/// list of files; "-" stays as it is. A path that does not exist, or a folder or glob without
/// files, is an Error.
Result<std::vector<std::string>> expand_inputs(const std::vector<std::string>& inputs);

}  // namespace weft
