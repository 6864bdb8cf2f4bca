// What a program runs whose target was compiled together with others: TARGET, the function that has the target's name.
#include <cstddef>
#include <cstdint>

extern "C" int TARGET(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) { return TARGET(data, size); }
