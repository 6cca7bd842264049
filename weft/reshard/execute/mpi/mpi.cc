// SPDX-License-Identifier: Apache-2.0
// Carries messages over MPI. MPI has no way to say that a rank has given up. So every rank keeps a
// receive open for a message with kAbortTag, and tests this receive whenever nothing has happened
// for a while (look_for_failures()). The tag of a message is made from the fingerprint of its
// program, so that messages of different programs do not match.
#include "weft/reshard/execute/mpi/mpi.h"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <string>

#include "weft/reshard/execute/shared/shared.h"

namespace weft::reshard::execute {
namespace {

/// The tag of messages in which a rank says that it has given up. Programs have other tags.
constexpr int kAbortTag = 0;
constexpr std::size_t kWhyBytes = 256;
using Why = std::array<char, kWhyBytes>;

/// If nothing happens for this long, the wire looks for failed peers.
constexpr auto kQuiet = std::chrono::milliseconds(10);

Status check(int code, const char* call) {
  if (code == MPI_SUCCESS) return {};
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  return fail(
      ErrorCode::kPeerFailed,
      std::string(call) + ": " + std::string(text.data(), static_cast<std::size_t>(length)));
}

class MpiWire final : public Wire {
 public:
  /// Takes over the communicator.
  MpiWire(MPI_Comm communicator, int rank, int ranks, int most_tag)
      : communicator_(communicator), rank_(rank), ranks_(ranks), most_tag_(most_tag) {}

  ~MpiWire() override {
    // After a failure other ranks may be gone. They cannot take part in MPI_Comm_free, which is a
    // collective call.
    if (aborted_) return;
    MPI_Cancel(&listening_);
    MPI_Request_free(&listening_);
    MPI_Comm_free(&communicator_);
  }

  Status listen() {
    return check(MPI_Irecv(why_.data(), kWhyBytes, MPI_BYTE, MPI_ANY_SOURCE, kAbortTag,
                           communicator_, &listening_),
                 "MPI_Irecv");
  }

  void enter(std::uint64_t fingerprint) override {
    tag_ = 1 + static_cast<int>(fingerprint % static_cast<std::uint64_t>(most_tag_));
  }

  Status send(Device to, const std::byte* data, Bytes bytes, Ticket ticket) override {
    MPI_Request request = MPI_REQUEST_NULL;
    WEFT_TRY(
        check(MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, to, tag_, communicator_, &request),
              "MPI_Isend"));
    add(request, {ticket, to, -1});
    return {};
  }

  Status receive(Device from, std::byte* data, Bytes bytes, Ticket ticket) override {
    MPI_Request request = MPI_REQUEST_NULL;
    WEFT_TRY(check(
        MPI_Irecv(data, static_cast<int>(bytes), MPI_BYTE, from, tag_, communicator_, &request),
        "MPI_Irecv"));
    add(request, {ticket, from, bytes});
    return {};
  }

  Result<std::vector<Ticket>> done() override {
    std::vector<Ticket> tickets;
    const auto under_way = static_cast<int>(requests_.size());
    int count = 0;
    indices_.resize(requests_.size());
    statuses_.resize(requests_.size());
    const int code =
        MPI_Testsome(under_way, requests_.data(), &count, indices_.data(), statuses_.data());
    if (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS) WEFT_TRY(check(code, "MPI_Testsome"));
    if (count == MPI_UNDEFINED) count = 0;
    for (int i = 0; i < count; ++i) {
      const Item& item = items_[static_cast<std::size_t>(indices_[i])];
      const MPI_Status& status = statuses_[i];
      // A message of another length than expected belongs to another program. Two programs may have
      // the same tag by chance.
      if (code == MPI_ERR_IN_STATUS && status.MPI_ERROR == MPI_ERR_TRUNCATE) {
        return different_programs(item.peer);
      }
      if (code == MPI_ERR_IN_STATUS) WEFT_TRY(check(status.MPI_ERROR, "MPI_Testsome"));
      int received = 0;
      if (item.bytes >= 0 &&
          (MPI_Get_count(&status, MPI_BYTE, &received) != MPI_SUCCESS || received != item.bytes)) {
        return different_programs(item.peer);
      }
      tickets.push_back(item.ticket);
    }
    const auto now = std::chrono::steady_clock::now();
    if (count > 0) {
      forget_done();
      last_look_ = now;
    } else if (now - last_look_ > kQuiet) {
      WEFT_TRY(look_for_failures());
      last_look_ = now;
    }
    return tickets;
  }

