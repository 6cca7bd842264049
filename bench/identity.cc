// SPDX-License-Identifier: Apache-2.0
// identity [TRACES_DIR]: changes recorded GPU jobs in ways that change nothing, and prints by how
// much the predicted step differs from the baseline. The jobs are those of bench/settings_accuracy.
// "rebuilt" removes all recorded buckets and builds buckets with the same gradients. So it shows
// whether a new bucket behaves like a recorded one.
// Exit status: 0 if no difference is above the bar, 1 if one is, 3 if a file could not be read.
#include <cmath>
#include <cstdio>
#include <string>

#include "bench/accuracy_table.h"
#include "bench/settings_sets.h"
#include "weft/predict/buckets.h"
#include "weft/predict/predict.h"

namespace {

using namespace weft;
using namespace weft::accuracy;

constexpr double kBar = 0.002;

/// Returns the step of the job with all its buckets built anew.
Result<predict::StepPrediction> with_rebuilt_buckets(const predict::Job& job,
                                                     const predict::Predictor& predictor,
                                                     const std::vector<cost::LinkTable>& links) {
  using predict::GradientBuckets;
  const graph::Graph& clean = predictor.clean();
  WEFT_ASSIGN(const GradientBuckets buckets, GradientBuckets::find(clean));
  WEFT_ASSIGN(const graph::Edit edit,
              buckets.replace(buckets.recorded(), cost::LinkModel(links, job.graph),
                              GradientBuckets::Keep::kNone));
  WEFT_ASSIGN(const graph::Graph rebuilt, graph::apply(clean, edit));
  return predictor.settle(rebuilt);
}

Status add_rows(const SettingsSet& set, bool with_table, Table& table) {
  Diagnostics ignored;
  WEFT_ASSIGN(const predict::Job job, predict::open_job(set.inputs, {}, ignored));
  predict::PredictOptions options;
  if (with_table) options.links = set.links;
  WEFT_ASSIGN(const predict::Predictor predictor, predict::Predictor::make(job, options));
  WEFT_ASSIGN(const predict::StepPrediction baseline, predictor.baseline());
  const auto add = [&](const std::string& change, const Result<predict::StepPrediction>& step) {
    if (!step) return;  // the job has no buckets, or communicates in groups
    const auto before = static_cast<double>(baseline.step), after = static_cast<double>(step->step);
    table.add({set.name, with_table ? "yes" : "no", change, fixed(before / 1e6, 3),
               fixed(after / 1e6, 3), signed_per_cent(after / before - 1, 3)},
              at_most(std::abs(after / before - 1), kBar));
  };
  const std::string ranks = std::to_string(job.run.world);
  for (const std::string& change : {std::string("ddp.buckets=recorded"), std::string("compute=1x"),
                                    std::string("network.bandwidth=1x"), "workers=" + ranks}) {
    WEFT_ASSIGN(const predict::WhatIf what_if, predict::parse_what_if(change));
    add(change, predictor.ask({what_if}));
  }
  add("buckets rebuilt", with_rebuilt_buckets(job, predictor, options.links));
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : WEFT_SOURCE_DIR "/../shared/traces";
  const auto fail_with = [](const Error& error) {
    std::fprintf(stderr, "identity: %s\n", error.text().c_str());
    return 3;
  };
  auto sets = recorded_settings(WEFT_SOURCE_DIR "/bench/data/h200-settings");
  if (!sets) return fail_with(sets.error());
  const auto shared = shared_settings(folder + "/h200-nccl");
  if (!shared) return fail_with(shared.error());
  sets->insert(sets->end(), shared->begin(), shared->end());
  Table table{"Changes that change nothing",
              "The bar is a difference of at most 0.2 % of the step.",
              {"recording", "link table", "change", "baseline ms", "changed ms", "difference"},
              {}};
  for (const SettingsSet& set : *sets) {
    for (const bool with_table : {true, false}) {
      if (const Status status = add_rows(set, with_table, table); !status) {
        return fail_with(status.error());
      }
    }
  }
  std::printf("%s", as_text(table).c_str());
  return table.failed() ? 1 : 0;
}
