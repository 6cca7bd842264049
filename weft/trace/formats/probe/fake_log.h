// SPDX-License-Identifier: Apache-2.0
// For tests: builds logs in the format of the probes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/trace/formats/probe/log_file.h"

namespace weft::trace::probe {

/// Example: FakeLog({.kind = LogKind::kWire, .process = 7, .rank = 0}).chunk().record(...).bytes()
class FakeLog {
 public:
  static constexpr std::size_t kHeaderBytes = 4096;
  static constexpr std::size_t kChunkBytes = 16384;

  explicit FakeLog(LogHeader from, std::uint32_t state = 1, std::uint64_t lost = 0) {
    bytes_.assign(kHeaderBytes, '\0');
    poke(0, std::string_view("weftlog\0", 8));
    poke_number<std::uint32_t>(8, 1);
    poke_number<std::uint32_t>(12, kHeaderBytes);
    poke_number<std::uint32_t>(16, kChunkBytes);
    poke_number<std::uint32_t>(20, static_cast<std::uint32_t>(from.kind));
    poke_number<std::int64_t>(24, from.process);
    poke_number<std::int32_t>(32, from.rank);
    poke_number<std::int32_t>(36, from.world);
    poke_number<std::uint32_t>(72, state);
    poke_number<std::uint64_t>(80, lost);
    poke(88, from.role);
    poke(120, from.host);
  }

  /// Begins a chunk: the records that follow are written by this thread.
  FakeLog& chunk(std::int64_t thread = 1) {
    chunk_ = bytes_.size();
    bytes_.resize(chunk_ + kChunkBytes, '\0');
    poke(chunk_, "WCNK");
    time_ = 0;
    used_ = 0;
    std::string fields;
    number(fields, static_cast<std::uint64_t>(thread));
    return record(RecordType::kThread, 0, fields);
  }

  FakeLog& record(RecordType type, Nanos time, std::string_view fields) {
    std::string body(1, static_cast<char>(type));
    signed_number(body, time - time_);
    body += fields;
    std::string framed;
    number(framed, body.size());
    poke(chunk_ + 16 + used_, framed + body);
    used_ += framed.size() + body.size();
    poke_number<std::uint32_t>(chunk_ + 4, static_cast<std::uint32_t>(used_));
    time_ = time;
    return *this;
  }

  /// Adds the connection from 10.0.0.LOCAL:LOCAL to 10.0.0.PEER:PEER.
  FakeLog& connection(std::uint64_t id, std::uint8_t local, std::uint8_t peer, bool whole = true) {
    std::string fields;
    for (const std::uint64_t n : {id, std::uint64_t{4}, std::uint64_t{whole ? 0u : 1u}}) {
      number(fields, n);
    }
    for (const std::uint8_t end : {local, peer}) {
      fields += {10, 0, 0, static_cast<char>(end)};
      number(fields, end);
    }
    return record(RecordType::kConnection, time_, fields);
  }

  FakeLog& transfer(bool outgoing, std::uint64_t id, Nanos start, Nanos duration,
                    std::int64_t offset, Bytes size) {
    std::string fields;
    number(fields, static_cast<std::uint64_t>(duration));
    number(fields, id);
    number(fields, static_cast<std::uint64_t>(offset));
    number(fields, static_cast<std::uint64_t>(size));
    return record(outgoing ? RecordType::kSend : RecordType::kReceive, start, fields);
  }

  const std::string& bytes() const { return bytes_; }
  std::string& bytes() { return bytes_; }

  static void number(std::string& to, std::uint64_t value) {
    while (value >= 0x80) {
      to.push_back(static_cast<char>(value | 0x80));
      value >>= 7;
    }
    to.push_back(static_cast<char>(value));
  }
  static void signed_number(std::string& to, std::int64_t value) {
    number(to, (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63));
  }
  static void text(std::string& to, std::string_view value) {
    number(to, value.size());
    to += value;
  }

 private:
  void poke(std::size_t at, std::string_view value) { bytes_.replace(at, value.size(), value); }
  template <class T>
  void poke_number(std::size_t at, T value) {
    poke(at, {reinterpret_cast<const char*>(&value), sizeof value});
  }

  std::string bytes_;
  std::size_t chunk_ = 0;
  std::size_t used_ = 0;
  Nanos time_ = 0;
};

}  // namespace weft::trace::probe
