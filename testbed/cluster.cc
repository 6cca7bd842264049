// SPDX-License-Identifier: Apache-2.0
#include "testbed/cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <span>

#include "weft/base/decimal.h"
#include "weft/base/file.h"
#include "weft/base/json/document.h"
#include "weft/base/json/writer.h"
#include "weft/base/suggest.h"

namespace weft::testbed {
namespace {

// Names of clusters and hosts are parts of file names (namespaces, cgroups, folders), which may
// have at most 255 characters.
constexpr std::size_t kLongestName = 60;
constexpr std::int64_t kMostCores = 1024;
constexpr const char* kOneGpu = "one-gpu";
constexpr const char* kNamespaces = "namespaces";

/// Letters, digits and dashes that are neither first nor last: valid as a host name and safe as a
/// file name.
bool is_name(std::string_view text) {
  if (text.empty() || text.size() > kLongestName || text.front() == '-' || text.back() == '-') {
    return false;
  }
  return std::all_of(text.begin(), text.end(), [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= '0' && letter <= '9') || letter == '-';
  });
}

/// Parses a description. Checks every field: otherwise a user would notice a mistake only by odd
/// times in an experiment. The "rate" of the cluster is the default for its hosts.
class Parser {
 public:
  explicit Parser(std::string file) : file_(std::move(file)) {}

  Result<Cluster> cluster(const JsonValue& document) const {
    if (!document.is_object()) return bad("a cluster must be a JSON object with the field 'hosts'");
    WEFT_TRY(only_fields(document, {"cluster_version", "name", "kind", "mps", "rate", "hosts"}));
    if (const JsonValue* version = document.find("cluster_version");
        version && version->as_int() != Cluster::kVersion) {
      return bad(fmt::format("cluster_version is {}, but this Weft reads only version {}",
                             version->text, Cluster::kVersion));
    }
    Cluster cluster;
    const JsonValue* name = document.find("name");
    cluster.name = name ? name->text : std::filesystem::path(file_).stem().string();
    if ((name && !name->is_string()) || !is_name(cluster.name)) {
      return bad(
          fmt::format("'{}' cannot name a cluster: use letters, digits and '-'", cluster.name));
    }
    WEFT_TRY(kind(document, cluster));
    Host usual;
    WEFT_TRY(rate(document, usual));
    WEFT_TRY(hosts(document, usual, cluster));
    return cluster;
  }

 private:
  tl::unexpected<Error> bad(const std::string& what) const {
    return fail(ErrorCode::kBadInput, what, file_);
  }

  Status only_fields(const JsonValue& object, std::initializer_list<const char*> known) const {
    const std::vector<std::string> names(known.begin(), known.end());
    for (const std::string& key : object.keys) {
      if (std::find(names.begin(), names.end(), key) == names.end()) {
        return bad(fmt::format("a cluster has no field '{}'{}", key, did_you_mean(key, names)));
      }
      if (std::count(object.keys.begin(), object.keys.end(), key) > 1) {
        return bad(fmt::format("the field '{}' is given twice", key));
      }
    }
    return {};
  }

  Status kind(const JsonValue& document, Cluster& cluster) const {
    if (const JsonValue* value = document.find("kind")) {
      if (value->text != kOneGpu && value->text != kNamespaces) {
        return bad(fmt::format("'kind' must be '{}' or '{}'", kNamespaces, kOneGpu));
      }
      cluster.kind = value->text == kOneGpu ? Kind::kOneGpu : Kind::kNamespaces;
    }
    if (const JsonValue* value = document.find("mps")) {
      if (value->kind != JsonKind::kTrue && value->kind != JsonKind::kFalse) {
        return bad("'mps' must be true or false");
      }
      cluster.mps = value->kind == JsonKind::kTrue;
    }
    return {};
  }

