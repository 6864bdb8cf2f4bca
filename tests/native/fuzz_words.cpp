// Words in arrays: a counter exports the words it was given, sorted, and invalid arrays are refused.
#include "fuzz.hpp"
#include "naive.hpp"
#include "training/counter.hpp"
#include "training/word_list.hpp"

using namespace tokbench;
using fuzz::Input;
using fuzz::Random;

namespace {

constexpr std::size_t kParts = PretokenCounts::kParts;

// Splits after each space. Documents arrive whole here, so no cut is needed.
struct AtSpaces {
  std::size_t last_safe_cut(Bytes, std::size_t) const { return 0; }

  template <class Sink>
  void for_each_some(Bytes text, Sink sink) const {
    const Byte* const end = text.data() + text.size();
    for (const Byte* p = text.data(); p != end;) {
      const Byte* const places[] = {p, std::find(p, end, ' ') == end ? end : std::find(p, end, ' ') + 1};
      sink(PretokenPlaces<1>{places, 1});
      p = places[1];
    }
  }
};

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t space = text.find(' ', start);
    const std::size_t stop = space == std::string::npos ? text.size() : space + 1;
    words.push_back(text.substr(start, stop - start));
    start = stop;
  }
  return words;
}

// Words are sorted by their first eight bytes, padded with zeros, then by all bytes: make some words differ only later.
std::vector<std::string> with_equal_heads(std::vector<std::string> words, Random& random) {
  const std::string head(random.between(6, 9), random.one_in(2) ? 'a' : '\0');
  for (std::string& word : words) {
    if (random.one_in(2)) word = random.one_in(4) ? word + std::string(random.between(1, 8), '\0') : head + word;
  }
  return words;
}

using Words = std::vector<std::pair<std::string, std::int64_t>>;
using SpaceCounter = Counter<AtSpaces>;

// Arrays of words, with unused bytes before and after them, as in a slice of larger arrays.
WordArrays arrays_of(const Words& words, Random& random) {
  WordArrays arrays;
  arrays.data.assign(random.below(5), 0xFF);
  arrays.offsets.push_back(static_cast<std::int64_t>(arrays.data.size()));
  for (const auto& [word, count] : words) {
    arrays.data.insert(arrays.data.end(), word.begin(), word.end());
    arrays.offsets.push_back(static_cast<std::int64_t>(arrays.data.size()));
    arrays.counts.push_back(count);
  }
  arrays.data.resize(arrays.data.size() + random.below(5), 0xFF);
  arrays.data.shrink_to_fit();  // so that a sanitizer sees reads past its end
  return arrays;
}

Words words_in(const WordArrays& arrays) {
  Words words;
  CHECK(arrays.offsets.size() == arrays.counts.size() + 1);
  CHECK(arrays.offsets.front() == 0 && static_cast<std::size_t>(arrays.offsets.back()) == arrays.data.size());
  for (std::size_t i = 0; i < arrays.counts.size(); ++i) {
    words.emplace_back(std::string(arrays.data.begin() + arrays.offsets[i], arrays.data.begin() + arrays.offsets[i + 1]),
                       arrays.counts[i]);
  }
  return words;
}

bool is_accepted(const WordArrays& arrays) {
  try {
    check_arrays(arrays.data, arrays.offsets, arrays.counts);
    return true;
  } catch (const std::invalid_argument&) {
    return false;
  }
}

// Whether arrays are valid, by definition: offsets ascend within the data, each word is non-empty UTF-8, each count positive.
bool are_words(const WordArrays& arrays) {
  if (arrays.offsets.size() != arrays.counts.size() + 1) return false;
  const auto end = static_cast<std::int64_t>(arrays.data.size());
  for (const std::int64_t offset : arrays.offsets) {
    if (offset < 0) return false;
  }
  for (std::size_t i = 0; i < arrays.counts.size(); ++i) {
    if (arrays.counts[i] < 1 || arrays.offsets[i + 1] > end || arrays.offsets[i] >= arrays.offsets[i + 1]) return false;
    const auto start = arrays.data.begin() + arrays.offsets[i], stop = arrays.data.begin() + arrays.offsets[i + 1];
    if (naive::first_invalid(naive::to_bytes(std::string(start, stop)))) return false;
  }
  return true;
}

void damage(WordArrays& arrays, Random& random) {
  constexpr std::int64_t kOffsets[] = {-1, 0, 1, INT64_MAX, INT64_MIN, INT64_MIN + 1, std::int64_t{1} << 32};
  const auto of = [&](auto& values) -> auto& { return values[random.below(values.size())]; };
  switch (random.below(5)) {
    case 0:
      of(arrays.offsets) = kOffsets[random.below(std::size(kOffsets))];
      break;
    case 1:
      of(arrays.offsets) = static_cast<std::int64_t>(random.below(arrays.data.size() + 3));
      break;
    case 2:
      if (!arrays.counts.empty()) of(arrays.counts) = kOffsets[random.below(std::size(kOffsets))];
      break;
    case 3:
      if (!arrays.data.empty()) of(arrays.data) ^= static_cast<Byte>(1u << random.below(8));
      break;
    case 4:
      arrays.counts.resize(random.below(arrays.counts.size() + 3), 1);
      break;
  }
}

