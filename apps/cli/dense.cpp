// SPDX-License-Identifier: BSD-3-Clause
// stretto bem, stretto kernel: dense systems, as hierarchical matrices.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>

#include "commands.hpp"
#include "input.hpp"
#include "methods.hpp"
#include "stretto/bem/problem.hpp"
#include "stretto/comm/collective.hpp"
#include "stretto/core/memory.hpp"
#include "stretto/core/parallel.hpp"
#include "stretto/core/random.hpp"
#include "stretto/driver/registry.hpp"
#include "stretto/hmatrix/hmatrix.hpp"
#include "stretto/hmatrix/kernels.hpp"
#include "stretto/io/matrix_market.hpp"
#include "stretto/precond/table.hpp"

using namespace stretto;
using nlohmann::ordered_json;

namespace {

constexpr OptionInfo hmatrix_options[] = {
    {"epsilon", 1e-6, 1e-15, 0.5, "‖B − UVᵀ‖ ≤ ε‖B‖ for every block"},
    {"eta", 2, 1e-3, 1e3, "blocks are admissible where min(diam) ≤ η·dist"},
    {"leaf", 64, panel_rows, 1e6, "clusters of more points are cut", true},
    {"bisection", 0, 0, 1, "how: geometric or principal (axis)", true, bisection_names},
    {"pivoting", 1, 0, 1, "aca or aca+", true, pivoting_names},
    {"precision", 0, 0, 1, "auto: numbers in single precision where ε allows, or double", true, precision_names},
    {"memory", 0, 0, 1e9, "GB that a rank may use; 0: its share of what is free"}};

/// Everything of a system but what it is made of.
struct DenseSystem {
    Geometry geometry;
    Fill fill;
    bool symmetric = false, positive_definite = false;
    std::function<double(Index point, int column)> b;
    int columns = 1;
    std::vector<std::string> remarks;
    /// Tells what a solution (n × columns, in the order of the points) means, for people, and adds it to the JSON.
    std::function<void(const std::vector<double>& x, ordered_json& json)> tell;
};

/// The share of this rank in the free memory of its node.
double share_of_memory(const Comm& comm) {
    MPI_Comm node = MPI_COMM_NULL;
    int ranks = 1;
    MPI_Comm_split_type(comm.mpi(), MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &ranks);
    MPI_Comm_free(&node);
    return 0.9 * free_memory() / ranks;
}

/// ‖b − A x‖/‖b‖ with A's own entries, from rows chosen by chance; the largest of the columns.
double exact_residual(const HMatrix& A, const DenseSystem& system, const std::vector<double>& x) {
    constexpr Index rows = 128;
    const auto n = static_cast<Index>(A.rows());
    const auto m = static_cast<std::size_t>(system.columns);
    std::vector<Index> all(static_cast<std::size_t>(n));
    for (Index i = 0; i < n; ++i) all[static_cast<std::size_t>(i)] = i;
    std::vector<double> row(static_cast<std::size_t>(n)), residual(m), norm(m);
    for (Index k = 0; k < std::min(n, rows); ++k) {
        if (k % A.comm().size() != A.comm().rank()) continue;
        const auto i = n <= rows ? k : static_cast<Index>((0.5 + 0.5 * uniform(7, k)) * n) % n;
        system.fill({&i, 1}, all, row.data());
        for (std::size_t c = 0; c < m; ++c) {
            const double b = system.b(i, static_cast<int>(c));
            double r = b;
            for (std::size_t j = 0; j < row.size(); ++j) r -= row[j] * x[j * m + c];
            residual[c] += r * r;
            norm[c] += b * b;
        }
    }
    double worst = 0;
    for (std::size_t c = 0; c < m; ++c) {
        const double r = all_sum(A.comm(), residual[c]), b = all_sum(A.comm(), norm[c]);
        worst = std::max(worst, b > 0 ? std::sqrt(r / b) : std::sqrt(r));
    }
    return worst;
}

/// Collective. What is converged with the hierarchical matrix but not, by far, with the kernel is not converged: errors
/// of the matrix count ‖A‖‖x‖/‖b‖ times in the residual. Who asked for less than ε knows that it is of the matrix.
void review_by_kernel(double exact, double epsilon, double rtol, double atol, Result& result) {
    constexpr double by_far = 10;  // `exact` is an estimate
    double norm_b = 0;
    for (const auto& column : result.columns) norm_b = std::max(norm_b, column.norm_b);
    const double tolerance = std::max({rtol, norm_b > 0 ? atol / norm_b : atol, result.relative_residual()});
    if (!(exact > by_far * tolerance)) return;
    result.events.push_back(
        {result.iterations,
         fmt::format("the residual with the kernel itself is {:.1e}, not {:.1e}: errors of the hierarchical matrix are "
                     "multiplied by ‖A‖‖x‖/‖b‖; --hmatrix epsilon={:.0e} may attain it",
                     exact, tolerance, std::max(1e-15, epsilon * tolerance / exact))});
    if (!result.converged() || rtol < epsilon) return;
    result.status = Status::stagnated;
    for (auto& column : result.columns) column.status = Status::stagnated;
}

int solve_dense(MpiComm& mpi, Comm& comm, const DenseArguments& arguments, const DenseSystem& system,
                const std::atomic<bool>& interrupt, ProgressLine& line, std::optional<Plot>& plot,
                const std::function<void(const std::vector<double>& x)>& write) {
    const SolveArguments& asked = arguments.solve;
    const auto start = Clock::now();
    const Options chosen(parse_spec(arguments.hmatrix.empty() ? "hmatrix" : "hmatrix:" + arguments.hmatrix),
                         hmatrix_options);
    const int threads = asked.threads > 0 ? asked.threads : default_threads(comm);
    limit_threads(threads);
    const bool quiet = comm.rank() != 0 || asked.json == "-";
    HMatrixOptions options;
    options.epsilon = chosen.number("epsilon");
    options.eta = chosen.number("eta");
    options.leaf = static_cast<Index>(chosen.number("leaf"));
    options.bisection = static_cast<Bisection>(chosen.number("bisection"));
    options.pivoting = static_cast<Pivoting>(chosen.number("pivoting"));
    options.precision = static_cast<Precision>(chosen.number("precision"));
    options.symmetric = system.symmetric;
    options.threads = threads;
    options.memory_limit = chosen.number("memory") > 0 ? 1e9 * chosen.number("memory") : share_of_memory(comm);
    options.interrupt = &interrupt;
    options.progress = [&](double fraction) { line.show_fraction("compressing", fraction); };
    options.announce = [&](const HMatrixEstimate& estimate) {
        if (quiet) return;
        fmt::print(
            "{} points: {} dense and {} low-rank blocks, about {:.4g} MB; at most {:.4g} of {:.4g} MB on a rank while "
            "compressing\n",
            system.geometry.points.size(), estimate.dense_blocks, estimate.low_rank_blocks, 1e-6 * estimate.stored,
            1e-6 * estimate.peak, 1e-6 * options.memory_limit);
        std::fflush(stdout);
    };
    const PreconditionerKind& precond = *choose_preconditioner(asked.precond, MatrixKind::hierarchical).kind;
    const bool replicated = arguments.layout == "replicated";
    if (replicated && !precond.replicated)
        throw InputError(fmt::format("the preconditioner {} needs --layout distributed; block_jacobi works with both",
                                     precond.name));
    for (const auto& text : asked.methods) {
        const Method& method = find_method(parse_spec(text).name);
        if (method.needs == Needs::positive_definite && !system.positive_definite && !asked.insist)
            throw InputError(
                fmt::format("{} needs a symmetric positive definite matrix, and this one need not be (--insist "
                            "runs it all the same)",
                            method.name));
        if (!precond.varies) continue;
        const Spec given = parse_spec(text);
        if (!method.flexible(Options(given, method.options)))
            throw InputError(
                fmt::format("the preconditioner {} changes from one use to the next: {} does not allow that, "
                            "gmres:flexible=1 and bicgstab do",
                            precond.name, text));
    }
    std::optional<HMatrix> A;
    std::unique_ptr<Preconditioner> M;
    double precond_seconds = 0;
    try {
        A.emplace(comm, system.geometry, system.fill, options);
        const auto before = Clock::now();
        M = make_preconditioner(asked.precond, *A, {&system.geometry, &system.fill, options, replicated});
        precond_seconds = to_seconds(Clock::now() - before);
    } catch (const InputError&) {
        line.clear();
        check_interrupt(comm, interrupt);
        throw;
    }
    line.clear();
    const auto& statistics = A->statistics();
    const auto n = static_cast<double>(A->rows());

    // In cluster order: this rank's rows, or all.
    MpiComm alone(MPI_COMM_SELF);
    const Replicated whole(*A, &interrupt);
    const Index rows = replicated ? static_cast<Index>(A->rows()) : A->local_rows();
    const auto m = static_cast<std::size_t>(system.columns);
    const auto number = [&](Index i) {
        return replicated ? A->tree().order()[static_cast<std::size_t>(i)] : A->original(i);
    };
    std::vector<double> b;
    for (Index i = 0; i < rows; ++i)
        for (int c = 0; c < system.columns; ++c) b.push_back(system.b(number(i), c));
    const auto in_order = [&](const std::vector<double>& x) {
        if (!replicated) return A->gather({const_cast<double*>(x.data()), rows, system.columns});
        std::vector<double> all(x.size());
        for (Index i = 0; i < rows; ++i)
            std::copy_n(x.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(i) * m), m,
                        all.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(number(i)) * m));
        return all;
    };

    auto remarks = system.remarks;
    remarks.push_back(fmt::format(
        "hierarchical matrix: {} dense and {} low-rank blocks ({} of them refilled, mean rank {:.1f}, largest {}); "
        "{:.4g} MB, "
        "{:.3g} % of n², {:.3g} n log₂n; {:.0f} % in single precision; compressed in {:.2f} s",
        statistics.dense_blocks, statistics.low_rank_blocks, statistics.refilled,
        statistics.low_rank_blocks > 0
            ? static_cast<double>(statistics.ranks) / static_cast<double>(statistics.low_rank_blocks)
            : 0,
        statistics.max_rank, 1e-6 * statistics.bytes, 100 * static_cast<double>(statistics.values) / (n * n),
        n > 1 ? static_cast<double>(statistics.values) / (n * std::log2(n)) : 1, 100 * statistics.single,
        statistics.seconds));
    if (asked.rtol < options.epsilon)
        remarks.push_back(fmt::format(
            "warning: rtol {:.1e} is below ε = {:.1e}: the residual is of the hierarchical matrix; with the kernel "
            "itself about ε ‖A‖‖x‖/‖b‖ is attainable; --hmatrix epsilon={:.0e} attains more",
            asked.rtol, options.epsilon, std::max(asked.rtol, 1e-15)));
    std::optional<Probe> probed;
    if (!replicated)
        probed = choose_progress(mpi, comm, *A, A->local_rows(), M != nullptr, asked, remarks);
    else if (comm.size() > 1 && asked.comm.progress_mode == "auto")
        remarks.emplace_back(
            "progress mode: none, for replicated vectors need no reductions; what lets the all-gather advance is not "
            "probed (--progress-mode poll or thread)");
    if (M) std::ranges::move(M->remarks(), std::back_inserter(remarks));
    Report report({.problem = asked.problem,
                   .precond = asked.precond,
                   .formulation = asked.formulation,
                   .latency = asked.comm.latency,
                   .rows = A->rows(),
                   .nonzeros = statistics.values,
                   .columns = system.columns,
                   .ranks = comm.size(),
                   .threads = threads,
                   .rtol = asked.rtol,
                   .atol = asked.atol,
                   .max_iterations = asked.max_iterations,
                   .setup_seconds = all_max(comm, to_seconds(Clock::now() - start)),
                   .remarks = std::move(remarks),
                   .prepare = "",
                   .structure = {{"symmetric", system.symmetric}},
                   .partition = {{"layout", arguments.layout},
                                 {"received", all_sum(comm, A->received())},
                                 {"imbalance", statistics.largest_rank * comm.size() / statistics.bytes}},
                   .precond_bytes = all_sum(comm, M ? M->stored() : 0.0),
                   .precond_seconds = all_max(comm, precond_seconds)});
    double exact = 0;
    const ResultUse use{.review =
                            [&](const std::string& method, Result& result, const std::vector<double>& solution) {
                                if (probed) advise(comm, *probed, method, M != nullptr, result);
                                exact = exact_residual(*A, system, in_order(solution));
                                review_by_kernel(exact, options.epsilon, asked.rtol, asked.atol, result);
                            },
                        .keep =
                            [&](std::size_t, const std::vector<double>& solution) {
                                const auto x = in_order(solution);
                                ordered_json json{{"epsilon", options.epsilon},
                                                  {"bytes", statistics.bytes},
                                                  {"dense_blocks", statistics.dense_blocks},
                                                  {"low_rank_blocks", statistics.low_rank_blocks},
                                                  {"refilled", statistics.refilled},
                                                  {"single", statistics.single},
                                                  {"compression_seconds", statistics.seconds},
                                                  {"kernel_residual", exact}};
                                if (!quiet)
                                    fmt::print("  ‖b − Ax‖/‖b‖ with the kernel itself, on some rows: {:.2e}\n", exact);
                                report.annotate("hmatrix", std::move(json));
                                if (system.tell) {
                                    ordered_json told;
                                    system.tell(x, told);
                                    report.annotate("bem", std::move(told));
                                }
                                if (write) write(x);
                            }};
    return solve_methods(comm, asked,
                         {.A = replicated ? AnyOperator<double>(whole) : AnyOperator<double>(*A),
                          .M = M ? AnyOperator<double>(*M) : AnyOperator<double>(),
                          .b = b,
                          .rows = rows,
                          .columns = system.columns,
                          .threads = threads,
                          .comm = replicated ? &alone : &comm,
                          .interrupt = replicated ? &whole.interrupted() : &interrupt},
                         report, line, plot, use);
}

