// SPDX-License-Identifier: Apache-2.0
// PlanData has the contents of a plan file as plain data. The checker shares no code with the
// planner, so that it shares no bugs: it has its own reader of the file.
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

/// A link that all transfers between the devices of two sets share.
struct SharedData {
  std::vector<bool> one, other;  ///< per device: whether it is in this set
  std::int64_t bandwidth = 0;
};

/// The figures of a stage that are there for people to read.
struct StageFigures {
  double forward_ms = 0, backward_ms = 0, all_reduce_ms = 0;
  Bytes sends = 0;
  std::optional<Bytes> memory;
};

struct StageData {
  std::int32_t first = 0, last = 0;   ///< layers [first, last), if `misplaced` is empty
  std::vector<std::int32_t> devices;  ///< sorted
  bool recompute = false;
  std::size_t group = 0;  ///< equal for stages with the same devices
  StageFigures figures;
};

/// "2F5": stage, kind (F, I, W or B), micro-batch.
struct OpData {
  std::int32_t stage = 0;
  char kind = 'F';
  std::int32_t micro = 0;
};

/// The figures of the whole plan that are there for people to read.
struct PlanFigures {
  double step_ms = 0, bound_ms = 0, one_stage_bound_ms = 0, gap_pct = 0;
  std::string schedule;
};

/// Whether the file has a checksum and the checksum fits its contents.
enum class Checksum { kNone, kRight, kWrong };

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
  std::vector<std::vector<OpData>> orders;  ///< per group
  std::int32_t micro_batches = 0;
  Nanos step = 0, bound = 0;
  Nanos one_stage_bound = 0;  ///< bound on plans whose stages share no devices
  bool limit_memory = false;
  std::int64_t state_factor = 0;
  std::int32_t fixed_stages = 0, most_replicas = 0, most_chunks = 1;
  std::string
      misplaced;  ///< why the layers of the stages do not match the list of layers; or empty
  PlanFigures figures;
  Checksum checksum = Checksum::kNone;

  /// Element i: the bytes that one micro-batch sends over a cut between the first i layers and the
  /// rest.
  std::vector<Bytes> cuts() const;
};

/// Fails if the file is not a pipeline plan, or if a field is missing or has no valid value.
Result<PlanData> parse_plan(std::string_view json, const std::string& file);

}  // namespace weft::pipeline::verify
