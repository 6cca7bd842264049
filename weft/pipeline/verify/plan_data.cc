// SPDX-License-Identifier: Apache-2.0
#include "weft/pipeline/verify/plan_data.h"

#include <algorithm>
#include <map>

#include "weft/base/decimal.h"
#include "weft/base/json_document.h"

namespace weft::pipeline::verify {
namespace {

constexpr std::int64_t kMost =
    1'000'000;  ///< of anything there is one a device, layer or micro-batch

/// Reads members; the first one that is missing or of another kind is remembered.
class Reader {
 public:
  const JsonValue& member(const JsonValue& of, const char* name) {
    static const JsonValue kNone;
    const JsonValue* value = of.find(name);
    if (!value) wrong(name);
    return value ? *value : kNone;
  }
  std::int64_t number(const JsonValue& of, const char* name) {
    const auto value = member(of, name).as_int();
    if (!value || *value < 0) wrong(name);
    return value.value_or(0);
  }
  std::int32_t small(const JsonValue& value, const char* name) {
    const auto number = value.as_int();
    if (!number || *number < 0 || *number > kMost) wrong(name);
    return number && *number >= 0 && *number <= kMost ? static_cast<std::int32_t>(*number) : 0;
  }
  bool flag(const JsonValue& of, const char* name) {
    return member(of, name).kind == JsonKind::kTrue;
  }
  void wrong(const char* name) {
    if (wrong_.empty()) wrong_ = name;
  }
  const std::string& what() const { return wrong_; }

