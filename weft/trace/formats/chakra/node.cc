// SPDX-License-Identifier: Apache-2.0
// Decodes single messages with protozero. protozero throws if it reads past the end of a message,
// and asserts (it does not throw) if a getter does not match the wire type. So every field checks
// its wire type before it calls a getter.
#include "weft/trace/formats/chakra/node.h"

#include <protozero/pbf_reader.hpp>

namespace weft::trace::chakra {
namespace {

using Wire = protozero::pbf_wire_type;

std::string_view view(protozero::data_view data) { return {data.data(), data.size()}; }

struct Attribute {
  std::string_view name;
  std::int64_t number = 0;
  std::string_view text;
};

/// Stops at a field with an unexpected wire type and returns what was decoded before it.
Attribute decode_attribute(protozero::data_view bytes) {
  Attribute attribute;
  protozero::pbf_reader message(bytes);
  while (message.next()) {
    const bool number = message.wire_type() == Wire::varint;
    const bool text = message.wire_type() == Wire::length_delimited;
    switch (message.tag()) {
      case attribute_field::kName:
        if (!text) return attribute;
        attribute.name = view(message.get_view());
        break;
      case attribute_field::kInt32:
      case attribute_field::kInt64:
      case attribute_field::kUint32:
      case attribute_field::kUint64:
      case attribute_field::kBool:
        if (!number) return attribute;
        attribute.number = message.get_int64();
        break;
      case attribute_field::kString:
        if (!text) return attribute;
        attribute.text = view(message.get_view());
        break;
      default:
        message.skip();
    }
  }
  return attribute;
}

/// Attributes of a node are named values. Names that are not listed here are not used.
void apply(const Attribute& attribute, Node& node) {
  const std::string_view name = attribute.name;
  if (name == "is_cpu_op") {
    node.on_host = attribute.number != 0;
  } else if (name == "comm_type") {
    node.comm_type = attribute.number;
  } else if (name == "comm_size") {
    node.comm_size = attribute.number;
  } else if (name == "comm_src") {
    node.source = attribute.number;
  } else if (name == "comm_dst") {
    node.destination = attribute.number;
  } else if (name == "comm_tag") {
    node.tag = attribute.number;
  } else if (name == "pg_name") {
    node.group = attribute.text;
  } else if (name == "tid") {
    node.thread = attribute.number;
  } else if (name == "stream") {
    node.stream = attribute.number;
  } else if (name == "tensor_size") {
    node.tensor_size = attribute.number;
  }
}

/// Protobuf writes a repeated integer either one field per value or packed; both are valid.
bool add_ids(protozero::pbf_reader& message, std::vector<std::uint64_t>& out) {
  if (message.wire_type() == Wire::varint) {
    out.push_back(message.get_uint64());
  } else if (message.wire_type() == Wire::length_delimited) {
    for (const std::uint64_t id : message.get_packed_uint64()) out.push_back(id);
  } else {
    return false;
  }
  return true;
}

/// Decodes the fields of a node. Returns false if the wire type of a field is not the wire type
/// that the schema gives to its number.
bool decode_fields(std::string_view bytes, Node& node) {
  std::string_view inputs;
  protozero::pbf_reader message(bytes.data(), bytes.size());
  while (message.next()) {
    const bool number = message.wire_type() == Wire::varint;
    const bool text = message.wire_type() == Wire::length_delimited;
    switch (message.tag()) {
      case node_field::kId:
        if (!number) return false;
        node.id = message.get_uint64();
        break;
      case node_field::kName:
        if (!text) return false;
        node.name = view(message.get_view());
        break;
      case node_field::kType: {
        if (!number) return false;
        const std::uint64_t type = message.get_uint64();
        // Types of later schemas count as nodes without work.
        node.type = type <= 7 ? static_cast<NodeType>(type) : NodeType::kInvalid;
        break;
      }
      case node_field::kControlDeps:
        if (!add_ids(message, node.control_deps)) return false;
        break;
      case node_field::kDataDeps:
        if (!add_ids(message, node.data_deps)) return false;
        break;
      case node_field::kStart:
        if (!number) return false;
        node.start_micros = message.get_uint64();
        break;
      case node_field::kDuration:
        if (!number) return false;
        node.duration_micros = message.get_uint64();
        break;
      case node_field::kInputs:
        if (!text) return false;
        inputs = view(message.get_view());
        break;
      case node_field::kAttribute:
        if (!text) return false;
        apply(decode_attribute(message.get_view()), node);
        break;
      default:
        message.skip();
    }
  }
  // The inputs are decoded last: only metadata nodes need them, and the type may come after them.
  if (node.type != NodeType::kMetadata) return true;
  protozero::pbf_reader values(inputs.data(), inputs.size());
  while (values.next()) {
    if (values.tag() == 1 && values.wire_type() == Wire::length_delimited) {
      node.values = view(values.get_view());
    } else {
      values.skip();
    }
  }
  return true;
}

}  // namespace

std::optional<Node> decode_node(std::string_view bytes) {
  Node node;
  try {
    if (!decode_fields(bytes, node)) return std::nullopt;
  } catch (const protozero::exception&) {
    return std::nullopt;
  }
  return node;
}

// Almost any bytes decode as some protobuf message, so this accepts only the two fields that
// GlobalMetadata has, with their wire types.
bool is_global_metadata(std::string_view bytes) {
  try {
    protozero::pbf_reader message(bytes.data(), bytes.size());
    while (message.next()) {
      const bool attribute = message.tag() == metadata_field::kAttribute;
      const bool known = attribute || message.tag() == metadata_field::kVersion;
      if (!known || message.wire_type() != Wire::length_delimited) return false;
      const protozero::data_view value = message.get_view();
      if (attribute && decode_attribute(value).name.empty()) return false;
    }
  } catch (const protozero::exception&) {
    return false;
  }
  return true;
}

}  // namespace weft::trace::chakra
