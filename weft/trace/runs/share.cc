// SPDX-License-Identifier: Apache-2.0
#include "weft/trace/runs/share.h"

#include <filesystem>
#include <map>
#include <utility>

#include "weft/base/file.h"
#include "weft/trace/runs/file_name.h"
#include "weft/trace/runs/recognise.h"
#include "weft/trace/runs/services.h"

namespace weft::trace {
namespace {

// Returns the rank in the file's name; -1 if there is none. The number in "node1-4711.wire.weftlog"
// is a process id, because a probe starts before the rank is known.
std::int32_t rank_of(const std::string& file) {
  const bool named_by_process = file.ends_with(".weftlog") && !name_before_rank(file).empty();
  return named_by_process ? -1 : rank_from_name(file);
}

// Whether the file is an execution trace or a log of a probe. False for an unreadable file: it goes
// to one process only, which then reports the error.
bool is_companion(const std::string& file) {
  const auto source = open_file(file);
  if (!source) return false;
  const auto head = read_up_to(**source, kHeadSize);
  return head && recognise(*head).companion();
}

}  // namespace

std::vector<std::string> files_of_share(const std::vector<std::string>& sorted,
                                        const Share& share) {
  if (!share.divided()) return sorted;
  std::vector<std::string> mine;
  // The turn of a rank is its position in the order of the ranks' first files. With n processes,
  // process i gets the ranks with turns i, i + n, i + 2n and so on. All processes see the same
  // sorted list, so they agree without communication.
  std::map<std::pair<std::string, std::int32_t>, std::int64_t> turn_of_rank;
  std::int64_t turns = 0;
  bool has_recording = false;
  for (const std::string& file : sorted) {
    const std::int32_t rank = rank_of(file);
    if (is_service_file(file) || (rank < 0 && is_companion(file))) {
      mine.push_back(file);
      continue;
    }
    std::int64_t turn = turns;
    if (rank >= 0) {
      const std::string folder = std::filesystem::path(file).parent_path().string();
      turn = turn_of_rank.try_emplace({folder, rank}, turns).first->second;
    }
    if (turn == turns) ++turns;
    if (turn % share.count != share.index) continue;
    mine.push_back(file);
    has_recording = true;
  }
  // Without a trace, this process has nothing to which it could attach the files that every process
  // gets.
  if (!has_recording) mine.clear();
  return mine;
}

}  // namespace weft::trace
