// A mutex that is free in a forked process. One that another thread holds during fork() would stay locked there for ever, because
// that thread does not exist in the new process.
#pragma once

#include <mutex>

#ifdef _WIN32

namespace tokbench {
using ForkSafeMutex = std::mutex;
}

#else

#include <pthread.h>

#include <ranges>
#include <vector>

namespace tokbench {

// A thread that locks several of them locks the one that was created first, first.
class ForkSafeMutex {
 public:
  ForkSafeMutex() {
    Registry& registry = Registry::get();
    const std::lock_guard lock(registry.mutex);
    registry.mutexes.push_back(&mutex_);
  }
  ~ForkSafeMutex() {
    Registry& registry = Registry::get();
    const std::lock_guard lock(registry.mutex);
    std::erase(registry.mutexes, &mutex_);
  }
  ForkSafeMutex(const ForkSafeMutex&) = delete;
  ForkSafeMutex& operator=(const ForkSafeMutex&) = delete;

  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  // All of them, in the order of their creation; locked from before a fork() until after it, in both processes.
  struct Registry {
    std::mutex mutex;
    std::vector<std::mutex*> mutexes;

    static Registry& get() {
      static Registry* const registry = new Registry;  // never destroyed: a process may fork while it ends
      return *registry;
    }

    Registry() { pthread_atfork(lock_all, unlock_all, unlock_all); }

    static void lock_all() {
      get().mutex.lock();
      for (std::mutex* each : get().mutexes) each->lock();
    }
    static void unlock_all() {
      for (std::mutex* each : std::views::reverse(get().mutexes)) each->unlock();
      get().mutex.unlock();
    }
  };

  std::mutex mutex_;
};

}  // namespace tokbench

#endif
