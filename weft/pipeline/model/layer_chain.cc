// SPDX-License-Identifier: Apache-2.0
#include "weft/pipeline/model/layer_chain.h"

#include <algorithm>
#include <utility>

namespace weft::pipeline {

LayerChain layer_chain(const Profile& profile) {
  return layer_chain(profile, linear_order(profile));
}

LayerChain layer_chain(const Profile& profile, std::vector<std::int32_t> order) {
  LayerChain chain;
  chain.order = std::move(order);
  for (auto* sums : {&chain.forward, &chain.backward, &chain.weight}) sums->push_back(0);
  for (auto* sums : {&chain.parameters, &chain.stash}) sums->push_back(0);
  for (const std::int32_t number : chain.order) {
    const Layer& layer = profile.layers[number];
    chain.ids.push_back(layer.id);
    chain.forward.push_back(chain.forward.back() + layer.forward);
    chain.backward.push_back(chain.backward.back() + layer.backward);
    chain.weight.push_back(chain.weight.back() + layer.weight);
    chain.parameters.push_back(chain.parameters.back() + layer.parameters);
    chain.stash.push_back(chain.stash.back() + layer.stash);
  }
  // Positions in the chain: of each layer, and of its last reader.
  std::vector<std::int32_t> place(profile.layers.size()), last(profile.layers.size());
  for (std::size_t i = 0; i < chain.order.size(); ++i) {
    place[chain.order[i]] = last[chain.order[i]] = static_cast<std::int32_t>(i);
  }
  for (const LayerEdge& edge : profile.edges) {
    last[edge.from] = std::max(last[edge.from], place[edge.to]);
  }
  // The output of a layer crosses every cut between the layer and its last reader. `change` holds
  // the differences between neighbouring cuts, which the loop below sums up.
  std::vector<Bytes> change(chain.order.size() + 2, 0);
  for (std::size_t i = 0; i < profile.layers.size(); ++i) {
    change[place[i] + 1] += profile.layers[i].activation;
    change[last[i] + 1] -= profile.layers[i].activation;
  }
  Bytes alive = 0;
  for (std::size_t i = 0; i <= chain.order.size(); ++i) chain.cut.push_back(alive += change[i]);
  return chain;
}

}  // namespace weft::pipeline
