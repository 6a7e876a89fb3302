// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/core.h>
#include <unistd.h>

#include <map>
#include <nlohmann/json.hpp>

#include "../command.hpp"
#include "../files.hpp"
#include "../machine.hpp"
#include "../options.hpp"
#include "../show/print.hpp"
#include "stretto/comm/collective.hpp"
#include "stretto/comm/default_threads.hpp"
#include "stretto/comm/node.hpp"
#include "stretto/model/benchmarks.hpp"
#include "stretto/model/probe.hpp"

using namespace stretto;
using nlohmann::ordered_json;

namespace {

constexpr std::size_t most_bytes = 16384;  // of a reduction
constexpr std::size_t typical_bytes = 32;  // of one in an iteration
constexpr std::size_t most_exchanged = 1 << 20;
constexpr int depth = 10;  // reductions in flight at once

std::vector<std::size_t> sizes(std::size_t most) {
    std::vector<std::size_t> all;
    for (std::size_t bytes = 8; bytes <= most; bytes *= 2) all.push_back(bytes);
    return all;
}

std::string microseconds(double seconds) { return fmt::format("{:.2f}", 1e6 * seconds); }
std::string percent(double value) { return fmt::format("{:.0f} %", 100 * value); }

struct OverlapArguments {
    int repetitions = 50;
    std::string json, machine;
    bool progress = false;
};

class Benchmarks {
public:
    Benchmarks(MpiComm& mpi, const OverlapArguments& arguments, const std::atomic<bool>& interrupt)
        : mpi_(mpi),
          arguments_(arguments),
          interrupt_(interrupt),
          machine_(mpi, arguments.machine, ""),
          line_(mpi.rank(), arguments.progress),
          table_(mpi.rank() == 0 && arguments.json != "-") {}

    bool run() {
        ordered_json result{{"benchmark", "overlap"},
                            {"mpi", mpi_library()},
                            {"ranks", mpi_.size()},
                            {"repetitions", arguments_.repetitions}};
        say("{}, {} ranks; the best of {}, µs of the slowest rank; γ: what remains of a reduction behind as much work, "
            "0 % where all is hidden\n",
            mpi_library(), mpi_.size(), arguments_.repetitions);
        result["overhead"] = overhead();
        result["polls"] = polls();
        result["concurrency"] = concurrency();
        result["pipelining"] = pipelining();
        result["exchange"] = exchange();
        result["all_reduce"] = all_reduce();
        if (interrupted()) return false;
        result["fits"] = fits();
        result["advice"] = verdict();
        if (mpi_.rank() == 0 && !arguments_.json.empty()) write_json(arguments_.json, result);
        return true;
    }

private:
    template <class... T>
    void say(fmt::format_string<T...> format, T&&... values) {
        line_.clear();
        if (!table_) return;
        print_out(format, std::forward<T>(values)...);
        flush_out();
    }
    bool interrupted() const { return any_of(mpi_, interrupt_); }

    /// One row for each size, until interrupted.
    template <class Row>
    ordered_json each(const char* what, const std::vector<std::size_t>& all, Row&& row) {
        auto rows = ordered_json::array();
        for (std::size_t k = 0; k < all.size() && !interrupted(); ++k) {
            line_.show_fraction(what, static_cast<double>(k) / static_cast<double>(all.size()));
            for (auto& one : row(all[k])) rows.push_back(std::move(one));
        }
        line_.clear();
        return rows;
    }

    ordered_json overhead() {
        const auto modes = offered_modes();
        say("\nWork and a reduction of the same length: blocking, then behind the work; what remains of it, γ\n"
            "{:>8} {:>9}",
            "bytes", "blocking");
        for (const auto mode : modes) say(" {:>9} {:>7}", name(mode), "γ");
        say("\n");
        return each("overhead", sizes(most_bytes), [&](std::size_t bytes) {
            const auto found = measure_overlap(mpi_, mpi_, bytes / sizeof(double), modes, effort_, work_);
            if (bytes == typical_bytes) {
                typical_.reduction = found.blocking;
                for (const auto& mode : found.modes) typical_.gamma.emplace_back(mode.mode, mode.gamma);
            }
            say("{:>8} {:>9}", bytes, microseconds(found.blocking));
            ordered_json of;
            for (const auto& mode : found.modes) {
                say(" {:>9} {:>7}", microseconds(mode.total), percent(mode.gamma));
                of[std::string(name(mode.mode))] = {
                    {"total_seconds", mode.total}, {"comm_seconds", mode.comm}, {"gamma", mode.gamma}};
            }
            say("\n");
            return std::vector<ordered_json>{
                {{"bytes", bytes}, {"blocking_seconds", found.blocking}, {"work_seconds", found.work}, {"modes", of}}};
        });
    }

