// The binding of training.
#pragma once

#include <nanobind/nanobind.h>

namespace tokbench {

void bind_training(nanobind::module_& module);

}  // namespace tokbench
