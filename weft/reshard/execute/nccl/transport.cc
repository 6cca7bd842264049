// SPDX-License-Identifier: Apache-2.0
// Runs turns over NCCL. Everything is queued on one stream. The stream runs packing, sending and
// unpacking in order, so the host does not wait between rounds. A queued operation that waits for a
// lost rank would block the stream forever. So the host never makes a blocking call. It records
// events ("marks") after each round. Until a timeout, it polls these marks and NCCL's state.
//
// When a program is first seen, work lists for the GPU are made and collectives are chosen. Both
// are kept for later runs, under the program's fingerprint.
#include "weft/reshard/execute/nccl/transport.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "weft/reshard/execute/cuda/turn.h"
#include "weft/reshard/execute/nccl/collective.h"
#include "weft/reshard/execute/nccl/rank_words.h"

namespace weft::reshard::execute::nccl {
namespace {

using Clock = std::chrono::steady_clock;

/// How often to poll the GPU or NCCL's threads without sleeping between polls, because most waits
/// are short.
constexpr int kBusyPolls = 2000;
constexpr std::chrono::microseconds kPause{50};
/// Ranks compare their programs by exchanging one number each, a word. Up to this many ranks, words
/// are sent directly, in the group of the last messages. With more ranks, direct messages would
/// open connections that nothing else needs, so an all-gather is used instead.
constexpr int kFewRanks = 16;
/// Ranks exchange the fingerprint of their program at the start, and the fingerprint combined with
/// this constant at the end. So the two exchanges cannot be confused.
constexpr std::uint64_t kDone = 0x9E3779B97F4A7C15u;

/// A batch of a turn, whose copies are plans on the GPU. A plan is null if there is nothing to
/// copy. A batch has either messages or a collective.
struct Prepared {
  WeftCudaPlan* before = nullptr;
  WeftCudaPlan* after = nullptr;
  std::vector<cuda::MessageSpan> sends, receives;
  Bytes staging = 0;
  Collective collective = {};
};

class NcclTransport final : public Transport {
 public:
  NcclTransport(const Nccl& nccl, const cuda::Gpu& gpu, int ranks, const Options& options)
      : nccl_(nccl),
        gpu_(gpu),
        ranks_(ranks),
        options_(options),
        stream_(options.stream),
        words_(gpu_) {}
  ~NcclTransport() override;

  Status connect(const UniqueId& id, int rank);

  Status fill_neutral(const Program& program, const Buffers& buffers) override;
  Status round(const Program& program, const Turn& turn, const Buffers& buffers) override;
  Status finish(const Program& program, const Buffers& buffers) override;
  bool memory_of_host() const override { return false; }

 protected:
  std::byte* take_memory(Bytes bytes) override;
  void return_memory(std::byte* memory) override;

 private:
  /// Everything that was prepared for a program that was seen before.
  struct KnownProgram {
    WeftCudaPlan* neutral = nullptr;
    WeftCudaPlan* scale = nullptr;
    bool collectives = false;  ///< whether all ranks have found the same collectives
    std::map<std::size_t, std::vector<Prepared>> turns;
  };
  struct Block {
    std::byte* memory = nullptr;
    Bytes bytes = 0;
  };

  Result<KnownProgram*> known_program(const Program& program);
  Result<std::vector<Prepared>> prepare(const Program& program, const Turn& turn, bool collectives);
  Result<WeftCudaPlan*> make_plan(const std::vector<cuda::Copy>& copies, std::size_t buffers);
  Status run(WeftCudaPlan* plan, const Buffers& buffers);
  /// Sends and receives the messages of a batch. If `word` is not 0, also sends it to all ranks in
  /// the same group.
  Status exchange(const Prepared& batch, const Buffers& buffers, std::uint64_t word);
  int start(const Collective& collective, const Buffers& buffers);

  /// Starts an exchange in which every rank sends one number (a word) and gets the words of all
  /// ranks.
  Status send_word(std::uint64_t word);
  /// Waits for the exchange and returns the words.
  Result<std::vector<std::uint64_t>> take_words();
  /// Does the same as take_words(). Returns an Error unless all ranks have sent `word`.
  Status expect_words(std::uint64_t word);