 private:
  std::string wrong_;
};

std::vector<std::vector<std::int64_t>> matrix(Reader& reader, const JsonValue& of, const char* name,
                                              std::size_t side) {
  std::vector<std::vector<std::int64_t>> rows;
  for (const JsonValue& row : reader.member(of, name).items) {
    rows.emplace_back();
    for (const JsonValue& cell : row.items) {
      const auto value = cell.as_int();
      if (!value || *value < 0) reader.wrong(name);
      rows.back().push_back(value.value_or(0));
    }
    if (row.items.size() != side) reader.wrong(name);
  }
  if (rows.size() != side) reader.wrong(name);
  return rows;
}

void read_cluster(Reader& reader, const JsonValue& of, PlanData& plan) {
  plan.devices = reader.small(reader.member(of, "devices"), "devices");
  const auto count = static_cast<std::size_t>(plan.devices);
  plan.bandwidth = matrix(reader, of, "bandwidth", count);
  plan.latency = matrix(reader, of, "latency_ns", count);
  for (const JsonValue& item : reader.member(of, "speed").items) {
    plan.speed.push_back(item.as_double().value_or(0));
    if (!(plan.speed.back() > 0)) reader.wrong("speed");
  }
  for (const JsonValue& item : reader.member(of, "memory_bytes").items) {
    plan.memory.push_back(item.as_int().value_or(-1));
    if (plan.memory.back() < 0) reader.wrong("memory_bytes");
  }
  if (plan.speed.size() != count || plan.memory.size() != count) reader.wrong("speed");
  for (const JsonValue& item : reader.member(of, "shared_links").items) {
    SharedData link{std::vector<bool>(count), std::vector<bool>(count),
                    reader.number(item, "bytes_per_s")};
    const JsonValue& between = reader.member(item, "between");
    if (between.items.size() != 2 || link.bandwidth < 1) return reader.wrong("shared_links");
    for (int side = 0; side < 2; ++side) {
      for (const JsonValue& device : between.items[side].items) {
        const std::int32_t number = reader.small(device, "between");
        if (number >= plan.devices) return reader.wrong("between");
        (side == 0 ? link.one : link.other)[number] = true;
      }
    }
    plan.shared.push_back(std::move(link));
  }
}

void read_layers(Reader& reader, const JsonValue& root, PlanData& plan) {
  std::map<std::string, std::int32_t> index;
  for (const JsonValue& item : reader.member(root, "layers").items) {
    index[reader.member(item, "id").text] = static_cast<std::int32_t>(plan.layers.size());
    plan.layers.push_back({reader.member(item, "id").text, reader.number(item, "forward_ns"),
                           reader.number(item, "backward_ns"), reader.number(item, "weight_ns"),
                           reader.number(item, "activation_bytes"),
                           reader.number(item, "parameter_bytes"),
                           reader.number(item, "stash_bytes")});
  }
  for (const JsonValue& item : reader.member(root, "edges").items) {
    if (item.items.size() != 2 || !index.contains(item.items[0].text) ||
        !index.contains(item.items[1].text)) {
      return reader.wrong("edges");
    }
    plan.edges.emplace_back(index[item.items[0].text], index[item.items[1].text]);
  }
}

/// Groups are numbered in the order of their first stage.
void number_groups(PlanData& plan) {
  std::map<std::vector<std::int32_t>, std::size_t> known;
  for (StageData& stage : plan.stages) {
    stage.group = known.try_emplace(stage.devices, known.size()).first->second;
  }
  plan.groups = known.size();
}

/// Stages name their layers; they must be those of the list, in its order.
void read_stages(Reader& reader, const JsonValue& root, PlanData& plan) {
  std::size_t next = 0;
  for (const JsonValue& item : reader.member(root, "stages").items) {
    StageData stage;
    stage.first = static_cast<std::int32_t>(next);
    for (const JsonValue& layer : reader.member(item, "layers").items) {
      if (next >= plan.layers.size() || plan.layers[next].id != layer.text) {
        return reader.wrong("layers of a stage");
      }
      ++next;
    }
    stage.last = static_cast<std::int32_t>(next);
    for (const JsonValue& device : reader.member(item, "devices").items) {
      stage.devices.push_back(reader.small(device, "devices of a stage"));
    }
    std::sort(stage.devices.begin(), stage.devices.end());
    stage.recompute = reader.flag(item, "recompute");
    plan.stages.push_back(std::move(stage));
  }
  if (next != plan.layers.size()) reader.wrong("layers of a stage");
  number_groups(plan);
}

void read_orders(Reader& reader, const JsonValue& root, PlanData& plan) {
  for (const JsonValue& line : reader.member(root, "orders").items) {
    plan.orders.emplace_back();
    std::string_view text = line.text;
    while (!text.empty()) {
      const std::size_t end = std::min(text.find(' '), text.size());
      const std::string_view word = text.substr(0, end);
      const std::size_t kind = word.find_first_of("FIWB");
      const auto stage = parse_int(word.substr(0, kind));
      const auto micro = kind == word.npos ? std::nullopt : parse_int(word.substr(kind + 1));
      if (!stage || !micro || *stage < 0 || *stage > kMost || *micro < 0 || *micro > kMost) {
        return reader.wrong("orders");
      }
      plan.orders.back().push_back(
          {static_cast<std::int32_t>(*stage), word[kind], static_cast<std::int32_t>(*micro)});
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }
}

/// Times stand twice in a plan: exact, and in milliseconds.
void read_told(Reader& reader, const JsonValue& root, PlanData& plan) {
  const auto tell = [&](const char* name, double is) {
    const auto told = reader.member(root, name).as_double();
    if (!told) reader.wrong(name);
    plan.told.push_back({name, told.value_or(0), is});
  };
  const auto ms = [](Nanos time) { return static_cast<double>(time) * 1e-6; };
  tell("step_ms", ms(plan.step));
  tell("lower_bound_ms", ms(plan.bound));
  if (root.find("one_stage_bound_ns")) tell("one_stage_bound_ms", ms(plan.one_stage_bound));
  const double gap = ms(plan.step) - ms(plan.bound);
  tell("gap_pct", plan.step > 0 ? 100 * gap / ms(plan.step) : 0);
}

}  // namespace

std::vector<Bytes> PlanData::cuts() const {
  std::vector<std::int32_t> last_reader(layers.size(), -1);
  for (const auto& [from, to] : edges) last_reader[from] = std::max(last_reader[from], to);
  std::vector<Bytes> cuts(layers.size() + 1, 0);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    for (std::int32_t cut = static_cast<std::int32_t>(i) + 1; cut <= last_reader[i]; ++cut) {
      cuts[cut] += layers[i].activation;
    }
  }
  return cuts;
}

Result<PlanData> parse_plan(std::string_view json, const std::string& file) {
  WEFT_ASSIGN(const JsonValue root, parse_json(json, file));
  const JsonValue* version = root.find("pipeline_plan_version");
  if (!version || version->as_int() != 1) {
    return fail(ErrorCode::kBadInput,
                "this is no plan that weft pipeline -o has written (pipeline_plan_version 1)",
                file);
  }
  Reader reader;
  PlanData plan;
  plan.micro_batches = reader.small(reader.member(root, "microbatches"), "microbatches");
  plan.step = reader.number(root, "step_ns");
  plan.bound = reader.number(root, "lower_bound_ns");
  plan.one_stage_bound =
      root.find("one_stage_bound_ns") ? reader.number(root, "one_stage_bound_ns") : plan.bound;
  read_told(reader, root, plan);
  plan.limit_memory = reader.flag(root, "limit_memory");
  plan.state_factor = reader.number(root, "state_factor");
  plan.fixed_stages = reader.small(reader.member(root, "fixed_stages"), "fixed_stages");
  plan.most_replicas = reader.small(reader.member(root, "most_replicas"), "most_replicas");
  if (const JsonValue* chunks = root.find("most_chunks")) {
    plan.most_chunks = reader.small(*chunks, "most_chunks");
  }
  read_layers(reader, root, plan);
  read_cluster(reader, reader.member(root, "cluster"), plan);
  read_stages(reader, root, plan);
  read_orders(reader, root, plan);
  if (plan.micro_batches < 1 || plan.stages.empty()) reader.wrong("stages");
  if (plan.orders.size() != plan.groups) reader.wrong("orders");
  if (reader.what().empty()) return plan;
  return fail(ErrorCode::kBadInput, "'" + reader.what() + "' is missing or makes no sense", file);
}

}  // namespace weft::pipeline::verify
