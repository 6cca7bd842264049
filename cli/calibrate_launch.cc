// SPDX-License-Identifier: Apache-2.0
// Builds the command that `weft calibrate` starts: the launcher, and the program for every rank.
// The program gets all its settings as words of its command line, not through the environment,
// because launchers pass on the words to other hosts, but often not the environment.
#include "cli/calibrate_launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>

#include "cli/shell/format.h"
#include "weft/base/decimal.h"
#include "weft/base/suggest.h"
#include "weft/cost/links.h"
#include "weft/diagnose/diagnosis.h"

namespace weft::cli {
namespace {

constexpr std::string_view kPlaceholder = "{script}";
constexpr std::array<std::string_view, 6> kMpiLaunchers = {"mpirun",  "mpiexec", "mpiexec.hydra",
                                                           "orterun", "prterun", "srun"};

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t comma = text.find(',');
    parts.emplace_back(text.substr(0, comma));
    if (comma == text.npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

std::string file_name(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

/// The program and its arguments, in the form that both programs (Python and MPI) parse. Sizes are
/// plain numbers of bytes here, so that only parse_sizes() knows units.
std::vector<std::string> program_words(const std::string& program,
                                       const CalibrateSettings& settings) {
  std::vector<std::string> words{program,
                                 "--collectives",
                                 fmt::format("{}", fmt::join(settings.collectives, ",")),
                                 "--sizes",
                                 fmt::format("{}", fmt::join(settings.sizes, ",")),
                                 "--repeats",
                                 std::to_string(settings.repeats),
                                 "--seconds",
                                 std::to_string(settings.seconds),
                                 "--backend",
                                 settings.backend};
  if (!settings.ranks.empty()) {
    words.insert(words.end(), {"--ranks", fmt::format("{}", fmt::join(settings.ranks, ","))});
  }
  return words;
}

}  // namespace

Result<std::vector<Bytes>> parse_sizes(std::string_view text) {
  std::vector<Bytes> sizes;
  if (const std::size_t dots = text.find(".."); dots != text.npos) {
    WEFT_ASSIGN(const Bytes first, parse_size(text.substr(0, dots)));
    WEFT_ASSIGN(const Bytes last, parse_size(text.substr(dots + 2)));
    if (last < first) {
      return fail(ErrorCode::kUsage,
                  fmt::format("--sizes: in {} the last size is below the first", text));
    }
    for (Bytes size = first; size <= last; size *= 2) sizes.push_back(size);
  } else {
    for (const std::string& part : split(text)) {
      WEFT_ASSIGN(const Bytes size, parse_size(part));
      sizes.push_back(size);
    }
  }
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

Result<std::vector<std::int64_t>> parse_rank_counts(std::string_view text) {
  std::vector<std::int64_t> counts;
  for (const std::string& part : split(text)) {
    const auto count = parse_int(part);
    if (!count || *count < 2) {
      return fail(ErrorCode::kUsage,
                  fmt::format("--ranks: '{}' is not a number of ranks; write 2 or 2,4", part));
    }
    counts.push_back(*count);
  }
  return counts;
}

Result<std::vector<std::string>> parse_collectives(std::string_view text) {
  static const std::vector<std::string> known = {"all_reduce", "all_gather", "reduce_scatter",
                                                 "broadcast",  "all_to_all", "send_recv"};
  std::vector<std::string> names;
  for (const std::string& name : split(text)) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      return fail(ErrorCode::kUsage,
                  fmt::format("--collectives: '{}' is not one of {}{}", name,
                              fmt::join(known, ", "), did_you_mean(name, known)));
    }
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

bool is_mpi_launcher(const std::vector<std::string>& launcher) {
  const std::string first = file_name(launcher.front());
  if (std::find(kMpiLaunchers.begin(), kMpiLaunchers.end(), first) == kMpiLaunchers.end()) {
    return false;
  }
  // `mpirun -n 4 python` starts Python ranks: the launcher alone does not decide.
  return std::none_of(launcher.begin() + 1, launcher.end(), [](const std::string& word) {
    const std::string name = file_name(word);
    return name.starts_with("python") || name == "torchrun";
  });
}

std::vector<std::string> launch_words(const std::vector<std::string>& launcher,
                                      const std::string& program,
                                      const CalibrateSettings& settings) {
  const std::vector<std::string> added = program_words(program, settings);
  std::string quoted;
  for (const std::string& word : added) {
    quoted += (quoted.empty() ? "" : " ") + diagnose::shell_word(word);
  }
  std::vector<std::string> words;
  bool placed = false;
  for (const std::string& word : launcher) {
    const std::size_t at = word.find(kPlaceholder);
    if (at == word.npos) {
      words.push_back(word);
    } else if (word == kPlaceholder) {
      words.insert(words.end(), added.begin(), added.end());
    } else {
      words.push_back(std::string(word).replace(at, kPlaceholder.size(), quoted));
    }
    placed |= at != word.npos;
  }
  if (!placed) words.insert(words.end(), added.begin(), added.end());
  return words;
}

}  // namespace weft::cli
