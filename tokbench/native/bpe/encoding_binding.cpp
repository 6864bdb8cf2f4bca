// Encoding and decoding for Python.
#include "binding.hpp"
#include "decoder.hpp"
#include "family.hpp"
#include "rank_file.hpp"

namespace tokbench {

using namespace nb::literals;

namespace {

void construct_from_merges(BpeEncoder* self, const nb::ndarray<const Id, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu>& merges,
                           nb::handle pattern) {
  const auto* const rows = reinterpret_cast<const std::array<Id, 2>*>(merges.data());
  new (self) BpeEncoder(Vocabulary::from_merges({rows, merges.shape(0)}), pattern_of(pattern));
}

// Views into a block of tokens: token i is block[starts[i]:starts[i + 1]], empty for a gap.
std::vector<std::string_view> views_of(const InputArray<Byte>& block, const InputArray<std::uint32_t>& starts,
                                       const std::vector<Id>& gaps) {
  if (starts.size() == 0) throw std::invalid_argument("there must be a start for each token and one more");
  std::vector<std::string_view> views;
  views.reserve(starts.size() - 1);
  const char* const data = reinterpret_cast<const char*>(block.data());
  for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
    const std::uint32_t start = starts.data()[i], stop = starts.data()[i + 1];
    if (start > stop || stop > block.size()) throw std::invalid_argument("starts must be ascending and inside the block");
    views.emplace_back(data + start, stop - start);
  }
  for (const Id gap : gaps) {
    if (gap >= views.size()) throw std::invalid_argument("a gap is beyond the last token");
    views[gap] = {};
  }
  return views;
}

BpeEncoder* encoder_from_ranks(const nb::list& tokens, nb::handle pattern) {
  const std::vector<std::string_view> views = views_of_list(tokens);
  const auto empty = std::ranges::find_if(views, [](std::string_view token) { return token.empty(); });
  if (empty != views.end()) throw std::invalid_argument("token " + std::to_string(empty - views.begin()) + " is empty");
  return new BpeEncoder(Vocabulary::from_ranks(views), pattern_of(pattern));
}

BpeEncoder* encoder_from_ranked_block(const InputArray<Byte>& block, const InputArray<std::uint32_t>& starts, const std::vector<Id>& gaps,
                                   nb::handle pattern) {
  return new BpeEncoder(Vocabulary::from_ranks(views_of(block, starts, gaps)), pattern_of(pattern));
}

BpeEncoder* encoder_from_parts(const nb::list& tokens, const MergeRows& merges,
                               bool whole_tokens_first, nb::handle pattern) {
  return new BpeEncoder(Vocabulary::from_parts(views_of_list(tokens), rows_of(merges), whole_tokens_first),
                     pattern_of(pattern));
}

BpeEncoder* encoder_from_merged_block(const InputArray<Byte>& block, const InputArray<std::uint32_t>& starts, const std::vector<Id>& gaps,
                                   const InputArray<Id>& merges, bool whole_tokens_first,
                                   nb::handle pattern) {
  if (merges.size() % 3 != 0) throw std::invalid_argument("a merge is three ids");
  const auto* const rows = reinterpret_cast<const std::array<Id, 3>*>(merges.data());
  return new BpeEncoder(Vocabulary::from_parts(views_of(block, starts, gaps), {rows, merges.size() / 3}, whole_tokens_first),
                     pattern_of(pattern));
}

BpeEncoder* split_otherwise(const BpeEncoder& encoder, nb::handle pattern) { return new BpeEncoder(encoder.model(), pattern_of(pattern)); }

template <class T>
nb::bytes bytes_of(const std::vector<T>& values) {
  return nb::bytes(values.data(), values.size() * sizeof(T));
}

nb::object read_ranks(const nb::bytes& data, Id limit) {
  const std::optional<RankFile> file = [&] {
    const nb::gil_scoped_release unlocked;
    return parse_ranks(view(data), limit);
  }();
  if (!file) return nb::none();
  return nb::make_tuple(bytes_of(file->bytes), bytes_of(file->starts), file->gaps);
}

void construct_decoder(Decoder* self, const nb::list& entries) { new (self) Decoder(views_of_list(entries)); }

nb::list encode_bytes(const BpeEncoder& encoder, const nb::bytes& bytes) {
  const Text text = view(bytes);
  return to_list(without_lock(std::array<nb::handle, 0>{}, [&] { return encoder.encode(text); }));
}

nb::tuple encode_marked(const BpeEncoder& encoder, const nb::list& strings, unsigned threads, const InputArray<std::uint8_t>& marks) {
  return encode_marked_texts(encoder, strings, threads, marks, {});
}

Array<Id> encode_split(const BpeEncoder& encoder, nb::handle text, const std::vector<std::size_t>& ends) {
  const Bytes bytes = utf8_view(text);
  Ids ids;
  {
    const nb::gil_scoped_release unlocked;
    ids = encoder.encode_split(bytes, ends);
  }
  return to_array(std::move(ids));
}

nb::bytes decode_ids(const Decoder& decoder, const InputArray<Id>& ids, unsigned threads) {
  const std::span<const Id> known = view(ids);
  const auto decoding = [&] {
    const nb::gil_scoped_release unlocked;
    return Decoding(decoder, known, threads);
  }();
  if (const auto position = decoding.unknown()) {
    throw std::invalid_argument("id " + std::to_string(known[*position]) + " at position " + std::to_string(*position) +
                                " is not in the vocabulary");
  }
  const std::size_t size = decoding.size();
  const auto decoded = nb::steal<nb::bytes>(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(size)));
  if (!decoded.is_valid()) throw std::bad_alloc();
  Byte* const out = reinterpret_cast<Byte*>(PyBytes_AS_STRING(decoded.ptr()));
  prefer_large_pages(out, size);
  const bool unchanged = [&] {
    const nb::gil_scoped_release unlocked;
    return decoding.write(out);
  }();
  if (!unchanged) throw std::invalid_argument("the ids changed while they were decoded");
  return decoded;
}

