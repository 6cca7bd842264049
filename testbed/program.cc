// SPDX-License-Identifier: Apache-2.0
#include "testbed/program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>

extern char** environ;

namespace weft::testbed {
namespace {

/// A temporary file without a name, for the input or output of a program. Pipes would have two
/// problems: a full pipe could block both sides, and a daemon that the program leaves behind (such
/// as the MPS daemon) would keep the pipe open, so that reading it would never end.
int nameless_file(std::string_view input = {}) {
  const int file = ::open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file < 0) return -1;
  while (!input.empty()) {
    const ssize_t written = ::write(file, input.data(), input.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      ::close(file);
      return -1;
    }
    input.remove_prefix(static_cast<std::size_t>(written));
  }
  ::lseek(file, 0, SEEK_SET);
  return file;
}

std::string read_all(int descriptor) {
  std::string out;
  ::lseek(descriptor, 0, SEEK_SET);
  char buffer[4096];
  for (;;) {
    const ssize_t got = ::read(descriptor, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return out;
    out.append(buffer, static_cast<std::size_t>(got));
  }
}

}  // namespace

std::string find_program(std::string_view name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(std::string(path ? path : "") + ":/usr/sbin:/sbin:/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string file = fmt::format("{}/{}", folder, name);
    std::error_code error;
    if (!folder.empty() && std::filesystem::is_regular_file(file, error) &&
        ::access(file.c_str(), X_OK) == 0) {
      return file;
    }
  }
  return "";
}

Result<std::string> run_program(const std::vector<std::string>& words, std::string_view input) {
  const std::string file = find_program(words.front());
  if (file.empty()) {
    return fail(ErrorCode::kUnavailable, fmt::format("'{}' is not installed", words.front()));
  }
  const int in = nameless_file(input);
  const int out = nameless_file();
  if (in < 0 || out < 0) {
    const int reason = errno;
    if (in >= 0) ::close(in);
    return fail(ErrorCode::kIo, fmt::format("cannot start {}: {}", file, std::strerror(reason)));
  }
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, out, STDERR_FILENO);
  // The program gets its own process group, so that Ctrl-C on the terminal reaches only Weft. A
  // half-done ip or tc would leave the cluster in an unknown state.
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  pid_t child = -1;
  const int refused =
      ::posix_spawn(&child, file.c_str(), &actions, &attributes, argv.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(in);
  int status = 0;
  while (refused == 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  const std::string printed = read_all(out);
  ::close(out);
  if (refused != 0) {
    return fail(ErrorCode::kIo, fmt::format("cannot start {}: {}", file, std::strerror(refused)));
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return printed;
  return fail(ErrorCode::kUnavailable,
              fmt::format("{}: {}", fmt::join(words, " "), printed.substr(0, printed.find('\n'))));
}

}  // namespace weft::testbed
