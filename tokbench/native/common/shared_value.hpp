// Relaxed atomic access to values in plain memory.
//
// This is what std::atomic_ref does, which libc++ has only from version 19 on; compilers on Macs may lack it.
#pragma once

#if !defined(__GNUC__)
#include <atomic>
#endif

namespace tokbench {

template <class T>
inline T shared_value(const T& value) {
#if defined(__GNUC__)
  return __atomic_load_n(&value, __ATOMIC_RELAXED);
#else
  return std::atomic_ref(const_cast<T&>(value)).load(std::memory_order_relaxed);
#endif
}

// Sets bits, and returns the previous value.
template <class T>
inline T set_shared_bits(T& value, T bits) {
#if defined(__GNUC__)
  return __atomic_fetch_or(&value, bits, __ATOMIC_RELAXED);
#else
  return std::atomic_ref(value).fetch_or(bits, std::memory_order_relaxed);
#endif
}

}  // namespace tokbench
