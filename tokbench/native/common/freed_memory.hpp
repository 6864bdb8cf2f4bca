// Returns freed memory to the system.
#pragma once

#include <cstdlib>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace tokbench {

// After some large allocations, glibc keeps freed blocks of up to 32 MB for later ones, which rarely fit into them.
inline void return_freed_memory() {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

}  // namespace tokbench
