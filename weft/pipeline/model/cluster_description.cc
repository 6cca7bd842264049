// SPDX-License-Identifier: Apache-2.0
// Reads descriptions of clusters such as "8x H100 nvlink, 4 hosts, 400Gb". The text is split at
// commas. Each part is recognized by its form: a rate, a latency, a memory size, a number of hosts,
// or a number of devices with their kind. The parts fill a Draft, and a table of device kinds adds
// what the text does not say. The NIC of a host becomes a shared link.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "weft/base/decimal.h"
#include "weft/base/size.h"
#include "weft/pipeline/model/cluster.h"

namespace weft::pipeline {
namespace {

/// A kind of device: its links to other devices of the host, in bytes per second and direction, and
/// its memory. The values are nominal and count in decimal gigabytes.
struct DeviceKind {
  std::string_view name;
  std::int64_t nvlink;  ///< 0: has no NVLink
  std::int64_t pcie;
  Bytes memory;
};

constexpr std::int64_t kGiga = 1'000'000'000;
constexpr DeviceKind kDeviceKinds[] = {{"gb200", 900 * kGiga, 50 * kGiga, 186 * kGiga},
                                       {"b200", 900 * kGiga, 50 * kGiga, 180 * kGiga},
                                       {"h200", 450 * kGiga, 50 * kGiga, 141 * kGiga},
                                       {"h100", 450 * kGiga, 50 * kGiga, 80 * kGiga},
                                       {"h800", 200 * kGiga, 50 * kGiga, 80 * kGiga},
                                       {"a100", 300 * kGiga, 25 * kGiga, 80 * kGiga},
                                       {"a800", 200 * kGiga, 25 * kGiga, 80 * kGiga},
                                       {"v100", 150 * kGiga, 12 * kGiga, 32 * kGiga},
                                       {"p100", 80 * kGiga, 12 * kGiga, 16 * kGiga},
                                       {"l40s", 0, 25 * kGiga, 48 * kGiga},
                                       {"l4", 0, 25 * kGiga, 24 * kGiga},
                                       {"a10", 0, 25 * kGiga, 24 * kGiga},
                                       {"t4", 0, 12 * kGiga, 16 * kGiga},
                                       {"rtx3090", 0, 25 * kGiga, 24 * kGiga},
                                       {"rtx4090", 0, 25 * kGiga, 24 * kGiga}};

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    std::string_view part = text.substr(0, end);
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    if (!part.empty()) parts.push_back(part);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

/// What the description has said so far; 0 stands for "not said".
struct Draft {
  std::int64_t per_host = 0, hosts = 1, inside = 0, between = 0;
  const DeviceKind* kind = nullptr;
  bool pcie = false, nvlink = false;
  Bytes memory = 0;
  Nanos latency = 0;
};

/// Reads the number in "8x H100", "8 devices" or "4 hosts".
std::optional<std::int64_t> count_of(std::string_view word) {
  if (word.ends_with('x')) word.remove_suffix(1);
  const auto count = parse_int(word);
  return count && *count > 0 && *count <= Cluster::kMostDevices ? count : std::nullopt;
}

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return out;
}

std::string known_kinds() {
  std::string names;
  for (const DeviceKind& kind : kDeviceKinds)
    names += (names.empty() ? "" : ", ") + upper(kind.name);
  return names;
}

/// Reads a word that follows the number of devices: "H100", "nvlink", "devices".
Status take_device_word(Draft& draft, std::string_view text) {
  const std::string word = lower(text);
  const auto kind = std::find_if(std::begin(kDeviceKinds), std::end(kDeviceKinds),
                                 [&](const DeviceKind& known) { return known.name == word; });
  if (kind != std::end(kDeviceKinds))
    draft.kind = kind;
  else if (word == "pcie")
    draft.pcie = true;
  else if (word == "nvlink" || word == "nvswitch")
    draft.nvlink = true;
  else if (parse_link_rate(word))
    return usage_error(fmt::format("a comma is missing before '{}'", text));
  else if (!word.starts_with("device") && !word.starts_with("gpu"))
    return usage_error(
        fmt::format("Weft does not know the device '{}' (it knows {}); describe other devices by "
                    "their links, for example '8 devices, 50GB/s'",
                    text, known_kinds()));
  return {};
}

std::string without_blanks(std::string_view text) {
  std::string squeezed;
  for (const char c : text) {
    if (c != ' ') squeezed += c;
  }
  return squeezed;
}

/// The power of ten that turns the number of "5us", "800ns" or "0.1ms" into nanoseconds; nullopt if
/// the text has no such unit.
std::optional<int> latency_digits(std::string_view part) {
  constexpr std::pair<std::string_view, int> kUnits[] = {{"ns", 0}, {"us", 3}, {"ms", 6}};
  for (const auto& [unit, digits] : kUnits) {
    if (part.ends_with(unit)) return digits;
  }
  return std::nullopt;
}

Status take_latency(Draft& draft, std::string_view part, int digits) {
  const auto latency = parse_scaled(part.substr(0, part.size() - 2), digits);
  if (!latency || *latency < 0) {
    return usage_error(fmt::format("'{}' is not a latency; write 5us or 0.5us", part));
  }
  draft.latency = *latency;
  return {};
}

/// Reads a memory size such as "80GB".
Status take_memory(Draft& draft, std::string_view part) {
  const auto memory = parse_bytes(part);
  if (!memory || *memory < 1) {
    return usage_error(fmt::format("'{}' is not a memory size; write 80GB, 512MB or 1.5GiB", part));
  }
  draft.memory = *memory;
  return {};
}

/// Splits a part into words. "8x H100", "8xH100" and "8 x H100" all give two words.
std::vector<std::string_view> words_of(std::string_view part) {
  std::vector<std::string_view> words = split(part, ' ');
  if (words.size() > 2 && words[1] == "x") words.erase(words.begin() + 1);
  if (words.empty()) return words;
  const std::size_t digits = words.front().find_first_not_of("0123456789");
  const bool times = digits != std::string_view::npos && digits > 0 &&
                     words.front()[digits] == 'x' && digits + 1 < words.front().size();
  if (!times) return words;
  words.insert(words.begin() + 1, words.front().substr(digits + 1));
  words.front() = words.front().substr(0, digits);
  return words;
}

Status take_part(Draft& draft, std::string_view part) {
  const std::vector<std::string_view> words = words_of(part);
  // If the text already has the devices and their kind or the rate inside a host, the next rate is
  // the rate of the NICs between hosts.
  if (const auto rate = parse_link_rate(part)) {
    (draft.per_host > 0 && (draft.kind || draft.inside > 0) ? draft.between : draft.inside) = *rate;
    return {};
  }
  const std::string amount = without_blanks(part);
  if (const auto digits = latency_digits(lower(amount))) {
    return take_latency(draft, amount, *digits);
  }
  if (amount.ends_with('B')) return take_memory(draft, amount);
  if (words.size() < 2) {
    return usage_error(fmt::format("'{}' is not a part of a cluster description", part));
  }
  const auto count = count_of(words.front());
  if (!count) {
    return usage_error(
        fmt::format("'{}' is not a number from 1 to {}", words.front(), Cluster::kMostDevices));
  }
  const std::string second = lower(words[1]);
  if (second.starts_with("host") || second.starts_with("node")) {
    if (words.size() > 2) return usage_error(fmt::format("'{}' is not a number of hosts", part));
    draft.hosts = *count;
    return {};
  }
  draft.per_host = *count;
  for (std::size_t i = 1; i < words.size(); ++i) WEFT_TRY(take_device_word(draft, words[i]));
  return {};
}

/// Fills in the links inside a host, unless a rate was given: NVLink if the device kind has it and
/// the text does not ask for PCIe, else PCIe. Also checks that hosts and NIC rates come together.
Status join_devices(Draft& draft) {
  if (draft.kind && draft.nvlink && draft.kind->nvlink == 0) {
    return usage_error(fmt::format("{} has no NVLink; write '{}x {}', which uses PCIe",
                                   upper(draft.kind->name), draft.per_host,
                                   upper(draft.kind->name)));
  }
  if (draft.kind && draft.inside == 0) {
    draft.inside = draft.pcie || draft.kind->nvlink == 0 ? draft.kind->pcie : draft.kind->nvlink;
  }
  // Devices of unknown kind with a single rate, for example "1 device, 4 hosts, 10Gb": the rate was
  // stored as the rate inside a host, but it means the NICs.
  if (draft.hosts > 1 && draft.between == 0 && !draft.kind) std::swap(draft.between, draft.inside);
  if (draft.hosts > 1 && draft.between == 0) {
    return usage_error(fmt::format(
        "no rate is given between the {} hosts; add the rate of their NICs, such as 400Gb",
        draft.hosts));
  }
  if (draft.hosts == 1 && draft.between > 0) {
    return usage_error(
        "there is a NIC rate but only one host; add the number of hosts, such as 4 hosts (write a "
        "memory size with a capital B, as in 80GB)");
  }
  if (draft.inside == 0 && draft.per_host > 1) {
    return usage_error("no rate is given between the devices of a host; add one, such as 12.5GB/s");
  }
  return {};
}

Result<Draft> read_words(std::string_view text) {
  Draft draft;
  for (const std::string_view part : split(text, ',')) WEFT_TRY(take_part(draft, part));
  if (draft.per_host == 0) return usage_error("the number of devices is missing");
  if (draft.per_host * draft.hosts > Cluster::kMostDevices) {
    return usage_error(fmt::format("a cluster has at most {} devices", Cluster::kMostDevices));
  }
  WEFT_TRY(join_devices(draft));
  return draft;
}

std::vector<std::int32_t> numbers(std::int64_t first, std::int64_t last) {
  std::vector<std::int32_t> list;
  for (std::int64_t i = first; i < last; ++i) list.push_back(static_cast<std::int32_t>(i));
  return list;
}

}  // namespace

