// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/execute/messages.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <cstring>
#include <deque>
#include <future>
#include <map>
#include <mutex>
#include <thread>

#include "weft/reshard/execute/execute.h"
#include "weft/reshard/execute/program/naive_run.h"
#include "weft/reshard/layout/random_problem.h"

namespace weft::reshard::execute {
namespace {

using namespace std::chrono_literals;

/// The state that all MemoryWires share: messages in flight, indexed by sender and receiver.
struct Network {
  std::mutex mutex;
  struct InFlight {
    const std::byte* data;
    Bytes bytes;
    std::uint64_t fingerprint;
    bool* taken;
  };
  std::map<std::pair<Device, Device>, std::deque<InFlight>> messages;
  bool aborted = false;
};

/// A wire in memory without buffers: a message is copied when its receive has been started.
class MemoryWire final : public Wire {
 public:
  MemoryWire(std::shared_ptr<Network> network, Device self)
      : network_(std::move(network)), self_(self) {}

  void enter(std::uint64_t fingerprint) override { fingerprint_ = fingerprint; }

  Status send(Device to, const std::byte* data, Bytes bytes, Ticket ticket) override {
    const std::lock_guard lock(network_->mutex);
    sent_.push_back({ticket, std::make_unique<bool>(false)});
    network_->messages[{self_, to}].push_back(
        {data, bytes, fingerprint_, sent_.back().taken.get()});
    return {};
  }
  Status receive(Device from, std::byte* data, Bytes bytes, Ticket ticket) override {
    awaited_.push_back({from, data, bytes, ticket});
    return {};
  }
  Result<std::vector<Ticket>> done() override {
    const std::lock_guard lock(network_->mutex);
    if (network_->aborted) return fail(ErrorCode::kPeerFailed, "a device gave up");
    std::vector<Ticket> tickets;
    for (auto item = awaited_.begin(); item != awaited_.end();) {
      auto& messages = network_->messages[{item->from, self_}];
      const bool first = std::none_of(
          awaited_.begin(), item, [&](const Awaited& other) { return other.from == item->from; });
      if (messages.empty() || !first) {
        ++item;
        continue;
      }
      const Network::InFlight message = messages.front();
      if (message.bytes != item->bytes || message.fingerprint != fingerprint_) {
        return fail(ErrorCode::kPeerFailed, "another program");
      }
      std::memcpy(item->data, message.data, static_cast<std::size_t>(message.bytes));
      *message.taken = true;
      messages.pop_front();
      tickets.push_back(item->ticket);
      item = awaited_.erase(item);
    }
    if (tickets.empty()) std::this_thread::yield();
    std::erase_if(sent_, [&](const Sent& item) {
      if (*item.taken) tickets.push_back(item.ticket);
      return *item.taken;
    });
    return tickets;
  }
  bool abort(const Error&) override {
    const std::lock_guard lock(network_->mutex);
    network_->aborted = true;
    return false;
  }

