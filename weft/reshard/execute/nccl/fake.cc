// SPDX-License-Identifier: Apache-2.0
// Emulates a GPU and NCCL. Each stream is a queue of closures. When a caller asks whether an event
// has completed, the queue of its stream runs as far as possible. A receive whose data is missing
// stops its queue, like a kernel that waits on a GPU. So tests can show that other ranks do not
// wait forever for a lost rank.
#include "weft/reshard/execute/nccl/fake.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <tuple>

#include "weft/base/check.h"
#include "weft/reshard/execute/cuda/copies.h"
#include "weft/reshard/execute/host/combine.h"

struct WeftCudaPlan {
  std::vector<weft::reshard::execute::cuda::Copy> copies;
  std::int32_t buffers = 0;
};

namespace weft::reshard::execute::nccl::fake {
namespace {

using cuda::Copy;
using cuda::Operation;

/// A piece of queued work. Returns whether it is done; if not, it is called again later.
using Work = std::function<bool()>;

/// A queue in which each piece of work waits for the one before.
struct FakeStream {
  std::deque<Work> queue;
  void go_on() {
    while (!queue.empty() && queue.front()()) queue.pop_front();
  }
};

struct Rank {
  int rank = 0, ranks = 0;
};

/// The state that all ranks share. Messages of groups and data of collectives are stored
/// separately.
struct World {
  std::mutex mutex;
  /// Sender, receiver, whether the data belongs to an all-gather.
  using Channel = std::tuple<int, int, bool>;
  std::map<Channel, std::deque<std::vector<char>>> under_way;
  std::map<void*, std::int64_t> memory;
  std::int64_t allocated = 0;
  int groups = 0, launches = 0, collectives = 0;
  bool notices = false, lost = false;
};

World& world() {
  static World only;
  return only;
}

struct Transfer {
  bool send = false;
  void* memory = nullptr;
  std::size_t bytes = 0;
  int peer = 0;
  bool done = false;
};

/// Each thread has its own group, as in NCCL.
struct Group {
  std::vector<Transfer> transfers;
  Rank* rank = nullptr;
  FakeStream* stream = nullptr;
};
Group& group() {
  thread_local Group of_thread;
  return of_thread;
}

bool go_on(Transfer& transfer, const Rank& rank, bool gather) {
  const std::lock_guard lock(world().mutex);
  auto* bytes = static_cast<char*>(transfer.memory);
  if (transfer.send) {
    world().under_way[{rank.rank, transfer.peer, gather}].emplace_back(bytes,
                                                                       bytes + transfer.bytes);
    return true;
  }
  auto& queue = world().under_way[{transfer.peer, rank.rank, gather}];
  if (queue.empty()) return false;
  WEFT_CHECK(queue.front().size() == transfer.bytes);
  std::memcpy(bytes, queue.front().data(), transfer.bytes);
  queue.pop_front();
  return true;
}

Work work_of(std::vector<Transfer> transfers, Rank rank, bool gather) {
  return [transfers = std::move(transfers), rank, gather]() mutable {
    std::set<int> waiting;  // peers whose data is missing: their later data must wait
    for (Transfer& transfer : transfers) {
      if (transfer.done || waiting.count(transfer.peer) > 0) continue;
      transfer.done = go_on(transfer, rank, gather);
      if (!transfer.done) waiting.insert(transfer.peer);
    }
    return waiting.empty();
  };
}

void run_one(const Copy& copy, const std::vector<std::byte*>& buffers) {
  static const std::map<cuda::Type, std::string> names = {
      {cuda::Type::kU32, "u32"}, {cuda::Type::kF32, "f32"}, {cuda::Type::kI64, "i64"}};
  std::byte* to = buffers[copy.to_buffer] + copy.to;
  const StridedCopy strided(copy.loops, copy.element);
  if (copy.operation == Operation::kScale) {
    const Elements elements{names.at(copy.type), "avg", copy.from, copy.more};
    WEFT_CHECK(scale(elements, to, strided.bytes()).has_value());
  } else if (!copy.has_source()) {
    const std::int64_t halves[2] = {copy.from, copy.more};
    strided.run(reinterpret_cast<const std::byte*>(halves), to);
  } else if (copy.operation == Operation::kCopy) {
    strided.run(buffers[copy.from_buffer] + copy.from, to);
  } else {
    WEFT_CHECK(copy.operation == Operation::kSum);
    run(strided, buffers[copy.from_buffer] + copy.from, to,
        {combine_rows({names.at(copy.type), "sum", 1, 1}).value()});
  }
}

/// Runs copies in the order that libweft-cuda.so guarantees.
void run_all(const std::vector<Copy>& copies, const std::vector<std::byte*>& buffers) {
  const auto stage = [](const Copy& copy) {
    if (copy.operation == Operation::kScale) return 3;
    if (copy.operation != Operation::kCopy) return 2;
    return copy.has_source() ? 1 : 0;
  };
  for (int now = 0; now < 4; ++now) {
    for (const Copy& copy : copies) {
      if (stage(copy) == now) run_one(copy, buffers);
    }
  }
}

std::int32_t make(const std::int64_t* numbers, std::int64_t count, std::int32_t buffers,
                  WeftCudaPlan** plan, char*) {
  auto made = std::make_unique<WeftCudaPlan>();
  made->buffers = buffers;
  const std::span all(numbers, static_cast<std::size_t>(count));
  WEFT_CHECK(cuda::decode(all, buffers, made->copies).empty());
  *plan = made.release();
  return 0;
}

std::int32_t run(WeftCudaPlan* plan, void* const* buffers, void* stream, char*) {
  std::vector<std::byte*> all;
  for (std::int32_t i = 0; i < plan->buffers; ++i) {
    all.push_back(static_cast<std::byte*>(buffers[i]));
  }
  const std::lock_guard lock(world().mutex);
  ++world().launches;
  static_cast<FakeStream*>(stream)->queue.push_back([copies = plan->copies, all] {
    run_all(copies, all);
    return true;
  });
  return 0;
}

std::int32_t allocate(std::int64_t bytes, void** memory, char*) {
  *memory = ::operator new (static_cast<std::size_t>(bytes), std::align_val_t{256});
  // Fill with garbage: a test that reads memory before it was written must fail.
  std::memset(*memory, 0xCD, static_cast<std::size_t>(bytes));
  const std::lock_guard lock(world().mutex);
  world().memory[*memory] = bytes;
  world().allocated += bytes;
  return 0;
}

void release(void* memory) {
  const std::lock_guard lock(world().mutex);
  world().allocated -= world().memory.at(memory);
  world().memory.erase(memory);
  ::operator delete (memory, std::align_val_t{256});
}

std::int32_t fetch(void* host, const void* device, std::int64_t bytes, void* stream, char*) {
  static_cast<FakeStream*>(stream)->queue.push_back([=] {
    std::memcpy(host, device, static_cast<std::size_t>(bytes));
    return true;
  });
  return 0;
}

std::int32_t put(void* device, const void* host, std::int64_t bytes, void* stream, char*) {
  const auto* first = static_cast<const char*>(host);
  std::vector<char> taken(first, first + bytes);
  static_cast<FakeStream*>(stream)->queue.push_back([device, taken = std::move(taken)] {
    std::memcpy(device, taken.data(), taken.size());
    return true;
  });
  return 0;
}

/// An event. It is done when the closure that record() queues has run.
struct Event {
  std::shared_ptr<bool> done = std::make_shared<bool>(true);
  FakeStream* stream = nullptr;
};

std::int32_t record(void* event, void* stream, char*) {
  auto* marked = static_cast<Event*>(event);
  marked->stream = static_cast<FakeStream*>(stream);
  marked->done = std::make_shared<bool>(false);
  marked->stream->queue.push_back([done = marked->done] { return *done = true; });
  return 0;
}

std::int32_t is_done(void* event, std::int32_t* done, char*) {
  auto* marked = static_cast<Event*>(event);
  marked->stream->go_on();
  *done = *marked->done;
  return 0;
}

template <class T>
std::int32_t make_new(void** made, char*) {
  *made = new T();
  return 0;
}
template <class T>
void free_it(void* made) {
  delete static_cast<T*>(made);
}

int connect(Communicator* communicator, int ranks, UniqueId, int rank, Config* config) {
  WEFT_CHECK(config->blocking == 0);
  *communicator = new Rank{rank, ranks};
  return kSuccess;
}

int abort(Communicator communicator) {
  const std::lock_guard lock(world().mutex);
  world().lost = true;
  delete static_cast<Rank*>(communicator);
  return kSuccess;
}

int state(Communicator, int* outcome) {
  constexpr int kRemoteError = 6;
  const std::lock_guard lock(world().mutex);
  *outcome = world().notices && world().lost ? kRemoteError : kSuccess;
  return kSuccess;
}

int add(Transfer transfer, Communicator communicator, Stream stream) {
  group().rank = static_cast<Rank*>(communicator);
  group().stream = static_cast<FakeStream*>(stream);
  group().transfers.push_back(transfer);
  return kSuccess;
}

int end_group() {
  Group now = std::move(group());
  group() = {};
  if (now.transfers.empty()) return kSuccess;
  // Tests count the groups that carry data. Groups that carry only the words by which ranks compare
  // their programs do not count.
  const bool has_more_than_words =
      std::any_of(now.transfers.begin(), now.transfers.end(),
                  [](const Transfer& transfer) { return transfer.bytes > sizeof(std::uint64_t); });
  if (has_more_than_words) {
    const std::lock_guard lock(world().mutex);
    ++world().groups;
  }
  now.stream->queue.push_back(work_of(std::move(now.transfers), *now.rank, false));
  return kSuccess;
}

void count_collective(std::size_t bytes) {
  const std::lock_guard lock(world().mutex);
  if (bytes > sizeof(std::uint64_t)) ++world().collectives;
}

int all_gather(const void* from, void* to, std::size_t bytes, int, Communicator communicator,
               Stream stream) {
  const Rank rank = *static_cast<Rank*>(communicator);
  count_collective(bytes);
  std::vector<Transfer> transfers;
  for (int peer = 0; peer < rank.ranks; ++peer) {
    transfers.push_back({true, const_cast<void*>(from), bytes, peer, false});
  }
  for (int peer = 0; peer < rank.ranks; ++peer) {
    transfers.push_back({false, static_cast<char*>(to) + peer * bytes, bytes, peer, false});
  }
  static_cast<FakeStream*>(stream)->queue.push_back(work_of(std::move(transfers), rank, true));
  return kSuccess;
}

/// Supports only 32-bit unsigned integers, which is what the tests add up.
int reduce_scatter(const void* from, void* to, std::size_t count, int type, int operation,
                   Communicator communicator, Stream stream) {
  constexpr int kUint32 = 3;
  WEFT_CHECK(type == kUint32 && operation == kSum);
  const Rank rank = *static_cast<Rank*>(communicator);
  const std::size_t bytes = count * sizeof(std::uint32_t);
  count_collective(bytes);
  const auto parts = std::make_shared<std::vector<std::uint32_t>>(count * rank.ranks);
  std::vector<Transfer> transfers;
  for (int peer = 0; peer < rank.ranks; ++peer) {
    auto* part = static_cast<char*>(const_cast<void*>(from)) + peer * bytes;
    transfers.push_back({true, part, bytes, peer, false});
  }
  for (int peer = 0; peer < rank.ranks; ++peer) {
    transfers.push_back({false, parts->data() + peer * count, bytes, peer, false});
  }
  auto& queue = static_cast<FakeStream*>(stream)->queue;
  queue.push_back(work_of(std::move(transfers), rank, true));
  queue.push_back([parts, to, count, ranks = rank.ranks] {
    auto* sums = static_cast<std::uint32_t*>(to);
    for (std::size_t i = 0; i < count; ++i) {
      sums[i] = 0;
      for (int peer = 0; peer < ranks; ++peer) sums[i] += (*parts)[peer * count + i];
    }
    return true;
  });
  return kSuccess;
}

}  // namespace

cuda::Gpu gpu() {
  cuda::Gpu gpu;
  gpu.prepare = [](char*) { return 0; };
  gpu.plan_make = make;
  gpu.plan_run = run;
  gpu.plan_free = [](WeftCudaPlan* plan) { delete plan; };
  gpu.allocate = allocate;
  gpu.release = release;
  gpu.allocate_host = allocate;
  gpu.release_host = release;
  gpu.fetch = fetch;
  gpu.put = put;
  gpu.event_make = make_new<Event>;
  gpu.event_record = record;
  gpu.event_done = is_done;
  gpu.event_free = free_it<Event>;
  gpu.stream_make = make_new<FakeStream>;
  gpu.stream_free = free_it<FakeStream>;
  return gpu;
}

Nccl nccl() {
  Nccl nccl;
  nccl.make_id = [](UniqueId*) -> int { return kSuccess; };
  nccl.connect = connect;
  nccl.abort = abort;
  nccl.state = state;
  nccl.group_begin = []() -> int { return kSuccess; };
  nccl.group_end = end_group;
  nccl.send = [](const void* data, std::size_t bytes, int, int peer, Communicator communicator,
                 Stream stream) {
    return add({true, const_cast<void*>(data), bytes, peer, false}, communicator, stream);
  };
  nccl.receive = [](void* data, std::size_t bytes, int, int peer, Communicator communicator,
                    Stream stream) {
    return add({false, data, bytes, peer, false}, communicator, stream);
  };
  nccl.all_gather = all_gather;
  nccl.reduce_scatter = reduce_scatter;
  nccl.name_of = [](int) { return "remote process exited"; };
  return nccl;
}

void reset(bool notices) {
  World& now = world();
  const std::lock_guard lock(now.mutex);
  now.under_way.clear();
  now.groups = now.launches = now.collectives = 0;
  now.notices = notices;
  now.lost = false;
}

std::int64_t allocated() { return world().allocated; }
int groups() { return world().groups; }
int launches() { return world().launches; }
int collectives() { return world().collectives; }

}  // namespace weft::reshard::execute::nccl::fake
