// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "local/solver.hpp"
#include "stretto/core/parallel.hpp"
#include "stretto/operators/explicit_inverse.hpp"
#include "stretto/sparse/csr.hpp"

namespace stretto {

/// The blocks of a rank's rows and their solvers: what block Jacobi and additive Schwarz share.
class Blocks {
public:
    Blocks(const CsrMatrix<double>& A, const Options& options);

    int size() const { return parts_.ranks(); }
    Index rows() const { return static_cast<Index>(parts_.rows()); }
    Index begin(int b) const { return static_cast<Index>(parts_.first(b)); }
    Index end(int b) const { return static_cast<Index>(parts_.first(b + 1)); }
    bool symmetric() const { return kind_.symmetric; }

    /// Collective. make(b) gives block b, on the thread that will solve with it. Again for new values: throws
    /// InputError, on every rank alike, where a block cannot be factorised.
    void factorise(const std::function<Block(int b)>& make);

    /// work(b, thread) for every block.
    template <class Work>
    void each(Work&& work) const {
        parallel(threads_, [&](int t, int threads) {
            for (int b = t; b < size(); b += threads) work(b, t);
        });
    }
    void solve(int b, int thread, const double* r, double* z, int m, bool transpose) const;
    /// The same of vectors in single precision, after round().
    void solve(int b, int thread, const float* r, float* z, int m) const;
    /// Rounds the solvers to single precision, for vectors in it.
    void round() const;
    /// What solve() does, where its blocks are sparse inverses or have at most most_dense_rows rows.
    ExplicitInverse explicit_inverse() const;
    double stored() const;
    double stored_rounded() const;
    double passes() const { return passes_; }
    const std::vector<std::string>& remarks() const { return remarks_; }
    bool repaired() const { return repaired_; }
    Comm& comm() const { return *comm_; }

private:
    void remark();

    Comm* comm_;
    int threads_;
    Options options_;
    const LocalSolverKind& kind_;
    Partition parts_;
    std::vector<std::unique_ptr<LocalSolver>> solvers_;
    mutable std::vector<std::unique_ptr<LocalSolver>> rounded_;
    double passes_ = 0;
    bool repaired_ = false;  // on any rank
    std::vector<std::string> remarks_;
};

}  // namespace stretto
