// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cmath>

#include "allocations.hpp"
#include "stretto/core/collective.hpp"
#include "stretto/core/random.hpp"
#include "stretto/hmatrix/hmatrix.hpp"
#include "stretto/hmatrix/precond.hpp"
#include "stretto/solvers/solve.hpp"

namespace stretto {
namespace {

struct NamedGeometry {
    std::string name;
    Geometry geometry;
};

/// On a sphere (Fibonacci), in a ball, on a line, in a plane, all at one place, some places many times, two clouds.
std::vector<NamedGeometry> geometries(Index n) {
    std::vector<NamedGeometry> all;
    const auto add = [&](const char* name, auto&& point) {
        auto& last = all.emplace_back(NamedGeometry{name, {}});
        for (Index i = 0; i < n; ++i) last.geometry.points.push_back(point(i));
    };
    add("sphere", [&](Index i) {
        const double z = 1 - 2 * (i + 0.5) / n, r = std::sqrt(1 - z * z), a = 2.399963229728653 * i;
        return Point{r * std::cos(a), r * std::sin(a), z};
    });
    add("cube", [](Index i) { return Point{uniform(1, i, 0), uniform(1, i, 1), uniform(1, i, 2)}; });
    add("line", [](Index i) { return Point{uniform(2, i, 0), 0, 0}; });
    add("plane", [](Index i) { return Point{uniform(3, i, 0), 1, uniform(3, i, 1)}; });
    add("coincident", [](Index) { return Point{1, 2, 3}; });
    add("repeated", [](Index i) { return Point{static_cast<double>(i % 7), 0, static_cast<double>(i % 3)}; });
    add("clouds", [](Index i) {
        return Point{(i % 2 ? 10 : 0) + 0.1 * uniform(4, i, 0), uniform(4, i, 1), 0.01 * uniform(4, i, 2)};
    });
    return all;
}

struct NamedKernel {
    std::string name;
    std::function<double(const Point&, const Point&)> value;
};
const std::vector<NamedKernel> kernels{
    {"single layer", [](const Point& x, const Point& y) { return 1 / (norm(x - y) + 1e-2); }},
    {"gaussian", [](const Point& x, const Point& y) { return std::exp(-dot(x - y, x - y)) + (&x == &y ? 0.1 : 0); }},
    {"exponential", [](const Point& x, const Point& y) { return std::exp(-3 * norm(x - y)); }},
    {"oscillating", [](const Point& x, const Point& y) { return std::cos(5 * norm(x - y)) / (norm(x - y) + 1e-2); }},
    {"unsymmetric",
     [](const Point& x, const Point& y) { return (x[0] - y[0] + 2 * x[2]) / (dot(x - y, x - y) + 1e-2); }},
};

Fill fill_of(const NamedKernel& kernel, const Geometry& geometry) {
    return entries([&kernel, &points = geometry.points](Index i, Index j) {
        return kernel.value(points[static_cast<std::size_t>(i)], points[static_cast<std::size_t>(j)]);
    });
}

/// ‖(A − H) X‖_F / ‖A X‖_F for m random columns, all entries of A computed; and y for whoever asks.
double product_error(const HMatrix& H, const Fill& fill, int m, std::vector<double>* result = nullptr) {
    const Index n = static_cast<Index>(H.rows()), local = H.local_rows();
    std::vector<double> x(static_cast<std::size_t>(local) * static_cast<std::size_t>(m)), y(x.size(), NAN);
    const MultiVector<double> X(x.data(), local, m), Y(y.data(), local, m);
    for (Index i = 0; i < local; ++i)
        for (int c = 0; c < m; ++c) X(i, c) = uniform(9, H.original(i), c);
    H.apply(X, Y);
    std::vector<Index> numbers(static_cast<std::size_t>(n));
    for (Index j = 0; j < n; ++j) numbers[static_cast<std::size_t>(j)] = j;
    std::vector<double> row(static_cast<std::size_t>(n));
    double error = 0, size = 0;
    for (Index i = 0; i < local; ++i) {
        const Index number = H.original(i);
        fill({&number, 1}, numbers, row.data());
        for (int c = 0; c < m; ++c) {
            double sum = 0;
            for (Index j = 0; j < n; ++j) sum += row[static_cast<std::size_t>(j)] * uniform(9, j, c);
            error += (sum - Y(i, c)) * (sum - Y(i, c));
            size += sum * sum;
        }
    }
    if (result) *result = H.gather(Y);
    return std::sqrt(all_sum(H.comm(), error) / all_sum(H.comm(), size));
}

TEST(HMatrix, BlocksCoverTheMatrixExactlyOnce) {
    for (const auto& [name, geometry] : geometries(700))
        for (const auto bisection : {Bisection::geometric, Bisection::principal})
            for (const Index leaf : {8, 20, 64}) {
                const ClusterTree tree(geometry, leaf, bisection);
                std::vector<int> covered(700 * 700);
                for (const auto& [row, col, admissible] : block_list(tree, 2))
                    for (Index i = tree[row].begin; i < tree[row].end; ++i)
                        for (Index j = tree[col].begin; j < tree[col].end; ++j) ++covered[i * 700 + j];
                EXPECT_EQ(std::ranges::count(covered, 1), 700 * 700) << name;
                std::vector<Index> order(tree.order().begin(), tree.order().end());
                std::ranges::sort(order);
                for (Index i = 0; i < 700; ++i) EXPECT_EQ(order[i], i);
                for (const auto& cluster : tree.clusters()) EXPECT_TRUE(!cluster.leaf() || cluster.size() <= leaf);
            }
}

TEST(HMatrix, RanksCoverTheMatrixExactlyOnce) {
    MpiComm comm;
    const auto geometry = geometries(900).front().geometry;
    for (const bool symmetric : {false, true}) {
        HMatrixOptions options;
        options.symmetric = symmetric;
        const HMatrix H(comm, geometry, fill_of(kernels[0], geometry), options);
        std::vector<double> covered(900 * 900);
        for (const auto& block : H.blocks())
            for (Index i = block.row; i < block.row + block.rows; ++i)
                for (Index j = block.col; j < block.col + block.cols; ++j) {
                    ++covered[i * 900 + j];
                    if (block.mirrored) ++covered[j * 900 + i];
                }
        MPI_Allreduce(MPI_IN_PLACE, covered.data(), 900 * 900, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        EXPECT_EQ(std::ranges::count(covered, 1.0), 900 * 900);
        EXPECT_EQ(H.local_rows() == 0, comm.size() > 900) << "a rank has nothing to do";
    }
}

TEST(HMatrix, KeepsItsTolerance) {
    MpiComm comm;
    for (const auto& [name, geometry] : geometries(400))
        for (const auto& kernel : kernels)
            for (const double epsilon : {1e-2, 1e-6, 1e-9})
                for (const Index leaf : {16, 40}) {
                    if (leaf == 40 && epsilon == 1e-6) continue;
                    HMatrixOptions options;
                    options.epsilon = epsilon;
                    options.leaf = leaf;
                    options.pivoting = leaf == 16 ? Pivoting::aca : Pivoting::aca_plus;
                    options.bisection = leaf == 16 ? Bisection::geometric : Bisection::principal;
                    const auto fill = fill_of(kernel, geometry);
                    const HMatrix H(comm, geometry, fill, options);
                    EXPECT_LE(product_error(H, fill, 2), epsilon)
                        << name << ", " << kernel.name << ", " << epsilon << ", leaf " << leaf;
                }
}

TEST(HMatrix, ManyColumnsAreOneByOne) {
    MpiComm comm;
    const auto geometry = geometries(500)[6].geometry;
    const auto fill = fill_of(kernels[0], geometry);
    for (const bool symmetric : {false, true})
        for (const int threads : {1, 3}) {
            HMatrixOptions options;
            options.symmetric = symmetric;
            options.threads = threads;
            options.leaf = 16;
            const HMatrix H(comm, geometry, fill, options);
            EXPECT_LE(product_error(H, fill, 1), options.epsilon);
            const Index local = H.local_rows();
            for (const int m : {2, 3, 7}) {
                const auto size = static_cast<std::size_t>(local) * static_cast<std::size_t>(m);
                std::vector<double> x(size), y(size), x1(static_cast<std::size_t>(local)), y1(x1.size());
                const MultiVector<double> X(x.data(), local, m), Y(y.data(), local, m);
                for (Index i = 0; i < local; ++i)
                    for (int c = 0; c < m; ++c) X(i, c) = uniform(5, H.original(i), c);
                H.apply(X, Y);
                for (int c = 0; c < m; ++c) {
                    for (Index i = 0; i < local; ++i) x1[static_cast<std::size_t>(i)] = X(i, c);
                    H.apply({x1.data(), local, 1}, {y1.data(), local, 1});
                    for (Index i = 0; i < local; ++i) ASSERT_NEAR(Y(i, c), y1[static_cast<std::size_t>(i)], 1e-9);
                }
            }
        }
}

TEST(HMatrix, TransposedProducts) {
    MpiComm comm;
    for (const auto& [name, geometry] : geometries(500))
        for (const auto& kernel : {kernels[0], kernels[4]})
            for (const int threads : {1, 3})
                for (const int m : {1, 3, 5}) {
                    HMatrixOptions options;
                    options.symmetric = kernel.name != "unsymmetric" && threads == 3;
                    options.threads = threads;
                    options.leaf = 16;
                    const HMatrix H(comm, geometry, fill_of(kernel, geometry), options);
                    const Index local = H.local_rows();
                    std::vector<double> u(static_cast<std::size_t>(local * m)), v(u), Hu(u), Hv(u);
                    const auto columns = [&](std::vector<double>& x) {
                        return MultiVector<double>(x.data(), local, m);
                    };
                    for (Index i = 0; i < local; ++i)
                        for (int c = 0; c < m; ++c) {
                            columns(u)(i, c) = uniform(11, H.original(i), c);
                            columns(v)(i, c) = uniform(12, H.original(i), c);
                        }
                    for (int again = 0; again < 2; ++again) {
                        H.apply(columns(u), columns(Hu));
                        H.apply_transpose(columns(v), columns(Hv));
                    }
                    for (int c = 0; c < m; ++c) {
                        double left = 0, right = 0, size = 0;
                        for (Index i = 0; i < local; ++i) {
                            left += columns(v)(i, c) * columns(Hu)(i, c);
                            right += columns(Hv)(i, c) * columns(u)(i, c);
                            size += columns(Hu)(i, c) * columns(Hu)(i, c);
                        }
                        left = all_sum(comm, left);
                        right = all_sum(comm, right);
                        EXPECT_NEAR(left, right, 1e-11 * std::sqrt(500 * all_sum(comm, size)))
                            << name << kernel.name << m;
                    }
                }
}

/// A communicator of one rank that delivers what travels when it is waited for, and counts the sums meanwhile.
class LateComm final : public Comm {
public:
    LateComm() : Comm(MPI_COMM_SELF) {}
    Pending start_sum(std::span<const double> mine, std::span<double> total) override {
        std::ranges::copy(mine, total.begin());
        ++sums;
        return {};
    }
    std::function<void()> deliver;
    int sums = 0, gathers = 0, hidden = 0;

private:
    Pending post_exchange(std::span<const Message>, std::span<const Message>) override {
        sums_before_ = sums;
        return {*this, 0};
    }
    std::optional<Clock::time_point> finish(int) override {
        ++gathers;
        hidden += sums > sums_before_;
        deliver();
        return Clock::now();
    }
    int sums_before_ = 0;
};

struct Bidiagonal {
    void apply(MultiVector<double> x, MultiVector<double> y) const {
        for (Index i = 0; i < x.rows(); ++i) y(i) = (1 + 0.02 * i) * x(i) - (i > 0 ? 0.5 * x(i - 1) : 0);
    }
    double bytes(int) const { return 0; }
};
/// The same, but y is not there before it has been waited for.
struct LateBidiagonal : Bidiagonal {
    LateComm* comm;
    mutable std::vector<double> y_then;

    Pending start_apply(MultiVector<double> x, MultiVector<double> y) const {
        y_then.resize(static_cast<std::size_t>(x.rows()));
        Bidiagonal::apply(x, {y_then.data(), x.rows(), 1});
        std::ranges::fill(y.values(), NAN);
        comm->deliver = [y, this] { std::ranges::copy(y_then, y.values().begin()); };
        return comm->start_exchange({}, {});
    }
};
struct Diagonal {
    void apply(MultiVector<double> x, MultiVector<double> y) const {
        for (Index i = 0; i < x.rows(); ++i) y(i) = x(i) / (1 + 0.02 * i);
    }
    double bytes(int) const { return 0; }
};

TEST(Replicated, PipelinedBicgstabHidesTheGatherBehindSums) {
    LateComm comm;
    const LateBidiagonal late{{}, &comm, {}};
    const Diagonal M;
    for (const bool preconditioned : {false, true}) {
        std::vector<double> b(200, 1.0), x(200, 0.0), y(200, 0.0);
        SolveOptions options;
        options.method = "pipelined_bicgstab:check=0";
        options.rtol = 1e-10;
        const AnyOperator<double> with = preconditioned ? AnyOperator<double>(M) : AnyOperator<double>();
        comm.gathers = comm.hidden = 0;
        const auto gathered = solve<double>(comm, late, with, {b.data(), 200, 1}, {x.data(), 200, 1}, options);
        const int gathers = comm.gathers;
        EXPECT_TRUE(gathered.converged());
        EXPECT_GE(gathers, 2 * gathered.iterations);
        EXPECT_GE(comm.hidden, gathers - 2);  // all but the first and the last
        const auto usual = solve<double>(comm, Bidiagonal{}, with, {b.data(), 200, 1}, {y.data(), 200, 1}, options);
        EXPECT_EQ(comm.gathers, gathers);
        EXPECT_NEAR(gathered.iterations, usual.iterations, 2);
        for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(x[i], y[i], 1e-7);
    }
}

TEST(DiagonalBlocks, EverywhereIsTheSameAsInParts) {
    MpiComm comm;
    const auto geometry = geometries(500)[1].geometry;
    HMatrixOptions options;
    options.leaf = 16;
    const HMatrix H(comm, geometry, fill_of(kernels[4], geometry), options);
    const DiagonalBlocks parts(H), whole(H, true);
    std::vector<double> r(500), z(500, NAN), w(500, NAN);
    for (Index i = 0; i < 500; ++i) r[static_cast<std::size_t>(i)] = uniform(3, i);
    const auto all = [](std::vector<double>& x) { return MultiVector<double>(x.data(), 500, 1); };
    for (const bool transposed : {false, true}) {
        const auto apply = [&](const DiagonalBlocks& M, MultiVector<double> from, MultiVector<double> to) {
            transposed ? M.apply_transpose(from, to) : M.apply(from, to);
        };
        apply(parts, H.rows_of(all(r), comm.rank()), H.rows_of(all(z), comm.rank()));
        H.start_gather(all(z)).wait();
        apply(whole, all(r), all(w));
        EXPECT_EQ(z, w);
    }
}

TEST(InnerIterations, FlexibleMethodsTakeThem) {
    MpiComm comm;
    const auto geometry = geometries(800).front().geometry;
    const auto fill = fill_of(kernels[0], geometry);
    HMatrixOptions options;
    const HMatrix H(comm, geometry, fill, options);
    options.max_rank = 1;
    options.partition = H.partition();
    const HMatrix coarse(comm, geometry, fill, options);
    const InnerIterations inner(coarse, 20);
    const Index n = H.local_rows();
    for (const int m : {1, 2}) {
        const auto size = static_cast<std::size_t>(n * m);
        std::vector<double> b(size), x(size);
        for (std::size_t i = 0; i < size; ++i) b[i] = std::sin(0.1 * static_cast<double>(i));
        int plain = 0;
        for (const char* method : {"gmres", "gmres:flexible=1", "gmres:flexible=1,orth=mgs", "bicgstab"}) {
            std::ranges::fill(x, 0.0);
            SolveOptions solver;
            solver.method = method;
            const bool first = plain == 0;
            const AnyOperator<double> M = first ? AnyOperator<double>() : AnyOperator<double>(inner);
            const auto result = solve<double>(comm, H, M, {b.data(), n, m}, {x.data(), n, m}, solver);
            EXPECT_TRUE(result.converged()) << method;
            if (first)
                plain = result.iterations;
            else
                EXPECT_LT(result.iterations, plain / 2) << method;
        }
    }
}

TEST(HMatrix, RanksAgreeWithOne) {
    MpiComm comm, alone(MPI_COMM_SELF);
    for (const auto& [name, geometry] : geometries(500)) {
        const auto fill = fill_of(kernels[2], geometry);
        HMatrixOptions options;
        options.epsilon = 1e-8;
        options.leaf = 16;
        const HMatrix together(comm, geometry, fill, options), one(alone, geometry, fill, options);
        std::vector<double> y, y1;
        product_error(together, fill, 2, &y);
        product_error(one, fill, 2, &y1);
        double error = 0, size = 0;
        for (std::size_t i = 0; i < y.size(); ++i) {
            error += (y[i] - y1[i]) * (y[i] - y1[i]);
            size += y1[i] * y1[i];
        }
        EXPECT_LE(std::sqrt(error / size), 2e-8) << name;
        EXPECT_EQ(one.received(), 0);
    }
}

TEST(HMatrix, SymmetricKernelsAreStoredOnce) {
    MpiComm alone(MPI_COMM_SELF);
    const auto geometry = geometries(2000).front().geometry;
    const auto fill = fill_of(kernels[0], geometry);
    HMatrixOptions options;
    const HMatrix whole(alone, geometry, fill, options);
    options.symmetric = true;
    const HMatrix half(alone, geometry, fill, options);
    EXPECT_LT(static_cast<double>(half.statistics().values), 0.6 * static_cast<double>(whole.statistics().values));
    EXPECT_LT(half.statistics().bytes, 0.6 * whole.statistics().bytes);
    EXPECT_LE(product_error(half, fill, 2), options.epsilon);
}

TEST(HMatrix, ZeroBlocksTakeNothing) {
    MpiComm comm;
    const auto geometry = geometries(800)[2].geometry;  // a line
    const auto fill = entries([&](Index i, Index j) {
        const double distance =
            std::abs(geometry.points[static_cast<std::size_t>(i)][0] - geometry.points[static_cast<std::size_t>(j)][0]);
        return std::max(0.0, 0.05 - distance);
    });
    HMatrixOptions options;
    options.leaf = 16;
    const HMatrix H(comm, geometry, fill, options);
    EXPECT_GT(H.statistics().zero_blocks, H.statistics().low_rank_blocks / 2);
    EXPECT_LE(product_error(H, fill, 2), options.epsilon);
    // A rank needs its neighbours' columns alone.
    if (comm.size() == 4) {
        EXPECT_LT(H.received(), 600 - 200);
    }
}

TEST(HMatrix, SmallerThanALeaf) {
    MpiComm comm;
    for (const Index n : {1, 2, 7, 8, 9, 63})
        for (const auto& [name, geometry] : geometries(n)) {
            const auto fill = fill_of(kernels[1], geometry);
            const HMatrix H(comm, geometry, fill);
            EXPECT_LE(product_error(H, fill, 2), 1e-6) << name << ", n = " << n;
            EXPECT_EQ(all_sum(comm, Global{H.local_rows()}), n);
        }
}

TEST(HMatrix, SinglePrecisionKeepsTheTolerance) {
    MpiComm comm;
    const auto geometry = geometries(800).front().geometry;
    for (const auto& kernel : kernels)
        for (const double epsilon : {1e-3, 1e-6}) {
            const auto fill = fill_of(kernel, geometry);
            HMatrixOptions options;
            options.epsilon = epsilon;
            const HMatrix H(comm, geometry, fill, options);
            options.precision = Precision::double_only;
            const HMatrix twice(comm, geometry, fill, options);
            EXPECT_GT(H.statistics().single, 0.9) << kernel.name << epsilon;
            EXPECT_EQ(twice.statistics().single, 0);
            EXPECT_LT(H.statistics().bytes, 0.6 * twice.statistics().bytes);
            EXPECT_LE(product_error(H, fill, 1), epsilon) << kernel.name;
        }
}

TEST(HMatrix, RankOne) {
    MpiComm comm;
    const auto geometry = geometries(1000).front().geometry;
    const auto fill = fill_of(kernels[0], geometry);
    HMatrixOptions options;
    options.max_rank = 1;
    const HMatrix H(comm, geometry, fill, options);
    EXPECT_EQ(H.statistics().max_rank, 1);
    EXPECT_LT(product_error(H, fill, 2), 0.3);
}

TEST(HMatrix, DiagonalBlocks) {
    MpiComm comm;
    const auto geometry = geometries(300)[1].geometry;
    const auto fill = fill_of(kernels[2], geometry);
    HMatrixOptions options;
    options.threads = 2;
    options.leaf = 20;
    const HMatrix H(comm, geometry, fill, options);
    Index covered = 0;
    for (const auto& [begin, rows, values] : H.diagonal_blocks()) {
        EXPECT_EQ(begin, covered);
        covered += rows;
        for (Index j = 0; j < rows; ++j)
            for (Index i = 0; i < rows; ++i) {
                double value = 0;
                const Index row = H.original(begin + i), col = H.original(begin + j);
                fill({&row, 1}, {&col, 1}, &value);
                EXPECT_NEAR(values[static_cast<std::size_t>(j * rows + i)], value, 1e-6);
            }
    }
    EXPECT_EQ(covered, H.local_rows());
}

void expect_refused(const Geometry& geometry, const Fill& fill, const HMatrixOptions& options,
                    const std::string& message) {
    MpiComm comm;
    try {
        const HMatrix H(comm, geometry, fill, options);
        ADD_FAILURE() << "accepted, instead of: " << message;
    } catch (const InputError& error) {
        EXPECT_NE(std::string(error.what()).find(message), std::string::npos) << error.what();
    }
}

TEST(HMatrix, BadInputIsRefusedOnAllRanks) {
    auto geometry = geometries(400).front().geometry;
    const auto fill = fill_of(kernels[0], geometry);
    HMatrixOptions options;
    options.epsilon = 0;
    expect_refused(geometry, fill, options, "between 0 and 1");
    options.epsilon = 1e-3;
    options.leaf = 4;
    expect_refused(geometry, fill, options, "leaf=4");
    options.leaf = 32;
    options.eta = -1;
    expect_refused(geometry, fill, options, "eta=-1");
    options.eta = 2;
    double announced = 0;
    options.announce = [&](const HMatrixEstimate& estimate) { announced = estimate.peak; };
    options.memory_limit = 1e4;
    expect_refused(geometry, fill, options, "GB on a rank");
    EXPECT_GT(announced, 1e4);
    options.memory_limit = 1e9;
    expect_refused(geometry, entries([](Index i, Index j) { return i == 3 && j == 3 ? NAN : 1.0 + i + j * j; }),
                   options, "the kernel is nan at points 4 and 4");
    expect_refused(
        geometry, [](auto, auto, double*) { throw InputError("the kernel's own trouble"); }, options, "own trouble");
    std::atomic<bool> interrupt = true;
    options.interrupt = &interrupt;
    expect_refused(geometry, fill, options, "interrupted");
    geometry.points[5][1] = NAN;
    expect_refused(geometry, fill, {}, "point 6");
    expect_refused({}, fill, {}, "at least one point");
}

TEST(HMatrix, TheEstimateIsAnEstimate) {
    MpiComm comm;
    const auto geometry = geometries(3000).front().geometry;
    for (const double epsilon : {1e-3, 1e-6}) {
        HMatrixOptions options;
        options.epsilon = epsilon;
        double stored = 0;
        options.announce = [&](const HMatrixEstimate& estimate) { stored = estimate.stored; };
        const HMatrix H(comm, geometry, fill_of(kernels[0], geometry), options);
        EXPECT_NEAR(stored, H.statistics().bytes, 0.25 * H.statistics().bytes);
    }
}

TEST(HMatrix, ProductsAllocateNothingAfterTheFirst) {
    MpiComm comm;
    const auto geometry = geometries(600).front().geometry;
    const HMatrix H(comm, geometry, fill_of(kernels[0], geometry));
    std::vector<double> x(static_cast<std::size_t>(H.local_rows()), 1.0), y(x.size());
    H.apply({x.data(), H.local_rows(), 1}, {y.data(), H.local_rows(), 1});
    if (comm.size() > 1) return;  // MPI libraries may allocate
    const auto before = allocations.load();
    H.apply({x.data(), H.local_rows(), 1}, {y.data(), H.local_rows(), 1});
    EXPECT_EQ(allocations.load(), before);
}

}  // namespace
}  // namespace stretto
