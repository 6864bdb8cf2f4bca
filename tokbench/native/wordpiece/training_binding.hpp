// The part of the binding that trains.
#pragma once

#include <nanobind/nanobind.h>

namespace tokbench {

void bind_training(nanobind::module_& module);

}  // namespace tokbench
