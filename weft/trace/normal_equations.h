// SPDX-License-Identifier: Apache-2.0
// Least squares for a few hundred unknowns, dense. Private to the alignment.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace weft::trace {

/// Symmetric positive definite. Add all observations, factorise(), then ask.
class NormalEquations {
 public:
  explicit NormalEquations(std::size_t size) : size_(size), matrix_(size * size), right_(size) {}

  struct Term {
    std::ptrdiff_t index;  // negative: not an unknown
    double value;
  };

  template <class Terms>
  void add_outer(const Terms& terms, double factor) {
    for (const Term& a : terms) {
      if (a.index < 0) continue;
      for (const Term& b : terms) {
        if (b.index < 0 || b.index > a.index) continue;
        at(a.index, b.index) += factor * a.value * b.value;
      }
    }
  }
  template <class Terms>
  void add_right(const Terms& terms, double factor) {
    for (const Term& a : terms) {
      if (a.index >= 0) right_[static_cast<std::size_t>(a.index)] += factor * a.value;
    }
  }

  /// Cholesky in place. A ridge far below the data's weight keeps unseen unknowns at zero.
  void factorise() {
    double largest = 0;
    for (std::size_t i = 0; i < size_; ++i) largest = std::max(largest, matrix_[i * size_ + i]);
    const double ridge = largest > 0 ? largest * 1e-10 : 1;
    for (std::size_t i = 0; i < size_; ++i) matrix_[i * size_ + i] += ridge;
    for (std::size_t j = 0; j < size_; ++j) {
      double* row_j = &matrix_[j * size_];
      double diagonal = row_j[j];
      for (std::size_t k = 0; k < j; ++k) diagonal -= row_j[k] * row_j[k];
      row_j[j] = std::sqrt(std::max(diagonal, ridge * 1e-3));
      for (std::size_t i = j + 1; i < size_; ++i) {
        double* row_i = &matrix_[i * size_];
        double sum = row_i[j];
        for (std::size_t k = 0; k < j; ++k) sum -= row_i[k] * row_j[k];
        row_i[j] = sum / row_j[j];
      }
    }
  }
  std::vector<double> solve() const {
    std::vector<double> x = right_;
    forward(x, 0);
    for (std::size_t i = size_; i-- > 0;) {
      double sum = x[i];
      for (std::size_t k = i + 1; k < size_; ++k) sum -= matrix_[k * size_ + i] * x[k];
      x[i] = sum / matrix_[i * size_ + i];
    }
    return x;
  }
  /// Diagonal of the inverse: the variances.
  std::vector<double> variances() const {
    std::vector<double> result(size_);
    std::vector<double> x(size_);
    for (std::size_t i = 0; i < size_; ++i) {
      std::fill(x.begin(), x.end(), 0);
      x[i] = 1;
      forward(x, i);
      for (std::size_t k = i; k < size_; ++k) result[i] += x[k] * x[k];
    }
    return result;
  }

 private:
  double& at(std::ptrdiff_t row, std::ptrdiff_t column) {
    return matrix_[static_cast<std::size_t>(row) * size_ + static_cast<std::size_t>(column)];
  }
  void forward(std::vector<double>& x, std::size_t from) const {
    for (std::size_t i = from; i < size_; ++i) {
      double sum = x[i];
      for (std::size_t k = from; k < i; ++k) sum -= matrix_[i * size_ + k] * x[k];
      x[i] = sum / matrix_[i * size_ + i];
    }
  }
  std::size_t size_;
  std::vector<double> matrix_;  // lower triangle
  std::vector<double> right_;
};

}  // namespace weft::trace
