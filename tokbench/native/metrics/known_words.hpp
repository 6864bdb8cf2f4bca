// Words with their counts in arrays, to transfer them from one measurer to another.
#pragma once

#include <span>
#include <stdexcept>
#include <vector>

#include "word_table.hpp"

namespace tokbench::metrics {

// Word i is data[offsets[i]:offsets[i + 1]]. Words from outside must be validated by check_words().
struct KnownWords {
  Bytes data;
  std::span<const std::int64_t> offsets;
  std::span<const std::int64_t> occurrences;
  std::span<const std::uint32_t> fewest, most;

  std::size_t size() const { return occurrences.size(); }
  Bytes word(std::size_t i) const {
    return data.subspan(static_cast<std::size_t>(offsets[i]), static_cast<std::size_t>(offsets[i + 1] - offsets[i]));
  }
};

inline void check_words(const KnownWords& words) {
  const auto require = [](bool is_so, const char* otherwise) {
    if (!is_so) throw std::invalid_argument(otherwise);
  };
  const std::size_t size = words.size();
  require(words.offsets.size() == size + 1 && words.fewest.size() == size && words.most.size() == size,
          "the arrays of words do not have the same length");
  require(words.offsets.front() == 0 && words.offsets.back() == static_cast<std::int64_t>(words.data.size()),
          "offsets of words do not go from 0 to their end");
  for (std::size_t i = 0; i < size; ++i) {
    require(words.offsets[i] < words.offsets[i + 1], "a word is empty");
    require(words.occurrences[i] > 0 && words.fewest[i] <= words.most[i], "the counts of a word are inconsistent");
  }
}

// All words of a table, sorted by their bytes.
struct WordArrays {
  explicit WordArrays(const WordTable& table) {
    for (const WordType& type : table.sorted()) {
      const Bytes word = table.bytes_of(type.key);
      data.insert(data.end(), word.begin(), word.end());
      offsets.push_back(static_cast<std::int64_t>(data.size()));
      occurrences.push_back(type.occurrences);
      fewest.push_back(type.fewest);
      most.push_back(type.most);
    }
  }

  std::vector<Byte> data;
  std::vector<std::int64_t> offsets{0};
  std::vector<std::int64_t> occurrences;
  std::vector<std::uint32_t> fewest, most;
};

}  // namespace tokbench::metrics
