// SPDX-License-Identifier: Apache-2.0
// Implements the sinks. create_file() makes a file appear only when it is complete. To do so, it
// writes the bytes into a file without a name (O_TMPFILE). If the file system does not support
// that, the file gets a temporary name in the same folder. close() then gives the file its final
// name by a rename. A rename within a folder is atomic, so a reader sees either the old file or the
// new one.
#include "weft/base/sink.h"

#include <fcntl.h>
#include <isa-l/igzip_lib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

namespace weft {
namespace {

tl::unexpected<Error> cannot_write(int error, const std::string& name) {
  return fail(ErrorCode::kIo, std::string("cannot write: ") + std::strerror(error), name);
}

/// Returns 0, or the errno of the failure.
int write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(descriptor, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return 0;
}

class DescriptorSink : public ByteSink {
 public:
  DescriptorSink(int descriptor, std::string name)
      : descriptor_(descriptor), name_(std::move(name)) {}

  Status write(std::string_view bytes) override {
    // EPIPE: the reader has closed the pipe. Weft should then end normally, so treat everything as
    // written. (This needs SIGPIPE to be ignored.)
    if (reader_left_) return {};
    const int error = write_all(descriptor_, bytes);
    reader_left_ = error == EPIPE;
    if (error != 0 && !reader_left_) return cannot_write(error, name_);
    return {};
  }
  Status close() override { return {}; }

 private:
  int descriptor_;
  std::string name_;
  bool reader_left_ = false;
};

/// Writes a file under a temporary name (`draft`), which close() renames to `path`. If there is no
/// draft name, the bytes go to `path` directly. A `nameless` file (O_TMPFILE) gets its draft name
/// only in close(). So if the process ends before close(), for whatever reason, the file
/// disappears.
class FileSink : public ByteSink {
 public:
  FileSink(int descriptor, std::string path, std::string draft, bool nameless = false)
      : descriptor_(descriptor),
        path_(std::move(path)),
        draft_(std::move(draft)),
        nameless_(nameless) {}
  FileSink(const FileSink&) = delete;
  FileSink& operator=(const FileSink&) = delete;
  ~FileSink() override {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (!draft_.empty()) ::unlink(draft_.c_str());
  }

  Status write(std::string_view bytes) override {
    const int error = write_all(descriptor_, bytes);
    if (error != 0) return cannot_write(error, path_);
    return {};
  }
  Status close() override {
    // linkat() gives the nameless file its draft name. It cannot replace an existing file, so the
    // rename to the final name is a second step.
    const std::string handle = "/proc/self/fd/" + std::to_string(descriptor_);
    if (nameless_ &&
        ::linkat(AT_FDCWD, handle.c_str(), AT_FDCWD, draft_.c_str(), AT_SYMLINK_FOLLOW) != 0) {
      return cannot_write(errno, path_);
    }
    // Some file systems (NFS) report only now that they are full.
    if (::close(std::exchange(descriptor_, -1)) != 0) return cannot_write(errno, path_);
    if (draft_.empty()) return {};
    if (std::rename(draft_.c_str(), path_.c_str()) != 0) return cannot_write(errno, path_);
    draft_.clear();
    return {};
  }

 private:
  int descriptor_;
  std::string path_;
  std::string draft_;
  bool nameless_;
};

class MemorySink : public ByteSink {
 public:
  explicit MemorySink(std::string& text) : text_(text) {}
  Status write(std::string_view bytes) override {
    text_ += bytes;
    return {};
  }
  Status close() override { return {}; }

 private:
  std::string& text_;
};

class GzipSink : public ByteSink {
 public:
  explicit GzipSink(std::unique_ptr<ByteSink> packed)
      : packed_(std::move(packed)),
        state_(std::make_unique<isal_zstream>()),
        level_(std::make_unique_for_overwrite<std::uint8_t[]>(ISAL_DEF_LVL1_DEFAULT)),
        window_(std::make_unique_for_overwrite<char[]>(kWindow)) {
    // The levels of ISA-L go from 0 (fastest) to 3 (smallest output).
    isal_deflate_init(state_.get());
    state_->gzip_flag = IGZIP_GZIP;
    state_->level = 1;
    state_->level_buf = level_.get();
    state_->level_buf_size = ISAL_DEF_LVL1_DEFAULT;
    pending_.reserve(kPiece);
  }

  Status write(std::string_view bytes) override {
    while (!bytes.empty()) {
      const std::size_t taken = std::min(bytes.size(), kPiece - pending_.size());
      pending_.append(bytes.substr(0, taken));
      bytes.remove_prefix(taken);
      if (pending_.size() == kPiece) WEFT_TRY(pack());
    }
    return {};
  }
  Status close() override {
    state_->end_of_stream = 1;
    WEFT_TRY(pack());
    return packed_->close();
  }

 private:
  /// The output of ISA-L depends on the sizes of the pieces that it gets. So it always gets pieces
  /// of this size.
  static constexpr std::size_t kPiece = 256u << 10;
  static constexpr std::size_t kWindow = 64u << 10;

  Status pack() {
    state_->next_in = reinterpret_cast<std::uint8_t*>(pending_.data());
    state_->avail_in = static_cast<std::uint32_t>(pending_.size());
    do {
      state_->next_out = reinterpret_cast<std::uint8_t*>(window_.get());
      state_->avail_out = kWindow;
      if (isal_deflate(state_.get()) != COMP_OK) {
        return fail(ErrorCode::kIo, "cannot write: packing with gzip failed");
      }
      WEFT_TRY(packed_->write({window_.get(), kWindow - state_->avail_out}));
    } while (state_->avail_out == 0 || state_->avail_in > 0);
    pending_.clear();
    return {};
  }

  std::unique_ptr<ByteSink> packed_;
  std::unique_ptr<isal_zstream> state_;
  std::unique_ptr<std::uint8_t[]> level_;
  std::unique_ptr<char[]> window_;
  std::string pending_;
};

}  // namespace

Result<std::unique_ptr<ByteSink>> create_file(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  // A pipe or device must not be replaced by a file, so it is opened and written directly.
  const bool special =
      fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
  if (special) {
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor < 0) return cannot_write(errno, path);
    return std::make_unique<FileSink>(descriptor, path, "");
  }
  if (fs::is_directory(status)) return cannot_write(EISDIR, path);
  // Write to the target of a link. A rename onto the link would replace the link itself and leave
  // its target unchanged.
  std::string target = path;
  if (fs::exists(status) && fs::is_symlink(fs::symlink_status(path, error))) {
    const fs::path behind = fs::canonical(path, error);
    if (!error) target = behind.string();
  }
  // Two processes may write the same file at once. The process id gives each of them another draft
  // name.
  std::string draft = target + ".tmp" + std::to_string(::getpid());
  const fs::path folder = fs::path(target).parent_path();
  int descriptor =
      ::open(folder.empty() ? "." : folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  const bool nameless = descriptor >= 0;  // not every file system supports O_TMPFILE
  if (!nameless) {
    descriptor = ::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  }
  if (descriptor < 0) return cannot_write(errno, path);
  return std::make_unique<FileSink>(descriptor, std::move(target), std::move(draft), nameless);
}

std::unique_ptr<ByteSink> descriptor_sink(int descriptor, std::string name) {
  return std::make_unique<DescriptorSink>(descriptor, std::move(name));
}

std::unique_ptr<ByteSink> memory_sink(std::string& text) {
  return std::make_unique<MemorySink>(text);
}

std::unique_ptr<ByteSink> gzip_sink(std::unique_ptr<ByteSink> packed) {
  return std::make_unique<GzipSink>(std::move(packed));
}

}  // namespace weft
