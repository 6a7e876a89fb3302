// SPDX-License-Identifier: BSD-3-Clause
#include "blocks.hpp"
#include "kinds.hpp"

namespace stretto {
namespace {

class BlockJacobi final : public Preconditioner {
public:
    BlockJacobi(const CsrMatrix<double>& A, const Options& options) : A_(&A), blocks_(A, options) {
        blocks_.factorise([&](int b) { return block(b); });
    }

    bool update(int /*solves*/) override {
        blocks_.factorise([&](int b) { return block(b); });
        return true;
    }
    void apply(MultiVector<double> r, MultiVector<double> z) const override { solve(r, z, false); }
    void apply_transpose(MultiVector<double> r, MultiVector<double> z) const override { solve(r, z, true); }
    int blocks() const override { return blocks_.size(); }
    std::pair<Index, Index> block_rows(int b) const override { return {blocks_.begin(b), blocks_.end(b)}; }
    void apply_block(int b, MultiVector<double> r, MultiVector<double> z, const RowWork*) const override {
        constexpr int not_the_first = 1;  // which would look after what is in flight
        solve_block(b, not_the_first, r, z, false);
    }
    OwnedOperator<float> in_single() const override {
        blocks_.round();
        return owned<float>(std::make_shared<InSingle>(blocks_));
    }
    bool symmetric() const override { return blocks_.symmetric(); }
    double bytes(int columns) const override {
        return stored() + 8.0 * blocks_.passes() * columns * static_cast<double>(blocks_.rows());
    }
    double stored() const override { return blocks_.stored(); }
    std::vector<std::string> remarks() const override { return blocks_.remarks(); }
    bool repaired() const override { return blocks_.repaired(); }
    ExplicitInverse explicit_inverse() const override { return blocks_.explicit_inverse(); }

private:
    struct InSingle {
        explicit InSingle(const Blocks& of) : blocks(of) {}
        void apply(MultiVector<float> r, MultiVector<float> z) const {
            blocks.comm().charge(bytes(r.columns()));
            blocks.each([&](int b, int thread) {
                const auto at = static_cast<std::size_t>(blocks.begin(b)) * static_cast<std::size_t>(r.columns());
                blocks.solve(b, thread, r.data() + at, z.data() + at, r.columns());
            });
        }
        double bytes(int columns) const {
            return blocks.stored_rounded() +
                   sizeof(float) * blocks.passes() * columns * static_cast<double>(blocks.rows());
        }
        const Blocks& blocks;
    };

    /// The rows of block b, with what A has between them.
    Block block(int b) const {
        const Index begin = blocks_.begin(b), end = blocks_.end(b);
        Block block;
        auto most = static_cast<std::size_t>(end - begin);  // diagonals that A has not
        for (Index i = begin; i < end; ++i) most += A_->row(i).columns.size();
        block.reserve(end - begin, most);
        for (Index i = begin; i < end; ++i) {
            const auto [columns, values] = A_->row(i);
            bool diagonal = false;
            for (std::size_t k = 0; k < columns.size(); ++k) {
                if (columns[k] < begin || columns[k] >= end) continue;
                if (!diagonal && columns[k] > i) block.add(i - begin, 0);
                diagonal = diagonal || columns[k] >= i;
                block.add(columns[k] - begin, values[k]);
            }
            if (!diagonal) block.add(i - begin, 0);
            block.end_row();
        }
        return block;
    }

    void solve(MultiVector<double> r, MultiVector<double> z, bool transpose) const {
        blocks_.comm().charge(bytes(r.columns()));
        blocks_.each([&](int b, int thread) { solve_block(b, thread, r, z, transpose); });
    }
    void solve_block(int b, int thread, MultiVector<double> r, MultiVector<double> z, bool transpose) const {
        const auto at = static_cast<std::size_t>(blocks_.begin(b)) * static_cast<std::size_t>(r.columns());
        blocks_.solve(b, thread, r.data() + at, z.data() + at, r.columns(), transpose);
    }

    const CsrMatrix<double>* A_;
    Blocks blocks_;
};

}  // namespace

std::unique_ptr<Preconditioner> make_block_jacobi(const CsrMatrix<double>& A, const Options& options) {
    return std::make_unique<BlockJacobi>(A, options);
}

}  // namespace stretto
