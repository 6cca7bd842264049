// SPDX-License-Identifier: Apache-2.0
#include "cli/loading.h"

#include <chrono>

#include "cli/shell/interrupt.h"
#include "cli/shell/progress.h"
#include "weft/base/parallel.h"

namespace weft::cli {

std::vector<Flag> loading_flags() {
  return {{"--run", "N", "which run, if the input holds several: its number (from 1) or label",
           Flag::Value::kText},
          {"--strict", "", "exit with 3 if there is any warning or loss of data"},
          {"--threads", "N", "number of threads; default: 0, which means all cores",
           Flag::Value::kWhole}};
}

void set_threads(const Arguments& arguments) {
  set_max_threads(static_cast<std::size_t>(arguments.whole("--threads").value_or(0)));
}

std::function<bool(std::int64_t, std::int64_t)> reading_progress(Progress& progress) {
  return
      [&progress, begin = std::chrono::steady_clock::now()](std::int64_t done, std::int64_t total) {
        const auto passed = std::chrono::steady_clock::now() - begin;
        progress.show(transfer_line("reading", done, total, passed));
        return !interrupted();
      };
}

namespace {

Result<trace::Recording> load(const std::vector<std::string>& inputs, const std::string& run,
                              const Arguments& arguments, const Console& console,
                              Diagnostics& diagnostics) {
  // Every verb that reads traces has --threads and loads before it computes, so set it here.
  set_threads(arguments);
  trace::LoadOptions options;
  options.run = run;
  Progress progress(console.err);
  options.progress = reading_progress(progress);
  return trace::load(inputs, options, diagnostics);
}

std::string run_of(const Arguments& arguments, const char* flag) {
  return arguments.has(flag) ? arguments.all(flag).back() : "";
}

Result<predict::Job> open_job(const std::vector<std::string>& inputs, const std::string& run,
                              const Arguments& arguments, const Console& console,
                              Diagnostics& diagnostics) {
  WEFT_ASSIGN(trace::Recording recording, load(inputs, run, arguments, console, diagnostics));
  Progress progress(console.err);
  progress.show("building the graph");
  return predict::make_job(std::move(recording), diagnostics);
}

}  // namespace

Result<trace::Recording> load_inputs(const Arguments& arguments, const Console& console,
                                     Diagnostics& diagnostics) {
  return load(arguments.inputs, run_of(arguments, "--run"), arguments, console, diagnostics);
}

Result<predict::Job> open_job(const Arguments& arguments, const Console& console,
                              Diagnostics& diagnostics) {
  return open_job(arguments.inputs, run_of(arguments, "--run"), arguments, console, diagnostics);
}

Result<predict::Job> open_job(const std::string& input, const char* run_flag,
                              const Arguments& arguments, const Console& console,
                              Diagnostics& diagnostics) {
  return open_job(std::vector{input}, run_of(arguments, run_flag), arguments, console, diagnostics);
}

}  // namespace weft::cli
