// SPDX-License-Identifier: Apache-2.0
// Reads the folder of a recording. Besides traces and facts, processes leave hidden files in it:
//   * .<stem>.claim: made when a process has taken its first step. The process holds a lock (flock)
//     on it as long as it lives, so an unlocked claim belongs to a process that has ended. Before a
//     process stops the profiler of its framework, it writes the framework's name into its claim;
//     if the name is still there after its end, the process died while the profiler was stopping.
//   * .<stem>.part, .scratch, .window, .answer: temporary files of hooks and probes.
//   * .notes/: notes of Python processes that took no step.
#include "weft/record/folder.h"

#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <set>

#include "weft/base/decimal.h"
#include "weft/base/json/document.h"

namespace weft::record {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFacts = ".job.json";
constexpr std::string_view kLog = ".weftlog";
constexpr std::string_view kMpiLog = ".mpi.weftlog";
constexpr std::array<std::string_view, 7> kTraces = {
    ".kineto.json.gz", ".xplane.pb", ".mxnet.json", kLog, ".weft", kFacts, "horovod.json"};
constexpr const char* kNotes = ".notes";

std::string text_of(const JsonValue& object, std::string_view name) {
  const JsonValue* found = object.find(name);
  return found == nullptr || !found->is_string() ? "" : found->text;
}

std::int64_t number_of(const JsonValue& object, std::string_view name, std::int64_t missing) {
  const JsonValue* found = object.find(name);
  return found == nullptr ? missing : found->as_int().value_or(missing);
}

std::vector<std::string> texts_of(const JsonValue& object, std::string_view name) {
  std::vector<std::string> out;
  if (const JsonValue* found = object.find(name)) {
    for (const JsonValue& item : found->items) out.push_back(item.text);
  }
  return out;
}

std::vector<std::int64_t> numbers_of(const JsonValue& object, std::string_view name) {
  std::vector<std::int64_t> out;
  if (const JsonValue* found = object.find(name)) {
    for (const JsonValue& item : found->items) out.push_back(item.as_int().value_or(-1));
  }
  std::sort(out.begin(), out.end());
  return out;
}

/// Reads the facts of a process. Members that the file does not contain keep their defaults,
/// because another version of the hooks may have written fewer members.
JobFacts facts_of(const JsonValue& object) {
  JobFacts facts;
  facts.framework = text_of(object, "framework");
  facts.version = text_of(object, "framework_version");
  facts.rank = number_of(object, "rank", -1);
  facts.world = number_of(object, "world", -1);
  facts.role = text_of(object, "role");
  facts.host = text_of(object, "host");
  const std::vector<std::int64_t> asked = numbers_of(object, "asked_steps");
  if (asked.size() == 2) {
    facts.first_asked = asked[0];
    facts.last_asked = asked[1];
  }
  facts.steps_seen = number_of(object, "steps_seen", 0);
  facts.recorded_steps = numbers_of(object, "recorded_steps");
  facts.problems = texts_of(object, "problems");
  return facts;
}

/// All entries of a folder, including hidden ones; sorted. Empty if the folder does not exist.
Result<std::vector<fs::directory_entry>> entries_of(const fs::path& folder) {
  std::vector<fs::directory_entry> entries;
  std::error_code error;
  if (!fs::exists(folder, error)) return entries;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    entries.push_back(*it);
  }
  if (error) {
    return fail(ErrorCode::kIo, "cannot list the folder: " + error.message(), folder.string());
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

constexpr std::string_view kClaim = ".claim";

bool is_temporary(std::string_view name) {
  constexpr std::array<std::string_view, 5> kEndings = {kClaim, ".part", ".scratch", ".window",
                                                        ".answer"};
  return name.starts_with('.') &&
         std::any_of(kEndings.begin(), kEndings.end(),
                     [&](std::string_view ending) { return name.ends_with(ending); });
}

/// Whether the process that made the claim still holds its lock, that is, whether it still runs.
bool is_held(const fs::path& claim) {
  const int file = ::open(claim.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return false;
  // To find out whether a process holds the lock, try to take it. If this succeeds, no process
  // holds it, and close() releases it again.
  const bool held = ::flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  ::close(file);
  return held;
}

/// The content of a claim: the framework whose profiler the process was stopping; empty if none.
std::string stopping_profiler(const fs::path& claim) {
  std::string framework;
  std::getline(std::ifstream(claim), framework);
  return framework;
}

bool is_claim(std::string_view name) { return name.starts_with('.') && name.ends_with(kClaim); }

/// The prefix of all hidden files of each process that still runs: ".r0." for ".r0.claim".
std::vector<std::string> held_prefixes(const std::vector<fs::directory_entry>& entries) {
  std::vector<std::string> held;
  for (const fs::directory_entry& entry : entries) {
    const std::string name = entry.path().filename().string();
    if (is_claim(name) && is_held(entry.path())) {
      held.push_back(name.substr(0, name.size() - kClaim.size() + 1));
    }
  }
  return held;
}

}  // namespace

bool is_recording(std::string_view name) {
  return !name.starts_with('.') &&
         std::any_of(kTraces.begin(), kTraces.end(),
                     [&](std::string_view ending) { return name.ends_with(ending); });
}

std::int64_t rank_in_name(std::string_view name) {
  const std::size_t dot = name.find('.');
  if (!name.starts_with('r') || dot == std::string_view::npos) return -1;
  return parse_int(name.substr(1, dot - 1)).value_or(-1);
}

std::vector<std::int64_t> RecordedFolder::ranks() const {
  std::set<std::int64_t> found;
  for (const RecordedFile& file : traces) found.insert(rank_in_name(file.name));
  found.erase(-1);
  return {found.begin(), found.end()};
}

bool RecordedFolder::has_profile() const {
  return std::any_of(traces.begin(), traces.end(), [](const RecordedFile& file) {
    return !std::string_view(file.name).ends_with(kLog);
  });
}

bool RecordedFolder::has_mpi() const {
  return std::any_of(traces.begin(), traces.end(), [](const RecordedFile& file) {
    return std::string_view(file.name).ends_with(kMpiLog);
  });
}

std::int64_t RecordedFolder::world() const {
  std::int64_t largest = -1;
  for (const JobFacts& job : jobs) largest = std::max(largest, job.world);
  return largest;
}

Result<RecordedFolder> look_at(const std::string& folder) {
  RecordedFolder found;
  WEFT_ASSIGN(const std::vector<fs::directory_entry> entries, entries_of(folder));
  found.running = static_cast<std::int64_t>(held_prefixes(entries).size());
  for (const fs::directory_entry& entry : entries) {
    const std::string name = entry.path().filename().string();
    if (is_claim(name)) {
      ++found.claims;
      const std::string framework = stopping_profiler(entry.path());
      if (!framework.empty() && !is_held(entry.path())) {
        const std::string stem = name.substr(1, name.size() - 1 - kClaim.size());
        found.lost_in_profiler.push_back(stem + ", " + framework);
      }
    }
    if (!is_recording(name)) continue;
    if (name.ends_with(kFacts)) {
      if (const auto facts = read_json(entry.path().string())) {
        found.jobs.push_back(facts_of(*facts));
      }
      continue;
    }
    std::error_code ignored;
    found.traces.push_back({name, static_cast<Bytes>(entry.file_size(ignored))});
  }
  std::stable_sort(found.jobs.begin(), found.jobs.end(),
                   [](const JobFacts& a, const JobFacts& b) { return a.rank < b.rank; });
  WEFT_ASSIGN(const std::vector<fs::directory_entry> notes, entries_of(fs::path(folder) / kNotes));
  for (const fs::directory_entry& entry : notes) {
    const auto note = read_json(entry.path().string());
    if (!note) continue;
    found.notes.push_back(
        {text_of(*note, "program"), texts_of(*note, "frameworks"), texts_of(*note, "problems")});
  }
  return found;
}

Status clear_recording(const std::string& folder) {
  WEFT_ASSIGN(const std::vector<fs::directory_entry> entries, entries_of(folder));
  for (const fs::directory_entry& entry : entries) {
    if (!is_recording(entry.path().filename().string())) continue;
    std::error_code error;
    fs::remove(entry.path(), error);
    if (error) {
      return fail(ErrorCode::kIo, "cannot remove: " + error.message(), entry.path().string());
    }
  }
  tidy_up(folder);
  return {};
}

void tidy_up(const std::string& folder) {
  const auto entries = entries_of(folder);
  if (!entries) return;
  const std::vector<std::string> held = held_prefixes(*entries);
  std::error_code ignored;
  for (const fs::directory_entry& entry : *entries) {
    const std::string name = entry.path().filename().string();
    const bool in_use = std::any_of(held.begin(), held.end(), [&](const std::string& prefix) {
      return name.starts_with(prefix);
    });
    if (is_temporary(name) && !in_use) fs::remove_all(entry.path(), ignored);
  }
  // Notes do not tell whether their process still runs. So keep all notes while any process runs.
  if (held.empty()) fs::remove_all(fs::path(folder) / kNotes, ignored);
}

}  // namespace weft::record
