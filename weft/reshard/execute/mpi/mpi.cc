// SPDX-License-Identifier: Apache-2.0
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

/// Of the messages by which a rank tells that it has given up; programs have others.
constexpr int kAbortTag = 0;
constexpr std::size_t kWhyBytes = 256;
using Why = std::array<char, kWhyBytes>;

/// How long nothing is done before the wire looks for signs that a peer is elsewhere.
constexpr auto kPatience = std::chrono::milliseconds(10);

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
  /// The communicator is its own from now on.
  MpiWire(MPI_Comm communicator, int rank, int ranks, int most_tag)
      : communicator_(communicator), rank_(rank), ranks_(ranks), most_tag_(most_tag) {}

  ~MpiWire() override {
    // After a failure others may be gone, and freeing is a matter of all.
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
      looked_ = now;
    } else if (now - looked_ > kPatience) {
      WEFT_TRY(look_around());
      looked_ = now;
    }
    return tickets;
  }

  bool abort(const Error& why) override {
    aborted_ = true;
    const bool in_use = !requests_.empty();
    for (MPI_Request& request : requests_) {
      // What is sent cannot be taken back; what would be received can.
      const Item& item = items_[static_cast<std::size_t>(&request - requests_.data())];
      if (item.bytes >= 0) MPI_Cancel(&request);
      MPI_Request_free(&request);
    }
    requests_.clear();
    items_.clear();
    // Lives as long as the process: nobody can say when a lost rank has read it.
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
    Bytes bytes = -1;  ///< that are to be received; -1: it is sent
  };

  void add(MPI_Request request, Item item) {
    requests_.push_back(request);
    items_.push_back(item);
  }

  void forget_done() {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < requests_.size(); ++i) {
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

  /// Has somebody given up, or does a peer send parts of another program instead of what it owes?
  Status look_around() {
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
      // What belongs to this program would have been taken by the receive that waits for it.
      if (flag != 0 && status.MPI_TAG != tag_ && status.MPI_TAG != kAbortTag) {
        return different_programs(item.peer);
      }
    }
    return {};
  }

  MPI_Comm communicator_;
  int rank_, ranks_, most_tag_;
  int tag_ = 1;
  std::chrono::steady_clock::time_point looked_;  ///< when it last looked around, or was busy
  bool aborted_ = false;
  std::vector<MPI_Request> requests_;
  std::vector<Item> items_;  ///< of requests_
  std::vector<int> indices_;
  std::vector<MPI_Status> statuses_;
  MPI_Request listening_ = MPI_REQUEST_NULL;
  Why why_{};
};

/// Whether all ranks say so.
Result<bool> all_agree(MPI_Comm communicator, bool mine) {
  int agreed = mine ? 1 : 0;
  WEFT_TRY(check(MPI_Allreduce(MPI_IN_PLACE, &agreed, 1, MPI_INT, MPI_MIN, communicator),
                 "MPI_Allreduce"));
  return agreed != 0;
}

Result<bool> on_one_host(MPI_Comm communicator, int ranks) {
  MPI_Comm host = MPI_COMM_NULL;
  int here = 0;
  WEFT_TRY(check(MPI_Comm_split_type(communicator, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host),
                 "MPI_Comm_split_type"));
  WEFT_TRY(check(MPI_Comm_size(host, &here), "MPI_Comm_size"));
  WEFT_TRY(check(MPI_Comm_free(&host), "MPI_Comm_free"));
  return all_agree(communicator, here == ranks);
}

/// Beyond, lanes between all pairs would take more than what they carry.
constexpr int kMostNeighbours = 128;

/// Through memory that all ranks share; nullptr on all of them where one cannot.
Result<std::unique_ptr<Transport>> connect_neighbours(MPI_Comm communicator, int rank, int ranks,
                                                      const MessageOptions& options) {
  if (ranks > kMostNeighbours) return nullptr;
  WEFT_ASSIGN(const bool together, on_one_host(communicator, ranks));
  if (!together) return nullptr;
  Result<Neighbours> neighbours = fail(ErrorCode::kUnavailable, "");
  std::array<char, 64> name{};
  if (rank == 0) {
    neighbours = make_neighbours(ranks);
    if (neighbours) neighbours->name().copy(name.data(), name.size() - 1);
  }
  WEFT_TRY(check(MPI_Bcast(name.data(), static_cast<int>(name.size()), MPI_CHAR, 0, communicator),
                 "MPI_Bcast"));
  if (rank != 0) neighbours = Neighbours::join(name.data(), ranks);
  if (neighbours) neighbours->sit_down(rank);
  WEFT_ASSIGN(const bool all_in, all_agree(communicator, neighbours.has_value()));
  if (!all_in) return nullptr;
  neighbours->close_door();
  return connect_shared(std::move(*neighbours), rank, {.timeout = options.timeout});
}

}  // namespace

Result<std::unique_ptr<Transport>> connect_mpi(int communicator, const MpiOptions& options) {
  int initialised = 0;
  MPI_Initialized(&initialised);
  if (initialised == 0) {
    return fail(ErrorCode::kUsage, "MPI has not been initialised: call MPI_Init before");
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
    WEFT_ASSIGN(auto neighbour, connect_neighbours(own, rank, ranks, options.messages));
    if (neighbour != nullptr) {
      WEFT_TRY(check(MPI_Comm_free(&own), "MPI_Comm_free"));
      return neighbour;
    }
  }
  constexpr int kLeastUpperBound = 32767;  // of tags, by the standard
  auto wire =
      std::make_unique<MpiWire>(own, rank, ranks, found != 0 ? *most_tag : kLeastUpperBound);
  WEFT_TRY(wire->listen());
  return make_message_transport(std::move(wire), options.messages);
}

}  // namespace weft::reshard::execute
