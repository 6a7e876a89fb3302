// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/io/petsc_binary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>

#include "stretto/comm/collective.hpp"
#include "stretto/core/error.hpp"

namespace stretto {
namespace {

enum : std::int64_t { matrix_class = 1211216, vector_class = 1211214 };

template <class T>
T from_big_endian(T value) {
    if constexpr (std::endian::native == std::endian::big) return value;
    std::array<std::byte, sizeof(T)> bytes;
    std::memcpy(bytes.data(), &value, sizeof(T));
    std::ranges::reverse(bytes);
    std::memcpy(&value, bytes.data(), sizeof(T));
    return value;
}

/// The file, on rank 0: all numbers in it are big-endian.
class PetscFile {
public:
    explicit PetscFile(const std::string& path) : path_(path), file_(path, std::ios::binary) {
        std::error_code unknown;
        bytes_ = static_cast<std::int64_t>(std::filesystem::file_size(path, unknown));
        if (!file_ || unknown) throw InputError(fmt::format("cannot open {}: {}", path, std::strerror(errno)));
        // With indices of 64 bits the class of an object has them, too.
        index_bytes_ = read_many<std::int32_t>(1).front() == 0 ? 8 : 4;
        file_.seekg(0);
    }

    template <class T>
    std::vector<T> read_many(Global count) {
        std::vector<T> values(static_cast<std::size_t>(count));
        if (!file_.read(reinterpret_cast<char*>(values.data()),
                        static_cast<std::streamsize>(values.size() * sizeof(T))))
            throw InputError(fmt::format("{} ends in the middle of its numbers", path_));
        std::ranges::transform(values, values.begin(), from_big_endian<T>);
        return values;
    }

    std::vector<Global> read_indices(Global count) {
        if (index_bytes_ == 8) return read_many<Global>(count);
        const auto narrow = read_many<std::int32_t>(count);
        return {narrow.begin(), narrow.end()};
    }

