// SPDX-License-Identifier: Apache-2.0
// What a message between two stages costs its ends, measured on the recorded ones. A library such
// as NCCL takes a message into buffers of its own, so a sender is mostly done before the receiver
// has come; the receiver is done some time after the sender began, or, where the data is there
// already, some time after it came itself.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "weft/cost/links.h"
#include "weft/predict/job.h"

namespace weft::pipeline::recorded {

struct MessageCost {
  Nanos arrival = 0;  ///< from the start of the send to the end of the receive
  Nanos receive = 0;  ///< at least this from the start of the receive to its end
  Nanos send = 0;     ///< at least this from the start of the send to its end
  /// From the start of the receive to the end of the send, where senders wait; else -1.
  Nanos send_after_receive = -1;
};

class MessageModel {
 public:
  MessageModel() = default;
  /// The same between all ranks.
  MessageModel(const MessageCost& one_way, const MessageCost& both_ways)
      : usual_one_way_(one_way), usual_both_ways_(both_ways) {}
  /// `links`: tables of messages, for a network other than the recorded one. An Error (kUsage)
  /// where no message was recorded on both of its ends.
  static Result<MessageModel> measure(const predict::Job& job,
                                      const std::vector<cost::LinkTable>& links);

  /// Of a message from one rank to another; `both_ways` in a batch in which another comes back.
  const MessageCost& cost(std::int32_t from, std::int32_t to, bool both_ways) const;
  Bytes bytes() const { return bytes_; }  ///< of the usual message; -1 unknown
  /// Whether times come from a table: one of two ranks that differs from the recorded messages by
  /// more than those tell.
  bool from_table() const { return from_table_; }
  /// Whether there was a table of two ranks at all.
  bool table_fits() const { return table_fits_; }

 private:
  void scale(double factor);

  std::map<std::pair<std::int32_t, std::int32_t>, MessageCost> one_way_, both_ways_;
  MessageCost usual_one_way_, usual_both_ways_;
  Bytes bytes_ = -1;
  bool from_table_ = false, table_fits_ = false;
};

}  // namespace weft::pipeline::recorded
