// SPDX-License-Identifier: Apache-2.0
// Reads an export in this order: open the database, find the ranks (workers.h), read facts about
// the machine, read the events of all ranks in one pass over the tables (events.h), choose the
// marks of steps, and number the ranks. The ranks are numbered last, because their numbers come
// from the ranges of NCCL, which are read together with the other events.
#include "weft/trace/formats/nsys/nsys.h"

#include <algorithm>
#include <utility>

#include "weft/trace/clock/check.h"
#include "weft/trace/formats/nccl/ranks.h"
#include "weft/trace/formats/nsys/database.h"
#include "weft/trace/formats/nsys/events.h"
#include "weft/trace/formats/nsys/machine.h"
#include "weft/trace/formats/nsys/workers.h"
#include "weft/trace/runs/file_name.h"

namespace weft::trace {
namespace {

using nsys::Database;
using nsys::Draft;
using nsys::Machine;
using nsys::StepCandidate;
using nsys::StepSort;
using nsys::Workers;

constexpr DiagnosticKind kRowWithoutTime{"event-without-time", Severity::kDataLoss,
                                         "events without a usable start or duration were left out",
                                         "export the recording again with a current nsys"};
constexpr DiagnosticKind kNegative{"negative-duration", Severity::kWarning,
                                   "negative durations were set to 0",
                                   "the profiler's clock went backwards; record again"};
constexpr DiagnosticKind kOpen{"open-ranges", Severity::kInfo,
                               "NVTX ranges that were still open when the recording ended were "
                               "left out",
                               "nothing needs to be done"};
constexpr DiagnosticKind kHelpers{"helper-processes", Severity::kInfo,
                                  "events of processes that ran no kernels were left out",
                                  "nothing needs to be done"};
constexpr DiagnosticKind kOrdered{
    "rank-by-order", Severity::kInfo,
    "the file does not name the ranks; they were numbered in order of their GPUs",
    "export with --include-json=true: NCCL's own NVTX ranges name the ranks"};

constexpr std::string_view kMagic{"SQLite format 3\0", 16};

/// Chooses the ranges that mark steps. Several kinds of ranges may look like steps. Takes the most
/// explicit kind that the rank has. If several threads have ranges of this kind, takes the ranges
/// of the thread that has the most.
void choose_steps(Draft& draft) {
  StepSort best = StepSort::kNone;
  for (const StepCandidate& step : draft.steps) best = std::min(best, step.text.sort);
  std::map<std::uint32_t, std::vector<StepMark>> by_lane;
  for (const StepCandidate& step : draft.steps) {
    if (step.text.sort == best) by_lane[step.mark.lane].push_back(step.mark);
  }
  std::vector<StepMark>& steps = draft.trace.steps;
  for (auto& [lane, marks] : by_lane) {
    if (marks.size() > steps.size()) steps = std::move(marks);
  }
  std::stable_sort(steps.begin(), steps.end(),
                   [](const StepMark& a, const StepMark& b) { return a.start < b.start; });
  if (best == StepSort::kUnnumbered) {
    // A single range "training step" without a number may be anything. Several such ranges are the
    // steps of a loop.
    if (steps.size() < 2) steps.clear();
    for (std::size_t i = 0; i < steps.size(); ++i) {
      steps[i].number = static_cast<std::int64_t>(i);
    }
  }
}

/// Numbers a rank that is alone in its file: by the environment of nsys, else by the file name.
void number_single(RankTrace& trace, const Machine& machine, const std::string& file) {
  trace.rank = machine.rank >= 0 ? machine.rank : rank_from_name(file);
  trace.world = machine.rank >= 0 ? machine.world : -1;
}

/// Numbers the ranks by NCCL's communicators. If the communicators do not distinguish all ranks, a
/// single rank is numbered by number_single(), and several ranks are numbered by their order.
void number_ranks(std::vector<Draft>& drafts, const Machine& machine, const std::string& file,
                  Diagnostics& diagnostics) {
  std::vector<std::vector<nccl::Membership>> memberships(drafts.size());
  for (std::size_t i = 0; i < drafts.size(); ++i) {
    for (const auto& [name, payload] : drafts[i].communicators) {
      memberships[i].push_back({name, payload.ranks, payload.rank});
    }
  }
  const std::vector<nccl::Place> places = nccl::place_workers(memberships);
  const bool told = places.front().rank >= 0;
  for (std::size_t i = 0; i < drafts.size(); ++i) {
    drafts[i].trace.rank = told ? places[i].rank : static_cast<std::int32_t>(i);
    drafts[i].trace.world = places[i].world;
  }
  if (told) return;
  if (drafts.size() == 1) return number_single(drafts.front().trace, machine, file);
  diagnostics.add(kOrdered, file);
}

/// NCCL names the peer of a message by its rank within the communicator. This is the rank in the
/// job only if the communicator contains all ranks. The peers of other messages stay unknown.
void name_peers(Draft& draft) {
  RankTrace& trace = draft.trace;
  for (const nsys::PeerInGroup& message : draft.peers) {
    const auto group = draft.communicators.find(message.communicator);
    if (group == draft.communicators.end() || group->second.ranks != trace.world) continue;
    if (message.peer >= trace.world) continue;
    CollectiveDetail& detail = trace.collectives[message.collective];
    const auto peer = static_cast<std::int32_t>(message.peer);
    const bool send = trace.names.text(detail.name) == "send";
    detail.src = send ? trace.rank : peer;
    detail.dst = send ? peer : trace.rank;
  }
}

class NsysReader final : public Reader {
 public:
  const char* name() const override { return "nsys"; }
  const char* description() const override {
    return "Nsight Systems recordings exported with nsys export --type sqlite";
  }

