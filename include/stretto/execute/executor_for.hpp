// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "stretto/execute/cpu/executor.hpp"
#include "stretto/execute/executor.hpp"

namespace stretto {

/// The executor of vectors of T. Another one for another type of value is a specialisation of this name, and of it
/// alone.
template <class T>
struct ExecutorOf {
    using type = CpuExecutor<T>;
};
template <class T>
using ExecutorFor = typename ExecutorOf<T>::type;
static_assert(Executor<ExecutorFor<double>, double>);

}  // namespace stretto
