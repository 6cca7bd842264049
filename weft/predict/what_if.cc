// SPDX-License-Identifier: Apache-2.0
// Parses what-ifs. The parser is strict: a value must be a complete number with nothing after it.
// Otherwise a typing error would give a prediction that answers another question. Values have upper
// limits, so that later conversions to integers do not overflow.
#include "weft/predict/what_if.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "weft/base/suggest.h"

namespace weft::predict {
namespace {

/// Parses a number. The number must fill the whole text. Refuses "nan" and "inf", which from_chars
/// accepts.
std::optional<double> number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

/// Reads a factor: "2x", "0.5x" or a plain number. It must be positive.
std::optional<double> factor(std::string_view text) {
  if (!text.empty() && (text.back() == 'x' || text.back() == 'X')) text.remove_suffix(1);
  const auto value = number(text);
  return value && *value > 0 && *value <= 1e6 ? value : std::nullopt;
}

/// Reads a size in MiB.
std::optional<double> mebibytes(std::string_view text) {
  const auto size = number(text);
  return size && *size > 0 && *size <= 1e9 ? size : std::nullopt;
}

/// Reads "2,8,40", the limits of buckets in MiB, or "recorded", which gives an empty list.
std::optional<std::vector<double>> bucket_caps(std::string_view text) {
  std::vector<double> caps;
  if (text == "recorded") return caps;
  while (true) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const auto cap = mebibytes(text.substr(0, comma));
    if (!cap) return std::nullopt;
    caps.push_back(*cap);
    if (comma == text.size()) return caps;
    text.remove_prefix(comma + 1);
  }
}

std::string no_such_key(std::string_view key) {
  std::vector<std::string> known;
  for (const WhatIfKey& entry : what_if_keys()) known.emplace_back(entry.key);
  return "no what-if is called '" + std::string(key) + "'" + did_you_mean(key, known);
}

/// Makes Errors that end with a list of the what-ifs that the user can ask instead.
class Refusal {
 public:
  explicit Refusal(const std::vector<std::string>& offered) : offered_(offered) {}

  tl::unexpected<Error> operator()(const std::string& why) const {
    std::string list;
    for (const std::string& key : offered_) list += (list.empty() ? "" : ", ") + key;
    if (!list.empty()) {
      return fail(ErrorCode::kUsage, why + "; this recording can answer: " + list);
    }
    for (const WhatIfKey& key : what_if_keys())
      list += (list.empty() ? "" : ", ") + std::string(key.example);
    return fail(ErrorCode::kUsage, why + "; the what-ifs are: " + list);
  }

 private:
  const std::vector<std::string>& offered_;
};

}  // namespace

const std::vector<WhatIfKey>& what_if_keys() {
  static const std::vector<WhatIfKey> keys = {
      {"network.bandwidth", "network.bandwidth=2x",
       "every link moves twice as many bytes per second"},
      {"network.latency", "network.latency=0.5x",
       "the part of every transfer that does not depend on its size takes half as long"},
      {"compute", "compute=1.5x", "every device computes 1.5 times as fast"},
      {"rank:N.compute", "rank:2.compute=0.5x", "rank 2 computes half as fast"},
      {"comm", "comm=off", "no communication: the time that compute alone would take"},
      {"stragglers", "stragglers=off", "every op takes as long as it usually does on other ranks"},
      {"ddp.bucket_mb", "ddp.bucket_mb=100",
       "DDP with bucket_cap_mb=100: buckets of this many MiB; by default, DDP uses 25 with a first "
       "bucket of 1 MiB"},
      {"ddp.buckets", "ddp.buckets=2,8,40",
       "DDP closes its first bucket at 2 MiB, the second at 8, all others at 40; the value "
       "recorded "
       "stands for the buckets of the recording"},
      {"allreduce.pack_mb", "allreduce.pack_mb=32",
       "all-reduces of a step are joined until each moves more than this many MiB; needs --links"},
      {"workers", "workers=4",
       "data-parallel training with 4 workers, each with as much work as now"},
  };
  return keys;
}

Result<WhatIf> parse_what_if(std::string_view text, const std::vector<std::string>& offered) {
  const Refusal refuse(offered);
  const std::size_t equals = text.find('=');
  const std::string quoted = "'" + std::string(text) + "'";
  if (equals == std::string_view::npos) return refuse(quoted + " is not KEY=VALUE");
  std::string_view key = text.substr(0, equals);
  const std::string_view value = text.substr(equals + 1);
  WhatIf what_if;
  what_if.text = std::string(text);

  // "rank:N.compute" is "compute" with a rank. No other what-if has a rank.
  if (key.starts_with("rank:")) {
    const std::size_t dot = key.find('.');
    const auto rank = dot == std::string_view::npos ? std::nullopt : number(key.substr(5, dot - 5));
    if (!rank || *rank < 0 || *rank != std::floor(*rank) || *rank > 1e8 ||
        key.substr(dot + 1) != "compute") {
      return refuse(no_such_key(key));
    }
    what_if.rank = static_cast<std::int32_t>(*rank);
    key = "compute";
  }
  if (key == "comm" || key == "stragglers") {
    if (value != "off") return refuse(quoted + ": the only value is off");
    what_if.kind = key == "comm" ? WhatIf::Kind::kCommOff : WhatIf::Kind::kStragglersOff;
    return what_if;
  }
  if (key == "ddp.bucket_mb" || key == "allreduce.pack_mb") {
    const auto size = mebibytes(value);
    if (!size) return refuse(quoted + ": the value must be a positive number of MiB");
    what_if.kind = key == "ddp.bucket_mb" ? WhatIf::Kind::kBucket : WhatIf::Kind::kPack;
    what_if.value = *size;
    what_if.caps = {*size};
    return what_if;
  }
  if (key == "ddp.buckets") {
    auto caps = bucket_caps(value);
    if (!caps) {
      return refuse(quoted + ": the value must be recorded or a list of MiB such as 2,8,40");
    }
    what_if.kind = WhatIf::Kind::kBucket;
    what_if.caps = std::move(*caps);
    return what_if;
  }
  if (key == "workers") {
    const auto count = number(value);
    if (!count || *count < 2 || *count != std::floor(*count) || *count > 1e6) {
      return refuse(quoted + ": the value must be a number of workers, at least 2");
    }
    what_if.kind = WhatIf::Kind::kWorkers;
    what_if.value = *count;
    return what_if;
  }
  if (key == "network.bandwidth") {
    what_if.kind = WhatIf::Kind::kBandwidth;
  } else if (key == "network.latency") {
    what_if.kind = WhatIf::Kind::kLatency;
  } else if (key == "compute") {
    what_if.kind = WhatIf::Kind::kCompute;
  } else {
    return refuse(no_such_key(key));
  }
  const auto times = factor(value);
  if (!times) return refuse(quoted + ": the value must be a factor such as 2x or 0.5x");
  what_if.value = *times;
  return what_if;
}

}  // namespace weft::predict