  /// Records an event after everything that is queued so far.
  Status mark();
  /// Waits until all marks are reached. Returns an Error if the next mark is not reached within the
  /// timeout.
  Status wait();
  /// Waits until NCCL's threads have finished the last call, whose result was `outcome`.
  Status wait_for_nccl(int outcome, const char* what);
  /// Checks the result of a function of library.h. The sentence that the function wrote is in
  /// error_.
  Status check(std::int32_t failed);
  Status give_up(ErrorCode code, const std::string& why);

  const Nccl nccl_;
  const cuda::Gpu gpu_;
  const int ranks_;
  int rank_ = 0;
  const Options options_;
  Stream stream_;
  bool own_stream_ = false;
  Communicator communicator_ = nullptr;
  std::optional<Error> broken_;
  std::map<std::uint64_t, KnownProgram> known_;
  std::vector<void*> marks_, spare_marks_;
  std::vector<Block> taken_, spare_;
  RankWords words_;
  bool word_sent_ = false;  ///< whether the word at the end was sent with the last messages
  char error_[cuda::kErrorBytes] = "";
};

NcclTransport::~NcclTransport() {
  // Queued work may wait for ranks that are gone, so abort instead of waiting.
  if (communicator_ != nullptr) nccl_.abort(communicator_);
  for (auto& [fingerprint, known] : known_) {
    for (WeftCudaPlan* plan : {known.neutral, known.scale}) {
      if (plan != nullptr) gpu_.plan_free(plan);
    }
    for (auto& [turn, batches] : known.turns) {
      for (const Prepared& batch : batches) {
        for (WeftCudaPlan* plan : {batch.before, batch.after}) {
          if (plan != nullptr) gpu_.plan_free(plan);
        }
      }
    }
  }
  for (void* mark : marks_) gpu_.event_free(mark);
  for (void* mark : spare_marks_) gpu_.event_free(mark);
  for (const std::vector<Block>* blocks : {&taken_, &spare_}) {
    for (const Block& block : *blocks) gpu_.release(block.memory);
  }
  if (own_stream_) gpu_.stream_free(stream_);
}

Status NcclTransport::connect(const UniqueId& id, int rank) {
  WEFT_TRY(check(gpu_.prepare(error_)));
  if (stream_ == nullptr) {
    WEFT_TRY(check(gpu_.stream_make(&stream_, error_)));
    own_stream_ = true;
  }
  rank_ = rank;
  WEFT_TRY(check(words_.make(rank, ranks_, error_)));
  // The call does not block: connect() returns at once, and wait_for_nccl() polls until all ranks
  // have connected.
  Config config;
  return wait_for_nccl(nccl_.connect(&communicator_, ranks_, id, rank, &config), "connect");
}

std::byte* NcclTransport::take_memory(Bytes bytes) {
  auto best = spare_.end();
  for (auto block = spare_.begin(); block != spare_.end(); ++block) {
    if (block->bytes >= bytes && (best == spare_.end() || block->bytes < best->bytes)) best = block;
  }
  if (best == spare_.end()) {
    void* memory = nullptr;
    if (gpu_.allocate(bytes, &memory, error_) != 0) return nullptr;
    taken_.push_back({static_cast<std::byte*>(memory), bytes});
  } else {
    taken_.push_back(*best);
    spare_.erase(best);
  }
  return taken_.back().memory;
}

void NcclTransport::return_memory(std::byte* memory) {
  // The memory is not freed, because queued work still uses it. Work that uses the memory again is
  // queued later, on the same stream.
  const auto block = std::find_if(taken_.begin(), taken_.end(),
                                  [&](const Block& one) { return one.memory == memory; });
  spare_.push_back(*block);
  taken_.erase(block);
}

Status NcclTransport::fill_neutral(const Program& program, const Buffers& buffers) {
  if (!program.in_place.empty()) {
    return fail(ErrorCode::kUsage, "programs in place do not run over NCCL");
  }
  if (broken_) return tl::unexpected(*broken_);
  const bool seen = known_.count(program.fingerprint) > 0;
  WEFT_ASSIGN(KnownProgram * known, known_program(program));
  if (!seen) {
    // Ranks compare fingerprints at the start only before the first run. Later runs compare them at
    // the end, together with the last group of messages.
    WEFT_TRY(send_word(program.fingerprint));
    WEFT_TRY(expect_words(program.fingerprint));
    const std::uint64_t mine = summary(program, ranks_);
    WEFT_TRY(send_word(mine));
    WEFT_ASSIGN(const std::vector<std::uint64_t> words, take_words());
    known->collectives = std::count(words.begin(), words.end(), mine) == ranks_;
  }
  return run(known->neutral, buffers);
}

Status NcclTransport::round(const Program& program, const Turn& turn, const Buffers& buffers) {
  if (broken_) return tl::unexpected(*broken_);
  WEFT_ASSIGN(KnownProgram * known, known_program(program));
  const auto number = static_cast<std::size_t>(&turn - program.turns.data());
  auto found = known->turns.find(number);
  if (found == known->turns.end()) {
    // Making plans and memory may wait for the GPU. So first wait for everything that depends on
    // other ranks.
    WEFT_TRY(wait());
    WEFT_ASSIGN(std::vector<Prepared> batches, prepare(program, turn, known->collectives));
    found = known->turns.emplace(number, std::move(batches)).first;
  }
  // If the words by which ranks compare programs are part of the last group, they cost no extra
  // time. With a budget, groups differ from rank to rank, so words are exchanged separately.
  const bool is_last = number + 1 == program.turns.size() && program.message_budget == 0;
  if (is_last && found->second.empty()) found->second.emplace_back();
  for (const Prepared& batch : found->second) {
    auto staging = Staging::of(*this, batch.staging);
    if (!staging) return give_up(staging.error().code, staging.error().message);
    Buffers all = buffers;
    all.push_back(staging->data());
    WEFT_TRY(run(batch.before, all));
    WEFT_TRY(exchange(batch, all, is_last ? program.fingerprint ^ kDone : 0));
    WEFT_TRY(run(batch.after, all));
  }
  word_sent_ = is_last;
  return mark();
}

Status NcclTransport::finish(const Program& program, const Buffers& buffers) {
  if (broken_) return tl::unexpected(*broken_);
  WEFT_ASSIGN(KnownProgram * known, known_program(program));
  WEFT_TRY(run(known->scale, buffers));
  if (!word_sent_) WEFT_TRY(send_word(program.fingerprint ^ kDone));
  word_sent_ = false;
  return expect_words(program.fingerprint ^ kDone);
}

Result<NcclTransport::KnownProgram*> NcclTransport::known_program(const Program& program) {
  const auto found = known_.find(program.fingerprint);
  if (found != known_.end()) return &found->second;
  WEFT_TRY(cuda::check_reductions(program));
  WEFT_ASSIGN(const std::vector<cuda::Copy> neutral, cuda::neutral_copies(program));
  KnownProgram& known = known_[program.fingerprint];
  const auto remember = [&](const std::vector<cuda::Copy>& copies, WeftCudaPlan*& plan) -> Status {
    WEFT_ASSIGN(plan, make_plan(copies, program.buffers.size()));
    return {};
  };
  WEFT_TRY(remember(neutral, known.neutral));
  WEFT_TRY(remember(cuda::scale_copies(program), known.scale));
  return &known;
}

Result<std::vector<Prepared>> NcclTransport::prepare(const Program& program, const Turn& turn,
                                                     bool collectives) {
  std::vector<Prepared> batches;
  const std::size_t buffers = program.buffers.size() + 1;
  if (collectives) {
    Collective found = find_collective(program, turn, ranks_);
    if (found.kind != Collective::Kind::kNone) {
      WEFT_ASSIGN(WeftCudaPlan * before, make_plan(found.before, buffers));
      WEFT_ASSIGN(WeftCudaPlan * after, make_plan(found.after, buffers));
      const Bytes staging = found.staging;
      batches.push_back({before, after, {}, {}, staging, std::move(found)});
      return batches;
    }
  }
  for (cuda::Batch& batch : cuda::batches_of(program, turn, ranks_)) {
    WEFT_ASSIGN(WeftCudaPlan * before, make_plan(batch.before, buffers));
    WEFT_ASSIGN(WeftCudaPlan * after, make_plan(batch.after, buffers));
    batches.push_back(
        {before, after, std::move(batch.sends), std::move(batch.receives), batch.staging, {}});
  }
  return batches;
}

Result<WeftCudaPlan*> NcclTransport::make_plan(const std::vector<cuda::Copy>& copies,
                                               std::size_t buffers) {
  WeftCudaPlan* plan = nullptr;
  if (copies.empty()) return plan;
  const std::vector<std::int64_t> numbers = cuda::encode(copies);
  WEFT_TRY(check(gpu_.plan_make(numbers.data(), static_cast<std::int64_t>(numbers.size()),
                                static_cast<std::int32_t>(buffers), &plan, error_)));
  return plan;
}

Status NcclTransport::run(WeftCudaPlan* plan, const Buffers& buffers) {
  if (plan == nullptr) return {};
  const std::vector<void*> addresses(buffers.begin(), buffers.end());
  return check(gpu_.plan_run(plan, addresses.data(), stream_, error_));
}

Status NcclTransport::exchange(const Prepared& batch, const Buffers& buffers, std::uint64_t word) {
  const bool collective = batch.collective.kind != Collective::Kind::kNone;
  if (!collective && batch.sends.empty() && batch.receives.empty() && word == 0) return {};
  if (word != 0) WEFT_TRY(check(words_.put(word, stream_, error_)));
  const auto at = [&](const cuda::MessageSpan& span) { return buffers[span.buffer] + span.offset; };
  // Remember the first error and continue, because a group that has begun must be ended in any
  // case.
  int outcome = nccl_.group_begin();
  const auto one = [&](int result) {
    if (outcome == kSuccess || outcome == kInProgress) outcome = result;
  };
  const auto send = [&](std::byte* from, std::size_t bytes, int peer) {
    one(nccl_.send(from, bytes, kByte, peer, communicator_, stream_));
  };
  const auto receive = [&](std::byte* to, std::size_t bytes, int peer) {
    one(nccl_.receive(to, bytes, kByte, peer, communicator_, stream_));
  };
  if (collective) one(start(batch.collective, buffers));
  for (const cuda::MessageSpan& span : batch.sends) {
    send(at(span), static_cast<std::size_t>(span.bytes), span.peer);
  }
  for (const cuda::MessageSpan& span : batch.receives) {
    receive(at(span), static_cast<std::size_t>(span.bytes), span.peer);
  }
  std::byte* own_word = words_.of(rank_);
  if (word != 0 && (collective || ranks_ > kFewRanks)) {
    one(nccl_.all_gather(own_word, words_.of(0), sizeof word, kByte, communicator_, stream_));
  } else if (word != 0) {
    for (int peer = 0; peer < ranks_; ++peer) {
      if (peer == rank_) continue;
      send(own_word, sizeof word, peer);
      receive(words_.of(peer), sizeof word, peer);
    }
  }
  const int ended = nccl_.group_end();
  one(ended);
  return wait_for_nccl(outcome, "exchange messages");
}

int NcclTransport::start(const Collective& collective, const Buffers& buffers) {
  const std::byte* from = buffers[collective.from.buffer] + collective.from.offset;
  std::byte* to = buffers[collective.to.buffer] + collective.to.offset;
  if (collective.kind == Collective::Kind::kAllGather) {
    return nccl_.all_gather(from, to, collective.count, collective.type, communicator_, stream_);
  }
  return nccl_.reduce_scatter(from, to, collective.count, collective.type, kSum, communicator_,
                              stream_);
}

Status NcclTransport::send_word(std::uint64_t word) {
  WEFT_TRY(check(words_.put(word, stream_, error_)));
  WEFT_TRY(wait_for_nccl(
      nccl_.all_gather(words_.of(rank_), words_.of(0), sizeof word, kByte, communicator_, stream_),
      "compare programs"));
  return mark();
}

Result<std::vector<std::uint64_t>> NcclTransport::take_words() {
  WEFT_TRY(check(words_.fetch(stream_, error_)));
  WEFT_TRY(mark());
  WEFT_TRY(wait());
  return words_.all();
}

Status NcclTransport::expect_words(std::uint64_t word) {
  WEFT_ASSIGN(const std::vector<std::uint64_t> words, take_words());
  for (std::size_t rank = 0; rank < words.size(); ++rank) {
    if (words[rank] != word) {
      return give_up(ErrorCode::kPeerFailed,
                     "rank " + std::to_string(rank) + " runs another program than the other ranks");
    }
  }
  return {};
}

Status NcclTransport::mark() {
  void* event = nullptr;
  if (spare_marks_.empty()) {
    WEFT_TRY(check(gpu_.event_make(&event, error_)));
  } else {
    event = spare_marks_.back();
    spare_marks_.pop_back();
  }
  marks_.push_back(event);
  return check(gpu_.event_record(event, stream_, error_));
}

Status NcclTransport::wait() {
  for (std::size_t next = 0; next < marks_.size(); ++next) {
    const Clock::time_point end = Clock::now() + options_.timeout;
    for (int polls = 0;; ++polls) {
      std::int32_t done = 0;
      WEFT_TRY(check(gpu_.event_done(marks_[next], &done, error_)));
      if (done != 0) break;
      if (polls < kBusyPolls) continue;
      int outcome = kSuccess;
      nccl_.state(communicator_, &outcome);
      if (outcome != kSuccess && outcome != kInProgress) {
        return give_up(ErrorCode::kPeerFailed,
                       std::string("a rank was lost: ") + nccl_.name_of(outcome));
      }
      if (Clock::now() > end) {
        return give_up(
            ErrorCode::kPeerFailed,
            "a rank did not take part within " + std::to_string(options_.timeout.count()) + " ms");
      }
      std::this_thread::sleep_for(kPause);
    }
  }
  spare_marks_.insert(spare_marks_.end(), marks_.begin(), marks_.end());
  marks_.clear();
  return {};
}

Status NcclTransport::wait_for_nccl(int outcome, const char* what) {
  const Clock::time_point end = Clock::now() + options_.timeout;
  for (int polls = 0; outcome == kInProgress; ++polls) {
    nccl_.state(communicator_, &outcome);
    if (outcome != kInProgress || polls < kBusyPolls) continue;
    if (Clock::now() > end) {
      return give_up(ErrorCode::kPeerFailed, std::string("ranks did not ") + what + " within " +
                                                 std::to_string(options_.timeout.count()) + " ms");
    }
    std::this_thread::sleep_for(kPause);
  }
  if (outcome == kSuccess) return {};
  return give_up(ErrorCode::kPeerFailed,
                 std::string("NCCL could not ") + what + ": " + nccl_.name_of(outcome));
}

Status NcclTransport::check(std::int32_t failed) {
  if (failed == 0) return {};
  return give_up(ErrorCode::kUnavailable, error_);
}

Status NcclTransport::give_up(ErrorCode code, const std::string& why) {
  if (!broken_) {
    broken_ = Error{code, why, {}, -1};
    // Other ranks notice that this rank gives up, because their connections to this rank end.
    if (communicator_ != nullptr) nccl_.abort(communicator_);
    communicator_ = nullptr;
  }
  return tl::unexpected(*broken_);
}

}  // namespace

Result<std::unique_ptr<Transport>> connect_nccl(const Nccl& nccl, const cuda::Gpu& gpu,
                                                const UniqueId& id, int rank, int ranks,
                                                const Options& options) {
  auto transport = std::make_unique<NcclTransport>(nccl, gpu, ranks, options);
  WEFT_TRY(transport->connect(id, rank));
  return transport;
}

}  // namespace weft::reshard::execute::nccl
