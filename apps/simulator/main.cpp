// SPDX-License-Identifier: BSD-3-Clause
// One rank of a simulated cluster: runs the methods of a job, a JSON file that `stretto simulate` writes, one after the
// other, and prints a line of JSON for each.
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "layout.hpp"
#include "simulated_comm.hpp"
#include "stretto/comm/collective.hpp"
#include "stretto/core/random.hpp"
#include "stretto/driver/registry.hpp"
#include "stretto/driver/solver.hpp"
#include "stretto/precond/table.hpp"

using namespace stretto;
using json = nlohmann::json;

namespace {

/// In a dry run, and as a preconditioner of given cost: z = D r for a diagonal D, which moves what it says.
class Stand {
public:
    Stand(SimulatedComm& comm, Index rows) : comm_(comm), rows_(rows), diagonal_(static_cast<std::size_t>(rows), 1.0) {}
    virtual ~Stand() = default;
    std::vector<double>& diagonal() { return diagonal_; }

    void apply(MultiVector<double> x, MultiVector<double> y) const {
        ++applied_;
        work(x.columns());
        for (Index row = 0; row < rows_; ++row)
            for (int j = 0; j < x.columns(); ++j) y(row, j) = diagonal_[static_cast<std::size_t>(row)] * x(row, j);
    }
    void apply_transpose(MultiVector<double> x, MultiVector<double> y) const { apply(x, y); }
    virtual double bytes(int columns) const = 0;
    int applied() const { return applied_; }  ///< how often

protected:
    virtual void work(int columns) const = 0;
    SimulatedComm& comm_;

private:
    mutable int applied_ = 0;
    Index rows_;
    std::vector<double> diagonal_;
};

/// A product that exchanges and moves what one with the matrix would.
class DryMatrix final : public Stand {
public:
    DryMatrix(SimulatedComm& comm, Index rows, const Footprint& footprint, int columns)
        : Stand(comm, rows), footprint_(footprint) {
        std::size_t most = 0;
        for (const auto* list : {&footprint.receives, &footprint.sends})
            for (const auto& [rank, count] : *list) most = std::max(most, count);
        const std::size_t width = static_cast<std::size_t>(columns) * sizeof(double);
        auto& values = nothing();
        if (values.size() < most * width) throw std::length_error("no room for the messages of a dry run");
        for (const auto& [rank, count] : footprint.receives)
            receives_.push_back({rank, std::span(values).first(count * width)});
        for (const auto& [rank, count] : footprint.sends)
            sends_.push_back({rank, std::span(values).first(count * width)});
    }
    /// As a sparse matrix does.
    void apply(MultiVector<double> x, MultiVector<double> y, const RowWork& work) const {
        Stand::apply(x, y);
        work(0, 0, y.rows());
    }
    using Stand::apply;
    int parts() const { return 1; }
    double bytes(int columns) const override {
        return footprint_.interior_bytes + footprint_.interface_bytes +
               8.0 * columns * (2.0 * footprint_.rows + footprint_.halo_rows);
    }

private:
    /// Where messages come from and go to: nobody looks.
    static std::vector<std::byte>& nothing() {
        static std::vector<std::byte> values(std::size_t{1} << 24);
        return values;
    }
    void work(int columns) const override {
        const double interface =
            footprint_.interface_bytes + 8.0 * columns * (2.0 * footprint_.interface_rows + footprint_.halo_rows);
        Pending arriving;
        if (!receives_.empty() || !sends_.empty()) arriving = comm_.start_exchange(receives_, sends_);
        comm_.work(bytes(columns) - interface);
        arriving.wait();
        if (footprint_.interface_rows > 0) comm_.work(interface);
    }

