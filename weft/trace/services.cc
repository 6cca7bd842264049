// SPDX-License-Identifier: Apache-2.0
#include "weft/trace/services.h"

#include <algorithm>
#include <filesystem>
#include <string>

namespace weft::trace {
namespace {

constexpr DiagnosticKind kLent{
    "steps-of-chief", Severity::kInfo,
    "ranks take no steps of their own; those that their chief marked were taken, by its clock",
    "nothing needs to be done, unless the clocks of the hosts are far apart"};

std::filesystem::path folder_of(const RankTrace& trace) {
  return std::filesystem::path(trace.file).parent_path();
}

void lend_steps(const RankTrace& chief, RankTrace& rank, Diagnostics& diagnostics) {
  const Nanos shift = chief.epoch - rank.epoch;
  const auto lane = static_cast<std::uint32_t>(rank.lanes.size());
  rank.lanes.push_back({false, 0, static_cast<std::int64_t>(lane), -1, "steps of the chief"});
  for (const StepMark& step : chief.steps) {
    rank.steps.push_back({step.number, lane, step.start + shift, step.end + shift});
  }
  diagnostics.add(kLent, "rank " + std::to_string(rank.rank) + ": " + chief.file);
}

}  // namespace

bool is_service_file(std::string_view path) {
  path.remove_prefix(std::min(path.find_last_of('/') + 1, path.size()));
  if (path.starts_with("chief.")) return true;
  constexpr std::string_view kServer = "server";
  if (!path.starts_with(kServer)) return false;
  path.remove_prefix(kServer.size());
  const std::size_t digits = path.find_first_not_of("0123456789");
  return digits != 0 && digits != std::string_view::npos && path[digits] == '.';
}

void attach_services(std::vector<Run>& runs, std::vector<RankTrace>& services,
                     Diagnostics& diagnostics) {
  std::vector<RankTrace> left;
  for (RankTrace& service : services) {
    const auto run = std::find_if(runs.begin(), runs.end(), [&](const Run& r) {
      return folder_of(r.ranks.front()) == folder_of(service);
    });
    service.rank = -1;
    (run == runs.end() ? left : run->services).push_back(std::move(service));
  }
  services = std::move(left);
  for (Run& run : runs) {
    std::stable_sort(run.services.begin(), run.services.end(),
                     [](const RankTrace& a, const RankTrace& b) { return a.file < b.file; });
    const auto chief = std::find_if(run.services.begin(), run.services.end(),
                                    [](const RankTrace& s) { return !s.steps.empty(); });
    if (chief == run.services.end()) continue;
    for (RankTrace& rank : run.ranks) {
      if (rank.steps.empty()) lend_steps(*chief, rank, diagnostics);
    }
  }
}

}  // namespace weft::trace
