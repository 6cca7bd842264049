// SPDX-License-Identifier: Apache-2.0
// Solvers for the least-squares problem of the clocks of all ranks: normal equations A x = b, to
// which observations are added one by one. Private to the alignment.
#pragma once

#include <cstddef>
#include <vector>

namespace weft::trace {

/// One entry of a sparse row: the index of an unknown and its coefficient.
struct EquationTerm {
  std::ptrdiff_t index;  ///< negative: ignored
  double value;
};

/// A dense symmetric positive definite matrix. Add all observations, call factorise(), and then
/// solve() or variances(). This takes time cubic in the number of unknowns. So use this class for
/// at most a few hundred unknowns, or if the variances are needed.
class DenseEquations {
 public:
  using Term = EquationTerm;
  explicit DenseEquations(std::size_t size) : size_(size), matrix_(size * size), right_(size) {}

  /// A += factor * terms * terms'.
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

  /// Cholesky factorisation in place. Adds a small ridge to the diagonal, so that unknowns without
  /// observation become zero instead of making the matrix singular.
  void factorise();
  std::vector<double> solve() const;
  /// Returns the diagonal of the inverse, that is, the variances of the unknowns.
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

/// The equations of DenseEquations, but without a matrix: keeps the rows and solves by conjugate
/// gradients. This takes a few dozen iterations, and each takes time linear in the number of
/// observations. Meant for a thousand ranks.
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

  /// Starts at `guess`. Stops once the residual is 1e-12 of the residual of x = 0.
  std::vector<double> solve(std::vector<double> guess) const;

 private:
  struct Row {
    /// Index behind the last term of this row in terms_. The terms of the row begin at the `end` of
    /// the previous row.
    std::size_t end;
    double factor;
  };
  /// Returns (A + ridge) x.
  std::vector<double> times(const std::vector<double>& x, double ridge) const;

  std::vector<double> right_;
  std::vector<double> diagonal_;
  std::vector<Term> terms_;
  std::vector<Row> rows_;
};

}  // namespace weft::trace
