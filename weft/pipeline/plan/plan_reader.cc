// SPDX-License-Identifier: Apache-2.0
// Reads plan files. A plan file is also a valid profile, so its layers and edges go through the
// reader of profiles; its cluster goes through the reader of clusters.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "weft/base/file.h"
#include "weft/base/json/document.h"
#include "weft/base/utf8.h"
#include "weft/pipeline/model/limits.h"
#include "weft/pipeline/plan/plan_file.h"

namespace weft::pipeline {
namespace {

constexpr std::int64_t kMost = 1'000'000;  ///< the most micro-batches that a plan may have
/// Bytes that is_plan() reads; the writer puts the version at the beginning of the file.
constexpr std::size_t kHead = 4096;

tl::unexpected<Error> wrong(const std::string& name) {
  return fail(ErrorCode::kBadInput, fmt::format("'{}' is missing or invalid", name));
}

Result<const JsonValue*> member(const JsonValue& of, const char* name) {
  const JsonValue* value = of.find(name);
  if (!value) return wrong(name);
  return value;
}

Result<std::int64_t> number(const JsonValue& of, const char* name, std::int64_t most = INT64_MAX) {
  const JsonValue* value = of.find(name);
  const auto found = value ? value->as_int() : std::nullopt;
  if (!found || *found < 0 || *found > most) return wrong(name);
  return *found;
}

bool is_true(const JsonValue& of, const char* name) {
  const JsonValue* value = of.find(name);
  return value && value->kind == JsonKind::kTrue;
}

/// Reads the stages. Together they must list all layers of the profile in their order.
Result<std::vector<PlannedStage>> stages_of(const JsonValue& root, const Profile& profile,
                                            const Cluster& cluster) {
  WEFT_ASSIGN(const JsonValue* list, member(root, "stages"));
  std::vector<PlannedStage> stages;
  std::int32_t next = 0;
  for (const JsonValue& item : list->items) {
    PlannedStage stage;
    stage.first = next;
    WEFT_ASSIGN(const JsonValue* layers, member(item, "layers"));
    for (const JsonValue& layer : layers->items) {
      const bool known = static_cast<std::size_t>(next) < profile.layers.size();
      if (!known || profile.layers[next].id != layer.text) return wrong("layers of a stage");
      ++next;
    }
    stage.last = next;
    WEFT_ASSIGN(const JsonValue* devices, member(item, "devices"));
    for (const JsonValue& device : devices->items) {
      const auto found = device.as_int();
      if (!found || *found < 0 || *found >= cluster.devices) return wrong("devices of a stage");
      stage.devices.push_back(static_cast<std::int32_t>(*found));
    }
    std::sort(stage.devices.begin(), stage.devices.end());
    if (stage.devices.empty() || stage.first == stage.last) return wrong("stages");
    stage.recompute = is_true(item, "recompute");
    stages.push_back(std::move(stage));
  }
  if (stages.empty() || static_cast<std::size_t>(next) != profile.layers.size()) {
    return wrong("stages");
  }
  return stages;
}

Result<ReadPlan> plan_of(std::string_view json, const std::string& file) {
  WEFT_ASSIGN(const JsonValue root, parse_json(json, file));
  const JsonValue* version = root.find("pipeline_plan_version");
  if (!version || version->as_int() != 1) {
    return fail(ErrorCode::kBadInput,
                "this is not a plan written by weft pipeline -o (pipeline_plan_version 1)");
  }
  ReadPlan plan;
  plan.file = file;
  WEFT_ASSIGN(plan.profile, parse_profile(json, file));
  if (const JsonValue* name = root.find("profile")) plan.profile.name = printable(name->text);
  std::vector<std::int32_t> order(plan.profile.layers.size());
  std::iota(order.begin(), order.end(), 0);
  // The writer lists layers in the order of the plan, so edges must lead forward.
  for (const LayerEdge& edge : plan.profile.edges) {
    if (edge.from >= edge.to) return wrong("edges");
  }
  plan.task.chain = layer_chain(plan.profile, std::move(order));
  WEFT_ASSIGN(const JsonValue* cluster, member(root, "cluster"));
  WEFT_ASSIGN(plan.task.cluster, read_cluster(*cluster));
  WEFT_TRY(check_cluster(plan.task.cluster));
  WEFT_ASSIGN(const std::int64_t micro_batches, number(root, "microbatches", kMost));
  if (micro_batches < 1) return wrong("microbatches");
  plan.task.micro_batches = static_cast<Micro>(micro_batches);
  plan.task.limit_memory = is_true(root, "limit_memory");
  WEFT_ASSIGN(plan.task.state_factor, number(root, "state_factor"));
  WEFT_TRY(check_limits(plan.task));
  WEFT_ASSIGN(plan.step, number(root, "step_ns"));
  WEFT_ASSIGN(plan.bound, number(root, "lower_bound_ns"));
  // Old files lack this member.
  if (root.find("most_chunks") != nullptr) {
    WEFT_ASSIGN(const std::int64_t chunks, number(root, "most_chunks", kMost));
    plan.most_chunks = static_cast<std::int32_t>(chunks);
  }
  WEFT_ASSIGN(plan.stages, stages_of(root, plan.profile, plan.task.cluster));
  if (const JsonValue* name = root.find("schedule")) plan.schedule_name = printable(name->text);
  WEFT_ASSIGN(const JsonValue* orders, member(root, "orders"));
  std::string lines;
  for (const JsonValue& line : orders->items) lines += line.text + "\n";
  WEFT_ASSIGN(plan.schedule, parse_schedule(lines));
  return plan;
}

}  // namespace

Result<ReadPlan> parse_plan(std::string_view json, const std::string& file) {
  Result<ReadPlan> plan = plan_of(json, file);
  if (plan || !plan.error().file.empty()) return plan;
  Error error = std::move(plan.error());
  error.file = file;
  return tl::unexpected(std::move(error));
}

Result<ReadPlan> read_plan(const std::string& path) {
  WEFT_ASSIGN(const std::string text, read_file(path));
  return parse_plan(text, path);
}

bool is_plan(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;
  const auto source = open_file(path);
  const auto head = source ? read_up_to(**source, kHead) : Result<std::string>();
  return head && head->find("\"pipeline_plan_version\"") != std::string::npos;
}

}  // namespace weft::pipeline
