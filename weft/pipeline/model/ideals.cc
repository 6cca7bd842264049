// SPDX-License-Identifier: Apache-2.0
// Enumerates the sets breadth-first. The first set holds only the first source layer. Every known
// set is extended by each layer that reads from it, together with all dependencies of that layer. A
// hash index finds sets that are known already. Afterwards the sets are sorted by size, measured,
// and the extension steps are grouped by the set that they lead to.
//
// Sets are bit vectors in one array rather than separate vectors, because there may be hundreds of
// thousands of them.
#include "weft/pipeline/model/ideals.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <unordered_set>

namespace weft::pipeline {
namespace {

using Words = std::vector<std::uint64_t>;

bool holds(const std::uint64_t* set, std::int32_t i) { return (set[i >> 6] >> (i & 63) & 1) != 0; }
void add(std::uint64_t* set, std::int32_t i) { set[i >> 6] |= std::uint64_t{1} << (i & 63); }

/// Finds sets by content. The sets are rows of one growing array; the index stores row numbers.
class SetIndex {
 public:
  SetIndex(const Words& sets, std::size_t words)
      : found_(64, Hash{&sets, words}, Same{&sets, words}) {}
  /// The first row with the same content as row `at`, which is `at` itself for a new set.
  std::uint32_t insert(std::uint32_t at) { return *found_.insert(at).first; }

 private:
  struct Hash {
    const Words* sets;
    std::size_t words;
    std::size_t operator()(std::uint32_t at) const {
      std::uint64_t hash = 0x9e3779b97f4a7c15u;
      for (std::size_t w = 0; w < words; ++w) {
        hash = (hash ^ (*sets)[at * words + w]) * 0xff51afd7ed558ccdu;
        hash ^= hash >> 32;
      }
      return hash;
    }
  };
  struct Same {
    const Words* sets;
    std::size_t words;
    bool operator()(std::uint32_t a, std::uint32_t b) const {
      return std::equal(sets->begin() + a * words, sets->begin() + (a + 1) * words,
                        sets->begin() + b * words);
    }
  };
  std::unordered_set<std::uint32_t, Hash, Same> found_;
};

/// Data about the layers that is the same for all sets.
struct LayerFacts {
  std::vector<std::vector<std::int32_t>> next;  ///< readers of each layer
  Words needs;  ///< per layer, a bit vector: its dependencies and the layer itself
  /// Per layer, a bit vector: the dependencies with a reader outside `needs`. A cut behind the
  /// layer sends the outputs of these dependencies, and the output of the layer itself.
  Words extras;
};

LayerFacts facts_of(const Profile& profile, std::size_t words) {
  LayerFacts facts;
  facts.next = profile.successors();
  const auto before = profile.predecessors();
  facts.needs.assign(profile.layers.size() * words, 0);
  facts.extras = facts.needs;
  for (const std::int32_t layer : linear_order(profile)) {
    std::uint64_t* needs = facts.needs.data() + layer * words;
    for (const std::int32_t from : before[layer]) {
      for (std::size_t w = 0; w < words; ++w) needs[w] |= facts.needs[from * words + w];
    }
    for (std::size_t w = 0; w < words; ++w) {
      for (std::uint64_t bits = needs[w]; bits != 0; bits &= bits - 1) {
        const auto of = static_cast<std::int32_t>(w * 64 + std::countr_zero(bits));
        const auto outside = [&](std::int32_t to) { return to != layer && !holds(needs, to); };
        if (std::any_of(facts.next[of].begin(), facts.next[of].end(), outside)) {
          add(facts.extras.data() + layer * words, of);
        }
      }
    }
    add(needs, layer);
  }
  return facts;
}

/// Fills in the compute time, parameters and sent bytes of every set.
void measure(const Profile& profile, const LayerFacts& facts, Ideals& ideals) {
  Words sent(ideals.words);
  const std::size_t count = ideals.sets.size() / ideals.words;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t* set = ideals.set(i);
    Nanos compute = 0;
    Bytes parameters = 0, output = 0;
    std::fill(sent.begin(), sent.end(), 0);
    for (std::size_t w = 0; w < ideals.words; ++w) {
      for (std::uint64_t bits = set[w]; bits != 0; bits &= bits - 1) {
        const auto layer = static_cast<std::int32_t>(w * 64 + std::countr_zero(bits));
        compute += profile.layers[layer].forward + profile.layers[layer].backward;
        parameters += profile.layers[layer].parameters;
        // What a cut behind the set sends depends only on the set's last layers, see
        // Ideals::output.
        const auto inside = [&](std::int32_t to) { return holds(set, to); };
        if (std::any_of(facts.next[layer].begin(), facts.next[layer].end(), inside)) continue;
        add(sent.data(), layer);
        for (std::size_t v = 0; v < ideals.words; ++v) {
          sent[v] |= facts.extras[layer * ideals.words + v];
        }
      }
    }
    for (std::size_t w = 0; w < ideals.words; ++w) {
      for (std::uint64_t bits = sent[w]; bits != 0; bits &= bits - 1) {
        output += profile.layers[w * 64 + std::countr_zero(bits)].activation;
      }
    }
    ideals.compute.push_back(compute);
    ideals.parameters.push_back(parameters);
    ideals.output.push_back(output);
  }
}

/// Set `to` is set `from` with one more layer and its dependencies.
struct Step {
  std::uint32_t from, to;
};

/// Stores the steps grouped by `to`: a counting sort into Ideals::before.
void keep_steps(std::vector<Step> steps, Ideals& ideals) {
  ideals.before_start.assign(ideals.size() + 1, 0);
  for (const Step& step : steps) ++ideals.before_start[step.to + 1];
  std::partial_sum(ideals.before_start.begin(), ideals.before_start.end(),
                   ideals.before_start.begin());
  ideals.before.resize(steps.size());
  std::vector<std::uint32_t> next(ideals.before_start.begin(), ideals.before_start.end() - 1);
  for (const Step& step : steps) ideals.before[next[step.to]++] = step.from;
}

/// Sorts the sets by their number of layers, so that every set comes after all sets inside it.
/// Dynamic programs over ideals rely on that. Renumbers the steps accordingly.
void sort_by_size(Ideals& ideals, std::vector<Step>& steps) {
  const std::size_t count = ideals.sets.size() / ideals.words;
  std::vector<std::int32_t> layers(count, 0), order(count);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t w = 0; w < ideals.words; ++w) layers[i] += std::popcount(ideals.set(i)[w]);
  }
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int32_t a, std::int32_t b) { return layers[a] < layers[b]; });
  Words sorted;
  sorted.reserve(ideals.sets.size());
  for (const std::int32_t i : order) {
    sorted.insert(sorted.end(), ideals.set(i), ideals.set(i) + ideals.words);
  }
  ideals.sets = std::move(sorted);
  std::vector<std::uint32_t> place(count);
  for (std::size_t i = 0; i < count; ++i) place[order[i]] = static_cast<std::uint32_t>(i);
  for (Step& step : steps) step = {place[step.from], place[step.to]};
}

}  // namespace