  bool abort(const Error& why) override {
    aborted_ = true;
    const bool in_use = !requests_.empty();
    for (MPI_Request& request : requests_) {
      // A send cannot be cancelled reliably; a receive can.
      const Item& item = items_[static_cast<std::size_t>(&request - requests_.data())];
      if (item.bytes >= 0) MPI_Cancel(&request);
      MPI_Request_free(&request);
    }
    requests_.clear();
    items_.clear();
    // This memory is never freed, because it is unknown when another rank has read it.
    auto* text = new Why{};
    std::strncpy(text->data(), why.message.c_str(), kWhyBytes - 1);
    for (int rank = 0; rank < ranks_; ++rank) {
      if (rank == rank_) continue;
      MPI_Request request = MPI_REQUEST_NULL;
      if (MPI_Isend(text->data(), kWhyBytes, MPI_BYTE, rank, kAbortTag, communicator_, &request) ==
          MPI_SUCCESS) {
        MPI_Request_free(&request);
      }
    }
    return in_use;
  }

 private:
  struct Item {
    Ticket ticket = 0;
    Device peer = 0;
    Bytes bytes = -1;  ///< the length of a receive; -1: this is a send
  };

  void add(MPI_Request request, Item item) {
    requests_.push_back(request);
    items_.push_back(item);
  }

  void forget_done() {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      // MPI_Testsome has set completed requests to null.
      if (requests_[i] == MPI_REQUEST_NULL) continue;
      requests_[kept] = requests_[i];
      items_[kept++] = items_[i];
    }
    requests_.resize(kept);
    items_.resize(kept);
  }

  static tl::unexpected<Error> different_programs(Device peer) {
    return fail(ErrorCode::kPeerFailed,
                "device " + std::to_string(peer) + " runs another program than this one");
  }

  /// Returns an Error if a rank has given up, or if an awaited peer sends messages of another
  /// program.
  Status look_for_failures() {
    int flag = 0;
    MPI_Status status;
    WEFT_TRY(check(MPI_Test(&listening_, &flag, &status), "MPI_Test"));
    if (flag != 0) {
      why_.back() = '\0';
      return fail(ErrorCode::kPeerFailed,
                  "device " + std::to_string(status.MPI_SOURCE) + " gave up: " + why_.data());
    }
    for (const Item& item : items_) {
      if (item.bytes < 0) continue;
      WEFT_TRY(
          check(MPI_Iprobe(item.peer, MPI_ANY_TAG, communicator_, &flag, &status), "MPI_Iprobe"));
      // A message of this program would have matched the receive that waits for it.
      if (flag != 0 && status.MPI_TAG != tag_ && status.MPI_TAG != kAbortTag) {
        return different_programs(item.peer);
      }
    }
    return {};
  }

  MPI_Comm communicator_;
  int rank_, ranks_, most_tag_;
  int tag_ = 1;
  std::chrono::steady_clock::time_point last_look_;  ///< last look for failures, or last progress
  bool aborted_ = false;
  std::vector<MPI_Request> requests_;
  std::vector<Item> items_;  ///< indexed by entry of requests_
  std::vector<int> indices_;
  std::vector<MPI_Status> statuses_;
  MPI_Request listening_ = MPI_REQUEST_NULL;
  Why why_{};
};

/// Whether `mine` is true on all ranks. A collective call.
Result<bool> all_agree(MPI_Comm communicator, bool mine) {
  int agreed = mine ? 1 : 0;
  WEFT_TRY(check(MPI_Allreduce(MPI_IN_PLACE, &agreed, 1, MPI_INT, MPI_MIN, communicator),
                 "MPI_Allreduce"));
  return agreed != 0;
}

