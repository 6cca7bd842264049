// SPDX-License-Identifier: Apache-2.0
// Runs turns over a wire, with one loop per turn and without threads. The loop starts a receive or
// a send for each free slot of staging. It asks the wire which chunks are done, unpacks these
// chunks, and reuses their slots. A chunk that is contiguous in a buffer on both sides needs no
// slot.
//
// This cannot deadlock: sender and receiver order messages in the same way (make_program()), and
// receives and sends have separate slots. So the first unfinished message of each direction can
// always make progress.
#include "weft/reshard/execute/messages.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <deque>
#include <optional>

#include "weft/reshard/execute/host/task.h"
#include "weft/reshard/execute/program/chunks.h"
#include "weft/reshard/execute/program/region.h"

namespace weft::reshard::execute {
namespace {

/// A chunk that was started and is not finished.
struct ActiveChunk : Chunk {
  explicit ActiveChunk(Chunk chunk) : Chunk(std::move(chunk)) {}
  std::optional<std::size_t> slot;  ///< the slot of the chunk in staging; nullopt: it needs none
  bool done = false;
};

/// The most chunks per direction that may be in flight at once, whether they need a slot or not.
constexpr std::size_t kMostUnderWay = 64;

/// Contiguous regions that are shorter are packed together with other regions, because a message
/// costs more than the copy.
constexpr Bytes kLeastDirect = 32 << 10;

/// Numbered blocks of staging, all of one size.
class Slots {
 public:
  void reset(std::byte* memory, Bytes bytes, std::size_t count) {
    memory_ = memory;
    bytes_ = bytes;
    free_.clear();
    for (std::size_t i = count; i-- > 0;) free_.push_back(i);
  }
  bool empty() const { return free_.empty(); }
  std::size_t take() {
    const std::size_t slot = free_.back();
    free_.pop_back();
    return slot;
  }
  void give_back(std::size_t slot) { free_.push_back(slot); }
  std::byte* at(std::size_t slot) const { return memory_ + static_cast<Bytes>(slot) * bytes_; }

 private:
  std::byte* memory_ = nullptr;
  Bytes bytes_ = 0;
  std::vector<std::size_t> free_;
};

/// While this object lives, writing to a broken connection is an error and does not end the
/// process. Open MPI writes to sockets whose other end may be lost; the kernel then raises SIGPIPE.
/// The signal is blocked for this thread. If it was raised meanwhile, it is dropped, so that
/// handlers of the application do not see it.
class SigpipeBlocked {
 public:
  SigpipeBlocked() {
    sigemptyset(&broken_);
    sigaddset(&broken_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &broken_, &before_);
  }
  ~SigpipeBlocked() {
    if (sigismember(&before_, SIGPIPE) != 0) return;
    const timespec now{};
    while (sigtimedwait(&broken_, nullptr, &now) < 0 && errno == EINTR) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  SigpipeBlocked(const SigpipeBlocked&) = delete;
  SigpipeBlocked& operator=(const SigpipeBlocked&) = delete;

 private:
  sigset_t broken_, before_;
};

class MessageTransport final : public Transport {
 public:
  MessageTransport(std::unique_ptr<Wire> wire, const MessageOptions& options)
      : wire_(std::move(wire)), options_(options) {}
  ~MessageTransport() override {
    if (!in_use_) drop_staging();
  }

  Status round(const Program& program, const Turn& turn, const Buffers& buffers) override {
    if (failed_) return tl::unexpected(*failed_);
    const SigpipeBlocked no_sigpipe;
    const Status status = take_part(program, turn, buffers);
    if (!status) {
      failed_ = status.error();
      in_use_ = wire_->abort(*failed_);
    }
    return status;
  }

  Status finish(const Program& program, const Buffers& buffers) override {
    drop_staging();
    return Transport::finish(program, buffers);
  }

 private:
  void drop_staging() {
    release(staging_);
    staging_ = nullptr;
    staged_ = 0;
  }

