// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/layout/cases.h"

#include <gtest/gtest.h>

namespace weft::reshard {
namespace {

Case only(const std::string& text) {
  auto cases = parse_cases("{\"cases\": [" + text + "]}", "test");
  EXPECT_TRUE(cases) << cases.error().text();
  EXPECT_EQ(cases->size(), 1u);
  return std::move(cases->front());
}

constexpr const char* kMesh = R"({"id": "a", "kind": "mesh", "dtype": "bf16", "shape": [4, 4],
  "split_rule": "ceil_flat", "src": {"mesh": {"axes": [["x", 2], ["y", 2]]}, "dims": [["x"], []]},
  "dst": {"mesh": {"axes": [["x", 2], ["y", 2]], "devices": [4, 5, 6, 7]}, "dims": [[], ["x", "y"]]}})";

TEST(Cases, MeshesNameTheirDevices) {
  const Case item = only(kMesh);
  ASSERT_TRUE(item.problem) << item.problem.error().text();
  EXPECT_EQ(item.id, "a");
  EXPECT_EQ(item.item_size, 2);
  EXPECT_EQ(item.problem->devices.size(), 8u);
  EXPECT_FALSE(item.problem->source.holds(4));
  EXPECT_EQ(item.problem->target.elements(7), 4);
}

TEST(Cases, BoxesAndBlockCyclicGridsAreRead) {
  const Case boxes = only(R"({"kind": "boxes", "dtype": "f32", "shape": [4],
      "src": {"boxes": [[[0, 4]]]}, "dst": {"boxes": [[[0, 1]], [[1, 1]], [[1, 4]]]}})");
  ASSERT_TRUE(boxes.problem) << boxes.problem.error().text();
  EXPECT_EQ(boxes.problem->devices.size(), 3u);
  const Case dealt = only(R"({"kind": "block_cyclic", "dtype": "f64", "shape": [4, 4],
      "src": {"block": [2, 2], "grid": [2, 2], "src": [0, 0], "order": "R"},
      "dst": {"block": [2, 2], "grid": [2, 2], "src": [0, 0], "order": "C"}})");
  ASSERT_TRUE(dealt.problem) << dealt.problem.error().text();
  EXPECT_EQ(dealt.problem->source.region(1)[1], (Strips{{2, 4}}));
  EXPECT_EQ(dealt.problem->target.region(1)[0], (Strips{{2, 4}}));
}

TEST(Cases, TwoReductionsInOneLayoutAreRefused) {
  const Case item = only(R"({"kind": "mesh", "dtype": "f32", "shape": [4],
      "split_rule": "balanced", "src": {"mesh": {"axes": [["x", 2], ["y", 2]]}, "dims": [[]],
      "partial": {"x": "sum", "y": "min"}},
      "dst": {"mesh": {"axes": [["x", 2], ["y", 2]]}, "dims": [[]]}})");
  ASSERT_FALSE(item.problem);
  EXPECT_NE(item.problem.error().message.find("two different reductions"), std::string::npos);
}

TEST(Cases, RaggedRangesAreFlatAndMayMeetAMesh) {
  const Case item = only(R"({"kind": "ragged", "dtype": "f32", "to_dtype": "bf16", "shape": [3, 4],
      "split_rule": "ceil_flat", "src": {"ranges": [[0, 5], [5, 5], [5, 12]]},
      "dst": {"mesh": {"axes": [["x", 2]], "devices": [2, 7]}, "dims": [[], ["x"]]}})");
  ASSERT_TRUE(item.problem) << item.problem.error().text();
  const Problem& problem = *item.problem;
  EXPECT_EQ(problem.devices, (std::vector<std::int64_t>{0, 1, 2, 7}));
  EXPECT_EQ(problem.source.largest(), 7);
  EXPECT_FALSE(problem.source.holds(1));
  EXPECT_EQ(problem.target.elements(3), 6);
  EXPECT_EQ(item.item_size, 2);
  EXPECT_EQ(source_item(problem), 4);
  EXPECT_EQ(target_item(problem), 2);
}

