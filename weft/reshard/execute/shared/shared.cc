// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/execute/shared/shared.h"

#include <sched.h>

#include <algorithm>
#include <optional>
#include <thread>
#include <vector>

#include "weft/reshard/execute/shared/chunk_area.h"
#include "weft/reshard/execute/shared/shared_turn.h"

namespace weft::reshard::execute {
namespace {

using Clock = std::chrono::steady_clock;

/// Sleep is interrupted so often to see whether those that are waited for still live.
constexpr std::chrono::milliseconds kSleep{100};
/// Looks around before sleep: where every device has a core, and where they have to share.
constexpr int kLooks = 2000, kYields = 40;
/// Programs that stay prepared.
constexpr std::size_t kPrograms = 32;

Device cores_here() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return static_cast<Device>(CPU_COUNT(&set));
}

inline void pause_a_little() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

class Shared final : public SharedTransport {
 public:
  Shared(Neighbours neighbours, Device self, const SharedOptions& options)
      : neighbours_(std::move(neighbours)),
        self_(self),
        options_(options),
        crowded_(cores_here() < neighbours_.devices()),
        area_(neighbours_, self, options.chunk),
        rings_(neighbours_),
        taken_(static_cast<std::size_t>(neighbours_.devices())) {
    neighbours_.sit_down(self);
  }
  ~Shared() override { neighbours_.leave(self_); }

  void set_patience(std::chrono::milliseconds timeout, std::function<bool()> cancelled) override {
    options_.timeout = timeout;
    cancelled_ = std::move(cancelled);
  }

  Status round(const Program& program, const Turn& turn, const Buffers& buffers) override {
    if (failed_) return tl::unexpected(*failed_);
    const Status status = take_part(program, turn, buffers);
    if (!status) {
      failed_ = status.error();
      neighbours_.give_up(self_, failed_->message);
    }
    return status;
  }

 private:
  struct Prepared {
    std::uint64_t fingerprint = 0;
    std::vector<SharedTurn> turns;
  };
  /// How far a turn is.
  struct Progress {
    const SharedTurn* turn = nullptr;
    std::size_t sent = 0, added = 0;
    std::vector<std::size_t> replaced;  ///< by sender, as in the turn
    std::size_t senders_done = 0;

    bool replaced_all() const { return senders_done == turn->replaces.size(); }
    bool finished() const {
      return sent == turn->sends.size() && replaced_all() && added == turn->adds.size();
    }
  };

  Status take_part(const Program& program, const Turn& turn, const Buffers& buffers) {
    if (neighbours_.anybody_gave_up()) return tl::unexpected(neighbours_.last_words());
    limit_ = program.message_budget > 0 ? program.message_budget : ChunkArea::kNoLimit;
    fingerprint_ = program.fingerprint;
    progress_.turn = &prepared(program, turn);
    progress_.sent = progress_.added = progress_.senders_done = 0;
    progress_.replaced.assign(progress_.turn->replaces.size(), 0);
    send(buffers);
    move(progress_.turn->moves, buffers);
    for (const Move& other : progress_.turn->other_moves) {
      deliver(program, {other.from}, buffers, {other.to}, buffers, other.add);
    }
    while (!progress_.finished()) {
      WEFT_ASSIGN(const bool moved, step(buffers));
      if (!moved) WEFT_TRY(wait(buffers));
    }
    return {};
  }

  /// Whatever is possible now; false: nothing was.
  Result<bool> step(const Buffers& buffers) {
    bool moved = send(buffers);
    for (std::size_t i = 0; i < progress_.replaced.size() && !progress_.replaced_all(); ++i) {
      const std::vector<IncomingChunk>& chunks = progress_.turn->replaces[i];
      std::size_t& next = progress_.replaced[i];
      if (next == chunks.size()) continue;
      WEFT_ASSIGN(const std::size_t took, take(std::span(chunks).subspan(next), buffers));
      next += took;
      moved = moved || took > 0;
      if (next == chunks.size()) ++progress_.senders_done;
    }
    if (progress_.replaced_all()) {
      const std::span adds(progress_.turn->adds);
      while (progress_.added < adds.size()) {
        WEFT_ASSIGN(const std::size_t took, take(adds.subspan(progress_.added), buffers));
        if (took == 0) break;
        progress_.added += took;
        moved = true;
      }
    }
    rings_.ring();
    return moved;
  }

  bool send(const Buffers& buffers) {
    bool moved = false;
    for (; progress_.sent < progress_.turn->sends.size(); ++progress_.sent) {
      const OutgoingChunk& chunk = progress_.turn->sends[progress_.sent];
      if (!area_.send(chunk, buffers, fingerprint_, limit_, rings_)) break;
      note_peak(area_.held());
      moved = true;
    }
    rings_.ring();
    return moved;
  }

