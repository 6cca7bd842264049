// SPDX-License-Identifier: Apache-2.0
// Protobuf files in windows. The outer messages of a recording may be gigabytes long, so they are
// walked field by field as the bytes come; only the small messages inside are held whole, and those
// are decoded with protozero where they are understood.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/file.h"
#include "weft/base/result.h"

namespace weft::trace {

class ProtoStream {
 public:
  /// Longer messages cannot be taken; bounds memory for hostile files.
  static constexpr std::uint64_t kLongestMessage = 256u << 20;

  struct Field {
    std::uint32_t number = 0;
    bool is_bytes = false;    ///< a string or message: take(), enter() or skip() it
    std::uint64_t value = 0;  ///< of a number; else the length in bytes
  };

  explicit ProtoStream(ByteSource& source) : source_(source), ends_{kNoEnd} {}

  /// The next field of the message at hand. False at its end, which leaves it; then, or when ok()
  /// is false, the caller goes on with the message around it.
  bool next(Field& field);
  /// For files that are messages one after the other, each behind its length. False at the end.
  bool next_length(std::uint64_t& length);
  /// The next `length` bytes are a message whose fields next() gives.
  void enter(std::uint64_t length);
  /// The next `length` bytes; valid until the next call. Empty if the file ends before, or if they
  /// are longer than kLongestMessage, in which case they are passed over.
  std::string_view take(std::uint64_t length);
  void skip(std::uint64_t length);

  /// False once the file ended inside a message, is no protobuf, or could not be read.
  bool ok() const { return !cut_ && !broken_ && status_.has_value(); }
  bool cut() const { return cut_; }
  bool broken() const { return broken_; }
  /// Why reading failed, if the disk did.
  const Status& status() const { return status_; }
  /// Where in the uncompressed file; where it is damaged, the start of the damaged field.
  std::int64_t offset() const { return offset_; }

 private:
  static constexpr std::int64_t kNoEnd = INT64_MAX;

  bool fill(std::size_t wanted);
  bool read_varint(std::uint64_t& value);
  bool fits(std::uint64_t length);
  void advance(std::size_t bytes);

  ByteSource& source_;
  std::string buffer_;
  std::size_t at_ = 0;
  std::int64_t offset_ = 0;
  std::vector<std::int64_t> ends_;  ///< of the messages around, outermost first
  bool ended_ = false;
  bool cut_ = false;
  bool broken_ = false;
  Status status_;
};

}  // namespace weft::trace