  Status take_part(const Program& program, const Turn& turn, const Buffers& buffers) {
    program_ = &program;
    buffers_ = &buffers;
    sent_ = received_ = 0;
    wire_->enter(program.fingerprint);
    WEFT_TRY(prepare_staging(turn));
    Chunks sends(turn.sends, options_.chunk, kLeastDirect);
    Chunks receives(turn.receives, options_.chunk, kLeastDirect);
    // Start receives first. If a message arrives when its receive has started, the wire need not
    // buffer it.
    WEFT_TRY(start_receives(receives));
    WEFT_TRY(start_sends(sends));
    for (const Move& move : turn.moves) {
      deliver(program, {move.from}, buffers, {move.to}, buffers, move.add);
    }
    auto last = std::chrono::steady_clock::now();
    for (std::size_t idle = 0; !finished(sends, receives);) {
      WEFT_ASSIGN(const std::vector<Wire::Ticket> done, wire_->done());
      if (done.empty()) {
        // Reading the clock costs as much as asking the wire, so do it only every 64 times.
        if (++idle % 64 == 0 && std::chrono::steady_clock::now() - last > options_.timeout) {
          return fail(ErrorCode::kPeerFailed, overdue());
        }
        continue;
      }
      for (const Wire::Ticket ticket : done) chunk_of(ticket).done = true;
      finish_sends();
      WEFT_TRY(start_sends(sends));
      finish_receives();
      WEFT_TRY(start_receives(receives));
      last = std::chrono::steady_clock::now();
    }
    return {};
  }

  /// Allocates as many slots as the budget allows, if anything has to be packed at all.
  Status prepare_staging(const Turn& turn) {
    Bytes longest = 0;
    for (const auto* list : {&turn.sends, &turn.receives}) {
      for (const Message& message : *list) {
        // A message that adds always needs a slot, because receiving it in place would overwrite
        // the data to which it is added.
        if (message.regions.size() == 1 && message.regions[0].dense() && !message.add) continue;
        longest = std::max(longest, std::min(message.bytes, options_.chunk));
      }
    }
    constexpr Bytes kAlign = 16;
    std::size_t window = options_.window;
    Bytes slot = (longest + kAlign - 1) / kAlign * kAlign;
    if (program_->message_budget > 0 && longest > 0) {
      const Bytes half = program_->message_budget / 2;
      // The budget has room for two of the longest messages per direction, but not for padding.
      if (half / slot < 2) slot = longest;
      window = std::min(window, static_cast<std::size_t>(half / slot));
    }
    const Bytes bytes = 2 * static_cast<Bytes>(window) * slot;
    if (bytes > staged_) {
      drop_staging();
      WEFT_ASSIGN(staging_, allocate(bytes));
      staged_ = bytes;
    }
    send_slots_.reset(staging_, slot, window);
    receive_slots_.reset(staging_ + static_cast<Bytes>(window) * slot, slot, window);
    return {};
  }

  /// The address of a chunk that is one contiguous region of a buffer. nullptr for other chunks.
  std::byte* dense_place(const Chunk& chunk) const {
    if (chunk.regions.size() != 1 || !chunk.regions[0].dense()) return nullptr;
    return (*buffers_)[chunk.regions[0].buffer] + chunk.regions[0].offset;
  }

  /// Tickets are even for sends and odd for receives, numbered within the turn.
  ActiveChunk& chunk_of(Wire::Ticket ticket) {
    return ticket % 2 == 0 ? sending_[ticket / 2 - sent_] : receiving_[ticket / 2 - received_];
  }

  bool finished(const Chunks& sends, const Chunks& receives) const {
    return sends.empty() && receives.empty() && sending_.empty() && receiving_.empty() &&
           !waiting_send_ && !waiting_receive_;
  }

