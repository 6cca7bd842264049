// SPDX-License-Identifier: Apache-2.0
// Two sources give the same facts: the HloProto of a program (add_program()), decoded by field
// number, and the text of an instruction (from_text()). The field numbers are those of XLA's
// hlo.proto and xla_data.proto.
#include "weft/trace/formats/xplane/hlo.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <protozero/pbf_reader.hpp>

#include "weft/base/decimal.h"

namespace weft::trace::xplane {
namespace {

constexpr std::int64_t kMostDevices = 1 << 20;
constexpr std::int64_t kMostElements = std::int64_t{1} << 50;

struct ElementType {
  std::uint32_t number;    ///< value in enum PrimitiveType of xla_data.proto
  std::string_view text;   ///< spelling in the text of instructions
  std::string_view dtype;  ///< spelling in the rest of Weft
  std::int64_t bytes;
};

constexpr ElementType kTypes[] = {
    {1, "pred", "Bool", 1},         {2, "s8", "Char", 1},        {3, "s16", "Short", 2},
    {4, "s32", "Int", 4},           {5, "s64", "Long", 8},       {6, "u8", "Byte", 1},
    {7, "u16", "UInt16", 2},        {8, "u32", "UInt32", 4},     {9, "u64", "UInt64", 8},
    {10, "f16", "Half", 2},         {11, "f32", "Float", 4},     {12, "f64", "Double", 8},
    {15, "c64", "ComplexFloat", 8}, {16, "bf16", "BFloat16", 2}, {18, "c128", "ComplexDouble", 16},
    {19, "f8e5m2", "Byte", 1},      {20, "f8e4m3fn", "Byte", 1}, {28, "f8e4m3", "Byte", 1},
};

struct Array {
  const ElementType* type = nullptr;
  std::int64_t elements = 0;
};

// Returns the product, or -1 if it is too large or a factor is unknown.
std::int64_t times(std::int64_t a, std::int64_t b) {
  if (a < 0 || b < 0 || (b > 0 && a > kMostElements / b)) return -1;
  return a * b;
}

// Sets the size of a collective on one or several arrays. Arrays of different types are counted in
// bytes. The size stays unknown if a type is unknown.
void set_size(const std::vector<Array>& arrays, HloCollective& out) {
  if (arrays.empty()) return;
  const bool mixed = std::any_of(arrays.begin(), arrays.end(), [&](const Array& array) {
    return array.type == nullptr || array.type->dtype != arrays.front().type->dtype;
  });
  std::int64_t sum = 0;
  for (const Array& array : arrays) {
    if (array.type == nullptr) return;
    const std::int64_t part = mixed ? times(array.elements, array.type->bytes) : array.elements;
    if (part < 0 || sum > kMostElements) return;
    sum += part;
  }
  out.dtype = mixed ? "Byte" : std::string(arrays.front().type->dtype);
  out.elements = sum;
}

protozero::data_view take_view(protozero::pbf_reader& message) { return message.get_view(); }

// Reads a repeated integer. Protobuf writes it either as one field per value or packed.
std::vector<std::int64_t> numbers(protozero::pbf_reader& message) {
  std::vector<std::int64_t> list;
  if (message.wire_type() == protozero::pbf_wire_type::varint) {
    list.push_back(message.get_int64());
    return list;
  }
  for (const std::int64_t value : message.get_packed_int64()) list.push_back(value);
  return list;
}

// Appends the arrays of a shape: the array itself, or all arrays of a tuple. The "-start"
// instruction of an all-gather or a permute has the tuple (operands, results, contexts ...); if
// `last_of_tuple` is true, only the results are taken.
void arrays_of(protozero::data_view shape, bool last_of_tuple, int depth, std::vector<Array>& out) {
  if (depth > 4) return;  // bounds the recursion; real tuples are nested less
  Array own;
  own.elements = 1;
  std::uint32_t type = 0;
  std::vector<protozero::data_view> parts;
  protozero::pbf_reader message(shape);
  while (message.next()) {
    if (message.tag() == 2 && message.wire_type() == protozero::pbf_wire_type::varint) {
      type = message.get_uint32();
    } else if (message.tag() == 3) {
      for (const std::int64_t size : numbers(message)) own.elements = times(own.elements, size);
    } else if (message.tag() == 4 &&
               message.wire_type() == protozero::pbf_wire_type::length_delimited) {
      parts.push_back(take_view(message));
    } else {
      message.skip();
    }
  }
  if (!parts.empty()) {
    const std::size_t from = last_of_tuple && parts.size() > 1 ? 1 : 0;
    const std::size_t to = last_of_tuple && parts.size() > 1 ? 2 : parts.size();
    for (std::size_t i = from; i < to; ++i) arrays_of(parts[i], false, depth + 1, out);
    return;
  }
  for (const ElementType& known : kTypes) {
    if (known.number == type) own.type = &known;
  }
  if (type != 0 && type != 13) out.push_back(own);  // neither invalid nor a tuple
}

std::vector<std::int64_t> group_ids(protozero::data_view group) {
  std::vector<std::int64_t> ids;
  protozero::pbf_reader message(group);
  while (message.next()) {
    if (message.tag() == 1) {
      const auto more = numbers(message);
      ids.insert(ids.end(), more.begin(), more.end());
    } else {
      message.skip();
    }
  }
  return ids;
}

// Expands XLA's compact form of replica groups: the device ids 0, 1, 2 ... are reshaped to `shape`,
// transposed by `order`, and cut into `rows` groups of `columns` devices. Empty if the numbers
// contradict each other.
std::vector<std::vector<std::int64_t>> iota_groups(std::int64_t rows, std::int64_t columns,
                                                   std::vector<std::int64_t> shape,
                                                   std::vector<std::int64_t> order) {
  const std::int64_t total = times(rows, columns);
  if (rows <= 0 || columns <= 0 || total <= 0 || total > kMostDevices) return {};
  if (shape.empty()) shape = {total};
  if (order.empty()) {
    order.resize(shape.size());
    std::iota(order.begin(), order.end(), 0);
  }
  std::int64_t product = 1;
  for (const std::int64_t size : shape) product = size <= 0 ? -1 : times(product, size);
  std::vector<std::int64_t> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i] != static_cast<std::int64_t>(i)) return {};
  }
  if (product != total || order.size() != shape.size()) return {};
  std::vector<std::int64_t> stride(shape.size(), 1);
  for (std::size_t i = shape.size() - 1; i > 0; --i) stride[i - 1] = stride[i] * shape[i];
  std::vector<std::vector<std::int64_t>> groups(static_cast<std::size_t>(rows));
  for (std::int64_t i = 0; i < total; ++i) {
    std::int64_t rest = i, id = 0;
    for (std::size_t k = order.size(); k > 0; --k) {
      const auto axis = static_cast<std::size_t>(order[k - 1]);
      id += rest % shape[axis] * stride[axis];
      rest /= shape[axis];
    }
    groups[static_cast<std::size_t>(i / columns)].push_back(id);
  }
  return groups;
}

