// SPDX-License-Identifier: Apache-2.0
// Reads the part of the Chrome trace-event format that is the same in the files of all programs. A
// file is a list of events, either at the top level or under the key "traceEvents". The keys of an
// event come in any order. The code here visits the events, resumes after damage and reports
// progress. Each reader (Kineto, Horovod, MXNet) interprets the arguments of an event and the other
// top-level keys.
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

/// One event as the file spells it. A member is empty if the event lacks the key. The texts point
/// into the scanner's windows and are valid until the scanner's release().
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

/// Reads the members of one event. The caller has already entered its object. `read_args()` must
/// consume the value of "args". Returns false if the text ends or stops being JSON inside the
/// event; some members may then be missing.
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

/// Calls `on_arg(key)` for every member of an "args" object; `on_arg` must consume the value. Skips
/// an "args" value that is not an object.
template <class OnArg>
void read_chrome_args(JsonScanner& scanner, OnArg&& on_arg) {
  if (scanner.peek() != JsonKind::kObject) return scanner.skip();
  scanner.enter();
  std::string_view key;
  while (scanner.next_key(key)) on_arg(key);
}

/// Adds a diagnostic: the text stopped being JSON at the scanner's current offset.
void report_damage(const JsonScanner& scanner, const ByteSource& source, Diagnostics& diagnostics);

/// Visits every event of a file. When `on_event()` is called, the scanner is inside the event's
/// object; `on_event()` must read the whole object. The texts that it reads are valid until it
/// returns. `on_fact(key)` must consume the value of a top-level key other than "traceEvents".
/// After damage the walk resumes at the next event. run() returns an Error if the source cannot be
/// read or if the progress callback cancels.
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
    // The nesting is unknown after damage, so the walk resumes in the middle of an event: every
    // event has the key "ph" (its phase), which hardly any other text contains. The event whose
    // "ph" was found loses the keys before "ph"; all events after it are whole.
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
