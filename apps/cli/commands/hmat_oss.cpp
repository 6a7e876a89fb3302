// SPDX-License-Identifier: BSD-3-Clause
#include "hmat_oss.hpp"

#include <hmat/hmat.h>

#include <algorithm>

#include "stretto/core/types.hpp"

using stretto::Clock;

std::optional<HmatOss> measure_hmat_oss(const ChargeKernel& kernel, double epsilon, const std::vector<double>& x,
                                        int products) {
    const auto n = static_cast<int>(x.size());
    std::vector<double> coordinates;
    for (const auto& p : kernel.points) coordinates.insert(coordinates.end(), p.begin(), p.end());
    hmat_interface_t hmat;
    hmat_init_default_interface(&hmat, HMAT_DOUBLE_PRECISION);
    if (hmat.init() != 0) return {};
    const auto start = Clock::now();
    const double cpu = cpu_seconds();
    auto* const clustering = hmat_create_clustering_median();
    auto* const tree = hmat_create_cluster_tree(coordinates.data(), 3, n, clustering);
    auto* const admissibility = hmat_create_admissibility_standard(2);
    auto* const matrix = hmat.create_empty_hmatrix_admissibility(tree, tree, 0, admissibility);
    hmat.set_low_rank_epsilon(matrix, epsilon);
    hmat_assemble_context_t context;
    hmat_assemble_context_init(&context);
    context.user_context = const_cast<ChargeKernel*>(&kernel);
    context.progress = nullptr;
    const auto* const compression = hmat_create_compression_aca_plus(epsilon);
    context.compression = compression;
    context.simple_compute = [](void* data, int i, int j, void* result) {
        *static_cast<double*>(result) = (*static_cast<const ChargeKernel*>(data))(i, j);
    };
    hmat.assemble_generic(matrix, &context);
    HmatOss result{stretto::to_seconds(Clock::now() - start), cpu_seconds() - cpu, 1e300, 0,
                   std::vector<double>(x.size())};
    hmat_info_t info;
    hmat.get_info(matrix, &info);
    result.bytes = 8.0 * static_cast<double>(info.compressed_size);
    std::vector<double> from = x;
    double one = 1, zero = 0;
    for (int k = 0; k < products; ++k) {
        const auto before = Clock::now();
        hmat.gemv('N', &one, matrix, from.data(), &zero, result.y.data(), 1);
        result.product_seconds = std::min(result.product_seconds, stretto::to_seconds(Clock::now() - before));
    }
    hmat.destroy(matrix);
    hmat_delete_compression(compression);
    hmat_delete_admissibility(admissibility);
    hmat_delete_clustering(clustering);
    hmat.finalize();
    return result;
}