std::optional<std::int64_t> parse_link_rate(std::string_view text) {
  const std::string squeezed = without_blanks(text);
  std::string_view number = squeezed;
  const bool a_second = number.ends_with("/s") || number.ends_with("ps");
  if (a_second) number.remove_suffix(2);
  bool bits = false;
  if (number.ends_with("bit") || number.ends_with("bits")) {
    bits = true;
    number.remove_suffix(number.ends_with('s') ? 4 : 3);
  } else if (number.ends_with('b')) {
    bits = true;
    number.remove_suffix(1);
  } else if (number.ends_with('B')) {
    if (!a_second) return std::nullopt;  // "80GB" is a memory size, not a rate
    number.remove_suffix(1);
  } else if (a_second) {
    return std::nullopt;
  }
  const bool plain = number.size() == squeezed.size();
  int digits = 0;
  if (!plain && !number.empty()) {
    const std::size_t place = std::string_view("KMGT").find(
        static_cast<char>(std::toupper(static_cast<unsigned char>(number.back()))));
    if (place != std::string_view::npos) {
      digits = 3 * (static_cast<int>(place) + 1);
      number.remove_suffix(1);
    }
  }
  // Without a unit, only a number with an exponent or a decimal point is a rate: "8" counts
  // devices.
  if (plain && number.find_first_of("eE.") == std::string_view::npos) return std::nullopt;
  const auto rate = parse_scaled(number, digits);
  if (!rate || *rate < (bits ? 8 : 1)) return std::nullopt;
  return bits ? *rate / 8 : *rate;
}

