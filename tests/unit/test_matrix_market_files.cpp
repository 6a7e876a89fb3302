// SPDX-License-Identifier: BSD-3-Clause
#include <bit>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <random>
#include <set>

#include "matrix_market_fixture.hpp"
#include "stretto/io/problem.hpp"

namespace stretto {
namespace {

TEST_F(MatrixMarket, ReadsBackWhatItWrote) {
    const Global n = 997;
    const auto partition = Partition::even(n, comm.size());
    std::mt19937_64 random(7);
    std::uniform_int_distribution<std::uint64_t> bits;
    std::uniform_int_distribution<Global> place(0, n - 1);
    const auto number = [&] {
        for (;;)
            if (const auto value = std::bit_cast<double>(bits(random)); std::isfinite(value)) return value;
    };
    std::vector<Entry<double>> entries;
    Triplets expected;
    for (int k = 0; k < 20'000; ++k) {
        const Entry<double> entry{place(random), place(random), number()};
        if (!expected.emplace(std::pair{entry.row, entry.column}, entry.value).second) continue;
        if (k % comm.size() == comm.rank()) entries.push_back(entry);
    }
    const auto rows = assemble(comm, partition, entries);
    EXPECT_EQ(gather({partition, rows}), expected);
    for (const std::string name : {"back.mtx", "back.mtx.gz"}) {
        write_matrix(comm, folder + "/" + name, partition, rows);
        EXPECT_EQ(gather(read_matrix(comm, folder + "/" + name, 3)), expected);

        std::vector<double> values;
        for (Index i = 0; i < 3 * partition.rows(comm.rank()); ++i) values.push_back(number());
        write_array(comm, folder + "/" + name, partition, values, 3);
        const auto array = read_array(comm, folder + "/" + name, partition, 2);
        EXPECT_EQ(array.columns, 3);
        EXPECT_EQ(array.values, values);
    }
}

TEST_F(MatrixMarket, KroneckerSumIsTheDenseOne) {
    // Row 2 has no diagonal, row 3 nothing at all.
    const auto path =
        put("a.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 4\n1 1 5\n1 3 -2\n2 1 7\n2 3 8\n");
    const Triplets A{{{0, 0}, 5}, {{0, 2}, -2}, {{1, 0}, 7}, {{1, 2}, 8}};
    for (const Global layers : {1, 2, 5}) {
        auto [partition, rows] = load_problem(comm, "kron:" + path + "," + std::to_string(layers));
        Triplets expected;
        for (Global k = 0; k < layers; ++k) {
            for (const auto& [place, value] : A) expected[{3 * k + place.first, 3 * k + place.second}] += value;
            for (Global i = 3 * k; i < 3 * k + 3; ++i) {
                expected[{i, i}] += 2;
                if (k > 0) expected[{i, i - 3}] = -1;
                if (k + 1 < layers) expected[{i, i + 3}] = -1;
            }
        }
        EXPECT_EQ(gather({std::move(partition), std::move(rows)}), expected) << layers << " layers";
    }
    const auto refused = [&](const std::string& name, const std::string& words) {
        try {
            (void)load_problem(comm, name);
            ADD_FAILURE() << name << " was accepted";
        } catch (const InputError& error) {
            EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
        }
    };
    for (const std::string& bad :
         std::vector<std::string>{"kron:", "kron:" + path, "kron:" + path + ",", "kron:" + path + ",0", "kron:,3"})
        refused(bad, "a Kronecker sum is kron:FILE,N");
    refused("kron:" + path + ",999999999999", "can hold");
    refused("kron:nowhere.mtx,3", "nowhere.mtx");
    refused("nowhere", "neither a file nor a problem");
}

TEST_F(MatrixMarket, ReadsFilesOfManyBlocks) {
    const Global n = 300'000;
    const auto partition = Partition::even(n, comm.size());
    std::vector<Entry<double>> entries;
    for (Global row = partition.first(comm.rank()); row < partition.first(comm.rank() + 1); ++row)
        for (const Global column : {(row + 1) % n, row, (row * 7919) % n})
            entries.push_back({row, column, 1.0 / static_cast<double>(row + column + 1)});
    const auto rows = assemble(comm, partition, std::move(entries));
    const auto path = folder + "/large.mtx";
    write_matrix(comm, path, partition, rows);
    const auto again = read_matrix(comm, path, 1).rows;
    EXPECT_EQ(again.start, rows.start);
    EXPECT_EQ(again.columns, rows.columns);
    EXPECT_EQ(again.values, rows.values);

    if (comm.rank() == 0) std::ofstream(path, std::ios::app) << "\n1 2 x\n";
    MPI_Barrier(comm.mpi());
    const Global last = 2 + all_sum(comm, rows.start.back()) + 2;
    EXPECT_EQ(refusal([&] { read_matrix(comm, path, 2); }),
              "large.mtx, line " + std::to_string(last) + ": \"x\" is not a number");
}

TEST_F(MatrixMarket, RefusesWhatItCannotWrite) {
    const auto partition = Partition::even(60'000, comm.size());
    const std::vector<double> values(static_cast<std::size_t>(2 * partition.rows(comm.rank())), 1.0 / 3);
    const auto writing = [&](const std::string& path, int columns) {
        return refusal([&] { write_array(comm, path, partition, values, columns); });
    };
    EXPECT_EQ(writing(folder + "/none/x.mtx", 2), "cannot write none/x.mtx: No such file or directory");
    EXPECT_EQ(writing(folder, 2), "cannot write " + folder + ": Is a directory");
    EXPECT_EQ(writing("/dev/full", 2), "cannot write /dev/full: No space left on device");
    EXPECT_EQ(writing("x.mtx", 3), "cannot write x.mtx: rank 0 does not hold the rows of the partition");
    const LocalRows<double> empty{
        std::vector<Global>(static_cast<std::size_t>(partition.rows(comm.rank())) + 1), {}, {}};
    EXPECT_EQ(refusal([&] { write_matrix(comm, "/dev/full", partition, empty); }),
              "cannot write /dev/full: No space left on device");
}

TEST_F(MatrixMarket, AssembleRefusesEntriesOutside) {
    const auto partition = Partition::even(4, comm.size());
    const auto outside = [&](Global row, Global column) {
        return refusal([&] { assemble(comm, partition, std::vector<Entry<double>>{{row, column, 1}}); });
    };
    EXPECT_EQ(outside(4, 0), "entry (4, 0) is outside the 4 × 4 matrix (counted from 0)");
    EXPECT_EQ(outside(0, -1), "entry (0, -1) is outside the 4 × 4 matrix (counted from 0)");
    EXPECT_NE(refusal([&] {
                  assemble(comm, Partition::even(4, comm.size() + 1), std::vector<Entry<double>>{});
              }).find("a partition over "),
              std::string::npos);
}

TEST_F(MatrixMarket, SurvivesDamagedFiles) {
    const std::vector<std::string> valid{
        banner + "% comment\n3 3 4\n1 1 1.5\n2 3 -2e-3\n3 2 4\n3 3 +1D2\n",
        "%%MatrixMarket matrix coordinate pattern symmetric\n4 4 3\n1 1\n3 2\n4 4\n",
        "%%MatrixMarket matrix coordinate integer skew-symmetric\n\n4 4 2\n2 1 7\n4 3 -8\n",
        "%%MatrixMarket matrix array real general\n2 2\n1\n2.5\n%\n-3\n4e1\n",
        "%%MatrixMarket matrix array real symmetric\r\n3 3\r\n1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n"};
    const std::string likely = "0123456789 \n\r\t%+-.eEdD";
    std::mt19937_64 random(2024);
    const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
    const auto mutate = [&](std::string text) {
        for (std::size_t changes = 1 + below(3); changes > 0 && !text.empty(); --changes) {
            const auto at = below(text.size());
            const auto line = text.rfind('\n', at) + 1, length = text.find('\n', at) - line + 1;
            switch (below(6)) {
                case 0: text.resize(at); break;
                case 1: text[at] = static_cast<char>(text[at] ^ (1 << below(8))); break;
                case 2: text.insert(at, text.substr(line, length)); break;
                case 3: text.erase(line, length); break;
                case 4: text.insert(at, 1, static_cast<char>(random())); break;
                default: text[at] = likely[below(likely.size())];
            }
        }
        return text;
    };
    int accepted = 0, refusals = 0;
    const auto attempt = [&](const std::string& path) {
        try {
            gather(read_matrix(comm, path, 1 + static_cast<int>(below(3))));
            ++accepted;
        } catch (const InputError& error) {
            ++refusals;
            EXPECT_EQ(broadcast(comm, error.what(), 0), error.what());
            EXPECT_NE(std::string(error.what()).find("damaged.mtx"), std::string::npos) << error.what();
        }
    };
    // Collectives take milliseconds where ranks outnumber cores.
    const int cases = comm.size() == 1 ? 2000 : 400 / comm.size();
    for (int i = 0; i < cases; ++i) {
        const auto& original = valid[below(valid.size())];
        if (i % 4 != 0) {
            attempt(put("damaged.mtx", mutate(original)));
            continue;
        }
        const auto path = put("damaged.mtx.gz", original);
        std::ifstream file(path, std::ios::binary);
        const auto damaged = mutate({std::istreambuf_iterator<char>(file), {}});
        MPI_Barrier(comm.mpi());
        attempt(put("damaged.mtx", damaged));
    }
    EXPECT_GT(accepted, cases / 40);
    EXPECT_GT(refusals, cases / 3);
}

TEST_F(MatrixMarket, ReadsRealMatrices) {
    const char* matrices = std::getenv("STRETTO_MATRICES");
    if (!matrices) GTEST_SKIP() << "set STRETTO_MATRICES to a folder of *.mtx.gz to read them all";
    const std::map<std::string, std::pair<Global, Global>> known{
        {"bcsstk13.mtx.gz", {2003, 83883}}, {"cage10.mtx.gz", {11397, 150645}}, {"nos3.mtx.gz", {960, 15844}},
        {"nsjac.mtx.gz", {15444, 397476}},  {"pyamg_bar.mtx.gz", {600, 23402}}, {"bayer10.mtx.gz", {13436, 94926}}};
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(matrices))
        if (entry.path().string().ends_with(".mtx.gz")) names.insert(entry.path().filename().string());
    for (const auto& name : names) {
        const auto file = read_matrix(comm, std::string(matrices) + "/" + name, 2);
        gather(file);
        const std::pair found(file.partition.rows(), all_sum(comm, file.rows.start.back()));
        const auto expected = known.find(name);
        EXPECT_EQ(found, expected == known.end() ? found : expected->second) << name;
    }
}

}  // namespace
}  // namespace stretto
