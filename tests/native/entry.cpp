// The entry point of a program whose target was compiled together with others: it calls TARGET, the function of that name.
#include <cstddef>
#include <cstdint>

extern "C" int TARGET(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) { return TARGET(data, size); }
