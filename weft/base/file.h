// SPDX-License-Identifier: Apache-2.0
// Reads files, plain or gzip (recognised by content, never by name), in windows of bounded size: a
// trace of many gigabytes must not need many gigabytes of memory.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/result.h"

namespace weft {

/// A source of uncompressed bytes that are read in order.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Reads at most `capacity` bytes; 0 means the end. A damaged gzip stream gives the bytes that
  /// could be unpacked and then ends; truncated() is true from then on.
  virtual Result<std::size_t> read(char* buffer, std::size_t capacity) = 0;
  virtual const std::string& name() const = 0;
  virtual bool truncated() const { return false; }
  /// The complete content, without copying it: a plain file is mapped into memory, independent of
  /// how much was read so far. nullopt for pipes and gzip. The view is valid as long as the source.
  /// If another process shortens the file meanwhile, an access ends the program (SIGBUS), so use
  /// this only for files that no process writes any more.
  virtual std::optional<std::string_view> whole() { return std::nullopt; }
  /// Number of bytes read so far from the stored (possibly compressed) file, to show progress.
  virtual std::int64_t consumed() const = 0;
};

/// "-" is standard input. `path` may be a pipe, since nothing is read twice.
Result<std::unique_ptr<ByteSource>> open_file(const std::string& path);
/// The next `size` bytes, or fewer at the end of the source.
Result<std::string> read_up_to(ByteSource& source, std::size_t size);
/// All remaining bytes.
Result<std::string> read_rest(ByteSource& source);
/// A source that gives `bytes`, which were read from `source`, once more, and then the rest.
std::unique_ptr<ByteSource> put_back(std::string bytes, std::unique_ptr<ByteSource> source);
/// For tests and fuzzing: gives `bytes` (kept by reference) in pieces of at most `piece` bytes.
std::unique_ptr<ByteSource> memory_source(std::string_view bytes, std::string name,
                                          std::size_t piece = 1u << 20);

/// The complete (uncompressed) content; for small files such as link tables and plans.
Result<std::string> read_file(const std::string& path);
/// Writes the complete file or nothing; see create_file() in sink.h.
Status write_file(const std::string& path, std::string_view content);

/// Expands files, folders and globs into a sorted list of files without repeats. "-" stays as it
/// is. A folder stands for its files; if it has none besides documents (README and the like), for
/// those of its sub-folders. A path that does not exist, or a folder or glob without files, is an
/// Error.
Result<std::vector<std::string>> expand_inputs(const std::vector<std::string>& inputs);

}  // namespace weft
