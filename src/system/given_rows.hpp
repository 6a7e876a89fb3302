// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>

#include "stretto/comm/comm.hpp"
#include "stretto/sparse/distributed_rows.hpp"
#include "stretto/sparse/given_rows.hpp"
#include "stretto/sparse/partition.hpp"

// Rows as a program hands them over, checked before anything is made of them. All throw InputError.

namespace stretto {

/// Bad entries named by global row and column, counted from 1 as in files and everywhere else.
void check_entry(Global rows, Global row, Global column, double value);

void check_count(std::span<const double> values, std::size_t entries);

/// Collective. What the set-up takes for granted.
void check_rows(const Comm& comm, const Partition& partition, const LocalRows<double>& rows);
void check_rows(const Comm& comm, const Partition& partition, const GivenRows<double>& rows);

/// Of every row.
bool columns_increase(const LocalRows<double>& rows);
bool columns_increase(const GivenRows<double>& rows);

/// The same rows in memory of their own.
LocalRows<double> copy_of(const GivenRows<double>& rows);

/// The same rows with columns in order, entries of the same place added. `first`: the global number of row 0.
LocalRows<double> sorted(Global first, const LocalRows<double>& rows);

/// Collective. Rows that follow those of the rank before.
Partition partition_of(const Comm& comm, std::size_t offsets);

}  // namespace stretto
