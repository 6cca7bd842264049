// SPDX-License-Identifier: Apache-2.0
// Checks that any input gives a log or an Error, and that any log can become a rank or be attached
// to a rank.
#include "weft/trace/formats/probe/probe.h"
#include "weft/trace/fuzz_checks.h"
#include "weft/trace/match/wire_match.h"

namespace {

using namespace weft;
using namespace weft::trace;

Result<ProbeLog> read(std::string_view bytes, std::size_t window) {
  const auto source = memory_source(bytes, "job/r0.weftlog", window);
  Diagnostics diagnostics;
  return read_probe_log(*source, {}, diagnostics);
}

void check_wire(const Wire& wire) {
  for (const WireTransfer& transfer : wire.transfers) {
    WEFT_CHECK(transfer.connection < wire.connections.size());
    WEFT_CHECK(transfer.duration >= 0 && transfer.bytes >= 0 && transfer.offset >= 0);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  Result<ProbeLog> log = read(bytes, std::size_t{1} << 20);
  const Result<ProbeLog> again = read(bytes, 1 + size % 7);
  WEFT_CHECK(log.has_value() == again.has_value());
  if (!log) return 0;
  WEFT_CHECK(log->wire.transfers.size() == again->wire.transfers.size());
  check_wire(log->wire);

  Run run;
  RankTrace trace;
  trace.file = "job/r0.json";
  trace.rank = log->from.rank;
  trace.process = log->from.process;
  trace.epoch = log->epoch;
  trace.lanes.push_back({});
  trace.events.add(EventKind::kHostOp, 0, 1000, 0, 0);
  run.ranks.push_back(std::move(trace));
  std::vector<Run> runs;
  runs.push_back(std::move(run));
  std::vector<ProbeLog> logs;
  logs.push_back(*again);
  Diagnostics diagnostics;
  attach(runs, std::move(logs), diagnostics);
  check_indices(runs[0].ranks[0]);
  check_wire(runs[0].ranks[0].wire);
  clock_ties(runs[0]);

  logs.clear();
  logs.push_back(std::move(*log));
  std::vector<FileTraces> files;
  turn_into_ranks(logs, files, diagnostics);
  for (const FileTraces& traces : files) {
    for (const RankTrace& rank : traces) check_indices(rank);
  }
  return 0;
}
