// SPDX-License-Identifier: Apache-2.0
#include "weft/pipeline/verify/plan_data.h"

#include <algorithm>
#include <limits>
#include <map>

#include "weft/base/decimal.h"
#include "weft/base/json/checksum.h"
#include "weft/base/json/document.h"

namespace weft::pipeline::verify {
namespace {

constexpr std::int64_t kMost =
    1'000'000;  ///< limit for devices, stages, micro-batches and similar numbers

/// Reads only integers that a double holds exactly, so that nothing is rounded.
std::optional<std::int64_t> whole(const JsonValue& value) {
  const auto number = value.as_int();
  const auto exact = value.as_double();
  return number && exact && static_cast<double>(*number) == *exact ? number : std::nullopt;
}

/// Reads a number in the name of an op. Refuses "1e0" and "0.4", which parse_int might read.
std::optional<std::int64_t> digits(std::string_view text) {
  const bool plain = text.find_first_not_of("0123456789") == std::string_view::npos;
  return plain ? parse_int(text) : std::nullopt;
}

/// Reads members of JSON objects. It does not fail at the first problem. It remembers the name of
/// the first member that is missing or invalid, and parse_plan() reports this name at the end.
class Reader {
 public:
  const JsonValue& member(const JsonValue& of, const char* name) {
    static const JsonValue kMissing;
    const JsonValue* value = of.find(name);
    if (!value) wrong(name);
    return value ? *value : kMissing;
  }
  std::int64_t number(const JsonValue& of, const char* name) {
    const auto value = whole(member(of, name));
    if (!value || *value < 0) wrong(name);
    return value.value_or(0);
  }
  std::int32_t small(const JsonValue& value, const char* name) {
    const auto number = whole(value);
    const bool fits = number && *number >= 0 && *number <= kMost;
    if (!fits) wrong(name);
    return fits ? static_cast<std::int32_t>(*number) : 0;
  }
  double figure(const JsonValue& of, const char* name) {
    const auto value = member(of, name).as_double();
    if (!value) wrong(name);
    return value.value_or(0);
  }
  bool flag(const JsonValue& of, const char* name) {
    const JsonKind kind = member(of, name).kind;
    if (kind != JsonKind::kTrue && kind != JsonKind::kFalse) wrong(name);
    return kind == JsonKind::kTrue;
  }
  const std::string& text(const JsonValue& value, const char* name) {
    if (!value.is_string()) wrong(name);
    return value.text;
  }
  const std::vector<JsonValue>& list(const JsonValue& value, const char* name) {
    static const std::vector<JsonValue> kEmpty;
    if (!value.is_array()) wrong(name);
    return value.is_array() ? value.items : kEmpty;
  }
  const std::vector<JsonValue>& members(const JsonValue& of, const char* name) {
    return list(member(of, name), name);
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
  for (const JsonValue& row : reader.members(of, name)) {
    rows.emplace_back();
    for (const JsonValue& cell : reader.list(row, name)) {
      const auto value = whole(cell);
      if (!value || *value < 0) reader.wrong(name);
      rows.back().push_back(value.value_or(0));
    }
    if (rows.back().size() != side) reader.wrong(name);
  }
  if (rows.size() != side) reader.wrong(name);
  return rows;
}

void read_cluster(Reader& reader, const JsonValue& of, PlanData& plan) {
  plan.devices = reader.small(reader.member(of, "devices"), "devices");
  const auto count = static_cast<std::size_t>(plan.devices);
  plan.bandwidth = matrix(reader, of, "bandwidth", count);
  plan.latency = matrix(reader, of, "latency_ns", count);
  for (const JsonValue& item : reader.members(of, "speed")) {
    plan.speed.push_back(item.as_double().value_or(0));
    if (!(plan.speed.back() > 0)) reader.wrong("speed");
  }
  for (const JsonValue& item : reader.members(of, "memory_bytes")) {
    plan.memory.push_back(whole(item).value_or(-1));
    if (plan.memory.back() < 0) reader.wrong("memory_bytes");
  }
  if (plan.speed.size() != count) reader.wrong("speed");
  if (plan.memory.size() != count) reader.wrong("memory_bytes");
  for (const JsonValue& item : reader.members(of, "shared_links")) {
    SharedData link{std::vector<bool>(count), std::vector<bool>(count),
                    reader.number(item, "bytes_per_s")};
    const auto& between = reader.members(item, "between");
    if (between.size() != 2 || link.bandwidth < 1) return reader.wrong("shared_links");
    for (int side = 0; side < 2; ++side) {
      for (const JsonValue& device : reader.list(between[side], "between")) {
        const std::int32_t number = reader.small(device, "between");
        if (number >= plan.devices) return reader.wrong("between");
        (side == 0 ? link.one : link.other)[number] = true;
      }
    }
    plan.shared.push_back(std::move(link));
  }
}

using LayerNumbers = std::map<std::string, std::int32_t>;

LayerNumbers read_layers(Reader& reader, const JsonValue& root, PlanData& plan) {
  LayerNumbers numbers;
  for (const JsonValue& item : reader.members(root, "layers")) {
    const std::string& id = reader.text(reader.member(item, "id"), "id");
    if (!numbers.try_emplace(id, static_cast<std::int32_t>(plan.layers.size())).second) {
      plan.misplaced = "'" + id + "' is listed twice";
    }
    plan.layers.push_back(
        {id, reader.number(item, "forward_ns"), reader.number(item, "backward_ns"),
         reader.number(item, "weight_ns"), reader.number(item, "activation_bytes"),
         reader.number(item, "parameter_bytes"), reader.number(item, "stash_bytes")});
  }
  for (const JsonValue& item : reader.members(root, "edges")) {
    const auto& ends = reader.list(item, "edges");
    if (ends.size() != 2 || !numbers.contains(ends[0].text) || !numbers.contains(ends[1].text)) {
      reader.wrong("edges");
      break;
    }
    plan.edges.emplace_back(numbers[ends[0].text], numbers[ends[1].text]);
  }
  return numbers;
}

/// Numbers groups of devices in the order of their first stage, which is the order of plan.orders.
void number_groups(PlanData& plan) {
  std::map<std::vector<std::int32_t>, std::size_t> known;
  for (StageData& stage : plan.stages) {
    stage.group = known.try_emplace(stage.devices, known.size()).first->second;
  }
  plan.groups = known.size();
}

/// Checks that the stages name all layers of the list, each once and in the order of the list.
class Placement {
 public:
  Placement(const PlanData& plan, const LayerNumbers& numbers) : plan_(plan), numbers_(numbers) {}

