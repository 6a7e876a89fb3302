// SPDX-License-Identifier: BSD-3-Clause
// stretto kernel: a function of the distance of points.
#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "../files.hpp"
#include "dense.hpp"
#include "stretto/bem/problem.hpp"
#include "stretto/comm/collective.hpp"
#include "stretto/core/random.hpp"
#include "stretto/core/text.hpp"
#include "stretto/hmatrix/kernels.hpp"
#include "stretto/io/right_hand_side.hpp"

using namespace stretto;

namespace {

struct KernelArguments : DenseArguments {
    std::string kernel;
};

void add(CLI::App& app, KernelArguments& kernel) {
    app.add_option("points", kernel.problem, "File of points, one a line, or scattered[:n=…]")->required();
    app.add_option("--kernel", kernel.kernel,
                   "gaussian:length=…,nugget=…, matern:length=…,nu=1/2|3/2|5/2,nugget=… or helmholtz:k=…,diagonal=…")
        ->required();
    app.add_option("--rhs", kernel.rhs, "ones, random[:SEED] or a Matrix Market file")->capture_default_str();
    add_columns_option(app, kernel.columns);
    add_dense_options(app, kernel);
}

std::string read_text(const Comm& comm, const std::string& path) {
    std::string text;
    agree(comm, [&] {
        if (comm.rank() != 0) return;
        std::error_code error;
        if (std::filesystem::is_directory(path, error)) throw InputError(path + " is a directory");
        std::ifstream file(path, std::ios::binary);
        if (!file) throw InputError(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
        text.assign(std::istreambuf_iterator<char>(file), {});
    });
    return broadcast(comm, std::move(text), 0);
}

/// Collective. The same on every rank.
std::vector<Point> load_points(const Comm& comm, const std::string& name) {
    static constexpr OptionInfo scattered[] = {{"n", 10000, 1, 1e8, "points, by chance in the unit cube", true}};
    const Spec spec = name.starts_with("scattered") ? parse_spec(name) : Spec{};
    if (spec.name != "scattered") {
        if (!exists(comm, name))
            throw InputError(fmt::format("'{}' is neither a file of points nor scattered[:n=…]", name));
        return parse_points(name, read_text(comm, name));
    }
    std::vector<Point> points;
    const auto n = static_cast<Index>(Options(spec, scattered).number("n"));
    for (Index i = 0; i < n; ++i)
        points.push_back({0.5 + 0.5 * uniform(1, i, 0), 0.5 + 0.5 * uniform(1, i, 1), 0.5 + 0.5 * uniform(1, i, 2)});
    return points;
}

/// Collective. All rows of the right-hand sides, on every rank.
ArrayFile load_rhs(const Comm& comm, const KernelArguments& arguments, std::size_t rows) {
    const auto even = Partition::even(static_cast<Global>(rows), comm.size());
    auto mine = right_hand_sides(comm, arguments.rhs, arguments.columns, even, 1, {});
    ArrayFile all{{}, mine.columns};
    for (const auto& part : all_to_all(comm, std::vector(static_cast<std::size_t>(comm.size()), mine.values)))
        all.values.insert(all.values.end(), part.begin(), part.end());
    return all;
}

int run(const Context& context, const KernelArguments& asked) {
    ChosenComm chosen(*context.mpi, asked.comm);
    Comm& comm = chosen.get();
    KernelArguments arguments = asked;
    const auto points = load_points(comm, arguments.problem);
    const auto matrix = kernel_matrix(arguments.kernel, points);
    choose_for(*matrix, arguments);
    auto plan = check_dense(comm, arguments, arguments.asked_methods());
    ProgressLine line(comm.rank(), arguments.progress);
    auto b = load_rhs(comm, arguments, points.size());
    DenseProblem problem{*matrix, std::move(b.values), b.columns, {"kernel " + arguments.kernel}};
    problem.program = shell_word(context.program) + " kernel";
    problem.options = {{"--kernel", shell_word(arguments.kernel)}, {"--rhs", shell_word(arguments.rhs)}};
    if (arguments.columns > 0) problem.options.emplace_back("--columns", std::to_string(arguments.columns));
    return solve_dense(context, comm, arguments, problem, plan, line);
}

}  // namespace

const Command kernel_command =
    CommandOf<KernelArguments>::row<add, run>("kernel", "Solve with a kernel on points, by a hierarchical matrix");
