// SPDX-License-Identifier: Apache-2.0
#include "cli/shell/format.h"

#include <fmt/format.h>

#include <cmath>

#include "cli/shell/terminal.h"
#include "weft/base/size.h"

namespace weft::cli {
namespace {

constexpr Bytes kMostBytes = Bytes{1} << 40;

}  // namespace

std::string format_bytes(Bytes bytes) {
  static constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  // 999.5 rounds to 1000, so it is printed in the next unit.
  for (; std::abs(value) >= 999.5 && unit + 1 < std::size(kUnits); ++unit) value /= 1000.0;
  const bool digits = unit > 0 && std::abs(value) < 9.95;
  return fmt::format("{:.{}f} {}", value, digits ? 1 : 0, kUnits[unit]);
}

std::string unit_hint(std::string_view text) {
  if (parse_bytes(text)) return "";
  std::string lower(text);
  for (char& letter : lower) letter = static_cast<char>(std::tolower(letter));
  const std::size_t unit = lower.find_last_of("0123456789.") + 1;  // 0 if there is no digit
  for (const auto& [wrong, right] : {std::pair{"kb", "kB or KiB"},
                                     {"kib", "KiB"},
                                     {"mb", "MB or MiB"},
                                     {"mib", "MiB"},
                                     {"gb", "GB or GiB"},
                                     {"gib", "GiB"},
                                     {"tb", "TB or TiB"},
                                     {"tib", "TiB"}}) {
    if (unit > 0 && lower.substr(unit) == wrong) return fmt::format("write {}", right);
  }
  return "";
}

Result<Bytes> parse_size(std::string_view text) {
  const auto size = parse_bytes(text);
  if (size && *size > 0 && *size <= kMostBytes) return *size;
  const std::string hint = unit_hint(text);
  return fail(ErrorCode::kUsage, fmt::format("'{}' is not a size; {}", text,
                                             hint.empty() ? "write 4KiB, 1MiB or 100MB" : hint));
}

std::string format_ms(Nanos time) {
  const double ms = static_cast<double>(time) / static_cast<double>(kMillisecond);
  return fmt::format("{:.{}f}", ms, std::abs(ms) < 99.95 ? (std::abs(ms) < 0.995 ? 3 : 1) : 0);
}

std::string format_time(Nanos time) {
  const auto value = static_cast<double>(time);
  const double size = std::abs(value);
  if (size < 1e3) return fmt::format("{} ns", time);
  if (size < 1e6) return fmt::format("{:.1f} us", value / 1e3);
  if (size < 1e9) return fmt::format("{:.{}f} ms", value / 1e6, size < 1e8 ? 2 : 1);
  return fmt::format("{:.2f} s", value / 1e9);
}

std::string format_count(std::int64_t count) {
  std::string digits = std::to_string(count);
  const std::size_t first = digits[0] == '-' ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

std::string format_numbers(const std::vector<std::int64_t>& sorted) {
  std::string out;
  for (std::size_t i = 0; i < sorted.size();) {
    std::size_t last = i;
    while (last + 1 < sorted.size() && sorted[last + 1] == sorted[last] + 1) ++last;
    if (!out.empty()) out += ", ";
    out += std::to_string(sorted[i]);
    if (last > i) out += (last > i + 1 ? "-" : ", ") + std::to_string(sorted[last]);
    i = last + 1;
  }
  return out;
}

std::string name_ranks(const std::vector<std::int64_t>& sorted) {
  return (sorted.size() == 1 ? "rank " : "ranks ") + format_numbers(sorted);
}

std::vector<std::string> wrap(std::string_view text, std::size_t width, std::size_t indent) {
  if (width == 0) return {std::string(text)};
  std::vector<std::string> lines(1);
  std::size_t used = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t space = std::min(text.find(' ', at), text.size());
    const std::string_view word = text.substr(at, space - at);
    const std::size_t length = display_width(word);
    // An empty line takes any word, even a word that is too long for a line.
    const bool fresh = used == 0 || lines.back().find_first_not_of(' ') == std::string::npos;
    if (!fresh && used + 1 + length > width) {
      lines.emplace_back(indent, ' ');
      used = indent;
    } else if (!fresh) {
      lines.back() += ' ';
      ++used;
    }
    lines.back() += word;
    used += length;
    at = space + 1;
  }
  return lines;
}

std::string wrapped(std::string_view text, std::size_t width, std::size_t indent) {
  std::string out;
  for (const std::string& line : wrap(text, width, indent)) out += line + "\n";
  return out;
}

}  // namespace weft::cli
