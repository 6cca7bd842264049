// SPDX-License-Identifier: Apache-2.0
#include "weft/pipeline/schedule/instances.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "weft/base/decimal.h"
#include "weft/base/file.h"
#include "weft/base/json/document.h"
#include "weft/base/utf8.h"

namespace weft::pipeline {
namespace {

std::string quoted(std::string_view name) { return "'" + std::string(name) + "'"; }

/// Accepts 5 and 5.0, but not 5.5.
std::optional<std::int64_t> whole(const JsonValue& value) {
  const auto real = value.as_double();
  if (!real || std::floor(*real) != *real) return std::nullopt;
  return value.as_int();
}

constexpr int kMostDecimals = 9;

/// How many decimals a number needs: 2 for 1.250, 3 for 5e-3, 0 for 25e1. Trailing zeros do not
/// count.
int decimals_of(std::string_view number) {
  const std::size_t e = std::min(number.find_first_of("eE"), number.size());
  std::string_view mantissa = number.substr(0, e);
  const std::size_t point = mantissa.find('.');
  std::int64_t decimals = 0;
  if (point != std::string_view::npos) {
    while (mantissa.ends_with('0')) mantissa.remove_suffix(1);
    decimals = static_cast<std::int64_t>(mantissa.size() - point) - 1;
  }
  const auto exponent = e < number.size() ? parse_int(number.substr(e + 1)) : std::int64_t{0};
  decimals -= std::clamp<std::int64_t>(exponent.value_or(0), -kMostDecimals, kMostDecimals);
  return static_cast<int>(std::clamp<std::int64_t>(decimals, 0, kMostDecimals));
}

int most_decimals(const JsonValue* value) {
  if (!value) return 0;
  int most = value->is_number() ? decimals_of(value->text) : 0;
  for (const JsonValue& item : value->items) {
    if (item.is_number()) most = std::max(most, decimals_of(item.text));
  }
  return most;
}

/// Reads the numbers of one instance, with errors that name the field. The scheduler computes with
/// integers, so all times of an instance are multiplied by the same power of ten, large enough for
/// the most decimals that any of them has. The same is done for memory sizes.
class Fields {
 public:
  explicit Fields(const JsonValue& object) : object_(object) {
    for (const char* name : {"f", "b", "w", "c", "comm", "all_reduce"}) {
      time_decimals_ = std::max(time_decimals_, most_decimals(object.find(name)));
    }
    for (const char* name : {"mem_f", "mem_b", "mem_w", "max_mem"}) {
      size_decimals_ = std::max(size_decimals_, most_decimals(object.find(name)));
    }
  }

  int time_decimals() const { return time_decimals_; }

  bool has(std::string_view name) const { return object_.find(name) != nullptr; }

  Result<std::int64_t> number(std::string_view name) const {
    const JsonValue* value = object_.find(name);
    if (!value) return bad_input(quoted(name) + " is missing");
    const auto found = whole(*value);
    if (!found) return bad_input(quoted(name) + " is not a whole number");
    return *found;
  }

  /// A list of `count` numbers, or one number for all. Each number is multiplied by 10^decimals.
  Result<std::vector<std::int64_t>> numbers(std::string_view name, std::size_t count,
                                            int decimals) const {
    const JsonValue* value = object_.find(name);
    if (!value) return bad_input(quoted(name) + " is missing");
    const auto scaled = [&](const JsonValue& item) {
      const bool exact = item.is_number() && decimals_of(item.text) <= decimals;
      return exact ? parse_scaled(item.text, decimals) : std::nullopt;
    };
    if (!value->is_array()) {
      const auto all = scaled(*value);
      if (!all) return bad_input(quoted(name) + " is not a number, or is too large");
      return std::vector<std::int64_t>(count, *all);
    }
    if (value->items.size() != count) {
      return bad_input(quoted(name) + " has " + std::to_string(value->items.size()) +
                       " numbers, not " + std::to_string(count));
    }
    std::vector<std::int64_t> list;
    for (const JsonValue& item : value->items) {
      const auto found = scaled(item);
      if (!found)
        return bad_input(quoted(name) + " has an element that is not a number, or is too large");
      list.push_back(*found);
    }
    return list;
  }

  Result<std::vector<std::int64_t>> sizes(std::string_view name, std::size_t count) const {
    return numbers(name, count, size_decimals_);
  }

  Result<std::vector<std::int64_t>> times(std::string_view name, std::size_t count) const {
    WEFT_ASSIGN(std::vector<std::int64_t> list, numbers(name, count, time_decimals_));
    for (const std::int64_t time : list) {
      if (time >= 0) continue;
      Pipeline unit;
      unit.decimals = time_decimals_;
      // Print the time in the unit of the file, not in the scaled unit.
      return bad_input(quoted(name) + " has a negative time, " + print_time(unit, time));
    }
    return list;
  }

  /// The number of stages. It is P, or the length of the list of forward times if there is no P.
  Result<std::size_t> stages() const {
    constexpr std::int64_t kMost = 1 << 16;
    if (has("P")) {
      WEFT_ASSIGN(const std::int64_t count, number("P"));
      if (count < 1 || count > kMost) return bad_input("'P' must be from 1 to 65536");
      return static_cast<std::size_t>(count);
    }
    const JsonValue* forward = object_.find("f");
    if (!forward || !forward->is_array()) return bad_input("'P', the number of stages, is missing");
    return forward->items.size();
  }

