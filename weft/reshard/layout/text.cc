// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/layout/text.h"

#include "weft/base/decimal.h"

namespace weft::reshard {
namespace {

std::vector<std::string_view> split_at(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == text.npos) return parts;
    text.remove_prefix(end + 1);
  }
}

bool is_empty_entry(std::string_view text) { return text.empty() || text == "-"; }

Result<std::vector<std::int64_t>> numbers(std::string_view text, const char* what) {
  std::vector<std::int64_t> list;
  if (is_empty_entry(text)) return list;
  for (const std::string_view part : split_at(text, ',')) {
    const auto number = parse_digits(part);
    if (!number || *number < 0) {
      return fail(ErrorCode::kUsage, "'" + std::string(part) + "' is not a " + what);
    }
    list.push_back(*number);
  }
  return list;
}

Result<std::vector<Axis>> axes_of(const Mesh& mesh, std::string_view text) {
  std::vector<Axis> axes;
  if (is_empty_entry(text)) return axes;
  for (const std::string_view name : split_at(text, '+')) {
    WEFT_ASSIGN(Axis axis, mesh.axis(name));
    axes.push_back(std::move(axis));
  }
  return axes;
}

}  // namespace

Result<Mesh> parse_mesh(std::string_view axes, std::string_view devices) {
  std::vector<std::pair<std::string, std::int64_t>> sizes;
  for (const std::string_view axis : split_at(axes, ',')) {
    const std::size_t equals = axis.find('=');
    const auto size = equals == axis.npos ? std::nullopt : parse_digits(axis.substr(equals + 1));
    if (!size || equals == 0) {
      return fail(ErrorCode::kUsage, "'" + std::string(axis) + "' is not an axis; write x=2,y=4");
    }
    sizes.emplace_back(axis.substr(0, equals), *size);
  }
  WEFT_ASSIGN(std::vector<std::int64_t> ids, numbers(devices, "device number; write 0,1,2"));
  return make_mesh(sizes, std::move(ids));
}

Result<Shape> parse_shape(std::string_view text) {
  WEFT_ASSIGN(const Shape shape, numbers(text, "dimension size; write 1024,4096"));
  WEFT_TRY(check_shape(shape));
  return shape;
}

Result<Sharding> parse_sharding(const Mesh& mesh, std::string_view dims, std::string_view partial) {
  Sharding sharding;
  sharding.mesh = mesh;
  for (const std::string_view dim : split_at(dims, ',')) {
    WEFT_ASSIGN(std::vector<Axis> axes, axes_of(mesh, dim));
    sharding.dims.push_back(std::move(axes));
  }
  if (dims.empty()) sharding.dims.clear();
  WEFT_ASSIGN(sharding.partial, axes_of(mesh, partial));
  return sharding;
}

}  // namespace weft::reshard
