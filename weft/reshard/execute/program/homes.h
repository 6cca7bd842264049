// SPDX-License-Identifier: Apache-2.0
// Where a device keeps its parts of an array between rounds. A part lies in one place at a time:
// the source buffer as long as nothing was received, its final place in the target buffer as soon
// as it is part of that, else staging. Layouts alone decide, so that any device can tell what all
// others need.
#pragma once

#include <functional>
#include <vector>

#include "weft/reshard/execute/program/program.h"

namespace weft::reshard::execute {

/// The way of an array through layouts, as turns.
struct Course {
  static constexpr std::int32_t kNoTurn = -1;

  const Problem* problem = nullptr;
  const Layout* last = nullptr;  ///< Plan::last()
  std::vector<const Layout*> layouts;
  /// Of the way from each layout to the next; kNoTurn: views change, nothing moves. The last way
  /// has one always, in which whatever is not yet in the target buffer goes there.
  std::vector<std::int32_t> turn;
  std::int32_t turns = 0;
  bool sends = false;  ///< anything goes from device to device

  struct Way {
    std::vector<std::int32_t> leads_to;  ///< by old group: the new one
    std::vector<std::int32_t> joins;     ///< by new group: how many old ones
    /// By device: nobody else is sent what it keeps. Empty where nothing is joined.
    std::vector<char> keeps_alone;
  };
  std::vector<Way> ways;
  /// Parts of each device, of layouts with several a device; else empty. The last is the target.
  std::vector<std::vector<std::vector<Part>>> several;

  /// Of the layout of that number; behind the last, of the target.
  std::vector<Part> parts(std::size_t layout, Device device) const;
  /// Every part that the device may keep something in, as long as the array is on its way.
  void for_each_storage(Device device, const std::function<void(const Layout&, Part)>& take) const;
  /// Whether what the device has goes into that part of the layout after `way`.
  bool carries_on(std::size_t way, Device device, Part to) const;
};
Course make_course(const Problem& problem, const Plan& plan);

struct Home {
  enum class Where { kSource, kTarget, kStaging };
  Part part = 0;  ///< whose home it is
  Where where = Where::kSource;
  /// What lies there: a part of the source, of the target, or of a layout on the way.
  std::size_t layout = 0;
  Part held = 0;
  std::size_t block = 0;  ///< of staging
};

/// Memory that is written in one turn and read for the last time in another.
struct Block {
  Bytes bytes = 0;
  std::int32_t written = 0, read = 0;
  Bytes offset = 0;
};

struct Homes {
  std::vector<std::vector<Home>> of_layout;  ///< parts of the device, by layout of the course
  std::vector<Block> blocks;
};
Homes find_homes(const Course& course, Device device);

/// Gives blocks their offsets; returns how much memory they take.
Bytes arrange(const std::vector<Block*>& blocks);

}  // namespace weft::reshard::execute
