// SPDX-License-Identifier: Apache-2.0
#include "weft/record/environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "weft/base/decimal.h"

namespace weft::record {
namespace {

/// A list of "NAME=value" entries.
class Environment {
 public:
  explicit Environment(std::vector<std::string> entries) : entries_(std::move(entries)) {}

  void set(const std::string& name, const std::string& value) {
    const std::string entry = name + "=" + value;
    const auto at = find(name);
    if (at == entries_.end()) {
      entries_.push_back(entry);
    } else {
      *at = entry;
    }
  }
  void set_if_unset(const std::string& name, const std::string& value) {
    if (find(name) == entries_.end()) set(name, value);
  }
  void put_in_front(const std::string& name, const std::string& value, char separator) {
    const auto at = find(name);
    const std::string rest = at == entries_.end() ? "" : at->substr(name.size() + 1);
    set(name, rest.empty() ? value : value + separator + rest);
  }
  std::vector<std::string> take() { return std::move(entries_); }

 private:
  std::vector<std::string>::iterator find(const std::string& name) {
    return std::find_if(entries_.begin(), entries_.end(), [&](const std::string& entry) {
      return entry.starts_with(name) && entry.size() > name.size() && entry[name.size()] == '=';
    });
  }
  std::vector<std::string> entries_;
};

}  // namespace

Result<Steps> parse_steps(std::string_view text) {
  const std::size_t dots = text.find("..");
  const std::string_view first = text.substr(0, dots);
  const std::string_view last = dots == std::string_view::npos ? first : text.substr(dots + 2);
  const auto from = parse_int(first);
  const auto to = parse_int(last);
  if (!from || !to || *from < 0) {
    return fail(ErrorCode::kUsage,
                fmt::format("--steps: '{}' is not a range of steps such as 10..14", text));
  }
  if (*from == 0) {
    return fail(ErrorCode::kUsage,
                "--steps: step 0 cannot be recorded, because its beginning is unknown; record step "
                "1 or later");
  }
  if (*to < *from) {
    return fail(ErrorCode::kUsage, fmt::format("--steps: {} ends before it begins", text));
  }
  return Steps{*from, *to};
}

std::string to_text(const Steps& steps) { return fmt::format("{}..{}", steps.first, steps.last); }

std::vector<std::string> recording_environment(const Request& request, const Parts& parts,
                                               std::vector<std::string> inherited) {
  Environment environment(std::move(inherited));
  std::string options;
  for (const auto& [name, on] : {std::pair{"shapes", request.shapes},
                                 {"memory", request.memory},
                                 {"stacks", request.stacks}}) {
    if (on) options += std::string(options.empty() ? "" : ",") + name;
  }
  environment.set("WEFT_RECORD", request.folder);
  environment.set("WEFT_RECORD_STEPS", to_text(request.steps));
  environment.set("WEFT_RECORD_OPTIONS", options);
  // MPI programs have no hook that starts the probes, so the probes must not wait for one.
  environment.set("WEFT_RECORD_WAIT", request.mpi ? "0" : "1");
  if (!parts.bootstrap.empty()) environment.put_in_front("PYTHONPATH", parts.bootstrap, ':');
  if (request.wire && !parts.wire.empty()) environment.put_in_front("LD_PRELOAD", parts.wire, ':');
  if (request.mpi && !parts.mpi.empty()) environment.put_in_front("LD_PRELOAD", parts.mpi, ':');
  if (!parts.nccl.empty()) environment.set_if_unset("NCCL_PROFILER_PLUGIN", parts.nccl);
  // Horovod's coordinator writes one timeline for all ranks. With its response cache, the timeline
  // would not show when each rank was ready, so the cache is switched off.
  environment.set_if_unset("HOROVOD_TIMELINE", request.folder + "/horovod.json");
  environment.set_if_unset("HOROVOD_CACHE_CAPACITY", "0");
  return environment.take();
}

}  // namespace weft::record
