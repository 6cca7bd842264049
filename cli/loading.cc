// SPDX-License-Identifier: Apache-2.0
#include "cli/loading.h"

#include <chrono>

#include "cli/interrupt.h"
#include "cli/progress.h"
#include "weft/base/parallel.h"

namespace weft::cli {

std::vector<Flag> loading_flags() {
  return {
      {"--run", "N", "which run, where the input holds several: its number or label",
       Flag::Value::kText},
      {"--strict", "", "fail (3) on the first warning or loss of data"},
      {"--threads", "N", "threads to use; 0, the default, means all cores", Flag::Value::kWhole}};
}

namespace {

Result<trace::Recording> load(const std::vector<std::string>& inputs, const std::string& run,
                              const Arguments& arguments, const Console& console,
                              Diagnostics& diagnostics) {
  set_max_threads(static_cast<std::size_t>(arguments.whole("--threads").value_or(0)));
  trace::LoadOptions options;
  options.run = run;
  Progress progress(console.err);
  const auto begin = std::chrono::steady_clock::now();
  options.progress = [&](std::int64_t done, std::int64_t total) {
    const auto passed = std::chrono::steady_clock::now() - begin;
    progress.show(transfer_line("reading", done, total, passed));
    return !interrupted();
  };
  return trace::load(inputs, options, diagnostics);
}

}  // namespace

Result<trace::Recording> load_inputs(const Arguments& arguments, const Console& console,
                                     Diagnostics& diagnostics) {
  const std::string run = arguments.has("--run") ? arguments.all("--run").back() : "";
  return load(arguments.inputs, run, arguments, console, diagnostics);
}

Result<trace::Recording> load_input(const std::string& input, const std::string& run,
                                    const Arguments& arguments, const Console& console,
                                    Diagnostics& diagnostics) {
  return load({input}, run, arguments, console, diagnostics);
}

}  // namespace weft::cli
