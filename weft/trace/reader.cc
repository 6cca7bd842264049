// SPDX-License-Identifier: Apache-2.0
// The list of all readers. To add a format, add a folder with make_<format>_reader() and a line
// here.
#include "weft/trace/reader.h"

#include "weft/trace/formats/chakra/chakra.h"
#include "weft/trace/formats/horovod/reader.h"
#include "weft/trace/formats/kineto/kineto.h"
#include "weft/trace/formats/mxnet/reader.h"
#include "weft/trace/formats/nccl/nccl.h"
#include "weft/trace/formats/nsys/nsys.h"
#include "weft/trace/formats/packed/packed.h"
#include "weft/trace/formats/straggler/reader.h"
#include "weft/trace/formats/xplane/xplane.h"

namespace weft::trace {
namespace {

std::vector<std::unique_ptr<Reader>> make_readers() {
  std::vector<std::unique_ptr<Reader>> list;
  list.push_back(make_kineto_reader());
  list.push_back(make_straggler_reader());
  list.push_back(make_nsys_reader());
  list.push_back(make_horovod_reader());
  list.push_back(make_mxnet_reader());
  list.push_back(make_nccl_profiler_reader());
  list.push_back(make_nccl_inspector_reader());
  list.push_back(make_xplane_reader());
  list.push_back(make_chakra_reader());
  list.push_back(make_packed_reader());
  return list;
}

}  // namespace

const std::vector<std::unique_ptr<Reader>>& readers() {
  static const std::vector<std::unique_ptr<Reader>> list = make_readers();
  return list;
}

}  // namespace weft::trace
