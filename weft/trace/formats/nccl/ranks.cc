// SPDX-License-Identifier: Apache-2.0
// The largest communicator of a training job normally contains all ranks in their order.
// place_workers() assumes this only if the largest communicators of all workers have the same size,
// and all workers have different ranks in them.
#include "weft/trace/formats/nccl/ranks.h"

#include <set>

namespace weft::trace::nccl {
namespace {

constexpr std::int64_t kLargestWorld = 1 << 20;  // a larger number in the file is damage

Place in_largest(const std::vector<Membership>& memberships) {
  Place place;
  for (const Membership& m : memberships) {
    if (m.ranks <= place.world || m.ranks > kLargestWorld) continue;
    if (m.rank < 0 || m.rank >= m.ranks) continue;
    place = {static_cast<std::int32_t>(m.rank), static_cast<std::int32_t>(m.ranks)};
  }
  return place;
}

}  // namespace

std::vector<Place> place_workers(const std::vector<std::vector<Membership>>& workers) {
  std::vector<Place> places;
  std::set<std::int32_t> ranks;
  for (const auto& memberships : workers) {
    places.push_back(in_largest(memberships));
    ranks.insert(places.back().rank);
  }
  for (const Place& place : places) {
    const bool apart =
        place.world > 0 && place.world == places.front().world && ranks.size() == places.size();
    if (!apart) return std::vector<Place>(workers.size());
  }
  return places;
}

}  // namespace weft::trace::nccl
