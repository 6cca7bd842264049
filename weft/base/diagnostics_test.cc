// SPDX-License-Identifier: Apache-2.0
#include "weft/base/diagnostics.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

constexpr DiagnosticKind kNote{"note", Severity::kInfo, "something", "nothing to do"};
constexpr DiagnosticKind kLoss{"loss", Severity::kDataLoss, "lost bytes", "copy again"};

TEST(Diagnostics, CountsEveryOccurrenceAndKeepsTheFirstPlaces) {
  Diagnostics d;
  for (int i = 0; i < 5; ++i) d.add(kNote, "place " + std::to_string(i));
  ASSERT_EQ(d.all().size(), 1u);
  EXPECT_EQ(d.count_of("note"), 5);
  EXPECT_EQ(d.all()[0].places, (std::vector<std::string>{"place 0", "place 1", "place 2"}));
}

TEST(Diagnostics, MergeAddsCountsInOrderOfFirstOccurrence) {
  Diagnostics a, b;
  a.add(kLoss, "a");
  b.add(kNote, "b");
  b.add(kLoss, "b", 4);
  a.merge(b);
  ASSERT_EQ(a.all().size(), 2u);
  EXPECT_STREQ(a.all()[0].kind->id, "loss");
  EXPECT_EQ(a.count_of("loss"), 5);
  EXPECT_EQ(a.all()[0].places, (std::vector<std::string>{"a", "b"}));
}

TEST(Diagnostics, StrictFailsOnAnythingWorseThanInfo) {
  Diagnostics d;
  d.add(kNote, "x");
  EXPECT_TRUE(d.strict());
  d.add(kLoss, "f: byte 3");
  const Status status = d.strict();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "loss: lost bytes [f: byte 3]. copy again");
}

TEST(Error, TextNamesFileAndByteWhereKnown) {
  EXPECT_EQ((Error{ErrorCode::kIo, "m", "f", 7}.text()), "f: byte 7: m");
  EXPECT_EQ((Error{ErrorCode::kIo, "m", "", -1}.text()), "m");
}

}  // namespace
}  // namespace weft
