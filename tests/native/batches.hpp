// Checks for the encoders of all families: a batch on several threads gives the ids of its texts encoded one by one.
#pragma once

#include <algorithm>
#include <vector>

#include "encoding/encoder.hpp"
#include "fuzz.hpp"

namespace tokbench::fuzz {

using Found = std::vector<Id>;

inline Found found_in(const Ids& ids) { return {ids.view().begin(), ids.view().end()}; }

// Cuts a text into short and long texts.
template <class Unit>
std::vector<Text> cut_into_texts(const std::vector<Unit>& text, Units kind, Random& random) {
  std::vector<Text> texts;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t size = std::min(random.below(random.one_in(3) ? 300 : 40), text.size() - start);
    texts.emplace_back(text.data() + start, size, kind);
    start += size;
  }
  return texts;
}

// Compares a batch with its texts encoded one at a time.
template <class AnyEncoder>
void check_batch(const AnyEncoder& encoder, const std::vector<Text>& texts, unsigned threads) {
  const auto batch = encoder.encode_batch(texts, threads);
  const std::vector<std::int64_t> counts = encoder.count_batch(texts, threads);
  CHECK(batch.offsets.size() == texts.size() + 1 && batch.offsets.front() == 0 && counts.size() == texts.size());
  CHECK(batch.offsets.back() == static_cast<std::int64_t>(batch.ids.size()));
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto ids = batch.ids.view().subspan(static_cast<std::size_t>(batch.offsets[i]), static_cast<std::size_t>(counts[i]));
    CHECK(batch.offsets[i] + counts[i] == batch.offsets[i + 1]);
    CHECK(found_in(encoder.encode(texts[i])) == Found(ids.begin(), ids.end()));
  }
}

// Encoding reports the code points that have no mark, and the report does not change the ids.
template <class AnyEncoder, class Unit>
void check_marked_batch(const AnyEncoder& encoder, const std::vector<Unit>& text, const std::vector<Text>& texts, unsigned threads,
                        Random& random) {
  static std::vector<std::uint8_t> marks(kNumCodePoints, 1);
  const auto batch = encoder.encode_batch(texts, threads);
  const auto check = [&](const std::vector<std::uint32_t>& expected) {
    const Marks all(marks.data());
    UnmarkedCodePoints unmarked(all);
    const auto looked = encoder.encode_batch_looking_at(texts, threads, unmarked);
    CHECK(found_in(looked.ids) == found_in(batch.ids) && looked.offsets == batch.offsets);
    CHECK(unmarked.in_order() == expected);
  };
  check({});
  if (text.empty()) return;
  const auto one = text[random.below(text.size())];
  marks[one] = 0;
  check({one});
  marks[one] = 1;
}

template <class AnyEncoder, class Unit>
void check_batch(const AnyEncoder& encoder, const std::vector<Unit>& text, Units kind, Random& random) {
  const std::vector<Text> texts = cut_into_texts(text, kind, random);
  const auto threads = static_cast<unsigned>(random.below(4));
  check_batch(encoder, texts, threads);
  if (kind != Units::Utf8) check_marked_batch(encoder, text, texts, threads, random);
}

}  // namespace tokbench::fuzz
