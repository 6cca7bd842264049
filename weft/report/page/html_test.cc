// SPDX-License-Identifier: Apache-2.0
#include "weft/report/page/html.h"

#include <gtest/gtest.h>

namespace weft::report {
namespace {

TEST(Page, ContainsItsDataAndNoMarkers) {
  const std::string page = render_page({"a job", "QUJD", R"({"steps": 3})"});
  EXPECT_NE(page.find("<title>a job</title>"), std::string::npos);
  EXPECT_NE(page.find(">QUJD</script>"), std::string::npos);
  EXPECT_NE(page.find(R"(>{"steps": 3}</script>)"), std::string::npos);
  for (const char* marker : {"{{title}}", "{{style}}", "{{script}}", "{{json}}", "{{timeline}}"}) {
    EXPECT_EQ(page.find(marker), std::string::npos) << marker;
  }
}

TEST(Page, NamesFromTracesCannotEndAScriptOrOpenATag) {
  const std::string hostile = "</script><script>alert(1)</script>";
  const std::string page = render_page({hostile, "", "[\"" + hostile + "\"]"});
  EXPECT_EQ(page.find("alert(1)</script>"), std::string::npos);
  EXPECT_NE(page.find("&lt;/script>&lt;script>alert(1)"), std::string::npos);
  EXPECT_NE(page.find("\\u003c/script>"), std::string::npos);
}

TEST(Page, LoadsNothingFromANetwork) {
  const std::string page = render_page({"", "", "{}"});
  for (const char* sign : {"src=\"http", "href=\"http", "url(http", "import("}) {
    EXPECT_EQ(page.find(sign), std::string::npos) << sign;
  }
}

}  // namespace
}  // namespace weft::report