/// Collective. Writes on rank 0; any failure is everybody's.
void write_on_first(const Comm& comm, const std::string& path, const std::function<std::string()>& text) {
    agree(comm, [&] {
        if (comm.rank() == 0) write_text(path, text());
    });
}

void write_x(const Comm& comm, const std::vector<std::string>& files, std::size_t k, const std::vector<double>& x,
             int columns) {
    if (files.empty()) return;
    const auto even = Partition::even(static_cast<Global>(x.size()) / columns, comm.size());
    const auto first = static_cast<std::size_t>(even.first(comm.rank()) * columns);
    write_solution(comm, even, files[k],
                   std::span(x).subspan(
                       first, static_cast<std::size_t>(even.rows(comm.rank())) * static_cast<std::size_t>(columns)),
                   columns);
}

void check_dense(Comm& comm, const DenseArguments& arguments) {
    const SolveArguments& asked = arguments.solve;
    check_methods(asked);
    if (arguments.layout != "distributed" && !asked.trace.empty())
        throw InputError("--trace needs --layout distributed");
    std::vector<std::string> outputs{asked.history, asked.plot, asked.trace};
    for (const auto& files : {solution_files(asked), files_of_methods(asked, "--vtk", arguments.vtk),
                              files_of_methods(asked, "--picture", arguments.picture)})
        std::ranges::copy(files, std::back_inserter(outputs));
    std::string input = asked.problem.starts_with("mesh:") ? asked.problem.substr(5) : asked.problem;
    check_outputs(comm, {input, asked.rhs}, asked.json, outputs);
    if (!arguments.vtk.empty() && !arguments.vtk.ends_with(".vtu"))
        throw InputError(fmt::format("--vtk {}: the name must end in .vtu", arguments.vtk));
    if (!arguments.picture.empty() && !arguments.picture.ends_with(".svg"))
        throw InputError(fmt::format("--picture {}: the name must end in .svg", arguments.picture));
}

