// SPDX-License-Identifier: Apache-2.0
// Receivers copy the data. A device announces its turn and its buffers. It copies the messages that
// other devices offer to it. Then it waits until all other devices have copied the messages that it
// offers, because its buffers must not change before.
#include "weft/reshard/execute/host/threads.h"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "weft/reshard/execute/host/task.h"
#include "weft/reshard/execute/program/pairing.h"

namespace weft::reshard::execute {
namespace {

/// The state that all threads share. One lock is enough, because it is held only for moments and
/// never during a copy.
class ThreadHub {
 public:
  ThreadHub(Device devices, std::chrono::milliseconds timeout)
      : timeout_(timeout), devices_(devices) {}

  /// Says that the device has reached its next round and offers the messages of `turn`.
  Status arrive(Device self, const Program& program, const Turn& turn, const Buffers& buffers) {
    std::unique_lock lock(mutex_);
    if (failed_) return tl::unexpected(*failed_);
    DeviceState& state = devices_[self];
    const std::int64_t round = state.round + 1;
    OpenRound& open = open_rounds_[round];
    if (open.arrived == 0) open.fingerprint = program.fingerprint;
    if (open.fingerprint != program.fingerprint) {
      return give_up("device " + std::to_string(self) + " runs another program than the others");
    }
    if (++open.arrived == static_cast<Device>(devices_.size())) open_rounds_.erase(round);
    state.turn = &turn;
    state.buffers = &buffers;
    state.messages_left = turn.sends.size();
    state.round = round;
    changed_.notify_all();
    return {};
  }

  struct Offer {
    const Turn* turn;
    const Buffers* buffers;
  };

  /// Waits until the peer has come to the same round as `self`. Its buffers may be read until
  /// taken() is called.
  Result<Offer> wait_for_peer(Device self, Device peer) {
    std::unique_lock lock(mutex_);
    DeviceState& state = devices_[peer];
    const std::int64_t round = devices_[self].round;
    WEFT_TRY(wait(
        lock, [&] { return state.round >= round || state.gone; }, peer));
    if (state.round != round) return give_up("device " + std::to_string(peer) + " is gone");
    ++state.readers;
    return Offer{state.turn, state.buffers};
  }
  /// Says that a message of the peer has been copied.
  void taken(Device peer) {
    const std::lock_guard lock(mutex_);
    --devices_[peer].readers;
    --devices_[peer].messages_left;
    changed_.notify_all();
  }

  /// Waits until all messages that the device offers have been taken.
  Status finish(Device self) {
    std::unique_lock lock(mutex_);
    const DeviceState& state = devices_[self];
    const auto lost = [&] {
      const auto gone = [&](const Message& message) {
        const DeviceState& peer = devices_[message.peer];
        return peer.gone && peer.round < state.round;
      };
      return std::any_of(state.turn->sends.begin(), state.turn->sends.end(), gone);
    };
    WEFT_TRY(wait(
        lock, [&] { return state.messages_left == 0 || lost(); }, Layout::kAbsent));
    if (state.messages_left > 0) return give_up("a device that should receive a message is gone");
    return {};
  }

  /// Gives the Error to all devices. Returns when no device reads the buffers of `self` any more.
  Error fail_all(Device self, Error error) {
    std::unique_lock lock(mutex_);
    if (!failed_) failed_ = std::move(error);
    changed_.notify_all();
    changed_.wait(lock, [&] { return devices_[self].readers == 0; });
    return *failed_;
  }

  void leave(Device self) {
    const std::lock_guard lock(mutex_);
    devices_[self].gone = true;
    changed_.notify_all();
  }

 private:
  struct DeviceState {
    std::int64_t round = 0;
    const Turn* turn = nullptr;
    const Buffers* buffers = nullptr;
    std::size_t messages_left = 0;  ///< messages of the round that no device has taken yet
    std::size_t readers = 0;        ///< threads that are copying from the buffers of this device
    bool gone = false;
  };
  /// A round that some devices have not reached yet: its program, and how many devices have reached
  /// it.
  struct OpenRound {
    std::uint64_t fingerprint = 0;
    Device arrived = 0;
  };

  tl::unexpected<Error> give_up(std::string why) {
    if (!failed_) failed_ = fail(ErrorCode::kPeerFailed, std::move(why)).value();
    changed_.notify_all();
    return tl::unexpected(*failed_);
  }

  /// `whom`: the device that the caller waits for; kAbsent: some device that receives from the
  /// caller.
  template <class Done>
  Status wait(std::unique_lock<std::mutex>& lock, const Done& done, Device whom) {
    const auto end = std::chrono::steady_clock::now() + timeout_;
    while (!failed_ && !done()) {
      if (changed_.wait_until(lock, end) == std::cv_status::timeout && !failed_ && !done()) {
        return give_up((whom == Layout::kAbsent ? "a device that should receive a message"
                                                : "device " + std::to_string(whom)) +
                       " did not take part within " + std::to_string(timeout_.count()) + " ms");
      }
    }
    if (failed_) return tl::unexpected(*failed_);
    return {};
  }

  std::chrono::milliseconds timeout_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<DeviceState> devices_;
  std::map<std::int64_t, OpenRound> open_rounds_;
  std::optional<Error> failed_;
};

class ThreadTransport final : public Transport {
 public:
  ThreadTransport(std::shared_ptr<ThreadHub> hub, Device self)
      : hub_(std::move(hub)), self_(self) {}
  ~ThreadTransport() override { hub_->leave(self_); }

  Status round(const Program& program, const Turn& turn, const Buffers& buffers) override {
    const Status status = take_part(program, turn, buffers);
    if (!status) return tl::unexpected(hub_->fail_all(self_, status.error()));
    return status;
  }

 private:
  Status take_part(const Program& program, const Turn& turn, const Buffers& buffers) {
    WEFT_TRY(hub_->arrive(self_, program, turn, buffers));
    for (const Move& move : turn.moves) {
      deliver(program, {move.from}, buffers, {move.to}, buffers, move.add);
    }
    WEFT_TRY(pull(program, turn, buffers, false));
    WEFT_TRY(pull(program, turn, buffers, true));
    return hub_->finish(self_);
  }

  /// Takes the messages that add (if `add`) or all other messages. Messages that add are taken last
  /// and in their order, because sums of rounded numbers depend on the order.
  Status pull(const Program& program, const Turn& turn, const Buffers& buffers, bool add) {
    Pairing pairing;
    for (const Message& message : turn.receives) {
      if (message.add != add) continue;
      WEFT_ASSIGN(const ThreadHub::Offer offer, hub_->wait_for_peer(self_, message.peer));
      const auto sent = pairing.match(self_, message, *offer.turn);
      if (sent) {
        deliver(program, (*sent)->regions, *offer.buffers, message.regions, buffers, add);
      }
      hub_->taken(message.peer);
      if (!sent) return tl::unexpected(sent.error());
    }
    return {};
  }

  std::shared_ptr<ThreadHub> hub_;
  Device self_;
};

}  // namespace

std::vector<std::unique_ptr<Transport>> connect_threads(Device devices,
                                                        std::chrono::milliseconds timeout) {
  const auto hub = std::make_shared<ThreadHub>(devices, timeout);
  std::vector<std::unique_ptr<Transport>> transports;
  for (Device device = 0; device < devices; ++device) {
    transports.push_back(std::make_unique<ThreadTransport>(hub, device));
  }
  return transports;
}

}  // namespace weft::reshard::execute
