// SPDX-License-Identifier: Apache-2.0
// Computes casts during redistribution, number by number. Tests compare executors with this
// reference.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "weft/reshard/execute/host/convert.h"
#include "weft/reshard/execute/program/naive_run.h"

namespace weft::reshard::execute::naive {

using Bytestring = std::vector<std::byte>;

/// A small number, so that sums in any type are exact.
inline double small_number(std::size_t summand, std::size_t element) {
  return static_cast<double>((element * 7 + summand * 3) % 23);
}

/// What the device holds before the run, in the source's type.
inline Bytestring cast_source(const Problem& problem, Device device) {
  const Layout& layout = problem.source;
  const Convert as_source = *conversion("f64", problem.cast->from);
  Bytestring bytes;
  for_each_held(layout, device, [&](std::size_t element) {
    double number = 0;
    for (std::size_t k = 0; k < layout.group_of_summand.size(); ++k) {
      if (layout.group_of_summand[k] == layout.group[device]) number += small_number(k, element);
    }
    if (!layout.partial()) number = small_number(0, element);
    bytes.resize(bytes.size() + static_cast<std::size_t>(problem.cast->from_size));
    as_source(reinterpret_cast<std::byte*>(&number),
              bytes.data() + bytes.size() - problem.cast->from_size, 1);
  });
  return bytes;
}

/// Returns a description of what is wrong with a target that is not partial; empty if it is right.
inline std::string check_cast(const Problem& problem, Device device, const Bytestring& target) {
  const Convert as_target = *conversion("f64", problem.cast->to);
  const std::size_t summands = problem.source.group_of_summand.size();
  std::size_t at = 0;
  std::string wrong;
  for_each_held(problem.target, device, [&](std::size_t element) {
    double number = small_number(0, element);
    for (std::size_t k = 1; problem.source.partial() && k < summands; ++k) {
      number += small_number(k, element);
    }
    Bytestring wanted(static_cast<std::size_t>(problem.cast->to_size));
    as_target(reinterpret_cast<std::byte*>(&number), wanted.data(), 1);
    const std::byte* found = target.data() + at++ * wanted.size();
    if (!std::equal(wanted.begin(), wanted.end(), found)) {
      wrong = "device " + std::to_string(device) + ", element " + std::to_string(element);
    }
  });
  return wrong;
}

/// Casts to narrower types, wider types, and types of the same size.
inline constexpr std::pair<const char*, const char*> kCasts[] = {
    {"f32", "bf16"}, {"bf16", "f32"}, {"f16", "bf16"}, {"f64", "f32"},
    {"i64", "i32"},  {"u8", "f64"},   {"f32", "c128"}, {"i32", "f16"}};

}  // namespace weft::reshard::execute::naive
