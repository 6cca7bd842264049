// SPDX-License-Identifier: Apache-2.0
#include "weft/trace/match/match.h"

#include <string>

#include "weft/base/parallel.h"
#include "weft/trace/match/match_context.h"
#include "weft/trace/match/phase_calls.h"

namespace weft::trace {
namespace {

constexpr DiagnosticKind kIncompleteCollective = {
    "incomplete-collective", Severity::kInfo,
    "a collective or message was recorded on only some of its ranks; it is kept with these ranks",
    "record one more step at the start and at the end: work that is under way when the recording "
    "starts or ends is cut off"};

}  // namespace

std::vector<std::vector<Call>> find_calls(const Run& run) {
  std::vector<std::vector<Call>> calls(run.ranks.size());
  parallel_for(run.ranks.size(), [&](std::size_t r) {
    const RankTrace& trace = run.ranks[r];
    calls[r] = communication_calls(trace, resolve_launches(trace));
    if (calls[r].empty() && !trace.phases.empty()) calls[r] = phase_calls(run, r);
  });
  return calls;
}

std::vector<Match> match_calls(const Run& run, const std::vector<std::vector<Call>>& calls,
                               Diagnostics& diagnostics) {
  MatchContext context{run, calls, diagnostics, RoughClocks(run.ranks.size()), {}, 0};
  // The order matters. Collectives tell most about the clocks of the ranks, so they come first.
  // Messages without a known peer are matched by time alone, so they need the best clocks and come
  // last.
  match_collectives(context);
  match_messages(context);
  match_nameless_messages(context);
  for (const Match& match : context.matches) {
    if (match.group_size <= 0 || match.complete()) continue;
    diagnostics.add(kIncompleteCollective,
                    "rank " + std::to_string(run.ranks[match.members.front().rank].rank) + ", " +
                        to_text(match.kind) + " " + std::to_string(match.sequence));
  }
  return std::move(context.matches);
}

std::vector<Match> match_calls(const Run& run, Diagnostics& diagnostics) {
  return match_calls(run, find_calls(run), diagnostics);
}

}  // namespace weft::trace
