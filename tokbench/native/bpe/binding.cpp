// The Python module `_bpe`. Arguments are checked in the binding, and only there; the interpreter's lock is released around
// everything that takes time.
#include "binding.hpp"

#include "common/python_texts.hpp"
#include "normalization/nfc.hpp"
#include "normalization/white_space.hpp"
#include "python_merges.hpp"
#include "splitting.hpp"

using namespace tokbench;
using namespace nb::literals;

namespace {

Array<std::int64_t> split(nb::handle pattern, const nb::bytes& text, const std::optional<std::string>& simd) {
  std::vector<std::int64_t> ends;
  const Bytes bytes = view(text);
  const PretokenPattern splitting = pattern_of(pattern);
  const Split split = splitting.split(simd ? simd_tier_named(*simd) : simd_tier());
  {
    const nb::gil_scoped_release unlocked;
    for_each_split(split, bytes, [&](const Byte*, std::span<const Byte* const> found) {
      for (const Byte* const stop : found) ends.push_back(stop - bytes.data());
    });
  }
  return to_array(std::move(ends));
}

SharedPattern compiled_pattern(const OperationRows& operations, SetMask first, const InputArray<SetMask>& sets) {
  static constexpr std::array<SetMask, 256> kNoBytes{};
  SplitProgram program(operations_of(operations), first, SplitUnit::Character);
  return {std::make_shared<const CompiledPattern>(std::move(program), CharacterSets(view(sets), kNoBytes))};
}

// A string that a function normalized; the same object if it was normalized before.
template <auto normalize>
nb::object normalized(const nb::str& text) {
  const Bytes utf8 = utf8_view(text);
  std::vector<Byte> buffer;
  const Bytes made = [&] {
    const nb::gil_scoped_release unlocked;
    return normalize(utf8, buffer);
  }();
  if (made.data() == utf8.data()) return text;
  return nb::str(reinterpret_cast<const char*>(made.data()), made.size());
}

}  // namespace

NB_MODULE(_bpe, module) {
  module.attr("SOURCES") = TOKBENCH_SOURCES;
  module.attr("UNICODE_TABLES") = kUnicodeTablesVersion;
  nb::class_<SharedPattern>(module, "CompiledPattern", "A split pattern that has no scanner. Each character that it leaves out is a pre-token.")
      .def(nb::new_(&compiled_pattern), "operations"_a.noconvert(), "first"_a, "sets"_a.noconvert(), "uint32[n, 6], bits, and uint64[0x110000].")
      .def_prop_ro("matches_everywhere", [](const SharedPattern& self) { return self.pattern->matches_everywhere(); },
                   "Whether it certainly leaves out nothing of any text.")
      .def_prop_ro("cuts_at_spaces", [](const SharedPattern& self) { return self.pattern->cuts_at_spaces(); },
                   "Whether it splits at each space between two ASCII letters, and both sides as if they stood alone.");
  module.def("split", &split, "pattern"_a, "text"_a, "simd"_a = nb::none(),
             "Where the pre-tokens of a text end, in bytes: int64[n]. `simd` names a tier, as TOKBENCH_SIMD does.");
  module.def("simd_tier", [] { return kSimdTierNames[static_cast<std::size_t>(simd_tier())]; },
             "The tier that runs. Raises ValueError where TOKBENCH_SIMD names one that cannot.");
  module.def(
      "class_of", [](std::uint32_t code_point) {
        if (code_point > 0x10FFFF) throw std::invalid_argument("no such code point");
        return static_cast<int>(class_of(code_point));
      },
      "code_point"_a, "The class of a code point in the scanners' tables.");
  module.def("unmarked", &unmarked_characters, "texts"_a, "marks"_a.noconvert(), "threads"_a,
             "The characters of some texts that have a 0 among 0x110000 marks, each once, in order.");
  module.def("marks_ascend", [](nb::handle text, const InputArray<std::uint8_t>& marks) { return marks_ascend(text_of(text), marks_of(marks)); },
             "text"_a, "marks"_a.noconvert(), "Whether no mark of more than 1 follows a greater one in a text, all code points of which have one.");
  module.def("nfc", &normalized<&Nfc::of>, "text"_a, "A text in NFC; itself if it is.");
  module.def("nfc_by_definition", &normalized<&Nfc::by_definition>, "text"_a, "The same, composed anew as a whole.");
  module.def("with_single_spaces", &normalized<&with_single_spaces>, "text"_a,
             "A text in which each run of spaces, line ends and tabs is one space; itself if it is so.");
  module.def("without_runs_of_spaces", &normalized<&without_runs_of_spaces>, "text"_a,
             "A text in which each run of spaces is one space; itself if it is so.");
  module.def("merge_ids", &merge_ids, "merges"_a, "vocabulary"_a,
             "uint32[3n]: the left, the right and the merged id of each merge, \"left right\" or a pair. None for anything unusual.");
  bind_training(module);
  bind_parity(module);
  bind_encoding(module);
  bind_preparation(module);
}
