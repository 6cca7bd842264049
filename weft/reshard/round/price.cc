// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/round/price.h"

#include <algorithm>
#include <array>
#include <string>

#include "weft/base/decimal.h"

namespace weft::reshard {
namespace {

/// 128 bits, because bytes times the picoseconds in a second may exceed 64 bits.
__extension__ typedef __int128 Wide;

struct Unit {
  std::string_view name;
  int digits;  ///< the unit is 10 to this power
};

/// Parses a number with a unit, "12.5us"; nullopt if the unit is unknown or the number is negative
/// or malformed.
template <std::size_t N>
std::optional<std::int64_t> with_unit(std::string_view text, const std::array<Unit, N>& units) {
  for (const Unit& unit : units) {
    if (text.ends_with(unit.name)) {
      const auto number = parse_scaled(text.substr(0, text.size() - unit.name.size()), unit.digits);
      if (number && *number >= 0) return number;
    }
  }
  return std::nullopt;
}

/// Time to receive that many bytes, rounded to the nearest picosecond.
Picos moving(const Link& link, Bytes received, std::int64_t bandwidth) {
  const auto numerator = static_cast<Wide>(received) * link.grow * 1'000'000'000'000;
  const auto denominator = static_cast<Wide>(link.shrink) * bandwidth;
  return static_cast<Picos>((numerator + denominator / 2) / denominator);
}

/// `bytes`, scaled by grow / shrink, are cut into pieces of at most `most` bytes. Returns the
/// number of pieces.
std::int64_t pieces(const Link& link, Bytes bytes, Bytes most) {
  const auto scaled = static_cast<Wide>(bytes) * link.grow;
  const auto piece = static_cast<Wide>(most) * link.shrink;
  return static_cast<std::int64_t>((scaled + piece - 1) / piece);
}

/// The longest message that the window allows, in bytes: at most half of the window, in whole
/// elements, but at least one element.
Bytes longest_message(const Link& link, Bytes item_size) {
  return std::max(item_size, link.window / 2 / item_size * item_size);
}

Picos price_of(const Link& link, std::int64_t messages, const Traffic& traffic, Bytes item_size) {
  const Bytes received = traffic.recv_max * item_size;
  const std::int64_t rounds =
      link.window == 0
          ? 1
          : pieces(link, received, std::max(link.window, longest_message(link, item_size)));
  const Picos alone = price(link, rounds, messages, received);
  if (link.node_bandwidth == 0) return alone;
  // The devices of a node share the bandwidth into the node. The bandwidth into a device and the
  // bandwidth into a node limit a round at the same time. So the price is the larger of the two
  // times.
  return std::max(alone, price(link, rounds, messages, 0) +
                             moving(link, traffic.node_recv_max * item_size, link.node_bandwidth));
}

constexpr std::array<Unit, 3> kBandwidths = {{{"GB/s", 9}, {"MB/s", 6}, {"kB/s", 3}}};

}  // namespace

Result<std::int64_t> parse_bandwidth(std::string_view text) {
  const auto bandwidth = with_unit(text, kBandwidths);
  if (bandwidth && *bandwidth > 0) return *bandwidth;
  return fail(ErrorCode::kUsage, "'" + std::string(text) + "' is not a bandwidth; write 25GB/s");
}

Result<Picos> parse_duration(std::string_view text) {
  // "s" must come last, because every unit ends in "s".
  constexpr std::array<Unit, 4> units = {{{"ns", 3}, {"us", 6}, {"ms", 9}, {"s", 12}}};
  if (const auto time = with_unit(text, units)) return *time;
  return fail(ErrorCode::kUsage, "'" + std::string(text) + "' is not a time; write 10us or 500ns");
}

Result<Link> parse_link(std::string_view text) {
  const std::size_t comma = text.find(',');
  Link link;
  if (comma == text.npos) {
    const auto step = parse_duration(text);
    if (step) {
      link.step = *step;
      return link;
    }
    return fail(ErrorCode::kUsage,
                "'" + std::string(text) +
                    "' is not a link; write 10us,25GB/s: cost of a step, bandwidth of a device");
  }
  WEFT_ASSIGN(link.step, parse_duration(text.substr(0, comma)));
  WEFT_ASSIGN(link.bandwidth, parse_bandwidth(text.substr(comma + 1)));
  return link;
}

Picos price(const Link& link, std::int64_t steps, std::int64_t messages, Bytes received) {
  return link.step * steps + link.message * messages + moving(link, received, link.bandwidth);
}

std::int64_t messages(const Link& link, const Traffic& traffic, Bytes item_size) {
  const std::int64_t peers = traffic.peers_max;
  if (link.window == 0 || peers == 0) return peers;
  // Only the total is known. Assume that all peers send about the same amount.
  const Bytes each = (traffic.recv_max + peers - 1) / peers * item_size;
  return peers * pieces(link, each, longest_message(link, item_size));
}

Picos price(const Link& link, const Traffic& traffic, Bytes item_size) {
  if (traffic.recv_max == 0) return 0;
  return price_of(link, messages(link, traffic, item_size), traffic, item_size);
}

Picos least_price(const Link& link, const Traffic& traffic, Bytes item_size) {
  if (traffic.recv_max == 0) return 0;
  std::int64_t least = traffic.peers_max;
  if (link.window > 0) {
    least = std::max(least,
                     pieces(link, traffic.recv_max * item_size, longest_message(link, item_size)));
  }
  return price_of(link, least, traffic, item_size);
}

}  // namespace weft::reshard
