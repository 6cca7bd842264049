// SPDX-License-Identifier: Apache-2.0
#include "weft/trace/match/transfer.h"

#include <gtest/gtest.h>

namespace weft::trace {
namespace {

TEST(Transfer, MovesFromTheLastArrivalToTheFirstEnd) {
  const MemberTimes members[] = {{0, 1'000'000}, {600'000, 1'000'100}};
  const Transfer moved = find_transfer(members);
  EXPECT_EQ(moved.begins, 600'000);
  EXPECT_EQ(moved.ends, 1'000'000);
}

TEST(Transfer, MemberThatWasDoneBeforeTheLastArrivalDidNotWait) {
  const MemberTimes members[] = {{0, 100'000}, {600'000, 900'000}};
  const Transfer moved = find_transfer(members);
  EXPECT_EQ(moved.ends, 900'000);
  EXPECT_FALSE(moved.waited(members[0].end));
  EXPECT_TRUE(moved.waited(members[1].end));
}

TEST(Transfer, NeverEndsBeforeItBegins) {
  const MemberTimes members[] = {{0, 595'000}, {600'000, 900'000}};
  EXPECT_EQ(find_transfer(members).ends, 600'000);
}

}  // namespace
}  // namespace weft::trace
