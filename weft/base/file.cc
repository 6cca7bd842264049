// SPDX-License-Identifier: Apache-2.0
// Implements the byte sources. One source can wrap another one: open_file() reads the first two
// bytes of a plain source and puts them back (PutBackSource). If these bytes are the magic number
// of gzip, it adds a GzipSource. GzipSource unpacks with ISA-L, which is about twice as fast as
// zlib and works in a window of bounded size.
#include "weft/base/file.h"

#include <fcntl.h>
#include <glob.h>
#include <isa-l/igzip_lib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <optional>
#include <utility>

#include "weft/base/sink.h"

namespace weft {
namespace {

constexpr std::size_t kCompressedWindow = 64u << 10;
constexpr const char* kStandardInput = "-";

std::string reason() { return std::strerror(errno); }

/// Owns a file descriptor and closes it in the destructor.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

/// A read-only mapping of a file into memory. view() returns nullopt if the mapping failed, and for
/// an empty file, which cannot be mapped.
class Mapping {
 public:
  Mapping(int file, std::size_t size)
      : at_(size == 0 ? MAP_FAILED : ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0)),
        size_(size) {}
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() {
    if (at_ != MAP_FAILED) ::munmap(at_, size_);
  }
  std::optional<std::string_view> view() const {
    if (at_ == MAP_FAILED) return std::nullopt;
    return std::string_view(static_cast<const char*>(at_), size_);
  }

 private:
  void* at_;
  std::size_t size_;
};

// All functions except whole() use read(2) instead of mmap, for two reasons. Mapped pages count as
// memory of the process until the kernel reclaims them. And if another process shortened a mapped
// file, an access would cause a signal instead of an error.
class PlainSource : public ByteSource {
 public:
  PlainSource(Descriptor file, std::string name) : file_(std::move(file)), name_(std::move(name)) {}

  Result<std::size_t> read(char* buffer, std::size_t capacity) override {
    for (;;) {
      const ssize_t got = ::read(file_.get(), buffer, capacity);
      if (got >= 0) {
        consumed_ += got;
        return static_cast<std::size_t>(got);
      }
      // A signal may interrupt a read from a pipe; then try again.
      if (errno != EINTR) {
        return fail(ErrorCode::kIo, "cannot read: " + reason(), name_, consumed_);
      }
    }
  }
  const std::string& name() const override { return name_; }
  std::int64_t consumed() const override { return consumed_; }
  std::optional<std::string_view> whole() override {
    struct stat info {};
    if (!mapping_ && ::fstat(file_.get(), &info) == 0 && S_ISREG(info.st_mode)) {
      mapping_.emplace(file_.get(), static_cast<std::size_t>(info.st_size));
    }
    return mapping_ ? mapping_->view() : std::nullopt;
  }

 private:
  Descriptor file_;
  std::string name_;
  std::int64_t consumed_ = 0;
  std::optional<Mapping> mapping_;
};

class GzipSource : public ByteSource {
 public:
  explicit GzipSource(std::unique_ptr<ByteSource> packed)
      : packed_(std::move(packed)),
        window_(std::make_unique_for_overwrite<unsigned char[]>(kCompressedWindow)),
        state_(std::make_unique<inflate_state>()) {
    isal_inflate_init(state_.get());
    state_->crc_flag = ISAL_GZIP;
  }

  // Unpacks until there is at least one byte to return, because 0 means the end. ISAL_BLOCK_FINISH
  // is the end of one member of the file. Another member may follow.
  Result<std::size_t> read(char* buffer, std::size_t capacity) override {
    capacity = std::min<std::size_t>(capacity, std::numeric_limits<std::uint32_t>::max());
    state_->next_out = reinterpret_cast<std::uint8_t*>(buffer);
    state_->avail_out = static_cast<std::uint32_t>(capacity);
    while (state_->avail_out == capacity && !ended_) {
      if (state_->avail_in == 0 && !input_ended_) WEFT_TRY(refill());
      if (state_->block_state == ISAL_BLOCK_FINISH) {
        WEFT_TRY(next_member());
        continue;
      }
      const std::uint32_t out_before = state_->avail_out;
      const int rc = isal_inflate(state_.get());
      // There is no input left and no output came, although the member is not complete: the file is
      // cut.
      const bool stuck = input_ended_ && state_->avail_in == 0 && state_->avail_out == out_before &&
                         state_->block_state != ISAL_BLOCK_FINISH;
      if (rc != ISAL_DECOMP_OK || stuck) {
        truncated_ = true;
        ended_ = true;
      }
    }
    return capacity - state_->avail_out;
  }
  const std::string& name() const override { return packed_->name(); }
  bool truncated() const override { return truncated_; }
  std::int64_t consumed() const override { return packed_->consumed(); }