  Status hosts(const JsonValue& document, const Host& usual, Cluster& cluster) const {
    const JsonValue* value = document.find("hosts");
    if (!value || !(value->is_array() || value->is_number())) {
      return bad("'hosts' must be a number of hosts or a list of hosts");
    }
    if (value->is_number()) {
      const auto count = value->as_int();
      if (!count || *count < 1 || *count > static_cast<std::int64_t>(Cluster::kMostHosts)) {
        return bad(
            fmt::format("'hosts' is {}, but must be 1 to {}", value->text, Cluster::kMostHosts));
      }
      cluster.hosts.assign(static_cast<std::size_t>(*count), usual);
    } else {
      if (value->items.empty() || value->items.size() > Cluster::kMostHosts) {
        return bad(fmt::format("'hosts' lists {} hosts, but must list 1 to {}", value->items.size(),
                               Cluster::kMostHosts));
      }
      for (const JsonValue& item : value->items) {
        WEFT_ASSIGN(Host one, host(item, usual));
        cluster.hosts.push_back(std::move(one));
      }
    }
    for (std::size_t i = 0; i < cluster.hosts.size(); ++i) {
      Host& one = cluster.hosts[i];
      if (one.name.empty()) one.name = fmt::format("host{}", i);
      const auto same = [&](const Host& other) { return other.name == one.name; };
      if (std::any_of(cluster.hosts.begin(), cluster.hosts.begin() + static_cast<std::ptrdiff_t>(i),
                      same)) {
        return bad(fmt::format("two hosts are called '{}'", one.name));
      }
      if (cluster.kind == Kind::kOneGpu && one.rate > 0) {
        return bad(
            "ranks on one GPU use the loopback interface, which has no rate limit; leave "
            "'rate' out");
      }
    }
    return {};
  }

  Result<Host> host(const JsonValue& value, const Host& usual) const {
    if (!value.is_object()) return bad("every host in 'hosts' must be a JSON object");
    WEFT_TRY(only_fields(value, {"name", "cores", "speed", "rate", "clock"}));
    Host host = usual;
    if (const JsonValue* name = value.find("name")) {
      host.name = name->text;
      if (!name->is_string() || !is_name(host.name) || host.name == "localhost") {
        return bad(fmt::format("'{}' cannot name a host: use letters, digits and '-'", host.name));
      }
    }
    if (const JsonValue* cores = value.find("cores")) WEFT_TRY(set_cores(*cores, host));
    if (const JsonValue* speed = value.find("speed")) {
      const auto permille = speed->is_number() ? parse_speed(speed->text) : std::nullopt;
      if (!permille) {
        return bad(fmt::format("speed {} must be above 0 and at most 1", speed->text));
      }
      host.speed_permille = *permille;
    }
    WEFT_TRY(rate(value, host));
    if (const JsonValue* clock = value.find("clock")) {
      const auto parsed = clock->is_string() ? parse_clock(clock->text) : std::nullopt;
      if (!parsed) {
        return bad(fmt::format("clock '{}' is not of the form \"+50ms,50ppm\"", clock->text));
      }
      host.clock = *parsed;
    }
    return host;
  }

  /// A number limits the CPU time to that many cores; a list names the cores to use.
  Status set_cores(const JsonValue& cores, Host& host) const {
    const auto in_range = [](std::optional<std::int64_t> number, std::int64_t least) {
      return number && *number >= least && *number < kMostCores;
    };
    if (cores.is_number() && in_range(cores.as_int(), 1)) {
      host.cores = static_cast<int>(*cores.as_int());
      return {};
    }
    if (!cores.is_array() || cores.items.empty()) {
      return bad("'cores' must be a number of cores or a list of core numbers");
    }
    for (const JsonValue& item : cores.items) {
      if (!in_range(item.as_int(), 0)) {
        return bad("'cores' lists something that is not a core number");
      }
      host.pinned_to.push_back(static_cast<int>(*item.as_int()));
    }
    return {};
  }

  Status rate(const JsonValue& object, Host& host) const {
    const JsonValue* value = object.find("rate");
    if (!value) return {};
    const auto rate = value->is_string() ? parse_rate(value->text) : std::nullopt;
    if (!rate) {
      return bad(fmt::format("rate '{}' is not a rate such as \"1gbit\"", value->text));
    }
    host.rate = *rate;
    return {};
  }

  std::string file_;
};

/// A setting of the command line: the hosts that it applies to, and its value.
struct Setting {
  std::span<Host> hosts;
  std::string_view value;
};

Result<Setting> split(Cluster& cluster, std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) return Setting{cluster.hosts, text};
  WEFT_ASSIGN(const std::size_t index, find_host(cluster, text.substr(0, equals)));
  return Setting{std::span(cluster.hosts).subspan(index, 1), text.substr(equals + 1)};
}

tl::unexpected<Error> refuse(const char* flag, std::string_view text, const char* example) {
  return fail(ErrorCode::kUsage,
              fmt::format("{}: '{}' is not valid; write it as in {}", flag, text, example));
}

}  // namespace