std::string read_text(const Comm& comm, const std::string& path) {
    std::string text;
    agree(comm, [&] {
        if (comm.rank() != 0) return;
        std::error_code error;
        std::ifstream file(path, std::ios::binary);
        if (file && !std::filesystem::is_directory(path, error))
            text.assign(std::istreambuf_iterator<char>(file), {});
        else
            file.setstate(std::ios::failbit);
        if (!file) throw InputError("cannot read " + path);
    });
    return broadcast(comm, std::move(text), 0);
}

}  // namespace

int run_bem(MpiComm& mpi, Comm& comm, const DenseArguments& asked, const std::atomic<bool>& interrupt) {
    DenseArguments arguments = asked;
    // Galerkin's entries have the areas of two triangles in them, which the diagonal takes out again.
    if (asked.solve.precond == "auto") arguments.solve.precond = asked.testing == "galerkin" ? "block_jacobi" : "none";
    check_dense(comm, arguments);
    auto plot = make_plot(comm, arguments.solve);
    ProgressLine line(comm.rank(), arguments.solve.progress);
    const auto problem = make_bem_problem(comm, arguments.solve.problem);
    const auto testing = arguments.testing == "galerkin" ? Testing::galerkin : Testing::collocation;
    DenseSystem system;
    system.geometry = problem.mesh.geometry();
    system.fill = single_layer(problem.mesh, testing);
    system.symmetric = system.positive_definite = testing == Testing::galerkin;
    system.b = [&](Index triangle, int) { return problem.wanted(triangle, testing); };
    system.remarks.push_back(fmt::format("{} triangles, {} closed surface{}; {}", problem.mesh.size(),
                                         problem.potential.size(), problem.potential.size() == 1 ? "" : "s",
                                         arguments.testing));
    if (problem.turned) system.remarks.emplace_back("the mesh has surfaces that are inside out: they were turned");
    const bool table = comm.rank() == 0 && arguments.solve.json != "-";
    system.tell = [&](const std::vector<double>& density, ordered_json& json) {
        const auto found = charges(problem, density);
        json = {{"testing", arguments.testing},
                {"triangles", problem.mesh.size()},
                {"charge", found.total},
                {"charges", found.by_surface},
                {"dipole", found.dipole},
                {"capacitance", nullptr},
                {"truth", nullptr},
                {"relative_error", nullptr}};
        if (found.capacitance) json["capacitance"] = *found.capacitance;
        std::string text = fmt::format("charge {:.9g}, dipole {:.9g}", found.total, found.dipole);
        if (found.capacitance) text += fmt::format(", capacitance {:.9g}", *found.capacitance);
        if (problem.truth) {
            json["truth"] = {{"what", problem.truth->what}, {"value", problem.truth->value}};
            json["relative_error"] = *found.truth_error;
            text += fmt::format("; {} should be {:.9g}: relative error {:.2e}", problem.truth->what,
                                problem.truth->value, *found.truth_error);
        }
        if (table) fmt::print("  {} (times 4πε₀)\n", text);
    };
    const auto files = solution_files(arguments.solve),
               vtk_files = files_of_methods(arguments.solve, "--vtk", arguments.vtk),
               pictures = files_of_methods(arguments.solve, "--picture", arguments.picture);
    std::size_t k = 0;
    return solve_dense(mpi, comm, arguments, system, interrupt, line, plot, [&](const std::vector<double>& density) {
        if (!vtk_files.empty()) write_on_first(comm, vtk_files[k], [&] { return to_vtu(problem, density); });
        if (!pictures.empty()) write_on_first(comm, pictures[k], [&] { return to_svg(problem, density); });
        write_x(comm, files, k++, density, 1);
    });
}