    ordered_json polls() {
        const std::vector<int> all{2, 5, 10, 20, 50, 100};
        say("\nMode poll: γ by the number of tests from start to wait\n{:>8}", "bytes");
        for (const int tests : all) say(" {:>7}", tests);
        say("\n");
        auto rows = each("polls", {8, 2048}, [&](std::size_t bytes) {
            say("{:>8}", bytes);
            std::vector<ordered_json> found;
            for (const int tests : all) {
                mpi_.set_polls(tests);
                const auto measured =
                    measure_overlap(mpi_, mpi_, bytes / sizeof(double), {ProgressMode::poll}, effort_, work_);
                say(" {:>7}", percent(measured.modes[0].gamma));
                found.push_back({{"bytes", bytes}, {"tests", tests}, {"gamma", measured.modes[0].gamma}});
            }
            say("\n");
            return found;
        });
        mpi_.set_polls(MpiComm::usual_polls);
        return rows;
    }

    ordered_json concurrency() {
        say("\nOverlap of work with a collective, (pure + cpu − together) / min(pure, cpu): 100 % where one is "
            "behind the other, below 0 where together they take longer than in turn\n"
            "{:>11} {:>6} {:>8} {:>9} {:>9} {:>9} {:>8}\n",
            "collective", "tests", "bytes", "pure", "cpu", "together", "overlap");
        auto rows = ordered_json::array();
        for (const auto& [collective, label] :
             {std::pair(Collective::all_reduce, "all-reduce"), std::pair(Collective::all_gather, "all-gather")})
            for (const int tests : {0, MpiComm::usual_polls}) {
                auto some = each(label, sizes(most_bytes), [&](std::size_t bytes) {
                    const auto found = measure_concurrency(mpi_.mpi(), collective, bytes, tests, effort_, work_);
                    say("{:>11} {:>6} {:>8} {:>9} {:>9} {:>9} {:>8}\n", label, tests, bytes, microseconds(found.pure),
                        microseconds(found.cpu), microseconds(found.together), percent(found.overlap()));
                    return std::vector<ordered_json>{{{"collective", label},
                                                      {"tests", tests},
                                                      {"bytes", bytes},
                                                      {"pure_seconds", found.pure},
                                                      {"cpu_seconds", found.cpu},
                                                      {"together_seconds", found.together},
                                                      {"overlap_percent", 100 * found.overlap()}}};
                });
                for (auto& row : some) rows.push_back(std::move(row));
            }
        return rows;
    }

    ordered_json pipelining() {
        say("\n{} all-reduces in flight at once over the time of one\n{:>8} {:>7}\n", depth, "bytes", "ratio");
        return each("pipelining", {80, 160, 240, 320, 400, 480, 560, 640}, [&](std::size_t bytes) {
            const double ratio = measure_pipelining(mpi_.mpi(), bytes / sizeof(double), depth, effort_);
            if (ten_ == 0) ten_ = ratio;
            say("{:>8} {:>7.2f}\n", bytes, ratio);
            return std::vector<ordered_json>{{{"bytes", bytes}, {"depth", depth}, {"ratio", ratio}}};
        });
    }

    ordered_json exchange() {
        const std::vector<int> all{2, 4, 6, 8, 10};
        say("\nExchange with so many neighbours\n{:>8}", "bytes");
        for (const int neighbours : all) say(" {:>9}", neighbours);
        say("\n");
        return each("exchange", sizes(most_exchanged), [&](std::size_t bytes) {
            say("{:>8}", bytes);
            std::vector<ordered_json> found;
            for (const int neighbours : all) {
                const auto time = measure_exchange(mpi_.mpi(), neighbours, bytes, effort_);
                say(" {:>9}", microseconds(time.seconds));
                exchanges_.push_back(time);
                found.push_back({{"neighbours", neighbours}, {"bytes", bytes}, {"seconds", time.seconds}});
            }
            say("\n");
            return found;
        });
    }