    /// Goes to the first object of this class and reads its sizes.
    std::vector<Global> find(std::int64_t wanted, const char* name) {
        while (file_.tellg() < bytes_) {
            const Global found = read_indices(1).front();
            if (found != matrix_class && found != vector_class)
                throw InputError(
                    fmt::format("{}: the object at byte {} is neither a matrix nor a vector, but of class {}", path_,
                                static_cast<std::int64_t>(file_.tellg()) - index_bytes_, found));
            const auto sizes = read_indices(found == matrix_class ? 3 : 1);
            if (std::ranges::any_of(sizes, [](Global size) { return size < 0; }))
                throw InputError(fmt::format("{}: dense matrices are not read: write a sparse one (AIJ)", path_));
            const Global rows = sizes.front(), nonzeros = found == matrix_class ? sizes.back() : 0;
            if (std::max(rows, nonzeros) > bytes_)  // nor can it be counted in bytes, perhaps
                throw InputError(fmt::format("{} is cut off: {} bytes are all, where {} numbers are announced", path_,
                                             bytes_, std::max(rows, nonzeros)));
            const std::int64_t rest =
                found == matrix_class ? rows * index_bytes_ + nonzeros * (index_bytes_ + 8) : rows * 8;
            if (rest > bytes_ - file_.tellg())
                throw InputError(fmt::format("{} is cut off: {} bytes follow where {} are announced", path_,
                                             bytes_ - static_cast<std::int64_t>(file_.tellg()), rest));
            if (found == wanted) return sizes;
            file_.seekg(rest, std::ios::cur);
        }
        throw InputError(fmt::format("{} has no {}", path_, name));
    }

private:
    std::string path_;
    std::ifstream file_;
    std::int64_t bytes_ = 0;
    int index_bytes_ = 4;
};

/// Collective. counts[p] numbers for rank p, which read(count) takes from rank 0's file in the order of the ranks.
template <class T>
std::vector<T> dealt(const Comm& comm, const std::vector<Global>& counts,
                     const std::function<std::vector<T>(Global count)>& read) {
    constexpr int tag = 13;
    std::vector<T> mine(static_cast<std::size_t>(counts[static_cast<std::size_t>(comm.rank())]));
    std::string failure;
    const auto next = [&](std::size_t p) {
        try {
            if (failure.empty()) return read(counts[p]);
        } catch (const InputError& error) {  // the others wait for their numbers all the same
            failure = error.what();
        }
        return std::vector<T>(static_cast<std::size_t>(counts[p]));
    };
    if (comm.rank() == 0) {
        mine = next(0);
        for (int p = 1; p < comm.size(); ++p) {
            const auto theirs = next(static_cast<std::size_t>(p));
            each_message(std::as_bytes(std::span(theirs)), [&](std::span<const std::byte> piece) {
                MPI_Send(piece.data(), static_cast<int>(piece.size()), MPI_BYTE, p, tag, comm.mpi());
            });
        }
    } else {
        each_message(std::as_writable_bytes(std::span(mine)), [&](std::span<std::byte> piece) {
            MPI_Recv(piece.data(), static_cast<int>(piece.size()), MPI_BYTE, 0, tag, comm.mpi(), MPI_STATUS_IGNORE);
        });
    }
    agree(comm, [&] {
        if (!failure.empty()) throw InputError(failure);
    });
    return mine;
}

/// Sorts the columns of each row, and refuses what is no matrix.
void put_in_order(const std::string& path, Global first, Global columns, LocalRows<double>& rows) {
    std::vector<std::pair<Global, double>> row;
    for (Index i = 0; i < rows.rows(); ++i) {
        const auto begin = static_cast<std::size_t>(rows.start[i]), end = static_cast<std::size_t>(rows.start[i + 1]);
        row.clear();
        for (std::size_t k = begin; k < end; ++k) row.emplace_back(rows.columns[k], rows.values[k]);
        std::ranges::sort(row, {}, &std::pair<Global, double>::first);
        for (std::size_t k = begin; k < end; ++k) {
            std::tie(rows.columns[k], rows.values[k]) = row[k - begin];
            const Global column = rows.columns[k];
            if (column < 0 || column >= columns || (k > begin && column == rows.columns[k - 1]))
                throw InputError(fmt::format("{}: row {} has column {} {}", path, first + i + 1, column + 1,
                                             k > begin && column == rows.columns[k - 1] ? "twice" : "of none"));
        }
    }
}

}  // namespace

bool is_petsc_binary(const Comm& comm, const std::string& path) {
    return any_of(
        comm, comm.rank() == 0 && [&] {
            std::array<std::int32_t, 2> begin{};
            std::error_code unknown;  // a pipe can be read once alone
            if (!std::filesystem::is_regular_file(path, unknown)) return false;
            if (!std::ifstream(path, std::ios::binary).read(reinterpret_cast<char*>(begin.data()), sizeof begin))
                return false;
            const auto found = from_big_endian(begin[0] == 0 ? begin[1] : begin[0]);
            return found == matrix_class || found == vector_class;
        }());
}

DistributedRows read_petsc_matrix(const Comm& comm, const std::string& path) {
    std::unique_ptr<PetscFile> file;
    std::array<Global, 3> sizes{};
    agree(comm, [&] {
        if (comm.rank() != 0) return;
        file = std::make_unique<PetscFile>(path);
        std::ranges::copy(file->find(matrix_class, "matrix"), sizes.begin());
        if (sizes[0] != sizes[1])
            throw InputError(fmt::format("{}: a {} × {} matrix is not square", path, sizes[0], sizes[1]));
    });
    MPI_Bcast(sizes.data(), static_cast<int>(sizes.size()), MPI_INT64_T, 0, comm.mpi());
    std::optional<DistributedRows> result;
    std::vector<Global> counts;
    agree(comm, [&] {
        result.emplace(Partition::even(sizes[0], comm.size()));
        for (int p = 0; p < comm.size(); ++p) counts.push_back(result->partition.rows(p));
    });
    const auto indices = [&](Global count) { return file->read_indices(count); };
    auto& rows = result->rows;
    rows.start.resize(1);
    const auto lengths = dealt<Global>(comm, counts, indices);
    agree(comm, [&] {
        if (std::ranges::any_of(lengths, [](Global nonzeros) { return nonzeros < 0; }))
            throw InputError(fmt::format("{}: a row has less than no nonzeros", path));
    });
    agree(comm, [&] {
        for (const Global nonzeros : lengths) {
            if (nonzeros > sizes[2] - rows.start.back())
                throw InputError(fmt::format("{} announces {} nonzeros, its rows have more", path, sizes[2]));
            rows.start.push_back(rows.start.back() + nonzeros);
        }
    });
    counts = all_gather(comm, rows.start.back());
    if (const Global sum = std::reduce(counts.begin(), counts.end()); sum != sizes[2])
        throw InputError(fmt::format("{} announces {} nonzeros, its rows have {}", path, sizes[2], sum));
    rows.columns = dealt<Global>(comm, counts, indices);
    rows.values = dealt<double>(comm, counts, [&](Global count) { return file->read_many<double>(count); });
    agree(comm, [&] { put_in_order(path, result->partition.first(comm.rank()), sizes[1], rows); });
    return std::move(*result);
}

std::vector<double> read_petsc_vector(const Comm& comm, const std::string& path, const Partition& partition) {
    std::unique_ptr<PetscFile> file;
    agree(comm, [&] {
        if (comm.rank() != 0) return;
        file = std::make_unique<PetscFile>(path);
        if (const Global rows = file->find(vector_class, "vector").front(); rows != partition.rows())
            throw InputError(fmt::format("A has {} rows, the vector in {} has {}", partition.rows(), path, rows));
    });
    std::vector<Global> counts;
    for (int p = 0; p < comm.size(); ++p) counts.push_back(partition.rows(p));
    return dealt<double>(comm, counts, [&](Global count) { return file->read_many<double>(count); });
}

}  // namespace stretto
