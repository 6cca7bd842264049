// SPDX-License-Identifier: Apache-2.0
// accuracy [--markdown] [TRACES_DIR]: measures how close Weft's answers are to the truth. Each kind
// of answer has a bar, the largest error that is accepted. The program prints one table per bar.
// Exit status: 0 if no bar fails, 1 if one fails, 3 if a file could not be read, 4 if there are no
// recordings. `accuracy --markdown > docs/reference/accuracy.md` regenerates that page.
#include <cstdio>
#include <string>
#include <string_view>

#include "bench/accuracy_bars.h"

namespace {

using namespace weft;
using namespace weft::accuracy;

constexpr const char* kPage =
    "# Accuracy\n\n"
    "This page shows how close Weft's answers are to the truth. "
    "Every table has a *bar*: the largest\n"
    "error that is accepted. `make accuracy` measures all figures again, on the recordings in\n"
    "`../shared/traces` (or in another folder with the same layout). "
    "MISSED marks a figure that exceeds\n"
    "its bar because the recording itself allows no better figure.\n\n";

struct Bars {
  SelfReplayBar self_replay;
  HeldOutStepBar held_out;
  UnprofiledStepBar unprofiled;
  WhatIfBar what_if;
  StragglerBar stragglers;
  ClockBar clocks;

  Status add(const JobSet& set) {
    WEFT_ASSIGN(const predict::Job job, open(set));
    clocks.add(set.name, job.run);
    if (job.from_phases) return stragglers.add(set.name, job);
    self_replay.add(set, job);
    if (set.truth_ms.empty()) return {};
    WEFT_TRY(held_out.add(set, job));
    WEFT_TRY(unprofiled.add(set, job));
    return what_if.add(set, job);
  }

  std::vector<Table> tables() const {
    return {self_replay.table(), held_out.table(),   unprofiled.table(),
            what_if.table(),     stragglers.table(), clocks.table()};
  }
};

}  // namespace

int main(int argc, char** argv) {
  std::string folder = WEFT_SOURCE_DIR "/../shared/traces";
  bool markdown = false;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--markdown") {
      markdown = true;
    } else {
      folder = argv[i];
    }
  }
  const auto sets = find_sets(folder);
  if (!sets) {
    std::fprintf(stderr, "accuracy: %s\n", sets.error().text().c_str());
    return 3;
  }
  if (sets->empty()) {
    std::printf("accuracy: no recordings at %s; give the folder that contains them\n",
                folder.c_str());
    return 4;
  }
  Bars bars;
  for (const JobSet& set : *sets) {
    if (const Status status = bars.add(set); !status) {
      std::fprintf(stderr, "accuracy: %s: %s\n", set.name.c_str(), status.error().text().c_str());
      return 3;
    }
  }
  bool failed = false;
  if (markdown) std::fputs(kPage, stdout);
  bool first = true;
  for (const Table& table : bars.tables()) {
    if (table.rows.empty()) continue;
    if (!first) std::printf("\n");
    first = false;
    std::fputs((markdown ? as_markdown(table) : as_text(table)).c_str(), stdout);
    failed = failed || table.failed();
  }
  return failed ? 1 : 0;
}
