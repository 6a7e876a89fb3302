// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/core/parallel.hpp"
#include "stretto/core/scratch.hpp"
#include "stretto/system/scale.hpp"

namespace stretto {
namespace {

class Scaled final : public Preconditioner {
public:
    Scaled(const CsrMatrix<double>& A, const Scales& scales, std::unique_ptr<Preconditioner> inner)
        : comm_(&A.comm()),
          threads_(A.threads()),
          n_(static_cast<std::size_t>(A.local_rows())),
          scales_(&scales),
          inner_(std::move(inner)) {}

    void apply(MultiVector<double> r, MultiVector<double> z) const override {
        run(r, z, rows(), columns(), [&](MultiVector<double> from) { inner_->apply(from, z); });
    }
    void apply_transpose(MultiVector<double> r, MultiVector<double> z) const override {
        run(r, z, columns(), rows(), [&](MultiVector<double> from) { inner_->apply_transpose(from, z); });
    }
    bool has_transpose() const override { return !inner_ || inner_->has_transpose(); }
    bool varies() const override { return inner_ && inner_->varies(); }
    int reductions() const override { return inner_ ? inner_->reductions() : 0; }
    bool update(int solves) override { return !inner_ || inner_->update(solves); }
    std::optional<LevelSizes> level_sizes() const override {
        return inner_ ? inner_->level_sizes() : std::optional<LevelSizes>();
    }
    bool repaired() const override { return inner_ && inner_->repaired(); }
    bool symmetric() const override { return scales_->symmetric && (!inner_ || inner_->symmetric()); }
    double bytes(int columns) const override { return own_bytes(columns) + (inner_ ? inner_->bytes(columns) : 0); }
    double stored() const override { return 16.0 * static_cast<double>(n_) + (inner_ ? inner_->stored() : 0); }
    std::vector<std::string> remarks() const override {
        return inner_ ? inner_->remarks() : std::vector<std::string>();
    }

private:
    const std::vector<double>& rows() const { return scales_->rows; }
    const std::vector<double>& columns() const { return scales_->symmetric ? scales_->rows : scales_->columns; }
    double own_bytes(int columns) const { return 8.0 * static_cast<double>(n_) * (4.0 * columns + 2); }

    template <class Inner>
    void run(MultiVector<double> r, MultiVector<double> z, const std::vector<double>& first,
             const std::vector<double>& last, Inner&& inner) const {
        comm_->charge(own_bytes(r.columns()));
        const auto m = static_cast<std::size_t>(r.columns());
        const auto scale = [&](const double* from, double* to, const std::vector<double>& by) {
            parallel(threads_, [&](int t, int threads) {
                const Share share(n_, t, threads);
                for (auto i = share.begin; i < share.end; ++i)
                    for (std::size_t k = i * m; k < (i + 1) * m; ++k) to[k] = by[i] * from[k];
            });
        };
        if (!inner_) {
            scale(r.data(), z.data(), first);
            return scale(z.data(), z.data(), last);
        }
        auto& work = work_.at(r.columns(), [&] { return std::vector<double>(r.size()); });
        scale(r.data(), work.data(), first);
        inner({work.data(), r.rows(), r.columns()});
        scale(z.data(), z.data(), last);
    }

    Comm* comm_;
    int threads_;
    std::size_t n_;  // local rows
    const Scales* scales_;
    std::unique_ptr<Preconditioner> inner_;
    Scratch<std::vector<double>> work_;
};

}  // namespace

std::unique_ptr<Preconditioner> scaled_preconditioner(const CsrMatrix<double>& A, const Scales& scales,
                                                      std::unique_ptr<Preconditioner> inner) {
    return std::make_unique<Scaled>(A, scales, std::move(inner));
}

}  // namespace stretto
