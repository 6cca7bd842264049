// SPDX-License-Identifier: Apache-2.0
// Collects the facts that `weft info` shows from a recording. The page and the JSON are both made
// from these facts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/shell/terminal.h"
#include "weft/base/diagnostics.h"
#include "weft/trace/events.h"
#include "weft/trace/runs/load.h"

namespace weft::cli {

struct StepSummary {
  std::int64_t number = 0;
  Nanos host_duration = 0;  ///< time from mark to mark on the host; the device may lag behind
};

struct CollectiveSummary {
  std::string name;  ///< its kind: "allreduce"
  std::int64_t count = 0;
  std::int64_t with_size = 0;  ///< how many of them have a recorded size
  /// How many of them have an inferred size: that of the same call in another step.
  std::int64_t size_inferred = 0;
};

/// The transfers with one peer. Its name is an address, or a rank if NCCL names the rank.
struct PeerSummary {
  std::string name;
  std::int64_t transfers = 0;
  Bytes sent = 0;
  Bytes received = 0;
};

struct WireSummary {
  std::int64_t transfers = 0;
  std::int64_t connections = 0;
  Bytes sent = 0;
  Bytes received = 0;
  std::vector<PeerSummary> peers;  ///< sorted by name
};

struct RankSummary {
  const trace::RankTrace* trace = nullptr;
  Bytes stored_bytes = -1;  ///< size of the file on disk, maybe compressed; -1 if unknown
  std::int64_t kernels = 0;
  std::int64_t streams = 0;  ///< device streams that did work
  Nanos start = 0;           ///< Unix time of the first event
  Nanos span = 0;            ///< from the first start to the last end
  std::vector<StepSummary> steps;
  std::vector<CollectiveSummary> collectives;  ///< sorted by name
  WireSummary wire;

  std::int64_t collective_count() const;
};

struct RunSummary {
  const trace::Run* run = nullptr;
  std::vector<RankSummary> ranks;
  std::int64_t missing_count = 0;
  std::vector<std::int64_t> missing_ranks;  ///< the first few missing ranks
  std::vector<WireSummary> bystanders;      ///< one per entry of Run::bystanders, in its order
};

/// A profiler setting (or habit) to change. Lists of advice start with the most useful advice.
struct Advice {
  const char* id;  ///< kebab-case, stable
  std::string text;
};

/// The result keeps pointers into `run`, which must outlive it. Ranks are summarised in parallel.
RunSummary summarise(const trace::Run& run);
std::vector<Advice> advise(const RunSummary& run);

/// One page. Unless `everything` is true, a page of up to 8 ranks fits into 24 lines. If something
/// has no room, the page says how much was left out, and names the flag that shows it.
std::string info_text(const std::vector<RunSummary>& runs, const std::vector<Advice>& advice,
                      const Diagnostics& diagnostics, bool everything, const Terminal& terminal);
/// The fields are documented in docs/reference/cli.md.
std::string info_json(const std::vector<RunSummary>& runs, const std::vector<Advice>& advice,
                      const Diagnostics& diagnostics);

}  // namespace weft::cli