 private:
  Status refill() {
    WEFT_ASSIGN(const std::size_t got,
                packed_->read(reinterpret_cast<char*>(window_.get()), kCompressedWindow));
    state_->next_in = window_.get();
    state_->avail_in = static_cast<std::uint32_t>(got);
    input_ended_ = got == 0;
    return {};
  }

  // A gzip file may consist of several members, as bgzip and appended logs do, and zeros may follow
  // a member, as on tapes. Any other bytes after a member mean that the file is damaged.
  Status next_member() {
    while (true) {
      if (state_->avail_in == 0) WEFT_TRY(refill());
      if (input_ended_) {
        ended_ = true;
        return {};
      }
      if (*state_->next_in != 0) break;
      ++state_->next_in;
      --state_->avail_in;
    }
    if (*state_->next_in != 0x1f) {
      ended_ = true;
      truncated_ = true;
      return {};
    }
    isal_inflate_reset(state_.get());
    state_->crc_flag = ISAL_GZIP;
    return {};
  }

  std::unique_ptr<ByteSource> packed_;
  std::unique_ptr<unsigned char[]> window_;
  std::unique_ptr<inflate_state> state_;
  bool input_ended_ = false;
  bool ended_ = false;
  bool truncated_ = false;
};

/// Gives the bytes that were put back, and then the rest. whole() also includes these bytes,
/// because it maps the plain file from its start.
class PutBackSource : public ByteSource {
 public:
  PutBackSource(std::string bytes, std::unique_ptr<ByteSource> rest)
      : bytes_(std::move(bytes)), rest_(std::move(rest)) {}

  Result<std::size_t> read(char* buffer, std::size_t capacity) override {
    const std::size_t n = std::min(capacity, bytes_.size() - at_);
    if (n == 0) return rest_->read(buffer, capacity);
    std::memcpy(buffer, bytes_.data() + at_, n);
    at_ += n;
    return n;
  }
  const std::string& name() const override { return rest_->name(); }
  bool truncated() const override { return rest_->truncated(); }
  std::int64_t consumed() const override { return rest_->consumed(); }
  std::optional<std::string_view> whole() override { return rest_->whole(); }

 private:
  std::string bytes_;
  std::unique_ptr<ByteSource> rest_;
  std::size_t at_ = 0;
};

class MemorySource : public ByteSource {
 public:
  MemorySource(std::string_view bytes, std::string name, std::size_t piece)
      : bytes_(bytes), name_(std::move(name)), piece_(std::max<std::size_t>(piece, 1)) {}

  Result<std::size_t> read(char* buffer, std::size_t capacity) override {
    const std::size_t n = std::min({capacity, piece_, bytes_.size() - at_});
    if (n > 0) std::memcpy(buffer, bytes_.data() + at_, n);
    at_ += n;
    return n;
  }
  const std::string& name() const override { return name_; }
  std::int64_t consumed() const override { return static_cast<std::int64_t>(at_); }
  std::optional<std::string_view> whole() override { return bytes_; }

 private:
  std::string_view bytes_;
  std::string name_;
  std::size_t piece_;
  std::size_t at_ = 0;
};

namespace fs = std::filesystem;

/// Documents that often lie beside recordings. Files with these extensions are never recordings.
bool is_document(const fs::path& file) {
  constexpr std::array<std::string_view, 10> kDocuments = {
      ".md", ".txt", ".rst", ".py", ".sh", ".log", ".html", ".yaml", ".png", ".pdf"};
  const std::string extension = file.extension().string();
  return std::find(kDocuments.begin(), kDocuments.end(), extension) != kDocuments.end();
}

// Adds the files of a folder. If the folder contains only folders and documents, adds the files of
// its sub-folders instead.
Status list_folder(const fs::path& folder, std::vector<std::string>& out) {
  std::error_code error;
  std::vector<fs::path> folders;
  std::vector<std::string> files;
  // Hidden files are temporary files of a recording in progress, or belong to tools such as git.
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().filename().string().starts_with('.')) continue;
    std::error_code ignored;
    if (it->is_directory(ignored)) {
      folders.push_back(it->path());
    } else if (it->is_regular_file(ignored)) {
      files.push_back(it->path().string());
    }
  }
  if (error) {
    return fail(ErrorCode::kIo, "cannot list the folder: " + error.message(), folder.string());
  }
  if (!folders.empty() && std::all_of(files.begin(), files.end(), is_document)) {
    files.clear();
    std::sort(folders.begin(), folders.end());
    for (const fs::path& sub : folders) WEFT_TRY(list_folder(sub, out));
  }
  out.insert(out.end(), files.begin(), files.end());
  return {};
}

std::vector<std::string> match_glob(const std::string& pattern) {
  std::vector<std::string> out;
  glob_t found{};
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    for (std::size_t i = 0; i < found.gl_pathc; ++i) out.emplace_back(found.gl_pathv[i]);
  }
  ::globfree(&found);
  return out;
}

