// SPDX-License-Identifier: Apache-2.0
// Finds the rank in a file name. File names follow no standard, so the patterns are tried from the
// most specific one to the least specific one: ASTRA-sim's "job.3.et", the word "rank" with a
// number, a separate "r" with a number, and last a number at the end of the name. Names with a host
// and a time have many numbers. Such names are excluded before the last pattern.
#include "weft/trace/runs/file_name.h"

#include <cctype>

#include "weft/base/decimal.h"

namespace weft::trace {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

std::string_view base_name(std::string_view path) {
  const std::size_t slash = path.find_last_of('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

// Returns the number at this position; -1 if there is none. A rank has at most six digits: longer
// numbers are times or process ids.
std::int32_t number_at(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && is_digit(text[end])) ++end;
  if (end == at || end - at > 6) return -1;
  return static_cast<std::int32_t>(*parse_int(text.substr(at, end - at)));
}

// The rank in a name.
struct RankInName {
  std::size_t at = 0;  // begin of the word that contains the rank
  std::int32_t rank = -1;
};

// Finds a number after `word`: "rank3", "rank_3", "rank-3", "rank=3".
RankInName after_word(std::string_view name, std::string_view word) {
  for (std::size_t at = name.find(word); at != std::string_view::npos;
       at = name.find(word, at + 1)) {
    std::size_t next = at + word.size();
    if (next < name.size() && (name[next] == '_' || name[next] == '-' || name[next] == '=')) ++next;
    const std::int32_t number = number_at(name, next);
    if (number >= 0) return {at, number};
  }
  return {};
}

RankInName find_rank(std::string_view path) {
  std::string name(base_name(path));
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  // "job.3.et": the number before the suffix. ASTRA-sim requires this form.
  if (const std::size_t ending = name.rfind(".et"); ending != std::string::npos && ending > 0) {
    const std::size_t dot = name.rfind('.', ending - 1);
    const std::string_view rest = std::string_view(name).substr(ending + 3);
    if (dot != std::string::npos && (rest.empty() || rest == ".gz")) {
      const std::int32_t number = number_at(std::string_view(name).substr(0, ending), dot + 1);
      const bool whole = name.find_first_not_of("0123456789", dot + 1) == ending;
      if (number >= 0 && whole) return {dot, number};
    }
  }
  const RankInName worded = after_word(name, "rank");
  if (worded.rank >= 0) return worded;
  // "-r3." or "_r3_": an r with a number that is not part of a longer word.
  for (std::size_t i = 0; i + 1 < name.size(); ++i) {
    const bool inside = i > 0 && (is_letter(name[i - 1]) || is_digit(name[i - 1]));
    if (name[i] == 'r' && !inside && is_digit(name[i + 1])) return {i, number_at(name, i + 1)};
  }
  if (worker_from_name(path).pid >= 0) return {};
  // "trace_7.json": the number at the end of the stem, if a separator precedes it.
  const std::string_view stem = std::string_view(name).substr(0, name.find('.'));
  std::size_t start = stem.size();
  while (start > 0 && is_digit(stem[start - 1])) --start;
  const bool separated = start > 0 && (stem[start - 1] == '_' || stem[start - 1] == '-');
  if (!separated || start == stem.size() || stem.size() - start > 4) return {};
  // Several numbers in a row ("2024-05-07") are a date or an address.
  if (start > 1 && is_digit(stem[start - 2])) return {};
  return {start, number_at(stem, start)};
}

}  // namespace

std::int32_t rank_from_name(std::string_view path) { return find_rank(path).rank; }

std::string name_before_rank(std::string_view path) {
  const std::string_view name = base_name(path);
  const RankInName found = find_rank(path);
  std::string_view before = name.substr(0, found.rank >= 0 ? found.at : name.find('.'));
  while (!before.empty() && !is_letter(before.back()) && !is_digit(before.back())) {
    before.remove_suffix(1);
  }
  return std::string(before);
}

WorkerName worker_from_name(std::string_view path) {
  const std::string_view name = base_name(path);
  const std::size_t tail = name.find(".pt.trace.json");
  if (tail == std::string_view::npos) return {};
  const std::string_view stem = name.substr(0, tail);
  const std::size_t dot = stem.find_last_of('.');
  // The time counts milliseconds or a smaller unit since 1970, so it has at least 13 digits.
  if (dot == std::string_view::npos || stem.size() - dot <= 13) return {};
  if (stem.find_first_not_of("0123456789", dot + 1) != std::string_view::npos) return {};
  const std::size_t line = stem.find_last_of('_', dot);
  if (line == std::string_view::npos) return {};
  const auto pid = parse_int(stem.substr(line + 1, dot - line - 1));
  if (!pid) return {};
  return {std::string(stem.substr(0, line)), *pid};
}

}  // namespace weft::trace
