// Runs a fuzz target without libFuzzer on mutated texts: for a bounded time, and with the same inputs for the same seed.
//
//   fuzz_split [--seconds N] [--iterations N] [--seed N]    by default 5 seconds and seed 1
//   fuzz_split --input HEX                                  one input, as a failure prints it
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

#include "fuzz.hpp"

using namespace tokbench;
using fuzz::Input;
using fuzz::Random;
using namespace std::string_view_literals;

// A sanitizer error aborts like a failed check, so that its input is printed too.
extern "C" const char* __asan_default_options() { return "abort_on_error=1"; }
extern "C" const char* __tsan_default_options() { return "abort_on_error=1"; }
extern "C" const char* __ubsan_default_options() { return "abort_on_error=1:print_stacktrace=1"; }

namespace {

constexpr std::string_view kSeedTexts[] = {
    "The quick brown fox's 12345 jumps, over the lazy dog's 67 tails; it'll do, WE'LL SEE.\n\nDon't!\r\n"sv,
    "def getHTTPServer(userName):\n    return {'x': 1, \"y\": [2.5e3]}  # XMLHttpRequest\n\t\tpass\n"sv,
    "naïve café über ﬁne ſſ'ſ 'S ǅ ʰ Ελληνικά ЁЖИК'll Привет"sv,
    "日本語と한국어 ไทย नमस्ते العربية\u3000ＡＢ　１２３ Ⅷ½٣"sv,
    "👩\u200d👩\u200d👧 🇩🇪 e\u0301\u0301 \u1100\u1161\u11a8 \u00a0\u0085\u2028 \u200b\ufeff"sv,
    "\x00\x00 nul\x00led \x1c\x1d\x1e\x1f\x7f \x0b\x0c\n"sv,
    "\xff\xfe\xc0\x80\xe2\x82 \xed\xa0\x80 \xf4\x90\x80\x80 \xf0\x9f\x99 \x80\x80 \xc3"sv,
    "<|endoftext|><|a|><|<|a|>|> <|a|>\n<|endoftext|>text<|end"sv,
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaabaaaaaaaaaabab ab abab\n\n\n\n\n        \t\t\t\t   x"sv,
    "a b c ab a b\nc a b\nab c a bc b a\nb c\na b c d e f\ng h\r\na b"sv,
    "aaabdaaabac abcabcabc aabaab zzzzzzz 0000000000 ---------- \r\r\n\r\n ////\n"sv,
};

constexpr std::string_view kFragments[] = {
    " "sv, "\n"sv, "\r\n"sv, "\t"sv, "  "sv, "'"sv, "'s"sv, "'LL"sv, "a"sv, "A"sv, "b c"sv, "x\ny"sv, "1"sv, "é"sv,
    "\u0301"sv, "\u3000"sv, "ſ"sv, "亜"sv, "🙂"sv, "\x00"sv, "\x80"sv, "\xe3\x80"sv, "<|a|>"sv, "<|"sv, "|>"sv, "/"sv,
};

std::string_view g_program = "fuzz";
std::span<const Byte> g_input;
std::uint64_t g_seed = 0;
bool g_replaying = false;

void print_input(int signal_number) {
  const bool timed_out = signal_number == SIGALRM;
  std::fprintf(stderr, "\n%.*s: %s; ", static_cast<int>(g_program.size()), g_program.data(),
               timed_out ? "an input takes over a minute" : "failed");
  if (!g_replaying) std::fprintf(stderr, "seed %llu; ", static_cast<unsigned long long>(g_seed));
  std::fprintf(stderr, "to try the input again: --input ");
  for (const Byte byte : g_input) std::fprintf(stderr, "%02x", byte);
  std::fprintf(stderr, "\n");
  std::_Exit(1);
}

void run(const std::vector<Byte>& bytes) {
  // A block of exactly this size, so that a sanitizer sees a read of even one byte past its end.
  const auto block = std::make_unique<Byte[]>(bytes.size());
  std::copy(bytes.begin(), bytes.end(), block.get());
  g_input = {block.get(), bytes.size()};
  alarm(60);
  LLVMFuzzerTestOneInput(block.get(), bytes.size());
}

void append(std::vector<Byte>& bytes, std::string_view text) { bytes.insert(bytes.end(), text.begin(), text.end()); }

std::string_view slice_of(Random& random, std::string_view text, std::size_t most) {
  const std::size_t start = random.below(text.size());
  return text.substr(start, random.between(1, most));
}

void mutate(Random& random, std::vector<Byte>& text) {
  const std::size_t place = random.below(text.size() + 1);
  const auto at = text.begin() + static_cast<std::ptrdiff_t>(place);
  const auto reach = static_cast<std::ptrdiff_t>(std::min<std::size_t>(random.between(1, 12), text.size() - place));
  switch (random.below(6)) {
    case 0: {
      const std::string_view fragment = kFragments[random.below(std::size(kFragments))];
      text.insert(at, fragment.begin(), fragment.end());
      break;
    }
    case 1:
      text.insert(at, static_cast<Byte>(random.below(256)));
      break;
    case 2:
      text.erase(at, at + reach);
      break;
    case 3: {
      const std::vector<Byte> copy(at, at + reach);
      text.insert(at, copy.begin(), copy.end());
      break;
    }
    case 4:
      if (reach != 0) *at = static_cast<Byte>(*at ^ (1u << random.below(8)));
      break;
    case 5:
      if (reach != 0) text.insert(at, random.between(1, random.one_in(16) ? 600 : 60), Byte{*at});
      break;
  }
}

// Random options, then mutated slices of the texts above: usually short, occasionally some thousand bytes.
std::vector<Byte> make_input(Random random) {
  std::vector<Byte> text;
  const std::size_t slices = random.one_in(20) ? random.between(10, 60) : random.between(0, 4);
  for (std::size_t i = 0; i < slices; ++i) {
    append(text, slice_of(random, kSeedTexts[random.below(std::size(kSeedTexts))], 80));
  }
  for (std::size_t left = random.below(9); left > 0; --left) mutate(random, text);
  std::vector<Byte> input;
  for (std::size_t i = 0; i < Input::kOptionBytes; ++i) input.push_back(static_cast<Byte>(random.below(256)));
  input.insert(input.end(), text.begin(), text.end());
  return input;
}

std::vector<Byte> from_hex(std::string_view hex) {
  std::vector<Byte> bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<Byte>(std::stoul(std::string(hex.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

struct Arguments {
  double seconds = 5;
  std::uint64_t iterations = ~std::uint64_t{0};
  std::uint64_t seed = 1;
  const char* input = nullptr;
};

Arguments parse(int count, char** values) {
  Arguments arguments;
  for (int i = 1; i < count; i += 2) {
    const std::string_view option = values[i];
    const char* const value = i + 1 < count ? values[i + 1] : nullptr;
    if (value != nullptr && option == "--seconds") {
      arguments.seconds = std::stod(value);
    } else if (value != nullptr && option == "--iterations") {
      arguments.iterations = std::stoull(value);
    } else if (value != nullptr && option == "--seed") {
      arguments.seed = std::stoull(value);
    } else if (value != nullptr && option == "--input") {
      arguments.input = value;
    } else {
      std::fprintf(stderr, "usage: %s [--seconds N] [--iterations N] [--seed N] | --input HEX\n", values[0]);
      std::exit(2);
    }
  }
  return arguments;
}

}  // namespace

int main(int count, char** values) {
  const Arguments arguments = parse(count, values);
  g_program = std::string_view(values[0]).substr(std::string_view(values[0]).rfind('/') + 1);
  g_seed = arguments.seed;
  std::signal(SIGABRT, print_input);
  std::signal(SIGALRM, print_input);
  if (arguments.input != nullptr) {
    g_replaying = true;
    run(from_hex(arguments.input));
    std::puts("the input is handled well");
    return 0;
  }
  const auto started = std::chrono::steady_clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count(); };
  std::uint64_t done = 0;
  for (; done < arguments.iterations && seconds() < arguments.seconds; ++done) {
    run(make_input(Random(Random(arguments.seed).next() + done)));
  }
  std::printf("%.*s: %llu inputs in %.1f s, seed %llu: all well\n", static_cast<int>(g_program.size()), g_program.data(),
              static_cast<unsigned long long>(done), seconds(), static_cast<unsigned long long>(g_seed));
}
