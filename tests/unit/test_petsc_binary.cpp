// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/io/petsc_binary.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "matrix_market_fixture.hpp"
#include "stretto/io/right_hand_side.hpp"

namespace stretto {
namespace {

/// What PETSc writes: all numbers big-endian, indices of `Int`.
template <class Int>
class Written {
public:
    Written& index(std::int64_t value) { return add(static_cast<Int>(value)); }
    Written& number(double value) { return add(std::bit_cast<std::uint64_t>(value)); }
    Written& matrix(Global rows, Global columns, const std::vector<std::vector<std::pair<Global, double>>>& entries) {
        std::int64_t nonzeros = 0;
        for (const auto& row : entries) nonzeros += static_cast<std::int64_t>(row.size());
        index(1211216).index(rows).index(columns).index(nonzeros);
        for (const auto& row : entries) index(static_cast<std::int64_t>(row.size()));
        for (const auto& row : entries)
            for (const auto& [column, value] : row) index(column);
        for (const auto& row : entries)
            for (const auto& [column, value] : row) number(value);
        return *this;
    }
    Written& vector(const std::vector<double>& values) {
        index(1211214).index(static_cast<std::int64_t>(values.size()));
        for (const double value : values) number(value);
        return *this;
    }
    std::string text;

private:
    template <class T>
    Written& add(T value) {
        for (int byte = sizeof(T) - 1; byte >= 0; --byte)
            text += static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * byte) & 0xff);
        return *this;
    }
};

class PetscBinary : public MatrixMarket {
protected:
    std::string refused(const std::string& text) const {
        return refusal([&] { (void)read_matrix(comm, put("a.petsc", text), 1); });
    }
};

const std::vector<std::vector<std::pair<Global, double>>> three_rows{
    {{0, 4.0}, {2, -1.5}}, {}, {{2, 1e300}, {0, -0.0}}};
const Triplets as_triplets{{{0, 0}, 4.0}, {{0, 2}, -1.5}, {{2, 0}, -0.0}, {{2, 2}, 1e300}};

void reads_matrix_and_vector(const MpiComm& comm, const std::string& path, const Triplets& found) {
    EXPECT_EQ(found, as_triplets);
    const auto partition = Partition::even(3, comm.size());
    const auto b = right_hand_sides(comm, path, 0, partition, 1, {});
    EXPECT_EQ(b.columns, 1);
    const std::vector<double> all{1, 2, -3};
    EXPECT_EQ(b.values, std::vector<double>(all.begin() + partition.first(comm.rank()),
                                            all.begin() + partition.first(comm.rank() + 1)));
}

TEST_F(PetscBinary, ReadsMatrixAndVectorOfOneFile) {
    const auto narrow = put("narrow.petsc", Written<std::int32_t>().matrix(3, 3, three_rows).vector({1, 2, -3}).text);
    reads_matrix_and_vector(comm, narrow, gather(read_matrix(comm, narrow, 2)));
    const auto wide = put("wide.petsc", Written<std::int64_t>().vector({1, 2, -3}).matrix(3, 3, three_rows).text);
    reads_matrix_and_vector(comm, wide, gather(read_matrix(comm, wide, 2)));
}

TEST_F(PetscBinary, RefusesWhatItCannotRead) {
    using File = Written<std::int32_t>;
    const auto text = File().matrix(3, 3, three_rows).text;
    EXPECT_EQ(refused(text.substr(0, text.size() - 1)), "a.petsc is cut off: 59 bytes follow where 60 are announced");
    EXPECT_EQ(refused(File().matrix(2, 3, {{}, {}}).text), "a.petsc: a 2 × 3 matrix is not square");
    EXPECT_EQ(refused(File().matrix(1, 1, {{{3, 1.0}}}).text), "a.petsc: row 1 has column 4 of none");
    EXPECT_EQ(refused(File().matrix(2, 2, {{}, {{1, 1.0}, {1, 2.0}}}).text), "a.petsc: row 2 has column 2 twice");
    EXPECT_EQ(refused(File().vector({1, 2}).text), "a.petsc has no matrix");
    EXPECT_EQ(refused(File().vector({1, 2}).index(7).text),
              "a.petsc: the object at byte 24 is neither a matrix nor a vector, but of class 7");
    EXPECT_EQ(refused(File().index(1211216).index(2).index(2).index(-1).text),
              "a.petsc: dense matrices are not read: write a sparse one (AIJ)");
    EXPECT_EQ(refused(File().index(1211216).index(2).index(2).index(1).index(2).index(-1).index(0).number(1).text),
              "a.petsc: a row has less than no nonzeros");
    const auto path = put("b.petsc", File().vector({1, 2}).text);
    EXPECT_EQ(refusal([&] { (void)read_array(comm, path, Partition::even(3, comm.size()), 1); }),
              "A has 3 rows, the vector in b.petsc has 2");
}

}  // namespace
}  // namespace stretto
