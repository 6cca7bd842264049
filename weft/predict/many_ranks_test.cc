// SPDX-License-Identifier: Apache-2.0
// Tests matching and alignment with 64 ranks. There is no recording of such a large job, so the
// test makes it from copies of a small job. The results must be as good as for the small job.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "weft/base/file.h"
#include "weft/predict/job.h"
#include "weft/trace/formats/packed/packed.h"
#include "weft/trace/runs/copied_job.h"
#include "weft/trace/runs/load.h"

namespace weft::predict {
namespace {

namespace fs = std::filesystem;

/// 16 copies of the resnet50-w4 example: 64 ranks in 16 groups, which are connected by the calls
/// that all ranks share.
class ManyRanks : public testing::Test {
 protected:
  static constexpr std::int32_t kCopies = 16;

  static void SetUpTestSuite() {
    Diagnostics diagnostics;
    const fs::path example = fs::path(WEFT_SOURCE_DIR) / "examples" / "resnet50-w4";
    const auto recording = trace::load({example.string()}, {}, diagnostics);
    ASSERT_TRUE(recording) << recording.error().text();
    const trace::Run& small = recording->runs.front();
    folder_ = fs::path(testing::TempDir()) / "weft_many_ranks";
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    trace::CopyOptions options;
    options.copies = kCopies;
    for (std::int32_t copy = 0; copy < kCopies; ++copy) {
      for (const trace::RankTrace& rank : small.ranks) {
        const trace::RankTrace made = trace::copy_rank(rank, 4, copy, options);
        epochs_[made.rank] = made.epoch - rank.epoch;
        const fs::path file = folder_ / ("r" + std::to_string(made.rank) + ".weft");
        ASSERT_TRUE(write_file(file.string(), trace::pack(made)));
      }
    }
  }
  static void TearDownTestSuite() { fs::remove_all(folder_); }

  static fs::path folder_;
  static std::map<std::int32_t, Nanos> epochs_;  ///< epochs_[rank]: the error put into its clock
};

fs::path ManyRanks::folder_;
std::map<std::int32_t, Nanos> ManyRanks::epochs_;

TEST_F(ManyRanks, AreMatchedAndAligned) {
  Diagnostics diagnostics;
  const auto job = open_job({folder_.string()}, {}, diagnostics);
  ASSERT_TRUE(job) << job.error().text();
  ASSERT_EQ(job->run.ranks.size(), 64u);
  EXPECT_EQ(job->run.world, 64);

  std::map<std::size_t, int> members;
  for (const trace::Match& match : job->matches) {
    EXPECT_TRUE(match.complete()) << match.group << " " << match.sequence;
    ++members[match.members.size()];
  }
  EXPECT_EQ(members.size(), 2u) << "expected calls of a group of 4 and calls of all 64 ranks";
  EXPECT_GT(members[4], 16 * 10);
  EXPECT_GT(members[64], 2);

  for (std::size_t r = 0; r < 64; ++r) {
    const trace::ClockFit& fit = job->alignment.ranks[r];
    const Nanos wrong = epochs_[static_cast<std::int32_t>(r)] - epochs_[0];
    EXPECT_TRUE(fit.tied);
    EXPECT_NEAR(static_cast<double>(fit.offset), static_cast<double>(-wrong), 50e3) << "rank " << r;
  }
  EXPECT_EQ(diagnostics.count_of("host-clocks-differ"), 0);
}

}  // namespace
}  // namespace weft::predict
