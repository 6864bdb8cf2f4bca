// Compiler hints: inlining and prefetching.
#pragma once

#if defined(__GNUC__)
#define TOKBENCH_ALWAYS_INLINE [[gnu::always_inline]]
#define TOKBENCH_NEVER_INLINE [[gnu::noinline]]
#else
#define TOKBENCH_ALWAYS_INLINE
#define TOKBENCH_NEVER_INLINE
#endif

namespace tokbench {

// Prefetches memory into the cache. Always inlined, because GCC treats a function that does nothing else as one without effects
// and removes calls of it.
TOKBENCH_ALWAYS_INLINE inline void prefetch([[maybe_unused]] const void* p) {
#if defined(__GNUC__)
  __builtin_prefetch(p);
#endif
}

}  // namespace tokbench
