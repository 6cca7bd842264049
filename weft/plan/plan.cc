// SPDX-License-Identifier: Apache-2.0
// Reads and writes plan files. The parser is strict: a field that is unknown, given twice or of the
// wrong type is an error. A plan changes how a job is trained. If the parser skipped unknown
// fields, the plan that is applied would differ from the plan that was predicted.
#include "weft/plan/plan.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <initializer_list>

#include "weft/base/file.h"
#include "weft/base/json/document.h"
#include "weft/base/json/writer.h"
#include "weft/base/milliseconds.h"

namespace weft::plan {
namespace {

constexpr double kLongestMs = 1e12;

tl::unexpected<Error> bad(const std::string& name, const std::string& what) {
  return fail(ErrorCode::kBadInput, what, name);
}

/// Fails if the object has a field that is not in `known`, or one field twice.
Status only_fields(const JsonValue& object, std::initializer_list<std::string_view> known,
                   const std::string& name) {
  for (std::size_t i = 0; i < object.keys.size(); ++i) {
    const std::string& key = object.keys[i];
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      return bad(name, "the plan has the field '" + key +
                           "', which version 1 does not have; a newer Weft may have written it");
    }
    if (std::find(object.keys.begin(), object.keys.begin() + static_cast<std::ptrdiff_t>(i), key) !=
        object.keys.begin() + static_cast<std::ptrdiff_t>(i)) {
      return bad(name, "the field '" + key + "' of the plan is given twice");
    }
  }
  return {};
}

Result<Change> parse_change(const JsonValue& value, const std::string& name) {
  if (!value.is_object()) {
    return bad(name, "a change of the plan is not an object with 'key' and 'value'");
  }
  WEFT_TRY(only_fields(value, {"key", "value"}, name));
  const JsonValue* key = value.find("key");
  const JsonValue* to = value.find("value");
  // The number 25 and the string "25" mean the same; users write both.
  if (!key || !key->is_string() || !to || !(to->is_string() || to->is_number())) {
    return bad(name, "a change of the plan needs a string 'key' and a string or number 'value'");
  }
  Change change{key->text, to->text};
  // Use the same parser as for --what-if. Then every change that a plan may contain can be
  // predicted.
  if (const auto what_if = predict::parse_what_if(change.key + "=" + change.value); !what_if) {
    return bad(name, "the plan cannot be used: " + what_if.error().message);
  }
  return change;
}

Result<Nanos> parse_step(const JsonValue& plan, const char* field, const std::string& name) {
  const JsonValue* value = plan.find(field);
  const auto ms = value ? value->as_double() : std::nullopt;
  if (!ms || !(*ms >= 0) || *ms > kLongestMs) {
    return bad(name, std::string("'") + field + "' of the plan is not a time in milliseconds");
  }
  return std::llround(*ms * static_cast<double>(kMillisecond));
}

}  // namespace

std::vector<Change> changes_of(const std::vector<predict::WhatIf>& what_ifs) {
  std::vector<Change> changes;
  for (const predict::WhatIf& what_if : what_ifs) {
    const std::size_t equals = what_if.text.find('=');
    changes.push_back({what_if.text.substr(0, equals), what_if.text.substr(equals + 1)});
  }
  return changes;
}

std::vector<std::string> questions(const Plan& plan) {
  std::vector<std::string> texts;
  for (const Change& change : plan.changes) texts.push_back(change.key + "=" + change.value);
  return texts;
}

std::string print_plan(const Plan& plan) {
  JsonWriter json(2);
  json.begin_object().field("plan_version", Plan::kVersion);
  json.key("changes").begin_array();
  for (const Change& change : plan.changes) {
    json.begin_object().field("key", change.key).field("value", change.value).end_object();
  }
  json.end_array();
  json.field("predicted_step_ms", milliseconds(plan.predicted_step));
  json.field("baseline_step_ms", milliseconds(plan.baseline_step));
  json.key("inputs").begin_array();
  for (const std::string& input : plan.inputs) json.value(input);
  json.end_array().end_object();
  return json.take() + "\n";
}

Result<Plan> parse_plan(std::string_view text, const std::string& name) {
  WEFT_ASSIGN(const JsonValue document, parse_json(text, name));
  const JsonValue* version = document.find("plan_version");
  if (!document.is_object() || !version) {
    return bad(name, "this is no plan: the field 'plan_version' is missing");
  }
  if (version->as_int() != Plan::kVersion) {
    return bad(name, "plan_version is " + version->text + ", but this Weft reads only version " +
                         std::to_string(Plan::kVersion));
  }
  // Plans for redistribution have the same version field. So check for them first: the message
  // about unknown fields would not help the user.
  if (document.find("reshard") != nullptr) {
    return bad(name, "this is a redistribution plan; use weft reshard --plan to read it");
  }
  WEFT_TRY(only_fields(
      document, {"plan_version", "changes", "predicted_step_ms", "baseline_step_ms", "inputs"},
      name));
  Plan plan;
  const JsonValue* changes = document.find("changes");
  if (!changes || !changes->is_array()) return bad(name, "'changes' of the plan is not a list");
  for (const JsonValue& item : changes->items) {
    WEFT_ASSIGN(Change change, parse_change(item, name));
    plan.changes.push_back(std::move(change));
  }
  WEFT_ASSIGN(plan.predicted_step, parse_step(document, "predicted_step_ms", name));
  WEFT_ASSIGN(plan.baseline_step, parse_step(document, "baseline_step_ms", name));
  const JsonValue* inputs = document.find("inputs");
  if (!inputs || !inputs->is_array()) return bad(name, "'inputs' of the plan is not a list");
  for (const JsonValue& item : inputs->items) {
    if (!item.is_string()) return bad(name, "'inputs' of the plan must contain only strings");
    plan.inputs.push_back(item.text);
  }
  return plan;
}

Status write_plan(const std::string& path, const Plan& plan) {
  return write_file(path, print_plan(plan));
}

Result<Plan> read_plan(const std::string& path) {
  WEFT_ASSIGN(const std::string text, read_file(path));
  return parse_plan(text, path);
}

bool is_plan(const std::string& path) {
  constexpr std::size_t kHead = 4096;
  // If this function read from a pipe, the parser could not read the same data again. So it looks
  // only at regular files.
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;
  auto file = open_file(path);
  if (!file) return false;
  const auto begin = read_up_to(**file, kHead);
  return begin && begin->find("\"plan_version\"") != std::string::npos;
}

}  // namespace weft::plan
