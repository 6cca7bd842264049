// SPDX-License-Identifier: Apache-2.0
#include "cli/arguments.h"

#include <gtest/gtest.h>

#include "cli/commands.h"
#include "cli/shell/help.h"

namespace weft::cli {
namespace {

Subcommand command() {
  Subcommand made;
  made.name = "weave";
  made.inputs = "INPUT...";
  made.min_inputs = 1;
  made.flags = {{"--json", "", "switch"},
                {"--run", "N", "one value", Flag::Value::kText},
                {"--threads", "N", "a number", Flag::Value::kWhole},
                {"--what-if", "KEY=VALUE", "many", Flag::Value::kText, true}};
  return made;
}

std::string refusal(const std::vector<std::string>& words) {
  const auto parsed = parse_arguments(command(), words);
  if (parsed) return "accepted";
  EXPECT_EQ(parsed.error().code, ErrorCode::kUsage);
  return parsed.error().message;
}

TEST(Arguments, TakeFlagsBeforeBetweenAndAfterInputs) {
  const auto parsed = parse_arguments(
      command(), {"--run", "2", "a", "--what-if", "x=1", "b", "--what-if=y=2", "c"});
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->inputs, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(parsed->all("--what-if"), (std::vector<std::string>{"x=1", "y=2"}));
  EXPECT_EQ(parsed->all("--run"), std::vector<std::string>{"2"});
  EXPECT_FALSE(parsed->has("--json"));
  EXPECT_EQ(parsed->whole("--threads"), std::nullopt);
}

TEST(Arguments, AreRefusedWithASuggestion) {
  EXPECT_EQ(refusal({"a", "--jsno"}),
            "no flag '--jsno'; did you mean '--json'? (see weft help weave)");
  EXPECT_EQ(refusal({"a", "--whatif=x"}),
            "no flag '--whatif'; did you mean '--what-if'? (see weft help weave)");
  EXPECT_EQ(refusal({"a", "--colour-scheme"}), "no flag '--colour-scheme' (see weft help weave)");
  EXPECT_EQ(refusal({"a", "-x"}), "no flag '-x' (see weft help weave)");
}

TEST(Arguments, AreCheckedBeforeAnythingRuns) {
  EXPECT_EQ(refusal({}), "INPUT... is missing (see weft help weave)");
  EXPECT_EQ(refusal({"a", "--threads", "many"}),
            "--threads: 'many' is no whole number (see weft help weave)");
  EXPECT_EQ(refusal({"a", "--threads", "-1"}),
            "--threads: '-1' is no whole number (see weft help weave)");
  EXPECT_EQ(refusal({"a", "--run", "1", "--run", "2"}),
            "--run was given 2 times (see weft help weave)");
  EXPECT_NE(refusal({"a", "--run"}).find("--run"), std::string::npos);
}

TEST(Subcommands, AreComplete) {
  for (const Subcommand& verb : all_commands()) {
    EXPECT_FALSE(verb.description.empty()) << verb.name;
    EXPECT_LE(verb.description.size(), 80u) << verb.name;
    EXPECT_TRUE(verb.run) << verb.name;
    for (const Example& example : verb.examples) {
      EXPECT_EQ(example.command.rfind("weft " + verb.name, 0), 0u) << example.command;
      EXPECT_FALSE(example.what.empty()) << example.command;
    }
    const std::string help = verb_help(verb, {});
    for (const Flag& flag : verb.flags) {
      EXPECT_EQ(flag.value_name.empty(), flag.value == Flag::Value::kNone) << flag.name;
      EXPECT_NE(help.find(flag.name), std::string::npos) << flag.name;
    }
  }
}

}  // namespace
}  // namespace weft::cli
