// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "../command.hpp"
#include "../options.hpp"

/// The arguments of `stretto bench`.
struct BenchArguments {
    CommArguments comm;
    std::string family;
    std::string problem;       ///< empty: that of the family
    std::vector<int> columns;  ///< empty: those of the family
    int iterations = 0;        ///< 0: the default of the family
    int rounds = 3;
    std::vector<int> sizes{5000, 20000, 80000};  ///< of hmatrix
    std::vector<double> epsilons{1e-3, 1e-6};    ///< of hmatrix
    std::string schemes = "all";                 ///< of batched products of hmatrix on a device
    std::string storage = "auto", device = "cpu";
    int threads = 0;  ///< as for solve
    std::string json;
    bool progress = false;
};

/// What of a family is measured.
struct BenchVariant {
    std::string_view method;  ///< NAME[:key=value,…], as the tables show it
    bool preconditioned = false;
    std::string_view more{};  ///< what else it is given, so that its iterations are all alike

    /// The specification that is measured, on a matrix of this norm.
    std::string spec(double norm_of_A) const;
};

/// What a family is measured on, and its rows.
struct BenchFamily {
    std::string_view name, problem;
    std::vector<int> columns;
    std::vector<BenchVariant> variants;
    int iterations = 12;
    int cycle = 1;  ///< iterations that are alike only together
};
/// Throws stretto::InputError that lists the names there are.
const BenchFamily& find_family(const std::string& name);

inline constexpr int triads_of_a_round = 10;

/// Collective. Compression, products and errors of hierarchical matrices, beside hmat-oss where it is built in.
int run_bench_hmatrix(stretto::Comm& comm, const BenchArguments& arguments, const std::atomic<bool>& interrupt);

/// Collective. Products on a device by every scheme of batched kernels (Yamazaki and others 2018, Figs. 8 and 9).
int run_bench_hmatrix_device(stretto::Comm& comm, const BenchArguments& arguments, const std::atomic<bool>& interrupt);

/// Collective. Every merged group of every method beside the triad: bytes per second, and what fraction of the
/// triad's.
int run_bench_groups(stretto::Comm& comm, const BenchArguments& arguments, const std::atomic<bool>& interrupt);
