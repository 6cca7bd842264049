// SPDX-License-Identifier: Apache-2.0
// Implements run_child(). The child writes stdout and stderr into two pipes. A loop polls the two
// pipes and passes on complete lines. Ten times a second it also asks whether the child has ended
// or should be stopped. The child runs in a new process group, so that signals also reach the
// processes that it starts. A launcher such as mpirun would leave its ranks behind if only the
// launcher were killed.
#include "weft/base/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "weft/base/line_splitter.h"

extern char** environ;

namespace weft {
namespace {

constexpr int kPollMillis = 100;

/// One of the child's output streams: both ends of its pipe, and the start of a line that is not
/// yet complete.
struct Stream {
  int ours = -1;    ///< the end that we read
  int theirs = -1;  ///< the end that the child writes
  bool error = false;
  LineSplitter lines = {};

  explicit Stream(bool is_error) : error(is_error) {}
  ~Stream() {
    close_end(ours);
    close_end(theirs);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  static void close_end(int& end) {
    if (end >= 0) ::close(end);
    end = -1;
  }

  bool open() {
    // O_CLOEXEC: another child that starts meanwhile must not inherit these ends and keep them
    // open.
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return false;
    ours = ends[0];
    theirs = ends[1];
    return ::fcntl(ours, F_SETFL, O_NONBLOCK) == 0;
  }

  /// Reads what is available. Closes our end once no process holds the other end.
  void read_some(const ChildWatch& watch) {
    std::array<char, 65536> buffer{};
    while (ours >= 0) {
      const ssize_t got = ::read(ours, buffer.data(), buffer.size());
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return;  // nothing available at the moment (EAGAIN)
      if (got == 0) {
        close_end(ours);
        return;
      }
      lines.add({buffer.data(), static_cast<std::size_t>(got)}, callback(watch));
    }
  }

  void report_rest(const ChildWatch& watch) { lines.finish(callback(watch)); }

  LineSplitter::Take callback(const ChildWatch& watch) const {
    return [&watch, is_error = error](std::string_view line) { watch.line(line, is_error); };
  }
};

Result<pid_t> spawn(const std::vector<std::string>& words, const Stream& out, const Stream& err) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&files, out.theirs, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&files, err.theirs, STDERR_FILENO);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  // A child inherits ignored and blocked signals. Reset them, because programs rely on the
  // defaults: in a pipeline, for example, SIGPIPE should end a program.
  sigset_t none, usual;
  ::sigemptyset(&none);
  ::sigemptyset(&usual);
  ::sigaddset(&usual, SIGPIPE);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &usual);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setflags(
      &attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  pid_t child = -1;
  const int failure =
      ::posix_spawnp(&child, arguments.front(), &files, &attributes, arguments.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&files);
  if (failure != 0) {
    return fail(ErrorCode::kUnavailable,
                "cannot start '" + words.front() + "': " + std::strerror(failure));
  }
  return child;
}

/// Whether the child has ended. WNOWAIT leaves the child as a zombie, so no other process can get
/// its id; see reap().
bool has_ended(pid_t child) {
  siginfo_t seen{};
  const int done = ::waitid(P_PID, static_cast<id_t>(child), &seen, WEXITED | WNOHANG | WNOWAIT);
  return done != 0 || seen.si_pid == child;
}

/// Kills the rest of the child's process group, then waits for the child. The order matters: before
/// the wait, no other process can get the child's id. So the signal cannot reach an unrelated
/// process group.
int reap(pid_t child) {
  ::kill(-child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

Result<int> run_child(const std::vector<std::string>& words, const ChildWatch& watch) {
  Stream out(false), err(true);
  if (!out.open() || !err.open()) {
    return fail(ErrorCode::kUnavailable,
                std::string("cannot make a pipe: ") + std::strerror(errno));
  }
  WEFT_ASSIGN(const pid_t child, spawn(words, out, err));
  Stream::close_end(out.theirs);
  Stream::close_end(err.theirs);

  using Clock = std::chrono::steady_clock;
  bool told = false;  // SIGTERM was sent
  Clock::time_point limit{};
  for (bool ended = false; !ended;) {
    // Ask whether the child has ended before reading. If it has, all its output is already in the
    // pipes and is read below. The loop does not wait until the pipes are closed, because
    // grandchildren may keep them open for a long time.
    ended = has_ended(child);
    std::array<pollfd, 2> ends{{{out.ours, POLLIN, 0}, {err.ours, POLLIN, 0}}};
    // A closed end is -1, and poll() ignores negative descriptors.
    if (!ended) ::poll(ends.data(), ends.size(), kPollMillis);
    out.read_some(watch);
    err.read_some(watch);
    if (ended || !watch.stop()) continue;
    if (!told) {
      ::kill(-child, SIGTERM);
      limit = Clock::now() + watch.patience;
      told = true;
    } else if (Clock::now() > limit) {
      ::kill(-child, SIGKILL);
    }
  }
  out.report_rest(watch);
  err.report_rest(watch);
  return reap(child);
}

}  // namespace weft
