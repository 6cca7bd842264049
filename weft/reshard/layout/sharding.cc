// SPDX-License-Identifier: Apache-2.0
// Makes meshes, and turns shardings into layouts. Both work with the digits of a device's position.
// An axis is the digit at its stride. A sub-axis is a digit within that digit. The piece of a
// dimension that a device holds follows from the digits of the axes that cut the dimension.
#include "weft/reshard/layout/sharding.h"

#include <set>

#include "weft/base/decimal.h"
#include "weft/base/suggest.h"

namespace weft::reshard {
namespace {

/// The parts of the text "x:(2)4": `name` is "x", `before` is 2, and `size` is 4.
struct SubAxisText {
  std::string_view name;
  std::int64_t before = 1, size = 0;  ///< size 0: the whole axis
};

Result<SubAxisText> parse_axis_text(std::string_view text) {
  const std::size_t colon = text.rfind(":(");
  if (colon == text.npos) return SubAxisText{text};
  const std::size_t bracket = text.find(')', colon);
  if (bracket != text.npos) {
    const auto before = parse_digits(text.substr(colon + 2, bracket - colon - 2));
    const auto size = parse_digits(text.substr(bracket + 1));
    if (before && size && *before >= 1 && *size >= 1 && *before <= Mesh::kMostDevices &&
        *size <= Mesh::kMostDevices) {
      return SubAxisText{text.substr(0, colon), *before, *size};
    }
  }
  return fail(ErrorCode::kBadInput, "'" + std::string(text) +
                                        "' is not a sub-axis; write x:(2)4 for the sub-axis of "
                                        "size 4 after a sub-axis of size 2");
}

}  // namespace

Result<Axis> Mesh::axis(std::string_view text) const {
  WEFT_ASSIGN(const SubAxisText part, parse_axis_text(text));
  for (const Axis& whole : axes) {
    if (whole.name != part.name) continue;
    if (part.size == 0) return whole;
    if (whole.radix % (part.before * part.size) != 0) {
      return fail(ErrorCode::kBadInput, "axis '" + whole.name + "' of size " +
                                            std::to_string(whole.radix) + " has no sub-axis '" +
                                            std::string(text) + "'");
    }
    // The axis is divided into before x size x after; the sub-axis is the digit in the middle.
    const std::int64_t after = whole.radix / (part.before * part.size);
    return Axis{std::string(text), whole.stride * after, part.size};
  }
  std::vector<std::string> names;
  for (const Axis& whole : axes) names.push_back(whole.name);
  return fail(ErrorCode::kBadInput, "the mesh has no axis '" + std::string(part.name) + "'" +
                                        did_you_mean(part.name, names));
}

Result<Mesh> make_mesh(const std::vector<std::pair<std::string, std::int64_t>>& sizes,
                       std::vector<std::int64_t> devices) {
  Mesh mesh;
  std::int64_t count = 1;
  for (const auto& [name, size] : sizes) {
    if (size < 1 || size > Mesh::kMostDevices / count) {
      return fail(ErrorCode::kBadInput, "axis '" + name + "' has size " + std::to_string(size) +
                                            "; a mesh must have 1 to " +
                                            std::to_string(Mesh::kMostDevices) + " devices");
    }
    for (const Axis& axis : mesh.axes) {
      if (axis.name == name)
        return fail(ErrorCode::kBadInput, "axis '" + name + "' is given twice");
    }
    count *= size;
    mesh.axes.push_back({name, 1, size});
  }
  for (std::size_t i = mesh.axes.size(); i-- > 1;) {
    mesh.axes[i - 1].stride = mesh.axes[i].stride * mesh.axes[i].radix;
  }
  if (devices.empty()) {
    for (std::int64_t id = 0; id < count; ++id) devices.push_back(id);
  }
  if (static_cast<std::int64_t>(devices.size()) != count ||
      std::set<std::int64_t>(devices.begin(), devices.end()).size() != devices.size()) {
    return fail(ErrorCode::kBadInput, "a mesh of " + std::to_string(count) +
                                          " positions needs exactly " + std::to_string(count) +
                                          " devices, each listed once");
  }
  mesh.devices = std::move(devices);
  return mesh;
}

Status check_sharding(const Sharding& sharding, std::size_t dims) {
  if (sharding.dims.size() != dims) {
    return fail(ErrorCode::kBadInput,
                "the sharding of an array with " + std::to_string(dims) +
                    " dimensions needs one entry per dimension, but the number of entries is " +
                    std::to_string(sharding.dims.size()));
  }
  std::vector<Axis> used = sharding.partial;
  for (const auto& axes : sharding.dims) used.insert(used.end(), axes.begin(), axes.end());
  for (std::size_t i = 0; i < used.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      const auto &a = used[i], &b = used[k];
      // An axis covers the strides from `stride` to `stride * radix`. The ranges of two axes must
      // not overlap. An axis of size 1 cuts nothing and may be used anywhere.
      const bool apart = a.stride >= b.stride * b.radix || b.stride >= a.stride * a.radix;
      if (!apart && a.radix > 1 && b.radix > 1) {
        const std::string what = a.name == b.name
                                     ? "axis '" + a.name + "' is used twice"
                                     : "axes '" + b.name + "' and '" + a.name + "' overlap";
        return fail(ErrorCode::kBadInput, what + "; an axis can be used only once");
      }
    }
  }
  return {};
}

