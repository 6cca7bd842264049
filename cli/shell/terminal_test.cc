// SPDX-License-Identifier: Apache-2.0
#include "cli/shell/terminal.h"

#include <gtest/gtest.h>

#include <map>

namespace weft::cli {
namespace {

Terminal described(bool is_terminal, std::map<std::string, std::string> environment) {
  return describe_terminal(is_terminal, 120, [&](const char* name) -> const char* {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

TEST(Terminal, HasColoursOnlyIfItIsATerminal) {
  EXPECT_TRUE(described(true, {}).colour);
  EXPECT_FALSE(described(false, {}).colour);
}

TEST(Terminal, NoColorOverridesForceAndForceOverridesTerminal) {
  EXPECT_FALSE(described(true, {{"NO_COLOR", "1"}}).colour);
  EXPECT_TRUE(described(true, {{"NO_COLOR", ""}}).colour) << "an empty value means unset";
  EXPECT_TRUE(described(false, {{"CLICOLOR_FORCE", "1"}}).colour);
  EXPECT_FALSE(described(false, {{"CLICOLOR_FORCE", "0"}}).colour);
  EXPECT_FALSE(described(true, {{"CLICOLOR_FORCE", "1"}, {"NO_COLOR", "1"}}).colour);
}

TEST(Terminal, DumbTerminalGetsNoEscapeCodes) {
  const Terminal dumb = described(true, {{"TERM", "dumb"}});
  EXPECT_FALSE(dumb.colour);
  EXPECT_FALSE(dumb.is_terminal) << "a progress line could not be redrawn";
}

TEST(Terminal, ColumnsOverridesTheWidthOfTheTerminal) {
  EXPECT_EQ(described(true, {}).columns, 120);
  EXPECT_EQ(described(true, {{"COLUMNS", "72"}}).columns, 72);
  EXPECT_EQ(described(true, {{"COLUMNS", "wide"}}).columns, 120);
  EXPECT_EQ(described(true, {{"COLUMNS", "-3"}}).columns, 120);
  EXPECT_EQ(described(false, {}).columns, 0);
}

TEST(Elide, CountsCharactersNotBytes) {
  EXPECT_EQ(display_width("größe"), 5u);
  EXPECT_EQ(elide("größe", 5), "größe");
  EXPECT_EQ(elide("größer", 5), "größ…");
  EXPECT_EQ(elide_middle("rank0-of-many.json", 9), "rank…json");
  EXPECT_EQ(elide("abc", 0), "");
}

TEST(Elide, CountsEachMalformedByteAsOneCharacter) {
  EXPECT_EQ(display_width("\xff\xfe"), 2u);
  EXPECT_EQ(display_width("a\xc3"), 2u);
}

TEST(Table, AlignsAndDropsTrailingBlanks) {
  Table table({{"rank", Align::kRight, false}, {"file", Align::kLeft, false}});
  table.add_row({"0", "a.json"});
  table.add_row({"11", "b.json.gz"});
  EXPECT_EQ(table.print({}), "rank  file\n   0  a.json\n  11  b.json.gz\n");
}

TEST(Table, ShortensElidableColumnsToFit) {
  Table table({{"rank", Align::kRight, false}, {"file", Align::kLeft, true}});
  table.add_row({"0", "a-very-long-name-of-a-file.json"});
  Terminal narrow;
  narrow.columns = 20;
  EXPECT_EQ(table.print(narrow), "rank  file\n   0  a-very…le.json\n");
}

TEST(Table, WrapsTheLastColumnUnderItself) {
  Table table({{"key", Align::kLeft}, {"meaning", Align::kLeft, false, true}});
  table.add_row({"a", "as many words as there are"});
  Terminal narrow;
  narrow.columns = 20;
  EXPECT_EQ(table.print(narrow), "key  meaning\na    as many words\n     as there are\n");
}

TEST(Table, LeavesColumnsOutIfNothingElseHelps) {
  Table table({{"rank"}, {"first ms"}, {"second ms"}, {"third ms"}});
  table.add_row({"0", "1.0", "2.0", "3.0"});
  Terminal narrow;
  narrow.columns = 30;
  EXPECT_EQ(table.print(narrow), "rank  first ms  second ms  …\n   0       1.0        2.0  …\n");
  narrow.columns = 20;
  EXPECT_EQ(table.print(narrow), "rank  first ms  …\n   0       1.0  …\n");
}

TEST(Elide, CountsNoEscapeCodes) { EXPECT_EQ(display_width("\033[1mbold\033[0m"), 4u); }

TEST(Paint, LeavesTextUnchangedWithoutColour) {
  EXPECT_EQ(paint({}, Tone::kBad, "x"), "x");
  Terminal colourful;
  colourful.colour = true;
  EXPECT_EQ(paint(colourful, Tone::kBad, "x"), "\033[31mx\033[0m");
}

}  // namespace
}  // namespace weft::cli