void add(SpaceCounter& counter, const WordArrays& arrays, std::size_t first, std::size_t last) {
  CHECK(is_accepted(arrays));
  for_each_word(arrays.data, arrays.offsets, arrays.counts,
                [&](Bytes word, std::int64_t count) { counter.add_counted(word, count, first, last); });
}

// All words of a counter, exported in ranges of parts of any width, each of which is sorted by bytes.
naive::Counts taken_from(const SpaceCounter& counter, Random& random, WordArrays* one_part = nullptr) {
  naive::Counts found;
  for (std::size_t first = 0; first < kParts;) {
    const std::size_t last = random.between(first, kParts);
    WordArrays arrays = sorted_arrays(counter.counts(), first, last);
    const Words words = words_in(arrays);
    for (std::size_t i = 0; i < words.size(); ++i) {
      CHECK(i == 0 || words[i - 1].first < words[i].first);
      CHECK(found.insert(words[i]).second);
    }
    if (one_part != nullptr && last == first + 1) *one_part = std::move(arrays);
    first = last;
  }
  return found;
}

// A list of distinct words returns them in their order.
void check_list(const naive::Counts& counts, Random& random) {
  const Words words(counts.begin(), counts.end());
  const WordArrays arrays = arrays_of(words, random);
  WordList list;
  for_each_word(arrays.data, arrays.offsets, arrays.counts, [&](Bytes word, std::int64_t count) { list.add(word, count); });
  Words found;
  list.for_each([&](Bytes word, std::int64_t count) { found.emplace_back(naive::to_string(word), count); });
  CHECK(found == words && list.size() == words.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  const auto threads = static_cast<unsigned>(1 + input.below(3));
  const std::uint64_t seed = input.word();
  Random random(input.word());
  std::string text = naive::to_string(input.rest());
  while (const auto bad = naive::first_invalid(naive::to_bytes(text))) text.erase(*bad, 1);
  const std::vector<std::string> words = random.one_in(2) ? words_of(text) : with_equal_heads(words_of(text), random);

  // Adds texts and arrays in turns; occasionally takes the counts out and continues.
  SpaceCounter counter(AtSpaces(), SpecialTokens({}), threads, seed);
  naive::Counts expected, spilled;
  WordArrays one_part;
  for (std::size_t start = 0; start < words.size();) {
    const std::size_t stop = random.between(start + 1, words.size());
    if (random.one_in(2)) {
      std::string document;
      for (; start < stop; ++start) document += words[start];
      for (const std::string& word : words_of(document)) expected[word] += 1;
      counter.add_document(naive::to_bytes(document));
    } else {
      Words counted;
      for (; start < stop; ++start) {
        counted.emplace_back(words[start], random.between(1, random.one_in(4) ? std::size_t{1} << 40 : 200));
        expected[words[start]] += counted.back().second;
      }
      add(counter, arrays_of(counted, random), 0, kParts);
    }
    if (random.one_in(4)) {
      counter.drain();
      for (const auto& [word, count] : taken_from(counter, random)) spilled[word] += count;
      counter.clear_counts();
    }
  }
  counter.drain();
  for (const auto& [word, count] : taken_from(counter, random, &one_part)) spilled[word] += count;
  CHECK(spilled == expected);

  // Counters of the same seed divide words into the same parts: two counters of disjoint ranges of parts share the words exactly.
  const std::size_t middle = random.below(kParts + 1);
  SpaceCounter below(AtSpaces(), SpecialTokens({}), 1, seed), above(AtSpaces(), SpecialTokens({}), 1, seed);
  const WordArrays all = arrays_of(Words(expected.begin(), expected.end()), random);
  add(below, all, 0, middle);
  add(above, all, middle, kParts);
  CHECK(words_in(sorted_arrays(below.counts(), middle, kParts)).empty());
  naive::Counts joined = taken_from(below, random);
  joined.merge(taken_from(above, random));
  CHECK(joined == expected);
  if (!one_part.counts.empty()) {
    SpaceCounter again(AtSpaces(), SpecialTokens({}), 1, seed);
    add(again, one_part, 0, kParts);
    CHECK(again.counts().size() == one_part.counts.size());
    CHECK(sorted_arrays(again.counts(), 0, kParts).data == one_part.data);
  }
  check_list(expected, random);

  WordArrays damaged = all;
  for (std::size_t left = random.between(1, 2); left > 0; --left) damage(damaged, random);
  CHECK(is_accepted(damaged) == are_words(damaged));
  return 0;
}
