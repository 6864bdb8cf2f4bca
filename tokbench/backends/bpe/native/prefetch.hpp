// Fetching memory into the processor's cache before it is needed.
#pragma once

namespace tokbench {

// Always inlined: GCC takes a function that does nothing else for one without effects, and leaves out its calls.
#if defined(__GNUC__)
[[gnu::always_inline]] inline void prefetch(const void* p) { __builtin_prefetch(p); }
#else
inline void prefetch(const void*) {}
#endif

}  // namespace tokbench
