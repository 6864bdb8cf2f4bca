// A second thread for pieces of work of some microseconds, one after another.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>

namespace tokbench {

// The thread looks for work for a while before it sleeps; work that it does not come to in time is done by the one who asks.
class SecondThread {
 public:
  // Where the system grants no thread, there is no help.
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

  // Does both, `theirs` on the other thread if it has time; neither throws.
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
      if (!state_.compare_exchange_strong(state, State::Taken)) continue;  // it was not here in time
      (*offered_)();
      state_.store(State::Done, std::memory_order_release);
    }
  }

  bool has_news() const {
    const State state = state_.load();
    return state == State::Offered || state == State::Closed;
  }

  // Waits for work, or the end.
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
  std::atomic<bool> is_asleep_{false};  // or about to be
  const std::function<void()>* offered_ = nullptr;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::thread thread_;
};

}  // namespace tokbench
