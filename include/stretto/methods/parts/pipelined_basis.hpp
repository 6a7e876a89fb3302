// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>

#include "stretto/core/recent.hpp"
#include "stretto/methods/parts/block_of_columns.hpp"
#include "stretto/methods/parts/orthogonality.hpp"

namespace stretto {

/// Columns of R in a pipeline.
template <class T>
class PipelinedGramSchmidt {
public:
    PipelinedGramSchmidt(Arnoldi<T>& K, std::pmr::memory_resource* memory)
        : K_(K), squares_(K.m + 1, 1, K.R.columns(), memory), loss_(K.m + 1, memory) {}

    /// Rows from `known` to c of column c of R, so far products with v, by those of q; the last from the square of the
    /// length that is left. `square_of_last`: of the last q whose products with v_c are known. False where what is left
    /// of v_c means too little: the pipeline ends before it.
    bool operator()(int known, int c, const Number<T>* square_of_last) {
        auto& R = K_.R;
        bool good = true;
        for (int j = 0; j < R.columns(); ++j) {
            if (!K_.active_in_cycle(j)) continue;
            for (int i = known; i < c; ++i) {
                for (int k = 0; k < i; ++k) R(i, c, j) -= conjugate(R(k, i, j)) * R(k, c, j);
                R(i, c, j) /= R(i, i, j);
            }
            squares_(c, 0, j) = R(c, c, j);
            Real<T> left = real_part(R(c, c, j));
            for (int i = 0; i < c; ++i) left -= abs_squared(R(i, c, j));
            R(c, c, j) = left > 0 ? std::sqrt(left) : Real<T>{};
            loss_.begin(real_part(square_of_last[j]));
            const Real<T> lost = loss_.extend(
                known,
                c,
                [&](int i, int k) { return R(i, k, j); },
                [&](int i) { return real_part(squares_(i, 0, j)); });
            good = good && lost <= enough;
        }
        return good;
    }

private:
    // Chosen on 35 matrices: 1e-9 leaves pipelines that do no harm, 0.01 makes H too wrong for what comes after them.
    static constexpr Real<T> enough = 1e-4;

    Arnoldi<T>& K_;
    SmallMatrix<T> squares_;  // ‖v‖²
    OrthogonalityLoss<Number<T>> loss_;
};

/// Column i of B, which makes v_{i+1} out of A M⁻¹ v_i: the shifts of the basis as long as no column of H is known,
/// then column c − 1 of H, that is v_{i+1} = P(A M⁻¹) q_c with the polynomial P of the first steps.
template <class T>
class ChangeOfBasis {
public:
    /// Entries of H below tau · ‖A M⁻¹‖ are left out, and make up for it in the length of v_{i+1}.
    ChangeOfBasis(Space<T>& V, Arnoldi<T>& K, const NewtonBasis& basis, double tau)
        : V_(V), K_(K), basis_(basis), tau_(tau) {
        V.reserve_products(K.m + 1, piece);
    }

    /// v_0 … v_w as they would be, had they been made before the q_0 … q_w that are there: V = Q R takes no product and
    /// no reduction. Of them those that others are made of.
    void begin(const Panel<T>& v, int w, int lag) {
        auto &R = K_.R, &B = K_.B;
        for (int j = 0; j < R.columns(); ++j) R(0, 0, j) = 1;
        for (int i = 0; i < w; ++i) {
            column(i, lag);
            for (int j = 0; j < R.columns(); ++j) {
                if (!K_.active_in_cycle(j)) B(i + 1, i, j) = 0;
                for (int row = 0; row <= i + 1; ++row) {
                    Number<T> sum{};
                    for (int k = std::max(row - 1, 0); k <= i; ++k) sum += K_.H(row, k, j) * R(k, i, j);
                    for (int k = row; k <= i; ++k) sum -= R(row, k, j) * B(k, i, j);
                    R(row, i + 1, j) = B(i + 1, i, j) != Number<T>{} ? sum / B(i + 1, i, j) : Number<T>{};
                }
            }
        }
        for (int k = std::clamp(w - 1, 0, lag); k <= w; k += piece)
            V_.run(v.part(k, std::min(piece, w + 1 - k)) <<= K_.Q.part(0, w + 1) * R.from(0, k));
    }

    /// v_{i+1} := (v_{i+1} − V B(:, i)) / B(i+1, i), where v_{i+1} is A M⁻¹ v_i.
    PanelAssign<T> operator()(const Panel<T>& v, int i, int lag) {
        const int first = column(i, lag);
        const auto next = v.part(i + 1, 1);
        return next <<= (next - v.part(first, i + 1 - first) * K_.B.from(first, i)) / K_.B.from(i + 1, i);
    }

private:
    /// Column i of B. Returns the first row that is not zero, or one before it.
    int column(int i, int lag) {
        const int c = i + 1 - lag;
        if (c < 1) {
            basis_.step(i, K_.B, i);
            return std::max(i - 1, 0);
        }
        int first = i;
        for (int j = 0; j < K_.B.columns(); ++j) first = std::min(first, take(c, i, lag, j));
        return first;
    }

    /// Column c − 1 of H, moved down. Returns the first row that is not zero.
    int take(int c, int i, int lag, int j) {
        for (int k = 0; k < lag; ++k) K_.B(k, i, j) = 0;
        const Real<T> small = static_cast<Real<T>>(tau_ * basis_.norm(j));
        Real<T> length = abs_squared(K_.H(c, c - 1, j));
        int first = i;
        for (int k = c - 1; k >= 0; --k) {
            const Number<T> h = K_.H(k, c - 1, j);
            const bool keep = std::abs(h) >= small;
            K_.B(k + lag, i, j) = keep ? h : Number<T>{};
            if (keep && h != Number<T>{}) first = k + lag;
            if (!keep && length > 0) length += abs_squared(h);
        }
        K_.B(i + 1, i, j) = std::sqrt(length);
        return first;
    }

    static constexpr int piece = 4;  // vectors that are made together

    Space<T>& V_;
    Arnoldi<T>& K_;
    const NewtonBasis& basis_;
    double tau_;
};

/// Stored beyond x and b, with the option m: v_0 … v_m beside what Arnoldi keeps.
inline int vectors_in_pipeline(const Options& given, bool preconditioned) {
    const int m = static_cast<int>(given.number("m"));
    return Arnoldi<double>::vectors(m, preconditioned) + m + 1;
}

/// The last l reductions, by the vectors they are for.
template <class T>
Recent<std::optional<InFlight<T, counted_when_running>>> in_flight(Space<T>& V, int l) {
    return {l, [](int) { return std::nullopt; }, &V.memory()};
}

/// A cycle in a pipeline: `pipeline` makes the next columns. Where there are no shifts yet, the first columns are a
/// block, whose Ritz values are the shifts. Where the pipeline ends early, the rest comes in blocks: a cycle is worth
/// more than another pipeline.
template <class T, class Pipeline>
void cycle_in_pipeline(Space<T>& V, Arnoldi<T>& K, NewtonBasis& basis, BlockGramSchmidt<T>& block,
                       GramSchmidt<T>& one_by_one, int length, Pipeline pipeline) {
    const auto next_block = [&] {
        const auto phase = V.ledger().enter(Phase::setup);
        block_of_columns(V, K, basis, block, one_by_one, std::min(length, K.m - K.extended()));
        learn(basis, K);
    };
    const auto done = [&] { return K.enough() || K.extended() == K.m; };
    if (!basis.chosen()) next_block();
    if (!done()) pipeline();
    learn(basis, K);
    while (!done()) next_block();
}

}  // namespace stretto
