// SPDX-License-Identifier: Apache-2.0
// Runs turns through shared memory. A device never waits for only one peer. step() does whatever is
// possible at the moment: it packs chunks for which there is room, unpacks chunks that replace from
// any sender, and unpacks chunks that add in their order. If nothing is possible, wait() polls for
// a while and then sleeps until a peer wakes it. Each sleep has a limit. After it, the device
// checks whether its peers are still alive.
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

/// The longest sleep before checking whether the awaited peers still live.
constexpr std::chrono::milliseconds kSleep{100};
/// How often to poll before sleeping. kLooks: if every device has a core. kYields: if devices share
/// cores.
constexpr int kLooks = 2000, kYields = 40;
/// The most programs that stay prepared.
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
  Shared(SharedSegment segment, Device self, const SharedOptions& options)
      : segment_(std::move(segment)),
        self_(self),
        options_(options),
        oversubscribed_(cores_here() < segment_.devices()),
        area_(segment_, self, options.chunk),
        wakeups_(segment_),
        taken_(static_cast<std::size_t>(segment_.devices())) {
    segment_.attach(self);
  }
  ~Shared() override { segment_.detach(self_); }

  void set_patience(std::chrono::milliseconds timeout, std::function<bool()> cancelled) override {
    options_.timeout = timeout;
    cancelled_ = std::move(cancelled);
  }

  Status round(const Program& program, const Turn& turn, const Buffers& buffers) override {
    if (failed_) return tl::unexpected(*failed_);
    const Status status = take_part(program, turn, buffers);
    if (!status) {
      failed_ = status.error();
      segment_.abort(self_, failed_->message);
    }
    return status;
  }

 private:
  struct Prepared {
    std::uint64_t fingerprint = 0;
    std::vector<SharedTurn> turns;
  };
  /// How far the current turn has come.
  struct Progress {
    const SharedTurn* turn = nullptr;
    std::size_t sent = 0, added = 0;
    std::vector<std::size_t> replaced;  ///< indexed by sender, as in the turn
    std::size_t senders_done = 0;

    bool replaced_all() const { return senders_done == turn->replaces.size(); }
    bool finished() const {
      return sent == turn->sends.size() && replaced_all() && added == turn->adds.size();
    }
  };

  Status take_part(const Program& program, const Turn& turn, const Buffers& buffers) {
    if (segment_.aborted()) return tl::unexpected(segment_.abort_reason());
    limit_ = program.message_budget > 0 ? program.message_budget : ChunkArea::kNoLimit;
    fingerprint_ = program.fingerprint;
    progress_.turn = &prepared(program, turn);
    progress_.sent = progress_.added = progress_.senders_done = 0;
    progress_.replaced.assign(progress_.turn->replaces.size(), 0);
    // Send first: peers can unpack these chunks while the moves run here.
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

  /// Does whatever is possible now. Returns false if nothing was possible.
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
    wakeups_.wake();
    return moved;
  }

  bool send(const Buffers& buffers) {
    bool moved = false;
    for (; progress_.sent < progress_.turn->sends.size(); ++progress_.sent) {
      const OutgoingChunk& chunk = progress_.turn->sends[progress_.sent];
      if (!area_.send(chunk, buffers, fingerprint_, limit_, wakeups_)) break;
      note_peak(area_.held());
      moved = true;
    }
    wakeups_.wake();
    return moved;
  }

  /// `chunks` are the next chunks of one sender. Unpacks the chunks that have arrived. Returns
  /// their number.
  Result<std::size_t> take(std::span<const IncomingChunk> chunks, const Buffers& buffers) {
    const Device peer = chunks[0].peer;
    SharedQueue& queue = segment_.queue(peer, self_);
    std::uint64_t& taken = taken_[peer];
    std::size_t took = 0;
    Bytes bytes = 0;
    for (; took < chunks.size() && chunks[took].peer == peer; ++took) {
      const QueueEntry& entry = queue.entry(taken + 1);
      if (entry.number.load(std::memory_order_acquire) != taken + 1) break;
      // Check this before anything is unpacked.
      if (entry.fingerprint != fingerprint_ || entry.bytes != chunks[took].bytes) {
        return fail(ErrorCode::kPeerFailed,
                    "device " + std::to_string(peer) + " runs another program than this one");
      }
      move(chunks[took].first_copies, buffers);
      const bool is_inline = entry.offset == QueueEntry::kInline;
      const std::byte* data = is_inline ? entry.inline_bytes : segment_.area(peer) + entry.offset;
      unpack(chunks[took].copies, data, buffers);
      queue.taken.store(++taken, std::memory_order_release);
      bytes += chunks[took].bytes;
    }
    if (took > 0) wakeups_.add(peer, SharedSegment::WaitFor::kSpaceOrEntries);
    wakeups_.note(bytes);
    return took;
  }

  /// Waits until step() could do something.
  Status wait(const Buffers& buffers) {
    for (int i = 0; i < (oversubscribed_ ? kYields : kLooks); ++i) {
      oversubscribed_ ? std::this_thread::yield() : pause_a_little();
      WEFT_ASSIGN(const bool moved, step(buffers));
      if (moved) return {};
    }
    const auto begin = Clock::now();
    bool lost = false;
    for (;;) {
      const bool sends = progress_.sent < progress_.turn->sends.size();
      const std::uint32_t wake_count =
          segment_.announce_sleep(self_, sends ? SharedSegment::WaitFor::kSpaceOrEntries
                                               : SharedSegment::WaitFor::kEntries);
      // Look once more after the announcement, because an entry that was written before the
      // announcement does not wake this device.
      const Result<bool> moved = step(buffers);
      const bool gave_up = segment_.aborted();
      bool woken = true;
      if (moved && !*moved && !gave_up && !lost) woken = segment_.sleep(self_, wake_count, kSleep);
      segment_.end_sleep(self_);
      if (!moved) return tl::unexpected(moved.error());
      if (*moved) return {};
      if (gave_up) return tl::unexpected(segment_.abort_reason());
      if (lost) return fail(ErrorCode::kPeerFailed, name_awaited() + " has ended");
      if (cancelled_ && cancelled_()) return fail(ErrorCode::kCancelled, "interrupted");
      if (woken) continue;
      // If the peer has ended, look once more, because data that it sent before is still valid.
      lost = segment_.lost(self_, awaited());
      if (!lost && Clock::now() - begin > options_.timeout) {
        return fail(ErrorCode::kPeerFailed, "nothing was received from or sent to " +
                                                name_awaited() + " for " +
                                                std::to_string(options_.timeout.count()) + " ms");
      }
    }
  }

  /// A device that has to act before this device can go on.
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

  /// Returns the prepared turn. Equal fingerprints mean equal programs, so each program is prepared
  /// only once.
  const SharedTurn& prepared(const Program& program, const Turn& turn) {
    auto found = std::find_if(programs_.begin(), programs_.end(), [&](const Prepared& item) {
      return item.fingerprint == program.fingerprint;
    });
    if (found == programs_.end()) {
      if (programs_.size() == kPrograms) programs_.pop_back();
      const Bytes room = program.message_budget > 0 ? 0 : segment_.area_bytes() / 2;
      found = programs_.insert(programs_.begin(), {program.fingerprint, {}});
      for (const Turn& each : program.turns) {
        found->turns.push_back(
            prepare_shared(program, each, segment_.devices(), options_.chunk, room));
      }
    } else if (found != programs_.begin()) {
      std::rotate(programs_.begin(), found, found + 1);
      found = programs_.begin();
    }
    return found->turns[static_cast<std::size_t>(&turn - program.turns.data())];
  }

  SharedSegment segment_;
  Device self_;
  SharedOptions options_;
  std::function<bool()> cancelled_;
  bool oversubscribed_;  ///< more devices than cores, so that busy waiting would delay others
  ChunkArea area_;
  Wakeups wakeups_;
  std::vector<std::uint64_t> taken_;  ///< indexed by sender: entries taken
  std::optional<Error> failed_;
  std::vector<Prepared> programs_;  ///< most recently used first
  Progress progress_;
  std::uint64_t fingerprint_ = 0;
  Bytes limit_ = 0;
};

}  // namespace

Result<SharedSegment> make_shared_segment(Device devices) {
  auto made = SharedSegment::create(devices, kSharedArea);
  return made ? std::move(made) : SharedSegment::create(devices, kLeastSharedArea);
}

std::unique_ptr<SharedTransport> connect_shared(SharedSegment segment, Device self,
                                                const SharedOptions& options) {
  return std::make_unique<Shared>(std::move(segment), self, options);
}

}  // namespace weft::reshard::execute
