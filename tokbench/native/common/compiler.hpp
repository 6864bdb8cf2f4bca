// Hints to compilers that take them: what to inline, and what to prefetch.
#pragma once

#if defined(__GNUC__)
#define TOKBENCH_ALWAYS_INLINE [[gnu::always_inline]]
#define TOKBENCH_NEVER_INLINE [[gnu::noinline]]
#else
#define TOKBENCH_ALWAYS_INLINE
#define TOKBENCH_NEVER_INLINE
#endif

namespace tokbench {

// Fetches memory into the processor's cache. Always inlined: GCC takes a function that does nothing else for one
// without effects, and leaves out its calls.
TOKBENCH_ALWAYS_INLINE inline void prefetch([[maybe_unused]] const void* p) {
#if defined(__GNUC__)
  __builtin_prefetch(p);
#endif
}

}  // namespace tokbench
