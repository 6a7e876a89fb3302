// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "stretto/core/spec.hpp"
#include "stretto/matrix/csr.hpp"

namespace stretto {

/// A preconditioner chosen at run time. Methods take any type with apply and bytes (LinearOperator); this is
/// the common face of those that have a name on the command line.
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
    virtual bool has_transpose() const { return true; }
    virtual bool symmetric() const { return true; }  ///< M is, where A is: what methods for SPD matrices need
    virtual double bytes(int columns) const = 0;     ///< moved by one apply on this rank
    virtual double stored() const = 0;               ///< bytes of the preconditioner itself on this rank
    virtual std::vector<std::string> remarks() const { return {}; }  ///< what a user should know of the set-up
};

/// A row of the table of preconditioners.
struct PreconditionerKind {
    std::string_view name;
    std::string_view title;
    std::string_view source;
    std::span<const OptionInfo> options;
    std::unique_ptr<Preconditioner> (*make)(const CsrMatrix<double>& A, const Options& options);
};

std::span<const PreconditionerKind> preconditioners();

/// The preconditioner that a specification NAME[:key=value,…] names; null for none. Throws InputError that
/// lists the names there are.
std::unique_ptr<Preconditioner> make_preconditioner(const std::string& spec, const CsrMatrix<double>& A);

}  // namespace stretto
