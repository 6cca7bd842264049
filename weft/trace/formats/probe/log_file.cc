// SPDX-License-Identifier: Apache-2.0
// Reads one chunk at a time. A chunk is self-contained: it has its own base time, and its first
// record names the thread that writes. So a damaged chunk does not affect the others, and a log of
// a killed process is readable up to its last record.
#include "weft/trace/formats/probe/log_file.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace weft::trace::probe {
namespace {

constexpr DiagnosticKind kFull{"log-disk-full", Severity::kDataLoss,
                               "the disk was full and a probe stopped recording; the job went on",
                               "free space on that disk, or record fewer steps"};
constexpr DiagnosticKind kLimit{
    "log-limit", Severity::kDataLoss,
    "a log reached its size limit and its probe stopped recording; the job went on",
    "record fewer steps, or set WEFT_RECORD_LIMIT to more bytes"};
constexpr DiagnosticKind kLost{"log-lost", Severity::kDataLoss,
                               "records that a probe could not write are missing",
                               "record fewer steps, or free space on the disk of the recording"};
constexpr DiagnosticKind kKilled{
    "log-not-closed", Severity::kInfo,
    "the process that wrote the log was killed; everything that it recorded until then was used",
    "nothing needs to be done"};
constexpr DiagnosticKind kDamaged{"log-damaged", Severity::kDataLoss,
                                  "parts of a log cannot be read and were left out",
                                  "copy the file again, or record again"};
constexpr DiagnosticKind kCut{"cut-file", Severity::kDataLoss,
                              "the file ends too early; the records before the end were used",
                              "copy the file again, or record again"};

constexpr std::string_view kMagic{"weftlog\0", 8};
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kHeaderUsed = 384;  ///< bytes of the header that have a meaning
constexpr std::uint32_t kChunkMagic = 0x4b4e4357;
constexpr std::size_t kChunkHead = 16;
constexpr std::uint32_t kLargestChunk = 1u << 24;
constexpr std::int64_t kMost = std::int64_t{1} << 62;

enum class LogState : std::uint32_t { kRecording = 0, kClosed = 1, kNoSpace = 2, kAtLimit = 3 };

/// Reads a little-endian number. Uses memcpy because the offset need not be aligned.
template <class T>
T at(std::string_view bytes, std::size_t offset) {
  T value{};
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

std::string text_at(std::string_view bytes, std::size_t offset, std::size_t size) {
  const std::string_view field = bytes.substr(offset, size);
  return std::string(field.substr(0, field.find('\0')));
}

struct Layout {
  std::uint32_t header_bytes = 0;
  std::uint32_t chunk_bytes = 0;
};

Result<LogHeader> parse_header(std::string_view bytes, const std::string& file, Layout& layout,
                               Diagnostics& diagnostics) {
  if (bytes.size() < kHeaderUsed || !is_log(bytes)) {
    return fail(ErrorCode::kBadInput, "the log of a probe ends inside its header; record again",
                file, static_cast<std::int64_t>(bytes.size()));
  }
  const auto version = at<std::uint32_t>(bytes, 8);
  if (version != kVersion) {
    return fail(ErrorCode::kBadInput,
                "the log has version " + std::to_string(version) +
                    ", this Weft reads version 1; use the Weft that recorded it, or a newer one",
                file, 8);
  }
  layout.header_bytes = at<std::uint32_t>(bytes, 12);
  layout.chunk_bytes = at<std::uint32_t>(bytes, 16);
  const auto kind = at<std::uint32_t>(bytes, 20);
  if (layout.header_bytes < kHeaderUsed || layout.header_bytes > kLargestChunk ||
      layout.chunk_bytes <= kChunkHead || layout.chunk_bytes > kLargestChunk || kind < 1 ||
      kind > 3) {
    return fail(ErrorCode::kBadInput, "the header of the log is damaged; copy the file again", file,
                12);
  }
  // docs/formats/log.md lists these offsets.
  LogHeader header;
  header.kind = static_cast<LogKind>(kind);
  header.process = at<std::int64_t>(bytes, 24);
  header.rank = std::max(-1, at<std::int32_t>(bytes, 32));
  header.world = std::max(-1, at<std::int32_t>(bytes, 36));
  header.role = text_at(bytes, 88, 32);
  header.host = text_at(bytes, 120, 256);
  switch (static_cast<LogState>(at<std::uint32_t>(bytes, 72))) {
    case LogState::kRecording:
      diagnostics.add(kKilled, file);
      break;
    case LogState::kNoSpace:
      diagnostics.add(kFull, file);
      break;
    case LogState::kAtLimit:
      diagnostics.add(kLimit, file);
      break;
    case LogState::kClosed:
      break;
  }
  const auto lost = at<std::uint64_t>(bytes, 80);
  if (lost > 0) {
    diagnostics.add(kLost, file, static_cast<std::int64_t>(std::min<std::uint64_t>(lost, kMost)));
  }
  return header;
}

/// Reads the records of one chunk. Returns how many records could not be used. If the length of a
/// record is wrong, the rest of the chunk cannot be read and counts as one record.
std::int64_t read_records(std::string_view records, Nanos base,
                          const std::function<bool(LogRecord&)>& use) {
  std::int64_t useless = 0;
  LogRecord record;
  // Times are differences from the record before. The sum is unsigned because a damaged file may
  // make it overflow, which is defined for unsigned numbers only.
  auto time = static_cast<std::uint64_t>(base);
  while (!records.empty()) {
    Fields frame(records);
    const std::uint64_t size = frame.number();
    const std::string_view body = frame.bytes(size);
    if (!frame.ok() || body.empty()) return useless + 1;
    records = records.substr(static_cast<std::size_t>(body.data() - records.data()) + body.size());
    record.type = static_cast<RecordType>(body[0]);
    record.fields = Fields(body.substr(1));
    time += static_cast<std::uint64_t>(record.fields.signed_number());
    record.time = static_cast<Nanos>(time);
    // A record with an impossible time is dropped. But its time stays in the sum, because the time
    // of the next record counts from it.
    if (!record.fields.ok() || record.time < 0 || record.time > kMost) {
      ++useless;
      continue;
    }
    if (record.type == RecordType::kThread) {
      record.thread = record.fields.amount();
    } else if (!use(record)) {
      ++useless;
    }
  }
  return useless;
}

}  // namespace

std::uint64_t Fields::number() {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < rest_.size() && i < 10; ++i) {
    const auto byte = static_cast<unsigned char>(rest_[i]);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      rest_.remove_prefix(i + 1);
      return value;
    }
  }
  ok_ = false;
  rest_ = {};
  return 0;
}