nb::list token_list(const BpeEncoder& encoder) {
  nb::list tokens;
  const std::shared_ptr<const Vocabulary> vocabulary = encoder.model();
  for (Id id = 0; id < vocabulary->size(); ++id) {
    const Bytes token = vocabulary->token(id);
    tokens.append(nb::bytes(reinterpret_cast<const char*>(token.data()), token.size()));
  }
  return tokens;
}

}  // namespace

void bind_encoding(nb::module_& module) {
  module.def("read_ranks", &read_ranks, "data"_a, "limit"_a,
             "(block, starts as uint32, gaps) of a regular rank file; None for any other, and for ranks from the limit on.");
  nb::class_<BpeEncoder>(module, "Encoder")
      .def("__init__", &construct_from_merges, "merges"_a.noconvert(), "pattern"_a.none())
      .def_static("from_ranks", &encoder_from_ranks, "tokens"_a, "pattern"_a.none())
      .def_static("from_parts", &encoder_from_parts, "tokens"_a, "merges"_a.noconvert(), nb::kw_only(), "whole_tokens_first"_a,
                  "pattern"_a.none())
      .def_static("from_ranked_block", &encoder_from_ranked_block, "block"_a.noconvert(), "starts"_a.noconvert(), "gaps"_a,
                  "pattern"_a.none(), "Token i is block[starts[i]:starts[i + 1]], and its rank is i.")
      .def_static("from_merged_block", &encoder_from_merged_block, "block"_a.noconvert(), "starts"_a.noconvert(), "gaps"_a,
                  "merges"_a.noconvert(), nb::kw_only(), "whole_tokens_first"_a, "pattern"_a.none())
      .def("with_pattern", &split_otherwise, "pattern"_a.none(), "An encoder of the same vocabulary that splits by another pattern.")
      .def("complete", &BpeEncoder::complete, nb::call_guard<nb::gil_scoped_release>(),
           "Make ready for much text, as it is by itself once there has been some.")
      .def("encode", &encode_text<BpeFamily>, "text"_a)
      .def("encode_bytes", &encode_bytes, "text"_a, "The ids of any bytes, UTF-8 or not.")
      .def("encode_batch", &encode_texts<BpeFamily>, "texts"_a, "threads"_a, "(uint32[N] ids, int64[len(texts) + 1] offsets).")
      .def("encode_marked_batch", &encode_marked, "texts"_a, "threads"_a, "marks"_a.noconvert(),
           "The same, and the characters that have no mark among those of all code points.")
      .def("count_batch", &count_texts<BpeFamily>, "texts"_a, "threads"_a, "How many ids each text has: int64[len(texts)].")
      .def("encode_split", &encode_split, "text"_a, "ends"_a, "The ids of a text that was split elsewhere: uint32[N].")
      .def("tokens", &token_list, "The bytes of each id.")
      .def("__len__", [](const BpeEncoder& self) { return self.model()->size(); });
  nb::class_<Decoder>(module, "Decoder")
      .def("__init__", &construct_decoder, "entries"_a, "The bytes of each id, none where there is no such entry.")
      .def("decode", &decode_ids, "ids"_a.noconvert(), "threads"_a = 1);
}

}  // namespace tokbench
