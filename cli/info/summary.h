// SPDX-License-Identifier: Apache-2.0
// What `weft info` tells, gathered from a recording before anything is printed.
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
  Nanos host_duration = 0;  ///< between the marks on the host thread; devices may lag behind
};

struct CollectiveSummary {
  std::string name;  ///< its kind: "allreduce"
  std::int64_t count = 0;
  std::int64_t with_size = 0;      ///< whose size was recorded
  std::int64_t size_inferred = 0;  ///< whose size the same place of another step lent
};

/// Transfers with one peer: an address, or a rank where NCCL names it.
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
  std::vector<PeerSummary> peers;  ///< by name
};

struct RankSummary {
  const trace::RankTrace* trace = nullptr;
  Bytes stored_bytes = -1;  ///< as the file lies on disk; -1 if it cannot be asked
  std::int64_t kernels = 0;
  std::int64_t streams = 0;  ///< device lanes that did work
  Nanos start = 0;           ///< Unix time of the first event
  Nanos span = 0;            ///< first start to last end
  std::vector<StepSummary> steps;
  std::vector<CollectiveSummary> collectives;  ///< by name
  WireSummary wire;

  std::int64_t collective_count() const;
};

struct RunSummary {
  const trace::Run* run = nullptr;
  std::vector<RankSummary> ranks;
  std::int64_t missing_count = 0;
  std::vector<std::int64_t> missing_ranks;  ///< the first few of them
  std::vector<WireSummary> bystanders;      ///< as Run::bystanders
};

/// A profiler setting (or habit) to change; the most useful comes first.
struct Advice {
  const char* id;  ///< kebab-case, stable
  std::string text;
};

/// Keeps pointers into `run`.
RunSummary summarise(const trace::Run& run);
std::vector<Advice> advise(const RunSummary& run);

/// One page. Where `everything` is false it fits 24 lines for up to 8 ranks: what does not fit is
/// counted, and the flag that shows it named.
std::string info_text(const std::vector<RunSummary>& runs, const std::vector<Advice>& advice,
                      const Diagnostics& diagnostics, bool everything, const Terminal& terminal);
/// Schema: docs/reference/cli.md.
std::string info_json(const std::vector<RunSummary>& runs, const std::vector<Advice>& advice,
                      const Diagnostics& diagnostics);

}  // namespace weft::cli
