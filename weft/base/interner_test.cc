// SPDX-License-Identifier: Apache-2.0
#include "weft/base/interner.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(Interner, IdsCountUpFromTheEmptyString) {
  Interner names;
  EXPECT_EQ(names.intern(""), 0u);
  EXPECT_EQ(names.intern("a"), 1u);
  EXPECT_EQ(names.intern("b"), 2u);
  EXPECT_EQ(names.intern("a"), 1u);
  EXPECT_EQ(names.text(2), "b");
  EXPECT_EQ(names.size(), 3u);
  EXPECT_EQ(names.find("nobody", 77), 77u);
}

TEST(Interner, KeepsManyNamesOfAllLengthsApart) {
  Interner names;
  std::vector<std::string> texts;
  for (int i = 0; i < 20000; ++i) {
    texts.push_back(std::string(static_cast<std::size_t>(i % 97), 'x') + std::to_string(i));
  }
  for (std::size_t i = 0; i < texts.size(); ++i) ASSERT_EQ(names.intern(texts[i]), i + 1);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    ASSERT_EQ(names.find(texts[i], 0), i + 1);
    ASSERT_EQ(names.text(static_cast<NameId>(i + 1)), texts[i]);
  }
}

TEST(Interner, CopyIsIndependent) {
  auto first = std::make_unique<Interner>();
  const NameId id = first->intern("kernel");
  Interner copy = *first;
  first.reset();
  EXPECT_EQ(copy.text(id), "kernel");
  EXPECT_EQ(copy.intern("kernel"), id);
}

TEST(Interner, KeepsBytesThatAreNotText) {
  Interner names;
  const std::string odd("a\0b\xff", 4);
  EXPECT_EQ(names.text(names.intern(odd)), odd);
}

}  // namespace
}  // namespace weft
