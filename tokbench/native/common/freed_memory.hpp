// Gives freed memory back to the system.
#pragma once

#include <cstdlib>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace tokbench {

// Where large arrays come and go, glibc soon keeps those below 32 MB for later ones, which seldom fit into their places.
inline void return_freed_memory() {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

}  // namespace tokbench
