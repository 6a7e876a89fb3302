// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/tasks/execution.hpp"

#include <fmt/format.h>

#include <exception>
#include <optional>

#include "stretto/core/error.hpp"
#include "stretto/core/parallel.hpp"
#include "stretto/core/spec.hpp"
#include "stretto/execute/tasks/executor.hpp"
#include "tasks/matrix.hpp"
#include "tasks/preconditioner.hpp"

namespace stretto {
namespace {

constexpr std::string_view who[] = {"any", "main"};
constexpr OptionInfo known_options[] = {
    {"tiles", 4, 1, 1024, "of rows for each thread", true},
    {"communication", 0, 0, 1, "which threads call MPI", false, who},
};

/// Tiles for so many parts of A's rows, a multiple of the threads: parts are put together, the same number everywhere,
/// until a task of a vector takes a microsecond or more, for what it costs is a third of that.
int tiles_for(const CsrMatrix<double>& A, int columns, int threads) {
    constexpr double least = 4096;  // elements
    const int of_a_thread = A.threads() / threads;
    for (int together = 1; together < of_a_thread; ++together) {
        const int tiles = A.threads() / together;
        if (of_a_thread % together == 0 && static_cast<double>(A.local_rows()) * columns >= least * tiles) return tiles;
    }
    return threads;
}

class SolverInTasks final : public HostedSolver {
public:
    using T = InTasks<double>;

    SolverInTasks(const CsrMatrix<double>& A, const Preconditioner* M, int columns, int threads,
                  TaskCommunication communication, const SolveOptions& options)
        : graph_(threads, tiles_for(A, columns, threads), communication),
          comm_(A.comm(), graph_),
          A_(A, graph_),
          trace_(options.trace),
          solver_(comm_, A_, M ? AnyOperator<T>(M_.emplace(*M, A.local_rows(), graph_)) : AnyOperator<T>(),
                  A.local_rows(), columns, options) {}

    const Result& solve(MultiVector<const double> b, MultiVector<double> x, bool transposed) override {
        const Result* result = nullptr;
        if (trace_) graph_.record();
        std::exception_ptr failed;
        graph_.enter([&] {
            try {
                const auto of = in_tasks(MultiVector<double>(const_cast<double*>(b.data()), b.rows(), b.columns()));
                result = transposed ? &solver_.solve_transposed(of, in_tasks(x)) : &solver_.solve(of, in_tasks(x));
            } catch (...) {
                failed = std::current_exception();
            }
            graph_.drain();
        });
        if (trace_) add_to_trace();
        if (failed) std::rethrow_exception(failed);
        return *result;
    }
    void set_tolerances(double rtol, double atol, int max_iterations) override {
        solver_.set_tolerances(rtol, atol, max_iterations);
    }
    void forget() override { solver_.forget(); }

private:
    /// Sums in flight are there already.
    void add_to_trace() {
        for (const auto& [what, thread, part, begin, end] : graph_.recorded()) {
            if (thread >= 0) trace_->add_task(what, thread, begin, end);
            if (what == std::string_view("exchange")) trace_->add_exchange(begin, end);
        }
    }

    TaskGraph graph_;
    TaskComm comm_;
    TaskMatrix A_;
    std::optional<TaskPreconditioner> M_;
    Trace* trace_;
    Solver<T> solver_;
};

class TaskExecution final : public Device {
public:
    explicit TaskExecution(const Options& options)
        : tiles_(static_cast<int>(options.number("tiles"))),
          communication_(options.choice("communication") == "main" ? TaskCommunication::main : TaskCommunication::any) {
    }

    std::string_view name() const override { return "tasks"; }
    std::string title() const override {
        return fmt::format("{} tile{} of rows for each thread, {} calls MPI", tiles_, tiles_ == 1 ? "" : "s",
                           communication_ == TaskCommunication::main ? "one thread" : "any thread");
    }
    std::string asked() const override { return "--execution tasks"; }
    bool is_host() const override { return true; }
    int parts(int threads) const override {
        team::limit(threads);
        return threads * tiles_;
    }
    void check(const std::string&, const CsrMatrix<double>&) const override {}
    std::unique_ptr<HostedSolver> solver(const CsrMatrix<double>& A, const Preconditioner* M, int columns,
                                         const SolveOptions& options) const override {
        if (options.formulation == Formulation::basic)
            throw InputError(
                "--execution tasks: the basic formulation, a pass for each call, is for threads (--execution threads)");
        return std::make_unique<SolverInTasks>(A, M, columns, std::max(1, A.threads() / tiles_), communication_,
                                               options);
    }

private:
    int tiles_;
    TaskCommunication communication_;
};

}  // namespace

std::unique_ptr<Device> task_execution(const std::string& text) {
    const Spec spec = parse_spec(text);
    if (spec.name != "threads" && spec.name != "tasks")
        throw InputError(fmt::format("--execution {}: threads, or tasks[:tiles=N,communication=any|main]", text));
    if (spec.name == "threads") {
        if (text != "threads") throw InputError(fmt::format("--execution {}: threads has no options", text));
        return nullptr;
    }
    const Options options(spec, known_options);
    int level = MPI_THREAD_SINGLE;
    MPI_Query_thread(&level);
    if (level < MPI_THREAD_SERIALIZED && options.choice("communication") == "any")
        throw InputError(
            "--execution tasks: this MPI lets one thread call it (MPI_THREAD_SERIALIZED is missing): "
            "--execution tasks:communication=main");
    return std::make_unique<TaskExecution>(options);
}

}  // namespace stretto