  Status start_sends(Chunks& chunks) {
    while (sending_.size() < kMostUnderWay && (waiting_send_ || !chunks.empty())) {
      if (!waiting_send_) waiting_send_.emplace(chunks.next());
      std::byte* data = dense_place(*waiting_send_);
      if (data == nullptr) {
        if (send_slots_.empty()) return {};
        waiting_send_->slot = send_slots_.take();
        data = send_slots_.at(*waiting_send_->slot);
        pack_regions(*program_, waiting_send_->regions, *buffers_, data);
      }
      const Wire::Ticket ticket = 2 * (sent_ + sending_.size());
      sending_.push_back(std::move(*waiting_send_));
      waiting_send_.reset();
      WEFT_TRY(wire_->send(sending_.back().peer, data, sending_.back().bytes, ticket));
    }
    return {};
  }

  Status start_receives(Chunks& chunks) {
    while (receiving_.size() < kMostUnderWay && (waiting_receive_ || !chunks.empty())) {
      if (!waiting_receive_) waiting_receive_.emplace(chunks.next());
      std::byte* data = waiting_receive_->add ? nullptr : dense_place(*waiting_receive_);
      if (data == nullptr) {
        if (receive_slots_.empty()) return {};
        waiting_receive_->slot = receive_slots_.take();
        data = receive_slots_.at(*waiting_receive_->slot);
      }
      const Wire::Ticket ticket = 2 * (received_ + receiving_.size()) + 1;
      receiving_.push_back(std::move(*waiting_receive_));
      waiting_receive_.reset();
      WEFT_TRY(wire_->receive(receiving_.back().peer, data, receiving_.back().bytes, ticket));
    }
    return {};
  }

  void finish_sends() {
    for (ActiveChunk& chunk : sending_) {
      if (!chunk.done || !chunk.slot) continue;
      send_slots_.give_back(*chunk.slot);
      chunk.slot.reset();
    }
    for (; !sending_.empty() && sending_.front().done; ++sent_) sending_.pop_front();
  }

  /// Unpacks the chunks that have arrived. A chunk that replaces is unpacked at once. A chunk that
  /// adds waits for all chunks before it, because sums of rounded numbers depend on their order.
  void finish_receives() {
    bool all_before = true;
    for (ActiveChunk& chunk : receiving_) {
      if (chunk.done && chunk.slot && (!chunk.add || all_before)) {
        unpack_regions(*program_, receive_slots_.at(*chunk.slot), chunk.regions, *buffers_,
                       chunk.add);
        receive_slots_.give_back(*chunk.slot);
        chunk.slot.reset();
      }
      all_before = all_before && chunk.done && !chunk.slot;
    }
    for (; !receiving_.empty() && receiving_.front().done && !receiving_.front().slot;
         ++received_) {
      receiving_.pop_front();
    }
  }

  std::string overdue() const {
    const auto waits = [](const std::deque<ActiveChunk>& chunks) {
      const auto first = std::find_if(chunks.begin(), chunks.end(),
                                      [](const ActiveChunk& chunk) { return !chunk.done; });
      return first == chunks.end() ? "" : "device " + std::to_string(first->peer);
    };
    std::string whom = waits(receiving_);
    if (whom.empty()) whom = waits(sending_);
    return "nothing was received from or sent to " + whom + " for " +
           std::to_string(options_.timeout.count()) + " ms";
  }

  std::unique_ptr<Wire> wire_;
  MessageOptions options_;
  std::optional<Error> failed_;
  bool in_use_ = false;  ///< after a failure: the wire may still access staging
  std::byte* staging_ = nullptr;
  Bytes staged_ = 0;

  const Program* program_ = nullptr;
  const Buffers* buffers_ = nullptr;
  Slots send_slots_, receive_slots_;
  /// Chunks in flight, in the order in which they were started.
  std::deque<ActiveChunk> sending_, receiving_;
  std::size_t sent_ = 0, received_ = 0;  ///< chunks of the turn that are finished
  /// The next chunk of a direction, if there is no free slot for it.
  std::optional<ActiveChunk> waiting_send_, waiting_receive_;
};

}  // namespace

std::unique_ptr<Transport> make_message_transport(std::unique_ptr<Wire> wire,
                                                  const MessageOptions& options) {
  return std::make_unique<MessageTransport>(std::move(wire), options);
}

}  // namespace weft::reshard::execute