Layout layout_of(const Shape& shape, const Sharding& sharding, SplitRule rule,
                 const std::vector<Device>& devices, Device device_count) {
  Layout layout;
  layout.shape = shape;
  const std::int64_t positions = sharding.mesh.size();
  std::vector<Digit> digits;
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    std::vector<Strips> parts(device_count);
    for (std::int64_t position = 0; position < positions; ++position) {
      digits.clear();
      for (const Axis& axis : sharding.dims[dim]) {
        digits.push_back({axis.digit(position), axis.radix});
      }
      parts[devices[position]] = strips_of({split({0, shape[dim]}, digits, rule)});
    }
    layout.cuts.push_back(std::make_shared<Cut>(make_cut(parts)));
  }
  // The digits of a device on the partial axes, read as one number, are the number of its group.
  // Devices that differ only in these digits form a team. On one device of the team, all these
  // digits are 0. The position of this device is the number of the team.
  layout.group.assign(device_count, Layout::kAbsent);
  for (const Axis& axis : sharding.partial) {
    layout.groups = static_cast<std::int32_t>(layout.groups * axis.radix);
  }
  if (layout.partial()) layout.team.assign(device_count, Layout::kAbsent);
  for (std::int64_t position = 0; position < positions; ++position) {
    std::int64_t group = 0, team = position;
    for (const Axis& axis : sharding.partial) {
      group = group * axis.radix + axis.digit(position);
      team -= axis.digit(position) * axis.stride;
    }
    layout.group[devices[position]] = static_cast<std::int32_t>(group);
    if (layout.partial()) layout.team[devices[position]] = static_cast<std::int32_t>(team);
  }
  layout.group_of_summand.resize(layout.groups);
  for (std::int32_t i = 0; i < layout.groups; ++i) layout.group_of_summand[i] = i;
  return layout;
}

Status check_shape(const Shape& shape) {
  constexpr std::int64_t kMostElements = std::int64_t{1} << 53;
  std::int64_t count = 1;
  for (const std::int64_t size : shape) {
    if (size < 0) {
      return fail(
          ErrorCode::kBadInput,
          "the size of a dimension must not be negative, but one size is " + std::to_string(size));
    }
    if (size > kMostElements / count) {
      return fail(ErrorCode::kBadInput,
                  "an array must have at most " + std::to_string(kMostElements) + " elements");
    }
    count *= std::max<std::int64_t>(1, size);
  }
  return {};
}

std::string text_of(const Sharding& sharding) {
  std::string text;
  for (const auto& axes : sharding.dims) {
    if (!text.empty()) text += ",";
    std::string entry;
    for (const Axis& axis : axes) entry += (entry.empty() ? "" : "+") + axis.name;
    text += entry.empty() ? "-" : entry;
  }
  return text;
}

}  // namespace weft::reshard
