// SPDX-License-Identifier: Apache-2.0
// Runs the processes of a job. One thread watches all processes with poll(). It passes on their
// lines, learns through pidfds when a process ends, and decides when to end the remaining processes
// (decide()). Everything that needs memory is prepared before the first fork(), because the forked
// child of a process with threads cannot safely allocate memory.
#include "testbed/run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <optional>
#include <vector>

#include "testbed/enter.h"
#include "testbed/one_gpu.h"
#include "testbed/process_space.h"
#include "testbed/tagged_line.h"
#include "weft/base/line_splitter.h"

namespace weft::testbed {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;
constexpr int kNoSuchCommand = 127;  ///< exit status, as in a shell
constexpr int kCannotEnter = 126;    ///< exit status, as in a shell for "cannot execute"
/// Timeout of poll(). A signal that comes just before poll() does not end poll(), so Weft checks
/// for signals at least this often.
constexpr int kAtLeastEveryMs = 500;
constexpr auto kToEnd = std::chrono::seconds(5);  ///< from SIGTERM to SIGKILL

tl::unexpected<Error> cannot(const char* what) {
  return fail(ErrorCode::kUnavailable, fmt::format("cannot {}: {}", what, std::strerror(errno)));
}

/// The read end of a pipe to which a process writes.
struct Stream {
  int descriptor = -1;
  bool is_error = false;
  LineSplitter lines;
};

struct Child {
  const Process* process = nullptr;
  pid_t id = -1;
  int ended = -1;  ///< pidfd; becomes readable when the process has ended
  std::optional<int> status;
  Stream streams[2];
};

/// What the child needs for exec(); it is prepared before fork(). `argv` and `envp` point into the
/// strings of `command` and `variables`, so a Start must not move after they are set.
struct Start {
  std::vector<std::string> command;
  std::vector<std::string> variables;
  std::vector<char*> argv;
  std::vector<char*> envp;
  std::optional<Place> place;
};

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> out;
  for (std::string& word : words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

[[noreturn]] void fail_in_child(int status, const std::string& message) {
  [[maybe_unused]] const ssize_t ignored = ::write(STDERR_FILENO, message.data(), message.size());
  ::_exit(status);
}

/// Turns the forked child into the process of the job.
[[noreturn]] void become(const Start& start, int out, int err) {
  ::setpgid(0, 0);
  // If Weft is killed, the kernel kills this process. Jobs on one GPU need this, because they have
  // no process namespace.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int nothing = ::open("/dev/null", O_RDONLY);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  const char* step = "";
  if (start.place && !enter(*start.place, step)) {
    fail_in_child(kCannotEnter, fmt::format("weft: cannot {}: {}\n", step, std::strerror(errno)));
  }
  ::signal(SIGPIPE, SIG_DFL);  // Weft ignores SIGPIPE, but other programs expect the default
  ::execvpe(start.argv[0], start.argv.data(), start.envp.data());
  fail_in_child(kNoSuchCommand,
                fmt::format("weft: cannot run '{}': {}\n", start.argv[0], std::strerror(errno)));
}

class Runner {
 public:
  Runner(const Cluster& cluster, const Job& job, const RunOptions& options)
      : cluster_(cluster), job_(job), options_(options) {}
  ~Runner() {
    kill_all(SIGKILL);
    for (Child& child : children_) {
      if (child.id > 0 && !child.status) ::waitpid(child.id, nullptr, 0);
      if (child.ended >= 0) ::close(child.ended);
      for (Stream& stream : child.streams) close_stream(stream);
    }
  }
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  Result<Outcome> run() {
    std::map<std::string, std::string> shared;
    std::optional<MpsDaemon> daemon;
    if (cluster_.kind == Kind::kOneGpu && cluster_.mps) {
      WEFT_ASSIGN(MpsDaemon started, MpsDaemon::start());
      shared = started.environment();
      daemon.emplace(std::move(started));
    }
    std::deque<Start> starts;  // unlike a vector, it does not move its elements as it grows
    for (const Process& process : job_.processes) {
      WEFT_ASSIGN(Start start, prepare(process, shared));
      starts.push_back(std::move(start));
      starts.back().argv = pointers(starts.back().command);
      starts.back().envp = pointers(starts.back().variables);
    }
    if (cluster_.kind == Kind::kNamespaces) {
      WEFT_ASSIGN(space_, ProcessSpace::make());
    }
    for (std::size_t i = 0; i < starts.size(); ++i) {
      WEFT_TRY(launch(job_.processes[i], starts[i]));
    }
    watch();
    // A rank may have left processes running, which hold its pipes open. End them, so that the
    // pipes can be read to their ends.
    space_.reset();
    for (Child& child : children_) {
      for (Stream& stream : child.streams) drain(child, stream);
    }
    return outcome_;
  }

 private:
  Result<Start> prepare(const Process& process, const Environment& shared) const {
    Start start;
    start.command = process.command;
    const Host& host = cluster_.hosts[process.host];
    const char* preloaded = std::getenv("LD_PRELOAD");
    WEFT_ASSIGN(Environment set, clock_environment(host.clock, preloaded ? preloaded : ""));
    set.insert(process.environment.begin(), process.environment.end());
    set.insert(shared.begin(), shared.end());
    start.variables = merged_environment(set, process.defaults);
    if (cluster_.kind == Kind::kNamespaces) start.place = place_of(cluster_, host);
    return start;
  }

  Status launch(const Process& process, const Start& start) {
    int out[2] = {-1, -1};
    int err[2] = {-1, -1};
    if (::pipe2(out, O_CLOEXEC) != 0 || ::pipe2(err, O_CLOEXEC) != 0) return cannot("make a pipe");
    const pid_t id = space_ ? space_->fork() : ::fork();
    if (id == 0) become(start, out[1], err[1]);
    // The child gets its own process group. So Ctrl-C on the terminal reaches only Weft, and Weft
    // can send signals to the child and to all processes that the child starts. Both parent and
    // child call setpgid(), because either of the two may run first.
    if (id > 0) ::setpgid(id, id);
    ::close(out[1]);
    ::close(err[1]);
    Child& child = children_.emplace_back();
    child.process = &process;
    child.id = id;
    child.streams[0] = {out[0], false, {}};
    child.streams[1] = {err[0], true, {}};
    if (id < 0) return cannot("start a process");
    child.ended = static_cast<int>(::syscall(SYS_pidfd_open, id, 0));
    if (child.ended < 0) return cannot("watch a process");
    return {};
  }

  /// Returns when every process has ended.
  void watch() {
    while (std::any_of(children_.begin(), children_.end(),
                       [](const Child& child) { return !child.status; })) {
      wait_for_news();
      for (Child& child : children_) {
        for (Stream& stream : child.streams) read_some(child, stream);
        collect(child);
      }
      decide();
    }
  }

  void wait_for_news() {
    std::vector<pollfd> watched;
    for (const Child& child : children_) {
      if (!child.status) watched.push_back({child.ended, POLLIN, 0});
      for (const Stream& stream : child.streams) {
        if (stream.descriptor >= 0) watched.push_back({stream.descriptor, POLLIN, 0});
      }
    }
    int wait_ms = kAtLeastEveryMs;
    if (deadline_) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
          *deadline_ - std::chrono::steady_clock::now());
      wait_ms = static_cast<int>(std::clamp<std::int64_t>(left.count() + 1, 0, kAtLeastEveryMs));
    }
    ::poll(watched.data(), watched.size(), wait_ms);
  }

