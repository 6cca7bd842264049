// SPDX-License-Identifier: Apache-2.0
// Measures, on recorded messages, how long a message between two stages occupies its sender and its
// receiver. Libraries such as NCCL copy a message into their own buffers, so the sender is usually
// done before the receiver is ready. If the receiver waits for the data, the receive ends a certain
// time after the send began. If the data has already arrived, the receive ends a certain time after
// the receive itself began.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "weft/cost/links.h"
#include "weft/predict/job.h"

namespace weft::pipeline::recorded {

struct MessageCost {
  Nanos arrival = 0;  ///< from the start of the send to the end of the receive
  Nanos receive = 0;  ///< least time from the start of the receive to its end
  Nanos send = 0;     ///< least time from the start of the send to its end
  /// If senders wait for receivers: from the start of the receive to the end of the send. Else -1.
  Nanos send_after_receive = -1;
};

class MessageModel {
 public:
  MessageModel() = default;
  /// For tests: the same costs between all ranks.
  MessageModel(const MessageCost& one_way, const MessageCost& both_ways)
      : usual_one_way_(one_way), usual_both_ways_(both_ways) {}
  /// Measures the messages of a job. `links` may have tables of another network; the times are then
  /// scaled to that network. Fails with kUsage if no message was recorded on both of its ranks.
  static Result<MessageModel> measure(const predict::Job& job,
                                      const std::vector<cost::LinkTable>& links);

  /// The cost of a message from one rank to another. `both_ways`: whether the batch of the message
  /// also contains a message in the opposite direction.
  const MessageCost& cost(std::int32_t from, std::int32_t to, bool both_ways) const;
  Bytes bytes() const { return bytes_; }  ///< median size of a message; -1: unknown
  /// Whether the times were scaled to the times of a table. They are scaled if the table clearly
  /// differs from the recorded messages.
  bool from_table() const { return from_table_; }
  /// Whether `links` had a table of messages between two ranks.
  bool table_fits() const { return table_fits_; }

 private:
  void scale(double factor);

  std::map<std::pair<std::int32_t, std::int32_t>, MessageCost> one_way_, both_ways_;
  MessageCost usual_one_way_, usual_both_ways_;
  Bytes bytes_ = -1;
  bool from_table_ = false, table_fits_ = false;
};

}  // namespace weft::pipeline::recorded
