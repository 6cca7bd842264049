// SPDX-License-Identifier: Apache-2.0
// Each top-level key is read by itself and stored in FileFacts. The objects behind
// "distributedInfo" and "deviceProperties" are small, so they are parsed into a document;
// everything else is skipped or read by the scanner.
#include "weft/trace/formats/kineto/file_facts.h"

#include <limits>

#include "weft/base/decimal.h"
#include "weft/base/json/document.h"

namespace weft::trace::kineto {
namespace {

constexpr std::size_t kMostDevices = 4096;  // bounds memory if a file has a damaged device id

std::int32_t small_int(const JsonValue* value, std::int32_t missing) {
  if (value == nullptr) return missing;
  const auto number = parse_int(value->text);  // a number, or a string that holds one
  if (!number || *number < 0 || *number > std::numeric_limits<std::int32_t>::max()) return missing;
  return static_cast<std::int32_t>(*number);
}

std::string text_of(const JsonValue* value) {
  return value == nullptr ? std::string() : value->text;
}

// "ranks" is a list, or a string that contains a list.
ProcessGroup group_of(const JsonValue& config) {
  ProcessGroup group{text_of(config.find("pg_name")), text_of(config.find("pg_desc")), {}};
  const JsonValue* ranks = config.find("ranks");
  if (ranks != nullptr && ranks->is_string()) group.ranks = parse_ranks(ranks->text);
  if (ranks != nullptr) {
    for (const JsonValue& rank : ranks->items) group.ranks.push_back(small_int(&rank, -1));
  }
  return group;
}

// If the rank exceeds the world size, the rank is dropped and the world size stays: the rank can
// often be found in the file name, but the world size cannot.
void drop_implausible(FileFacts& facts) {
  if (facts.world == 0 || facts.world > kLargestWorld) {
    facts.world = -1;
    facts.implausible = true;
  }
  if (facts.rank >= (facts.world > 0 ? facts.world : kLargestWorld)) {
    facts.rank = -1;
    facts.implausible = true;
  }
}

void read_distributed(JsonScanner& scanner, FileFacts& facts) {
  const auto info = read_value(scanner);
  if (!info) return;
  facts.rank = small_int(info->find("rank"), facts.rank);
  facts.world = small_int(info->find("world_size"), facts.world);
  drop_implausible(facts);
  if (const JsonValue* configs = info->find("pg_config")) {
    for (const JsonValue& config : configs->items) facts.groups.push_back(group_of(config));
  }
}

void read_devices(JsonScanner& scanner, FileFacts& facts) {
  const auto list = read_value(scanner);
  if (!list) return;
  for (const JsonValue& device : list->items) {
    const auto id = static_cast<std::size_t>(
        small_int(device.find("id"), static_cast<std::int32_t>(facts.devices.size())));
    if (id >= kMostDevices) continue;
    // Devices are stored by ordinal; a file may skip ordinals.
    if (id >= facts.devices.size()) facts.devices.resize(id + 1);
    facts.devices[id] = text_of(device.find("name"));
  }
}

// Versions of PyTorch write flags as 0 and 1 or as false and true.
bool read_flag(JsonScanner& scanner) {
  if (scanner.peek() == JsonKind::kNumber) return parse_int(scanner.number()).value_or(0) != 0;
  return scanner.raw() == "true";
}

}  // namespace

std::vector<std::int32_t> parse_ranks(std::string_view text) {
  std::vector<std::int32_t> ranks;
  if (text.find("...") != std::string_view::npos) return ranks;
  while (true) {
    const std::size_t start = text.find_first_of("0123456789");
    if (start == std::string_view::npos) return ranks;
    text.remove_prefix(start);
    const std::size_t length = std::min(text.find_first_not_of("0123456789"), text.size());
    const auto rank = parse_int(text.substr(0, length));
    if (!rank || *rank > std::numeric_limits<std::int32_t>::max()) return {};
    ranks.push_back(static_cast<std::int32_t>(*rank));
    text.remove_prefix(length);
  }
}

void read_fact(JsonScanner& scanner, std::string_view key, FileFacts& facts) {
  if (key == "distributedInfo") {
    read_distributed(scanner, facts);
  } else if (key == "deviceProperties") {
    read_devices(scanner, facts);
  } else if (key == "baseTimeNanoseconds") {
    facts.base_time = parse_int(scanner.number_or_string()).value_or(0);
  } else if (key == "traceName") {
    facts.trace_name = scanner.string();
  } else if (key == "host_name") {
    facts.host = scanner.string();
  } else if (key == "record_shapes") {
    facts.shapes = read_flag(scanner);
  } else if (key == "with_stack") {
    facts.stacks = read_flag(scanner);
  } else if (key == "profile_memory") {
    facts.memory = read_flag(scanner);
  } else {
    scanner.skip();
  }
}

}  // namespace weft::trace::kineto
