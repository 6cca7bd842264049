// SPDX-License-Identifier: Apache-2.0
#include "weft/trace/clock/normal_equations.h"

#include <algorithm>
#include <cmath>

#include "weft/base/parallel.h"

namespace weft::trace {
namespace {

constexpr double kRidge = 1e-10;    ///< ridge, as a fraction of the largest diagonal element
constexpr std::size_t kBlock = 64;  ///< columns that the Cholesky factorisation handles at once

double ridge_of(double largest) { return largest > 0 ? largest * kRidge : 1; }

// Four independent sums, so that the additions can overlap in the processor. The order of additions
// is fixed, so the result does not depend on the compiler's vectorisation.
double dot(const double* a, const double* b, std::size_t n) {
  double sum[4] = {0, 0, 0, 0};
  std::size_t k = 0;
  for (; k + 4 <= n; k += 4) {
    for (std::size_t lane = 0; lane < 4; ++lane) sum[lane] += a[k + lane] * b[k + lane];
  }
  for (; k < n; ++k) sum[0] += a[k] * b[k];
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  return dot(a.data(), b.data(), a.size());
}

}  // namespace

void DenseEquations::factorise() {
  double largest = 0;
  for (std::size_t i = 0; i < size_; ++i) largest = std::max(largest, matrix_[i * size_ + i]);
  const double ridge = ridge_of(largest);
  for (std::size_t i = 0; i < size_; ++i) matrix_[i * size_ + i] += ridge;
  // Handle columns in blocks, so that the rows of the block stay in the cache while all rows below
  // are reduced. The rows below do not depend on each other, so they are reduced in parallel.
  for (std::size_t begin = 0; begin < size_; begin += kBlock) {
    const std::size_t end = std::min(begin + kBlock, size_);
    const auto reduce = [&](std::size_t i, std::size_t columns) {
      double* own = matrix_.data() + i * size_;
      for (std::size_t j = begin; j < columns; ++j) {
        own[j] = (own[j] - dot(own, row(j), j)) / row(j)[j];
      }
    };
    for (std::size_t i = begin; i < end; ++i) {
      reduce(i, i);
      double* own = matrix_.data() + i * size_;
      own[i] = std::sqrt(std::max(own[i] - dot(own, own, i), ridge * 1e-3));
    }
    parallel_for(size_ - end, [&](std::size_t below) { reduce(end + below, end); });
  }
}

void DenseEquations::forward(std::vector<double>& x, std::size_t from) const {
  for (std::size_t i = from; i < size_; ++i) {
    x[i] = (x[i] - dot(row(i) + from, x.data() + from, i - from)) / row(i)[i];
  }
}

std::vector<double> DenseEquations::solve() const {
  std::vector<double> x = right_;
  forward(x, 0);
  for (std::size_t i = size_; i-- > 0;) {
    x[i] /= row(i)[i];
    for (std::size_t k = 0; k < i; ++k) x[k] -= row(i)[k] * x[i];
  }
  return x;
}

// With A = L L', the i-th diagonal element of the inverse is |y|^2 where L y = e_i. The first i
// elements of y are zero.
std::vector<double> DenseEquations::variances() const {
  std::vector<double> result(size_);
  parallel_for(size_, [&](std::size_t i) {
    std::vector<double> x(size_, 0);
    x[i] = 1;
    forward(x, i);
    result[i] = dot(x.data() + i, x.data() + i, size_ - i);
  });
  return result;
}

std::vector<double> SparseEquations::times(const std::vector<double>& x, double ridge) const {
  std::vector<double> out(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) out[i] = ridge * x[i];
  std::size_t begin = 0;
  for (const Row& row : rows_) {
    double along = 0;
    for (std::size_t k = begin; k < row.end; ++k) {
      along += terms_[k].value * x[static_cast<std::size_t>(terms_[k].index)];
    }
    along *= row.factor;
    for (std::size_t k = begin; k < row.end; ++k) {
      out[static_cast<std::size_t>(terms_[k].index)] += along * terms_[k].value;
    }
    begin = row.end;
  }
  return out;
}

std::vector<double> SparseEquations::solve(std::vector<double> x) const {
  constexpr double kPrecise = 1e-12;
  const std::size_t size = right_.size();
  const std::size_t most_rounds = 10 * size + 100;
  const double ridge = ridge_of(*std::max_element(diagonal_.begin(), diagonal_.end()));
  std::vector<double> residual = times(x, ridge);
  for (std::size_t i = 0; i < size; ++i) residual[i] = right_[i] - residual[i];
  // The diagonal is the preconditioner, because the numbers of observations of the clocks differ by
  // orders of magnitude.
  const auto scaled = [&](const std::vector<double>& v) {
    std::vector<double> out(size);
    for (std::size_t i = 0; i < size; ++i) out[i] = v[i] / (std::max(diagonal_[i], 0.0) + ridge);
    return out;
  };
  const double enough = kPrecise * kPrecise * dot(right_, scaled(right_));
  std::vector<double> z = scaled(residual);
  std::vector<double> direction = z;
  double left = dot(residual, z);
  for (std::size_t round = 0; round < most_rounds && left > enough; ++round) {
    const std::vector<double> moved = times(direction, ridge);
    const double curvature = dot(direction, moved);
    if (curvature <= 0) break;  // only rounding errors are left
    const double step = left / curvature;
    for (std::size_t i = 0; i < size; ++i) {
      x[i] += step * direction[i];
      residual[i] -= step * moved[i];
    }
    z = scaled(residual);
    const double now = dot(residual, z);
    for (std::size_t i = 0; i < size; ++i) direction[i] = z[i] + now / left * direction[i];
    left = now;
  }
  return x;
}

}  // namespace weft::trace
