// SPDX-License-Identifier: Apache-2.0
// Plug-ins write the same fact at different places: the GPU's time, for example, is either a key of
// the line or a key of "details". So a key fills the same member at either place.
#include "weft/trace/formats/nccl/profiler_record.h"

#include <charconv>

#include "weft/trace/formats/nccl/lines.h"

namespace weft::trace::nccl {
namespace {

/// Addresses are hexadecimal texts, with or without "0x".
std::uint64_t parse_address(std::string_view text) {
  if (text.starts_with("0x")) text.remove_prefix(2);
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return value;
}

std::uint64_t read_address(JsonScanner& json) { return parse_address(json.string()); }

void read_details(JsonScanner& json, ProfilerRecord& record) {
  read_members(json, [&](std::string_view key) {
    if (key == "func") {
      record.function = json.string();
    } else if (key == "dtype") {
      record.dtype = json.string();
    } else if (key == "count") {
      record.count = read_count(json);
    } else if (key == "seq") {
      record.sequence = read_count(json);
    } else if (key == "peer") {
      record.peer = read_count(json);
    } else if (key == "nranks") {
      record.ranks = read_count(json);
    } else if (key == "pTimer") {
      record.gpu_clock = read_count(json);
    } else if (key == "stream") {
      record.stream = read_address(json);
    } else {
      json.skip();
    }
  });
}

}  // namespace

void read_record(JsonScanner& json, ProfilerRecord& record) {
  // "start" and "stop" are objects with a time, a process and a thread.
  const auto read_end = [&](Nanos& time) {
    read_members(json, [&](std::string_view key) {
      if (key == "ts") {
        time = read_micros(json);
      } else if (key == "pid") {
        record.process = read_count(json);
      } else if (key == "tid") {
        const std::int64_t thread = read_count(json);
        if (record.thread < 0) record.thread = thread;  // keep the thread of the start
      } else {
        json.skip();
      }
    });
  };
  std::string_view key;
  while (json.next_key(key)) {
    if (key == "recordType") {
      record.kind = json.string();
    } else if (key == "type") {
      record.type = json.string();
    } else if (key == "name") {
      record.name = json.string();
    } else if (key == "gpuUuid") {
      record.gpu = json.string();
    } else if (key == "hostname") {
      record.host = json.string();
    } else if (key == "commId") {
      record.communicator = json.number_or_string();
    } else if (key == "rank") {
      record.rank = read_count(json);
    } else if (key == "start") {
      read_end(record.span.start);
    } else if (key == "stop") {
      read_end(record.span.end);
    } else if (key == "pid") {
      record.process = read_count(json);
    } else if (key == "extCorrId") {
      record.link = read_count(json);
    } else if (key == "pTimer") {
      record.gpu_clock = read_count(json);
    } else if (key == "eventAddr") {
      record.address = read_address(json);
    } else if (key == "parentObj") {
      record.parent = read_address(json);
    } else if (key == "stream") {
      record.stream = read_address(json);
    } else if (key == "details") {
      read_details(json, record);
    } else {
      json.skip();
    }
  }
}

}  // namespace weft::trace::nccl
