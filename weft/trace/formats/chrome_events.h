// SPDX-License-Identifier: Apache-2.0
// Chrome's trace format, as far as all its writers agree: a list of events, bare or under
// "traceEvents", whose keys come in any order. Readers say what an event's arguments and the file's
// other keys mean; the walk, the way on behind damage, and progress are the same for all.
#pragma once

#include <cstdint>
#include <string_view>

#include "weft/base/diagnostics.h"
#include "weft/base/file.h"
#include "weft/base/json/scanner.h"
#include "weft/base/result.h"
#include "weft/trace/formats/key_table.h"
#include "weft/trace/reader.h"

namespace weft::trace {

/// One entry as it stands in the file; empty where it lacks a key. Texts point into the scanner's
/// windows and live until its release().
struct ChromeEvent {
  char phase = 0;
  std::string_view name, cat, pid, tid, ts, dur, id;
};

enum class ChromeKey : std::uint8_t { kOther, kPh, kCat, kName, kPid, kTid, kTs, kDur, kId, kArgs };

inline constexpr KeyTable<ChromeKey>::Entry kChromeKeys[] = {
    {"ph", ChromeKey::kPh},   {"cat", ChromeKey::kCat}, {"name", ChromeKey::kName},
    {"pid", ChromeKey::kPid}, {"tid", ChromeKey::kTid}, {"ts", ChromeKey::kTs},
    {"dur", ChromeKey::kDur}, {"id", ChromeKey::kId},   {"args", ChromeKey::kArgs},
};
inline constexpr KeyTable<ChromeKey> kChromeKeyTable(kChromeKeys, ChromeKey::kOther);

/// Reads the members of an object that was entered. `read_args()` consumes the value of "args".
/// False if the text was cut or broken in the entry: half of it may be missing.
template <class ReadArgs>
bool read_chrome_event(JsonScanner& scanner, ChromeEvent& event, ReadArgs&& read_args) {
  std::string_view key;
  while (scanner.next_key(key)) {
    switch (kChromeKeyTable.find(key)) {
      case ChromeKey::kPh: {
        const std::string_view phase = scanner.string();
        event.phase = phase.empty() ? '\0' : phase.front();
        break;
      }
      case ChromeKey::kCat:
        event.cat = scanner.string();
        break;
      case ChromeKey::kName:
        event.name = scanner.string();
        break;
      case ChromeKey::kPid:
        event.pid = scanner.number_or_string();
        break;
      case ChromeKey::kTid:
        event.tid = scanner.number_or_string();
        break;
      case ChromeKey::kTs:
        event.ts = scanner.number_or_string();
        break;
      case ChromeKey::kDur:
        event.dur = scanner.number_or_string();
        break;
      case ChromeKey::kId:
        event.id = scanner.number_or_string();
        break;
      case ChromeKey::kArgs:
        read_args();
        break;
      case ChromeKey::kOther:
        scanner.skip();
    }
  }
  return scanner.ok();
}

/// Calls `on_arg(key)`, which consumes the value, for every member of an "args" object; skips a
/// value that is none.
template <class OnArg>
void read_chrome_args(JsonScanner& scanner, OnArg&& on_arg) {
  if (scanner.peek() != JsonKind::kObject) return scanner.skip();
  scanner.enter();
  std::string_view key;
  while (scanner.next_key(key)) on_arg(key);
}

/// Counts that the text stopped being JSON at the scanner's place.
void report_damage(const JsonScanner& scanner, const ByteSource& source, Diagnostics& diagnostics);

/// Visits every event of a file: `on_event()` stands inside the entered object and reads all of it;
/// texts it asks for live until it returns. `on_fact(key)` consumes the value of a top-level key
/// other than "traceEvents". Behind damage the walk goes on at the next event. Fails if the source
/// does, or if it was cancelled.
template <class OnEvent, class OnFact>
class ChromeWalk {
 public:
  ChromeWalk(JsonScanner& scanner, const ByteSource& source, const ReadOptions& options,
             OnEvent on_event, OnFact on_fact)
      : scanner_(scanner),
        source_(source),
        options_(options),
        on_event_(std::move(on_event)),
        on_fact_(std::move(on_fact)) {}

  Status run(Diagnostics& diagnostics) {
    read_file();
    // Behind damage the next event is as good as any: its "ph" shows where it is.
    while (scanner_.broken() && !cancelled_) {
      report_damage(scanner_, source_, diagnostics);
      if (!scanner_.resync("\"ph\"")) break;
      read_one();
      read_events();
    }
    if (cancelled_) return fail(ErrorCode::kCancelled, "interrupted", source_.name());
    return scanner_.status();
  }

 private:
  static constexpr std::int64_t kEventsBetweenProgress = 4096;

  void read_file() {
    const JsonKind kind = scanner_.peek();
    if (kind == JsonKind::kArray) {
      scanner_.enter();
      read_events();
      return;
    }
    if (kind != JsonKind::kObject) return;
    scanner_.enter();
    std::string_view key;
    while (!cancelled_ && scanner_.next_key(key)) {
      if (key == "traceEvents" && scanner_.peek() == JsonKind::kArray) {
        scanner_.enter();
        read_events();
      } else {
        on_fact_(key);
      }
    }
  }

  void read_events() {
    while (!cancelled_ && scanner_.next_item()) {
      if (scanner_.peek() == JsonKind::kObject) {
        scanner_.enter();
        read_one();
      } else {
        scanner_.skip();
      }
    }
  }

  void read_one() {
    scanner_.hold();
    on_event_();
    scanner_.release();
    if (options_.progress && ++events_ % kEventsBetweenProgress == 0) {
      cancelled_ = !options_.progress(scanner_.offset());
    }
  }

  JsonScanner& scanner_;
  const ByteSource& source_;
  const ReadOptions& options_;
  OnEvent on_event_;
  OnFact on_fact_;
  std::int64_t events_ = 0;
  bool cancelled_ = false;
};

}  // namespace weft::trace