std::int64_t Fields::signed_number() {
  const std::uint64_t zigzag = number();
  return static_cast<std::int64_t>((zigzag >> 1) ^ (~(zigzag & 1) + 1));
}

std::int64_t Fields::amount() {
  const std::uint64_t value = number();
  if (value <= static_cast<std::uint64_t>(kMost)) return static_cast<std::int64_t>(value);
  ok_ = false;
  rest_ = {};
  return 0;
}

std::string_view Fields::bytes(std::size_t size) {
  if (size > rest_.size()) {
    ok_ = false;
    rest_ = {};
    return {};
  }
  const std::string_view taken = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return taken;
}

std::string_view Fields::text() { return bytes(number()); }

bool is_log(std::string_view head) { return head.starts_with(kMagic); }

Result<LogHeader> read_log(ByteSource& source, const ReadOptions& options, Diagnostics& diagnostics,
                           const std::function<void(const LogHeader&)>& begin,
                           const std::function<bool(LogRecord&)>& use) {
  WEFT_ASSIGN(const std::string head, read_up_to(source, kHeaderUsed));
  Layout layout;
  WEFT_ASSIGN(LogHeader header, parse_header(head, source.name(), layout, diagnostics));
  // The rest of the header has no meaning yet.
  begin(header);
  WEFT_ASSIGN(std::string skipped, read_up_to(source, layout.header_bytes - kHeaderUsed));
  std::int64_t useless = 0;
  std::int64_t done = layout.header_bytes;
  bool cut = skipped.size() + kHeaderUsed < layout.header_bytes;
  while (!cut) {
    WEFT_ASSIGN(const std::string chunk, read_up_to(source, layout.chunk_bytes));
    if (chunk.empty()) break;
    cut = chunk.size() < layout.chunk_bytes;
    done += static_cast<std::int64_t>(chunk.size());
    // Magic 0: the probe reserved the chunk, but no thread used it.
    const bool whole_head = chunk.size() >= kChunkHead;
    if (whole_head && at<std::uint32_t>(chunk, 0) == 0) continue;
    if (!whole_head || at<std::uint32_t>(chunk, 0) != kChunkMagic) {
      ++useless;
      continue;
    }
    const std::string_view records = std::string_view(chunk).substr(kChunkHead);
    // A cut file may end inside the last chunk; the complete records before the end are used.
    const std::size_t used = std::min<std::size_t>(at<std::uint32_t>(chunk, 4), records.size());
    useless += read_records(records.substr(0, used), at<std::int64_t>(chunk, 8), use);
    if (options.progress && !options.progress(done)) {
      return fail(ErrorCode::kCancelled, "interrupted", source.name());
    }
  }
  if (cut) diagnostics.add(kCut, source.name() + ": byte " + std::to_string(done));
  diagnostics.add(kDamaged, source.name(), useless);
  return header;
}

}  // namespace weft::trace::probe