 private:
  struct Sent {
    Ticket ticket;
    std::unique_ptr<bool> taken;
  };
  struct Awaited {
    Device from;
    std::byte* data;
    Bytes bytes;
    Ticket ticket;
  };
  std::shared_ptr<Network> network_;
  Device self_;
  std::uint64_t fingerprint_ = 0;
  std::vector<Sent> sent_;
  std::deque<Awaited> awaited_;
};

struct Ran {
  std::vector<Result<Usage>> results;
  std::vector<naive::Memory> memory;
};

/// Runs programs over wires in memory. `lost`: a device that does not take part.
Ran run(const std::vector<Program>& programs, const std::vector<Array>& arrays,
        const MessageOptions& options, Device lost = -1) {
  Ran run;
  run.memory = naive::fill(programs, arrays);
  const auto network = std::make_shared<Network>();
  std::vector<std::future<Result<Usage>>> futures;
  for (const Program& program : programs) {
    if (program.self == lost) continue;
    futures.push_back(std::async(std::launch::async, [&] {
      const auto transport =
          make_message_transport(std::make_unique<MemoryWire>(network, program.self), options);
      const Buffers buffers = naive::ends_of(run.memory[program.self]);
      auto result = execute(program, buffers, *transport);
      // Run a second time, because the state that the first run leaves in the transport must not
      // matter.
      if (result) result = execute(program, buffers, *transport);
      return result;
    }));
  }
  for (auto& future : futures) run.results.push_back(future.get());
  return run;
}

std::vector<Program> programs_for(const std::vector<Array>& arrays, Bytes budget) {
  std::vector<Program> programs;
  for (Device device = 0; device < arrays[0].problem->source.devices(); ++device) {
    auto program = make_program(arrays, device, {.budget = budget});
    if (!program) return {};
    programs.push_back(std::move(*program));
  }
  return programs;
}

TEST(Messages, MoveRandomProblemsInChunksOfAnySize) {
  int runs = 0;
  for (unsigned seed = 0; seed < 150; ++seed) {
    const Problem problem =
        random_problem(seed, {.partial = seed % 2 == 1, .other_mesh = seed % 3 == 0});
    PlannerOptions options;
    options.link.step = 0;
    options.link.message = seed % 4 < 2 ? 0 : 2'000'000;
    const Plan plan = *make_plan(problem, options);
    const std::vector<Array> arrays{{&problem, &plan, {"u32", ""}}};
    const Bytes budgets[] = {0, 32, 1000};
    const Bytes budget = budgets[seed % 3];
    const std::vector<Program> programs = programs_for(arrays, budget);
    if (programs.empty()) continue;
    const MessageOptions how{30s, seed % 5 == 0 ? 16 : 200, 1 + seed % 3};
    const Ran result = run(programs, arrays, how);
    for (const auto& usage : result.results) {
      ASSERT_TRUE(usage) << seed << ": " << usage.error().message;
      if (budget > 0) {
        EXPECT_LE(usage->staging_peak, budget) << seed;
      }
    }
    EXPECT_EQ(naive::check(result.memory, arrays), "") << seed;
    ++runs;
  }
  EXPECT_GT(runs, 80);
}

TEST(Messages, ContiguousRegionsAreNotPacked) {
  const Problem problem = parsed("x=4", "64,8", "x,-", "-,-");
  const Plan plan = *make_plan(problem, {});
  const std::vector<Array> arrays{{&problem, &plan, {"u32", ""}}};
  const Ran result = run(programs_for(arrays, 0), arrays, {});
  for (const auto& usage : result.results) EXPECT_EQ(usage->staging_peak, 0);
  EXPECT_EQ(naive::check(result.memory, arrays), "");
}

TEST(Messages, AMissingDeviceIsAnErrorOnAllOthers) {
  const Problem problem = parsed("x=4", "64,8", "x,-", "-,x");
  const Plan plan = *make_plan(problem, {});
  const std::vector<Array> arrays{{&problem, &plan, {"u32", ""}}};
  const Ran result = run(programs_for(arrays, 0), arrays, {100ms, 64, 2}, 2);
  ASSERT_EQ(result.results.size(), 3u);
  for (const auto& usage : result.results) {
    ASSERT_FALSE(usage);
    EXPECT_EQ(usage.error().code, ErrorCode::kPeerFailed);
  }
}

/// Writes to a connection whose other end is lost, as Open MPI does.
class BrokenWire final : public Wire {
 public:
  void enter(std::uint64_t) override {}
  Status send(Device, const std::byte*, Bytes, Ticket) override { return {}; }
  Status receive(Device, std::byte*, Bytes, Ticket) override { return {}; }
  Result<std::vector<Ticket>> done() override {
    raise(SIGPIPE);
    return std::vector<Ticket>();
  }
  bool abort(const Error&) override { return false; }  // it never uses the staging memory
};

TEST(Messages, ABrokenConnectionIsAnErrorAndDoesNotEndTheProcess) {
  const Problem problem = parsed("x=2", "8,8", "x,-", "-,x");
  const Plan plan = *make_plan(problem, {});
  const auto program = make_program({{&problem, &plan, {"u32", ""}}}, 0, {});
  std::vector<std::uint32_t> source(32), target(32);
  MessageOptions options;
  options.timeout = 50ms;
  const auto transport = make_message_transport(std::make_unique<BrokenWire>(), options);
  const auto result = execute(
      *program,
      {reinterpret_cast<std::byte*>(source.data()), reinterpret_cast<std::byte*>(target.data())},
      *transport);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kPeerFailed);
  // The signal mask is restored and no signal is pending.
  sigset_t set;
  ASSERT_EQ(sigpending(&set), 0);
  EXPECT_EQ(sigismember(&set, SIGPIPE), 0);
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, nullptr, &set), 0);
  EXPECT_EQ(sigismember(&set, SIGPIPE), 0);
}

}  // namespace
}  // namespace weft::reshard::execute