Result<bool> on_one_host(MPI_Comm communicator, int ranks) {
  // Divide the ranks by host. If all ranks are on one host, the group of this host has as many
  // ranks as the communicator.
  MPI_Comm host = MPI_COMM_NULL;
  int here = 0;
  WEFT_TRY(check(MPI_Comm_split_type(communicator, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host),
                 "MPI_Comm_split_type"));
  WEFT_TRY(check(MPI_Comm_size(host, &here), "MPI_Comm_size"));
  WEFT_TRY(check(MPI_Comm_free(&host), "MPI_Comm_free"));
  return all_agree(communicator, here == ranks);
}

/// The most ranks that use shared memory. With more ranks, the queues of all pairs would take too
/// much memory.
constexpr int kMostSharedRanks = 128;

/// Connects through memory that all ranks share. Returns nullptr on all ranks if one rank cannot
/// use this memory.
Result<std::unique_ptr<Transport>> connect_shared_memory(MPI_Comm communicator, int rank, int ranks,
                                                         const MessageOptions& options) {
  if (ranks > kMostSharedRanks) return nullptr;
  WEFT_ASSIGN(const bool together, on_one_host(communicator, ranks));
  if (!together) return nullptr;
  Result<SharedSegment> segment = fail(ErrorCode::kUnavailable, "");
  std::array<char, 64> name{};
  if (rank == 0) {
    segment = make_shared_segment(ranks);
    if (segment) segment->name().copy(name.data(), name.size() - 1);
  }
  WEFT_TRY(check(MPI_Bcast(name.data(), static_cast<int>(name.size()), MPI_CHAR, 0, communicator),
                 "MPI_Bcast"));
  if (rank != 0) segment = SharedSegment::join(name.data(), ranks);
  if (segment) segment->attach(rank);
  // Every rank has to reach this call, even if it has failed. Otherwise the other ranks would wait
  // for it.
  WEFT_ASSIGN(const bool all_in, all_agree(communicator, segment.has_value()));
  if (!all_in) return nullptr;
  segment->make_private();
  return connect_shared(std::move(*segment), rank, {.timeout = options.timeout});
}

}  // namespace

Result<std::unique_ptr<Transport>> connect_mpi(int communicator, const MpiOptions& options) {
  int initialised = 0;
  MPI_Initialized(&initialised);
  if (initialised == 0) {
    return fail(ErrorCode::kUsage, "MPI is not initialised: call MPI_Init first");
  }
  MPI_Comm own = MPI_COMM_NULL;
  WEFT_TRY(check(MPI_Comm_dup(MPI_Comm_f2c(communicator), &own), "MPI_Comm_dup"));
  WEFT_TRY(check(MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler"));
  int rank = 0, ranks = 0, found = 0;
  int* most_tag = nullptr;
  WEFT_TRY(check(MPI_Comm_rank(own, &rank), "MPI_Comm_rank"));
  WEFT_TRY(check(MPI_Comm_size(own, &ranks), "MPI_Comm_size"));
  WEFT_TRY(check(MPI_Comm_get_attr(own, MPI_TAG_UB, &most_tag, &found), "MPI_Comm_get_attr"));
  if (options.shared_memory) {
    WEFT_ASSIGN(auto shared, connect_shared_memory(own, rank, ranks, options.messages));
    if (shared != nullptr) {
      WEFT_TRY(check(MPI_Comm_free(&own), "MPI_Comm_free"));
      return shared;
    }
  }
  constexpr int kLeastUpperBound = 32767;  // the MPI standard guarantees tags up to this
  auto wire =
      std::make_unique<MpiWire>(own, rank, ranks, found != 0 ? *most_tag : kLeastUpperBound);
  WEFT_TRY(wire->listen());
  return make_message_transport(std::move(wire), options.messages);
}

}  // namespace weft::reshard::execute
