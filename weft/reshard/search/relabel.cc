// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/search/relabel.h"

#include <limits>
#include <utility>

namespace weft::reshard {
namespace {

/// Indexed by device d, then device e: twice the bytes that d keeps if it takes the part of e.
/// Doubled, so that a tie can be broken by adding 1.
using Gains = std::vector<std::vector<std::int64_t>>;

Gains gains_of(const std::vector<Problem>& problems) {
  const auto devices = static_cast<std::size_t>(problems.front().source.devices());
  Gains gains(devices, std::vector<std::int64_t>(devices, 0));
  for (const Problem& problem : problems) {
    const Layout &source = problem.source, &target = problem.target;
    for (Part mine = 0; mine < source.parts(); ++mine) {
      if (!source.holds(mine)) continue;
      for (Part wanted = 0; wanted < target.parts(); ++wanted) {
        if (!target.holds(wanted)) continue;
        gains[source.device_of(mine)][target.device_of(wanted)] +=
            2 * problem.item_size * common_elements(source, mine, target, wanted);
      }
    }
  }
  for (std::size_t device = 0; device < devices; ++device) ++gains[device][device];
  return gains;
}

/// Finds the assignment with the largest sum of gains, by the Hungarian algorithm. It adds one row
/// (device) at a time and matches it along a shortest augmenting path. Potentials keep reduced
/// costs non-negative, so that the path can be found as in Dijkstra's algorithm.
std::vector<Device> assign(const Gains& gains) {
  const std::size_t size = gains.size();
  constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max() / 4;
  // Rows and columns count from 1. Row 0 is "not matched yet"; column 0 holds the row being added.
  std::vector<std::int64_t> row_potential(size + 1, 0), column_potential(size + 1, 0);
  std::vector<std::size_t> row_of(size + 1, 0), came_from(size + 1, 0);
  for (std::size_t row = 1; row <= size; ++row) {
    row_of[0] = row;
    std::size_t column = 0;
    std::vector<std::int64_t> distance(size + 1, kFar);
    std::vector<bool> done(size + 1, false);
    do {
      done[column] = true;
      const std::size_t at = row_of[column];
      std::int64_t nearest = kFar;
      std::size_t next = 0;
      for (std::size_t other = 1; other <= size; ++other) {
        if (done[other]) continue;
        const std::int64_t way =
            -gains[at - 1][other - 1] - row_potential[at] - column_potential[other];
        if (way < distance[other]) {
          distance[other] = way;
          came_from[other] = column;
        }
        if (distance[other] < nearest) {
          nearest = distance[other];
          next = other;
        }
      }
      for (std::size_t other = 0; other <= size; ++other) {
        if (done[other]) {
          row_potential[row_of[other]] += nearest;
          column_potential[other] -= nearest;
        } else {
          distance[other] -= nearest;
        }
      }
      column = next;
    } while (row_of[column] != 0);
    for (; column != 0; column = came_from[column]) row_of[column] = row_of[came_from[column]];
  }
  std::vector<Device> labels(size);
  for (std::size_t column = 1; column <= size; ++column) {
    labels[row_of[column] - 1] = static_cast<Device>(column - 1);
  }
  return labels;
}

}  // namespace

std::vector<Device> best_labels(const std::vector<Problem>& problems) {
  return problems.empty() ? std::vector<Device>{} : assign(gains_of(problems));
}

Problem relabelled(const Problem& problem, const std::vector<Device>& labels) {
  Problem next = problem;
  const Layout& target = problem.target;
  // Indexed by device: the device that takes over this device's part.
  std::vector<Device> taker(labels.size());
  for (std::size_t device = 0; device < labels.size(); ++device) {
    taker[labels[device]] = static_cast<Device>(device);
  }
  for (std::size_t dim = 0; dim < target.cuts.size(); ++dim) {
    auto cut = std::make_shared<Cut>(*target.cuts[dim]);
    for (std::size_t device = 0; device < labels.size(); ++device) {
      cut->slot_of[device] = target.cuts[dim]->slot_of[labels[device]];
    }
    next.target.cuts[dim] = std::move(cut);
  }
  for (std::size_t device = 0; device < labels.size(); ++device) {
    next.target.group[device] = target.group[labels[device]];
  }
  for (Device& device : next.target.further) device = taker[device];
  if (next.target_type) {  // the same type over a mesh with other devices
    std::vector<std::int64_t>& devices = next.target_type->mesh.devices;
    for (const Device position : dense(problem.devices, std::exchange(devices, {}))) {
      devices.push_back(problem.devices[taker[position]]);
    }
  }
  return next;
}

}  // namespace weft::reshard
