// SPDX-License-Identifier: Apache-2.0
// Checks that the library can be loaded without a GPU or a driver, and that calls that need a GPU
// then return an error.
#include "weft/reshard/execute/cuda/library.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <string>

#include "weft/reshard/execute/cuda/copies.h"

namespace weft::reshard::execute::cuda {
namespace {

TEST(Library, LoadsAndMakesPlansWithoutAGpu) {
#ifndef WEFT_CUDA_LIBRARY
  GTEST_SKIP() << "no CUDA compiler: libweft-cuda.so is not built";
#else
  void* library = dlopen(WEFT_CUDA_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto find = [&]<class F>(F*, const char* name) {
    return reinterpret_cast<F*>(dlsym(library, name));
  };
  EXPECT_EQ(find(weft_cuda_abi, "weft_cuda_abi")(), kAbi);
  EXPECT_EQ(find(weft_cuda_type, "weft_cuda_type")("bf16"), static_cast<int>(Type::kBf16));
  EXPECT_EQ(find(weft_cuda_operation, "weft_cuda_operation")("max"),
            static_cast<int>(Operation::kMax));

  const auto make = find(weft_cuda_plan_make, "weft_cuda_plan_make");
  char error[kErrorBytes] = "";
  WeftCudaPlan* plan = nullptr;
  const auto numbers = encode({{0, 1, 0, 0, 4, Type::kBytes, Operation::kCopy, 0, {{8, 8, 4}}}});
  const auto count = static_cast<std::int64_t>(numbers.size());
  EXPECT_NE(make(numbers.data(), count, 1, &plan, error), 0);
  EXPECT_EQ(std::string(error), "copy 0: no such target buffer");
  ASSERT_EQ(make(numbers.data(), count, 2, &plan, error), 0) << error;
  EXPECT_EQ(find(weft_cuda_plan_launches, "weft_cuda_plan_launches")(plan), 1);
  find(weft_cuda_plan_free, "weft_cuda_plan_free")(plan);

  void* memory = nullptr;
  if (find(weft_cuda_allocate, "weft_cuda_allocate")(256, &memory, error) == 0) {
    find(weft_cuda_release, "weft_cuda_release")(memory);
  } else {
    EXPECT_EQ(std::string(error).substr(0, 22), "no memory on the GPU: ");
  }
  dlclose(library);
#endif
}

}  // namespace
}  // namespace weft::reshard::execute::cuda