    /// On the first 2, 4, … ranks and on all, for the law by the number of them.
    ordered_json all_reduce() {
        auto rows = ordered_json::array();
        for (int ranks = 1; ranks < std::max(2, mpi_.size()) && !interrupted();) {
            ranks = std::min(2 * ranks, mpi_.size());
            MPI_Comm some = MPI_COMM_NULL;
            MPI_Comm_split(mpi_.mpi(), mpi_.rank() < ranks ? 0 : MPI_UNDEFINED, mpi_.rank(), &some);
            for (const std::size_t bytes : sizes(most_bytes)) {
                CommTime time{static_cast<double>(bytes), static_cast<double>(ranks), 0};
                if (some != MPI_COMM_NULL)
                    time.seconds = measure_all_reduce(some, bytes / sizeof(double), effort_).seconds;
                time.seconds = all_max(mpi_, time.seconds);
                sums_.push_back(time);
                rows.push_back({{"ranks", ranks}, {"bytes", bytes}, {"seconds", time.seconds}});
            }
            if (some != MPI_COMM_NULL) MPI_Comm_free(&some);
            if (ranks == mpi_.size()) break;
        }
        return rows;
    }

    ordered_json fits() {
        const auto local = fit_two(exchanges_);
        const auto global = fit(sums_);
        say("\nFits, seconds for l bytes\n");
        const auto law = [](const PowerLaw& of) {
            return fmt::format("{:.3g} + {:.3g} l^{:.2f}", of.c0, of.c1, of.n0);
        };
        say("exchange, l ≤ {:.0f}: {}\nexchange, l > {:.0f}: {}\nall-reduce on p ranks: {} p^{:.2f}\n", local.limit,
            law(local.small), local.limit, law(local.large), law(global), global.n1);
        machine_.keep(local, global);
        return {{"point_to_point", to_json(local)}, {"all_reduce", to_json(global)}};
    }

    /// What to make of it.
    std::string verdict() {
        const int node = static_cast<int>(all_max(mpi_, Global{ranks_on_node(mpi_)}));
        const long cores = sysconf(_SC_NPROCESSORS_ONLN);
        auto text = advice(typical_, ten_);
        constexpr double busy = 0.25;  // a progress thread of ours takes a part of a core, too
        const double waited = all_max(mpi_, (waited_for_core() - waited_before_) / to_seconds(Clock::now() - start_));
        if (node > cores)
            text = fmt::format("{} ranks on {} cores: what was measured is how they take turns; start one on each core",
                               node, cores);
        else if (waited > busy)
            text = fmt::format(
                "something else kept a rank from its core for {:.0f} % of the time, so that this tells of that "
                "and not of the machine: measure again when it has ended (as it stands: {})",
                100 * waited, text);
        say("\nSo: {}\n", text);
        return text;
    }

    MpiComm& mpi_;
    const OverlapArguments& arguments_;
    const std::atomic<bool>& interrupt_;
    MachineFile machine_;
    ProgressLine line_;
    bool table_;
    const Effort effort_{arguments_.repetitions};
    Work work_;
    std::vector<CommTime> exchanges_, sums_;
    Probe typical_;
    const Clock::time_point start_ = Clock::now();
    const double waited_before_ = waited_for_core();
    double ten_ = 0;  // in flight over one, of the fewest bytes
};

void add(CLI::App& app, OverlapArguments& overlap) {
    app.add_option("--repetitions", overlap.repetitions, "Of each measurement")
        ->transform(whole_number(1, 1e6, "a number of repetitions from 1 to 1e6"))
        ->capture_default_str();
    add_json_option(app, overlap.json, "the measurements as JSON");
    add_machine_option(app, overlap.machine);
    app.add_flag("--progress", overlap.progress, "Show the progress line also through mpirun");
}

int run(const Context& context, const OverlapArguments& arguments) {
    if (context.mpi->size() == 1)
        throw InputError("overlap: one rank waits for nobody; start several: mpirun -n 2 stretto overlap");
    check_outputs(*context.mpi, {}, arguments.json, {arguments.machine});
    return Benchmarks(*context.mpi, arguments, context.interrupt).run() ? exit_converged : exit_not_converged;
}

}  // namespace

const Command overlap_command = CommandOf<OverlapArguments>::row<add, run>(
    "overlap", "Measure what communication costs here and what of it can be hidden");