  /// As many chunks of the first one's sender as are there; returns how many.
  Result<std::size_t> take(std::span<const IncomingChunk> chunks, const Buffers& buffers) {
    const Device peer = chunks[0].peer;
    NeighbourLane& lane = neighbours_.lane(peer, self_);
    std::uint64_t& taken = taken_[peer];
    std::size_t took = 0;
    Bytes bytes = 0;
    for (; took < chunks.size() && chunks[took].peer == peer; ++took) {
      const Letter& letter = lane.letter(taken + 1);
      if (letter.number.load(std::memory_order_acquire) != taken + 1) break;
      if (letter.fingerprint != fingerprint_ || letter.bytes != chunks[took].bytes) {
        return fail(ErrorCode::kPeerFailed,
                    "device " + std::to_string(peer) + " runs another program than this one");
      }
      move(chunks[took].base, buffers);
      const bool inside = letter.offset == Letter::kInside;
      unpack(chunks[took].copies, inside ? letter.inside : neighbours_.area(peer) + letter.offset,
             buffers);
      lane.taken.store(++taken, std::memory_order_release);
      bytes += chunks[took].bytes;
    }
    if (took > 0) rings_.add(peer, Neighbours::Until::kRoomOrLetters);
    rings_.note(bytes);
    return took;
  }

  /// Until something may be possible.
  Status wait(const Buffers& buffers) {
    for (int i = 0; i < (crowded_ ? kYields : kLooks); ++i) {
      crowded_ ? std::this_thread::yield() : pause_a_little();
      WEFT_ASSIGN(const bool moved, step(buffers));
      if (moved) return {};
    }
    const auto begin = Clock::now();
    bool lost = false;
    for (;;) {
      const bool sends = progress_.sent < progress_.turn->sends.size();
      const std::uint32_t bell = neighbours_.doze_off(
          self_, sends ? Neighbours::Until::kRoomOrLetters : Neighbours::Until::kLetters);
      const Result<bool> moved = step(buffers);
      const bool gave_up = neighbours_.anybody_gave_up();
      bool rung = true;
      if (moved && !*moved && !gave_up && !lost) rung = neighbours_.sleep(self_, bell, kSleep);
      neighbours_.wake_up(self_);
      if (!moved) return tl::unexpected(moved.error());
      if (*moved) return {};
      if (gave_up) return tl::unexpected(neighbours_.last_words());
      if (lost) return fail(ErrorCode::kPeerFailed, name_awaited() + " has ended");
      if (cancelled_ && cancelled_()) return fail(ErrorCode::kCancelled, "interrupted");
      if (rung) continue;
      // What it sent before it was lost is still taken.
      lost = neighbours_.lost(self_, awaited());
      if (!lost && Clock::now() - begin > options_.timeout) {
        return fail(ErrorCode::kPeerFailed, "nothing came from or went to " + name_awaited() +
                                                " for " + std::to_string(options_.timeout.count()) +
                                                " ms");
      }
    }
  }

  /// Some device without which nothing goes on.
  Device awaited() const {
    for (std::size_t i = 0; i < progress_.replaced.size(); ++i) {
      const std::vector<IncomingChunk>& chunks = progress_.turn->replaces[i];
      if (progress_.replaced[i] < chunks.size()) return chunks[0].peer;
    }
    if (progress_.added < progress_.turn->adds.size()) {
      return progress_.turn->adds[progress_.added].peer;
    }
    return area_.awaited().value_or(self_);
  }
  std::string name_awaited() const { return "device " + std::to_string(awaited()); }

  /// Fingerprints tell programs apart, so what was found out for one holds for any with the same.
  const SharedTurn& prepared(const Program& program, const Turn& turn) {
    auto found = std::find_if(programs_.begin(), programs_.end(), [&](const Prepared& item) {
      return item.fingerprint == program.fingerprint;
    });
    if (found == programs_.end()) {
      if (programs_.size() == kPrograms) programs_.pop_back();
      const Bytes room = program.message_budget > 0 ? 0 : neighbours_.area_bytes() / 2;
      found = programs_.insert(programs_.begin(), {program.fingerprint, {}});
      for (const Turn& each : program.turns) {
        found->turns.push_back(
            prepare_shared(program, each, neighbours_.devices(), options_.chunk, room));
      }
    } else if (found != programs_.begin()) {
      std::rotate(programs_.begin(), found, found + 1);
      found = programs_.begin();
    }
    return found->turns[static_cast<std::size_t>(&turn - program.turns.data())];
  }

  Neighbours neighbours_;
  Device self_;
  SharedOptions options_;
  std::function<bool()> cancelled_;
  bool crowded_;  ///< more devices than cores: to wait busily would hold others up
  ChunkArea area_;
  Rings rings_;
  std::vector<std::uint64_t> taken_;  ///< letters, by sender
  std::optional<Error> failed_;
  std::vector<Prepared> programs_;  ///< used last, first
  Progress progress_;
  std::uint64_t fingerprint_ = 0;
  Bytes limit_ = 0;
};

}  // namespace

Result<Neighbours> make_neighbours(Device devices) {
  auto made = Neighbours::create(devices, kSharedArea);
  return made ? std::move(made) : Neighbours::create(devices, kLeastSharedArea);
}

std::unique_ptr<SharedTransport> connect_shared(Neighbours neighbours, Device self,
                                                const SharedOptions& options) {
  return std::make_unique<Shared>(std::move(neighbours), self, options);
}

}  // namespace weft::reshard::execute
