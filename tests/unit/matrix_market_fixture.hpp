// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <gtest/gtest.h>
#include <zlib.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "stretto/comm/collective.hpp"
#include "stretto/io/matrix_market.hpp"

namespace stretto {

using Triplets = std::map<std::pair<Global, Global>, double>;

class MatrixMarket : public testing::Test {
protected:
    static void SetUpTestSuite() {
        const MpiComm comm;
        std::string name;
        if (comm.rank() == 0) {
            name = (std::filesystem::temp_directory_path() / "stretto-XXXXXX").string();
            if (!mkdtemp(name.data())) std::abort();
        }
        folder = broadcast(comm, name, 0);
    }
    static void TearDownTestSuite() {
        MPI_Barrier(MPI_COMM_WORLD);
        const MpiComm comm;
        if (comm.rank() == 0) std::filesystem::remove_all(folder);
    }

    /// Writes the text to a file of that name, gzipped if it ends in .gz.
    std::string put(const std::string& name, const std::string& text) const {
        const auto path = folder + "/" + name;
        if (comm.rank() == 0) {
            const auto file = gzopen(path.c_str(), name.ends_with(".gz") ? "wb1" : "wbT");
            gzfwrite(text.data(), 1, text.size(), file);
            gzclose(file);
        }
        MPI_Barrier(comm.mpi());
        return path;
    }

    /// The whole matrix on every rank, its local rows checked.
    Triplets gather(const DistributedRows& file) const {
        const auto& [partition, rows] = file;
        EXPECT_EQ(partition, Partition::even(partition.rows(), comm.size()));
        EXPECT_EQ(rows.rows(), partition.rows(comm.rank()));
        EXPECT_EQ(rows.start.front(), 0);
        EXPECT_EQ(static_cast<std::size_t>(rows.start.back()), rows.columns.size());
        EXPECT_EQ(rows.values.size(), rows.columns.size());
        std::vector<Entry<double>> mine;
        for (Index i = 0; i < rows.rows(); ++i) {
            const auto row = static_cast<std::size_t>(i);
            EXPECT_LE(rows.start[row], rows.start[row + 1]);
            for (Global k = rows.start[row]; k < rows.start[row + 1]; ++k) {
                const auto at = static_cast<std::size_t>(k);
                EXPECT_TRUE(rows.columns[at] >= 0 && rows.columns[at] < partition.rows());
                EXPECT_TRUE(k == rows.start[row] || rows.columns[at] > rows.columns[at - 1]);
                EXPECT_TRUE(std::isfinite(rows.values[at]));
                mine.push_back({partition.first(comm.rank()) + i, rows.columns[at], rows.values[at]});
            }
        }
        Triplets all;
        for (const auto& part :
             all_to_all(comm, std::vector<std::vector<Entry<double>>>(static_cast<std::size_t>(comm.size()), mine)))
            for (const auto& [row, column, value] : part) all[{row, column}] = value;
        return all;
    }

    Triplets read(const std::string& text, const std::string& name = "file.mtx") const {
        return gather(read_matrix(comm, put(name, text), 2));
    }

    /// What reading the file throws, the same on all ranks, without the folder.
    template <class Read>
    std::string refusal(Read&& reading) const {
        std::string message = "nothing thrown";
        try {
            reading();
        } catch (const InputError& error) {
            message = error.what();
        }
        EXPECT_EQ(message, broadcast(comm, message, 0));
        for (std::size_t at; (at = message.find(folder + "/")) != message.npos;) message.erase(at, folder.size() + 1);
        return message;
    }
    std::string refused(const std::string& text, const std::string& name = "file.mtx") const {
        return refusal([&] { read_matrix(comm, put(name, text), 2); });
    }

    const MpiComm comm;
    static inline std::string folder;
};

inline const std::string banner = "%%MatrixMarket matrix coordinate real general\n";

}  // namespace stretto
