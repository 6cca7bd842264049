// SPDX-License-Identifier: Apache-2.0
// Measures Weft on a job of a thousand ranks. It makes such a job from copies of a small recording,
// writes it as packed files, and runs `weft info`, `replay`, `diagnose` and `report` on it. Prints
// wall time, processor time and peak memory of each command. With FOLDER the files are kept. Usage:
// thousand_ranks WEFT [RANKS [RECORDING [FOLDER]]] The exit status is 0 if `weft replay` meets its
// bar and no command fails, 4 if the recording does not exist, and 1 otherwise.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "weft/base/file.h"
#include "weft/base/parallel.h"
#include "weft/trace/formats/packed/packed.h"
#include "weft/trace/runs/copied_job.h"
#include "weft/trace/runs/load.h"

namespace {

using namespace weft;
namespace fs = std::filesystem;

/// The bar for `weft replay` on two cores.
constexpr double kMostSeconds = 60;
constexpr double kMostGigabytes = 16;
constexpr int kNothingToMeasure = 4;

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

struct Cost {
  int status = -1;
  double wall = 0, processor = 0, gigabytes = 0;
};

/// Runs a program with its output discarded. It uses fork() and wait4() because only wait4() tells
/// processor time and peak memory of this one child.
Cost run(std::vector<std::string> words) {
  const auto begin = std::chrono::steady_clock::now();
  std::fflush(stdout);  // otherwise the child inherits the buffer and prints it again
  const pid_t child = ::fork();
  if (child == 0) {
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    if (std::freopen("/dev/null", "w", stdout) == nullptr) ::_exit(127);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  Cost cost;
  rusage usage{};
  int status = 0;
  if (child < 0 || ::wait4(child, &status, 0, &usage) != child) return cost;
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
  cost.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  cost.wall = passed.count();
  cost.processor = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  cost.gigabytes = static_cast<double>(usage.ru_maxrss) * 1024 / 1e9;
  return cost;
}

/// Writes one packed file per rank into `folder` and returns the number of written bytes. The
/// number of ranks is rounded down to a multiple of the number of recorded ranks.
Result<std::int64_t> make_job(const std::string& recording, std::int32_t ranks,
                              const fs::path& folder) {
  Diagnostics diagnostics;
  WEFT_ASSIGN(const trace::Recording loaded, trace::load({recording}, {}, diagnostics));
  const trace::Run& small = loaded.runs.front();
  const auto world = static_cast<std::int32_t>(small.ranks.size());
  trace::CopyOptions options;
  options.copies = ranks / world;
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(options.copies) * small.ranks.size());
  std::vector<Status> written(sizes.size());
  parallel_for(sizes.size(), [&](std::size_t i) {
    const auto copy = static_cast<std::int32_t>(i / small.ranks.size());
    const trace::RankTrace rank =
        trace::copy_rank(small.ranks[i % small.ranks.size()], world, copy, options);
    const std::string bytes = trace::pack(rank);
    sizes[i] = static_cast<std::int64_t>(bytes.size());
    written[i] = write_file(folder / ("r" + std::to_string(rank.rank) + ".weft"), bytes);
  });
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    WEFT_TRY(written[i]);
    sum += sizes[i];
  }
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::puts("usage: thousand_ranks WEFT [RANKS [RECORDING [FOLDER]]]");
    return 2;
  }
  const std::string weft = argv[1];
  const int ranks = argc > 2 ? std::atoi(argv[2]) : 1024;
  const std::string recording =
      argc > 3 ? argv[3] : WEFT_SOURCE_DIR "/../shared/traces/astra-sim_astra-sim/megatron-tp8";
  if (!fs::exists(recording)) {
    std::printf("skipped: %s does not exist\n", recording.c_str());
    return kNothingToMeasure;
  }
  const bool keep = argc > 4;
  const fs::path folder =
      keep ? fs::path(argv[4])
           : fs::temp_directory_path() / ("weft-thousand-" + std::to_string(::getpid()));
  fs::create_directories(folder);
  const auto begin = std::chrono::steady_clock::now();
  const auto bytes = make_job(recording, ranks, folder);
  const std::chrono::duration<double> making = std::chrono::steady_clock::now() - begin;
  if (!bytes) {
    std::printf("%s\n", bytes.error().text().c_str());
    return 1;
  }
  std::printf("%d ranks, %.1f MB packed, made in %.1f s\n", ranks,
              static_cast<double>(*bytes) / 1e6, making.count());
  std::printf("%-10s %8s %12s %8s\n", "", "seconds", "processor s", "peak GB");
  const std::string page = (folder / "report.html").string();
  bool good = true;
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"info"}, {"replay"}, {"diagnose"}, {"report", "-o", page}}) {
    std::vector<std::string> command{weft, words[0], folder.string() + "/*.weft", "--quiet"};
    command.insert(command.end(), words.begin() + 1, words.end());
    const Cost cost = run(command);
    std::printf("%-10s %8.1f %12.1f %8.2f%s\n", words[0].c_str(), cost.wall, cost.processor,
                cost.gigabytes, cost.status == 0 ? "" : "  FAILED");
    std::fflush(stdout);
    good = good && cost.status == 0;
    if (words[0] == "replay") {
      good = good && cost.wall <= kMostSeconds && cost.gigabytes <= kMostGigabytes;
    }
  }
  std::printf("bar for replay: %.0f s, %.0f GB: %s\n", kMostSeconds, kMostGigabytes,
              good ? "pass" : "FAIL");
  std::error_code ignored;
  if (!keep) fs::remove_all(folder, ignored);
  return good ? 0 : 1;
}
