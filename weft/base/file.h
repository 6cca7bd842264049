// SPDX-License-Identifier: Apache-2.0
// Reads plain and gzip files in windows of bounded size, so that a trace of many gigabytes needs
// little memory. Gzip is recognised by the content of the file, never by its name.
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
  /// Reads at most `capacity` bytes. Returns 0 at the end. From a damaged gzip stream it returns
  /// the bytes that can be unpacked and then 0. From then on truncated() is true.
  virtual Result<std::size_t> read(char* buffer, std::size_t capacity) = 0;
  virtual const std::string& name() const = 0;
  virtual bool truncated() const { return false; }
  /// Returns the complete content without copying it, even if a part of it was read before. This
  /// works for plain files only, because it maps the file into memory. Returns nullopt for pipes
  /// and gzip.
  /// The view is valid as long as the source exists. If another process shortens the file
  /// meanwhile, an access to the view ends the program (SIGBUS). So call this only for files that
  /// no process writes any more.
  virtual std::optional<std::string_view> whole() { return std::nullopt; }
  /// Number of bytes read so far from the stored file, which may be compressed. Used to show
  /// progress.
  virtual std::int64_t consumed() const = 0;
};

/// Opens a file for reading. The path "-" means standard input. `path` may be a pipe, because every
/// byte is read only once.
Result<std::unique_ptr<ByteSource>> open_file(const std::string& path);
/// Reads the next `size` bytes. Returns fewer if the source ends before that.
Result<std::string> read_up_to(ByteSource& source, std::size_t size);
/// Reads all remaining bytes.
Result<std::string> read_rest(ByteSource& source);
/// Undoes a read: `bytes` were read from `source`. The result gives `bytes` again and then the rest
/// of `source`.
std::unique_ptr<ByteSource> put_back(std::string bytes, std::unique_ptr<ByteSource> source);
/// For tests and fuzzing: makes a source that gives `bytes` in pieces of at most `piece` bytes. It
/// does not copy `bytes`.
std::unique_ptr<ByteSource> memory_source(std::string_view bytes, std::string name,
                                          std::size_t piece = 1u << 20);

/// Reads a complete file and unpacks it if it is gzip. For small files such as link tables and
/// plans.
Result<std::string> read_file(const std::string& path);
/// Writes a file so that it appears complete or not at all; see create_file() in sink.h.
Status write_file(const std::string& path, std::string_view content);

/// Replaces folders and glob patterns by the files that they stand for. Returns a sorted list of
/// files without repeats. "-" stays as it is. A folder stands for the files in it. If it has no
/// files except documents (README and the like), it stands for the files of its sub-folders.
/// Returns an Error for a path that does not exist, and for a folder or pattern without files.
Result<std::vector<std::string>> expand_inputs(const std::vector<std::string>& inputs);

}  // namespace weft
