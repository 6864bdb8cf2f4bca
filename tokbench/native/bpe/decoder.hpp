// Decodes ids to bytes, on several threads.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <optional>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "common/threads.hpp"
#include "common/utf8.hpp"
#include "encoding/id.hpp"

namespace tokbench {

class Decoder {
 public:
  // `entries` are the bytes of each id; null data for an id without a token.
  explicit Decoder(std::span<const std::string_view> entries) : slots_(entries.size()) {
    for (std::size_t id = 0; id < entries.size(); ++id) {
      const std::string_view entry = entries[id];
      if (entry.size() > kMostBytes - bytes_.size()) throw std::length_error("the entries together have more than 4 GB");
      bytes_.insert(bytes_.end(), entry.begin(), entry.end());
      starts_.push_back(static_cast<std::uint32_t>(bytes_.size()));
      Slot& slot = slots_[id];
      slot.length = entry.size() <= slot.bytes.size() ? static_cast<Byte>(entry.size()) : Slot::kLonger;
      if (slot.length != Slot::kLonger) std::ranges::copy(entry, slot.bytes.begin());
    }
  }

  std::size_t size() const { return slots_.size(); }
  bool is_known(Id id) const { return id < size() && length(id) != 0; }

  // The total number of bytes of the ids; nullopt if one is unknown.
  std::optional<std::size_t> decoded_size(std::span<const Id> ids) const {
    Id greatest = 0;
    for (const Id id : ids) greatest = std::max(greatest, id);
    if (greatest >= size()) return ids.empty() ? std::optional<std::size_t>(0) : std::nullopt;
    std::size_t sum = 0;
    bool all_known = true;
    for (const Id id : ids) {
      sum += length(id);
      all_known &= length(id) != 0;
    }
    return all_known ? std::optional(sum) : std::nullopt;
  }

  // Writes the bytes of ids to `out`, which has room for `size` = decoded_size(ids) bytes. Returns false if the ids were
  // changed since they were measured; the output is then incomplete, but nothing is written outside of it.
  bool decode(std::span<const Id> ids, Byte* out, std::size_t size) const {
    // Copying a fixed number of bytes is one load and one store; the next token overwrites the excess.
    constexpr std::size_t kCopy = sizeof(Slot);
    const Byte* const end = out + size;
    for (const Id id : ids) {
      if (id >= slots_.size()) return false;
      const Slot& slot = slots_[id];
      const std::size_t room = static_cast<std::size_t>(end - out);
      if (slot.length != Slot::kLonger && room >= kCopy) [[likely]] {
        std::memcpy(out, &slot, kCopy);
        out += slot.length;
      } else {
        if (length(id) > room) return false;
        out = std::copy_n(bytes_.begin() + starts_[id], length(id), out);
      }
    }
    return out == end;
  }

 private:
  static constexpr std::size_t kMostBytes = 0xFFFFFFFF;

  // Most tokens are short: a single lookup gives both their bytes and their length, instead of two dependent ones.
  struct alignas(16) Slot {
    static constexpr Byte kLonger = 0xFF;  // the token does not fit

    std::array<Byte, 15> bytes;
    Byte length;
  };

  std::size_t length(Id id) const { return starts_[id + 1] - starts_[id]; }

  std::vector<Byte> bytes_;
  std::vector<std::uint32_t> starts_{0};
  std::vector<Slot> slots_;
};

// Decodes many ids on several threads in two passes: first the offset of each part, then the bytes.
class Decoding {
 public:
  Decoding(const Decoder& decoder, std::span<const Id> ids, unsigned threads)
      : decoder_(decoder), ids_(ids), starts_((ids.size() + kPartIds - 1) / kPartIds + 1) {
    const std::size_t worth_starting = (starts_.size() - 1) / 2;
    threads_ = static_cast<unsigned>(std::min<std::size_t>(threads, worth_starting));
    std::atomic<bool> all_known{true};
    for_each_part([&](std::size_t part) {
      const auto size = decoder_.decoded_size(ids_of(part));
      if (!size) all_known = false;
      starts_[part + 1] = size.value_or(0);
    });
    if (!all_known) unknown_ = first_unknown();
    for (std::size_t part = 1; part < starts_.size(); ++part) starts_[part] += starts_[part - 1];
  }

  // The position of the first unknown id, if any; nothing can be written then.
  std::optional<std::size_t> unknown() const { return unknown_; }
  std::size_t size() const { return starts_.back(); }

  // Writes size() bytes; see Decoder::decode().
  bool write(Byte* out) const {
    std::atomic<bool> unchanged{true};
    for_each_part([&](std::size_t part) {
      const std::size_t size = starts_[part + 1] - starts_[part];
      if (!decoder_.decode(ids_of(part), out + starts_[part], size)) unchanged = false;
    });
    return unchanged;
  }

 private:
  static constexpr std::size_t kPartIds = 1 << 15;

  std::span<const Id> ids_of(std::size_t part) const {
    const std::size_t first = part * kPartIds;
    return ids_.subspan(first, std::min(kPartIds, ids_.size() - first));
  }

  std::size_t first_unknown() const {
    const auto unknown = std::ranges::find_if(ids_, [&](Id id) { return !decoder_.is_known(id); });
    return static_cast<std::size_t>(unknown - ids_.begin());
  }

  template <class Use>
  void for_each_part(const Use& use) const {
    Turns turns(starts_.size() - 1);
    run_on(threads_, [&] {
      for (std::size_t part; turns.take(part);) use(part);
    });
  }

  const Decoder& decoder_;
  std::span<const Id> ids_;
  std::vector<std::size_t> starts_;  // where the bytes of each part start, and the end of the last one
  unsigned threads_;
  std::optional<std::size_t> unknown_;
};

}  // namespace tokbench