// Adds the groups of a CollectiveDeviceList. It has explicit groups (field 1) or their compact form
// (field 2).
void add_device_list(protozero::data_view list, HloCollective& out) {
  protozero::pbf_reader message(list);
  while (message.next()) {
    if (message.wire_type() != protozero::pbf_wire_type::length_delimited) {
      message.skip();
    } else if (message.tag() == 1) {
      out.groups.push_back(group_ids(message.get_view()));
    } else if (message.tag() == 2) {
      std::int64_t rows = 0, columns = 0;
      std::vector<std::int64_t> shape, order;
      protozero::pbf_reader iota(message.get_view());
      while (iota.next()) {
        const auto tag = iota.tag();  // read it now: taking the value resets it
        if (tag > 4) {
          iota.skip();
          continue;
        }
        const auto values = numbers(iota);
        if (values.empty()) continue;
        if (tag == 1) rows = values.front();
        if (tag == 2) columns = values.front();
        if (tag == 3) shape.insert(shape.end(), values.begin(), values.end());
        if (tag == 4) order.insert(order.end(), values.begin(), values.end());
      }
      out.groups = iota_groups(rows, columns, std::move(shape), std::move(order));
    } else {
      message.skip();
    }
  }
}

// Whether the shape of an instruction contains its operands before its results. This holds for
// "-start" instructions, except for "all-reduce-start", whose shape is only the result.
bool has_operands_in_shape(std::string_view name) {
  const std::string_view op = collective_of_instruction(name);
  return name.find("-start") != std::string_view::npos && op != "all-reduce";
}

void read_instruction(protozero::data_view instruction,
                      std::map<std::string, HloCollective, std::less<>>& out) {
  std::string_view name;
  protozero::data_view shape;
  HloCollective found;
  protozero::pbf_reader message(instruction);
  while (message.next()) {
    if (message.wire_type() != protozero::pbf_wire_type::length_delimited) {
      message.skip();
    } else if (message.tag() == 1) {
      const auto text = message.get_view();
      name = {text.data(), text.size()};
      if (collective_of_instruction(name).empty()) return;
    } else if (message.tag() == 3) {
      shape = message.get_view();
    } else if (message.tag() == 49) {  // replica_groups
      found.groups.push_back(group_ids(message.get_view()));
    } else if (message.tag() == 87) {  // collective_device_list, of newer XLA
      add_device_list(message.get_view(), found);
    } else {
      message.skip();
    }
  }
  if (name.empty()) return;
  std::vector<Array> arrays;
  arrays_of(shape, has_operands_in_shape(name), 0, arrays);
  set_size(arrays, found);
  std::erase_if(found.groups, [](const auto& group) { return group.empty(); });
  out.insert_or_assign(std::string(name), std::move(found));
}

// Calls `visit` for each submessage in field `tag`.
void each_message(protozero::data_view message, std::uint32_t tag, auto&& visit) {
  protozero::pbf_reader reader(message);
  while (reader.next()) {
    if (reader.tag() == tag && reader.wire_type() == protozero::pbf_wire_type::length_delimited) {
      visit(reader.get_view());
    } else {
      reader.skip();
    }
  }
}