  /// Passes on a line. mpirun prints the lines of all its ranks, and its tags say which rank wrote
  /// a line.
  void hand_on(const Child& child, const Stream& stream, std::string_view line) const {
    if (job_.tags_lines) {
      if (const TaggedLine tagged = parse_tag(line); !tagged.label.empty()) {
        options_.line(tagged.label, tagged.is_error, tagged.text);
        return;
      }
    }
    options_.line(child.process->label, stream.is_error, line);
  }

  /// Reads the output that has already come, at most one buffer. Returns false if there was nothing
  /// to read. At the end of the stream, closes it and returns false.
  bool read_some(Child& child, Stream& stream) {
    if (stream.descriptor < 0) return false;
    pollfd ready{stream.descriptor, POLLIN, 0};
    if (::poll(&ready, 1, 0) <= 0) return false;
    char buffer[65536];
    const ssize_t got = ::read(stream.descriptor, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) return true;
    const auto take = [&](std::string_view line) { hand_on(child, stream, line); };
    if (got > 0) {
      stream.lines.add({buffer, static_cast<std::size_t>(got)}, take);
      return true;
    }
    stream.lines.finish(take);
    close_stream(stream);
    return false;
  }

  void drain(Child& child, Stream& stream) {
    while (read_some(child, stream)) {
    }
    stream.lines.finish([&](std::string_view line) { hand_on(child, stream, line); });
    close_stream(stream);
  }

  static void close_stream(Stream& stream) {
    if (stream.descriptor >= 0) ::close(stream.descriptor);
    stream.descriptor = -1;
  }

  void collect(Child& child) {
    if (child.status) return;
    siginfo_t ended{};
    const auto id = static_cast<id_t>(child.id);
    if (::waitid(P_PID, id, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid == 0) return;
    // Without a process namespace, kill the processes that the child has left behind. This is safe
    // only before waitpid(): until then no other process group can get the same number.
    if (!space_) ::kill(-child.id, SIGKILL);
    int status = 0;
    ::waitpid(child.id, &status, 0);
    child.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    // A process that Weft ended has not failed by itself.
    if (*child.status == 0 || asked_to_end_ || outcome_.status != 0) return;
    outcome_ = {*child.status, child.process->label};
  }

  /// Ends the remaining processes if it is time to do so. After Ctrl-C, they end at once. After a
  /// process has failed, or after all work is done, they end when the grace period is over.
  void decide() {
    const auto now = std::chrono::steady_clock::now();
    const int interrupts = options_.interrupts ? options_.interrupts() : 0;
    if (interrupts > 1) return kill_all(SIGKILL);
    if (asked_to_end_) {
      if (now >= *deadline_) kill_all(SIGKILL);
      return;
    }
    if (interrupts > 0) return ask_to_end(now);
    const bool work_is_done = std::all_of(
        children_.begin(), children_.end(),
        [](const Child& child) { return child.status.has_value() || child.process->is_service; });
    if (!deadline_ && (outcome_.status != 0 || work_is_done)) {
      deadline_ = now + std::chrono::nanoseconds(options_.grace);
    }
    if (deadline_ && now >= *deadline_) ask_to_end(now);
  }

  void ask_to_end(SteadyTime now) {
    asked_to_end_ = true;
    deadline_ = now + kToEnd;
    kill_all(SIGTERM);
  }

  void kill_all(int signal) {
    for (const Child& child : children_) {
      if (child.id > 0 && !child.status) ::kill(-child.id, signal);
    }
  }

  const Cluster& cluster_;
  const Job& job_;
  const RunOptions& options_;
  std::optional<ProcessSpace> space_;
  std::deque<Child> children_;
  std::optional<SteadyTime> deadline_;
  bool asked_to_end_ = false;
  Outcome outcome_;
};

}  // namespace

Result<Outcome> run_job(const Cluster& cluster, const Job& job, const RunOptions& options) {
  return Runner(cluster, job, options).run();
}

}  // namespace weft::testbed
