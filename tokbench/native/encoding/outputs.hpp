// The outputs of a worker: one that writes ids, and one that counts them.
//
// begin(most) reserves room for one id per byte of the next words, and end() marks them as complete. put() takes the ids of a
// known word. The ids of a new word are written to room(), and use() takes their number. put_between() inserts the ids of
// postponed words.
#pragma once

#include "ids.hpp"
#include "text_words.hpp"

namespace tokbench {

// A new word whose ids are inserted later, at a position in the output.
struct PostponedWord {
  TextWord word;
  std::size_t position;
};

// Writes ids to an array. The worker uses a copy of this object, which the compiler keeps in registers. Because it has
// put_between(), new words are postponed and solved in groups if the solver supports that.
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
  // Inserts the ids of postponed words.
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
