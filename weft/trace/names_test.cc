// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "weft/trace/dtype.h"
#include "weft/trace/runs/file_name.h"

namespace weft::trace {
namespace {

TEST(FileName, FindsTheRankInUsualNames) {
  const std::pair<const char*, std::int32_t> cases[] = {
      {"a/rank0.json", 0},
      {"rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz", 0},
      {"trace_8_rank_1.json", 1},
      {"sampled_rank-17.json.gz", 17},
      {"resnet50-w4-r3.json.gz", 3},
      {"megatron_kineto_7.json", 7},
      {"Rank=5.json", 5},
      {"worker0.1623143566756.pt.trace.json", -1},
      {"ip-172-31-16-248.lan_21147.1698955063520869240.pt.trace.json", -1},
      {"trace-2024-01-15.json", -1},
      {"benchmark_result_493459_1694039959_trace.json", -1},
      {"linear_kineto.json", -1},
      {"", -1},
  };
  for (const auto& [name, rank] : cases) EXPECT_EQ(rank_from_name(name), rank) << name;
}

TEST(FileName, ThePartBeforeTheRankNamesTheRun) {
  EXPECT_EQ(name_before_rank("x/resnet50-w4-r3.json.gz"), "resnet50-w4");
  EXPECT_EQ(name_before_rank("megatron_kineto_7.json"), "megatron_kineto");
  EXPECT_EQ(name_before_rank("rank0.json"), "");
  EXPECT_EQ(name_before_rank("control.json.gz"), "control");
}

TEST(FileName, TensorboardNamesTellHostAndProcess) {
  const WorkerName w =
      worker_from_name("a/b.c.internal_24049.1698955364380200319.pt.trace.json.gz");
  EXPECT_EQ(w.host, "b.c.internal");
  EXPECT_EQ(w.pid, 24049);
  EXPECT_EQ(worker_from_name("rank-0.Apr_03_18_51_38.1102.pt.trace.json").pid, -1);
  EXPECT_EQ(worker_from_name("plain.json").pid, -1);
}

TEST(Dtype, SizesOfBothSpellings) {
  EXPECT_EQ(dtype_size("float"), 4);
  EXPECT_EQ(dtype_size("BFloat16"), 2);
  EXPECT_EQ(dtype_size("c10::Float8_e4m3fn"), 1);
  EXPECT_EQ(dtype_size("long int"), 8);
  EXPECT_EQ(dtype_size("Scalar"), 0);
}

TEST(Dtype, InputBytesSumTheTensors) {
  EXPECT_EQ(input_bytes("[[4, 2048], [], []]", R"(["long int", "Scalar", ""])", ""), 65536);
  EXPECT_EQ(input_bytes("[[]]", R"(["float"])", ""), 4) << "a tensor without dimensions";
  EXPECT_EQ(input_bytes("[[[3],[5,2]],[2]]", R"(["TensorList","float"])", "Half"), 26 + 8);
  EXPECT_EQ(input_bytes("[[[3],[5,2]]]", R"(["TensorList"])", ""), -1);
  EXPECT_EQ(input_bytes("[]", "[]", ""), -1);
  EXPECT_EQ(input_bytes("[[999999999,999999999,999999999]]", R"(["float"])", ""), -1);
  EXPECT_EQ(input_bytes("[[1,", R"(["fl)", ""), -1);
}

TEST(Dtype, InputElementsSkipScalars) {
  EXPECT_EQ(input_elements("[[[4,8]],[],[]]"), 32);
  EXPECT_EQ(input_elements("[[],[]]"), -1);
}

}  // namespace
}  // namespace weft::trace
