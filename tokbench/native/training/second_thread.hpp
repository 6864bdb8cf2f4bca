// A second thread for a sequence of tasks of some microseconds each.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>

namespace tokbench {

// The thread spins for a while before it sleeps. A task that it does not start in time is done by the calling thread.
class SecondThread {
 public:
  // If the system grants no thread, the caller does everything.
  SecondThread() {
    try {
      thread_ = std::thread([this] { work(); });
    } catch (const std::system_error&) {
    }
  }

  SecondThread(const SecondThread&) = delete;
  SecondThread& operator=(const SecondThread&) = delete;

  ~SecondThread() {
    if (!thread_.joinable()) return;
    tell(State::Closed);
    thread_.join();
  }

  // Runs both functions, `theirs` on the second thread if that responds in time. Neither may throw.
  template <class Ours>
  void run(const Ours& ours, const std::function<void()>& theirs) {
    if (thread_.joinable()) {
      offered_ = &theirs;
      tell(State::Offered);
    }
    ours();
    State state = State::Offered;
    if (!thread_.joinable() || state_.compare_exchange_strong(state, State::Idle)) {
      theirs();
      return;
    }
    while (state_.load(std::memory_order_acquire) != State::Done) std::this_thread::yield();
    state_.store(State::Idle);
  }

 private:
  enum class State : int { Idle, Offered, Taken, Done, Closed };

  static constexpr int kLooks = 1 << 14;

  void tell(State state) {
    state_.store(state);
    if (!is_asleep_.load()) return;
    const std::lock_guard lock(mutex_);
    changed_.notify_one();
  }

  void work() {
    for (;;) {
      if (next() == State::Closed) return;
      State state = State::Offered;
      if (!state_.compare_exchange_strong(state, State::Taken)) continue;  // too late: the caller has taken the task back
      (*offered_)();
      state_.store(State::Done, std::memory_order_release);
    }
  }

  bool has_news() const {
    const State state = state_.load();
    return state == State::Offered || state == State::Closed;
  }

  // Waits for a task or the end.
  State next() {
    for (int i = 0; i < kLooks; ++i) {
      if (has_news()) return state_.load();
    }
    std::unique_lock lock(mutex_);
    is_asleep_.store(true);
    changed_.wait(lock, [this] { return has_news(); });
    is_asleep_.store(false);
    return state_.load();
  }

  std::atomic<State> state_{State::Idle};
  std::atomic<bool> is_asleep_{false};  // asleep, or about to be
  const std::function<void()>* offered_ = nullptr;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::thread thread_;
};

}  // namespace tokbench
