// SPDX-License-Identifier: Apache-2.0
// Damages every value of a plan in turn, in every way that suits the value. The checker must find
// each damage. Some values, such as the cluster, state the question that the plan answers. If the
// checksum is corrected too, damage to such a value may go unnoticed, because the plan may be right
// for the changed question.
#include <gtest/gtest.h>

#include "weft/base/json/checksum.h"
#include "weft/base/json/writer.h"
#include "weft/pipeline/plan/random_task.h"
#include "weft/pipeline/verify/file_of.h"
#include "weft/pipeline/verify/verify.h"

namespace weft::pipeline {
namespace {

/// Whether the value is a name. People may change names, so the checksum does not cover them.
bool is_free_text(const std::string& path) { return path == "/profile" || path == "/cluster/name"; }

/// Whether the value is an input of the planner, such as the layers or the cluster, and not a part
/// of its answer. If an input is damaged, the plan may still be right for the damaged input. So the
/// check need not find such damage. The last name in the list is a statement of the planner about
/// what it has tried. No other value can confirm it.
bool is_question(const std::string& path) {
  for (const char* part :
       {"/layers", "/edges", "/cluster", "/limit_memory", "/state_factor", "/fixed_stages",
        "/most_replicas", "/most_chunks", "/no_shorter_one_stage_plan"}) {
    if (path.starts_with(part)) return true;
  }
  return false;
}

void write(const JsonValue& value, JsonWriter& json) {
  switch (value.kind) {
    case JsonKind::kObject:
      json.begin_object();
      for (std::size_t i = 0; i < value.items.size(); ++i) {
        write(value.items[i], json.key(value.keys[i]));
      }
      json.end_object();
      return;
    case JsonKind::kArray:
      json.begin_array();
      for (const JsonValue& item : value.items) write(item, json);
      json.end_array();
      return;
    case JsonKind::kString:
      json.value(std::string_view(value.text));
      return;
    case JsonKind::kNumber:
      json.raw(value.text);
      return;
    default:
      json.value(value.kind == JsonKind::kTrue);
  }
}

std::string text_of(const JsonValue& value) {
  JsonWriter json;
  write(value, json);
  return json.take();
}

struct Damage {
  std::string how;
  JsonValue value;
};

JsonValue scalar(JsonKind kind, std::string text) {
  JsonValue value;
  value.kind = kind;
  value.text = std::move(text);
  return value;
}

std::vector<Damage> damages_of_number(const JsonValue& value) {
  std::vector<Damage> all{{"as text", scalar(JsonKind::kString, value.text)}};
  const auto whole = value.as_int();
  const double number = *value.as_double();
  const auto add = [&](const char* how, double other) {
    JsonWriter json;
    json.value(other);
    all.push_back({how, scalar(JsonKind::kNumber, json.take())});
  };
  if (whole && static_cast<double>(*whole) == number) {
    for (const std::int64_t other : {*whole + 1, *whole - 1, 2 * *whole + 3}) {
      all.push_back({"another", scalar(JsonKind::kNumber, std::to_string(other))});
    }
    add("a fraction", number + 0.25);
  } else {
    add("a nanosecond more", number + 1e-6);
    add("less", number / 2);
    add("the other sign", -number);
  }
  return all;
}

std::vector<Damage> damages_of_list(const JsonValue& value) {
  std::vector<Damage> all{{"as number", scalar(JsonKind::kNumber, "1")}};
  if (value.items.empty()) return all;
  JsonValue less = value, more = value, turned = value, none = value;
  less.items.pop_back();
  more.items.push_back(value.items.front());
  std::reverse(turned.items.begin(), turned.items.end());
  none.items.clear();
  all.push_back({"one less", less});
  all.push_back({"one twice", more});
  all.push_back({"empty", none});
  if (text_of(turned) != text_of(value)) all.push_back({"turned", turned});
  return all;
}

std::vector<Damage> damages_of(const JsonValue& value) {
  if (value.is_number()) return damages_of_number(value);
  if (value.is_array()) return damages_of_list(value);
  if (value.is_object()) return {{"as number", scalar(JsonKind::kNumber, "1")}};
  if (value.is_string()) {
    return {{"longer", scalar(JsonKind::kString, value.text + "x")},
            {"empty", scalar(JsonKind::kString, "")},
            {"as number", scalar(JsonKind::kNumber, "1")}};
  }
  const bool is = value.kind == JsonKind::kTrue;
  return {{"the other", scalar(is ? JsonKind::kFalse : JsonKind::kTrue, "")},
          {"as number", scalar(JsonKind::kNumber, "1")}};
}

/// Calls `visit` with every value below `value` and its path.
template <class Visit>
void walk(JsonValue& value, const std::string& path, const Visit& visit) {
  if (!path.empty()) visit(value, path);
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    walk(value.items[i], path + "/" + (value.is_object() ? value.keys[i] : std::to_string(i)),
         visit);
  }
}

bool is_right(const std::string& json) {
  const auto findings = verify::verify_plan_text(json, "plan.json");
  if (!findings) {
    EXPECT_NE(findings.error().message, "");
    return false;
  }
  return std::all_of(findings->begin(), findings->end(),
                     [](const verify::Finding& finding) { return finding.right; });
}

void reseal(JsonValue& root) {
  static constexpr std::string_view kLeftOut[] = {"checksum", "name", "profile"};
  for (std::size_t i = 0; i < root.keys.size(); ++i) {
    if (root.keys[i] == "checksum") root.items[i].text = json_checksum(root, kLeftOut);
  }
}

void damage_everything(const std::string& right) {
  ASSERT_TRUE(is_right(right)) << right;
  JsonValue root = *parse_json(right, "plan.json");
  const JsonValue whole = root;
  int tried = 0;
  walk(root, "", [&](JsonValue& value, const std::string& path) {
    const JsonValue before = value;
    for (const Damage& damage : damages_of(before)) {
      value = damage.value;
      ++tried;
      const bool passes = is_right(text_of(root));
      const bool text = is_free_text(path) && value.is_string();
      if (is_free_text(path)) {
        EXPECT_TRUE(passes || !text) << path << " " << damage.how;
      } else {
        EXPECT_FALSE(passes) << path << " " << damage.how << ": " << text_of(value);
      }
      // The devices of a stage are a set. So a plan in which their order is reversed is not
      // damaged.
      const bool same_set = damage.how == "turned" && path.ends_with("/devices");
      if (!is_free_text(path) && !is_question(path) && !same_set && path != "/checksum") {
        reseal(root);
        EXPECT_FALSE(is_right(text_of(root))) << path << " " << damage.how << ", resealed";
      }
      value = before;
      reseal(root);
    }
  });
  EXPECT_GT(tried, 300);
  EXPECT_EQ(text_of(root), text_of(whole));
}

TEST(Damage, IsSeenInEveryValueOfAPlan) {
  std::mt19937 random(4);
  const Profile profile = random_layers(random, 6);
  PlannerOptions options;
  options.stages = 3;
  options.schedules = {"1f1b"};
  damage_everything(file_of(profile, small_task(profile), options));
}

TEST(Damage, IsSeenWhereMemoryIsLimitedAndLinksAreShared) {
  std::mt19937 random(5);
  const Profile profile = random_layers(random, 5);
  Task task = small_task(profile);
  task.cluster = random_cluster(random, 4, true);
  task.cluster.shared = {{{0, 1}, {2, 3}, 2'000'000'000}};
  task.limit_memory = true;
  task.cluster.memory.assign(4, 1'200'000'000);
  damage_everything(file_of(profile, task, {}));
}

TEST(Damage, IsSeenWhereStagesShareDevicesAndBackwardsAreHalved) {
  std::mt19937 random(6);
  Profile profile = random_layers(random, 8);
  for (Layer& layer : profile.layers) layer.weight = layer.backward / 2;
  Task task = small_task(profile);
  task.cluster = uniform_cluster(2, 50'000'000'000, 2000);
  damage_everything(file_of(profile, task, {}));
}

}  // namespace
}  // namespace weft::pipeline