    const Footprint& footprint_;
    std::vector<Message> receives_, sends_;
};

/// So many passes that read and write so many bytes for each column.
class DryPreconditioner final : public Stand {
public:
    DryPreconditioner(SimulatedComm& comm, Index rows, int passes, double once, double a_column)
        : Stand(comm, rows), passes_(passes), once_(once), a_column_(a_column) {}
    double bytes(int columns) const override { return passes_ * (once_ + a_column_ * columns); }

private:
    void work(int columns) const override {
        for (int pass = 0; pass < passes_; ++pass) comm_.work(once_ + a_column_ * columns);
    }
    int passes_;
    double once_, a_column_;
};

/// Well enough conditioned that no method fails, and not so well that one converges in a hundred iterations.
constexpr double smallest = 1, largest = 400;
double eigenvalue(Global row) { return (largest + smallest + (largest - smallest) * uniform(1, row)) / 2; }

/// Where the slowest rank ended every iteration, whole periods after the first iterations: a restarted method's cycle,
/// or the l iterations of a pipeline, whose sums in flight arrive in bursts of l where it is they that take long.
/// Periods with more products than others are left out, for they have a safeguard.
double seconds_per_iteration(const std::vector<double>& ends, const std::vector<int>& products, std::size_t first,
                             std::size_t period) {
    const auto begin = std::max(first, period) - 1;
    int least = std::numeric_limits<int>::max();
    for (std::size_t k = begin; k + period < ends.size(); k += period)
        least = std::min(least, products[k + period] - products[k]);
    double seconds = 0;
    std::size_t iterations = 0;
    for (std::size_t k = begin; k + period < ends.size(); k += period) {
        if (products[k + period] - products[k] > least) continue;
        seconds += ends[k + period] - ends[k];
        iterations += period;
    }
    return iterations > 0 ? seconds / static_cast<double>(iterations) : NAN;
}

Costs read_costs(const json& job) {
    Costs costs;
    const auto& of = job.at("costs");
    of.at("memory_bandwidth").get_to(costs.memory_bandwidth);
    of.at("cache_bandwidth").get_to(costs.cache_bandwidth);
    of.at("cache").get_to(costs.cache);
    of.at("kernel").get_to(costs.kernel);
    of.at("message").get_to(costs.message);
    of.at("node_latency").get_to(costs.node_latency);
    of.at("node_bandwidth").get_to(costs.node_bandwidth);
    of.at("network_bandwidth").get_to(costs.network_bandwidth);
    of.at("imbalance").get_to(costs.imbalance);
    of.at("detour_seconds").get_to(costs.detour_seconds);
    of.at("detour_rate").get_to(costs.detour_rate);
    of.at("all_reduce").get_to(costs.all_reduce);
    of.at("exchange").get_to(costs.exchange);
    of.at("seed").get_to(costs.seed);
    of.at("ranks_per_node").get_to(costs.ranks_per_node);
    return costs;
}

SimulationOptions read_options(const json& job) {
    SimulationOptions options;
    const std::string reductions = job.at("reductions"), exchanges = job.at("exchanges");
    options.reductions = reductions == "rd"    ? Reductions::rd
                         : reductions == "act" ? Reductions::act
                         : reductions == "ana" ? Reductions::ana
                                               : Reductions::mpi;
    options.exchanges = exchanges == "memory" ? Exchanges::memory : Exchanges::messages;
    job.at("blocking").get_to(options.blocking);
    job.at("polls").get_to(options.polls);
    job.at("dry").get_to(options.dry);
    return options;
}

class Rank {
public:
    explicit Rank(const json& job)
        : job_(job),
          comm_(read_costs(job), read_options(job)),
          columns_(job.at("columns")),
          dry_(job.at("dry")),
          layout_(shared_layout(job, comm_.size())) {
        const std::string precond = job.at("precond");
        if (dry_) {
            footprint_.emplace(layout_, comm_.rank());
            rows_ = std::max(4, 4096 / comm_.size());
            auto A = std::make_unique<DryMatrix>(comm_, rows_, *footprint_, columns_);
            for (Index row = 0; row < rows_; ++row)
                A->diagonal()[static_cast<std::size_t>(row)] = eigenvalue(Global{rows_} * comm_.rank() + row);
            comm_.set_scale(static_cast<double>(footprint_->rows) / rows_);
            matrix_bytes_ = footprint_->interior_bytes + footprint_->interface_bytes;
            real_rows_ = footprint_->rows;
            A_ = AnyOperator<double>(static_cast<const DryMatrix&>(*A));
            stands_.push_back(std::move(A));
        } else {
            matrix_.emplace(comm_, layout_.partition(), layout_.rows(comm_.rank()), 1,
                            job.at("storage") == "csr" ? Storage::compressed_rows : Storage::automatic);
            rows_ = real_rows_ = matrix_->local_rows();
            matrix_bytes_ = matrix_->bytes(1) - 16.0 * rows_;
            A_ = AnyOperator<double>(*matrix_);
        }
        if (precond == "none") return;
        const double vector = 8.0 * real_rows_;
        preconditioner_bytes_ = precond == "matrix" ? matrix_bytes_ : 0;
        if (precond.starts_with("cost:"))
            stands_.push_back(
                std::make_unique<DryPreconditioner>(comm_, rows_, std::stoi(precond.substr(5)) / 2, 0.0, 2 * vector));
        else if (precond == "matrix")
            stands_.push_back(std::make_unique<DryPreconditioner>(comm_, rows_, 1, matrix_bytes_, 2 * vector));
        else if (dry_)
            throw InputError("a dry run has no preconditioner but cost:K and matrix");
        else {
            preconditioner_ = make_preconditioner(precond, *matrix_);
            preconditioner_bytes_ = preconditioner_->stored();
            M_ = AnyOperator<double>(*preconditioner_);
            return;
        }
        M_ = AnyOperator<double>(static_cast<const Stand&>(*stands_.back()));
    }