int run_kernel(MpiComm& mpi, Comm& comm, const DenseArguments& arguments, const std::atomic<bool>& interrupt) {
    check_dense(comm, arguments);
    auto plot = make_plot(comm, arguments.solve);
    ProgressLine line(comm.rank(), arguments.solve.progress);
    const SolveArguments& asked = arguments.solve;
    DenseSystem system;
    auto& points = system.geometry.points;
    static constexpr OptionInfo scattered[] = {{"n", 10000, 1, 1e8, "points, by chance in the unit cube", true}};
    if (const Spec spec = asked.problem.starts_with("scattered") ? parse_spec(asked.problem) : Spec{};
        spec.name == "scattered") {
        const auto n = static_cast<Index>(Options(spec, scattered).number("n"));
        for (Index i = 0; i < n; ++i)
            points.push_back(
                {0.5 + 0.5 * uniform(1, i, 0), 0.5 + 0.5 * uniform(1, i, 1), 0.5 + 0.5 * uniform(1, i, 2)});
    } else {
        if (!exists(comm, asked.problem))
            throw InputError(fmt::format("'{}' is neither a file of points nor scattered[:n=…]", asked.problem));
        points = parse_points(asked.problem, read_text(comm, asked.problem));
    }
    system.fill = make_kernel(arguments.kernel, points);
    system.symmetric = true;
    system.positive_definite =
        std::ranges::find(kernel_kinds(), parse_spec(arguments.kernel).name, &KernelKind::name)->positive_definite;
    system.columns = std::max(asked.columns, 1);
    std::vector<double> b;  // of a file
    if (asked.rhs == "ones") {
        system.b = [](Index, int) { return 1.0; };
    } else if (asked.rhs == "random") {
        system.b = [](Index i, int c) { return uniform(1, i, c); };
    } else {
        if (!exists(comm, asked.rhs))
            throw InputError(fmt::format("--rhs '{}' is neither a file nor ones or random", asked.rhs));
        const auto file =
            read_array(comm, asked.rhs, Partition::even(static_cast<Global>(points.size()), comm.size()), 1);
        for (const auto& part : all_to_all(comm, std::vector(static_cast<std::size_t>(comm.size()), file.values)))
            b.insert(b.end(), part.begin(), part.end());
        if (asked.columns != 0 && asked.columns != file.columns)
            throw InputError(fmt::format("--columns {}, but {} has {}", asked.columns, asked.rhs, file.columns));
        system.columns = file.columns;
        system.b = [&b, m = file.columns](Index i, int c) {
            return b[static_cast<std::size_t>(i) * static_cast<std::size_t>(m) + static_cast<std::size_t>(c)];
        };
    }
    system.remarks.push_back("kernel " + arguments.kernel);
    const auto files = solution_files(asked);
    std::size_t k = 0;
    return solve_dense(mpi, comm, arguments, system, interrupt, line, plot,
                       [&](const std::vector<double>& x) { write_x(comm, files, k++, x, system.columns); });
}