Result<Ideals> all_ideals(const Profile& profile, std::size_t most) {
  Ideals ideals;
  ideals.words = (profile.layers.size() + 63) / 64;
  const std::size_t words = ideals.words;
  const LayerFacts facts = facts_of(profile, words);
  std::vector<bool> has_input(profile.layers.size(), false);
  for (const LayerEdge& edge : profile.edges) has_input[edge.to] = true;
  const auto source = static_cast<std::int32_t>(
      std::find(has_input.begin(), has_input.end(), false) - has_input.begin());
  ideals.sets.assign(words, 0);
  add(ideals.sets.data(), source);
  SetIndex index(ideals.sets, words);
  index.insert(0);
  Words candidates(words);
  std::vector<Step> steps;
  for (std::size_t at = 0; at * words < ideals.sets.size(); ++at) {
    // Candidates are the layers outside the set that read from it.
    std::fill(candidates.begin(), candidates.end(), 0);
    for (std::size_t w = 0; w < words; ++w) {
      for (std::uint64_t bits = ideals.set(at)[w]; bits != 0; bits &= bits - 1) {
        for (const std::int32_t to : facts.next[w * 64 + std::countr_zero(bits)]) {
          if (!holds(ideals.set(at), to)) add(candidates.data(), to);
        }
      }
    }
    for (std::size_t w = 0; w < words; ++w) {
      for (std::uint64_t bits = candidates[w]; bits != 0; bits &= bits - 1) {
        const std::size_t layer = w * 64 + std::countr_zero(bits);
        const std::size_t last = ideals.sets.size() / words;
        for (std::size_t v = 0; v < words; ++v) {
          ideals.sets.push_back(ideals.sets[at * words + v] | facts.needs[layer * words + v]);
        }
        // The new set is appended first, because the index compares rows of the array. If the set
        // was known, it is removed again.
        const std::uint32_t to = index.insert(static_cast<std::uint32_t>(last));
        if (to != last) ideals.sets.resize(last * words);
        steps.push_back({static_cast<std::uint32_t>(at), to});
        if (last > most) {
          return fail(ErrorCode::kInfeasible,
                      fmt::format("'{}' can be cut in more than {} ways, which are too many to "
                                  "try; merge each parallel branch into one layer",
                                  profile.name, most));
        }
      }
    }
  }
  sort_by_size(ideals, steps);
  measure(profile, facts, ideals);
  keep_steps(std::move(steps), ideals);
  return ideals;
}

}  // namespace weft::pipeline
