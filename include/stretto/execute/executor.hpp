// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stretto/core/types.hpp"
#include "stretto/execute/row_work.hpp"
#include "stretto/statements/statement.hpp"
#include "stretto/statements/traffic.hpp"

namespace stretto {

/// What statements run on and vectors live in: the processor's threads (cpu/executor.hpp), a device, a graph of tasks.
/// Only executors, operators and preconditioners look at single elements of vectors; `Space` passes on what methods
/// say.
///
/// Built for vectors of so many columns, with (columns, threads, formulation) and perhaps a communicator and a ledger.
/// - allocate(n) returns Memory, which owns room for n values, unwritten, and frees it even after the executor is gone.
/// - run(rows, dots, s…) runs statements as one group over the first `rows` rows of their vectors: the merged
///   formulation in one pass over memory, the basic one call by call (for_each_call). This rank's dot products, K × m
///   numbers in the order in which they were said, each summed in a fixed order, go to `dots`; null where there are
///   none.
/// - run_with(parts, product, dots, s…) does so behind a product, whose rows the statements take up while near:
///   product(work) hands on each row once (row_work.hpp). Asked for only of operators that have parts() > 0, which on a
///   device none need have.
/// - takes_diagonals, where it has that: a statement may multiply a vector by another, element by element.
/// - reserve(k) makes room for groups of k products of panels, so that no iteration allocates.
/// - wait() returns when all that was run has been done; where run() does its work before it returns, it is nothing.
/// - arrive(dots), which only an executor has whose run() may return before that, returns when the dot products that
/// were
///   asked for at `dots` lie there.
/// - clear … fill_uniform write a vector or a column of it, in the order of what is run; the last, of
///   (v, seed, row), gives row i, column j the number uniform(seed, row + i, j) (random.hpp).
/// - upload(values, v) and download(v, values) bring all of a vector from the host and to it, row by row; the host may
///   use `values` when they return.
/// - largest(v) returns the largest |v| of each column on this rank, infinite where a value is not finite.
///
/// A kind of statement is taught to an executor by one struct: for CpuExecutor the specialisation of CpuKind.
template <class E, class T>
concept Executor =
    requires(E& executor, const E& constant, typename E::Memory& memory, MultiVector<T> v, std::size_t size, Index rows,
             int column, double* dots, std::uint64_t seed, Global first_row, Dot<T> dot, std::span<Number<T>> values,
             void (*product)(const RowWork&)) {
        { constant.allocate(size) } -> std::same_as<typename E::Memory>;
        { memory.data() } -> std::same_as<T*>;
        { constant.threads() } -> std::same_as<int>;
        { constant.formulation() } -> std::same_as<Formulation>;
        executor.run(rows, dots, dot);
        executor.run_with(column, product, dots, dot);
        executor.reserve(size);
        executor.wait();
        constant.clear(v);
        constant.clear_column(v, column);
        constant.copy_column(v, v, column);
        constant.fill_uniform(v, seed, first_row);
        constant.upload(values, v);
        constant.download(v, values);
        { constant.largest(v) } -> std::same_as<std::vector<double>>;
    };

}  // namespace stretto