Result<Cluster> describe_cluster(std::string_view text) {
  const Result<Draft> words = read_words(text);
  if (!words) {
    // Descriptions start with a number, so other text was probably meant as a file name.
    const bool numbered = !text.empty() && std::isdigit(static_cast<unsigned char>(text.front()));
    return usage_error(
        fmt::format("'{}' does not describe a cluster{}: {}; write for example "
                    "'8x H100 nvlink, 4 hosts, 400Gb' or '4 devices, 12.5GB/s'",
                    text, numbered ? "" : ", and there is no such file", words.error().message));
  }
  const Draft& draft = *words;
  const std::int64_t count = draft.per_host * draft.hosts;
  Cluster cluster = uniform_cluster(static_cast<std::int32_t>(count), draft.inside, draft.latency);
  cluster.name = text;
  const Bytes memory = draft.memory > 0 ? draft.memory : draft.kind ? draft.kind->memory : 0;
  cluster.memory.assign(count, memory);
  if (draft.hosts == 1) return cluster;
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::int64_t j = 0; j < count; ++j) {
      if (i / draft.per_host != j / draft.per_host)
        cluster.bandwidth[i * count + j] = draft.between;
    }
  }
  // With one device per host, no devices share a NIC. So the bandwidths of the pairs are enough.
  if (draft.per_host == 1) return cluster;
  for (std::int64_t first = 0; first < count; first += draft.per_host) {
    SharedLink nic;
    nic.one = numbers(first, first + draft.per_host);
    nic.other = numbers(0, first);
    const auto rest = numbers(first + draft.per_host, count);
    nic.other.insert(nic.other.end(), rest.begin(), rest.end());
    nic.bandwidth = draft.between;
    cluster.shared.push_back(std::move(nic));
    if (draft.hosts == 2) break;  // the NICs of two hosts carry the same messages
  }
  return cluster;
}

}  // namespace weft::pipeline
