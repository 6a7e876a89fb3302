// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <stdexcept>
#include <type_traits>
#include <variant>

#include "inverse.hpp"
#include "matrix.hpp"
#include "multigrid.hpp"
#include "on_host.hpp"
#include "stretto/operators/preconditioner.hpp"

namespace stretto {

/// M⁻¹ on a device, by the numbers of the host's. Transposed products are computed on the host: methods ask for them
/// once.
template <class X, class D>
class DevicePreconditioner {
public:
    using T = OnDevice<X, D>;

    /// Both must stay where they are. Throws std::logic_error where M has no numbers to bring.
    DevicePreconditioner(const Preconditioner& M, const DeviceMatrix<X, D>& A)
        : M_(&M), form_(std::visit([&](const auto& inverse) { return made(inverse, A); }, M.explicit_inverse())) {}

    void apply(MultiVector<T> r, MultiVector<T> z) const {
        std::visit([&](const auto& form) { form.apply(r, z); }, form_);
    }
    void apply_transpose(MultiVector<T> r, MultiVector<T> z) const {
        on_host<X, D>({r}, z, [&](auto& from, auto to) { M_->apply_transpose(from[0], to); });
    }
    T* as_diagonal() const {
        const auto* const diagonal = std::get_if<Made<DiagonalInverse>>(&form_);
        return diagonal ? diagonal->diagonal() : nullptr;
    }
    bool has_transpose() const { return M_->has_transpose(); }
    double bytes(int columns) const {
        return std::visit([&](const auto& form) { return form.bytes(columns); }, form_);
    }

private:
    template <class Inverse>
    using Made = DeviceInverse<Inverse, X, D>;
    using Form = std::variant<Made<DiagonalInverse>, Made<ChebyshevInverse>, Made<SparseInverse>, Made<BlockInverse>,
                              Made<MultigridInverse>>;

    template <class Inverse>
    static Form made(const Inverse& inverse, const DeviceMatrix<X, D>& A) {
        if constexpr (std::is_same_v<Inverse, std::monostate>)
            throw std::logic_error("a preconditioner without numbers for a device");
        else
            return Made<Inverse>(inverse, A);
    }

    const Preconditioner* M_;
    Form form_;
};

}  // namespace stretto
