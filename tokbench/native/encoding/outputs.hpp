// What takes the ids of texts from a worker: those that write them, and those that count them.
//
// begin(most) makes room for an id of each byte of some words, and end() says that these were put. put() takes the ids of one word;
// room() is where those of a new one are written, and use() how many they were. put_between() takes those of words that were
// postponed.
#pragma once

#include "ids.hpp"
#include "text_words.hpp"

namespace tokbench {

// A new word, whose ids are put later: after so many that are there before them.
struct PostponedWord {
  TextWord word;
  std::size_t position;
};

// Writes ids after one another. Words are given to a copy, which the compiler keeps in registers. One that has put_between() is
// given new words some at a time, where the solver solves them side by side.
struct WritingIds {
  Ids* ids;
  Id* out = nullptr;
  void begin(std::size_t most) { out = ids->prepare(most + WordEntry::kMaxIds); }
  void put(const WordEntry& entry) {
    std::memcpy(out, entry.few(), WordEntry::kMaxIds * sizeof(Id));
    out += entry.count();
  }
  void put(std::span<const Id> many) {
    std::memcpy(out, many.data(), many.size_bytes());
    out += many.size();
  }
  template <class Worker>
  Id* room(Worker&, std::size_t) const {
    return out;
  }
  void use(std::size_t count) { out += count; }
  void end() { ids->commit(out); }
  std::size_t num_put() const { return static_cast<std::size_t>(out - ids->begin()); }
  // Puts the ids of words between those that are there.
  void put_between(std::span<const PostponedWord> places, const std::span<const Id>* each) {
    std::size_t num_more = 0;
    for (std::size_t i = 0; i < places.size(); ++i) num_more += each[i].size();
    Id* const end = ids->prepare(num_more) + num_more;
    Id* to = end;
    std::size_t from = ids->size();
    for (std::size_t i = places.size(); i-- > 0;) {
      const std::size_t size = from - places[i].position;
      to -= size;
      from = places[i].position;
      std::memmove(to, ids->begin() + from, size * sizeof(Id));
      to -= each[i].size();
      std::memcpy(to, each[i].data(), each[i].size_bytes());
    }
    ids->commit(end);
  }
};

struct CountingIds {
  std::uint64_t total = 0;
  void begin(std::size_t) {}
  void put(const WordEntry& entry) { total += entry.count(); }
  void put(std::span<const Id> many) { total += many.size(); }
  template <class Worker>
  Id* room(Worker& worker, std::size_t size) const {
    return worker.scratch_for(size);
  }
  void use(std::size_t count) { total += count; }
  void end() {}
  std::size_t num_put() const { return 0; }
  void put_between(std::span<const PostponedWord> places, const std::span<const Id>* each) {
    for (std::size_t i = 0; i < places.size(); ++i) total += each[i].size();
  }
};

}  // namespace tokbench
