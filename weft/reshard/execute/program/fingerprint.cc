// SPDX-License-Identifier: Apache-2.0
// Hashes every field that can change a message. Fields that may differ between ranks, such as the
// number of the device itself, are left out. The length of each list is hashed before its items, so
// that two neighbouring lists cannot be confused with other lists.
#include "weft/reshard/execute/program/fingerprint.h"

#include <string_view>

namespace weft::reshard::execute {
namespace {

/// A hash of 64 bits. It need not resist attacks, because the ranks of one job trust each other.
class Mixer {
 public:
  void add(std::int64_t number) {
    state_ = (state_ ^ static_cast<std::uint64_t>(number)) * 0x9E3779B97F4A7C15u;
    state_ ^= state_ >> 29;
  }
  template <class List>
  void add_all(const List& list) {
    add(static_cast<std::int64_t>(list.size()));
    for (const auto& item : list) add(item);
  }
  void add(const Layout& layout) {
    add_all(layout.shape);
    for (const auto& cut : layout.cuts) {
      for (const Strips& strips : cut->slots) {
        add(static_cast<std::int64_t>(strips.size()));
        for (const Interval& strip : strips) {
          add(strip.low);
          add(strip.high);
        }
      }
      add_all(cut->slot_of);
    }
    add_all(layout.group);
    add_all(layout.further);
    add_all(layout.group_of_summand);
    add(layout.groups);
  }
  std::uint64_t state() const { return state_; }

 private:
  std::uint64_t state_ = 0x243F6A8885A308D3u;
};

}  // namespace

std::uint64_t fingerprint(const std::vector<Array>& arrays, const ProgramOptions& options) {
  Mixer mixer;
  mixer.add(options.budget);
  mixer.add(options.in_place ? 1 : 0);
  for (const Array& array : arrays) {
    const Problem& problem = *array.problem;
    mixer.add_all(std::string_view(array.elements.type));
    mixer.add_all(std::string_view(array.elements.reduction));
    mixer.add(problem.item_size);
    if (problem.cast) {
      mixer.add_all(std::string_view(problem.cast->from));
      mixer.add_all(std::string_view(problem.cast->to));
    }
    mixer.add_all(problem.devices);
    mixer.add_all(problem.node_of);
    mixer.add(problem.source);
    mixer.add(problem.target);
    // The teams of a partial target say which devices hold the sum together.
    mixer.add_all(problem.target.team);
    for (const Step& step : array.plan->steps) {
      for (const LayoutPtr& layout : step.layouts) mixer.add(*layout);
    }
  }
  return mixer.state();
}

}  // namespace weft::reshard::execute
