// A reference to something callable, for functions that are compiled once instead of for each of their callers.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace tokbench {

template <class Signature>
class FunctionRef;

// Refers to a callable that outlives it, such as a lambda among the arguments of a call. A call through it costs 1 to 2 ns, so it
// suits what is called for each part of a text and not what is called for each word.
template <class Result, class... Arguments>
class FunctionRef<Result(Arguments...)> {
 public:
  template <class Callable>
    requires(!std::is_same_v<Callable, FunctionRef>)
  FunctionRef(const Callable& callable)
      : callable_(std::addressof(callable)), call_([](const void* it, Arguments... arguments) -> Result {
          return (*static_cast<const Callable*>(it))(std::forward<Arguments>(arguments)...);
        }) {}

  Result operator()(Arguments... arguments) const { return call_(callable_, std::forward<Arguments>(arguments)...); }

 private:
  const void* callable_;
  Result (*call_)(const void*, Arguments...);
};

}  // namespace tokbench
