// SPDX-License-Identifier: Apache-2.0
// Reads protobuf files in windows. The outer messages of a recording may be gigabytes long, so the
// stream walks them field by field while it reads. Only the small inner messages are held in memory
// as a whole; the reader of the format decodes them with protozero.
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
  /// take() refuses longer messages. This bounds the memory that a hostile file can demand.
  static constexpr std::uint64_t kLongestMessage = 256u << 20;

  struct Field {
    std::uint32_t number = 0;
    bool is_bytes = false;  ///< a string or message: take(), enter() or skip() it
    std::uint64_t value =
        0;  ///< the value of a number; for a string or message its length in bytes
  };

  explicit ProtoStream(ByteSource& source) : source_(source), ends_{kNoEnd} {}

  /// Reads the next field of the current message. At the end of the message it returns false, and
  /// the enclosing message becomes the current one. It also returns false if ok() is false.
  bool next(Field& field);
  /// For files that consist of length-delimited messages: reads the length of the next message.
  /// Returns false at the end of the file.
  bool next_length(std::uint64_t& length);
  /// Makes the next `length` bytes the current message: next() then reads its fields.
  void enter(std::uint64_t length);
  /// Returns the next `length` bytes; the view is valid until the next call. Returns an empty view
  /// if the file has fewer bytes left. Also returns an empty view if `length` exceeds
  /// kLongestMessage; in this case it skips the bytes.
  std::string_view take(std::uint64_t length);
  void skip(std::uint64_t length);

  /// False once the file ended inside a message, turned out not to be protobuf, or could not be
  /// read.
  bool ok() const { return !cut_ && !broken_ && status_.has_value(); }
  bool cut() const { return cut_; }
  bool broken() const { return broken_; }
  /// The error of the source, if reading it failed.
  const Status& status() const { return status_; }
  /// Offset in the uncompressed file. If the file is damaged, the offset of the damaged field.
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
  /// End offsets of the messages that were entered, outermost first. The first entry stands for the
  /// file, whose end is unknown.
  std::vector<std::int64_t> ends_;
  bool ended_ = false;
  bool cut_ = false;
  bool broken_ = false;
  Status status_;
};

}  // namespace weft::trace
