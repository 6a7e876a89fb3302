// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The V-cycle, for vectors anywhere: multigrid.cpp has its levels on the processor, device/multigrid.hpp on a device.

#include <cstddef>
#include <utility>

#include "stretto/execute/device/on_device.hpp"
#include "stretto/operators/explicit_inverse.hpp"
#include "stretto/statements/multivector.hpp"

namespace stretto {

/// What Chebyshev's iteration does with each value of a product A s as soon as it is there:
///
///   r = residual − A s,   next = keep · s + add · D⁻¹ r,   z = sum + take · s + next
///
/// and only the first of these where there is no `next`. Vectors that are read and written may be the same.
template <class T>
struct SmootherStep {
    const T *residual, *s, *sum = nullptr;
    T *r, *next = nullptr, *z = nullptr;
    Number<T> keep{}, add{}, take{};

    template <class Block>
    STRETTO_KERNEL void operator()(Block& block, std::ptrdiff_t k, Number<T> image, Number<T> inverse) const {
        const Number<T> left = block.at(residual + k) - image;
        block.at(r + k) = left;
        if (!next) return;
        const Number<T> last = block.at(s + k), step = keep * last + add * inverse * left;
        block.at(next + k) = step;
        block.at(z + k) = block.at(sum + k) + take * last + step;
    }
};

/// The first step, from z = 0: s = add · D⁻¹ b, which is z, too.
template <class T>
struct FirstStep {
    const T* b;
    T *s, *z = nullptr;  // z: none where it is not wanted in a second place
    Number<T> add;

    template <class Block>
    STRETTO_KERNEL void operator()(Block& block, std::ptrdiff_t k, Number<T> inverse) const {
        const Number<T> step = add * inverse * block.at(b + k);
        block.at(s + k) = step;
        if (z) block.at(z + k) = step;
    }
};

/// What the cycle works with on a level.
template <class T>
struct LevelVectors {
    MultiVector<T> b, z;  // of the finest: the caller's
    MultiVector<T> r, s, next;
};

/// Solves A z = b on this level, about: smooths, corrects from the coarser levels, smooths. Chebyshev's iteration keeps
/// the residual r = b − A z, so that a sweep before the coarser levels is `degree` products, one after them as many,
/// the first of which takes the correction. Levels have
///
///   count(), degree()                     how many there are; of the smoother's polynomial
///   is_solved(level), solve(b, z)         whether this one, the coarsest, is solved, and how
///   interval(level)                       the middle and the radius of what the smoother damps
///   vectors(level)                        LevelVectors
///   first_step(level, step)               of every value of the level
///   multiply(level, s, next, step)        step on every value of A s, which may be kept in `next`
///   restrict_to(level, r)                 b of the next level = Pᵀ r
///   interpolate(level, s)                 s = P z of the next level
template <class Levels, class T>
void v_cycle(const Levels& levels, std::size_t level, MultiVector<T> b, MultiVector<T> z) {
    if (levels.is_solved(level)) return levels.solve(b, z);
    auto [own_b, own_z, r, s, next] = levels.vectors(level);
    const auto [middle, radius] = levels.interval(level);
    const int degree = levels.degree();
    const auto first = 1 / middle;
    /// So many more steps, where b − A(z − s) is at `residual` and z at `sum`.
    const auto iterate = [&](int steps, const T* residual, const T* sum) {
        ChebyshevInverse::Coefficients coefficients(middle, radius);
        for (int i = 0; i < steps; ++i) {
            const auto [keep, add] = coefficients.next();
            levels.multiply(level, s, next,
                            SmootherStep<T>{.residual = residual,
                                            .s = s.data(),
                                            .sum = sum,
                                            .r = r.data(),
                                            .next = next.data(),
                                            .z = z.data(),
                                            .keep = keep,
                                            .add = add});
            std::swap(s, next);
            residual = r.data();
            sum = z.data();
        }
    };

    // The first step is z, in the place where it is wanted next.
    const bool once = degree == 1;
    levels.first_step(level, FirstStep<T>{.b = b.data(), .s = s.data(), .z = once ? z.data() : nullptr, .add = first});
    iterate(degree - 1, b.data(), s.data());
    if (level + 1 == levels.count()) return;
    levels.multiply(level, s, next,
                    SmootherStep<T>{.residual = once ? b.data() : r.data(), .s = s.data(), .r = r.data()});

    levels.restrict_to(level, r);
    const auto below = levels.vectors(level + 1);
    v_cycle(levels, level + 1, below.b, below.z);
    levels.interpolate(level, s);

    // z += P zc, and the first step of the sweep after it.
    levels.multiply(level, s, next,
                    SmootherStep<T>{.residual = r.data(),
                                    .s = s.data(),
                                    .sum = z.data(),
                                    .r = r.data(),
                                    .next = next.data(),
                                    .z = z.data(),
                                    .keep = 0,
                                    .add = first,
                                    .take = 1});
    std::swap(s, next);
    iterate(degree - 1, r.data(), z.data());
}

}  // namespace stretto