/// Sums are rounded once, so summands travel as they are.
TEST(Cases, WhatIsSmallerTravelsUnlessItIsASummand) {
  const auto size = [](const char* dtypes, const char* partial) {
    const Case item =
        only(std::string(R"({"kind": "mesh", "shape": [4], "split_rule": "ceil_flat",
        "dst": {"mesh": {"axes": [["x", 2]]}, "dims": [["x"]]}, )") +
             dtypes + R"(, "src": {"mesh": {"axes": [["x", 2]]}, "dims": [[]], "partial": {)" +
             partial + "}}}");
    return item.problem ? item.item_size : 0;
  };
  EXPECT_EQ(size(R"("dtype": "f64", "to_dtype": "f32")", ""), 4);
  EXPECT_EQ(size(R"("dtype": "bf16", "to_dtype": "f32")", ""), 2);
  EXPECT_EQ(size(R"("dtype": "f64", "to_dtype": "f32")", R"("x": "sum")"), 8);
  EXPECT_EQ(size(R"("dtype": "c64", "to_dtype": "f32")", ""), 0);
  EXPECT_EQ(size(R"("dtype": "c64")", R"("x": "max")"), 0);
  EXPECT_EQ(size(R"("dtype": "f7")", ""), 0);
}

TEST(Cases, ACaseThatMakesNoSenseRefusesItselfAlone) {
  for (const char* bad :
       {R"({"kind": "mesh"})", R"({"kind": "tree", "dtype": "f32", "shape": []})",
        R"({"kind": "boxes", "dtype": "f32", "shape": [4], "src": {"boxes": [[[0, 5]]]}})",
        R"({"kind": "boxes", "dtype": "f32", "shape": [4], "src": {"boxes": [[[0, 3]]]}})",
        R"({"kind": "boxes", "dtype": "f32", "shape": [-4]})",
        R"({"kind": "ragged", "dtype": "f32", "shape": [4], "src": {"ranges": [[0, 5]]}})",
        R"({"kind": "ragged", "dtype": "f32", "shape": [4], "src": {}, "dst": {}})",
        R"({"kind": "boxes", "dtype": "f32", "shape": [0]})", "7"}) {
    const auto cases = parse_cases(std::string("{\"cases\": [") + bad + "," + kMesh + "]}", "test");
    ASSERT_TRUE(cases);
    EXPECT_FALSE((*cases)[0].problem) << bad;
    EXPECT_TRUE((*cases)[1].problem);
  }
}

/// The mesh case above with one thing changed.
std::string reason_of_mesh(const std::string& what, const std::string& instead) {
  std::string text = kMesh;
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos);
  const Case item = only(text.replace(at, what.size(), instead));
  return item.problem ? "taken" : item.problem.error().message;
}

/// Of a block-cyclic case.
std::string reason_of_blocks(const std::string& shape, const std::string& block,
                             const std::string& grid, const std::string& first) {
  const Case item =
      only(R"({"kind": "block_cyclic", "dtype": "f64", "shape": [)" + shape +
           R"(], "src": {"block": [)" + block + R"(], "grid": [)" + grid + R"(], "src": [)" +
           first + R"(]}, "dst": {"block": [2, 2], "grid": [2, 2], "src": [0, 0]}})");
  return item.problem ? "taken" : item.problem.error().message;
}

TEST(Cases, OddValuesOfBlocksAreRefusedByTheNameOfTheirField) {
  EXPECT_EQ(reason_of_blocks("4, 4", "2, 2", "2, 2", "0, 1"), "taken");
  EXPECT_EQ(reason_of_blocks("4, 4", "2, 0", "2, 2", "0, 0"),
            "src: 'block' has 0 where a size from 1 on is due");
  EXPECT_EQ(reason_of_blocks("4, 4", "2, 2", "2000, 2", "0, 0"),
            "src: 'grid' has 2000 where a size from 1 to 1024 is due");
  EXPECT_EQ(reason_of_blocks("4, 4", "2, 2", "2, 2", "2, 0"),
            "src: 'src' has 2 where a place in the grid from 0 to 1 is due");
  // Before anything is made of it.
  EXPECT_EQ(reason_of_blocks("1000000, 1000000", "1, 1", "2, 2", "0, 0"),
            "'block' of both ends divides the array into more than 16777216 pieces, which are the "
            "most; give larger blocks");
  EXPECT_EQ(reason_of_blocks("2000, 2000", "1, 1", "2, 2", "0, 0"), "taken");
}

