// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stretto/execute/row_work.hpp"
#include "stretto/operators/any_operator.hpp"
#include "stretto/operators/explicit_inverse.hpp"
#include "stretto/statements/multivector.hpp"

namespace stretto {

/// The levels of a multigrid preconditioner, and rows and nonzeros of all over those of the finest.
struct LevelSizes {
    int levels = 1;
    double grid_complexity = 1, operator_complexity = 1;
};

/// A preconditioner chosen at run time. Methods take any type with apply and bytes (AnyOperator); this is
/// the common face of those that have a name on the command line (precond/table.hpp).
class Preconditioner {
public:
    virtual ~Preconditioner() = default;
    virtual void apply(MultiVector<double> r, MultiVector<double> z) const = 0;            ///< z = M⁻¹ r
    virtual void apply_transpose(MultiVector<double> r, MultiVector<double> z) const = 0;  ///< z = M⁻ᵀ r
    /// The same, and hands rows of z on as soon as they are there.
    virtual void apply(MultiVector<double> r, MultiVector<double> z, const RowWork& work) const {
        apply(r, z);
        work(0, 0, z.rows());
    }
    virtual int parts() const { return 0; }  ///< that rows are handed on from; 0: it is not worth asking for
    /// Blocks of rows of which each is applied to its rows of r alone, on any thread; 0: there are none.
    virtual int blocks() const { return 0; }
    virtual std::pair<Index, Index> block_rows(int /*block*/) const { return {}; }  ///< the first, and after the last
    virtual void apply_block(int /*block*/, MultiVector<double> /*r*/, MultiVector<double> /*z*/,
                             const RowWork* /*work*/) const {}
    virtual bool has_transpose() const { return true; }
    virtual bool symmetric() const { return true; }  ///< M is, where A is: what methods for SPD matrices need
    virtual bool varies() const { return false; }    ///< M depends on r: only flexible methods may use it
    virtual double bytes(int columns) const = 0;     ///< moved by one apply on this rank
    virtual double stored() const = 0;               ///< bytes of the preconditioner itself on this rank
    virtual int reductions() const { return 0; }     ///< that one apply waits for
    virtual std::vector<std::string> remarks() const { return {}; }  ///< what a user should know of the set-up
    virtual bool repaired() const { return false; }                  ///< the set-up met pivots it could not divide by
    virtual std::optional<LevelSizes> level_sizes() const { return {}; }  ///< of multigrid alone
    /// Collective. Follows the matrix that it was made from, and which must still be there, to new values in the same
    /// places, after so many `solves` with those it had. False: it cannot, or no longer should, and is to be made anew.
    /// Throws InputError as when it is made.
    virtual bool update(int /*solves*/) { return false; }
    /// Collective. The same rounded to single precision, for vectors in it; none: vectors are converted. To be asked
    /// for again after update().
    virtual OwnedOperator<float> in_single() const { return {}; }
    /// Its numbers as they are now, where they are of one of the kinds there and few enough to be written down.
    virtual ExplicitInverse explicit_inverse() const { return {}; }
};

}  // namespace stretto
