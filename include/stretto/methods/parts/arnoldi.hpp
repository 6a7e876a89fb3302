// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cmath>
#include <memory_resource>
#include <vector>

#include "stretto/convergence/verdict.hpp"

namespace stretto {

/// What all GMRES methods share, for each right-hand side: an orthonormal basis Q of a Krylov space of A M⁻¹ (M⁻¹A with
/// M on the left), what has been said of other bases V = Q R of the same space, A M⁻¹ V = V B, and the least-squares
/// problem with the Hessenberg matrix H, A M⁻¹ Q = Q H. All columns of H come from one formula, whatever the method:
///
///     H(:, c) = (R B(:, c) − H R(0 : c−1, c)) / R(c, c)
///
/// A method fills R and B and calls `extend(c)` for one column of H after the other. x is updated at the end of a
/// cycle. A right-hand side that is done with a cycle before others gets zeros from there on: R(c, c) and H(c, c−1)
/// vanish for it, and what they divide.
template <class T>
class Arnoldi {
public:
    /// For cycles of as many columns. M stands on the left where the option `side` says so. `flexible`: M may be
    /// another one in each use (op is told the column); what it made is stored.
    Arnoldi(Space<T>& space, const LinearMap<T>& A, const LinearMap<T>& M, MultiVector<T> b, MultiVector<T> x,
            int cycle, Verdict<T>& stop, bool flexible = false)
        : m(cycle),
          Q(space.panel(cycle + 1)),
          R(cycle + 2, cycle + 2, space.width(), &space.memory()),
          B(cycle + 1, cycle, space.width(), &space.memory()),
          H(cycle + 1, cycle, space.width(), &space.memory()),
          V_(space),
          A_(A),
          M_(M),
          b_(b),
          x_(x),
          stop_(stop),
          left_(M && stop.option("side") > 0),
          step_(space.vector()),
          z_(M ? space.vector() : step_),
          Z_(flexible && M ? space.panel(cycle) : Panel<T>()),
          U_(cycle + 1, cycle, space.width(), &space.memory()),
          g_(cycle + 1, 1, space.width(), &space.memory()),
          y_(cycle, 1, space.width(), &space.memory()),
          rotations_(cycle, 2, space.width(), &space.memory()),
          columns_(static_cast<std::size_t>(space.width()), &space.memory()) {}

    /// How many vectors it takes of the space.
    static int vectors(int m, bool preconditioned) { return m + 2 + (preconditioned ? 1 : 0); }

    /// out = A M⁻¹ in, column j of the basis where M is flexible
    void op(MultiVector<T> in, MultiVector<T> out, int j = 0) const {
        if (flexible()) {
            M_.apply(in, Z_[j]);
            A_.apply(Z_[j], out);
        } else if (left_) {
            A_.apply(in, z_);
            M_.apply(z_, out);
        } else {
            M_.apply(in, M_ ? z_ : in);
            A_.apply(M_ ? z_ : in, out);
        }
    }

    /// How many products one exchange will serve: h, or 1 with a preconditioner or where that does not pay.
    int prepare_powers(int h) const { return M_ ? 1 : A_.prepare_powers(h); }
    /// The same as A and column i of B, for i = first … first + count − 1, on the vectors of Q.
    void powers(int first, int count) const { A_.apply_powers(Q, first, count, B); }

    /// Begins a cycle: recomputes b − A x, takes back a step that made it larger, and makes it q₀. False: nothing is
    /// left to do.
    bool begin() {
        const auto phase = V_.ledger().enter(Phase::setup);
        auto rr = start_vector();
        if (cycles_ > 0 && grown(rr)) {
            V_.run(x_ <<= x_ - undo_ * z_);
            rr = start_vector();
        }
        check_cycle(rr);
        if (stop_.restarted(rr)) return false;
        const auto beta = sqrt(natural_);
        V_.run(Q[0] <<= (Scalars<T>(V_.width(), Number<T>{1}) / beta) * Q[0]);
        for (int j = 0; j < V_.width(); ++j) {
            at(j) = {.start = std::sqrt(double{real_part(rr[j])}),
                     .estimate = real_part(rr[j]),
                     .active_in_cycle = stop_.active(j)};
            g_(0, 0, j) = beta[j];
        }
        ++cycles_;
        done_ = 0;
        enough_ = false;
        return true;
    }

