// SPDX-License-Identifier: Apache-2.0
// The file around the columns: a header, a directory, and named sections, each packed and with a
// checksum of its own. Layout: docs/formats/packed.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/result.h"

namespace weft::trace::packed {

/// No text file begins like this, and a transfer that changes line ends is noticed.
constexpr std::string_view kMagic = "\x89WEFT\r\n\x1a";
/// Readers refuse higher ones. New sections and columns do not raise it: old readers pass over
/// them.
constexpr std::uint32_t kVersion = 1;

struct Section {
  std::string name;  ///< "events.start"
  std::uint64_t rows = 0;
  std::string content;
};

/// The bytes of the file.
std::string write_container(const std::vector<Section>& sections);
/// How many bytes write_container() would take for this content.
std::size_t packed_size(std::string_view content);

/// Whether a section's checksum is looked at. A fuzzer cannot guess them.
enum class Checksums { kVerify, kIgnore };

/// Where the sections of a file lie. Views into the file's bytes, which must outlive it.
class Container {
 public:
  /// Checks header and directory; `name` is for messages.
  static Result<Container> open(std::string_view bytes, std::string name, Checksums checksums);

  struct Entry {
    std::string_view name;
    std::uint64_t rows = 0;
    std::uint64_t size = 0;  ///< unpacked
    std::uint64_t checksum = 0;
    bool compressed = false;
    std::string_view stored;
    std::int64_t byte = 0;  ///< where `stored` begins in the file
  };
  const std::vector<Entry>& entries() const { return entries_; }
  const Entry* find(std::string_view name) const;
  /// Checks and unpacks one section.
  Result<std::string> content(const Entry& entry) const;
  /// An Error that names the section and says what to do.
  tl::unexpected<Error> damaged(const Entry& entry, std::string_view what) const;

 private:
  Container(std::string name, Checksums checksums)
      : name_(std::move(name)), checksums_(checksums) {}

  std::string name_;
  Checksums checksums_;
  std::vector<Entry> entries_;
};

}  // namespace weft::trace::packed