    void run(const std::string& method) {
        const auto began = std::chrono::steady_clock::now();
        const Spec spec = parse_spec(method);
        const Method& row = find_method(spec.name);
        const Options method_options(spec, row.options);
        const auto has = [&](std::string_view option) {
            return std::ranges::any_of(row.options, [&](const OptionInfo& each) { return each.name == option; });
        };
        const int vectors = row.vectors(method_options, static_cast<bool>(M_));
        comm_.set_working_set(matrix_bytes_ + preconditioner_bytes_ + 8.0 * real_rows_ * columns_ * (vectors + 2));
        comm_.restart_noise();

        const auto size = static_cast<std::size_t>(rows_) * static_cast<std::size_t>(columns_);
        std::vector<double> b(size, 1.0), x(size, 0.0);
        if (dry_)  // columns that differ
            for (std::size_t k = 0; k < size; ++k)
                b[k] += 0.1 * static_cast<double>(k % static_cast<std::size_t>(columns_));
        SolveOptions options;
        options.method = dry_ ? without_safeguards(method, largest) : method;
        options.max_iterations = job_.at("iterations");
        options.rtol = dry_ ? 0 : job_.at("rtol").get<double>();
        options.formulation = job_.at("formulation") == "basic" ? Formulation::basic : Formulation::merged;
        options.history = job_.at("history");
        std::vector<double> times;
        std::vector<int> products;  // before; of a dry run
        const auto room = static_cast<std::size_t>(std::min(options.max_iterations, 100'000)) + 1;
        times.reserve(room);
        products.reserve(room);
        options.monitor = [&](const IterationInfo& at) {
            if (at.iteration == 0) return true;
            times.push_back(comm_.now());
            products.push_back(dry_ ? stands_.front()->applied() : 0);
            return true;
        };
        constexpr int traced = 4;  // ranks
        Trace trace(comm_.rank() < traced ? 1'000'000 : 0);
        const std::string trace_file = job_.at("trace");
        if (!trace_file.empty()) options.trace = &trace;
        const Result result =
            solve<double>(comm_, A_, M_, {b.data(), rows_, columns_}, {x.data(), rows_, columns_}, options);
        if (dry_ && (result.iterations < options.max_iterations || result.finished_by != spec.name))
            throw InputError(fmt::format("a dry run of {} ends after {} iterations by {}: --iterations fewer", method,
                                         result.iterations, result.finished_by));

        comm_.largest_of(times);
        const auto l = has("l") ? static_cast<std::size_t>(method_options.number("l")) : 1;
        std::size_t start = 10;  // iterations that fill a pipeline
        if (has("warmup") && !dry_) start += static_cast<std::size_t>(method_options.number("warmup"));
        const double per_iteration =
            has("m") ? seconds_per_iteration(times, products, 0, static_cast<std::size_t>(method_options.number("m")))
                     : seconds_per_iteration(times, products, std::min(start, times.size() / 2), l);
        const auto& mean = result.per_iteration;
        std::vector<double> most{per_iteration,
                                 result.solve_seconds,
                                 mean.lost,
                                 double(real_rows_),
                                 -mean.hidden_fraction,
                                 double(dry_ ? static_cast<int>(footprint_->receives.size()) : matrix_->neighbours())};
        most.insert(most.end(), mean.seconds.begin(), mean.seconds.end());
        comm_.largest_of(most);
        json line{{"method", method},
                  {"ranks", comm_.size()},
                  {"rows", layout_.partition().rows()},
                  {"rows_of_a_rank", most[3]},
                  {"neighbours", most[5]},
                  {"status", name(result.status)},
                  {"finished_by", result.finished_by},
                  {"iterations", result.iterations},
                  {"relative_residual", result.relative_residual()},
                  {"seconds", most[1]},
                  {"seconds_per_iteration", most[0]},
                  {"reductions", mean.reductions},
                  {"vector_reads", mean.vector_reads},
                  {"vector_writes", mean.vector_writes},
                  {"hidden", -most[4]},  // on the rank that hides the least
                  {"lost", most[2]}};
        for (std::size_t k = 0; k < kernels.size(); ++k) line["kernels"][std::string(kernels[k].second)] = most[6 + k];
        if (options.history)
            for (std::size_t k = 0; k < result.history.size(); ++k)
                line["history"].push_back(result.history[k] / result.columns[k % result.columns.size()].norm_b);
        if (!trace_file.empty()) {
            std::string file = method;
            std::ranges::replace_if(file, [](unsigned char c) { return !std::isalnum(c) && c != '_'; }, '-');
            write_trace(comm_, trace, fmt::format("{}{}.json", trace_file, file));
        }
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
        line["simulated_in"] = took.count();
        if (comm_.rank() != 0) return;
        fmt::print("{}\n", line.dump());
        std::fflush(stdout);
    }

private:
    /// One for all ranks, for it is as long as they are many and they only read it.
    static const Layout& shared_layout(const json& job, int ranks) {
        static const Layout layout(job.at("problem"), ranks, job.at("boxes"));
        return layout;
    }

    const json& job_;
    SimulatedComm comm_;
    int columns_;
    bool dry_;
    const Layout& layout_;
    std::optional<Footprint> footprint_;
    std::optional<CsrMatrix<double>> matrix_;
    std::vector<std::unique_ptr<Stand>> stands_;
    std::unique_ptr<Preconditioner> preconditioner_;
    AnyOperator<double> A_, M_;
    Index rows_ = 0, real_rows_ = 0;
    double matrix_bytes_ = 0, preconditioner_bytes_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int code = 0;
    try {
        static const json job = json::parse(std::ifstream(argv[1]));  // the ranks share it, too
        Rank rank(job);
        for (const std::string method : job.at("methods")) rank.run(method);
    } catch (const std::exception& error) {
        int me = 0;
        MPI_Comm_rank(MPI_COMM_WORLD, &me);
        if (me == 0) fmt::print("{}\n", json{{"error", error.what()}}.dump());
        code = 2;
    }
    MPI_Finalize();
    return code;
}