    /// v_j is q_j and v_{j+1} = A M⁻¹ v_j, until R and B are told otherwise.
    void start_at(int j) {
        for (int k = 0; k < R.columns(); ++k) {
            for (int i = 0; i <= j; ++i) R(i, j, k) = B(i, j, k) = 0;
            R(j, j, k) = B(j + 1, j, k) = 1;
        }
    }

    bool active_in_cycle(int j) const { return columns_[static_cast<std::size_t>(j)].active_in_cycle; }
    /// Column c of the basis is no good for this right-hand side: it leaves the cycle.
    void breaks(int j) {
        at(j).active_in_cycle = false;
        at(j).broken = true;
    }

    /// Column c of H from R and B, and what the least-squares problem says of the residual then. True: end the cycle.
    bool extend(int c) {
        Scalars<T> rr(V_.width());
        for (int j = 0; j < V_.width(); ++j) {
            if (active_in_cycle(j)) hessenberg(c, j);
            if (active_in_cycle(j)) rotate(c, j);
            rr[j] = at(j).estimate;
        }
        done_ = c + 1;
        enough_ = stop_.estimated(iterations_ + done_, rr);
        for (int j = 0; j < V_.width(); ++j) {
            at(j).active_in_cycle = at(j).active_in_cycle && stop_.above_target(j);
            if (!active_in_cycle(j)) R(c + 1, c + 1, j) = H(c + 1, c, j) = 0;
        }
        return enough();
    }
    /// Whether the cycle is to end with the columns of H that it has.
    bool enough() const { return enough_ || std::ranges::none_of(columns_, &Column::active_in_cycle); }

    /// Ends a cycle: x += M⁻¹ Q y.
    void end() {
        const auto phase = V_.ledger().enter(Phase::setup);
        iterations_ += done_;
        int used = 0;
        y_.clear();
        for (int j = 0; j < V_.width(); ++j) {
            solve(j);
            used = std::max(used, at(j).used);
        }
        const bool right = M_ && !left_ && !flexible();
        const auto combine = Panel<T>(right ? step_ : z_) <<= (flexible() ? Z_ : Q).part(0, used) * y_.from(0, 0);
        const auto advance = x_ <<= x_ + z_;
        V_.run(combine, when(!right, advance));
        if (!right) return;
        M_.apply(step_, z_);
        V_.run(advance);
    }

    /// Whether the last cycle said less of its residual than was true, made it larger, or broke off early.
    bool fell_short() const { return fell_short_; }
    /// Columns of H of this cycle so far.
    int extended() const { return done_; }
    /// Columns of the last cycle that this right-hand side used.
    int used(int j) const { return columns_[static_cast<std::size_t>(j)].used; }

    const int m;
    Panel<T> Q;
    SmallMatrix<T> R, B, H;

private:
    struct Column {
        double start = 0;    ///< ‖b − Ax‖ where the cycle began
        Real<T> estimate{};  ///< ‖b − Ax‖², by the recurrence
        bool active_in_cycle = false, broken = false;
        int used = 0;
    };
    bool flexible() const { return Z_.count() > 0; }
    Column& at(int j) { return columns_[static_cast<std::size_t>(j)]; }

    /// q₀ := b − Ax, or M⁻¹(b − Ax) with M on the left, whose squared norm is natural_. Returns ‖b − Ax‖².
    Scalars<T> start_vector() {
        auto r = left_ ? step_ : Q[0];
        const bool first = cycles_ == 0;
        if (first)
            stop_.initial_residual(A_, b_, x_, r);
        else
            residual(V_, A_, b_, x_, r);
        if (!left_) return natural_ = first ? stop_.initial_squares(r) : V_.start(dot(r, r)).wait()[0];
        M_.apply(r, Q[0]);
        auto [rr, natural] = V_.start(dot(r, r), dot(Q[0], Q[0])).wait();
        natural_ = natural;
        for (int j = 0; j < V_.width(); ++j) ratio_[j] = real_part(natural[j]) > 0 ? rr[j] / natural[j] : Number<T>{1};
        return rr;
    }

    /// In which columns the last step has made the residual larger, by more than rounding does.
    bool grown(const Scalars<T>& rr) {
        bool some = false;
        for (int j = 0; j < V_.width(); ++j) {
            const bool worse = stop_.active(j) && !(double{real_part(rr[j])} <= 4 * at(j).start * at(j).start);
            undo_[j] = worse ? Number<T>{1} : Number<T>{};
            at(j).broken = at(j).broken || worse;
            some = some || worse;
        }
        return some;
    }

