// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/execute/cuda/copies.h"

#include <gtest/gtest.h>

namespace weft::reshard::execute::cuda {
namespace {

std::string decoded(const std::vector<std::int64_t>& numbers, std::int64_t buffers,
                    std::vector<Copy>& copies) {
  return decode(numbers, buffers, copies);
}

TEST(Copies, AreDecodedAsTheyWereEncoded) {
  const std::vector<Copy> copies = {
      {0, 1, 16, 32, 4, Type::kF32, Operation::kSum, 0, {{3, 64, 32}, {8, 4, 4}}},
      {Copy::kNoBuffer, 1, 0x3f800000, 8, 4, Type::kBytes, Operation::kCopy, 0, {}},
      {Copy::kNoBuffer, 1, 1, 0, 4, Type::kF32, Operation::kScale, 8, {{5, 0, 4}}},
  };
  std::vector<Copy> back;
  EXPECT_EQ(decoded(encode(copies), 2, back), "");
  EXPECT_EQ(encode(back), encode(copies));
  ASSERT_EQ(back.size(), copies.size());
  EXPECT_EQ(back[0].loops, copies[0].loops);
}

TEST(Copies, InvalidCopiesAreRefusedWithAReason) {
  const Copy good{0, 1, 16, 32, 4, Type::kF32, Operation::kSum, 0, {{3, 64, 32}}};
  const auto fault_of = [](const Copy& copy) {
    std::vector<Copy> back;
    return decoded(encode({copy}), 2, back);
  };
  EXPECT_EQ(fault_of(good), "");
  Copy bad = good;
  bad.from_buffer = 2;
  EXPECT_EQ(fault_of(bad), "copy 0: no such source buffer");
  bad = good;
  bad.to = -4;
  EXPECT_EQ(fault_of(bad), "copy 0: an offset is negative");
  bad = good;
  bad.element = 3;
  EXPECT_EQ(fault_of(bad), "copy 0: elements must have 1, 2, 4, 8 or 16 bytes");
  bad = good;
  bad.type = Type::kC64;
  bad.operation = Operation::kMin;
  EXPECT_EQ(fault_of(bad), "copy 0: the operation is not defined for this type");
  bad = good;
  bad.type = Type::kF64;
  EXPECT_EQ(fault_of(bad), "copy 0: the type has elements of another size");
  bad = good;
  bad.operation = Operation::kScale;
  EXPECT_EQ(fault_of(bad), "copy 0: scaling takes no source");
  bad = good;
  bad.loops[0].to = -1;
  EXPECT_EQ(fault_of(bad), "copy 0: an extent or a stride is negative");

  std::vector<std::int64_t> numbers = encode({good, good});
  numbers.pop_back();
  std::vector<Copy> back;
  EXPECT_EQ(decoded(numbers, 2, back), "copy 1: its loops are incomplete");
  numbers.resize(numbers.size() - 3);
  back.clear();
  EXPECT_EQ(decoded(numbers, 2, back), "copy 1: its first nine numbers are incomplete");
}

TEST(Copies, EveryTypeHasNamesAndASize) {
  for (const auto* name : {"f16", "bf16", "f32", "f64", "i8", "i16", "i32", "i64", "u8", "u16",
                           "u32", "u64", "c64", "c128", "pred"}) {
    EXPECT_NE(type_of(name), Type::kBytes) << name;
    EXPECT_GT(size_of(type_of(name)), 0) << name;
  }
  EXPECT_EQ(type_of("f8"), Type::kBytes);
  EXPECT_EQ(operation_of("avg"), Operation::kSum);
  EXPECT_EQ(operation_of("xor"), Operation::kCopy);
}

}  // namespace
}  // namespace weft::reshard::execute::cuda
