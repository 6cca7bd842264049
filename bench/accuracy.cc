// SPDX-License-Identifier: Apache-2.0
// accuracy [--markdown] [TRACES_DIR]: how close Weft's answers are to the truth, one table a bar.
// Exit status 0: every bar holds; 1: one fails; 3: something could not be read; 4: nothing to
// measure on. `accuracy --markdown > docs/reference/accuracy.md` regenerates that page.
#include <cstdio>
#include <string>
#include <string_view>

#include "bench/accuracy_bars.h"

namespace {

using namespace weft;
using namespace weft::accuracy;

constexpr const char* kPage =
    "# Accuracy\n\n"
    "How close Weft's answers are to the truth. `make accuracy` measures this page anew, on the\n"
    "recordings in `../shared/traces` (or in a folder of the same kind). MISSED marks a figure\n"
    "beyond its bar that the recording itself does not allow to be met.\n\n";

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
    std::printf("accuracy: no recordings at %s; name their folder\n", folder.c_str());
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
