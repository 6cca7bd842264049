// SPDX-License-Identifier: Apache-2.0
// Measures how good Weft's answers are. Each class below measures one kind of answer and compares
// its error with a bar, the largest error that is accepted. Call add() for one recording after the
// other, so that only one of them is in memory at a time. Then table() returns the result.
#pragma once

#include <string>
#include <vector>

#include "bench/accuracy_sets.h"
#include "bench/accuracy_table.h"
#include "weft/predict/predict.h"

namespace weft::accuracy {

/// Measures how exactly a replay of the unchanged recording gives the recorded steps.
class SelfReplayBar {
 public:
  void add(const JobSet& set, const predict::Job& job);
  Table table() const { return table_; }

 private:
  Table table_{"Self-replay",
               "Every recorded step is replayed on every rank. The error is the worst over ranks "
               "and steps. Bar: 1 %.",
               {"recording", "ranks", "steps", "worst error"},
               {}};
};

/// Measures how well one recorded step is predicted from the other recorded steps.
class HeldOutStepBar {
 public:
  Status add(const JobSet& set, const predict::Job& job);
  Table table() const;

 private:
  struct Figures {
    std::string name;
    std::vector<double> errors;   ///< relative error of the prediction, by rank and step
    std::vector<double> scatter;  ///< relative error of the mean of the other recorded steps
    std::vector<double> bounds;   ///< distance of the step from the range of the other steps
  };
  std::vector<Figures> sets_;
};

/// Measures how well the step without profiler is predicted: compares the prediction with the
/// measured step of a run without profiler.
class UnprofiledStepBar {
 public:
  Status add(const JobSet& set, const predict::Job& job);
  Table table() const { return table_; }

 private:
  Table table_{"Step without profiler",
               "The step is predicted from the recording alone and compared with the job timed "
               "twice without profiler (`base` and `base_again`). The error is 0 if the prediction "
               "lies between these two times. Otherwise it is the distance to the nearer time. "
               "Bar: 4 %.",
               {"recording", "base ms", "again ms", "predicted ms", "error"},
               {}};
};

/// Measures how well Weft predicts configurations of a job that were not recorded.
class WhatIfBar {
 public:
  Status add(const JobSet& set, const predict::Job& job);
  Table table() const;

 private:
  std::vector<Row> rows_;
  std::vector<double> errors_;
  int changes_ = 0;        ///< changes that are large enough to have a clear direction
  int wrong_changes_ = 0;  ///< those of `changes_` that were predicted in the wrong direction
};

/// Compares Weft's answers about stragglers (by how much they slow the job down, and which worker
/// or stage is the cause) with published answers for the same jobs.
class StragglerBar {
 public:
  Status add(const std::string& name, const predict::Job& job);
  Table table() const { return table_; }

 private:
  Table table_{"Stragglers",
               "The slowdown by stragglers and the worker or stage that causes it, compared with "
               "the published answers of the straggler study. Bar: 1 %, and the right culprit.",
               {"job", "published", "weft", "error", "published culprit", "culprit"},
               {}};
};

/// Adds errors of up to 50 ms to clocks, aligns the clocks, and measures how much of the errors is
/// left.
class ClockBar {
 public:
  void add(const std::string& name, const trace::Run& run);
  Table table() const { return table_; }

 private:
  Table table_{
      "Clock alignment",
      "The clock of every rank gets a random offset of up to 50 ms, three times. The error "
      "is the largest one that is left after alignment. Bar: 50 µs.",
      {"recording", "ranks", "worst error µs"},
      {}};
};

}  // namespace weft::accuracy
