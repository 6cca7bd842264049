// SPDX-License-Identifier: Apache-2.0
#include "cli/arguments.h"

#include <gtest/gtest.h>

#include "cli/commands.h"
#include "cli/shell/help.h"

namespace weft::cli {
namespace {

Subcommand command() {
  Subcommand made;
  made.name = "replay";
  made.inputs = "INPUT...";
  made.min_inputs = 1;
  made.flags = {{"--json", "", "switch"},
                {"--run", "N", "one value", Flag::Value::kText},
                {"--threads", "N", "a number", Flag::Value::kWhole},
                {"--what-if", "KEY=VALUE", "many", Flag::Value::kText, true}};
  return made;
}

/// A verb with two sub-verbs that share one flag.
Subcommand verb_with_sub_verbs() {
  Subcommand made;
  made.name = "pipeline";
  made.inputs = "PROFILE";
  made.min_inputs = made.max_inputs = 1;
  made.bare_name = "planning";
  made.flags = {{"--json", "", "switch"}, {"--cluster", "CLUSTER", "text", Flag::Value::kText}};
  Subcommand compare = made;
  compare.name = "pipeline compare";
  Subcommand draw;
  draw.name = "pipeline draw";
  draw.inputs = "PLAN...";
  draw.flags = {{"--svg", "FILE", "a file", Flag::Value::kFile},
                {"--scale", "NAME", "choice", Flag::Value::kChoice, false, {"log", "linear"}}};
  draw.refused_flags = {{"--json", "a picture has no JSON"}};
  made.sub_verbs = {compare, draw};
  return made;
}

Result<Arguments> parse(const std::vector<std::string>& words) {
  const Subcommand verb = command();
  auto parsed = parse_command_line(verb, words);
  if (!parsed) return tl::unexpected(parsed.error());
  return std::move(parsed->arguments);
}

std::string refusal_by(const Subcommand& verb, const std::vector<std::string>& words) {
  const auto parsed = parse_command_line(verb, words);
  if (parsed) return "accepted";
  EXPECT_EQ(parsed.error().code, ErrorCode::kUsage);
  return parsed.error().message;
}

std::string refusal(const std::vector<std::string>& words) { return refusal_by(command(), words); }

TEST(Arguments, TakeFlagsBeforeBetweenAndAfterInputs) {
  const auto parsed = parse({"--run", "2", "a", "--what-if", "x=1", "b", "--what-if=y=2", "c"});
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->inputs, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(parsed->all("--what-if"), (std::vector<std::string>{"x=1", "y=2"}));
  EXPECT_EQ(parsed->all("--run"), std::vector<std::string>{"2"});
  EXPECT_FALSE(parsed->has("--json"));
  EXPECT_EQ(parsed->whole("--threads"), std::nullopt);
}

TEST(Arguments, AreRefusedWithASuggestion) {
  EXPECT_EQ(refusal({"a", "--jsno"}),
            "there is no flag '--jsno'; did you mean '--json'? (see weft help replay)");
  EXPECT_EQ(refusal({"a", "--whatif=x"}),
            "there is no flag '--whatif'; did you mean '--what-if'? (see weft help replay)");
  EXPECT_EQ(refusal({"a", "--colour-scheme"}),
            "there is no flag '--colour-scheme' (see weft help replay)");
  EXPECT_EQ(refusal({"a", "-x"}), "there is no flag '-x' (see weft help replay)");
}

TEST(Arguments, AreCheckedBeforeAnythingRuns) {
  EXPECT_EQ(refusal({}), "INPUT... is missing (see weft help replay)");
  EXPECT_EQ(refusal({"a", "--threads", "many"}),
            "--threads: 'many' is not a whole number (see weft help replay)");
  EXPECT_EQ(refusal({"a", "--threads", "-1"}),
            "--threads: '-1' is not a whole number (see weft help replay)");
  EXPECT_EQ(refusal({"a", "--run", "1", "--run", "2"}),
            "--run was given 2 times (see weft help replay)");
  EXPECT_NE(refusal({"a", "--run"}).find("--run"), std::string::npos);
}

TEST(SubVerbs, TakeTheirOwnFlagsAndInputs) {
  const Subcommand verb = verb_with_sub_verbs();
  const auto bare = parse_command_line(verb, {"p.json", "--cluster", "c"});
  ASSERT_TRUE(bare) << bare.error().message;
  EXPECT_EQ(bare->command, &verb);
  EXPECT_EQ(bare->arguments.inputs, std::vector<std::string>{"p.json"});
  // After the name of a sub-verb, the name of another sub-verb is an input. All words after "--"
  // are inputs too.
  const auto drawn = parse_command_line(verb, {"draw", "--svg", "x", "compare", "--", "--json"});
  ASSERT_TRUE(drawn) << drawn.error().message;
  EXPECT_EQ(drawn->command->name, "pipeline draw");
  EXPECT_EQ(drawn->arguments.inputs, (std::vector<std::string>{"compare", "--json"}));
  EXPECT_EQ(drawn->arguments.all("--svg"), std::vector<std::string>{"x"});
}

TEST(SubVerbs, TakeOverFlagsThatStandBeforeThem) {
  const Subcommand verb = verb_with_sub_verbs();
  const auto parsed = parse_command_line(
      verb, {"--json", "--cluster", "draw", "-q", "compare", "p.json", "--json", "-q"});
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->command->name, "pipeline compare");
  EXPECT_TRUE(parsed->arguments.has("--json"));
  EXPECT_EQ(parsed->arguments.all("--cluster"), std::vector<std::string>{"draw"});
  EXPECT_EQ(refusal_by(verb, {"--cluster", "a", "compare", "p.json", "--cluster", "b"}),
            "--cluster was given 2 times (see weft help pipeline compare)");
  EXPECT_EQ(refusal_by(verb, {"--cluster", "a", "draw", "p.json"}),
            "--cluster does not go with draw; it is a flag of planning, compare (see weft help "
            "pipeline draw)");
  EXPECT_EQ(refusal_by(verb, {"--svg", "x", "draw", "p.json"}),
            "--svg must follow draw (see weft help pipeline draw)");
  EXPECT_EQ(refusal_by(verb, {"p.json", "compare"}),
            "'p.json' must follow compare (see weft help pipeline compare)");
}

TEST(SubVerbs, RefuseFlagsOfOthersAndMistypedNames) {
  const Subcommand verb = verb_with_sub_verbs();
  EXPECT_EQ(
      refusal_by(verb, {"compare", "p.json", "--svg", "x"}),
      "--svg does not go with compare; it is a flag of draw (see weft help pipeline compare)");
  EXPECT_EQ(refusal_by(verb, {"p.json", "--svg=x"}),
            "--svg does not go with planning; it is a flag of draw (see weft help pipeline)");
  EXPECT_EQ(refusal_by(verb, {"draw", "p.json", "--json"}), "a picture has no JSON");
  EXPECT_EQ(refusal_by(verb, {"draw", "p.json", "--sgv", "x"}),
            "there is no flag '--sgv'; did you mean '--svg'? (see weft help pipeline draw)");
  EXPECT_EQ(refusal_by(verb, {"draw", "p.json", "--scale", "lin"}),
            "--scale of draw: 'lin' is not one of log, linear; did you mean 'log'? (see weft help "
            "pipeline draw)");
  EXPECT_EQ(refusal_by(verb, {"compar", "p.json"}),
            "there is no file 'compar'; did you mean 'compare'? (see weft help pipeline)");
  EXPECT_EQ(refusal_by(verb, {"compare"}), "PROFILE is missing (see weft help pipeline compare)");
}

void expect_complete(const Subcommand& verb) {
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
  EXPECT_EQ(verb.bare_name.empty(), verb.sub_verbs.empty()) << verb.name;
  for (const Subcommand& sub_verb : verb.sub_verbs) {
    EXPECT_EQ(sub_verb.name, verb.name + " " + sub_verb.own_name());
    EXPECT_NE(help.find("\n  " + sub_verb.own_name() + " "), std::string::npos) << sub_verb.name;
    expect_complete(sub_verb);
  }
}

TEST(Subcommands, AreComplete) {
  for (const Subcommand& verb : all_commands()) expect_complete(verb);
}

}  // namespace
}  // namespace weft::cli
