// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/search/joint.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <type_traits>

namespace weft::reshard {
namespace {

std::int32_t rounds_of(const std::vector<ArrayRoute>& routes) {
  std::int32_t most = -1;
  for (const ArrayRoute& route : routes) {
    for (const std::int32_t round : route.round) most = std::max(most, round);
  }
  return most + 1;
}

Device devices_of(const std::vector<ArrayRoute>& routes) {
  return routes.empty() ? 0 : routes.front().problem->source.devices();
}

/// Indexed by part of a layout: all devices that hold an equal part.
class Holders {
 public:
  explicit Holders(const Layout& layout) : shard_of_(layout.parts(), -1) {
    std::map<std::vector<std::int32_t>, std::int32_t> shards;
    for (Part part = 0; part < layout.parts(); ++part) {
      if (!layout.holds(part)) continue;
      std::vector<std::int32_t> key = {layout.group[part]};
      for (const auto& cut : layout.cuts) key.push_back(cut->slot_of[part]);
      const auto next = static_cast<std::int32_t>(devices_.size());
      const auto [found, fresh] = shards.emplace(std::move(key), next);
      if (fresh) devices_.emplace_back();
      shard_of_[part] = found->second;
      devices_[found->second].push_back(layout.device_of(part));
    }
  }

  const std::vector<Device>& of(Part part) const { return devices_[shard_of_[part]]; }
  bool several() const {
    return std::any_of(devices_.begin(), devices_.end(),
                       [](const auto& list) { return list.size() > 1; });
  }

