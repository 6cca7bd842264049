// SPDX-License-Identifier: Apache-2.0
// Recognises NVTX ranges by their spelling, because they are free text. A text that matches no
// known form is a plain annotation.
#include "weft/trace/formats/nsys/nvtx.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "weft/base/decimal.h"
#include "weft/base/json/document.h"

namespace weft::trace::nsys {
namespace {

constexpr std::size_t kLongestStepName = 48;  // no known name of a step is longer

/// Returns the text after the first `label`; "" if there is no such label.
std::string_view text_after(std::string_view text, std::string_view label) {
  const std::size_t at = text.find(label);
  return at == std::string_view::npos ? std::string_view() : text.substr(at + label.size());
}

std::int64_t leading_number(std::string_view text) {
  return parse_int(text.substr(0, text.find_first_not_of("0123456789"))).value_or(-1);
}

/// Returns the list at the start of a text: "[[4, 8], [8]]" for "[[4, 8], [8]], more". Returns ""
/// if the list is not closed.
std::string_view leading_list(std::string_view text) {
  std::size_t depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[') ++depth;
    if (text[i] == ']' && depth > 0) --depth;
    if (depth == 0) return text.substr(0, text[i] == ']' ? i + 1 : 0);
  }
  return {};
}

std::int64_t value_of(const JsonValue& value) {
  const auto number = parse_int(value.text);
  return number && *number >= 0 ? *number : -1;
}

/// Searches nested objects too, because versions of nsys nest the arguments to different depths.
void collect(const JsonValue& value, NcclPayload& payload, bool& found) {
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    const JsonValue& item = value.items[i];
    const std::string_view key = i < value.keys.size() ? std::string_view(value.keys[i]) : "";
    if (item.is_object() || item.is_array()) {
      collect(item, payload, found);  // parse_json bounds the depth
    } else if (key == "NCCL communicator ID") {
      payload.communicator = item.text;
      found = true;
    } else if (key == "Message size [bytes]" || key == "Message size" || key == "Bytes") {
      payload.bytes = value_of(item);
      found = true;
    } else if (key == "No. of ranks") {
      payload.ranks = value_of(item);
      found = true;
    } else if (key == "Rank") {
      payload.rank = value_of(item);
      found = true;
    } else if (key == "Peer rank") {
      payload.peer = value_of(item);
      found = true;
    }
  }
}

}  // namespace

RangeText parse_range(std::string_view text) {
  RangeText range;
  range.name = text;
  // The order of the arguments differs between versions of PyTorch. So the name ends before the
  // label that comes first in the text.
  for (const char* label : {", op_id = ", ", seq = ", ", sizes = "}) {
    const std::size_t at = text.find(label);
    if (at == std::string_view::npos) continue;
    range.is_op = true;
    range.name = range.name.substr(0, std::min(at, range.name.size()));
  }
  if (!range.is_op) return range;
  range.sequence = leading_number(text_after(text, ", seq = "));
  range.sizes = leading_list(text_after(text, ", sizes = "));
  return range;
}

StepText parse_step(std::string_view name) {
  if (name.empty() || name.size() > kLongestStepName) return {};
  // A step is one known word in any case and with any separators, followed by an optional number.
  // Any other character, or an unknown word, means that the range does not mark a step.
  std::string word;
  std::size_t end = name.size();
  while (end > 0 && std::isdigit(static_cast<unsigned char>(name[end - 1]))) --end;
  const std::string_view digits = name.substr(end);
  for (const char c : name.substr(0, end)) {
    const auto letter = static_cast<unsigned char>(c);
    if (std::isalpha(letter)) {
      word.push_back(static_cast<char>(std::tolower(letter)));
    } else if (std::string_view(" _-#:=").find(c) == std::string_view::npos) {
      return {};
    }
  }
  struct Word {
    std::string_view text;
    StepSort sort;
  };
  constexpr std::array<Word, 8> kWords = {{{"profilerstep", StepSort::kProfilerStep},
                                           {"step", StepSort::kStep},
                                           {"trainstep", StepSort::kStep},
                                           {"trainingstep", StepSort::kStep},
                                           {"globalstep", StepSort::kStep},
                                           {"iteration", StepSort::kIteration},
                                           {"trainingiteration", StepSort::kIteration},
                                           {"iter", StepSort::kIteration}}};
  const auto* known =
      std::find_if(kWords.begin(), kWords.end(), [&](const Word& w) { return w.text == word; });
  if (known == kWords.end()) return {};
  if (digits.empty()) return {StepSort::kUnnumbered, -1};
  // More than 9 digits are a time or an id, not a step.
  const auto number = digits.size() > 9 ? std::nullopt : parse_int(digits);
  if (!number) return {};
  return {known->sort, *number};
}

std::optional<NcclPayload> parse_nccl_payload(std::string_view json) {
  if (json.empty()) return std::nullopt;
  const auto value = parse_json(json, "");
  if (!value) return std::nullopt;
  NcclPayload payload;
  bool found = false;
  collect(*value, payload, found);
  return found ? std::optional(std::move(payload)) : std::nullopt;
}

}  // namespace weft::trace::nsys
