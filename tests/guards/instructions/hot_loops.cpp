// SPDX-License-Identifier: BSD-3-Clause
// For callgrind: the product in each storage, and iterations of each method without products and sums, as parts of its
// output that bear their names. `units` of a name are what its instructions are to be divided by.
#include <fmt/core.h>
#include <valgrind/callgrind.h>

#include <vector>

#include "stretto/driver/registry.hpp"
#include "stretto/driver/solver.hpp"
#include "stretto/io/generators.hpp"
#include "stretto/sparse/csr.hpp"

using namespace stretto;

namespace {

bool counting = false;

void toggle() {
    counting = !counting;
    CALLGRIND_TOGGLE_COLLECT;
}

void finish(const std::string& name, double units) {
    CALLGRIND_DUMP_STATS_AT(name.c_str());
    fmt::print("{} {}\n", name, units);
}

/// Does not count until the end of the scope.
class Pause {
public:
    Pause() : was_(counting) {
        if (was_) toggle();
    }
    Pause(const Pause&) = delete;
    ~Pause() {
        if (was_) toggle();
    }

private:
    bool was_;
};

/// What the MPI library does is not counted.
class Uncounted final : public WrappedComm {
public:
    using WrappedComm::WrappedComm;
    Pending start_sum(std::span<const double> mine, std::span<double> total) override {
        const Pause pause;
        inner_.start_sum(mine, total).wait();
        return {};
    }

private:
    Pending post_exchange(std::span<const Message>, std::span<const Message>) override { return {}; }
    std::optional<Clock::time_point> finish(int) override { return {}; }
};

/// Diagonal, eigenvalues from 1 to 11.
struct Diagonal {
    void apply(MultiVector<double> x, MultiVector<double> y) const {
        const Pause pause;
        for (Index row = 0; row < x.rows(); ++row)
            for (int j = 0; j < x.columns(); ++j) {
                const auto at =
                    static_cast<std::size_t>(row) * static_cast<std::size_t>(x.columns()) + static_cast<std::size_t>(j);
                y.data()[at] = (1 + 10.0 * row / x.rows()) * x.data()[at];
            }
    }
    void apply_transpose(MultiVector<double> x, MultiVector<double> y) const { apply(x, y); }
    double bytes(int) const { return 0; }
};

/// Each unknown three times, all of a node coupled with all of its neighbours'.
LocalRows<double> nodes_of_three(const LocalRows<double>& nodes) {
    LocalRows<double> rows;
    for (Index i = 0; i < 3 * nodes.rows(); ++i) {
        for (Global k = nodes.start[i / 3]; k < nodes.start[i / 3 + 1]; ++k)
            for (Global j = 0; j < 3; ++j) {
                rows.columns.push_back(3 * nodes.columns[k] + j);
                rows.values.push_back(nodes.values[k] / static_cast<double>(2 + i % 3 + j));
            }
        rows.start.push_back(static_cast<Global>(rows.columns.size()));
    }
    return rows;
}

void product(Comm& comm, const std::string& problem, std::string_view storage, int columns) {
    auto [partition, rows] = generate(comm, problem);
    if (storage == "blocked") {
        rows = nodes_of_three(rows);
        partition = Partition::even(rows.rows(), 1);
    }
    const CsrMatrix<double> A(comm, partition, std::move(rows), 1, Storage(storage));
    std::vector<double> x(static_cast<std::size_t>(A.local_rows()) * static_cast<std::size_t>(columns), 1.0), y(x);
    const MultiVector<double> X(x.data(), A.local_rows(), columns), Y(y.data(), A.local_rows(), columns);
    A.apply(X, Y);
    toggle();
    A.apply(X, Y);
    toggle();
    finish(fmt::format("product:{}:{}:m={}", problem, storage, columns), static_cast<double>(A.nonzeros()) * columns);
}

void iterations(Comm& mpi, const std::string& method, int columns) {
    constexpr Index rows = 8192;
    const bool restarted = method.find("gmres") != method.npos;
    const int first = restarted ? 20 : 4, last = restarted ? 40 : 12;
    Uncounted comm(mpi);
    std::vector<double> b(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns), 1.0), x(b.size(), 0.0);
    SolveOptions options;
    options.method = without_safeguards(method, 12);
    options.rtol = 0;
    options.max_iterations = last + 1;
    options.monitor = [&](const IterationInfo& at) {
        if (at.iteration == first || at.iteration == last) toggle();
        return true;
    };
    const Diagonal A;
    solve<double>(comm, A, AnyOperator<double>(), {b.data(), rows, columns}, {x.data(), rows, columns}, options);
    if (counting) toggle();
    finish(fmt::format("{}:m={}", method, columns), 1.0 * (last - first) * rows * columns);
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    {
        MpiComm comm(MPI_COMM_SELF);
        for (const auto storage : storage_names)
            for (const int columns : {1, 4})
                if (storage != Storage::automatic.name())
                    product(comm, storage == "repeated" ? "poisson3d:24" : "jump3d:24", storage, columns);
        std::vector<std::string> specs{"deep_pipelined_cg:l=1", "deep_pipelined_cg:l=3"};
        for (const Method* method : methods())
            specs.push_back(std::string(method->name) + (method->classic == "gmres" ? ":m=20" : ""));
        for (const auto& spec : specs)
            for (const int columns : {1, 4}) iterations(comm, spec, columns);
    }
    MPI_Finalize();
}
