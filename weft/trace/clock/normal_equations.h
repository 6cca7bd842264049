// SPDX-License-Identifier: Apache-2.0
// Least squares for the clocks of all ranks. Private to the alignment.
#pragma once

#include <cstddef>
#include <vector>

namespace weft::trace {

/// One entry of a row: an unknown, and how much of it.
struct EquationTerm {
  std::ptrdiff_t index;  ///< negative: not an unknown
  double value;
};

/// Symmetric positive definite, dense. Add all observations, factorise(), then ask. Cubic in the
/// unknowns: for a few hundred, or where the variances are wanted.
class DenseEquations {
 public:
  using Term = EquationTerm;
  explicit DenseEquations(std::size_t size) : size_(size), matrix_(size * size), right_(size) {}

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
  void factorise();
  std::vector<double> solve() const;
  /// Diagonal of the inverse: the variances.
  std::vector<double> variances() const;

 private:
  double& at(std::ptrdiff_t row, std::ptrdiff_t column) {
    return matrix_[static_cast<std::size_t>(row) * size_ + static_cast<std::size_t>(column)];
  }
  const double* row(std::size_t i) const { return matrix_.data() + i * size_; }
  void forward(std::vector<double>& x, std::size_t from) const;

  std::size_t size_;
  std::vector<double> matrix_;  ///< lower triangle
  std::vector<double> right_;
};

/// The same equations, kept as the rows they are the sum of, and solved by conjugate gradients:
/// linear in the observations, times a few dozen rounds. For the clocks of a thousand ranks.
class SparseEquations {
 public:
  using Term = EquationTerm;
  explicit SparseEquations(std::size_t size) : right_(size), diagonal_(size) {}

  template <class Terms>
  void add_outer(const Terms& terms, double factor) {
    for (const Term& term : terms) {
      if (term.index < 0) continue;
      terms_.push_back(term);
      diagonal_[static_cast<std::size_t>(term.index)] += factor * term.value * term.value;
    }
    rows_.push_back({terms_.size(), factor});
  }
  template <class Terms>
  void add_right(const Terms& terms, double factor) {
    for (const Term& a : terms) {
      if (a.index >= 0) right_[static_cast<std::size_t>(a.index)] += factor * a.value;
    }
  }

  /// Begins at `guess`. Ends where the residual is a trillionth of what it was for zero.
  std::vector<double> solve(std::vector<double> guess) const;

 private:
  struct Row {
    std::size_t end;  ///< of its terms; they begin where the row before ends
    double factor;
  };
  std::vector<double> times(const std::vector<double>& x, double ridge) const;

  std::vector<double> right_;
  std::vector<double> diagonal_;
  std::vector<Term> terms_;
  std::vector<Row> rows_;
};

}  // namespace weft::trace
