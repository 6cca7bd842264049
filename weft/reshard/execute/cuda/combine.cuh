// SPDX-License-Identifier: Apache-2.0
// Combines and scales 16 bytes of elements at a time. The results are the same as on the host: half
// precision is computed in f32 and rounded after each operation, and a minimum or maximum with a
// NaN is a NaN.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "weft/reshard/execute/cuda/work_list.h"

namespace weft::reshard::execute::cuda {

template <class T>
struct Complex {
  T real, imaginary;
};

template <class T>
__device__ T ordered(Operation operation, T a, T b) {
  const bool first = a != a || (operation == Operation::kMin ? a < b : a > b);
  return first ? a : b;
}

/// Integers wrap around: they are computed in the unsigned type `Wrapping`.
template <class T, class Wrapping = T>
__device__ T combined(Operation operation, T a, T b) {
  switch (operation) {
    case Operation::kSum:
      return static_cast<T>(static_cast<Wrapping>(a) + static_cast<Wrapping>(b));
    case Operation::kProd:
      return static_cast<T>(static_cast<Wrapping>(a) * static_cast<Wrapping>(b));
    default:
      return ordered(operation, a, b);
  }
}

template <class T>
struct Combine {
  static __device__ T of(Operation operation, T a, T b) { return combined(operation, a, b); }
};
template <>
struct Combine<std::int8_t> {
  static __device__ std::int8_t of(Operation operation, std::int8_t a, std::int8_t b) {
    return combined<std::int8_t, unsigned>(operation, a, b);
  }
};
template <>
struct Combine<std::int16_t> {
  static __device__ std::int16_t of(Operation operation, std::int16_t a, std::int16_t b) {
    return combined<std::int16_t, unsigned>(operation, a, b);
  }
};
template <>
struct Combine<std::uint16_t> {
  static __device__ std::uint16_t of(Operation operation, std::uint16_t a, std::uint16_t b) {
    return combined<std::uint16_t, unsigned>(operation, a, b);
  }
};
template <>
struct Combine<std::int32_t> {
  static __device__ std::int32_t of(Operation operation, std::int32_t a, std::int32_t b) {
    return combined<std::int32_t, std::uint32_t>(operation, a, b);
  }
};
template <>
struct Combine<std::int64_t> {
  static __device__ std::int64_t of(Operation operation, std::int64_t a, std::int64_t b) {
    return combined<std::int64_t, std::uint64_t>(operation, a, b);
  }
};
template <>
struct Combine<__half> {
  static __device__ __half of(Operation operation, __half a, __half b) {
    return __float2half_rn(combined(operation, __half2float(a), __half2float(b)));
  }
};
template <>
struct Combine<__nv_bfloat16> {
  static __device__ __nv_bfloat16 of(Operation operation, __nv_bfloat16 a, __nv_bfloat16 b) {
    return __float2bfloat16_rn(combined(operation, __bfloat162float(a), __bfloat162float(b)));
  }
};
/// A boolean of one byte; anything but 0 is true. A sum is `or`, a product is `and`.
struct Bool8 {
  std::uint8_t byte;
};
template <>
struct Combine<Bool8> {
  static __device__ Bool8 of(Operation operation, Bool8 a, Bool8 b) {
    const bool any = operation == Operation::kSum || operation == Operation::kMax;
    const bool first = a.byte != 0, second = b.byte != 0;
    return {static_cast<std::uint8_t>(any ? first || second : first && second)};
  }
};
template <class T>
struct Combine<Complex<T>> {
  static __device__ Complex<T> of(Operation operation, Complex<T> a, Complex<T> b) {
    if (operation == Operation::kSum) return {a.real + b.real, a.imaginary + b.imaginary};
    // Round each product before the addition, as the host does, instead of fusing multiplication
    // and addition.
    const auto product = [](T x, T y) {
      if constexpr (sizeof(T) == 4) return __fmul_rn(x, y);
      if constexpr (sizeof(T) == 8) return __dmul_rn(x, y);
    };
    return {product(a.real, b.real) - product(a.imaginary, b.imaginary),
            product(a.real, b.imaginary) + product(a.imaginary, b.real)};
  }
};

/// Applies make(element, index) to each of the elements in 16 bytes.
template <class T, class Make>
__device__ uint4 mapped16(const uint4& from, const Make& make) {
  constexpr int kCount = 16 / sizeof(T);
  T values[kCount];
  memcpy(values, &from, 16);
#pragma unroll
  for (int i = 0; i < kCount; ++i) values[i] = make(values[i], i);
  uint4 result;
  memcpy(&result, values, 16);
  return result;
}

template <class T>
__device__ T scaled(T value, std::int64_t times, std::int64_t over) {
  if constexpr (std::is_integral_v<T>) {
    using Wide = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
    const auto wide = static_cast<Wide>(value), up = static_cast<Wide>(times);
    const auto down = static_cast<Wide>(over);
    return static_cast<T>(wide / down * up + wide % down * up / down);
  } else {
    return value * static_cast<T>(times) / static_cast<T>(over);
  }
}
template <class T>
__device__ Complex<T> scaled(Complex<T> value, std::int64_t times, std::int64_t over) {
  return {scaled(value.real, times, over), scaled(value.imaginary, times, over)};
}
__device__ inline __half scaled(__half value, std::int64_t times, std::int64_t over) {
  return __float2half_rn(scaled(__half2float(value), times, over));
}
__device__ inline __nv_bfloat16 scaled(__nv_bfloat16 value, std::int64_t times, std::int64_t over) {
  return __float2bfloat16_rn(scaled(__bfloat162float(value), times, over));
}
__device__ inline Bool8 scaled(Bool8 value, std::int64_t, std::int64_t) { return value; }

/// Calls take.operator()<T>() with the C++ type T for that value of Type.
template <class Take>
__device__ void with_type(Type type, const Take& take) {
  switch (type) {
    case Type::kF16:
      return take.template operator()<__half>();
    case Type::kBf16:
      return take.template operator()<__nv_bfloat16>();
    case Type::kF32:
      return take.template operator()<float>();
    case Type::kF64:
      return take.template operator()<double>();
    case Type::kI8:
      return take.template operator()<std::int8_t>();
    case Type::kI16:
      return take.template operator()<std::int16_t>();
    case Type::kI32:
      return take.template operator()<std::int32_t>();
    case Type::kI64:
      return take.template operator()<std::int64_t>();
    case Type::kU16:
      return take.template operator()<std::uint16_t>();
    case Type::kU32:
      return take.template operator()<std::uint32_t>();
    case Type::kU64:
      return take.template operator()<std::uint64_t>();
    case Type::kC64:
      return take.template operator()<Complex<float>>();
    case Type::kC128:
      return take.template operator()<Complex<double>>();
    case Type::kBool:
      return take.template operator()<Bool8>();
    case Type::kU8:
    case Type::kBytes:
      return take.template operator()<std::uint8_t>();  // kBytes is never combined
  }
}

template <int kCount, class Choose>
__device__ void combine16(Type type, const Choose& choose, uint4 (&values)[kCount],
                          const uint4 (&addends)[kCount]) {
  with_type(type, [&]<class T>() {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      T others[16 / sizeof(T)];
      memcpy(others, &addends[i], 16);
      values[i] = mapped16<T>(
          values[i], [&](T value, int k) { return Combine<T>::of(choose(), value, others[k]); });
    }
  });
}

/// Combines each of `values` with the addend of the same index.
template <int kCount>
__device__ void combine16(Type type, Operation operation, uint4 (&values)[kCount],
                          const uint4 (&addends)[kCount]) {
  if (operation == Operation::kSum) {  // by far the most frequent, so it is fixed at compile time
    combine16(
        type, [] { return Operation::kSum; }, values, addends);
  } else {
    combine16(
        type, [=] { return operation; }, values, addends);
  }
}

template <int kCount>
__device__ void scale16(Type type, uint4 (&values)[kCount], std::int64_t times, std::int64_t over) {
  with_type(type, [&]<class T>() {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      values[i] = mapped16<T>(values[i], [&](T value, int) { return scaled(value, times, over); });
    }
  });
}

}  // namespace weft::reshard::execute::cuda
