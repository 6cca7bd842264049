// SPDX-License-Identifier: Apache-2.0
#include "weft/report/timeline/base64.h"

#include <gtest/gtest.h>

namespace weft::report {
namespace {

// The test vectors of RFC 4648, section 10.
TEST(Base64, MatchesTheStandard) {
  EXPECT_EQ(to_base64(""), "");
  EXPECT_EQ(to_base64("f"), "Zg==");
  EXPECT_EQ(to_base64("fo"), "Zm8=");
  EXPECT_EQ(to_base64("foo"), "Zm9v");
  EXPECT_EQ(to_base64("foob"), "Zm9vYg==");
  EXPECT_EQ(to_base64("fooba"), "Zm9vYmE=");
  EXPECT_EQ(to_base64("foobar"), "Zm9vYmFy");
}

TEST(Base64, EncodesBytesAbove127) { EXPECT_EQ(to_base64("\xfb\xff\xfe"), "+//+"); }

}  // namespace
}  // namespace weft::report