  std::int32_t next() const { return next_; }

  /// Takes the next layer. Returns why it cannot be the next one, or an empty string.
  std::string take(const std::string& id, std::size_t stage) {
    const auto known = numbers_.find(id);
    const std::string at = "stage " + std::to_string(stage);
    if (known == numbers_.end())
      return at + " has '" + id + "', which is not in the list of layers";
    const std::int32_t number = known->second;
    if (number == next_) {
      ++next_;
      return {};
    }
    if (number < next_) return at + " has '" + id + "', which is already in an earlier place";
    return at + " has '" + id + "' where '" + plan_.layers[next_].id + "' should be";
  }
  std::string end() const {
    if (static_cast<std::size_t>(next_) == plan_.layers.size()) return {};
    return "'" + plan_.layers[next_].id + "' is in no stage";
  }

 private:
  const PlanData& plan_;
  const LayerNumbers& numbers_;
  std::int32_t next_ = 0;
};

StageFigures read_stage_figures(Reader& reader, const JsonValue& item) {
  StageFigures figures{reader.figure(item, "forward_ms"), reader.figure(item, "backward_ms"),
                       reader.figure(item, "all_reduce_ms"), reader.number(item, "sends_bytes"),
                       std::nullopt};
  if (item.find("memory_bytes")) figures.memory = reader.number(item, "memory_bytes");
  return figures;
}

void read_stages(Reader& reader, const JsonValue& root, const LayerNumbers& numbers,
                 PlanData& plan) {
  Placement placement(plan, numbers);
  const auto note = [&](std::string why) {
    if (plan.misplaced.empty()) plan.misplaced = std::move(why);
  };
  for (const JsonValue& item : reader.members(root, "stages")) {
    StageData stage;
    stage.first = placement.next();
    for (const JsonValue& layer : reader.members(item, "layers")) {
      note(placement.take(reader.text(layer, "layers of a stage"), plan.stages.size()));
    }
    stage.last = placement.next();
    for (const JsonValue& device : reader.members(item, "devices")) {
      stage.devices.push_back(reader.small(device, "devices of a stage"));
    }
    // The devices are a set. Their order in the file has no meaning.
    std::sort(stage.devices.begin(), stage.devices.end());
    stage.recompute = reader.flag(item, "recompute");
    stage.figures = read_stage_figures(reader, item);
    plan.stages.push_back(std::move(stage));
  }
  note(placement.end());
  number_groups(plan);
}

void read_orders(Reader& reader, const JsonValue& root, PlanData& plan) {
  for (const JsonValue& line : reader.members(root, "orders")) {
    plan.orders.emplace_back();
    std::string_view text = reader.text(line, "orders");
    while (!text.empty()) {
      const std::size_t end = std::min(text.find(' '), text.size());
      const std::string_view word = text.substr(0, end);
      const std::size_t kind = word.find_first_of("FIWB");
      const auto stage = digits(word.substr(0, kind));
      const auto micro = kind == word.npos ? std::nullopt : digits(word.substr(kind + 1));
      if (!stage || !micro || *stage > kMost || *micro > kMost) return reader.wrong("orders");
      plan.orders.back().push_back(
          {static_cast<std::int32_t>(*stage), word[kind], static_cast<std::int32_t>(*micro)});
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }
}

/// Refuses values whose sums could overflow 64 bits: a step of years, or more bytes than any
/// cluster has.
void check_sizes(Reader& reader, const PlanData& plan) {
  constexpr double kMostInAll = 1e17;
  double slowest = std::numeric_limits<double>::infinity();
  for (const double speed : plan.speed) slowest = std::min(slowest, speed);
  double times = 0, parameters = 0, kept = 0, sent = 0;
  for (const LayerData& layer : plan.layers) {
    if (layer.weight > layer.backward) reader.wrong("weight_ns");
    times += static_cast<double>(layer.forward) + static_cast<double>(layer.backward);
    parameters += static_cast<double>(layer.parameters);
    kept += static_cast<double>(layer.stash);
    sent += static_cast<double>(layer.activation);
  }
  const auto micros = static_cast<double>(plan.micro_batches);
  if (times * micros / slowest > kMostInAll) reader.wrong("layers");
  if (kept * micros > kMostInAll || sent > kMostInAll) return reader.wrong("layers");
  if (parameters * static_cast<double>(plan.state_factor) > kMostInAll) {
    reader.wrong("state_factor");
  }
  std::int64_t bandwidth = std::numeric_limits<std::int64_t>::max();
  Nanos latency = 0;
  for (std::size_t i = 0; i < plan.bandwidth.size(); ++i) {
    for (std::size_t j = 0; j < plan.bandwidth[i].size(); ++j) {
      if (i != j && plan.bandwidth[i][j] > 0) bandwidth = std::min(bandwidth, plan.bandwidth[i][j]);
    }
  }
  for (const SharedData& link : plan.shared) bandwidth = std::min(bandwidth, link.bandwidth);
  for (const auto& row : plan.latency) {
    for (const Nanos each : row) latency = std::max(latency, each);
  }
  const std::vector<Bytes> cuts = plan.cuts();
  const auto message = static_cast<double>(*std::max_element(cuts.begin(), cuts.end()));
  const double bytes = 2 * std::max(micros * message, parameters);
  if (plan.devices > 1 && bytes * 1e9 / static_cast<double>(bandwidth) > kMostInAll) {
    reader.wrong("bandwidth");
  }
  const double turns = 2 * std::max(micros, static_cast<double>(plan.devices));
  if (turns * static_cast<double>(latency) > kMostInAll) reader.wrong("latency_ns");
}

/// Reads the figures for people. They repeat the exact times, in milliseconds.
void read_figures(Reader& reader, const JsonValue& root, PlanData& plan) {
  plan.figures.step_ms = reader.figure(root, "step_ms");
  plan.figures.bound_ms = reader.figure(root, "lower_bound_ms");
  plan.figures.one_stage_bound_ms = root.find("one_stage_bound_ms")
                                        ? reader.figure(root, "one_stage_bound_ms")
                                        : plan.figures.bound_ms;
  plan.figures.gap_pct = reader.figure(root, "gap_pct");
  plan.figures.schedule = reader.text(reader.member(root, "schedule"), "schedule");
  // Only check that the flag is there: its value cannot be computed again. In files of older
  // versions of Weft it is called "exhausted".
  reader.flag(root, root.find("exhausted") ? "exhausted" : "no_shorter_one_stage_plan");
}

/// The checksum does not cover names: people may change them.
void read_checksum(Reader& reader, const JsonValue& root, PlanData& plan) {
  static constexpr std::string_view kLeftOut[] = {"checksum", "name", "profile"};
  const JsonValue* written = root.find("checksum");
  if (!written) return;
  const bool whole = reader.text(*written, "checksum") == json_checksum(root, kLeftOut);
  plan.checksum = whole ? Checksum::kRight : Checksum::kWrong;
}

}  // namespace

std::vector<Bytes> PlanData::cuts() const {
  // The output of a layer crosses all cuts up to the last layer that reads it, but only once.
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
  if (!version || whole(*version) != 1) {
    return fail(ErrorCode::kBadInput,
                "this is no plan of weft pipeline -o: it lacks pipeline_plan_version 1", file);
  }
  Reader reader;
  PlanData plan;
  plan.micro_batches = reader.small(reader.member(root, "microbatches"), "microbatches");
  plan.step = reader.number(root, "step_ns");
  plan.bound = reader.number(root, "lower_bound_ns");
  plan.one_stage_bound =
      root.find("one_stage_bound_ns") ? reader.number(root, "one_stage_bound_ns") : plan.bound;
  read_figures(reader, root, plan);
  plan.limit_memory = reader.flag(root, "limit_memory");
  plan.state_factor = reader.number(root, "state_factor");
  plan.fixed_stages = reader.small(reader.member(root, "fixed_stages"), "fixed_stages");
  plan.most_replicas = reader.small(reader.member(root, "most_replicas"), "most_replicas");
  if (const JsonValue* chunks = root.find("most_chunks")) {
    plan.most_chunks = reader.small(*chunks, "most_chunks");
  }
  const LayerNumbers numbers = read_layers(reader, root, plan);
  read_cluster(reader, reader.member(root, "cluster"), plan);
  read_stages(reader, root, numbers, plan);
  read_orders(reader, root, plan);
  read_checksum(reader, root, plan);
  // check_sizes() sums over all values, so everything must be read before.
  check_sizes(reader, plan);
  if (plan.micro_batches < 1) reader.wrong("microbatches");
  if (plan.stages.empty()) reader.wrong("stages");
  if (reader.what().empty()) return plan;
  return fail(ErrorCode::kBadInput, "'" + reader.what() + "' is missing or has no valid value",
              file);
}

}  // namespace weft::pipeline::verify
