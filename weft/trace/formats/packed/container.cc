// SPDX-License-Identifier: Apache-2.0
// A packed file may come from an untrusted source, so open() checks every size in the directory
// against the size of the file before anything is allocated. Header and directory have separate
// checksums. A section is verified only when it is used, so that unused sections cost nothing.
#include "weft/trace/formats/packed/container.h"

#include <zstd.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "weft/base/checksum.h"
#include "weft/trace/formats/packed/integers.h"

namespace weft::trace::packed {
namespace {

static_assert(std::endian::native == std::endian::little,
              "numbers of fixed size are copied without swapping bytes");

/// Compression level of zstd. Higher levels gain about 1 %; see docs/formats/packed.md.
constexpr int kLevel = 15;
constexpr std::size_t kHeaderSize = 48;
/// With these limits, a small hostile file cannot claim all memory. zstd compresses zeros almost
/// without limit, so the size of a file alone does not limit its unpacked size. A file may have
/// kMostRows rows, or kMostRowsPerByte rows per byte of the file if that is more. If a recording
/// compresses even better, write_container() adds padding until the file is large enough.
constexpr std::uint64_t kMostRows = 1u << 16;
constexpr std::uint64_t kMostRowsPerByte = 1u << 12;
constexpr std::uint64_t kLongestRow = 16;  ///< bytes per row before compression, except for texts
constexpr const char* kPadding = "padding";
constexpr const char* kCopyAgain = "; copy the file again, or pack the recording again";

/// The header, after the magic. `checksum` covers the magic and the members before `checksum`.
struct Header {
  std::uint32_t version = kVersion;
  std::uint32_t sections = 0;
  std::uint64_t file_size = 0;
  std::uint64_t directory_size = 0;
  std::uint64_t directory_checksum = 0;
  std::uint64_t checksum = 0;
};
static_assert(sizeof(Header) + kMagic.size() == kHeaderSize);

std::uint64_t row_limit(std::uint64_t file_size) {
  return std::max(kMostRows, file_size * kMostRowsPerByte);
}

/// Compresses `content`. Returns an empty string if the content does not get smaller.
std::string compress(std::string_view content) {
  std::string out(ZSTD_compressBound(content.size()), '\0');
  const std::size_t size =
      ZSTD_compress(out.data(), out.size(), content.data(), content.size(), kLevel);
  if (ZSTD_isError(size) || size >= content.size()) return {};
  out.resize(size);
  return out;
}

void append_fixed(std::string& out, std::uint64_t value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// Appends the entry of the directory and the stored bytes. A section that does not get smaller is
/// stored without compression.
void append_section(const Section& section, std::string& directory, std::string& body,
                    bool may_compress = true) {
  const std::string smaller = may_compress ? compress(section.content) : std::string();
  const std::string_view stored = smaller.empty() ? section.content : smaller;
  append_varint(directory, section.name.size());
  directory += section.name;
  append_varint(directory, section.rows);
  append_varint(directory, section.content.size());
  append_varint(directory, smaller.empty() ? 0 : 1);
  append_varint(directory, stored.size());
  append_fixed(directory, checksum(stored));
  body += stored;
}

}  // namespace

std::size_t packed_size(std::string_view content) {
  // Level 3 is much faster than kLevel and ranks the encodings of a column in the same order.
  std::string out(ZSTD_compressBound(content.size()), '\0');
  const std::size_t size = ZSTD_compress(out.data(), out.size(), content.data(), content.size(), 3);
  return ZSTD_isError(size) ? content.size() : std::min(size, content.size());
}

std::string write_container(const std::vector<Section>& sections) {
  std::string directory;
  std::string body;
  std::uint64_t rows = 0;
  for (const Section& section : sections) {
    append_section(section, directory, body);
    rows = std::max({rows, section.rows, section.content.size() / kLongestRow});
  }
  Header header;
  header.sections = static_cast<std::uint32_t>(sections.size());
  // Padding of zeros that are stored without compression makes the file large enough for its rows.
  if (rows > row_limit(body.size())) {
    const std::string zeros(rows / kMostRowsPerByte, '\0');
    append_section({kPadding, 0, zeros}, directory, body, false);
    ++header.sections;
  }
  header.file_size = kHeaderSize + directory.size() + body.size();
  header.directory_size = directory.size();
  header.directory_checksum = checksum(directory);
  std::string out(kMagic);
  out.append(reinterpret_cast<const char*>(&header), sizeof header - sizeof header.checksum);
  append_fixed(out, checksum(out));
  return out + directory + body;
}

Result<Container> Container::open(std::string_view bytes, std::string name, Checksums checksums) {
  const auto refuse = [&](std::string what, std::size_t byte) {
    return fail(ErrorCode::kBadInput, std::move(what), name, static_cast<std::int64_t>(byte));
  };
  if (bytes.size() < kHeaderSize) {
    return refuse(std::string("the packed recording is cut off in its header") + kCopyAgain,
                  bytes.size());
  }
  Header header;
  std::memcpy(&header, bytes.data() + kMagic.size(), sizeof header);
  const bool verify = checksums == Checksums::kVerify;
  const std::string_view summed = bytes.substr(0, kHeaderSize - sizeof header.checksum);
  if (!bytes.starts_with(kMagic) || (verify && checksum(summed) != header.checksum)) {
    return refuse(std::string("the header of the packed recording is damaged") + kCopyAgain, 0);
  }
  if (header.version > kVersion) {
    return refuse("the recording was packed by a newer Weft (format " +
                      std::to_string(header.version) + ", this one reads up to " +
                      std::to_string(kVersion) +
                      "); read it with the newer Weft, or pack the original with this one",
                  kMagic.size());
  }
  // The header is known to be intact here. So the length that it contains shows whether the file is
  // cut.
  if (header.file_size != bytes.size()) {
    const bool cut = header.file_size > bytes.size();
    return refuse("the packed recording is " + std::string(cut ? "cut off" : "too long") + ": " +
                      std::to_string(bytes.size()) + " bytes instead of " +
                      std::to_string(header.file_size) + kCopyAgain,
                  bytes.size());
  }
  const auto bad_directory = [&] {
    return refuse(std::string("the directory of the packed recording is damaged") + kCopyAgain,
                  kHeaderSize);
  };
  if (header.directory_size > bytes.size() - kHeaderSize) return bad_directory();
  std::string_view directory = bytes.substr(kHeaderSize, header.directory_size);
  if (verify && checksum(directory) != header.directory_checksum) return bad_directory();

  Container container(name, checksums);
  std::size_t at = kHeaderSize + directory.size();
  // Sections follow each other in the order of the directory, so `at` is the sum of their sizes.
  while (!directory.empty()) {
    Entry entry;
    std::uint64_t length = 0;
    if (!take_varint(directory, length) || length > directory.size()) return bad_directory();
    entry.name = directory.substr(0, length);
    directory.remove_prefix(length);
    std::uint64_t compressed = 0;
    std::uint64_t stored = 0;
    if (!take_varint(directory, entry.rows) || !take_varint(directory, entry.size) ||
        !take_varint(directory, compressed) || !take_varint(directory, stored) ||
        directory.size() < sizeof entry.checksum || compressed > 1 || stored > bytes.size() - at) {
      return bad_directory();
    }
    std::memcpy(&entry.checksum, directory.data(), sizeof entry.checksum);
    directory.remove_prefix(sizeof entry.checksum);
    entry.compressed = compressed == 1;
    entry.byte = static_cast<std::int64_t>(at);
    entry.stored = bytes.substr(at, stored);
    const std::uint64_t limit = row_limit(bytes.size());
    if (entry.rows > limit || entry.size > limit * kLongestRow ||
        (!entry.compressed && entry.size != stored)) {
      return bad_directory();
    }
    at += stored;
    container.entries_.push_back(entry);
  }
  if (container.entries_.size() != header.sections) return bad_directory();
  return container;
}

const Container::Entry* Container::find(std::string_view name) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& entry) { return entry.name == name; });
  return found == entries_.end() ? nullptr : &*found;
}

tl::unexpected<Error> Container::damaged(const Entry& entry, std::string_view what) const {
  return fail(ErrorCode::kBadInput,
              "section \"" + std::string(entry.name) + "\" of the packed recording is damaged (" +
                  std::string(what) + ")" + kCopyAgain,
              name_, entry.byte);
}

Result<std::string> Container::content(const Entry& entry) const {
  if (checksums_ == Checksums::kVerify && checksum(entry.stored) != entry.checksum) {
    return damaged(entry, "its checksum does not match");
  }
  if (!entry.compressed) return std::string(entry.stored);
  // open() has checked entry.size against the size of the file, so this allocation is bounded.
  std::string out(entry.size, '\0');
  const std::size_t size =
      ZSTD_decompress(out.data(), out.size(), entry.stored.data(), entry.stored.size());
  if (ZSTD_isError(size) || size != out.size()) return damaged(entry, "it cannot be unpacked");
  return out;
}

}  // namespace weft::trace::packed
