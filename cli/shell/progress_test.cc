// SPDX-License-Identifier: Apache-2.0
#include "cli/shell/progress.h"

#include <gtest/gtest.h>

namespace weft::cli {
namespace {

std::string line(Bytes done, Bytes total, double seconds) {
  return transfer_line("reading", done, total, std::chrono::duration<double>(seconds));
}

TEST(TransferLine, ShowsRateAndTimeLeft) {
  EXPECT_EQ(line(120'000'000, 480'000'000, 1), "reading 120 MB of 480 MB, 120 MB/s, 3 s left");
  EXPECT_EQ(line(1'000'000, 600'000'000, 1), "reading 1.0 MB of 600 MB, 1.0 MB/s, 10 min left");
}

TEST(TransferLine, ShowsOnlyWhatIsKnown) {
  EXPECT_EQ(line(120'000'000, 0, 1), "reading 120 MB, 120 MB/s") << "a pipe has no size";
  EXPECT_EQ(line(480'000'000, 480'000'000, 2), "reading 480 MB of 480 MB, 240 MB/s");
  EXPECT_EQ(line(0, 480'000'000, 1), "reading 0 B of 480 MB, 0 B/s");
  EXPECT_EQ(line(20'000'000, 480'000'000, 0.1), "reading 20 MB of 480 MB, 200 MB/s")
      << "too early for an estimate";
}

}  // namespace
}  // namespace weft::cli