 private:
  std::vector<std::int32_t> shard_of_;
  std::vector<std::vector<Device>> devices_;
};

/// A piece that several devices can send.
struct Choice {
  Piece* piece;
  Bytes bytes;
  std::vector<Device> holders;
};

/// The holder that has the least to send, preferring the receiver's node. Ties go to the lowest
/// device, so that all devices agree.
Device least_loaded(const Choice& choice, const std::vector<std::int32_t>& node_of,
                    const std::vector<Bytes>& sent) {
  const auto cost = [&](Device device) {
    const bool far = !node_of.empty() && node_of[device] != node_of[choice.piece->to];
    return std::tuple{far, sent[device], device};
  };
  return *std::min_element(choice.holders.begin(), choice.holders.end(),
                           [&](Device a, Device b) { return cost(a) < cost(b); });
}

/// Calls take(array, hop) for every hop in which something moves.
template <class Take>
void for_each_hop(const std::vector<ArrayRoute>& routes, const Take& take) {
  for (std::size_t array = 0; array < routes.size(); ++array) {
    for (std::size_t hop = 0; hop < routes[array].round.size(); ++hop) {
      if (routes[array].round[hop] >= 0) take(array, hop);
    }
  }
}

/// The layout `layout` among more devices. `number` is the new number of each old device. The added
/// devices hold nothing. Parts that are not first parts (see Layout::further) stay at the end.
Layout renumbered(const Layout& layout, const std::vector<Device>& number, Device universe) {
  Layout wide = layout;
  const auto more = static_cast<std::size_t>(universe - layout.devices());
  const auto spread = [&](const auto& by_device, const auto& missing) {
    auto list = std::decay_t<decltype(by_device)>(by_device.size() + more, missing);
    for (Part part = 0; part < static_cast<Part>(by_device.size()); ++part) {
      const bool first = part < layout.devices();
      list[first ? number[part] : part + static_cast<Part>(more)] = by_device[part];
    }
    return list;
  };
  for (auto& cut : wide.cuts) {
    std::vector<Strips> pieces;
    for (Part part = 0; part < layout.parts(); ++part) pieces.push_back(cut->piece(part));
    cut = std::make_shared<Cut>(make_cut(spread(pieces, Strips{})));
  }
  wide.group = spread(layout.group, Layout::kAbsent);
  if (!layout.team.empty()) wide.team = spread(layout.team, Layout::kAbsent);
  for (Device& device : wide.further) device = number[device];
  return wide;
}

}  // namespace

void share_devices(std::vector<Problem>& problems) {
  std::vector<std::int64_t> devices;
  for (const Problem& problem : problems) {
    devices.insert(devices.end(), problem.devices.begin(), problem.devices.end());
  }
  std::sort(devices.begin(), devices.end());
  devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
  for (Problem& problem : problems) {
    if (problem.devices == devices) continue;
    const std::vector<Device> number = dense(devices, problem.devices);
    const auto universe = static_cast<Device>(devices.size());
    problem.source = renumbered(problem.source, number, universe);
    problem.target = renumbered(problem.target, number, universe);
    problem.devices = devices;
    problem.node_of.clear();
  }
}

ArrayRoute make_route(const Problem& problem, const Plan& plan) {
  ArrayRoute route{&problem, {&problem.source}, {}};
  std::int32_t round = 0;
  for (const Step& step : plan.steps) {
    for (const LayoutPtr& layout : step.layouts) {
      route.layouts.push_back(layout.get());
      route.round.push_back(step.traffic.recv_total > 0 ? round++ : -1);
    }
  }
  return route;
}

bool has_sender_choice(const std::vector<ArrayRoute>& routes) {
  bool found = false;
  for_each_hop(routes, [&](std::size_t array, std::size_t hop) {
    found = found || Holders(*routes[array].layouts[hop]).several();
  });
  return found;
}

JointPieces joint_pieces(const std::vector<ArrayRoute>& routes) {
  JointPieces all(routes.size());
  for (std::size_t i = 0; i < routes.size(); ++i) all[i].resize(routes[i].round.size());
  const auto rounds = static_cast<std::size_t>(rounds_of(routes));
  std::vector<std::vector<Bytes>> sent(rounds, std::vector<Bytes>(devices_of(routes), 0));
  std::vector<std::vector<Choice>> choices(rounds);
  for_each_hop(routes, [&](std::size_t array, std::size_t hop) {
    const ArrayRoute& route = routes[array];
    const Layout &from = *route.layouts[hop], &to = *route.layouts[hop + 1];
    const std::int32_t round = route.round[hop];
    OverlapCache overlaps(route.problem->node_of);
    all[array][hop] = pieces(from, to, overlaps);
    const Holders holders(from);
    for (Piece& piece : all[array][hop]) {
      const Bytes bytes =
          route.problem->item_size * common_elements(from, piece.from_part, to, piece.to_part);
      const std::vector<Device>& list = holders.of(piece.from_part);
      if (list.size() == 1) {
        sent[round][piece.from] += bytes;
      } else {
        choices[round].push_back({&piece, bytes, list});
      }
    }
  });
  for (std::size_t round = 0; round < rounds; ++round) {
    std::stable_sort(choices[round].begin(), choices[round].end(),
                     [](const Choice& a, const Choice& b) { return a.bytes > b.bytes; });
    for (const Choice& choice : choices[round]) {
      choice.piece->from = least_loaded(choice, routes.front().problem->node_of, sent[round]);
      sent[round][choice.piece->from] += choice.bytes;
    }
  }
  return all;
}

JointLoads joint_loads(const std::vector<ArrayRoute>& routes, const JointPieces& pieces) {
  const Device devices = devices_of(routes);
  JointLoads loads{std::vector<Bytes>(devices, 0), std::vector<Bytes>(devices, 0), 0, 0};
  for (std::int32_t round = 0; round < rounds_of(routes); ++round) {
    std::vector<Bytes> sent(devices, 0), received(devices, 0);
    for_each_hop(routes, [&](std::size_t array, std::size_t hop) {
      const ArrayRoute& route = routes[array];
      if (route.round[hop] != round) return;
      for (const Piece& piece : pieces[array][hop]) {
        const Bytes bytes =
            route.problem->item_size * common_elements(*route.layouts[hop], piece.from_part,
                                                       *route.layouts[hop + 1], piece.to_part);
        sent[piece.from] += bytes;
        received[piece.to] += bytes;
      }
    });
    for (Device device = 0; device < devices; ++device) {
      loads.sent[device] += sent[device];
      loads.received[device] += received[device];
    }
    if (devices == 0) continue;
    loads.sent_max += *std::max_element(sent.begin(), sent.end());
    loads.received_max += *std::max_element(received.begin(), received.end());
  }
  return loads;
}

}  // namespace weft::reshard
