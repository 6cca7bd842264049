// SPDX-License-Identifier: Apache-2.0
#include "cli/calibrate_launch.h"

#include <gtest/gtest.h>

namespace weft::cli {
namespace {

using Words = std::vector<std::string>;

std::vector<Bytes> sizes(std::string_view text) {
  const auto parsed = parse_sizes(text);
  EXPECT_TRUE(parsed) << parsed.error().message;
  return parsed.value_or(std::vector<Bytes>{});
}

TEST(CalibrateSizes, RangesGoInPowersOfTwo) {
  EXPECT_EQ(sizes("1KiB..8KiB"), (std::vector<Bytes>{1024, 2048, 4096, 8192}));
  EXPECT_EQ(sizes("1000..5000"), (std::vector<Bytes>{1000, 2000, 4000}));
  EXPECT_EQ(sizes("1KiB..64MiB").size(), 17u);
}

TEST(CalibrateSizes, ListsAreSortedAndUnique) {
  EXPECT_EQ(sizes("1MiB,4kB,1MB,4000"), (std::vector<Bytes>{4000, 1'000'000, 1 << 20}));
}

TEST(CalibrateSizes, NonsenseIsRefused) {
  for (const char* text : {"", "..", "4KiB..", "8KiB..4KiB", "0", "-4", "4KB", "4 KiB", "1e6",
                           "99999999999GiB", "4KiB,"}) {
    const auto parsed = parse_sizes(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::kUsage);
  }
}

TEST(CalibrateCollectives, AreRefusedWithASuggestion) {
  EXPECT_EQ(parse_collectives("all_reduce,send_recv,all_reduce").value(),
            (Words{"all_reduce", "send_recv"}));
  const auto refused = parse_collectives("all_redcue");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("did you mean 'all_reduce'?"), std::string::npos);
}

TEST(CalibrateRanks, CountFromTwo) {
  EXPECT_EQ(parse_rank_counts("2,4").value(), (std::vector<std::int64_t>{2, 4}));
  for (const char* text : {"", "1", "two", "2,", "2x"})
    EXPECT_FALSE(parse_rank_counts(text)) << text;
}

TEST(CalibrateLauncher, MpiIsToldByItsLauncherUnlessAPythonFollows) {
  EXPECT_TRUE(is_mpi_launcher({"mpirun", "-n", "4"}));
  EXPECT_TRUE(is_mpi_launcher({"/opt/bin/srun", "-N", "2"}));
  EXPECT_FALSE(is_mpi_launcher({"mpirun", "-n", "4", "/usr/bin/python3.11"}));
  EXPECT_FALSE(is_mpi_launcher({"srun", "torchrun", "--nnodes", "2"}));
  EXPECT_FALSE(is_mpi_launcher({"torchrun", "--nproc-per-node", "4"}));
}

CalibrateSettings few() {
  CalibrateSettings settings;
  settings.collectives = {"all_reduce", "broadcast"};
  settings.sizes = {1024, 4096};
  return settings;
}

TEST(CalibrateLauncher, ProgramGoesToItsEnd) {
  EXPECT_EQ(
      launch_words({"torchrun", "--nnodes", "2"}, "/x/s.py", few()),
      (Words{"torchrun", "--nnodes", "2", "/x/s.py", "--collectives", "all_reduce,broadcast",
             "--sizes", "1024,4096", "--repeats", "10", "--seconds", "60", "--backend", "auto"}));
}

TEST(CalibrateLauncher, ProgramGoesWhereItIsAskedFor) {
  CalibrateSettings settings = few();
  settings.ranks = {2};
  const Words words = launch_words({"run", "{script}", "--", "x"}, "/x/s.py", settings);
  ASSERT_EQ(words.size(), 16u);
  EXPECT_EQ(words[1], "/x/s.py");
  EXPECT_EQ(words[13], "2");
  EXPECT_EQ(words.back(), "x");
  const Words shell =
      launch_words({"ssh", "h", "cd /y && python {script} 2>log"}, "/a b/s.py", few());
  ASSERT_EQ(shell.size(), 3u);
  EXPECT_EQ(shell.back(),
            "cd /y && python '/a b/s.py' --collectives all_reduce,broadcast --sizes 1024,4096 "
            "--repeats 10 --seconds 60 --backend auto 2>log");
}

}  // namespace
}  // namespace weft::cli
