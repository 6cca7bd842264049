// SPDX-License-Identifier: Apache-2.0
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

/// What the threads share. One lock for everything: it is held for moments, copies go on without.
class Room {
 public:
  Room(Device devices, std::chrono::milliseconds timeout) : timeout_(timeout), seats_(devices) {}

  /// The device is there, with what it offers in its next round.
  Status arrive(Device self, const Program& program, const Turn& turn, const Buffers& buffers) {
    std::unique_lock lock(mutex_);
    if (failed_) return tl::unexpected(*failed_);
    Seat& seat = seats_[self];
    const std::int64_t round = seat.round + 1;
    Roll& roll = rolls_[round];
    if (roll.arrived == 0) roll.fingerprint = program.fingerprint;
    if (roll.fingerprint != program.fingerprint) {
      return give_up("device " + std::to_string(self) + " runs another program than others do");
    }
    if (++roll.arrived == static_cast<Device>(seats_.size())) rolls_.erase(round);
    seat.turn = &turn;
    seat.buffers = &buffers;
    seat.to_be_taken = turn.sends.size();
    seat.round = round;
    changed_.notify_all();
    return {};
  }

  struct Offer {
    const Turn* turn;
    const Buffers* buffers;
  };

  /// Waits until the peer has come to the round in which `self` is. Its buffers may be read until
  /// left().
  Result<Offer> meet(Device self, Device peer) {
    std::unique_lock lock(mutex_);
    Seat& seat = seats_[peer];
    const std::int64_t round = seats_[self].round;
    WEFT_TRY(wait(
        lock, [&] { return seat.round >= round || seat.gone; }, peer));
    if (seat.round != round) return give_up("device " + std::to_string(peer) + " has gone");
    ++seat.readers;
    return Offer{seat.turn, seat.buffers};
  }
  /// A message of the peer was taken.
  void left(Device peer) {
    const std::lock_guard lock(mutex_);
    --seats_[peer].readers;
    --seats_[peer].to_be_taken;
    changed_.notify_all();
  }

  /// Waits until all that the device offers was taken.
  Status finish(Device self) {
    std::unique_lock lock(mutex_);
    const Seat& seat = seats_[self];
    const auto lost = [&] {
      const auto gone = [&](const Message& message) {
        const Seat& peer = seats_[message.peer];
        return peer.gone && peer.round < seat.round;
      };
      return std::any_of(seat.turn->sends.begin(), seat.turn->sends.end(), gone);
    };
    WEFT_TRY(wait(
        lock, [&] { return seat.to_be_taken == 0 || lost(); }, Layout::kAbsent));
    if (seat.to_be_taken > 0) return give_up("a device that should receive has gone");
    return {};
  }

  /// All devices get the Error. Returns when nobody reads the buffers of `self` any more.
  Error fail_all(Device self, Error error) {
    std::unique_lock lock(mutex_);
    if (!failed_) failed_ = std::move(error);
    changed_.notify_all();
    changed_.wait(lock, [&] { return seats_[self].readers == 0; });
    return *failed_;
  }

  void leave(Device self) {
    const std::lock_guard lock(mutex_);
    seats_[self].gone = true;
    changed_.notify_all();
  }

 private:
  struct Seat {
    std::int64_t round = 0;
    const Turn* turn = nullptr;
    const Buffers* buffers = nullptr;
    std::size_t to_be_taken = 0;  ///< messages
    std::size_t readers = 0;      ///< threads that copy from its buffers
    bool gone = false;
  };
  /// Of a round that not all have come to: which program it is part of.
  struct Roll {
    std::uint64_t fingerprint = 0;
    Device arrived = 0;
  };

  tl::unexpected<Error> give_up(std::string why) {
    if (!failed_) failed_ = fail(ErrorCode::kPeerFailed, std::move(why)).value();
    changed_.notify_all();
    return tl::unexpected(*failed_);
  }

  /// `whom`: kAbsent where it is any of those that receive.
  template <class Done>
  Status wait(std::unique_lock<std::mutex>& lock, const Done& done, Device whom) {
    const auto end = std::chrono::steady_clock::now() + timeout_;
    while (!failed_ && !done()) {
      if (changed_.wait_until(lock, end) == std::cv_status::timeout && !failed_ && !done()) {
        return give_up((whom == Layout::kAbsent ? "a device that should receive"
                                                : "device " + std::to_string(whom)) +
                       " did not come within " + std::to_string(timeout_.count()) + " ms");
      }
    }
    if (failed_) return tl::unexpected(*failed_);
    return {};
  }

  std::chrono::milliseconds timeout_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Seat> seats_;
  std::map<std::int64_t, Roll> rolls_;
  std::optional<Error> failed_;
};

class ThreadTransport final : public Transport {
 public:
  ThreadTransport(std::shared_ptr<Room> room, Device self) : room_(std::move(room)), self_(self) {}
  ~ThreadTransport() override { room_->leave(self_); }

  Status round(const Program& program, const Turn& turn, const Buffers& buffers) override {
    const Status status = take_part(program, turn, buffers);
    if (!status) return tl::unexpected(room_->fail_all(self_, status.error()));
    return status;
  }

 private:
  Status take_part(const Program& program, const Turn& turn, const Buffers& buffers) {
    WEFT_TRY(room_->arrive(self_, program, turn, buffers));
    for (const Move& move : turn.moves) {
      deliver(program, {move.from}, buffers, {move.to}, buffers, move.add);
    }
    WEFT_TRY(pull(program, turn, buffers, false));
    WEFT_TRY(pull(program, turn, buffers, true));
    return room_->finish(self_);
  }

  /// Messages that add are taken after all others, in their order: sums of rounded numbers depend
  /// on it.
  Status pull(const Program& program, const Turn& turn, const Buffers& buffers, bool add) {
    Pairing pairing;
    for (const Message& message : turn.receives) {
      if (message.add != add) continue;
      WEFT_ASSIGN(const Room::Offer offer, room_->meet(self_, message.peer));
      const auto sent = pairing.match(self_, message, *offer.turn);
      if (sent) {
        deliver(program, (*sent)->regions, *offer.buffers, message.regions, buffers, add);
      }
      room_->left(message.peer);
      if (!sent) return tl::unexpected(sent.error());
    }
    return {};
  }

  std::shared_ptr<Room> room_;
  Device self_;
};

}  // namespace

std::vector<std::unique_ptr<Transport>> connect_threads(Device devices,
                                                        std::chrono::milliseconds timeout) {
  const auto room = std::make_shared<Room>(devices, timeout);
  std::vector<std::unique_ptr<Transport>> transports;
  for (Device device = 0; device < devices; ++device) {
    transports.push_back(std::make_unique<ThreadTransport>(room, device));
  }
  return transports;
}

}  // namespace weft::reshard::execute
