// SPDX-License-Identifier: Apache-2.0
// The bars Weft's answers are held to, one table each. Every class below is fed one recording after
// the other, so that only one is in memory, and then gives its table.
#pragma once

#include <string>
#include <vector>

#include "bench/accuracy_sets.h"
#include "bench/accuracy_table.h"
#include "weft/predict/predict.h"

namespace weft::accuracy {

/// Replaying a recording unchanged gives its steps back.
class SelfReplayBar {
 public:
  void add(const JobSet& set, const predict::Job& job);
  Table table() const { return table_; }

 private:
  Table table_{"Self-replay",
               "Each recorded step replayed, per rank; worst error over ranks and steps. Bar: 1 %.",
               {"recording", "ranks", "steps", "worst error"},
               {}};
};

/// A recorded step predicted from the other recorded steps.
class HeldOutStepBar {
 public:
  Status add(const JobSet& set, const predict::Job& job);
  Table table() const;

 private:
  struct Figures {
    std::string name;
    std::vector<double> errors;   ///< by rank and step
    std::vector<double> scatter;  ///< of the mean of the other recorded periods
    std::vector<double> bounds;   ///< what the other steps' range allows
  };
  std::vector<Figures> sets_;
};

/// The step without profiler, against the same job timed without profiler.
class UnprofiledStepBar {
 public:
  Status add(const JobSet& set, const predict::Job& job);
  Table table() const { return table_; }

 private:
  Table table_{"Step without profiler",
               "Predicted from the recording alone, against the job timed twice without profiler "
               "(`base`, `base_again`). Error: how far the prediction lies outside the two, in "
               "parts of the nearer. Bar: 4 %.",
               {"recording", "base ms", "again ms", "predicted ms", "error"},
               {}};
};

/// Configurations that were not recorded.
class WhatIfBar {
 public:
  Status add(const JobSet& set, const predict::Job& job);
  Table table() const;

 private:
  std::vector<Row> rows_;
  std::vector<double> errors_;
  int changes_ = 0;        ///< those large enough to have a direction
  int wrong_changes_ = 0;  ///< of them, predicted the other way
};

/// What stragglers cost, and who is to blame, against the published answers.
class StragglerBar {
 public:
  Status add(const std::string& name, const predict::Job& job);
  Table table() const { return table_; }

 private:
  Table table_{"Stragglers",
               "Slowdown by stragglers and who causes it, against the published answers of the "
               "straggler study. Bar: 1 %, and the right culprit.",
               {"job", "published", "weft", "error", "published culprit", "culprit"},
               {}};
};

/// Clocks put wrong by up to 50 ms, and how much of that alignment leaves.
class ClockBar {
 public:
  void add(const std::string& name, const trace::Run& run);
  Table table() const { return table_; }

 private:
  Table table_{"Clock alignment",
               "Offsets of up to 50 ms put into the clock of every rank, three times; the largest "
               "error that is left. Bar: 50 µs.",
               {"recording", "ranks", "worst error µs"},
               {}};
};

}  // namespace weft::accuracy