    void check_cycle(const Scalars<T>& rr) {
        fell_short_ = false;
        for (int j = 0; j < V_.width() && cycles_ > 0; ++j) {
            if (!stop_.active(j)) continue;
            const double residual = std::sqrt(double{real_part(rr[j])});
            const bool overstated =
                residual > 2 * std::sqrt(double{at(j).estimate}) && residual > stop_.columns()[j].target;
            fell_short_ = fell_short_ || overstated || (at(j).broken && at(j).used < m / 2);
        }
    }

    void hessenberg(int c, int j) {
        for (int i = 0; i <= c + 1; ++i) {
            Number<T> sum{};
            for (int k = i; k <= c + 1; ++k) sum += R(i, k, j) * B(k, c, j);
            for (int k = std::max(0, i - 1); k < c; ++k) sum -= H(i, k, j) * R(k, c, j);
            H(i, c, j) = sum / R(c, c, j);
        }
    }

    /// Givens rotations make H an upper triangle U.
    void rotate(int c, int j) {
        for (int i = 0; i <= c + 1; ++i) U_(i, c, j) = H(i, c, j);
        for (int i = 0; i < c; ++i) {
            const Number<T> cs = rotations_(i, 0, j), sn = rotations_(i, 1, j), upper = U_(i, c, j),
                            lower = U_(i + 1, c, j);
            U_(i, c, j) = conjugate(cs) * upper + conjugate(sn) * lower;
            U_(i + 1, c, j) = cs * lower - sn * upper;
        }
        const Real<T> norm = std::hypot(std::abs(U_(c, c, j)), std::abs(U_(c + 1, c, j)));
        if (!(norm > 0) || !std::isfinite(norm)) return breaks(j);
        const Number<T> cs = rotations_(c, 0, j) = U_(c, c, j) / norm,
                        sn = rotations_(c, 1, j) = U_(c + 1, c, j) / norm;
        U_(c, c, j) = norm;
        g_(c + 1, 0, j) = -sn * g_(c, 0, j);
        g_(c, 0, j) = conjugate(cs) * g_(c, 0, j);
        at(j).estimate = abs_squared(g_(c + 1, 0, j)) * real_part(ratio_[j]);
        at(j).used = c + 1;
    }

    void solve(int j) {
        for (int i = at(j).used - 1; i >= 0; --i) {
            Number<T> sum = g_(i, 0, j);
            for (int k = i + 1; k < at(j).used; ++k) sum -= U_(i, k, j) * y_(k, 0, j);
            y_(i, 0, j) = sum / U_(i, i, j);
        }
    }

    Space<T>& V_;
    LinearMap<T> A_, M_;
    MultiVector<T> b_, x_;
    Verdict<T>& stop_;
    bool left_;
    MultiVector<T> step_, z_;
    Panel<T> Z_;  // M⁻¹ Q, of a flexible M
    SmallMatrix<T> U_, g_, y_, rotations_;
    std::pmr::vector<Column> columns_;
    Scalars<T> natural_{V_.width()}, ratio_{V_.width(), Number<T>{1}}, undo_{V_.width()};
    int iterations_ = 0, cycles_ = 0, done_ = 0;
    bool fell_short_ = false, enough_ = false;
};

/// GMRES with restarts: cycle after cycle, each from the recomputed residual. `cycle` extends H by up to m columns, and
/// says whether it did so in the way that its method is about: then its cost counts as the method's. After two cycles
/// in a row that were not as good as they said, `on_shortfall` makes the method more careful and says how.
template <class T, class Cycle, class OnShortfall>
void restarted(Space<T>& V, Arnoldi<T>& K, Verdict<T>& stop, Cycle cycle, OnShortfall on_shortfall) {
    for (int shortfalls = 0; K.begin();) {
        shortfalls = K.fell_short() ? shortfalls + 1 : 0;
        if (shortfalls == 2) {
            stop.event("two cycles were not as good as they said: going on with " + std::string(on_shortfall()));
            shortfalls = 0;
        }
        const Counts before = V.ledger().at(Phase::iteration);
        const auto start = Clock::now();
        const bool own = [&] {
            const auto phase = V.ledger().enter(Phase::iteration);
            return cycle();
        }();
        if (own && K.extended() == K.m) stop.count(before, K.m, start);
        K.end();
    }
}

}  // namespace stretto
