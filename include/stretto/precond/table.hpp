// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/core/spec.hpp"
#include "stretto/hmatrix/hmatrix.hpp"
#include "stretto/methods/method.hpp"
#include "stretto/operators/preconditioner.hpp"
#include "stretto/sparse/csr.hpp"

namespace stretto {

/// What preconditioners are made from: a CsrMatrix or an HMatrix.
enum class MatrixKind { sparse, hierarchical };

/// What a hierarchical matrix was made from, for a preconditioner that makes another of it, and where its vectors are.
struct HMatrixOrigin {
    const Geometry* geometry = nullptr;  ///< this and fill are needed while the preconditioner is made, `options` too
    const Fill* fill = nullptr;
    HMatrixOptions options{};
    bool replicated = false;  ///< every rank has all vectors whole (Replicated)
};

/// A row of the table of preconditioners. Those of sparse and of hierarchical matrices may share a name.
struct PreconditionerKind {
    std::string_view name;
    std::string_view title;
    std::string_view source;
    std::span<const OptionInfo> options;
    /// Null: not from matrices of this kind.
    std::unique_ptr<Preconditioner> (*of_sparse)(const CsrMatrix<double>& A, const Options& options) = nullptr;
    std::unique_ptr<Preconditioner> (*of_hierarchical)(const HMatrix& A, const HMatrixOrigin& origin,
                                                       const Options& options) = nullptr;
    bool (*symmetric)(const Options& options) = always;  ///< M is, where A is
    bool has_transpose = true;                           ///< M⁻ᵀ can be applied
    bool varies = false;                                 ///< M depends on r: only flexible methods may use it
    bool of_rows = false;                                ///< M is the same on any number of threads and ranks
    bool replicated = false;  ///< of_hierarchical makes it for vectors that every rank has whole, too

    bool takes(MatrixKind matrix) const {
        return matrix == MatrixKind::sparse ? of_sparse != nullptr : of_hierarchical != nullptr;
    }
};

/// All of them, in the order in which lists show them.
std::span<const PreconditionerKind> preconditioners();

/// Blocks of up to so many rows are written down as dense inverses where a preconditioner is asked for its numbers
/// (Preconditioner::explicit_inverse).
inline constexpr Index most_dense_rows = 64;

/// Whether `amg` can be made: it needs hypre.
bool amg_is_built();

/// Throws InputError where the method needs M⁻ᵀ and these have none.
void check_transpose(const Method& method, const PreconditionerKind& kind);

/// What a specification NAME[:key=value,…] asks for, checked before anything is made.
struct PreconditionerChoice {
    const PreconditionerKind* kind;
    Options options;
    bool symmetric() const { return kind->symmetric(options); }
};

/// Throws InputError that lists the names there are for matrices of this kind, or names a bad option.
PreconditionerChoice choose_preconditioner(const std::string& spec, MatrixKind kind);

/// The same preconditioner of a sparse matrix with precision=single, where it has that and does not say another. Throws
/// as choose_preconditioner.
std::string preconditioner_in_single(const std::string& spec);

/// Collective. The preconditioner that a specification names; null for none. Throws InputError as
/// choose_preconditioner, where the matrix does not suit, and where its communicator is reproducible and M is not. A
/// must outlive it.
std::unique_ptr<Preconditioner> make_preconditioner(const std::string& spec, const CsrMatrix<double>& A);
std::unique_ptr<Preconditioner> make_preconditioner(const std::string& spec, const HMatrix& A,
                                                    const HMatrixOrigin& origin = {});

}  // namespace stretto
