// SPDX-License-Identifier: Apache-2.0
// What a plan file says, as plain data. The checker has nothing in common with the planner: it
// reads the file itself and works with what it finds there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weft/base/result.h"
#include "weft/base/units.h"

namespace weft::pipeline::verify {

struct LayerData {
  std::string id;
  Nanos forward = 0, backward = 0, weight = 0;
  Bytes activation = 0, parameters = 0, stash = 0;
};

struct SharedData {
  std::vector<bool> one, other;  ///< by device
  std::int64_t bandwidth = 0;
};

/// What a stage says of itself for people.
struct ToldStage {
  double forward_ms = 0, backward_ms = 0, all_reduce_ms = 0;
  Bytes sends = 0;
  std::optional<Bytes> memory;
};

struct StageData {
  std::int32_t first = 0, last = 0;   ///< layers [first, last), where `misplaced` is empty
  std::vector<std::int32_t> devices;  ///< sorted
  bool recompute = false;
  std::size_t group = 0;  ///< stages with the same devices have the same
  ToldStage told;
};

/// "2F5": stage, kind (F, I, W or B), micro-batch.
struct OpData {
  std::int32_t stage = 0;
  char kind = 'F';
  std::int32_t micro = 0;
};

/// What the whole plan says of itself for people.
struct ToldPlan {
  double step_ms = 0, bound_ms = 0, one_stage_bound_ms = 0, gap_pct = 0;
  std::string schedule;
};

/// Whether the file is still as it was written.
enum class Seal { kNone, kWhole, kBroken };

struct PlanData {
  std::vector<LayerData> layers;
  std::vector<std::pair<std::int32_t, std::int32_t>> edges;
  std::int32_t devices = 0;
  std::vector<std::vector<std::int64_t>> bandwidth, latency;
  std::vector<double> speed;
  std::vector<Bytes> memory;
  std::vector<SharedData> shared;
  std::vector<StageData> stages;
  std::size_t groups = 0;
  std::vector<std::vector<OpData>> orders;  ///< of each group
  std::int32_t micro_batches = 0;
  Nanos step = 0, bound = 0;
  Nanos one_stage_bound = 0;  ///< of plans whose stages share no devices
  bool limit_memory = false;
  std::int64_t state_factor = 0;
  std::int32_t fixed_stages = 0, most_replicas = 0, most_chunks = 1;
  std::string misplaced;  ///< why the layers of the stages are not those of the list; or empty
  ToldPlan told;
  Seal seal = Seal::kNone;

  /// Bytes that a cut behind the first `layer` layers carries.
  std::vector<Bytes> cuts() const;
};

/// An Error where the file is no such plan, or something in it is missing or of another kind.
Result<PlanData> parse_plan(std::string_view json, const std::string& file);

}  // namespace weft::pipeline::verify
