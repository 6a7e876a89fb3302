// SPDX-License-Identifier: BSD-3-Clause
#include <sys/stat.h>

#include <chrono>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "matrix_market_fixture.hpp"

namespace stretto {
namespace {

const Triplets three{{{0, 0}, 1.5}, {{1, 2}, -2e-3}, {{2, 1}, 4}};

TEST_F(MatrixMarket, AcceptsEveryWayOfWritingTheSame) {
    const std::string sizes = "3 3 3\n", entries = "1 1 1.5\n2 3 -2e-3\n3 2 4\n";
    EXPECT_EQ(read(banner + sizes + entries), three);
    EXPECT_EQ(read(banner + sizes + entries, "file.mtx.gz"), three);
    EXPECT_EQ(read(banner + sizes + "1 1 1.5\n2 3 -2e-3\n3 2 4"), three);
    EXPECT_EQ(read("%%matrixmarket  MATRIX Coordinate\tREAL General \n" + sizes + entries), three);
    EXPECT_EQ(read(banner + "% a comment\n\n%\n  % 1 2 3\n \t\n" + sizes + "\n" + entries + "\n \n"), three);
    EXPECT_EQ(read(banner + sizes + "1 1 1.5\n% between\n2 3 -2e-3\n3 2 4\n% after"), three);
    EXPECT_EQ(read("%%MatrixMarket matrix coordinate real general\r\n%\r\n\r\n3 3 3\r\n1 1 1.5\r\n2 3 "
                   "-2e-3\r\n3 2 4\r\n"),
              three);
    EXPECT_EQ(read(banner + "  3\t3  3 \n" + " 1   1\t+1.5 \n\t02 3 -2D-3\n3 2 +.4d+1\n"), three);
    EXPECT_EQ(read(banner + sizes + "3 2 4.\n2 3 -.2E-2\n1 1 15e-1\n"), three);
    EXPECT_EQ(read(banner + "3 3 5\n3 2 1\n2 3 -2e-3\n1 1 1\n3 2 3\n1 1 0.5\n"), three) << "duplicates are added";
    EXPECT_EQ(read(banner + "2 2 3\n1 1 0\n1 2 1e-999\n2 1 -4e-320\n"),
              (Triplets{{{0, 0}, 0}, {{0, 1}, 0}, {{1, 0}, -4e-320}}))
        << "zeros are kept, underflow is no error";
    EXPECT_EQ(read(banner + "2 2 0\n"), Triplets{});
    EXPECT_EQ(read(banner + "1 1 1\n1 1 9007199254740993\n"), (Triplets{{{0, 0}, 9007199254740992}}));
}

TEST_F(MatrixMarket, AcceptsEveryKind) {
    EXPECT_EQ(read("%%MatrixMarket matrix coordinate integer general\n2 2 2\n1 2 -7\n2 1 +8\n"),
              (Triplets{{{0, 1}, -7}, {{1, 0}, 8}}));
    EXPECT_EQ(read("%%MatrixMarket matrix coordinate pattern general\n2 2 2\n1 2\n2 1 \n"),
              (Triplets{{{0, 1}, 1}, {{1, 0}, 1}}));
    EXPECT_EQ(read("%%MatrixMarket matrix coordinate pattern symmetric\n2 2 2\n1 1\n2 1\n"),
              (Triplets{{{0, 0}, 1}, {{0, 1}, 1}, {{1, 0}, 1}}));
    const Triplets symmetric{{{0, 0}, 1}, {{0, 1}, 2}, {{0, 2}, 3}, {{1, 0}, 2}, {{1, 1}, 4},
                             {{1, 2}, 5}, {{2, 0}, 3}, {{2, 1}, 5}, {{2, 2}, 6}};
    const std::string kind = "%%MatrixMarket matrix coordinate real symmetric\n3 3 6\n";
    EXPECT_EQ(read(kind + "1 1 1\n2 1 2\n3 1 3\n2 2 4\n3 2 5\n3 3 6\n"), symmetric);
    EXPECT_EQ(read(kind + "1 1 1\n1 2 2\n1 3 3\n2 2 4\n2 3 5\n3 3 6\n"), symmetric) << "the upper triangle";
    EXPECT_EQ(read("%%MatrixMarket matrix array real symmetric\n3 3\n1\n2\n3\n4\n5\n6\n"), symmetric);
    const Triplets skew{{{0, 1}, -2}, {{0, 2}, -3}, {{1, 0}, 2}, {{1, 2}, -5}, {{2, 0}, 3}, {{2, 1}, 5}};
    EXPECT_EQ(read("%%MatrixMarket matrix coordinate real skew-symmetric\n3 3 3\n2 1 2\n3 1 3\n3 2 5\n"), skew);
    EXPECT_EQ(read("%%MatrixMarket matrix array integer skew-symmetric\n3 3\n2\n3\n5\n"), skew);
    EXPECT_EQ(read("%%MatrixMarket matrix coordinate real skew-symmetric\n1 1 1\n1 1 0\n"), (Triplets{{{0, 0}, 0}}));
    EXPECT_EQ(read("%%MatrixMarket matrix array real skew-symmetric\n1 1\n"), Triplets{});
    EXPECT_EQ(read("%%MatrixMarket matrix array real general\n2 2\n1\n0\n3\n4\n"),
              (Triplets{{{0, 0}, 1}, {{0, 1}, 3}, {{1, 1}, 4}}));
}

TEST_F(MatrixMarket, RefusesBadHeaders) {
    const auto kind = [&](const std::string& words) { return refused("%%MatrixMarket " + words + "\n1 1 1\n1 1 1\n"); };
    EXPECT_EQ(refused(""), "file.mtx is empty");
    EXPECT_EQ(refused("", "file.mtx.gz"), "file.mtx.gz is empty");
    EXPECT_EQ(refused("hello\n"),
              "file.mtx, line 1: not a Matrix Market file: it does not start with %%MatrixMarket (scipy.io.mmwrite "
              "writes such files)");
    EXPECT_EQ(refused("\n" + banner),
              "file.mtx, line 1: not a Matrix Market file: it does not start with %%MatrixMarket (scipy.io.mmwrite "
              "writes such files)");
    EXPECT_EQ(refused("%%MatrixMarket\n"),
              "file.mtx, line 1: the banner needs \"%%MatrixMarket matrix\", format, field and symmetry; it "
              "has 1 words");
    EXPECT_EQ(kind("vector coordinate real general"),
              "file.mtx, line 1: the object \"vector\" is not supported, only matrix");
    EXPECT_EQ(kind("matrix dense real general"),
              "file.mtx, line 1: the format \"dense\" is neither coordinate nor array");
    EXPECT_EQ(kind("matrix coordinate complex general"),
              "file.mtx, line 1: complex values, where real ones are asked for");
    EXPECT_EQ(kind("matrix coordinate double general"),
              "file.mtx, line 1: the field \"double\" is none of real, integer, complex and pattern");
    EXPECT_EQ(kind("matrix coordinate real Hermitian"),
              "file.mtx, line 1: a hermitian matrix is complex, not real: write symmetric");
    EXPECT_EQ(kind("matrix coordinate real diagonal"),
              "file.mtx, line 1: the symmetry \"diagonal\" is none of general, symmetric, skew-symmetric and "
              "hermitian");
    EXPECT_EQ(kind("matrix array pattern general"), "file.mtx, line 1: an array cannot be a pattern");
    EXPECT_EQ(kind("matrix coordinate pattern skew-symmetric"), "file.mtx, line 1: a pattern cannot be skew-symmetric");
    EXPECT_EQ(kind("matrix coordinate real general extra"),
              "file.mtx, line 1: the banner needs \"%%MatrixMarket matrix\", format, field and symmetry; it "
              "has 6 words");
}

TEST_F(MatrixMarket, RefusesBadSizes) {
    const auto sizes = [&](const std::string& line) { return refused(banner + "%\n" + line + "\n"); };
    EXPECT_EQ(refused(banner), "file.mtx ends before the line of sizes");
    EXPECT_EQ(refused(banner + "% only\n\n"), "file.mtx ends before the line of sizes");
    EXPECT_EQ(sizes("3 3"), "file.mtx, line 3: the size line needs rows, columns and entries; it has 2 words");
    EXPECT_EQ(refused("%%MatrixMarket matrix array real general\n2 2 4\n"),
              "file.mtx, line 2: the size line needs rows and columns; it has 3 words");
    EXPECT_EQ(sizes("3 x 1"), "file.mtx, line 3: \"x\" is not a size");
    EXPECT_EQ(sizes("3 3.0 1"), "file.mtx, line 3: \"3.0\" is not a size");
    EXPECT_EQ(sizes("3 -3 1"), "file.mtx, line 3: the size -3 is negative");
    EXPECT_EQ(sizes("3 3 99999999999999999999"), "file.mtx, line 3: the size 99999999999999999999 is too large");
    EXPECT_EQ(sizes("0 0 0"), "file.mtx, line 3: a 0 × 0 matrix is empty");
    EXPECT_EQ(sizes("3 4 1"), "file.mtx, line 3: a 3 × 4 matrix is not square");
    EXPECT_EQ(sizes("3 3 10"), "file.mtx, line 3: 10 entries are more than a 3 × 3 matrix has");
    EXPECT_EQ(sizes("2000000 2000000 3"), "file.mtx, line 3: 3 entries leave some of 2000000 rows empty");
    EXPECT_EQ(sizes("1000 1000 999999"), "file.mtx, line 3: announces 999999 entries, but the file ends after 0");
    EXPECT_EQ(sizes("1000000000 1000000000 1000000000000000"),
              "file.mtx, line 3: announces 1000000000000000 entries, but the file ends after 0");
    EXPECT_NE(sizes("9000000000000000000 9000000000000000000 9000000000000000000").find("use more ranks"),
              std::string::npos);
    EXPECT_EQ(refused("%%MatrixMarket matrix coordinate real symmetric\n3 4 1\n1 1 1\n"),
              "file.mtx, line 2: a symmetric matrix cannot be 3 × 4");
    EXPECT_EQ(refused("%%MatrixMarket matrix array real general\n4000000000 4000000000\n"),
              "file.mtx, line 2: a 4000000000 × 4000000000 array is too large");
}

TEST_F(MatrixMarket, RefusesBadEntries) {
    const auto second = [&](const std::string& line) { return refused(banner + "10 10 2\n3 3 1\n" + line + "\n"); };
    EXPECT_EQ(second("12 1 1"), "file.mtx, line 4: row index 12 is outside 1..10");
    EXPECT_EQ(second("0 1 1"), "file.mtx, line 4: row index 0 is outside 1..10");
    EXPECT_EQ(second("1 -4 1"), "file.mtx, line 4: column index -4 is outside 1..10");
    EXPECT_EQ(second("1 99999999999999999999999 1"),
              "file.mtx, line 4: column index 99999999999999999999999 is outside 1..10");
    EXPECT_EQ(second("1.0 1 1"), "file.mtx, line 4: \"1.0\" is not a row index");
    EXPECT_EQ(second("1 y 1"), "file.mtx, line 4: \"y\" is not a column index");
    EXPECT_EQ(second("1 1"), "file.mtx, line 4: less than row, column and value on the line");
    EXPECT_EQ(second("1"), "file.mtx, line 4: less than row, column and value on the line");
    EXPECT_EQ(second("1 1 1 1"), "file.mtx, line 4: more than row, column and value on the line");
    EXPECT_EQ(second("\n\n%\n1 1 1x"), "file.mtx, line 7: \"1x\" is not a number");
    for (const std::string word :
         {"x", "--1", "+-1", "++1", "1e", "1e+", "1.5.2", "0x10", ".", "1d", "1,5", "1d5d", "1%"})
        EXPECT_EQ(second("1 1 " + word), "file.mtx, line 4: \"" + word + "\" is not a number");
    for (const std::string word : {"nan", "NaN", "-inf", "Infinity", "1e999", "-1D999", "+1e400"})
        EXPECT_EQ(second("1 1 " + word).substr(0, 18), "file.mtx, line 4: ") << word;
    EXPECT_EQ(second("1 1 inf"), "file.mtx, line 4: \"inf\" is not a finite number");
    EXPECT_EQ(second("1 1 1e999"), "file.mtx, line 4: \"1e999\" is not a finite number");
    EXPECT_EQ(second("1 1 \x01\xff"), "file.mtx, line 4: \"??\" is not a number");
    EXPECT_EQ(second("1 1 " + std::string(50, 'z')),
              "file.mtx, line 4: \"" + std::string(40, 'z') + "…\" is not a number");
    EXPECT_EQ(second("% nothing"), "file.mtx, line 2: announces 2 entries, but the file ends after 1");
    EXPECT_EQ(second("1 1 1\n2 2 2"), "file.mtx, line 2: announces 2 entries, but the file has more");
    EXPECT_EQ(refused("%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 1.5\n"),
              "file.mtx, line 3: \"1.5\" is not an integer");
    EXPECT_EQ(refused("%%MatrixMarket matrix coordinate pattern general\n1 1 1\n1 1 1\n"),
              "file.mtx, line 3: more than row and column on the line");
    EXPECT_EQ(refused("%%MatrixMarket matrix array real general\n2 2\n1\n2\n3 4\n"),
              "file.mtx, line 5: more than one value on the line");
    EXPECT_EQ(refused("%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n"),
              "file.mtx, line 2: announces 4 entries, but the file ends after 3");
    EXPECT_EQ(refused("%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n1 1 3\n"),
              "file.mtx, line 3: a skew-symmetric matrix has a nonzero on its diagonal");
    EXPECT_EQ(refused("%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n2 1 3\n1 2 3\n"),
              "file.mtx, line 2: announces one triangle of a symmetric matrix, but the file has entries on "
              "both sides "
              "of the diagonal");
}

TEST_F(MatrixMarket, RefusesWhatItCannotRead) {
    EXPECT_EQ(refusal([&] { read_matrix(comm, folder + "/none.mtx", 1); }),
              "cannot open none.mtx: No such file or directory");
    EXPECT_EQ(refusal([&] { read_matrix(comm, "/", 1); }), "/ is a directory");
    const auto path = put("file.mtx.gz", banner + "3 3 3\n1 1 1.5\n2 3 -2e-3\n3 2 4\n");
    const auto size = broadcast(comm, std::to_string(std::filesystem::file_size(path)), 0);
    if (comm.rank() == 0) std::filesystem::resize_file(path, std::stoul(size) - 9);
    EXPECT_EQ(refusal([&] { read_matrix(comm, path, 1); }), "cannot read file.mtx.gz: unexpected end of file");
    put("file.mtx.gz", banner + "3 3 3\n1 1 1.5\n2 3 -2e-3\n3 2 4\n");
    if (comm.rank() == 0) {
        std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(-6, std::ios::end);
        file.put('\x55');
    }
    EXPECT_EQ(refusal([&] { read_matrix(comm, path, 1); }), "cannot read file.mtx.gz: incorrect data check");
    const std::string spaces(std::size_t{40} << 20, ' ');
    EXPECT_NE(refused(banner + "1 1 1\n" + spaces + "1 1 1\n").find("file.mtx has a line longer than "),
              std::string::npos);
}

TEST_F(MatrixMarket, ReadsArrays) {
    const auto partition = Partition::even(5, comm.size());
    const auto read_rhs = [&](const std::string& text) { return read_array(comm, put("b.mtx", text), partition, 2); };
    const std::string array = "%%MatrixMarket matrix array real general\n";
    const auto check = [&](const ArrayFile& file, const std::vector<double>& by_column) {
        EXPECT_EQ(static_cast<std::size_t>(file.columns) * 5, by_column.size());
        ASSERT_EQ(file.values.size(), static_cast<std::size_t>(file.columns * partition.rows(comm.rank())));
        for (Index i = 0; i < partition.rows(comm.rank()); ++i)
            for (int j = 0; j < file.columns; ++j)
                EXPECT_EQ(file.values[static_cast<std::size_t>(i * file.columns + j)],
                          by_column[static_cast<std::size_t>(j * 5 + i + partition.first(comm.rank()))]);
    };
    check(read_rhs(array + "5 1\n1\n2\n3\n4\n5\n"), {1, 2, 3, 4, 5});
    check(read_rhs(array + "5 2\n1\n2\n\n3\n4\n%\n5\n6\n0\n8\n9\n1e1\n"), {1, 2, 3, 4, 5, 6, 0, 8, 9, 10});
    check(read_rhs(banner + "5 2 3\n5 2 1\n1 1 2\n5 2 4\n"), {2, 0, 0, 0, 0, 0, 0, 0, 0, 5});
    EXPECT_EQ(refusal([&] { read_rhs(array + "4 1\n1\n2\n3\n4\n"); }), "A has 5 rows, the vectors in b.mtx have 4");
    EXPECT_EQ(refusal([&] { read_rhs(array + "5 65\n1\n"); }),
              "b.mtx, line 2: 65 columns are more than the 64 right-hand sides one solve can hold");
    EXPECT_EQ(refusal([&] { read_rhs(array + "5 0\n"); }), "b.mtx, line 2: a 5 × 0 matrix is empty");
    EXPECT_EQ(refusal([&] { read_rhs(array + "5 1\n1\n2\n3\n4\nnan\n"); }),
              "b.mtx, line 7: \"nan\" is not a finite number");
    EXPECT_EQ(refusal([&] { read_rhs(array + "5 1\n1\n2\n3\n4\n5\n6\n"); }),
              "b.mtx, line 2: announces 5 entries, but the file has more");
}

TEST_F(MatrixMarket, TellsProgressAfterTwoSeconds) {
    std::vector<double> told;
    const auto path = put("file.mtx", banner + "1 1 1\n1 1 1\n");
    read_matrix(comm, path, 1, [&](double fraction) { told.push_back(fraction); });
    EXPECT_TRUE(told.empty());

    const auto pipe = folder + "/pipe";
    if (comm.rank() == 0) {
        ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    }
    std::thread writer([&] {
        if (comm.rank() != 0) return;
        std::ofstream file(pipe);
        file << banner << "1 1 1\n1 1 7\n";
        std::this_thread::sleep_for(std::chrono::milliseconds(2100));
    });
    EXPECT_EQ(refusal([&] { read_matrix(comm, pipe, 1, [](double) { throw std::runtime_error("enough"); }); }),
              "enough");
    writer.join();
}

}  // namespace
}  // namespace stretto
