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

TEST(Cases, AMeshCaseMayNameItsDevices) {
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

TEST(Cases, RaggedRangesAreOfTheFlattenedArrayAndTheOtherEndMayBeAMesh) {
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

/// Elements are sent in the smaller of the two types. Summands are sent in the type of the source,
/// so that the sum is rounded only once.
TEST(Cases, ElementsAreSentInTheSmallerTypeUnlessTheyAreSummands) {
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

TEST(Cases, AnInvalidCaseIsRefusedAndTheOthersAreRead) {
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

/// The error of the mesh case above after one replacement in its text. "taken" if there is no
/// error.
std::string reason_of_mesh(const std::string& what, const std::string& instead) {
  std::string text = kMesh;
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos);
  const Case item = only(text.replace(at, what.size(), instead));
  return item.problem ? "taken" : item.problem.error().message;
}

/// The error of a block-cyclic case with the given fields. "taken" if there is no error.
std::string reason_of_blocks(const std::string& shape, const std::string& block,
                             const std::string& grid, const std::string& first) {
  const Case item =
      only(R"({"kind": "block_cyclic", "dtype": "f64", "shape": [)" + shape +
           R"(], "src": {"block": [)" + block + R"(], "grid": [)" + grid + R"(], "src": [)" +
           first + R"(]}, "dst": {"block": [2, 2], "grid": [2, 2], "src": [0, 0]}})");
  return item.problem ? "taken" : item.problem.error().message;
}

TEST(Cases, InvalidBlockCyclicFieldsAreNamedInTheError) {
  EXPECT_EQ(reason_of_blocks("4, 4", "2, 2", "2, 2", "0, 1"), "taken");
  EXPECT_EQ(reason_of_blocks("4, 4", "2, 0", "2, 2", "0, 0"),
            "src: 'block' contains 0 instead of a size of at least 1");
  EXPECT_EQ(reason_of_blocks("4, 4", "2, 2", "2000, 2", "0, 0"),
            "src: 'grid' contains 2000 instead of a size from 1 to 1024");
  EXPECT_EQ(reason_of_blocks("4, 4", "2, 2", "2, 2", "2, 0"),
            "src: 'src' contains 2 instead of a position in the grid from 0 to 1");
  // This case is refused before a layout of a million blocks is built.
  EXPECT_EQ(reason_of_blocks("1000000, 1000000", "1, 1", "2, 2", "0, 0"),
            "the blocks of 'src' and 'dst' divide the array into more than 16777216 pieces, which "
            "is the limit; use larger blocks");
  EXPECT_EQ(reason_of_blocks("2000, 2000", "1, 1", "2, 2", "0, 0"), "taken");
}

TEST(Cases, InvalidFieldsAreNamedInTheError) {
  EXPECT_EQ(reason_of_mesh("[\"x\", 2]", "[\"x\", 1.5]"),
            "src: mesh: 'axes' has 1.5 as the size of 'x' instead of a whole number from 1 to " +
                std::to_string(Mesh::kMostDevices));
  EXPECT_EQ(reason_of_mesh("[4, 4]", "[8.7, 4]"),
            "'shape' contains 8.7 instead of a whole number of at least 0");
  EXPECT_EQ(reason_of_mesh("[4, 4]", "[8.0, 4]"), "taken");
  for (const std::string huge : {"1e300", "9223372036854775808"}) {
    EXPECT_EQ(reason_of_mesh("[4, 4]", "[" + huge + ", 4]"),
              "'shape' contains " + huge + " instead of a whole number of at least 0, below 2^63");
  }
  EXPECT_EQ(reason_of_mesh("[4, 4]", "[-1, 4]"),
            "'shape' contains -1 instead of a whole number of at least 0");
  EXPECT_EQ(reason_of_mesh("[4, 4]", "[4000000000, 4000000000]"),
            "shape: an array must have at most 9007199254740992 elements");
  EXPECT_EQ(reason_of_mesh("[4, 5, 6, 7]", "[0, 0.5, 6, 7]"),
            "dst: mesh: 'devices' contains 0.5 instead of a whole number of at least 0");
  EXPECT_EQ(reason_of_mesh("[[\"x\"], []]", "[\"x\", []]"),
            "src: 'dims' contains 'x' instead of a list of axes");
  EXPECT_EQ(reason_of_mesh("[[\"x\"], []]", "[[3], []]"),
            "src: 'dims' contains 3 instead of the name of an axis");
  EXPECT_EQ(reason_of_mesh("[[\"x\"], []]", "[[], []], \"partial\": {\"x\": \"bogus\"}"),
            "src: 'partial' contains 'bogus' instead of one of sum, prod, min, max, avg");
  EXPECT_EQ(reason_of_mesh("[[\"x\"], []]", "[[], []], \"partial\": [\"x\"]"),
            "src: 'partial' must be an object that maps each axis to its reduction");
  const Case dealt = only(R"({"kind": "block_cyclic", "dtype": "f64", "shape": [4, 4],
      "src": {"block": [2, 2], "grid": [2, 2], "src": [0, 0], "order": "Q"},
      "dst": {"block": [2, 2], "grid": [2, 2], "src": [0, 0]}})");
  ASSERT_FALSE(dealt.problem);
  EXPECT_EQ(dealt.id, "case 1");
  EXPECT_EQ(dealt.problem.error().message,
            "src: 'order' is 'Q' instead of R (row-major) or C (column-major)");
  const Case ragged = only(R"({"kind": "ragged", "dtype": "f32", "shape": [8],
      "src": {"ranges": [[0, 8]]}, "dst": {"ranges": [[0, 2], [5, 2], [2, 8]]}})");
  ASSERT_FALSE(ragged.problem);
  EXPECT_EQ(ragged.problem.error().message, "dst: 'ranges' contains [5, 2] instead of [low, high)");
  const Case boxes = only(R"({"kind": "boxes", "dtype": "f32", "shape": [4],
      "src": {"boxes": [[[0, 4]]]}, "dst": {"boxes": [[[3, 1]], [[0, 4]]]}})");
  ASSERT_FALSE(boxes.problem);
  EXPECT_EQ(boxes.problem.error().message, "dst: 'boxes' contains [3, 1] instead of [low, high)");
}

TEST(Cases, TheSecondCaseWithTheSameIdIsRefused) {
  const auto cases = parse_cases(std::string("{\"cases\": [") + kMesh + "," + kMesh + "]}", "test");
  ASSERT_TRUE(cases);
  EXPECT_TRUE((*cases)[0].problem);
  ASSERT_FALSE((*cases)[1].problem);
  EXPECT_EQ((*cases)[1].problem.error().message,
            "case 1 of the file has the same 'id'; plans are identified by it, so every id must be "
            "unique");
}

TEST(Cases, AFileWithoutAListOfCasesIsRefused) {
  EXPECT_FALSE(parse_cases("[]", "test"));
  EXPECT_FALSE(parse_cases("{\"cases\": 3}", "test"));
}

}  // namespace
}  // namespace weft::reshard
