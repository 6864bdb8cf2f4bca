// The Python class of an encoder with preparation, for any algorithm.
#pragma once

#include "binding.hpp"
#include "encoding/python_added_tokens.hpp"
#include "encoding/python_encoding.hpp"
#include "encoding/python_places.hpp"
#include "prepared_places.hpp"

namespace tokbench {

using SetsOrNone = std::optional<InputArray<SetMask>>;

// Converts a step from Python: (pattern name, whether a prefix space is added); (mark, whether it is put in front, whether
// parts are split before it); or (operations, first sets, whether on bytes, behavior, whether inverted).
inline SplitStep split_step_of(const nb::tuple& step, const std::optional<CharacterSets>& sets) {
  if (step.size() == 2) return PatternStep{pattern_named(nb::cast<std::string>(step[0])), nb::cast<bool>(step[1])};
  if (step.size() == 3) return MarkStep{nb::cast<std::string>(step[0]), nb::cast<bool>(step[1]), nb::cast<bool>(step[2])};
  if (step.size() != 5) throw std::invalid_argument("a step has two parts, three or five");
  if (!sets) throw std::invalid_argument("a program needs sets");
  const auto behavior = nb::cast<unsigned>(step[3]);
  if (behavior > static_cast<unsigned>(SplitBehavior::Contiguous)) throw std::invalid_argument("no such behavior");
  const SplitUnit unit = nb::cast<bool>(step[2]) ? SplitUnit::OneByte : SplitUnit::Character;
  SplitProgram program(operations_of(nb::cast<OperationRows>(step[0])), nb::cast<SetMask>(step[1]), unit);
  return ProgramStep{SplitMatcher(std::move(program), *sets), static_cast<SplitBehavior>(behavior), nb::cast<bool>(step[4])};
}

inline SplitSteps split_steps_of(const nb::list& list, const SetsOrNone& sets, const SetsOrNone& byte_sets) {
  std::optional<CharacterSets> made;
  if (sets && byte_sets) {
    if (byte_sets->size() != 256) throw std::invalid_argument("there must be sets for each byte");
    made.emplace(view(*sets), view(*byte_sets).first<256>());
  }
  std::vector<SplitStep> steps;
  for (const nb::handle step : list) steps.push_back(split_step_of(nb::cast<nb::tuple>(step), made));
  return {std::move(made), std::move(steps)};
}

template <class Base>
struct PreparedBinding {
  using Encoder = tokbench::Encoder<Prepared<Base>>;
  using Reading = typename Prepared<Base>::Reading;

  static nb::list added_places(const Encoder& encoder, const nb::bytes& text, bool specials) {
    return places_of(encoder.family().added({specials, false}).as_it_is(), text);
  }

  static nb::list pretokens(const Encoder& encoder, const nb::bytes& text) {
    nb::list found;
    const Bytes bytes = view(text);
    const auto add = [&](Bytes each) { found.append(nb::bytes(reinterpret_cast<const char*>(each.data()), each.size())); };
    const std::optional<SplitSteps>& steps = encoder.family().steps();
    if constexpr (requires { encoder.family().pattern(); }) {
      if (!steps) {
        for_each_split(encoder.family().pattern().split(), bytes, [&](const Byte* from, std::span<const Byte* const> ends) {
          for (const Byte* const to : ends) add({std::exchange(from, to), to});
        });
        return found;
      }
    }
    std::vector<Byte> spaced(bytes.size() * steps->copied_per_byte());
    steps->for_each_pretoken(bytes, {spaced.data()}, FunctionRef<void(Bytes)>(add));
    return found;
  }

  static nb::list encode(const Encoder& encoder, nb::handle string, bool specials, bool normalized, const CharacterChanges* changes) {
    return encode_read_text(encoder, string, Reading{specials, normalized, changes});
  }

  static nb::tuple encode_batch(const Encoder& encoder, const nb::list& strings, unsigned threads, bool specials, bool normalized,
                                const CharacterChanges* changes) {
    return encode_read_texts(encoder, strings, threads, Reading{specials, normalized, changes});
  }

  static nb::tuple encode_marked_batch(const Encoder& encoder, const nb::list& strings, unsigned threads,
                                        const InputArray<std::uint8_t>& marks, bool specials) {
    return encode_marked_texts(encoder, strings, threads, marks, Reading{specials, false, nullptr});
  }

  static Array<std::int64_t> count_batch(const Encoder& encoder, const nb::list& strings, unsigned threads, bool specials, bool normalized,
                                         const CharacterChanges* changes) {
    return count_read_texts(encoder, strings, threads, Reading{specials, normalized, changes});
  }

  static nb::tuple place_batch(const Encoder& encoder, const nb::list& strings, unsigned threads, bool normalized,
                               const CharacterChanges* changes) {
    return place_texts_of(strings, [&](std::span<const Text> texts) {
      return placed_texts<PreparedPlacing<Base>>(encoder, texts, threads, Reading{false, normalized, changes});
    });
  }

  static bool cuts_at_spaces(const Encoder& encoder) {
    if (encoder.family().steps()) return encoder.family().steps()->cuts_at_spaces();
    if constexpr (requires { encoder.family().pattern(); }) return encoder.family().pattern().cuts_at_spaces();
    return false;
  }

  // Binds everything except the constructor.
  static void bind(nb::class_<Encoder>& bound) {
    using namespace nb::literals;
    bound
        .def("added_places", &added_places, "text"_a, nb::kw_only(), "specials"_a,
             "(start, stop, id) of the added tokens that are found before a text is normalized.")
        .def("pretokens", &pretokens, "text"_a, "The pre-tokens of a text in which there are no added tokens.")
        .def_prop_ro("cuts_at_spaces", &cuts_at_spaces,
                     "Whether it splits at each space between two ASCII letters, and both sides as if they stood alone.")
        .def("encode", &encode, "text"_a, nb::kw_only(), "specials"_a = false, "normalized"_a = false, "changes"_a = nb::none(),
             "Of a text to which `changes` is done first.")
        .def("encode_batch", &encode_batch, "texts"_a, "threads"_a, nb::kw_only(), "specials"_a = false, "normalized"_a = false,
             "changes"_a = nb::none(), "(uint32[N] ids, int64[len(texts) + 1] offsets).")
        .def("encode_marked_batch", &encode_marked_batch, "texts"_a, "threads"_a, "marks"_a.noconvert(), nb::kw_only(), "specials"_a = false,
             "The same, and the characters that have no mark among those of all code points.")
        .def("count_batch", &count_batch, "texts"_a, "threads"_a, nb::kw_only(), "specials"_a = false, "normalized"_a = false,
             "changes"_a = nb::none(), "How many ids each text has: int64[len(texts)].")
        .def("place_batch", &place_batch, "texts"_a, "threads"_a, nb::kw_only(), "normalized"_a = false, "changes"_a = nb::none(),
             "(uint32[N] ids, int64[N] starts, int64[N] stops, int64[len(texts)] counts), places in bytes of each text; special tokens "
             "are not found. ValueError for a text that NFC changes.");
  }
};

}  // namespace tokbench
