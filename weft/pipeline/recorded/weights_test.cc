// SPDX-License-Identifier: Apache-2.0
#include "weft/pipeline/recorded/weights.h"

#include <gtest/gtest.h>

#include "weft/trace/made_run.h"

namespace weft::pipeline::recorded {
namespace {

/// Nested ops on autograd's thread, and the kernels that they launch.
struct Backward {
  trace::MadeRank rank{0, 1};
  std::uint32_t correlation = 1;

  std::uint32_t op(const std::string& name, Nanos start, Nanos duration, const char* dims = "") {
    const std::uint32_t event = rank.host(name, start, duration);
    rank.trace.host_ops[rank.trace.events.detail[event]].input_dims = rank.trace.names.intern(dims);
    return event;
  }
  std::uint32_t kernel(const std::string& name, Nanos launched) {
    rank.runtime(launched, 1, correlation);
    return rank.kernel(name, launched + 1000, 100, correlation++);
  }
  double share(std::uint32_t event) const {
    const trace::Launches launches = trace::resolve_launches(rank.trace);
    return WeightWork(rank.trace, launches).share(event);
  }
  bool is_one_piece(std::uint32_t event) const {
    const trace::Launches launches = trace::resolve_launches(rank.trace);
    return WeightWork(rank.trace, launches).is_one_piece(event);
  }
};

/// A linear layer's backward has two matrix products: one for the gradient of the input and one for
/// the gradient of the weights. If their shapes are equal, their order decides which one is which.
TEST(WeightWork, OfTwoProductsTheOneOfTheWeightsIsFound) {
  Backward made;
  made.op("autograd::engine::evaluate_function: AddmmBackward0", 0, 100);
  made.op("AddmmBackward0", 10, 60, "[[64, 64]]");
  made.op("aten::mm", 20, 10, "[[64, 64], [64, 64]]");
  const std::uint32_t inputs = made.kernel("gemm", 25);
  made.op("aten::mm", 40, 10, "[[64, 64], [64, 64]]");
  const std::uint32_t weights = made.kernel("gemm", 45);
  made.op("aten::sum", 80, 10);
  const std::uint32_t bias = made.kernel("reduce", 85);
  EXPECT_EQ(made.share(inputs), 0);
  EXPECT_EQ(made.share(weights), 1);
  EXPECT_EQ(made.share(bias), 1);

  made.op("MmBackward0", 200, 60);
  made.op("aten::mm", 210, 10);
  const std::uint32_t first = made.kernel("gemm", 215);
  made.op("aten::mm", 230, 10);
  const std::uint32_t second = made.kernel("gemm", 235);
  EXPECT_EQ(made.share(first), 1) << "autograd goes by the names of arguments: mat2, self";
  EXPECT_EQ(made.share(second), 0);
}

TEST(WeightWork, TheShapeOfASingleProductDecides) {
  const auto share = [](const char* dims, const char* gradient) {
    Backward made;
    made.op("AddmmBackward0", 0, 60, gradient);
    made.op("aten::mm", 10, 10, dims);
    return made.share(made.kernel("gemm", 15));
  };
  EXPECT_EQ(share("[[20, 6], [6, 10]]", "[[6, 20]]"), 1) << "the first layer";
  EXPECT_EQ(share("[[6, 20], [20, 10]]", "[[6, 20]]"), 0) << "weights that do not learn";
  EXPECT_EQ(share("[[6, 6], [6, 10]]", "[[6, 6]]"), 0) << "cannot be told";
  EXPECT_EQ(share("", ""), 0);
}

TEST(WeightWork, NamesOfKernelsDecide) {
  Backward made;
  made.op("ConvolutionBackward0", 0, 100);
  made.op("aten::convolution_backward", 5, 90);
  EXPECT_EQ(made.share(made.kernel("sm80_xmma_dgrad_implicit_gemm", 10)), 0);
  EXPECT_EQ(made.share(made.kernel("sm80_xmma_wgrad_implicit_gemm", 20)), 1);
  EXPECT_EQ(made.share(made.kernel("igemm_wrw_gtc_xdlops", 30)), 1);
  EXPECT_EQ(made.share(made.kernel("nchwToNhwcKernel", 40)), 0.5);
  made.op("NativeLayerNormBackward0", 200, 100);
  EXPECT_EQ(made.share(made.kernel("layer_norm_grad_input_kernel", 210)), 0);
  EXPECT_EQ(made.share(made.kernel("GammaBetaBackwardCUDAKernel", 220)), 1);
  made.op("torch::autograd::AccumulateGrad", 400, 100);
  EXPECT_EQ(made.share(made.kernel("vectorized_elementwise_kernel", 410)), 1);
  made.op("GeluBackward0", 600, 100);
  EXPECT_EQ(made.share(made.kernel("vectorized_elementwise_kernel", 610)), 0);
}

TEST(WeightWork, OpsOfTheHostSumUpTheOpsInsideThem) {
  Backward made;
  const std::uint32_t all = made.op("autograd::engine::evaluate_function: AddmmBackward0", 0, 200);
  made.op("AddmmBackward0", 10, 160);
  made.op("aten::mm", 20, 50);
  made.op("aten::mm", 100, 50);
  made.op("aten::sum", 180, 10);
  EXPECT_DOUBLE_EQ(made.share(all), (50 + 10) / 200.0);
  EXPECT_EQ(made.share(made.op("aten::convolution_backward", 300, 50)), 0.5);
}

TEST(WeightWork, FunctionsOfTheUserCannotBeSplit) {
  Backward made;
  made.op("autograd::engine::evaluate_function: FusedBlockBackward", 0, 100);
  made.op("FusedBlockBackward", 10, 80);
  EXPECT_TRUE(made.is_one_piece(made.kernel("fused", 20)));
  made.op("AddmmBackward0", 200, 100);
  EXPECT_FALSE(made.is_one_piece(made.kernel("gemm", 210)));
}

}  // namespace
}  // namespace weft::pipeline::recorded
