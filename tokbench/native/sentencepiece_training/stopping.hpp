// Cancels work from another thread.
#pragma once

#include <atomic>

namespace tokbench::sentencepiece {

struct Stopped {};

class StopSign {
 public:
  void stop() { is_stopped_.store(true, std::memory_order_relaxed); }

  // Throws `Stopped` if the work was cancelled.
  void check() const {
    if (is_stopped_.load(std::memory_order_relaxed)) throw Stopped();
  }

 private:
  std::atomic<bool> is_stopped_{false};
};

}  // namespace tokbench::sentencepiece