TEST(Cases, OddValuesAreRefusedByTheNameOfTheirField) {
  EXPECT_EQ(reason_of_mesh("[\"x\", 2]", "[\"x\", 1.5]"),
            "src: mesh: 'axes' has 1.5 as the size of 'x', which is a whole number from 1 to " +
                std::to_string(Mesh::kMostDevices));
  EXPECT_EQ(reason_of_mesh("[4, 4]", "[8.7, 4]"),
            "'shape' has 8.7 where a whole number from 0 on is due");
  EXPECT_EQ(reason_of_mesh("[4, 4]", "[8.0, 4]"), "taken");
  for (const std::string huge : {"1e300", "9223372036854775808"}) {
    EXPECT_EQ(reason_of_mesh("[4, 4]", "[" + huge + ", 4]"),
              "'shape' has " + huge + " where a whole number from 0 on is due, below 2^63");
  }
  EXPECT_EQ(reason_of_mesh("[4, 4]", "[-1, 4]"),
            "'shape' has -1 where a whole number from 0 on is due");
  EXPECT_EQ(reason_of_mesh("[4, 4]", "[4000000000, 4000000000]"),
            "shape: an array has 9007199254740992 elements at most");
  EXPECT_EQ(reason_of_mesh("[4, 5, 6, 7]", "[0, 0.5, 6, 7]"),
            "dst: mesh: 'devices' has 0.5 where a whole number from 0 on is due");
  EXPECT_EQ(reason_of_mesh("[[\"x\"], []]", "[\"x\", []]"),
            "src: 'dims' has 'x' where a list of axes is due");
  EXPECT_EQ(reason_of_mesh("[[\"x\"], []]", "[[3], []]"),
            "src: 'dims' has 3 where the name of an axis is due");
  EXPECT_EQ(reason_of_mesh("[[\"x\"], []]", "[[], []], \"partial\": {\"x\": \"bogus\"}"),
            "src: 'partial' has 'bogus', which is none of sum, prod, min, max, avg");
  EXPECT_EQ(reason_of_mesh("[[\"x\"], []]", "[[], []], \"partial\": [\"x\"]"),
            "src: 'partial' is no object that names the reduction of each axis");
  const Case dealt = only(R"({"kind": "block_cyclic", "dtype": "f64", "shape": [4, 4],
      "src": {"block": [2, 2], "grid": [2, 2], "src": [0, 0], "order": "Q"},
      "dst": {"block": [2, 2], "grid": [2, 2], "src": [0, 0]}})");
  ASSERT_FALSE(dealt.problem);
  EXPECT_EQ(dealt.id, "case 1");
  EXPECT_EQ(dealt.problem.error().message,
            "src: 'order' is 'Q', and neither R (row-major) nor C (column-major)");
  const Case ragged = only(R"({"kind": "ragged", "dtype": "f32", "shape": [8],
      "src": {"ranges": [[0, 8]]}, "dst": {"ranges": [[0, 2], [5, 2], [2, 8]]}})");
  ASSERT_FALSE(ragged.problem);
  EXPECT_EQ(ragged.problem.error().message, "dst: 'ranges' has [5, 2] where [low, high) is due");
  const Case boxes = only(R"({"kind": "boxes", "dtype": "f32", "shape": [4],
      "src": {"boxes": [[[0, 4]]]}, "dst": {"boxes": [[[3, 1]], [[0, 4]]]}})");
  ASSERT_FALSE(boxes.problem);
  EXPECT_EQ(boxes.problem.error().message, "dst: 'boxes' has [3, 1] where [low, high) is due");
}

TEST(Cases, TheSecondOfOneIdIsRefused) {
  const auto cases = parse_cases(std::string("{\"cases\": [") + kMesh + "," + kMesh + "]}", "test");
  ASSERT_TRUE(cases);
  EXPECT_TRUE((*cases)[0].problem);
  ASSERT_FALSE((*cases)[1].problem);
  EXPECT_EQ((*cases)[1].problem.error().message,
            "'id' is that of case 1 of the file as well: plans are told apart by it");
}

TEST(Cases, AFileWithoutCasesIsNone) {
  EXPECT_FALSE(parse_cases("[]", "test"));
  EXPECT_FALSE(parse_cases("{\"cases\": 3}", "test"));
}

}  // namespace
}  // namespace weft::reshard