Status expand_one(const std::string& input, std::vector<std::string>& out) {
  if (input == kStandardInput) {
    out.push_back(input);
    return {};
  }
  std::error_code error;
  const fs::file_status status = fs::status(input, error);
  if (fs::is_directory(status)) {
    const std::size_t before = out.size();
    WEFT_TRY(list_folder(input, out));
    if (out.size() == before) {
      return fail(ErrorCode::kBadInput,
                  "the folder contains no files; name a folder with trace files", input);
    }
    return {};
  }
  // The name of a file may contain glob characters. So look for a file of this exact name before
  // treating the name as a pattern.
  if (fs::exists(status)) {
    out.push_back(input);
    return {};
  }
  if (input.find_first_of("*?[") == std::string::npos) {
    return fail(ErrorCode::kNotFound, "no such file or folder; check the path", input);
  }
  const std::vector<std::string> matches = match_glob(input);
  if (matches.empty()) {
    return fail(ErrorCode::kNotFound, "no file matches this pattern; check the path", input);
  }
  for (const std::string& match : matches) {
    // A pattern such as runs/* may also match folders. A matched folder is handled like one that
    // the user named.
    if (fs::is_directory(match, error)) {
      WEFT_TRY(list_folder(match, out));
    } else {
      out.push_back(match);
    }
  }
  return {};
}

}  // namespace

Result<std::string> read_up_to(ByteSource& source, std::size_t size) {
  std::string bytes(size, '\0');
  std::size_t got = 0;
  while (got < size) {
    WEFT_ASSIGN(const std::size_t piece, source.read(bytes.data() + got, size - got));
    if (piece == 0) break;
    got += piece;
  }
  bytes.resize(got);
  return bytes;
}

Result<std::string> read_rest(ByteSource& source) {
  std::string content;
  std::size_t size = 0;
  // The size of a pipe or gzip file is not known in advance, so the buffer doubles when it is full.
  for (;;) {
    content.resize(std::max<std::size_t>(size * 2, 16u << 10));
    WEFT_ASSIGN(const std::size_t got, source.read(content.data() + size, content.size() - size));
    size += got;
    if (got == 0) break;
  }
  content.resize(size);
  return content;
}

Result<std::unique_ptr<ByteSource>> open_file(const std::string& path) {
  // The source closes its descriptor, so give it a duplicate of standard input.
  const bool standard = path == kStandardInput;
  Descriptor file(standard ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                           : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const std::string name = standard ? "standard input" : path;
  if (file.get() < 0) {
    const ErrorCode code = errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo;
    return fail(code, "cannot open: " + reason(), name);
  }
  // open() succeeds on a folder, and read() then fails with a less helpful message. So check here.
  struct stat info {};
  if (::fstat(file.get(), &info) == 0 && S_ISDIR(info.st_mode)) {
    return fail(ErrorCode::kIo, "is a folder, not a file", name);
  }
  std::unique_ptr<ByteSource> plain = std::make_unique<PlainSource>(std::move(file), name);
  // A pipe does not support pread(), so read the magic number and put it back.
  WEFT_ASSIGN(std::string magic, read_up_to(*plain, 2));
  const bool gzip = magic == "\x1f\x8b";
  plain = put_back(std::move(magic), std::move(plain));
  if (gzip) return std::make_unique<GzipSource>(std::move(plain));
  return plain;
}

std::unique_ptr<ByteSource> put_back(std::string bytes, std::unique_ptr<ByteSource> source) {
  return std::make_unique<PutBackSource>(std::move(bytes), std::move(source));
}

std::unique_ptr<ByteSource> memory_source(std::string_view bytes, std::string name,
                                          std::size_t piece) {
  return std::make_unique<MemorySource>(bytes, std::move(name), piece);
}

Result<std::string> read_file(const std::string& path) {
  WEFT_ASSIGN(const auto source, open_file(path));
  WEFT_ASSIGN(std::string content, read_rest(*source));
  if (source->truncated()) {
    return fail(ErrorCode::kBadInput, "the gzip data is cut or damaged; copy the file again", path,
                static_cast<std::int64_t>(content.size()));
  }
  return content;
}

Status write_file(const std::string& path, std::string_view content) {
  WEFT_ASSIGN(const auto sink, create_file(path));
  WEFT_TRY(sink->write(content));
  return sink->close();
}

Result<std::vector<std::string>> expand_inputs(const std::vector<std::string>& inputs) {
  if (inputs.empty()) return fail(ErrorCode::kUsage, "no input was named; name files or folders");
  std::vector<std::string> files;
  for (const std::string& input : inputs) WEFT_TRY(expand_one(input, files));
  std::sort(files.begin(), files.end());
  files.erase(std::unique(files.begin(), files.end()), files.end());
  return files;
}

}  // namespace weft
