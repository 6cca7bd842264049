// SPDX-License-Identifier: Apache-2.0
// The container of a packed file: a header, a directory, and named sections. Each section is
// compressed by itself and has its own checksum. docs/formats/packed.md describes the layout.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/result.h"

namespace weft::trace::packed {

/// The first byte is not ASCII, so no text file begins like this. A transfer that changes line ends
/// changes the "\r\n", and so the change is noticed.
constexpr std::string_view kMagic = "\x89WEFT\r\n\x1a";
/// Readers refuse higher versions. New sections and columns do not raise the version, because old
/// readers skip them.
constexpr std::uint32_t kVersion = 1;

struct Section {
  std::string name;  ///< for example "events.start"
  std::uint64_t rows = 0;
  std::string content;  ///< not compressed
};

/// Returns the bytes of the whole file.
std::string write_container(const std::vector<Section>& sections);
/// Estimates how many bytes `content` takes after compression, for choosing between encodings.
std::size_t packed_size(std::string_view content);

/// Whether checksums are verified. Fuzzing ignores them, because a fuzzer cannot guess them.
enum class Checksums { kVerify, kIgnore };

/// The directory of a file. It holds views into the bytes of the file, which must outlive it.
class Container {
 public:
  /// Checks header and directory. `name` is the name of the file, for messages.
  static Result<Container> open(std::string_view bytes, std::string name, Checksums checksums);

  struct Entry {
    std::string_view name;
    std::uint64_t rows = 0;
    std::uint64_t size = 0;      ///< bytes after decompression
    std::uint64_t checksum = 0;  ///< checksum of `stored`
    bool compressed = false;
    std::string_view stored;
    std::int64_t byte = 0;  ///< offset of `stored` in the file
  };
  const std::vector<Entry>& entries() const { return entries_; }
  const Entry* find(std::string_view name) const;
  /// Verifies and decompresses one section.
  Result<std::string> content(const Entry& entry) const;
  /// An Error that names the section, says what is wrong with it (`what`) and what to do.
  tl::unexpected<Error> damaged(const Entry& entry, std::string_view what) const;

 private:
  Container(std::string name, Checksums checksums)
      : name_(std::move(name)), checksums_(checksums) {}

  std::string name_;
  Checksums checksums_;
  std::vector<Entry> entries_;
};

}  // namespace weft::trace::packed
