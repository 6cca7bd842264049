// SPDX-License-Identifier: Apache-2.0
#include "weft/base/parallel.h"

#include <gtest/gtest.h>

#include <numeric>
#include <stdexcept>
#include <vector>

namespace weft {
namespace {

TEST(Parallel, VisitsEveryIndexOnceOnAnyNumberOfThreads) {
  for (std::size_t threads : {1u, 2u, 7u, 0u}) {
    set_max_threads(threads);
    std::vector<int> seen(1000, 0);
    parallel_for(seen.size(), [&](std::size_t i) { ++seen[i]; });
    EXPECT_EQ(seen, std::vector<int>(1000, 1)) << threads;
  }
  parallel_for(0, [](std::size_t) { FAIL(); });
}

TEST(Parallel, ExceptionsReachTheCaller) {
  set_max_threads(2);
  EXPECT_THROW(parallel_for(10,
                            [](std::size_t i) {
                              if (i == 5) throw std::runtime_error("five");
                            }),
               std::runtime_error);
  set_max_threads(0);
  EXPECT_GE(max_threads(), 1u);
}

}  // namespace
}  // namespace weft
