// SPDX-License-Identifier: Apache-2.0
// The stream keeps a buffer of bytes that were read and not yet consumed, and a stack of the end
// offsets of all entered messages. The file is not trusted: fits() checks that a length fits into
// the enclosing message, and fill() lets the buffer grow only by bytes that the file really has.
#include "weft/trace/formats/proto_stream.h"

#include <algorithm>
#include <cstring>

namespace weft::trace {
namespace {

constexpr std::size_t kWindow = 256u << 10;

}  // namespace

// Buffers at least `wanted` unread bytes; false if the file has fewer. The buffer grows by one
// window per successful read, so a file that claims a huge length costs no memory.
bool ProtoStream::fill(std::size_t wanted) {
  while (buffer_.size() - at_ < wanted && !ended_) {
    if (at_ > 0) {
      buffer_.erase(0, at_);
      at_ = 0;
    }
    const std::size_t had = buffer_.size();
    buffer_.resize(had + kWindow);
    const auto got = source_.read(buffer_.data() + had, kWindow);
    if (!got) status_ = tl::unexpected(got.error());
    const std::size_t count = got ? *got : 0;
    buffer_.resize(had + count);
    ended_ = count == 0;
  }
  return buffer_.size() - at_ >= wanted;
}

void ProtoStream::advance(std::size_t bytes) {
  at_ += bytes;
  offset_ += static_cast<std::int64_t>(bytes);
}

bool ProtoStream::read_varint(std::uint64_t& value) {
  value = 0;
  // A varint holds 7 bits per byte, so 64 bits need at most 10 bytes.
  for (std::size_t i = 0; i < 10; ++i) {
    if (!fill(i + 1)) {
      cut_ = true;
      return false;
    }
    const auto byte = static_cast<unsigned char>(buffer_[at_ + i]);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      advance(i + 1);
      return true;
    }
  }
  broken_ = true;
  return false;
}

bool ProtoStream::fits(std::uint64_t length) {
  const auto room = static_cast<std::uint64_t>(ends_.back() - offset_);
  if (length <= room) return true;
  broken_ = true;
  return false;
}

bool ProtoStream::next(Field& field) {
  if (!ok()) return false;
  if (offset_ >= ends_.back()) {
    broken_ = offset_ > ends_.back();
    ends_.pop_back();
    return false;
  }
  // The end of the file between two fields of the outermost message is a regular end, unless the
  // gzip stream around the file was cut.
  if (ends_.size() == 1 && !fill(1)) {
    cut_ = source_.truncated();
    return false;
  }
  const std::int64_t start = offset_;
  std::uint64_t key = 0;
  if (!read_varint(key)) return false;
  field.number = static_cast<std::uint32_t>(key >> 3);
  field.is_bytes = (key & 7) == 2;
  // Protobuf numbers fields from 1 to 2^29 - 1; anything else means that this is not protobuf.
  bool good = key >> 3 > 0 && key >> 3 < (1u << 29);
  switch (key & 7) {  // the wire type
    case 0:           // varint
      good = good && read_varint(field.value);
      break;
    case 2:  // length-delimited
      good = good && read_varint(field.value) && fits(field.value);
      break;
    case 1:    // 64 bits, little endian
    case 5: {  // 32 bits, little endian
      const std::size_t width = (key & 7) == 1 ? 8 : 4;
      const std::string_view bytes = good ? take(width) : std::string_view();
      field.value = 0;
      for (std::size_t i = bytes.size(); i > 0; --i) {
        field.value = field.value << 8 | static_cast<unsigned char>(bytes[i - 1]);
      }
      good = bytes.size() == width;
      break;
    }
    default:
      good = false;
  }
  if (good) return true;
  // Damage is noticed somewhere inside a field. Report the start of the field, because a user can
  // find it in the file.
  if (!cut_) {
    broken_ = true;
    offset_ = start;
  }
  return false;
}

bool ProtoStream::next_length(std::uint64_t& length) {
  if (!ok()) return false;
  if (!fill(1)) {
    cut_ = source_.truncated();
    return false;
  }
  return read_varint(length);
}

void ProtoStream::enter(std::uint64_t length) {
  if (fits(length)) ends_.push_back(offset_ + static_cast<std::int64_t>(length));
}

std::string_view ProtoStream::take(std::uint64_t length) {
  if (!ok() || !fits(length)) return {};
  if (length > kLongestMessage) {
    skip(length);
    return {};
  }
  const auto size = static_cast<std::size_t>(length);
  if (!fill(size)) {
    cut_ = true;
    return {};
  }
  const std::string_view bytes(buffer_.data() + at_, size);
  advance(size);
  return bytes;
}

void ProtoStream::skip(std::uint64_t length) {
  if (!ok() || !fits(length)) return;
  while (length > 0) {
    if (!fill(1)) {
      cut_ = true;
      return;
    }
    const auto step = static_cast<std::size_t>(
        std::min<std::uint64_t>(length, static_cast<std::uint64_t>(buffer_.size() - at_)));
    advance(step);
    length -= step;
  }
}

}  // namespace weft::trace
