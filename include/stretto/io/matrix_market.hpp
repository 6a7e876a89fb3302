// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Matrix Market files, plain or gzipped (by content when read, by the name's ending .gz when written); a file that
// PETSc wrote is read as petsc_binary.hpp says. Everything here is collective; rank 0 alone touches the file. Errors
// are InputErrors with the same message on all ranks.

#include <complex>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "stretto/comm/comm.hpp"
#include "stretto/sparse/distributed_rows.hpp"
#include "stretto/sparse/partition.hpp"

namespace stretto {

/// This rank's rows of an n × m array, row-major.
template <class T>
struct ArrayOf {
    std::vector<T> values;
    int columns;
};
using ArrayFile = ArrayOf<double>;

/// Told on rank 0 which fraction of the file has been read: not before two seconds, then at most five times a
/// second.
using Progress = std::function<void(double fraction)>;

/// Whether the values of a file are complex. Throws InputError where it is no such file.
bool holds_complex(const Comm& comm, const std::string& path);

/// A square matrix of double, or of std::complex<double>, its rows dealt evenly: coordinate or array; real, integer,
/// pattern (all ones) or, for the latter alone, complex; general, symmetric, skew-symmetric or hermitian. Entries of
/// the same place are added; zeros of an array are dropped, those of a coordinate file kept. Throws InputError, naming
/// file and line, for everything that is not exactly such a file.
template <class T = double>
DistributedRowsOf<T> read_matrix(const Comm& comm, const std::string& path, int threads, const Progress& progress = {});

/// Right-hand sides, one a column, of a matrix with this partition. Throws as `read_matrix`, and where the
/// number of rows differs from the matrix's or there are more than `max_columns` columns.
template <class T = double>
ArrayOf<T> read_array(const Comm& comm, const std::string& path, const Partition& partition, int threads,
                      const Progress& progress = {});

/// What is written of a matrix.
enum class Stored { all, lower_of_hermitian };

/// Writes a square matrix of double or std::complex<double> as coordinate real or complex general, or the lower
/// triangle of one that is hermitian, as such (symmetric where it is real). Numbers read back as the same. Throws
/// InputError where the file cannot be written; what was written by then is left.
template <class T = double>
void write_matrix(const Comm& comm, const std::string& path, const Partition& partition, const LocalRows<T>& rows,
                  Stored stored = Stored::all);

/// Writes an n × columns array of which `values` are this rank's rows, row-major. Numbers and errors as in
/// `write_matrix`.
void write_array(const Comm& comm, const std::string& path, const Partition& partition, std::span<const double> values,
                 int columns);
void write_array(const Comm& comm, const std::string& path, const Partition& partition,
                 std::span<const std::complex<double>> values, int columns);

}  // namespace stretto