// Parses the first array in `text`, such as "f32[128,32]", and removes everything up to its end.
bool parse_array(std::string_view& text, Array& array) {
  const std::size_t open = text.find('[');
  const std::size_t close = text.find(']');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open)
    return false;
  std::size_t start = open;
  const auto is_word = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  while (start > 0 && is_word(text[start - 1])) --start;
  const std::string_view type = text.substr(start, open - start);
  array = {};
  for (const ElementType& known : kTypes) {
    if (known.text == type) array.type = &known;
  }
  array.elements = 1;
  std::string_view dims = text.substr(open + 1, close - open - 1);
  while (!dims.empty()) {
    const std::size_t comma = std::min(dims.find(','), dims.size());
    array.elements = times(array.elements, parse_int(dims.substr(0, comma)).value_or(-1));
    dims.remove_prefix(std::min(comma + 1, dims.size()));
  }
  text.remove_prefix(close + 1);
  return array.type != nullptr;
}

}  // namespace

std::string_view collective_of_instruction(std::string_view name) {
  if (!name.empty() && name.front() == '%') name.remove_prefix(1);
  constexpr std::array<std::string_view, 7> kOps = {
      "all-reduce",         "all-gather",           "reduce-scatter",   "all-to-all",
      "collective-permute", "collective-broadcast", "ragged-all-to-all"};
  for (const std::string_view op : kOps) {
    if (!name.starts_with(op)) continue;
    std::string_view rest = name.substr(op.size());
    for (const std::string_view part : {"-start", "-done"}) {
      if (rest.starts_with(part)) rest.remove_prefix(part.size());
    }
    // Only a number may follow. "all-reduce-fusion.3", for example, is not a collective.
    if (rest.find_first_not_of(".0123456789") == std::string_view::npos) return op;
  }
  return {};
}

void HloCollectives::add_program(std::string_view name, std::string_view proto) {
  // HloProto.hlo_module (1) -> computations (3) -> instructions (2).
  auto& program = programs_[std::string(name)];
  each_message({proto.data(), proto.size()}, 1, [&](protozero::data_view module) {
    each_message(module, 3, [&](protozero::data_view computation) {
      each_message(computation, 2, [&](protozero::data_view instruction) {
        read_instruction(instruction, program);
      });
    });
  });
}

HloCollective HloCollectives::from_text(std::string_view instruction) {
  HloCollective found;
  const std::size_t equals = instruction.find(" = ");
  if (equals == std::string_view::npos) return found;
  std::string_view body = instruction.substr(equals + 3);
  const std::string_view name = instruction.substr(0, equals);
  // The text is "NAME = RESULT OPERATION(...)": the result ends where the operation begins.
  const std::size_t operation = body.find(std::string(collective_of_instruction(name)));
  std::string_view result = body.substr(0, operation);
  std::vector<Array> arrays;
  Array array;
  while (parse_array(result, array)) arrays.push_back(array);
  // The result is (operands, results), with as many operands as results. Keep the second half.
  if (has_operands_in_shape(name) && arrays.size() > 1) {
    arrays.erase(arrays.begin(), arrays.begin() + static_cast<std::ptrdiff_t>(arrays.size() / 2));
  }
  set_size(arrays, found);
  std::size_t at = body.find("replica_groups={");
  if (at == std::string_view::npos) return found;
  at += std::string_view("replica_groups={").size();
  while (at < body.size() && body[at] == '{') {
    const std::size_t close = body.find('}', at);
    if (close == std::string_view::npos) break;
    std::string_view list = body.substr(at + 1, close - at - 1);
    std::vector<std::int64_t> group;
    while (!list.empty()) {
      const std::size_t comma = std::min(list.find(','), list.size());
      if (const auto id = parse_int(list.substr(0, comma))) group.push_back(*id);
      list.remove_prefix(std::min(comma + 1, list.size()));
    }
    if (!group.empty()) found.groups.push_back(std::move(group));
    at = close + 1;
    if (at < body.size() && body[at] == ',') ++at;
  }
  return found;
}

const HloCollective* HloCollectives::find(std::string_view program, std::int64_t number,
                                          std::string_view instruction) const {
  const auto look = [&](const auto& instructions) -> const HloCollective* {
    const auto found = instructions.find(instruction);
    return found == instructions.end() ? nullptr : &found->second;
  };
  const std::string exact = std::string(program) + "(" + std::to_string(number) + ")";
  if (const auto same = programs_.find(exact); same != programs_.end()) {
    return look(same->second);
  }
  // Some profiles give events no program number. Programs are sorted by name, so all "NAME(...)"
  // follow each other.
  for (auto at = programs_.lower_bound(program);
       at != programs_.end() && at->first.starts_with(program); ++at) {
    if (at->first.size() > program.size() && at->first[program.size()] != '(') continue;
    if (const HloCollective* found = look(at->second)) return found;
  }
  return nullptr;
}

}  // namespace weft::trace::xplane
