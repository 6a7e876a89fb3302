// SPDX-License-Identifier: BSD-3-Clause
// Complex Matrix Market files: read, refused, written and read again; generated complex problems.
#include "complex_systems.hpp"
#include "matrix_market_fixture.hpp"
#include "stretto/core/error.hpp"
#include "stretto/io/complex_problem.hpp"
#include "stretto/sparse/complex_structure.hpp"

using namespace stretto;

namespace {

struct ComplexFiles : MatrixMarket {
    MpiComm world;

    /// Entry (i, k) of the whole matrix, on every rank.
    Complex at(const DistributedRowsOf<Complex>& file, Global i, Global k) const {
        const auto& [partition, rows] = file;
        Complex value = 0;
        const Global first = partition.first(world.rank());
        if (i >= first && i < first + rows.rows())
            for (Global e = rows.start[i - first]; e < rows.start[i - first + 1]; ++e)
                if (rows.columns[e] == k) value = rows.values[e];
        return {all_sum(world, value.real()), all_sum(world, value.imag())};
    }
    std::string refusal_of(const std::string& text) const {
        const auto path = put("file.mtx", text);
        try {
            (void)read_matrix<Complex>(world, path, 1);
        } catch (const InputError& error) {
            return std::string(error.what()).substr(path.size());
        }
        return "";
    }
};

TEST_F(ComplexFiles, ReadsEveryKind) {
    const std::string banner = "%%MatrixMarket matrix ";
    const auto general = read_matrix<Complex>(
        world, put("a.mtx", banner + "coordinate complex general\n2 2 3\n1 1 1 2\n1 2 -3.5 0\n2 1 0 1e-1\n"), 2);
    EXPECT_EQ(at(general, 0, 0), Complex(1, 2));
    EXPECT_EQ(at(general, 0, 1), Complex(-3.5, 0));
    EXPECT_EQ(at(general, 1, 0), Complex(0, 0.1));
    const auto hermitian = read_matrix<Complex>(
        world, put("h.mtx", banner + "coordinate complex hermitian\n2 2 2\n1 1 4 0\n2 1 1 -2\n"), 1);
    EXPECT_EQ(at(hermitian, 1, 0), Complex(1, -2));
    EXPECT_EQ(at(hermitian, 0, 1), Complex(1, 2));
    const auto symmetric =
        read_matrix<Complex>(world, put("s.mtx", banner + "coordinate complex symmetric\n2 2 1\n2 1 1 -2\n"), 1);
    EXPECT_EQ(at(symmetric, 0, 1), Complex(1, -2));
    const auto skew =
        read_matrix<Complex>(world, put("k.mtx", banner + "array complex skew-symmetric\n2 2\n1 -2\n"), 1);
    EXPECT_EQ(at(skew, 0, 1), Complex(-1, 2));
    const auto real =
        read_matrix<Complex>(world, put("r.mtx", banner + "coordinate real symmetric\n2 2 1\n2 1 5\n"), 1);
    EXPECT_EQ(at(real, 0, 1), Complex(5, 0));
    EXPECT_TRUE(holds_complex(world, folder + "/a.mtx"));
    EXPECT_FALSE(holds_complex(world, folder + "/r.mtx"));
}

TEST_F(ComplexFiles, RefusesWhatIsNone) {
    const std::string hermitian = "%%MatrixMarket matrix coordinate complex hermitian\n2 2 1\n";
    EXPECT_EQ(refusal_of(hermitian + "1 1 1 2\n"),
              ", line 3: a hermitian matrix has a value on its diagonal that is not real");
    EXPECT_EQ(refusal_of(hermitian + "1 1 1\n"),
              ", line 3: less than row, column, real and imaginary part on the line");
    EXPECT_EQ(refusal_of(hermitian + "1 1 1 0 3\n"),
              ", line 3: more than row, column, real and imaginary part on the line");
    EXPECT_EQ(refusal_of(hermitian + "2 1 1 nan\n"), ", line 3: \"nan\" is not a finite number");
}

TEST_F(ComplexFiles, WritesWhatItReads) {
    for (const char* name : {"magnetic2d:5x4", "helmholtz2d:3x7", "gauge3d:3"}) {
        const auto problem = load_complex_problem(world, name);
        const auto path = folder + "/written.mtx";
        const bool hermitian = std::string(name).find("helmholtz") == std::string::npos;
        for (const auto stored : {Stored::all, Stored::lower_of_hermitian}) {
            if (stored == Stored::lower_of_hermitian && !hermitian) continue;
            write_matrix(world, path, problem.partition, problem.rows, stored);
            const auto again = read_matrix<Complex>(world, path, 1);
            EXPECT_EQ(again.rows.start, problem.rows.start);
            EXPECT_EQ(again.rows.columns, problem.rows.columns);
            EXPECT_EQ(again.rows.values, problem.rows.values);
        }
        const std::vector<Complex> x(2 * static_cast<std::size_t>(problem.rows.rows()), Complex(1. / 3, -1e-200));
        write_array(world, folder + "/x.mtx", problem.partition, x, 2);
        EXPECT_EQ(read_array<Complex>(world, folder + "/x.mtx", problem.partition, 1).values, x);
    }
}

TEST_F(ComplexFiles, StructuresAreFound) {
    const auto look = [&](const std::string& name) {
        auto [partition, rows] = load_complex_problem(world, name);
        return analyse(CsrMatrix<Complex>(world, std::move(partition), std::move(rows)));
    };
    for (const char* name : {"magnetic2d:9x8", "gauge2d:9x8", "gauge3d:4"}) {
        const auto found = look(name);
        EXPECT_TRUE(found.hermitian && !found.symmetric && !found.skew && found.positive_diagonal) << name;
    }
    const auto helmholtz = look("helmholtz3d:4");
    EXPECT_TRUE(!helmholtz.hermitian && helmholtz.symmetric && !helmholtz.positive_diagonal);
    EXPECT_TRUE(look("poisson2d:5").hermitian);
    // A few rows with entries that are out of proportion, as penalties are, hide nothing, and no scale does.
    for (const double penalty : {1e12, 1e30, 1e156})
        for (const double scale : {1.0, 1e-300, 1e140}) {
            auto [partition, rows] = load_complex_problem(world, "helmholtz2d:20,points=20");
            const Global first = partition.first(world.rank());
            for (Index i = 0; i < rows.rows(); ++i)
                for (auto k = rows.start[static_cast<std::size_t>(i)]; k < rows.start[static_cast<std::size_t>(i) + 1];
                     ++k) {
                    auto& value = rows.values[static_cast<std::size_t>(k)];
                    if (rows.columns[static_cast<std::size_t>(k)] == first + i && (first + i) % 20 == 0)
                        value += penalty;
                    value *= scale;
                }
            const auto found = analyse(CsrMatrix<Complex>(world, std::move(partition), std::move(rows)));
            EXPECT_TRUE(!found.hermitian && found.symmetric && !found.skew) << penalty << " times " << scale;
        }
    EXPECT_THROW(look("magnetic2d"), InputError);
    EXPECT_THROW(look("magnetic2d:5,flux=2"), InputError);
}

}  // namespace
