// SPDX-License-Identifier: Apache-2.0
#include "bench/accuracy_sets.h"

#include <algorithm>
#include <filesystem>

#include "weft/base/json/document.h"
#include "weft/trace/match/multi_rank_sets.h"

namespace weft::accuracy {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kTruth = ".truth.json";

Result<JobSet> job_of_truth(const fs::path& truth) {
  JobSet set;
  const std::string file = truth.filename().string();
  set.name = file.substr(0, file.size() - kTruth.size());
  set.inputs = {(truth.parent_path() / (set.name + "-r*")).string()};
  WEFT_ASSIGN(const JsonValue document, read_json(truth.string()));
  const JsonValue* world = document.find("world");
  const JsonValue* variants = document.find("variants");
  if (!world || !world->as_int() || !variants || !variants->is_object()) {
    return fail(ErrorCode::kBadInput, "a truth file needs the fields 'world' and 'variants'",
                truth.string());
  }
  for (std::size_t i = 0; i < variants->items.size(); ++i) {
    const JsonValue* time = variants->items[i].find("pipelined_ms");
    const auto ms = time ? time->as_double() : std::nullopt;
    if (ms && *ms > 0) set.truth_ms[variants->keys[i]] = *ms;
  }
  const fs::path table = truth.parent_path() / ("allreduce-w" + world->text + ".json");
  if (fs::exists(table)) {
    WEFT_ASSIGN(set.links, cost::read_links(table.string()));
  }
  return set;
}

}  // namespace

Result<std::vector<JobSet>> find_sets(const std::string& folder) {
  std::vector<JobSet> sets;
  for (const trace::MultiRankSet& known : trace::multi_rank_sets(folder)) {
    const std::string& input = known.inputs.front();
    // The recordings in h200-nccl have truth files, which the search below finds.
    if (input.find("/h200-nccl/") != std::string::npos || !expand_inputs(known.inputs)) continue;
    const std::string name =
        known.phases ? known.name.substr(known.name.find(' ') + 1) : known.name;
    sets.push_back({name, known.inputs, known.run, {}, {}});
  }
  std::vector<fs::path> truths;
  std::error_code ignored;  // a folder that may not be read is treated as empty
  for (const auto& entry : fs::recursive_directory_iterator(
           folder, fs::directory_options::skip_permission_denied, ignored)) {
    if (entry.path().filename().string().ends_with(kTruth)) truths.push_back(entry.path());
  }
  std::sort(truths.begin(), truths.end());
  for (const fs::path& truth : truths) {
    WEFT_ASSIGN(JobSet set, job_of_truth(truth));
    sets.push_back(std::move(set));
  }
  return sets;
}

Result<predict::Job> open(const JobSet& set) {
  Diagnostics diagnostics;
  trace::LoadOptions options;
  options.run = set.run;
  return predict::open_job(set.inputs, options, diagnostics);
}

}  // namespace weft::accuracy