Result<Cluster> parse_cluster(std::string_view text, const std::string& name) {
  WEFT_ASSIGN(const JsonValue document, parse_json(text, name));
  return Parser(name).cluster(document);
}

std::string print_cluster(const Cluster& cluster) {
  JsonWriter json(2);
  json.begin_object().field("cluster_version", Cluster::kVersion).field("name", cluster.name);
  json.field("kind", cluster.kind == Kind::kOneGpu ? kOneGpu : kNamespaces);
  json.field("mps", cluster.mps);
  json.key("hosts").begin_array();
  for (const Host& host : cluster.hosts) {
    json.begin_object().field("name", host.name);
    if (!host.pinned_to.empty()) {
      json.key("cores").begin_array();
      for (const int core : host.pinned_to) json.value(core);
      json.end_array();
    } else if (host.cores > 0) {
      json.field("cores", host.cores);
    }
    if (host.speed_permille != 1000) {
      json.key("speed").raw(print_scaled(host.speed_permille, 3));
    }
    if (host.rate > 0) json.field("rate", print_rate(host.rate));
    if (!host.clock.is_true()) json.field("clock", print_clock(host.clock));
    json.end_object();
  }
  json.end_array().end_object();
  return json.take() + "\n";
}

bool is_short_form(std::string_view text) {
  const std::size_t digits = text.find_first_not_of("0123456789");
  if (digits == 0 || digits == std::string_view::npos || text[digits] != 'x') return false;
  const std::string_view rate = text.substr(digits + 1);
  return rate.empty() || parse_rate(rate).has_value();
}

Result<Cluster> read_cluster(const std::string& text_or_path) {
  if (!is_short_form(text_or_path)) {
    WEFT_ASSIGN(const std::string text, read_file(text_or_path));
    return parse_cluster(text, text_or_path);
  }
  const std::size_t x = text_or_path.find('x');
  const auto count = parse_int(std::string_view(text_or_path).substr(0, x));
  if (!count || *count < 1 || *count > static_cast<std::int64_t>(Cluster::kMostHosts)) {
    return fail(ErrorCode::kUsage, fmt::format("{}: the number of hosts must be 1 to {}",
                                               text_or_path, Cluster::kMostHosts));
  }
  Cluster cluster;
  Host host;
  host.rate = parse_rate(std::string_view(text_or_path).substr(x + 1)).value_or(0);
  cluster.name = fmt::format("{}x{}", *count, host.rate > 0 ? print_rate(host.rate) : "");
  for (std::int64_t i = 0; i < *count; ++i) {
    host.name = fmt::format("host{}", i);
    cluster.hosts.push_back(host);
  }
  return cluster;
}

Status set_speed(Cluster& cluster, std::string_view setting) {
  WEFT_ASSIGN(const Setting to, split(cluster, setting));
  const auto speed = parse_speed(to.value);
  if (!speed) return refuse("--slow", setting, "host0=0.5, above 0 and at most 1");
  for (Host& host : to.hosts) host.speed_permille = *speed;
  return {};
}

Status set_rate(Cluster& cluster, std::string_view setting) {
  if (cluster.kind == Kind::kOneGpu) {
    return fail(ErrorCode::kUsage,
                "--rate: ranks on one GPU use the loopback interface, which has no rate limit");
  }
  WEFT_ASSIGN(const Setting to, split(cluster, setting));
  const auto rate = parse_rate(to.value);
  if (!rate) return refuse("--rate", setting, "host0=500mbit");
  for (Host& host : to.hosts) host.rate = *rate;
  return {};
}

Status set_clock(Cluster& cluster, std::string_view setting) {
  WEFT_ASSIGN(const Setting to, split(cluster, setting));
  const auto clock = parse_clock(to.value);
  if (!clock) return refuse("--skew", setting, "host0=+50ms,50ppm");
  for (Host& host : to.hosts) host.clock = *clock;
  return {};
}

Result<std::size_t> find_host(const Cluster& cluster, std::string_view name) {
  std::vector<std::string> names;
  for (const Host& host : cluster.hosts) names.push_back(host.name);
  const auto at = std::find(names.begin(), names.end(), name);
  if (at != names.end()) return static_cast<std::size_t>(at - names.begin());
  return fail(ErrorCode::kUsage, fmt::format("cluster '{}' has no host '{}'{}", cluster.name, name,
                                             did_you_mean(name, names)));
}

}  // namespace weft::testbed
