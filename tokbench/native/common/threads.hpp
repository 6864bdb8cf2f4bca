// Runs work on several threads.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace tokbench {

// Calls work() on this thread and on up to `threads` - 1 others, and waits for all of them. No template: what starts and joins
// threads is compiled once instead of for each work.
inline void run_on(unsigned threads, const std::function<void()>& work) {
  std::exception_ptr failure;
  std::mutex failure_mutex;
  const auto work_or_keep = [&] {
    try {
      work();
    } catch (...) {
      const std::lock_guard lock(failure_mutex);
      failure = std::current_exception();
    }
  };
  std::vector<std::thread> others;
  others.reserve(threads);
  try {
    for (unsigned i = 1; i < threads; ++i) others.emplace_back(std::cref(work_or_keep));
  } catch (const std::system_error&) {  // no more threads available: continue with those that were started
  }
  work_or_keep();
  for (std::thread& other : others) other.join();
  if (failure) std::rethrow_exception(failure);
}

// Hands out the numbers below `count`, each to one thread.
class Turns {
 public:
  explicit Turns(std::size_t count) : count_(count) {}

  std::size_t size() const { return count_; }

  // Writes the next number to `turn`; returns false if none is left.
  bool take(std::size_t& turn) {
    turn = next_.fetch_add(1);
    return turn < count_;
  }

 private:
  std::atomic<std::size_t> next_{0};
  std::size_t count_;
};

}  // namespace tokbench
