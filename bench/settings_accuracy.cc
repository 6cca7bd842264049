// SPDX-License-Identifier: Apache-2.0
// settings_accuracy [--markdown] [--no-worse] [--only=NAME] [TRACES_DIR]: measures how well Weft
// predicts the steps of recorded GPU jobs under settings that were not recorded. The jobs are those
// in bench/data/h200-settings and those with truth files in TRACES_DIR/h200-nccl. Prints every
// setting, and the figures with their bars.
// --no-worse uses only the jobs in bench/data, and compares the figures with the limits that an
// earlier version reached instead of with the bars. `make test` runs this.
// Exit status: 0 if no bar fails, 1 if one fails, 3 if a file could not be read.
#include <cstdio>
#include <string>
#include <string_view>

#include "bench/settings_bars.h"

namespace {

using namespace weft;
using namespace weft::accuracy;

// In this order: mean error, worst error, share of pairs in the right order, number of wrong
// directions, least and most share of measurements inside the error bars, half width of the error
// bars.
constexpr Limits kBars = {0.02, 0.06, 0.95, 0, 0.85, 0.97, 0.08};
constexpr Limits kBarsWithoutTable = {0.06, 1, 0.0, 0, 0.85, 0.97, 1};
/// What this version reaches on the jobs in bench/data.
constexpr Limits kReached = {0.006, 0.08, 0.98, 0, 0.82, 1, 0.088};
constexpr Limits kReachedWithoutTable = {0.01, 0.08, 0.98, 0, 0.85, 1, 0.115};

int fail_with(const std::string& what) {
  std::fprintf(stderr, "settings_accuracy: %s\n", what.c_str());
  return 3;
}

}  // namespace

int main(int argc, char** argv) {
  std::string folder = WEFT_SOURCE_DIR "/../shared/traces", only;
  bool markdown = false, no_worse = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--markdown") {
      markdown = true;
    } else if (argument == "--no-worse") {
      no_worse = true;
    } else if (argument.starts_with("--only=")) {
      only = argument.substr(7);
    } else {
      folder = argument;
    }
  }
  auto sets = recorded_settings(WEFT_SOURCE_DIR "/bench/data/h200-settings");
  if (!sets) return fail_with(sets.error().text());
  if (!no_worse) {
    const auto shared = shared_settings(folder + "/h200-nccl");
    if (!shared) return fail_with(shared.error().text());
    sets->insert(sets->end(), shared->begin(), shared->end());
  }
  std::vector<Compared> all;
  for (const SettingsSet& set : *sets) {
    if (!only.empty() && set.name != only) continue;
    const auto compared = compare_settings(set);
    if (!compared) return fail_with(set.name + ": " + compared.error().text());
    all.insert(all.end(), compared->begin(), compared->end());
  }
  const Table bars =
      figures_table(figures_of(all, true), no_worse ? kReached : kBars, figures_of(all, false),
                    no_worse ? kReachedWithoutTable : kBarsWithoutTable);
  const Table settings = settings_table(all);
  const auto text = [&](const Table& table) {
    return markdown ? as_markdown(table) : as_text(table);
  };
  std::printf("%s\n%s", text(settings).c_str(), text(bars).c_str());
  return bars.failed() ? 1 : 0;
}
