// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/precond/jacobi.hpp"

#include <fmt/format.h>

#include "stretto/core/collective.hpp"
#include "stretto/core/parallel.hpp"

namespace stretto {
namespace {
constexpr std::size_t rows_of_a_piece = 1024;  // which stay in cache for what is done with them
}  // namespace

Jacobi::Jacobi(const CsrMatrix<double>& A) : comm_(&A.comm()), threads_(A.threads()), inverse_(A.diagonal()) {
    Global zeros = 0;
    for (double& d : inverse_) {
        zeros += d == 0;
        d = d == 0 ? 1 : 1 / d;
    }
    zeros_ = all_sum(A.comm(), zeros);
}

void Jacobi::divide(MultiVector<double> r, MultiVector<double> z, const RowWork* work) const {
    comm_->charge(bytes(r.columns()));
    const auto m = static_cast<std::size_t>(r.columns());
    parallel(threads_, [&](int t, int threads) {
        const Share rows(inverse_.size(), t, threads);
        FinishedRows finished(work, t, r.columns());
        Pieces(comm_, t, rows_of_a_piece)(rows.begin, rows.end, [&](std::size_t begin, std::size_t end) {
            for (std::size_t next; begin < end; begin = next) {
                next = std::min(end, begin + std::max<std::size_t>(1, rows_of_a_piece / m));
                const double* from = r.data() + begin * m;
                double* to = z.data() + begin * m;
                for (std::size_t row = begin; row < next; ++row, from += m, to += m)
                    for (std::size_t j = 0; j < m; ++j) to[j] = inverse_[row] * from[j];
                finished(static_cast<Index>(begin), static_cast<Index>(next));
            }
        });
    });
}

double Jacobi::bytes(int columns) const { return 8.0 * static_cast<double>(inverse_.size()) * (2.0 * columns + 1); }

std::vector<std::string> Jacobi::remarks() const {
    if (zeros_ == 0) return {};
    return {fmt::format("jacobi: {} zeros on the diagonal count as ones", zeros_)};
}

}  // namespace stretto
