// SPDX-License-Identifier: Apache-2.0
#include "weft/pipeline/recorded/ranks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "weft/trace/match/match.h"
#include "weft/trace/runs/runs.h"

namespace weft::pipeline::recorded {
namespace {

using Calls = std::vector<std::vector<trace::Call>>;

template <class Ranks>
std::string named(const Ranks& ranks) {
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", fmt::join(ranks, ", "));
}

tl::unexpected<Error> missing(const trace::Run& run, const std::string& why) {
  const trace::MissingRanks absent = trace::missing_ranks(run);
  const auto more = absent.count - static_cast<std::int64_t>(absent.first.size());
  return fail(
      ErrorCode::kUsage,
      fmt::format("{}{} of the job {} not recorded, but other ranks {}; give the files of all "
                  "ranks",
                  named(absent.first), more > 0 ? fmt::format(" and {} more", more) : "",
                  absent.count == 1 ? "is" : "are", why));
}

Status check_messages(const trace::Run& run, const Calls& calls) {
  std::set<std::int32_t> recorded, absent;
  for (const trace::RankTrace& trace : run.ranks) recorded.insert(trace.rank);
  for (const std::vector<trace::Call>& of_rank : calls) {
    for (const trace::Call& call : of_rank) {
      for (const trace::Message& message : call.messages) {
        if (message.peer >= 0 && !recorded.contains(message.peer)) absent.insert(message.peer);
      }
    }
  }
  if (absent.empty()) return {};
  return missing(run, "exchange messages with " + named(absent));
}

bool is_collective(const trace::Call& call) {
  return call.messages.empty() && call.group_size != 1;
}

}  // namespace

Status check_peers(const trace::Run& run) { return check_messages(run, trace::find_calls(run)); }

Status check_all_ranks(const trace::Run& run) {
  const Calls calls = trace::find_calls(run);
  WEFT_TRY(check_messages(run, calls));
  // Without collectives nothing waits for a missing replica.
  const bool alone = std::all_of(calls.begin(), calls.end(), [](const auto& of_rank) {
    return std::none_of(of_rank.begin(), of_rank.end(), is_collective);
  });
  if (alone || trace::missing_ranks(run).count == 0) return {};
  return missing(run, "may wait for them in collectives");
}

}  // namespace weft::pipeline::recorded