  int recognise(std::string_view head) const override {
    if (!head.starts_with(kMagic)) return 0;
    const auto has = [&](std::string_view word) { return head.find(word) != head.npos; };
    return has("CUPTI_ACTIVITY") || has("NVTX_EVENTS") || has("StringIds") ? 98 : 50;
  }

  Result<std::vector<RankTrace>> read(ByteSource& source, const ReadOptions& options,
                                      Diagnostics& diagnostics) const override {
    WEFT_ASSIGN(const auto database, Database::open(source, options.progress));
    if (!database->has_table("StringIds")) {
      return fail(ErrorCode::kBadInput,
                  "this SQLite database is not an export of Nsight Systems (it has no table "
                  "StringIds); export the recording with nsys export --type sqlite",
                  source.name());
    }
    WEFT_ASSIGN(const Workers workers, Workers::find(*database));
    WEFT_ASSIGN(const Machine machine, nsys::read_machine(*database));
    std::vector<Draft> drafts(workers.all().size());
    for (std::size_t i = 0; i < drafts.size(); ++i) {
      drafts[i].trace.process = nsys::pid_of(workers.all()[i].process);
    }
    nsys::Events events(*database, workers, drafts);
    WEFT_TRY(events.read());
    std::erase_if(drafts, [](const Draft& draft) { return draft.trace.events.size() == 0; });
    if (drafts.empty()) {
      return fail(ErrorCode::kBadInput,
                  "no event of this export has a usable time; export it again with a current nsys",
                  source.name());
    }
    for (Draft& draft : drafts) {
      RankTrace& trace = draft.trace;
      trace.file = source.name();
      trace.format = name();
      trace.host = machine.host;
      trace.devices = machine.devices;
      trace.epoch = machine.epoch;
      trace.facts.device_events = true;
      trace.facts.sync_events = draft.resolved_waits > 0;
      choose_steps(draft);
    }
    number_ranks(drafts, machine, source.name(), diagnostics);
    report(events.losses(), source.name(), diagnostics);
    std::vector<RankTrace> traces;
    for (Draft& draft : drafts) {
      name_peers(draft);
      WEFT_TRY(check_clock(draft.trace, diagnostics));
      traces.push_back(std::move(draft.trace));
    }
    return traces;
  }

 private:
  static void report(const nsys::Losses& losses, const std::string& file,
                     Diagnostics& diagnostics) {
    diagnostics.add(kRowWithoutTime, file, losses.without_time);
    diagnostics.add(kNegative, file, losses.negative);
    diagnostics.add(kOpen, file, losses.open_ranges);
    diagnostics.add(kHelpers, file, losses.helper_events);
  }
};

}  // namespace

std::unique_ptr<Reader> make_nsys_reader() { return std::make_unique<NsysReader>(); }

}  // namespace weft::trace
