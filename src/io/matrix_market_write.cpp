// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>

#include "stretto/comm/collective.hpp"
#include "stretto/io/matrix_market.hpp"

namespace stretto {
namespace {

constexpr std::size_t chunk_bytes = std::size_t{1} << 20;
constexpr int tag = 13;

void append(std::string& text, auto number) {
    char digits[32];
    text.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

void append(std::string& text, std::complex<double> number) {
    append(text, number.real());
    text += ' ';
    append(text, number.imag());
}

template <class T>
constexpr std::string_view field = is_complex<T> ? "complex" : "real";

/// Rank 0's file. After an error it takes text, and forgets it, so that the ranks that send need not know.
class Output {
public:
    explicit Output(const std::string& path) : path_(path) {
        file_.reset(gzopen(path.c_str(), path.ends_with(".gz") ? "wb1" : "wbT"));
        check(file_ != nullptr);
    }
    void write(std::span<const char> text) {
        if (error_.empty()) check(gzfwrite(text.data(), 1, text.size(), file_.get()) == text.size());
    }
    /// Throws InputError if not everything is in the file.
    void close() {
        if (error_.empty()) check(gzclose(file_.release()) == Z_OK);
        if (!error_.empty()) throw InputError(error_);
    }

private:
    struct Close {
        void operator()(gzFile file) const { gzclose(file); }
    };
    void check(bool success) {
        if (!success) error_ = fmt::format("cannot write {}: {}", path_, std::strerror(errno));
    }

    std::string path_, error_;
    std::unique_ptr<gzFile_s, Close> file_;
};

/// Writes the header, then `passes` times the text of rank 0, 1, …. `fill(pass, text)` appends this rank's
/// next chunk of text; one without text ends its part of the pass. A rank makes its next chunk while the one
/// before is on its way.
template <class Fill>
void write_text(const Comm& comm, const std::string& path, const std::string& header, int passes, Fill&& fill) {
    agree(comm, [&] {
        if (comm.rank() != 0) {
            std::string text[2];
            MPI_Request sending = MPI_REQUEST_NULL;
            int turn = 0;
            for (int pass = 0; pass < passes;) {
                auto& chunk = text[turn];
                turn = 1 - turn;
                chunk.clear();
                fill(pass, chunk);
                MPI_Wait(&sending, MPI_STATUS_IGNORE);
                MPI_Isend(chunk.data(), static_cast<int>(chunk.size()), MPI_CHAR, 0, tag, comm.mpi(), &sending);
                if (chunk.empty()) ++pass;
            }
            MPI_Wait(&sending, MPI_STATUS_IGNORE);
            return;
        }
        Output file(path);
        file.write(header);
        std::string text;
        for (int pass = 0; pass < passes; ++pass)
            for (int p = 0; p < comm.size(); ++p) do {
                    text.clear();
                    if (p == 0) {
                        fill(pass, text);
                    } else {
                        MPI_Status status;
                        MPI_Probe(p, tag, comm.mpi(), &status);
                        int count = 0;
                        MPI_Get_count(&status, MPI_CHAR, &count);
                        text.resize(static_cast<std::size_t>(count));
                        MPI_Recv(text.data(), count, MPI_CHAR, p, tag, comm.mpi(), MPI_STATUS_IGNORE);
                    }
                    file.write(text);
                } while (!text.empty());
        file.close();
    });
}

void check_shape(const Comm& comm, const std::string& path, const Partition& partition, bool fits) {
    agree(comm, [&] {
        if (partition.ranks() != comm.size() || !fits)
            throw InputError(
                fmt::format("cannot write {}: rank {} does not hold the rows of the partition", path, comm.rank()));
    });
}

}  // namespace

template <class T>
void write_matrix(const Comm& comm, const std::string& path, const Partition& partition, const LocalRows<T>& rows,
                  Stored stored) {
    check_shape(comm, path, partition, rows.rows() == partition.rows(comm.rank()));
    const Global n = partition.rows(), first = partition.first(comm.rank());
    const bool lower = stored == Stored::lower_of_hermitian;
    Global mine = lower ? 0 : rows.start.back();
    for (Index i = 0; lower && i < rows.rows(); ++i)
        mine += std::upper_bound(rows.columns.begin() + rows.start[i], rows.columns.begin() + rows.start[i + 1],
                                 first + i) -
                (rows.columns.begin() + rows.start[i]);
    const Global entries = all_sum(comm, mine);
    std::size_t row = 0, at = 0;
    const auto fill = [&](int, std::string& text) {
        const auto end = static_cast<std::size_t>(rows.start.back());
        for (; at < end && text.size() < chunk_bytes; ++at) {
            while (static_cast<std::size_t>(rows.start[row + 1]) <= at) ++row;
            const Global here = first + static_cast<Global>(row);
            if (lower && rows.columns[at] > here) continue;
            append(text, here + 1);
            text += ' ';
            append(text, rows.columns[at] + 1);
            text += ' ';
            append(text, rows.values[at]);
            text += '\n';
        }
    };
    const std::string_view symmetry = !lower ? "general" : is_complex<T> ? "hermitian" : "symmetric";
    write_text(comm, path,
               fmt::format("%%MatrixMarket matrix coordinate {} {}\n{} {} {}\n", field<T>, symmetry, n, n, entries), 1,
               fill);
}

namespace {

template <class T>
void write_array_of(const Comm& comm, const std::string& path, const Partition& partition, std::span<const T> values,
                    int columns) {
    const auto width = static_cast<std::size_t>(columns);
    check_shape(comm, path, partition, values.size() == static_cast<std::size_t>(partition.rows(comm.rank())) * width);
    std::size_t at = 0;
    const auto fill = [&](int column, std::string& text) {
        for (; at < values.size() && text.size() < chunk_bytes; at += width) {
            append(text, values[at + static_cast<std::size_t>(column)]);
            text += '\n';
        }
        if (text.empty()) at = 0;
    };
    write_text(comm, path,
               fmt::format("%%MatrixMarket matrix array {} general\n{} {}\n", field<T>, partition.rows(), columns),
               columns, fill);
}

}  // namespace

void write_array(const Comm& comm, const std::string& path, const Partition& partition, std::span<const double> values,
                 int columns) {
    write_array_of(comm, path, partition, values, columns);
}
void write_array(const Comm& comm, const std::string& path, const Partition& partition,
                 std::span<const std::complex<double>> values, int columns) {
    write_array_of(comm, path, partition, values, columns);
}

template void write_matrix(const Comm&, const std::string&, const Partition&, const LocalRows<double>&, Stored);
template void write_matrix(const Comm&, const std::string&, const Partition&, const LocalRows<std::complex<double>>&,
                           Stored);

}  // namespace stretto
