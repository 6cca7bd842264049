// SPDX-License-Identifier: Apache-2.0
#include "weft/trace/runs/job_facts.h"

#include <cmath>
#include <filesystem>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "weft/base/file.h"
#include "weft/base/json/document.h"

namespace weft::trace {
namespace {

constexpr std::string_view kEnding = ".job.json";
/// A larger file is not read. A file with facts has a few hundred bytes, and one number per step of
/// the job.
constexpr std::uintmax_t kLargest = 16 << 20;
constexpr double kLongestStepMs = 1e12;  ///< times beyond this are damaged

/// Returns the path of the file with facts: "traces/r0.kineto.json.gz" -> "traces/r0.job.json".
std::filesystem::path facts_beside(const RankTrace& trace) {
  const std::filesystem::path file(trace.file);
  const std::string name = file.filename().string();
  return file.parent_path() / (name.substr(0, name.find('.')) + std::string(kEnding));
}

std::optional<JsonValue> read_facts(const RankTrace& trace) {
  const std::filesystem::path facts = facts_beside(trace);
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(facts, error);
  if (error || size > kLargest) return std::nullopt;
  const Result<std::string> text = read_file(facts.string());
  if (!text) return std::nullopt;
  Result<JsonValue> job = parse_json(*text, facts.string());
  if (!job) return std::nullopt;
  return std::move(*job);
}

}  // namespace

/// These are the steps that are neither recorded nor disturbed by the profiler. "step_ms" has the
/// time of each step from step 0 on, or null.
std::vector<UnprofiledStep> unprofiled_steps(const RankTrace& trace) {
  const std::optional<JsonValue> job = read_facts(trace);
  const JsonValue* times = job ? job->find("step_ms") : nullptr;
  if (times == nullptr || !times->is_array()) return {};
  std::set<std::int64_t> profiled;
  for (const char* list : {"recorded_steps", "disturbed_steps"}) {
    const JsonValue* steps = job->find(list);
    if (steps == nullptr || !steps->is_array()) return {};
    for (const JsonValue& step : steps->items) profiled.insert(step.as_int().value_or(-1));
  }
  std::vector<UnprofiledStep> steps;
  std::int64_t number = -1;
  for (const JsonValue& time : times->items) {
    ++number;
    const double ms = time.as_double().value_or(0);
    if (!(ms > 0) || ms > kLongestStepMs || profiled.contains(number)) continue;
    steps.push_back({number, std::llround(ms * kMillisecond)});
  }
  return steps;
}

bool is_job_facts(const std::string& file) { return file.ends_with(kEnding); }

bool has_job_facts(const RankTrace& trace) {
  std::error_code ignored;
  return std::filesystem::exists(facts_beside(trace), ignored);
}

void add_job_facts(RankTrace& trace) {
  if (!trace.host.empty() && trace.process >= 0) return;
  const std::optional<JsonValue> job = read_facts(trace);
  if (!job) return;
  const JsonValue* host = job->find("host");
  const JsonValue* process = job->find("pid");
  if (trace.host.empty() && host != nullptr && host->is_string()) trace.host = host->text;
  if (trace.process < 0 && process != nullptr) trace.process = process->as_int().value_or(-1);
}

}  // namespace weft::trace
