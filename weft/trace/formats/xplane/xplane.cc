// SPDX-License-Identifier: Apache-2.0
// Reads the whole file into a RawSpace (raw_space.h), then lets assemble() turn it into ranks.
#include "weft/trace/formats/xplane/xplane.h"

#include <protozero/pbf_reader.hpp>

#include "weft/trace/clock/check.h"
#include "weft/trace/formats/proto_stream.h"
#include "weft/trace/formats/xplane/assemble.h"
#include "weft/trace/formats/xplane/raw_space.h"

namespace weft::trace {
namespace {

constexpr DiagnosticKind kCut{"cut-file", Severity::kDataLoss,
                              "the file ends too early; the events before the end were used",
                              "copy it again, or let the profiler finish writing"};
constexpr DiagnosticKind kDamaged{"damaged-protobuf", Severity::kDataLoss,
                                  "the file stops being protobuf; the events before that were used",
                                  "copy the file again, or record again"};
constexpr DiagnosticKind kBadMessage{"damaged-message", Severity::kDataLoss,
                                     "parts that could not be decoded were left out",
                                     "copy the file again, or record again"};

/// Returns the host in a file name: "tw003" for ".../tw003.xplane.pb.gz".
std::string host_from_name(std::string_view path) {
  path.remove_prefix(std::min(path.find_last_of('/') + 1, path.size()));
  return std::string(path.substr(0, path.find(".xplane")));
}

class XplaneReader final : public Reader {
 public:
  const char* name() const override { return "xplane"; }
  const char* description() const override {
    return "JAX, XLA and TensorFlow profiles (XSpace protobuf, *.xplane.pb)";
  }

  /// The format has no magic number. So the first field must be a plane that begins with an
  /// optional id and then a name that profilers use.
  int recognise(std::string_view head) const override {
    const auto source = memory_source(head, "");
    ProtoStream stream(*source);
    ProtoStream::Field field;
    if (!stream.next(field) || field.number != 1 || !field.is_bytes) return 0;
    stream.enter(field.value);
    if (!stream.next(field)) return 0;
    if (field.number == 1 && !field.is_bytes && !stream.next(field)) return 0;
    if (field.number != 2 || !field.is_bytes || field.value > 256) return 0;
    const std::string_view plane = stream.take(field.value);
    const bool known = plane.starts_with("/host:") || plane.starts_with("/device:") ||
                       plane.starts_with("/virtualdevice:") || plane == "Task Environment" ||
                       plane == "Host CPUs" || plane == "Syscalls" || plane.starts_with("#Chip");
    return known ? 95 : 0;
  }

  Result<std::vector<RankTrace>> read(ByteSource& source, const ReadOptions& options,
                                      Diagnostics& diagnostics) const override {
    ProtoStream stream(source);
    WEFT_ASSIGN(const xplane::RawSpace space, xplane::read_space(stream, source.name(), options));
    const std::string place = source.name() + ": byte " + std::to_string(stream.offset());
    if (stream.cut()) diagnostics.add(kCut, place);
    if (stream.broken()) diagnostics.add(kDamaged, place);
    if (space.bad_messages > 0) diagnostics.add(kBadMessage, source.name(), space.bad_messages);
    std::vector<RankTrace> traces = xplane::assemble(space, source.name(), diagnostics);
    if (traces.empty()) {
      return fail(ErrorCode::kBadInput, why_empty(stream, space), source.name(), stream.offset());
    }
    for (RankTrace& trace : traces) {
      // If the file does not contain the host name, take it from the name of the file.
      if (trace.host.empty()) trace.host = host_from_name(source.name());
      if (!stream.ok()) trace.cut_at = stream.offset();
      WEFT_TRY(check_clock(trace, diagnostics));
    }
    return traces;
  }

 private:
  static std::string why_empty(const ProtoStream& stream, const xplane::RawSpace& space) {
    if (stream.cut()) {
      return "the file ends before the names of its first events; copy it again or let the "
             "profiler finish writing";
    }
    if (stream.broken()) {
      return "the file is damaged before its first usable event; copy it again, or record again";
    }
    return space.events > 0
               ? "no event belongs to a device or to a host thread; pass a file that jax.profiler "
                 "or tf.profiler wrote"
               : "the profile contains no events; check that something ran between its start and "
                 "its end";
  }
};

}  // namespace

std::unique_ptr<Reader> make_xplane_reader() { return std::make_unique<XplaneReader>(); }

}  // namespace weft::trace
