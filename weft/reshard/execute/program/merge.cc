// SPDX-License-Identifier: Apache-2.0
// Merges programs. Each device numbers its arrays and buffers from 0, so merging shifts these
// numbers (Shift). Messages between two devices of the process are matched in order and become
// moves. The messages to and from other processes are sorted into an order that all processes
// share.
#include "weft/reshard/execute/program/merge.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "weft/base/check.h"

namespace weft::reshard::execute {
namespace {

/// The staging of each device begins at a multiple of this, so that elements of every type are
/// aligned.
constexpr Bytes kStagingAlign = 64;

/// Where the buffers of one device are among the buffers of its process.
struct Shift {
  std::int32_t arrays = 0;   ///< the number of arrays of all devices before this device
  std::int32_t staging = 0;  ///< the number of the device's staging buffer in its own program
  std::int32_t shared = 0;   ///< the staging buffer of the process
  Bytes offset = 0;          ///< where the device's staging begins in the buffer `shared`

  void apply(Region& region) const {
    region.array += arrays;
    if (region.buffer == staging) {
      region.buffer = shared;
      region.offset += offset;
    } else {
      region.buffer += 2 * arrays;
    }
  }
  template <class Regions>
  void apply_all(Regions& regions) const {
    for (Region& region : regions) apply(region);
  }
};

struct MergedMessage {
  Device from = 0, to = 0;  ///< devices
  Message message;          ///< between processes
};

/// Sorts messages in the order that program.h promises, with processes as devices. Between two
/// processes, messages that replace come first. After that, messages are sorted by the numbers of
/// the two devices. So both processes get the same order.
void sort_messages(std::vector<MergedMessage>& found, Device self, Device processes, bool sends,
                   std::vector<Message>& messages) {
  const auto key = [&](const MergedMessage& item) {
    const Device ahead = sends ? item.message.peer - self : self - item.message.peer;
    return std::tuple{(ahead + processes) % processes, item.message.add, item.from, item.to};
  };
  std::stable_sort(found.begin(), found.end(),
                   [&](const MergedMessage& a, const MergedMessage& b) { return key(a) < key(b); });
  for (MergedMessage& item : found) messages.push_back(std::move(item.message));
}

/// Merges one turn of all devices of the process.
class Round {
 public:
  Round(const std::vector<std::int32_t>& process_of, Device self)
      : process_of_(process_of), self_(self) {}

  void add(const Turn& turn, Device device, const Shift& shift) {
    for (Move move : turn.moves) {
      shift.apply(move.from);
      shift.apply(move.to);
      result_.moves.push_back(std::move(move));
    }
    for (StagedCast staged_cast : turn.staged_casts) {
      staged_cast.array += shift.arrays;
      staged_cast.offset += shift.offset;
      for (Move& cast : staged_cast.casts) {
        shift.apply(cast.from);
        shift.apply(cast.to);
      }
      result_.staged_casts.push_back(std::move(staged_cast));
    }
    for (const Message& message : turn.sends) {
      add(message, device, message.peer, shift, sends_, sent_here_);
    }
    for (const Message& message : turn.receives) {
      add(message, message.peer, device, shift, receives_, received_here_);
    }
  }

  Result<Turn> finish(Device processes) {
    for (auto& [pair, sent] : sent_here_) {
      std::vector<Message>& received = received_here_[pair];
      WEFT_CHECK(sent.size() == received.size());
      for (std::size_t i = 0; i < sent.size(); ++i) WEFT_TRY(move(sent[i], received[i]));
    }
    sort_messages(sends_, self_, processes, true, result_.sends);
    sort_messages(receives_, self_, processes, false, result_.receives);
    return std::move(result_);
  }

 private:
  /// The messages within the process, in order, indexed by sending and receiving device.
  using Here = std::map<std::pair<Device, Device>, std::vector<Message>>;

  void add(Message message, Device from, Device to, const Shift& shift,
           std::vector<MergedMessage>& others, Here& here) {
    shift.apply_all(message.regions);
    message.peer = process_of_[static_cast<std::size_t>(message.peer)];
    if (message.peer == self_) {
      here[{from, to}].push_back(std::move(message));
    } else {
      others.push_back({from, to, std::move(message)});
    }
  }

  Status move(Message& sent, Message& received) {
    if (received.add) {
      return fail(ErrorCode::kUsage,
                  "a merged program cannot add up data of two devices of one process");
    }
    WEFT_CHECK(sent.regions.size() == received.regions.size());
    for (std::size_t i = 0; i < sent.regions.size(); ++i) {
      result_.moves.push_back({std::move(sent.regions[i]), std::move(received.regions[i])});
    }
    return {};
  }

  const std::vector<std::int32_t>& process_of_;
  Device self_;
  Turn result_;
  std::vector<MergedMessage> sends_, receives_;
  Here sent_here_, received_here_;
};

}  // namespace

Result<Program> merge_programs(const std::vector<Program>& programs,
                               const std::vector<std::int32_t>& process_of) {
  WEFT_CHECK(!programs.empty());
  const Program& first = programs.front();
  Program merged;
  merged.self = process_of[static_cast<std::size_t>(first.self)];
  merged.fingerprint = first.fingerprint;
  const auto arrays = static_cast<std::int32_t>(first.elements.size());
  const std::int32_t shared = 2 * arrays * static_cast<std::int32_t>(programs.size());
  std::vector<Shift> shifts;
  Bytes staging = 0;
  for (const Program& program : programs) {
    WEFT_CHECK(program.fingerprint == first.fingerprint);
    const auto before = static_cast<std::int32_t>(merged.elements.size());
    shifts.push_back({before, 2 * arrays, shared, staging});
    staging += (program.buffers.back() + kStagingAlign - 1) / kStagingAlign * kStagingAlign;
    merged.buffers.insert(merged.buffers.end(), program.buffers.begin(), program.buffers.end() - 1);
    merged.elements.insert(merged.elements.end(), program.elements.begin(), program.elements.end());
    std::vector<Region> neutral = program.neutral;
    shifts.back().apply_all(neutral);
    merged.neutral.insert(merged.neutral.end(), neutral.begin(), neutral.end());
  }
  merged.buffers.push_back(staging);
  const Device processes = *std::max_element(process_of.begin(), process_of.end()) + 1;
  for (std::size_t turn = 0; turn < first.turns.size(); ++turn) {
    Round round(process_of, merged.self);
    for (std::size_t i = 0; i < programs.size(); ++i) {
      round.add(programs[i].turns[turn], programs[i].self, shifts[i]);
    }
    WEFT_ASSIGN(Turn done, round.finish(processes));
    merged.turns.push_back(std::move(done));
  }
  return merged;
}

}  // namespace weft::reshard::execute