 private:
  const JsonValue& object_;
  int time_decimals_ = 0, size_decimals_ = 0;
};

/// Reads memory limits. They may be absent, or have one of two forms. The first form has the fields
/// mem_f, mem_b, mem_w and max_mem. The second form has the field cap_F, the number of forwards
/// that fit. The gradient of the input and the gradients of the weights then each free half of the
/// memory that a forward takes.
Status read_memory(const Fields& fields, Pipeline& pipeline) {
  const std::size_t stages = pipeline.stages.size();
  if (fields.has("max_mem")) {
    WEFT_ASSIGN(const auto forward, fields.sizes("mem_f", stages));
    WEFT_ASSIGN(const auto input, fields.sizes("mem_b", stages));
    WEFT_ASSIGN(const auto weight, fields.sizes("mem_w", stages));
    for (std::size_t s = 0; s < stages; ++s) {
      pipeline.stages[s].forward_memory = forward[s];
      pipeline.stages[s].input_memory = input[s];
      pipeline.stages[s].weight_memory = weight[s];
    }
    WEFT_ASSIGN(pipeline.memory_limits, fields.sizes("max_mem", pipeline.devices()));
    return {};
  }
  if (!fields.has("cap_F")) return {};
  WEFT_ASSIGN(const std::int64_t fit, fields.number("cap_F"));
  if (fit < 0 || fit > (std::int64_t{1} << 40)) return bad_input("'cap_F' must be from 0 to 2^40");
  for (Stage& stage : pipeline.stages) {
    stage.forward_memory = 2;
    stage.input_memory = stage.weight_memory = -1;
  }
  pipeline.memory_limits.assign(pipeline.devices(), 2 * fit);
  return {};
}

Result<Pipeline> read_instance(const JsonValue& value, std::string name) {
  if (!value.is_object()) return bad_input("it is not a JSON object");
  const Fields fields(value);
  WEFT_ASSIGN(const std::size_t stages, fields.stages());
  WEFT_ASSIGN(const std::int64_t micros, fields.number("M"));
  if (micros < 1 || micros > (1 << 22)) return bad_input("'M' must be from 1 to 4194304");
  WEFT_ASSIGN(const auto forward, fields.times("f", stages));
  WEFT_ASSIGN(const auto input, fields.times("b", stages));
  WEFT_ASSIGN(const auto weight, fields.times("w", stages));
  // Files of different origins use different names for the same field.
  const char* const transfer = fields.has("comm") ? "comm" : "c";
  WEFT_ASSIGN(const auto latency, fields.times(transfer, stages > 0 ? stages - 1 : 0));
  Pipeline pipeline = make_chain(forward, input, weight, 0, static_cast<Micro>(micros));
  pipeline.name = std::move(name);
  pipeline.decimals = fields.time_decimals();
  for (std::size_t s = 0; s + 1 < stages; ++s) {
    pipeline.boundaries[s].forward.latency = pipeline.boundaries[s].backward.latency = latency[s];
  }
  if (fields.has("device")) {
    WEFT_ASSIGN(const auto devices, fields.numbers("device", stages, 0));
    for (std::size_t s = 0; s < stages; ++s) {
      if (devices[s] < 0 || devices[s] >= static_cast<std::int64_t>(stages)) {
        return bad_input("'device' must have numbers from 0 to the number of stages - 1");
      }
      pipeline.stages[s].device = static_cast<DeviceId>(devices[s]);
    }
  }
  if (fields.has("all_reduce")) {
    WEFT_ASSIGN(const auto times, fields.times("all_reduce", stages));
    for (std::size_t s = 0; s < stages; ++s) pipeline.stages[s].all_reduce = times[s];
  }
  WEFT_TRY(read_memory(fields, pipeline));
  // If a pipeline has no possible schedule, the other pipelines of the file must still be readable.
  const Status checked = check(pipeline);
  if (!checked && checked.error().code != ErrorCode::kInfeasible) {
    return tl::unexpected(checked.error());
  }
  return pipeline;
}

std::string name_of(const JsonValue& list, std::size_t i) {
  if (list.is_object()) return printable(list.keys[i]);
  const JsonValue* name = list.items[i].find("name");
  return name && name->is_string() ? printable(name->text) : std::to_string(i);
}

}  // namespace

Result<std::vector<Pipeline>> parse_instances(std::string_view text, const std::string& name) {
  WEFT_ASSIGN(const JsonValue file, parse_json(text, name));
  const JsonValue* list = file.find("instances");
  if (!list || !(list->is_array() || list->is_object())) {
    return fail(ErrorCode::kBadInput, "this is not a file of pipelines: it has no list 'instances'",
                name);
  }
  if (list->items.empty()) {
    return fail(ErrorCode::kBadInput, "there is no pipeline in it: 'instances' is empty", name);
  }
  std::vector<Pipeline> pipelines;
  for (std::size_t i = 0; i < list->items.size(); ++i) {
    auto pipeline = read_instance(list->items[i], name_of(*list, i));
    if (!pipeline) {
      Error error = std::move(pipeline.error());
      error.message = "instance " + name_of(*list, i) + ": " + error.message;
      error.file = name;
      return tl::unexpected(std::move(error));
    }
    pipelines.push_back(std::move(*pipeline));
  }
  return pipelines;
}

Result<std::vector<Pipeline>> read_instances(const std::string& path) {
  WEFT_ASSIGN(const std::string text, read_file(path));
  return parse_instances(text, path);
}

}  // namespace weft::pipeline
